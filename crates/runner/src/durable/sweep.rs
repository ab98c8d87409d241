//! Looking for work that nobody does any more.

use sommelier_handoff::{Hop, InputKind, Millis, Replay, Step};

use super::{DurableError, DurableRunner, MOST_ATTEMPTS, Settled};
use crate::journal::JournalError;

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

impl DurableRunner<'_> {
    /// The conversations in which something is to be done, that no other process has a lease of, and in which nothing was
    /// written for `idle` milliseconds or whose time is over. It needs no lease, and changes nothing. What waits for a person
    /// in time is no orphan.
    ///
    /// # Errors
    /// [`DurableError::Journal`] when the journal cannot be read.
    pub fn orphans(&self, idle: Millis) -> Result<Vec<Orphan>, DurableError> {
        let now = self.runner.now();
        let mut orphans = Vec::new();
        for last in self.journal.newest()? {
            let since = now.saturating_sub(last.event.at());
            if last.event.kind() == "closed" || self.is_leased(&last.conversation, now)? {
                continue;
            }
            // One that cannot be read is found by `verify`, and does not hide the others.
            let Ok(replay) = self.look(&last.conversation) else { continue };
            let orphan = orphan(last.conversation, &replay, since, now);
            orphans.extend(orphan.filter(|orphan| orphan.is_over || orphan.idle >= idle));
        }
        Ok(orphans)
    }

    /// Goes on with each [orphan](Self::orphans); where the time of its run is over, it ends by that. One that a model was
    /// asked for five times in vain is left for a person, who has all of its hops. Two sweepers do no harm: one of
    /// them gets the lease.
    ///
    /// # Errors
    /// [`DurableError::Journal`] when the journal cannot be read. What goes wrong with one conversation stands in its own
    /// outcome.
    pub fn sweep(&self, idle: Millis) -> Result<Vec<Swept>, DurableError> {
        let swept = self.orphans(idle)?.into_iter().map(|orphan| {
            let outcome = match &orphan {
                Orphan { is_over: true, conversation, .. } => {
                    Some(self.give(conversation, InputKind::Deadline { begun: true }))
                }
                Orphan { attempts, .. } if *attempts >= MOST_ATTEMPTS => None,
                Orphan { conversation, .. } => Some(self.resume(conversation)),
            };
            Swept { orphan, outcome }
        });
        Ok(swept.collect())
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
