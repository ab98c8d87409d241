//! What a model is told of a tool.

use serde::{Deserialize, Serialize};

use crate::wire::wire_object;
use crate::{RawJson, ToolName};

wire_object! {
    /// A tool as the model sees it: a name, what it is for, and the JSON Schema of its arguments.
    pub struct ToolDefinition {
        /// The name under which the model calls it.
        pub name: ToolName = "name",
        /// What it does and when to use it, in words for the model.
        pub description: Option<Box<str>> = "description",
        /// JSON Schema of the arguments; its `type` is `object`.
        pub input_schema: RawJson = "input_schema",
    }
}

impl ToolDefinition {
    /// A definition with a description.
    pub fn new(name: ToolName, description: impl Into<Box<str>>, input_schema: RawJson) -> Self {
        Self { name, description: Some(description.into()), input_schema, layout: Default::default() }
    }
}

/// Whether and which tool the model must call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    Auto {
        /// At most one call in a reply.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disable_parallel_tool_use: Option<bool>,
    },
    /// Some tool must be called.
    Any {
        /// Exactly one call in a reply.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disable_parallel_tool_use: Option<bool>,
    },
    /// This tool must be called.
    Tool {
        /// The tool's name.
        name: ToolName,
        /// Exactly one call in a reply.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disable_parallel_tool_use: Option<bool>,
    },
    /// No tool may be called.
    None,
}
