//! Where the stores under test keep their things.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]
#![allow(dead_code, reason = "each test file uses its own part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::{Connection, params};
use sommelier_store::conformance::{Kept, Shelf, Tamper};
use sommelier_store::{
    Epoch, Event, Faults, Hash, Head, Journal, MemoryStore, Options, SqliteStore, computed_hash,
};

/// A folder that is gone at the end of its test.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("store-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // A process of this number may have been killed here before.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.0.join("journal.db")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.0.join("journal.db-wal")
    }

    /// With more patience than any test needs: who waits for others at a slow machine is let in, and who waits for itself
    /// does not come to its end.
    pub(crate) fn open(&self) -> SqliteStore {
        self.open_with(patient())
    }

    pub(crate) fn open_with(&self, options: Options) -> SqliteStore {
        SqliteStore::open_with(self.journal(), &options).unwrap()
    }

    /// A connection past the store.
    pub(crate) fn raw(&self) -> Connection {
        Connection::open(self.journal()).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn patient() -> Options {
    Options::new().busy_timeout(Duration::from_secs(60 * 60))
}

pub(crate) struct Memory(pub(crate) MemoryStore);

impl Shelf for Memory {
    fn open(&self, faults: Faults) -> Box<dyn Journal> {
        Box::new(self.0.another().faults(faults))
    }

    fn tamper(&self, conversation: &str, tamper: Tamper) {
        self.0.tamper(conversation, tamper);
    }
}

impl Shelf for Folder {
    fn open(&self, faults: Faults) -> Box<dyn Journal> {
        Box::new(self.open_with(patient().faults(faults)))
    }

    fn tamper(&self, conversation: &str, tamper: Tamper) {
        let id: i64 = self
            .raw()
            .query_row("SELECT id FROM conversations WHERE name = ?1", [conversation], |row| row.get(0))
            .unwrap();
        let set = |column: &str, value: &dyn rusqlite::ToSql, seq: u64| {
            let statement = format!("UPDATE events SET {column} = ?1 WHERE conversation = ?2 AND seq = ?3");
            assert_eq!(self.raw().execute(&statement, params![value, id, seq as i64]).unwrap(), 1);
        };
        let head = |head: Head| {
            let statement = "UPDATE conversations SET seq = ?1, hash = ?2 WHERE id = ?3";
            self.raw().execute(statement, params![head.seq as i64, head.hash.as_bytes(), id]).unwrap();
        };
        let delete = |which: &str, seq: u64| {
            let statement = format!("DELETE FROM events WHERE conversation = ?1 AND seq {which} ?2");
            self.raw().execute(&statement, params![id, seq as i64]).unwrap();
        };
        match tamper {
            Tamper::Body { seq, body } => set("body", &body, seq),
            Tamper::Kind { seq, kind } => set("kind", &kind, seq),
            Tamper::Rehashed { seq, body } => {
                let mut records = self.open().salvage(conversation).unwrap();
                let record = records.iter_mut().find(|record| record.seq == seq).unwrap();
                let event = &record.event;
                record.event = Event::new(event.kind(), event.version(), event.at(), body).unwrap();
                set("body", &body, seq);
                set("hash", computed_hash(record).as_bytes(), seq);
            }
            Tamper::Batch { seq } => set("batch", Hash::ZERO.as_bytes(), seq),
            Tamper::Delete { seq } => delete("=", seq),
            Tamper::Cut { seq } => {
                let records = self.open().salvage(conversation).unwrap();
                delete(">=", seq);
                let last = records.iter().rev().find(|record| record.seq < seq);
                head(last.map_or(Head::START, |record| record.head()));
            }
            Tamper::Forget => {
                delete(">", 0);
                self.raw().execute("DELETE FROM conversations WHERE id = ?1", [id]).unwrap();
            }
            Tamper::Head { head: new } => head(new),
            Tamper::Epoch { epoch } => {
                let statement = "UPDATE conversations SET epoch = ?1 WHERE id = ?2";
                self.raw().execute(statement, params![epoch.get() as i64, id]).unwrap();
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Holds both stores to a rule.
pub(crate) fn check(rule: fn(&dyn Shelf) -> Kept) {
    rule(&Memory(MemoryStore::new())).unwrap();
    rule(&Folder::new()).unwrap();
}

pub(crate) fn event(n: u64) -> Event {
    Event::new("noted", 1, n, format!(r#"{{"n": {n}}}"#)).unwrap()
}

/// Appends an event of its own to each place of a conversation.
pub(crate) fn fill(journal: &dyn Journal, conversation: &str, length: u64) -> Head {
    let start = journal.head(conversation).unwrap();
    let append =
        |head: Head, n| journal.append(conversation, head.seq, Epoch::NONE, &[event(n)]).unwrap().head();
    (start.seq..start.seq + length).fold(start, append)
}
