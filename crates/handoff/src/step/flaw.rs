//! What cannot be in a step that was made here: what is loaded may be anything.
//!
//! Who has the turn, who is at rest, and the counts follow from the hops, and are held against them. What was said
//! and what crossed cannot be proven without a key: somebody who can write the saved text can write another
//! conversation, as long as all of it agrees.

use sommelier_runtime::AgentName;
use sommelier_runtime::turn::MOST_COUNTED;
use std::collections::BTreeSet;

use super::{Done, Step, end_of};
use crate::arbiter;
use crate::{EntryPolicy, Guard, Hop, HopOutcome, Relay, Run, RunEnd};

impl Step {
    /// What cannot be in a step that was made here.
    pub(crate) fn flaw(&self, relay: &Relay) -> Option<String> {
        let run = self.run();
        if let Some(flaw) = run.flaw(relay) {
            return Some(flaw);
        }
        let is_at_rest = run.idle(run.active.as_str()).is_some();
        match self {
            Self::Done(_) if !is_at_rest => {
                return Some("the run is done and its agent is not at rest".into());
            }
            Self::Done(_) => {}
            _ if is_at_rest => return Some("the agent that has the turn is at rest".into()),
            _ => {}
        }
        if let Some(flaw) = self.flaw_of_turns(relay) {
            return Some(flaw.to_owned());
        }
        match self {
            Self::HandOff(step)
                if !arbiter::is_asked_for(relay, run, &step.inner, &step.outputs, &step.taken) =>
            {
                Some("the handoff is not the one that its call asks for".to_owned())
            }
            Self::Done(done) if !done.has_its_end(relay) => {
                Some("the run's end is not that of the turn".to_owned())
            }
            _ => None,
        }
    }

    /// What is wrong with the turn that is out, with one at rest, or with the replies that they count.
    fn flaw_of_turns(&self, relay: &Relay) -> Option<&'static str> {
        let run = self.run();
        let active = relay.agent(run.active.as_str())?;
        let (flaw, replies) = match self {
            Self::CallModel(step) => (step.inner.flaw(active), step.inner.replies()),
            Self::CallTools(step) => (step.inner.flaw(active), step.inner.replies()),
            Self::HandOff(step) => (step.inner.flaw(active), step.inner.replies()),
            Self::Done(_) => (None, 0),
        };
        let mut idle = run.idle.iter().filter_map(|(name, turn)| Some((relay.agent(name.as_str())?, turn)));
        if let Some(flaw) = flaw.or_else(|| idle.find_map(|(agent, turn)| turn.flaw(agent))) {
            return Some(flaw);
        }
        let replies =
            run.idle.iter().fold(u64::from(replies), |sum, (_, turn)| sum + u64::from(turn.replies()));
        let spent = run.model_calls - run.model_calls_before;
        let over = matches!(self, Self::CallModel(_)) && spent >= relay.max_model_calls();
        let adds_up = replies == u64::from(run.model_calls) && spent <= relay.max_model_calls() && !over;
        (!adds_up).then_some("the counts do not add up")
    }
}

impl Done {
    /// Whether the end is one that follows from how the turn came to rest.
    fn has_its_end(&self, relay: &Relay) -> bool {
        use sommelier_runtime::TurnEnd;

        let Some(turn) = self.turn() else { return false };
        match (turn.end(), &self.end) {
            (TurnEnd::Closed, RunEnd::HandoffRefused { refusal }) => refusal.guard() != Guard::Cap,
            (TurnEnd::Closed, RunEnd::HopLimit { refusal }) => refusal.guard() == Guard::Cap,
            (TurnEnd::Closed, RunEnd::BudgetSpent { max_model_calls }) => {
                *max_model_calls == relay.max_model_calls()
            }
            (TurnEnd::Closed, end) => matches!(end, RunEnd::Failed { .. }),
            (_, end) => *end == end_of(relay, &self.run, turn),
        }
    }
}

impl Run {
    /// What cannot be in a run that steps made.
    fn flaw(&self, relay: &Relay) -> Option<String> {
        if let Some(unknown) = self.unknown_agent(relay) {
            return Some(format!("the relay has no agent {unknown}"));
        }
        let names: BTreeSet<&AgentName> = self.idle.iter().map(|(name, _)| name).collect();
        if names.len() < self.idle.len() {
            return Some("an agent is at rest twice".to_owned());
        }
        let counted = [self.messages, self.model_calls, self.tool_calls];
        let adds_up = counted.iter().all(|count| *count <= MOST_COUNTED)
            && self.messages > 0
            && self.model_calls_before <= self.model_calls
            && self.user_words.is_some() == relay.wants_user_words();
        if !adds_up || !self.trail.adds_up() {
            return Some("the counts do not add up".to_owned());
        }
        self.flaw_of_chain(relay, &names).map(str::to_owned)
    }

    fn unknown_agent(&self, relay: &Relay) -> Option<&AgentName> {
        let mut names = std::iter::once(&self.active).chain(self.idle.iter().map(|(name, _)| name));
        names.find(|name| relay.agent(name.as_str()).is_none())
    }

    /// Goes through the hops as they were made: who has the turn and who is at rest follow from them. Where the run
    /// began is known when it has had a hop or the entry hears every message; else it is taken from what is there.
    fn flaw_of_chain(&self, relay: &Relay, idle: &BTreeSet<&AgentName>) -> Option<&'static str> {
        let returns = relay.entry_policy() == EntryPolicy::Entry;
        let mut ids = BTreeSet::new();
        let mut held: BTreeSet<&AgentName> = BTreeSet::new();
        let mut holder: Option<&AgentName> = None;
        let (mut message, mut reply) = (1, 0);
        // The agent that hears the message of this number, when the messages since the last one were heard.
        let heard =
            |from: u32, to: u32, holder| if returns && to > from { Some(relay.entry()) } else { holder };
        for (place, hop) in self.trail.hops().iter().enumerate() {
            let Some((of_message, of_reply)) = self.place_of(hop) else {
                return Some("a hop has an id that is not its own");
            };
            let is_since = place >= self.trail.before();
            let is_in_order = (message, reply) <= (of_message, of_reply) && of_reply <= self.model_calls;
            if !ids.insert(&hop.id) || !is_in_order || is_since != (of_message == self.messages) {
                return Some("the hops are not in the order in which they were made");
            }
            holder = heard(message, of_message, holder);
            (message, reply) = (of_message, of_reply);
            if holder.is_some_and(|holder| *holder != hop.from) {
                return Some("a hop begins at an agent that did not have the turn");
            }
            held.insert(&hop.from);
            holder = Some(&hop.from);
            if let HopOutcome::Taken { .. } = hop.outcome {
                let to = relay.agent(&hop.to).map(|agent| agent.name());
                let Some(to) = to.filter(|to| relay.way(&hop.from, to).is_some()) else {
                    return Some("a hop was taken where there is no route");
                };
                held.insert(to);
                holder = Some(to);
            }
        }
        holder = heard(message, self.messages, holder);
        if holder.is_some_and(|holder| *holder != self.active) {
            return Some("the agent that has the turn is not the one that got it");
        }
        held.insert(&self.active);
        // The first message may have been heard by any agent. It is the first hop's sender, if there is one in that
        // message, and the entry's turn came after it if the entry hears every message.
        let first = self.trail.hops().first().and_then(|hop| self.place_of(hop));
        let is_known = !returns || self.messages == 1 || first.is_some_and(|(message, _)| message == 1);
        let strangers = idle.difference(&held).count();
        let missing = held.iter().filter(|name| ***name != self.active && !idle.contains(**name)).count();
        let fits = missing == 0 && strangers <= usize::from(!is_known);
        (!fits).then_some("the agents at rest are not those that gave the turn away")
    }

    /// The message and the model call in which a hop was asked for, as its id says.
    fn place_of(&self, hop: &Hop) -> Option<(u32, u32)> {
        let rest = hop.id.strip_prefix(&*self.conversation)?.strip_prefix('/')?;
        let mut parts = rest.split('/');
        let mut number = || parts.next()?.parse::<u32>().ok();
        let place = (number()?, number()?);
        number()?;
        (place.0 >= 1 && parts.next().is_none()).then_some(place)
    }
}
