//! A reply as the events of a stream.

use serde_json::{Value, json};

use crate::reply::{Block, Reply};
use crate::rules::sign;

/// Characters of one delta; a very long text goes in fewer and longer ones.
const PIECE: usize = 12;
const MOST_PIECES: usize = 10_000;

/// The events, each as the text that goes over the wire.
pub(crate) fn events(reply: &Reply) -> Vec<String> {
    let mut events = vec![
        event(&json!({"type": "message_start", "message": reply.message(Vec::new(), false)})),
        event(&json!({"type": "ping"})),
    ];
    for (index, block) in reply.content.iter().enumerate() {
        let (start, deltas) = parts(block);
        events.push(event(&json!({"type": "content_block_start", "index": index, "content_block": start})));
        let delta = |delta| event(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
        events.extend(deltas.into_iter().map(delta));
        events.push(event(&json!({"type": "content_block_stop", "index": index})));
    }
    let delta = json!({
        "stop_reason": reply.stop_reason,
        "stop_sequence": reply.stop_sequence,
        "stop_details": reply.stop_details,
    });
    events.push(event(&json!({"type": "message_delta", "delta": delta, "usage": reply.usage(true)})));
    events.push(event(&json!({"type": "message_stop"})));
    events
}

/// One event as server-sent text.
pub(crate) fn event(data: &Value) -> String {
    let name = data.get("type").and_then(Value::as_str).unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

/// What a block starts as, and the deltas that it becomes whole by.
fn parts(block: &Block) -> (Value, Vec<Value>) {
    match block {
        Block::Text(text) => {
            let deltas = pieces(text).map(|piece| json!({"type": "text_delta", "text": piece})).collect();
            (json!({"type": "text", "text": ""}), deltas)
        }
        Block::Thinking(text) => {
            let signed = json!({"type": "signature_delta", "signature": sign(text)});
            let deltas = pieces(text).map(|piece| json!({"type": "thinking_delta", "thinking": piece}));
            (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas.chain([signed]).collect())
        }
        Block::Call(call) => {
            let start = json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}});
            let written = call.written();
            let delta = |piece: &str| json!({"type": "input_json_delta", "partial_json": piece});
            // The service begins with an empty piece.
            let deltas = std::iter::once(delta("")).chain(pieces(&written).map(|piece| delta(&piece)));
            (start, deltas.collect())
        }
        Block::Other(value) => (value.clone(), Vec::new()),
    }
}

fn pieces(text: &str) -> impl Iterator<Item = String> {
    let chars: Vec<char> = text.chars().collect();
    let pieces: Vec<String> =
        chars.chunks(PIECE.max(chars.len() / MOST_PIECES)).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}
