//! What answers where no model is named.

use serde_json::{Value, json};
use sommelier_handoff::HANDOFF_TO_SPECIALIST;
use sommelier_protocol::{ModelRequest, ModelResponse, ToolChoice};
use sommelier_runtime::{Model, ModelError, script};
use support_desk::DeskRules;

/// The rules of the desk in a model's place. Where they may do nothing but hand over they do so, to the first receiver
/// that is on offer: it is code, and shows that the program works and nothing of any model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StandIn;

impl Model for StandIn {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        let Some(ToolChoice::Tool { name, .. }) = &request.tool_choice else {
            return DeskRules.complete(request);
        };
        let tool = request.tools.iter().find(|tool| tool.name == *name);
        let schema: Option<Value> = tool.and_then(|tool| tool.input_schema.read().ok());
        let receiver = schema.map(|mut schema| schema["properties"]["specialist"]["enum"][0].take());
        let arguments = json!({
            "specialist": receiver,
            "task": "See to what the customer asks.",
            "context": {},
            "constraints": ["be concise"],
            "open_items": ["resolve the query"],
        });
        let id = format!("call_{}_{}", request.caller, request.replies);
        Ok(script::call(&id, HANDOFF_TO_SPECIALIST, &arguments.to_string()))
    }

    fn name(&self) -> Option<&str> {
        DeskRules.name()
    }

    fn label(&self) -> Option<&str> {
        DeskRules.label()
    }
}
