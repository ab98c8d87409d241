//! The end of the server, which every wait in it hears of.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Whether the server is to end.
#[derive(Debug, Default)]
pub struct Stop {
    is_set: Mutex<bool>,
    heard: Condvar,
}

impl Stop {
    /// Ends it.
    pub fn set(&self) {
        *locked(&self.is_set) = true;
        self.heard.notify_all();
    }

    /// Whether it is to end.
    pub fn is_set(&self) -> bool {
        *locked(&self.is_set)
    }

    /// Waits that long, or until the server ends; whether it does.
    pub fn wait(&self, long: Duration) -> bool {
        let guard = locked(&self.is_set);
        let waited = self.heard.wait_timeout_while(guard, long, |is_set| !*is_set);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// What a lock holds is whole also when a thread died that held it: nothing here is left half done.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
