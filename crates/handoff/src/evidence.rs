//! What the evidence of an answer may rest on.

use serde::de::IgnoredAny;
use sommelier_protocol::Message;
use sommelier_runtime::{AgentName, Turn};
use std::collections::BTreeSet;

use crate::{
    COMPLETE_HANDOFF, DelegateResult, DelegateStatus, HANDOFF_TO_SPECIALIST, HandoffPackage, Link,
    READ_ARTIFACT, Run,
};

/// What an id of the evidence can rest on: the question, and what has come of the work. Words of the branch's own models
/// are none of it, so neither is what they handed to each other, nor what a tool said that failed: it may only repeat
/// what it was called with. Nor is what code itself writes around a finding: it stands in every one.
pub(crate) struct Grounds {
    asked: Vec<String>,
    found: Vec<String>,
}

impl Grounds {
    /// The grounds of an answer of `turn`, which has the turn in `run`.
    pub(crate) fn of(run: &Run, turn: &Turn) -> Self {
        let first = run.trail().hops().first().map_or(run.active(), |hop| &hop.from);
        let mut conversations = vec![(run.active(), turn.messages())];
        conversations.extend(run.at_rest().map(|(agent, turn)| (agent, turn.messages())));
        let opening = conversations.iter().find(|(agent, _)| *agent == first);
        let opening = opening.and_then(|(_, messages)| messages.first()?.texts().next());
        let question = opening.and_then(HandoffPackage::from_told).map(|(_, package)| package);
        let found = conversations.iter().flat_map(|(agent, messages)| results(run, agent, messages));
        Self {
            asked: question.as_ref().map(asked).unwrap_or_default(),
            found: found.chain(run.links().iter().flat_map(findings)).collect(),
        }
    }

    pub(crate) fn bear_out(&self, id: &str) -> bool {
        self.were_found(id) || self.asked.iter().any(|text| holds(text, id))
    }

    pub(crate) fn were_found(&self, id: &str) -> bool {
        self.found.iter().any(|text| holds(text, id))
    }
}

fn asked(question: &HandoffPackage) -> Vec<String> {
    let context = serde_json::to_string(question.context_fields()).unwrap_or_default();
    let context = parts(&context).into_iter().map(|part| part.text);
    std::iter::once(question.task().to_owned()).chain(context).collect()
}

/// What a delegate has found.
fn findings(link: &Link) -> Vec<String> {
    let result = link.result().filter(|result| result.status != DelegateStatus::Failed);
    let texts = result.into_iter().flat_map(|DelegateResult { finding, action_needed, evidence, .. }| {
        finding.iter().chain(action_needed).chain(evidence)
    });
    texts.map(ToString::to_string).collect()
}

/// What tools and people have answered in a conversation. What the loop itself says of a handoff bears out nothing, nor
/// does an artifact that is read: what it has of a tool's result stands where the tool was called, and the rest a model
/// wrote. Findings are looked at for themselves.
fn results(run: &Run, agent: &AgentName, messages: &[Message]) -> Vec<String> {
    let calls = messages.iter().flat_map(Message::tool_uses);
    let handed = calls
        .filter(|call| [HANDOFF_TO_SPECIALIST, COMPLETE_HANDOFF, READ_ARTIFACT].contains(&call.name()))
        .map(|call| call.id());
    let asked = run.links().iter().filter(|link| link.from == *agent).map(|link| &*link.call_id);
    let others: BTreeSet<&str> = handed.chain(asked).collect();
    let results = messages.iter().flat_map(Message::tool_results);
    let results = results.filter(|result| !result.is_error() && !others.contains(result.tool_use_id()));
    results.flat_map(|result| values(&result.words())).collect()
}

/// The values in a JSON text: no name of a member, and no sign between.
fn values(text: &str) -> impl Iterator<Item = String> + use<> {
    parts(text).into_iter().filter(|part| !part.is_name).map(|part| part.text)
}

/// A part of a JSON text: a string as it reads, or a number as it stands.
struct Part {
    text: String,
    /// Whether it is the name of a member.
    is_name: bool,
}

impl Part {
    fn value(text: String) -> Self {
        Self { text, is_name: false }
    }
}

/// The parts of a JSON text. Another text is one as a whole.
fn parts(text: &str) -> Vec<Part> {
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        return vec![Part::value(text.to_owned())];
    }
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, string)) = rest.find('"').map(|at| rest.split_at(at)) {
        parts.extend(numbers(before).map(Part::value));
        let (string, after) = string.split_at(string_len(string));
        let is_name = after.trim_start().starts_with(':');
        parts.extend(serde_json::from_str(string).map(|text| Part { text, is_name }));
        rest = after;
    }
    parts.extend(numbers(rest).map(Part::value));
    parts
}

/// The numbers between two strings.
fn numbers(text: &str) -> impl Iterator<Item = String> {
    let is_of_number = |c: char| c.is_ascii_digit() || c == '-';
    text.split([',', ':', '[', ']', '{', '}', ' ', '\t', '\n', '\r'])
        .filter(move |token| token.starts_with(is_of_number))
        .map(str::to_owned)
}

/// How many bytes the string has that a text begins with, both quotes included.
fn string_len(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !is_escaped => return at + 1,
            _ => is_escaped = byte == b'\\' && !is_escaped,
        }
    }
    text.len()
}

/// Whether an id stands in a text as a whole: `A-7` does not stand in `A-77`. One without a letter or a digit is no id.
fn holds(text: &str, id: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let is_whole = |at: usize| {
        let after = text[at..].strip_prefix(id);
        after.is_some_and(|after| !text[..at].ends_with(goes_on) && !after.starts_with(goes_on))
    };
    id.contains(char::is_alphanumeric) && text.char_indices().any(|(at, _)| is_whole(at))
}
