//! One thread at a time for each conversation.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ptr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::DurableError;
use crate::Mailbox;

/// The conversations that are driven here, each by one thread. Others that want the same one wait.
#[derive(Default)]
pub(super) struct Rooms {
    inside: Mutex<Doors>,
    left: Condvar,
}

#[derive(Default)]
struct Doors {
    taken: BTreeMap<String, Mailbox>,
    /// Who waits before a door: the conversations that they are in, and the one that they want.
    waiting: Vec<(Vec<String>, String)>,
}

/// A conversation that this thread has to itself.
pub(super) struct Entered<'a> {
    rooms: &'a Rooms,
    name: String,
    mailbox: Mailbox,
}

thread_local! {
    /// The conversations that this thread works for, each with the rooms that it is in: where a tool speaks to another
    /// conversation, there are several.
    static WORKS_FOR: RefCell<Vec<Room>> = const { RefCell::new(Vec::new()) };
}

/// A conversation, and the address of the rooms that it is in: as long as somebody is in, no others are there.
type Room = (usize, String);

/// The conversations that a thread works for, to be carried to those that do a part of its work.
pub(crate) struct Works(Vec<Room>);

impl Works {
    /// Those of this thread.
    pub(crate) fn here() -> Self {
        Self(WORKS_FOR.with_borrow(Clone::clone))
    }

    /// Does `work` for these.
    pub(crate) fn with<T>(&self, work: impl FnOnce() -> T) -> T {
        let _back = Back(WORKS_FOR.replace(self.0.clone()));
        work()
    }
}

/// Puts back what a thread worked for, also where the work panics.
struct Back(Vec<Room>);

impl Drop for Back {
    fn drop(&mut self) {
        WORKS_FOR.set(std::mem::take(&mut self.0));
    }
}

impl Rooms {
    /// Waits until nobody else is in, and goes in.
    ///
    /// # Errors
    /// [`DurableError::Inside`] when this thread would wait for itself.
    pub(super) fn enter(&self, conversation: &str) -> Result<Entered<'_>, DurableError> {
        let own = self.own();
        let mut doors = self.doors();
        while doors.taken.contains_key(conversation) {
            if doors.waits_for(conversation, &own) {
                return Err(DurableError::Inside { conversation: conversation.to_owned() });
            }
            let waits = (own.clone(), conversation.to_owned());
            doors.waiting.push(waits.clone());
            doors = self.left.wait(doors).unwrap_or_else(PoisonError::into_inner);
            if let Some(place) = doors.waiting.iter().position(|other| *other == waits) {
                doors.waiting.swap_remove(place);
            }
        }
        let mailbox = Mailbox::new();
        doors.taken.insert(conversation.to_owned(), mailbox.clone());
        drop(doors);
        WORKS_FOR.with_borrow_mut(|works| works.push((self.address(), conversation.to_owned())));
        Ok(Entered { rooms: self, name: conversation.to_owned(), mailbox })
    }

    /// Speaks to whoever is in. Whether anybody was.
    pub(super) fn tell(&self, conversation: &str, tell: impl FnOnce(&Mailbox)) -> bool {
        let mailbox = self.doors().taken.get(conversation).cloned();
        mailbox.map(|mailbox| tell(&mailbox)).is_some()
    }

    /// Whether this thread works for the conversation.
    pub(super) fn is_inside(&self, conversation: &str) -> bool {
        self.own().iter().any(|own| own == conversation)
    }

    /// The conversations in these rooms that this thread works for.
    fn own(&self) -> Vec<String> {
        let here = self.address();
        let is_here = |(rooms, name): &Room| (*rooms == here).then(|| name.clone());
        WORKS_FOR.with_borrow(|works| works.iter().filter_map(is_here).collect())
    }

    fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    fn doors(&self) -> MutexGuard<'_, Doors> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Doors {
    /// Whether the conversation cannot end before those in `own` do: it is one of them, or somebody who works for it waits for
    /// one that cannot. Nobody goes to wait where that is so, so it comes to an end.
    fn waits_for(&self, conversation: &str, own: &[String]) -> bool {
        let is_it = |name: &String| name == conversation;
        own.iter().any(is_it)
            || self.waiting.iter().any(|(of, wanted)| {
                of.iter().any(is_it) && wanted != conversation && self.waits_for(wanted, own)
            })
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
        let room = (self.rooms.address(), std::mem::take(&mut self.name));
        self.rooms.doors().taken.remove(&room.1);
        self.rooms.left.notify_all();
        WORKS_FOR.with_borrow_mut(|works| {
            if let Some(place) = works.iter().rposition(|other| *other == room) {
                works.remove(place);
            }
        });
    }
}
