//! What the tests share: replies of every kind, and the service's own way to send one in pieces.

#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod double;

use proptest::prelude::*;
use serde_json::{Value, json};
use sommelier_protocol::ModelResponse;
use sommelier_providers::{ProviderError, ReplyLimits, anthropic};
use std::sync::OnceLock;
use tracing::Dispatch;

/// Keeps a subscriber alive that wants every event, for a test that listens. Tests run side by side: an event that is met for
/// the first time where nobody listens would be switched off for the one who does.
pub(crate) fn awake() {
    static LISTENER: OnceLock<Dispatch> = OnceLock::new();
    LISTENER.get_or_init(|| Dispatch::new(tracing_subscriber::registry()));
}

/// One block of each kind that the API documents, and one that it does not.
pub(crate) fn blocks() -> Vec<Value> {
    vec![
        json!({"type": "text", "text": "Focus is free. \u{1f600}"}),
        json!({"type": "text", "text": "See there.", "citations": [
            {"type": "char_location", "cited_text": "free", "document_index": 0, "start_char_index": 1, "end_char_index": 5}
        ]}),
        json!({"type": "thinking", "thinking": "Which plan?\nPro.", "signature": "c2ln+/="}),
        json!({"type": "thinking", "thinking": "", "signature": "c2ln"}),
        json!({"type": "redacted_thinking", "data": "b3BhcXVl"}),
        json!({"type": "tool_use", "id": "toolu_1", "name": "get_quote", "input": {"room": "Focus", "hours": 3.0}}),
        json!({"type": "tool_use", "id": "toolu_2", "name": "list_rooms", "input": {}, "caller": {"type": "direct"}}),
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "rooms"}}),
        json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result"}]}),
        json!({"type": "container_upload", "file_id": "file_1"}),
        json!({"type": "from_the_future", "value": [1, {"a": null}]}),
    ]
}

/// A reply of `content`, with every member that the API documents.
pub(crate) fn reply(content: &[Value], stop_reason: &str) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-5", "content": content,
        "stop_reason": stop_reason, "stop_sequence": null, "stop_details": null, "container": null,
        "usage": {
            "input_tokens": 12, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 5, "output_tokens": 40,
            "service_tier": "standard", "cache_creation": {"ephemeral_5m_input_tokens": 7},
        },
    })
}

/// The events in which the service sends `reply`, text and arguments in pieces of `size` characters.
pub(crate) fn events(reply: &Value, size: usize) -> Vec<(&'static str, Value)> {
    let mut begun = reply.clone();
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    begun["stop_sequence"] = Value::Null;
    begun["usage"]["output_tokens"] = json!(1);
    let mut events = vec![
        ("message_start", json!({"type": "message_start", "message": begun})),
        ("ping", json!({"type": "ping"})),
    ];
    for (index, block) in reply["content"].as_array().into_iter().flatten().enumerate() {
        let (start, deltas) = in_pieces(block, size);
        events.push((
            "content_block_start",
            json!({"type": "content_block_start", "index": index, "content_block": start}),
        ));
        events.extend(deltas.into_iter().map(|delta| {
            ("content_block_delta", json!({"type": "content_block_delta", "index": index, "delta": delta}))
        }));
        events.push(("content_block_stop", json!({"type": "content_block_stop", "index": index})));
    }
    let ended = json!({
        "type": "message_delta",
        "delta": {"stop_reason": reply["stop_reason"], "stop_sequence": reply["stop_sequence"]},
        "usage": {"output_tokens": reply["usage"]["output_tokens"]},
    });
    events.extend([("message_delta", ended), ("message_stop", json!({"type": "message_stop"}))]);
    events
}

fn in_pieces(block: &Value, size: usize) -> (Value, Vec<Value>) {
    let mut start = block.clone();
    let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
    let mut deltas = Vec::new();
    match block["type"].as_str() {
        Some("text") => {
            start["text"] = json!("");
            deltas
                .extend(pieces(&text("text"), size).map(|text| json!({"type": "text_delta", "text": text})));
            if let Some(citations) = block["citations"].as_array() {
                start["citations"] = json!([]);
                deltas
                    .extend(citations.iter().map(|one| json!({"type": "citations_delta", "citation": one})));
            }
        }
        Some("thinking") => {
            start["thinking"] = json!("");
            start["signature"] = json!("");
            deltas.extend(
                pieces(&text("thinking"), size)
                    .map(|text| json!({"type": "thinking_delta", "thinking": text})),
            );
            deltas.push(json!({"type": "signature_delta", "signature": block["signature"]}));
        }
        Some("tool_use" | "server_tool_use") => {
            start["input"] = json!({});
            let input = block["input"].to_string();
            deltas.extend(
                pieces(&input, size).map(|part| json!({"type": "input_json_delta", "partial_json": part})),
            );
        }
        _ => {}
    }
    (start, deltas)
}

fn pieces(text: &str, size: usize) -> impl Iterator<Item = String> + use<> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(size.max(1)).map(|piece| piece.iter().collect()).collect::<Vec<String>>().into_iter()
}

/// Events as they stand on the wire.
pub(crate) fn wire(events: &[(&'static str, Value)], line_end: &str) -> String {
    events
        .iter()
        .map(|(name, data)| format!("event: {name}{line_end}data: {data}{line_end}{line_end}"))
        .collect()
}

/// What comes of `bytes` in pieces of `size`, and the words that were told on the way.
pub(crate) fn streamed(bytes: &[u8], size: usize) -> (Result<ModelResponse, ProviderError>, String) {
    let mut stream = anthropic::Stream::new(ReplyLimits::default());
    let mut words = String::new();
    for piece in bytes.chunks(size.max(1)) {
        if let Err(error) = stream.push(piece, &mut |text| words.push_str(text)) {
            return (Err(error), words);
        }
    }
    (stream.finish(), words)
}

/// Any JSON, with the words of both forms among its own, so that it comes near to what is read.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop::sample::select(&WORDS[..]).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(&WORDS[..]), inner, 0..6).prop_map(|members| {
                members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Value>()
            }),
        ]
    })
}

const WORDS: [&str; 34] = [
    "type",
    "message",
    "content",
    "index",
    "delta",
    "text",
    "text_delta",
    "input_json_delta",
    "partial_json",
    "usage",
    "output_tokens",
    "input_tokens",
    "error",
    "content_block",
    "tool_use",
    "id",
    "name",
    "input",
    "role",
    "assistant",
    "model",
    "thinking",
    "choices",
    "finish_reason",
    "stop",
    "tool_calls",
    "function",
    "arguments",
    "prompt_tokens",
    "completion_tokens",
    "refusal",
    "tool",
    "code",
    "details",
];
