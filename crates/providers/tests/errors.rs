//! Errors of services: whose fault it is, whether to ask again, and after what.

use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use serde_json::json;
use sommelier_providers::{Blame, Head, ProviderError, Retry, ServiceError, anthropic};
use sommelier_runtime::ModelError;

/// A status, the headers beside it, and what follows.
type Row<'a> = (u16, &'a [(&'a str, &'a str)], Retry);

const NOW: SystemTime = SystemTime::UNIX_EPOCH;

fn head(status: u16, headers: &[(&str, &str)]) -> Head {
    let mut head = Head::new(status);
    for (name, value) in headers {
        head.header(name, value);
    }
    head
}

/// Every documented status and type: who has to act, and whether the same request may go out again.
#[test]
fn every_error_says_whose_fault_it_is() {
    use Blame::{Budget, Caller, Service};
    use Retry::{Backoff, Never};
    let rows = [
        (400, "invalid_request_error", Caller, Never),
        (401, "authentication_error", Caller, Never),
        (402, "billing_error", Budget, Never),
        (403, "permission_error", Caller, Never),
        (404, "not_found_error", Caller, Never),
        (408, "timeout_error", Service, Backoff),
        (409, "conflict_error", Service, Backoff),
        (413, "request_too_large", Caller, Never),
        (429, "rate_limit_error", Budget, Backoff),
        (429, "billing_error", Budget, Never),
        (500, "api_error", Service, Backoff),
        (504, "timeout_error", Service, Backoff),
        (529, "overloaded_error", Service, Backoff),
        (302, "unknown", Service, Never),
    ];
    for (status, kind, blame, retry) in rows {
        let body = json!({"type": "error", "error": {"type": kind, "message": "No."}, "request_id": "req_1"});
        let error = anthropic::decode_error(&head(status, &[]), body.to_string().as_bytes(), NOW);
        let expected = ServiceError {
            status,
            kind: kind.into(),
            code: None,
            message: "No.".into(),
            request_id: Some("req_1".into()),
            retry,
        };
        assert_eq!((error.blame(), &error), (blame, &expected));
    }
}

/// Details, the request's id from a header, and how all of it reads.
#[test]
fn an_error_reads_as_one_line() {
    let body = json!({"type": "error", "error": {
        "type": "invalid_request_error", "message": "messages.1: \n\u{1b}[31mno", "details": {"error_code": "bad_order"}
    }});
    let error =
        anthropic::decode_error(&head(400, &[("Request-Id", "req_9")]), body.to_string().as_bytes(), NOW);
    assert_eq!(error.to_string(), "invalid_request_error (bad_order): messages.1:   [31mno [request req_9]");
    let model = ModelError::from(ProviderError::Service(error.clone()));
    let detail = format!("{error} (fault: caller)");
    assert_eq!(model, ModelError::Service { status: 400, detail });
}

/// A body that is none of the service's, such as a proxy's page, is quoted, and not all of it.
#[test]
fn a_strange_body_is_quoted_in_part() {
    let page = format!("<html>\n{}", "x".repeat(10_000));
    let error = anthropic::decode_error(&head(502, &[]), page.as_bytes(), NOW);
    assert_eq!((error.kind.as_str(), error.retry), ("unknown", Retry::Backoff));
    assert_eq!(error.message.chars().count(), 501);
    assert!(error.message.starts_with("<html> xxx") && error.message.ends_with('…'));
    assert_eq!(anthropic::decode_error(&head(500, &[]), b"", NOW).to_string(), "unknown");
}

/// The pause is that of the header in milliseconds, else that in seconds or as a date, else none.
#[test]
fn a_pause_is_read_from_the_headers() {
    let after = |ms| Retry::After(Duration::from_millis(ms));
    let rows: [Row<'_>; 13] = [
        (429, &[("retry-after", "7")], after(7000)),
        (429, &[("retry-after", " 0.25 ")], after(250)),
        (429, &[("retry-after-ms", "300"), ("retry-after", "7")], after(300)),
        (429, &[("retry-after-ms", "soon"), ("retry-after", "7")], after(7000)),
        (503, &[("retry-after", "Thu, 01 Jan 1970 00:01:30 GMT")], after(90_000)),
        (429, &[("retry-after", "-1")], Retry::Backoff),
        (429, &[("retry-after", "NaN")], Retry::Backoff),
        (429, &[("retry-after", "1e300")], Retry::After(Duration::MAX)),
        (429, &[("retry-after", "99999999999999999999")], Retry::After(Duration::MAX)),
        (429, &[("retry-after", "whenever")], Retry::Backoff),
        (400, &[("retry-after", "7")], Retry::Never),
        (400, &[("x-should-retry", "true")], Retry::Backoff),
        (529, &[("x-should-retry", "false"), ("retry-after", "7")], Retry::Never),
    ];
    for (status, headers, retry) in rows {
        assert_eq!(head(status, headers).retry(NOW), retry, "{status} {headers:?}");
    }
    let date = head(429, &[("retry-after", "Thu, 01 Jan 1970 00:01:30 GMT")]);
    assert_eq!(date.retry(NOW + Duration::from_secs(3600)), after(0));
}

/// What the core reads of each error that is no answer of the service.
#[test]
fn the_core_is_told_in_its_own_words() {
    let rows = [
        (ProviderError::Cut { after: "1 block".into() }, "unreachable"),
        (ProviderError::Unreachable { detail: "connection refused".into() }, "unreachable"),
        (ProviderError::TimedOut { waited: Duration::from_secs(3) }, "timed_out"),
        (ProviderError::Malformed { detail: "the reply: EOF".into() }, "malformed"),
        (ProviderError::TooLarge { what: "the reply", most: 3, unit: "blocks" }, "malformed"),
    ];
    for (error, kind) in rows {
        let said = error.to_string();
        let model = ModelError::from(error);
        assert_eq!(model.kind(), kind);
        assert!(model.to_string().contains(&said), "{model}");
    }
}

proptest! {
    /// Whatever status, headers and body come, there is an error, and it is short.
    #[test]
    fn arbitrary_errors_are_errors(status in 0..1000_u16, header in ".{0,20}", body in prop::collection::vec(any::<u8>(), 0..2000)) {
        let head = head(status, &[("retry-after", &header), ("retry-after-ms", &header), ("request-id", &header)]);
        let error = anthropic::decode_error(&head, &body, NOW);
        prop_assert!(error.to_string().chars().count() < 2000);
        prop_assert_eq!(error.status, status);
    }
}

#[test]
fn context_overflow_is_known_by_its_word() {
    let body = json!({"error": {"type": "invalid_request_error", "details": {"error_code": "context_window_exceeded"}}});
    let error = anthropic::decode_error(&head(400, &[]), body.to_string().as_bytes(), NOW);
    assert!(error.is_context_overflow());
    let other = anthropic::decode_error(&head(400, &[]), br#"{"error":{"type":"x"}}"#, NOW);
    assert!(!other.is_context_overflow());
}
