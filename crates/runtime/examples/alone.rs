//! Only the runtime: one agent with one typed tool, driven by hand, and no handoff anywhere.
//!
//! Run it with `cargo run -p sommelier-runtime --example alone`.

use sommelier_runtime::{Agent, Model, ScriptedModel, Tool, TurnStep, script, tool, tool_args};
use std::error::Error;

tool_args! {
    /// A stay.
    struct Stay {
        /// Whole hours.
        hours: u32,
    }
}

#[cfg_attr(test, test)]
fn main() -> Result<(), Box<dyn Error>> {
    let price = Tool::new("price", "Tells a price in cents.", |stay: Stay, _: &tool::CallContext<'_>| {
        stay.hours.checked_mul(2000).ok_or(tool::Failure::new("too_long", "nobody stays so long"))
    });
    let agent = Agent::new("clerk", "You tell prices.").tools([price]).build()?;
    let model = ScriptedModel::new()
        .turn("clerk", |_| script::call("tu_1", "price", r#"{"hours":3}"#))
        .turn("clerk", |request| script::say(format!("{} cents.", script::last_result(request))));

    let mut step = TurnStep::start(&agent, "What do three hours cost?")?;
    let turn = loop {
        step = match step {
            TurnStep::CallModel(call) => {
                let response = model.complete(call.request(&agent));
                call.resume(&agent, response)
            }
            TurnStep::CallTools(calls) => {
                let outputs = tool::dispatch_parallel(&agent, calls.calls(), "alone/1");
                calls.resume(&agent, outputs)?
            }
            TurnStep::Reserved(_) => return Err("this agent has no reserved tool".into()),
            TurnStep::Done(turn) => break turn,
        };
    };
    println!("{} ({} model calls)", turn.answer().unwrap_or_default(), turn.steps());
    assert_eq!((turn.answer().as_deref(), turn.steps()), (Some("6000 cents."), 2));
    Ok(())
}
