//! The chat form of local servers: requests as bytes, and replies with all that is odd about them.

#![expect(clippy::unwrap_used, reason = "a test ends where something unexpected stands")]

mod support;

use std::borrow::Cow;
use std::time::SystemTime;

use proptest::prelude::*;
use serde_json::{Value, json};
use sommelier_protocol::{
    ContentBlock, Message, ModelRequest, ModelResponse, RawJson, StopReason, System, ToolChoice,
    ToolDefinition, ToolName, ToolResult, ToolUse, Usage,
};
use sommelier_providers::openai::{
    JsonMode, OpenObjects, Settings, Stream, TokenLimit, decode, decode_error, encode,
};
use sommelier_providers::{Blame, Head, ProviderError, ReplyLimits, Retry, ServiceError};

fn tool(name: &str) -> ToolDefinition {
    let schema = RawJson::parse(r#"{"type":"object","properties":{"room":{"type":"string"}}}"#).unwrap();
    ToolDefinition::new(ToolName::new(name).unwrap(), "Does it.", schema)
}

fn request(messages: &[Message]) -> ModelRequest<'_> {
    ModelRequest {
        system: Some(Cow::Owned(System::Text("You quote rooms.".into()))),
        tools: Cow::Owned(vec![tool("get_quote"), tool("handoff")]),
        ..ModelRequest::new("qwen3:4b", 256, messages)
    }
}

fn sent(request: &ModelRequest<'_>, settings: &Settings) -> Value {
    serde_json::from_slice(&encode(request, settings, false).unwrap()).unwrap()
}

fn asked() -> Vec<Message> {
    vec![Message::user("Quote Focus")]
}

fn answered() -> Vec<Message> {
    let call = ToolUse::scripted("toolu_1", "get_quote", r#"{"room":"Focus"}"#);
    let thinking = serde_json::from_str(r#"{"type":"thinking","thinking":"Hm.","signature":"s"}"#).unwrap();
    vec![
        Message::user("Quote Focus"),
        Message::assistant(vec![thinking, ContentBlock::text("I look."), call.into()]),
        Message::user_blocks(vec![ToolResult::error("toolu_1", "no such room").into()]),
    ]
}

fn offered(name: &str) -> Value {
    let parameters = json!({"type": "object", "properties": {"room": {"type": "string"}}});
    json!({"type": "function", "function": {"name": name, "description": "Does it.", "parameters": parameters}})
}

/// S1-20. A whole conversation in the chat form; what a provider minted for itself (C11) and its thinking (C10) stay
/// behind, and nothing points at an earlier reply (C07).
#[test]
fn a_request_is_in_the_chat_form() {
    let messages = answered();
    let settings = Settings {
        model: Some("llama".into()),
        max_tokens: Some(99),
        token_limit: TokenLimit::MaxCompletionTokens,
        disable_parallel_tool_use: true,
        stop_sequences: vec!["END".into()],
        rest: vec![("temperature".into(), RawJson::parse("0.2").unwrap())],
        ..Settings::default()
    };
    let call = json!({"id": "toolu_1", "type": "function",
        "function": {"name": "get_quote", "arguments": "{\"room\":\"Focus\"}"}});
    assert_eq!(
        sent(&request(&messages), &settings),
        json!({
            "model": "llama",
            "messages": [
                {"role": "system", "content": "You quote rooms."},
                {"role": "user", "content": "Quote Focus"},
                {"role": "assistant", "content": "I look.", "tool_calls": [call]},
                {"role": "tool", "content": "ERROR: no such room", "tool_call_id": "toolu_1"},
            ],
            "tools": [offered("get_quote"), offered("handoff")],
            "parallel_tool_calls": false, "max_completion_tokens": 99, "stop": ["END"], "temperature": 0.2,
        })
    );
}

/// Without settings nothing is said that the core did not say, instructions that are none are left out (C13), and a
/// streamed request differs by its last two members.
#[test]
fn a_plain_request_says_no_more_than_the_core() {
    let messages = asked();
    let request = ModelRequest::new("m", 8, &messages);
    let plain = r#"{"model":"m","messages":[{"role":"user","content":"Quote Focus"}],"max_tokens":8}"#;
    assert_eq!(encode(&request, &Settings::default(), false).unwrap(), plain.as_bytes());
    let streamed = plain.replace(r#"8}"#, r#"8,"stream":true,"stream_options":{"include_usage":true}}"#);
    assert_eq!(encode(&request, &Settings::default(), true).unwrap(), streamed.as_bytes());
}

/// C46. A choice in words that servers keep to: a tool that must be called is offered alone, none where none may be; and
/// with the first result the choice is the model's again.
#[test]
fn a_choice_is_written_as_servers_keep_to_it() {
    let none = None;
    let named =
        || ToolChoice::Tool { name: ToolName::new("handoff").unwrap(), disable_parallel_tool_use: none };
    let rows = [
        (ToolChoice::Auto { disable_parallel_tool_use: Some(true) }, json!("auto"), 2, json!(false)),
        (ToolChoice::Any { disable_parallel_tool_use: none }, json!("required"), 2, Value::Null),
        (named(), json!("required"), 1, Value::Null),
        (ToolChoice::None, Value::Null, 0, Value::Null),
    ];
    let seen = |body: &Value| {
        let tools = body["tools"].as_array().map_or(0, Vec::len);
        (body["tool_choice"].clone(), tools, body["parallel_tool_calls"].clone())
    };
    for (choice, word, tools, parallel) in rows {
        let settings = Settings { tool_choice: Some(choice), ..Settings::default() };
        assert_eq!(seen(&sent(&request(&asked()), &settings)), (word, tools, parallel));
    }
    let forced = Settings { tool_choice: Some(named()), ..Settings::default() };
    assert_eq!(seen(&sent(&request(&answered()), &forced)), (Value::Null, 2, Value::Null));
    let messages = asked();
    let forbidden = ModelRequest { tool_choice: Some(ToolChoice::None), ..request(&messages) };
    assert_eq!(seen(&sent(&forbidden, &forced)), (Value::Null, 0, Value::Null));
}

fn body(message: &Value, finish_reason: &Value) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 7, "model": "qwen3:4b",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason, "logprobs": null}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17, "prompt_tokens_details": {"cached_tokens": 4}},
    })
}

fn decoded(message: Value, finish_reason: &str) -> ModelResponse {
    decode(body(&message, &json!(finish_reason)).to_string().as_bytes(), None).unwrap()
}

fn called(calls: &[(&str, &str, &str)]) -> Vec<ContentBlock> {
    calls.iter().map(|(id, name, input)| ToolUse::scripted(*id, *name, input).into()).collect()
}

/// S1-20. Words, the reason, the count with what a cache served, the server's names.
#[test]
fn a_reply_is_read_whole() {
    let mut usage = Usage::new(8, 5);
    usage.cache_read_input_tokens = Some(4);
    let mut expected = ModelResponse::new("qwen3:4b", vec![ContentBlock::text("Hi.")], StopReason::EndTurn);
    expected.id = "chatcmpl-1".into();
    expected.usage = usage;
    assert_eq!(
        decoded(json!({"role": "assistant", "content": "Hi.", "reasoning_content": "Hm."}), "stop"),
        expected
    );
    let parts = json!({"content": [{"type": "text", "text": "Hi."}]});
    assert_eq!(decoded(parts, "stop"), expected);
    let bare = br#"{"choices":[{"message":{"content":"Hi."}}]}"#;
    let mut bared = ModelResponse::new("", vec![ContentBlock::text("Hi.")], StopReason::EndTurn);
    bared.stop_reason = None;
    assert_eq!(decode(bare, None).unwrap(), bared);
}

/// Every reason of the form, those of refusals among them, and one that is not known.
#[test]
fn every_finish_reason_is_read() {
    let rows = [
        ("stop", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("content_filter", StopReason::Refusal),
        ("tool_calls", StopReason::ToolUse),
        ("abort", StopReason::Other("abort".into())),
    ];
    for (word, reason) in rows {
        assert_eq!(decoded(json!({"content": "Hi."}), word).stop_reason, Some(reason), "{word}");
    }
    let refused = decoded(json!({"content": null, "refusal": "I will not."}), "stop");
    assert_eq!(
        (refused.stop_reason.clone(), refused.words()),
        (Some(StopReason::Refusal), "I will not.".into())
    );
}

/// Calls as Ollama, vLLM and llama.cpp send them: `stop` beside calls, content `""`, arguments as an object or none, ids
/// that are missing, empty or equal.
#[test]
fn odd_calls_are_calls() {
    let function = |arguments: Value| json!({"function": {"name": "get_quote", "arguments": arguments}});
    let message = json!({"role": "assistant", "content": "", "tool_calls": [
        function(json!({"room": "Focus"})),
        function(json!("")),
        function(Value::Null),
        {"id": "", "type": "function", "function": {"name": "get_quote"}},
        {"id": "a", "type": "function", "function": {"name": "get_quote", "arguments": "{\"n\": 1.50}"}},
        {"id": "a", "index": 1, "function": {"name": "get_quote", "arguments": "{\"n\": "}},
    ]});
    let reply = decoded(message, "stop");
    assert_eq!(reply.stop_reason, Some(StopReason::ToolUse));
    let expected = [
        ("call_0", "get_quote", r#"{"room":"Focus"}"#),
        ("call_1", "get_quote", "{}"),
        ("call_2", "get_quote", "{}"),
        ("call_3", "get_quote", "{}"),
        ("a", "get_quote", r#"{"n": 1.50}"#),
        ("call_4", "get_quote", r#"{"n": "#),
    ];
    assert_eq!(reply.content, called(&expected));
    let cut = decoded(json!({"tool_calls": [function(json!("{"))]}), "length");
    assert_eq!(cut.stop_reason, Some(StopReason::MaxTokens));
}

/// A call in a notation of the model's own stays text: nothing is guessed.
#[test]
fn a_call_in_the_text_is_text() {
    let text = r#"<tool_call>{"name": "get_quote", "arguments": {}}</tool_call>"#;
    assert_eq!(decoded(json!({"content": text}), "stop").content, [ContentBlock::text(text)]);
}

/// What is no reply is told, an error under a status of 200 as the service's.
#[test]
fn what_is_no_reply_is_told() {
    for body in ["", "[]", "{}", r#"{"choices":[]}"#, r#"{"choices":[{}]}"#, r#"{"choices":7}"#] {
        let error = decode(body.as_bytes(), None).unwrap_err();
        assert!(matches!(error, ProviderError::Malformed { .. }), "{body}: {error}");
    }
    let error = decode(br#"{"error":{"message":"overloaded","code":503}}"#, None).unwrap_err();
    assert_eq!(error.to_string(), "unknown: overloaded");
    assert_eq!((error.blame(), error.retry()), (Blame::Service, Retry::Backoff));
}

/// Errors in the words of each server; a quota that is used up is not waited for.
#[test]
fn errors_are_read_in_every_servers_words() {
    let told = |status: u16, body: &Value| {
        decode_error(&Head::new(status), body.to_string().as_bytes(), SystemTime::UNIX_EPOCH)
    };
    let error = |status, kind: &str, code: Option<&str>, message: &str, retry| ServiceError {
        status,
        kind: kind.into(),
        code: code.map(str::to_owned),
        message: message.into(),
        request_id: None,
        retry,
    };
    let openai = json!({"error": {"message": "Too long.", "type": "invalid_request_error", "param": null, "code": "context_length_exceeded"}});
    let quota =
        json!({"error": {"message": "Spent.", "type": "insufficient_quota", "code": "insufficient_quota"}});
    let ollama = json!({"error": "model \"x\" not found"});
    let vllm =
        json!({"object": "error", "message": "Bad.", "type": "BadRequestError", "param": null, "code": 400});
    let llama = json!({"error": {"code": 400, "message": "Too long.", "type": "exceed_context_size_error", "n_ctx": 64}});
    let fastapi = json!({"detail": [{"loc": ["body"], "msg": "bad"}]});
    let rows = [
        (
            told(400, &openai),
            error(400, "invalid_request_error", Some("context_length_exceeded"), "Too long.", Retry::Never),
        ),
        (
            told(429, &quota),
            error(429, "insufficient_quota", Some("insufficient_quota"), "Spent.", Retry::Never),
        ),
        (told(404, &ollama), error(404, "unknown", None, "model \"x\" not found", Retry::Never)),
        (told(400, &vllm), error(400, "BadRequestError", None, "Bad.", Retry::Never)),
        (told(400, &llama), error(400, "exceed_context_size_error", None, "Too long.", Retry::Never)),
        (told(422, &fastapi), error(422, "unknown", None, r#"[{"loc":["body"],"msg":"bad"}]"#, Retry::Never)),
        (told(503, &json!("busy")), error(503, "unknown", None, "\"busy\"", Retry::Backoff)),
    ];
    for (told, expected) in &rows {
        assert_eq!(told, expected);
    }
    let overflows: Vec<bool> = rows.iter().map(|(told, _)| told.is_context_overflow()).collect();
    assert_eq!(overflows, [true, false, false, false, true, false, false]);
}

fn streamed(
    wire: &str,
    size: usize,
    mode: Option<JsonMode>,
) -> (Result<ModelResponse, ProviderError>, String) {
    let mut stream = Stream::new(ReplyLimits::default(), mode);
    let mut words = String::new();
    for piece in wire.as_bytes().chunks(size) {
        if let Err(error) = stream.push(piece, &mut |text| words.push_str(text)) {
            return (Err(error), words);
        }
    }
    (stream.finish(), words)
}

fn chunk(delta: &Value, finish_reason: &Value) -> String {
    let chunk = json!({"id": "chatcmpl-1", "model": "qwen3:4b",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]});
    format!("data: {chunk}\n\n")
}

/// The chunks of a message: texts in pieces of `size`, calls with an index, and the count last.
fn chunks(message: &Value, finish_reason: &str, size: usize) -> String {
    let mut wire = chunk(&json!({"role": "assistant", "content": ""}), &Value::Null);
    let in_pieces = |text: &str| {
        let chars: Vec<char> = text.chars().collect();
        chars.chunks(size).map(|piece| piece.iter().collect::<String>()).collect::<Vec<_>>()
    };
    for text in in_pieces(message["content"].as_str().unwrap_or_default()) {
        wire += &chunk(&json!({"content": text}), &Value::Null);
    }
    for (index, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
        let mut first = call.clone();
        first["index"] = json!(index);
        first["function"]["arguments"] = json!("");
        wire += &chunk(&json!({"tool_calls": [first]}), &Value::Null);
        for text in in_pieces(call["function"]["arguments"].as_str().unwrap_or_default()) {
            wire += &chunk(
                &json!({"tool_calls": [{"index": index, "function": {"arguments": text}}]}),
                &Value::Null,
            );
        }
    }
    wire += &chunk(&json!({}), &json!(finish_reason));
    let usage = &body(message, &Value::Null)["usage"];
    wire + &format!(
        "data: {}\n\ndata: [DONE]\n\n",
        json!({"id": "chatcmpl-1", "choices": [], "usage": usage})
    )
}

fn two_calls() -> Value {
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "get_quote", "arguments": arguments}});
    json!({"role": "assistant", "content": "I look. \u{1f600}", "tool_calls": [call("a", "{\"room\": \"Focus\"}"), call("b", "{}")]})
}

/// S1-20. Streamed or plain, in any pieces, it is one reply.
#[test]
fn a_streamed_reply_equals_the_plain_one() {
    let plain = decoded(two_calls(), "tool_calls");
    for size in [1, 3, 64, 1 << 20] {
        let (reply, words) = streamed(&chunks(&two_calls(), "tool_calls", size), size, None);
        assert_eq!((reply, words.as_str()), (Ok(plain.clone()), "I look. \u{1f600}"));
    }
}

/// Calls in pieces as odd servers send them: whole calls under one index, without an index, with the name in every piece.
#[test]
fn odd_pieces_make_the_calls_that_were_meant() {
    let made = |deltas: &[Value]| {
        let wire: String =
            deltas.iter().map(|delta| chunk(&json!({"tool_calls": [delta]}), &Value::Null)).collect();
        streamed(&(wire + &chunk(&json!({}), &json!("stop"))), 50, None).0.unwrap().content
    };
    let function = |arguments: Value| json!({"name": "get_quote", "arguments": arguments});
    let under_one_index = made(&[
        json!({"index": 0, "id": "a", "function": function(json!({"n": 1}))}),
        json!({"index": 0, "id": "b", "function": function(json!("{}"))}),
    ]);
    let both = called(&[("a", "get_quote", r#"{"n":1}"#), ("b", "get_quote", "{}")]);
    assert_eq!(under_one_index, both);
    let without_index = made(&[
        json!({"id": "a", "function": function(json!("{\"n\""))}),
        json!({"function": {"arguments": ":1}"}}),
        json!({"id": "b", "function": function(Value::Null)}),
    ]);
    assert_eq!(without_index, both);
    let without_anything = made(&[
        json!({"function": function(json!("{\"n\":1}"))}),
        json!({"function": function(json!("{}"))}),
    ]);
    assert_eq!(
        without_anything,
        called(&[("call_0", "get_quote", r#"{"n":1}"#), ("call_1", "get_quote", "{}")])
    );
    let named_again = made(&[
        json!({"index": 0, "id": "a", "function": function(json!("{\"n\":"))}),
        json!({"index": 0, "id": "a", "function": function(json!("1}"))}),
        json!({"index": 1, "id": "b", "function": function(json!("{}"))}),
    ]);
    assert_eq!(named_again, both);
}

/// A stream that has said why the model stopped is whole without `[DONE]`; one that has not is cut.
#[test]
fn a_cut_stream_is_no_reply() {
    let wire = chunks(&two_calls(), "tool_calls", 4);
    let reason = wire.find("\"finish_reason\":\"tool_calls\"").unwrap();
    let whole = reason + wire[reason..].find("\n\n").unwrap() + 2;
    for end in (0..whole - 1).step_by(7) {
        let error = streamed(wire.get(..end).unwrap_or_default(), 16, None).0.unwrap_err();
        assert!(matches!(error, ProviderError::Cut { .. }), "{end}: {error}");
    }
    let without_done = streamed(&wire[..whole], 16, None).0.unwrap();
    assert_eq!(without_done.content, decoded(two_calls(), "tool_calls").content);
    assert!(matches!(streamed("data: [DONE]\n\n", 9, None).0, Err(ProviderError::Cut { .. })));
}

/// Errors in mid-stream, in an event, in a piece and in a field of their own; pieces that are none; calls without end.
#[test]
fn a_broken_stream_is_told() {
    let said = r#"{"error":{"message":"Out of memory.","type":"server_error","code":500}}"#;
    let bare = r#"{"message":"Out of memory.","type":"server_error","code":500}"#;
    for wire in
        [format!("data: {said}\n\n"), format!("event: error\ndata: {said}\n\n"), format!("error: {bare}\n\n")]
    {
        let error =
            streamed(&(chunk(&json!({"content": "Hi"}), &Value::Null) + &wire), 11, None).0.unwrap_err();
        assert_eq!(error.to_string(), "server_error: Out of memory.");
        assert_eq!(error.retry(), Retry::Backoff);
    }
    // A code stands for the status that the error would have had, where it can be one of an error.
    for (code, status) in [("429", 429), ("\"503\"", 503), ("200", 500), ("999", 500), ("\"no_memory\"", 500)]
    {
        let wire = format!("data: {{\"error\":{{\"message\":\"No.\",\"code\":{code}}}}}\n\n");
        let Err(ProviderError::Service(error)) = streamed(&wire, 11, None).0 else { panic!("{code}") };
        assert_eq!(error.status, status, "{code}");
    }
    let error = streamed("data: <html>\n\n", 4, None).0.unwrap_err();
    assert!(matches!(error, ProviderError::Malformed { .. }), "{error}");
    let calls: String =
        (0..2000).map(|n| chunk(&json!({"tool_calls": [{"index": n}]}), &Value::Null)).collect();
    assert_eq!(streamed(&calls, 999, None).0.unwrap_err().to_string(), "the reply exceeds 1024 calls");
}

/// S1-21. In JSON mode a request is nothing but words and a schema.
#[test]
fn json_mode_asks_for_one_object() {
    let mode = JsonMode { text_chars: 50, argument_chars: 20, items: 2, ..JsonMode::default() };
    let settings = Settings { json_mode: Some(mode), ..Settings::default() };
    let messages = answered();
    let body = sent(&request(&messages), &settings);
    let parameters = json!({"type": "object", "properties": {"room": {"type": "string", "maxLength": 20}}});
    let call = |name: &str| {
        json!({"type": "object", "properties": {"tool": {"const": name}, "input": parameters},
               "required": ["tool", "input"], "additionalProperties": false})
    };
    let text = json!({"type": "object", "properties": {"text": {"type": "string", "maxLength": 50}},
        "required": ["text"], "additionalProperties": false});
    let schema = json!({"anyOf": [call("get_quote"), call("handoff"), text]});
    assert_eq!(
        body["response_format"],
        json!({"type": "json_schema", "json_schema": {"name": "reply", "strict": true, "schema": schema}})
    );
    let rules = concat!(
        "You quote rooms.\n\nReply with one JSON object and nothing else.\n",
        "To use a tool: {\"tool\": \"its name\", \"input\": {its arguments}}\nYour tools:\n",
        r#"- get_quote: Does it. Arguments: {"type":"object","properties":{"room":{"type":"string"}}}"#,
        "\n",
        r#"- handoff: Does it. Arguments: {"type":"object","properties":{"room":{"type":"string"}}}"#,
        "\nTo answer: {\"text\": \"your answer\"}",
    );
    let said = concat!(r#"{"text":"I look."}"#, "\n", r#"{"tool":"get_quote","input":{"room":"Focus"}}"#);
    assert_eq!(
        body["messages"],
        json!([
            {"role": "system", "content": rules},
            {"role": "user", "content": "Quote Focus"},
            {"role": "assistant", "content": said},
            {"role": "user", "content": "Result: ERROR: no such room"},
        ])
    );
    assert_eq!((&body["tools"], &body["tool_choice"]), (&Value::Null, &Value::Null));
    let any = ToolChoice::Any { disable_parallel_tool_use: None };
    let forced = Settings { tool_choice: Some(any), ..settings };
    let alternatives =
        sent(&request(&asked()), &forced)["response_format"]["json_schema"]["schema"]["anyOf"].clone();
    assert_eq!(alternatives, json!([call("get_quote"), call("handoff")]));
}

/// S1-21. A server has a model fill a string or a list up to the last token, and write members in the order of the schema: so
/// each has an end, its own where it says one, and nothing changes its place.
#[test]
fn json_mode_bounds_what_a_schema_leaves_open() {
    let schema = concat!(
        r#"{"type":"object","properties":{"who":{"type":"string","enum":["a"]},"task":{"type":"string","minLength":30},"#,
        r#""at":{"type":"string","format":"date"},"name":{"maxLength":9,"type":"string"},"n":{"type":"integer"},"#,
        r#""list":{"items":{"type":"string"},"type":"array"},"most":{"type":"array","maxItems":9,"items":{"type":"integer"}},"#,
        r#""either":{"anyOf":[{"type":"string"},{"type":"array","minItems":5,"items":{"$ref":"x"}}]},"#,
        r#""open":{"type":"object"},"map":{"type":"object","additionalProperties":{"type":"string"}},"odd":true},"#,
        r#""required":["who"],"additionalProperties":false,"$defs":{"x":{"type":"string"}}}"#
    );
    let bounded = concat!(
        r#"{"type":"object","properties":{"who":{"type":"string","enum":["a"]},"task":{"type":"string","minLength":30,"maxLength":30},"#,
        r#""at":{"type":"string","format":"date"},"name":{"maxLength":9,"type":"string"},"n":{"type":"integer"},"#,
        r#""list":{"items":{"type":"string","maxLength":20},"type":"array","maxItems":2},"#,
        r#""most":{"type":"array","maxItems":9,"items":{"type":"integer"}},"#,
        r#""either":{"anyOf":[{"type":"string","maxLength":20},{"type":"array","minItems":5,"items":{"$ref":"x"},"maxItems":5}]},"#,
        r#""open":{"type":"object"},"map":{"type":"object","additionalProperties":{"type":"string","maxLength":20}},"odd":true},"#,
        r#""required":["who"],"additionalProperties":false,"$defs":{"x":{"type":"string","maxLength":20}}}"#
    );
    let tool = ToolDefinition::new(ToolName::new("act").unwrap(), "", RawJson::parse(schema).unwrap());
    let messages = asked();
    let request = ModelRequest { tools: Cow::Owned(vec![tool]), ..ModelRequest::new("m", 8, &messages) };
    let mode = JsonMode { text_chars: 50, argument_chars: 20, items: 2, ..JsonMode::default() };
    let body = |mode| {
        let settings = Settings { json_mode: Some(mode), ..Settings::default() };
        String::from_utf8(encode(&request, &settings, false).unwrap()).unwrap()
    };
    let alternatives = |bounded: &str| {
        format!(
            concat!(
                r#""schema":{{"anyOf":[{{"type":"object","properties":{{"tool":{{"const":"act"}},"input":{}}},"#,
                r#""required":["tool","input"],"additionalProperties":false}},"#,
                r#"{{"type":"object","properties":{{"text":{{"maxLength":50,"type":"string"}}}},"#,
                r#""required":["text"],"additionalProperties":false}}]}}"#
            ),
            bounded
        )
    };
    assert!(body(mode).contains(&alternatives(bounded)), "{}", body(mode));
    let closing = JsonMode { open_objects: OpenObjects::Close, ..mode };
    let closed = bounded
        .replace(r#""open":{"type":"object"}"#, r#""open":{"type":"object","additionalProperties":false}"#);
    assert!(body(closing).contains(&alternatives(&closed)), "{}", body(closing));
}

/// S1-21. In JSON mode the object is a call or words; any other reply is the text that it is.
#[test]
fn json_mode_reads_one_object() {
    let read = |text: &str| {
        let whole = body(&json!({"content": text}), &json!("stop"));
        let plain = decode(whole.to_string().as_bytes(), Some(JsonMode::default())).unwrap();
        let wire = chunks(&json!({"content": text}), "stop", 3);
        let (in_pieces, words) = streamed(&wire, 7, Some(JsonMode::default()));
        assert_eq!((in_pieces, words.as_str()), (Ok(plain.clone()), ""));
        (plain.content, plain.stop_reason.unwrap())
    };
    let call = (called(&[("call_chatcmpl-1", "handoff", r#"{"n": 1.50}"#)]), StopReason::ToolUse);
    assert_eq!(read(r#" {"tool": "handoff", "input": {"n": 1.50}} "#), call);
    assert_eq!(read(r#"{"input":{"n": 1.50},"tool":"handoff"}"#), call);
    let broken = (called(&[("call_chatcmpl-1", "handoff", "7")]), StopReason::ToolUse);
    assert_eq!(read(r#"{"tool":"handoff","input":7}"#), broken);
    assert_eq!(read(r#"{"text":"Hi."}"#), (vec![ContentBlock::text("Hi.")], StopReason::EndTurn));
    for text in ["Hi.", "{", r#"{"tool":"handoff"}"#, r#"{"tool":7,"input":{}}"#, r#"Sure: {"text":"Hi."}"#] {
        assert_eq!(read(text), (vec![ContentBlock::text(text)], StopReason::EndTurn), "{text}");
    }
}

proptest! {
    /// Whatever the words, streamed or plain they are one reply.
    #[test]
    fn any_reply_in_any_pieces(text in ".{0,60}", arguments in prop::collection::vec(".{0,20}", 0..4), size in 1..30_usize) {
        let calls: Vec<Value> = arguments.iter().enumerate().map(|(n, arguments)| {
            json!({"id": format!("c{n}"), "type": "function", "function": {"name": "f", "arguments": arguments}})
        }).collect();
        let message = json!({"content": text, "tool_calls": calls});
        let (reply, words) = streamed(&chunks(&message, "stop", size), size, None);
        prop_assert_eq!(reply, Ok(decoded(message, "stop")));
        prop_assert_eq!(words, text);
    }

    /// Arbitrary JSON and bytes make no panic, and any pieces give the same.
    #[test]
    fn arbitrary_input_is_a_reply_or_an_error(all in prop::collection::vec(support::any_json(), 0..6), bytes in prop::collection::vec(any::<u8>(), 0..99)) {
        for mode in [None, Some(JsonMode::default())] {
            let wire: String = all.iter().map(|value| format!("data: {value}\n\n")).collect();
            prop_assert_eq!(streamed(&wire, 7, mode), streamed(&wire, 1 << 20, mode));
            for value in &all {
                let _ = decode(value.to_string().as_bytes(), mode);
                let _ = decode(body(value, value).to_string().as_bytes(), mode);
            }
            let _ = decode(&bytes, mode);
        }
        let error = decode_error(&Head::new(500), &bytes, SystemTime::UNIX_EPOCH);
        prop_assert!(error.message.chars().count() <= 501);
    }
}
