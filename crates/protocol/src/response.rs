//! What a model sends.

use serde::Deserialize;
use std::fmt;

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

/// Why a model declined: the service's words, for people.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Declined {
    /// What it was declined for, in a word of the service's.
    pub category: Option<Box<str>>,
    /// The service's own explanation.
    pub explanation: Option<Box<str>>,
}

impl fmt::Display for Declined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.explanation, &self.category) {
            (Some(explanation), Some(category)) => write!(f, "{explanation} ({category})"),
            (Some(told), None) | (None, Some(told)) => f.write_str(told),
            (None, None) => f.write_str("no reason is told"),
        }
    }
}

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

    /// Why the model declined, as far as the service tells it; `None` where it did not decline, or where nothing is told.
    ///
    /// ```
    /// use sommelier_protocol::ModelResponse;
    ///
    /// let reply: ModelResponse = serde_json::from_str(
    ///     r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":"refusal",
    ///     "stop_details":{"type":"refusal","category":"cyber","explanation":"This was declined."},
    ///     "usage":{"input_tokens":1,"output_tokens":2}}"#,
    /// )?;
    /// assert_eq!(reply.declined().map(|why| why.to_string()).as_deref(), Some("This was declined. (cyber)"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn declined(&self) -> Option<Declined> {
        let is_refusal = self.stop_reason == Some(StopReason::Refusal);
        let why: Declined = self.layout.extra("stop_details").filter(|_| is_refusal)?.read().ok()?;
        Some(why).filter(|why| why.category.is_some() || why.explanation.is_some())
    }

    /// The words of the reply, text blocks joined by line ends.
    pub fn words(&self) -> String {
        let words: Vec<&str> = self.content.iter().filter_map(ContentBlock::as_text).collect();
        words.join("\n")
    }
}
