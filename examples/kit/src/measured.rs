//! A model that is asked through, so that what it was sent can be seen and measured.

use serde::Serialize;
use sommelier_protocol::{Message, ModelRequest, ModelResponse, System};
use sommelier_runtime::{Model, ModelError, Remote};
use std::sync::{Mutex, PoisonError};

/// A model and a note of each request that it was sent.
#[derive(Debug)]
pub struct Measured<M> {
    model: M,
    asked: Mutex<Vec<Asked>>,
}

/// One request. As JSON it is the agent and the bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Asked {
    /// The agent that asked.
    pub agent: String,
    /// Bytes of the request's `messages` as compact JSON.
    pub message_bytes: usize,
    /// The agent's prompt.
    #[serde(skip)]
    pub prompt: String,
    /// The tools it was offered.
    #[serde(skip)]
    pub tools: Vec<String>,
    /// The messages.
    #[serde(skip)]
    pub messages: Vec<Message>,
}

impl<M> Measured<M> {
    /// A model whose requests are noted.
    pub fn new(model: M) -> Self {
        Self { model, asked: Mutex::default() }
    }

    /// The model itself.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// The requests so far, in order.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Bytes of the messages of all requests so far: what the models had to read.
    pub fn bytes_read(&self) -> usize {
        self.asked().iter().map(|asked| asked.message_bytes).sum()
    }
}

impl<M: Model> Model for Measured<M> {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        let asked = Asked {
            agent: request.caller.to_string(),
            message_bytes: json_bytes(&request.messages),
            prompt: match request.system.as_deref() {
                Some(System::Text(text)) => text.to_string(),
                Some(System::Blocks(blocks)) => blocks.to_string(),
                None => String::new(),
            },
            tools: request.tools.iter().map(|tool| tool.name.to_string()).collect(),
            messages: request.messages.to_vec(),
        };
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
        self.model.complete(request)
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

/// Bytes of messages as compact JSON.
pub fn json_bytes(messages: &[Message]) -> usize {
    serde_json::to_string(messages).unwrap_or_default().len()
}
