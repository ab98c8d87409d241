//! Tools: typed functions, the table of an agent's own, and their dispatch.

mod args;
mod dispatch;
mod output;

#[doc(hidden)]
pub use args::support as tool_args_support;
pub use args::{ArgType, ToolArgs};
pub use dispatch::{
    MOST_AT_ONCE, at_once, dispatch, dispatch_one, dispatch_parallel, dispatch_within, idempotency_key,
    in_parallel,
};
pub use output::{Failure, ToolFailure, ToolOutput, denied, is_in_doubt, shortened};
pub(crate) use output::{arguments_too_large, in_doubt, not_run, too_many_calls, unknown_tool};

use serde::Serialize;
use sommelier_protocol::{IllegalName, RawJson, ToolDefinition, ToolName, ToolUse};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::AgentName;

/// What a tool's function is told besides its arguments. No model sees or sets any of it.
#[derive(Clone, Copy, Debug)]
pub struct CallContext<'a> {
    /// The agent that calls.
    pub agent: &'a AgentName,
    /// The id of the call.
    pub call_id: &'a str,
    /// A key that is the same whenever this very call is made again, and no other call has: a tool with an
    /// effect passes it on, so that the effect happens once.
    pub idempotency_key: &'a str,
    /// How many milliseconds the call may take from now on, when that is limited. Nobody stops a tool that does not
    /// look.
    pub time_left: Option<u64>,
}

type Run = dyn Fn(&RawJson, &CallContext<'_>) -> ToolOutput + Send + Sync;
type Check = fn(&RawJson) -> Result<(), ToolOutput>;

/// A typed function that a model may call.
#[derive(Clone)]
pub struct Tool {
    definition: Result<ToolDefinition, IllegalName>,
    needs_approval: bool,
    check: Check,
    run: Arc<Run>,
}

impl Tool {
    /// A tool from a function of typed arguments. The schema comes from the arguments' type; an `Err` of the
    /// function becomes an error result with its JSON.
    ///
    /// An illegal name is told when the agent is built.
    pub fn new<A, R, E>(
        name: &str,
        description: impl Into<Box<str>>,
        function: impl Fn(A, &CallContext<'_>) -> Result<R, E> + Send + Sync + 'static,
    ) -> Self
    where
        A: ToolArgs,
        R: Serialize,
        E: ToolFailure,
    {
        let run = move |input: &RawJson, context: &CallContext<'_>| match arguments::<A>(input) {
            Ok(arguments) => output::from_result(function(arguments, context)),
            Err(output) => output,
        };
        Self {
            definition: ToolName::new(name).map(|name| ToolDefinition::new(name, description, A::schema())),
            needs_approval: false,
            check: |input| arguments::<A>(input).map(drop),
            run: Arc::new(run),
        }
    }

    /// Marks the tool as one whose effect cannot be undone, or not for free: a gate decides on each call.
    pub fn needs_approval(mut self) -> Self {
        self.needs_approval = true;
        self
    }

    pub(crate) fn definition(&self) -> Result<&ToolDefinition, IllegalName> {
        self.definition.as_ref().map_err(Clone::clone)
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("definition", &self.definition)
            .field("needs_approval", &self.needs_approval)
            .finish_non_exhaustive()
    }
}

/// The tools of one agent, by name.
#[derive(Clone, Debug, Default)]
pub struct ToolTable(BTreeMap<ToolName, Tool>);

impl ToolTable {
    /// A table of `tools`; those with an illegal name are left out, as no agent with one can be built.
    pub fn new(tools: impl IntoIterator<Item = Tool>) -> Self {
        let named =
            tools.into_iter().filter_map(|tool| Some((tool.definition.as_ref().ok()?.name.clone(), tool)));
        Self(named.collect())
    }

    /// Whether there is a tool of this name.
    pub fn has(&self, tool: &str) -> bool {
        self.0.contains_key(tool)
    }

    /// Whether a gate decides on each call of this tool.
    pub fn needs_approval(&self, tool: &str) -> bool {
        self.0.get(tool).is_some_and(|tool| tool.needs_approval)
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &ToolName> {
        self.0.keys()
    }

    /// Runs one call. Whatever happens is an output: a name that is not here, arguments that do not fit, a
    /// failure of the function, and a panic in it.
    pub fn run(&self, call: &ToolUse, context: &CallContext<'_>) -> ToolOutput {
        let tool = match self.of(context.agent, call) {
            Ok(tool) => tool,
            Err(output) => return output,
        };
        // The function is not looked at again after a panic, and its shared state is its own to guard.
        let run = std::panic::AssertUnwindSafe(|| (tool.run)(call.input(), context));
        std::panic::catch_unwind(run).unwrap_or_else(|_| output::panicked(call.name()))
    }

    /// Whether the function could be run: `agent` has the tool, and the arguments fit. Nothing is run.
    ///
    /// # Errors
    /// The output that [`run`](Self::run) would give.
    pub fn check(&self, agent: &AgentName, call: &ToolUse) -> Result<(), ToolOutput> {
        (self.of(agent, call)?.check)(call.input())
    }

    /// The tool that is called with a JSON object.
    fn of(&self, agent: &AgentName, call: &ToolUse) -> Result<&Tool, ToolOutput> {
        let Some(tool) = self.0.get(call.name()) else {
            return Err(unknown_tool(agent, call.name(), self.names().map(ToolName::as_str)));
        };
        match (call.broken_input(), &tool.definition) {
            (Some(text), Ok(definition)) => {
                Err(output::invalid_arguments(&broken(&text), &definition.input_schema))
            }
            _ => Ok(tool),
        }
    }
}

fn arguments<A: ToolArgs>(input: &RawJson) -> Result<A, ToolOutput> {
    input.read().map_err(|error| output::invalid_arguments(&error.to_string(), &A::schema()))
}

/// What is wrong with arguments that are no JSON object.
pub fn broken(text: &str) -> String {
    match RawJson::parse(text) {
        Err(error) => format!("the arguments are no JSON: {error}"),
        Ok(_) => "the arguments must be one JSON object".to_owned(),
    }
}

/// What is offered where a tool must be and there is none.
pub(crate) fn no_tool() -> Option<ToolDefinition> {
    let name = ToolName::new("no_tool").ok()?;
    Some(ToolDefinition::new(name, "There is no tool. Do not call this.", args::support::object_schema(&[])))
}
