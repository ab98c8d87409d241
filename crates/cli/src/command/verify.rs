//! `verify`: whether all is there that was written, as it was written.

use std::path::Path;

use reservo_ledger::SqliteBookings;
use serde::Serialize;
use sommelier_handoff::Divergence;
use sommelier_runner::durable::replay;
use sommelier_runner::journal::{Finding, Heads, Record};
use sommelier_runner::{ClaimFault, DurableError, check_claims};
use sommelier_store::Journal;

use crate::bookings::{Mismatch, Told, is_of};
use crate::desk::Desk;
use crate::fault::Fault;
use crate::teller::Teller;

#[derive(Serialize)]
struct Report {
    sound: bool,
    conversations: u64,
    records: u64,
    findings: Vec<Found>,
    /// Runs that this release cannot play, since they began with other agents. Their records are sound.
    unplayed: Vec<Found>,
    ledger: Ledger,
    /// What conversations have claimed and by the records should not have, or the other way round.
    claims: Vec<String>,
}

/// The house's bookings, which have to be those that the records tell of.
#[derive(Serialize)]
struct Ledger {
    bookings: usize,
    findings: Vec<Mismatch>,
}

/// Something that is wrong, and where it begins.
#[derive(Clone, Serialize)]
struct Found {
    conversation: String,
    /// The first record that is not to be relied on.
    seq: u64,
    what: String,
}

impl Found {
    fn of(finding: &Finding) -> Self {
        let Finding { conversation, seq, damage } = finding;
        Self { conversation: conversation.clone(), seq: *seq, what: damage.to_string() }
    }

    fn line(&self) -> String {
        format!("conversation {:?}, record {}: {}", self.conversation, self.seq, self.what)
    }
}

pub(super) fn run(desk: &Desk, teller: &mut Teller<'_>, heads: Option<&Path>) -> Result<u8, Fault> {
    let exported = heads.map(read).transpose()?.unwrap_or_default();
    let verified = desk.store.verify(None, &exported)?;
    let mut findings: Vec<Found> = verified.findings.iter().map(Found::of).collect();
    let (mut unplayed, mut told, mut unread) = (Vec::new(), Told::default(), Vec::new());
    for name in desk.store.conversations()? {
        if verified.findings.iter().any(|finding| finding.conversation == name) {
            unread.push(name);
            continue;
        }
        let records = desk.records(&name)?;
        told.read(&name, &records);
        play(desk, &name, &records, &mut findings, &mut unplayed)?;
    }
    let claims: Vec<String> = check_claims(&desk.store)?.iter().map(ClaimFault::to_string).collect();
    let ledger = SqliteBookings::beside(&desk.store)?;
    let is_unread = |key: &str| unread.iter().any(|name| is_of(key, name));
    let (bookings, mismatches) = told.compare(&ledger, is_unread)?;
    let report = Report {
        sound: findings.is_empty() && mismatches.is_empty() && claims.is_empty(),
        conversations: verified.conversations,
        records: verified.records,
        findings,
        unplayed,
        ledger: Ledger { bookings, findings: mismatches },
        claims,
    };
    teller.tell(|| text(&report), &report)?;
    Ok(u8::from(!report.sound))
}

/// Plays the records of a run: each of them may be whole, and one of them not follow.
fn play(
    desk: &Desk,
    name: &str,
    records: &[Record],
    findings: &mut Vec<Found>,
    unplayed: &mut Vec<Found>,
) -> Result<(), Fault> {
    let (conversation, found) = (name.to_owned(), replay(&desk.relay, name, records));
    match found {
        Err(DurableError::Diverged { seq, why, .. }) => {
            let is_other = matches!(*why, Divergence::OtherDefinition(_) | Divergence::Unread(_));
            let list = if is_other { unplayed } else { findings };
            list.push(Found { conversation, seq, what: why.to_string() });
            Ok(())
        }
        found => Ok(found.map(drop)?),
    }
}

fn read(file: &Path) -> Result<Heads, Fault> {
    let wrong = |why: String| {
        let file = file.display();
        Fault::caller("no_heads", format!("{file}: {why}; `sommelier export --heads` writes such a file"))
    };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
}

fn text(report: &Report) -> String {
    let how = match report.findings.len() + report.ledger.findings.len() + report.claims.len() {
        0 => "sound".to_owned(),
        count => format!("{count} findings"),
    };
    let (conversations, records, bookings) = (report.conversations, report.records, report.ledger.bookings);
    let mut text = format!("{conversations} conversations, {records} records, {bookings} bookings: {how}");
    for found in &report.findings {
        text.push_str(&format!("\n{}", found.line()));
    }
    for found in &report.ledger.findings {
        text.push_str(&format!("\n{}", found.line()));
    }
    for found in &report.claims {
        text.push_str(&format!("\n{found}"));
    }
    for found in &report.unplayed {
        text.push_str(&format!("\nnot played: {}", found.line()));
    }
    text
}
