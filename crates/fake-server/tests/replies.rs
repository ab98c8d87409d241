//! What a legal request is answered with.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use std::io::Write;

use harness::{get, hello, post, scripted, server, streamed, tool, with};
use serde_json::{Value, json};
use sommelier_fake_server::{FakeServer, Settings};

/// A message put together from its events, as a client does it.
fn joined(events: &[Value]) -> Value {
    let mut message = events[0]["message"].clone();
    let mut written = String::new();
    for event in events {
        let content = message["content"].as_array_mut().unwrap();
        let index = event["index"].as_u64().map(|index| usize::try_from(index).unwrap());
        match event["type"].as_str().unwrap() {
            "content_block_start" => {
                assert_eq!(index, Some(content.len()));
                content.push(event["content_block"].clone());
                written.clear();
            }
            "content_block_delta" => {
                let (delta, block) = (&event["delta"], &mut content[index.unwrap()]);
                let add = |block: &mut Value, member: &str| {
                    let text = block[member].as_str().unwrap().to_owned() + delta[member].as_str().unwrap();
                    block[member] = json!(text);
                };
                match delta["type"].as_str().unwrap() {
                    "text_delta" => add(block, "text"),
                    "thinking_delta" => add(block, "thinking"),
                    "signature_delta" => add(block, "signature"),
                    "input_json_delta" => written.push_str(delta["partial_json"].as_str().unwrap()),
                    other => panic!("{other}"),
                }
            }
            "content_block_stop" => {
                let block = &mut content[index.unwrap()];
                if block["type"] == "tool_use" {
                    block["input"] = serde_json::from_str(&written).unwrap();
                }
            }
            "message_delta" => {
                for member in ["stop_reason", "stop_sequence", "stop_details"] {
                    message[member] = event["delta"][member].clone();
                }
                message["usage"] = event["usage"].clone();
            }
            _ => {}
        }
    }
    message
}

fn rich() -> Value {
    json!({"replies": [{
        "repeat": true,
        "thinking": "A quote is asked for, in euros: 60 €.",
        "text": "Let me look that up for you, it takes a moment.",
        "tool_use": [
            {"name": "get_quote", "input": {"room": "Focus", "plan": "pro", "hours": 3, "note": "window, \"quiet\" ☂"}},
            {"name": "get_policy"}
        ],
        "blocks": [{"type": "redacted_thinking", "data": "b3BhcXVl"}]
    }]})
}

/// S1-18: the events of a stream make the very message that a plain request gets.
#[test]
fn a_stream_says_what_a_plain_reply_says() {
    let server = scripted(&rich());
    let plain = post(&server, &hello()).json();
    let told = post(&server, &streamed(hello()));
    assert_eq!(told.header("content-type"), Some("text/event-stream; charset=utf-8"));
    assert!(told.is_whole);
    let mut message = joined(&told.events());
    message["id"] = plain["id"].clone();
    for place in 3..5 {
        message["content"][place]["id"] = plain["content"][place]["id"].clone();
    }
    assert_eq!(message, plain);
}

#[test]
fn the_events_come_in_the_order_of_the_service() {
    let server = scripted(&json!({"replies": [{"text": "Hi.", "tool_use": [{"name": "get_policy"}]}]}));
    let told = post(&server, &streamed(hello()));
    let expected = [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(told.kinds(), expected);
    let events = told.events();
    assert_eq!(events[0]["message"]["stop_reason"], Value::Null);
    assert_eq!(events[6]["delta"], json!({"type": "input_json_delta", "partial_json": ""}));
    assert_eq!(told.body.lines().next(), Some("event: message_start"));
}

#[test]
fn the_arguments_of_a_call_come_in_pieces() {
    let server = scripted(&rich());
    let told = post(&server, &streamed(hello()));
    let pieces = told.events().iter().filter(|event| event["delta"]["type"] == "input_json_delta").count();
    assert!(pieces > 5, "{pieces}");
}

/// Without a script each legal request gets a short text, and a forced call is made.
#[test]
fn without_a_script_there_is_a_short_text_or_the_call_that_is_forced() {
    let server = server(Settings::default());
    let told = post(&server, &hello()).json();
    let usage = json!({
        "input_tokens": 9, "output_tokens": 12, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
        "service_tier": "standard",
    });
    let expected = json!({
        "id": "msg_fake_000001", "type": "message", "role": "assistant", "model": "claude-opus-5",
        "content": [{"type": "text", "text": "This is a fake server. Your request is legal."}],
        "stop_reason": "end_turn", "stop_sequence": null, "stop_details": null, "usage": usage,
    });
    assert_eq!(told, expected);

    let choice = json!({"type": "tool", "name": "book"});
    let request = with(hello(), &[("tools", json!([tool("quote"), tool("book")])), ("tool_choice", choice)]);
    let told = post(&server, &request).json();
    let call =
        json!({"type": "tool_use", "id": "toolu_fake_000002_0", "name": "book", "input": {"room": "x"}});
    assert_eq!(told["content"], json!([call]));
    assert_eq!(told["stop_reason"], "tool_use");
}

/// Replies are used up in order; a condition holds one back until its request comes.
#[test]
fn a_script_is_followed_in_order_and_by_conditions() {
    let server = scripted(&json!({"replies": [
        {"when": {"user_says": "REFUND"}, "text": "about a refund"},
        {"when": {"model": "claude-sonnet-5"}, "text": "from another model"},
        {"when": {"system_says": "you are billing"}, "text": "from billing"},
        {"when": {"offers": "book"}, "text": "with a tool"},
        {"when": {"tool_result": true}, "text": "after a result"},
        {"text": "first"},
        {"text": "second"}
    ]}));
    let says = |request: &Value| {
        let told = post(&server, request);
        told.json()["content"][0]["text"].as_str().unwrap_or(&told.message()).to_owned()
    };
    assert_eq!(says(&hello()), "first");
    assert_eq!(says(&with(hello(), &[("model", json!("claude-sonnet-5"))])), "from another model");
    assert_eq!(says(&with(hello(), &[("tools", json!([tool("book")]))])), "with a tool");
    assert_eq!(says(&with(hello(), &[("system", json!("You are billing."))])), "from billing");
    let refund = json!([{"role": "user", "content": "a refund, please"}]);
    assert_eq!(says(&with(hello(), &[("messages", refund)])), "about a refund");
    assert_eq!(says(&answered(&json!([call("tu_1")]))), "after a result");
    assert_eq!(says(&hello()), "second");
    assert_eq!(says(&hello()), "the script of this fake server has no reply to this request");
}

/// A script that has come to its end is told, and no client tries again.
#[test]
fn a_script_without_an_answer_is_an_error() {
    let server = scripted(&json!({"replies": [{"when": {"user_says": "refund"}, "text": "no"}]}));
    let told = post(&server, &hello());
    assert_eq!((told.status, told.header("x-should-retry")), (500, Some("false")));
}

#[test]
fn a_scripted_refusal_says_why() {
    let server = scripted(&json!({"replies": [{"refusal": "not this", "refusal_category": "cyber"}]}));
    let told = post(&server, &hello()).json();
    assert_eq!(told["stop_reason"], "refusal");
    assert_eq!(
        told["stop_details"],
        json!({"type": "refusal", "category": "cyber", "explanation": "not this"})
    );
    assert_eq!(told["content"], json!([]));
}

#[test]
fn a_script_says_why_it_stopped_and_what_was_used() {
    let server = scripted(&json!({"replies": [
        {"text": "wait", "stop_reason": "pause_turn", "usage": {"input_tokens": 7, "cache_read_input_tokens": 5}}
    ]}));
    let told = post(&server, &hello()).json();
    assert_eq!(told["stop_reason"], "pause_turn");
    assert_eq!(
        (&told["usage"]["input_tokens"], &told["usage"]["cache_read_input_tokens"]),
        (&json!(7), &json!(5))
    );
}

/// What a request limits is limited: tokens and stop sequences.
#[test]
fn a_reply_keeps_to_the_limits_of_its_request() {
    let server = scripted(&json!({"replies": [{"repeat": true, "text": "one two three four five"}]}));
    let told = |members: &[(&str, Value)]| {
        let told = post(&server, &with(hello(), members)).json();
        (told["content"].clone(), told["stop_reason"].clone(), told["stop_sequence"].clone())
    };
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    assert_eq!(told(&[("max_tokens", json!(2))]), (text("one two "), json!("max_tokens"), Value::Null));
    assert_eq!(told(&[("max_tokens", json!(0))]), (json!([]), json!("max_tokens"), Value::Null));
    let stops = json!(["four", "three"]);
    assert_eq!(
        told(&[("stop_sequences", stops)]),
        (text("one two "), json!("stop_sequence"), json!("three"))
    );
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "get_quote", "input": {}})
}

/// A conversation in which `content` was said and the first call in it is answered.
fn answered(content: &Value) -> Value {
    let call = content.as_array().unwrap().iter().find(|block| block["type"] == "tool_use").unwrap();
    let result = json!({"type": "tool_result", "tool_use_id": call["id"], "content": "60"});
    let messages = json!([
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": content},
        {"role": "user", "content": [result]},
    ]);
    with(hello(), &[("messages", messages), ("tools", json!([tool("get_quote")]))])
}

fn thinking_server() -> FakeServer {
    scripted(&json!({"replies": [
        {"when": {"tool_result": false}, "thinking": "Hm.", "tool_use": [{"name": "get_quote"}],
         "blocks": [{"type": "redacted_thinking", "data": "b3BhcXVl"}]},
        {"text": "60"}
    ]}))
}

/// S9: what the model thought before its call comes back whole, in order and as it was.
#[test]
fn thinking_has_to_come_back_as_it_was() {
    type Change = fn(&mut Vec<Value>);
    let cases: [(Change, u16); 5] = [
        (|_| {}, 200),
        (|blocks| drop(blocks.remove(0)), 400),
        (|blocks| drop(blocks.remove(1)), 400),
        (|blocks| blocks.swap(0, 1), 400),
        (|blocks| blocks[0]["data"] = json!("b3RoZXI="), 400),
    ];
    for (at, (change, status)) in cases.into_iter().enumerate() {
        let server = thinking_server();
        let mut content = post(&server, &hello()).json()["content"].as_array().unwrap().clone();
        change(&mut content);
        let told = post(&server, &answered(&json!(content)));
        assert_eq!(told.status, status, "case {at}: {}", told.body);
        let broken = server.log().entries[1].broken.clone();
        assert_eq!(broken, if status == 200 { vec![] } else { vec!["S9"] });
    }
}

/// Two connections, or one: the second request on a connection is answered as the first.
#[test]
fn a_connection_is_kept() {
    let server = server(Settings::default());
    let mut stream = harness::connect(&server);
    for _ in 0..3 {
        let bytes = harness::bytes("POST", "/v1/messages", &json!({}), &streamed(hello()).to_string());
        stream.write_all(&bytes).unwrap();
        let told = harness::read(&mut stream);
        assert_eq!((told.status, told.is_whole), (200, true));
    }
}

/// The log has what was asked, by rule, and to read it is no request.
#[test]
fn the_log_tells_what_was_asked() {
    let server = server(Settings::default());
    post(&server, &hello());
    post(&server, &with(hello(), &[("messages", json!([])), ("temprature", json!(1))]));
    post(&server, &with(hello(), &[("messages", json!([]))]));
    post(&server, &streamed(hello()));
    let told = get(&server, "/_log").json();
    assert_eq!(told, serde_json::to_value(server.log()).unwrap());
    assert_eq!((&told["requests"], &told["refused"]), (&json!(4), &json!(2)));
    assert_eq!(told["broken"], json!({"S1": 1, "shape": 1}));
    let expected = json!({
        "number": 3, "method": "POST", "target": "/v1/messages", "status": 400, "model": "", "stream": false,
        "broken": ["S1"], "noted": [], "faults": [], "error": "messages: at least one message is required",
        "body": with(hello(), &[("messages", json!([]))]).to_string(),
    });
    assert_eq!(told["entries"][2], expected);
    assert_eq!(told["entries"][3]["stream"], true);
    let text = told.to_string();
    assert!(!text.contains("test-key"), "no key is in the log");
}

/// S1-20. Tokens are counted without a reply, by the rules of a request, as a reply would count them.
#[test]
fn tokens_are_counted_without_a_reply() {
    let server = scripted(&json!({"replies": [{"text": "Only one."}]}));
    let mut asked = hello();
    asked.as_object_mut().unwrap().remove("max_tokens");
    let count = |body: &Value| {
        let bytes = harness::bytes("POST", "/v1/messages/count_tokens", &json!({}), &body.to_string());
        harness::send(&server, &bytes)
    };
    let told = count(&asked);
    assert_eq!((told.status, told.json()), (200, json!({"input_tokens": 9})));
    assert_eq!(post(&server, &hello()).json()["usage"]["input_tokens"], 9, "the reply is there still");
    let told = count(&with(asked, &[("messages", json!([]))]));
    assert_eq!((told.status, &*told.message()), (400, "messages: at least one message is required"));
}

/// S1-20. A prefix up to a breakpoint is written into the cache once and read afterwards, wherever the breakpoint moves; what
/// changed in front of it is written again.
#[test]
fn a_prefix_is_written_once_and_then_read() {
    let server = server(Settings::default());
    let mark = json!({"type": "ephemeral"});
    let text = |text: &str| json!({"type": "text", "text": text});
    let marked = |text: &str| json!({"type": "text", "text": text, "cache_control": mark});
    let counts = |body: Value| {
        let usage = post(&server, &body).json()["usage"].clone();
        ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]
            .map(|name| usage[name].as_u64().unwrap())
    };
    let asked = |system: &str, blocks: &[Value]| {
        with(
            hello(),
            &[
                ("system", json!([marked(system)])),
                ("messages", json!([{"role": "user", "content": blocks}])),
            ],
        )
    };
    let [fresh, written, read] = counts(asked("You quote rooms.", &[text("hello")]));
    assert!(fresh > 0 && written > 0 && read == 0, "{fresh} {written} {read}");
    assert_eq!(counts(asked("You quote rooms.", &[text("hello")])), [fresh, 0, written]);
    let [_, more, again] = counts(asked("You quote rooms.", &[text("hello"), marked("Focus?")]));
    assert!(more > 0 && again == written, "{more} {again}");
    let [_, none, all] = counts(asked("You quote rooms.", &[text("hello"), marked("Focus?"), text("And?")]));
    // A token is four bytes, begun ones counted whole.
    assert!(none == 0 && (written + more - 1..=written + more).contains(&all), "{none} {all}");
    assert_eq!(counts(asked("You sell rooms...", &[text("hello")]))[1..], [written, 0]);
    let [_, created, read] = counts(with(hello(), &[("cache_control", mark.clone())]));
    assert!(created > 0 && read == 0, "{created} {read}");
    assert_eq!(counts(hello())[1..], [0, 0], "without a breakpoint nothing is cached");
}
