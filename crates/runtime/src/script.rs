//! A model that answers from a script.

use sommelier_protocol::{ContentBlock, ModelRequest, ModelResponse, StopReason, ToolUse};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Model, ModelError};

/// The model whose decisions a script stands for.
pub const CONCEPT_MODEL: &str = "claude-sonnet-5";

/// A model whose every reply is a function of the request, chosen by the agent that asks and by how many
/// replies its conversation has had.
///
/// There is no cursor: the same request gets the same reply, so a saved run goes on where it was, and
/// branches do not disturb each other. A turn that is not scripted is a [`ModelError::NoScript`]; turns that
/// were never asked for are told by [`unused`](Self::unused).
///
/// ```
/// use sommelier_protocol::{Message, ModelRequest};
/// use sommelier_runtime::{script, Model, ScriptedModel};
///
/// let model = ScriptedModel::new().turn("clerk", |_| script::say("Good morning."));
/// let messages = [Message::user("hello")];
/// let mut request = ModelRequest::new("claude-sonnet-5", 1024, &messages);
/// request.caller = "clerk".into();
/// assert_eq!(model.complete(request)?.words(), "Good morning.");
/// assert_eq!(model.label(), Some("concept (claude-sonnet-5)"));
/// # Ok::<(), sommelier_runtime::ModelError>(())
/// ```
#[derive(Default)]
pub struct ScriptedModel {
    turns: BTreeMap<String, Vec<ScriptedTurn>>,
}

type Decide = dyn Fn(&ModelRequest<'_>) -> ModelResponse + Send + Sync;

struct ScriptedTurn {
    decide: Box<Decide>,
    used: AtomicBool,
}

impl ScriptedModel {
    /// A script without turns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next turn of `agent`.
    pub fn turn(
        mut self,
        agent: impl Into<String>,
        decide: impl Fn(&ModelRequest<'_>) -> ModelResponse + Send + Sync + 'static,
    ) -> Self {
        let turn = ScriptedTurn { decide: Box::new(decide), used: AtomicBool::new(false) };
        self.turns.entry(agent.into()).or_default().push(turn);
        self
    }

    /// The turns that nothing has asked for yet, as agent and number from 1. After a run there should be
    /// none: a script that is longer than the run describes another run.
    pub fn unused(&self) -> Vec<(&str, usize)> {
        let turns = self.turns.iter().flat_map(|(agent, turns)| {
            turns.iter().enumerate().map(move |(place, turn)| (agent.as_str(), place + 1, turn))
        });
        turns
            .filter(|(_, _, turn)| !turn.used.load(Ordering::Relaxed))
            .map(|(agent, number, _)| (agent, number))
            .collect()
    }
}

impl Model for ScriptedModel {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        let turns = self.turns.get(&*request.caller).map_or(&[][..], Vec::as_slice);
        let Some(turn) = turns.get(request.replies as usize) else {
            return Err(ModelError::NoScript {
                agent: request.caller.into_owned(),
                turn: request.replies.saturating_add(1),
                known: turns.len(),
            });
        };
        turn.used.store(true, Ordering::Relaxed);
        Ok((turn.decide)(&request))
    }

    fn label(&self) -> Option<&str> {
        Some("concept (claude-sonnet-5)")
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.turns.iter().map(|(agent, turns)| (agent, turns.len()))).finish()
    }
}

/// A reply of words that ends the turn.
pub fn say(text: impl Into<Box<str>>) -> ModelResponse {
    reply(vec![ContentBlock::text(text)], StopReason::EndTurn)
}

/// A reply of one call. `arguments` is what a model would write: nothing is checked.
pub fn call(id: &str, name: &str, arguments: &str) -> ModelResponse {
    calls([(id, name, arguments)])
}

/// A reply of several calls: id, tool and arguments of each.
pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>) -> ModelResponse {
    let calls = calls.into_iter().map(|(id, name, arguments)| ToolUse::scripted(id, name, arguments).into());
    reply(calls.collect(), StopReason::ToolUse)
}

/// A reply of any blocks and stop reason.
pub fn reply(content: Vec<ContentBlock>, stop: StopReason) -> ModelResponse {
    ModelResponse::new(CONCEPT_MODEL, content, stop)
}

/// The words of the newest tool result in the request; empty when there is none.
pub fn last_result(request: &ModelRequest<'_>) -> String {
    let results = request.messages.iter().rev().flat_map(|message| message.content.blocks().iter().rev());
    results.filter_map(ContentBlock::as_tool_result).map(|result| result.words()).next().unwrap_or_default()
}

/// The first words of the conversation: the user's request, or the package that a receiver was handed.
pub fn first_words<'a>(request: &'a ModelRequest<'_>) -> &'a str {
    request.messages.first().and_then(|message| message.texts().next()).unwrap_or_default()
}

/// The newest words of the user in the request; empty when there are none.
pub fn last_words<'a>(request: &'a ModelRequest<'_>) -> &'a str {
    let users =
        request.messages.iter().rev().filter(|message| message.role == sommelier_protocol::Role::User);
    users.filter_map(|message| message.texts().last()).next().unwrap_or_default()
}
