//! Replies as a service sends them in pieces.

use serde_json::{Value, json};

/// Characters of a delta.
const SIZE: usize = 5;

/// The events in which Anthropic's service sends `reply`; `None` for one that it would not send: blocks and counts of
/// other types than the documents say.
pub(crate) fn anthropic(reply: &Value) -> Option<String> {
    let blocks = reply.get("content")?.as_array()?;
    let mut begun = reply.clone();
    let members = begun.as_object_mut()?;
    members.insert("content".into(), json!([]));
    // Told at the end. A member that the message lacks is told at no place.
    for name in ["stop_reason", "stop_sequence"] {
        members.entry(name).and_modify(|value| *value = Value::Null);
    }
    let mut events = vec![json!({"type": "message_start", "message": begun}), json!({"type": "ping"})];
    for (index, block) in blocks.iter().enumerate() {
        let (start, deltas) = parts(block)?;
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        let event = |delta| json!({"type": "content_block_delta", "index": index, "delta": delta});
        events.extend(deltas.into_iter().map(event));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let of = |names: &[&str], from: &Value| -> Value {
        let told = names.iter().filter_map(|name| Some(((*name).to_owned(), from.get(*name)?.clone())));
        told.collect()
    };
    let delta = of(&["stop_reason", "stop_sequence"], reply);
    let usage = of(&["output_tokens"], reply.get("usage").unwrap_or(&Value::Null));
    events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    let wire = |event: &Value| {
        let name = event.get("type").and_then(Value::as_str).unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    };
    Some(events.iter().map(wire).collect())
}

/// What a block begins as, and what comes for it.
fn parts(block: &Value) -> Option<(Value, Vec<Value>)> {
    let mut start = block.clone();
    let mut deltas = Vec::new();
    let begin = |start: &mut Value, name: &str, with: Value| {
        start.as_object_mut()?.insert(name.to_owned(), with);
        Some(())
    };
    match block.get("type")?.as_str()? {
        "text" => {
            let text = block.get("text")?.as_str()?;
            begin(&mut start, "text", json!(""))?;
            deltas.extend(cut(text).map(|text| json!({"type": "text_delta", "text": text})));
            if let Some(citations) = block.get("citations").filter(|citations| !citations.is_null()) {
                begin(&mut start, "citations", json!([]))?;
                let told = |citation| json!({"type": "citations_delta", "citation": citation});
                deltas.extend(citations.as_array()?.iter().map(told));
            }
        }
        "thinking" => {
            let (thinking, signature) = (block.get("thinking")?.as_str()?, block.get("signature")?.as_str()?);
            begin(&mut start, "thinking", json!(""))?;
            begin(&mut start, "signature", json!(""))?;
            deltas.extend(cut(thinking).map(|text| json!({"type": "thinking_delta", "thinking": text})));
            deltas.push(json!({"type": "signature_delta", "signature": signature}));
        }
        "tool_use" => {
            let input = block.get("input").filter(|input| input.is_object())?.to_string();
            begin(&mut start, "input", json!({}))?;
            deltas.push(json!({"type": "input_json_delta", "partial_json": ""}));
            deltas.extend(cut(&input).map(|part| json!({"type": "input_json_delta", "partial_json": part})));
        }
        _ => {}
    }
    Some((start, deltas))
}

/// The chunks in which an OpenAI-compatible server sends `reply`; `None` for one that it would not send.
pub(crate) fn openai(reply: &Value) -> Option<String> {
    let is_first =
        |choice: &&Value| choice.get("index").is_none_or(|index| index.is_null() || *index == json!(0));
    let choice = reply.get("choices")?.as_array()?.iter().find(is_first)?;
    let message = choice.get("message")?.as_object()?;
    if reply.get("error").is_some() {
        return None;
    }
    let head: Value = ["id", "model"]
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), reply.get(*name)?.clone())))
        .collect();
    let chunk = |delta: Value, finish: Value| {
        let mut chunk = head.clone();
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        chunk.as_object_mut()?.insert("choices".into(), choices);
        Some(format!("data: {chunk}\n\n"))
    };
    let mut wire = chunk(json!({"role": "assistant"}), Value::Null)?;
    for name in ["content", "refusal"] {
        match message.get(name) {
            None | Some(Value::Null) => {}
            Some(words) => {
                for part in cut(words.as_str()?) {
                    wire.push_str(&chunk(json!({ (name): part }), Value::Null)?);
                }
            }
        }
    }
    let calls = message.get("tool_calls").filter(|calls| !calls.is_null());
    for (index, call) in calls.map_or(Some(&Vec::new()), Value::as_array)?.iter().enumerate() {
        let (id, function) = (call.get("id")?.as_str()?, call.get("function")?);
        let (name, arguments) = (function.get("name")?.as_str()?, function.get("arguments")?.as_str()?);
        let piece = |call: Value| chunk(json!({ "tool_calls": [call] }), Value::Null);
        let first = json!({"name": name, "arguments": ""});
        wire.push_str(&piece(json!({"index": index, "id": id, "type": "function", "function": first}))?);
        for part in cut(arguments) {
            wire.push_str(&piece(json!({"index": index, "function": {"arguments": part}}))?);
        }
    }
    wire.push_str(&chunk(json!({}), choice.get("finish_reason").cloned().unwrap_or_default())?);
    let mut last = head.clone();
    last.as_object_mut()?.insert("choices".into(), json!([]));
    last.as_object_mut()?.insert("usage".into(), reply.get("usage").cloned().unwrap_or_default());
    wire.push_str(&format!("data: {last}\n\ndata: [DONE]\n\n"));
    Some(wire)
}

fn cut(text: &str) -> impl Iterator<Item = String> + use<> {
    let chars: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = chars.chunks(SIZE).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}
