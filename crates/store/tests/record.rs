//! The bytes behind a hash, and what no event is.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

use harness::{Folder, event};
use rusqlite::Connection;
use sommelier_store::{
    Claim, Epoch, Event, Hash, Head, Heads, InvitedTo, Journal, LEASE_TAKEN, LateResult, MAX_BODY,
    MemoryStore, Record, Unfit, computed_hash,
};

fn record() -> Record {
    let event = Event::new("noted", 2, 1_750_000_000_000, r#"{"text":"déjà vu"}"#).unwrap();
    let (epoch, prev_hash) = (Epoch::new(3), "ab".repeat(32).parse().unwrap());
    let record =
        Record { conversation: "guest-7".to_owned(), seq: 4, epoch, event, prev_hash, hash: Hash::ZERO };
    Record { hash: computed_hash(&record), ..record }
}

/// T20: the encoding is fixed. The value was computed by another program from the words of `computed_hash`.
#[test]
fn the_hash_of_a_record_is_what_its_docs_say() {
    let expected = "61a7845c27bb4dcb698bd0ddfd07966e64e7e4c466bb555c3b69480f3df87b0f";
    assert_eq!(record().hash.to_string(), expected);
}

/// S1-34: whatever differs, the hash differs, also where the same letters stand in other fields.
#[test]
fn no_two_records_share_a_hash() {
    let base = record();
    let with = |kind: &str, version, at, body: &str| Record {
        event: Event::new(kind, version, at, body).unwrap(),
        ..base.clone()
    };
    let shifted = |conversation: &str, seq, epoch, kind: &str| Record {
        conversation: conversation.to_owned(),
        seq: u64::from_be_bytes(seq),
        epoch: Epoch::new(u64::from_be_bytes(epoch)),
        ..with(kind, 2, 1, "{}")
    };
    let records = [
        base.clone(),
        Record { conversation: "guest-7n".to_owned(), ..with("oted", 2, 1, "{}") },
        Record { conversation: "guest-7".to_owned(), ..with("noted", 2, 1, "{}") },
        Record { conversation: "guest-8".to_owned(), ..base.clone() },
        // The same letters one after another, but for the lengths between them.
        shifted("g", *b"AAAAAAAA", *b"BBBBBBBB", "ccccccccd"),
        shifted("gAAAAAAAA", *b"BBBBBBBB", *b"cccccccc", "d"),
        with("noted1", 2, 1, "23"),
        with("noted", 2, 1, "123"),
        with("noted", 3, 1, "123"),
        with("noted", 2, 2, "123"),
        with("noted", 2, 1, "12 "),
        with("noted", 2, 1, "12"),
        Record { seq: 3, epoch: Epoch::new(4), ..base.clone() },
        Record { seq: 5, ..base.clone() },
        Record { epoch: Epoch::new(4), ..base.clone() },
        Record { prev_hash: Hash::ZERO, ..base.clone() },
    ];
    let hashes: BTreeSet<Hash> = records.iter().map(computed_hash).collect();
    assert_eq!(hashes.len(), records.len());
}

/// T20: a journal as the first release wrote it is read by this one, in both stores the same.
#[test]
fn a_journal_of_the_first_version_is_read() {
    let folder = Folder::new();
    folder.raw().execute_batch(include_str!("golden/v1.sql")).unwrap();
    let heads: Heads = serde_json::from_str(include_str!("golden/v1.heads.json")).unwrap();
    let store = folder.open();
    let version = |raw: &Connection| raw.query_row("PRAGMA user_version", (), |row| row.get::<_, i32>(0));
    assert_eq!(version(&folder.raw()), Ok(3), "what it lacked was added");
    assert_eq!(store.heads().unwrap(), heads);
    assert!(store.verify(None, &heads).unwrap().is_sound());
    assert_eq!(store.append("guest-7", 4, Epoch::new(2), &[event(5)]).unwrap().head().seq, 5);

    store.note_late("guest-7", Epoch::new(1), &event(6)).unwrap();
    assert_eq!(store.late("guest-7").unwrap().len(), 1);
    assert_eq!(store.newest().unwrap().len(), 2);

    let memory = MemoryStore::new();
    golden(&memory);
    assert_eq!(memory.heads().unwrap(), heads);
}

/// T20: so is one of the second version, with what had come late there. It knew of no names that one conversation has at a
/// time, and of no invitations.
#[test]
fn a_journal_of_the_second_version_is_read() {
    let folder = Folder::new();
    folder.raw().execute_batch(include_str!("golden/v1.sql")).unwrap();
    folder.raw().execute_batch(include_str!("golden/v2.sql")).unwrap();
    let heads: Heads = serde_json::from_str(include_str!("golden/v1.heads.json")).unwrap();
    let store = folder.open();
    let version = |raw: &Connection| raw.query_row("PRAGMA user_version", (), |row| row.get::<_, i32>(0));
    assert_eq!((version(&folder.raw()), store.heads().unwrap()), (Ok(3), heads));
    let late = Event::new("tool_completed", 1, 1_750_000_200_000, r#"{"text":"booked"}"#).unwrap();
    assert_eq!(store.late("guest-7").unwrap(), [LateResult { epoch: Epoch::new(1), event: late }]);
    assert_eq!(store.claims().unwrap(), Vec::new());
    let taken = event(5).claiming([Claim::Take("refund 17".to_owned())]);
    assert_eq!(store.append("guest-7", 4, Epoch::new(2), &[taken]).unwrap().head().seq, 5);
    assert_eq!(store.claimed("refund 17").unwrap().as_deref(), Some("guest-7"));
    let to = InvitedTo { conversation: "guest-7", question: "guest-7/1/1/0", digest: "d", whom: None };
    let (invitation, token) = store.invitations().issue(&to, 1, 2).unwrap();
    assert_eq!(store.invitations().check(&token.reveal(), 1), Ok(invitation));
    assert!(store.verify(None, &store.heads().unwrap()).unwrap().is_sound());
}

/// T20: several that open an old journal at the same moment bring it up once, and one that has it open already
/// is not disturbed.
#[test]
fn a_journal_of_the_first_version_is_brought_up_once() {
    for _ in 0..10 {
        let folder = Folder::new();
        let raw = folder.raw();
        raw.execute_batch(include_str!("golden/v1.sql")).unwrap();
        let start = Barrier::new(4);
        thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    start.wait();
                    let store = folder.open();
                    store.note_late("guest-7", Epoch::new(1), &event(1)).unwrap();
                });
            }
        });
        let store = folder.open();
        assert_eq!(store.late("guest-7").unwrap().len(), 4);
        assert!(store.verify(None, &Heads::new()).unwrap().is_sound());
        // An older release writes what it always wrote.
        raw.execute_batch("UPDATE conversations SET until = until + 1").unwrap();
    }
}

/// What the golden journal holds.
fn golden(journal: &dyn Journal) {
    let lease = journal.take_lease("guest-7", "host-1", 1_750_000_000_000, 30_000).unwrap();
    let at = 1_750_000_000_100;
    let heard =
        Event::new("turn_received", 1, at, r#"{ "text": "Ist Focus frei? 🍷", "sum": 1.50 }"#).unwrap();
    let asked = Event::new("model_requested", 2, at + 1, "null").unwrap();
    journal.append("guest-7", 1, lease.epoch, &[heard, asked]).unwrap();
    journal.take_lease("guest-7", "host-2", 1_750_000_100_000, 30_000).unwrap();
    journal.append("it's free", 0, Epoch::NONE, &[Event::new("opened", 1, 0, "[]").unwrap()]).unwrap();
}

/// S1-34: what is no event is refused where it is made.
#[test]
fn what_is_no_event_is_refused() {
    let made = |kind: &str, at, body: String| Event::new(kind, 1, at, body).unwrap_err();
    for kind in ["", "Noted", "a b", "é", LEASE_TAKEN, &"k".repeat(65)] {
        assert_eq!(made(kind, 0, "{}".to_owned()), Unfit::Kind(kind.to_owned()));
    }
    for body in ["", "{", "{} {}", "{'a': 1}", "\u{feff}{}", "NaN", "{\"a\": 01}"] {
        assert!(matches!(made("noted", 0, body.to_owned()), Unfit::Body(_)), "{body}");
    }
    assert_eq!(made("noted", u64::MAX, "{}".to_owned()), Unfit::Number(u64::MAX));
    let long = " ".repeat(MAX_BODY - 1) + "{}";
    assert_eq!(made("noted", 0, long), Unfit::LongBody(MAX_BODY + 1));
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    assert!(Event::new("noted", 1, 0, deep).is_ok(), "depth is for the readers of the body to judge");
}

/// S1-34: numbers that no store can hold are refused at the door and wrap nowhere.
#[test]
fn numbers_do_not_wrap() {
    for journal in [&MemoryStore::new() as &dyn Journal, &Folder::new().open()] {
        let beyond = |number| Err(sommelier_store::JournalError::Unfit(Unfit::Number(number)));
        assert_eq!(journal.append("a", u64::MAX, Epoch::NONE, &[event(1)]), beyond(u64::MAX));
        assert_eq!(journal.take_lease("a", "host-1", 5, u64::MAX).map(drop), beyond(u64::MAX).map(drop));
        let lease = journal.take_lease("a", "host-1", 5, i64::MAX as u64 - 5).unwrap();
        assert_eq!(lease.until, i64::MAX as u64);
        journal.append("a", 1, lease.epoch, &[event(1_000_000)]).unwrap();
        assert_eq!(journal.lease("a").unwrap().unwrap().until, i64::MAX as u64);
    }
}

/// S1-34: heads go out as JSON and come back.
#[test]
fn heads_survive_json() {
    let store = MemoryStore::new();
    golden(&store);
    let heads = store.heads().unwrap();
    let text = serde_json::to_string(&heads).unwrap();
    assert_eq!(serde_json::from_str::<Heads>(&text).unwrap(), heads);
    for wrong in [r#"{"seq":1,"hash":"AB"}"#, r#"{"seq":1,"hash":"ab","more":1}"#, r#"{"seq":-1}"#] {
        assert!(serde_json::from_str::<Head>(wrong).is_err(), "{wrong}");
    }
}
