//! Lesson 03: what crosses, and what a history would weigh. Run it with `cargo xtask lesson 03`.
//!
//! The case of lesson 05 with more and more work before the handoff: the package stays what it is, the history grows.
//! Then which data the receiver needs, and the anti-pattern: the whole history as the receiver's first message.

use examples_kit::{Flags, Lesson, Measured, Shown, json_bytes};
use reservo::{Reservo, case, specialists::specialist};
use sommelier_handoff::{Agent, HandoffPackage, PackagePolicy, Relay, Route};
use sommelier_protocol::Message;
use sommelier_runner::{Gate, Outcome, Runner, run_agent};
use sommelier_runtime::{ScriptedModel, script};
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

mod weighed;
use weighed::{Contrast, Crossing, Datum, Weighed};

const BOOKING: &str = "booking_agent";
const POLICY: &str = "policy_agent";
/// What booking_agent knows of the booking.
const DATA: [&str; 4] = ["quoted_cents", "room", "plan", "hours"];

fn main() -> ExitCode {
    let flags = &[("steps", "N", "so many more quotes before the handoff, 0 to 20")];
    Lesson { number: "03", title: "what crosses, and what a history would weigh", flags }.run(show)
}

/// booking_agent looks at other offers first, `more` of them, then at the one that was asked for, and hands over with
/// the data of these names.
fn decisions(more: usize, data: Vec<&'static str>) -> ScriptedModel {
    let looks = (0..more).fold(ScriptedModel::new(), |model, number| {
        let (room, plan) =
            (["Focus", "Studio", "Forum"][number % 3], ["basic", "pro", "team"][number / 3 % 3]);
        let hours = 1 + number / 9;
        model.turn(BOOKING, move |_| {
            let offer = format!(r#"{{"room":"{room}","plan":"{plan}","hours":{hours}}}"#);
            script::call(&format!("tu_{}", number + 1), "get_quote", &offer)
        })
    });
    let booking = looks.turn(BOOKING, move |_| case::quote(&format!("tu_{}", more + 1))).turn(
        BOOKING,
        move |request| {
            let quote = script::last_result(request);
            let members: Vec<String> = data.iter().map(|name| member(name, &quote)).collect();
            case::hand_over(&format!("tu_{}", more + 2), &format!("{{{}}}", members.join(",")))
        },
    );
    case::policy_desk(booking)
}

/// A member of the context, with its value from the quote.
fn member(name: &str, quote: &str) -> String {
    let quote: serde_json::Value = serde_json::from_str(quote).unwrap_or_default();
    let value = &quote[if name == "quoted_cents" { "total_cents" } else { name }];
    format!(r#""{name}":{value}"#)
}

fn agent(name: &str, house: &Arc<Reservo>) -> Result<Agent, Box<dyn Error>> {
    Ok(specialist(name).ok_or_else(|| format!("there is no {name}"))?.agent(house))
}

fn runner<'m>(model: &'m Measured<ScriptedModel>, conversation: String) -> Runner<'m> {
    Runner::new(model)
        .gate(Gate::deny_all("this lesson books and cancels nothing"))
        .conversation(conversation)
}

/// Runs the case to its end: the handoff's sizes, the answer, and booking_agent's messages before the handoff.
fn hand_over(house: &Arc<Reservo>, more: usize, data: &[&'static str]) -> Result<Crossing, Box<dyn Error>> {
    let steps = u32::try_from(more)?.saturating_add(2);
    let relay = Relay::builder()
        .agent(agent(BOOKING, house)?.max_steps(steps))
        .agent(agent(POLICY, house)?)
        .entry(BOOKING)
        .route_with(Route::new(BOOKING, POLICY).requires(["search_docs"]))
        .build()?;
    let model = Measured::new(decisions(more, data.to_vec()));
    let named = format!("lesson-03-{more}-{}", data.join("-"));
    let Outcome::Ended(report) = runner(&model, named).run(&relay, case::REQUEST)? else {
        return Err("the run did not end".into());
    };
    let hop = report.hops().next().ok_or("nothing was handed over")?;
    let sender = report.done().run().idle(BOOKING).map(|turn| turn.messages()).unwrap_or_default();
    // The last two messages are the handoff's call and the loop's answer to it.
    let history = sender.get(..sender.len().saturating_sub(2)).unwrap_or_default().to_vec();
    Ok(Crossing::new(more, hop, history, report.answer(), &model))
}

/// The anti-pattern: the receiver is told everything that the sender was told and said. No package can hold that, so
/// the code here puts a text together and runs the receiver by itself.
fn tell_all(house: &Arc<Reservo>, more: usize, history: &[Message]) -> Result<Contrast, Box<dyn Error>> {
    let everything = format!("{}\n{}", serde_json::to_string(history)?, case::TASK);
    let package = HandoffPackage::new(case::TASK).context("history", history)?;
    let breaches = package.validate(&PackagePolicy::minimal());
    let model = Measured::new(case::policy_desk(ScriptedModel::new()));
    let runner = runner(&model, format!("lesson-03-{more}-whole-history"));
    let run = run_agent(&runner, agent(POLICY, house)?, &everything)?;
    Ok(Contrast {
        crossing_bytes: everything.len(),
        history_bytes: json_bytes(history),
        first_request_bytes: weighed::first_request(&model),
        totals: everything.matches("total_cents").count(),
        breaches: breaches.iter().map(ToString::to_string).collect(),
        answer: run.answer.unwrap_or_default(),
        unused: model.model().unused().len(),
    })
}

fn show(flags: &Flags) -> Result<Shown<Weighed>, Box<dyn Error>> {
    let most = usize::try_from(flags.number("steps", 0..=20)?.unwrap_or(2))?;
    let house = Arc::new(reservo::demo());
    let mut crossings = Vec::new();
    for more in 0..=most {
        let crossing = hand_over(&house, more, &["quoted_cents"])?;
        let contrast = tell_all(&house, more, &crossing.history)?;
        crossings.push((crossing, contrast));
    }
    // All that is known of the booking, and each datum left out in turn.
    let all = hand_over(&house, 0, &DATA)?;
    let mut data = Vec::new();
    for left_out in DATA {
        let others: Vec<&str> = DATA.into_iter().filter(|name| *name != left_out).collect();
        data.push(Datum::new(left_out, &all, &hand_over(&house, 0, &others)?));
    }
    Ok(weighed::shown(Weighed::new(crossings, all, data)))
}
