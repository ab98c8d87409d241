//! What SQLite's store does about the file, the lock, the room and the thread.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use std::fs;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use harness::{Folder, event, fill};
use sommelier_store::{
    Appended, Epoch, Event, Fault, Faults, Head, Heads, Journal, JournalError, OpenError, Options,
    SqliteStore,
};

/// Appends one event to each conversation of `asks` at the same time, while somebody else holds the lock, so
/// that they wait for it together: until all have come, and for `pause` more, as nobody sees them stand in line. Each is
/// (conversation, expected number, event).
fn together(
    folder: &Folder,
    store: &SqliteStore,
    asks: &[(String, u64, Event)],
    pause: Duration,
) -> Vec<Result<Appended, JournalError>> {
    let came = AtomicUsize::new(0);
    let lock = folder.raw();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    thread::scope(|threads| {
        let asked: Vec<_> = asks
            .iter()
            .map(|(name, expected, event)| {
                let came = &came;
                threads.spawn(move || {
                    came.fetch_add(1, Ordering::SeqCst);
                    store.append(name, *expected, Epoch::NONE, std::slice::from_ref(event))
                })
            })
            .collect();
        while came.load(Ordering::SeqCst) < asks.len() {
            thread::yield_now();
        }
        thread::sleep(pause);
        lock.execute_batch("COMMIT").unwrap();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    })
}

/// S1-34: those who wait at the same time share a sync of the disk, and each has its own outcome.
#[test]
fn appends_that_wait_share_a_commit() {
    // Every fourth expects what is not so.
    let asks: Vec<_> = (0..16).map(|n| (format!("c-{n}"), u64::from(n % 4 == 3), event(n))).collect();
    let mut commits = Vec::new();
    // However slow the machine is, one of these suffices for all of them to stand in line.
    for pause in [100, 1_000, 10_000].map(Duration::from_millis) {
        let folder = Folder::new();
        let store = folder.open();
        let answers = together(&folder, &store, &asks, pause);
        for (n, answer) in answers.iter().enumerate() {
            let stands = store.head(&format!("c-{n}")).unwrap();
            if n % 4 == 3 {
                assert_eq!((answer, stands), (&Err(JournalError::Conflict(Head::START)), Head::START), "{n}");
            } else {
                assert_eq!((answer, stands.seq), (&Ok(Appended::Head(stands)), 1), "{n}");
            }
        }
        commits.push(store.commits());
        if commits.ends_with(&[2]) || commits.ends_with(&[1]) {
            return;
        }
    }
    panic!("12 appends took {commits:?} commits");
}

/// T14: at the cap a call is told so, nothing of it is there, and with more room it goes on.
#[test]
fn a_full_file_is_told_and_nothing_is_half_there() {
    let folder = Folder::new();
    let capped = folder.open_with(Options::new().max_bytes(256 << 10));
    let large = |n| Event::new("noted", 1, n, format!("\"{}\"", "x".repeat(20_000))).unwrap();
    let batch = [large(1), large(2), large(3)];
    let mut head = Head::START;
    let full = loop {
        match capped.append("a", head.seq, Epoch::NONE, &batch) {
            Ok(appended) => head = appended.head(),
            Err(error) => break error,
        }
    };
    assert_eq!((full, capped.head("a").unwrap()), (JournalError::Full, head));
    assert_eq!(capped.load("a", 1).unwrap().len() as u64, head.seq);
    let long = "n".repeat(200);
    let leases = (0..2000).map(|n| capped.take_lease(&format!("{long}-{n}"), &long, 0, 1));
    let refused = leases.filter_map(Result::err).next();
    assert_eq!(refused, Some(JournalError::Full));
    assert!(capped.verify(None, &Heads::new()).unwrap().is_sound());
    drop(capped);

    let roomy = folder.open();
    let next = roomy.append("a", head.seq, Epoch::NONE, &batch).unwrap().head();
    assert_eq!(next.seq, head.seq + 3);
}

/// T14: one that does not fit takes nothing from those beside it.
#[test]
fn one_that_does_not_fit_leaves_the_others_alone() {
    let folder = Folder::new();
    let store = folder.open_with(Options::new().max_bytes(256 << 10));
    let huge = Event::new("noted", 1, 0, format!("\"{}\"", "x".repeat(1 << 20))).unwrap();
    let asks: Vec<_> =
        (0..8).map(|n| (format!("c-{n}"), 0, if n == 4 { huge.clone() } else { event(n) })).collect();
    let answers = together(&folder, &store, &asks, Duration::from_millis(100));
    for (n, answer) in answers.into_iter().enumerate() {
        let stands = store.head(&format!("c-{n}")).unwrap();
        let expected = if n == 4 { Err(JournalError::Full) } else { Ok(Appended::Head(stands)) };
        assert_eq!((answer, stands.seq), (expected, u64::from(n != 4)), "{n}");
    }
    assert!(store.verify(None, &Heads::new()).unwrap().is_sound());
}

/// T21: a lock of another process is waited for as long as was said, and then told. Reading goes on.
#[test]
fn a_locked_file_is_waited_for_and_then_told() {
    let folder = Folder::new();
    let store = folder.open_with(Options::new().busy_timeout(Duration::from_millis(100)));
    let head = fill(&store, "a", 3);
    let lock = folder.raw();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(store.append("a", 3, Epoch::NONE, &[event(3)]), Err(JournalError::Busy));
    assert_eq!(store.load("a", 1).unwrap().last().unwrap().head(), head);
    lock.execute_batch("COMMIT").unwrap();
    assert_eq!(store.append("a", 3, Epoch::NONE, &[event(3)]).unwrap().head().seq, 4);
}

/// T30: when the thread that writes dies, every caller is told, now and later; what was acknowledged is
/// there.
#[test]
fn a_dead_writer_leaves_nobody_waiting() {
    for n in [1, 4, 9, 30] {
        let folder = Folder::new();
        let store = folder.open_with(Options::new().faults(Faults::nth(n, Fault::Panic)));
        let start = Barrier::new(8);
        let mut answers = Vec::new();
        thread::scope(|threads| {
            let writers: Vec<_> = (0..8_u64)
                .map(|writer| {
                    let (store, start) = (&store, &start);
                    threads.spawn(move || {
                        start.wait();
                        // Until it is told, and once more.
                        let append =
                            |seq| store.append(&format!("c-{writer}"), seq, Epoch::NONE, &[event(seq)]);
                        let mut told: Vec<_> = (0..).map_while(|seq| append(seq).ok()).map(Ok).collect();
                        let seq = told.len() as u64;
                        told.extend([append(seq), append(seq)]);
                        told
                    })
                })
                .collect();
            answers = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        });
        let broken = |answer: &Result<_, JournalError>| matches!(answer, Err(JournalError::Broken(_)));
        assert!(answers.iter().all(|of_one| of_one.iter().rev().take(2).all(broken)), "{n}: {answers:?}");
        assert!(matches!(store.heads(), Err(JournalError::Broken(_))));
        drop(store);

        let store = folder.open();
        assert!(store.verify(None, &Heads::new()).unwrap().is_sound());
        for (writer, of_one) in answers.iter().enumerate() {
            let records = store.load(&format!("c-{writer}"), 1).unwrap();
            let acknowledged = of_one.iter().flatten().map(|appended| appended.head());
            assert!(
                acknowledged
                    .eq(records.iter().map(|record| record.head()).take(of_one.iter().flatten().count()))
            );
        }
    }
}

/// T20: a file of another program, of a newer release, or that is no database is refused by name and left as
/// it is.
#[test]
fn a_file_that_is_not_ours_is_refused_and_left_as_it_is() {
    type IsExpected = fn(&OpenError) -> bool;
    let foreign: IsExpected = |error| matches!(error, OpenError::Foreign { .. });
    let newer: IsExpected = |error| matches!(error, OpenError::UnknownVersion { found: 0 | 4, known: 3, .. });
    let cases: [(&str, IsExpected); 4] = [
        ("PRAGMA application_id = 7", foreign),
        ("CREATE TABLE mine (x)", foreign),
        ("PRAGMA application_id = 0x536F6D6D; PRAGMA user_version = 4; CREATE TABLE events (x)", newer),
        ("PRAGMA application_id = 0x536F6D6D; CREATE TABLE events (x)", newer),
    ];
    for (statements, expected) in cases {
        let folder = Folder::new();
        folder.raw().execute_batch(statements).unwrap();
        let before = fs::read(folder.journal()).unwrap();
        let error = SqliteStore::open(folder.journal()).unwrap_err();
        assert!(expected(&error), "{statements}: {error}");
        assert!(error.to_string().contains("journal.db"), "{error}");
        assert_eq!(fs::read(folder.journal()).unwrap(), before, "{statements}");
        assert!(!folder.log().exists());
    }

    let folder = Folder::new();
    fs::write(folder.journal(), "Dear diary,\n".repeat(1000)).unwrap();
    let error = SqliteStore::open(folder.journal()).unwrap_err();
    assert!(foreign(&error), "{error}");
    assert!(fs::read_to_string(folder.journal()).unwrap().starts_with("Dear diary,"));
}

/// Whoever only wants to look makes nothing.
#[test]
fn a_journal_is_made_only_by_who_wants_one() {
    const BARE: &str = "CREATE TABLE x (x); DROP TABLE x; VACUUM";
    let makes: [fn(&Folder); 3] = [
        |_| {},
        |folder| fs::write(folder.journal(), "").unwrap(),
        |folder| folder.raw().execute_batch(BARE).unwrap(),
    ];
    let existing = Options::new().existing();
    for make in makes {
        let folder = Folder::new();
        make(&folder);
        let before = fs::read(folder.journal()).ok();
        let error = SqliteStore::open_with(folder.journal(), &existing).unwrap_err();
        let told = format!("there is no journal yet at {}", folder.journal().display());
        assert!(matches!(error, OpenError::Absent { .. }) && error.to_string() == told, "{error}");
        assert_eq!(fs::read(folder.journal()).ok(), before);

        fill(&folder.open(), "a", 1);
        let store = SqliteStore::open_with(folder.journal(), &existing).unwrap();
        assert_eq!(store.conversations().unwrap(), ["a"]);
    }
}

/// T17: a page that many conversations stand on, and one of another table. Who reads is told that it is the file, and reads
/// on where something is left.
#[test]
fn a_damaged_page_is_told_as_the_files_and_breaks_nothing_else() {
    let folder = Folder::new();
    let store = folder.open();
    (0..40).for_each(|name| _ = fill(&store, &format!("c-{name}"), 8));
    drop(store);
    let page = |table: &str| -> usize {
        let root = "SELECT rootpage FROM sqlite_schema WHERE name = ?";
        folder.raw().query_row(root, [table], |row| row.get::<_, i64>(0)).unwrap().try_into().unwrap()
    };
    let cases = [
        // The names alone.
        ("sqlite_autoindex_conversations_1", true),
        ("conversations", false),
        ("claims", false),
        ("events", false),
    ];
    for (table, hides_all) in cases {
        let at = (page(table) - 1) * 4096;
        let whole = fs::read(folder.journal()).unwrap();
        let mut file = whole.clone();
        file[at..at + 4096].fill(0xff);
        fs::write(folder.journal(), file).unwrap();
        let store = folder.open();
        let is_malformed = |error: &JournalError| matches!(error, JournalError::Malformed(_));
        match store.verify(None, &Heads::new()) {
            Err(error) => assert!(hides_all && is_malformed(&error), "{table}: {error}"),
            Ok(verified) => assert!(!hides_all && !verified.is_sound(), "{table}: {verified}"),
        }
        assert_eq!(store.claims().is_err_and(|error| is_malformed(&error)), table == "claims", "{table}");
        // No call has broken the store for the others.
        assert_eq!(store.conversations().is_ok(), !hides_all, "{table}");
        drop(store);
        fs::write(folder.journal(), whole).unwrap();
    }
}

/// S1-34: what would not last is not opened.
#[test]
fn a_database_in_memory_is_refused() {
    for name in ["", ":memory:"] {
        assert!(matches!(SqliteStore::open(name), Err(OpenError::InMemory { .. })), "{name:?}");
    }
}

/// The settings that a promise rests on, as SQLite itself tells them.
#[test]
fn the_file_says_what_it_is() {
    let folder = Folder::new();
    fill(&folder.open(), "a", 1);
    let raw = folder.raw();
    let text = |pragma: &str| -> String {
        raw.query_row(&format!("SELECT CAST({pragma} AS TEXT) FROM pragma_{pragma}"), (), |row| row.get(0))
            .unwrap()
    };
    assert_eq!(
        ["journal_mode", "application_id", "user_version"].map(text),
        ["wal", "1399811437", "3"],
        "in the file"
    );
    let strict: i64 = raw
        .query_row(
            "SELECT count(*) FROM pragma_table_list WHERE strict
             AND name IN ('events', 'conversations', 'late_results', 'invitations', 'refused_tokens')",
            (),
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(strict, 5);
}

/// Two handles that make the file at the same moment make one.
#[test]
fn a_file_is_made_once() {
    for _ in 0..25 {
        let folder = Folder::new();
        let start = Barrier::new(4);
        thread::scope(|threads| {
            for n in 0..4 {
                let (folder, start) = (&folder, &start);
                threads.spawn(move || {
                    start.wait();
                    fill(&folder.open(), &format!("c-{n}"), 2);
                });
            }
        });
        let verified = folder.open().verify(None, &Heads::new()).unwrap();
        assert_eq!((verified.conversations, verified.records, verified.is_sound()), (4, 8, true));
    }
}

/// The log beside the file is copied and written over, so it does not grow with what is written.
#[test]
fn the_log_does_not_grow_with_the_journal() {
    let folder = Folder::new();
    let store = folder.open();
    let body = format!("\"{}\"", "x".repeat(4000));
    let batch: Vec<Event> = (0..100).map(|n| Event::new("noted", 1, n, &*body).unwrap()).collect();
    for n in 0..50 {
        store.append("a", n * 100, Epoch::NONE, &batch).unwrap();
    }
    let size = |path| fs::metadata(path).unwrap().len();
    assert!(size(folder.journal()) > 15 << 20);
    assert!(size(folder.log()) < 8 << 20, "{} bytes", size(folder.log()));
}

/// S1-34: a copy of the file alone, without its log, has all that was acknowledged once the store is closed, also where
/// somebody else has the file open for longer.
#[test]
fn a_closed_store_leaves_nothing_in_the_log_alone() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let store = folder.open();
    let beside = store.connection().unwrap();
    let head = fill(&store, "a", 3);
    drop(store);
    fs::copy(folder.journal(), copy.journal()).unwrap();
    assert_eq!(copy.open().head("a").unwrap(), head);
    drop(beside);
}

/// T15: what is written to a file that was removed or replaced meanwhile is gone with it, and so nobody
/// is told that it is safe.
#[cfg(unix)]
#[test]
fn what_is_written_to_a_file_that_is_gone_is_not_acknowledged() {
    let remove: fn(&Folder) = |folder| fs::remove_file(folder.journal()).unwrap();
    let replace: fn(&Folder) = |folder| {
        let other = Folder::new();
        fill(&other.open(), "b", 1);
        fs::rename(other.journal(), folder.journal()).unwrap();
    };
    let without_log: fn(&Folder) = |folder| fs::remove_file(folder.log()).unwrap();
    for (what, harm) in [("removed", remove), ("replaced", replace), ("without log", without_log)] {
        for is_work in [false, true] {
            let folder = Folder::new();
            let store = folder.open();
            fill(&store, "a", 1);
            harm(&folder);
            let answer = match is_work {
                true => store.append_with("a", 1, Epoch::NONE, &mut |_| Ok(vec![event(2)])),
                false => store.append("a", 1, Epoch::NONE, &[event(2)]),
            };
            let Err(JournalError::Broken(why)) = &answer else { panic!("{what}: {answer:?}") };
            // The connection of a work sees by itself that there is no log.
            let is_seen = is_work && why == "disk I/O error";
            assert!(is_seen || why.ends_with("was removed or replaced while it was open"), "{what}: {why}");
            assert!(matches!(store.head("a"), Err(JournalError::Broken(_))), "{what}");
        }
    }
}

/// A journal may be reached through links, whether the file is there or is made through them: SQLite keeps the log beside the file, and
/// it is looked for there.
#[cfg(unix)]
#[test]
fn a_journal_is_reached_through_links() {
    use std::os::unix::fs::symlink;
    for is_made_before in [true, false] {
        let (folder, links) = (Folder::new(), Folder::new());
        if is_made_before {
            fill(&folder.open(), "before", 1);
        }
        let [first, last] = ["first", "last"].map(|name| links.journal().with_file_name(name));
        symlink(folder.journal(), &first).unwrap();
        symlink("first", &last).unwrap();
        let linked = SqliteStore::open(&last).unwrap();
        fill(&linked, "a", 1);
        let worked = linked.append_with("b", 0, Epoch::NONE, &mut |_| Ok(vec![event(1)]));
        assert_eq!(worked.map(|worked| worked.head()), linked.head("b"));
        // By the file's own name it is the same journal.
        let plain = folder.open();
        assert_eq!(plain.head("a"), linked.head("a"));
        assert_eq!(fill(&plain, "a", 1), linked.head("a").unwrap());
        assert_eq!(fill(&linked, "a", 1).seq, 3);
        // What is gone is told, through a link too.
        fs::remove_file(folder.log()).unwrap();
        let answer = linked.append("a", 3, Epoch::NONE, &[event(4)]);
        let log = fs::canonicalize(folder.journal()).unwrap().with_file_name("journal.db-wal");
        let why = format!("{} was removed or replaced while it was open", log.display());
        assert_eq!(answer, Err(JournalError::Broken(why)), "{is_made_before}");
    }
}

/// T15: a link that leads elsewhere while the journal is open leads nobody to what is written, and nothing is written there.
#[cfg(unix)]
#[test]
fn a_link_that_leads_elsewhere_meanwhile_is_told() {
    use std::os::unix::fs::symlink;
    let elsewhere: fn(&Folder) -> Option<Head> = |other| Some(fill(&other.open(), "a", 1));
    let nowhere: fn(&Folder) -> Option<Head> = |_| None;
    for leads in [elsewhere, nowhere] {
        for is_work in [false, true] {
            let (folder, other) = (Folder::new(), Folder::new());
            let link = folder.journal().with_file_name("link.db");
            symlink(folder.journal(), &link).unwrap();
            let store = SqliteStore::open(&link).unwrap();
            fill(&store, "a", 1);
            let head = leads(&other);
            fs::remove_file(&link).unwrap();
            symlink(other.journal(), &link).unwrap();
            let answer = match is_work {
                true => store.append_with("a", 1, Epoch::NONE, &mut |_| Ok(vec![event(2)])),
                false => store.append("a", 1, Epoch::NONE, &[event(2)]),
            };
            let why = format!("{} was removed or replaced while it was open", link.display());
            assert_eq!(answer, Err(JournalError::Broken(why)));
            assert_eq!(other.journal().exists().then(|| other.open().head("a").unwrap()), head);
        }
    }
}

/// T18: tables that are others than the journal made, or on which something hangs that it did not make, are told when the
/// file is opened. What is beside them is others' own.
#[test]
fn tables_that_were_altered_are_told() {
    let cases = [
        ("CREATE TRIGGER mine BEFORE INSERT ON events BEGIN SELECT raise(IGNORE); END", Some("mine")),
        ("CREATE INDEX mine ON events (at)", Some("mine")),
        ("DROP TABLE late_results", Some("late_results, which is not there,")),
        ("DROP TABLE claims; CREATE VIEW claims AS SELECT 'a' AS name, 'b' AS conversation", Some("claims")),
        ("ALTER TABLE conversations ADD COLUMN mine TEXT", Some("conversations")),
        (
            "CREATE TABLE mine (x); CREATE INDEX of_mine ON mine (x); CREATE VIEW seen AS SELECT * FROM events",
            None,
        ),
    ];
    for (statements, expected) in cases {
        let folder = Folder::new();
        fill(&folder.open(), "a", 1);
        folder.raw().execute_batch(statements).unwrap();
        match (SqliteStore::open(folder.journal()), expected) {
            (Err(OpenError::Altered { what, .. }), Some(expected)) => {
                assert_eq!(what, expected, "{statements}");
            }
            (Ok(store), None) => assert_eq!(fill(&store, "a", 1).seq, 2),
            (opened, _) => panic!("{statements}: {opened:?}"),
        }
    }
}

/// S1-34: a name is a name, also where SQLite would take it for an address with options.
#[test]
fn a_name_is_a_name_whatever_it_begins_with() {
    let folder = Folder::new();
    let name = folder.journal().parent().unwrap().join("file:journal.db?mode=memory");
    fill(&SqliteStore::open(&name).unwrap(), "a", 1);
    assert!(name.exists());
    let name = format!("file:journal-{}.db?mode=memory", std::process::id());
    fill(&SqliteStore::open(&name).unwrap(), "a", 1);
    assert!(fs::exists(&name).unwrap());
    fs::remove_file(&name).unwrap();
}
