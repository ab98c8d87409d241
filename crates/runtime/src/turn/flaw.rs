//! What cannot be in a turn that was made here: what is loaded may be anything.
//!
//! Each state tells what in it contradicts itself or the definition. What was said cannot be proven without a key,
//! and is not looked at here; the order of messages is checked while they are read.

use sommelier_protocol::transcript::UNREADABLE_NAME;
use sommelier_protocol::{Message, Role, ToolUse};

use super::{ModelCall, Plan, Progress, Reserved, Rest, ToolCalls, Turn, TurnEnd, withheld};
use crate::{Definition, ToolOutput};

/// More than any turn counts to, and far from where counting ends.
pub const MOST_COUNTED: u32 = u32::MAX / 2;

/// What a call of a reply asks for, by its place, its name and its size.
#[derive(PartialEq)]
enum Due {
    Run,
    Reserve,
    Answer,
}

fn due(agent: &Definition, place: usize, call: &ToolUse) -> Due {
    if place >= agent.limits().calls_per_reply {
        Due::Answer
    } else if agent.is_reserved(call.name()) {
        Due::Reserve
    } else if agent.table().has(call.name()) && withheld(agent, call).is_none() {
        Due::Run
    } else {
        Due::Answer
    }
}

/// What is wrong with the plans for the calls of a reply; `has_run` when the agent's own tools have run, `ran` how often
/// any of them has.
fn flaw_of_plans<'a>(
    agent: &Definition,
    calls: impl Iterator<Item = &'a ToolUse>,
    plans: &[Plan],
    has_run: bool,
    ran: u32,
) -> Option<&'static str> {
    let calls: Vec<&ToolUse> = calls.collect();
    if calls.len() != plans.len() {
        return Some("the plans are not one for each call");
    }
    let fits = |(place, (call, plan)): (usize, (&&ToolUse, &Plan))| match (due(agent, place, call), plan) {
        (Due::Run, Plan::Run) => !has_run,
        // Some of the tools may have run before the others.
        (Due::Run, Plan::Answered(_)) => true,
        // After the tools have run, the layer above may have settled some of its calls.
        (Due::Reserve, Plan::Answered(_)) if has_run => true,
        (Due::Reserve, Plan::Reserve) | (Due::Answer, Plan::Answered(_)) => true,
        // A name that no tool can have stands as this one, whether or not a tool has it.
        (_, Plan::Answered(_)) => call.name() == UNREADABLE_NAME,
        _ => false,
    };
    // Before all have run, those that have are counted.
    let has_answer = |(place, (call, plan)): &(usize, (&&ToolUse, &Plan))| {
        due(agent, *place, call) == Due::Run
            && matches!(plan, Plan::Answered(_))
            && call.name() != UNREADABLE_NAME
    };
    let answered = calls.iter().zip(plans).enumerate().filter(has_answer).count();
    let is_counted = has_run || u32::try_from(answered).is_ok_and(|answered| answered <= ran);
    if !is_counted || !calls.iter().zip(plans).enumerate().all(fits) {
        return Some("a plan does not fit its call");
    }
    let waits_for = if has_run { &Plan::Reserve } else { &Plan::Run };
    (!plans.contains(waits_for)).then_some("no call waits for an answer")
}

impl Progress {
    fn flaw(&self, agent: &Definition, messages: &[Message]) -> Option<&'static str> {
        let spoken = messages.iter().filter(|message| message.role == Role::Assistant).count();
        let counts = self.steps <= self.replies
            && self.replies <= MOST_COUNTED
            && self.steps <= agent.limits().max_steps
            // Who puts an answer into the model's mouth took it from a reply.
            && u32::from(self.concluded) <= self.replies
            && u32::try_from(spoken).is_ok_and(|spoken| spoken <= self.replies + u32::from(self.concluded));
        (!counts).then_some("the turn's counts do not add up")
    }
}

impl ModelCall {
    /// Replies that the conversation has had.
    pub fn replies(&self) -> u32 {
        self.progress.replies
    }

    /// What cannot be in a step of this agent that was made here.
    pub fn flaw(&self, agent: &Definition) -> Option<&'static str> {
        let flaw = self.progress.flaw(agent, self.asking.messages());
        let is_over = self.progress.steps >= agent.limits().max_steps;
        flaw.or(is_over.then_some("the turn has had all its model calls"))
    }
}

impl ToolCalls {
    /// What cannot be in a step of this agent that was made here.
    pub fn flaw(&self, agent: &Definition) -> Option<&'static str> {
        let flaw = self.progress.flaw(agent, self.owing.messages());
        flaw.or_else(|| {
            flaw_of_plans(agent, self.owing.calls(), &self.plans, false, self.progress.tool_calls)
        })
    }
}

impl Reserved {
    /// The reserved calls that were [settled](Self::settle), each with its place among the calls of the reply and with
    /// its answer.
    pub fn settled<'a>(
        &'a self,
        agent: &'a Definition,
    ) -> impl Iterator<Item = (usize, &'a ToolUse, &'a ToolOutput)> {
        let calls = self.owing.calls().enumerate().zip(&self.plans);
        let answered = calls.filter_map(|((place, call), plan)| match plan {
            Plan::Answered(output) => Some((place, call, output)),
            Plan::Run | Plan::Reserve => None,
        });
        answered.filter(|(place, call, _)| {
            due(agent, *place, call) == Due::Reserve && call.name() != UNREADABLE_NAME
        })
    }

    /// What cannot be in a step of this agent that was made here.
    pub fn flaw(&self, agent: &Definition) -> Option<&'static str> {
        let flaw = self.progress.flaw(agent, self.owing.messages());
        flaw.or_else(|| flaw_of_plans(agent, self.owing.calls(), &self.plans, true, self.progress.tool_calls))
    }
}

impl Turn {
    /// Replies that the conversation has had.
    pub fn replies(&self) -> u32 {
        self.progress.replies
    }

    /// What cannot be in a turn of this agent that was made here.
    pub fn flaw(&self, agent: &Definition) -> Option<&'static str> {
        let fits = match (&self.end, &self.rest) {
            (TurnEnd::Answered, rest) => matches!(rest, Rest::Resting(_)),
            (TurnEnd::Closed | TurnEnd::StepLimit { .. } | TurnEnd::Failed { .. }, rest) => {
                matches!(rest, Rest::Asking(_))
            }
            _ => true,
        };
        let flaw = self.progress.flaw(agent, self.messages());
        flaw.or((!fits).then_some("the turn's end does not fit its messages"))
    }
}
