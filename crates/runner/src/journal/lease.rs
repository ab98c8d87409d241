//! Who may write.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::head::Head;

/// Which lease of a conversation this is, counted from 1. It only grows, so a writer of an older epoch is
/// known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(u64);

impl Epoch {
    /// The epoch before any lease was taken. Who needs no lease, as a lesson or a test, writes in it.
    pub const NONE: Self = Self(0);

    /// The epoch of a number, for instance of one that was kept elsewhere.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// For stores: the epoch of who takes the lease next.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The right to write to a conversation, as it stands.
///
/// What fences is the epoch. The time only says when somebody else may try: a wrong clock makes others wait
/// or lets one of them take over early, and never lets two owners write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Who has it.
    pub owner: String,
    /// The epoch to append in.
    pub epoch: Epoch,
    /// For how long it was taken, in milliseconds. Each append renews it by as much.
    pub term: u64,
    /// When others may take it, in milliseconds since 1970.
    pub until: u64,
    /// The head of the conversation, which the next append has to expect.
    pub head: Head,
}
