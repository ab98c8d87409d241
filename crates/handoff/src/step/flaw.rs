//! What cannot be in a step that was made here: what is loaded may be anything.
//!
//! Who has the turn, who is at rest, and the counts follow from the hops, and are held against them. What was said
//! and what crossed cannot be proven without a key: somebody who can write the saved text can write another
//! conversation, as long as all of it agrees.

use sommelier_protocol::Message;
use sommelier_runtime::AgentName;
use sommelier_runtime::turn::{MOST_COUNTED, Used};
use std::collections::BTreeSet;

use super::human::{self, Held};
use super::{AskHuman, Step};
use crate::arbiter;
use crate::delegate::Deputy;
use crate::{HandoffPackage, Millis, Relay, Run};

mod branch;
mod budget;
mod chain;
mod end;
mod holders;
mod hop;
mod inquiry;
mod question;
mod reply;

use budget::Out;
use inquiry::Conversation;
use reply::{ReplyOf, asks_delegates};

/// What is wrong where a person's answer has no question of its own.
const UNASKED: &str = "an answer is on record that nobody was asked for";

/// What is wrong where broken answers were not sent back as often as is on record.
const SENT_BACK: &str = "the answers that were sent back do not add up";

/// What is wrong where nobody has said what is on record of open items.
const UNSAID: &str = "what is on record of open items is not what their receiver said";

/// Where in the tree a run stands.
#[derive(Clone, Copy)]
enum Place<'a> {
    Root,
    Branch {
        /// Whom it is a branch of.
        deputy: &'a Deputy,
        /// What it is asked.
        question: &'a HandoffPackage,
        /// The run whose agent asks.
        asker: &'a Run,
        /// When.
        at: Millis,
    },
}

impl Step {
    /// What cannot be in a step that was made here.
    pub(crate) fn flaw(&self, relay: &Relay) -> Option<String> {
        self.flaw_at(relay, Place::Root)
    }

    fn flaw_at(&self, relay: &Relay, place: Place<'_>) -> Option<String> {
        if let Self::Done(done) = self {
            return done.flaw_at(relay, place);
        }
        let run = self.run();
        if let Some(flaw) = run.flaw(relay, place) {
            return Some(flaw);
        }
        if run.idle(run.active.as_str()).is_some() {
            return Some("the agent that has the turn is at rest".into());
        }
        if !run.sent_back_as_often_as_it_says(self.messages()) {
            return Some(SENT_BACK.to_owned());
        }
        if !run.completions_were_said(relay, self.messages()) {
            return Some(UNSAID.to_owned());
        }
        if let Some(flaw) = self.flaw_of_turns(relay, place) {
            return Some(flaw.to_owned());
        }
        let inner = match self {
            Self::AskHuman(AskHuman { held: Held::Reserved(inner), .. }) => Some(inner),
            Self::Delegate(step) => Some(&step.inner),
            Self::HandOff(step) => Some(&step.inner),
            _ => None,
        };
        if inner.is_some_and(|inner| !ReplyOf::newest(run).is_settled(relay, run, inner)) {
            return Some("a plan does not fit its call".to_owned());
        }
        if !run.answers_fit_calls(Conversation::out(self)) || !self.affords_its_doubts() {
            return Some(UNASKED.to_owned());
        }
        match self {
            Self::AskHuman(step) if !step.asks_what_it_would(relay) => {
                Some("the questions are not those that the reply asks".to_owned())
            }
            Self::Delegate(step) => step.flaw(relay),
            Self::HandOff(step) if human::needs_approval(relay, run, &step.taken) => {
                Some("nobody has approved the handoff".to_owned())
            }
            Self::HandOff(step) if asks_delegates(relay, run, &step.inner) => {
                Some("a delegate was not asked before the handoff".to_owned())
            }
            Self::HandOff(step)
                if !arbiter::is_asked_for(relay, run, &step.inner, &step.outputs, &step.taken) =>
            {
                Some("the handoff is not the one that its call asks for".to_owned())
            }
            _ => None,
        }
    }

    /// The messages of the turn that is out.
    fn messages(&self) -> &[Message] {
        match self {
            Self::CallModel(step) => step.inner.messages(),
            Self::CallTools(step) => step.inner.messages(),
            Self::AskHuman(step) => match &step.held {
                Held::Tools(inner) => inner.messages(),
                Held::Reserved(inner) => inner.messages(),
            },
            Self::Delegate(step) => step.inner.messages(),
            Self::HandOff(step) => step.inner.messages(),
            Self::Done(_) => &[],
        }
    }

    /// What is wrong with the turn that is out, with one at rest, or with the replies that they count.
    fn flaw_of_turns(&self, relay: &Relay, place: Place<'_>) -> Option<&'static str> {
        let run = self.run();
        let active = relay.agent(run.active.as_str())?;
        let (flaw, used) = match self {
            Self::CallModel(step) => (step.inner.flaw(active), step.inner.used()),
            Self::CallTools(step) => (step.inner.flaw(active), step.inner.used()),
            Self::AskHuman(step) => match &step.held {
                Held::Tools(inner) => (inner.flaw(active), inner.used()),
                Held::Reserved(inner) => (inner.flaw(active), inner.used()),
            },
            Self::Delegate(step) => (step.inner.flaw(active), step.inner.used()),
            Self::HandOff(step) => (step.inner.flaw(active), step.inner.used()),
            Self::Done(_) => (None, Used::default()),
        };
        let is_asking = matches!(self, Self::CallModel(_));
        let is_over = is_asking && run.spent().is_some();
        // The first answer begins the clock.
        let has_no_time = !is_asking && run.is_timed() && run.deadline().is_none();
        let out = Out { used, has_replied: !is_asking, branches: self.branches() };
        flaw.or_else(|| run.flaw_of_rest(relay, place, &out))
            .or((is_over || has_no_time).then_some("the counts do not add up"))
    }
}

impl Run {
    /// What cannot be in a run that steps made.
    fn flaw(&self, relay: &Relay, place: Place<'_>) -> Option<String> {
        if let Some(unknown) = self.unknown_agent(relay) {
            return Some(format!("the relay has no agent {unknown}"));
        }
        let waiting = self.extra().awaiting.iter().map(|waits| &waits.agent);
        let names: BTreeSet<&AgentName> = self.idle.iter().map(|(name, _)| name).chain(waiting).collect();
        if names.len() < self.idle.len() + self.extra().awaiting.len() || self.awaits(&self.active) {
            return Some("an agent is at rest twice".to_owned());
        }
        let counted = [self.messages, self.model_calls, self.tool_calls];
        let is_of_its_place = match place {
            Place::Root => {
                self.extra().owed.is_none() && self.user_words().is_some() == relay.wants_user_words()
            }
            Place::Branch { deputy, .. } => {
                self.extra().owed.map(|owed| owed.contract) == deputy.contract
                    && self.user_words().is_none()
                    && self.unread().is_empty()
                    && self.messages == 1
                    && self.trail.hops().first().is_none_or(|hop| hop.from == deputy.entry)
            }
        };
        let adds_up = counted.iter().all(|count| *count <= MOST_COUNTED)
            && self.messages > 0
            && self.left <= self.allowance
            && self.has_its_budget(relay, place)
            && is_of_its_place;
        if !adds_up || !self.trail.adds_up() {
            return Some("the counts do not add up".to_owned());
        }
        let mut bound: Vec<&str> = Vec::new();
        let question = match place {
            Place::Root => None,
            Place::Branch { question, .. } => Some(question),
        };
        let packages = question.into_iter().chain(self.trail.taken().filter_map(|hop| hop.package.as_ref()));
        for constraint in packages.flat_map(HandoffPackage::constraints) {
            if !bound.contains(&&**constraint) {
                bound.push(constraint);
            }
        }
        if !self.constraints().iter().map(|constraint| &**constraint).eq(bound) {
            return Some("the constraints are not those that were handed over".to_owned());
        }
        let flaw = self.trail.hops().iter().find_map(|hop| hop.flaw(relay, self));
        flaw.or_else(|| self.flaw_of_artifacts())
            .or_else(|| self.flaw_of_chain(relay, &names))
            .or_else(|| self.flaw_of_decisions(relay))
            .map(str::to_owned)
            .or_else(|| self.flaw_of_links(relay))
    }

    /// Whether the answers that broke a contract were sent back as often as is on record. `out` are the messages of the
    /// turn that is out.
    fn sent_back_as_often_as_it_says(&self, out: &[Message]) -> bool {
        let Some(owed) = &self.extra().owed else { return true };
        let at_rest = self.idle.iter().flat_map(|(_, turn)| turn.messages());
        let waiting = self.extra().awaiting.iter().flat_map(|waits| waits.inner.messages());
        owed.adds_up(out.iter().chain(at_rest).chain(waiting))
    }

    fn unknown_agent(&self, relay: &Relay) -> Option<&AgentName> {
        let waiting = self.extra().awaiting.iter().map(|waits| &waits.agent);
        let names = std::iter::once(&self.active).chain(self.idle.iter().map(|(name, _)| name));
        let mut names = names.chain(waiting);
        names.find(|name| relay.agent(name.as_str()).is_none())
    }
}
