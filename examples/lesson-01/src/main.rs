//! Lesson 01: the waiter, the sommelier, and where the pattern ends. Run it with `cargo xtask lesson 01`.
//!
//! This one is for reading: no model is asked and nothing runs. What can be read from the code is read from it while
//! the text is printed: who has which tools, who may hand over to whom, what a handoff must say, and how often.

use examples_kit::{Claim, Flags, Lesson, Shown};
use reservo::{Entry, case, demo, entry, specialists};
use serde::Serialize;
use sommelier_handoff::{HANDOFF_TO_SPECIALIST, Relay, Step};
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

mod house;
mod told;
use house::{Desk, Schema};

fn main() -> ExitCode {
    let title = "the waiter, the sommelier, and where the pattern ends";
    Lesson { number: "01", title, flags: &[] }.run(show)
}

#[derive(Serialize)]
struct Json {
    desks: Vec<Desk>,
    handoff: Schema,
    max_handoffs: u32,
    max_model_calls: u32,
    /// Where the fixed rule of the house takes three requests, before anybody works on them.
    rule: [(&'static str, &'static str); 3],
    /// A quote, and what a no-show costs at it.
    no_shows: Vec<(i64, i64)>,
    /// What a run does before anything else.
    first_step: &'static str,
}

fn show(_: &Flags) -> Result<Shown<Json>, Box<dyn Error>> {
    let house = Arc::new(demo());
    let relay = specialists::relay(&house, Entry::Booking).build()?;
    let requests = [case::REQUEST, "What happens if I don't show up?", "Which room is cheapest for 3 hours?"];
    let json = Json {
        desks: house::desks(&relay)?,
        handoff: house::schema(&relay, "booking_agent")?,
        max_handoffs: relay.guards().max_handoffs,
        max_model_calls: relay.max_model_calls(),
        rule: requests.map(|request| (request, entry(request).name())),
        no_shows: house::no_shows(&house)?,
        first_step: first_step(&relay)?,
    };
    Ok(Shown { text: text(&json), claims: claims(&json), json })
}

/// What a run begins with. The step is looked at and not done.
fn first_step(relay: &Relay) -> Result<&'static str, Box<dyn Error>> {
    Ok(match relay.start("lesson-01", case::REQUEST)? {
        Step::CallModel(_) => "ask the agent at the entry",
        Step::HandOff(_) => "hand over",
        _ => "something else",
    })
}

fn text(json: &Json) -> String {
    let mut text = format!(
        "For reading: no model is asked, and nothing runs. What the house has is read from its code.\n\n{}\n\
         The same in the house\n",
        told::PICTURE
    );
    for Desk { name, purpose, tools, routes, .. } in &json.desks {
        let (tools, routes) = (tools.join(", "), routes.join(", "));
        text.push_str(&format!("  {name}: {purpose}\n    tools: {tools}\n    may hand over to: {routes}\n"));
    }
    let Schema { properties, required, .. } = &json.handoff;
    let free: Vec<&str> =
        properties.keys().filter(|name| !required.contains(name)).map(String::as_str).collect();
    text.push_str(&format!(
        "  {HANDOFF_TO_SPECIALIST}: the call that hands over\n    must have: {}\n    may have: {}\n    \
         at most {} times between two messages of the user, and {} model calls\n\n{}\n\
         The fixed rule of this house, a supervisor of the first kind: words decide, before any work\n",
        required.join(", "),
        free.join(", "),
        json.max_handoffs,
        json.max_model_calls,
        told::BOUNDARIES,
    ));
    for (request, desk) in &json.rule {
        text.push_str(&format!("  {desk:<14} \"{request}\"\n"));
    }
    let charges = json.no_shows.iter().map(|(quote, charge)| format!("{charge} at a quote of {quote}"));
    text.push_str(&format!(
        "\n{}  handoff      \"{}\"\n{PAD}What a no-show costs needs the quote, so somebody works \
         first. For Focus and 3 hours:\n{PAD}{}.\n\n{}",
        told::TWO_PARTS,
        case::REQUEST,
        charges.collect::<Vec<_>>().join(", "),
        told::BELIEFS,
    ));
    text
}

const PAD: &str = "               ";

fn claims(json: &Json) -> Vec<Claim> {
    let Json { desks, handoff, no_shows, .. } = json;
    let owns = |desk: &&Desk| desk.tools.iter().any(|tool| tool == "search_docs");
    let owners: Vec<(&str, &[String])> =
        desks.iter().filter(owns).map(|desk| (desk.name, &*desk.tools)).collect();
    let others = |desk: &Desk| -> Vec<&str> {
        desks.iter().map(|other| other.name).filter(|name| *name != desk.name).collect()
    };
    let all_others = desks.iter().all(|desk| desk.may_name == others(desk) && desk.routes == desk.may_name);
    let for_messages = |name: &String| name.contains("message") || name.contains("history");
    vec![
        Claim::equal(
            "search_docs is policy_agent's only tool, and nobody else's",
            owners,
            vec![("policy_agent", &["search_docs".to_owned()][..])],
        ),
        Claim::that("each may name both others, and never itself", all_others),
        Claim::equal(
            "a handoff names a receiver, a task and a context",
            handoff.required.join(", "),
            "specialist, task, context".to_owned(),
        ),
        Claim::that(
            "it has no member for messages, and takes none that it does not list",
            !handoff.takes_more && !handoff.properties.keys().any(for_messages),
        ),
        Claim::equal("there is a cap, though nobody has set one", json.max_handoffs, 5),
        Claim::equal(
            "a run begins by asking an agent, never with a handoff",
            json.first_step,
            "ask the agent at the entry",
        ),
        Claim::equal("the rule takes the running case to booking_agent", json.rule[0].1, "booking_agent"),
        Claim::that(
            "another quote is another charge for a no-show",
            no_shows.len() == 3 && no_shows.windows(2).all(|pair| pair[0].1 != pair[1].1),
        ),
    ]
}
