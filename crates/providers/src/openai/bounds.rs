//! A schema whose texts and lists all have an end.

use sommelier_protocol::RawJson;

use super::{JsonMode, OpenObjects};
use crate::members::{Members, OnTheWire as _};

/// `schema` with the bounds of `mode` at each text and each list that has none of its own. All else stands as it was
/// written, and what is no schema is left as it is.
pub(super) fn bounded(schema: &RawJson, mode: JsonMode) -> RawJson {
    let Ok(mut members) = schema.read::<Members>() else { return schema.clone() };
    for (name, value) in &mut members.0 {
        match &**name {
            "properties" | "$defs" | "definitions" => *value = each_member(value, mode),
            "items" | "additionalProperties" => *value = bounded(value, mode),
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => *value = each_item(value, mode),
            _ => {}
        }
    }
    match members.text("type").as_deref() {
        Some("string") if !is_any(&members, &["maxLength", "enum", "const", "format", "pattern"]) => {
            let least = count(&members, "minLength");
            members.put("maxLength", number(mode.argument_chars.max(least)));
        }
        Some("array") if !is_any(&members, &["maxItems", "enum", "const", "prefixItems"]) => {
            let least = count(&members, "minItems");
            members.put("maxItems", number(mode.items.max(least)));
        }
        Some("object") if mode.open_objects == OpenObjects::Close && is_open(&members) => {
            members.put("additionalProperties", RawJson::of(&false).unwrap_or_else(|_| schema.clone()));
        }
        _ => {}
    }
    RawJson::of(&members).unwrap_or_else(|_| schema.clone())
}

/// An object of schemas, each bounded.
fn each_member(schemas: &RawJson, mode: JsonMode) -> RawJson {
    let Ok(mut members) = schemas.read::<Members>() else { return schemas.clone() };
    members.0.iter_mut().for_each(|(_, schema)| *schema = bounded(schema, mode));
    RawJson::of(&members).unwrap_or_else(|_| schemas.clone())
}

/// A list of schemas, each bounded.
fn each_item(schemas: &RawJson, mode: JsonMode) -> RawJson {
    let Ok(items) = schemas.read::<Vec<RawJson>>() else { return schemas.clone() };
    let items: Vec<RawJson> = items.iter().map(|schema| bounded(schema, mode)).collect();
    RawJson::of(&items).unwrap_or_else(|_| schemas.clone())
}

/// Whether an object may have any members beside those that are named.
fn is_open(members: &Members) -> bool {
    members.get("additionalProperties").is_none_or(|others| others.get() == "true")
}

fn is_any(members: &Members, names: &[&str]) -> bool {
    names.iter().any(|name| members.get(name).is_some())
}

/// A lower bound that stands in the schema; 0 where there is none.
fn count(members: &Members, name: &str) -> u32 {
    members.get(name).and_then(|least| least.read().ok()).unwrap_or(0)
}

fn number(count: u32) -> RawJson {
    RawJson::of(&count).unwrap_or_else(|_| RawJson::empty_object())
}
