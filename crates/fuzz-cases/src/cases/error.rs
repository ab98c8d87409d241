//! An error of a service, and the pause that it asks for.

use std::time::{Duration, SystemTime};

use sommelier_providers::{Head, Retry, ServiceError, anthropic, openai};

use crate::written::service;

/// The first line is a status and those up to a blank one are headers; the rest is the body. Whatever they are, there is
/// an error that is short, of that status; a pause in whole seconds, or as a date, is read as what it says.
pub(crate) fn run(bytes: &[u8]) {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let (head, body) = split(bytes);
    for error in [anthropic::decode_error(&head, body, now), openai::decode_error(&head, body, now)] {
        service(&error);
        assert_eq!(error.status, head.status);
        fits(&error, head.retry(now));
    }
    pauses(bytes, now);
}

fn split(bytes: &[u8]) -> (Head, &[u8]) {
    let end = bytes.windows(2).position(|two| two == b"\n\n");
    let (head, body) = end.map_or((bytes, &b""[..]), |end| {
        (bytes.get(..end).unwrap_or_default(), bytes.get(end + 2..).unwrap_or_default())
    });
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines();
    let mut head = Head::new(lines.next().and_then(|line| line.trim().parse().ok()).unwrap_or_default());
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        head.header(name.trim(), value);
    }
    (head, body)
}

/// What the body says can only take a retry back.
fn fits(error: &ServiceError, told: Retry) {
    assert!(error.retry == told || error.retry == Retry::Never, "{:?} and {told:?}", error.retry);
}

/// The first four bytes as seconds.
fn pauses(bytes: &[u8], now: SystemTime) {
    let Some(seconds) = bytes.first_chunk::<4>().map(|first| u64::from(u32::from_be_bytes(*first))) else {
        return;
    };
    let pause = Duration::from_secs(seconds);
    let date = httpdate::fmt_http_date(now + pause);
    let past = httpdate::fmt_http_date(now - Duration::from_secs(seconds % 1_000_000_000));
    for (value, expected) in [(seconds.to_string(), pause), (date, pause), (past, Duration::ZERO)] {
        let mut head = Head::new(429);
        head.header("retry-after", &value);
        assert_eq!(head.retry(now), Retry::After(expected), "{value}");
    }
}
