//! One job done four ways, and the bytes that cross in each.
//!
//! Run it with `cargo xtask example contrasts`. Support reads a contract and meets a question that is legal's. Four ways of
//! letting legal go on: three imitations of ideas of other systems, written here, and the handoff of this project. The
//! tools, the prompts and the decisions are the same; what differs is what legal gets to read.

mod command;
mod floor;
mod job;
mod ours;
mod speaker;
mod tasks;
mod way;

use examples_kit::{Claim, Example, Flags, Shown, narrate_agent};
use serde::Serialize;
use std::error::Error;
use std::process::ExitCode;

use way::{Ran, Way};

fn main() -> ExitCode {
    let example = Example {
        name: "contrasts",
        title: "one job done four ways, and the bytes that cross in each",
        flags: &[("steps", "PAGES", "pages of notes that support reads before the contract, 1 to 20")],
    };
    example.run(show)
}

/// The example as JSON.
#[derive(Debug, Serialize)]
struct Document {
    model: String,
    request: &'static str,
    steps: u32,
    /// Without a page of notes.
    short: Vec<Ran>,
    /// With as many as were set.
    long: Vec<Ran>,
}

fn show(flags: &Flags) -> Result<Shown<Document>, Box<dyn Error>> {
    let steps = u32::try_from(flags.number("steps", 1..=20)?.unwrap_or(6))?;
    let all = |steps| Way::ALL.into_iter().map(|way| way.run(steps)).collect::<Result<Vec<_>, _>>();
    let short = all(0)?;
    let long = all(steps)?;

    let label = short.first().map(|ran| ran.label.clone()).unwrap_or_default();
    let seen: String = short.iter().map(seen).collect();
    let text = format!(
        "Decisions: {label}. Everything else is executed. The first three are imitations of an idea, written here.\n\n\
         asked          {}\n\n{seen}{}",
        job::REQUEST,
        table(&short, &long, steps)
    );
    let claims = claims(&short, &long, steps);
    Ok(Shown { text, claims, json: Document { model: label, request: job::REQUEST, steps, short, long } })
}

/// What the receiver saw, at no page of notes.
fn seen(ran: &Ran) -> String {
    let title = format!("What legal_agent saw: {}, {} bytes", ran.way.name(), ran.crossing_bytes);
    let rule = "-".repeat(title.chars().count());
    format!("{title}\n{rule}\n{}\n", narrate_agent(job::SUPPORT, &ran.saw))
}

/// The ways side by side.
fn table(short: &[Ran], long: &[Ran], steps: u32) -> String {
    let mut text = format!(
        "{:<22} {:>5} {:>5} {:>8} {:>6} {:>9} {:>7}  {}\n",
        "", "model", "", "messages", "bytes", "bytes at", "knows", "handed over"
    );
    text.push_str(&format!(
        "{:<22} {:>5} {:>5} {:>8} {:>6} {:>9} {:>7}\n",
        "way",
        "calls",
        "hops",
        "seen",
        "seen",
        format!("{steps} page{}", if steps == 1 { "" } else { "s" }),
        "tenant"
    ));
    for (short, long) in short.iter().zip(long) {
        text.push_str(&format!(
            "{:<22} {:>5} {:>5} {:>8} {:>6} {:>9} {:>7}  {}, {} bytes\n",
            short.way.name(),
            short.model_calls,
            short.hops,
            short.messages,
            short.crossing_bytes,
            long.crossing_bytes,
            if short.knows_tenant { "yes" } else { "no" },
            short.way.gives(),
            short.given_bytes,
        ));
    }
    text
}

fn claims(short: &[Ran], long: &[Ran], steps: u32) -> Vec<Claim> {
    let both = || short.iter().chain(long);
    let grown = |of_history: bool| -> Vec<i64> {
        let pairs = short.iter().zip(long).filter(|(ran, _)| ran.way.carries_history() == of_history);
        let bytes = |ran: &Ran| i64::try_from(ran.crossing_bytes).unwrap_or(i64::MAX);
        pairs.map(|(short, long)| bytes(long) - bytes(short)).collect()
    };
    let of = |rans: &[Ran], way| rans.iter().find(|ran| ran.way == way).map_or(0, |ran| ran.crossing_bytes);
    let is_least = |rans: &[Ran]| {
        let decided = rans.iter().filter(|ran| ran.hops > 0).map(|ran| ran.crossing_bytes);
        decided.min() == Some(of(rans, Way::Package))
    };
    let is_below = |rans: &[Ran]| of(rans, Way::Tasks) < of(rans, Way::Package);
    let calls = |rans: &[Ran]| rans.iter().map(|ran| ran.model_calls).collect::<Vec<_>>();
    let knowing: Vec<bool> = short.iter().map(|ran| ran.knows_tenant).collect();
    let histories: Vec<bool> = short.iter().map(|ran| ran.way.carries_history()).collect();
    vec![
        Claim::that("all four give the same answer", both().all(|ran| ran.answer == job::ANSWER)),
        Claim::equal(
            "all four take the same model calls",
            (calls(short), calls(long)),
            (vec![4; 4], vec![4 + steps as usize; 4]),
        ),
        Claim::that(
            "where an agent decides in its work, the package's receiver has the fewest bytes to read",
            is_least(short) && is_least(long),
        ),
        Claim::that(
            "where the order was fixed before, it has fewer still: the question stood in the task",
            is_below(short) && is_below(long),
        ),
        Claim::that(
            "with more pages those that carry a history grow",
            grown(true).iter().all(|bytes| *bytes > 0),
        ),
        Claim::equal("with more pages the other two stay, to the byte", grown(false), vec![0, 0]),
        Claim::equal("what support did not write on is known where a history went along", knowing, histories),
        Claim::that("every scripted decision was asked for", both().all(|ran| ran.unasked == 0)),
    ]
}
