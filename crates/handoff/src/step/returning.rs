//! Routes on which the turn comes back.
//!
//! ```text
//!   HandOff ─take─▶ CallModel of the receiver ... its answer ─▶ CallModel of the sender, with the answer as result
//! ```
//!
//! The sender's call is open meanwhile, so nobody asks its model. A receiver that hands the turn to the sender by a call
//! of its own gives it back just so: its package is the result.

use serde::Serialize;
use sommelier_runtime::turn::Reserved;
use sommelier_runtime::{AgentName, ToolOutput, Turn};

use super::{Done, Step, advance, end_of, lost, unanswered};
use crate::run::Awaiting;
use crate::{Closing, DelegateResult, DelegateStatus, HandoffPackage, Hop, Millis, Relay, Run, RunEnd};

/// The sender waits with its call open. `hop` is the handoff that was taken.
pub(super) fn wait(run: &mut Run, inner: Reserved, outputs: Vec<ToolOutput>, hop: &Hop) {
    let place = inner.calls().position(|(_, call)| *call.id() == *hop.call_id).unwrap_or(0);
    let agent = run.active.clone();
    run.extra_mut().awaiting.push(Awaiting { agent, inner, outputs, place });
}

/// The receiver's turn has ended, and somebody waits for it.
pub(super) fn give_back(relay: &Relay, mut run: Box<Run>, turn: Turn, at: Millis) -> Step {
    let end = end_of(relay, &run, &turn);
    let result = DelegateResult::of_end(&end, Some(&turn), turn.steps());
    let active = run.active.clone();
    run.trail.close(&active, result.status.closing(), at);
    run.set_down(turn);
    resume(relay, run, result.output(), at)
}

/// The receiver has handed the turn to one that waits; its own turn is at rest. Whoever waited in between does not get an
/// answer any more.
pub(super) fn hand_back(
    relay: &Relay,
    mut run: Box<Run>,
    to: &AgentName,
    package: &HandoffPackage,
    at: Millis,
) -> Step {
    let from = run.active.clone();
    while run.extra().awaiting.last().is_some_and(|waits| waits.agent != *to) {
        stop_waiting(&mut run, "the turn was handed back past this agent");
    }
    let told = HandedBack { status: "handed_back", from: &from, package };
    resume(relay, run, ToolOutput::ok(serde_json::to_string(&told).unwrap_or_default()), at)
}

/// What the one that waits is told when the turn is handed back.
#[derive(Serialize)]
struct HandedBack<'a> {
    status: &'static str,
    from: &'a AgentName,
    package: &'a HandoffPackage,
}

/// The one that waits for the answer to come next goes on, with this as the result of its handoff.
fn resume(relay: &Relay, mut run: Box<Run>, output: ToolOutput, at: Millis) -> Step {
    let Some(Awaiting { agent, inner, mut outputs, place }) = run.extra_mut().awaiting.pop() else {
        return lost(run);
    };
    run.active = agent;
    let Some(definition) = relay.agent(run.active.as_str()) else { return lost(run) };
    if let Some(result) = outputs.get_mut(place) {
        *result = output.at_most(definition.limits().result_bytes);
    }
    match inner.answer(definition, outputs) {
        Ok(inner) => advance(relay, run, inner, at),
        Err(misuse) => unanswered(run, *misuse.step),
    }
}

/// The one that waits for the answer to come next waits no more; its call is answered with `why`.
fn stop_waiting(run: &mut Run, why: &str) {
    let Some(Awaiting { agent, inner, .. }) = run.extra_mut().awaiting.pop() else { return };
    run.idle.push((agent, inner.abandon(why)));
}

/// Nobody waits any more: what they waited for will not come.
pub(super) fn stop_waiting_all(run: &mut Run, why: &str) {
    while !run.extra().awaiting.is_empty() {
        stop_waiting(run, why);
    }
}

impl Done {
    /// The end of a run: what was handed over ends with it, and nobody waits any more. A run that failed may be tried
    /// again, so there both stay open.
    pub(super) fn of(mut run: Box<Run>, end: RunEnd, at: Millis) -> Self {
        let how = match &end {
            RunEnd::Failed { .. } => return Self { run, end },
            RunEnd::TakenOver { .. } => Closing::Escalated,
            RunEnd::Cancelled { .. } => Closing::Cancelled,
            end => DelegateStatus::of(end, run.idle(run.active.as_str())).closing(),
        };
        let waiting: Vec<AgentName> = run.extra().awaiting.iter().map(|waits| waits.agent.clone()).collect();
        let active = run.active.clone();
        for agent in waiting.iter().chain([&active]) {
            run.trail.close(agent, how, at);
        }
        stop_waiting_all(&mut run, "the run ended before the turn came back");
        Self { run, end }
    }
}
