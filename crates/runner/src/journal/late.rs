//! What came too late to count.

use super::event::Event;
use super::lease::Epoch;

/// What a worker had to say after it was fenced. It is kept for people who look at what happened, and nothing follows from
/// it: it stands in no chain, and no run reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateResult {
    /// The epoch of the worker.
    pub epoch: Epoch,
    /// What it had to say.
    pub event: Event,
}
