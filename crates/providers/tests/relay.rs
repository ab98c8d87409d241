//! A whole run on live models: plain and streamed alike, and on two providers at once.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test ends where something unexpected stands")]

mod support;

use serde_json::{Value, json};
use sommelier_providers::{Heard, Live, Observer, anthropic, openai};
use sommelier_runner::handoff::{Agent, Delegate, Relay};
use sommelier_runner::protocol::ModelRequest;
use sommelier_runner::protocol::sequence::check_messages;
use sommelier_runner::runtime::tool::{CallContext, Failure};
use sommelier_runner::runtime::{Tool, tool_args};
use sommelier_runner::{Outcome, Report, Runner};
use std::sync::{Arc, Mutex};
use support::double::{Answer, Asked, Double};
use support::{events, wire};

tool_args! {
    /// Which room.
    struct Room {
        /// Its name.
        room: String,
    }
}

/// booking_agent has a tool, asks pricing_agent, and hands over to policy_agent.
fn desk() -> Relay {
    let quote = Tool::new("get_quote", "Quotes a room.", |room: Room, _: &CallContext<'_>| {
        Ok::<_, Failure>(format!("{}: 6000 cents", room.room))
    });
    Relay::builder()
        .agent(Agent::new("booking_agent", "You quote rooms.").tools([quote]))
        .agent(Agent::new("policy_agent", "You know the policies."))
        .delegate(
            "booking_agent",
            Delegate::new("ask_pricing", Agent::new("pricing_agent", "You know prices.")),
        )
        .entry("booking_agent")
        .route("booking_agent", "policy_agent")
        .build()
        .unwrap()
}

/// A reply of so many tokens read and 7 written.
fn said(content: Value, stop_reason: &str, read: u64) -> Value {
    json!({
        "id": format!("msg_{read}"), "type": "message", "role": "assistant", "model": "claude-sonnet-5",
        "content": content, "stop_reason": stop_reason, "stop_sequence": null,
        "usage": {"input_tokens": read, "output_tokens": 7},
    })
}

fn call(id: &str, name: &str, input: &Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

/// A tool, a question to a delegate, a handoff with thinking beside it, and the receiver's answer.
fn turns() -> Vec<Value> {
    let thinking = json!({"type": "thinking", "thinking": "Not mine.", "signature": "c2ln"});
    let package = json!({"specialist": "policy_agent", "task": "What does a no-show cost?", "context": {"quoted_cents": 6000}});
    vec![
        said(json!([call("x_1", "get_quote", &json!({"room": "Focus"}))]), "tool_use", 10),
        said(
            json!([call("x_2", "ask_pricing", &json!({"question": "Is there a discount?"}))]),
            "tool_use",
            20,
        ),
        said(json!([{"type": "text", "text": "None."}]), "end_turn", 5),
        said(json!([thinking, call("x_3", "handoff_to_specialist", &package)]), "tool_use", 30),
        said(json!([{"type": "text", "text": "6500 cents."}]), "end_turn", 3),
    ]
}

#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Observer for Notes {
    fn hear(&self, caller: &str, heard: Heard<'_>) {
        // A consumer that is slow keeps the stream waiting.
        std::thread::sleep(std::time::Duration::from_millis(5));
        self.0.lock().unwrap().push(format!("{caller} {heard:?}"));
    }
}

#[track_caller]
fn ended(runner: &Runner<'_>) -> Report {
    match runner.run(&desk(), "Quote Focus. And if I don't show up?").unwrap() {
        Outcome::Ended(report) => report,
        other => panic!("{other:?}"),
    }
}

fn run(live: Live) -> Report {
    ended(&Runner::new(live).conversation("c").clock(|| 0))
}

/// The requests, each a legal conversation.
fn bodies(asked: &[Asked]) -> Vec<String> {
    asked
        .iter()
        .map(|asked| {
            let request: ModelRequest<'_> = serde_json::from_str(&asked.body).unwrap();
            assert_eq!(check_messages(&request.messages), []);
            asked.body.replace(r#","stream":true}"#, "}")
        })
        .collect()
}

/// S1-18, C140, C142, C143. The same replies, plain and streamed to somebody slow: the same requests byte for byte, the
/// same run with the same count of tokens, that of the delegate and of the receiver among them.
#[test]
fn a_streamed_run_is_the_plain_one() {
    let plain = Double::answering(turns().iter().map(|turn| Answer::json(200, turn)));
    let model = Live::anthropic(anthropic::Settings::default());
    let report = run(model.base_url(&plain.url).without_key().build().unwrap());
    assert_eq!((report.answer(), report.last_agent()), ("6500 cents.", "policy_agent"));
    let cost = report.cost();
    assert_eq!((cost.model_calls, cost.tool_calls, cost.input_tokens, cost.output_tokens), (5, 1, 68, 35));

    let streamed = Double::answering(turns().iter().map(|turn| Answer::stream(wire(&events(turn, 4), "\n"))));
    let notes = Notes::default();
    let model = Live::anthropic(anthropic::Settings::default()).stream_to(notes.clone());
    assert_eq!(run(model.base_url(&streamed.url).without_key().build().unwrap()), report);
    assert_eq!(bodies(&streamed.asked()), bodies(&plain.asked()));
    let told = [
        "booking_agent Whole",
        "booking_agent Whole",
        "pricing_agent Text(\"None\")",
        "pricing_agent Text(\".\")",
        "pricing_agent Whole",
        "booking_agent Whole",
        "policy_agent Text(\"6500\")",
        "policy_agent Text(\" cen\")",
        "policy_agent Text(\"ts.\")",
        "policy_agent Whole",
    ];
    assert_eq!(*notes.0.lock().unwrap(), told);
}

/// C07, C10, C11. The sender on one provider, the receiver on another: nothing that the first one minted reaches the
/// second, and within the first thinking and its call are together.
#[test]
fn a_handoff_crosses_from_one_provider_to_another() {
    let sender = Double::answering(turns()[..4].iter().map(|turn| Answer::json(200, turn)));
    let reply = json!({"id": "chatcmpl-1", "choices": [{"message": {"content": "6500 cents."}, "finish_reason": "stop"}]});
    let receiver = Double::answering([Answer::json(200, reply)]);
    let first =
        Live::anthropic(anthropic::Settings::default()).base_url(&sender.url).without_key().build().unwrap();
    let second =
        Live::openai(openai::Settings::default()).base_url(&receiver.url).without_key().build().unwrap();
    let report = ended(&Runner::new(first).model_of("policy_agent", second).conversation("c").clock(|| 0));
    assert_eq!((report.answer(), report.hops().count()), ("6500 cents.", 1));
    assert_eq!(sender.asked().len(), 4);
    let body = receiver.asked().remove(0).body;
    for minted in ["x_1", "x_2", "x_3", "msg_", "c2ln", "previous_response_id", "store"] {
        assert!(!body.contains(minted), "{minted}: {body}");
    }
    let body: Value = serde_json::from_str(&body).unwrap();
    let roles: Vec<&str> =
        body["messages"].as_array().unwrap().iter().filter_map(|one| one["role"].as_str()).collect();
    assert_eq!(roles, ["system", "user"]);
}

/// C46. An agent that is forced to call a tool calls one, and then may answer.
#[test]
fn a_forced_call_does_not_go_on_for_ever() {
    let double = Double::answering(
        [turns()[0].clone(), turns()[4].clone()].iter().map(|turn| Answer::json(200, turn)),
    );
    let any = sommelier_runner::protocol::ToolChoice::Any { disable_parallel_tool_use: None };
    let settings = anthropic::Settings { tool_choice: Some(any), ..anthropic::Settings::default() };
    let report = run(Live::anthropic(settings).base_url(&double.url).without_key().build().unwrap());
    assert_eq!((report.answer(), report.model_calls()), ("6500 cents.", 2));
    let asked = double.asked();
    let forced: Vec<bool> =
        asked.iter().map(|asked| asked.body.contains(r#""tool_choice":{"type":"any"}"#)).collect();
    assert_eq!(forced, [true, false]);
}

/// Whose the bytes are, and the bytes.
type Pieces = Vec<(String, Vec<u8>)>;

/// S1-21. What a model really said can be looked at: the bytes of each reply, whole or in pieces, and whose they are; of an
/// answer that is an error there are none.
#[test]
fn the_bytes_of_a_reply_are_given_as_they_came() {
    let told = |answers: Vec<Answer>, is_streamed: bool| {
        let server = Double::answering(answers);
        let heard: Arc<Mutex<Pieces>> = Arc::default();
        let hearing = Arc::clone(&heard);
        let tell = move |caller: &str, bytes: &[u8]| {
            let mut heard = hearing.lock().unwrap();
            match heard.last_mut() {
                Some((last, before)) if last == caller => before.extend_from_slice(bytes),
                _ => heard.push((caller.to_owned(), bytes.to_vec())),
            }
        };
        let model = Live::anthropic(anthropic::Settings::default()).raw_to(tell).base_url(&server.url);
        let model = if is_streamed { model.stream_to(Notes::default()) } else { model };
        run(model.without_key().build().unwrap());
        server.asked();
        let heard = heard.lock().unwrap().clone();
        heard
            .into_iter()
            .map(|(caller, bytes)| (caller, String::from_utf8(bytes).unwrap()))
            .collect::<Vec<_>>()
    };
    let overloaded = Answer::json(529, json!({"type": "error"})).header("retry-after", "0");
    let turns = [&turns()[3], &turns()[4]].map(Clone::clone);
    let plain = turns.iter().map(|turn| Answer::json(200, turn));
    let expected = |texts: [String; 2]| {
        ["booking_agent", "policy_agent"].map(str::to_owned).into_iter().zip(texts).collect::<Vec<_>>()
    };
    let answers = [overloaded].into_iter().chain(plain).collect();
    assert_eq!(told(answers, false), expected(turns.each_ref().map(Value::to_string)));
    let wires = turns.each_ref().map(|turn| wire(&events(turn, 4), "\n"));
    let answers = wires.iter().map(Answer::stream).collect();
    assert_eq!(told(answers, true), expected(wires.clone()));
}
