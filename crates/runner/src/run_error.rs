//! Why a run could not be driven.

use sommelier_handoff::{Rejected, Unfed};
use sommelier_protocol::BlankText;
use std::error::Error;

use crate::Parked;
use crate::journal::JournalError;
use crate::runner::Unwritten;

/// A run that could not be driven.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// There are no words: the caller's fault.
    #[error(transparent)]
    Blank(#[from] BlankText),
    /// The conversation could not begin: the caller's fault.
    #[error(transparent)]
    Start(#[from] sommelier_handoff::StartError),
    /// The agents make no relay: their author's fault.
    #[error(transparent)]
    Build(#[from] sommelier_handoff::BuildErrors),
    /// A person has to answer, and the call that was made cannot wait: its gate asks, or its agent does.
    #[error("the run waits for a person to answer {} question(s)", parked.questions().len())]
    Waiting {
        /// The run, to be answered and driven on.
        parked: Box<Parked>,
    },
    /// An answer that cannot be taken: the fault of whoever gave it.
    #[error("{why}")]
    Rejected {
        /// Why.
        why: Rejected,
        /// The run, as it was.
        parked: Box<Parked>,
    },
    /// A handoff could not be written down, so it was not taken: the fault of what [records](crate::Runner::record_hops) them.
    #[error("a handoff could not be written down, so it was not taken")]
    Unwritten {
        /// Why.
        #[source]
        why: Box<dyn Error + Send + Sync>,
        /// The run, as it was before the handoff.
        parked: Box<Parked>,
    },
    /// The run began with another relay, or with this one before its definition was changed: the caller's fault.
    #[error("the run began with another relay, and only one with that definition can drive it")]
    OtherRelay {
        /// The run, as it was.
        parked: Box<Parked>,
    },
    /// The run could not be written down, so it was stopped before it did anything that is not on record: the journal's
    /// fault, or somebody else has taken the conversation over. The journal has all of it.
    #[error("the run could not be written down: {0}")]
    Unkept(#[source] JournalError),
    /// The driver did something that no step allows: this crate's fault.
    #[error("the driver went wrong: {0}")]
    Driver(String),
}

impl RunError {
    pub(crate) fn misfit((_, why): Unfed) -> Self {
        Self::Driver(why.to_string())
    }

    pub(crate) fn other_relay(parked: Parked) -> Self {
        Self::OtherRelay { parked: Box::new(parked) }
    }

    pub(crate) fn unwritten(parked: Parked, why: Unwritten) -> Self {
        Self::Unwritten { why, parked: Box::new(parked) }
    }
}
