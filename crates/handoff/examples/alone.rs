//! Only the handoff: a run that is driven by hand, step by step, without the runner, and saved on the way.
//!
//! Run it with `cargo run -p sommelier-handoff --example alone`.

use sommelier_handoff::runtime::{Model, ScriptedModel, script, tool};
use sommelier_handoff::{Agent, HANDOFF_TO_SPECIALIST, Relay, Step};
use std::error::Error;

const PACKAGE: &str =
    r#"{"specialist":"policy_agent","task":"What does a no-show cost?","context":{"quoted_cents":6000}}"#;

#[cfg_attr(test, test)]
fn main() -> Result<(), Box<dyn Error>> {
    let relay = Relay::builder()
        .agent(Agent::new("booking_agent", "You quote rooms."))
        .agent(Agent::new("policy_agent", "You know the rules."))
        .entry("booking_agent")
        .route("booking_agent", "policy_agent")
        .build()?;
    let model = ScriptedModel::new()
        .turn("booking_agent", |_| script::call("tu_1", HANDOFF_TO_SPECIALIST, PACKAGE))
        .turn("policy_agent", |_| script::say("6500 cents."));

    let mut step = relay.start("alone", "And what if I do not come?")?;
    let done = loop {
        step = match step {
            Step::CallModel(call) => {
                let response = model.complete(call.request(&relay));
                call.resume(&relay, response, 0)
            }
            Step::CallTools(calls) => {
                let agent = calls.agent(&relay).ok_or("the relay is the one it began with")?;
                let outputs = tool::dispatch(agent, calls.calls(), &calls.scope());
                calls.resume(&relay, outputs, 0)?
            }
            Step::AskHuman(_) | Step::Delegate(_) => return Err("nobody is asked here".into()),
            Step::HandOff(handoff) => {
                println!("{} -> {}: {}", handoff.from(), handoff.to(), handoff.package().to_json());
                // Saved before it is taken; another process could go on from here.
                let saved = Step::HandOff(handoff).save()?;
                let Step::HandOff(handoff) = relay.load(&saved)? else {
                    return Err("still a handoff".into());
                };
                handoff.take(&relay, 0)
            }
            Step::Done(done) => break done,
        };
    };
    println!("{}: {}", done.run().active(), done.answer().unwrap_or_default());
    assert_eq!((done.answer().as_deref(), done.run().trail().count()), (Some("6500 cents."), 1));
    Ok(())
}
