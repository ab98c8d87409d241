//! What cannot be in the questions to a person and their answers.

use sommelier_protocol::{ToolName, ToolUse};
use sommelier_runtime::AgentName;
use sommelier_runtime::turn::Reserved;
use std::collections::BTreeSet;

use super::UNASKED;
use crate::arbiter;
#[cfg(test)]
use crate::planted::{self, Bug};
use crate::step::human::Held;
use crate::step::{AskHuman, Step, reserved};
use crate::{Asks, Decision, Hop, HopOutcome, OnRefusal, Question, Refusal, Relay, Run};

impl AskHuman {
    /// Whether the questions are some of those that the turn leads to.
    pub(super) fn asks_what_it_would(&self, relay: &Relay) -> bool {
        // No call is asked about in two ways at once.
        let calls: BTreeSet<&str> = self.questions.iter().filter_map(Question::call).collect();
        let is_open = |question: &Question| self.run.decision(&question.id).is_none();
        if self.questions.is_empty()
            || calls.len() < self.questions.len()
            || !self.questions.iter().all(is_open)
        {
            return false;
        }
        match &self.held {
            Held::Tools(inner) => self.questions.iter().all(|question| self.may_ask(relay, inner, question)),
            Held::Reserved(inner) => {
                if let [question] = &self.questions[..]
                    && self.may_be_overtaken(relay, inner, question)
                {
                    return true;
                }
                let since = self.questions.first().map_or(0, |question| question.at);
                let mut then = self.run.clone();
                let off = self.run.off_when_ruled();
                #[cfg(test)]
                let off =
                    planted::instead(Bug::QuestionJudgedByNow, off, || then.extra().switched_off.clone());
                then.extra_mut().switched_off = off;
                let again = reserved(relay, then, inner.clone(), since);
                let Step::AskHuman(again) = again else { return false };
                let is_asked = |question: &Question| {
                    again
                        .questions
                        .iter()
                        .any(|other| Question { at: question.at, ..other.clone() } == *question)
                };
                self.questions.len() == again.questions.len() && self.questions.iter().all(is_asked)
            }
        }
    }

    /// Whether code may have put newer versions of artifacts into the run, which a handoff of the reply names, since it was
    /// asked. Then the reply is ruled on as things stand when it is answered, whatever was shown: see [`arbiter::rule`].
    fn may_be_overtaken(&self, relay: &Relay, inner: &Reserved, question: &Question) -> bool {
        let run = &self.run;
        if question.from != run.active {
            return false;
        }
        match &question.asks {
            Asks::Handoff { call_id, to, package } => {
                let is_asked = |(place, call): (usize, &ToolUse)| {
                    *run.call_id(place) == *question.id && call.id() == &**call_id
                };
                let way = relay.way(&run.active, to);
                (arbiter::may_be_overtaken(run, package) || arbiter::may_be_ruled_anew(relay, run, inner))
                    && inner.calls().any(is_asked)
                    && way.is_some_and(|way| way.route.needs_approval)
            }
            Asks::Escalation { refusal } => {
                let loud = run.first_to_escalate(relay);
                arbiter::may_be_ruled_anew(relay, run, inner)
                    && loud.is_some_and(|(hop, loud)| loud == &**refusal && question.call() == Some(&*hop.id))
            }
            Asks::Tool { .. } | Asks::Words { .. } | Asks::InDoubt { .. } | Asks::Repeat { .. } => false,
        }
    }
}

impl Run {
    /// The tools that were off when the handoffs of the newest reply were ruled on, as its refusals tell: while a person is
    /// asked, tools may go off and on.
    fn off_when_ruled(&self) -> BTreeSet<(AgentName, ToolName)> {
        let reply = format!("{}/", self.reply_id());
        let refusals = self.trail.hops().iter().rev().take_while(|hop| hop.id.starts_with(&reply));
        let off = refusals.filter_map(|hop| match &hop.outcome {
            HopOutcome::Refused { refusal } => match &**refusal {
                Refusal::TargetNotReady { to, missing_tools } => Some((to, missing_tools)),
                _ => None,
            },
            HopOutcome::Taken { .. } => None,
        });
        off.flat_map(|(to, tools)| tools.iter().map(|tool| (to.clone(), tool.clone()))).collect()
    }

    /// The first refusal of the newest reply that is not told to the model alone, if a person is to hear of it.
    fn first_to_escalate(&self, relay: &Relay) -> Option<(&Hop, &Refusal)> {
        let reply = format!("{}/", self.reply_id());
        let refused = self.trail.hops().iter().filter(|hop| hop.id.starts_with(&reply));
        let mut refused = refused.filter_map(|hop| match &hop.outcome {
            HopOutcome::Refused { refusal } => Some((hop, &**refusal)),
            HopOutcome::Taken { .. } => None,
        });
        let after = |refusal: &Refusal| relay.guards().after(refusal.guard());
        let loud = refused.find(|(_, refusal)| after(refusal) != OnRefusal::Tell);
        loud.filter(|(_, refusal)| after(refusal) == OnRefusal::Escalate)
    }

    /// Whether each answer is one to a question of this run, that came before it.
    pub(super) fn flaw_of_decisions(&self, relay: &Relay) -> Option<&'static str> {
        let mut ids = BTreeSet::new();
        let is_answer = |Decision { question, answer, .. }: &Decision| {
            let is_of_run =
                question.call().and_then(|id| self.place_of(id)).is_some_and(|(message, reply)| {
                    message <= self.messages && (1..=self.model_calls).contains(&reply)
                });
            is_of_run
                && relay.agent(question.from.as_str()).is_some()
                && question.asks.misfit(answer).is_none()
        };
        let is_sound =
            self.decisions().iter().all(|decision| is_answer(decision) && ids.insert(&*decision.question.id));
        (!is_sound || !self.asked_in_order()).then_some(UNASKED)
    }
}
