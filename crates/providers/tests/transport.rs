//! A model behind a network: keys, retries, deadlines, caps.

#![expect(clippy::unwrap_used, reason = "a test ends where something unexpected stands")]

mod support;

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use sommelier_protocol::{Message, ModelRequest, ModelResponse, Usage};
use sommelier_providers::{
    Blame, Clock, Heard, Live, LiveBuilder, Observer, ProviderError, ReplyLimits, SetupError, anthropic,
    openai,
};
use sommelier_runtime::{Model, ModelError, Remote};
use support::double::{Answer, Asked, Double};
use support::{awake, blocks, events, reply, wire};
use tracing_subscriber::layer::SubscriberExt;

/// A variable that cargo sets for every test, in the place of one that holds a key. This is what it holds.
const KEY_VARIABLE: &str = "CARGO_PKG_NAME";
const KEY: &str = "sommelier-providers";

/// A clock on which only pauses take time, and which remembers them.
#[derive(Clone, Default)]
struct Pauses(Arc<Mutex<Vec<Duration>>>);

impl Clock for Pauses {
    fn elapsed(&self) -> Duration {
        self.0.lock().unwrap().iter().sum()
    }

    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn sleep(&self, pause: Duration) {
        self.0.lock().unwrap().push(pause);
    }
}

impl Pauses {
    fn millis(&self) -> Vec<u128> {
        self.0.lock().unwrap().iter().map(Duration::as_millis).collect()
    }
}

/// Who notes each event of a trace, whatever its level and its target.
#[derive(Clone, Default)]
struct Traced(Arc<Mutex<Vec<String>>>);

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Traced {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        let mut line = String::new();
        event.record(&mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
            line.push_str(&format!("{field}={value:?} "));
        });
        self.0.lock().unwrap().push(line);
    }
}

/// Who notes what is heard.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Observer for Notes {
    fn hear(&self, caller: &str, heard: Heard<'_>) {
        let note = match heard {
            Heard::Text(text) => text.to_owned(),
            heard => format!("{heard:?}"),
        };
        self.0.lock().unwrap().push(format!("{caller}: {note}"));
    }
}

impl Notes {
    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

fn at(double: &Double) -> LiveBuilder {
    Live::anthropic(anthropic::Settings::default()).base_url(&double.url).without_key()
}

fn request(messages: &[Message]) -> ModelRequest<'_> {
    ModelRequest { caller: "clerk".into(), ..ModelRequest::new("claude-sonnet-5", 64, messages) }
}

fn asking(builder: LiveBuilder) -> Result<ModelResponse, ProviderError> {
    builder.build().unwrap().ask(&request(&[Message::user("Quote Focus")]))
}

fn good() -> Value {
    reply(&blocks()[..1], "end_turn")
}

fn plain() -> ModelResponse {
    anthropic::decode(good().to_string().as_bytes()).unwrap()
}

fn overloaded() -> Answer {
    Answer::json(
        529,
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    )
}

fn with_header<'a>(asked: &'a Asked, name: &str) -> Vec<&'a str> {
    asked.headers.iter().map(String::as_str).filter(|header| header.starts_with(name)).collect()
}

/// S1-18. One request as the API asks for it, one reply; the key goes as the one header that holds it.
#[test]
fn a_call_is_one_request_with_the_documented_headers() {
    let double = Double::answering([Answer::json(200, good())]);
    let builder =
        Live::anthropic(anthropic::Settings::default()).base_url(&double.url).key_variable(KEY_VARIABLE);
    assert_eq!(asking(builder), Ok(plain()));
    let asked = double.asked().remove(0);
    assert_eq!(asked.line, "POST /v1/messages HTTP/1.1");
    for header in
        ["anthropic-version: 2026-10-21", "x-api-key: sommelier-providers", "content-type: application/json"]
    {
        assert_eq!(with_header(&asked, header), [header]);
    }
    assert_eq!(with_header(&asked, "authorization"), [""; 0]);
    let body =
        r#"{"model":"claude-sonnet-5","max_tokens":64,"messages":[{"role":"user","content":"Quote Focus"}]}"#;
    assert_eq!(asked.body, body);
}

/// S1-20. The same of a chat server; without a key no header of one is sent.
#[test]
fn a_chat_server_is_asked_in_its_form() {
    let said = json!({"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}]});
    let double = Double::answering([Answer::json(200, &said), Answer::json(200, &said)]);
    let keyed = Live::openai(openai::Settings::default())
        .base_url(format!("{}/v1/", double.url))
        .key_variable(KEY_VARIABLE);
    assert_eq!(asking(keyed).unwrap().words(), "Hi.");
    let bare =
        Live::openai(openai::Settings::default()).base_url(format!("{}/proxy/v3", double.url)).without_key();
    assert_eq!(asking(bare).unwrap().words(), "Hi.");
    let asked = double.asked();
    let lines: Vec<&str> = asked.iter().map(|asked| &*asked.line).collect();
    assert_eq!(lines, ["POST /v1/chat/completions HTTP/1.1", "POST /proxy/v3/chat/completions HTTP/1.1"]);
    assert_eq!(with_header(&asked[0], "authorization"), ["authorization: bearer sommelier-providers"]);
    assert_eq!(with_header(&asked[1], "authorization"), [""; 0]);
    assert_eq!(with_header(&asked[0], "anthropic-version"), [""; 0]);
}

/// S3-31. Spans say where a model is asked, with the port that a scheme has where none is named, and whether replies come in pieces.
#[test]
fn a_model_says_where_it_is_asked() {
    let told = |base: &str, is_streamed: bool| {
        let builder = Live::openai(openai::Settings::default()).base_url(base).without_key();
        let builder = if is_streamed { builder.stream_to(Notes::default()) } else { builder };
        let live = builder.build().unwrap();
        let Remote { address, port, is_streamed } = live.remote().unwrap();
        (address.to_owned(), port, is_streamed)
    };
    for (base, address, port) in [
        ("https://api.example.org", "api.example.org", 443),
        ("http://models.example.org/v1", "models.example.org", 80),
        ("http://127.0.0.1:8080/v1", "127.0.0.1", 8080),
        ("http://[::1]:11434", "::1", 11434),
    ] {
        assert_eq!(told(base, false), (address.to_owned(), port, false));
        assert_eq!(told(base, true), (address.to_owned(), port, true));
    }
}

/// Without a key the error names the variable to set, before anything is sent.
#[test]
fn a_missing_key_names_its_variable() {
    let named =
        |builder: LiveBuilder| builder.key_variable("SOMMELIER_NO_SUCH_KEY").build().unwrap_err().to_string();
    let said = "no key for anthropic: set the environment variable SOMMELIER_NO_SUCH_KEY";
    assert_eq!(named(Live::anthropic(anthropic::Settings::default())), said);
    assert_eq!(named(Live::openai(openai::Settings::default())), said.replace("anthropic", "openai"));
    let near = Live::openai(openai::Settings::default()).base_url("http://127.0.0.1:1").without_key().build();
    assert!(near.is_ok());
}

/// An address that is none, or to which a key may not go, is refused, and nothing secret in it is repeated.
#[test]
fn a_base_url_is_checked() {
    let fault = |url: &str, variable: Option<&str>| {
        let builder = Live::openai(openai::Settings::default()).base_url(url);
        match variable {
            Some(variable) => builder.key_variable(variable),
            None => builder.without_key(),
        }
        .build()
        .err()
    };
    for (url, shown) in [
        ("", ""),
        ("ftp://host", "ftp://host"),
        ("localhost:8080", "localhost:8080"),
        ("https://user:secret@host/v1", "host/v1"),
        ("https://host/v1?key=secret", "https://host/v1"),
        ("http://localhost#here", "http://localhost"),
        ("https://user:pa#ss@host", "host"),
        ("https://user:pa?ss@host/v1", "host/v1"),
        ("http://127.0.0.1:99999", "http://127.0.0.1:99999"),
        ("http://127.0.0.1:0", "http://127.0.0.1:0"),
        ("http://127.0.0.1:/v1", "http://127.0.0.1:/v1"),
        ("http://127.0.0.1:+80", "http://127.0.0.1:+80"),
        ("http://[::1]:65536", "http://[::1]:65536"),
    ] {
        let Some(SetupError::BadUrl { url: told, .. }) = fault(url, None) else { panic!("{url}") };
        assert_eq!(told, shown);
    }
    let in_the_clear = fault("http://192.0.2.1:8080", Some(KEY_VARIABLE)).unwrap().to_string();
    assert!(in_the_clear.contains("in the clear"), "{in_the_clear}");
    for (url, variable) in [
        ("http://192.0.2.1:8080", None),
        ("https://192.0.2.1", Some(KEY_VARIABLE)),
        ("http://localhost:1", Some(KEY_VARIABLE)),
        ("http://[::1]:1", Some(KEY_VARIABLE)),
    ] {
        assert_eq!(fault(url, variable), None, "{url}");
    }
}

/// A key is in no Debug, and in no error even if the service repeats it, in a body, a header or a page.
#[test]
fn a_key_is_nowhere_to_be_seen() {
    let long = format!("{}{KEY}", "x".repeat(490));
    let answers = [
        Answer::json(401, json!({"error": {"type": KEY, "message": format!("bad key {KEY}")}}))
            .header("request-id", KEY),
        Answer::of(403, "text/html", &long),
        Answer::of(200, "text/html", &long),
        Answer::json(200, json!(KEY)),
        Answer::json(200, json!("x".repeat(460) + KEY)),
        Answer::stream(format!("event: error\ndata: {{\"error\":{{\"message\":\"{KEY}\"}}}}\n\n")),
    ];
    let count = answers.len();
    let double = Double::answering(answers);
    let builder =
        Live::anthropic(anthropic::Settings::default()).base_url(&double.url).key_variable(KEY_VARIABLE);
    assert!(!format!("{builder:?}").contains(KEY));
    let live = builder.retries(0).build().unwrap();
    assert!(!format!("{live:?}").contains(KEY), "{live:?}");
    for _ in 0..count {
        let messages = [Message::user("hello")];
        let error = live.complete(request(&messages)).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("somm"), "{error}");
    }
    assert_eq!(double.asked().len(), count);
}

/// An attempt that failed is told to a trace, without the key and without what the service said of the conversation.
#[test]
fn a_trace_tells_of_attempts_and_nothing_else() {
    let said =
        json!({"error": {"type": "overloaded_error", "message": format!("{KEY} wanted to Quote Focus")}});
    let double = Double::answering([Answer::json(529, said), Answer::json(200, good())]);
    let builder =
        Live::anthropic(anthropic::Settings::default()).base_url(&double.url).key_variable(KEY_VARIABLE);
    awake();
    let traced = Traced::default();
    let subscriber = tracing_subscriber::registry().with(traced.clone());
    tracing::subscriber::with_default(subscriber, || asking(builder.clock(Pauses::default()))).unwrap();
    let line = "message=a model call failed and is made again attempt=0 fault=service pause_ms=500 ";
    assert_eq!(*traced.0.lock().unwrap(), [line]);
    assert_eq!(double.asked().len(), 2);
}

/// What may help is asked again, with the same bytes, after the pause that the service asks for or one that doubles.
#[test]
fn a_call_is_made_again_where_that_may_help() {
    let limited = |name: &str, value: &str| {
        Answer::json(429, json!({"error": {"type": "rate_limit_error"}})).header(name, value)
    };
    let answers = [
        limited("retry-after", "7"),
        limited("retry-after-ms", "30"),
        overloaded(),
        overloaded(),
        Answer::json(200, good()),
    ];
    let (double, pauses) = (Double::answering(answers), Pauses::default());
    assert_eq!(asking(at(&double).clock(pauses.clone()).retries(4)), Ok(plain()));
    assert_eq!(pauses.millis(), [7000, 30, 2000, 4000]);
    let asked = double.asked();
    assert!(asked.iter().all(|one| *one == asked[0]), "{asked:?}");
}

/// What would fail again is not asked again, and neither is what has failed often enough, or must wait too long.
#[test]
fn a_call_is_not_made_again_without_end() {
    let kind = |error: Result<ModelResponse, ProviderError>| match error.unwrap_err() {
        ProviderError::Service(error) => (error.status, error.kind),
        other => panic!("{other}"),
    };
    let refused = || Answer::json(400, json!({"error": {"type": "invalid_request_error"}}));
    let later = |seconds| overloaded().header("retry-after", seconds);
    let rows = [
        (vec![refused()], (400, "invalid_request_error"), vec![]),
        (vec![overloaded(), overloaded(), overloaded()], (529, "overloaded_error"), vec![500, 1000]),
        (vec![later("61")], (529, "overloaded_error"), vec![]),
        (vec![later("99999999999999999999")], (529, "overloaded_error"), vec![]),
        (vec![later("50"), later("50")], (529, "overloaded_error"), vec![50_000]),
        (vec![overloaded().header("x-should-retry", "false")], (529, "overloaded_error"), vec![]),
    ];
    for (answers, (status, word), expected) in rows {
        let (count, double, pauses) = (answers.len(), Double::answering(answers), Pauses::default());
        let asked = asking(at(&double).clock(pauses.clone()).deadline(Duration::from_secs(90)));
        assert_eq!(kind(asked), (status, word.to_owned()));
        assert_eq!(pauses.millis(), expected);
        assert_eq!(double.asked().len(), count);
    }
}

/// S1-18. A streamed reply is the plain one, and its words are told as they come, the end once and last (C145).
#[test]
fn a_streamed_call_is_told_and_whole() {
    let (double, notes) =
        (Double::answering([Answer::stream(wire(&events(&good(), 8), "\n"))]), Notes::default());
    assert_eq!(asking(at(&double).stream_to(notes.clone())), Ok(plain()));
    assert_eq!(notes.all(), ["clerk: Focus is", "clerk:  free. \u{1f600}", "clerk: Whole"]);
    assert!(double.asked()[0].body.ends_with(r#","stream":true}"#));
}

/// A server that does not stream is understood all the same.
#[test]
fn a_plain_reply_to_a_streamed_request_is_read() {
    let (double, notes) = (Double::answering([Answer::json(200, good())]), Notes::default());
    assert_eq!(asking(at(&double).stream_to(notes.clone())), Ok(plain()));
    assert_eq!(notes.all(), ["clerk: Whole"]);
    assert_eq!(double.asked().len(), 1);
}

/// A stream that breaks off is asked for again, and the observer is told that its words do not count. Also where an
/// error is told in mid-stream.
#[test]
fn a_stream_that_breaks_off_is_asked_for_again() {
    let whole = wire(&events(&good(), 8), "\n");
    let first = whole.find(" free").unwrap();
    let mut failed = events(&good(), 8)[..4].to_vec();
    failed.push(("error", json!({"type": "error", "error": {"type": "overloaded_error"}})));
    let answers =
        [Answer::stream(&whole).cut(first), Answer::stream(wire(&failed, "\n")), Answer::stream(&whole)];
    let (double, notes, pauses) = (Double::answering(answers), Notes::default(), Pauses::default());
    let mut expected = plain();
    // What the service had counted for each of the two.
    let mut begun = Usage::new(12, 1);
    (begun.cache_creation_input_tokens, begun.cache_read_input_tokens) = (Some(7), Some(5));
    (0..2).for_each(|_| expected.usage.add(&begun));
    assert_eq!(asking(at(&double).clock(pauses.clone()).stream_to(notes.clone())), Ok(expected));
    let told = ["Focus is", "Again", "Focus is", "Again", "Focus is", " free. \u{1f600}", "Whole"];
    assert_eq!(notes.all(), told.map(|note| format!("clerk: {note}")));
    assert_eq!(pauses.millis(), [500, 1000]);
    assert_eq!(double.asked().len(), 3);
}

/// Where nothing was told, nothing is taken back.
#[test]
fn an_attempt_without_words_is_not_told() {
    let answers = [overloaded(), Answer::stream(wire(&events(&good(), 99), "\n"))];
    let (double, notes) = (Double::answering(answers), Notes::default());
    assert_eq!(asking(at(&double).clock(Pauses::default()).stream_to(notes.clone())), Ok(plain()));
    assert_eq!(notes.all(), ["clerk: Focus is free. \u{1f600}", "clerk: Whole"]);
    assert_eq!(double.asked().len(), 2);
}

/// A reply in one piece that breaks off is no reply either.
#[test]
fn a_plain_reply_that_breaks_off_is_asked_for_again() {
    let answers = [Answer::json(200, good()).cut(40), Answer::json(200, good())];
    let double = Double::answering(answers);
    assert_eq!(asking(at(&double).clock(Pauses::default())), Ok(plain()));
    assert_eq!(double.asked().len(), 2);
}

/// Nobody there: the network's fault, after every attempt.
#[test]
fn a_service_that_is_not_there_is_unreachable() {
    let pauses = Pauses::default();
    // A port that was free a moment ago may be another test's by now; this one is given to nobody who asks for any.
    let builder = Live::openai(openai::Settings::default()).base_url("http://127.0.0.1:1").without_key();
    let error = asking(builder.clock(pauses.clone())).unwrap_err();
    assert!(matches!(error, ProviderError::Unreachable { .. }), "{error}");
    assert_eq!((error.blame(), pauses.millis()), (Blame::Network, vec![500, 1000]));
}

/// The time of a call holds for a head and for a body that never come; what the request says goes first.
#[test]
fn a_call_ends_with_its_time() {
    let good = || Answer::json(200, good());
    let streamed = Answer::stream(wire(&events(&self::good(), 8), "\n"));
    let ms = Duration::from_millis;
    for answer in [good().without_head(), good().without_end(), streamed.without_end()] {
        let double = Double::answering([answer]);
        let error = asking(at(&double).deadline(ms(300))).unwrap_err();
        assert_eq!((&error, error.blame()), (&ProviderError::TimedOut { waited: ms(300) }, Blame::Budget));
    }
    let double = Double::answering([good().without_head()]);
    let messages = [Message::user("hello")];
    let limited = ModelRequest { time_left: Some(200), ..request(&messages) };
    let error = at(&double).build().unwrap().complete(limited).unwrap_err();
    assert_eq!(error.kind(), "timed_out");
}

/// A request whose time is over is not sent.
#[test]
fn a_call_without_time_is_not_made() {
    let live = Live::openai(openai::Settings::default())
        .base_url("http://127.0.0.1:1")
        .without_key()
        .build()
        .unwrap();
    let messages = [Message::user("hello")];
    let late = ModelRequest { time_left: Some(0), ..request(&messages) };
    assert_eq!(live.ask(&late), Err(ProviderError::TimedOut { waited: Duration::ZERO }));
}

/// A reply without an end is cut off at its cap, in one piece or streamed, and not asked for again.
#[test]
fn an_endless_reply_is_cut_off() {
    let limits = ReplyLimits { total_bytes: 100_000, ..ReplyLimits::default() };
    for (answer, what) in [
        (Answer::json(200, "[1,".repeat(1000)).endless(), "the reply exceeds 100000 bytes"),
        (Answer::stream(": still here\n\n".repeat(100)).endless(), "the stream exceeds 100000 bytes"),
    ] {
        let double = Double::answering([answer]);
        assert_eq!(asking(at(&double).limits(limits)).unwrap_err().to_string(), what);
        assert_eq!(double.asked().len(), 1);
    }
}

/// A page in the place of a reply, and a redirect, are the service's fault; a key follows to no other host.
#[test]
fn what_is_not_the_service_is_told() {
    let double = Double::answering([Answer::of(200, "text/html; charset=utf-8", "<h1>Sign in</h1>")]);
    let error = asking(at(&double)).unwrap_err();
    assert_eq!(error.to_string(), "the reply is text/html and no JSON: <h1>Sign in</h1>");
    let elsewhere = Double::answering([]);
    let double = Double::answering([Answer::json(307, "").header("location", &elsewhere.url)]);
    let Err(ProviderError::Service(error)) = asking(at(&double)) else { panic!("it was redirected") };
    assert_eq!((error.status, error.blame()), (307, Blame::Service));
    assert_eq!((double.asked().len(), elsewhere.asked().len()), (1, 0));
}

/// The core reads in its own words what went wrong, with the status and whose fault it is.
#[test]
fn the_core_is_told_in_its_own_words() {
    let double = Double::answering([Answer::json(
        404,
        json!({"error": {"type": "not_found_error", "message": "model: x"}}),
    )]);
    let messages = [Message::user("hello")];
    let error = at(&double).build().unwrap().complete(request(&messages)).unwrap_err();
    let detail = "not_found_error: model: x (fault: caller)".to_owned();
    assert_eq!(error, ModelError::Service { status: 404, detail });
    assert_eq!(double.asked().len(), 1);
}
