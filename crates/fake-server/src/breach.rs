//! A rule that was broken, in the service's words.

use serde_json::{Value, json};

use crate::Rule;

/// A rule that a request breaks, and the error that the service sends for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Breach {
    pub(crate) rule: Rule,
    pub(crate) error: ApiError,
}

impl Breach {
    pub(crate) fn new(rule: Rule, error: ApiError) -> Self {
        Self { rule, error }
    }

    /// A 400, the message beginning with the `path` at which something is wrong.
    pub(crate) fn at(rule: Rule, path: impl AsRef<str>, what: impl AsRef<str>) -> Self {
        Self::new(rule, ApiError::invalid(format!("{}: {}", path.as_ref(), what.as_ref())))
    }
}

/// An error as the service sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) message: String,
}

impl ApiError {
    /// The error that goes with `status`.
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        let kind = match status {
            401 => "authentication_error",
            402 => "billing_error",
            403 => "permission_error",
            404 => "not_found_error",
            408 | 504 => "timeout_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        };
        Self { status, kind, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, message)
    }

    pub(crate) fn body(&self, request_id: &str) -> Value {
        json!({
            "type": "error",
            "error": { "type": self.kind, "message": self.message },
            "request_id": request_id,
        })
    }
}
