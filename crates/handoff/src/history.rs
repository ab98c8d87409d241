//! Whether a package holds messages where a task and its data belong.
//!
//! A message is an object with both `role` and `content`, at any depth, also in a string that is JSON itself.
//! What stands in a string was not read under the [law](crate::law): it may be nested without end, name a
//! key twice or hold any number, and none of that may hide a message. So it is scanned in one pass without
//! recursion instead of being read.

use serde_json::value::RawValue;

use crate::{Fields, Json};

/// Strings inside strings that are read as JSON; deeper ones are no message anybody would take for one.
const QUOTED: usize = 4;

/// Where `fields` hold a message.
pub(crate) fn in_fields(fields: &Fields, path: &str) -> Option<String> {
    if fields.get("role").is_some() && fields.get("content").is_some() {
        return Some(path.to_owned());
    }
    fields.iter().find_map(|(key, value)| inside(value, path, key))
}

/// Where `value` holds a message.
pub(crate) fn in_json(value: &Json, path: &str) -> Option<String> {
    match value {
        Json::Object(fields) => in_fields(fields, path),
        Json::Array(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(place, item)| inside(item, path, place))
        }
        Json::String(text) => in_text(text, path),
        _ => None,
    }
}

/// Where the value at `step` of `path` holds a message. A path is written only for what may hold one.
fn inside(value: &Json, path: &str, step: impl std::fmt::Display) -> Option<String> {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => None,
        value => in_json(value, &format!("{path}.{step}")),
    }
}

/// Where `text` holds a message: its own path.
pub(crate) fn in_text(text: &str, path: &str) -> Option<String> {
    is_told_in(text, 0).then(|| path.to_owned())
}

/// Whether a text is JSON, or lines of it, with a message in it. What follows the last whole value is not
/// looked at.
fn is_told_in(text: &str, quoted: usize) -> bool {
    if quoted >= QUOTED || !text.contains(['{', '"']) {
        return false;
    }
    let values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    values.map_while(Result::ok).any(|json| holds_message(json.get(), quoted))
}

/// The members that an open object has had.
#[derive(Default)]
struct Seen {
    role: bool,
    content: bool,
}

/// Whether a text that is JSON has a message in it.
fn holds_message(json: &str, quoted: usize) -> bool {
    let mut open: Vec<Seen> = Vec::new();
    let mut rest = json;
    while let Some(at) = rest.find(['{', '[', '}', ']', '"']) {
        let (mark, after) = rest[at..].split_at(1);
        rest = after;
        match mark {
            "{" | "[" => open.push(Seen::default()),
            "\"" => {
                let end = end_of_string(after);
                let text: String = serde_json::from_str(&format!("\"{}", &after[..end])).unwrap_or_default();
                rest = &after[end..];
                let is_key = rest.trim_start().starts_with(':');
                if !is_key && is_told_in(&text, quoted + 1) {
                    return true;
                }
                if let (true, Some(seen)) = (is_key, open.last_mut()) {
                    seen.role |= text == "role";
                    seen.content |= text == "content";
                }
            }
            _ => {
                if open.pop().is_some_and(|seen| seen.role && seen.content) {
                    return true;
                }
            }
        }
    }
    false
}

/// Where a string ends, its closing quote included; `text` begins behind the opening one.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().position(|byte| {
        let closes = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        closes
    });
    end.map_or(text.len(), |at| at + 1)
}
