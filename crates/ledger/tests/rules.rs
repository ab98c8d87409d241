//! The rules of a ledger, which the one in memory and the one in the file keep alike: by itself, and within a
//! transaction.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{Folder, new, slot};
use proptest::prelude::*;
use reservo::booking::{BookingState, BookingStatus, CancelReceipt, IdempotencyKey, KeyUse, NewBooking};
use reservo::{Booking, BookingId, Bookings, Cents, MemoryBookings, ReservoError, Room};
use reservo_ledger::SqliteBookings;
use sommelier_store::{Epoch, Journal, JournalError, SqliteStore, Undone};

/// Holds every ledger to a rule.
fn check(rule: fn(&dyn Bookings)) {
    rule(&MemoryBookings::default());
    let folder = Folder::new();
    rule(&folder.open().1);

    let folder = Folder::new();
    let (store, ledger) = folder.open();
    let undone = store.append_with("a", 0, Epoch::NONE, &mut |transaction| {
        rule(&*ledger.within(transaction).unwrap());
        Err(Undone)
    });
    assert_eq!(undone, Err(JournalError::Undone));
    assert_eq!((ledger.all().unwrap(), ledger.keys().unwrap()), (vec![], vec![]));
}

fn key(name: &str) -> IdempotencyKey {
    name.into()
}

fn focus(start_hour: i64, hours: i64) -> NewBooking {
    new(Room::Focus, slot("2026-12-01", start_hour, hours), "Ada")
}

fn reused(name: &str, id: u32) -> ReservoError {
    ReservoError::KeyReused { value: name.to_owned(), booking_id: BookingId::new(id) }
}

/// T8 (the ledger's half): ids are counted from 1, and what was written is read as it was.
#[test]
fn a_booking_is_kept_as_it_was() {
    check(|ledger| {
        assert_eq!(ledger.all(), Ok(vec![]));
        assert_eq!(ledger.find(BookingId::new(1)), Ok(None));
        let odd = NewBooking {
            total_cents: Cents(i64::MIN),
            ..new(Room::Forum, slot("9999-12-31", 23, 1), "Zoë 🍷 '; --")
        };
        let first = ledger.insert(odd.clone(), &key("")).unwrap();
        let second = ledger.insert(focus(0, 8), &key("Ω\0ω")).unwrap();
        assert_eq!(first, odd.under(BookingId::new(1)));
        assert_eq!(second, focus(0, 8).under(BookingId::new(2)));
        assert_eq!(ledger.find(BookingId::new(1)), Ok(Some(first.clone())));
        assert_eq!(ledger.find_by_key(&key("Ω\0ω")), Ok(Some((KeyUse::Book, second.clone()))));
        assert_eq!(ledger.find_by_key(&key("Ω")), Ok(None));
        assert_eq!(ledger.all(), Ok(vec![first, second]));
    });
}

/// A room is taken once; another room, another day, and the hour in which another ends are free.
#[test]
fn a_room_is_taken_once() {
    check(|ledger| {
        ledger.insert(focus(10, 3), &key("first")).unwrap();
        for (start_hour, hours, is_free) in [
            (8, 2, true),
            (13, 1, true),
            (8, 3, false),
            (11, 1, false),
            (12, 4, false),
            (9, 8, false),
            (10, 3, false),
        ] {
            let found = ledger.find_overlap(Room::Focus, slot("2026-12-01", start_hour, hours)).unwrap();
            assert_eq!(found.is_none(), is_free, "{start_hour} {hours}");
        }
        assert_eq!(ledger.find_overlap(Room::Forum, slot("2026-12-01", 10, 3)), Ok(None));
        assert_eq!(ledger.find_overlap(Room::Focus, slot("2026-12-02", 10, 3)), Ok(None));
        let taken = ReservoError::SlotTaken {
            room: Room::Focus,
            date: "2026-12-01".parse().unwrap(),
            start_hour: 12,
            hours: reservo::Hours::new(2).unwrap(),
            taken_from: 10,
            taken_to: 13,
        };
        assert_eq!(ledger.insert(focus(12, 2), &key("second")), Err(taken));
        assert_eq!(ledger.find_by_key(&key("second")), Ok(None), "a key that did nothing is free");
        // Of two in the way the earlier is told.
        ledger.insert(focus(13, 1), &key("third")).unwrap();
        let found = ledger.find_overlap(Room::Focus, slot("2026-12-01", 9, 8)).unwrap();
        assert_eq!(found.map(|found| found.id), Some(BookingId::new(1)));
        ledger.cancel(BookingId::new(1), Cents(0), &key("cancel")).unwrap();
        ledger.insert(focus(12, 1), &key("second")).unwrap();
    });
}

/// A key makes one booking, and is no key for another or for cancelling.
#[test]
fn a_key_books_once() {
    check(|ledger| {
        let booked = ledger.insert(focus(9, 3), &key("k")).unwrap();
        // A new price does not make it another booking.
        let dearer = NewBooking { total_cents: Cents(9999), ..focus(9, 3) };
        assert_eq!(ledger.insert(dearer, &key("k")), Ok(booked));
        for other in [
            focus(10, 3),
            focus(9, 2),
            new(Room::Forum, slot("2026-12-01", 9, 3), "Ada"),
            new(Room::Focus, slot("2026-12-01", 9, 3), "Grace"),
        ] {
            assert_eq!(ledger.insert(other, &key("k")), Err(reused("k", 1)));
        }
        assert_eq!(ledger.cancel(BookingId::new(1), Cents(1), &key("k")), Err(reused("k", 1)));
        assert_eq!(ledger.cancel(BookingId::new(7), Cents(1), &key("k")), Err(reused("k", 1)));
        assert_eq!(ledger.all().unwrap().len(), 1);
        // Cancelled since, it is still what the key made, as it stands now.
        ledger.cancel(BookingId::new(1), Cents(1), &key("c")).unwrap();
        let again = ledger.insert(focus(9, 3), &key("k")).unwrap();
        assert_eq!(again.state, BookingState::Cancelled { refund_cents: Cents(1) });
    });
}

/// A booking is cancelled once, with the refund of the first time.
#[test]
fn a_booking_is_cancelled_once() {
    check(|ledger| {
        ledger.insert(focus(9, 1), &key("one")).unwrap();
        ledger.insert(focus(10, 1), &key("two")).unwrap();
        let (first, second) = (BookingId::new(1), BookingId::new(2));
        let receipt =
            CancelReceipt { booking_id: first, status: BookingStatus::Cancelled, refund_cents: Cents(3000) };
        assert_eq!(ledger.cancel(first, Cents(3000), &key("c")), Ok(receipt.clone()));
        assert_eq!(ledger.cancel(first, Cents(1), &key("c")), Ok(receipt));
        let already = ReservoError::AlreadyCancelled { value: first, refund_cents: Cents(3000) };
        assert_eq!(ledger.cancel(first, Cents(1), &key("d")), Err(already));
        assert_eq!(ledger.cancel(second, Cents(1), &key("c")), Err(reused("c", 1)));
        assert_eq!(ledger.insert(focus(12, 1), &key("c")), Err(reused("c", 1)));
        let unknown = ReservoError::UnknownBooking { value: "RSV-0009".to_owned() };
        assert_eq!(ledger.cancel(BookingId::new(9), Cents(1), &key("e")), Err(unknown));
        assert_eq!((ledger.find_by_key(&key("d")), ledger.find_by_key(&key("e"))), (Ok(None), Ok(None)));
        let (used_for, booking) = ledger.find_by_key(&key("c")).unwrap().unwrap();
        assert_eq!(
            (used_for, booking.state),
            (KeyUse::Cancel, BookingState::Cancelled { refund_cents: Cents(3000) })
        );
        assert_eq!(ledger.find(second).unwrap().unwrap().state, BookingState::Booked);
        // A refund of nothing is a cancellation too.
        ledger.cancel(second, Cents::ZERO, &key("f")).unwrap();
        assert_eq!(ledger.find_overlap(Room::Focus, slot("2026-12-01", 10, 1)), Ok(None));
    });
}

/// What a ledger may be asked.
#[derive(Clone, Debug)]
enum Ask {
    Book(usize, i64, i64, usize),
    Cancel(u32, i64, usize),
    Look(usize, i64, i64),
}

fn ask() -> impl Strategy<Value = Ask> {
    prop_oneof![
        4 => (0..2_usize, 8..13_i64, 1..4_i64, 0..12_usize).prop_map(|(room, at, hours, key)| Ask::Book(room, at, hours, key)),
        3 => (1..7_u32, 0..3_i64, 0..12_usize).prop_map(|(id, refund, key)| Ask::Cancel(id, refund, key)),
        1 => (0..2_usize, 8..13_i64, 1..4_i64).prop_map(|(room, at, hours)| Ask::Look(room, at, hours)),
    ]
}

impl Ask {
    fn of(&self, ledger: &dyn Bookings) -> String {
        let key = |n: &usize| IdempotencyKey(format!("key-{n}"));
        match self {
            Self::Book(room, at, hours, n) => {
                let new = new(Room::ALL[*room], slot("2026-12-01", *at, *hours), "Ada");
                format!("{:?} {:?}", ledger.insert(new, &key(n)), ledger.find_by_key(&key(n)))
            }
            Self::Cancel(id, refund, n) => {
                let receipt = ledger.cancel(BookingId::new(*id), Cents(*refund), &key(n));
                format!(
                    "{receipt:?} {:?} {:?}",
                    ledger.find(BookingId::new(*id)),
                    ledger.find_by_key(&key(n))
                )
            }
            Self::Look(room, at, hours) => {
                format!("{:?}", ledger.find_overlap(Room::ALL[*room], slot("2026-12-01", *at, *hours)))
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever they are asked, the ledger in the file answers as the one in memory: by itself, within transactions, and
    /// opened again in between.
    #[test]
    fn both_ledgers_answer_alike(asks in proptest::collection::vec((ask(), 0..4_u8), 1..40)) {
        let (memory, folder) = (MemoryBookings::default(), Folder::new());
        let (mut store, mut ledger) = folder.open();
        for (n, (ask, how)) in asks.iter().enumerate() {
            let expected = ask.of(&memory);
            let answer = match how {
                0 => {
                    drop((store, ledger));
                    (store, ledger) = folder.open();
                    ask.of(&ledger)
                }
                1 => ask.of(&ledger),
                _ => {
                    let mut answer = String::new();
                    let head = store.head("a").unwrap();
                    store.append_with("a", head.seq, Epoch::NONE, &mut |transaction| {
                        answer = ask.of(&*ledger.within(transaction).unwrap());
                        Ok(vec![harness::event(n as u64)])
                    }).unwrap();
                    answer
                }
            };
            prop_assert_eq!(answer, expected, "{}: {:?}", n, ask);
        }
        let all: Vec<Booking> = memory.all().unwrap();
        prop_assert_eq!(ledger.all().unwrap(), all);
    }
}

#[test]
fn a_ledger_is_found_where_there_is_one_and_not_made_by_looking() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.journal()).unwrap();
    assert!(SqliteBookings::find_beside(&store).unwrap().is_none());
    assert!(SqliteBookings::find_beside(&store).unwrap().is_none(), "the first look has made one");
    let seeds = reservo::demo().bookings.all().unwrap();
    SqliteBookings::beside(&store).unwrap().begin_with(seeds.clone()).unwrap();
    assert_eq!(SqliteBookings::find_beside(&store).unwrap().unwrap().all().unwrap(), seeds);
    folder.raw().execute("UPDATE reservo_ledger SET version = 7", ()).unwrap();
    let newer = SqliteBookings::find_beside(&store).unwrap_err();
    assert_eq!(newer.to_string(), "the ledger is of version 7; this release knows version 1");
}
