//! How work ends that was handed over.

use sommelier_protocol::Message;
use sommelier_runtime::AgentName;

use super::{Done, returning};
use crate::work::{self, Work};
use crate::{Closing, Compliance, DelegateStatus, HandoffPackage, Hop, Millis, Relay, Run, RunEnd};

/// Ends the work that `agent` got by its newest hop, if that is open, and asks the checks of its constraints. The agent's
/// turn is at rest, or it waits.
pub(super) fn end_work(relay: &Relay, run: &mut Run, agent: &AgentName, how: Closing, at: Millis) {
    let Some(hop) = run.trail.held(agent) else { return };
    let how = hop.closing(how);
    let compliance = match &hop.package {
        Some(package) if work::are_for(relay.constraint_checks(), package) => {
            check(relay, run, hop, package, how)
        }
        _ => Vec::new(),
    };
    run.trail.close(agent, how, at, compliance);
}

fn check(relay: &Relay, run: &Run, hop: &Hop, package: &HandoffPackage, how: Closing) -> Vec<Compliance> {
    let (messages, answer) = conversation(run, &hop.to);
    let messages = &messages[since(messages, hop, package)..];
    let constraints = package.constraints().iter().map(|text| &**text);
    let of = |constraint| {
        let answer = answer.as_deref();
        let work = Work { constraint, agent: &hop.to, package, how, answer, messages };
        work::compliance(relay.constraint_checks(), &work)
    };
    constraints.map(of).collect()
}

/// What an agent at rest, or one that waits, has said and heard; and its answer, if it gave one.
fn conversation<'a>(run: &'a Run, agent: &str) -> (&'a [Message], Option<String>) {
    if let Some(turn) = run.idle(agent) {
        return (turn.messages(), turn.answer());
    }
    let waits = run.extra().awaiting.iter().find(|waits| waits.agent.as_str() == agent);
    (waits.map_or(&[], |waits| waits.inner.messages()), None)
}

/// Where in a conversation the package came: as a message, or as the result of a handoff that came back.
fn since(messages: &[Message], hop: &Hop, package: &HandoffPackage) -> usize {
    let (told, json) = (package.to_prompt(&hop.from), package.to_json());
    let brings = |message: &Message| {
        message.texts().any(|text| text == told)
            || message.tool_results().any(|result| result.words().contains(&json))
    };
    messages.iter().rposition(brings).unwrap_or(0)
}

impl Done {
    /// The end of a run: what was handed over ends with it, and nobody waits any more. A run that failed may be tried
    /// again, so there both stay open.
    pub(super) fn of(relay: &Relay, mut run: Box<Run>, end: RunEnd, at: Millis) -> Self {
        let how = match &end {
            RunEnd::Failed { .. } => return Self { run, end },
            RunEnd::TakenOver { .. } => Closing::Escalated,
            RunEnd::Cancelled { .. } => Closing::Cancelled,
            end => DelegateStatus::of(end, run.idle(run.active.as_str()), run.left_open() > 0).closing(),
        };
        let waiting: Vec<AgentName> = run.extra().awaiting.iter().map(|waits| waits.agent.clone()).collect();
        let active = run.active.clone();
        for agent in waiting.iter().chain([&active]) {
            end_work(relay, &mut run, agent, how, at);
        }
        returning::stop_waiting_all(&mut run, "the run ended before the turn came back");
        Self { run, end }
    }
}
