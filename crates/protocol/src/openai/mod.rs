//! The OpenAI chat form of the same conversation, as a pure mapping both ways.
//!
//! [`to_chat`] and [`from_chat`] map conversations, [`reply_from_chat`] and [`reply_to_chat`] one reply,
//! [`tools_to_chat`] and [`tools_from_chat`] the tools on offer. [`call`], [`answer`] and [`tool_results`]
//! are short ways to write and read chat messages by hand.
//!
//! ```
//! use sommelier_protocol::openai::{ChatMessage, answer, call, from_chat, to_chat, tool_results};
//! use sommelier_protocol::ModelRequest;
//!
//! let chat = [
//!     ChatMessage::system("You quote rooms."),
//!     ChatMessage::user("Quote Focus for 3 hours"),
//!     ChatMessage::calls(vec![call("get_quote", r#"{"room":"Focus","hours":3}"#).with_id("call_1")]),
//!     ChatMessage::tool("call_1", r#"{"total_cents":6000}"#),
//!     answer("It costs 6000 cents."),
//! ];
//! assert_eq!(tool_results(&chat)[0].get(), r#"{"total_cents":6000}"#);
//!
//! let (system, messages) = from_chat(&chat)?;
//! let request =
//!     ModelRequest { system: system.map(std::borrow::Cow::Owned), ..ModelRequest::new("m", 1024, &messages) };
//! assert_eq!(to_chat(&request), chat);
//! # Ok::<(), sommelier_protocol::openai::NotMapped>(())
//! ```
//!
//! # What the mapping mends
//!
//! Servers of this form differ in what they send, so reading is lenient:
//!
//! - `arguments` may be a JSON text, an object, `""`, `null` or missing; the last three mean `{}`. A text that
//!   is no JSON object is kept, and goes out again as it came ([`ToolUse::broken_input`]).
//! - Ids that are missing, empty, illegal or equal are replaced by ids of our own; results are led to their
//!   calls by the old ids, or by their order where there are none.
//! - A `finish_reason` of `stop` beside calls reads as `tool_use`.
//! - Content that is blank is no content.
//!
//! # What the mapping cannot carry
//!
//! Of our form, the chat form has no place for
//!
//! - thinking blocks, images, documents and tools that the service runs: they are left out, and so is a
//!   message of nothing else;
//! - `is_error` as a flag: the text gets `ERROR: ` in front, and stays so when it is read back;
//! - the order of texts and calls within one reply, and a list as a result (its texts are joined);
//! - unknown members, cache settings, and tokens written to a cache.
//!
//! Of the chat form, ours has no place for the parts of a message that are no text ([`from_chat`] refuses
//! them), nor for unknown members ([`ChatMessage`] keeps them, our messages do not get them).

mod chat;

pub use chat::{
    Arguments, ChatChoice, ChatContent, ChatFunction, ChatFunctionDefinition, ChatMessage, ChatPromptDetails,
    ChatRole, ChatTool, ChatToolCall, ChatUsage, NotMapped, Unmapped,
};
use chat::{FunctionType, PartKind, parts};

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use crate::wire::Layout;
use crate::{
    Content, ContentBlock, Message, ModelRequest, ModelResponse, RawJson, Role, StopReason, System,
    ToolDefinition, ToolResult, ToolUse, ToolUseId, Usage,
};
/// What stands before the text of a result that is an error.
pub const ERROR_PREFIX: &str = "ERROR: ";

/// A call of the function `name`, for scripts. `args` is written as its text says: a JSON value as compact
/// JSON, a text as it is, broken or not. The call has no id of its own yet; [`from_chat`] and
/// [`reply_from_chat`] give it one.
pub fn call(name: impl Into<Box<str>>, args: impl fmt::Display) -> ChatToolCall {
    ChatToolCall {
        id: None,
        kind: FunctionType::Function,
        function: ChatFunction {
            name: name.into(),
            arguments: Arguments::new(args.to_string()),
            layout: Layout::default(),
        },
        layout: Layout::default(),
    }
}

/// A model's last words.
pub fn answer(text: impl Into<Box<str>>) -> ChatMessage {
    ChatMessage::said(ChatRole::Assistant, ChatContent::Text(text.into()))
}

/// The results in `messages`, in order, each as JSON; a result that is no JSON stands as a JSON string.
pub fn tool_results(messages: &[ChatMessage]) -> Vec<RawJson> {
    let results = messages.iter().filter(|message| message.role == ChatRole::Tool);
    let parsed = results.map(|message| {
        let words = message.words();
        RawJson::parse(&words).unwrap_or_else(|_| RawJson::string(&words))
    });
    parsed.collect()
}

/// The conversation of `request` as chat messages.
///
/// The first is the system message, present even when there are no instructions. Each result is a message
/// of its own, and words that stand after results are a user message of their own.
pub fn to_chat(request: &ModelRequest<'_>) -> Vec<ChatMessage> {
    let mut chat = Vec::with_capacity(1 + request.messages.len());
    chat.push(match request.system.as_deref() {
        None => ChatMessage::system(""),
        Some(System::Text(text)) => ChatMessage::system(text.clone()),
        Some(System::Blocks(raw)) => {
            let texts: Vec<Box<str>> = parts(raw).into_iter().filter_map(Result::ok).collect();
            let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
            let content = ChatContent::of(&texts).unwrap_or_else(|| ChatContent::Text("".into()));
            ChatMessage::said(ChatRole::System, content)
        }
    });
    for message in &*request.messages {
        chat.extend(message.tool_results().map(|result| {
            let words = result.words();
            let text = if result.is_error() { format!("{ERROR_PREFIX}{words}") } else { words };
            ChatMessage::tool(result.tool_use_id(), text)
        }));
        let role = match message.role {
            Role::User => ChatRole::User,
            Role::System => ChatRole::System,
            Role::Assistant => {
                chat.extend(assistant_to_chat(said_in(&message.content), message.content.blocks()));
                continue;
            }
        };
        chat.extend(said_in(&message.content).map(|content| ChatMessage::said(role, content)));
    }
    chat
}

/// The words of a content, those that are blank left out.
fn said_in(content: &Content) -> Option<ChatContent> {
    match content {
        Content::Text(text) => words_of([&**text]),
        Content::Blocks(blocks) => words_of(blocks.iter().filter_map(ContentBlock::as_text)),
    }
}

fn words_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Option<ChatContent> {
    let texts: Vec<&str> = texts.into_iter().filter(|text| !text.trim().is_empty()).collect();
    ChatContent::of(&texts)
}

/// The one message of a reply, or `None` when the chat form can carry nothing of it.
fn assistant_to_chat(words: Option<ChatContent>, blocks: &[ContentBlock]) -> Option<ChatMessage> {
    let calls: Vec<ChatToolCall> =
        blocks.iter().filter_map(ContentBlock::as_tool_use).map(call_to_chat).collect();
    match (words, calls.is_empty()) {
        (None, true) => None,
        (None, false) => Some(ChatMessage::calls(calls)),
        (Some(words), none) => {
            let tool_calls = (!none).then_some(calls);
            Some(ChatMessage { tool_calls, ..ChatMessage::said(ChatRole::Assistant, words) })
        }
    }
}

fn call_to_chat(used: &ToolUse) -> ChatToolCall {
    match used.broken_input() {
        Some(text) => call(used.name(), text),
        None => call(used.name(), used.input()),
    }
    .with_id(used.id())
}

/// The instructions and the conversation of a chat.
///
/// System messages before all others are the instructions; none, or a blank one, are `None`. Neighbours of
/// one role become one message, and so do results and the user's words after them. Whether the conversation
/// keeps the rules of the sequence is for [`sequence`](crate::sequence) to say.
///
/// # Errors
/// [`NotMapped`] for a part of content that is no text, and for a tool message that answers no open call.
pub fn from_chat(chat: &[ChatMessage]) -> Result<(Option<System>, Vec<Message>), NotMapped> {
    let mut ids = Ids::reserve(chat.iter().flat_map(ChatMessage::all_calls));
    let mut open = OpenCalls::default();
    let mut instructions = Vec::new();
    let mut messages: Vec<Message> = Vec::new();
    for (at, message) in chat.iter().enumerate() {
        let mut blocks = Vec::new();
        let role = match message.role {
            ChatRole::Tool => {
                blocks.push(ContentBlock::from(result_from_chat(at, message, &mut open)?));
                Role::User
            }
            ChatRole::System => Role::System,
            ChatRole::User => Role::User,
            ChatRole::Assistant => Role::Assistant,
        };
        if message.role != ChatRole::Tool {
            blocks.extend(texts_from_chat(at, message)?.into_iter().map(ContentBlock::text));
        }
        if role == Role::System && messages.is_empty() {
            instructions.append(&mut blocks);
            continue;
        }
        if role == Role::Assistant {
            if messages.last().is_none_or(|last| last.role != Role::Assistant) {
                open = OpenCalls::default();
            }
            for call in message.all_calls() {
                let id = ids.settle(call.id.as_deref());
                open.add(call.id.as_deref(), &id);
                blocks.push(call_from_chat(call, &id));
            }
        }
        add(&mut messages, role, blocks);
    }
    Ok((system_of(instructions), messages))
}

fn result_from_chat(at: usize, message: &ChatMessage, open: &mut OpenCalls) -> Result<ToolResult, NotMapped> {
    let Some(id) = open.take(message.tool_call_id.as_deref()) else {
        let fault = Unmapped::Result(message.tool_call_id.clone());
        return Err(NotMapped { path: format!("messages.{at}"), fault });
    };
    let mut texts = Vec::new();
    if let Some(ChatContent::Parts(raw)) = &message.content {
        for part in parts(raw) {
            texts.push(part.map_err(|part| not_mapped(at, part))?);
        }
        return Ok(ToolResult::text(id, texts.join("\n")));
    }
    Ok(ToolResult::text(id, message.words()))
}

fn texts_from_chat(at: usize, message: &ChatMessage) -> Result<Vec<Box<str>>, NotMapped> {
    let texts = message.content.as_ref().map(ChatContent::texts).unwrap_or_default();
    texts.into_iter().map(|text| text.map_err(|part| not_mapped(at, part))).collect()
}

fn not_mapped(at: usize, (place, kind): PartKind) -> NotMapped {
    NotMapped { path: format!("messages.{at}.content.{place}"), fault: Unmapped::Part(kind) }
}

/// Adds blocks to the last message when it has the same role, else as a message of their own.
fn add(messages: &mut Vec<Message>, role: Role, mut blocks: Vec<ContentBlock>) {
    if blocks.is_empty() {
        return;
    }
    match messages.last_mut() {
        Some(Message { role: last, content, .. }) if *last == role => match content {
            Content::Blocks(before) => before.append(&mut blocks),
            Content::Text(text) => {
                blocks.insert(0, ContentBlock::text(std::mem::take(text)));
                *content = Content::Blocks(blocks);
            }
        },
        _ => {
            let content = match (role, &mut *blocks) {
                (Role::User | Role::System, [ContentBlock::Text(text)]) => {
                    Content::Text(std::mem::take(&mut text.text))
                }
                _ => Content::Blocks(blocks),
            };
            messages.push(Message { role, content, layout: Layout::default() });
        }
    }
}

fn system_of(mut instructions: Vec<ContentBlock>) -> Option<System> {
    match &mut *instructions {
        [] => None,
        [ContentBlock::Text(text)] => Some(System::Text(std::mem::take(&mut text.text))),
        blocks => RawJson::of(blocks).ok().map(System::Blocks),
    }
}

fn call_from_chat(call: &ChatToolCall, id: &str) -> ContentBlock {
    ToolUse::scripted(id, call.function.name.clone(), call.function.arguments.as_str()).into()
}

/// The reply that a chat server's choice stands for. The server's name of the model and its id of the reply
/// stand outside the choice: set them where they are needed. Parts that are no text are left out.
pub fn reply_from_chat(choice: &ChatChoice, usage: Option<&ChatUsage>) -> ModelResponse {
    let message = &choice.message;
    let texts = message.content.as_ref().map(ChatContent::texts).unwrap_or_default();
    let texts = texts.into_iter().filter_map(Result::ok).map(ContentBlock::text);
    let mut ids = Ids::reserve(message.all_calls());
    let calls = message.all_calls().iter().map(|call| call_from_chat(call, &ids.settle(call.id.as_deref())));
    let content: Vec<ContentBlock> = texts.chain(calls).collect();
    let reason = match choice.finish_reason.as_deref() {
        Some("length") => Some(StopReason::MaxTokens),
        Some("content_filter") => Some(StopReason::Refusal),
        Some("stop" | "tool_calls" | "function_call") | None if !message.all_calls().is_empty() => {
            Some(StopReason::ToolUse)
        }
        Some("stop") => Some(StopReason::EndTurn),
        Some("tool_calls" | "function_call") => Some(StopReason::ToolUse),
        Some(word) => Some(StopReason::from(word)),
        None => None,
    };
    ModelResponse {
        stop_reason: reason.clone(),
        usage: usage.map(usage_from_chat).unwrap_or_default(),
        ..ModelResponse::new("", content, reason.unwrap_or(StopReason::EndTurn))
    }
}

/// The choice and the count of tokens that a chat server would send for `reply`.
pub fn reply_to_chat(reply: &ModelResponse) -> (ChatChoice, ChatUsage) {
    let words = words_of(reply.content.iter().filter_map(ContentBlock::as_text));
    let message = assistant_to_chat(words, &reply.content).unwrap_or_else(|| answer(""));
    let finish_reason = reply.stop_reason.as_ref().map(|reason| match reason {
        StopReason::EndTurn | StopReason::StopSequence => "stop".into(),
        StopReason::ToolUse => "tool_calls".into(),
        StopReason::MaxTokens | StopReason::ContextWindowExceeded => "length".into(),
        StopReason::Refusal => "content_filter".into(),
        other => other.as_str().into(),
    });
    (ChatChoice { message, finish_reason, layout: Layout::default() }, usage_to_chat(&reply.usage))
}

fn usage_from_chat(usage: &ChatUsage) -> Usage {
    let cached = usage.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens);
    Usage {
        cache_read_input_tokens: cached,
        ..Usage::new(usage.prompt_tokens.saturating_sub(cached.unwrap_or(0)), usage.completion_tokens)
    }
}

fn usage_to_chat(usage: &Usage) -> ChatUsage {
    let read = usage.total_input_tokens();
    ChatUsage {
        prompt_tokens: read,
        completion_tokens: usage.output_tokens,
        total_tokens: Some(read.saturating_add(usage.output_tokens)),
        prompt_tokens_details: usage
            .cache_read_input_tokens
            .map(|cached| ChatPromptDetails { cached_tokens: Some(cached), layout: Layout::default() }),
        layout: Layout::default(),
    }
}

/// The tools on offer, in the chat form. Those that the service brings along have none, and are left out.
pub fn tools_to_chat(tools: &[ToolDefinition]) -> Vec<ChatTool> {
    let tool = |tool: &ToolDefinition| ChatTool {
        kind: FunctionType::Function,
        function: ChatFunctionDefinition {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: Some(tool.input_schema.clone()),
            layout: Layout::default(),
        },
        layout: Layout::default(),
    };
    tools.iter().filter(|tool| !tool.is_of_service()).map(tool).collect()
}

/// The tools on offer, read from the chat form.
pub fn tools_from_chat(tools: &[ChatTool]) -> Vec<ToolDefinition> {
    let tool = |ChatTool { function, .. }: &ChatTool| ToolDefinition {
        name: function.name.clone(),
        description: function.description.clone(),
        input_schema: function.parameters.clone().unwrap_or_else(no_parameters),
        layout: Layout::default(),
    };
    tools.iter().map(tool).collect()
}

fn no_parameters() -> RawJson {
    RawJson::parse(r#"{"type":"object"}"#).unwrap_or_else(|_| RawJson::empty_object())
}

/// The ids that calls have got, and those that are not to be given to another.
struct Ids<'a> {
    /// Every legal id in the chat: a new one is none of them.
    reserved: BTreeSet<&'a str>,
    /// Those of them that a call has.
    taken: BTreeSet<&'a str>,
    next: usize,
}

impl<'a> Ids<'a> {
    fn reserve(calls: impl IntoIterator<Item = &'a ChatToolCall>) -> Self {
        let ids = calls.into_iter().filter_map(|call| call.id.as_deref());
        let reserved = ids.filter(|id| ToolUseId::is_legal(id)).collect();
        Self { reserved, taken: BTreeSet::new(), next: 0 }
    }

    /// The id itself when it is legal and free, else a new one.
    fn settle(&mut self, id: Option<&'a str>) -> Box<str> {
        if let Some(id) = id.filter(|id| self.reserved.contains(id))
            && self.taken.insert(id)
        {
            return id.into();
        }
        loop {
            let id = format!("call_{}", self.next);
            self.next += 1;
            if !self.reserved.contains(&*id) {
                return id.into();
            }
        }
    }
}

/// The calls of the latest reply that have no result yet, by their own place and the id that the chat gave.
#[derive(Default)]
struct OpenCalls {
    settled: BTreeMap<usize, Box<str>>,
    by_id: BTreeMap<Box<str>, VecDeque<usize>>,
    added: usize,
}

impl OpenCalls {
    fn add(&mut self, id: Option<&str>, settled: &str) {
        self.settled.insert(self.added, settled.into());
        self.by_id.entry(id.unwrap_or_default().into()).or_default().push_back(self.added);
        self.added += 1;
    }

    /// The settled id of the first open call that the chat calls `id`; of the first one at all when there is
    /// no id.
    fn take(&mut self, id: Option<&str>) -> Option<Box<str>> {
        let Some(id) = id.filter(|id| !id.is_empty()) else {
            return self.settled.pop_first().map(|(_, settled)| settled);
        };
        let places = self.by_id.get_mut(id)?;
        loop {
            let place = places.pop_front()?;
            if let Some(settled) = self.settled.remove(&place) {
                return Some(settled);
            }
        }
    }
}
