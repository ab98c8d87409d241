//! `verify`: whether all is there that was written, as it was written.

use std::path::Path;

use reservo_ledger::SqliteBookings;
use serde::Serialize;
use sommelier_handoff::Divergence;
use sommelier_runner::durable::replay;
use sommelier_runner::journal::{Damage, Finding, Heads, Record};
use sommelier_runner::{ClaimFault, DurableError, check_claims};
use sommelier_store::{Journal, JournalError};

use crate::bookings::{Kept, Mismatch, Told, is_of};
use crate::desk::Desk;
use crate::fault::Fault;
use crate::teller::Teller;
use crate::words::{counted, in_line};

#[derive(Serialize)]
struct Report {
    sound: bool,
    conversations: u64,
    records: u64,
    /// Records behind those that are not to be relied on: nobody has looked at them.
    not_looked_at: u64,
    findings: Vec<Found>,
    /// Runs that this release cannot play, since they began with other agents. Their records are sound.
    unplayed: Vec<Found>,
    ledger: Ledger,
    /// What conversations have claimed and by the records should not have, or the other way round.
    claims: Vec<String>,
    /// What was held against heads; null where none were given.
    heads: Option<Compared>,
}

/// How much was held against heads that were exported.
#[derive(Serialize)]
struct Compared {
    /// The heads that were compared.
    compared: usize,
    /// The conversations of which none was exported.
    without: usize,
}

/// The house's bookings, which have to be those that the records tell of.
#[derive(Serialize)]
struct Ledger {
    bookings: usize,
    /// How many of them the house begins with, so that no record tells of them.
    from_start: usize,
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
        format!("conversation {:?}, record {}: {}", self.conversation, self.seq, in_line(&self.what))
    }
}

pub(super) fn run(desk: &Desk, teller: &mut Teller<'_>, heads: Option<&Path>) -> Result<u8, Fault> {
    let names = desk.store.conversations()?;
    let exported = heads.map(|file| read(file, &names)).transpose()?;
    let compared = exported.as_ref().map(|heads| Compared {
        compared: heads.len(),
        without: names.iter().filter(|name| !heads.contains_key(*name)).count(),
    });
    let verified = desk.store.verify(None, &exported.unwrap_or_default())?;
    let mut findings: Vec<Found> = verified.findings.iter().map(Found::of).collect();
    let (mut unplayed, mut told, mut unread) = (Vec::new(), Told::default(), Vec::new());
    for name in names {
        if verified.findings.iter().any(|finding| finding.conversation == name) {
            unread.push(name);
            continue;
        }
        let records = desk.records(&name)?;
        told.read(&name, &records);
        play(desk, &name, &records, &mut findings, &mut unplayed)?;
    }
    let claims = match check_claims(&desk.store) {
        Ok(faults) => faults.iter().map(ClaimFault::to_string).collect(),
        // It is among the findings.
        Err(JournalError::Malformed(_)) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let not_looked_at = verified.findings.iter().map(|finding| behind(desk, finding)).sum();
    let is_unread = |key: &str| unread.iter().any(|name| is_of(key, name));
    let compared_with = SqliteBookings::find_beside(&desk.store)
        .map_err(Fault::from)
        .and_then(|ledger| told.compare(ledger.as_ref(), is_unread));
    let (Kept { bookings, from_start }, mismatches) = match compared_with {
        // That is a finding too, and the others are told beside it.
        Err(fault) => (Kept::default(), vec![Mismatch::unread(&fault.line())]),
        Ok(compared) => compared,
    };
    let report = Report {
        sound: findings.is_empty() && mismatches.is_empty() && claims.is_empty(),
        conversations: verified.conversations,
        records: verified.records,
        not_looked_at,
        findings,
        unplayed,
        ledger: Ledger { bookings, from_start, findings: mismatches },
        claims,
        heads: compared,
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

/// How many records stand behind one that is not to be relied on.
fn behind(desk: &Desk, Finding { conversation, seq, damage }: &Finding) -> u64 {
    // Where a record cannot be read those behind it cannot be counted, and the note of the last one says how many.
    if let Damage::Unreadable(_) = damage {
        return desk.store.head(conversation).map_or(0, |head| head.seq.saturating_sub(*seq));
    }
    let records = desk.store.salvage(conversation).unwrap_or_default();
    records.iter().filter(|record| record.seq > *seq).count().try_into().unwrap_or(u64::MAX)
}

/// The heads of a file. One that has none says nothing of a journal that has conversations.
fn read(file: &Path, names: &[String]) -> Result<Heads, Fault> {
    let wrong = |why: String| {
        let file = file.display();
        Fault::caller("no_heads", format!("{file}: {why}; `sommelier export --heads` writes such a file"))
    };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let heads: Heads = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if heads.is_empty() && !names.is_empty() {
        return Err(wrong("there are no heads in it, so nothing can be compared".to_owned()));
    }
    Ok(heads)
}

fn text(report: &Report) -> String {
    let how = match report.findings.len() + report.ledger.findings.len() + report.claims.len() {
        0 => "sound".to_owned(),
        count => counted(count, "finding", "findings"),
    };
    let mut text = format!(
        "{}, {}, {}{}: {how}",
        counted(report.conversations, "conversation", "conversations"),
        counted(report.records, "record", "records"),
        counted(report.ledger.bookings, "booking", "bookings"),
        match report.ledger.from_start {
            0 => String::new(),
            count => format!(" (the house begins with {count})"),
        },
    );
    if let Some(Compared { compared, without }) = &report.heads {
        text.push_str(&format!("\n{} compared", counted(compared, "head", "heads")));
        if *without > 0 {
            let those = counted(without, "conversation has", "conversations have");
            text.push_str(&format!("; {those} none, and may have lost their end unseen"));
        }
    }
    if report.not_looked_at > 0 {
        let those = counted(report.not_looked_at, "record stands", "records stand");
        text.push_str(&format!("\n{those} behind what was found, and nobody has looked at them"));
    }
    for found in &report.findings {
        text.push_str(&format!("\n{}", found.line()));
    }
    for found in &report.ledger.findings {
        text.push_str(&format!("\n{}", found.line()));
    }
    for found in &report.claims {
        text.push_str(&format!("\n{}", in_line(found)));
    }
    for found in &report.unplayed {
        text.push_str(&format!("\nnot played: {}", found.line()));
    }
    text
}
