//! `sweep`: runs that no process drives any more.

use serde::Serialize;
use sommelier_handoff::Millis;

use crate::desk::Desk;
use crate::fault::Fault;
use crate::rows::SettledRow;
use crate::teller::Teller;

#[derive(Serialize)]
struct Swept {
    swept: Vec<SweptRow>,
}

#[derive(Serialize)]
struct SweptRow {
    run: String,
    /// The newest handoff whose work was open.
    hop: Option<String>,
    /// For how long nothing had been written.
    idle: Millis,
    outcome: Option<SettledRow>,
    fault: Option<Fault>,
}

pub(super) fn run(desk: &Desk, teller: &mut Teller<'_>, idle: Millis) -> Result<u8, Fault> {
    let mut document = Swept { swept: Vec::new() };
    for found in desk.driver().sweep(idle)? {
        let conversation = found.orphan.conversation;
        let came = match found.outcome {
            None => Ok(None),
            Some(Ok(settled)) => SettledRow::of(desk, &conversation, &settled).map(Some),
            Some(Err(why)) => Err(Fault::from(why)),
        };
        let (outcome, fault) = match came {
            Ok(row) => (row, None),
            Err(why) => (None, Some(why)),
        };
        document.swept.push(SweptRow {
            run: conversation,
            hop: found.orphan.open.last().map(|hop| hop.id.to_string()),
            idle: found.orphan.idle,
            outcome,
            fault,
        });
    }
    let line = |row: &SweptRow| {
        let came = match (&row.outcome, &row.fault) {
            (Some(settled), _) => settled.text(),
            (None, Some(fault)) => fault.message().to_owned(),
            (None, None) => "it fails each time that it is gone on with; resume or cancel it".to_owned(),
        };
        format!("{}, idle for {} ms\n{came}", row.run, row.idle)
    };
    let text = || match document.swept.len() {
        0 => "No run is left behind.".to_owned(),
        _ => document.swept.iter().map(line).collect::<Vec<_>>().join("\n\n"),
    };
    teller.tell(text, &document)?;
    let has_failed = document.swept.iter().any(|row| row.fault.is_some());
    Ok(u8::from(has_failed))
}
