//! A table of texts, each with what is expected of its run, and how one is run in this process.

use reservo::{OfflineRules, demo, entry, specialists};
use serde::Deserialize;
use sommelier_handoff::Asks;
use sommelier_runner::{Gate, Outcome, Parked, Runner};
use std::sync::Arc;

/// One line of a table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) text: String,
    /// As on the command line; `--approve`, `--deny` and `--now TIME` are known here.
    #[serde(default)]
    pub(crate) flags: Vec<String>,
    pub(crate) expect: Expected,
    /// Why a user expects this.
    #[serde(default)]
    pub(crate) why: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    /// The whole answer.
    #[serde(default)]
    pub(crate) answer: Option<String>,
    /// Must be in the answer, whatever its case.
    #[serde(default)]
    pub(crate) answer_has: Vec<String>,
    /// Must not be in the answer, whatever its case.
    #[serde(default)]
    pub(crate) answer_lacks: Vec<String>,
    #[serde(default)]
    pub(crate) last_agent: Option<String>,
    #[serde(default)]
    pub(crate) hops: Option<Hops>,
    /// The tools that a person is asked about.
    #[serde(default)]
    pub(crate) waits_for: Vec<String>,
    /// `waiting` for a run that has not ended.
    pub(crate) end: String,
}

/// The handoffs taken: how many, or each as `from→to`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Hops {
    Count(usize),
    Each(Vec<String>),
}

impl Case {
    /// Runs the text at the demo house, as `ask` does.
    pub(crate) fn run(&self) -> Outcome {
        let mut house = demo();
        if let Some(at) = self.flags.iter().position(|flag| flag == "--now") {
            house.now = self.flags[at + 1].parse().unwrap();
        }
        let relay = specialists::relay(&Arc::new(house), entry(&self.text)).build().unwrap();
        let has = |wanted: &str| self.flags.iter().any(|flag| flag == wanted);
        let gate = match (has("--approve"), has("--deny")) {
            (true, _) => Gate::approve_all(),
            (_, true) => Gate::deny_all("--deny denies it, --approve would not"),
            _ => Gate::ask_all(),
        };
        Runner::new(OfflineRules).gate(gate).conversation("test").run(&relay, &self.text).unwrap()
    }

    /// What of the run is not as expected; empty when all is.
    pub(crate) fn failures(&self) -> Vec<String> {
        let outcome = self.run();
        let (answer, run, end, waits_for) = match &outcome {
            Outcome::Ended(report) => {
                (report.answer(), report.done().run(), report.end().as_str(), Vec::new())
            }
            Outcome::Waiting(parked) => ("", parked.step().run(), "waiting", tools(parked)),
            other => panic!("{:?} came to {other:?}", self.text),
        };
        let (folded, expect) = (answer.to_lowercase(), &self.expect);
        let mut wrong = Vec::new();
        if let Some(whole) = expect.answer.as_deref().filter(|whole| *whole != answer) {
            wrong.push(format!("is not {whole:?}"));
        }
        for part in expect.answer_has.iter().filter(|part| !folded.contains(&part.to_lowercase())) {
            wrong.push(format!("lacks {part:?}"));
        }
        for part in expect.answer_lacks.iter().filter(|part| folded.contains(&part.to_lowercase())) {
            wrong.push(format!("has {part:?}"));
        }
        if let Some(agent) = expect.last_agent.as_deref().filter(|agent| *agent != run.active().as_str()) {
            wrong.push(format!("last agent is {}, not {agent}", run.active()));
        }
        let hops: Vec<String> = run.trail().taken().map(|hop| format!("{}→{}", hop.from, hop.to)).collect();
        match &expect.hops {
            Some(Hops::Count(count)) if *count != hops.len() => {
                wrong.push(format!("hops are {hops:?}, not {count}"));
            }
            Some(Hops::Each(each)) if *each != hops => wrong.push(format!("hops are {hops:?}, not {each:?}")),
            _ => {}
        }
        if expect.end != end {
            wrong.push(format!("end is {end}, not {}", expect.end));
        }
        if expect.waits_for != waits_for {
            wrong.push(format!("waits for {waits_for:?}, not {:?}", expect.waits_for));
        }
        if !wrong.is_empty() {
            wrong.push(format!("the answer: {answer:?}"));
            wrong.push(format!("why: {}", self.why));
        }
        wrong
    }
}

/// The tools that a run asks a person about.
fn tools(parked: &Parked) -> Vec<String> {
    let asked = parked.questions().into_iter().map(|(_, question)| match &question.asks {
        Asks::Tool { tool, .. } => tool.to_string(),
        other => other.as_str().to_owned(),
    });
    asked.collect()
}

/// The lines of a table.
pub(crate) fn cases(table: &str) -> Vec<Case> {
    let lines = table.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// The cases that fail, told one by one.
pub(crate) fn failing(cases: &[Case]) -> Vec<String> {
    let failures = cases.iter().map(|case| (case, case.failures()));
    failures
        .filter(|(_, wrong)| !wrong.is_empty())
        .map(|(case, wrong)| format!("{:?} {:?}\n    {}", case.text, case.flags, wrong.join("\n    ")))
        .collect()
}
