//! `cassette`: what the models of a run were asked and said, as a file that answers in their place.

use std::path::Path;

use serde::Serialize;
use sommelier_cassette::{Cassette, CassetteError, Source};
use sommelier_handoff::{Entry, InputKind};
use sommelier_runner::journal::Record;

use crate::desk::Desk;
use crate::fault::{Fault, Whose};
use crate::tape::{redactor, write};
use crate::teller::Teller;
use crate::words::{counted, named};

#[derive(Serialize)]
struct Written<'a> {
    run: &'a str,
    file: &'a Path,
    exchanges: usize,
}

pub(super) fn run(desk: &Desk, teller: &mut Teller<'_>, run: &str, file: Option<&Path>) -> Result<u8, Fault> {
    let run = desk.find(run)?;
    let records = desk.records(&run)?;
    let made = Cassette::of_run(&desk.relay, &run, &records, source(&records), &redactor()?);
    let cassette = made.map_err(|error| match error {
        CassetteError::Run(why) => Fault::from(why),
        error => Fault::new("no_cassette", Whose::Journal, error),
    })?;
    let Some(file) = file else {
        let json = cassette.to_json().map_err(|error| Fault::new("no_cassette", Whose::Journal, error))?;
        // It is a document by itself, and is written as it would be to a file.
        teller.line(json.trim_end())?;
        return Ok(0);
    };
    write(&cassette, file)?;
    let exchanges = cassette.exchanges().len();
    let text = || {
        let count = counted(exchanges, "exchange", "exchanges");
        format!("{count} of {} in {}; `--model cassette:FILE` answers from it", named(&run), file.display())
    };
    teller.tell(text, &Written { run: &run, file, exchanges })?;
    Ok(0)
}

/// The model, where all replies are of one: the records say it in each.
fn source(records: &[Record]) -> Source {
    let mut models: Vec<Box<str>> = Vec::new();
    for record in records {
        let event = &record.event;
        if let Ok(Entry::Input(input)) = Entry::read(event.kind(), event.version(), event.body())
            && let InputKind::ModelResponded { response } = input.what
            && !models.contains(&response.model)
        {
            models.push(response.model);
        }
    }
    let name = if models.len() == 1 { models.pop() } else { None };
    Source { name, ..Source::default() }
}
