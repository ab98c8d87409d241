//! The support desk on a live model, held to rules that no reply may break. Run it with `cargo xtask live-test`, or with
//! `cargo xtask example live-desk --model anthropic:claude-sonnet-5` and any other model; without one, rules stand in.
//!
//! Exit status: 0 every rule held and a model handed over by its own call, 1 not so, 2 wrong use.

mod flags;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use examples_kit::{Misuse, print, printable};
use live_desk::{Bench, CASES, Evidence, Rule, Sighting, StandIn, Tally, Tap, Witness, inspect};
use serde::Serialize;
use sommelier_handoff::{Budget, HopOutcome};
use sommelier_providers::SetupError;
use sommelier_runtime::Model;

use crate::flags::{Flags, HELP};

/// What each message of the customer may use. A model that goes in circles comes to an end in a few minutes, also on a small
/// machine.
fn budget() -> Budget {
    Budget::new(8).tool_calls(6).tokens(24_000).hops(5)
}

fn main() -> ExitCode {
    let came = Flags::parse(std::env::args_os().skip(1)).map_err(Box::from).and_then(|flags| {
        if flags.help {
            print(HELP)?;
            return Ok(true);
        }
        let tap = Tap::default();
        let model: Box<dyn Model> = match flags.live(&tap)? {
            Some(live) => Box::new(live),
            None => Box::new(StandIn),
        };
        show(&flags, Witness::new(model, tap))
    });
    match came {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // Standard error may be gone too; the status tells.
            let _ = writeln!(io::stderr(), "live-desk: {}", printable(&error.to_string()));
            let is_misuse = error.is::<Misuse>() || error.is::<SetupError>();
            ExitCode::from(if is_misuse { 2 } else { 1 })
        }
    }
}

#[derive(Serialize)]
struct Document {
    model: String,
    cases: Vec<Row>,
    rules: Vec<RuleRow>,
    handoffs: Vec<Sighting>,
    holds: bool,
}

/// A message of a case, and what came of it.
#[derive(Serialize)]
struct Row {
    case: &'static str,
    says: &'static str,
    end: String,
    path: String,
    replies: usize,
    /// Why handoffs were refused, in words of few kinds.
    refusals: Vec<&'static str>,
}

#[derive(Serialize)]
struct RuleRow {
    rule: Rule,
    meaning: &'static str,
    checked: u32,
    held: u32,
    broken: Vec<String>,
}

/// Carries the cases out, prints what came of them, and tells whether all is well.
fn show<M: Model>(flags: &Flags, witness: Witness<M>) -> Result<bool, Box<dyn Error>> {
    let model = flags.model_told(witness.label());
    let bench = Bench::new(witness, budget())?;
    let (mut tally, mut rows, mut handoffs) = (Tally::default(), Vec::new(), Vec::new());
    for case in if flags.cases.is_empty() { CASES.to_vec() } else { flags.cases.clone() } {
        let evidence = bench.carry_out(case);
        inspect(bench.relay(), &evidence, &mut tally);
        handoffs.extend(Sighting::all(&evidence));
        for row in rows_of(&evidence) {
            if !flags.json {
                print(&printable(&row.to_string()))?;
            }
            rows.push(row);
        }
    }
    let holds = tally.broken().is_empty() && !handoffs.is_empty();
    if flags.json {
        let rules = Rule::ALL.map(|rule| rule_row(rule, &tally)).into_iter().collect();
        let document = Document { model, cases: rows, rules, handoffs, holds };
        print(&serde_json::to_string_pretty(&document)?)?;
        return Ok(holds);
    }
    let seen = match Sighting::best(&handoffs) {
        Some(sighting) => sighting.to_string(),
        None => "Nobody has handed over by a call of its own.\n".to_owned(),
    };
    let free = handoffs.iter().filter(|sighting| sighting.is_free).count();
    print(&printable(&format!(
        "\nDecisions: {model}\n\n{tally}\n{seen}\n{} handoff(s) by a call of the sender's own, {free} of them where it could \
         have done something else.\n{}",
        handoffs.len(),
        if holds { "every rule held" } else { "NOT every rule held, or nothing was handed over" },
    )))?;
    Ok(holds)
}

fn rule_row(rule: Rule, tally: &Tally) -> RuleRow {
    let count = tally.of(rule);
    let (checked, held) = (count.checked, count.held());
    RuleRow { rule, meaning: rule.meaning(), checked, held, broken: count.broken }
}

fn rows_of(evidence: &Evidence) -> Vec<Row> {
    let row = |heard: &live_desk::Heard| {
        let taken = heard.hops.iter().filter(|hop| hop.outcome.is_taken());
        let path: String = taken.map(|hop| format!(" > {}", hop.to)).collect();
        let refusals = heard.hops.iter().filter_map(|hop| match &hop.outcome {
            HopOutcome::Refused { refusal } => Some(refusal.code()),
            HopOutcome::Taken { .. } => None,
        });
        Row {
            case: evidence.case.name,
            says: heard.says,
            end: heard.end.code().to_owned(),
            path: format!("triage_agent{path}"),
            replies: heard.exchanges.len(),
            refusals: refusals.collect(),
        }
    };
    evidence.heard.iter().map(row).collect()
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { case, says, end, path, replies, refusals } = self;
        write!(f, "{case}: {says:?}\n    {path}: {end} after {replies} replies")?;
        if refusals.is_empty() { Ok(()) } else { write!(f, "; refused: {}", refusals.join(", ")) }
    }
}
