//! Against a server that refuses what the service refuses, and fails in each way that it knows.

#![expect(clippy::unwrap_used, reason = "a test ends where something unexpected stands")]

use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use sommelier_fake_server::{FakeServer, Fault, Faults, Planned, Script, Settings};
use sommelier_protocol::{
    Message, ModelRequest, ModelResponse, RawJson, StopReason, System, ToolChoice, ToolDefinition, ToolName,
};
use sommelier_providers::anthropic::{Cache, Thinking};
use sommelier_providers::{Clock, Heard, Live, Observer, ProviderError, ReplyLimits, anthropic};

/// A clock that waits for nothing and remembers for what it would have waited.
#[derive(Clone, Default)]
struct Pauses(Arc<Mutex<Vec<Duration>>>);

impl Clock for Pauses {
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn sleep(&self, pause: Duration) {
        self.0.lock().unwrap().push(pause);
    }
}

struct Deaf;

impl Observer for Deaf {
    fn hear(&self, _: &str, _: Heard<'_>) {}
}

fn server(script: &str, faults: &[(u64, Fault)]) -> FakeServer {
    let faults =
        faults.iter().map(|(at, fault)| Planned { at: *at, until: None, fault: fault.clone() }).collect();
    let settings = Settings {
        script: Script::read(script).unwrap(),
        faults: Faults { faults },
        models: vec!["claude-sonnet-5".into()],
        strict: true,
        ..Settings::default()
    };
    FakeServer::start(0, settings).unwrap()
}

const SCRIPT: &str = r#"{"replies": [{"repeat": true, "text": "I look.",
    "tool_use": [{"id": "toolu_1", "name": "get_quote", "input": {"room": "Focus"}}]}]}"#;

/// Everything that a request may say, in a request that the service takes.
fn settings() -> anthropic::Settings {
    anthropic::Settings {
        tool_choice: Some(ToolChoice::Auto { disable_parallel_tool_use: None }),
        disable_parallel_tool_use: true,
        thinking: Some(Thinking::Adaptive),
        cache: Some(Cache::OneHour),
        stop_sequences: vec!["END".into()],
        rest: vec![("metadata".into(), RawJson::parse(r#"{"user_id":"u-1"}"#).unwrap())],
        ..anthropic::Settings::default()
    }
}

/// More time than any machine needs for a call.
const LONG: Duration = Duration::from_secs(50);

/// What comes of one call, and the pauses before it was over.
fn asked(server: &FakeServer, is_streamed: bool) -> (Result<ModelResponse, ProviderError>, Vec<u64>) {
    asked_within(LONG, server, is_streamed)
}

/// As [`asked`], of a call that has so much time.
fn asked_within(
    deadline: Duration,
    server: &FakeServer,
    is_streamed: bool,
) -> (Result<ModelResponse, ProviderError>, Vec<u64>) {
    let pauses = Pauses::default();
    let limits = ReplyLimits { total_bytes: 200_000, ..ReplyLimits::default() };
    let builder = Live::anthropic(settings()).base_url(server.url()).key_variable("CARGO_PKG_NAME");
    let builder = builder.clock(pauses.clone()).limits(limits).deadline(deadline);
    let live = if is_streamed { builder.stream_to(Deaf) } else { builder }.build().unwrap();
    let schema = RawJson::parse(r#"{"type":"object","properties":{"room":{"type":"string"}}}"#).unwrap();
    let messages = [Message::user("Quote Focus")];
    let reply = live.ask(&ModelRequest {
        system: Some(Cow::Owned(System::Text("You quote rooms.".into()))),
        tools: vec![ToolDefinition::new(ToolName::new("get_quote").unwrap(), "Quotes a room.", schema)]
            .into(),
        ..ModelRequest::new("claude-sonnet-5", 64, &messages)
    });
    let waited =
        pauses.0.lock().unwrap().iter().map(|pause| u64::try_from(pause.as_millis()).unwrap()).collect();
    (reply, waited)
}

/// S1-18. With every setting the request breaks no rule of the service, plain or streamed, and brings the same reply; the second
/// time the prompt cache serves it.
#[test]
fn a_request_with_every_setting_is_legal() {
    let server = server(SCRIPT, &[]);
    let (plain, streamed) = (asked(&server, false), asked(&server, true));
    let mut plain = plain.0.unwrap();
    let streamed = streamed.0.unwrap();
    assert_eq!((plain.words(), plain.stop_reason.clone()), ("I look.".into(), Some(StopReason::ToolUse)));
    assert_eq!(plain.content[1].as_tool_use().unwrap().input().get(), r#"{"room":"Focus"}"#);
    plain.id = streamed.id.clone();
    // The breakpoints stand where the second request is as the first was: what one wrote into the cache the other reads.
    let written = plain.usage.cache_creation_input_tokens.replace(0);
    assert!(written.is_some_and(|tokens| tokens > 0), "{:?}", plain.usage);
    plain.usage.cache_read_input_tokens = written;
    assert_eq!(streamed, plain);
    let log = server.log();
    assert_eq!((log.requests, log.refused, log.noted.len()), (2, 0, 0), "{log:?}");
}

/// S1-18. What passes is asked again and comes right; nothing is asked more often than that.
#[test]
fn what_passes_comes_right() {
    let limited = |retry_after| Fault::RateLimited { retry_after };
    let rows = [
        (limited(Some(55)), [55_000]),
        (limited(None), [500]),
        (Fault::Overloaded, [500]),
        (Fault::ApiError, [500]),
        (Fault::Timeout, [500]),
        (Fault::HangUp, [500]),
        (Fault::CutAfterBytes(40), [500]),
        (Fault::CutAfterEvents(3), [500]),
        (Fault::ErrorAfterEvents(3), [500]),
    ];
    for (fault, pauses) in rows {
        for is_streamed in [false, true] {
            let name = fault.name();
            let server = server(SCRIPT, &[(1, fault.clone())]);
            let (reply, waited) = asked(&server, is_streamed);
            // A pause that is longer than the time of the call is not made.
            if pauses == [55_000] {
                assert!(matches!(reply, Err(ProviderError::Service(error)) if error.status == 429));
                assert_eq!((waited, server.log().requests), (vec![], 1));
                continue;
            }
            assert_eq!(reply.unwrap().words(), "I look.", "{name}");
            assert_eq!((waited, server.log().requests), (pauses.to_vec(), 2), "{name}");
        }
    }
}

/// S1-18. What does not pass is an error that says what happened, and is not asked again.
#[test]
fn what_does_not_pass_is_told_once() {
    let rows = [
        (Fault::MalformedJson, "the reply: EOF", "an event of the stream: EOF"),
        (
            Fault::WrongContentType,
            "the reply is text/html and no JSON: ",
            "the reply is text/html and no JSON: ",
        ),
        (Fault::EndlessStream, "the reply exceeds 200000 bytes", "the stream exceeds 200000 bytes"),
        (Fault::OversizedBody(300_000), "the reply exceeds 200000 bytes", "the stream exceeds 200000 bytes"),
    ];
    for (fault, plain, streamed) in rows {
        for (is_streamed, said) in [(false, plain), (true, streamed)] {
            let server = server(SCRIPT, &[(1, fault.clone())]);
            let (reply, waited) = asked(&server, is_streamed);
            let error = reply.unwrap_err().to_string();
            assert!(error.starts_with(said), "{}: {error}", fault.name());
            assert_eq!((waited, server.log().requests), (vec![], 1), "{}", fault.name());
        }
    }
}

/// S1-18. A reply that does not come in the time of the call is not waited for, and not asked for again.
#[test]
fn what_takes_too_long_is_told_once() {
    for is_streamed in [false, true] {
        let server = server(SCRIPT, &[(1, Fault::SlowHeaders(u64::MAX))]);
        let (reply, waited) = asked_within(Duration::from_millis(600), &server, is_streamed);
        let timed_out = ProviderError::TimedOut { waited: Duration::from_millis(600) };
        assert_eq!((reply, waited), (Err(timed_out), vec![]));
        assert!(server.log().requests <= 1);
    }
}

/// S1-18. What a model does is a reply and no error, for the core to judge: it declines, is cut in a call, repeats an id.
#[test]
fn what_the_model_does_is_a_reply() {
    for is_streamed in [false, true] {
        let reply = |fault: Fault| asked(&server(SCRIPT, &[(1, fault)]), is_streamed).0.unwrap();
        assert_eq!(reply(Fault::Refusal).stop_reason, Some(StopReason::Refusal));
        let cut = reply(Fault::MaxTokensInCall);
        assert_eq!(cut.stop_reason, Some(StopReason::MaxTokens));
        let call = cut.content.iter().find_map(|block| block.as_tool_use()).unwrap();
        assert_eq!(call.broken_input().is_some(), is_streamed, "{call:?}");
        let twice = reply(Fault::DuplicateIds);
        let ids: Vec<&str> =
            twice.content.iter().filter_map(|block| Some(block.as_tool_use()?.id())).collect();
        assert_eq!((ids.len(), ids[0]), (2, ids[1]));
    }
}

/// A request that breaks a rule is refused by the service in its own words, and not sent again.
#[test]
fn a_refusal_of_the_service_is_the_callers() {
    let server = server(SCRIPT, &[]);
    let live =
        Live::anthropic(anthropic::Settings::default()).base_url(server.url()).key_variable("CARGO_PKG_NAME");
    let messages = [Message::assistant(vec![])];
    let request = ModelRequest::new("claude-sonnet-5", 64, &messages);
    let Err(ProviderError::Service(error)) = live.build().unwrap().ask(&request) else {
        panic!("it was taken")
    };
    assert_eq!((error.status, error.kind.as_str()), (400, "invalid_request_error"));
    assert!(error.request_id.is_some());
    assert_eq!(server.log().requests, 1);
}
