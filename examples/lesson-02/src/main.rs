//! Lesson 02: what goes wrong without a handoff. Run it with `cargo xtask lesson 02`.
//!
//! booking_agent works alone. It can quote, and none of its tools tells what a no-show costs. Three scripts show what
//! an agent can do then: guess, reach for a tool that it does not have, or stop. The last run is the one with a handoff.

use examples_kit::{Flags, Lesson, Measured, Misuse, Shown};
use reservo::{Cents, Entry, Hours, Plan, Reservo, Room, case, facts, policy::DocId, specialists};
use sommelier_protocol::Message;
use sommelier_runner::{Gate, Outcome, Runner, run_agent};
use sommelier_runtime::{ScriptedModel, script};
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

mod tried;
use tried::{Tried, Truth};

const BOOKING: &str = "booking_agent";
const SEARCHES: [&str; 7] = [
    "no-show",
    "customer does not show up",
    "no-show fee",
    "missed booking",
    "nobody comes",
    "penalty",
    "rules",
];

fn main() -> ExitCode {
    let flags = &[
        ("fee", "CENTS", "another no-show fee"),
        ("rate", "CENTS", "another rate of Focus on the pro plan, for an hour"),
    ];
    Lesson { number: "02", title: "what goes wrong without a handoff", flags }.run(show)
}

/// a. It has a question and no source, and states a number all the same: half of the quote.
fn guesses() -> ScriptedModel {
    ScriptedModel::new().turn(BOOKING, |_| case::quote("tu_1")).turn(BOOKING, |request| {
        let quoted = case::number(&script::last_result(request), "total_cents").unwrap_or_default();
        let half = quoted / 2;
        script::say(format!(
            "The quote is {quoted} cents. If you do not show up, you are charged 50 %, {half} cents."
        ))
    })
}

/// b. It calls a tool of somebody else's, and again in other words, for as long as it is asked.
fn reaches() -> ScriptedModel {
    let quotes = ScriptedModel::new().turn(BOOKING, |_| case::quote("tu_1"));
    SEARCHES.iter().zip(2..).fold(quotes, |model, (words, number)| {
        model.turn(BOOKING, move |_| {
            script::call(&format!("tu_{number}"), "search_docs", &format!(r#"{{"query":"{words}"}}"#))
        })
    })
}

/// c. It would hand over and cannot, says whose question it is, and stops. policy_agent's turns are there, for
/// whoever would ask.
fn stops() -> ScriptedModel {
    let alone = hands_over().turn(BOOKING, |request| {
        let quote = request.messages.iter().flat_map(Message::tool_results).next();
        let quoted = quote.and_then(|quote| case::number(&quote.words(), "total_cents")).unwrap_or_default();
        script::say(format!(
            "The quote is {quoted} cents. What a no-show costs is for the policy desk to say."
        ))
    });
    case::policy_desk(alone)
}

/// booking_agent's two turns of lesson 05: a quote, and a handoff with what it came to.
fn hands_over() -> ScriptedModel {
    ScriptedModel::new().turn(BOOKING, |_| case::quote("tu_1")).turn(BOOKING, |request| {
        let quoted = case::number(&script::last_result(request), "total_cents").unwrap_or_default();
        case::hand_over("tu_2", &format!(r#"{{"quoted_cents":{quoted}}}"#))
    })
}

fn gate() -> Gate {
    Gate::deny_all("this lesson books and cancels nothing")
}

/// Runs booking_agent by itself, with nobody to hand over to.
fn alone(what: &'static str, house: &Arc<Reservo>, model: ScriptedModel) -> Result<Tried, Box<dyn Error>> {
    let booking = specialists::specialist(BOOKING).ok_or("there is no booking_agent")?;
    let model = Measured::new(model);
    let runner = Runner::new(&model).gate(gate()).conversation(format!("lesson-02-{what}"));
    let run = run_agent(&runner, booking.agent(house), case::REQUEST)?;
    Ok(Tried::new(what, &model, run.answer, &run.stopped, &[(BOOKING, &run.messages)]))
}

/// Runs the same agent beside its colleagues.
fn together(house: &Arc<Reservo>) -> Result<Tried, Box<dyn Error>> {
    let relay = specialists::relay(house, Entry::Booking).build()?;
    let model = Measured::new(case::policy_desk(hands_over()));
    let runner = Runner::new(&model).gate(gate()).conversation("lesson-02-hands-over");
    let Outcome::Ended(report) = runner.run(&relay, case::REQUEST)? else {
        return Err("the run did not end".into());
    };
    let run = report.done().run();
    let conversations = [BOOKING, "policy_agent"]
        .map(|agent| (agent, run.idle(agent).map(|turn| turn.messages()).unwrap_or_default()));
    Ok(Tried::new("hands over", &model, report.done().answer(), report.end(), &conversations))
}

fn show(flags: &Flags) -> Result<Shown<tried::Json>, Box<dyn Error>> {
    let mut house = reservo::demo();
    if let Some(fee) = flags.number("fee", 0..=1_000_000)? {
        house.library.no_show.fee_cents = Cents(fee);
    }
    if let Some(rate) = flags.number("rate", 100..=1_000_000)? {
        let set = house.prices.set_rate(Room::Focus, Plan::Pro, Cents(rate));
        set.map_err(|error| Misuse::new(format!("--rate {rate}: {error}")))?;
    }
    // What is true: the price list's quote, and the charge that the document's text states for it.
    let document = house.library.document(DocId::NoShow);
    let quote = house.quote(Room::Focus, Plan::Pro, Hours::new(3)?).total_cents;
    let charge = facts::no_show(&document.text).and_then(|charge| charge.of(quote));
    let truth =
        Truth { charge_cents: charge.ok_or("the document states no charge")?.0, document: document.text };

    let house = Arc::new(house);
    Ok(tried::shown(
        [
            alone("guesses", &house, guesses())?,
            alone("reaches", &house, reaches())?,
            alone("stops", &house, stops())?,
            together(&house)?,
        ],
        truth,
    ))
}
