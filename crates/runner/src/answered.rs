//! What a person has answered, as spans tell it.

use sommelier_handoff::{Answer, Asks, Decision, Relay, Run, Step};
use tracing::{Span, record_all};

use crate::secrets::Vault;
use crate::spans;

/// An answer that a run goes on with.
#[derive(Debug)]
pub(crate) struct Answered {
    id: Box<str>,
    question: &'static str,
    answer: &'static str,
}

impl Answered {
    /// The answer to a question that is open in the step; `None` where there is no such question.
    pub(crate) fn of(step: &Step, id: &str, answer: &Answer) -> Option<Self> {
        let (_, question) = step.questions().into_iter().find(|(_, question)| *question.id == *id)?;
        Some(Self { id: id.into(), question: question.asks.as_str(), answer: answer.as_str() })
    }

    /// Says on the root what a person has answered to what.
    pub(crate) fn record(&self, workflow: &Span) {
        record_all!(workflow, question = self.question, answered = self.answer);
    }

    /// What a "no" has kept from being done has a span, as what is done would have one: in the run that has asked.
    pub(crate) fn tell_rejected(&self, relay: &Relay, run: &Run, agent: &Span, vault: &Vault<'_>) {
        let newest = run.decisions().last().filter(|decision| decision.question.id == self.id);
        let Some(Decision { question, answer: Answer::Reject { .. }, .. }) = newest else { return };
        match &question.asks {
            Asks::Tool { call_id, tool, input } | Asks::Repeat { call_id, tool, input, .. } => {
                if let Some(from) = relay.agent(question.from.as_str()) {
                    spans::rejected_tool(agent, from, (call_id, tool, input), vault);
                }
            }
            Asks::Handoff { .. } => {
                let hop = run.trail().hops().iter().rev().find(|hop| hop.id == question.id);
                if let Some(hop) = hop.filter(|hop| !hop.outcome.is_taken()) {
                    let span = spans::handoff(agent, relay, hop, vault);
                    spans::record_hop(&span, &hop.outcome, 0);
                }
            }
            // What is said and what is done about a refusal is in the spans of what follows.
            Asks::Words { .. } | Asks::Escalation { .. } | Asks::InDoubt { .. } => {}
        }
    }
}
