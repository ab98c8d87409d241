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

use super::ending::end_work;
use super::{Step, advance, end_of, lost, unanswered};
use crate::effects;
use crate::link::ITEMS_OPEN;
#[cfg(test)]
use crate::planted::{self, Bug};
use crate::refusal::quoted;
use crate::run::Awaiting;
use crate::{Closing, DelegateResult, HandoffPackage, Hop, Millis, Relay, Run, RunEnd};

/// The sender waits with its call open. `hop` is the handoff that was taken.
pub(super) fn wait(run: &mut Run, inner: Reserved, outputs: Vec<ToolOutput>, hop: &Hop) {
    let place = inner.calls().position(|(_, call)| *call.id() == *hop.call_id).unwrap_or(0);
    let agent = run.active.clone();
    run.extra_mut().awaiting.push(Awaiting { agent, inner, outputs, place });
}

/// The receiver's turn has ended, and somebody waits for it.
pub(super) fn give_back(relay: &Relay, mut run: Box<Run>, turn: Turn, at: Millis) -> Step {
    let end = end_of(relay, &run, &turn);
    let active = run.active.clone();
    let left = run.trail.held(&active).map(Hop::left).unwrap_or_default();
    let mut result = DelegateResult::of_end(&end, Some(&turn), left.len(), turn.steps());
    if end == RunEnd::Answered && !left.is_empty() {
        // They are the sender's own, so it is told which.
        result.reason = Some(format!("{ITEMS_OPEN}: {}", quoted(&left)).into());
    }
    #[cfg(test)]
    let active = planted::instead(Bug::ReturnLeftOpen, active, || relay.entry().clone());
    run.set_down(turn);
    if let Some(hop) = awaited(&run) {
        (result.steps_used, result.effects) = effects::since(&run, relay, hop);
    }
    end_work(relay, &mut run, &active, result.status.closing(), at);
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
    while let Some(passed) =
        run.extra().awaiting.last().map(|waits| waits.agent.clone()).filter(|agent| agent != to)
    {
        end_work(relay, &mut run, &passed, Closing::HandedOn, at);
        stop_waiting(&mut run, "the turn was handed back past this agent");
    }
    let effects = awaited(&run).map(|hop| effects::since(&run, relay, hop).1).unwrap_or_default();
    let told = HandedBack { status: "handed_back", from: &from, package, effects };
    resume(relay, run, ToolOutput::ok(serde_json::to_string(&told).unwrap_or_default()), at)
}

/// The handoff that the one waits for whose answer comes next.
fn awaited(run: &Run) -> Option<&Hop> {
    let waits = run.extra().awaiting.last()?;
    // It has not had the turn since.
    run.trail.newest_from(&waits.agent)
}

/// What the one that waits is told when the turn is handed back.
#[derive(Serialize)]
struct HandedBack<'a> {
    status: &'static str,
    from: &'a AgentName,
    package: &'a HandoffPackage,
    /// The tools that need approval and ran since the turn was handed over: what they did stays done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    effects: Vec<Box<str>>,
}

/// The one that waits for the answer to come next goes on, with this as the result of its handoff.
fn resume(relay: &Relay, mut run: Box<Run>, output: ToolOutput, at: Millis) -> Step {
    #[cfg(test)]
    if planted::is(Bug::ReturnToTheFirst) {
        run.extra_mut().awaiting.reverse();
    }
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
