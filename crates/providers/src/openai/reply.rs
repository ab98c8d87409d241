//! A reply, or an error, from bytes.

use std::time::SystemTime;

use serde::Deserialize;
use sommelier_protocol::openai::{
    Arguments, ChatChoice, ChatContent, ChatToolCall, ChatUsage, answer, call, reply_from_chat,
};
use sommelier_protocol::{ModelResponse, RawJson, StopReason, Usage};

use super::JsonMode;
use crate::error::{Head, ServiceError, clip};
use crate::members::Members;
use crate::{ProviderError, Retry};

/// The reply that `body` holds; with `json_mode`, its text is read as the object that the model was asked for.
///
/// ```
/// use sommelier_providers::openai::decode;
///
/// let body = br#"{"id":"chatcmpl-1","model":"qwen3:4b","choices":[{"index":0,"finish_reason":"stop","message":
///     {"role":"assistant","content":"","tool_calls":[{"function":{"name":"get_quote","arguments":{"room":"Focus"}}}]}}]}"#;
/// let reply = decode(body, None)?;
/// assert_eq!(reply.content[0].as_tool_use().unwrap().input().get(), r#"{"room":"Focus"}"#);
/// assert_eq!(reply.stop_reason.unwrap().as_str(), "tool_use");
/// # Ok::<(), sommelier_providers::ProviderError>(())
/// ```
///
/// # Errors
/// [`Malformed`](ProviderError::Malformed) when it is no reply, and [`Service`](ProviderError::Service) when it is an
/// error in spite of its status.
pub fn decode(body: &[u8], json_mode: Option<JsonMode>) -> Result<ModelResponse, ProviderError> {
    #[derive(Deserialize)]
    struct Body {
        id: Option<RawJson>,
        model: Option<RawJson>,
        choices: Option<Vec<Choice>>,
        usage: Option<RawJson>,
        error: Option<RawJson>,
    }

    #[derive(Deserialize)]
    struct Choice {
        index: Option<RawJson>,
        message: Option<Said>,
        finish_reason: Option<RawJson>,
    }

    let malformed = |error| ProviderError::malformed(format_args!("the reply: {error}"));
    let read: Body = serde_json::from_slice(body).map_err(malformed)?;
    if read.error.is_some() {
        return Err(ProviderError::Service(error_in_reply(body)));
    }
    let choice = read.choices.into_iter().flatten().find(|choice| is_first(choice.index.as_ref()));
    let Some((Some(said), finish_reason)) = choice.map(|choice| (choice.message, choice.finish_reason))
    else {
        return Err(ProviderError::malformed("the reply has no message"));
    };
    let mut whole = Answer {
        id: text(read.id.as_ref()),
        model: text(read.model.as_ref()),
        finish_reason: reason_of(finish_reason.as_ref()),
        usage: read.usage.and_then(|usage| usage.read().ok()),
        ..Answer::default()
    };
    whole.hear(&said);
    for piece in said.tool_calls.into_iter().flatten() {
        whole.calls.push(Call::default().joined(piece));
    }
    Ok(whole.into_reply(json_mode))
}

/// A member as a text; empty where it is none.
pub(super) fn text(value: Option<&RawJson>) -> Box<str> {
    value.and_then(|value| value.read().ok()).unwrap_or_default()
}

/// Whether this is the index of the one choice that was asked for. A server may leave it out; others are no part of the reply.
pub(super) fn is_first(index: Option<&RawJson>) -> bool {
    index.is_none_or(|index| matches!(index.get(), "0" | "null"))
}

/// Why the model stopped, where that is said; an empty text says nothing.
pub(super) fn reason_of(value: Option<&RawJson>) -> Option<Box<str>> {
    Some(text(value)).filter(|reason| !reason.trim().is_empty())
}

/// What a message, or a piece of one, says. Servers differ in what they leave out and in what they write there instead.
#[derive(Default, Deserialize)]
pub(super) struct Said {
    content: Option<RawJson>,
    refusal: Option<RawJson>,
    pub(super) tool_calls: Option<Vec<CallPiece>>,
}

/// A call, or a piece of one.
#[derive(Deserialize)]
pub(super) struct CallPiece {
    pub(super) index: Option<RawJson>,
    pub(super) id: Option<RawJson>,
    pub(super) function: Option<FunctionPiece>,
}

#[derive(Default, Deserialize)]
pub(super) struct FunctionPiece {
    pub(super) name: Option<RawJson>,
    arguments: Option<Arguments>,
}

/// The one form in which a reply is whole, whether it came in pieces or not.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) id: Box<str>,
    pub(super) model: Box<str>,
    pub(super) words: String,
    pub(super) has_refused: bool,
    pub(super) calls: Vec<Call>,
    pub(super) finish_reason: Option<Box<str>>,
    pub(super) usage: Option<ChatUsage>,
}

#[derive(Debug, Default)]
pub(super) struct Call {
    pub(super) id: Box<str>,
    pub(super) name: String,
    arguments: String,
}

impl Call {
    /// The call with one more piece of it.
    pub(super) fn joined(mut self, piece: CallPiece) -> Self {
        self.join(piece);
        self
    }

    pub(super) fn join(&mut self, piece: CallPiece) {
        let FunctionPiece { name, arguments } = piece.function.unwrap_or_default();
        let name = text(name.as_ref());
        if self.id.is_empty() {
            self.id = text(piece.id.as_ref());
        }
        // Some servers say the whole name with every piece.
        if *self.name != *name {
            self.name.push_str(&name);
        }
        self.arguments.push_str(arguments.as_ref().map_or("", Arguments::as_str));
    }

    fn into_chat(self) -> ChatToolCall {
        let called = call(self.name, self.arguments);
        if self.id.is_empty() { called } else { called.with_id(self.id) }
    }
}

impl Answer {
    /// Takes the words of a piece, and gives them.
    pub(super) fn hear(&mut self, said: &Said) -> String {
        let mut words = String::new();
        for value in [&said.content, &said.refusal].into_iter().flatten() {
            if let Ok(content) = value.read::<ChatContent>() {
                let mut message = answer("");
                message.content = Some(content);
                words.push_str(&message.words());
            }
        }
        self.has_refused |= said.refusal.as_ref().is_some_and(|refusal| refusal.get() != "null");
        self.words.push_str(&words);
        words
    }

    /// What the server has counted.
    pub(super) fn usage(&self) -> Usage {
        reply_from_chat(&ChatChoice::new(answer(""), None), self.usage.as_ref()).usage
    }

    pub(super) fn into_reply(self, json_mode: Option<JsonMode>) -> ModelResponse {
        let calls: Vec<ChatToolCall> = self.calls.into_iter().map(Call::into_chat).collect();
        let mut message = answer(self.words);
        message.tool_calls = (!calls.is_empty()).then_some(calls);
        let mut reply = reply_from_chat(&ChatChoice::new(message, self.finish_reason), self.usage.as_ref());
        reply.id = self.id;
        reply.model = self.model;
        if self.has_refused {
            reply.stop_reason = Some(StopReason::Refusal);
        }
        match json_mode {
            Some(mode) => mode.read(reply),
            None => reply,
        }
    }
}

/// The error that a body and its head tell of. Whatever the body is, the status alone says whose fault it is.
pub fn decode_error(head: &Head, body: &[u8], now: SystemTime) -> ServiceError {
    let request_id = head.request_id().map(str::to_owned);
    Told::read(body).into_error(head.status, request_id, head.retry(now))
}

/// An error that came with a status of 200, in a stream or not. Its code may be the status that it would have had.
pub(super) fn error_in_reply(body: &[u8]) -> ServiceError {
    let told = Told::read(body);
    let status = told.code.as_deref().and_then(|code| code.parse().ok());
    let status = status.filter(|status| (400..600).contains(status)).unwrap_or(500);
    told.into_error(status, None, Head::new(status).retry(SystemTime::UNIX_EPOCH))
}

#[derive(Default)]
struct Told {
    kind: Option<String>,
    code: Option<String>,
    message: String,
}

impl Told {
    /// Reads `{"error": {"message", "type", "code"}}`, `{"error": "…"}`, the same without the frame, and
    /// `{"detail": …}`; anything else is quoted.
    fn read(body: &[u8]) -> Self {
        let quoted = || Self { message: String::from_utf8_lossy(body).into_owned(), ..Self::default() };
        let Ok(members) = serde_json::from_slice::<Members>(body) else { return quoted() };
        match members.get("error") {
            Some(error) => match error.read::<Members>() {
                Ok(members) => Self::of(&members),
                Err(_) => Self { message: words_of(error), ..Self::default() },
            },
            None if members.get("message").is_some() => Self::of(&members),
            None => match members.get("detail") {
                Some(detail) => Self { message: words_of(detail), ..Self::default() },
                None => quoted(),
            },
        }
    }

    fn of(members: &Members) -> Self {
        let known = |name: &str| members.get(name).filter(|value| value.get() != "null").map(words_of);
        Self { kind: known("type"), code: known("code"), message: known("message").unwrap_or_default() }
    }

    fn into_error(self, status: u16, request_id: Option<String>, retry: Retry) -> ServiceError {
        // A quota that is used up is not made up for by waiting.
        let is_spent =
            [&self.kind, &self.code].into_iter().flatten().any(|word| word == "insufficient_quota");
        ServiceError {
            status,
            retry: if is_spent { Retry::Never } else { retry },
            kind: self.kind.map_or_else(|| "unknown".to_owned(), |kind| clip(&kind)),
            // A code that only says the status again says nothing.
            code: self.code.filter(|code| *code != status.to_string()).map(|code| clip(&code)),
            message: clip(&self.message),
            request_id: request_id.map(|id| clip(&id)),
        }
    }
}

/// A text as it reads, any other value as JSON.
fn words_of(value: &RawJson) -> String {
    value.read().unwrap_or_else(|_| value.get().to_owned())
}
