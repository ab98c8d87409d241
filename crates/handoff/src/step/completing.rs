//! How a receiver ends its work on a package with open items.
//!
//! ```text
//!   a reply ─▶ complete_handoff ─┬─ each item is accounted for ─▶ the answer in it is the turn's
//!                                └─ else the model is told, and goes on
//! ```
//!
//! The call is looked at after all that the reply asks for besides, and before a handoff: work that is handed on is the
//! next hop's and not completed.

use sommelier_protocol::{Message, ToolUse, Words};
use sommelier_runtime::turn::Reserved;
use sommelier_runtime::{Definition, ToolOutput, Turn, TurnStep};

use super::{Step, advance, unanswered};
use crate::completion::{COMPLETE_HANDOFF, Completion, CompletionRefusal};
use crate::{HANDOFF_TO_SPECIALIST, Millis, Relay, Run, pseudo_tool};

/// Whether the agent at work is offered to complete what it was handed. It does not change while the agent has the turn,
/// so its requests begin alike.
pub(super) fn is_offered(agent: &Definition, run: &Run) -> bool {
    !agent.unoffered().is_empty() && !open(run).is_empty()
}

/// The items of the agent at work that nobody has accounted for.
fn open(run: &Run) -> Vec<&str> {
    run.trail.held(&run.active).map(|hop| hop.left()).unwrap_or_default()
}

/// Whether a turn has answered by a completion, and not by a reply in words.
pub(super) fn concluded(turn: &Turn) -> bool {
    let [.., calls, results, _] = turn.messages() else { return false };
    let is_completed = |id: &str| calls.tool_uses().any(|call| call.id() == id && is_completion(call));
    turn.answer().is_some()
        && results.tool_results().any(|result| !result.is_error() && is_completed(result.tool_use_id()))
}

/// Whether an agent has said in these messages just this of these items, and was told that it is noted.
pub(super) fn was_said(agent: &Definition, messages: &[Message], items: &[&str], said: &Completion) -> bool {
    let calls = messages.iter().flat_map(Message::tool_uses).filter(|call| is_completion(call));
    let mut noted = calls.filter(|call| {
        let mut results = messages.iter().flat_map(Message::tool_results);
        results.any(|result| !result.is_error() && result.tool_use_id() == call.id())
    });
    noted.any(|call| look(items, call, agent.limits().input_bytes).is_ok_and(|(read, _)| read == *said))
}

fn is_completion(call: &ToolUse) -> bool {
    call.name() == COMPLETE_HANDOFF
}

/// What a completion is answered with that stands beside a handoff, once the handoff is ruled on. `None` where there is no
/// handoff: no such step is left behind.
pub(super) fn settled(inner: &Reserved) -> Option<ToolOutput> {
    hands_over(inner).then(|| CompletionRefusal::BesideHandoff.told())
}

fn hands_over(inner: &Reserved) -> bool {
    inner.calls().any(|(_, call)| call.name() == HANDOFF_TO_SPECIALIST)
}

/// A reply's completions: the first that accounts for every item ends the turn. Without one the others are told why, and
/// what else the reply asks for comes next.
pub(super) fn complete(
    relay: &Relay,
    run: Box<Run>,
    mut inner: Reserved,
    at: Millis,
) -> Result<(Box<Run>, Reserved), Box<Step>> {
    let calls: Vec<(usize, ToolUse)> = inner
        .calls()
        .filter(|(_, call)| is_completion(call))
        .map(|(place, call)| (place, call.clone()))
        .collect();
    if calls.is_empty() {
        return Ok((run, inner));
    }
    let most = relay.agent(run.active.as_str()).map_or(0, |agent| agent.limits().input_bytes);
    let items = open(&run);
    let beside = settled(&inner);
    let mut completed: Option<(&str, Completion, Box<str>)> = None;
    let mut outputs = Vec::with_capacity(calls.len());
    for (place, call) in &calls {
        let output = match (&beside, look(&items, call, most)) {
            (Some(refused), _) => refused.clone(),
            (None, Err(refusal)) => refusal.told(),
            (None, Ok((completion, answer))) => match &completed {
                Some((of, first, said)) => {
                    let of = (*of).to_owned();
                    match (first, said) == (&completion, &answer) {
                        true => CompletionRefusal::Duplicate { of }.told(),
                        false => CompletionRefusal::OnePerTurn { of }.told(),
                    }
                }
                None => {
                    let output = noted(&completion);
                    completed = Some((call.id(), completion, answer));
                    output
                }
            },
        };
        outputs.push((*place, output));
    }
    let Some((_, completion, answer)) = completed else {
        outputs.into_iter().for_each(|(place, output)| inner.settle(place, output));
        return Ok((run, inner));
    };
    let outputs = outputs.into_iter().map(|(_, output)| output).collect();
    Err(Box::new(conclude(relay, run, inner, (outputs, completion, answer), at)))
}

/// Nothing else of the reply waits for an answer: delegates and people have been asked, and there is no handoff.
fn conclude(
    relay: &Relay,
    mut run: Box<Run>,
    inner: Reserved,
    (mut outputs, completion, answer): (Vec<ToolOutput>, Completion, Box<str>),
    at: Millis,
) -> Step {
    let answer = Words::or_dash(answer);
    let is_broken = breaks_contract(&run, &inner, &outputs, &answer);
    if is_broken {
        outputs.fill(CompletionRefusal::ContractBroken.told());
    }
    match inner.conclude(outputs, answer) {
        Ok(turn) => {
            if !is_broken {
                let active = run.active.clone();
                run.trail.complete(&active, completion);
            }
            advance(relay, run, TurnStep::Done(turn), at)
        }
        Err(misuse) => unanswered(run, *misuse.step),
    }
}

/// Whether the turn would end with an answer that breaks its contract. Only a branch that has one pays for the look.
fn breaks_contract(run: &Run, inner: &Reserved, outputs: &[ToolOutput], answer: &Words) -> bool {
    if run.contract().is_none() {
        return false;
    }
    let turn = inner.clone().conclude(outputs.to_vec(), answer.clone());
    turn.is_ok_and(|turn| run.stated(answer.as_str(), &turn).is_some_and(|stated| stated.is_err()))
}

/// What a completion says, and the answer in it; or why it ends nothing.
fn look(items: &[&str], call: &ToolUse, most: usize) -> Result<(Completion, Box<str>), CompletionRefusal> {
    if items.is_empty() {
        return Err(CompletionRefusal::NothingOpen);
    }
    let report = pseudo_tool::read_report(call, most);
    let report = report.map_err(|errors| CompletionRefusal::Invalid { errors })?;
    Ok((Completion::of(items, &report.done, &report.open)?, report.answer))
}

fn noted(completion: &Completion) -> ToolOutput {
    let Completion { done, open } = completion;
    ToolOutput::ok(format!(r#"{{"status":"completed","done":{},"open":{}}}"#, done.len(), open.len()))
}
