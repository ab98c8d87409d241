//! What the model sees in a request.

use serde::de::DeserializeOwned;
use serde_json::Value;
use sommelier_handoff::{HANDOFF_TO_SPECIALIST, HandoffPackage};
use sommelier_protocol::{Message, ModelRequest, Role, System, ToolResult, ToolUse};

use crate::civil::DateTime;
use crate::reader::{Found, Intent, Reading, Why, read};
use crate::{DEMO_NOW, Entry};

/// A request as far as the rules look at it.
pub(super) struct Seen<'r> {
    now: Option<DateTime>,
    /// The trades that the tools on offer belong to.
    pub(super) desks: Vec<Entry>,
    /// The trades that the turn can be handed to.
    pub(super) receivers: Vec<Entry>,
    /// The words to work on: the user's, or the task of a package.
    pub(super) words: String,
    pub(super) package: Option<HandoffPackage>,
    done: Vec<Done<'r>>,
    /// What was done for earlier words and has not been told: newer ones came before there was a reply.
    untold: Vec<Done<'r>>,
    /// Calls in the whole conversation.
    pub(super) calls_so_far: usize,
}

struct Done<'r> {
    call: &'r ToolUse,
    result: Option<&'r ToolResult>,
}

/// What came of a call.
pub(super) enum Outcome<T> {
    Worked(T),
    Failed(Failure),
}

/// An error that a tool told.
pub(super) struct Failure(Value);

impl Failure {
    pub(super) fn code(&self) -> &str {
        self.text("error")
    }

    /// A member that is a text.
    pub(super) fn text(&self, member: &str) -> &str {
        self.0.get(member).and_then(Value::as_str).unwrap_or_default()
    }

    /// A member that is a whole number.
    pub(super) fn number(&self, member: &str) -> Option<i64> {
        self.0.get(member).and_then(Value::as_i64)
    }

    /// What went wrong in the tool's own words.
    pub(super) fn message(&self) -> &str {
        ["message", "detail", "reason", "error"]
            .map(|member| self.text(member))
            .into_iter()
            .find(|text| !text.is_empty())
            .unwrap_or("no reason was given")
    }
}

impl<'r> Seen<'r> {
    pub(super) fn of(request: &'r ModelRequest<'_>) -> Self {
        let messages = &request.messages[..];
        let offered = |name: &str| request.tools.iter().any(|tool| tool.name.as_str() == name);
        let desks = [
            (Entry::Booking, "get_quote"),
            (Entry::Pricing, "compare_prices"),
            (Entry::Policy, "search_docs"),
        ];
        let start = messages
            .iter()
            .rposition(|message| message.role == Role::User && message.texts().next().is_some())
            .unwrap_or(0);
        let newest = last_text(messages.get(start));
        let package = package_in(newest);
        let words = match &package {
            Some(package) => package.task().to_owned(),
            None => with_earlier_words(&messages[..start], newest),
        };
        let since = messages.get(start..).unwrap_or_default();
        Self {
            now: request.system.as_deref().and_then(clock),
            desks: desks.into_iter().filter(|(_, tool)| offered(tool)).map(|(desk, _)| desk).collect(),
            receivers: receivers(request),
            words,
            package,
            done: done(since),
            untold: untold(messages, start),
            calls_so_far: messages.iter().flat_map(Message::tool_uses).count(),
        }
    }

    /// What the words ask.
    pub(super) fn reading(&self) -> Reading {
        let mut reading = read(&self.words, self.now.unwrap_or(DEMO_NOW));
        if self.now.is_none() {
            // Without a clock no day can be told.
            for part in &mut reading.parts {
                if let Intent::Quote(request) | Intent::Book(request) = &mut part.intent {
                    request.date = Found::Missing;
                }
            }
        }
        reading
    }

    /// What came of this call; `None` if it was not made since the words came.
    pub(super) fn outcome<T: DeserializeOwned>(&self, name: &str, arguments: &str) -> Option<Outcome<T>> {
        let is_same =
            |done: &&Done<'_>| done.call.name() == name && is_same(done.call.input().get(), arguments);
        let done = self.done.iter().find(is_same)?;
        let result = done.result?;
        let words = result.words();
        let failed = |detail: &str| {
            let value = serde_json::from_str(&words).ok().filter(Value::is_object);
            Outcome::Failed(Failure(value.unwrap_or_else(|| serde_json::json!({ "error": detail }))))
        };
        if result.is_error() {
            return Some(failed(&words));
        }
        Some(match serde_json::from_str(&words) {
            Ok(value) => Outcome::Worked(value),
            Err(_) => failed("the tool's result could not be read"),
        })
    }

    /// What was done by calls of this tool for earlier words and has not been told: the arguments and what came of it.
    pub(super) fn untold<A: DeserializeOwned, T: DeserializeOwned>(&self, name: &str) -> Vec<(A, T)> {
        let of = self.untold.iter().filter(|done| done.call.name() == name);
        of.filter_map(|done| {
            let result = done.result.filter(|result| !result.is_error())?;
            Some((done.call.input().read().ok()?, serde_json::from_str(&result.words()).ok()?))
        })
        .collect()
    }

    /// How many calls of this tool were made since the words came.
    pub(super) fn count(&self, name: &str) -> usize {
        self.done.iter().filter(|done| done.call.name() == name).count()
    }

    /// Whether a handoff was asked for since the words came. One that was taken ended the turn, so it was refused.
    pub(super) fn was_refused(&self) -> bool {
        self.count(HANDOFF_TO_SPECIALIST) > 0
    }
}

fn last_text(message: Option<&Message>) -> &str {
    message.and_then(|message| message.texts().last()).unwrap_or_default()
}

/// The clock of the instructions.
fn clock(system: &System) -> Option<DateTime> {
    let System::Text(text) = system else { return None };
    text.lines().rev().find_map(|line| line.strip_prefix("Now:")?.trim().parse().ok())
}

/// The trades that the pseudo-tool names.
fn receivers(request: &ModelRequest<'_>) -> Vec<Entry> {
    let Some(tool) = request.tools.iter().find(|tool| tool.name.as_str() == HANDOFF_TO_SPECIALIST) else {
        return Vec::new();
    };
    let schema: Value = tool.input_schema.read().unwrap_or_default();
    let names = schema.pointer("/properties/specialist/enum").and_then(Value::as_array);
    let is_named = |desk: &Entry| names.is_some_and(|names| names.iter().any(|name| name == desk.name()));
    Entry::ALL.into_iter().filter(is_named).collect()
}

/// The package in a text that a handoff has put before the receiver. What a user writes is never taken for one, unless
/// it is one to the letter, and then it asks no more than a user may.
fn package_in(text: &str) -> Option<HandoffPackage> {
    HandoffPackage::from_told(text).map(|(_, package)| package)
}

/// The user's words, after the ones before them where they only add to these: the answer to a question that the last
/// reply asked, with nothing done since.
fn with_earlier_words(before: &[Message], words: &str) -> String {
    let adds = |text: &str| {
        let parts = read(text, DEMO_NOW).parts;
        parts.iter().all(|part| matches!(part.intent, Intent::Unreadable(Why::NoRequest)))
    };
    let Some((last, earlier)) = before.split_last() else { return words.to_owned() };
    let asked = last.role == Role::Assistant && last.texts().any(|text| text.contains('?'));
    let Some(start) = earlier
        .iter()
        .rposition(|message| message.role == Role::User && message.texts().next().is_some())
        .filter(|_| asked && adds(words))
    else {
        return words.to_owned();
    };
    let first = last_text(earlier.get(start));
    let acted = earlier[start..].iter().flat_map(Message::tool_uses).any(|call| !is_look(call.name()));
    if acted || package_in(first).is_some() {
        return words.to_owned();
    }
    format!("{first}\n{words}")
}

fn is_look(tool: &str) -> bool {
    matches!(tool, "get_quote" | "search_docs" | "compare_prices")
}

/// The calls before the newest words that nothing was said about since: neither in an answer nor in a package. Their results
/// may stand in one message with these words.
fn untold(messages: &[Message], start: usize) -> Vec<Done<'_>> {
    let says = |message: &Message| {
        let hands_over = |call: &ToolUse| call.name() == HANDOFF_TO_SPECIALIST;
        message.role == Role::Assistant
            && (message.texts().next().is_some() || message.tool_uses().any(hands_over))
    };
    let before = messages.get(..start).unwrap_or_default();
    let since = before.iter().rposition(says).map_or(0, |place| place + 1);
    done(messages.get(since..=start).unwrap_or_default())
}

fn done(since: &[Message]) -> Vec<Done<'_>> {
    let results: Vec<&ToolResult> = since.iter().flat_map(Message::tool_results).collect();
    since
        .iter()
        .flat_map(Message::tool_uses)
        .map(|call| Done {
            call,
            result: results.iter().find(|result| result.tool_use_id() == call.id()).copied(),
        })
        .collect()
}

/// Whether two calls' arguments are the same, in whatever order another model has written their members.
fn is_same(one: &str, other: &str) -> bool {
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    one == other || value(one).is_some_and(|one| value(other) == Some(one))
}
