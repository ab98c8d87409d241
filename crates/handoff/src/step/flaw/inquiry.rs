//! What people cannot have been asked about calls of tools, and said of them.

use sommelier_protocol::{Message, ToolResult, ToolUse};
use sommelier_runtime::turn::{Reserved, ToolCalls};
use sommelier_runtime::{ToolOutput, Turn};
use std::collections::BTreeSet;

use crate::question::suffix;
use crate::step::human::{AskHuman, Held};
use crate::step::inquiring;
use crate::step::{CallTools, Step};
use crate::{Answer, Asks, Decision, Question, Relay, Run};

/// Whether something is asked about this call of a tool.
fn is_about(asks: &Asks, call: &ToolUse) -> bool {
    asks.of_tool()
        .is_some_and(|(id, tool, input)| (id, tool.as_str(), input) == (call.id(), call.name(), call.input()))
}

impl AskHuman {
    /// Whether this may be asked about a call that waits to run: nobody has said of it yet what ends the asking.
    pub(super) fn may_ask(&self, relay: &Relay, calls: &ToolCalls, question: &Question) -> bool {
        let run = &self.run;
        let asked = calls.calls().find(|(place, _)| question.call() == Some(&*run.call_id(*place)));
        let (Some(agent), Some((place, call))) = (relay.agent(run.active.as_str()), asked) else {
            return false;
        };
        let is_due = match question.asks {
            Asks::Tool { .. } => {
                agent.table().needs_approval(call.name()) && run.decision_on(place, suffix::REPEAT).is_none()
            }
            _ => true,
        };
        is_due
            && question.from == run.active
            && is_about(&question.asks, call)
            && run.attested(place, call).is_none()
            && run.rejected(place, call).is_none()
    }
}

/// What an agent has said and heard, and what is known of its newest reply while no message answers that.
#[derive(Clone, Copy)]
pub(super) struct Conversation<'a> {
    messages: &'a [Message],
    waiting: Option<&'a ToolCalls>,
    answered: Option<&'a Reserved>,
}

impl<'a> Conversation<'a> {
    pub(super) fn at_rest(messages: &'a [Message]) -> Self {
        Self { messages, waiting: None, answered: None }
    }

    /// Of the turn that is out.
    pub(super) fn out(step: &'a Step) -> Self {
        let (waiting, answered) = match step {
            Step::CallTools(step) => (Some(&step.inner), None),
            Step::AskHuman(step) => match &step.held {
                Held::Tools(inner) => (Some(inner), None),
                Held::Reserved(inner) => (None, Some(inner)),
            },
            Step::Delegate(step) => (None, Some(&step.inner)),
            Step::HandOff(step) => (None, Some(&step.inner)),
            Step::CallModel(_) | Step::Done(_) => (None, None),
        };
        Self { messages: step.messages(), waiting, answered }
    }

    /// Whether there is a reply that no message answers.
    fn is_open(self) -> bool {
        self.waiting.is_some() || self.answered.is_some()
    }

    /// Whether the agent has made this call and was told this of it, if anything.
    fn has(self, asks: &Asks, told: Option<&ToolOutput>) -> bool {
        let mut calls = self.messages.iter().flat_map(Message::tool_uses).filter(|call| is_about(asks, call));
        let Some(told) = told else { return calls.next().is_some() };
        let mut newest = self.answered.into_iter().flat_map(Reserved::answered);
        newest.any(|(call, output)| is_about(asks, call) && output == told)
            || self
                .results()
                .any(|(call, result)| is_about(asks, call) && *result == told.clone().into_result(call.id()))
    }

    /// Whether the newest reply has this call, and was told this.
    fn newest_has(self, asks: &Asks, told: &ToolOutput) -> bool {
        let mut newest = self.answered.into_iter().flat_map(Reserved::answered);
        newest.any(|(call, output)| is_about(asks, call) && output == told)
    }

    fn results(self) -> impl Iterator<Item = (&'a ToolUse, &'a ToolResult)> {
        self.messages.iter().zip(self.messages.iter().skip(1)).flat_map(|(calls, results)| {
            calls.tool_uses().filter_map(|call| {
                let result = results.tool_results().find(|result| result.tool_use_id() == call.id());
                Some((call, result?))
            })
        })
    }

    /// Whether the call at `place` of the reply that is open is the one, and waits or was told this.
    fn has_at(self, place: usize, asks: &Asks, told: Option<&ToolOutput>) -> bool {
        let call = self.messages.last().and_then(|reply| reply.tool_uses().nth(place));
        let is_this = call.is_some_and(|call| is_about(asks, call));
        let waits = || self.waiting.is_some_and(|calls| calls.calls().any(|(waits, _)| waits == place));
        is_this && told.is_none_or(|told| waits() || self.newest_has(asks, told))
    }
}

impl Step {
    /// Whether what is in doubt was within what the run might do.
    pub(super) fn affords_its_doubts(&self) -> bool {
        match self {
            Self::CallTools(step) => step.affords(&[]),
            Self::AskHuman(AskHuman { run, held: Held::Tools(inner), questions }) => {
                CallTools { run: run.clone(), inner: inner.clone() }.affords(questions)
            }
            _ => true,
        }
    }
}

impl Run {
    /// Whether what people have said of calls of tools fits them: each call was made, and of one that was in doubt its agent
    /// was told just what was said, if it was told anything yet. `out` is the turn that is out.
    pub(super) fn answers_fit_calls(&self, out: Conversation<'_>) -> bool {
        self.decisions().iter().all(|decision| self.fits_calls(decision, out))
    }

    fn fits_calls(&self, Decision { question, answer, .. }: &Decision, out: Conversation<'_>) -> bool {
        let asks = &question.asks;
        let told = asks.of_tool().and_then(|(_, tool, _)| inquiring::attested(answer, tool.as_str()));
        let newest = question.call().and_then(|id| id.strip_prefix(&*self.reply_id())?.strip_prefix('/'));
        match newest.filter(|_| out.is_open()) {
            // People are asked about calls of tools first, and whoever takes over ends the run.
            Some(_) if asks.of_tool().is_none() => out.waiting.is_none(),
            Some(place) => {
                question.from == self.active
                    && !matches!(answer, Answer::TakeOver { .. })
                    && place.parse().is_ok_and(|place| out.has_at(place, asks, told.as_ref()))
            }
            None => asks.of_tool().is_none() || self.conversation_of(question, out).has(asks, told.as_ref()),
        }
    }

    /// The conversation of the agent that the question comes from.
    fn conversation_of<'a>(&'a self, question: &Question, out: Conversation<'a>) -> Conversation<'a> {
        let waits = self.extra().awaiting.iter().find(|waits| waits.agent == question.from);
        match (self.idle(question.from.as_str()).map(Turn::messages), waits) {
            (Some(messages), _) => Conversation::at_rest(messages),
            (None, Some(waits)) => {
                Conversation { answered: Some(&waits.inner), ..Conversation::at_rest(waits.inner.messages()) }
            }
            (None, None) if self.active == question.from => out,
            (None, None) => Conversation::at_rest(&[]),
        }
    }

    /// Whether nothing was asked about a call of a tool after an answer by which it does not run.
    pub(super) fn asked_in_order(&self) -> bool {
        let mut ended = BTreeSet::new();
        let of_tools = self.decisions().iter().filter(|decision| decision.question.asks.of_tool().is_some());
        of_tools.fold(true, |is_in_order, Decision { question, answer, .. }| {
            let is_open = !ended.contains(&question.call());
            if *answer != Answer::Approve {
                ended.insert(question.call());
            }
            is_in_order && is_open
        })
    }
}
