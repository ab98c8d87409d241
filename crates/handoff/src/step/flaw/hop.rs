//! What cannot be in a hop.

use sommelier_protocol::Message;
use sommelier_runtime::{AgentName, Turn};

use crate::completion;
use crate::step::completing;
use crate::{Closing, Completion, Compliance, Hop, Relay, Run, work};

/// Whether work can have ended so of whose items this was said. Under a contract the answer states itself how far it came,
/// which may be less far than the items are.
fn is_end_of(said: &Completion, how: Closing, has_contract: bool) -> bool {
    match how {
        Closing::Done => said.open.is_empty(),
        Closing::Partial => has_contract || !said.open.is_empty(),
        Closing::Failed => has_contract,
        Closing::HandedOn | Closing::Escalated | Closing::Cancelled => false,
    }
}

impl Hop {
    /// What is wrong with what a hop of this run says of its work.
    pub(super) fn flaw(&self, relay: &Relay, run: &Run) -> Option<&'static str> {
        let how = self.end.map(|end| end.how);
        let items = self.package.as_ref().map(completion::items).unwrap_or_default();
        let is_completed = match self.completion() {
            // It accounts for each item, and ends the work in the moment in which it is written down.
            Some(said) => {
                let is_sound = Completion::of(&items, &said.done, &said.open).as_ref() == Ok(said);
                let is_end = how.is_some_and(|how| is_end_of(said, how, run.extra().owed.is_some()));
                is_sound && !items.is_empty() && self.outcome.is_taken() && is_end
            }
            None => how != Some(Closing::Done) || items.is_empty(),
        };
        if !is_completed {
            return Some("how a hop ended is not what was said of its open items");
        }
        (!self.is_checked(relay)).then_some("the checks of a hop are not those of its constraints")
    }

    /// Whether there is a word for each constraint that has a check, once the work has ended, and for no other.
    fn is_checked(&self, relay: &Relay) -> bool {
        let checks = relay.constraint_checks();
        let written = self.account.as_ref().map_or(&[][..], |account| &account.compliance);
        let is_due = self.package.as_ref().is_some_and(|package| work::are_for(checks, package));
        if !is_due || self.end.is_none() {
            return written.is_empty();
        }
        let constraints = self.package.as_ref().map_or(0, |package| package.constraints().len());
        constraints == written.len()
            && self.compliance().all(|(constraint, found)| {
                work::has_check(checks, constraint) == (*found != Compliance::Unchecked)
            })
    }
}

impl Run {
    /// Whether what is on record of open items was said by whoever was handed them. `out` are the messages of the turn that is
    /// out.
    pub(super) fn completions_were_said(&self, relay: &Relay, out: &[Message]) -> bool {
        self.trail.hops().iter().all(|hop| match (hop.completion(), &hop.package) {
            (Some(said), Some(package)) => relay.agent(&hop.to).is_some_and(|agent| {
                let items = completion::items(package);
                completing::was_said(agent, self.messages_of(agent.name(), out), &items, said)
            }),
            (said, _) => said.is_none(),
        })
    }

    fn messages_of<'a>(&'a self, agent: &AgentName, out: &'a [Message]) -> &'a [Message] {
        let waits = self.extra().awaiting.iter().find(|waits| waits.agent == *agent);
        let at_rest = self.idle(agent.as_str()).map(Turn::messages);
        let waiting = waits.map(|waits| waits.inner.messages());
        at_rest.or(waiting).unwrap_or(if self.active == *agent { out } else { &[] })
    }
}
