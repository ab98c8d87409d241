//! The tool that no function stands behind.

use sommelier_protocol::{RawJson, ToolDefinition, ToolName, ToolUse};

use crate::law::{self, Arguments};
use crate::{HandoffPackage, PackageError};

/// The name of the pseudo-tool: the model calls it like any tool, and the relay takes the call as the wish
/// to hand over the turn.
pub const HANDOFF_TO_SPECIALIST: &str = "handoff_to_specialist";

/// The pseudo-tool of an agent with these legal receivers: name and what each is for.
pub(crate) fn definition<'a>(
    name: ToolName,
    receivers: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> ToolDefinition {
    let legal: Vec<&str> = receivers.clone().map(|(name, _)| name).collect();
    let legal = RawJson::of(&legal).map(|json| json.to_string()).unwrap_or_default();
    let who: Vec<String> = receivers
        .map(
            |(name, purpose)| if purpose.is_empty() { name.to_owned() } else { format!("{name}: {purpose}") },
        )
        .collect();
    let description = format!(
        "Hands the turn to a specialist, for a need that came up in your work and that none of your tools can meet. \
         Your turn ends with this call; the specialist answers the user. It sees nothing of this conversation: \
         `task` is one specific question or order, `context` holds just the values it needs for it. \
         Never pass messages. Specialists: {}.",
        who.join("; ")
    );
    let schema = format!(
        r#"{{"type":"object","properties":{{"specialist":{{"type":"string","enum":{legal},"description":"Who takes over."}},"task":{{"type":"string","description":"One specific question or order, complete in itself."}},"context":{{"type":"object","description":"The values needed for the task, by name."}},"constraints":{{"type":"array","items":{{"type":"string"}},"description":"What binds whoever works on the task."}},"completed_steps":{{"type":"array","items":{{"type":"string"}},"description":"What is done and not to be done again."}},"open_items":{{"type":"array","items":{{"type":"string"}},"description":"What is still to be done."}},"artifacts":{{"type":"object","description":"Small results of the work so far, by name."}}}},"required":["specialist","task","context"],"additionalProperties":false}}"#
    );
    let schema = RawJson::parse(&schema).unwrap_or_else(|_| RawJson::empty_object());
    ToolDefinition::new(name, description, schema)
}

/// What a call of the pseudo-tool asks for: the receiver as it was written, and the package or what is wrong
/// with it.
pub(crate) struct Wish {
    pub(crate) specialist: Result<String, PackageError>,
    pub(crate) package: Result<HandoffPackage, Vec<PackageError>>,
}

impl Wish {
    pub(crate) fn read(call: &ToolUse) -> Self {
        match arguments(call) {
            Ok(Arguments { apart, others }) => {
                let missing = || Err(PackageError::Missing { field: "specialist".to_owned() });
                let package = others.map_err(|error| vec![error]).and_then(HandoffPackage::from_fields);
                let package = package.and_then(|package| package.within_law(call.input().get().len()));
                Self { specialist: apart.map_or_else(missing, |name| name.map(Into::into)), package }
            }
            Err(error) => Self { specialist: Err(error.clone()), package: Err(vec![error]) },
        }
    }
}

fn arguments(call: &ToolUse) -> Result<Arguments, PackageError> {
    if let Some(bytes) = call.withheld_bytes() {
        return Err(PackageError::InputTooLarge { bytes, most: law::INPUT_BYTES });
    }
    if let Some(text) = call.broken_input() {
        let detail =
            format!("{}; it begins {:?}", sommelier_runtime::tool::broken(&text), law::shortened(&text));
        return Err(PackageError::NotJson { path: String::new(), detail });
    }
    law::read_arguments(call.input().get(), "specialist")
}
