//! What is wrong with a journal, and where it begins.

use std::fmt;

use thiserror::Error;

use super::head::Head;
use super::lease::Epoch;

/// The first thing that is wrong with a conversation. Nothing from `seq` on is to be relied on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The conversation.
    pub conversation: String,
    /// The first number that is bad or missing.
    pub seq: u64,
    /// What is wrong there.
    pub damage: Damage,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "conversation {:?}, record {}: {}", self.conversation, self.seq, self.damage)
    }
}

/// What can be wrong with a record or in its place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Damage {
    /// There is no record of this number, and there are later ones, or the store's own head says that there
    /// was one.
    #[error("it is missing")]
    Missing,
    /// The content is another than the one that the hash was made of.
    #[error("its content and its hash do not agree")]
    Altered,
    /// It was written behind another record than the one that stands before it.
    #[error("it does not follow from the record before")]
    Unlinked,
    /// Epochs grow by one where a lease is taken, and nowhere else.
    #[error("it is of epoch {found}, where {expected} would be right")]
    Epoch {
        /// What would follow.
        expected: Epoch,
        /// What is there.
        found: Epoch,
    },
    /// The batch that begins here is not the one that was appended as a whole.
    #[error("the batch that begins with it has another id than its events give")]
    Batch,
    /// The store cannot read it, with what it says.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// The journal ends before a head that was exported.
    #[error("the journal ends before it, and it once went to record {}", exported.seq)]
    Cut {
        /// The head that was exported.
        exported: Head,
    },
    /// There is another record than when a head was exported: the history was written anew from here or
    /// before.
    #[error("it is another record than the one that was exported")]
    Replaced {
        /// The head that was exported.
        exported: Head,
    },
    /// The chain is whole, and the store's own note of where it ends is another.
    #[error("the store takes record {} for the last one, or has another hash for it", kept.seq)]
    Kept {
        /// The head that the store keeps.
        kept: Head,
    },
    /// The chain is whole, and the store's own note of the epoch is another.
    #[error("the store takes the epoch for {kept}, and by the records it is {found}")]
    KeptEpoch {
        /// The epoch that the store keeps.
        kept: Epoch,
        /// The epoch by the records.
        found: Epoch,
    },
}

/// What a look at all records found.
///
/// ```
/// use sommelier_runner::journal::{Damage, Finding, Verified};
///
/// let mut verified = Verified::default();
/// verified.add(4, None);
/// assert!(verified.is_sound());
/// assert_eq!(verified.to_string(), "1 conversations, 4 records: sound");
///
/// verified.add(2, Some(Finding { conversation: "guest-7".to_owned(), seq: 3, damage: Damage::Missing }));
/// assert!(verified.to_string().ends_with("conversation \"guest-7\", record 3: it is missing"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// How many conversations were looked at.
    pub conversations: u64,
    /// How many records were found to be sound.
    pub records: u64,
    /// Of each conversation that is not sound, the first thing that is wrong.
    pub findings: Vec<Finding>,
}

impl Verified {
    /// Is nothing wrong?
    pub const fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    /// For stores: one more conversation was looked at, with so many records that are sound.
    pub fn add(&mut self, records: u64, found: Option<Finding>) {
        self.conversations += 1;
        self.records += records;
        self.findings.extend(found);
    }
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} conversations, {} records: ", self.conversations, self.records)?;
        if self.is_sound() {
            return f.write_str("sound");
        }
        write!(f, "{} damaged", self.findings.len())?;
        self.findings.iter().try_for_each(|finding| write!(f, "\n{finding}"))
    }
}
