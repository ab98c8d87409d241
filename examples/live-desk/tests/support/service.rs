//! Services without a network: Anthropic's form by the fake server, and a server of the other form that is told nothing but
//! the schema.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each file of tests uses its part; helpers fail as tests do"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread;

use serde_json::{Value, json};
use sommelier_fake_server::{FakeServer, Script, Settings};

const TRIAGE: &str = "You hear each query first";
const TECHNICAL: &str = "You solve technical problems";
const BILLING: &str = "You handle refunds";

fn handoff(to: &str) -> Value {
    let package = json!({
        "specialist": to, "task": format!("See to what the customer asks of {to}."), "context": {},
        "constraints": ["be concise"], "open_items": ["resolve the query"],
    });
    json!([{"name": "handoff_to_specialist", "input": package}])
}

fn reply(system: &str, user: &str, what: &Value) -> Value {
    let mut reply = json!({"when": {"system_says": system, "user_says": user}, "repeat": true});
    reply.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
    reply
}

/// A model that does its work: it thinks, hands over with packages of its own, looks things up, ends its work.
pub(crate) fn able() -> FakeServer {
    let mut replies = Vec::new();
    for bounce in ["hello again", "when I pay", "error 500"] {
        for (system, to) in
            [(TRIAGE, "technical_agent"), (TECHNICAL, "billing_agent"), (BILLING, "technical_agent")]
        {
            replies.push(reply(system, bounce, &json!({"tool_use": handoff(to)})));
        }
    }
    for closing in ["hello", "bye"] {
        replies.push(reply(TRIAGE, closing, &json!({"text": "Good day."})));
    }
    let to_billing = json!({"thinking": "This is about money.", "tool_use": handoff("billing_agent")});
    replies.push(reply(TRIAGE, "charged", &to_billing));
    replies.push(reply(TRIAGE, "", &json!({"tool_use": handoff("technical_agent")})));
    let report = json!({"done": ["resolve the query"], "open": [], "answer": "It is seen to."});
    let done = json!({"tool_use": [{"name": "complete_handoff", "input": report}]});
    for (system, look) in [
        (BILLING, json!({"name": "find_charges"})),
        (TECHNICAL, json!({"name": "search_issues", "input": {"query": "crash at login"}})),
    ] {
        let mut first = reply(system, "", &json!({"tool_use": [look]}));
        first["when"]["tool_result"] = false.into();
        replies.extend([first, reply(system, "", &done)]);
    }
    let script = Script::read(&json!({"replies": replies}).to_string()).unwrap();
    FakeServer::start(0, Settings { script, ..Settings::default() }).unwrap()
}

/// A server of OpenAI's form whose model can do nothing but fill in a schema: it takes the first alternative, the first of
/// each list of values, and as little as it may. Gives its address.
pub(crate) fn filling() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut length = 0;
            for line in reader.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty()) {
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let request: Value = serde_json::from_slice(&body).unwrap();
            let said = filled(&request["response_format"]["json_schema"]["schema"]);
            let reply = json!({
                "id": format!("chatcmpl-{number}"), "model": "filler",
                "choices": [{"index": 0, "finish_reason": "stop",
                             "message": {"role": "assistant", "content": said.to_string()}}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
            });
            let reply = reply.to_string();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
            let reply = format!("{head}content-length: {}\r\n\r\n{reply}", reply.len());
            stream.write_all(reply.as_bytes()).unwrap();
        }
    });
    url
}

/// The least that fits a schema.
fn filled(schema: &Value) -> Value {
    if let Some(first) = schema["anyOf"].get(0).or(schema["enum"].get(0)) {
        return if schema["anyOf"].is_array() { filled(first) } else { first.clone() };
    }
    match (schema["type"].as_str(), schema.get("const")) {
        (_, Some(value)) => value.clone(),
        (Some("string"), _) => "word".into(),
        (Some("array"), _) => {
            let least = usize::try_from(schema["minItems"].as_u64().unwrap_or(0)).unwrap();
            vec![filled(&schema["items"]); least].into()
        }
        (Some("object"), _) => {
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let names = required.iter().filter_map(Value::as_str);
            names.map(|name| (name.to_owned(), filled(&schema["properties"][name]))).collect()
        }
        _ => Value::Null,
    }
}
