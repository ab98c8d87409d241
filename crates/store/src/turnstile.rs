//! One at a time, in the order in which they came.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use sommelier_runner::journal::JournalError;

use crate::health::locked;

/// Lets one thread in at a time, and lets none wait without an end.
///
/// A plain mutex would do for the first. But it lets in whom it likes, so that who asks again and again keeps
/// the others out; and a work that calls its own store would wait for itself.
#[derive(Debug, Default)]
pub(crate) struct Turnstile {
    line: Mutex<Line>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct Line {
    inside: Option<ThreadId>,
    waiting: VecDeque<u64>,
    tickets: u64,
}

/// The right to be inside, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a>(&'a Turnstile);

impl Turnstile {
    /// Waits to be let in, for so long at most.
    pub(crate) fn enter(&self, longest: Duration) -> Result<Turn<'_>, JournalError> {
        self.check_not_inside()?;
        let mut line = locked(&self.line);
        line.tickets += 1;
        let ticket = line.tickets;
        line.waiting.push_back(ticket);
        let waits = |line: &mut Line| line.inside.is_some() || line.waiting.front() != Some(&ticket);
        let (mut line, waited) =
            self.moved.wait_timeout_while(line, longest, waits).unwrap_or_else(PoisonError::into_inner);
        line.waiting.retain(|waiting| *waiting != ticket);
        if waited.timed_out() {
            // Who stands behind may be the first now.
            self.moved.notify_all();
            return Err(JournalError::Busy);
        }
        line.inside = Some(thread::current().id());
        Ok(Turn(self))
    }

    /// An error if it is this thread that is inside: it would wait for itself.
    pub(crate) fn check_not_inside(&self) -> Result<(), JournalError> {
        let is_inside = locked(&self.line).inside == Some(thread::current().id());
        if is_inside { Err(JournalError::Busy) } else { Ok(()) }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        locked(&self.0.line).inside = None;
        self.0.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// Waits until so many have come, whoever of them is gone again.
    fn until_came(turnstile: &Turnstile, number: u64) {
        while locked(&turnstile.line).tickets < number {
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn who_came_first_is_let_in_first() {
        let (turnstile, order) = (Turnstile::default(), Mutex::new(Vec::new()));
        let enter = |name| {
            let _turn = turnstile.enter(LONG).unwrap();
            locked(&order).push(name);
        };
        thread::scope(|threads| {
            let turn = turnstile.enter(LONG).unwrap();
            for (name, number) in [("a", 2), ("b", 3), ("c", 4)] {
                threads.spawn(move || enter(name));
                until_came(&turnstile, number);
            }
            drop(turn);
            // Who was inside a moment ago stands at the end.
            enter("d");
        });
        assert_eq!(locked(&order)[..], ["a", "b", "c", "d"]);
    }

    #[test]
    fn who_has_waited_too_long_holds_nobody_up() {
        let turnstile = Turnstile::default();
        thread::scope(|threads| {
            let turn = turnstile.enter(LONG).unwrap();
            let short = threads.spawn(|| turnstile.enter(Duration::from_millis(5)).map(drop));
            until_came(&turnstile, 2);
            let long = threads.spawn(|| turnstile.enter(LONG).map(drop));
            assert_eq!(short.join().unwrap(), Err(JournalError::Busy));
            drop(turn);
            assert_eq!(long.join().unwrap(), Ok(()));
        });
    }

    #[test]
    fn nobody_waits_for_himself() {
        let turnstile = Turnstile::default();
        let turn = turnstile.enter(LONG).unwrap();
        assert_eq!(turnstile.enter(LONG).map(drop), Err(JournalError::Busy));
        drop(turn);
        assert_eq!(turnstile.enter(LONG).map(drop), Ok(()));
    }
}
