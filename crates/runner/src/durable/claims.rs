//! The names that conversations have at a time, held against what their records say.

use std::collections::BTreeMap;
use std::fmt;

use sommelier_handoff::{Chronicle, Entry};

use crate::journal::{Journal, JournalError, Record};

/// A name that a conversation has and should not have, or should have and does not. The records are right.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClaimFault {
    /// By its records an effect of the conversation stands, and nobody has the name.
    Missing {
        /// The name.
        name: String,
        /// The conversation.
        conversation: String,
    },
    /// The conversation has the name, and by its records no effect of it stands.
    Stray {
        /// The name.
        name: String,
        /// The conversation.
        conversation: String,
    },
}

impl fmt::Display for ClaimFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { name, conversation } => {
                write!(f, "nobody has claimed {name:?}, which stands in {conversation:?}")
            }
            Self::Stray { name, conversation } => {
                write!(f, "{conversation:?} has claimed {name:?}, which does not stand in it")
            }
        }
    }
}

/// Compares the names that are claimed in a journal with what its records say. A conversation that is damaged is left out;
/// [`Journal::verify`] tells of it.
///
/// # Errors
/// The journal cannot be read.
///
/// ```
/// use sommelier_runner::check_claims;
/// # use sommelier_runner::journal::{Journal, JournalError};
/// # fn example(journal: &dyn Journal) -> Result<(), JournalError> {
/// assert_eq!(check_claims(journal)?, []);
/// # Ok(())
/// # }
/// ```
pub fn check_claims(journal: &dyn Journal) -> Result<Vec<ClaimFault>, JournalError> {
    let mut faults = look(journal)?;
    if !faults.is_empty() {
        // What is written while one looks may look like a fault, and a second look does not find it.
        let again = look(journal)?;
        faults.retain(|fault| again.contains(fault));
    }
    Ok(faults)
}

fn look(journal: &dyn Journal) -> Result<Vec<ClaimFault>, JournalError> {
    let claimed: BTreeMap<String, String> = journal.claims()?.into_iter().collect();
    let mut standing = BTreeMap::new();
    let mut unread = Vec::new();
    for conversation in journal.conversations()? {
        match journal.load(&conversation, 1) {
            Ok(records) => drop(standing.insert(conversation, chronicle(&records).claims())),
            Err(JournalError::Damaged(_)) => unread.push(conversation),
            Err(why) => return Err(why),
        }
    }
    let stands = |name: &String, by: &String| standing.get(by).is_some_and(|names| names.contains(name));
    let missing = standing.iter().flat_map(|(conversation, names)| {
        let free = names.iter().filter(|name| !claimed.contains_key(*name));
        free.map(|name| ClaimFault::Missing { name: name.clone(), conversation: conversation.clone() })
    });
    let stray = claimed.iter().filter(|(name, by)| !unread.contains(by) && !stands(name, by));
    let stray = stray.map(|(name, by)| ClaimFault::Stray { name: name.clone(), conversation: by.clone() });
    Ok(missing.chain(stray).collect())
}

/// What records say beside where their run stands. What cannot be read is left to who replays it.
fn chronicle(records: &[Record]) -> Chronicle {
    let mut chronicle = Chronicle::default();
    for Record { conversation, event, .. } in records {
        match Entry::read(event.kind(), event.version(), event.body()) {
            Ok(Entry::Input(input)) => chronicle.note_input(&input),
            Ok(Entry::Announced(told)) => chronicle.note_announced(conversation, &told),
            Err(_) => {}
        }
    }
    chronicle
}
