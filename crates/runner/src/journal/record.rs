//! An event in its place.

use super::event::Event;
use super::hash::Hash;
use super::head::Head;
use super::lease::Epoch;

/// An event with its place in a conversation's journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The conversation.
    pub conversation: String,
    /// The number in it: 1, 2, 3, without a gap.
    pub seq: u64,
    /// In which epoch it was written. The event that takes a lease has the epoch that it begins.
    pub epoch: Epoch,
    /// What happened.
    pub event: Event,
    /// The hash of the record before, [`Hash::ZERO`] for the first.
    pub prev_hash: Hash,
    /// The hash over all of the above.
    pub hash: Hash,
}

impl Record {
    /// The head of the conversation when this was its last record.
    pub const fn head(&self) -> Head {
        Head { seq: self.seq, hash: self.hash }
    }
}
