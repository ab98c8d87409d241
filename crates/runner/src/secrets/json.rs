//! Changes in JSON that leave everything else as it was written.

use serde_json::Value;
use sommelier_protocol::RawJson;
use sommelier_runtime::tool::Members;

/// What a literal of JSON is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    /// The name of a member.
    Name,
    /// A text that is a value.
    Text,
    /// A number, as it was written.
    Number,
}

/// Puts what `change` gives in the place of each literal for which it gives something: a text each. `None` when nothing has
/// changed. However deep `json`, which is valid, is nested, it is read from one end to the other.
pub(super) fn rewrite(json: &str, mut change: impl FnMut(Literal, &str) -> Option<String>) -> Option<String> {
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some((start, end)) = next_literal(json, at) {
        at = end;
        let written = &json[start..end];
        let changed = match written.strip_prefix('"') {
            None => change(Literal::Number, written),
            Some(_) => {
                let text: String = serde_json::from_str(written).unwrap_or_default();
                let is_name = json[end..].trim_start().starts_with(':');
                change(if is_name { Literal::Name } else { Literal::Text }, &text)
            }
        };
        if let Some(text) = changed {
            out.push_str(&json[copied..start]);
            out.push_str(RawJson::string(&text).get());
            copied = end;
        }
    }
    (copied > 0).then(|| out + &json[copied..])
}

/// Where the next string or number after `from`, a place outside of strings, begins and ends.
fn next_literal(json: &str, from: usize) -> Option<(usize, usize)> {
    let is_number = |byte: &u8| matches!(byte, b'-' | b'0'..=b'9');
    let bytes = json.as_bytes();
    let start = from + bytes.get(from..)?.iter().position(|byte| *byte == b'"' || is_number(byte))?;
    let rest = bytes.get(start + 1..)?;
    let length = if bytes.get(start) == Some(&b'"') {
        let mut is_escaped = false;
        let closes = |byte: &u8| {
            let ends = *byte == b'"' && !is_escaped;
            is_escaped = *byte == b'\\' && !is_escaped;
            ends
        };
        rest.iter().position(closes)? + 1
    } else {
        let goes_on = |byte: &&u8| is_number(byte) || matches!(byte, b'+' | b'.' | b'e' | b'E');
        rest.iter().take_while(goes_on).count()
    };
    Some((start, start + 1 + length))
}

/// Puts what `change` gives in the place of each value at `path`, and of those at it in each item of a list on the way. Where
/// something else stands on the way, it is taken for the value. A name that `schema` does not have is read as one that it has
/// in letters of another case, or with other joints. `None` when nothing has changed.
pub(super) fn at_path(
    json: &RawJson,
    path: &[&str],
    schema: &Value,
    change: &mut dyn FnMut(&RawJson) -> Option<RawJson>,
) -> Option<RawJson> {
    let Some((name, rest)) = path.split_first() else { return change(json) };
    match json.get().as_bytes().first() {
        Some(b'{') => {
            let mut members: Members = json.read().ok()?;
            let schema = items_of(schema);
            let is_meant = |member: &str| {
                member == *name
                    || schema["properties"].get(member).is_none() && folded(member) == folded(name)
            };
            let named = members.0.iter_mut().filter(|(member, _)| is_meant(member));
            let inner = &schema["properties"][*name];
            changed(named.map(|(_, value)| value), |value| at_path(value, rest, inner, change))
                .then_some(())?;
            RawJson::of(&members).ok()
        }
        Some(b'[') => {
            let mut items: Vec<RawJson> = json.read().ok()?;
            let each = |item: &RawJson| {
                if item.is_object() { at_path(item, path, schema, change) } else { change(item) }
            };
            changed(items.iter_mut(), each).then_some(())?;
            RawJson::of(&items).ok()
        }
        _ => change(json),
    }
}

/// Puts what `change` gives, for a name and its value, in the place of each member that `schema` does not have where it says
/// that there are no others, and of each object or list where it has neither. `None` when nothing has changed.
pub(super) fn astray(
    json: &RawJson,
    schema: &Value,
    change: &mut dyn FnMut(&str, &RawJson) -> Option<RawJson>,
) -> Option<RawJson> {
    match json.get().as_bytes().first() {
        Some(b'{') => {
            let mut members: Members = json.read().ok()?;
            let properties = &schema["properties"];
            let is_closed = properties.is_object() && schema["additionalProperties"] == false;
            let mut is_changed = false;
            for (name, value) in &mut members.0 {
                let now = match properties.get(&**name) {
                    Some(of) if is_plain(of) && !is_plain_text(value) => change(name, value),
                    Some(of) => astray(value, of, change),
                    None if is_closed => change(name, value),
                    None => None,
                };
                is_changed |= now.is_some();
                *value = now.unwrap_or_else(|| value.clone());
            }
            is_changed.then(|| RawJson::of(&members).ok())?
        }
        Some(b'[') => {
            let of = schema.get("items")?;
            let mut items: Vec<RawJson> = json.read().ok()?;
            changed(items.iter_mut(), |item| astray(item, of, change)).then_some(())?;
            RawJson::of(&items).ok()
        }
        _ => None,
    }
}

/// The schema of the items, where it is one of a list, or of lists in a list.
fn items_of(mut schema: &Value) -> &Value {
    while let Some(items) = schema.get("items") {
        schema = items;
    }
    schema
}

/// Whether a schema is of a text, a number or a truth.
fn is_plain(schema: &Value) -> bool {
    schema["type"].as_str().is_some_and(|of| !matches!(of, "object" | "array" | "null"))
}

fn is_plain_text(value: &RawJson) -> bool {
    !matches!(value.get().as_bytes().first(), Some(b'{' | b'['))
}

/// A name without what people and models write in more ways than one.
fn folded(name: &str) -> String {
    name.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Changes values in their places, and tells whether there was one to change.
fn changed<'a>(
    values: impl Iterator<Item = &'a mut RawJson>,
    mut change: impl FnMut(&RawJson) -> Option<RawJson>,
) -> bool {
    let replace = |value: &'a mut RawJson| change(value).map(|changed| *value = changed).is_some();
    values.map(replace).fold(false, |any, one| any | one)
}
