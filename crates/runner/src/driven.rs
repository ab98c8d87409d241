//! How far a run was driven.

use sommelier_handoff::{Done, Run, Step};

use crate::runner::Unwritten;

/// What a step was driven to.
pub(crate) enum Driven<T> {
    Done(Done),
    /// Nothing can go on before a person has answered.
    Waiting(Step),
    TakenOut(T),
    /// A handoff could not be written down, here or in a branch, so it was not taken.
    Unwritten(Step, Unwritten),
}

impl<T> Driven<T> {
    /// The run; `None` when its handoff was taken out, and the run with it.
    pub(crate) fn run(&self) -> Option<&Run> {
        match self {
            Self::Done(done) => Some(done.run()),
            Self::Waiting(step) | Self::Unwritten(step, _) => Some(step.run()),
            Self::TakenOut(_) => None,
        }
    }

    /// A step with branches that are open.
    pub(crate) fn open(step: Step, unwritten: Option<Unwritten>) -> Self {
        match unwritten {
            Some(why) => Self::Unwritten(step, why),
            None => Self::Waiting(step),
        }
    }
}
