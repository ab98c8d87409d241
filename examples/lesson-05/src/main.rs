//! Lesson 05: the whole case, end to end. Run it with `cargo xtask lesson 05`.
//!
//! A customer asks for a quote and, in the same breath, what a no-show costs. booking_agent quotes, meets a
//! question that none of its tools answers, and hands the turn to policy_agent with a package of a hundred
//! bytes. policy_agent answers from the package and the document it finds.

use examples_kit::{Claim, Flags, Lesson, Misuse, RunRow, Shown, narrate};
use reservo::{Cents, Entry, Plan, Room, demo, facts, specialists};
use sommelier_runner::{Gate, Outcome, Report, Runner};
use sommelier_runtime::{Model, ScriptedModel, script};
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

const REQUEST: &str = "Quote Focus pro 3h. And what happens if I don't show up?";
const TASK: &str = "What happens if the customer does not show up for the booking?";

fn main() -> ExitCode {
    let lesson = Lesson {
        number: "05",
        title: "the whole case, end to end",
        flags: &[
            ("fee", "CENTS", "another no-show fee"),
            ("rate", "CENTS", "another rate of Focus on the pro plan, for an hour"),
        ],
    };
    lesson.run(show)
}

/// The decisions that a model would make, each a function of what the agent has before it.
fn decisions() -> ScriptedModel {
    ScriptedModel::new()
        .turn("booking_agent", |_| {
            script::call("tu_1", "get_quote", r#"{"room":"Focus","plan":"pro","hours":3}"#)
        })
        .turn("booking_agent", |request| {
            let quoted = number(&script::last_result(request), "total_cents");
            let package = format!(
                r#"{{"specialist":"policy_agent","task":"{TASK}","context":{{"quoted_cents":{quoted}}}}}"#
            );
            script::call("tu_2", "handoff_to_specialist", &package)
        })
        .turn("policy_agent", |_| {
            script::call("tu_1", "search_docs", r#"{"query":"customer does not show up"}"#)
        })
        .turn("policy_agent", |request| {
            let quoted = number(script::first_words(request), "quoted_cents");
            let document = first_document(&script::last_result(request));
            let charge = facts::no_show(&document).and_then(|charge| charge.of(Cents(quoted)));
            match charge {
                Some(charge) => script::say(format!(
                    "The quote is {quoted} cents. If you do not show up, you are charged {} cents: \
                     the whole quote and the fee [POL-NOSHOW].",
                    charge.0
                )),
                None => script::say("The documents do not say what a no-show costs."),
            }
        })
}

/// The number after `"name":` in a text of JSON.
fn number(text: &str, name: &str) -> i64 {
    let after = text.split_once(&format!("\"{name}\":")).map_or("", |(_, after)| after);
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// The text of the best document in a result of search_docs.
fn first_document(hits: &str) -> String {
    let hits: serde_json::Value = serde_json::from_str(hits).unwrap_or_default();
    hits[0]["text"].as_str().unwrap_or_default().to_owned()
}

fn show(flags: &Flags) -> Result<Shown<RunRow>, Box<dyn Error>> {
    let mut house = demo();
    if let Some(fee) = flags.number("fee", 0..=1_000_000)? {
        house.library.no_show.fee_cents = Cents(fee);
    }
    if let Some(rate) = flags.number("rate", 0..=i64::MAX)? {
        let set = house.prices.set_rate(Room::Focus, Plan::Pro, Cents(rate));
        set.map_err(|error| Misuse::new(format!("--rate {rate}: {error}")))?;
    }
    let rate = house.prices.rate(Room::Focus, Plan::Pro).0;
    let fee = house.library.no_show.fee_cents.0;

    let relay = specialists::relay(&Arc::new(house), Entry::Booking).build()?;
    let model = decisions();
    let gate = Gate::deny_all("this lesson books and cancels nothing");
    let runner = Runner::new(&model).gate(gate).conversation("lesson-05");
    let Outcome::Ended(report) = runner.run(&relay, REQUEST)? else {
        return Err("the run did not end".into());
    };
    let label = model.label().unwrap_or_default();
    Ok(Shown {
        text: format!(
            "Decisions: {label}. Everything else is executed. The gate denies book and cancel.\n\n{}",
            narrate(report.done())
        ),
        claims: claims(&report, &model, 3 * rate, 3 * rate + fee),
        json: RunRow::of(&report, label),
    })
}

fn claims(report: &Report, model: &ScriptedModel, quote: i64, charge: i64) -> Vec<Claim> {
    let hops: Vec<String> = report.hops().map(|hop| format!("{} → {}", hop.from, hop.to)).collect();
    let crossing: usize = report.hops().map(|hop| hop.package_bytes).sum();
    let behind: usize = report.hops().map(|hop| hop.history_bytes).sum();
    vec![
        Claim::equal(
            "one hop, booking_agent → policy_agent",
            hops,
            vec!["booking_agent → policy_agent".into()],
        ),
        Claim::that("the answer serves the quote", report.answer().contains(&format!("{quote} cents"))),
        Claim::that("the answer serves the no-show", report.answer().contains(&format!("{charge} cents"))),
        Claim::that("what crosses is a third of what stays behind, or less", 3 * crossing <= behind),
        Claim::equal("four model calls, two tool runs", (report.model_calls(), report.tool_calls()), (4, 2)),
        Claim::equal("every scripted decision was asked for", model.unused(), Vec::new()),
    ]
}
