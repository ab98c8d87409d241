//! One thread at a time for each conversation.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::Mailbox;

/// The conversations that are driven here, each by one thread. Others that want the same one wait.
#[derive(Default)]
pub(super) struct Rooms {
    taken: Mutex<BTreeMap<String, Mailbox>>,
    left: Condvar,
}

/// A conversation that this thread has to itself.
pub(super) struct Entered<'a> {
    rooms: &'a Rooms,
    name: String,
    mailbox: Mailbox,
}

impl Rooms {
    /// Waits until nobody else is in, and goes in.
    pub(super) fn enter(&self, conversation: &str) -> Entered<'_> {
        let mut taken = self.taken();
        while taken.contains_key(conversation) {
            taken = self.left.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        let mailbox = Mailbox::new();
        taken.insert(conversation.to_owned(), mailbox.clone());
        Entered { rooms: self, name: conversation.to_owned(), mailbox }
    }

    /// Speaks to whoever is in. Whether anybody was.
    pub(super) fn tell(&self, conversation: &str, tell: impl FnOnce(&Mailbox)) -> bool {
        let mailbox = self.taken().get(conversation).cloned();
        mailbox.map(|mailbox| tell(&mailbox)).is_some()
    }

    fn taken(&self) -> MutexGuard<'_, BTreeMap<String, Mailbox>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entered<'_> {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn mailbox(&self) -> &Mailbox {
        &self.mailbox
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.rooms.taken().remove(&self.name);
        self.rooms.left.notify_all();
    }
}
