//! Conversations, looked at from outside.

use serde_json::{Value, json};
use sommelier_protocol::{Message, Role};
use sommelier_runtime::{AgentName, Turn};

use crate::{DelegateResult, DelegateStatus, Done, Guard, Hop, Run, RunEnd, Step};

/// What a call of the last reply is told.
#[derive(Clone, Debug)]
pub(super) struct Told {
    /// The place of the call among the calls of the reply.
    pub(super) place: usize,
    /// The id of the call as it is on record, when it is a question.
    pub(super) call_id: Option<Box<str>>,
    pub(super) words: Words,
}

#[derive(Clone, Debug)]
pub(super) enum Words {
    /// These, among others.
    Holding(String),
    /// These alone.
    Exactly(String),
}

/// Each handoff and question of the last reply got the answer that is its own.
pub(super) fn assert_told(told: &[Told], messages: &[Message]) {
    let results: Vec<_> = messages.last().unwrap().tool_results().collect();
    for Told { place, call_id, words } in told {
        let found = results[*place].words();
        let is_its_own = call_id.as_deref().is_none_or(|id| id == results[*place].tool_use_id());
        assert!(is_its_own, "{call_id:?} is on record, and the call at {place} has another id");
        match words {
            Words::Holding(words) => assert!(found.contains(words), "{words} is told at {place}: {found}"),
            Words::Exactly(words) => assert_eq!(&found, words, "told at {place}"),
        }
    }
}

/// Each call is answered exactly once, in order, in the next message; nothing else is.
pub(super) fn assert_calls_are_answered(messages: &[Message]) {
    let asked = messages.iter().map(|message| message.tool_uses().map(|call| call.id()).collect::<Vec<_>>());
    let answered = messages
        .iter()
        .skip(1)
        .map(|message| message.tool_results().map(|result| result.tool_use_id()).collect::<Vec<_>>());
    let last = std::iter::once(Vec::new());
    assert_eq!(asked.collect::<Vec<_>>(), answered.chain(last).take(messages.len()).collect::<Vec<_>>());
}

/// A word of what the sender is told of its handoff.
pub(super) fn told_of(refused_by: Option<Guard>) -> &'static str {
    match refused_by {
        None => r#""handed_over""#,
        Some(Guard::Known) => r#""unknown_specialist""#,
        Some(Guard::Myself) => r#""self_handoff""#,
        Some(Guard::Route) => r#""no_route""#,
        Some(Guard::Package) => r#""invalid_package""#,
        Some(Guard::Ready) => r#""target_not_ready""#,
        Some(Guard::Cap) => r#""handoff_limit_exceeded""#,
        Some(Guard::Pair) => r#""repeated_pair""#,
        Some(Guard::Own | Guard::Approval) => unreachable!("no route of a scenario has one"),
        Some(Guard::OnePerTurn) => r#""one_handoff_per_turn""#,
        Some(Guard::Duplicate) => r#""duplicate_handoff""#,
    }
}

/// What the agent that asked must be told of a branch that ended like this and used so many model calls.
pub(super) fn result_of(done: &Done, steps_used: u32) -> DelegateResult {
    let said = done.turn().unwrap().messages().iter().rev().filter(|message| message.role == Role::Assistant);
    let mut said = said.map(|reply| reply.texts().collect::<Vec<_>>().join("\n"));
    let mut newest = || said.find(|words| !words.trim().is_empty());
    // No model of a scenario says what became of its open items, so an answer leaves all of them open.
    let to_active = |hop: &&Hop| hop.outcome.is_taken() && *hop.to == *done.run().active().as_str();
    let hop = done.run().trail().hops().iter().rfind(to_active);
    let open = hop.and_then(|hop| hop.package.as_ref()).map_or(0, |package| package.open_items().len());
    let (status, finding) = match done.end() {
        RunEnd::Answered if open > 0 => (DelegateStatus::Partial, newest()),
        RunEnd::Answered => (DelegateStatus::Done, newest()),
        RunEnd::Unresolved
        | RunEnd::TurnLimit { .. }
        | RunEnd::BudgetSpent { .. }
        | RunEnd::HopLimit { .. }
        | RunEnd::Truncated { .. }
        | RunEnd::Cancelled { .. } => match newest() {
            Some(words) => (DelegateStatus::Partial, Some(words.trim().to_owned())),
            None => (DelegateStatus::Failed, None),
        },
        _ => (DelegateStatus::Failed, None),
    };
    let told = match done.end() {
        RunEnd::Answered => format!("items_open: {open}"),
        end => end.told(),
    };
    let reason = (status != DelegateStatus::Done).then(|| told.into());
    DelegateResult {
        status,
        finding: finding.map(Into::into),
        reason,
        steps_used,
        effects: Vec::new(),
        action_needed: None,
        evidence: Vec::new(),
    }
}

/// The messages of a turn after it has heard `words`: the one message, or the earlier ones with the words
/// after what the user side said last.
pub(super) fn heard(earlier: Option<&Turn>, words: &str) -> Value {
    let mut messages = serde_json::to_value(earlier.map_or(&[][..], Turn::messages)).unwrap();
    let list = messages.as_array_mut().unwrap();
    match list.last_mut().filter(|last| last["role"] == "user") {
        Some(last) => {
            if last["content"].is_string() {
                last["content"] = json!([{"type": "text", "text": last["content"]}]);
            }
            last["content"].as_array_mut().unwrap().push(json!({"type": "text", "text": words}));
        }
        None => list.push(json!({"role": "user", "content": words})),
    }
    messages
}

/// Nothing of the run has changed but the trail, the delegations, the counts of calls, and, when it ended, that the
/// turn of the agent was set down.
pub(super) fn assert_only_set_down(before: &Run, after: &Step) {
    let found = after.run();
    let mut expected = Run {
        trail: found.trail.clone(),
        model_calls: found.model_calls,
        tool_calls: found.tool_calls,
        left: found.left,
        ..before.clone()
    };
    expected.extra_mut().links = found.links().to_vec();
    let mut found = found.clone();
    found.extra_mut();
    if let Step::Done(_) = after {
        expected.set_down(found.idle(before.active().as_str()).unwrap().clone());
    }
    assert_eq!(found, expected, "nothing else has changed");
}

pub(super) fn bytes(value: &(impl serde::Serialize + ?Sized)) -> usize {
    serde_json::to_string(value).unwrap().len()
}

pub(super) fn name(text: &str) -> AgentName {
    AgentName::new(text).unwrap()
}
