//! What came of a query, told in one form on every path.

use serde::Serialize;
use sommelier_handoff::{Asks, Question, Run};
use sommelier_runner::{Outcome, Parked};
use std::fmt;

use crate::desk::OPENING;

/// What came of a query. The same members are there for a greeting, an answer, a failure, and a run that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told {
    /// The agent that has the turn: it answered, or it is where the run stands.
    pub agent: String,
    /// The answer; empty when there is none.
    pub answer: String,
    /// How it ended in a word, or `waiting`.
    pub end: String,
    /// Handoffs taken in the conversation so far.
    pub handoffs: u32,
    /// Those handoffs, in order.
    pub log: Vec<Transfer>,
}

/// A handoff that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Transfer {
    /// Its number in the conversation, from 1.
    pub number: usize,
    /// The sender.
    pub from: String,
    /// The receiver.
    pub to: String,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// What became of the work, in a word; `None` while nobody has ended it.
    pub end: Option<&'static str>,
}

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.end.unwrap_or("open");
        write!(f, "{}  {} → {}  {}  {end}", self.number, self.from, self.to, time_of_day(self.at))
    }
}

impl Told {
    /// What came of an outcome.
    pub fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Ended(report) => {
                Self::of_run(report.done().run(), report.answer(), report.end().as_str())
            }
            Outcome::Waiting(parked) => Self::of_run(parked.step().run(), "", "waiting"),
            _ => Self {
                agent: String::new(),
                answer: String::new(),
                end: "unknown".into(),
                handoffs: 0,
                log: Vec::new(),
            },
        }
    }

    fn of_run(run: &Run, answer: &str, end: &str) -> Self {
        Self {
            agent: run.active().to_string(),
            answer: answer.to_owned(),
            end: end.to_owned(),
            handoffs: run.trail().count(),
            log: log(run),
        }
    }
}

fn log(run: &Run) -> Vec<Transfer> {
    let taken = run.trail().taken().enumerate();
    taken
        .map(|(place, hop)| Transfer {
            number: place + 1,
            from: hop.from.to_string(),
            to: hop.to.to_string(),
            at: hop.at,
            end: hop.end.map(|end| end.how.as_str()),
        })
        .collect()
}

/// A time of day of the desk's clock, as `10:00:03`.
pub fn time_of_day(at: u64) -> String {
    let seconds = at.saturating_sub(OPENING) / 1000;
    format!("{:02}:{:02}:{:02}", 10 + seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// What a person sees of a run that waits: the question, who it comes from, the answers there are, and all hops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Escalated {
    /// The question's id: it is answered by it.
    pub question: String,
    /// The agent whose handoff was refused.
    pub from: String,
    /// The guard.
    pub guard: &'static str,
    /// The refusal in a word.
    pub error: &'static str,
    /// Why it was refused.
    pub refusal: String,
    /// The answers there are.
    pub choices: Vec<&'static str>,
    /// What the customer has said, from the newest package.
    pub customer: String,
    /// The handoffs that were taken before.
    pub log: Vec<Transfer>,
}

impl Escalated {
    /// The first question of a run that waits since a guard refused; `None` when it waits for something else.
    pub fn of(parked: &Parked) -> Option<Self> {
        let (run, Question { id, from, asks, .. }) = parked.questions().into_iter().next()?;
        let Asks::Escalation { refusal } = asks else { return None };
        let words =
            run.trail().taken().filter_map(|hop| hop.package.as_ref()?.artifacts().get("user_words")).last();
        Some(Self {
            question: id.to_string(),
            from: from.to_string(),
            guard: refusal.guard().as_str(),
            error: refusal.code(),
            refusal: refusal.to_string(),
            choices: asks.choices().to_vec(),
            customer: words.and_then(|words| words.as_str()).unwrap_or_default().to_owned(),
            log: log(run),
        })
    }
}
