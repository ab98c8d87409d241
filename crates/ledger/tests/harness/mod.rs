//! Ledgers under test, and where they are kept.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]
#![allow(dead_code, reason = "each test file uses its own part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use reservo::booking::{Customer, NewBooking, TimeSlot};
use reservo::policy::OpeningHours;
use reservo::{Cents, Hours, Plan, Room};
use reservo_ledger::SqliteBookings;
use sommelier_store::{Event, SqliteStore};

/// A folder that is gone at the end of its test.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("ledger-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // A process of this number that was killed may have left it.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.0.join("journal.db")
    }

    /// A journal, and the ledger beside it.
    pub(crate) fn open(&self) -> (SqliteStore, SqliteBookings) {
        open(self.journal())
    }

    /// A connection past both.
    pub(crate) fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.journal()).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn open(journal: impl AsRef<Path>) -> (SqliteStore, SqliteBookings) {
    let store = SqliteStore::open(journal).unwrap();
    let ledger = SqliteBookings::beside(&store).unwrap();
    (store, ledger)
}

pub(crate) fn slot(date: &str, start_hour: i64, hours: i64) -> TimeSlot {
    let any = OpeningHours { opens: 0, closes: 24 };
    TimeSlot::new(date.parse().unwrap(), start_hour, Hours::new(hours).unwrap(), any).unwrap()
}

pub(crate) fn new(room: Room, slot: TimeSlot, customer: &str) -> NewBooking {
    let customer = Customer::new(customer).unwrap();
    NewBooking { room, plan: Plan::Pro, slot, customer, total_cents: Cents(6000) }
}

/// Focus for an hour of a day that has as many as there are days to come.
pub(crate) fn nth(n: u64) -> NewBooking {
    let date = reservo::civil::Date::new(2027, 1, 1).unwrap().add_days((n / 24) as i64).unwrap();
    new(Room::Focus, slot(&date.to_string(), (n % 24) as i64, 1), "Ada")
}

pub(crate) fn event(n: u64) -> Event {
    Event::new("tool_completed", 1, n, format!(r#"{{"n": {n}}}"#)).unwrap()
}
