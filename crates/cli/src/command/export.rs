//! `export`: all records, or where each run ends.

use serde::Serialize;
use sommelier_protocol::RawJson;
use sommelier_runner::journal::{Hash, Record};
use sommelier_store::{Journal, JournalError};

use crate::desk::Desk;
use crate::fault::Fault;
use crate::teller::Teller;

#[derive(Serialize)]
struct Line<'r> {
    conversation: &'r str,
    seq: u64,
    epoch: u64,
    kind: &'r str,
    version: u32,
    at: u64,
    body: Option<RawJson>,
    prev_hash: Hash,
    hash: Hash,
}

pub(super) fn run(desk: &Desk, teller: &mut Teller<'_>, heads: bool) -> Result<u8, Fault> {
    if heads {
        teller.document(&desk.store.heads()?)?;
        return Ok(0);
    }
    let mut is_damaged = false;
    for run in desk.store.conversations()? {
        let records = match desk.store.load(&run, 1) {
            Ok(records) => records,
            Err(error @ (JournalError::Damaged(_) | JournalError::Malformed(_))) => {
                // What can be read is exported, and the exit code says that there was more.
                teller.note(&format!("{run:?}: {error}; what can be read of it is exported"));
                is_damaged = true;
                desk.store.salvage(&run).unwrap_or_default()
            }
            Err(error) => return Err(error.into()),
        };
        for record in &records {
            teller.line(&line(record)?)?;
            if teller.is_alone {
                return Ok(0);
            }
        }
    }
    Ok(u8::from(is_damaged))
}

/// The record in one line.
fn line(record: &Record) -> Result<String, Fault> {
    let event = &record.event;
    // A line end can only stand between the values of a body, where a space means the same.
    let body = event.body().replace(['\n', '\r'], " ");
    let line = Line {
        conversation: &record.conversation,
        seq: record.seq,
        epoch: record.epoch.get(),
        kind: event.kind(),
        version: event.version(),
        at: event.at(),
        body: RawJson::parse(&body).ok(),
        prev_hash: record.prev_hash,
        hash: record.hash,
    };
    Ok(serde_json::to_string(&line).map_err(std::io::Error::other)?)
}
