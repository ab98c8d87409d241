//! A booking and the event that tells of it are one commit.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use harness::{Folder, event, new, nth, slot};
use reservo::booking::KeyUse;
use reservo::{Booking, BookingId, Bookings, Cents, Fault, MemoryBookings, ReservoError, Room, demo};
use reservo_ledger::{LedgerError, SqliteBookings, UsedKey};
use sommelier_store::{Epoch, Heads, Journal, JournalError, Options, SqliteStore, Undone};

/// T8 (the ledger's half): within a transaction that is committed it is written with the event; where the work undoes
/// itself, or whoever does it is fenced or behind, neither is.
#[test]
fn a_booking_stands_or_falls_with_its_event() {
    let folder = Folder::new();
    let (store, ledger) = folder.open();
    let old = store.take_lease("guest-7", "host-1", 0, 10).unwrap();
    let lease = store.take_lease("guest-7", "host-2", 10, 10).unwrap();
    let book = |seq, epoch, undo: bool| {
        store.append_with("guest-7", seq, epoch, &mut |transaction| {
            let within = ledger.within(transaction).unwrap();
            within.insert(nth(seq), &"k".into()).unwrap();
            assert_eq!(within.all().unwrap().len(), 1, "it sees what it wrote");
            assert_eq!(ledger.all().unwrap(), [], "and nobody else does");
            if undo { Err(Undone) } else { Ok(vec![event(seq)]) }
        })
    };
    assert_eq!(book(2, lease.epoch, true), Err(JournalError::Undone));
    assert_eq!(book(2, old.epoch, false), Err(JournalError::Fenced(lease.epoch)));
    assert_eq!(book(1, lease.epoch, false), Err(JournalError::Conflict(lease.head)));
    assert_eq!(
        (ledger.all().unwrap(), ledger.keys().unwrap(), store.head("guest-7").unwrap()),
        (vec![], vec![], lease.head)
    );
    assert_eq!(book(2, lease.epoch, false).unwrap().head().seq, 3);
    let used = UsedKey { key: "k".into(), used_for: KeyUse::Book, booking: BookingId::new(1) };
    assert_eq!(
        (folder.open().1.all().unwrap(), ledger.keys().unwrap()),
        (vec![nth(2).under(BookingId::new(1))], vec![used])
    );
}

/// T8 (the ledger's half): a step that fails takes back what it wrote, though the transaction is committed with other
/// things.
#[test]
fn a_step_within_a_transaction_is_whole_by_itself() {
    let folder = Folder::new();
    let (store, ledger) = folder.open();
    folder.raw().execute_batch("CREATE TRIGGER no BEFORE INSERT ON reservo_keys WHEN new.key = 'bad' BEGIN SELECT raise(ABORT, 'no'); END").unwrap();
    let head = store.append_with("a", 0, Epoch::NONE, &mut |transaction| {
        let within = ledger.within(transaction).unwrap();
        within.insert(nth(1), &"good".into()).unwrap();
        let failed = within.insert(nth(2), &"bad".into());
        assert_eq!(failed, Err(ReservoError::LedgerUnreachable { value: "no".to_owned() }));
        Ok(vec![event(1)])
    });
    assert_eq!((head.unwrap().head().seq, ledger.all().unwrap()), (1, vec![nth(1).under(BookingId::new(1))]));
    assert!(ledger.insert(nth(2), &"bad".into()).is_err());
    assert_eq!(ledger.all().unwrap().len(), 1);
}

/// T14 (the ledger's half): where there is no room, the tool is told so, and nothing is there of the booking, of what
/// the work wrote before it, or after it.
#[test]
fn a_booking_without_room_is_told() {
    let folder = Folder::new();
    folder.open();
    let store = SqliteStore::open_with(folder.journal(), &Options::new().max_bytes(64 << 10)).unwrap();
    let ledger = SqliteBookings::beside(&store).unwrap();
    let mut refused = 0;
    for seq in 0..200 {
        let answer = store.append_with("a", seq, Epoch::NONE, &mut |transaction| {
            let within = ledger.within(transaction).unwrap();
            let key = format!("{seq}-{}", "k".repeat(3000));
            let booked = within.insert(nth(seq), &(&*key).into());
            if let Err(ReservoError::LedgerUnreachable { .. }) = booked {
                refused += 1;
                let undone = within.insert(nth(seq), &"after".into());
                assert_eq!(undone.unwrap_err().code(), "ledger_unreachable");
            }
            Ok(vec![event(seq)])
        });
        if refused > 0 {
            assert_eq!(answer, Err(JournalError::Undone));
            break;
        }
        if answer == Err(JournalError::Full) {
            refused += 1;
            break;
        }
        answer.unwrap();
    }
    assert_eq!(refused, 1);
    let bookings = ledger.all().unwrap();
    assert_eq!(
        (bookings.len(), ledger.keys().unwrap().len()),
        (store.load("a", 1).unwrap().len(), bookings.len())
    );
    assert!(store.verify(None, &Heads::new()).unwrap().is_sound());
}

/// T21 (the ledger's half): a lock of another process is waited for as long as the store waits, and then it is an error
/// of the house, and no panic. So is a ledger that somebody has damaged.
#[test]
fn a_ledger_out_of_reach_is_told() {
    let folder = Folder::new();
    folder.open();
    let store =
        SqliteStore::open_with(folder.journal(), &Options::new().busy_timeout(Duration::from_millis(100)))
            .unwrap();
    let ledger = SqliteBookings::beside(&store).unwrap();
    let raw = folder.raw();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    let start = Instant::now();
    let error = ledger.insert(nth(1), &"k".into()).unwrap_err();
    // It is waited for, and not for ever.
    assert!((90..900_000).contains(&start.elapsed().as_millis()));
    assert_eq!((error.code(), error.fault()), ("ledger_unreachable", Fault::House));
    assert_eq!(
        error.to_string(),
        "the house cannot reach its ledger of bookings (database is locked); the same request may succeed later"
    );
    assert_eq!(ledger.all(), Ok(vec![]), "reading waits for nobody");
    raw.execute_batch("COMMIT").unwrap();
    ledger.insert(nth(1), &"k".into()).unwrap();

    for damage in [
        "room = 'Cellar'",
        "hours = 99",
        "start_hour = -1",
        "date = 'soon'",
        "customer = ''",
        "customer = CAST(x'ff' AS TEXT)",
        "id = -1",
    ] {
        let (_, ledger) = folder.open();
        raw.execute_batch(&format!("PRAGMA foreign_keys = OFF; BEGIN; UPDATE reservo_bookings SET {damage}"))
            .unwrap();
        raw.execute_batch("COMMIT").unwrap();
        assert_eq!(ledger.all().unwrap_err().code(), "ledger_unreachable", "{damage}");
        raw.execute_batch("DELETE FROM reservo_keys; DELETE FROM reservo_bookings").unwrap();
        ledger.insert(nth(1), &"k".into()).unwrap();
    }
    raw.execute_batch("UPDATE reservo_keys SET used_for = 'sleep'").unwrap();
    assert_eq!(ledger.keys().unwrap_err().code(), "ledger_unreachable");
    assert_eq!(ledger.insert(nth(1), &"k".into()).unwrap_err().code(), "ledger_unreachable");
    raw.execute_batch("DROP TABLE reservo_keys").unwrap();
    assert_eq!(ledger.find_by_key(&"k".into()).unwrap_err().code(), "ledger_unreachable");
}

/// T20 (the ledger's half): a ledger of another release is refused by name, and is opened once by many at the same moment.
#[test]
fn a_ledger_of_another_release_is_refused() {
    let folder = Folder::new();
    let start = Barrier::new(4);
    thread::scope(|threads| {
        for n in 0..4 {
            let (folder, start) = (&folder, &start);
            threads.spawn(move || {
                start.wait();
                folder.open().1.insert(nth(n), &(&*n.to_string()).into()).unwrap();
            });
        }
    });
    let (store, ledger) = folder.open();
    assert_eq!(ledger.all().unwrap().len(), 4);
    folder.raw().execute_batch("UPDATE reservo_ledger SET version = 2").unwrap();
    let refused = SqliteBookings::beside(&store).unwrap_err();
    assert!(matches!(refused, LedgerError::UnknownVersion { found: 2, known: 1 }), "{refused}");
}

/// A transaction of another file, or of no database, is none to write this ledger's bookings into.
#[test]
fn a_transaction_of_another_file_is_not_written_into() {
    let (folder, elsewhere) = (Folder::new(), Folder::new());
    let ((store, _), (_, ledger)) = (folder.open(), elsewhere.open());
    let answer = store.append_with("a", 0, Epoch::NONE, &mut |transaction| {
        assert!(ledger.within(transaction).is_none());
        Err(Undone)
    });
    assert_eq!(answer, Err(JournalError::Undone));
    assert!(ledger.within(&()).is_none());
    assert!(MemoryBookings::default().within(&()).is_none());
}

/// A ledger begins with the bookings of a house, as they are, and does so once.
#[test]
fn a_ledger_begins_with_bookings_once() {
    let folder = Folder::new();
    let (_store, ledger) = folder.open();
    let bookings: Vec<Booking> = demo().bookings.all().unwrap();
    assert!(ledger.begin_with(bookings.clone()).unwrap());
    assert!(!ledger.begin_with(bookings[..2].to_vec()).unwrap());
    assert_eq!(ledger.all(), Ok(bookings));
    let next = ledger.insert(new(Room::Focus, slot("2027-05-01", 9, 1), "Ada"), &"k".into()).unwrap();
    assert_eq!(next.id, BookingId::new(6));
    ledger.cancel(next.id, Cents(1), &"c".into()).unwrap();
    assert!(!folder.open().1.begin_with([]).unwrap());
}

/// Of many that want the same room at the same moment, by themselves and within transactions, one gets it.
#[test]
fn a_race_for_a_room_has_one_winner() {
    let folder = Folder::new();
    let handles = [folder.open(), folder.open()];
    let start = Barrier::new(8);
    let booked: Vec<bool> = thread::scope(|threads| {
        let racers: Vec<_> = (0..8_usize)
            .map(|n| {
                let ((store, ledger), start) = (&handles[n % 2], &start);
                threads.spawn(move || {
                    let key = (&*n.to_string()).into();
                    start.wait();
                    if n < 4 {
                        return ledger.insert(nth(0), &key).is_ok();
                    }
                    let mut booked = false;
                    store
                        .append_with(&n.to_string(), 0, Epoch::NONE, &mut |transaction| {
                            booked = ledger.within(transaction).unwrap().insert(nth(0), &key).is_ok();
                            Ok(vec![event(n as u64)])
                        })
                        .unwrap();
                    booked
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    });
    assert_eq!(booked.iter().filter(|booked| **booked).count(), 1, "{booked:?}");
    assert_eq!(handles[0].1.all().unwrap().len(), 1);
}
