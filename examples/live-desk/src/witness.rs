//! Who stands between the desk and its model and keeps what passes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sommelier_handoff::HANDOFF_TO_SPECIALIST;
use sommelier_protocol::sequence::{self, Violation};
use sommelier_protocol::{Message, ModelRequest, ModelResponse, ToolChoice};
use sommelier_runtime::{Model, ModelError, Remote};

use crate::Freedom;

/// One request and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// The agent that asked.
    pub agent: String,
    /// The conversation that was sent.
    pub messages: Vec<Message>,
    /// What is wrong with the request by the rules of the sequence.
    pub violations: Vec<Violation>,
    /// Whether the model could do nothing but hand over.
    pub is_forced: bool,
    /// The reply, or why there is none.
    pub reply: Result<ModelResponse, ModelError>,
    /// The bytes of the reply as the service sent them, when there was a service.
    pub raw: Option<String>,
}

/// Where the bytes of a reply are left for the witness.
#[derive(Clone, Debug, Default)]
pub struct Tap(Arc<Mutex<Vec<u8>>>);

impl Tap {
    /// More bytes of the reply that is under way.
    pub fn hear(&self, bytes: &[u8]) {
        lock(&self.0).extend_from_slice(bytes);
    }

    fn take(&self) -> Option<String> {
        let bytes = std::mem::take(&mut *lock(&self.0));
        (!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// A model that is asked through, and what passed. All that it changes is the choice of tools, where a case leaves the model
/// less than [all](Freedom::Free).
#[derive(Debug)]
pub struct Witness<M> {
    model: M,
    tap: Tap,
    seen: Mutex<(Freedom, Vec<Exchange>)>,
}

impl<M> Witness<M> {
    /// A witness of what passes to `model`, and of the bytes that come through `tap`.
    pub fn new(model: M, tap: Tap) -> Self {
        Self { model, tap, seen: Mutex::new((Freedom::Free, Vec::new())) }
    }

    /// Sets what the model may do from here on.
    pub fn set(&self, freedom: Freedom) {
        lock(&self.seen).0 = freedom;
    }

    /// Gives away what was seen since.
    pub fn take(&self) -> Vec<Exchange> {
        std::mem::take(&mut lock(&self.seen).1)
    }
}

impl<M: Model> Model for Witness<M> {
    fn complete(&self, mut request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        let freedom = lock(&self.seen).0;
        let is_forced = limit(&mut request, freedom);
        let mut exchange = Exchange {
            agent: request.caller.to_string(),
            messages: request.messages.to_vec(),
            violations: sequence::check(&request),
            is_forced,
            reply: Err(ModelError::Panicked),
            raw: None,
        };
        self.tap.take();
        let reply = self.model.complete(request);
        exchange.reply = reply.clone();
        exchange.raw = self.tap.take();
        lock(&self.seen).1.push(exchange);
        reply
    }

    fn provider(&self) -> &str {
        self.model.provider()
    }

    fn name(&self) -> Option<&str> {
        self.model.name()
    }

    fn label(&self) -> Option<&str> {
        self.model.label()
    }

    fn remote(&self) -> Option<Remote<'_>> {
        self.model.remote()
    }
}

/// Leaves the model what it may do, and tells whether that is the handoff and nothing else.
fn limit(request: &mut ModelRequest<'_>, freedom: Freedom) -> bool {
    let handoff = request.tools.iter().find(|tool| tool.name.as_str() == HANDOFF_TO_SPECIALIST);
    let handoff = handoff.map(|tool| tool.name.clone());
    let has_results = request.messages.last().is_some_and(|message| message.tool_results().next().is_some());
    match (freedom, handoff) {
        (Freedom::HandoffOnly, Some(name)) => {
            request.tool_choice = Some(ToolChoice::Tool { name, disable_parallel_tool_use: Some(true) });
            true
        }
        (Freedom::ToolsFirst, handoff) if !has_results && !request.tools.is_empty() => {
            request.tool_choice = Some(ToolChoice::Any { disable_parallel_tool_use: None });
            handoff.is_some() && request.tools.len() == 1
        }
        (Freedom::Free | Freedom::ToolsFirst | Freedom::HandoffOnly, _) => false,
    }
}

/// What is guarded here stays whole whatever panics, so a lock that was left by a panic is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
