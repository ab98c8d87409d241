//! What was said, in the form in which a span tells it: the JSON that OpenTelemetry's conventions for generative AI have for
//! messages. It is made only where somebody has asked for it.

use serde::Serialize;
use sommelier_handoff::HandoffPackage;
use sommelier_protocol::{
    Content, ContentBlock, Message, ModelResponse, RawJson, ResultContent, Role, StopReason, System,
};
use std::borrow::Cow;

/// The most bytes of one field.
const LONGEST: usize = 64 << 10;

/// The most bytes of one text in it.
const LONGEST_TEXT: usize = 16 << 10;

/// One message.
#[derive(Serialize)]
struct Said<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finish_reason: Option<&'a str>,
}

/// A part of a message, under the names of the conventions.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text {
        content: Cow<'a, str>,
    },
    ToolCall {
        id: &'a str,
        name: &'a str,
        arguments: Arguments<'a>,
    },
    ToolCallResponse {
        id: &'a str,
        response: Cow<'a, str>,
    },
    /// What there are no words for here, such as an image or signed thinking: that it was there.
    Other {
        kind: &'a str,
        bytes: usize,
    },
}

/// What a tool is called with: JSON as the model wrote it, unless that is too long.
#[derive(Serialize)]
#[serde(untagged)]
enum Arguments<'a> {
    Whole(&'a RawJson),
    Clipped(Cow<'a, str>),
}

/// The instructions of an agent.
pub(crate) fn instructions(system: &System) -> String {
    let content = match system {
        System::Text(text) => clipped(text),
        System::Blocks(blocks) => clipped(blocks.get()),
    };
    json(&[Part::Text { content }])
}

/// As many of the last messages as fit, and how many were left out before them.
pub(crate) fn messages(messages: &[Message]) -> (String, usize) {
    let (mut told, mut bytes) = (Vec::new(), 2);
    for message in messages.iter().rev() {
        let text = told_of(message);
        bytes += text.len() + 1;
        if bytes > LONGEST && !told.is_empty() {
            break;
        }
        told.push(text);
    }
    let left_out = messages.len() - told.len();
    told.reverse();
    (format!("[{}]", told.join(",")), left_out)
}

/// One message: each result of a tool in it is told as one of its own, with the role that the conventions have for it. Viewers show
/// one result of a message, and would leave out the others of a reply that called several tools.
fn told_of(message: &Message) -> String {
    let is_result = |part: &Part<'_>| matches!(part, Part::ToolCallResponse { .. });
    let (results, words): (Vec<_>, Vec<_>) = said(&message.content).into_iter().partition(is_result);
    let has_no_words = !results.is_empty() && words.is_empty();
    let results = results.into_iter().map(|result| ("tool", vec![result]));
    let all = results.chain((!has_no_words).then(|| (role(&message.role), words)));
    let all = all.map(|(role, parts)| json(&Said { role, parts, finish_reason: None }));
    all.collect::<Vec<_>>().join(",")
}

/// What the user said last, where no result of a tool has come since.
pub(crate) fn last_words(messages: &[Message]) -> Option<String> {
    let last = messages.last().filter(|message| message.role == Role::User)?;
    let parts: Vec<_> =
        said(&last.content).into_iter().filter(|part| matches!(part, Part::Text { .. })).collect();
    (!parts.is_empty()).then(|| json(&[Said { role: role(&last.role), parts, finish_reason: None }]))
}

/// What a run was answered with.
pub(crate) fn answer(text: &str) -> String {
    let parts = vec![Part::Text { content: clipped(text) }];
    json(&[Said { role: "assistant", parts, finish_reason: None }])
}

/// What a model replied.
pub(crate) fn reply(reply: &ModelResponse) -> String {
    let reason = reply.stop_reason.as_ref().map(StopReason::as_str);
    json(&[Said { role: "assistant", parts: parts(&reply.content), finish_reason: reason }])
}

/// A package, as its receiver gets it.
pub(crate) fn package(package: &HandoffPackage) -> String {
    clipped(&package.to_json()).into_owned()
}

/// The text, or as much of its beginning as fits and how many bytes were more.
pub(crate) fn clipped(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST_TEXT {
        return Cow::Borrowed(text);
    }
    let end = (0..=LONGEST_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let kept = text.get(..end).unwrap_or_default();
    Cow::Owned(format!("{kept} [and {} bytes]", text.len() - kept.len()))
}

fn role(role: &Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
    }
}

fn said(content: &Content) -> Vec<Part<'_>> {
    match content {
        Content::Text(text) => vec![Part::Text { content: clipped(text) }],
        Content::Blocks(blocks) => parts(blocks),
    }
}

fn parts(blocks: &[ContentBlock]) -> Vec<Part<'_>> {
    blocks.iter().map(part).collect()
}

fn part(block: &ContentBlock) -> Part<'_> {
    match block {
        ContentBlock::Text(text) => Part::Text { content: clipped(text.as_str()) },
        ContentBlock::ToolUse(call) => {
            let arguments = match clipped(call.input().get()) {
                Cow::Borrowed(_) => Arguments::Whole(call.input()),
                beginning => Arguments::Clipped(beginning),
            };
            Part::ToolCall { id: call.id(), name: call.name(), arguments }
        }
        ContentBlock::ToolResult(result) => {
            let response = match result.content() {
                None => Cow::Borrowed(""),
                Some(ResultContent::Text(text)) => clipped(text),
                Some(ResultContent::Blocks(blocks)) => clipped(RawJson::get(blocks)),
            };
            Part::ToolCallResponse { id: result.tool_use_id(), response }
        }
        ContentBlock::Other(other) => Part::Other { kind: other.kind(), bytes: other.raw().get().len() },
    }
}

fn json(value: &(impl Serialize + ?Sized)) -> String {
    // Texts, numbers and lists of them always have a JSON.
    serde_json::to_string(value).unwrap_or_default()
}
