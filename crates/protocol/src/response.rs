//! What a model sends.

use crate::wire::{always_there, wire_object};
use crate::{ContentBlock, Role, StopReason, Usage};

wire_object! {
    /// One reply of a model, as the Messages API sends it.
    pub struct ModelResponse tagged "message" {
        /// The reply's id; empty when the model gives none.
        pub id: Box<str> = "id",
        /// Always [`Role::Assistant`].
        pub role: Role = "role",
        /// The model that replied.
        pub model: Box<str> = "model",
        /// The blocks of the reply.
        pub content: Vec<ContentBlock> = "content",
        /// Why the model stopped; absent reads as `Other("")`.
        pub stop_reason: Option<StopReason> = "stop_reason",
        /// The stop sequence that came up.
        pub stop_sequence: Option<Box<str>> = "stop_sequence",
        /// Tokens used.
        pub usage: Usage = "usage",
    }
}

always_there!(Vec<ContentBlock>);

impl ModelResponse {
    /// A reply of `content` that stopped for `reason`.
    pub fn new(model: impl Into<Box<str>>, content: Vec<ContentBlock>, reason: StopReason) -> Self {
        Self {
            id: "".into(),
            role: Role::Assistant,
            model: model.into(),
            content,
            stop_reason: Some(reason),
            stop_sequence: None,
            usage: Usage::default(),
            layout: Default::default(),
        }
    }

    /// The words of the reply, text blocks joined by line ends.
    pub fn words(&self) -> String {
        let words: Vec<&str> = self.content.iter().filter_map(ContentBlock::as_text).collect();
        words.join("\n")
    }
}
