//! Anthropic's form: requests as bytes, and replies of every kind.

#![expect(clippy::unwrap_used, reason = "a test ends where something unexpected stands")]

mod support;

use std::borrow::Cow;

use serde_json::{Value, json};
use sommelier_protocol::{
    Asking, Message, ModelRequest, RawJson, Reply, StopReason, System, ToolChoice, ToolDefinition, ToolName,
    ToolResult, ToolUse, Words,
};
use sommelier_providers::SetupError;
use sommelier_providers::anthropic::{Cache, Settings, Thinking, decode, encode};
use support::{blocks, reply};

fn tool(name: &str) -> ToolDefinition {
    let schema = RawJson::parse(r#"{"type":"object","properties":{}}"#).unwrap();
    ToolDefinition::new(ToolName::new(name).unwrap(), "Does it.", schema)
}

fn request(messages: &[Message]) -> ModelRequest<'_> {
    ModelRequest {
        caller: Cow::Borrowed("booking_agent"),
        replies: 3,
        time_left: Some(1000),
        system: Some(Cow::Owned(System::Text("You quote rooms.".into()))),
        tools: Cow::Owned(vec![tool("get_quote"), tool("handoff")]),
        ..ModelRequest::new("claude-sonnet-5", 1024, messages)
    }
}

fn sent(request: &ModelRequest<'_>, settings: &Settings) -> Value {
    serde_json::from_slice(&encode(request, settings, false).unwrap()).unwrap()
}

fn asked() -> Vec<Message> {
    vec![Message::user("Quote Focus")]
}

fn answered() -> Vec<Message> {
    let call = ToolUse::scripted("toolu_1", "get_quote", "{}");
    vec![
        Message::user("Quote Focus"),
        Message::assistant(vec![call.into()]),
        Message::user_blocks(vec![ToolResult::text("toolu_1", "6000").into()]),
    ]
}

/// S1-18. Without settings a request is what the core made, and nothing else: no sampling, no label of ours.
#[test]
fn a_request_is_the_cores_byte_for_byte() {
    let messages = asked();
    let request = request(&messages);
    let plain = encode(&request, &Settings::default(), false).unwrap();
    assert_eq!(plain, serde_json::to_vec(&request).unwrap());
    for word in ["temperature", "top_p", "booking_agent", "time_left"] {
        assert!(!String::from_utf8_lossy(&plain).contains(word), "{word}");
    }
    let mut streamed = encode(&request, &Settings::default(), true).unwrap();
    assert!(streamed.ends_with(br#","stream":true}"#));
    streamed.truncate(streamed.len() - br#","stream":true}"#.len());
    streamed.push(b'}');
    assert_eq!(streamed, plain);
}

/// S1-18. Every setting stands where the API documents it.
#[test]
fn settings_are_written_as_the_api_documents_them() {
    let messages = asked();
    let settings = Settings {
        model: Some("claude-haiku-5".into()),
        max_tokens: Some(7),
        tool_choice: Some(ToolChoice::Any { disable_parallel_tool_use: None }),
        disable_parallel_tool_use: true,
        thinking: Some(Thinking::Adaptive),
        cache: Some(Cache::OneHour),
        stop_sequences: vec!["END".into()],
        rest: vec![("metadata".into(), RawJson::parse(r#"{"user_id":"u-1"}"#).unwrap())],
    };
    let control = json!({"type": "ephemeral", "ttl": "1h"});
    let schema = json!({"type": "object", "properties": {}});
    assert_eq!(
        sent(&request(&messages), &settings),
        json!({
            "model": "claude-haiku-5", "max_tokens": 7,
            "system": [{"type": "text", "text": "You quote rooms.", "cache_control": control}],
            "tools": [
                {"name": "get_quote", "description": "Does it.", "input_schema": schema},
                {"name": "handoff", "description": "Does it.", "input_schema": schema, "cache_control": control},
            ],
            "tool_choice": {"type": "any", "disable_parallel_tool_use": true},
            "messages": [{"role": "user", "content": "Quote Focus"}],
            "thinking": {"type": "adaptive"}, "stop_sequences": ["END"], "metadata": {"user_id": "u-1"},
        })
    );
}

/// A breakpoint is put at the end of instructions that are a list, and a setting goes before what the request brought.
#[test]
fn a_breakpoint_stands_at_the_end_of_a_list() {
    let messages = asked();
    let list =
        RawJson::parse(r#"[{"type":"text","text":"One."},{"type":"text","text":"Two.","new":1}]"#).unwrap();
    let request = ModelRequest {
        system: Some(Cow::Owned(System::Blocks(list))),
        rest: vec![
            ("metadata".into(), RawJson::of("old").unwrap()),
            ("stream".into(), RawJson::of(&true).unwrap()),
        ],
        ..ModelRequest::new("m", 1, &messages)
    };
    let settings = Settings {
        cache: Some(Cache::FiveMinutes),
        rest: vec![("metadata".into(), RawJson::of("new").unwrap())],
        ..Settings::default()
    };
    let body = concat!(
        r#"{"model":"m","max_tokens":1,"system":[{"type":"text","text":"One."},"#,
        r#"{"type":"text","text":"Two.","new":1,"cache_control":{"type":"ephemeral"}}],"#,
        r#""messages":[{"role":"user","content":"Quote Focus"}],"metadata":"new"}"#,
    );
    assert_eq!(String::from_utf8_lossy(&encode(&request, &settings, false).unwrap()), body);
}

/// C46. A forced call is asked for once; with its result there, the model may answer.
#[test]
fn a_forced_choice_ends_with_the_first_result() {
    let choice =
        |messages: &[Message], settings: &Settings| sent(&request(messages), settings)["tool_choice"].clone();
    let forced =
        ToolChoice::Tool { name: ToolName::new("get_quote").unwrap(), disable_parallel_tool_use: None };
    let settings = Settings { tool_choice: Some(forced), ..Settings::default() };
    assert_eq!(choice(&asked(), &settings), json!({"type": "tool", "name": "get_quote"}));
    assert_eq!(choice(&answered(), &settings), Value::Null);
    let alone = Settings { disable_parallel_tool_use: true, ..settings };
    assert_eq!(choice(&answered(), &alone), json!({"type": "auto", "disable_parallel_tool_use": true}));
}

/// A request's own choice goes first, and without tools there is nothing to choose.
#[test]
fn a_choice_is_the_requests_before_it_is_the_settings() {
    let settings = Settings {
        tool_choice: Some(ToolChoice::Any { disable_parallel_tool_use: None }),
        disable_parallel_tool_use: true,
        ..Settings::default()
    };
    let messages = asked();
    let forbidden = ModelRequest { tool_choice: Some(ToolChoice::None), ..request(&messages) };
    assert_eq!(sent(&forbidden, &settings)["tool_choice"], json!({"type": "none"}));
    assert_eq!(sent(&ModelRequest::new("m", 1, &messages), &settings)["tool_choice"], Value::Null);
}

/// Settings that the API refuses beside each other are told before anything is sent.
#[test]
fn manual_thinking_and_a_forced_call_contradict_each_other() {
    let settings =
        |thinking, tool_choice| Settings { thinking: Some(thinking), tool_choice, ..Settings::default() };
    let any = || Some(ToolChoice::Any { disable_parallel_tool_use: None });
    let manual = Thinking::Enabled { budget_tokens: 2048 };
    assert!(matches!(settings(manual, any()).check(), Err(SetupError::Contradiction { .. })));
    assert_eq!(settings(manual, None).check(), Ok(()));
    assert_eq!(settings(Thinking::Adaptive, any()).check(), Ok(()));
    assert_eq!(serde_json::to_value(manual).unwrap(), json!({"type": "enabled", "budget_tokens": 2048}));
}

/// S1-18. Each kind of block is read, and goes out again byte for byte.
#[test]
fn every_kind_of_block_comes_back_as_it_came() {
    for block in blocks() {
        let body = reply(std::slice::from_ref(&block), "end_turn").to_string();
        let decoded = decode(body.as_bytes()).unwrap();
        assert_eq!(serde_json::to_string(&decoded).unwrap(), body);
        assert_eq!(decoded.content[0].kind(), block["type"].as_str().unwrap());
    }
}

/// S1-18. Each stop reason, a new one too, is the core's to judge; the count holds what caches did.
#[test]
fn every_stop_reason_is_read() {
    let reasons = [
        ("end_turn", StopReason::EndTurn),
        ("tool_use", StopReason::ToolUse),
        ("max_tokens", StopReason::MaxTokens),
        ("model_context_window_exceeded", StopReason::ContextWindowExceeded),
        ("stop_sequence", StopReason::StopSequence),
        ("pause_turn", StopReason::PauseTurn),
        ("refusal", StopReason::Refusal),
        ("tired", StopReason::Other("tired".into())),
    ];
    for (word, reason) in reasons {
        let decoded = decode(reply(&[], word).to_string().as_bytes()).unwrap();
        assert_eq!(decoded.stop_reason, Some(reason));
        assert_eq!(decoded.usage.total_input_tokens(), 24);
    }
}

/// C10. Thinking and the call that came with it go out together, the signature untouched.
#[test]
fn thinking_travels_with_its_call() {
    let body = reply(&[blocks()[2].clone(), blocks()[5].clone()], "tool_use").to_string();
    let Reply::Called(called) =
        Asking::open("Quote Focus").unwrap().replied(decode(body.as_bytes()).unwrap().content)
    else {
        panic!("there is a call")
    };
    let asking = called.owing.answer(vec![ToolResult::text("toolu_1", "6000")]).unwrap();
    let sent = sent(&ModelRequest::new("m", 1, asking.messages()), &Settings::default());
    assert_eq!(sent["messages"][1]["content"], json!([blocks()[2], blocks()[5]]));
}

/// C07, C11. Nothing that a service minted for its own use goes into a request: no id of a reply, no pointer to an
/// earlier one. All items are inline.
#[test]
fn no_request_points_at_an_earlier_reply() {
    let decoded = decode(reply(&blocks()[..1], "end_turn").to_string().as_bytes()).unwrap();
    assert_eq!(&*decoded.id, "msg_1");
    let Reply::Said(resting) = Asking::open("Quote Focus").unwrap().replied(decoded.content) else {
        panic!("there are words")
    };
    let asking = resting.say(Words::new("And Studio?").unwrap());
    let sent = sent(&ModelRequest::new("m", 1, asking.messages()), &Settings::default());
    assert_eq!(sent["messages"].as_array().unwrap().len(), 3);
    for word in ["msg_1", "previous_response_id", "store"] {
        assert!(!sent.to_string().contains(word), "{word}");
    }
}

/// What is no reply is an error that says what is wrong with it.
#[test]
fn what_is_no_reply_is_told() {
    for body in ["", "null", "[]", "{}", "<html>", r#"{"type":"error"}"#, "{\"type\":\"message\""] {
        let error = decode(body.as_bytes()).unwrap_err();
        assert!(error.to_string().starts_with("the reply: "), "{error}");
    }
    let text = reply(&[json!({"type": "text"})], "end_turn").to_string();
    assert!(decode(text.as_bytes()).unwrap_err().to_string().contains("missing field `text`"));
}
