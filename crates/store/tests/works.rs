//! Works in SQLite's transaction: what they write stands or falls with their events.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use harness::{Folder, event, fill};
use rusqlite::Connection;
use sommelier_store::{
    Epoch, Event, Fault, Faults, Head, Heads, Journal, JournalError, Options, SqliteStore, Undone,
};

/// A table beside the journal.
fn notes(folder: &Folder) -> Notes<'_> {
    folder.open().connection().unwrap().execute_batch("CREATE TABLE notes (n INTEGER) STRICT").unwrap();
    Notes(folder)
}

struct Notes<'a>(&'a Folder);

impl Notes<'_> {
    /// The notes, as another process sees them.
    fn read(&self) -> Vec<u64> {
        let raw = self.0.raw();
        let mut statement = raw.prepare("SELECT n FROM notes ORDER BY n").unwrap();
        let notes = statement.query_map((), |row| row.get::<_, i64>(0)).unwrap();
        notes.map(|n| n.unwrap() as u64).collect()
    }
}

fn note(transaction: &dyn Any, n: u64) -> rusqlite::Result<usize> {
    let connection = transaction.downcast_ref::<Connection>().unwrap();
    connection.execute("INSERT INTO notes VALUES (?1)", [n as i64])
}

type Told = Result<Vec<Event>, Undone>;

/// Writes a note, and tells of it.
fn noting(n: u64) -> impl FnMut(&dyn Any) -> Told {
    move |transaction| {
        note(transaction, n).map_err(|_| Undone)?;
        Ok(vec![event(n)])
    }
}

/// The notes of which the journal tells.
fn told(store: &SqliteStore) -> Vec<u64> {
    store.load("a", 1).unwrap().iter().map(|record| record.event.at()).collect()
}

/// T8 (the store's half): what a work wrote is there with its events, and without them it is not.
#[test]
fn what_a_work_writes_stands_or_falls_with_its_events() {
    let folder = Folder::new();
    let (store, notes) = (folder.open(), notes(&folder));
    let head = store.append_with("a", 0, Epoch::NONE, &mut noting(1)).unwrap().head();
    assert_eq!((notes.read(), told(&store), store.head("a").unwrap()), (vec![1], vec![1], head));

    let failing: [fn() -> Told; 3] = [|| Err(Undone), || Ok(Vec::new()), || panic!()];
    for work in failing {
        let answer = store.append_with("a", 1, Epoch::NONE, &mut |transaction| {
            note(transaction, 2).unwrap();
            work()
        });
        assert!(answer.is_err(), "{answer:?}");
        assert_eq!((notes.read(), told(&store)), (vec![1], vec![1]), "{answer:?}");
    }
    for (expected, epoch) in [(0, Epoch::NONE), (2, Epoch::NONE), (1, Epoch::new(1))] {
        let answer = store.append_with("a", expected, epoch, &mut noting(3));
        assert!(matches!(answer, Err(JournalError::Conflict(_) | JournalError::Fenced(_))), "{answer:?}");
        assert_eq!(notes.read(), [1]);
    }
    store.append_with("a", 1, Epoch::NONE, &mut noting(4)).unwrap();
    assert_eq!((notes.read(), told(&folder.open())), (vec![1, 4], vec![1, 4]));
}

/// T8 (the store's half), T15: whichever call beneath fails, both are there or neither.
#[test]
fn a_fault_leaves_a_work_and_its_events_together() {
    for fault in [Fault::Full, Fault::Io] {
        let mut seen = BTreeSet::new();
        for n in 1.. {
            let folder = Folder::new();
            let notes = notes(&folder);
            let faults = Faults::nth(n, fault);
            let faulty = folder.open_with(Options::new().faults(faults.clone()));
            let answer = faulty.append_with("a", 0, Epoch::NONE, &mut noting(7));
            let store = folder.open();
            assert_eq!(notes.read(), told(&store), "{fault:?} {n}: {answer:?}");
            if !faults.is_spent() {
                assert_eq!((answer.is_ok(), notes.read()), (true, vec![7]));
                break;
            }
            assert!(answer.is_err(), "{fault:?} {n}: {answer:?}");
            seen.insert(notes.read());
        }
        assert_eq!(seen.len(), if fault == Fault::Full { 1 } else { 2 }, "before a commit, and after it");
    }
}

/// T15: a panic beneath a work, on the caller's thread, leaves nothing and holds nobody up.
#[test]
fn a_panic_beneath_a_work_holds_nobody_up() {
    for n in 1..=6 {
        let folder = Folder::new();
        let notes = notes(&folder);
        let store = folder.open_with(Options::new().faults(Faults::nth(n, Fault::Panic)));
        let ended = thread::scope(|threads| {
            threads.spawn(|| store.append_with("a", 0, Epoch::NONE, &mut noting(7))).join()
        });
        let after_commit = n == 6;
        assert!(ended.is_err(), "{n}: {ended:?}");
        assert_eq!(
            (notes.read().len(), told(&store).len()),
            (after_commit.into(), after_commit.into()),
            "{n}"
        );
        let head = store.head("a").unwrap();
        store.append_with("a", head.seq, Epoch::NONE, &mut noting(8)).unwrap();
        assert_eq!(fill(&store, "a", 1).seq, head.seq + 2);
    }
}

/// S1-34: a work does not end the transaction that it is in, nor touch what the journal promises.
#[test]
fn a_work_is_kept_from_the_journal() {
    let folder = Folder::new();
    let (store, notes) = (folder.open(), notes(&folder));
    fill(&store, "a", 1);
    let forbidden = [
        "COMMIT",
        "END",
        "ROLLBACK",
        "BEGIN",
        "UPDATE conversations SET epoch = 7",
        "INSERT INTO events SELECT conversation, 2, epoch, kind, version, at, body, prev_hash, hash, batch FROM events",
        "DELETE FROM events",
        "DELETE FROM late_results",
        "DROP TABLE late_results",
        "UPDATE invitations SET standing = 'open'",
        "DELETE FROM refused_tokens",
        "ALTER TABLE events RENAME TO occurrences",
        "CREATE INDEX mine ON events (at)",
        "CREATE TRIGGER mine AFTER INSERT ON events BEGIN DELETE FROM notes; END",
        "CREATE TRIGGER mine AFTER INSERT ON notes BEGIN DELETE FROM events; END; INSERT INTO notes VALUES (9)",
        "PRAGMA synchronous = OFF",
        "PRAGMA wal_checkpoint",
        "ATTACH ':memory:' AS other",
        // What is temporary stands before what has the same name, and is there for the next work too.
        "CREATE TEMP TABLE events AS SELECT * FROM main.events WHERE 0",
        "CREATE TEMP VIEW conversations AS SELECT 1",
        "CREATE TEMP TRIGGER mine AFTER INSERT ON main.events BEGIN DELETE FROM notes; END",
        "INSERT INTO claims VALUES ('refund 17', 'b')",
    ];
    let denied = RefCell::new(Vec::new());
    let mut work = |transaction: &dyn Any| {
        let connection = transaction.downcast_ref::<Connection>().unwrap();
        for statements in forbidden {
            denied.borrow_mut().extend(connection.execute_batch(statements).err().map(|_| statements));
        }
        connection.execute_batch("DROP TRIGGER IF EXISTS mine; CREATE TABLE more (n INTEGER)").unwrap();
        connection
            .execute_batch("SAVEPOINT one; INSERT INTO notes VALUES (1); ROLLBACK TO one; RELEASE one")
            .unwrap();
        noting(2)(transaction)
    };
    let head = store.append_with("a", 1, Epoch::NONE, &mut work).unwrap().head();
    assert_eq!(denied.into_inner(), forbidden);
    assert_eq!((notes.read(), head.seq), (vec![2], 2));
    assert!(store.verify(None, &Heads::new()).unwrap().is_sound());
    assert_eq!(fill(&store, "a", 1).seq, 3);
    // What is kept from a work is not kept from the journal on the same connection.
    store.append_with("a", 3, Epoch::NONE, &mut noting(3)).unwrap();
}

/// T14: where there is no room for what a work writes, nothing of it is there, also where the work looks past
/// the error; and with more room it goes on.
#[test]
fn a_work_without_room_leaves_nothing() {
    let folder = Folder::new();
    let notes = notes(&folder);
    folder.raw().execute_batch("CREATE TABLE large (bytes BLOB)").unwrap();
    let capped = folder.open_with(Options::new().max_bytes(256 << 10));
    fill(&capped, "a", 1);
    for looks_past_it in [false, true] {
        let answer = capped.append_with("a", 1, Epoch::NONE, &mut |transaction| {
            note(transaction, 2).unwrap();
            let connection = transaction.downcast_ref::<Connection>().unwrap();
            let written = connection.execute("INSERT INTO large VALUES (zeroblob(1000000))", ());
            assert!(written.is_err());
            // It is in no transaction any more, and is not let to write out of one.
            assert!(note(transaction, 3).is_err());
            if looks_past_it { Ok(vec![event(2)]) } else { Err(Undone) }
        });
        assert_eq!(answer, Err(JournalError::Undone), "{looks_past_it}");
        assert_eq!((notes.read(), told(&capped)), (vec![], vec![0]));
    }
    let huge = Event::new("noted", 1, 0, format!("\"{}\"", "x".repeat(1 << 20))).unwrap();
    let answer = capped.append_with("a", 1, Epoch::NONE, &mut |transaction| {
        note(transaction, 2).unwrap();
        Ok(vec![huge.clone()])
    });
    assert_eq!((answer, notes.read()), (Err(JournalError::Full), vec![]));
    capped.append_with("a", 1, Epoch::NONE, &mut noting(2)).unwrap();
    assert_eq!(folder.open().append("a", 2, Epoch::NONE, &[huge]).unwrap().head().seq, 3);
}

/// T21: another process that has the lock is waited for as long as was said, and the work is not begun.
#[test]
fn a_work_waits_for_a_lock_and_is_then_told() {
    let folder = Folder::new();
    let notes = notes(&folder);
    let store = folder.open_with(Options::new().busy_timeout(Duration::from_millis(100)));
    let lock = folder.raw();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(store.append_with("a", 0, Epoch::NONE, &mut noting(1)), Err(JournalError::Busy));
    lock.execute_batch("COMMIT").unwrap();
    assert_eq!(notes.read(), Vec::<u64>::new());
    store.append_with("a", 0, Epoch::NONE, &mut noting(1)).unwrap();
}

/// T21: a work that takes longer than others wait holds them up no longer than that, and harms nobody.
#[test]
fn who_waits_for_a_work_is_told() {
    let folder = Folder::new();
    let notes = notes(&folder);
    let store = folder.open_with(Options::new().busy_timeout(Duration::from_millis(100)));
    let begun = Barrier::new(2);
    thread::scope(|threads| {
        let work = threads.spawn(|| {
            store.append_with("a", 0, Epoch::NONE, &mut |transaction| {
                begun.wait();
                begun.wait();
                noting(1)(transaction)
            })
        });
        begun.wait();
        assert_eq!(store.append("b", 0, Epoch::NONE, &[event(1)]), Err(JournalError::Busy));
        assert_eq!(store.append_with("b", 0, Epoch::NONE, &mut noting(2)), Err(JournalError::Busy));
        assert_eq!(store.head("b"), Ok(Head::START), "reading waits for nobody");
        begun.wait();
        assert_eq!(work.join().unwrap().unwrap().head().seq, 1);
    });
    store.append("b", 0, Epoch::NONE, &[event(1)]).unwrap();
    assert_eq!(notes.read(), [1]);
}

/// The log is copied after works as it is after appends.
#[test]
fn the_log_does_not_grow_with_works() {
    let folder = Folder::new();
    let store = folder.open();
    folder.raw().execute_batch("CREATE TABLE texts (text TEXT)").unwrap();
    let text = "x".repeat(3000);
    for n in 0..60 {
        store
            .append_with("a", n, Epoch::NONE, &mut |transaction| {
                let connection = transaction.downcast_ref::<Connection>().unwrap();
                for _ in 0..100 {
                    connection.execute("INSERT INTO texts VALUES (?1)", [&text]).unwrap();
                }
                Ok(vec![event(n)])
            })
            .unwrap();
    }
    let size = |path| fs::metadata(path).unwrap().len();
    assert!(size(folder.journal()) > 15 << 20);
    assert!(size(folder.log()) < 12 << 20, "{} bytes", size(folder.log()));
}

/// S1-34: closing a store that is broken leaves the log to those who open it again, whoever of the handle's
/// connections is closed last; closing one that is well leaves none.
#[test]
fn a_broken_store_leaves_its_log_alone() {
    for is_broken in [false, true] {
        let folder = Folder::new();
        let faults = if is_broken { Faults::nth(30, Fault::Io) } else { Faults::NONE };
        let (store, _notes) = (folder.open_with(Options::new().faults(faults)), notes(&folder));
        fill(&store, "a", 2);
        store.append_with("a", 2, Epoch::NONE, &mut noting(1)).unwrap();
        let ended =
            (3..20).map(|seq| store.append("a", seq, Epoch::NONE, &[event(seq)])).find(Result::is_err);
        assert_eq!(ended.is_some(), is_broken);
        drop(store);
        assert_eq!(fs::metadata(folder.log()).is_ok_and(|log| log.len() > 0), is_broken);
        assert!(folder.open().verify(None, &Heads::new()).unwrap().is_sound());
    }
}

/// T15: what the tables do not take is told of the work that wrote it. Nothing of it is there, and nobody
/// else is kept from anything.
#[test]
fn what_the_tables_do_not_take_is_told_of_the_work() {
    let folder = Folder::new();
    let (store, notes) = (folder.open(), notes(&folder));
    folder
        .raw()
        .execute_batch(
            "CREATE TABLE parents (id INTEGER PRIMARY KEY) STRICT;
             CREATE TABLE children (of INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED) STRICT",
        )
        .unwrap();
    let answer = store.append_with("a", 0, Epoch::NONE, &mut |transaction| {
        let connection = transaction.downcast_ref::<Connection>().unwrap();
        connection.execute("INSERT INTO children VALUES (99)", ()).unwrap();
        noting(1)(transaction)
    });
    assert_eq!(answer, Err(JournalError::Refused("FOREIGN KEY constraint failed".to_owned())));
    assert_eq!((notes.read(), told(&store)), (Vec::new(), Vec::new()));
    store.append_with("a", 0, Epoch::NONE, &mut noting(2)).unwrap();
    assert_eq!(fill(&store, "b", 1).seq, 1);
}
