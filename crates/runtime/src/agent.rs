//! An agent: who it is and what it may do.

use sommelier_protocol::{IllegalName, System, ToolDefinition, ToolName};
use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::tool::ToolFault;
use crate::{AgentName, Limits, Tool, ToolTable};

/// An agent as its author writes it down. [`build`](Self::build) checks it.
#[derive(Clone, Debug)]
pub struct Agent {
    name: String,
    label: Option<String>,
    purpose: String,
    instructions: String,
    model: String,
    max_tokens: u32,
    tools: Vec<Tool>,
    reserved: Vec<ToolDefinition>,
    unoffered: Vec<ToolDefinition>,
    limits: Limits,
}

impl Agent {
    /// An agent with a name and instructions, which become the system prompt; blank ones become none.
    pub fn new(name: impl Into<String>, instructions: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            label: None,
            purpose: String::new(),
            instructions: instructions.into(),
            model: crate::script::CONCEPT_MODEL.to_owned(),
            max_tokens: 1024,
            tools: Vec::new(),
            reserved: Vec::new(),
            unoffered: Vec::new(),
            limits: Limits::default(),
        }
    }

    /// The name as it was written.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A name for people; any text.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// What the agent is for, in one line: those who may call on it are told, and so is whoever reads its spans.
    pub fn purpose(mut self, purpose: impl Into<String>) -> Self {
        self.purpose = purpose.into();
        self
    }

    /// The line of [`purpose`](Self::purpose); empty when it was not set.
    pub fn purpose_text(&self) -> &str {
        &self.purpose
    }

    /// The model to ask; `claude-sonnet-5` when not set.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = model.into();
        self
    }

    /// The most tokens of one reply; 1024 when not set.
    pub fn max_tokens(mut self, max_tokens: u32) -> Self {
        self.max_tokens = max_tokens;
        self
    }

    /// Adds tools.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Adds the definition of a reserved tool: one that the model may call, and that the layer above
    /// answers. It is never dispatched.
    pub fn reserve(mut self, definition: ToolDefinition) -> Self {
        self.reserved.push(definition);
        self
    }

    /// Adds the definition of a reserved tool that only some requests offer: those that the layer above makes with
    /// [`ModelCall::request_offering`](crate::turn::ModelCall::request_offering). A call of it is that layer's to
    /// answer, whether or not it was offered.
    pub fn reserve_unoffered(mut self, definition: ToolDefinition) -> Self {
        self.unoffered.push(definition);
        self
    }

    /// Sets the limits of a turn.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the most model calls of one activation.
    pub fn max_steps(mut self, max_steps: u32) -> Self {
        self.limits.max_steps = max_steps;
        self
    }

    /// Checks the agent.
    ///
    /// # Errors
    /// [`DefinitionError`] for the first of: an illegal agent name, an illegal tool name, two tools of one
    /// name, a reserved name that is also a tool's, a tool that declares of itself what cannot be.
    pub fn build(self) -> Result<Definition, DefinitionError> {
        let name = AgentName::new(self.name)?;
        let mut definitions = Vec::with_capacity(self.tools.len() + self.reserved.len());
        let mut reserved = BTreeSet::new();
        for tool in &self.tools {
            definitions.push(tool.definition()?.clone());
        }
        for definition in self.reserved {
            reserved.insert(definition.name.clone());
            definitions.push(definition);
        }
        definitions.sort_by(|a: &ToolDefinition, b| a.name.cmp(&b.name));
        let mut names: Vec<&ToolName> =
            definitions.iter().chain(&self.unoffered).map(|definition| &definition.name).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(DefinitionError::DuplicateTool { agent: name, tool: twice[0].clone() });
        }
        for tool in &self.tools {
            if let (Ok(definition), Some(fault)) = (tool.definition(), tool.fault(&self.tools)) {
                let tool = definition.name.clone();
                return Err(DefinitionError::Tool { agent: name, tool, fault });
            }
        }
        reserved.extend(self.unoffered.iter().map(|definition| definition.name.clone()));
        Ok(Definition {
            label: self.label.unwrap_or_else(|| name.to_string()),
            purpose: self.purpose.into(),
            system: (!self.instructions.trim().is_empty()).then(|| System::Text(self.instructions.into())),
            model: self.model.into(),
            max_tokens: self.max_tokens,
            table: ToolTable::new(self.tools),
            definitions,
            unoffered: self.unoffered,
            reserved,
            limits: self.limits,
            name,
        })
    }
}

/// An agent that has been checked: what a turn borrows.
#[derive(Clone, Debug)]
pub struct Definition {
    name: AgentName,
    label: String,
    purpose: Box<str>,
    system: Option<System>,
    model: Box<str>,
    max_tokens: u32,
    /// Own and reserved, sorted by name: the same bytes in every request, so that a prompt cache holds.
    definitions: Vec<ToolDefinition>,
    /// Reserved ones that are in a request only when it is made with them.
    unoffered: Vec<ToolDefinition>,
    reserved: BTreeSet<ToolName>,
    table: ToolTable,
    limits: Limits,
}

impl Definition {
    /// The agent's name.
    pub fn name(&self) -> &AgentName {
        &self.name
    }

    /// The name for people.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// What the agent is for, in one line; empty when its author did not say.
    pub fn purpose(&self) -> &str {
        &self.purpose
    }

    /// The instructions.
    pub fn system(&self) -> Option<&System> {
        self.system.as_ref()
    }

    /// The model to ask.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The most tokens of one reply.
    pub fn max_tokens(&self) -> u32 {
        self.max_tokens
    }

    /// What the model is told of its tools, own and reserved, sorted by name.
    pub fn definitions(&self) -> &[ToolDefinition] {
        &self.definitions
    }

    /// What the model is told of the tool of this name.
    pub fn definition(&self, tool: &str) -> Option<&ToolDefinition> {
        let place = self.definitions.binary_search_by(|known| known.name.as_str().cmp(tool)).ok()?;
        self.definitions.get(place)
    }

    /// The reserved tools that only some requests offer.
    pub fn unoffered(&self) -> &[ToolDefinition] {
        &self.unoffered
    }

    /// The agent's own tools.
    pub fn table(&self) -> &ToolTable {
        &self.table
    }

    /// Whether the layer above answers calls of this name.
    pub fn is_reserved(&self, tool: &str) -> bool {
        self.reserved.contains(tool)
    }

    /// The limits of a turn.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn system_borrowed(&self) -> Option<Cow<'_, System>> {
        self.system.as_ref().map(Cow::Borrowed)
    }
}

/// An agent that cannot be: its author's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// The agent's name or a tool's name is illegal.
    #[error(transparent)]
    Name(#[from] IllegalName),
    /// Two tools of one agent have one name.
    #[error("{agent} has two tools named {tool}; names must differ")]
    DuplicateTool {
        /// The agent.
        agent: AgentName,
        /// The name used twice.
        tool: ToolName,
    },
    /// A tool declares of itself what cannot be.
    #[error("{agent}'s tool {tool} {fault}")]
    Tool {
        /// The agent.
        agent: AgentName,
        /// The tool.
        tool: ToolName,
        /// What cannot be.
        fault: ToolFault,
    },
}
