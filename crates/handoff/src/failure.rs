//! What failed in a tree, from the outside in.

use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fmt;

use crate::{DelegateRefusal, Done, Link, LinkOutcome, RunEnd};

/// A run of a tree that did not answer, or a question that opened no run, with what failed behind it: in the branches that
/// it opened.
///
/// As an [`Error`] it is a chain from the outside in, each link a short line of its own: who, where, and how it ended, with
/// the limit or what was broken where no error behind it tells. At the bottom stands the error
/// itself, to be matched: a [`ModelError`](sommelier_runtime::ModelError), a [`Refusal`](crate::Refusal) or a
/// [`DelegateRefusal`]. An end without an error of its own, such as a limit, is the bottom when nothing failed behind it.
/// What failed behind a run need not be why it ended; it is what is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The run's place in the tree: the name of its conversation, which is the id of the question that opened it.
    pub path: Box<str>,
    /// The agent that had the turn; for a question that opened no run, the tool by which it was asked.
    pub who: Box<str>,
    /// How it ended.
    pub why: FailedBy,
    /// What failed in the branches that it opened, in the order of the answers.
    pub behind: Vec<Self>,
}

/// In which way something failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailedBy {
    /// The run ended, and not with an answer.
    End(RunEnd),
    /// The question was refused, so there was no run.
    Refusal(DelegateRefusal),
}

impl FailedBy {
    /// The kind in a word, for spans and reports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::End(end) => end.as_str(),
            Self::Refusal(refusal) => refusal.code(),
        }
    }

    /// The error that it carries, when it is more than an end.
    fn error(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::End(RunEnd::Failed { error }) => Some(error),
            Self::End(end) => end.refusal().map(|refusal| refusal as &(dyn Error + 'static)),
            Self::Refusal(refusal) => Some(refusal),
        }
    }
}

impl Failure {
    /// What is at the bottom of this failure: where the first of what failed began.
    pub fn root(&self) -> &Self {
        match self.behind.first() {
            Some(first) if self.why.error().is_none() => first.root(),
            _ => self,
        }
    }

    fn of_link(link: &Link) -> Vec<Self> {
        match &link.outcome {
            LinkOutcome::Returned { run, .. } => run.failures(),
            LinkOutcome::Refused { refusal } => {
                let (path, who) = (link.id.clone(), link.tool.as_str().into());
                vec![Self { path, who, why: FailedBy::Refusal(refusal.clone()), behind: Vec::new() }]
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): ", self.who, self.path)?;
        match &self.why {
            // Nothing else tells which limit it was, or in what a contract was broken.
            FailedBy::End(end) if self.why.error().is_none() => write!(f, "{end}"),
            why => f.write_str(why.as_str()),
        }
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.why.error().or_else(|| self.behind.first().map(|first| first as &(dyn Error + 'static)))
    }
}

impl Done {
    /// What failed since the user last spoke, from the outside in: this run, when it did not answer; or, where it did
    /// nonetheless, the outermost runs below it that did not. Empty when all of the tree answered.
    ///
    /// ```
    /// use sommelier_handoff::{Agent, FailedBy, Relay, RunEnd, Step};
    /// use sommelier_runtime::ModelError;
    ///
    /// let relay = Relay::builder().agent(Agent::new("clerk", "")).entry("clerk").build()?;
    /// let Step::CallModel(call) = relay.start("c", "hello")? else { panic!() };
    /// let down = ModelError::Unreachable { detail: "no route to host".to_owned() };
    /// let Step::Done(done) = call.resume(&relay, Err(down), 0) else { panic!() };
    /// let failures = done.failures();
    /// assert_eq!(failures[0].to_string(), "clerk (c): failed");
    /// let FailedBy::End(RunEnd::Failed { error }) = &failures[0].root().why else { panic!() };
    /// assert_eq!(error.kind(), "unreachable");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn failures(&self) -> Vec<Failure> {
        let run = self.run();
        let is_new =
            |link: &&Link| run.place_of(&link.id).is_some_and(|(message, _)| message == run.messages);
        let behind = run.links().iter().filter(is_new).flat_map(Failure::of_link).collect();
        if *self.end() == RunEnd::Answered {
            return behind;
        }
        let why = FailedBy::End(self.end().clone());
        vec![Failure { path: run.conversation().into(), who: run.active().as_str().into(), why, behind }]
    }
}
