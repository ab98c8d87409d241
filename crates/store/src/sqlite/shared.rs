//! What the thread that appends and the works have in common.

use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use sommelier_runner::journal::JournalError;

use super::file_place::FilePlace;
use super::options::Options;
use super::rows::told;
use crate::faults::Faults;
use crate::health::Health;
use crate::turnstile::{Turn, Turnstile};

/// After how many pages in the log it is copied into the file, about. A log that is copied is written over
/// from its beginning, and a file that does not grow is synced faster.
const CHECKPOINT_PAGES: usize = 1000;

/// SQLite lets one write at a time and wakes nobody who waits: they ask again and again. So those of one
/// handle wait for each other here.
pub(super) struct Shared {
    pub(super) faults: Faults,
    pub(super) health: Health,
    writing: Turnstile,
    busy: Duration,
    commits: AtomicU64,
    /// About how many pages stand in the log alone, as far as this handle has written them.
    uncopied: AtomicUsize,
    place: FilePlace,
}

impl Shared {
    pub(super) fn new(path: &Path, options: &Options) -> Self {
        Self {
            place: FilePlace::of(path),
            faults: options.faults.clone(),
            health: Health::default(),
            writing: Turnstile::default(),
            busy: options.busy,
            commits: AtomicU64::new(0),
            uncopied: AtomicUsize::new(0),
        }
    }

    /// Waits until nobody else of this handle writes.
    pub(super) fn enter(&self) -> Result<Turn<'_>, JournalError> {
        self.writing.enter(self.busy)
    }

    /// An error for a work that would wait for itself.
    pub(super) fn check_not_at_work(&self) -> Result<(), JournalError> {
        self.writing.check_not_inside()
    }

    /// A transaction was committed that wrote so many pages, about.
    pub(super) fn committed(&self, pages: usize) {
        if pages > 0 {
            self.commits.fetch_add(1, Ordering::Relaxed);
            self.uncopied.fetch_add(pages, Ordering::Relaxed);
        }
    }

    /// An error if the file that is written to is not the one that is found under its name: what was committed is gone with
    /// it, or will be.
    pub(super) fn check_place(&self) -> Result<(), JournalError> {
        self.place.check().map_err(JournalError::Broken)
    }

    /// As [`check_place`](Self::check_place), of the log too, after a commit and before anybody is told of it.
    pub(super) fn check_written(&self) -> Result<(), JournalError> {
        self.place.check_written().map_err(JournalError::Broken)
    }

    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Copies the log into the file now and then. After an error of it nobody knows what is on disk: the
    /// system may have dropped what it could not write, and would call a second try a success.
    pub(super) fn copy_the_log(&self, connection: &Connection) {
        if self.uncopied.load(Ordering::Relaxed) >= CHECKPOINT_PAGES {
            self.copy_all_of_the_log(connection);
        }
    }

    /// Copies the log into the file, as far as others let it.
    pub(super) fn copy_all_of_the_log(&self, connection: &Connection) {
        if self.health.check().is_err() {
            return;
        }
        self.uncopied.store(0, Ordering::Relaxed);
        let copied = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()));
        // Where others read or write, or there is no room, it is done another time.
        if let Err(JournalError::Broken(why) | JournalError::Malformed(why)) = copied.map_err(told) {
            self.health.note(JournalError::Broken(why));
        }
    }
}
