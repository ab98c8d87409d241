//! What a request says beside the conversation.

use sommelier_protocol::{RawJson, ToolChoice};

use super::JsonMode;

/// What a request says beside the conversation.
///
/// ```
/// use sommelier_protocol::RawJson;
/// use sommelier_providers::openai::Settings;
///
/// let settings = Settings {
///     model: Some("qwen3:4b".into()),
///     rest: vec![("temperature".into(), RawJson::parse("0.2")?)],
///     ..Settings::default()
/// };
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The model, in the place of the one that the request names.
    pub model: Option<String>,
    /// The most tokens of a reply, in the place of the request's.
    pub max_tokens: Option<u32>,
    /// The member that says how many tokens a reply may have.
    pub token_limit: TokenLimit,
    /// Whether a tool must be called. A choice that forces a call holds for the first reply to the user's words: once a
    /// result is there, the model may answer. What a request says itself goes first.
    pub tool_choice: Option<ToolChoice>,
    /// Asks for at most one call in a reply. Off unless said.
    pub disable_parallel_tool_use: bool,
    /// Texts at which the model stops.
    pub stop_sequences: Vec<String>,
    /// For models that call no tools: one JSON object is the reply.
    pub json_mode: Option<JsonMode>,
    /// Members that are not known here, such as `temperature`, written last.
    pub rest: Vec<(Box<str>, RawJson)>,
}

/// The member that says how many tokens a reply may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenLimit {
    /// `max_tokens`, which every local server knows.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which newer models of the original service ask for.
    MaxCompletionTokens,
}

impl TokenLimit {
    pub(super) fn member(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}
