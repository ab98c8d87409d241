//! Looking for work that nobody does any more.

use std::collections::BTreeMap;

use sommelier_handoff::{Hop, InputKind, Millis, Replay, Step};

use super::{DurableError, DurableRunner, Settled};
use crate::journal::{JournalError, Record};

/// A conversation in which something is to be done and nobody does it.
#[derive(Clone, Debug, PartialEq)]
pub struct Orphan {
    /// The conversation.
    pub conversation: String,
    /// For how long nothing has been written, in milliseconds.
    pub idle: Millis,
    /// Whether the time of its run is over.
    pub is_over: bool,
    /// How often the model has been asked for the reply that is missing.
    pub attempts: u32,
    /// The hops whose work is open, with their packages.
    pub open: Vec<Hop>,
    /// All handoffs that were asked for in it, for a person who is to decide.
    pub hops: Vec<Hop>,
}

/// An orphan, and what came of going on with it.
#[derive(Debug)]
pub struct Swept {
    /// What was found.
    pub orphan: Orphan,
    /// Where it has come to; `None` where it was left for a person.
    pub outcome: Option<Result<Settled, DurableError>>,
}

/// What a look for orphans has found.
#[derive(Debug)]
pub struct Orphans {
    /// The orphans, in the order of their names.
    pub found: Vec<Orphan>,
    /// The conversations that could not be looked at, each with why: whether anything is to be done in them nobody knows.
    pub unread: Vec<(String, DurableError)>,
}

/// What a sweep has found and done.
#[derive(Debug)]
pub struct Sweep {
    /// The orphans, each with what came of it.
    pub swept: Vec<Swept>,
    /// The conversations that could not be looked at, as of [`Orphans::unread`].
    pub unread: Vec<(String, DurableError)>,
}

impl Orphan {
    /// Whether its agents go on when it is [taken up](DurableRunner::take_up), and a model is asked.
    pub fn goes_on(&self) -> bool {
        !self.is_over && self.attempts < DurableRunner::MOST_ATTEMPTS
    }
}

impl DurableRunner<'_> {
    /// The conversations in which something is to be done, that no other process has a lease of, and in which nothing was
    /// written for `idle` milliseconds or whose time is over. It needs no lease, and changes nothing. What waits for a person
    /// in time is no orphan. A conversation that cannot be read does not hide the others, and is told.
    ///
    /// # Errors
    /// [`DurableError::Journal`] when the journal cannot be read at all.
    pub fn orphans(&self, idle: Millis) -> Result<Orphans, DurableError> {
        let now = self.runner.now();
        let mut orphans = Orphans { found: Vec::new(), unread: Vec::new() };
        let mut newest: BTreeMap<String, Record> =
            self.journal.newest()?.into_iter().map(|last| (last.conversation.clone(), last)).collect();
        let mut names = self.journal.conversations()?;
        // One of which no head is kept any more is looked at as well.
        names.extend(newest.keys().cloned());
        names.sort();
        names.dedup();
        for name in names {
            match self.orphaned(&name, newest.remove(&name), now) {
                Ok(orphan) => {
                    orphans.found.extend(orphan.filter(|orphan| orphan.is_over || orphan.idle >= idle));
                }
                Err(why) => orphans.unread.push((name, why)),
            }
        }
        Ok(orphans)
    }

    /// What is to be done in a conversation that nobody drives. Its last record is not there where it cannot be read.
    fn orphaned(
        &self,
        name: &str,
        last: Option<Record>,
        now: Millis,
    ) -> Result<Option<Orphan>, DurableError> {
        if last.as_ref().is_some_and(|last| last.event.kind() == "closed") || self.is_leased(name, now)? {
            return Ok(None);
        }
        let replay = self.look(name)?;
        let at = last.map_or_else(|| replay.chronicle().newest(), |last| last.event.at());
        Ok(orphan(name.to_owned(), &replay, now.saturating_sub(at), now))
    }

    /// [Takes up](Self::take_up) each [orphan](Self::orphans).
    ///
    /// # Errors
    /// [`DurableError::Journal`] when the journal cannot be read at all. What goes wrong with one conversation stands in its own
    /// outcome.
    pub fn sweep(&self, idle: Millis) -> Result<Sweep, DurableError> {
        Ok(self.take_up(self.orphans(idle)?))
    }

    /// Goes on with each of these; where the time of its run is over, it ends by that. One that a model was
    /// asked for five times in vain is left for a person, who has all of its hops. Two sweepers do no harm: one of
    /// them gets the lease. What cannot be read is left as it is, and told. What goes wrong with one of them stands in its own
    /// outcome.
    pub fn take_up(&self, orphans: Orphans) -> Sweep {
        let Orphans { found, unread } = orphans;
        let swept = found.into_iter().map(|orphan| {
            let Orphan { conversation, is_over, .. } = &orphan;
            let outcome = match (is_over, orphan.goes_on()) {
                (true, _) => Some(self.give(conversation, InputKind::Deadline { begun: true })),
                (false, true) => Some(self.resume(conversation)),
                (false, false) => None,
            };
            Swept { orphan, outcome }
        });
        Sweep { swept: swept.collect(), unread }
    }

    fn is_leased(&self, conversation: &str, now: Millis) -> Result<bool, JournalError> {
        let lease = self.journal.lease(conversation)?;
        Ok(lease.is_some_and(|lease| lease.owner != self.owner && now < lease.until))
    }
}

/// What is to be done in a conversation; `None` where nothing is.
fn orphan(conversation: String, replay: &Replay<'_>, idle: Millis, now: Millis) -> Option<Orphan> {
    let step = replay.step()?;
    let is_over = step.deadline().is_some_and(|until| until <= now);
    if step.is_at_rest() && !is_over && replay.owed().next().is_none() {
        return None;
    }
    let asked = |step: &Step| match step {
        Step::CallModel(call) => replay.chronicle().attempts(call.run().conversation(), call.number()),
        _ => 0,
    };
    let attempts = step.open().into_iter().map(asked).max().unwrap_or_default();
    let trail = step.run().trail();
    let (open, hops) = (trail.open().cloned().collect(), trail.hops().to_vec());
    Some(Orphan { conversation, idle, is_over, attempts, open, hops })
}
