//! Whether every member has the type that it must have.

use serde_json::{Map, Value};

use super::{list, word};
use crate::Rule;
use crate::breach::{ApiError, Breach};

type Checked = Result<(), Breach>;

/// The first version that knows no parameters of sampling, and no documents of the model.
const NEWEST: &str = "2026-10-21";
const SAMPLING: [&str; 3] = ["temperature", "top_p", "top_k"];
const MEMBERS: [&str; 20] = [
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "stop_sequences",
    "stream",
    "metadata",
    "cache_control",
    "service_tier",
    "speed",
    "inference_geo",
    "container",
    "diagnostics",
    "temperature",
    "top_p",
    "top_k",
];
/// Members that are about a reply, and not taken where tokens are counted.
const OF_A_REPLY: [&str; 9] = [
    "max_tokens",
    "stream",
    "stop_sequences",
    "metadata",
    "service_tier",
    "container",
    "temperature",
    "top_p",
    "top_k",
];
const MOST_MESSAGES: usize = 100_000;
const MOST_BREAKPOINTS: usize = 4;
/// Kinds of blocks whose members are not looked at. Those of tools that the service runs are told by their ends.
const OTHER_KINDS: [&str; 8] = [
    "image",
    "document",
    "search_result",
    "server_tool_use",
    "mcp_tool_use",
    "container_upload",
    "tool_reference",
    "compaction",
];

/// What is counted has no limit of its own, and no members that are about a reply; it is given a limit that no rule minds.
pub(super) fn count(body: &mut Value) -> Checked {
    let Some(members) = body.as_object_mut() else { return Ok(()) };
    if let Some(name) = members.keys().find(|name| OF_A_REPLY.contains(&&***name)) {
        return Err(extra(name));
    }
    members.insert("max_tokens".to_owned(), u32::MAX.into());
    Ok(())
}

pub(super) fn check(body: &Value, version: &str, is_beta: bool) -> Checked {
    let body = object(body, "body")?;
    if let Some(name) = body.keys().find(|name| !MEMBERS.contains(&&***name) && !is_beta) {
        return Err(extra(name));
    }
    required(body, "", "model").and_then(|model| string(model, "model").map(|_| ()))?;
    required(body, "", "max_tokens").and_then(|count| number(count, "max_tokens"))?;
    let messages = array(required(body, "", "messages")?, "messages")?;
    if messages.len() > MOST_MESSAGES {
        let what = format!(
            "List should have at most {MOST_MESSAGES} items after validation, not {}",
            messages.len()
        );
        return Err(fault("messages", what));
    }
    for (at, one) in messages.iter().enumerate() {
        message(one, &format!("messages.{at}"), version)?;
    }
    options(body)?;
    sampling(body, version)?;
    breakpoints(body)
}

fn options(body: &Map<String, Value>) -> Checked {
    match present(body, "system") {
        None | Some(Value::String(_)) => {}
        Some(system) => texts(array(system, "system")?, "system")?,
    }
    if present(body, "stream").is_some_and(|stream| !stream.is_boolean()) {
        return Err(fault("stream", "Input should be a valid boolean"));
    }
    for member in ["metadata", "thinking", "output_config", "tool_choice", "cache_control"] {
        present(body, member).map_or(Ok(()), |value| object(value, member).map(|_| ()))?;
    }
    let Some(stops) = present(body, "stop_sequences") else { return Ok(()) };
    for (at, stop) in array(stops, "stop_sequences")?.iter().enumerate() {
        if string(stop, &format!("stop_sequences.{at}"))?.trim().is_empty() {
            return Err(fault("stop_sequences", "each stop sequence must contain non-whitespace"));
        }
    }
    Ok(())
}

fn sampling(body: &Map<String, Value>, version: &str) -> Checked {
    let Some(found) = SAMPLING.iter().find(|name| present(body, name).is_some()) else { return Ok(()) };
    if version >= NEWEST {
        let what = format!("`{found}` is not supported as of version {NEWEST}");
        return Err(Breach::at(Rule::Sampling, found, what));
    }
    match present(body, found) {
        Some(Value::Number(_)) => Ok(()),
        _ => Err(fault(found, "Input should be a valid number")),
    }
}

fn message(value: &Value, path: &str, version: &str) -> Checked {
    let message = object(value, path)?;
    let role_path = format!("{path}.role");
    let role = string(required(message, path, "role")?, &role_path)?;
    if !matches!(role, "user" | "assistant" | "system") {
        return Err(fault(&role_path, "Input should be 'user', 'assistant' or 'system'"));
    }
    let content = required(message, path, "content")?;
    if let Some(name) = message.keys().find(|name| !matches!(&***name, "role" | "content")) {
        return Err(extra(&format!("{path}.{name}")));
    }
    if content.is_string() {
        return Ok(());
    }
    let content_path = format!("{path}.content");
    for (at, one) in array(content, &content_path)?.iter().enumerate() {
        let path = format!("{content_path}.{at}");
        block(one, &path)?;
        if role == "assistant" && version >= NEWEST && word(one, "type") == "document" {
            return Err(fault(&path, "`document` blocks can only be in `user` messages"));
        }
    }
    Ok(())
}

fn block(value: &Value, path: &str) -> Checked {
    let block = object(value, path)?;
    let kind = string(required(block, path, "type")?, &format!("{path}.type"))?;
    let path_of_kind = format!("{path}.{kind}");
    let text = |member: &str| {
        let value = required(block, &path_of_kind, member)?;
        string(value, &format!("{path_of_kind}.{member}"))
    };
    let only = |members: &[&str]| match block.keys().find(|name| !members.contains(&&***name)) {
        None => Ok(()),
        Some(name) => Err(extra(&format!("{path_of_kind}.{name}"))),
    };
    match kind {
        "text" => {
            text("text")?;
            only(&["type", "text", "cache_control", "citations"])
        }
        "thinking" => {
            text("thinking")?;
            text("signature")?;
            only(&["type", "thinking", "signature"])
        }
        "redacted_thinking" => {
            text("data")?;
            only(&["type", "data"])
        }
        "tool_use" => {
            text("id")?;
            text("name")?;
            if !required(block, &path_of_kind, "input")?.is_object() {
                return Err(fault(&format!("{path_of_kind}.input"), "Input should be a valid dictionary"));
            }
            only(&["type", "id", "name", "input", "caller", "toolset_name", "cache_control"])
        }
        "tool_result" => {
            text("tool_use_id")?;
            result(block, &path_of_kind)?;
            only(&["type", "tool_use_id", "content", "is_error", "toolset_name", "cache_control"])
        }
        kind if OTHER_KINDS.contains(&kind) || kind.ends_with("_tool_result") => Ok(()),
        kind => Err(unknown_kind(path, kind)),
    }
}

fn result(block: &Map<String, Value>, path: &str) -> Checked {
    if present(block, "is_error").is_some_and(|is_error| !is_error.is_boolean()) {
        return Err(fault(&format!("{path}.is_error"), "Input should be a valid boolean"));
    }
    let content_path = format!("{path}.content");
    let parts = match present(block, "content") {
        None | Some(Value::String(_)) => return Ok(()),
        Some(content) => array(content, &content_path)?,
    };
    for (at, part) in parts.iter().enumerate() {
        let path = format!("{content_path}.{at}");
        let kind = string(required(object(part, &path)?, &path, "type")?, &format!("{path}.type"))?;
        match kind {
            "text" => self::block(part, &path)?,
            "image" | "document" | "search_result" | "tool_reference" | "browser_state" => {}
            kind => return Err(unknown_kind(&path, kind)),
        }
    }
    Ok(())
}

/// A list of text blocks, as instructions are.
fn texts(blocks: &[Value], path: &str) -> Checked {
    for (at, one) in blocks.iter().enumerate() {
        let path = format!("{path}.{at}");
        let block = object(one, &path)?;
        if string(required(block, &path, "type")?, &format!("{path}.type"))? != "text" {
            return Err(fault(&format!("{path}.type"), "Input should be 'text'"));
        }
        string(required(block, &path, "text")?, &format!("{path}.text"))?;
    }
    Ok(())
}

fn breakpoints(body: &Map<String, Value>) -> Checked {
    let lists = body.values().filter_map(Value::as_array);
    let found = usize::from(present(body, "cache_control").is_some())
        + lists.map(|list| breaks_in(list)).sum::<usize>();
    if found <= MOST_BREAKPOINTS {
        return Ok(());
    }
    let what =
        format!("A maximum of {MOST_BREAKPOINTS} blocks with cache_control may be provided. Found {found}.");
    Err(Breach::new(Rule::CacheControl, ApiError::invalid(what)))
}

/// Breakpoints in a list of blocks, messages or tools. What stands in the input of a call is data.
fn breaks_in(items: &[Value]) -> usize {
    let is_break = |item: &Value| item.get("cache_control").is_some_and(|mark| !mark.is_null());
    items.iter().map(|item| usize::from(is_break(item)) + breaks_in(list(item, "content"))).sum()
}

fn fault(path: &str, what: impl AsRef<str>) -> Breach {
    Breach::at(Rule::Shape, path, what)
}

fn extra(path: &str) -> Breach {
    fault(path, "Extra inputs are not permitted")
}

fn unknown_kind(path: &str, kind: &str) -> Breach {
    fault(path, format!("Input tag '{kind}' found using 'type' does not match any of the expected tags"))
}

/// The member, unless it is `null`, which is the same as none where it is optional.
fn present<'a>(object: &'a Map<String, Value>, member: &str) -> Option<&'a Value> {
    object.get(member).filter(|value| !value.is_null())
}

fn required<'a>(object: &'a Map<String, Value>, path: &str, member: &str) -> Result<&'a Value, Breach> {
    let dot = if path.is_empty() { "" } else { "." };
    object.get(member).ok_or_else(|| fault(&format!("{path}{dot}{member}"), "Field required"))
}

fn object<'a>(value: &'a Value, path: &str) -> Result<&'a Map<String, Value>, Breach> {
    value.as_object().ok_or_else(|| fault(path, "Input should be an object"))
}

fn array<'a>(value: &'a Value, path: &str) -> Result<&'a [Value], Breach> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| fault(path, "Input should be a valid list"))
}

fn string<'a>(value: &'a Value, path: &str) -> Result<&'a str, Breach> {
    value.as_str().ok_or_else(|| fault(path, "Input should be a valid string"))
}

fn number(value: &Value, path: &str) -> Checked {
    match value {
        value if value.is_u64() => Ok(()),
        value if value.is_i64() => Err(fault(path, "Input should be greater than or equal to 0")),
        _ => Err(fault(path, "Input should be a valid integer")),
    }
}
