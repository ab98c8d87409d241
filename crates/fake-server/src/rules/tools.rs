//! Definitions of tools, and the choice among them.

use std::collections::BTreeSet;

use serde_json::Value;
use sommelier_protocol::sequence;

use super::{list, word};
use crate::Rule;
use crate::breach::{ApiError, Breach};

/// Documents say 64; the service's own error says this.
const LONGEST_NAME: usize = 128;
const MEMBERS: [&str; 10] = [
    "type",
    "name",
    "description",
    "input_schema",
    "strict",
    "input_examples",
    "cache_control",
    "defer_loading",
    "eager_input_streaming",
    "allowed_callers",
];
const DUPLICATE: &str = "Tool names must be unique.";

pub(super) fn check(body: &Value) -> Result<(), Breach> {
    match body.get("tools") {
        None | Some(Value::Null | Value::Array(_)) => {}
        Some(_) => return Err(Breach::at(Rule::ToolDefinition, "tools", "Input should be a valid list")),
    }
    let tools = list(body, "tools");
    for (at, tool) in tools.iter().enumerate() {
        definition(tool, &format!("tools.{at}"))?;
    }
    let mut names = BTreeSet::new();
    let mut named = tools.iter().map(|tool| word(tool, "name")).filter(|name| !name.is_empty());
    if !named.all(|name| names.insert(name)) {
        return Err(Breach::at(Rule::Sequence(sequence::Rule::ToolsAreNamed), "tools", DUPLICATE));
    }
    choice(body, tools, &names)
}

fn definition(tool: &Value, path: &str) -> Result<(), Breach> {
    let fault = |path: &str, what: &str| Err(Breach::at(Rule::ToolDefinition, path, what));
    let Some(members) = tool.as_object() else { return fault(path, "Input should be an object") };
    // What the service brings along says of what type it is, and has members of its own.
    let is_custom = matches!(tool.get("type").and_then(Value::as_str), None | Some("custom"));
    let path = if is_custom { format!("{path}.custom") } else { path.to_owned() };
    match tool.get("name") {
        None if is_custom => return fault(&format!("{path}.name"), "Field required"),
        None => {}
        Some(Value::String(name)) if is_name(name) => {}
        Some(Value::String(_)) => {
            let what = format!("String should match pattern '^[a-zA-Z0-9_-]{{1,{LONGEST_NAME}}}$'");
            return fault(&format!("{path}.name"), &what);
        }
        Some(_) => return fault(&format!("{path}.name"), "Input should be a valid string"),
    }
    if !is_custom {
        return Ok(());
    }
    if tool.get("description").is_some_and(|text| !text.is_string() && !text.is_null()) {
        return fault(&format!("{path}.description"), "Input should be a valid string");
    }
    if let Some(name) = members.keys().find(|name| !MEMBERS.contains(&&***name)) {
        return fault(&format!("{path}.{name}"), "Extra inputs are not permitted");
    }
    schema(tool, &format!("{path}.input_schema"))
}

fn schema(tool: &Value, path: &str) -> Result<(), Breach> {
    let fault = |path: &str, what: &str| Err(Breach::at(Rule::ToolDefinition, path, what));
    let Some(schema) = tool.get("input_schema") else { return fault(path, "Field required") };
    if !schema.is_object() {
        return fault(path, "Input should be an object");
    }
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        None => return fault(&format!("{path}.type"), "Field required"),
        Some(_) => return fault(&format!("{path}.type"), "Input should be 'object'"),
    }
    if schema.get("properties").is_some_and(|properties| !properties.is_object() && !properties.is_null()) {
        return fault(path, "JSON schema is invalid. It must match JSON Schema draft 2020-12");
    }
    if tool.get("strict").and_then(Value::as_bool) == Some(true)
        && schema.get("additionalProperties") != Some(&Value::Bool(false))
    {
        return fault(path, "For 'object' type, 'additionalProperties' must be explicitly set to false");
    }
    Ok(())
}

fn choice(body: &Value, tools: &[Value], names: &BTreeSet<&str>) -> Result<(), Breach> {
    let Some(choice) = body.get("tool_choice").filter(|choice| !choice.is_null()) else { return Ok(()) };
    let fault = |path: &str, what: String| Err(Breach::at(Rule::ToolChoice, path, what));
    let kind = match choice.get("type") {
        Some(Value::String(kind)) if matches!(&**kind, "auto" | "any" | "tool" | "none") => &**kind,
        None => return fault("tool_choice.type", "Field required".to_owned()),
        Some(kind) => {
            let what = format!(
                "Input tag {kind} found using 'type' does not match any of the expected tags: 'any', 'auto', 'none', 'tool'"
            );
            return fault("tool_choice", what);
        }
    };
    let path = format!("tool_choice.{kind}");
    match choice.get("disable_parallel_tool_use") {
        None | Some(Value::Bool(_)) if kind != "none" => {}
        None => {}
        Some(_) if kind == "none" => {
            return fault(
                &format!("{path}.disable_parallel_tool_use"),
                "Extra inputs are not permitted".to_owned(),
            );
        }
        Some(_) => {
            return fault(
                &format!("{path}.disable_parallel_tool_use"),
                "Input should be a valid boolean".to_owned(),
            );
        }
    }
    if tools.is_empty() && kind != "none" {
        return fault(&path, "tool_choice may only be specified while providing tools.".to_owned());
    }
    if kind != "tool" {
        return Ok(());
    }
    // A set of the service's tools has no name, and the names of its members are not known here.
    let has_set = tools.iter().any(|tool| tool.get("name").is_none());
    match choice.get("name").and_then(Value::as_str) {
        None => fault(&format!("{path}.name"), "Field required".to_owned()),
        Some(name) if names.contains(name) || has_set => Ok(()),
        Some(name) => {
            let what = format!("Tool '{name}' not found in provided tools");
            Err(Breach::new(Rule::ToolChoice, ApiError::invalid(what)))
        }
    }
}

/// Whether `name` is one that a tool may have.
pub(super) fn is_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
