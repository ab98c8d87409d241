//! Anthropic's form: requests as bytes, and replies of every kind.

#![expect(clippy::unwrap_used, reason = "a test ends where something unexpected stands")]

mod support;

use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::{Value, json};
use sommelier_protocol::{
    Asking, ContentBlock, Message, ModelRequest, RawJson, Reply, StopReason, System, ToolChoice,
    ToolDefinition, ToolName, ToolResult, ToolUse, Words,
};
use sommelier_providers::anthropic::{Cache, Settings, Thinking, decode, encode};
use sommelier_providers::{SetupError, openai};
use support::{any_json, blocks, reply};

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

/// S1-18. Each kind of block that a client sends goes out byte for byte, in the order and with the members that it had, in
/// every form that a result may have.
#[test]
fn every_kind_of_block_of_the_user_goes_out_as_it_is() {
    let blocks = [
        r#"{"type":"text","text":"Quote Focus","cache_control":{"type":"ephemeral","ttl":"1h"}}"#,
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}"#,
        r#"{"type":"image","source":{"type":"url","url":"https://example.com/room.png"}}"#,
        r#"{"type":"image","source":{"type":"file","file_id":"file_1"}}"#,
        r#"{"type":"document","source":{"type":"text","media_type":"text/plain","data":"Rules."},"title":"House","citations":{"enabled":true}}"#,
        r#"{"type":"search_result","source":"house","title":"Rooms","content":[{"type":"text","text":"Focus"}]}"#,
        r#"{"type":"container_upload","file_id":"file_1"}"#,
        r#"{"type":"tool_result","tool_use_id":"toolu_1"}"#,
        r#"{"type":"tool_result","tool_use_id":"toolu_1","content":"6000"}"#,
        r#"{"type":"tool_result","tool_use_id":"toolu_1","content":"no such room","is_error":true}"#,
        r#"{"tool_use_id":"toolu_1","type":"tool_result","is_error":false,"content":[{"type":"text","text":"6000"},{"type":"image","source":{"type":"file","file_id":"f"}},{"type":"document","source":{"type":"file","file_id":"f"}},{"type":"search_result","source":"s","title":"t","content":[]},{"type":"tool_reference","tool_name":"get_quote"}]}"#,
        r#"{"type":"tool_result","tool_use_id":"toolu_1","content":[],"toolset_name":"rooms","cache_control":{"type":"ephemeral"}}"#,
        r#"{"type":"from_the_future","value":1.50}"#,
    ];
    for block in blocks {
        let message = format!(r#"{{"role":"user","content":[{block}]}}"#);
        let messages: Vec<Message> = serde_json::from_str(&format!("[{message}]")).unwrap();
        let body = encode(&request(&messages), &Settings::default(), false).unwrap();
        let written = String::from_utf8(body).unwrap();
        assert!(written.ends_with(&format!(r#""messages":[{message}]}}"#)), "{written}");
    }
    let system: Message = serde_json::from_str(r#"{"role":"system","content":"Be brief."}"#).unwrap();
    let messages = [Message::user("Quote Focus"), system];
    let written =
        String::from_utf8(encode(&request(&messages), &Settings::default(), false).unwrap()).unwrap();
    assert!(written.ends_with(r#"{"role":"system","content":"Be brief."}]}"#), "{written}");
}

/// S1-18. What a count has beside the four numbers, and what a reply has beside its words, is kept.
#[test]
fn what_a_reply_brings_besides_is_kept() {
    let mut whole = reply(&blocks()[..1], "refusal");
    whole["usage"]["output_tokens_details"] = json!({"thinking_tokens": 30});
    whole["usage"]["server_tool_use"] = json!({"web_search_requests": 1});
    whole["usage"]["cache_creation"] =
        json!({"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4});
    whole["stop_details"] = json!({"type": "refusal", "category": "cyber", "explanation": "No."});
    whole["container"] = json!({"id": "container_1", "expires_at": "2026-10-21T00:00:00Z"});
    whole["diagnostics"] = json!({"x": [1.50]});
    let decoded = decode(whole.to_string().as_bytes()).unwrap();
    assert_eq!(decoded.stop_reason, Some(StopReason::Refusal));
    assert_eq!((decoded.usage.total_input_tokens(), decoded.usage.output_tokens), (24, 40));
    assert_eq!(serde_json::to_value(&decoded).unwrap(), whole);
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

/// Words, calls and results in turns: each reply's calls are answered in the next message.
fn any_conversation() -> impl Strategy<Value = Vec<Message>> {
    let turn = (".{1,30}", prop::collection::vec((any_json(), ".{0,20}", any::<bool>()), 0..3));
    prop::collection::vec(turn, 1..4).prop_map(|turns| {
        let mut messages = vec![Message::user("Quote Focus")];
        for (at, (words, calls)) in turns.into_iter().enumerate() {
            let id = |place: usize| format!("toolu_{at}_{place}");
            let mut said = vec![ContentBlock::text(words)];
            let mut results: Vec<ContentBlock> = Vec::new();
            for (place, (input, output, is_error)) in calls.into_iter().enumerate() {
                let input = json!({"given": input}).to_string();
                said.push(ToolUse::scripted(id(place), "get_quote", &input).into());
                results.push(match is_error {
                    true => ToolResult::error(id(place), output).into(),
                    false => ToolResult::text(id(place), output).into(),
                });
            }
            results.push(ContentBlock::text("And then?"));
            messages.extend([Message::assistant(said), Message::user_blocks(results)]);
        }
        messages
    })
}

proptest! {
    /// S1-18, S1-20. Any conversation goes out whole: read back from Anthropic's form it is the same, and in the chat form each
    /// text, each argument and each result is there, every result under its call's id; streamed or not it is the same
    /// but for the members that ask for the stream.
    #[test]
    fn any_conversation_goes_out_whole(messages in any_conversation()) {
        let request = request(&messages);
        let plain = String::from_utf8(encode(&request, &Settings::default(), false).unwrap()).unwrap();
        let read: ModelRequest<'_> = serde_json::from_str(&plain).unwrap();
        prop_assert_eq!(&read.messages, &request.messages);
        let streamed = String::from_utf8(encode(&request, &Settings::default(), true).unwrap()).unwrap();
        prop_assert_eq!(streamed.replace(r#","stream":true}"#, "}"), plain);

        let settings = openai::Settings::default();
        let plain = String::from_utf8(openai::encode(&request, &settings, false).unwrap()).unwrap();
        let streamed = String::from_utf8(openai::encode(&request, &settings, true).unwrap()).unwrap();
        prop_assert_eq!(streamed.replace(r#","stream":true,"stream_options":{"include_usage":true}}"#, "}"), plain.clone());
        let body: Value = serde_json::from_str(&plain).unwrap();
        let chat = body["messages"].as_array().unwrap();
        let mut calls = messages.iter().flat_map(Message::tool_uses);
        let mut results = messages.iter().flat_map(Message::tool_results);
        for message in chat {
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                let ours = calls.next().unwrap();
                prop_assert_eq!(call["id"].as_str(), Some(ours.id()));
                prop_assert_eq!(call["function"]["arguments"].as_str(), Some(ours.input().get()));
            }
            if message["role"] == "tool" {
                let ours = results.next().unwrap();
                prop_assert_eq!(message["tool_call_id"].as_str(), Some(ours.tool_use_id()));
                prop_assert!(message["content"].as_str().unwrap_or_default().ends_with(&ours.words()));
            }
        }
        prop_assert!(calls.next().is_none() && results.next().is_none());
    }
}
