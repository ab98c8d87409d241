//! Looking for work that nobody does any more.

use sommelier_handoff::{Millis, Step};

use super::{DurableError, DurableRunner, Settled, is_at_rest};
use crate::journal::JournalError;

/// A conversation that was found, and what was done about it.
#[derive(Debug)]
pub struct Swept {
    /// The conversation.
    pub conversation: String,
    /// The hop whose work was open, the newest one; `None` where nothing was handed over.
    pub hop: Option<String>,
    /// For how long nothing had been written, in milliseconds.
    pub idle: Millis,
    /// What came of going on with it.
    pub outcome: Result<Settled, DurableError>,
}

impl DurableRunner<'_> {
    /// Looks for conversations that are not closed, that nobody has a lease of, and in which nothing was written for `idle`
    /// milliseconds: the process that drove them has died. Each is gone on with. Where the time of a run is over, it ends by
    /// that. Two sweepers do no harm: one of them gets the lease.
    ///
    /// # Errors
    /// [`DurableError::Journal`] when the journal cannot be read at all. What goes wrong with one conversation stands in its
    /// own outcome.
    pub fn sweep(&self, idle: Millis) -> Result<Vec<Swept>, DurableError> {
        let now = self.runner.now();
        let mut swept = Vec::new();
        for last in self.journal.newest()? {
            let since = now.saturating_sub(last.event.at());
            if last.event.kind() == "closed" || since < idle || self.is_leased(&last.conversation, now)? {
                continue;
            }
            swept.extend(self.take_up(last.conversation, since));
        }
        Ok(swept)
    }

    fn is_leased(&self, conversation: &str, now: Millis) -> Result<bool, JournalError> {
        let lease = self.journal.lease(conversation)?;
        Ok(lease.is_some_and(|lease| lease.owner != self.owner && now < lease.until))
    }

    fn take_up(&self, conversation: String, idle: Millis) -> Option<Swept> {
        let found = match self.look(&conversation) {
            Ok(replay) => replay.into_parts().0?,
            Err(why) => return Some(Swept { conversation, hop: None, idle, outcome: Err(why) }),
        };
        let is_over = found.deadline().is_some_and(|until| until <= self.runner.now());
        if is_at_rest(&found) && !is_over {
            return None;
        }
        let hop = found.run().trail().open().last().map(|hop| hop.id.to_string());
        let outcome = match found {
            Step::AskHuman(_) | Step::Delegate(_) if is_over => self.time_is_over(&conversation),
            _ => self.resume(&conversation),
        };
        Some(Swept { conversation, hop, idle, outcome })
    }

    fn time_is_over(&self, conversation: &str) -> Result<Settled, DurableError> {
        self.give(conversation, sommelier_handoff::InputKind::Deadline { begun: true })
    }
}
