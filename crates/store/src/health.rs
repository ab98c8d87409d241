//! What a handle on a store knows to be wrong.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sommelier_runner::journal::{Damage, Finding, Head, JournalError};

/// Whether the store may be used at all, and which conversations may not be written to.
#[derive(Debug, Default)]
pub(crate) struct Health {
    broken: Mutex<Option<String>>,
    damaged: Mutex<BTreeMap<String, Finding>>,
}

impl Health {
    /// An error if the store is broken.
    pub(crate) fn check(&self) -> Result<(), JournalError> {
        locked(&self.broken).as_ref().map_or(Ok(()), |why| Err(JournalError::Broken(why.clone())))
    }

    /// An error if the store is broken or the conversation damaged.
    pub(crate) fn check_writable(&self, conversation: &str) -> Result<(), JournalError> {
        self.check()?;
        let damaged = locked(&self.damaged);
        damaged.get(conversation).map_or(Ok(()), |finding| Err(JournalError::ReadOnly(finding.clone())))
    }

    /// Takes note of an error that breaks the store, and hands it on. The first one stays: it is the cause.
    pub(crate) fn note(&self, error: JournalError) -> JournalError {
        if let JournalError::Broken(why) = &error {
            locked(&self.broken).get_or_insert_with(|| why.clone());
        }
        error
    }

    /// The exported head that an earlier look found missing. Later looks are held to it too: a journal that
    /// lost its tail looks sound by itself, and must not be gone on with.
    pub(crate) fn exported(&self, conversation: &str) -> Option<Head> {
        match locked(&self.damaged).get(conversation)?.damage {
            Damage::Cut { exported } | Damage::Replaced { exported } => Some(exported),
            _ => None,
        }
    }

    /// Takes note of how a look at a conversation ended.
    pub(crate) fn looked(&self, conversation: &str, found: Option<&Finding>) {
        let mut damaged = locked(&self.damaged);
        match found {
            Some(finding) => drop(damaged.insert(conversation.to_owned(), finding.clone())),
            None => drop(damaged.remove(conversation)),
        }
    }
}

/// What is behind these locks is whole at every moment, so a thread that panicked does no harm to it.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
