//! What is read and written again.

use std::fmt;

use serde_json::Value;
use sommelier_protocol::ModelResponse;
use sommelier_providers::{ProviderError, ServiceError};

/// Bytes that may stand in an answer beside what came: names of members, quotes.
const FRAME: usize = 1024;

/// A reply is the same when it is written and read again, and it is not much larger than the `bytes` from which it came.
pub(crate) fn holds(reply: &ModelResponse, bytes: &[u8]) {
    let written = serde_json::to_vec(reply).unwrap_or_default();
    // Not by the decoder: a chat server need not say why its model stopped.
    let read = serde_json::from_slice::<ModelResponse>(&written);
    assert_eq!(read.ok().as_ref(), Some(reply), "written and read again");
    // A control character is one byte in an event and six in JSON; a call has members of its own.
    assert!(written.len() <= 32 * bytes.len() + FRAME, "{} bytes of {}", written.len(), bytes.len());
}

/// An error is a line of bounded length in which nothing is left that a terminal would obey.
pub(crate) fn is_bounded(error: &ProviderError) {
    line(&error.to_string());
    if let ProviderError::Service(error) = error {
        service(error);
    }
}

pub(crate) fn service(error: &ServiceError) {
    line(&error.to_string());
    for part in [&error.kind, &error.message].into_iter().chain(&error.code).chain(&error.request_id) {
        // 500, the mark of a cut, and one more where a part of the key that was cut became the word for it.
        assert!(part.chars().count() <= 502, "{} characters", part.chars().count());
    }
}

fn line(text: &str) {
    assert!(!text.contains(|c: char| c.is_control()), "{text:?}");
    assert!(text.chars().count() <= 2100, "{} characters", text.chars().count());
}

/// The value as JSON; `None` where it is none.
pub(crate) fn json(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes).ok()
}

/// Two ways that must come to the same.
#[track_caller]
pub(crate) fn same<T: PartialEq + fmt::Debug>(one: &T, other: &T, what: &str) {
    assert_eq!(one, other, "{what}");
}
