//! Requests and conversations as JSON, and the checker of their sequence.

use serde::Serialize;
use serde::de::DeserializeOwned;
use sommelier_protocol::openai::{from_chat, to_chat};
use sommelier_protocol::sequence::{check, check_messages};
use sommelier_protocol::{Asking, Message, ModelRequest, ModelResponse, Owing, Resting};
use sommelier_providers::{anthropic, openai};

use crate::written::{json, same};

/// What is read and written again is the same; a conversation that is taken breaks no rule; a request has a form on the
/// wire of either kind of service.
pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(message) = again::<Message>(text) {
        let written = serde_json::to_string(&message).unwrap_or_default();
        assert_eq!(message.wire_len(), written.len(), "{written}");
    }
    again::<ModelResponse>(text);
    if let Some(asking) = again::<Asking>(text) {
        assert_eq!(check_messages(asking.messages()), []);
        request(&ModelRequest::new("m", 1, asking.messages()));
    }
    again::<Owing>(text);
    again::<Resting>(text);
    if let Some(asked) = again::<ModelRequest<'_>>(text) {
        request(&asked);
    }
}

fn again<T: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug>(text: &str) -> Option<T> {
    let value: T = serde_json::from_str(text).ok()?;
    let written = serde_json::to_string(&value).unwrap_or_default();
    match serde_json::from_str::<T>(&written) {
        Ok(read) => same(&read, &value, "written and read again"),
        Err(error) => panic!("{error}: {written}"),
    }
    Some(value)
}

fn request(request: &ModelRequest<'_>) {
    let broken = check(request);
    let plain = anthropic::encode(request, &anthropic::Settings::default(), false);
    if let Ok(plain) = plain {
        let read: ModelRequest<'_> = serde_json::from_slice(&plain).unwrap_or_else(|error| panic!("{error}"));
        same(&check(&read), &broken, "what the checker says of a request as it is sent");
        same(&read.messages, &request.messages, "the messages of a request as it is sent");
    }
    let cached = anthropic::Settings {
        cache: Some(anthropic::Cache::OneHour),
        disable_parallel_tool_use: true,
        ..anthropic::Settings::default()
    };
    if let Ok(body) = anthropic::encode(request, &cached, true) {
        assert!(json(&body).is_some());
    }
    for json_mode in [None, Some(openai::JsonMode::default())] {
        let settings = openai::Settings { json_mode, ..openai::Settings::default() };
        if let Ok(body) = openai::encode(request, &settings, true) {
            assert!(json(&body).is_some());
        }
    }
    let _ = from_chat(&to_chat(request));
}
