//! What a caller hands in, and what it is told.

use sommelier_handoff::{InputKind, Step, TurnClosed};

use crate::{Outcome, Parked, Report};

/// A turn of the user, as a caller hands it in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    pub(super) text: String,
    pub(crate) key: Option<String>,
    pub(crate) trace: Option<String>,
    pub(super) at: Option<String>,
}

impl Turn {
    /// What the user said.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), key: None, trace: None, at: None }
    }

    /// The caller's own name for it, such as a message's id: sent again under this name, the turn is not driven again. It
    /// is kept as long as the journal.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The caller's name for the trace in which the turn is told. Who goes on with the turn after a crash finds it on the
    /// span `invoke_workflow`, as `resumed_trace`.
    pub fn trace(mut self, trace: impl Into<String>) -> Self {
        self.trace = Some(trace.into());
        self
    }

    /// The agent that hears it, where it begins a conversation; the relay's entry unless set.
    pub fn at(mut self, agent: impl Into<String>) -> Self {
        self.at = Some(agent.into());
        self
    }

    pub(super) fn received(&self) -> InputKind {
        let own = |text: &Option<String>| text.as_deref().map(Into::into);
        InputKind::TurnReceived {
            key: own(&self.key),
            text: self.text.as_str().into(),
            trace: own(&self.trace),
            begun: false,
        }
    }
}

/// Where a conversation has come to.
#[derive(Clone, Debug, PartialEq)]
pub enum Settled {
    /// Its run has ended.
    Ended(Report),
    /// A person has to answer before anything goes on.
    Waiting(Parked),
    /// The turn was on record, with its answer. The conversation may have gone on since.
    Recorded(TurnClosed),
}

impl Settled {
    pub(super) fn of(step: Step) -> Self {
        match step {
            Step::Done(done) => Self::Ended(done.into()),
            step => Self::Waiting(Parked::new(step)),
        }
    }

    /// The answer; empty where there is none.
    pub fn answer(&self) -> &str {
        match self {
            Self::Ended(report) => report.answer(),
            Self::Recorded(closed) => closed.answer.as_deref().unwrap_or_default(),
            Self::Waiting(_) => "",
        }
    }

    /// The id of the answer: the same however often it is told. `None` while there is none.
    pub fn answer_id(&self) -> Option<String> {
        match self {
            Self::Ended(report) => Some(report.done().answer_id()),
            Self::Recorded(closed) => Some(closed.answer_id.to_string()),
            Self::Waiting(_) => None,
        }
    }

    /// How the run ended, in a word; `None` while it waits.
    pub fn end(&self) -> Option<&str> {
        match self {
            Self::Ended(report) => Some(report.end().as_str()),
            Self::Recorded(closed) => Some(&closed.end),
            Self::Waiting(_) => None,
        }
    }
}

impl From<Outcome> for Settled {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Ended(report) => Self::Ended(report),
            Outcome::Waiting(parked) => Self::Waiting(parked),
        }
    }
}
