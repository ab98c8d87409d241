//! A handoff that goes to the wrong desk, and how it is found: docs/tracing.md reads this program's output.
//!
//! Run it with `cargo run -p sommelier-runner --example misrouted`; `-- FILE` also writes the spans as lines, with what was
//! said in them.

use sommelier_metrics::{LinesLayer, Metrics, TreeLayer};
use sommelier_runner::Runner;
use sommelier_runner::handoff::{Agent, HANDOFF_TO_SPECIALIST, Relay};
use sommelier_runner::protocol::ModelRequest;
use sommelier_runner::runtime::{ScriptedModel, script};
use std::error::Error;
use std::fs::File;
use std::io;
use tracing_subscriber::layer::SubscriberExt;

const GUESTS: [&str; 3] = ["The shower is cold.", "I was charged twice.", "There are two bills in my name."];

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1);
    if file.as_ref().is_some_and(|file| !file.ends_with(".jsonl")) {
        return Err("usage: misrouted [FILE.jsonl]".into());
    }
    tell(file.map(File::create).transpose()?)
}

fn tell(file: Option<File>) -> Result<(), Box<dyn Error>> {
    let metrics = Metrics::new();
    let subscriber = tracing_subscriber::registry()
        .with(metrics.layer())
        .with(TreeLayer::new(io::stdout()).with_times(false))
        .with(file.map(LinesLayer::new));
    tracing::subscriber::with_default(subscriber, || {
        for (number, guest) in (1..).zip(GUESTS) {
            let runner = Runner::new(decisions()).conversation(format!("guest-{number}")).show_contents();
            runner.run(&house()?, guest)?;
        }
        Ok::<_, Box<dyn Error>>(())
    })?;
    println!("\n{}", metrics.report().quality());
    Ok(())
}

#[cfg(test)]
#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    // The arguments are those of the test.
    tell(None)
}

/// The front desk sees to nothing itself. What the others are there for nobody has told it: that is the fault.
fn house() -> Result<Relay, Box<dyn Error>> {
    let relay = Relay::builder()
        .agent(Agent::new("front", "You hand each guest over to whoever can help."))
        .agent(Agent::new("rooms", "You see to what is broken."))
        .agent(Agent::new("till", "You see to the bills."))
        .entry("front")
        .route("front", "rooms")
        .route("front", "till")
        .route("rooms", "till");
    Ok(relay.build()?)
}

/// What a model makes of it: the front desk knows the till for bills only where the tool says so, the rooms know what is theirs.
fn decisions() -> ScriptedModel {
    let hands = |to: &str, request: &ModelRequest<'_>| {
        let said = guest(request);
        let package =
            format!(r#"{{"specialist":"{to}","task":"See to the guest.","context":{{"said":"{said}"}}}}"#);
        script::call(&format!("tu_{}", request.replies + 1), HANDOFF_TO_SPECIALIST, &package)
    };
    let is_about_money =
        |request: &ModelRequest<'_>| ["charged", "bill"].iter().any(|word| guest(request).contains(word));
    let knows_the_till = |request: &ModelRequest<'_>| {
        request
            .tools
            .iter()
            .any(|tool| tool.description.as_deref().is_some_and(|told| told.contains("money")))
    };
    ScriptedModel::new()
        .turn("front", move |request| match is_about_money(request) && knows_the_till(request) {
            true => hands("till", request),
            false => hands("rooms", request),
        })
        .turn("rooms", move |request| match is_about_money(request) {
            true => hands("till", request),
            false => script::say("Somebody is on the way."),
        })
        .turn("till", |_| script::say("One of the two is struck out."))
}

/// What the guest said, whether the agent heard it or has it in its package.
fn guest(request: &ModelRequest<'_>) -> &'static str {
    let words = script::first_words(request);
    GUESTS.into_iter().find(|guest| words.contains(guest)).unwrap_or_default()
}
