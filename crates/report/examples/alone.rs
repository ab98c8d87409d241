//! The crate by itself: a conversation is held and written down, and what happened in it is told in each form.
//!
//! Run it with `cargo run -p sommelier-report --example alone`, and with the name of a file for the page.

use std::error::Error;
use std::fs;

use sommelier_handoff::{Agent, HANDOFF_TO_SPECIALIST, Relay};
use sommelier_report::{Story, html, mermaid, text};
use sommelier_runner::journal::Journal;
use sommelier_runner::{DurableRunner, Runner, Turn};
use sommelier_runtime::{ScriptedModel, script};
use sommelier_store::MemoryStore;

#[cfg_attr(test, test)]
fn main() -> Result<(), Box<dyn Error>> {
    let relay = Relay::builder()
        .agent(Agent::new("clerk", "You book."))
        .agent(Agent::new("till", "You take the money."))
        .entry("clerk")
        .route("clerk", "till")
        .route("till", "clerk")
        .build()?;
    let order = r#"{"specialist":"till","task":"Take the money.","context":{"cents":1200}}"#;
    let model = ScriptedModel::new()
        .turn("clerk", move |_| script::call("tu_1", HANDOFF_TO_SPECIALIST, order))
        .turn("till", |_| script::say("That is 12.00."));
    let (store, runner) = (MemoryStore::new(), Runner::new(model));
    DurableRunner::new(&runner, &relay, &store).submit("guest-7", Turn::new("Seat 7, please."))?;

    let story = Story::of_run(&relay, "guest-7", &store.load("guest-7", 1)?)?;
    println!("{}\n{}", text::document(&story), mermaid::document(&story));
    if let Some(file) = std::env::args().nth(1).filter(|file| file.ends_with(".html")) {
        fs::write(file, html::page(&story))?;
    }
    assert_eq!(story.bytes(), (51, 45), "what crossed, and what was left behind");
    assert_eq!(story.outcome.answer.as_deref(), Some("That is 12.00."));
    // The way back is there, and nobody took it.
    assert_eq!(story.relays[0].ways.iter().map(|way| way.taken).collect::<Vec<_>>(), [1, 0]);
    Ok(())
}
