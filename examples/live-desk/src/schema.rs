//! Whether a value fits a JSON Schema, as far as tools of this project write one.
//!
//! The tools read their arguments by types and the packages by the law; nothing of this is used for that. So it is a second
//! opinion on what a model wrote.

use serde_json::Value;

/// Every place at which `value` does not fit `schema`, with what would; empty when it fits.
///
/// A word of a schema that is not known here is told as well: what is not understood is not passed for checked.
///
/// ```
/// use live_desk::schema::misfits;
/// use serde_json::json;
///
/// let schema = json!({
///     "type": "object", "properties": {"room": {"type": "string", "enum": ["Focus", "Studio"]}},
///     "required": ["room"], "additionalProperties": false,
/// });
/// assert_eq!(misfits(&schema, &json!({"room": "Focus"})), [""; 0]);
/// assert_eq!(
///     misfits(&schema, &json!({"room": "Attic", "admin": true})),
///     ["$.admin: not a member of the schema", "$.room: not one of [\"Focus\",\"Studio\"]"],
/// );
/// ```
pub fn misfits(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    look(schema, value, "$", &mut found);
    found
}

fn look(schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let Some(words) = schema.as_object() else {
        if *schema != Value::Bool(true) {
            found.push(format!("{at}: {schema} is no schema that is known here"));
        }
        return;
    };
    for (word, bound) in words {
        match word.as_str() {
            // `required` and `additionalProperties` belong to the members, and are looked at with them.
            "description" | "title" | "additionalProperties" | "items" => {}
            "type" if is_of(bound, value) => {}
            "type" => found.push(format!("{at}: not of type {bound}")),
            "enum" if bound.as_array().is_some_and(|legal| legal.contains(value)) => {}
            "enum" => found.push(format!("{at}: not one of {bound}")),
            "const" if bound == value => {}
            "const" => found.push(format!("{at}: not {bound}")),
            "required" => found.extend(missing(bound, value, at)),
            "properties" => members(bound, words.get("additionalProperties"), value, at, found),
            "anyOf" if fits_one(bound, value) => {}
            "anyOf" => found.push(format!("{at}: fits no alternative")),
            _ => found.extend(out_of_bounds(word, bound, value).map(|why| format!("{at}: {why}"))),
        }
    }
    if let (Some(of), Value::Array(values)) = (words.get("items"), value) {
        for (place, value) in values.iter().enumerate() {
            look(of, value, &format!("{at}.{place}"), found);
        }
    }
}

fn is_of(kind: &Value, value: &Value) -> bool {
    match kind.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("number") => value.is_number(),
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        Some("null") => value.is_null(),
        _ => kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| is_of(kind, value))),
    }
}

fn missing(required: &Value, value: &Value, at: &str) -> Vec<String> {
    let Some(members) = value.as_object() else { return Vec::new() };
    let names = required.as_array().into_iter().flatten().filter_map(Value::as_str);
    names.filter(|name| !members.contains_key(*name)).map(|name| format!("{at}.{name}: missing")).collect()
}

fn members(known: &Value, others: Option<&Value>, value: &Value, at: &str, found: &mut Vec<String>) {
    for (name, member) in value.as_object().into_iter().flatten() {
        let at = format!("{at}.{name}");
        match (known.get(name), others) {
            (Some(schema), _) => look(schema, member, &at, found),
            (None, Some(Value::Bool(false))) => found.push(format!("{at}: not a member of the schema")),
            (None, Some(schema)) => look(schema, member, &at, found),
            (None, None) => {}
        }
    }
}

fn fits_one(alternatives: &Value, value: &Value) -> bool {
    let mut alternatives = alternatives.as_array().into_iter().flatten();
    alternatives.any(|schema| misfits(schema, value).is_empty())
}

/// What is wrong by a word that bounds a size; such a word says nothing of a value of another type.
fn out_of_bounds(word: &str, bound: &Value, value: &Value) -> Option<String> {
    let size = match word {
        "minLength" | "maxLength" => value.as_str().map(|text| text.chars().count() as f64),
        "minItems" | "maxItems" => value.as_array().map(|items| items.len() as f64),
        "minProperties" | "maxProperties" => value.as_object().map(|members| members.len() as f64),
        "minimum" | "maximum" => value.as_f64(),
        _ => return Some(format!("the word {word:?} of the schema is not known here")),
    }?;
    let Some(bound) = bound.as_f64() else { return Some(format!("{word} is no number")) };
    let is_within = if word.starts_with("min") { size >= bound } else { size <= bound };
    (!is_within).then(|| format!("{word} is {bound}, found {size}"))
}
