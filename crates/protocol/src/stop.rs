//! Why the model stopped.

use serde::{Deserialize, Serialize};

/// Why the model stopped, in the words of the wire; a word that is not known here is kept.
///
/// It says why a *reply* ended, not what is owed: an open call can stand in a reply that stopped for any
/// reason, so look at the content for calls.
///
/// ```
/// use sommelier_protocol::StopReason;
///
/// assert_eq!(StopReason::from("end_turn"), StopReason::EndTurn);
/// assert_eq!(StopReason::from("tired").as_str(), "tired");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Box<str>", into = "Box<str>")]
pub enum StopReason {
    /// The model has said what it had to say.
    EndTurn,
    /// The model waits for results.
    ToolUse,
    /// The reply was cut at the request's `max_tokens`.
    MaxTokens,
    /// The reply was cut at the end of the model's context.
    ContextWindowExceeded,
    /// One of the request's stop sequences came up.
    StopSequence,
    /// The service paused a long turn of its own; send the reply back to go on.
    PauseTurn,
    /// The model declined to answer.
    Refusal,
    /// A reason that this crate does not know.
    Other(Box<str>),
}

impl StopReason {
    /// The word on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::ContextWindowExceeded => "model_context_window_exceeded",
            Self::StopSequence => "stop_sequence",
            Self::PauseTurn => "pause_turn",
            Self::Refusal => "refusal",
            Self::Other(word) => word,
        }
    }
}

impl From<&str> for StopReason {
    fn from(word: &str) -> Self {
        match word {
            "end_turn" => Self::EndTurn,
            "tool_use" => Self::ToolUse,
            "max_tokens" => Self::MaxTokens,
            "model_context_window_exceeded" => Self::ContextWindowExceeded,
            "stop_sequence" => Self::StopSequence,
            "pause_turn" => Self::PauseTurn,
            "refusal" => Self::Refusal,
            word => Self::Other(word.into()),
        }
    }
}

impl From<Box<str>> for StopReason {
    fn from(word: Box<str>) -> Self {
        Self::from(&*word)
    }
}

impl From<StopReason> for Box<str> {
    fn from(reason: StopReason) -> Self {
        reason.as_str().into()
    }
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

crate::wire::always_there!(StopReason);
