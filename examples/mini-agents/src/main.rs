//! Two desks as tools of a supervisor, and as receivers of a handoff.
//!
//! Run it with `cargo xtask example mini-agents`. A customer asks about an invoice and a parcel, and two desks know one of
//! them each. The same desks work in both patterns: a supervisor asks them and keeps the turn, or triage hands its turn to
//! one of them. Then four things go wrong.

mod desks;
mod handoff;
mod script;
mod supervisor;

use examples_kit::{Example, Flags, RunRow, Shown, narrate};
use serde::Serialize;
use std::error::Error;
use std::process::ExitCode;

use handoff::{Exchange, Given, Passed};
use supervisor::{Spent, SupervisedRow};

fn main() -> ExitCode {
    let example = Example {
        name: "mini-agents",
        title: "two desks as tools of a supervisor, and as receivers of a handoff",
        flags: &[
            ("fails", "TIMES", "how often billing's archive fails in exercise a, 0 to 3"),
            ("budget", "CALLS", "model calls of the whole tree in exercise b, 5 to 50"),
            ("words", "TIMES", "how often billing answers in free text in exercise d, 0 to 2"),
            ("handoffs", "MOST", "transfers that the loop may make, 0 to 5"),
        ],
    };
    example.run(show)
}

/// The example as JSON.
#[derive(Debug, Serialize)]
struct Document {
    model: String,
    supervisor: SupervisedRow,
    handoff: Talked,
    r#loop: Passed,
    billing_fails: SupervisedRow,
    budget: Budgeted,
    wrong_triage: Vec<[Passed; 3]>,
    free_text: SupervisedRow,
}

#[derive(Debug, Serialize)]
struct Talked {
    run: RunRow,
    asked: Vec<Given>,
    customer_sees: Vec<Exchange>,
}

#[derive(Debug, Serialize)]
struct Budgeted {
    model_calls: u32,
    spending: Vec<Spent>,
    #[serde(flatten)]
    run: SupervisedRow,
}

fn show(flags: &Flags) -> Result<Shown<Document>, Box<dyn Error>> {
    let number = |name, legal, usual| -> Result<u32, Box<dyn Error>> {
        Ok(u32::try_from(flags.number(name, legal)?.unwrap_or(usual))?)
    };
    let fails = number("fails", 0..=3, 3)?;
    let budget = number("budget", 5..=50, 5)?;
    let words = number("words", 0..=2, 2)?;
    let most = number("handoffs", 0..=5, i64::from(handoff::MAX_HANDOFFS))?;

    let both = supervisor::at_once("both", 0)?;
    let talk = handoff::talk()?;
    let circle = handoff::circle(most)?;
    let failing = supervisor::at_once("failing", fails)?;
    let spent = supervisor::in_turn("budget", budget)?;
    let in_words = supervisor::in_words("words", words)?;
    let errors = (0..=4).map(handoff::errors).collect::<Result<Vec<_>, _>>()?;

    let label = both.label().to_owned();
    let [_, mended, _] = &errors[3];
    let spending = spent.spending(budget);
    let text = [
        format!("Decisions: {label}. Everything else is executed.\n"),
        section("1. The desks are tools: a supervisor asks both in one message"),
        narrate(both.report.done()),
        "\nThe same in the form of OpenAI, by role:\n".to_owned(),
        both.told_chat(),
        "\nThe links, from the run that asked to the run that answered:\n".to_owned(),
        both.told_links(),
        section("2. The turn is handed over: triage transfers to billing"),
        narrate(talk.report.done()),
        "\nThe hops:\n".to_owned(),
        talk.told_hops(),
        "\nWho was asked, in order, with which tools:\n".to_owned(),
        talk.told_asked(),
        "\nWhat the customer sees:\n".to_owned(),
        talk.told_exchanges(),
        section(&format!("2. Both transfer whatever they read; {most} transfers are the most")),
        circle.told(),
        section(&format!("Exercise a: billing's archive fails, {fails} time(s)")),
        failing.told_links(),
        format!("  supervisor answers: {}\n", failing.report.answer()),
        section(&format!(
            "Exercise b: one question after the other, {budget} model calls for the whole tree"
        )),
        supervisor::told_spending(&spending),
        format!("  supervisor answers: {}\n", spent.report.answer()),
        section("Exercise c: shipping is there too, and triage errs; 3 transfers are the most"),
        mended.told(),
        "\nWho answers at each cap, and after how many activations:\n".to_owned(),
        handoff::table(&errors),
        section(&format!("Exercise d: billing answers in free text, {words} time(s)")),
        in_words.told_sent_back(),
        in_words.told_links(),
        format!("  supervisor answers: {}\n", in_words.report.answer()),
    ]
    .concat();
    let claims = [
        both.claims(),
        vec![both.claim_asked("1")],
        talk.claims(),
        failing.claims_failing(fails),
        vec![failing.claim_asked("a")],
        spent.claims_budget(budget),
        vec![spent.claim_asked("b")],
        handoff::claims(&circle, &errors),
        in_words.claims_in_words(words),
        vec![in_words.claim_asked("d")],
    ];
    let json = Document {
        model: label,
        supervisor: both.row(),
        handoff: Talked {
            run: RunRow::of(&talk.report, both.label()),
            asked: talk.given(),
            customer_sees: talk.exchanges,
        },
        r#loop: circle,
        billing_fails: failing.row(),
        budget: Budgeted { model_calls: budget, spending, run: spent.row() },
        wrong_triage: errors,
        free_text: in_words.row(),
    };
    Ok(Shown { text, json, claims: claims.concat() })
}

fn section(title: &str) -> String {
    format!("\n{title}\n{}\n", "-".repeat(title.chars().count()))
}
