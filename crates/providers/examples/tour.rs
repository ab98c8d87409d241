//! A run that makes each kind of request that this project sends, against a server of the Messages API: plain, then streamed.
//!
//! `cargo run -p sommelier-providers --example tour http://127.0.0.1:PORT`, with a key in `ANTHROPIC_API_KEY`, is what `cargo xtask sdk-check` runs against the
//! fake server, whose log then has our requests for the official SDK's types to look at.

use std::error::Error;
use std::io::{self, Write};

use sommelier_providers::{Heard, Live, Observer, anthropic};
use sommelier_runner::handoff::{Agent, Delegate, Relay};
use sommelier_runner::runtime::tool::{CallContext, Failure};
use sommelier_runner::runtime::{Tool, tool_args};
use sommelier_runner::{Outcome, Runner};

tool_args! {
    /// Which room.
    struct Room {
        /// Its name.
        room: String,
        /// For how many hours.
        hours: Option<u32>,
    }
}

/// Hears the words as they come, and leaves it at that: a model is streamed where somebody listens.
struct Nobody;

impl Observer for Nobody {
    fn hear(&self, _: &str, _: Heard<'_>) {}
}

fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("usage: tour URL")?;
    let plain = Live::anthropic(anthropic::Settings::default()).base_url(&url).build()?;
    let streamed =
        Live::anthropic(anthropic::Settings::default()).stream_to(Nobody).base_url(&url).build()?;
    let mut out = io::stdout();
    for (name, live) in [("plain", plain), ("streamed", streamed)] {
        let outcome = Runner::new(live).conversation("tour").run(&desk()?, "Quote Focus. And a no-show?")?;
        let Outcome::Ended(report) = outcome else { return Err("the run waits for somebody".into()) };
        writeln!(out, "{name}: {} answered {:?}", report.last_agent(), report.answer())?;
    }
    Ok(())
}

/// An agent with a tool that can fail, a delegate and a route.
fn desk() -> Result<Relay, Box<dyn Error>> {
    let quote =
        Tool::new("get_quote", "Quotes a room.", |room: Room, _: &CallContext<'_>| match &*room.room {
            "Focus" => Ok(format!("Focus: {} cents", 2000 * room.hours.unwrap_or(1))),
            other => Err(Failure::new("no_such_room", format!("there is no room {other}"))),
        });
    let pricing = Delegate::new("ask_pricing", Agent::new("pricing_agent", "You know prices."));
    Ok(Relay::builder()
        .agent(Agent::new("booking_agent", "You quote rooms.").tools([quote]))
        .agent(Agent::new("policy_agent", "You know the policies."))
        .delegate("booking_agent", pricing)
        .entry("booking_agent")
        .route("booking_agent", "policy_agent")
        .build()?)
}
