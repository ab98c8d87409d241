//! What was said, in the form in which a span tells it: the JSON that OpenTelemetry's conventions for generative AI have for
//! messages. It is made only where somebody has asked for it.
//!
//! Each text passes the vault before it is cut off: what it comes from may never have passed it, as a step that was loaded, and
//! half of a secret would not be known again.

use serde::Serialize;
use sommelier_handoff::HandoffPackage;
use sommelier_protocol::{
    Content, ContentBlock, Message, ModelResponse, RawJson, ResultContent, Role, System, ToolUse,
};
use sommelier_runtime::ToolOutput;
use std::borrow::Cow;

use crate::secrets::Vault;

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
    finish_reason: Option<Cow<'a, str>>,
}

/// A part of a message, under the names of the conventions.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text {
        content: Cow<'a, str>,
    },
    ToolCall {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        arguments: Arguments<'a>,
    },
    ToolCallResponse {
        id: Cow<'a, str>,
        response: Cow<'a, str>,
    },
    /// What there are no words for here, such as an image or signed thinking: that it was there.
    Other {
        kind: Cow<'a, str>,
        bytes: usize,
    },
}

/// What a tool is called with: JSON as the model wrote it, unless that is too long.
#[derive(Serialize)]
#[serde(untagged)]
enum Arguments<'a> {
    Whole(Cow<'a, RawJson>),
    Clipped(Cow<'a, str>),
}

/// The instructions of an agent.
pub(crate) fn instructions(system: &System, vault: &Vault<'_>) -> String {
    let content = match system {
        System::Text(text) => told(text, vault),
        System::Blocks(blocks) => told_json(blocks, vault),
    };
    json(&[Part::Text { content }])
}

/// As many of the last messages as fit, and how many were left out before them.
pub(crate) fn messages(messages: &[Message], vault: &Vault<'_>) -> (String, usize) {
    let (mut told, mut bytes) = (Vec::new(), 2);
    for message in messages.iter().rev() {
        let text = told_of(message, vault);
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
fn told_of(message: &Message, vault: &Vault<'_>) -> String {
    let is_result = |part: &Part<'_>| matches!(part, Part::ToolCallResponse { .. });
    let (results, words): (Vec<_>, Vec<_>) = said(&message.content, vault).into_iter().partition(is_result);
    let has_no_words = !results.is_empty() && words.is_empty();
    let results = results.into_iter().map(|result| ("tool", vec![result]));
    let all = results.chain((!has_no_words).then(|| (role(&message.role), words)));
    let all = all.map(|(role, parts)| json(&Said { role, parts, finish_reason: None }));
    all.collect::<Vec<_>>().join(",")
}

/// What the user said last, where no result of a tool has come since.
pub(crate) fn last_words(messages: &[Message], vault: &Vault<'_>) -> Option<String> {
    let last = messages.last().filter(|message| message.role == Role::User)?;
    let parts: Vec<_> =
        said(&last.content, vault).into_iter().filter(|part| matches!(part, Part::Text { .. })).collect();
    (!parts.is_empty()).then(|| json(&[Said { role: role(&last.role), parts, finish_reason: None }]))
}

/// What the user said.
pub(crate) fn user(text: &str, vault: &Vault<'_>) -> String {
    let parts = vec![Part::Text { content: told(text, vault) }];
    json(&[Said { role: role(&Role::User), parts, finish_reason: None }])
}

/// What a run was answered with.
pub(crate) fn answer(text: &str, vault: &Vault<'_>) -> String {
    let parts = vec![Part::Text { content: told(text, vault) }];
    json(&[Said { role: "assistant", parts, finish_reason: Some("stop".into()) }])
}

/// What a model replied.
pub(crate) fn reply(reply: &ModelResponse, vault: &Vault<'_>) -> String {
    let reason = reply.stop_reason.as_ref().map_or("_other".into(), |why| vault.shown_words(why.as_str()));
    json(&[Said { role: "assistant", parts: parts(&reply.content, vault), finish_reason: Some(reason) }])
}

/// What a tool is called with.
pub(crate) fn arguments(call: &ToolUse, vault: &Vault<'_>) -> String {
    told_json(call.input(), vault).into_owned()
}

/// What a tool gave back.
pub(crate) fn result(output: &ToolOutput, vault: &Vault<'_>) -> String {
    clipped(vault.shown_output(&output.content)).into_owned()
}

/// A package, as its receiver gets it.
pub(crate) fn package(package: &HandoffPackage, vault: &Vault<'_>) -> String {
    clipped(vault.shown_output(&package.to_json())).into_owned()
}

fn told<'a>(text: &'a str, vault: &Vault<'_>) -> Cow<'a, str> {
    clipped(vault.shown_words(text))
}

fn told_json<'a>(value: &'a RawJson, vault: &Vault<'_>) -> Cow<'a, str> {
    clipped(match vault.shown_json(value) {
        Cow::Borrowed(value) => Cow::Borrowed(value.get()),
        Cow::Owned(value) => Cow::Owned(value.get().to_owned()),
    })
}

/// The text, or as much of its beginning as fits and how many bytes were more.
fn clipped(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.len() <= LONGEST_TEXT {
        return text;
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

fn said<'a>(content: &'a Content, vault: &Vault<'_>) -> Vec<Part<'a>> {
    match content {
        Content::Text(text) => vec![Part::Text { content: told(text, vault) }],
        Content::Blocks(blocks) => parts(blocks, vault),
    }
}

fn parts<'a>(blocks: &'a [ContentBlock], vault: &Vault<'_>) -> Vec<Part<'a>> {
    blocks.iter().map(|block| part(block, vault)).collect()
}

fn part<'a>(block: &'a ContentBlock, vault: &Vault<'_>) -> Part<'a> {
    match block {
        ContentBlock::Text(text) => Part::Text { content: told(text.as_str(), vault) },
        ContentBlock::ToolUse(call) => {
            let input = vault.shown_json(call.input());
            let arguments = match input.get().len() <= LONGEST_TEXT {
                true => Arguments::Whole(input),
                false => Arguments::Clipped(clipped(Cow::Owned(input.get().to_owned()))),
            };
            Part::ToolCall {
                id: vault.shown_words(call.id()),
                name: vault.shown_words(call.name()),
                arguments,
            }
        }
        ContentBlock::ToolResult(result) => {
            let response = match result.content() {
                None => Cow::Borrowed(""),
                Some(ResultContent::Text(text)) => clipped(vault.shown_output(text)),
                Some(ResultContent::Blocks(blocks)) => told_json(blocks, vault),
            };
            Part::ToolCallResponse { id: vault.shown_words(result.tool_use_id()), response }
        }
        ContentBlock::Other(other) => {
            Part::Other { kind: vault.shown_words(other.kind()), bytes: other.raw().get().len() }
        }
    }
}

fn json(value: &(impl Serialize + ?Sized)) -> String {
    // Texts, numbers and lists of them always have a JSON.
    serde_json::to_string(value).unwrap_or_default()
}
