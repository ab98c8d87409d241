//! `runs`: all runs and how they stand.

use serde::Serialize;
use sommelier_store::Journal;

use crate::desk::Desk;
use crate::fault::Fault;
use crate::stand::{Stand, Summary};
use crate::teller::Teller;

#[derive(Serialize)]
struct Runs {
    runs: Vec<Summary>,
}

pub(super) fn run(desk: &Desk, teller: &mut Teller<'_>) -> Result<u8, Fault> {
    let document = Runs { runs: all(desk)? };
    let text = || match document.runs.len() {
        0 => "There are no runs.".to_owned(),
        _ => document.runs.iter().map(Summary::line).collect::<Vec<_>>().join("\n"),
    };
    teller.tell(text, &document)?;
    Ok(u8::from(document.runs.iter().any(|run| run.fault.is_some())))
}

/// All runs; what happened last comes first.
fn all(desk: &Desk) -> Result<Vec<Summary>, Fault> {
    let names = desk.store.conversations()?;
    let summary = |name: &String| Stand::of(desk, name).map(|stand| stand.summary);
    let mut runs = names.iter().map(summary).collect::<Result<Vec<_>, _>>()?;
    runs.sort_by(|one, other| (other.updated, &one.id).cmp(&(one.updated, &other.id)));
    Ok(runs)
}
