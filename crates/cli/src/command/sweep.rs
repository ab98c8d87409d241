//! `sweep`: runs that no process drives any more.

use std::thread;
use std::time::Instant;

use serde::Serialize;
use sommelier_handoff::Millis;
use sommelier_runner::durable::Orphan;
use sommelier_store::Journal;

use crate::desk::{Desk, LONGEST_WAIT, MOMENT};
use crate::fault::Fault;
use crate::rows::SettledRow;
use crate::stand::{RUNNING, Stand};
use crate::teller::Teller;
use crate::time::shown;
use crate::words::{counted, named};

#[derive(Serialize)]
struct Swept {
    swept: Vec<SweptRow>,
    /// Runs that were left to the process that has the lease of them. Whether it lives nobody can tell before the lease is
    /// over.
    leased: Vec<LeasedRow>,
    /// Runs of which nobody knows whether they are left behind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unread: Vec<UnreadRow>,
}

#[derive(Serialize)]
struct LeasedRow {
    run: String,
    owner: String,
    /// In milliseconds since 1970.
    until: Millis,
}

#[derive(Serialize)]
struct UnreadRow {
    run: String,
    fault: Fault,
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

pub(super) fn run(desk: &Desk, teller: &mut Teller<'_>, idle: Millis, wait: bool) -> Result<u8, Fault> {
    let start = Instant::now();
    while wait && start.elapsed() < LONGEST_WAIT && !leased(desk)?.is_empty() {
        thread::sleep(MOMENT);
    }
    let leased = leased(desk)?;
    let sweep = {
        let driver = desk.driver();
        let orphans = driver.orphans(idle)?;
        tell_last_models(desk, teller, &orphans.found);
        driver.take_up(orphans)
    };
    let unread = |(run, why)| UnreadRow { run, fault: Fault::from(why) };
    let unread = sweep.unread.into_iter().map(unread).collect();
    let mut document = Swept { swept: Vec::new(), leased, unread };
    for found in sweep.swept {
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
    // The lease of one that was taken up has ended since.
    document.leased.retain(|leased| document.swept.iter().all(|swept| swept.run != leased.run));
    let line = |row: &SweptRow| {
        let came = match (&row.outcome, &row.fault) {
            (Some(settled), _) => settled.text(),
            (None, Some(fault)) => fault.line(),
            (None, None) => "it fails each time that it is gone on with; resume or cancel it".to_owned(),
        };
        format!("{}, idle for {} ms\n{came}", named(&row.run), row.idle)
    };
    let unread = |row: &UnreadRow| format!("{} cannot be read\n{}", named(&row.run), row.fault.line());
    let text = || {
        let found = document.swept.iter().map(line).chain(document.unread.iter().map(unread));
        let mut text = match (found.collect::<Vec<_>>(), document.leased.is_empty()) {
            (found, true) if found.is_empty() => "No run is left behind.".to_owned(),
            (found, false) if found.is_empty() => "No run is taken up.".to_owned(),
            (found, _) => found.join("\n\n"),
        };
        if !document.leased.is_empty() {
            text.push_str(&format!("\n\n{}", left(&document.leased)));
        }
        text
    };
    teller.tell(text, &document)?;
    let has_failed = document.swept.iter().any(|row| row.fault.is_some()) || !document.unread.is_empty();
    Ok(u8::from(has_failed))
}

/// Says of each run that is taken up which other model has decided in it until now, where none is named.
fn tell_last_models(desk: &Desk, teller: &mut Teller<'_>, orphans: &[Orphan]) {
    for Orphan { conversation, .. } in orphans.iter().filter(|orphan| orphan.goes_on()) {
        if let Some(remark) = desk.remark(conversation) {
            teller.note(&format!("{}: {remark}", named(conversation)));
        }
    }
}

/// The runs in which something is to be done, and that a process has the lease of.
fn leased(desk: &Desk) -> Result<Vec<LeasedRow>, Fault> {
    let mut leased = Vec::new();
    for last in desk.store.newest()?.into_iter().filter(|last| last.event.kind() != "closed") {
        let run = last.conversation;
        if Stand::of(desk, &run)?.summary.status != RUNNING {
            continue;
        }
        let lease = desk.store.lease(&run)?;
        leased.extend(lease.map(|lease| LeasedRow { run, owner: lease.owner, until: lease.until }));
    }
    Ok(leased)
}

/// What is told of runs that were left to others.
fn left(leased: &[LeasedRow]) -> String {
    let mut text = format!(
        "{} left alone: its process may be at work, or dead. If it is dead, `sommelier sweep` takes the run up when the \
         lease is over, and `sommelier sweep --wait` waits for that.",
        counted(leased.len(), "run is", "runs are")
    );
    for LeasedRow { run, owner, until } in leased {
        let (run, owner) = (named(run), named(owner));
        text.push_str(&format!("\n  {run}, leased to `{owner}` until {}", shown(*until)));
    }
    text
}
