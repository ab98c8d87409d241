//! The step in which a run has ended.

use serde::{Deserialize, Serialize};
use sommelier_protocol::Words;
use sommelier_runtime::{Turn, TurnStep};

use super::ending::reopen_works;
use super::{Step, advance, heard};
use crate::contract::Stated;
#[cfg(test)]
use crate::planted::{self, Bug};
use crate::{Budget, DelegateStatus, Relay, Run, RunEnd, arbiter};

/// A run that has ended, with everything in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {
    pub(super) run: Box<Run>,
    pub(super) end: RunEnd,
}

impl Done {
    /// The run's state.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Why the run ended.
    pub fn end(&self) -> &RunEnd {
        &self.end
    }

    /// The answer of the agent that has the turn, when it gave one.
    pub fn answer(&self) -> Option<String> {
        self.turn().and_then(Turn::answer)
    }

    /// How far the run came, as whoever asked it as a delegate is told.
    pub fn status(&self) -> DelegateStatus {
        let is_open = self.run.left_open() > 0;
        match self.stated() {
            // What is still open is not done, whatever the answer says.
            Some(stated) if self.end == RunEnd::Answered => stated.status.with_open(is_open),
            _ => DelegateStatus::of(&self.end, self.turn(), is_open),
        }
    }

    /// What the run's last words state, where a contract says what they must be like and they keep it.
    pub(crate) fn stated(&self) -> Option<Stated> {
        self.run.contract()?;
        let turn = self.turn()?;
        self.run.stated(&turn.last_words()?, turn)?.ok()
    }

    /// The turn of the agent that has it.
    pub fn turn(&self) -> Option<&Turn> {
        self.run.idle(self.run.active.as_str())
    }

    /// Hears the user's next message: the agent that has the turn gets it, or the entry, as the relay says. It goes on from
    /// any end, also where a person has taken over: whether the words are for an agent is for
    /// [`RunEnd::awaits_user`](crate::RunEnd::awaits_user) to tell, and for the caller to ask.
    ///
    /// Where the run was stopped while agents waited for the turn to come back ([`Route::returns`](crate::Route::returns)) they
    /// wait on, and the answer of the agent that has the turn goes to them, as when the user speaks in the middle of a run.
    /// Where the entry gets the message the turn begins anew: their calls are told that it will not come back.
    pub fn hear(mut self, relay: &Relay, words: Words) -> Step {
        // What came before is read before.
        let Some(earlier) = self.run.next_words() else { return heard(relay, *self.run, words) };
        self.run.extra_mut().inbox.push(words.as_str().into());
        heard(relay, *self.run, earlier)
    }

    /// Tries again from where the run ended without an answer; the limits of the turn, and what the run was given, count
    /// anew. Those that wait for the turn to come back get their answer.
    ///
    /// # Errors
    /// The run is handed back when it is the user who is to speak.
    pub fn retry(self, relay: &Relay) -> Result<Step, Self> {
        self.again(relay, |run| {
            #[cfg(test)]
            if planted::is(Bug::BudgetKeptOnRetry) {
                return;
            }
            run.refill();
        })
    }

    /// Goes on from where the run ended at a limit, with so much more than it was given: in the same conversations, with
    /// all that was done; nothing is done twice. What was not limited stays without a limit. Time begins anew, and is
    /// `more.millis`, or when that is `None` as much as there was. The limits of the turn count anew.
    ///
    /// Where the end was another, this is [`retry`](Self::retry) with what is left and so much more. What was added is
    /// there until the user speaks again.
    ///
    /// # Errors
    /// The run is handed back when it is the user who is to speak.
    pub fn with_more(self, relay: &Relay, more: Budget) -> Result<Step, Self> {
        self.again(relay, |run| run.add(&more))
    }

    /// What the model is told whose handoff was refused since no hops were left, now that there are some: the result of its
    /// call says that there are none.
    fn hops_again(&self, relay: &Relay) -> Option<Words> {
        let has_hops =
            matches!(self.end, RunEnd::HopLimit { .. }) && arbiter::cap(relay, &self.run).is_none();
        has_hops.then(|| Words::or_dash(MORE_HOPS))
    }

    fn again(mut self, relay: &Relay, provide: impl FnOnce(&mut Run)) -> Result<Step, Self> {
        let active = self.run.active.clone();
        let (Some(agent), Some(turn)) = (relay.agent(active.as_str()), self.run.wake(&active)) else {
            return Err(self);
        };
        match turn.retry(agent) {
            Ok(inner) => {
                provide(&mut self.run);
                reopen_works(&mut self.run);
                let inner = match (inner, self.hops_again(relay)) {
                    (TurnStep::CallModel(call), Some(words)) => TurnStep::CallModel(call.say(words)),
                    (inner, _) => inner,
                };
                Ok(advance(relay, self.run, inner, 0))
            }
            Err(turn) => {
                self.run.set_down(turn);
                Err(self)
            }
        }
    }
}

/// What a model is told that was refused a handoff at a limit of hops, when the run goes on with more of them.
const MORE_HOPS: &str = "A further handoff may be taken now.";
