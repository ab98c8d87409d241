//! Drives a turn to its end and writes down what happened, checking each request and each step on the way.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![allow(dead_code, reason = "each test file uses its own part of the harness")]

use sommelier_protocol::{
    ContentBlock, Message, ModelResponse, RawJson, StopReason, ToolDefinition, ToolName, sequence,
};
use sommelier_runtime::tool::{self, CallContext, Failure, dispatch};
use sommelier_runtime::turn::Reserved;
use sommelier_runtime::{
    Agent, Definition, Model, ScriptedModel, Tool, ToolOutput, Turn, TurnEnd, TurnStep, script, tool_args,
};
use std::sync::atomic::{AtomicI64, Ordering};

tool_args! {
    /// What is to be added.
    pub(crate) struct Sum {
        /// The first number.
        pub(crate) a: i64,
        /// The second number.
        pub(crate) b: i64,
    }
}

tool_args! {
    /// Nothing is asked for.
    pub(crate) struct Nothing {}
}

tool_args! {
    /// A size.
    pub(crate) struct Size {
        /// How many bytes.
        pub(crate) bytes: u32,
    }
}

/// An agent with the tools `add`, `tick` (each time another number), `blob` (as large as is asked for),
/// `boom` (panics), and the reserved name `hand_over`.
pub(crate) fn clerk() -> Agent {
    let ticks = AtomicI64::new(0);
    let tools = [
        Tool::new("add", "Adds two numbers.", |sum: Sum, _: &CallContext<'_>| {
            sum.a.checked_add(sum.b).ok_or(Failure::new("overflow", "the sum is too large"))
        }),
        Tool::new("tick", "Counts.", move |_: Nothing, _: &CallContext<'_>| {
            Ok::<_, Failure>(ticks.fetch_add(1, Ordering::Relaxed))
        }),
        Tool::new("blob", "Is large.", |size: Size, _: &CallContext<'_>| {
            Ok::<_, Failure>("x".repeat(size.bytes as usize))
        }),
        // Unwinds as a panic does, without a report on stderr for each of a thousand.
        Tool::new("boom", "Fails.", |_: Nothing, _: &CallContext<'_>| -> Result<(), Failure> {
            std::panic::resume_unwind(Box::new("boom"))
        }),
    ];
    Agent::new("clerk", "You add numbers.").tools(tools).reserve(reserved("hand_over"))
}

pub(crate) fn reserved(name: &str) -> ToolDefinition {
    let schema = RawJson::parse(r#"{"type":"object"}"#).unwrap();
    ToolDefinition::new(ToolName::new(name).unwrap(), "Answered by the layer above.", schema)
}

/// A script that gives `replies` one after the other, whatever is asked.
pub(crate) fn replies(replies: impl IntoIterator<Item = ModelResponse>) -> ScriptedModel {
    replies.into_iter().fold(ScriptedModel::new(), |model, reply| model.turn("clerk", move |_| reply.clone()))
}

pub(crate) fn empty() -> ModelResponse {
    script::reply(vec![], StopReason::EndTurn)
}

/// A block as it came over the wire.
pub(crate) fn block(json: &str) -> ContentBlock {
    serde_json::from_str(json).unwrap()
}

/// How often something happened.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) model_calls: usize,
    /// The names of the agent's own tools that were dispatched, in order.
    pub(crate) tools: Vec<String>,
    /// The names of the reserved tools that were answered, in order.
    pub(crate) reserved: Vec<String>,
}

/// What a turn did, from a step to its rest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Run {
    /// The messages of each request, as [`story`] tells them.
    pub(crate) requests: Vec<String>,
    /// The largest request as JSON, in bytes.
    pub(crate) largest: usize,
    pub(crate) counts: Counts,
    pub(crate) turn: Turn,
}

impl Run {
    /// The whole conversation, a message a line.
    pub(crate) fn story(&self) -> String {
        story(self.turn.messages())
    }

    #[track_caller]
    pub(crate) fn assert(&self, story: &str, end: TurnEnd) -> &Self {
        assert_eq!((self.story().as_str(), self.turn.end()), (unindent(story).as_str(), &end));
        self
    }

    #[track_caller]
    pub(crate) fn assert_counts(&self, model_calls: usize, tools: &[&str], reserved: &[&str]) -> &Self {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(self.counts, Counts { model_calls, tools: owned(tools), reserved: owned(reserved) });
        self
    }
}

fn unindent(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

/// Messages as lines: `role: block | block`, a call as `name#id{input}`, a result as `id=words`, an error as
/// `id!words`, other blocks raw.
pub(crate) fn story(messages: &[Message]) -> String {
    let line = |message: &Message| {
        let role = serde_json::to_value(message.role).unwrap();
        let mut blocks: Vec<String> = message.content.blocks().iter().map(show).collect();
        if blocks.is_empty() {
            blocks.extend(message.texts().map(str::to_owned));
        }
        format!("{}: {}", role.as_str().unwrap(), blocks.join(" | "))
    };
    messages.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn show(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.as_str().to_owned(),
        ContentBlock::ToolUse(call) => format!("{}#{}{}", call.name(), call.id(), call.input()),
        ContentBlock::ToolResult(result) => {
            let sign = if result.is_error() { '!' } else { '=' };
            format!("{}{sign}{}", result.tool_use_id(), result.words())
        }
        ContentBlock::Other(block) => block.raw().to_string(),
    }
}

/// What becomes of reserved calls.
pub(crate) type Above = fn(&Definition, Reserved) -> TurnStep;

/// Answers reserved calls with `done`.
pub(crate) fn answer(agent: &Definition, reserved: Reserved) -> TurnStep {
    let outputs = reserved.calls().map(|_| ToolOutput::ok("done")).collect();
    reserved.answer(agent, outputs).unwrap()
}

/// Closes the turn with `moved`.
pub(crate) fn close(_: &Definition, reserved: Reserved) -> TurnStep {
    let outputs = reserved.calls().map(|_| ToolOutput::ok("moved")).collect();
    TurnStep::Done(reserved.close(outputs).unwrap())
}

/// The step as it is after it was saved and loaded; it must be the same.
#[track_caller]
pub(crate) fn reloaded(step: &TurnStep) -> TurnStep {
    let saved = serde_json::to_string(step).unwrap();
    let loaded: TurnStep = serde_json::from_str(&saved).unwrap();
    assert_eq!((step, saved.as_str()), (&loaded, serde_json::to_string(&loaded).unwrap().as_str()));
    loaded
}

/// Drives a turn of an agent by a model.
#[derive(Clone, Copy)]
pub(crate) struct Drive<'a> {
    pub(crate) agent: &'a Definition,
    pub(crate) model: &'a dyn Model,
    pub(crate) above: Above,
    /// Whether each step is left for the one that was loaded from its JSON.
    pub(crate) reload: bool,
}

/// What is wrong with a step, as whoever loads it asks.
pub(crate) fn flaw(agent: &Definition, step: &TurnStep) -> Option<&'static str> {
    match step {
        TurnStep::CallModel(step) => step.flaw(agent),
        TurnStep::CallTools(step) => step.flaw(agent),
        TurnStep::Reserved(step) => step.flaw(agent),
        TurnStep::Done(turn) => turn.flaw(agent),
    }
}

impl<'a> Drive<'a> {
    pub(crate) fn new(agent: &'a Definition, model: &'a dyn Model) -> Self {
        Self { agent, model, above: answer, reload: false }
    }

    pub(crate) fn start(self, text: &str) -> Run {
        self.go_on(TurnStep::start(self.agent, text).unwrap())
    }

    /// Goes on from `step` to rest. Each request must pass the checker, have the size that the step tells,
    /// and give the same bytes for tools and instructions as every other.
    pub(crate) fn go_on(self, mut step: TurnStep) -> Run {
        let agent = self.agent;
        let (mut requests, mut largest, mut counts) = (Vec::new(), 0, Counts::default());
        loop {
            let loaded = reloaded(&step);
            assert_eq!(flaw(agent, &step), None, "nothing is wrong with a step that was made here");
            if self.reload {
                step = loaded;
            }
            step = match step {
                TurnStep::CallModel(call) => {
                    let request = call.request(agent);
                    assert_eq!(sequence::check(&request), []);
                    let messages = serde_json::to_string(&request.messages).unwrap();
                    assert_eq!(call.history_bytes(), messages.len());
                    largest = largest.max(serde_json::to_string(&request).unwrap().len());
                    requests.push(story(&request.messages));
                    counts.model_calls += 1;
                    let response = self.model.complete(request);
                    call.resume(agent, response)
                }
                TurnStep::CallTools(calls) => {
                    counts.tools.extend(calls.calls().map(|(_, call)| call.name().to_owned()));
                    let scope = format!("test/{}", calls.replies());
                    let outputs = dispatch(agent, calls.calls(), &scope);
                    calls.resume(agent, outputs).unwrap()
                }
                TurnStep::Reserved(reserved) => {
                    counts.reserved.extend(reserved.calls().map(|(_, call)| call.name().to_owned()));
                    (self.above)(agent, reserved)
                }
                TurnStep::Done(turn) => {
                    let messages = serde_json::to_string(turn.messages()).unwrap();
                    assert_eq!(turn.history_bytes(), messages.len());
                    assert_calls_are_answered_once(turn.messages());
                    return Run { requests, largest, counts, turn };
                }
            };
        }
    }
}

/// Each call id is used once, and answered once.
#[track_caller]
fn assert_calls_are_answered_once(messages: &[Message]) {
    let asked: Vec<&str> = messages.iter().flat_map(Message::tool_uses).map(|call| call.id()).collect();
    let answered: Vec<&str> =
        messages.iter().flat_map(Message::tool_results).map(|result| result.tool_use_id()).collect();
    assert_eq!(asked, answered);
    let distinct: std::collections::BTreeSet<&str> = asked.iter().copied().collect();
    assert_eq!(distinct.len(), asked.len());
}

/// What the one call of `arguments` to `tool` comes to.
pub(crate) fn output_of(agent: &Definition, tool: &str, arguments: &str) -> ToolOutput {
    let call = sommelier_protocol::ToolUse::scripted("tu_1", tool, arguments);
    tool::dispatch_one(agent, 0, &call, "test/1")
}
