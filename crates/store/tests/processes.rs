//! Processes that are killed, that run out of file, and that want the same conversation.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]
#![cfg(unix)]

mod harness;

use std::any::Any;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use harness::{Folder, event};
use rusqlite::Connection;
use sommelier_store::{Epoch, Event, Heads, Journal, JournalError, Options, SqliteStore};

const TASK: &str = "SOMMELIER_STORE_TEST_TASK";
const FILE: &str = "SOMMELIER_STORE_TEST_FILE";

/// What the other process does. In this one it is a test that has nothing to do.
#[test]
fn the_other_process() {
    let Ok(task) = std::env::var(TASK) else { return };
    let file = std::env::var(FILE).unwrap();
    match &*task {
        "append" => append(&SqliteStore::open(file).unwrap()),
        "take a lease" => {
            let answer = SqliteStore::open(file).unwrap().take_lease("a", "other", 1050, 100);
            tell(&format!("{answer:?}"));
        }
        "do works" => do_works(&SqliteStore::open(file).unwrap()),
        "stay in a work" => {
            let store = SqliteStore::open(file).unwrap();
            let _ = store.append_with("a", 1, Epoch::NONE, &mut |transaction| {
                note(transaction, 1);
                tell("in the work");
                loop {
                    std::thread::park();
                }
            });
        }
        other => panic!("{other}"),
    }
}

/// Works that write a note and tell of it, one after another, until something is wrong.
fn do_works(store: &SqliteStore) {
    let from = store.head("a").unwrap().seq;
    let error = (from..).find_map(|seq| {
        let work = store.append_with("a", seq, Epoch::NONE, &mut |transaction| {
            note(transaction, seq);
            Ok(vec![event(seq)])
        });
        let head = work.map(|appended| tell(&format!("acknowledged {}", appended.head().seq)));
        head.err()
    });
    let error = error.unwrap();
    assert_eq!(store.head("a").map(|head| head.seq), Err(error.clone()), "it stays broken");
    let again =
        store.append_with("a", from, Epoch::NONE, &mut |_| panic!("nothing is begun in a broken store"));
    assert_eq!(again, Err(error.clone()));
    tell(&format!("ended {error:?}"));
}

fn note(transaction: &dyn Any, n: u64) {
    let connection = transaction.downcast_ref::<Connection>().unwrap();
    connection.execute("INSERT INTO notes VALUES (?1)", [n as i64]).unwrap();
}

fn notes(folder: &Folder) -> Vec<u64> {
    let raw = folder.raw();
    let mut statement = raw.prepare("SELECT n FROM notes ORDER BY n").unwrap();
    statement.query_map((), |row| row.get::<_, i64>(0)).unwrap().map(|n| n.unwrap() as u64).collect()
}

/// Appends batches of three, and tells of each when it is acknowledged, until something is wrong.
fn append(store: &SqliteStore) {
    let mut seq = store.head("a").unwrap().seq;
    let error = loop {
        match store.append("a", seq, Epoch::NONE, &batch(seq)) {
            Ok(appended) => seq = appended.head().seq,
            Err(error) => break error,
        }
        tell(&format!("acknowledged {seq}"));
    };
    assert!(matches!(error, JournalError::Broken(_) | JournalError::Full), "{error}");
    if error != JournalError::Full {
        assert_eq!(store.head("a").map(|head| head.seq), Err(error.clone()), "it stays broken");
        assert_eq!(store.append("a", seq, Epoch::NONE, &batch(seq)), Err(error.clone()));
    }
    tell(&format!("ended {error:?}"));
}

fn batch(seq: u64) -> [Event; 3] {
    [event(seq), event(seq + 1), event(seq + 2)]
}

/// One line, in one write.
fn tell(line: &str) {
    std::io::stdout().write_all(format!("\n{line}\n").as_bytes()).unwrap();
}

/// Starts this program once more, behind the words of a shell, to do a task.
fn start(folder: &Folder, shell: &str, task: &str) -> Child {
    Command::new("sh")
        .args(["-c", &format!(r#"{shell} exec "$0" --exact the_other_process --nocapture --test-threads=1"#)])
        .arg(std::env::current_exe().unwrap())
        .env(TASK, task)
        .env(FILE, folder.journal())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap)
}

fn acknowledged(line: &str) -> Option<u64> {
    line.strip_prefix("acknowledged ")?.parse().ok()
}

/// What was acknowledged is there, whole batches are, and nothing else. The conversation can be gone on with.
fn check(folder: &Folder, acknowledged: u64) -> u64 {
    let store = folder.open();
    assert!(store.verify(None, &Heads::new()).unwrap().is_sound());
    let events: Vec<Event> = store.load("a", 1).unwrap().into_iter().map(|record| record.event).collect();
    let seq = events.len() as u64;
    assert_eq!(events, (0..seq).map(event).collect::<Vec<_>>());
    // The newest batch may be there without its answer: then it is known when it comes again.
    assert!(seq == acknowledged || seq == acknowledged + 3, "{acknowledged} acknowledged, {seq} there");
    let again = store.append("a", acknowledged, Epoch::NONE, &batch(acknowledged)).unwrap();
    assert_eq!(again.head().seq, acknowledged + 3);
    acknowledged + 3
}

/// T1, T2 (the store's half): killed at any moment, nothing acknowledged is lost and nothing is half there.
#[test]
fn a_kill_loses_nothing_that_was_acknowledged() {
    let folder = Folder::new();
    let mut seq = 0;
    for round in 0..12 {
        let mut child = start(&folder, "", "append");
        let mut told = lines(&mut child).filter_map(|line| acknowledged(&line));
        let read = told.by_ref().nth(round % 5).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        // What it had told until the kill is still in the pipe.
        let last = told.last().unwrap_or(read);
        assert!(last > seq, "{seq}, then {last}");
        seq = check(&folder, last);
    }
}

/// T8 (the store's half): killed at any moment, what works wrote and what the journal tells of them are the same,
/// and everything that was acknowledged is there.
#[test]
fn a_kill_leaves_a_work_and_its_events_together() {
    let folder = Folder::new();
    folder.open().connection().unwrap().execute_batch("CREATE TABLE notes (n INTEGER) STRICT").unwrap();
    let mut seq = 0;
    for round in 0..10 {
        let mut child = start(&folder, "", "do works");
        let mut told = lines(&mut child).filter_map(|line| acknowledged(&line));
        let read = told.by_ref().nth(round % 4).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let last = told.last().unwrap_or(read);
        let store = folder.open();
        assert!(store.verify(None, &Heads::new()).unwrap().is_sound());
        let records = store.load("a", 1).unwrap();
        let told: Vec<u64> = records.iter().map(|record| record.event.at()).collect();
        assert_eq!((notes(&folder), told.len() as u64), (told.clone(), records.len() as u64));
        assert!((last..=last + 1).contains(&(told.len() as u64)), "{last} acknowledged, {told:?}");
        assert!(last > seq);
        seq = told.len() as u64;
    }
}

/// T8 (the store's half), T15: after real errors of the system too, what works wrote and what the journal tells of them are
/// the same, everything that was acknowledged is there, and the store says that it is broken.
#[test]
fn an_error_of_the_system_leaves_a_work_and_its_events_together() {
    let mut places = 0;
    for blocks in (80..240).step_by(17) {
        let folder = Folder::new();
        folder.open().connection().unwrap().execute_batch("CREATE TABLE notes (n INTEGER) STRICT").unwrap();
        let mut child = start(&folder, &format!("trap '' XFSZ; ulimit -f {blocks};"), "do works");
        let told: Vec<String> = lines(&mut child).collect();
        assert!(child.wait().unwrap().success(), "{blocks}: {told:?}");
        let end = told.iter().find(|line| line.starts_with("ended ")).unwrap();
        assert!(end.starts_with("ended Broken(\"disk I/O error"), "{blocks}: {end}");
        let last = told.iter().filter_map(|line| acknowledged(line)).max().unwrap_or(0);
        let store = folder.open();
        assert!(store.verify(None, &Heads::new()).unwrap().is_sound());
        let there: Vec<u64> = store.load("a", 1).unwrap().iter().map(|record| record.event.at()).collect();
        assert_eq!(notes(&folder), there, "{blocks}");
        assert!(
            (last..=last + 1).contains(&(there.len() as u64)),
            "{blocks}: {last} acknowledged, {there:?}"
        );
        places += usize::from(last > 0);
    }
    assert!(places > 6, "{places} of them in the middle");
}

/// T8 (the store's half): killed between what a work wrote and the commit, neither is there, and nobody is held
/// up by the dead.
#[test]
fn a_kill_within_a_work_leaves_nothing() {
    let folder = Folder::new();
    let store = folder.open();
    store.connection().unwrap().execute_batch("CREATE TABLE notes (n INTEGER) STRICT").unwrap();
    store.append("a", 0, Epoch::NONE, &[event(0)]).unwrap();
    let mut child = start(&folder, "", "stay in a work");
    assert!(lines(&mut child).any(|line| line == "in the work"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((notes(&folder), store.head("a").unwrap().seq), (vec![], 1));
    let answer = store.append_with("a", 1, Epoch::NONE, &mut |transaction| {
        note(transaction, 2);
        Ok(vec![event(2)])
    });
    assert_eq!((answer.unwrap().head().seq, notes(&folder)), (2, vec![2]));
    assert!(store.verify(None, &Heads::new()).unwrap().is_sound());
}

/// T15: real errors of the system at many places, also within a write: the old state or the new, and the
/// store says that it is broken. The shell limits how large a file may be; writing past it is an error.
#[test]
fn an_error_of_the_system_leaves_the_old_state_or_the_new() {
    let mut places = 0;
    // In blocks of 512 or 1024 bytes. Below that not even the empty tables have room in the log.
    for blocks in (80..214).step_by(11) {
        let folder = Folder::new();
        let mut child = start(&folder, &format!("trap '' XFSZ; ulimit -f {blocks};"), "append");
        let told: Vec<String> = lines(&mut child).collect();
        assert!(child.wait().unwrap().success(), "{blocks}: {told:?}");
        let end = told.iter().find(|line| line.starts_with("ended ")).unwrap();
        assert!(end.starts_with("ended Broken(\"disk I/O error"), "{blocks}: {end}");
        let last = told.iter().filter_map(|line| acknowledged(line)).max().unwrap_or(0);
        places += usize::from(last > 0);
        check(&folder, last);
    }
    assert!(places > 6, "{places} of them in the middle");
}

/// T22: two processes, one lease.
#[test]
fn another_process_is_refused_a_lease_that_is_held() {
    let folder = Folder::new();
    let store = folder.open_with(Options::new());
    let take = || {
        let mut child = start(&folder, "", "take a lease");
        let told: Vec<String> = lines(&mut child).collect();
        assert!(child.wait().unwrap().success(), "{told:?}");
        told.into_iter().find(|line| line.starts_with("Ok(") || line.starts_with("Err(")).unwrap()
    };
    let lease = store.take_lease("a", "this", 1000, 100).unwrap();
    assert_eq!(take(), r#"Err(Held { owner: "this", until: 1100 })"#);
    store.renew_lease("a", lease.epoch, 1040, 5).unwrap();
    assert!(take().starts_with(r#"Ok(Lease { owner: "other", epoch: Epoch(2),"#));
    let fenced = store.append("a", lease.head.seq, lease.epoch, &[event(1)]);
    assert_eq!(fenced, Err(JournalError::Fenced(Epoch::new(2))));
}
