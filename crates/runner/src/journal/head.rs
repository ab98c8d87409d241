//! Where a journal ends.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::hash::Hash;

/// The last record of a conversation: its number and its hash. It stands for everything before it.
///
/// Whoever keeps a head outside of the store can tell later whether the conversation still holds all it held
/// then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The number of the last record, 0 if there is none.
    pub seq: u64,
    /// Its hash.
    pub hash: Hash,
}

impl Head {
    /// The head of a conversation in which nothing has happened.
    pub const START: Self = Self { seq: 0, hash: Hash::ZERO };
}

/// The heads of conversations by name: what is exported, kept elsewhere and given to
/// [`verify`](super::Journal::verify).
pub type Heads = BTreeMap<String, Head>;
