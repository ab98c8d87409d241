//! The support desk on a live model, held to rules that no reply may break. Run it with `cargo xtask live-test`, or with
//! `cargo xtask example live-desk --model anthropic:claude-sonnet-5` and any other model; without one, rules stand in.
//!
//! Exit status: 0 every rule held and a model handed over by its own call, 1 not so, 2 wrong use.

mod flags;
mod rows;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use examples_kit::{Misuse, print, printable};
use live_desk::{Bench, CASES, Sighting, StandIn, Tally, Tap, Witness, inspect};
use sommelier_handoff::Budget;
use sommelier_providers::SetupError;
use sommelier_runtime::Model;

use crate::flags::{Flags, HELP};
use crate::rows::{Document, Row, RuleRow};

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

/// Carries the cases out, prints what came of them, and tells whether all is well.
fn show<M: Model>(flags: &Flags, witness: Witness<M>) -> Result<bool, Box<dyn Error>> {
    let model = flags.model_told(witness.label());
    let bench = Bench::new(witness, budget())?;
    let (mut tally, mut rows, mut handoffs) = (Tally::default(), Vec::new(), Vec::new());
    for case in if flags.cases.is_empty() { CASES.to_vec() } else { flags.cases.clone() } {
        let evidence = bench.carry_out(case);
        inspect(bench.relay(), &evidence, &mut tally);
        handoffs.extend(Sighting::all(&evidence));
        for row in Row::all(&evidence) {
            if !flags.json {
                print(&printable(&row.to_string()))?;
            }
            rows.push(row);
        }
    }
    let holds = tally.broken().is_empty() && !handoffs.is_empty();
    if flags.json {
        let rules = RuleRow::all(&tally);
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
