//! Conversations, looked at from outside.

use sommelier_protocol::{Message, Role};
use sommelier_runtime::{AgentName, Turn};
use std::borrow::Cow;

use crate::{DelegateResult, DelegateStatus, Guard, Relay, RunEnd, Step};

/// What a call is answered with.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Words {
    /// Whatever the turn says by itself.
    Any,
    /// These, among others.
    Holding(String),
    /// These alone.
    Exactly(String),
}

impl Words {
    /// An error of this code.
    pub(super) fn error(code: &str) -> Self {
        Self::Holding(format!(r#""error":"{code}""#))
    }

    /// A finding, where results have at most so many bytes.
    pub(super) fn of(text: String, most: usize) -> Self {
        if text.len() > most { Self::Holding("result_too_large".into()) } else { Self::Exactly(text) }
    }

    fn fit(&self, found: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Holding(words) => found.contains(words),
            Self::Exactly(words) => found == words,
        }
    }
}

/// The conversations of one run after a step.
#[derive(Clone, Copy)]
pub(super) struct View<'v> {
    pub(super) relay: &'v Relay,
    pub(super) step: &'v Step,
}

impl<'v> View<'v> {
    /// The conversation of an agent; none while calls of it are open and it has the turn.
    pub(super) fn messages(&self, agent: &str) -> Option<&'v [Message]> {
        let run = self.step.run();
        if let Some(turn) = run.idle(agent) {
            return Some(turn.messages());
        }
        if let Some(waits) = run.extra().awaiting.iter().find(|waits| waits.agent.as_str() == agent) {
            return Some(waits.inner.messages());
        }
        match self.step {
            Step::HandOff(handoff) if run.active().as_str() == agent => Some(handoff.messages()),
            Step::CallModel(call) if run.active().as_str() == agent => {
                match call.request(self.relay).messages {
                    Cow::Borrowed(messages) => Some(messages),
                    Cow::Owned(_) => panic!("a request borrows its messages"),
                }
            }
            _ => None,
        }
    }

    fn known(&self, agent: &str) -> &'v [Message] {
        self.messages(agent).unwrap_or_else(|| panic!("{agent} is at work: {:?}", self.step))
    }

    /// The words of an agent's newest reply.
    pub(super) fn said(&self, agent: &str) -> String {
        self.replies(agent).next().unwrap_or_default()
    }

    /// The newest words of an agent that are not blank.
    pub(super) fn last_words(&self, agent: &str) -> Option<String> {
        self.replies(agent).find(|words| !words.trim().is_empty())
    }

    fn replies(&self, agent: &str) -> impl Iterator<Item = String> {
        let replies = self.known(agent).iter().rev().filter(|message| message.role == Role::Assistant);
        replies.map(|reply| reply.texts().collect::<Vec<_>>().join("\n"))
    }

    /// The newest calls of an agent that have results: name, arguments and result of each.
    pub(super) fn newest(&self, agent: &str) -> Vec<[String; 3]> {
        let messages = self.known(agent);
        let place = messages.iter().rposition(|message| message.tool_results().next().is_some()).unwrap();
        let results = messages[place].tool_results().map(|result| result.words().to_string());
        let calls = messages[place - 1].tool_uses().zip(results);
        calls.map(|(call, result)| [call.name().to_owned(), call.input().get().to_owned(), result]).collect()
    }
}

/// What was heard in words, and what calls were answered with, is all that stands in a conversation beside its replies.
pub(super) fn assert_heard(agent: &str, messages: &[Message], heard: &[String], told: &[Words]) {
    let of_user = || messages.iter().filter(|message| message.role == Role::User);
    assert!(
        of_user().flat_map(Message::texts).eq(heard),
        "what {agent} has heard: {heard:#?}\n{messages:#?}"
    );
    let results: Vec<_> = of_user().flat_map(Message::tool_results).map(|result| result.words()).collect();
    assert_eq!(results.len(), told.len(), "each call of {agent} is answered once");
    for (words, result) in told.iter().zip(&results) {
        assert!(words.fit(result), "{agent} is told {words:?}: {result}");
    }
}

/// Each call is answered exactly once, in order, in the next message; nothing else is. The calls of the last message may
/// be open.
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
pub(super) fn told_of(refused_by: Option<Guard>, n: Option<i64>) -> Words {
    Words::error(match refused_by {
        None => return Words::Holding(r#""handed_over""#.to_owned()),
        Some(Guard::Known) => "unknown_specialist",
        Some(Guard::Myself) => "self_handoff",
        Some(Guard::Route) => "no_route",
        Some(Guard::Package) => "invalid_package",
        Some(Guard::Ready) => "target_not_ready",
        Some(Guard::Cap) => "handoff_limit_exceeded",
        Some(Guard::Pair) => "repeated_pair",
        Some(Guard::Own) if n == Some(3) => "guard_failed",
        Some(Guard::Own) => "guard_refused",
        Some(Guard::Approval) => "not_approved",
        Some(Guard::OnePerTurn) => "one_handoff_per_turn",
        Some(Guard::Duplicate) => "duplicate_handoff",
    })
}

/// What whoever waits is told of work that ended like this with so many items open.
pub(super) fn result_of(
    end: &RunEnd,
    last_words: Option<String>,
    steps_used: u32,
    (open, effects): (usize, Vec<String>),
) -> DelegateResult {
    let (status, finding) = match end {
        RunEnd::Answered if open > 0 => (DelegateStatus::Partial, last_words),
        RunEnd::Answered => (DelegateStatus::Done, last_words),
        RunEnd::Unresolved
        | RunEnd::TurnLimit { .. }
        | RunEnd::BudgetSpent { .. }
        | RunEnd::HopLimit { .. }
        | RunEnd::Truncated { .. }
        | RunEnd::Cancelled { .. } => match last_words {
            Some(words) => (DelegateStatus::Partial, Some(words.trim().to_owned())),
            None => (DelegateStatus::Failed, None),
        },
        _ => (DelegateStatus::Failed, None),
    };
    let told = match end {
        RunEnd::Answered => format!("items_open: {open}"),
        end => end.told(),
    };
    let reason = (status != DelegateStatus::Done).then(|| told.into());
    DelegateResult {
        status,
        finding: finding.map(Into::into),
        reason,
        steps_used,
        effects: effects.into_iter().map(Into::into).collect(),
        action_needed: None,
        evidence: Vec::new(),
    }
}

/// The turns of agents that are at rest before and after, and that nothing was said to, are as they were.
pub(super) fn assert_untouched<'a>(before: &Step, after: &Step, agents: impl Iterator<Item = &'a str>) {
    for agent in agents {
        let turns: [Option<&Turn>; 2] = [before, after].map(|step| step.run().idle(agent));
        assert_eq!(turns[0], turns[1], "nothing was said to {agent}");
    }
}

pub(super) fn bytes(value: &(impl serde::Serialize + ?Sized)) -> usize {
    serde_json::to_string(value).unwrap().len()
}

pub(super) fn name(text: &str) -> AgentName {
    AgentName::new(text).unwrap()
}
