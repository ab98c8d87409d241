//! What a request says beside the conversation.

use serde::Serialize;
use sommelier_protocol::{RawJson, ToolChoice};

use crate::SetupError;

/// What a request says beside the conversation. All of it is the same in every request, so that a prompt cache holds.
///
/// There are no sampling parameters: the API refuses them.
///
/// ```
/// use sommelier_providers::anthropic::{Cache, Settings, Thinking};
///
/// let settings = Settings {
///     model: Some("claude-sonnet-5".into()),
///     cache: Some(Cache::FiveMinutes),
///     thinking: Some(Thinking::Adaptive),
///     ..Settings::default()
/// };
/// settings.check()?;
/// # Ok::<(), sommelier_providers::SetupError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The model, in the place of the one that the request names.
    pub model: Option<String>,
    /// The most tokens of a reply, in the place of the request's.
    pub max_tokens: Option<u32>,
    /// Whether a tool must be called. A choice that forces a call holds for the first reply to the user's words: once a
    /// result is there, the model may answer. What a request says itself goes first.
    pub tool_choice: Option<ToolChoice>,
    /// At most one call in a reply. Off unless said: calls that run side by side are a feature.
    pub disable_parallel_tool_use: bool,
    /// How the model thinks; its own default when absent. One setting for a whole conversation, since thinking
    /// that came under one is refused under another.
    pub thinking: Option<Thinking>,
    /// Asks the service to keep tools and instructions in its prompt cache: a breakpoint at the end of each.
    pub cache: Option<Cache>,
    /// Texts at which the model stops.
    pub stop_sequences: Vec<String>,
    /// Members that are not known here, such as `metadata`, written last.
    pub rest: Vec<(Box<str>, RawJson)>,
}

impl Settings {
    /// Whether the settings can stand beside each other.
    ///
    /// # Errors
    /// [`SetupError::Contradiction`] for a forced choice beside manual thinking, which the API refuses.
    pub fn check(&self) -> Result<(), SetupError> {
        let is_manual = matches!(self.thinking, Some(Thinking::Enabled { .. }));
        if is_manual && self.tool_choice.as_ref().is_some_and(is_forced) {
            return Err(SetupError::Contradiction {
                detail: "a call cannot be forced while `thinking` is `enabled`; use `adaptive`",
            });
        }
        Ok(())
    }
}

pub(crate) fn is_forced(choice: &ToolChoice) -> bool {
    matches!(choice, ToolChoice::Any { .. } | ToolChoice::Tool { .. })
}

/// How the model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Thinking {
    /// As much as it finds right.
    Adaptive,
    /// Not at all.
    Disabled,
    /// Up to a number of tokens. Older models alone take this.
    Enabled {
        /// The most tokens of thinking.
        budget_tokens: u32,
    },
}

/// How long the service keeps a prefix that was not asked for again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// Five minutes, the service's default.
    FiveMinutes,
    /// An hour.
    OneHour,
}

impl Cache {
    pub(super) fn control(self) -> &'static str {
        match self {
            Self::FiveMinutes => r#"{"type":"ephemeral"}"#,
            Self::OneHour => r#"{"type":"ephemeral","ttl":"1h"}"#,
        }
    }
}
