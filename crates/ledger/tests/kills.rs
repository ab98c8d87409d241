//! Processes that are killed while they book.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]
#![cfg(unix)]

mod harness;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use harness::{Folder, event, nth};
use reservo::{BookingId, Bookings};
use reservo_ledger::SqliteBookings;
use sommelier_store::{Appended, Epoch, Heads, Journal, JournalError, SqliteStore};

const TASK: &str = "RESERVO_LEDGER_TEST_TASK";
const FILE: &str = "RESERVO_LEDGER_TEST_FILE";

/// What the other process does. In this one it is a test that has nothing to do.
#[test]
fn the_other_process() {
    let Ok(task) = std::env::var(TASK) else { return };
    let (store, ledger) = harness::open(std::env::var(FILE).unwrap());
    let from = store.head("a").unwrap().seq;
    match &*task {
        "stay before the commit" => drop(book(&store, &ledger, from, true)),
        "stay after the commit" => {
            book(&store, &ledger, from, false).unwrap();
            stay("it is committed");
        }
        "book" => {
            for seq in from.. {
                tell(&format!("acknowledged {}", book(&store, &ledger, seq, false).unwrap().head().seq));
            }
        }
        other => panic!("{other}"),
    }
}

/// Books a room and tells of it, as one.
fn book(
    store: &SqliteStore,
    ledger: &SqliteBookings,
    seq: u64,
    stays: bool,
) -> Result<Appended, JournalError> {
    store.append_with("a", seq, Epoch::NONE, &mut |transaction| {
        let within = ledger.within(transaction).unwrap();
        within.insert(nth(seq), &(&*format!("key-{seq}")).into()).unwrap();
        if stays {
            stay("it is written");
        }
        Ok(vec![event(seq)])
    })
}

/// Tells something, and waits to be killed.
fn stay(line: &str) {
    tell(line);
    loop {
        std::thread::park();
    }
}

/// One line, in one write.
fn tell(line: &str) {
    std::io::stdout().write_all(format!("\n{line}\n").as_bytes()).unwrap();
}

fn start(folder: &Folder, task: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_other_process", "--nocapture", "--test-threads=1"])
        .env(TASK, task)
        .env(FILE, folder.journal())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap)
}

/// Lets another process do a task until it says a line, and kills it there.
fn killed_at(folder: &Folder, task: &str, line: &str) {
    let mut child = start(folder, task);
    assert!(lines(&mut child).any(|told| told == line), "{task}");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// As many bookings as events that tell of them, the same ones, each under its key. Tells how many.
fn check(folder: &Folder) -> u64 {
    let (store, ledger) = folder.open();
    assert!(store.verify(None, &Heads::new()).unwrap().is_sound());
    let told: Vec<u64> = store.load("a", 1).unwrap().iter().map(|record| record.event.at()).collect();
    let expected: Vec<_> = told.iter().zip(1..).map(|(n, id)| nth(*n).under(BookingId::new(id))).collect();
    assert_eq!(ledger.all().unwrap(), expected);
    assert_eq!(ledger.keys().unwrap().len(), told.len());
    told.len() as u64
}

/// T8: killed between the booking and the commit, neither the booking nor its event is there; and the room is free.
#[test]
fn a_kill_before_the_commit_leaves_neither() {
    let folder = Folder::new();
    folder.open();
    killed_at(&folder, "stay before the commit", "it is written");
    assert_eq!(check(&folder), 0);
    let (store, ledger) = folder.open();
    book(&store, &ledger, 0, false).unwrap();
    killed_at(&folder, "stay before the commit", "it is written");
    assert_eq!(check(&folder), 1);
}

/// T8: killed after the commit, both are there.
#[test]
fn a_kill_after_the_commit_leaves_both() {
    let folder = Folder::new();
    killed_at(&folder, "stay after the commit", "it is committed");
    assert_eq!(check(&folder), 1);
    let (store, ledger) = folder.open();
    assert!(
        matches!(book(&store, &ledger, 0, false), Err(JournalError::Conflict(_))),
        "who asks again is behind"
    );
    assert_eq!(check(&folder), 1);
}

/// T8: killed at any moment, there are as many bookings as events, and none that was acknowledged is lost.
#[test]
fn a_kill_at_any_moment_leaves_as_many_bookings_as_events() {
    let folder = Folder::new();
    let mut count = 0;
    for round in 0..10 {
        let mut child = start(&folder, "book");
        let mut told =
            lines(&mut child).filter_map(|line| line.strip_prefix("acknowledged ")?.parse::<u64>().ok());
        let read = told.by_ref().nth(round % 4).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let last = told.last().unwrap_or(read);
        let there = check(&folder);
        assert!(
            last > count && (last..=last + 1).contains(&there),
            "{count}, {last} acknowledged, {there} there"
        );
        count = there;
    }
}
