//! What cannot be in the order of the hops.

use sommelier_runtime::AgentName;
use std::collections::BTreeSet;

use super::holders::Holders;
use crate::{EntryPolicy, HopOutcome, Relay, Run};

impl Run {
    /// Goes through the hops as they were made: who has the turn and who is at rest follow from them. Where the run
    /// began is known when it has had a hop or the entry hears every message; else it is taken from what is there.
    pub(super) fn flaw_of_chain(&self, relay: &Relay, idle: &BTreeSet<&AgentName>) -> Option<&'static str> {
        let returns = relay.entry_policy() == EntryPolicy::Entry;
        let mut ids = BTreeSet::new();
        let mut held: BTreeSet<&AgentName> = BTreeSet::new();
        let mut holders = Holders::default();
        let (mut message, mut reply) = (1, 0);
        for (place, hop) in self.trail.hops().iter().enumerate() {
            let Some((of_message, of_reply)) = self.place_of(&hop.id) else {
                return Some("a hop has an id that is not its own");
            };
            let is_since = place >= self.trail.before();
            let is_in_order = (message, reply) <= (of_message, of_reply) && of_reply <= self.model_calls;
            if !ids.insert(&hop.id) || !is_in_order || is_since != (of_message == self.messages) {
                return Some("the hops are not in the order in which they were made");
            }
            if returns && of_message > message {
                holders.or_entry(relay.entry());
            }
            (message, reply) = (of_message, of_reply);
            if !holders.has(&hop.from) {
                return Some("a hop begins at an agent that did not have the turn");
            }
            held.insert(&hop.from);
            if let HopOutcome::Taken { .. } = hop.outcome {
                let to = relay.agent(&hop.to).map(|agent| agent.name());
                let Some((to, way)) = to.and_then(|to| Some((to, relay.way(&hop.from, to)?))) else {
                    return Some("a hop was taken where there is no route");
                };
                held.insert(to);
                holders.take(to, way.route.returns);
            }
        }
        if returns && self.messages > message {
            holders.or_entry(relay.entry());
        }
        if !holders.has(&self.active) {
            return Some("the agent that has the turn is not the one that got it");
        }
        let awaiting = &self.extra().awaiting;
        if !holders.wait(awaiting.iter().map(|waits| &waits.agent)) {
            return Some("the agents that wait are not those whose handoff is to come back");
        }
        held.insert(&self.active);
        // The first message may have been heard by any agent. It is the first hop's sender, if there is one in that
        // message, and the entry's turn came after it if the entry hears every message.
        let first = self.trail.hops().first().and_then(|hop| self.place_of(&hop.id));
        let is_known = !returns || self.messages == 1 || first.is_some_and(|(message, _)| message == 1);
        let strangers = idle.difference(&held).count();
        let missing = held.iter().filter(|name| ***name != self.active && !idle.contains(**name)).count();
        let fits = missing == 0 && strangers <= usize::from(!is_known);
        (!fits).then_some("the agents at rest are not those that gave the turn away")
    }

    /// The message and the model call in which a hop or a delegation was asked for, as its id says.
    pub(crate) fn place_of(&self, id: &str) -> Option<(u32, u32)> {
        let rest = id.strip_prefix(&*self.conversation)?.strip_prefix('/')?;
        let mut parts = rest.split('/');
        let mut number = || parts.next()?.parse::<u32>().ok();
        let place = (number()?, number()?);
        number()?;
        (place.0 >= 1 && parts.next().is_none()).then_some(place)
    }
}
