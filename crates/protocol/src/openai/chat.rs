//! The words of the chat form.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

use crate::wire::{Layout, Member, Slot, always_there, wire_object};
use crate::{ContentBlock, RawJson, ToolName};

/// Who speaks in a chat message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatRole {
    /// The instructions.
    System,
    /// A person's words.
    User,
    /// The model.
    Assistant,
    /// The result of one call.
    Tool,
}

wire_object! {
    /// One message of a chat. Members that are not named here are kept and written again.
    pub struct ChatMessage {
        /// Who speaks.
        pub role: ChatRole = "role",
        /// What is said; nothing beside calls.
        pub content: Option<ChatContent> = "content",
        /// The calls of an assistant.
        pub tool_calls: Option<Vec<ChatToolCall>> = "tool_calls",
        /// The call that a tool message answers.
        pub tool_call_id: Option<Box<str>> = "tool_call_id",
    }
}

impl ChatMessage {
    /// Instructions.
    pub fn system(text: impl Into<Box<str>>) -> Self {
        Self::said(ChatRole::System, ChatContent::Text(text.into()))
    }

    /// A user's words.
    pub fn user(text: impl Into<Box<str>>) -> Self {
        Self::said(ChatRole::User, ChatContent::Text(text.into()))
    }

    /// A model's message of calls alone: its content is written as `null`.
    pub fn calls(calls: Vec<ChatToolCall>) -> Self {
        let layout = Layout::from_slots(vec![Slot::Known(0), Slot::Known(1), Slot::Known(2)], true);
        let tool_calls = Some(calls);
        Self { role: ChatRole::Assistant, content: None, tool_calls, tool_call_id: None, layout }
    }

    /// The result of the call `id`.
    pub fn tool(id: impl Into<Box<str>>, text: impl Into<Box<str>>) -> Self {
        Self { tool_call_id: Some(id.into()), ..Self::said(ChatRole::Tool, ChatContent::Text(text.into())) }
    }

    pub(super) fn said(role: ChatRole, content: ChatContent) -> Self {
        Self { role, content: Some(content), tool_calls: None, tool_call_id: None, layout: Layout::default() }
    }

    /// The words; the texts of a list are joined by line ends.
    pub fn words(&self) -> Cow<'_, str> {
        match &self.content {
            None => Cow::Borrowed(""),
            Some(ChatContent::Text(text)) => Cow::Borrowed(text),
            Some(ChatContent::Parts(raw)) => {
                let texts: Vec<Box<str>> = parts(raw).into_iter().filter_map(Result::ok).collect();
                Cow::Owned(texts.join("\n"))
            }
        }
    }

    pub(super) fn all_calls(&self) -> &[ChatToolCall] {
        self.tool_calls.as_deref().unwrap_or_default()
    }
}

/// What a chat message holds.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatContent {
    /// Plain text.
    Text(Box<str>),
    /// A JSON array of parts, kept raw.
    Parts(RawJson),
}

impl ChatContent {
    /// The content of some texts: plain for one, else a list of text parts.
    pub(super) fn of(texts: &[&str]) -> Option<Self> {
        match texts {
            [] => None,
            [text] => Some(Self::Text((*text).into())),
            texts => {
                let parts: Vec<ContentBlock> = texts.iter().map(|text| ContentBlock::text(*text)).collect();
                RawJson::of(&parts).ok().map(Self::Parts)
            }
        }
    }

    /// The texts that are not blank.
    pub(super) fn texts(&self) -> Vec<Result<Box<str>, PartKind>> {
        let mut texts = match self {
            Self::Text(text) => vec![Ok(text.clone())],
            Self::Parts(raw) => parts(raw),
        };
        texts.retain(|text| text.as_ref().map_or(true, |text| !text.trim().is_empty()));
        texts
    }
}

/// The place and `type` of a part that is no text.
pub(super) type PartKind = (usize, Box<str>);

pub(super) fn parts(raw: &RawJson) -> Vec<Result<Box<str>, PartKind>> {
    #[derive(Deserialize)]
    struct Part {
        r#type: Box<str>,
        text: Option<Box<str>>,
    }

    let parts: Vec<RawJson> = raw.read().unwrap_or_default();
    let read = |(place, part): (usize, RawJson)| match part.read() {
        Ok(Part { r#type: kind, text: Some(text) }) if &*kind == "text" => Ok(text),
        Ok(Part { r#type: kind, .. }) => Err((place, kind)),
        Err(_) => Err((place, "".into())),
    };
    parts.into_iter().enumerate().map(read).collect()
}

impl Serialize for ChatContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Parts(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ChatContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        match raw.get().as_bytes().first() {
            Some(b'"') => raw.read().map(Self::Text).map_err(serde::de::Error::custom),
            Some(b'[') => Ok(Self::Parts(raw)),
            _ => Err(serde::de::Error::custom("a chat message's content is a string or a list of parts")),
        }
    }
}

wire_object! {
    /// A call that the model asks for, in the chat form.
    pub struct ChatToolCall {
        /// The call's id; some servers give none.
        pub id: Option<Box<str>> = "id",
        pub(crate) kind: FunctionType = "type",
        /// What is called.
        pub function: ChatFunction = "function",
    }
}

impl ChatToolCall {
    /// The same call under another id.
    #[must_use]
    pub fn with_id(self, id: impl Into<Box<str>>) -> Self {
        Self { id: Some(id.into()), ..self }
    }
}

wire_object! {
    /// The function that a call names, and its arguments.
    pub struct ChatFunction {
        /// The function's name.
        pub name: Box<str> = "name",
        /// The arguments.
        pub arguments: Arguments = "arguments",
    }
}

/// The arguments of a call: a JSON text that stands in a JSON string, or whatever the model wrote there.
///
/// It is read from an object or `null` too, as some servers send them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Arguments(Box<str>);

impl Arguments {
    /// The arguments as text.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        match raw.get().as_bytes().first() {
            Some(b'"') => raw.read().map(Self).map_err(serde::de::Error::custom),
            Some(b'n') => Ok(Self::default()),
            _ => Ok(Self(raw.get().into())),
        }
    }
}

impl Member for Arguments {
    fn absent() -> Option<Self> {
        Some(Self::default())
    }
}

/// The one type of calls and tools that this mapping knows, `function`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FunctionType {
    Function,
}

impl Member for FunctionType {
    fn absent() -> Option<Self> {
        Some(Self::Function)
    }
}

wire_object! {
    /// A tool on offer, in the chat form.
    pub struct ChatTool {
        pub(crate) kind: FunctionType = "type",
        /// The function that the model may call.
        pub function: ChatFunctionDefinition = "function",
    }
}

wire_object! {
    /// A function on offer.
    pub struct ChatFunctionDefinition {
        /// The name under which the model calls it.
        pub name: ToolName = "name",
        /// What it does and when to use it, in words for the model.
        pub description: Option<Box<str>> = "description",
        /// JSON Schema of the arguments; absent means that there are none.
        pub parameters: Option<RawJson> = "parameters",
    }
}

wire_object! {
    /// One answer of a chat server: the model's message and why it stopped.
    pub struct ChatChoice {
        /// The message.
        pub message: ChatMessage = "message",
        /// Why the model stopped, in the words of the server.
        pub finish_reason: Option<Box<str>> = "finish_reason",
    }
}

impl ChatChoice {
    /// The answer `message`, and why the model stopped.
    ///
    /// ```
    /// use sommelier_protocol::openai::{ChatChoice, answer, reply_from_chat};
    ///
    /// let reply = reply_from_chat(&ChatChoice::new(answer("Hi."), Some("length".into())), None);
    /// assert_eq!(reply.stop_reason.unwrap().as_str(), "max_tokens");
    /// ```
    pub fn new(message: ChatMessage, finish_reason: Option<Box<str>>) -> Self {
        Self { message, finish_reason, layout: Layout::default() }
    }
}

wire_object! {
    /// Tokens that one model call used, as a chat server counts them.
    pub struct ChatUsage {
        /// Tokens read, those from a cache included.
        pub prompt_tokens: u64 = "prompt_tokens",
        /// Tokens written.
        pub completion_tokens: u64 = "completion_tokens",
        /// Both together.
        pub total_tokens: Option<u64> = "total_tokens",
        /// Of the tokens read, those that came from a cache.
        pub prompt_tokens_details: Option<ChatPromptDetails> = "prompt_tokens_details",
    }
}

wire_object! {
    /// Where the tokens read came from.
    pub struct ChatPromptDetails {
        /// Tokens read from the prompt cache.
        pub cached_tokens: Option<u64> = "cached_tokens",
    }
}

always_there!(ChatRole, ChatFunction, ChatFunctionDefinition, ChatMessage);

/// A part of a chat that our form has no place for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {fault}")]
pub struct NotMapped {
    /// The place, such as `messages.2.content.0`.
    pub path: String,
    /// What is there.
    pub fault: Unmapped,
}

/// What our form has no place for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmapped {
    /// A part of content that is no text; it holds the part's `type`.
    Part(Box<str>),
    /// A tool message that answers no open call; it holds the id that the message names.
    Result(Option<Box<str>>),
}

impl fmt::Display for Unmapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Part(kind) => write!(f, "a part of type {kind:?} is no text"),
            Self::Result(Some(id)) => write!(f, "the tool message for {id:?} answers no open call"),
            Self::Result(None) => f.write_str("the tool message answers no open call"),
        }
    }
}
