//! What is told of a run of the program, as rows.

use std::fmt;

use live_desk::{Count, Evidence, Heard, Rule, Sighting, Tally};
use serde::Serialize;
use sommelier_handoff::HopOutcome;

/// All that is told.
#[derive(Serialize)]
pub(crate) struct Document {
    pub(crate) model: String,
    pub(crate) cases: Vec<Row>,
    pub(crate) rules: Vec<RuleRow>,
    pub(crate) handoffs: Vec<Sighting>,
    pub(crate) holds: bool,
}

/// A message of a case, and what came of it.
#[derive(Serialize)]
pub(crate) struct Row {
    case: &'static str,
    says: &'static str,
    end: String,
    path: String,
    replies: usize,
    /// Why handoffs were refused, in words of few kinds.
    refusals: Vec<&'static str>,
}

impl Row {
    /// The messages of a case.
    pub(crate) fn all(evidence: &Evidence) -> Vec<Self> {
        evidence.heard.iter().map(|heard| Self::of(evidence.case.name, heard)).collect()
    }

    fn of(case: &'static str, heard: &Heard) -> Self {
        let taken = heard.hops.iter().filter(|hop| hop.outcome.is_taken());
        let path: String = taken.map(|hop| format!(" > {}", hop.to)).collect();
        let refusals = heard.hops.iter().filter_map(|hop| match &hop.outcome {
            HopOutcome::Refused { refusal } => Some(refusal.code()),
            HopOutcome::Taken { .. } => None,
        });
        Self {
            case,
            says: heard.says,
            end: heard.end.code().to_owned(),
            path: format!("triage_agent{path}"),
            replies: heard.exchanges.len(),
            refusals: refusals.collect(),
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case, says, end, path, replies, refusals } = self;
        write!(f, "{case}: {says:?}\n    {path}: {end} after {replies} replies")?;
        if refusals.is_empty() { Ok(()) } else { write!(f, "; refused: {}", refusals.join(", ")) }
    }
}

/// A rule, and how often it held.
#[derive(Serialize)]
pub(crate) struct RuleRow {
    rule: Rule,
    meaning: &'static str,
    checked: u32,
    held: u32,
    broken: Vec<String>,
}

impl RuleRow {
    /// All rules.
    pub(crate) fn all(tally: &Tally) -> Vec<Self> {
        let row = |rule: Rule| {
            let count: Count = tally.of(rule);
            let (checked, held) = (count.checked, count.held());
            Self { rule, meaning: rule.meaning(), checked, held, broken: count.broken }
        };
        Rule::ALL.into_iter().map(row).collect()
    }
}
