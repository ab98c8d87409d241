//! What a search has reached.

use sommelier_protocol::StopReason;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;

use crate::{DelegateRefusal, DelegateStatus, Guard, RunEnd};

/// How often each thing was reached.
#[derive(Clone, Debug, Default)]
pub(super) struct Coverage(RefCell<BTreeMap<String, u32>>);

/// What else a search must reach, beside every refusal, stop reason and end.
pub(super) const SIGHTS: [&str; 23] = [
    "handed back (A→B→A)",
    "round a cycle of three",
    "activated again",
    "handoff beside own tools",
    "refused at the last moment",
    "words of the user crossed",
    "words of the user left out",
    "failed run retried",
    "answered run not retried",
    "reply without a stop reason",
    "branch opened",
    "branch of a branch opened",
    "two branches at once",
    "a team asked twice in one reply",
    "handed over in a branch",
    "tool switched off in a branch",
    "budget gone in a branch",
    "own tools, questions and handoffs in one reply",
    "handoff beside delegates",
    "called off in mid-branch",
    "called off and tried again",
    "one branch called off",
    "the same tree in another order",
];

impl Coverage {
    pub(super) fn saw(&self, sight: &'static str) {
        assert!(SIGHTS.contains(&sight), "{sight:?} is not in the list");
        self.count(sight.to_owned());
    }

    pub(super) fn refused(&self, guard: Guard) {
        self.count(refusal(guard));
    }

    pub(super) fn refused_question(&self, refusal: &DelegateRefusal) {
        self.count(format!("question refused: {}", question_word(refusal)));
    }

    pub(super) fn found(&self, status: DelegateStatus) {
        self.count(finding(status));
    }

    pub(super) fn stopped(&self, stop: &StopReason) {
        self.count(format!("stop reason {}", stop_word(stop)));
    }

    pub(super) fn ended(&self, end: &RunEnd) {
        self.count(format!("end {}", end_word(end)));
    }

    pub(super) fn of(&self, sight: &str) -> u32 {
        self.0.borrow().get(sight).copied().unwrap_or(0)
    }

    /// All that can be reached and was not.
    pub(super) fn missing(&self) -> Vec<String> {
        let asked = |guard: &Guard| !matches!(guard, Guard::Own | Guard::Approval);
        let refusals = Guard::ALL.into_iter().filter(asked).map(refusal);
        let stops = STOPS.iter().map(|word| format!("stop reason {word}"));
        let ends = ENDS.iter().map(|word| format!("end {word}"));
        let questions = QUESTIONS.iter().map(|word| format!("question refused: {word}"));
        let findings =
            [DelegateStatus::Done, DelegateStatus::Partial, DelegateStatus::Failed].into_iter().map(finding);
        let all = refusals
            .chain(stops)
            .chain(ends)
            .chain(questions)
            .chain(findings)
            .chain(SIGHTS.map(str::to_owned));
        all.filter(|sight| self.of(sight) == 0).collect()
    }

    fn count(&self, sight: String) {
        *self.0.borrow_mut().entry(sight).or_default() += 1;
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.borrow().iter().try_for_each(|(sight, count)| writeln!(f, "{count:8}  {sight}"))
    }
}

/// A refusal has one guard, and a guard one refusal.
fn refusal(guard: Guard) -> String {
    format!("refusal {}", guard.as_str())
}

fn finding(status: DelegateStatus) -> String {
    format!("finding {}", status.as_str())
}

const QUESTIONS: [&str; 4] = ["invalid_question", "not_yet", "budget_spent", "tool_switched_off"];

/// A new variant does not compile until it has its place in [`QUESTIONS`].
fn question_word(refusal: &DelegateRefusal) -> &'static str {
    QUESTIONS[match refusal {
        DelegateRefusal::InvalidQuestion { .. } => 0,
        DelegateRefusal::NotYet { .. } => 1,
        DelegateRefusal::BudgetSpent { .. } => 2,
        DelegateRefusal::TooManyBranches { .. } => unreachable!("no relay of a scenario limits its branches"),
        DelegateRefusal::SwitchedOff { .. } => 3,
        DelegateRefusal::GuardRefused { .. }
        | DelegateRefusal::GuardFailed { .. }
        | DelegateRefusal::TransformFailed { .. } => unreachable!("no team has code of its own"),
    }]
}

const STOPS: [&str; 8] = [
    "EndTurn",
    "ToolUse",
    "MaxTokens",
    "ContextWindowExceeded",
    "StopSequence",
    "PauseTurn",
    "Refusal",
    "Other",
];

/// A new variant does not compile until it has its place in [`STOPS`].
fn stop_word(stop: &StopReason) -> &'static str {
    STOPS[match stop {
        StopReason::EndTurn => 0,
        StopReason::ToolUse => 1,
        StopReason::MaxTokens => 2,
        StopReason::ContextWindowExceeded => 3,
        StopReason::StopSequence => 4,
        StopReason::PauseTurn => 5,
        StopReason::Refusal => 6,
        StopReason::Other(_) => 7,
    }]
}

const ENDS: [&str; 12] = [
    "Answered",
    "Unresolved",
    "ModelRefused",
    "HandoffRefused",
    "HopLimit",
    "Truncated",
    "TurnLimit",
    "BudgetSpent",
    "NoProgress",
    "Failed",
    "UnknownStop",
    "Cancelled",
];

/// A new variant does not compile until it has its place in [`ENDS`].
fn end_word(end: &RunEnd) -> &'static str {
    ENDS[match end {
        RunEnd::Answered => 0,
        RunEnd::Unresolved => 1,
        RunEnd::ModelRefused => 2,
        RunEnd::HandoffRefused { .. } => 3,
        RunEnd::HopLimit { .. } => 4,
        RunEnd::Truncated { .. } => 5,
        RunEnd::TurnLimit { .. } => 6,
        RunEnd::BudgetSpent { .. } => 7,
        RunEnd::NoProgress { .. } => 8,
        RunEnd::Failed { .. } => 9,
        RunEnd::UnknownStop { .. } => 10,
        RunEnd::Cancelled { .. } => 11,
        RunEnd::TakenOver { .. } => unreachable!("no scenario asks a person"),
        RunEnd::ContractBroken { .. } => unreachable!("no delegate of a scenario has a contract"),
    }]
}
