//! A conversation that this project builds, held with the server over the wire.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{post, scripted};
use serde_json::json;
use sommelier_fake_server::FakeServer;
use sommelier_protocol::{
    Asking, ModelRequest, ModelResponse, RawJson, Reply, Resting, ToolDefinition, ToolName, ToolResult, Words,
};

/// Asks until the model rests, and answers each of its calls.
fn until_rest(server: &FakeServer, mut asking: Asking) -> Resting {
    let schema = RawJson::parse(r#"{"type":"object","properties":{"room":{"type":"string"}}}"#).unwrap();
    let tools = [ToolDefinition::new(ToolName::new("get_quote").unwrap(), "Prices a room.", schema)];
    loop {
        let mut request = ModelRequest::new("claude-opus-5", 1024, asking.messages());
        request.tools = tools.as_slice().into();
        let told = post(server, &serde_json::to_value(&request).unwrap());
        assert_eq!(told.status, 200, "{}", told.body);
        let response: ModelResponse = serde_json::from_str(&told.body).unwrap();
        asking = match asking.replied(response.content) {
            Reply::Called(called) => {
                let results =
                    called.owing.calls().map(|call| ToolResult::text(call.id(), "60 euros")).collect();
                called.owing.answer(results).unwrap()
            }
            Reply::Said(resting) => return resting,
            other => panic!("{other:?}"),
        };
    }
}

/// S1-18: what `protocol` builds breaks no rule of the server, with thinking, parallel calls and a second question.
#[test]
fn what_protocol_builds_is_taken() {
    let server = scripted(&json!({"replies": [
        {"thinking": "Two prices are asked for.", "text": "One moment.",
         "blocks": [{"type": "redacted_thinking", "data": "b3BhcXVl"}],
         "tool_use": [{"name": "get_quote", "input": {"room": "Focus"}}, {"name": "get_quote", "input": {"room": "Hall"}}]},
        {"thinking": "One more.", "tool_use": [{"name": "get_quote"}]},
        {"text": "60 each."},
        {"tool_use": [{"id": "toolu_fake_000001_0", "name": "get_quote"}]},
        {"text": "Still 60."}
    ]}));
    let resting = until_rest(&server, Asking::open("Quote Focus and Hall").unwrap());
    let resting = until_rest(&server, resting.say(Words::new("Again, please").unwrap()));
    assert_eq!(resting.messages().len(), 10);
    let log = server.log();
    assert_eq!((log.requests, log.refused, log.noted), (5, 0, [].into()));
}
