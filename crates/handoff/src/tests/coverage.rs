//! What a search has reached.

use sommelier_protocol::StopReason;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;

use crate::{Answer, DelegateRefusal, DelegateStatus, Guard, RunEnd};

/// How often each thing was reached.
#[derive(Clone, Debug, Default)]
pub(super) struct Coverage(RefCell<BTreeMap<String, u32>>);

/// What else a search must reach, beside every refusal, stop reason and end.
pub(super) const SIGHTS: [&str; 56] = [
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
    "tool rejected",
    "tool off while a person is asked",
    "question to a person refused",
    "one of several questions answered",
    "escalated and told",
    "questions open in two branches",
    "answer to no question",
    "answer that is no choice",
    "answer given twice",
    "answer to a question that was called off",
    "words read in mid-run",
    "words while a person is asked",
    "words while branches are open",
    "words while a handoff is out",
    "went on with unread words",
    "words left over read first",
    "turn came back",
    "turn came back with items open",
    "turn handed back to one that waits",
    "constraint carried on",
    "own guard passed",
    "called off while a tool ran that cannot be undone",
    "called off while a person is asked",
    "effects of a branch told",
    "a person asked in a branch",
    "ended while somebody waits",
    "heard while somebody waits",
    "tried again while somebody waits",
    "failed while somebody waits",
    "went on after a failure while somebody waits",
    "tools skipped",
    "cut between an input and what followed",
    "cut after all that was told",
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

    /// A person has answered a question of this kind.
    pub(super) fn decided(&self, kind: &'static str, answer: &Answer) {
        self.count(format!("{kind}: {}", answer.as_str()));
    }

    pub(super) fn of(&self, sight: &str) -> u32 {
        self.0.borrow().get(sight).copied().unwrap_or(0)
    }

    /// All that can be reached and was not.
    pub(super) fn missing(&self) -> Vec<String> {
        let refusals = Guard::ALL.into_iter().map(refusal);
        let decisions = DECISIONS.map(|(kind, answer)| format!("{kind}: {answer}"));
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
            .chain(decisions)
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

/// What can be asked, and what answered.
const DECISIONS: [(&str, &str); 7] = [
    ("tool", "approve"),
    ("tool", "reject"),
    ("handoff", "approve"),
    ("handoff", "reject"),
    ("words", "say"),
    ("escalation", "reject"),
    ("escalation", "take_over"),
];

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

const ENDS: [&str; 13] = [
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
    "TakenOver",
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
        RunEnd::TakenOver { .. } => 12,
        RunEnd::ContractBroken { .. } => unreachable!("no delegate of a scenario has a contract"),
    }]
}
