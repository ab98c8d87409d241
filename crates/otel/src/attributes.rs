//! What a span's fields are in OpenTelemetry's terms.

use opentelemetry::trace::{SpanKind, Status};
use opentelemetry::{Array, KeyValue, StringValue, Value};
use serde_json::Value as Json;
use sommelier_metrics::{ClosedSpan, FieldValue, names};

/// The fields that are no attributes, since a span has a place of its own for them.
const PLACED: [&str; 3] = [names::OTEL_NAME, names::OTEL_KIND, names::OTEL_STATUS_CODE];

/// The kind of a span.
pub(crate) fn kind(span: &ClosedSpan) -> SpanKind {
    match span.fields.text(names::OTEL_KIND) {
        Some("client") => SpanKind::Client,
        Some("server") => SpanKind::Server,
        Some("producer") => SpanKind::Producer,
        Some("consumer") => SpanKind::Consumer,
        _ => SpanKind::Internal,
    }
}

/// Whether something went wrong, and what. Where nothing did it is left open, as the conventions have it.
pub(crate) fn status(span: &ClosedSpan) -> Status {
    match span.fields.text(names::ERROR_TYPE) {
        Some(error) => Status::error(error.to_owned()),
        None => Status::Unset,
    }
}

/// The fields as they are, and what viewers look for under names of their own.
pub(crate) fn attributes(span: &ClosedSpan, seen: &Seen<'_>) -> Vec<KeyValue> {
    let own = span.fields.iter().filter(|(name, _)| !PLACED.contains(name));
    let mut attributes: Vec<KeyValue> = own.map(|(name, found)| attribute(name, found)).collect();
    let mut add = |name: &'static str, value: &str| attributes.push(KeyValue::new(name, value.to_owned()));
    // OpenInference's names, by which Phoenix draws: what a span is, whose session, and the graph of agents.
    add("openinference.span.kind", openinference_kind(&span.name));
    if let Some(session) = seen.session {
        add("session.id", session);
    }
    if span.name == names::INVOKE_AGENT
        && let Some(agent) = span.fields.text(names::AGENT_NAME)
    {
        add("agent.name", agent);
        add("graph.node.id", agent);
        if let Some(before) = seen.before {
            add("graph.node.parent_id", before);
        }
    }
    // What was said, where it is told at all, under the two names that every kind of span has there.
    for (name, words) in SAID {
        if let Some(said) = words.iter().find_map(|words| span.fields.text(words)) {
            // A root's words are what a viewer has in its list of traces.
            let text = if span.name == names::INVOKE_WORKFLOW { plain(said) } else { None };
            add(name, text.as_deref().unwrap_or(said));
        }
    }
    // The name before it was changed; viewers have not followed yet.
    if let Some(written) = span.fields.number(names::CACHE_WRITE_TOKENS) {
        let written = i64::try_from(written).unwrap_or(i64::MAX);
        attributes.push(KeyValue::new("gen_ai.usage.cache_creation.input_tokens", written));
    }
    attributes
}

/// What goes in and what comes out, in OpenInference's names and in those of the conventions.
const SAID: [(&str, [&str; 2]); 2] = [
    ("input.value", [names::INPUT_MESSAGES, names::TOOL_ARGUMENTS]),
    ("output.value", [names::OUTPUT_MESSAGES, names::TOOL_RESULT]),
];

/// The words of messages that are just one, with one text in it.
fn plain(messages: &str) -> Option<String> {
    let messages: Json = serde_json::from_str(messages).ok()?;
    let [message] = messages.as_array()?.as_slice() else { return None };
    let [part] = message.get("parts")?.as_array()?.as_slice() else { return None };
    (part.get("type")? == "text").then(|| part.get("content")?.as_str().map(str::to_owned))?
}

/// What is known of a span besides its fields.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen<'a> {
    /// The conversation at its root.
    pub(crate) session: Option<&'a str>,
    /// Of an agent: who handed the turn over to it, or asked it.
    pub(crate) before: Option<&'a str>,
}

fn openinference_kind(name: &str) -> &'static str {
    match name {
        names::INVOKE_AGENT => "AGENT",
        names::CHAT => "LLM",
        names::EXECUTE_TOOL | names::HANDOFF | names::DELEGATE => "TOOL",
        _ => "CHAIN",
    }
}

fn attribute(name: &str, found: &FieldValue) -> KeyValue {
    let value = match found {
        // A list by the conventions; we have one reason at most.
        FieldValue::Text(reason) if name == names::FINISH_REASONS => {
            Value::Array(Array::String(vec![StringValue::from(reason.clone())]))
        }
        FieldValue::Text(text) => text.clone().into(),
        FieldValue::Unsigned(number) => i64::try_from(*number).unwrap_or(i64::MAX).into(),
        FieldValue::Signed(number) => (*number).into(),
        FieldValue::Float(number) => (*number).into(),
        FieldValue::Flag(flag) => (*flag).into(),
    };
    KeyValue::new(name.to_owned(), value)
}
