//! Asks the house a question of one's own. Run it with `cargo xtask ask "Quote Focus pro for 3 hours"`.
//!
//! The same agents, guards and tools as in lesson 05; the decisions are made by `offline-rules`, which needs no
//! network. Exit status: 0 answered, 1 ended otherwise, 2 wrong use.

use examples_kit::{Flags, Misuse, RunRow, Trace, Verdict, install, print};
use reservo::{OfflineRules, demo, entry, specialists};
use serde::Serialize;
use sommelier_handoff::RunEnd;
use sommelier_runner::{Gate, Outcome, Report, Runner};
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

const HELP: &str = "\
Asks the house a question of your own.

  cargo xtask ask \"TEXT\" [FLAGS]

  --json          one JSON document on stdout
  --trace HOW     spans to stderr: tree, json or off (default)
  --approve       approve booking and cancelling, which are denied otherwise
  --now TIME      what the house's clock shows, such as 2026-11-30T10:00";

fn main() -> ExitCode {
    let flags = Flags::parse(std::env::args_os().skip(1), &["json", "trace", "approve", "now"]);
    let answered = flags.map_err(Box::from).and_then(|flags| {
        if flags.help {
            print(HELP)?;
            return Ok(true);
        }
        ask(&flags)
    });
    if let Err(error) = &answered {
        // Standard error may be gone too; the status tells.
        let _ = writeln!(io::stderr(), "ask: {error}");
    }
    ExitCode::from(status(&answered))
}

/// The exit status of a text that was answered, of a run that ended otherwise or could not be told, of wrong use.
fn status(answered: &Result<bool, Box<dyn Error>>) -> u8 {
    match answered {
        Ok(true) => 0,
        Ok(false) => 1,
        Err(error) if error.is::<io::Error>() => 1,
        Err(_) => 2,
    }
}

/// Asks, prints, and tells whether there was an answer.
fn ask(flags: &Flags) -> Result<bool, Box<dyn Error>> {
    let [text] = flags.words.as_slice() else {
        let found = flags.words.len();
        return Err(Misuse::new(format!("one text is wanted, found {found}; put it in quotes")).into());
    };
    let mut house = demo();
    if let Some(now) = &flags.now {
        house.now = now.parse().map_err(|_| {
            Misuse::new(format!("--now {now:?} is no time; one is written like 2026-11-30T10:00"))
        })?;
    }
    let relay = specialists::relay(&Arc::new(house), entry(text)).build()?;
    let gate = if flags.approve {
        Gate::approve_all()
    } else {
        Gate::deny_all("ask approves nothing without --approve")
    };
    let metrics = install(flags.trace);
    let Outcome::Ended(report) = Runner::new(OfflineRules).gate(gate).run(&relay, text)? else {
        return Err("the run waits for somebody, and nobody can answer here".into());
    };
    let pattern = Verdict::of(text, &report);
    if flags.json {
        let row = Row { run: RunRow::of(&report, OfflineRules::NAME), pattern };
        print(&serde_json::to_string_pretty(&row)?)?;
    } else {
        print(&told(&report, &pattern))?;
        if flags.trace == Trace::Tree {
            // The answer has been given; who watches the trace may be gone.
            let _ = writeln!(io::stderr(), "\n{}", metrics.report());
        }
    }
    Ok(is_answered(report.end()))
}

fn is_answered(end: &RunEnd) -> bool {
    *end == RunEnd::Answered
}

/// What `--json` prints.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    run: RunRow,
    pattern: Verdict,
}

fn told(report: &Report, pattern: &Verdict) -> String {
    let mut text = match report.answer() {
        "" => format!("No answer: the run ended as {}.", report.end().as_str()),
        answer => answer.to_owned(),
    };
    text.push_str(&format!("\n\n{} answered, decisions by {}", report.last_agent(), OfflineRules::NAME));
    for hop in report.hops() {
        text.push_str(&format!("\n{} → {} with {} bytes", hop.from, hop.to, hop.package_bytes));
    }
    text.push_str(&format!("\npattern: {pattern}"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_ends_otherwise_has_status_1() {
        let ends =
            [RunEnd::Answered, RunEnd::Unresolved, RunEnd::TurnLimit { max_steps: 8 }, RunEnd::ModelRefused];
        assert_eq!(ends.map(|end| status(&Ok(is_answered(&end)))), [0, 1, 1, 1]);
        assert_eq!(status(&Err(Misuse::new("odd").into())), 2);
        assert_eq!(status(&Err(io::Error::other("the disk is full").into())), 1);
    }
}
