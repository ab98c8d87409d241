//! What is sent to a model.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

use crate::{Message, RawJson, ToolChoice, ToolDefinition};

/// One request to a model. It borrows the conversation: nothing is copied for a call.
///
/// Serialised it is the body of a Messages API request. It carries no sampling parameters, since the newest
/// API version refuses them.
///
/// ```
/// use sommelier_protocol::{Message, ModelRequest};
///
/// let messages = [Message::user("hello")];
/// let request = ModelRequest::new("claude-sonnet-5", 1024, &messages);
/// assert_eq!(
///     serde_json::to_string(&request)?,
///     r#"{"model":"claude-sonnet-5","max_tokens":1024,"messages":[{"role":"user","content":"hello"}]}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest<'a> {
    /// Who asks: a label for scripts, logs and spans. It never goes out on the wire.
    #[serde(skip)]
    pub caller: Cow<'a, str>,
    /// How many replies the caller's conversation has had, empty ones included: with the caller it names
    /// the turn that is asked for. It never goes out on the wire.
    #[serde(skip)]
    pub replies: u32,
    /// The model's name.
    pub model: Cow<'a, str>,
    /// The most tokens that the reply may have.
    pub max_tokens: u32,
    /// The instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<Cow<'a, System>>,
    /// The tools on offer.
    #[serde(default = "no_tools", skip_serializing_if = "<[ToolDefinition]>::is_empty")]
    pub tools: Cow<'a, [ToolDefinition]>,
    /// Whether a tool must be called; the service decides when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// The conversation.
    pub messages: Cow<'a, [Message]>,
}

fn no_tools<'a>() -> Cow<'a, [ToolDefinition]> {
    Cow::Borrowed(&[])
}

impl<'a> ModelRequest<'a> {
    /// A request without instructions and tools.
    pub fn new(model: &'a str, max_tokens: u32, messages: &'a [Message]) -> Self {
        Self {
            caller: Cow::Borrowed(""),
            replies: 0,
            model: Cow::Borrowed(model),
            max_tokens,
            system: None,
            tools: no_tools(),
            tool_choice: None,
            messages: Cow::Borrowed(messages),
        }
    }
}

/// The instructions: plain text, or a list of text blocks kept raw.
#[derive(Clone, Debug, PartialEq)]
pub enum System {
    /// Plain text.
    Text(Box<str>),
    /// A JSON array of text blocks.
    Blocks(RawJson),
}

impl Serialize for System {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Blocks(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for System {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        if raw.get().starts_with('[') {
            return Ok(Self::Blocks(raw));
        }
        raw.read().map(Self::Text).map_err(serde::de::Error::custom)
    }
}
