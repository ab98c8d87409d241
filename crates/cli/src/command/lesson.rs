//! `lesson`: the case of lesson 05, held with any model and looked at.

use crate::arguments::Lease;
use crate::desk::Desk;
use crate::fault::{Fault, unknown_run};
use crate::invariant::Invariant;
use crate::rows::SettledRow;
use crate::story::{CallRow, Story};
use crate::teller::Teller;
use crate::words::counted;
use reservo::case::REQUEST;
use serde::Serialize;
use sommelier_handoff::Step;

/// The lesson that is held here.
pub(crate) const NUMBER: &str = "05";

const TITLE: &str = "the whole case, end to end";

#[derive(Serialize)]
struct Held {
    lesson: &'static str,
    title: &'static str,
    asked: &'static str,
    /// Who was asked to decide.
    model: String,
    /// The calls of the models, those for handoffs too.
    calls: Vec<CallRow>,
    /// What the agents' conversations have cost in tokens.
    tokens: Tokens,
    outcome: SettledRow,
    invariants: Vec<Invariant>,
}

#[derive(Serialize)]
struct Tokens {
    input: u64,
    output: u64,
}

/// 0 answered, 1 ended otherwise or an invariant is broken, 3 waiting for a person.
pub(super) fn run(desk: &Desk, teller: &mut Teller<'_>) -> Result<u8, Fault> {
    let name = desk.fresh_name(&format!("lesson-{NUMBER}"))?;
    let turn = desk.turn(REQUEST);
    let settled =
        desk.drive(teller, &name, Lease::WAITED_FOR, |driver| driver.submit(&name, turn.clone()))?;
    let records = desk.records(&name)?;
    let story = Story::of(&records);
    let replay = desk.replay(&name, &records)?;
    let run = replay.step().map(Step::run).ok_or_else(|| unknown_run(&name))?;
    let cost = run.cost();
    let held = Held {
        lesson: NUMBER,
        title: TITLE,
        asked: REQUEST,
        model: desk.decider.name().to_owned(),
        calls: story.calls().cloned().collect(),
        tokens: Tokens { input: cost.input_tokens, output: cost.output_tokens },
        outcome: SettledRow::of(desk, &name, &settled)?,
        invariants: Invariant::all(&desk.relay, run, &story),
    };
    teller.tell(|| text(&held, &story), &held)?;
    let is_sound = held.invariants.iter().all(|invariant| invariant.holds);
    Ok(if is_sound { held.outcome.exit_code() } else { 1 })
}

fn text(held: &Held, story: &Story) -> String {
    let Held { model, tokens, outcome, invariants, .. } = held;
    let invariants: Vec<String> = invariants.iter().map(Invariant::line).collect();
    format!(
        "Lesson {NUMBER}: {TITLE}\n\nDecisions: {model}. Everything else is executed.\n\nThe user says: {REQUEST}\n{}\n\n{}\n\n\
         {}, {} in and {} out; {}\n\nWhat holds whatever a model writes:\n{}",
        story.text(),
        outcome.text(),
        counted(outcome.model_calls, "model call", "model calls"),
        counted(tokens.input, "token", "tokens"),
        tokens.output,
        counted(outcome.tool_calls, "tool run", "tool runs"),
        invariants.join("\n"),
    )
}
