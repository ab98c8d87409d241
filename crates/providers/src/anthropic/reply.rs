//! A reply, or an error, from bytes.

use std::time::SystemTime;

use serde::Deserialize;
use sommelier_protocol::{ModelResponse, RawJson, Role};

use crate::error::{Head, ServiceError, clip};
use crate::{ProviderError, Retry};

/// The reply that `body` holds. Blocks, members and stop reasons that are not known are kept as they came.
///
/// ```
/// use sommelier_providers::anthropic::decode;
///
/// let body = br#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-5",
///     "content":[{"type":"text","text":"Good morning."}],"stop_reason":"end_turn","stop_sequence":null,
///     "usage":{"input_tokens":12,"output_tokens":4}}"#;
/// assert_eq!(decode(body)?.words(), "Good morning.");
/// # Ok::<(), sommelier_providers::ProviderError>(())
/// ```
///
/// # Errors
/// [`Malformed`](ProviderError::Malformed) when it is no reply, or not the whole of a model's, and
/// [`Service`](ProviderError::Service) when it is an error in spite of its status.
pub fn decode(body: &[u8]) -> Result<ModelResponse, ProviderError> {
    let reply: ModelResponse = serde_json::from_slice(body).map_err(|error| {
        let malformed = || ProviderError::malformed(format_args!("the reply: {error}"));
        told_instead(body).map_or_else(malformed, ProviderError::Service)
    })?;
    if reply.role != Role::Assistant {
        return Err(ProviderError::malformed("the reply is not the assistant's by its role"));
    }
    if reply.stop_reason.as_ref().is_none_or(|reason| reason.as_str().trim().is_empty()) {
        return Err(ProviderError::malformed("the reply does not say why the model stopped"));
    }
    Ok(reply)
}

/// The error that stands where a reply should.
fn told_instead(body: &[u8]) -> Option<ServiceError> {
    #[derive(Deserialize)]
    struct Tag {
        r#type: Option<Box<str>>,
        error: Option<RawJson>,
    }

    let Tag { r#type, error } = serde_json::from_slice(body).ok()?;
    (r#type.as_deref() == Some("error") && error.is_some()).then(|| error_in_reply(body, None))
}

/// The error that a body and its head tell of. Whatever the body is, the status alone says whose fault it is.
pub fn decode_error(head: &Head, body: &[u8], now: SystemTime) -> ServiceError {
    #[derive(Deserialize)]
    struct Body {
        error: Said,
        request_id: Option<String>,
    }

    let (said, request_id) = match serde_json::from_slice::<Body>(body) {
        Ok(Body { error, request_id }) => (error, request_id),
        Err(_) => (Said::of_strange(body), None),
    };
    let request_id = request_id.or_else(|| head.request_id().map(str::to_owned));
    said.into_error(head.status, request_id, head.retry(now))
}

/// What an error says that came with a status of 200, in a stream or not. Its kind stands for the status that it would have had.
pub(super) fn error_in_reply(body: &[u8], request_id: Option<String>) -> ServiceError {
    #[derive(Deserialize)]
    struct Body {
        error: Said,
        request_id: Option<String>,
    }

    let (said, own_id) = match serde_json::from_slice::<Body>(body) {
        Ok(Body { error, request_id }) => (error, request_id),
        Err(_) => (Said::of_strange(body), None),
    };
    let status = said.status();
    let retry = Head::new(status).retry(SystemTime::UNIX_EPOCH);
    said.into_error(status, own_id.or(request_id), retry)
}

#[derive(Deserialize)]
struct Said {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    details: Option<RawJson>,
}

impl Said {
    /// What a body says that is none of this service's, such as the page of a proxy.
    fn of_strange(body: &[u8]) -> Self {
        Self { kind: None, message: Some(String::from_utf8_lossy(body).into_owned()), details: None }
    }

    fn status(&self) -> u16 {
        match self.kind.as_deref() {
            Some("invalid_request_error") => 400,
            Some("authentication_error") => 401,
            Some("billing_error") => 402,
            Some("permission_error") => 403,
            Some("not_found_error") => 404,
            Some("conflict_error") => 409,
            Some("request_too_large") => 413,
            Some("rate_limit_error") => 429,
            Some("timeout_error") => 504,
            Some("overloaded_error") => 529,
            _ => 500,
        }
    }

    fn into_error(self, status: u16, request_id: Option<String>, retry: Retry) -> ServiceError {
        #[derive(Deserialize)]
        struct Details {
            error_code: Option<String>,
        }

        let details = self.details.and_then(|details| details.read::<Details>().ok());
        ServiceError {
            status,
            // A spend that is over is not made up for by waiting.
            retry: if self.kind.as_deref() == Some("billing_error") { Retry::Never } else { retry },
            kind: self.kind.map_or_else(|| "unknown".to_owned(), |kind| clip(&kind)),
            code: details.and_then(|details| details.error_code).map(|code| clip(&code)),
            message: self.message.map(|message| clip(&message)).unwrap_or_default(),
            request_id: request_id.map(|id| clip(&id)),
        }
    }
}
