//! Keeping a lease while something takes long.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use sommelier_handoff::Millis;

use super::log::Log;

/// Does `work` while a thread beside it renews the lease, three times in each term. Where it cannot be renewed any more,
/// nothing more is written, and the work finds that out by its next record.
pub(super) fn beating<T>(
    log: &Log<'_>,
    term: Millis,
    now: impl Fn() -> Millis + Sync,
    work: impl FnOnce() -> T,
) -> T {
    let (is_done, done) = (Mutex::new(false), Condvar::new());
    let pause = Duration::from_millis((term / 3).max(1));
    thread::scope(|scope| {
        let beat = || {
            let mut over = is_done.lock().unwrap_or_else(PoisonError::into_inner);
            while !*over {
                let (woken, waited) = done.wait_timeout(over, pause).unwrap_or_else(PoisonError::into_inner);
                over = woken;
                if !*over && waited.timed_out() && log.renew(now()).is_err() {
                    return;
                }
            }
        };
        // Where no thread is to be had, the records that are written renew the lease.
        let _ = thread::Builder::new().spawn_scoped(scope, beat);
        let _stop = Stop(&is_done, &done);
        work()
    })
}

/// Ends the thread also where the work panics.
struct Stop<'a>(&'a Mutex<bool>, &'a Condvar);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.1.notify_all();
    }
}
