//! Each fault of a plan, as it is seen on the wire.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use harness::{Told, bytes, connect, faulty, hello, post, server, streamed, tool, until_so, with};
use serde_json::{Value, json};
use sommelier_fake_server::{Faults, Script, Settings};

/// What the first request gets, with these faults. The second gets what it would get without any.
fn struck(fault: Value, request: &Value) -> Told {
    let name = fault.as_str().map(str::to_owned);
    let name = name.unwrap_or_else(|| fault.as_object().unwrap().keys().next().unwrap().clone());
    let server = faulty(&[fault]);
    let told = post(&server, request);
    let after = post(&server, &hello());
    assert_eq!((after.status, after.is_whole), (200, true), "a fault strikes once");
    assert_eq!(server.log().faults.get(&*name), Some(&1));
    told
}

fn error(told: &Told) -> (u16, String, Option<String>) {
    let kind = told.json()["error"]["type"].as_str().unwrap_or_default().to_owned();
    (told.status, kind, told.header("retry-after").map(str::to_owned))
}

#[test]
fn errors_of_the_service() {
    let cases = [
        (json!({"rate_limited": {"retry_after": 3}}), (429, "rate_limit_error", Some("3"))),
        (json!({"rate_limited": {}}), (429, "rate_limit_error", None)),
        (json!("overloaded"), (529, "overloaded_error", None)),
        (json!("api_error"), (500, "api_error", None)),
        (json!("timeout"), (504, "timeout_error", None)),
    ];
    for (fault, (status, kind, after)) in cases {
        let expected = (status, kind.to_owned(), after.map(str::to_owned));
        assert_eq!(error(&struck(fault.clone(), &hello())), expected, "{fault}");
        assert_eq!(error(&struck(fault.clone(), &streamed(hello()))), expected, "{fault}");
    }
}

#[test]
fn slow_headers() {
    let started = Instant::now();
    let told = struck(json!({"slow_headers": 300}), &hello());
    assert_eq!(told.status, 200);
    assert!(started.elapsed() >= Duration::from_millis(300), "{:?}", started.elapsed());
}

#[test]
fn slow_events() {
    let started = Instant::now();
    let told = struck(json!({"slow_events": 40}), &streamed(hello()));
    let events = u32::try_from(told.events().len()).unwrap();
    assert!(told.is_whole && events > 5);
    assert!(started.elapsed() >= Duration::from_millis(40) * events, "{:?}", started.elapsed());
}

#[test]
fn no_answer_at_all() {
    assert_eq!(struck(json!("hang_up"), &hello()).status, 0);
}

#[test]
fn a_reply_that_is_cut_after_some_bytes() {
    for request in [hello(), streamed(hello())] {
        let told = struck(json!({"cut_after_bytes": 100}), &request);
        assert_eq!((told.status, told.body.len(), told.is_whole), (200, 100, false));
    }
}

#[test]
fn a_stream_that_is_cut_after_some_events() {
    let told = struck(json!({"cut_after_events": 4}), &streamed(hello()));
    assert_eq!(told.kinds(), ["message_start", "ping", "content_block_start", "content_block_delta"]);
    assert!(!told.is_whole);
    let told = struck(json!({"cut_after_events": 4}), &hello());
    assert!(!told.is_whole && !told.body.is_empty());
}

/// An error can come after a 200.
#[test]
fn a_stream_that_ends_in_an_error() {
    let told = struck(json!({"error_after_events": 3}), &streamed(hello()));
    assert_eq!(told.kinds(), ["message_start", "ping", "content_block_start", "error"]);
    assert_eq!(told.events()[3]["error"]["type"], "overloaded_error");
    assert_eq!((told.status, told.is_whole), (200, true));
    assert_eq!(struck(json!({"error_after_events": 3}), &hello()).status, 529);
}

#[test]
fn json_that_is_none() {
    let told = struck(json!("malformed_json"), &hello());
    assert_eq!(
        (told.status, told.header("content-type"), told.is_whole),
        (200, Some("application/json"), true)
    );
    assert!(!told.body.is_empty() && told.json().is_null(), "{}", told.body);
    let told = struck(json!("malformed_json"), &streamed(hello()));
    assert!(told.is_whole && told.events()[2].is_null() && told.events()[3].is_object(), "{}", told.body);
}

#[test]
fn a_page_in_the_place_of_a_reply() {
    for request in [hello(), streamed(hello())] {
        let told = struck(json!("wrong_content_type"), &request);
        assert_eq!((told.status, told.header("content-type")), (200, Some("text/html; charset=utf-8")));
        assert!(told.body.starts_with("<html>"));
    }
}

#[test]
fn a_refusal() {
    let told = struck(json!("refusal"), &hello()).json();
    assert_eq!((&told["stop_reason"], &told["content"]), (&json!("refusal"), &json!([])));
    let events = struck(json!("refusal"), &streamed(hello())).events();
    assert_eq!(events[2]["delta"]["stop_reason"], "refusal");
    assert_eq!(events[2]["delta"]["stop_details"]["type"], "refusal");
}

/// The call stands there, and its arguments are not whole.
#[test]
fn a_reply_that_is_cut_within_a_call() {
    let request = with(hello(), &[("tools", json!([tool("get_quote")]))]);
    let told = struck(json!("max_tokens_in_call"), &request).json();
    assert_eq!(told["stop_reason"], "max_tokens");
    assert_eq!(
        (&told["content"][1]["name"], &told["content"][1]["input"]),
        (&json!("get_quote"), &json!({}))
    );

    let told = struck(json!("max_tokens_in_call"), &streamed(request));
    let pieces = told.events();
    let written: String = pieces.iter().filter_map(|event| event["delta"]["partial_json"].as_str()).collect();
    assert_eq!(written, r#"{"room"#);
    assert!(told.kinds().iter().filter(|kind| *kind == "content_block_stop").count() == 2);
}

#[test]
fn two_calls_of_one_id() {
    let request = with(hello(), &[("tools", json!([tool("get_quote")]))]);
    let told = struck(json!("duplicate_ids"), &request).json();
    let ids: Vec<&Value> =
        told["content"].as_array().unwrap().iter().filter_map(|block| block.get("id")).collect();
    assert_eq!(ids, [&json!("toolu_fake_000001_0"); 2]);
    assert_eq!(told["stop_reason"], "tool_use");
}

/// Calls of the script get one id as well.
#[test]
fn scripted_calls_of_one_id() {
    let script = json!({"replies": [{"tool_use": [{"name": "get_quote"}, {"name": "get_policy"}]}]});
    let server = server(Settings {
        script: Script::read(&script.to_string()).unwrap(),
        faults: Faults::read(r#"{"faults": [{"at": 1, "fault": "duplicate_ids"}]}"#).unwrap(),
        ..Settings::default()
    });
    let content = post(&server, &hello()).json()["content"].clone();
    let calls = |member: &str| [content[0][member].clone(), content[1][member].clone()];
    assert_eq!(calls("id"), [json!("toolu_fake_000001_0"), json!("toolu_fake_000001_0")]);
    assert_eq!(calls("name"), [json!("get_quote"), json!("get_policy")]);
}

/// It goes on until the client has enough, and holds neither the next request nor the end of the server up.
#[test]
fn a_reply_without_an_end() {
    for request in [hello(), streamed(hello())] {
        let server = faulty(&[json!("endless_stream")]);
        let mut stream = connect(&server);
        stream.write_all(&bytes("POST", "/v1/messages", &json!({}), &request.to_string())).unwrap();
        let mut much = vec![0; 1_000_000];
        stream.read_exact(&mut much).unwrap();
        assert_eq!(post(&server, &hello()).status, 200);
        drop(server);
    }
}

#[test]
fn a_reply_that_is_too_long() {
    let told = struck(json!({"oversized_body": 3_000_000}), &hello());
    assert_eq!(told.json()["content"][0]["text"].as_str().map(str::len), Some(3_000_000));
    let told = struck(json!({"oversized_body": 3_000_000}), &streamed(hello()));
    let text: usize =
        told.events().iter().filter_map(|event| event["delta"]["text"].as_str()).map(str::len).sum();
    assert_eq!(text, 3_000_000);
}

/// Faults of one request add up, and a range strikes each request in it.
#[test]
fn several_faults_and_a_range() {
    let plan = json!({"faults": [
        {"at": 2, "until": 3, "fault": "overloaded"},
        {"at": 3, "fault": {"slow_headers": 200}}
    ]});
    let faults = Faults::read(&plan.to_string()).unwrap();
    let server = server(Settings { faults, ..Settings::default() });
    let statuses = [(); 4].map(|()| post(&server, &hello()).status);
    assert_eq!(statuses, [200, 529, 529, 200]);
    assert_eq!(server.log().entries[2].faults, ["overloaded", "slow_headers"]);
}

/// A request that breaks a rule is refused for that, whatever was planned.
#[test]
fn no_fault_strikes_an_illegal_request() {
    let server = faulty(&[json!("overloaded")]);
    assert_eq!(post(&server, &json!({})).status, 400);
    assert!(server.log().faults.is_empty());
}

/// What was lost on its way is said again, and what arrived is not.
#[test]
fn a_reply_that_is_lost_is_not_used_up() {
    let lost = [
        json!({"rate_limited": {}}),
        json!("api_error"),
        json!("hang_up"),
        json!({"cut_after_bytes": 10}),
        json!({"cut_after_events": 3}),
        json!({"error_after_events": 3}),
        json!("malformed_json"),
        json!("wrong_content_type"),
    ];
    let arrived = [json!({"slow_headers": 1}), json!("duplicate_ids"), json!({"oversized_body": 10})];
    let cases =
        lost.iter().map(|fault| (fault, "first")).chain(arrived.iter().map(|fault| (fault, "second")));
    for (fault, next) in cases {
        let script = json!({"replies": [{"text": "first"}, {"text": "second"}]});
        let plan = json!({"faults": [{"at": 1, "fault": fault}]});
        let server = server(Settings {
            script: Script::read(&script.to_string()).unwrap(),
            faults: Faults::read(&plan.to_string()).unwrap(),
            ..Settings::default()
        });
        post(&server, &streamed(hello()));
        assert_eq!(post(&server, &hello()).json()["content"][0]["text"], next, "{fault}");
    }
}

/// S1-20. A pause may be told as a date, which our own reader takes for the pause that it is.
#[test]
fn a_pause_may_be_a_date() {
    let server = faulty(&[json!({"rate_limited_until": 30})]);
    let told = post(&server, &hello());
    let date = told.header("retry-after").unwrap().to_owned();
    assert_eq!((told.status, date.len()), (429, "Thu, 01 Jan 1970 00:00:30 GMT".len()));
    assert!(date.ends_with(" GMT") && date.contains(", "), "{date}");
    let server = faulty(&[json!({"rate_limited_until": u64::MAX})]);
    assert_eq!(post(&server, &hello()).header("retry-after"), None, "no date is that late");
}

/// A plan is bounded: what no process could hold is refused as it is read, and pauses without end end with the server.
#[test]
fn a_plan_is_bounded() {
    let plan = |bytes: u64| {
        Faults::read(&json!({"faults": [{"at": 1, "fault": {"oversized_body": bytes}}]}).to_string())
    };
    assert!(plan(256 << 20).is_ok());
    let error = plan(u64::MAX).unwrap_err().to_string();
    assert!(
        error.starts_with(
            "this is no plan of faults: a body of 18446744073709551615 bytes; 268435456 are the most"
        ),
        "{error}"
    );
    let server = faulty(&vec![json!({"slow_headers": u64::MAX}); 2000]);
    let mut line = connect(&server);
    line.write_all(&bytes("POST", "/v1/messages", &json!({}), &hello().to_string())).unwrap();
    until_so(|| !server.log().entries.is_empty());
}

/// A fault that would never strike is refused, and what would be right is told.
#[test]
fn a_plan_strikes() {
    let plan = |planned: Value| {
        let read = Faults::read(&json!({ "faults": [planned] }).to_string());
        read.map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(plan(json!({"at": 2, "until": 2, "fault": "overloaded"})), Ok(()));
    let never = plan(json!({"at": 0, "fault": "overloaded"})).unwrap_err();
    assert!(
        never.starts_with("this is no plan of faults: `at` is 0, and requests are counted from 1"),
        "{never}"
    );
    let back = plan(json!({"at": 3, "until": 2, "fault": "overloaded"})).unwrap_err();
    assert!(back.contains("`until` is 2, before `at`, 3; it is 3 or more"), "{back}");
    assert!(plan(json!({"at": 3, "fault": "overloaded", "til": 4})).is_err());
}
