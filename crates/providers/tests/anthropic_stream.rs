//! A streamed reply is the plain one, whatever the pieces; what is broken is told.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test ends where something unexpected stands")]

mod support;

use proptest::prelude::*;
use serde_json::{Value, json};
use sommelier_protocol::{ContentBlock, StopReason};
use sommelier_providers::anthropic::{Stream, decode};
use sommelier_providers::{Blame, ProviderError, ReplyLimits, Retry, ServiceError};
use support::{any_json, blocks, events, reply, streamed, wire};

fn plain(reply: &Value) -> sommelier_protocol::ModelResponse {
    decode(reply.to_string().as_bytes()).unwrap()
}

#[track_caller]
fn malformed(wire: &str) -> String {
    match streamed(wire.as_bytes(), 64).0 {
        Err(ProviderError::Malformed { detail }) => detail,
        other => panic!("{other:?}"),
    }
}

/// S1-18. Every kind of block and stop reason, whatever the pieces and the line ends, is what one piece would be.
#[test]
fn a_streamed_reply_equals_the_plain_one() {
    let whole = reply(&blocks(), "tool_use");
    for size in [1, 2, 3, 7, 64, 1 << 20] {
        for end in ["\n", "\r\n", "\r"] {
            let bytes = wire(&events(&whole, size), end);
            let (decoded, words) = streamed(bytes.as_bytes(), size);
            assert_eq!(decoded, Ok(plain(&whole)), "{size} {end:?}");
            assert_eq!(words, "Focus is free. \u{1f600}See there.");
        }
    }
}

/// Comments, pings, events and deltas that are not known, and what comes after the end, change nothing.
#[test]
fn what_is_not_known_is_skipped() {
    let whole = reply(&blocks()[..1], "end_turn");
    let mut all = events(&whole, 4);
    all.insert(1, ("brand_new", json!("no object")));
    all.insert(4, ("ping", json!({"type": "ping"})));
    let delta = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "new_delta", "x": 1}});
    all.insert(5, ("content_block_delta", delta));
    all.push(("error", json!({"type": "error"})));
    let bytes = format!("\u{feff}: hello\nid: 7\nretry: 10\n\n{}junk", wire(&all, "\n"));
    assert_eq!(streamed(bytes.as_bytes(), 5).0, Ok(plain(&whole)));
}

/// What stands behind the end of a message, or behind an error, is not looked at, whatever pieces it comes in.
#[test]
fn what_comes_behind_the_end_changes_nothing() {
    let whole = reply(&blocks()[..1], "end_turn");
    let error = "event: error\ndata: {\"error\":{\"type\":\"api_error\",\"message\":\"No.\"}}\n\n";
    for size in [1, 7, 1 << 20] {
        let behind = |wire: String| streamed(&[wire.as_bytes(), b"data: \xff\n\n"].concat(), size).0;
        assert_eq!(behind(wire(&events(&whole, 4), "\n")), Ok(plain(&whole)), "{size}");
        assert_eq!(behind(error.to_owned()).unwrap_err().to_string(), "api_error: No.", "{size}");
    }
}

/// A stream that ends too early is cut, at every byte before its end: never a shorter reply.
#[test]
fn a_cut_stream_is_no_reply() {
    let whole = reply(&[blocks()[0].clone(), blocks()[5].clone()], "tool_use");
    let bytes = wire(&events(&whole, 8), "\n");
    for end in 0..bytes.len() - 1 {
        let error = streamed(&bytes.as_bytes()[..end], 16).0.unwrap_err();
        assert!(matches!(error, ProviderError::Cut { .. }), "{end}: {error}");
    }
    let error = streamed(wire(&events(&whole, 8)[..3], "\n").as_bytes(), 16).0.unwrap_err();
    assert_eq!(error.to_string(), "the stream ended before its message did, after 1 block");
    assert_eq!((error.blame(), error.retry()), (Blame::Network, Retry::Backoff));
}

/// An error after a status of 200 has the status, the fault and the retry of its kind.
#[test]
fn an_error_in_mid_stream_is_the_services() {
    let mut all = events(&reply(&blocks()[..1], "end_turn"), 4);
    all.truncate(4);
    let said = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    all.push(("error", said));
    let mut stream = Stream::new(ReplyLimits::default()).request_id(Some("req_1"));
    let error = stream.push(wire(&all, "\n").as_bytes(), &mut |_| {}).unwrap_err();
    let expected = ServiceError {
        status: 529,
        kind: "overloaded_error".into(),
        code: None,
        message: "Overloaded".into(),
        request_id: Some("req_1".into()),
        retry: Retry::Backoff,
    };
    assert_eq!(error, ProviderError::Service(expected));
    assert_eq!(error.blame(), Blame::Service);
}

/// In mid-stream each kind of error has the status, the fault and the retry that it has at the head of a reply.
#[test]
fn every_error_in_mid_stream_has_the_status_of_its_kind() {
    use Blame::{Budget, Caller, Service};
    use Retry::{Backoff, Never};
    let rows = [
        ("invalid_request_error", 400, Caller, Never),
        ("authentication_error", 401, Caller, Never),
        ("billing_error", 402, Budget, Never),
        ("permission_error", 403, Caller, Never),
        ("not_found_error", 404, Caller, Never),
        ("conflict_error", 409, Service, Backoff),
        ("request_too_large", 413, Caller, Never),
        ("rate_limit_error", 429, Budget, Backoff),
        ("api_error", 500, Service, Backoff),
        ("timeout_error", 504, Service, Backoff),
        ("overloaded_error", 529, Service, Backoff),
        ("from_the_future", 500, Service, Backoff),
    ];
    for (kind, status, blame, retry) in rows {
        let details = json!({"error_code": "finer"});
        let said = json!({"type": "error", "error": {"type": kind, "message": "No.", "details": details}, "request_id": "req_2"});
        let bytes = wire(&[("error", said)], "\n");
        let Err(ProviderError::Service(error)) = streamed(bytes.as_bytes(), 9).0 else { panic!("{kind}") };
        let told = (error.status, error.kind.as_str(), error.code.as_deref(), error.request_id.as_deref());
        assert_eq!(told, (status, kind, Some("finer"), Some("req_2")));
        assert_eq!((error.blame(), error.retry), (blame, retry), "{kind}");
    }
}

/// Arguments that are no JSON, as in a reply that was cut, are kept for the model to be told; no arguments are `{}`.
#[test]
fn broken_arguments_are_kept() {
    let mut all = events(&reply(&blocks()[5..6], "max_tokens"), 1 << 20);
    all[3].1["delta"]["partial_json"] = json!(r#"{"room": "Fo"#);
    let decoded = streamed(wire(&all, "\n").as_bytes(), 9).0.unwrap();
    assert_eq!(decoded.stop_reason, Some(StopReason::MaxTokens));
    let call = decoded.content[0].as_tool_use().unwrap();
    assert_eq!(call.broken_input().as_deref(), Some(r#"{"room": "Fo"#));
    all[3].1["delta"]["partial_json"] = json!("");
    let decoded = streamed(wire(&all, "\n").as_bytes(), 9).0.unwrap();
    assert_eq!(decoded.content[0].as_tool_use().unwrap().input().get(), "{}");
}

/// Events in an order that makes no message are told, each by what is wrong.
#[test]
fn events_in_a_wrong_order_are_told() {
    let all = events(&reply(&blocks()[..1], "end_turn"), 1 << 20);
    let (start, begin, delta, stop) = (&all[0], &all[2], &all[3], &all[4]);
    let (end, over) = (&all[5], &all[6]);
    let made = |events: &[&(&'static str, Value)]| {
        let events: Vec<(&'static str, Value)> = events.iter().map(|event| (*event).clone()).collect();
        wire(&events, "\n")
    };
    let cases = [
        (made(&[start, start]), "the stream begins a second message"),
        (made(&[start, delta]), "the stream goes on with block 0, which is not open"),
        (made(&[start, begin, begin]), "the stream begins block 0 in the place of 1"),
        (made(&[start, begin, stop, delta]), "the stream goes on with block 0, which is not open"),
        (made(&[end]), "the stream ends a message that it has not begun"),
        (made(&[over]), "the stream ends a message that it has not begun"),
        (made(&[start, begin, end, over]), "the stream leaves block 0 open"),
    ];
    for (wire, said) in cases {
        assert_eq!(malformed(&wire), said);
    }
    assert!(malformed("event: message_start\ndata: {\n\n").starts_with("an event of the stream: EOF"));
    assert!(
        malformed("data: \u{fffd}\n\nevent: message_delta\ndata: 7\n\n")
            .starts_with("an event of the stream")
    );
}

/// A stream without an end is cut off at its caps: of an event, of the whole, of its blocks.
#[test]
fn an_endless_stream_is_cut_off() {
    let limits = ReplyLimits { event_bytes: 1000, total_bytes: 5000, blocks: 3 };
    let told = |wire: &str, again: usize| {
        let mut stream = Stream::new(limits);
        let pushed = (0..again).try_for_each(|_| stream.push(wire.as_bytes(), &mut |_| {}));
        pushed.unwrap_err().to_string()
    };
    assert_eq!(told("x", 5000), "an event of the stream exceeds 1000 bytes");
    assert_eq!(told(": still here\n\n", 1000), "the stream exceeds 5000 bytes");
    let all = events(&reply(&vec![json!({"type": "new"}); 4], "end_turn"), 9);
    assert_eq!(told(&wire(&all, "\n"), 1), "the reply exceeds 3 blocks");
    let error = ProviderError::TooLarge { what: "the reply", most: 3, unit: "blocks" };
    assert_eq!((error.blame(), error.retry()), (Blame::Budget, Retry::Never));
}

/// A message of very many members, which would take very long to join, is cut off, however its members come.
#[test]
fn a_message_of_many_members_is_cut_off() {
    let many: Value = (0..100_000).map(|number| (format!("m{number}"), json!(1))).collect();
    let mut begun = reply(&[], "end_turn");
    let start = |message: &Value| ("message_start", json!({"type": "message_start", "message": message}));
    let end = |delta: &Value, usage: &Value| {
        ("message_delta", json!({"type": "message_delta", "delta": delta, "usage": usage}))
    };
    let rows = [
        vec![start(&begun), end(&many, &json!({}))],
        vec![start(&begun), end(&json!({}), &many)],
        vec![start(&many), end(&many, &many)],
    ];
    for events in rows {
        let error = streamed(wire(&events, "\n").as_bytes(), 1 << 20).0.unwrap_err();
        assert_eq!(error.to_string(), "the reply exceeds 1024 members");
    }
    begun["usage"] = many;
    let error = streamed(wire(&[start(&begun)], "\n").as_bytes(), 1 << 20).0.unwrap_err();
    assert_eq!(error.to_string(), "the reply exceeds 1024 members");
}

const NAMES: [&str; 8] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "error",
    "ping",
];

fn any_event() -> impl Strategy<Value = (&'static str, Value)> {
    let near = (prop::sample::select(&NAMES[..]), any_json(), any_json(), 0..3_usize).prop_map(|(name, a, b, index)| {
        let data = json!({"type": name, "index": index, "message": a, "content_block": a, "delta": b, "usage": b, "error": a});
        (name, data)
    });
    prop_oneof![near, (prop::sample::select(&NAMES[..]), any_json())]
}

proptest! {
    /// S1-18. Any text in any pieces: the streamed reply is the plain one.
    #[test]
    fn any_reply_in_any_pieces(texts in prop::collection::vec(".{0,40}", 0..5), kinds in prop::collection::vec(0..4, 5),
        inputs in prop::collection::vec(any_json(), 5), size in 1..20_usize, cut in 1..40_usize)
    {
        let content: Vec<Value> = texts.iter().zip(kinds).zip(inputs).map(|((text, kind), input)| match kind {
            0 => json!({"type": "text", "text": text}),
            1 => json!({"type": "thinking", "thinking": text, "signature": text}),
            2 => json!({"type": "tool_use", "id": "toolu_1", "name": text, "input": input}),
            _ => json!({"type": "new", "value": input}),
        }).collect();
        let whole = reply(&content, "end_turn");
        let (decoded, words) = streamed(wire(&events(&whole, size), "\n").as_bytes(), cut);
        let expected = plain(&whole);
        let texts: String = expected.content.iter().filter_map(ContentBlock::as_text).collect();
        prop_assert_eq!(decoded, Ok(expected));
        prop_assert_eq!(words, texts);
    }

    /// Whatever comes, it is a reply or an error, and the same one in any pieces.
    #[test]
    fn arbitrary_events_are_a_reply_or_an_error(all in prop::collection::vec(any_event(), 0..12), cut in 1..40_usize) {
        let bytes = wire(&all, "\n");
        prop_assert_eq!(streamed(bytes.as_bytes(), cut), streamed(bytes.as_bytes(), 1 << 20));
    }

    /// Arbitrary JSON and arbitrary bytes make no panic.
    #[test]
    fn arbitrary_bytes_are_a_reply_or_an_error(json in any_json(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(json.to_string().as_bytes());
        let _ = decode(&bytes);
        prop_assert_eq!(streamed(&bytes, 1), streamed(&bytes, 64));
    }
}
