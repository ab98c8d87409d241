//! What a model is told of a tool.

use serde::{Deserialize, Serialize};

use crate::wire::wire_object;
use crate::{RawJson, ToolName};

wire_object! {
    /// A tool as the model sees it: a name, what it is for, and the JSON Schema of its arguments.
    ///
    /// A tool that the service brings along says of what `type` it is, and has no schema:
    ///
    /// ```
    /// use sommelier_protocol::ToolDefinition;
    ///
    /// let wire = r#"{"type":"web_search_20250305","name":"web_search","max_uses":5}"#;
    /// let tool: ToolDefinition = serde_json::from_str(wire)?;
    /// assert!(tool.is_of_service());
    /// assert_eq!(serde_json::to_string(&tool)?, wire);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct ToolDefinition checked by check_schema {
        /// The name under which the model calls it.
        pub name: ToolName = "name",
        /// What it does and when to use it, in words for the model.
        pub description: Option<Box<str>> = "description",
        /// JSON Schema of the arguments; its `type` is `object`. An empty object where there is none, as with a
        /// tool that the service brings along.
        pub input_schema: RawJson = "input_schema" or RawJson::empty_object(),
    }
}

impl ToolDefinition {
    /// A definition with a description.
    pub fn new(name: ToolName, description: impl Into<Box<str>>, input_schema: RawJson) -> Self {
        Self { name, description: Some(description.into()), input_schema, layout: Default::default() }
    }

    /// Whether the service brings the tool along: it has a `type`, and that is not `custom`.
    pub fn is_of_service(&self) -> bool {
        self.layout.extra("type").is_some_and(|kind| !matches!(kind.get(), r#""custom""# | "null"))
    }

    fn check_schema(&self) -> Result<(), &'static str> {
        if !self.layout.has(Self::NAMES, "input_schema") && !self.is_of_service() {
            return Err("missing field `input_schema`");
        }
        Ok(())
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
