//! How a turn ends, and the work that was handed over.

use sommelier_protocol::{Message, Words};
use sommelier_runtime::{AgentName, Definition, Turn, TurnEnd};

use super::{Done, Step, advance, completing, finish, lost, returning};
use crate::contract::Owed;
#[cfg(test)]
use crate::planted::{self, Bug};
use crate::work::{self, Work};
use crate::{Closing, Compliance, HandoffPackage, Hop, Millis, Relay, Run, RunEnd};

/// The turn has come to rest, and nobody in this run waits for its answer. One that breaks the run's contract is sent
/// back, if it may be.
pub(super) fn ended(relay: &Relay, mut run: Box<Run>, turn: Turn, at: Millis) -> Step {
    let Some(agent) = relay.agent(run.active.as_str()) else { return lost(run) };
    let end = end_of(relay, &run, &turn);
    if let RunEnd::ContractBroken { errors } = &end
        && may_be_mended(&run, agent, &turn)
        && let Some(owed) = &mut run.extra_mut().owed
    {
        let words = Words::or_dash(owed.ask_again(errors));
        return advance(relay, run, turn.go_on(agent, words), at);
    }
    run.set_down(turn);
    finish(relay, run, end, at)
}

/// Whether an answer that breaks the contract is sent back: there is a repair left, and a model can be asked for it.
pub(super) fn may_be_mended(run: &Run, agent: &Definition, turn: &Turn) -> bool {
    run.extra().owed.is_some_and(Owed::may_ask_again)
        && run.spent().is_none()
        && turn.steps() < agent.limits().max_steps
}

pub(super) fn end_of(relay: &Relay, run: &Run, turn: &Turn) -> RunEnd {
    match turn.end() {
        TurnEnd::Answered => match run.stated(&turn.answer().unwrap_or_default(), turn) {
            // Its status says how far it came, so a name in it announces nothing.
            Some(Ok(_)) => RunEnd::Answered,
            Some(Err(errors)) => RunEnd::ContractBroken { errors },
            // Who has said of each item what became of it does not think that it hands over.
            None if names_a_receiver(relay, &run.active, turn) && !completing::concluded(turn) => {
                RunEnd::Unresolved
            }
            None => RunEnd::Answered,
        },
        TurnEnd::Closed => RunEnd::Answered,
        TurnEnd::StepLimit { max_steps } => RunEnd::TurnLimit { max_steps: *max_steps },
        TurnEnd::NoProgress { why } => RunEnd::NoProgress { why: *why },
        TurnEnd::Truncated { stop } => RunEnd::Truncated { stop: stop.clone() },
        TurnEnd::ModelRefused => RunEnd::ModelRefused,
        TurnEnd::UnknownStop { stop } => RunEnd::UnknownStop { stop: stop.clone() },
        TurnEnd::Failed { error } => RunEnd::Failed { error: error.clone() },
    }
}

/// Whether an answer names a legal receiver as a word: a handoff that was announced and not made.
fn names_a_receiver(relay: &Relay, from: &AgentName, turn: &Turn) -> bool {
    if relay.receivers(from).next().is_none() {
        return false;
    }
    let answer = turn.answer().unwrap_or_default();
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_word = |(place, name): (usize, &str)| {
        !answer[..place].ends_with(is_of_word) && !answer[place + name.len()..].starts_with(is_of_word)
    };
    relay.receivers(from).any(|name| answer.match_indices(name.as_str()).any(is_word))
}

/// Ends the work that `agent` got by its newest hop, if that is open, and asks the checks of its constraints. The agent's
/// turn is at rest, or it waits.
pub(super) fn end_work(relay: &Relay, run: &mut Run, agent: &AgentName, how: Closing, at: Millis) {
    #[cfg(test)]
    if planted::is(Bug::LeftOpenAnew) && at == 0 {
        return;
    }
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

/// All work that was handed over ends here, and nobody waits any more: what they waited for will not come.
pub(super) fn end_all(relay: &Relay, run: &mut Run, how: Closing, why: &str, at: Millis) {
    end_works(relay, run, how, at);
    returning::stop_waiting_all(run, why);
}

/// All work that was handed over ends here, as far as it is open.
fn end_works(relay: &Relay, run: &mut Run, how: Closing, at: Millis) {
    for agent in at_work(run) {
        end_work(relay, run, &agent, how, at);
    }
}

/// The run goes on where it ended: the agent that has the turn has its work again, and so have those that wait for it.
pub(super) fn reopen_works(run: &mut Run) {
    for agent in at_work(run) {
        run.trail.reopen(&agent);
    }
}

/// Those that wait, and the agent that has the turn.
fn at_work(run: &Run) -> Vec<AgentName> {
    let waiting = run.extra().awaiting.iter().map(|waits| &waits.agent);
    waiting.chain([&run.active]).cloned().collect()
}

fn check(relay: &Relay, run: &Run, hop: &Hop, package: &HandoffPackage, how: Closing) -> Vec<Compliance> {
    let (messages, answer) = conversation(run, &hop.to);
    let contract = run.extra().owed.map(|owed| owed.contract);
    let messages = &messages[work::begins(messages, hop, contract, 0)..];
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

impl Done {
    /// The end of a run: what was handed over ends with it, but for one that failed. Those that wait for the turn to come
    /// back wait on: the run may go on, and then they get their answer.
    pub(super) fn of(relay: &Relay, run: Box<Run>, end: RunEnd, at: Millis) -> Self {
        let mut done = Self { run, end };
        let how = match &done.end {
            RunEnd::Failed { .. } => return done,
            #[cfg(test)]
            _ if planted::is(Bug::HopLeftOpen) => return done,
            RunEnd::TakenOver { .. } => Closing::Escalated,
            RunEnd::Cancelled { .. } => Closing::Cancelled,
            _ => done.status().closing(),
        };
        end_works(relay, &mut done.run, how, at);
        #[cfg(test)]
        if planted::is(Bug::ReturnForgottenAtEnd) {
            returning::stop_waiting_all(&mut done.run, "the run ended before the turn came back");
        }
        done
    }
}
