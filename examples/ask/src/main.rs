//! Asks the house a question of one's own. Run it with `cargo xtask ask "Quote Focus pro for 3 hours"`.
//!
//! The same agents, guards and tools as in lesson 05; the decisions are made by `offline-rules`, which needs no
//! network. A tool that needs approval waits for a person. Exit status: 0 answered, 1 ended otherwise, 2 wrong use,
//! 3 waiting.

mod answers;
mod waiting;

use examples_kit::{Flags, Misuse, RunRow, Trace, Verdict, install, print, printable};
use reservo::{OfflineRules, demo, entry, specialists};
use serde::Serialize;
use sommelier_handoff::RunEnd;
use sommelier_runner::{Outcome, Report, Runner};
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use waiting::WaitingRow;

const HELP: &str = "\
Asks the house a question of your own.

  cargo xtask ask \"TEXT\" [FLAGS]

  --json               one JSON document on stdout
  --trace HOW          spans to stderr: tree, json or off (default)
  --answer ID=WHAT     answer a question that the run waits for: approve, reject or \"reject:WHY\"; may be repeated
  --approve            approve all booking and cancelling; without it the run waits for an answer
  --deny               deny all booking and cancelling
  --conversation NAME  the name that the ids of questions begin with (default: ask)
  --now TIME           what the house's clock shows, such as 2026-11-30T10:00
  --model MODEL        another model, such as anthropic:claude-sonnet-5 or openai:qwen3:4b: `cargo xtask ask` starts
                       `sommelier ask` for it, which has flags of its own and keeps a journal

Exit status: 0 answered, 1 ended otherwise, 2 wrong use, 3 waiting for an answer";

const FLAGS: [&str; 7] = ["json", "trace", "answer", "approve", "deny", "conversation", "now"];

fn main() -> ExitCode {
    let flags = Flags::parse(std::env::args_os().skip(1), &FLAGS);
    let came = flags.map_err(Box::from).and_then(|flags| {
        if flags.help {
            print(HELP)?;
            return Ok(0);
        }
        ask(&flags)
    });
    // Standard error may be gone too; the status tells.
    if let Err(error) = &came {
        let _ = writeln!(io::stderr(), "ask: {}", printable(&error.to_string()));
    }
    ExitCode::from(status(&came))
}

/// The exit status of a text that was asked, of a run that could not be told, of wrong use.
fn status(came: &Result<u8, Box<dyn Error>>) -> u8 {
    match came {
        Ok(status) => *status,
        Err(error) if error.is::<io::Error>() => 1,
        Err(_) => 2,
    }
}

/// Asks, prints, and gives the exit status.
fn ask(flags: &Flags) -> Result<u8, Box<dyn Error>> {
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
    let metrics = install(flags.trace);
    // Keys under which the house books once begin with this name, so each conversation needs its own. A fixed one does
    // no harm here: the house is new in each process and has one conversation, so no two calls share a booking.
    let runner =
        Runner::new(OfflineRules).gate(answers::gate(flags)?).conversation(answers::conversation(flags)?);
    let outcome = answers::settle(&runner, &relay, runner.run(&relay, text)?, &flags.answers)?;
    let (row, told, status) = match &outcome {
        Outcome::Ended(report) => {
            let (run, pattern) = (RunRow::of(report, OfflineRules::NAME), Verdict::of(text, report));
            let told = told(report, &pattern);
            let row = Row { run, pattern: Some(pattern), waiting: Vec::new() };
            (row, told, u8::from(!is_answered(report.end())))
        }
        Outcome::Waiting(parked) => {
            let run = RunRow::so_far(parked.step().run(), OfflineRules::NAME);
            (Row { run, pattern: None, waiting: WaitingRow::all(parked) }, waiting::told(parked), 3)
        }
        _ => return Err("the run came to something that ask does not know".into()),
    };
    if flags.json {
        print(&serde_json::to_string_pretty(&row)?)?;
    } else {
        print(&told)?;
        if flags.trace == Trace::Tree {
            // What there is to say has been said; who watches the trace may be gone.
            let _ = writeln!(io::stderr(), "\n{}", metrics.report());
        }
    }
    Ok(status)
}

fn is_answered(end: &RunEnd) -> bool {
    *end == RunEnd::Answered
}

/// What `--json` prints.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    run: RunRow,
    /// Left out while the run waits: what it meets is not known yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<Verdict>,
    /// What it waits for; empty when it has ended.
    waiting: Vec<WaitingRow>,
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
        assert_eq!(ends.map(|end| status(&Ok(u8::from(!is_answered(&end))))), [0, 1, 1, 1]);
        assert_eq!(status(&Err(Misuse::new("odd").into())), 2);
        assert_eq!(status(&Err(io::Error::other("the disk is full").into())), 1);
    }
}
