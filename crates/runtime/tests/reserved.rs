//! What the layer above sees of a reply with calls that are its own to answer.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::clerk;
use sommelier_runtime::script::calls;
use sommelier_runtime::turn::Reserved;
use sommelier_runtime::{ToolOutput, TurnStep};

/// The layer above sees what the agent's own tools have brought in the same reply, and what it has settled itself.
#[test]
fn the_layer_above_sees_what_is_answered() {
    let agent = clerk().build().unwrap();
    let Ok(TurnStep::CallModel(asked)) = TurnStep::start(&agent, "do") else {
        panic!("the model comes first")
    };
    let reply = calls([("tu_1", "hand_over", "{}"), ("tu_2", "gone", "{}"), ("tu_3", "hand_over", "{}")]);
    let TurnStep::Reserved(mut above) = asked.resume(&agent, Ok(reply)) else { panic!("a reserved call") };
    let told = |above: &Reserved| -> Vec<String> {
        above.answered().map(|(call, output)| format!("{}: {:?}", call.id(), output.error)).collect()
    };
    assert_eq!(told(&above), [r#"tu_2: Some("unknown_tool")"#]);
    above.settle(0, ToolOutput::ok("here"));
    assert_eq!(told(&above), ["tu_1: None", r#"tu_2: Some("unknown_tool")"#]);
}
