//! What a service does that is broken, or means harm.

#![expect(clippy::unwrap_used, reason = "a test ends where something unexpected stands")]

mod support;

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sommelier_protocol::{Message, ModelRequest, ModelResponse, Usage};
use sommelier_providers::{
    Heard, Live, LiveBuilder, Observer, ProviderError, ReplyLimits, Retry, SetupError, anthropic, openai,
};
use support::double::{Answer, Double};
use support::{events, reply, streamed, wire};

/// A variable that cargo sets for every test, in the place of one that holds a key. This is what it holds.
const KEY_VARIABLE: &str = "CARGO_PKG_NAME";
const KEY: &str = "sommelier-providers";

fn keyed(double: &Double) -> LiveBuilder {
    Live::anthropic(anthropic::Settings::default())
        .base_url(&double.url)
        .key_variable(KEY_VARIABLE)
        .retries(0)
}

fn asking(builder: LiveBuilder) -> Result<ModelResponse, ProviderError> {
    let messages = [Message::user("Quote Focus")];
    builder.build().unwrap().ask(&ModelRequest::new("claude-sonnet-5", 64, &messages))
}

/// Each character as an escape of JSON.
fn escaped(text: &str) -> String {
    text.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect()
}

/// What is heard of words, and what came as bytes.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<String>>);

impl Observer for Notes {
    fn hear(&self, _: &str, heard: Heard<'_>) {
        if let Heard::Text(words) = heard {
            self.0.lock().unwrap().push_str(words);
        }
    }
}

/// A reply with the key in every place that a service writes.
fn with_key() -> Value {
    let mut reply = reply(
        &[
            json!({"type": "text", "text": format!("The key is {KEY}. {}", KEY.to_uppercase())}),
            json!({"type": "tool_use", "id": format!("toolu_{KEY}"), "name": KEY, "input": {KEY: [KEY, 12.50]}}),
            json!({"type": format!("new_{KEY}"), "value": KEY}),
        ],
        "end_turn",
    );
    (reply["id"], reply["model"], reply["beyond"]) = (json!(KEY), json!(KEY), json!({KEY: KEY}));
    (reply["stop_reason"], reply["usage"]["tier"]) = (json!(KEY), json!(KEY));
    reply
}

/// A key that the service sends back is in no reply, no words on the way and no bytes; all else stays as it came.
#[test]
fn a_key_that_comes_back_in_a_reply_is_taken_out() {
    let plain = with_key().to_string();
    let masked = plain.replace(KEY, "[key]").replace(&KEY.to_uppercase(), "[key]");
    let expected = anthropic::decode(masked.as_bytes()).unwrap();
    let answers = [
        Answer::json(200, &plain),
        Answer::json(200, plain.replace(KEY, &escaped(KEY))),
        Answer::stream(wire(&events(&with_key(), 5), "\n")),
        Answer::stream(wire(&events(&with_key(), 500), "\n")),
    ];
    let count = answers.len();
    let double = Double::answering(answers);
    for place in 0..count {
        let (notes, bytes) = (Notes::default(), Arc::new(Mutex::new(Vec::new())));
        let raw = Arc::clone(&bytes);
        let builder = keyed(&double)
            .stream_to(notes.clone())
            .raw_to(move |_, piece| raw.lock().unwrap().extend_from_slice(piece));
        assert_eq!(asking(builder).unwrap(), expected, "{place}");
        let told = notes.0.lock().unwrap().clone();
        assert_eq!(told, if place < 2 { "" } else { "The key is [key]. [key]" });
        let raw = String::from_utf8(bytes.lock().unwrap().clone()).unwrap().to_lowercase();
        assert!(raw.contains("[key]") && !raw.contains(KEY) && !raw.contains(&escaped(KEY)), "{raw}");
    }
    assert_eq!(double.asked().len(), count);
}

/// Words that only begin like the key are told in the end, and stay in the reply.
#[test]
fn what_only_begins_like_a_key_is_told() {
    let said =
        reply(&[json!({"type": "text", "text": "We have a sommelier, some sommelier-pro"})], "end_turn");
    let double = Double::answering([Answer::stream(wire(&events(&said, 4), "\n"))]);
    let notes = Notes::default();
    let reply = asking(keyed(&double).stream_to(notes.clone())).unwrap();
    assert_eq!(reply, anthropic::decode(said.to_string().as_bytes()).unwrap());
    assert_eq!(*notes.0.lock().unwrap(), reply.words());
    assert_eq!(double.asked().len(), 1);
}

/// A text without the key stays byte for byte, with whatever backslashes; arguments that were broken are looked at as well.
#[test]
fn backslashes_around_a_key_leave_a_reply_whole() {
    let said = |text: &str| {
        json!({"choices": [{"message": {"content": text, "tool_calls": [
        {"id": "a", "function": {"name": "quote", "arguments": format!("{{\"x\":\"{}", escaped(KEY))}}
    ]}, "finish_reason": "stop"}]})
    };
    let text = format!("\\\\\\{KEY}\\ \\\\n\u{e9}{}", "\\".repeat(100));
    let double = Double::answering([Answer::json(200, said(&text))]);
    let builder = Live::openai(openai::Settings::default()).base_url(&double.url).key_variable(KEY_VARIABLE);
    let reply = asking(builder).unwrap();
    assert_eq!(reply.words(), format!("[key]\\ \\\\n\u{e9}{}", "\\".repeat(100)));
    let call = reply.content.iter().find_map(|block| block.as_tool_use()).unwrap();
    assert!(call.input().get().ends_with(r#"[key]"}"#), "{}", call.input().get());
    assert_eq!(double.asked().len(), 1);
}

/// A key is in no error: not in lower case, not in escapes, not by its beginning where a body breaks off.
#[test]
fn a_key_in_another_form_is_in_no_error() {
    let half = format!("bad key {}", &KEY[..9]);
    let answers = [
        Answer::of(200, &format!("text/{}", KEY.to_uppercase()), "hello"),
        Answer::json(401, format!(r#"{{"oops":"{}"}}"#, escaped(KEY))),
        Answer::json(401, format!(r#"{{"oops":"{}"}}"#, escaped(KEY).replace('\\', "\\\\"))),
        Answer::of(401, "text/plain", &half),
        Answer::of(401, "text/plain", format!("{half} and so on")).cut(half.len()),
        Answer::of(401, "text/plain", format!("{{\"x\":\"{}", &escaped(KEY)[..27])),
        Answer::json(401, json!({"error": {"message": &half, "type": &half}})),
    ];
    let count = answers.len();
    let double = Double::answering(answers);
    for _ in 0..count {
        let error = asking(keyed(&double)).unwrap_err().to_string();
        assert!(error.contains("[key]"), "{error}");
        let low = error.to_lowercase();
        assert!(!low.contains("somm") && !low.contains("\\u0073"), "{error}");
    }
    assert_eq!(double.asked().len(), count);
}

/// A plain reply has no more blocks or calls than a streamed one; what it used is known.
#[test]
fn a_plain_reply_has_bounds_too() {
    let limits = ReplyLimits { blocks: 2, ..ReplyLimits::default() };
    let text = json!({"type": "text", "text": "a"});
    let call = json!({"id": "a", "function": {"name": "quote", "arguments": "{}"}});
    let chat = |calls: usize| json!({"choices": [{"message": {"tool_calls": vec![call.clone(); calls]}}]});
    let double = Double::answering([
        Answer::json(200, reply(&vec![text.clone(); 2], "end_turn")),
        Answer::json(200, reply(&vec![text; 3], "end_turn")),
        Answer::json(200, chat(2)),
        Answer::json(200, chat(3)),
    ]);
    let openai = || Live::openai(openai::Settings::default()).base_url(&double.url).without_key();
    assert!(asking(keyed(&double).limits(limits)).is_ok());
    let too_large = |unit| ProviderError::TooLarge { what: "the reply", most: 2, unit };
    assert_eq!(asking(keyed(&double).limits(limits)), Err(too_large("blocks")));
    assert!(asking(openai().limits(limits)).is_ok());
    assert_eq!(asking(openai().limits(limits)), Err(too_large("calls")));
    assert_eq!(double.asked().len(), 4);
}

/// Counts near the end of numbers are not added beyond it.
#[test]
fn counts_have_an_end() {
    let mut large = reply(&[json!({"type": "text", "text": "a"})], "end_turn");
    for name in ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"] {
        large["usage"][name] = u64::MAX.into();
    }
    let begun = wire(&events(&large, 9)[..1], "\n");
    let double = Double::answering([Answer::stream(begun), Answer::json(200, &large)]);
    let used: Usage = asking(keyed(&double).retries(1)).unwrap().usage;
    assert_eq!((used.total_input_tokens(), used.output_tokens), (u64::MAX, u64::MAX));
    assert_eq!(double.asked().len(), 2);
}

/// An error that comes with a status of 200 is an error in either form, and the head says when to ask again.
#[test]
fn an_error_behind_a_success_is_told_and_retried() {
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let event = wire(&[("error", error.clone())], "\n");
    let answers = [
        Answer::json(200, &error).header("retry-after", "7"),
        Answer::stream(&event).header("retry-after", "7"),
        Answer::stream(&event),
    ];
    let double = Double::answering(answers);
    let after = Retry::After(Duration::from_secs(7));
    for retry in [after, after, Retry::Backoff] {
        let Err(ProviderError::Service(error)) = asking(keyed(&double)) else { panic!("no error") };
        assert_eq!((error.status, &*error.kind, error.retry), (529, "overloaded_error", retry));
    }
    assert_eq!(double.asked().len(), 3);
}

/// A body that only says what is wrong does not take the time of the call.
#[test]
fn the_body_of_an_error_is_not_waited_for() {
    let double = Double::answering([Answer::json(529, "x".repeat(40)).without_end()]);
    let Err(ProviderError::Service(error)) = asking(keyed(&double)) else { panic!("no error") };
    assert_eq!((error.status, error.retry), (529, Retry::Backoff));
    assert_eq!(error.message, "x".repeat(20));
    assert_eq!(double.asked().len(), 1);
}

/// What is no whole reply of an assistant is none, in one piece or streamed.
#[test]
fn a_reply_that_is_not_whole_or_not_the_models_is_refused() {
    let whole = reply(&[json!({"type": "text", "text": "a"})], "end_turn");
    for reason in [Value::Null, json!(""), json!(" ")] {
        let mut open = whole.clone();
        open["stop_reason"] = reason;
        let refused = anthropic::decode(open.to_string().as_bytes());
        let fault = "the reply does not say why the model stopped".to_owned();
        assert_eq!(refused, Err(ProviderError::Malformed { detail: fault }));
        assert_eq!(streamed(wire(&events(&open, 9), "\n").as_bytes(), 64).0, refused);
    }
    let mut of_user = whole.clone();
    of_user["role"] = json!("user");
    assert!(matches!(
        anthropic::decode(of_user.to_string().as_bytes()),
        Err(ProviderError::Malformed { .. })
    ));
    let mut begun = events(&whole, 9);
    begun[0].1["message"]["content"] = json!([{"type": "text", "text": "lost"}]);
    let detail = "the stream begins a message that has content already".to_owned();
    assert_eq!(streamed(wire(&begun, "\n").as_bytes(), 64).0, Err(ProviderError::Malformed { detail }));
}

/// A piece that is not of its block's kind is refused; a kind that nobody knows may take any.
#[test]
fn a_piece_of_the_wrong_kind_is_refused() {
    let delta = |block: Value, delta: Value| {
        let mut all = events(&reply(&[json!({"type": "text", "text": "a"})], "end_turn"), 9);
        let start = all.iter().position(|(name, _)| *name == "content_block_start").unwrap();
        all[start].1["content_block"] = block;
        all[start + 1].1["delta"] = delta;
        streamed(wire(&all, "\n").as_bytes(), 64).0
    };
    let arguments = || json!({"type": "input_json_delta", "partial_json": "{}"});
    let words = || json!({"type": "text_delta", "text": "a"});
    let refused = delta(json!({"type": "text", "text": ""}), arguments());
    let detail = "block 0 is of the type \"text\", and a input_json_delta came for it".to_owned();
    assert_eq!(refused, Err(ProviderError::Malformed { detail }));
    assert!(delta(json!({"type": "tool_use", "id": "a", "name": "b", "input": {}}), words()).is_err());
    assert!(delta(json!({"type": "redacted_thinking", "data": "b"}), words()).is_err());
    assert!(delta(json!({"type": "tool_use", "id": "a", "name": "b", "input": {}}), arguments()).is_ok());
    assert!(delta(json!({"type": "mcp_tool_use", "id": "a", "name": "b", "input": {}}), arguments()).is_ok());
    assert!(delta(json!({"type": "text", "text": ""}), json!({"type": "new_delta", "x": 1})).is_ok());
}

/// Of the choices of a chat reply the first is the reply, and one that does not say why it ended is not whole.
#[test]
fn other_choices_and_empty_reasons_are_no_part_of_a_reply() {
    let piece = |index: usize, text: &str, reason: Value| {
        let choice = json!({"index": index, "delta": {"content": text}, "finish_reason": reason});
        format!("data: {}\n\n", json!({"choices": [choice]}))
    };
    let read = |wire: String| {
        let mut stream = openai::Stream::new(ReplyLimits::default(), None);
        stream.push(wire.as_bytes(), &mut |_| ())?;
        stream.finish()
    };
    let open = read(piece(0, "I have no", json!("")) + &piece(0, "t finished", json!("")));
    assert!(matches!(open, Err(ProviderError::Cut { .. })), "{open:?}");
    let mixed = [
        piece(0, "A1 ", Value::Null),
        piece(1, "B1 ", json!("stop")),
        piece(0, "A2", json!("")),
        piece(1, "B2", Value::Null),
        piece(0, "", json!("stop")),
    ];
    assert_eq!(read(mixed.concat()).unwrap().words(), "A1 A2");
    let choice = |index: usize, text: &str| json!({"index": index, "message": {"content": text}});
    let plain = json!({"choices": [choice(1, "B"), choice(0, "A")]}).to_string();
    assert_eq!(openai::decode(plain.as_bytes(), None).unwrap().words(), "A");
}

/// A proxy that cannot be used is named, by its variable and not by its value.
#[test]
fn a_proxy_that_cannot_be_used_is_refused() {
    const INSIDE: &str = "SOMMELIER_TEST_INSIDE";
    let live = |base: &str| Live::openai(openai::Settings::default()).base_url(base).without_key().build();
    if std::env::var_os(INSIDE).is_some() {
        let error = live("http://192.0.2.1").unwrap_err();
        let SetupError::BadProxy { variable } = &error else { panic!("{error}") };
        assert_eq!((*variable, error.to_string().contains("word")), ("HTTPS_PROXY", false));
        assert!(live("http://127.0.0.1:1").is_ok());
        return;
    }
    for proxy in ["socks5://me:word@127.0.0.1:1", "http://", "word://here"] {
        let mut again = Command::new(std::env::current_exe().unwrap());
        for variable in ["ALL_PROXY", "all_proxy"] {
            again.env_remove(variable);
        }
        again.args(["--exact", "a_proxy_that_cannot_be_used_is_refused"]);
        let output = again.env(INSIDE, "1").env("HTTPS_PROXY", proxy).output().unwrap();
        assert!(output.status.success(), "{proxy}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
