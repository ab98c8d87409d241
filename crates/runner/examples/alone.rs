//! Only the runner over the core: a run in a call, a gate, and a second message of the user.
//!
//! Run it with `cargo run -p sommelier-runner --example alone`.

use sommelier_runner::handoff::{Agent, HANDOFF_TO_SPECIALIST, Relay};
use sommelier_runner::runtime::{ScriptedModel, script};
use sommelier_runner::{Gate, Outcome, Runner};
use std::error::Error;

const PACKAGE: &str =
    r#"{"specialist":"policy_agent","task":"What does a no-show cost?","context":{"quoted_cents":6000}}"#;

const REQUEST: &str =
    "Quote Focus on pro for three hours, for the book club of my sister. And what if nobody comes?";

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
        .turn("policy_agent", |_| script::say("6500 cents."))
        .turn("policy_agent", |_| script::say("Up to 24 hours before."));
    let runner = Runner::new(&model).gate(Gate::deny_all("nobody watches this example"));

    let Outcome::Ended(report) = runner.run(&relay, REQUEST)? else {
        return Err("the run waits".into());
    };
    println!("{}: {}", report.last_agent(), report.answer());
    for hop in report.hops() {
        println!(
            "{} -> {}: {} B crossed, {} B stayed",
            hop.from, hop.to, hop.package_bytes, hop.history_bytes
        );
    }
    let Outcome::Ended(report) = runner.go_on(&relay, report.into_done(), "When is it free?")? else {
        return Err("the run waits".into());
    };
    println!("{}: {}", report.last_agent(), report.answer());
    assert_eq!((report.answer(), report.model_calls()), ("Up to 24 hours before.", 3));
    Ok(())
}
