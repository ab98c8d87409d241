//! Arguments that a schema allows.

use serde_json::{Map, Value, json};

/// How deep objects within objects go.
const DEEPEST: usize = 8;

/// A value that `schema` allows, as far as types, enumerations and required members tell it.
pub(crate) fn example(schema: &Value) -> Value {
    within(schema, DEEPEST)
}

fn within(schema: &Value, depth: usize) -> Value {
    let chosen = schema.get("const").or_else(|| schema.get("enum")?.get(0)).or_else(|| schema.get("default"));
    if let Some(chosen) = chosen {
        return chosen.clone();
    }
    if let Some(first) =
        schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(|choices| choices.get(0))
    {
        return if depth == 0 { Value::Null } else { within(first, depth - 1) };
    }
    let kind = schema.get("type");
    let kind = kind.and_then(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str())).unwrap_or("object");
    match kind {
        "string" => {
            let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(1).clamp(1, 1000);
            Value::String("x".repeat(usize::try_from(least).unwrap_or(1)))
        }
        "integer" | "number" => schema.get("minimum").cloned().unwrap_or(json!(1)),
        "boolean" => json!(false),
        "array" => json!([]),
        "object" if depth > 0 => Value::Object(members(schema, depth)),
        "object" => json!({}),
        _ => Value::Null,
    }
}

fn members(schema: &Value, depth: usize) -> Map<String, Value> {
    let required =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let member = |name: &str| {
        let schema = schema.get("properties").and_then(|properties| properties.get(name));
        (name.to_owned(), within(schema.unwrap_or(&Value::Null), depth - 1))
    };
    required.map(member).collect()
}
