//! Booking and cancelling.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::sync::Arc;

use reservo::booking::{
    BookingReceipt, BookingRequest, BookingState, BookingStatus, CancelReceipt, Customer, IdempotencyKey,
    TimeSlot,
};
use reservo::civil::DateTime;
use reservo::{Booking, BookingId, Cents, DEMO_NOW, Fault, Hours, Plan, Reservo, ReservoError, Room, demo};

fn key(name: &str) -> IdempotencyKey {
    name.into()
}

fn moment(text: &str) -> DateTime {
    text.parse().unwrap()
}

/// Focus pro for Ada.
fn request(date: &str, start_hour: i64, hours: i64) -> BookingRequest {
    BookingRequest {
        room: Room::Focus,
        plan: Plan::Pro,
        date: date.parse().unwrap(),
        start_hour,
        hours: Hours::new(hours).unwrap(),
        customer: Customer::new("Ada").unwrap(),
    }
}

#[test]
fn a_booking_gets_the_next_id_and_the_quoted_price() {
    let house = Reservo::new(DEMO_NOW);
    for (at, id) in [(9, "RSV-0001"), (12, "RSV-0002"), (15, "RSV-0003")] {
        let receipt = house.book(request("2026-12-01", at, 3), &key(id)).unwrap().receipt();
        let expected = BookingReceipt {
            booking_id: id.parse().unwrap(),
            status: BookingStatus::Booked,
            total_cents: Cents(6000),
        };
        assert_eq!(receipt, expected);
    }
}

#[test]
fn a_booking_fits_into_the_opening_hours() {
    for (at, hours) in [(8, 8), (12, 8), (19, 1), (8, 1)] {
        assert!(
            Reservo::new(DEMO_NOW).book(request("2026-12-01", at, hours), &key("k")).is_ok(),
            "{at} {hours}"
        );
    }
    for (at, hours) in
        [(7, 1), (0, 8), (13, 8), (19, 2), (20, 1), (24, 1), (-1, 1), (i64::MAX, 1), (i64::MIN, 8)]
    {
        let house = Reservo::new(DEMO_NOW);
        let error = house.book(request("2026-12-01", at, hours), &key("k")).unwrap_err();
        let expected = ReservoError::OutsideOpeningHours {
            value: at,
            hours: Hours::new(hours).unwrap(),
            opening: house.library.hours,
        };
        assert_eq!(error, expected);
    }
}

#[test]
fn a_booking_does_not_start_before_now() {
    let house = Reservo::new(moment("2026-11-30T10:00"));
    for (date, at) in [("2026-11-30", 9), ("2026-11-29", 19), ("2025-12-01", 9)] {
        let request = request(date, at, 1);
        let start = request.date.at(u8::try_from(at).unwrap()).unwrap();
        let error = house.book(request, &key("k")).unwrap_err();
        assert_eq!(error, ReservoError::StartInPast { value: start, now: house.now });
    }
    assert!(house.book(request("2026-11-30", 10, 1), &key("k")).is_ok());
    let house = Reservo::new(moment("2026-11-30T10:01"));
    assert_eq!(house.book(request("2026-11-30", 10, 1), &key("k")).unwrap_err().code(), "start_in_past");
}

#[test]
fn a_room_is_taken_once() {
    let house = Reservo::new(DEMO_NOW);
    house.book(request("2026-12-01", 10, 3), &key("first")).unwrap();
    for (at, hours, free) in
        [(8, 2, true), (13, 1, true), (8, 3, false), (11, 1, false), (12, 4, false), (9, 8, false)]
    {
        let found = house.bookings.find_overlap(
            Room::Focus,
            TimeSlot::new("2026-12-01".parse().unwrap(), at, Hours::new(hours).unwrap(), house.library.hours)
                .unwrap(),
        );
        assert_eq!(found.unwrap().is_none(), free, "{at} {hours}");
    }
    let error = house.book(request("2026-12-01", 12, 2), &key("second")).unwrap_err();
    let expected = ReservoError::SlotTaken {
        room: Room::Focus,
        date: "2026-12-01".parse().unwrap(),
        start_hour: 12,
        hours: Hours::new(2).unwrap(),
        taken_from: 10,
        taken_to: 13,
    };
    assert_eq!((error.fault(), error), (Fault::House, expected));
    // Another day, another room, and the same time once the first is cancelled.
    assert!(house.book(request("2026-12-02", 10, 3), &key("day")).is_ok());
    assert!(
        house
            .book(BookingRequest { room: Room::Forum, ..request("2026-12-01", 10, 3) }, &key("room"))
            .is_ok()
    );
    house.cancel(BookingId::new(1), &key("cancel")).unwrap();
    assert!(house.book(request("2026-12-01", 12, 2), &key("second")).is_ok());
}

#[test]
fn the_same_key_books_once() {
    let mut house = Reservo::new(DEMO_NOW);
    let first = house.book(request("2026-12-01", 9, 3), &key("k")).unwrap();
    // Neither a later clock nor a new price makes it another booking.
    house.now = moment("2026-12-05T12:00");
    house.prices.set_rate(Room::Focus, Plan::Pro, Cents(9999)).unwrap();
    assert_eq!(house.book(request("2026-12-01", 9, 3), &key("k")), Ok(first));
    let other = BookingRequest { customer: Customer::new("Grace").unwrap(), ..request("2026-12-01", 9, 3) };
    for changed in
        [other, request("2026-12-01", 10, 3), request("2026-12-01", 9, 2), request("2026-12-06", 9, 3)]
    {
        let error = house.book(changed, &key("k")).unwrap_err();
        assert_eq!(error, ReservoError::KeyReused { value: "k".into(), booking_id: BookingId::new(1) });
    }
    assert_eq!(house.bookings.find(BookingId::new(2)).unwrap(), None);
}

#[test]
fn a_refund_follows_the_notice() {
    // The booking starts 2026-12-10T12:00 and costs 6000 cents.
    for (now, refund) in [
        ("2026-12-01T12:00", 6000),
        ("2026-12-09T11:59", 6000),
        ("2026-12-09T12:00", 6000),
        ("2026-12-09T12:01", 3000),
        ("2026-12-10T09:59", 3000),
        ("2026-12-10T10:00", 3000),
        ("2026-12-10T10:01", 0),
        ("2026-12-10T11:59", 0),
    ] {
        let mut house = Reservo::new(DEMO_NOW);
        let id = house.book(request("2026-12-10", 12, 3), &key("book")).unwrap().id;
        house.now = moment(now);
        let expected =
            CancelReceipt { booking_id: id, status: BookingStatus::Cancelled, refund_cents: Cents(refund) };
        assert_eq!(house.cancel(id, &key("cancel")), Ok(expected), "{now}");
    }
}

#[test]
fn a_changed_policy_changes_the_refund() {
    let mut house = demo();
    house.library.cancel.tiers[1].refund_percent = 25;
    assert_eq!(house.cancel(BookingId::new(1), &key("k")).unwrap().refund_cents, Cents(3412));
}

#[test]
fn a_booking_that_started_or_is_unknown_is_not_cancelled() {
    let house = demo();
    let started = ReservoError::AlreadyStarted {
        value: BookingId::new(4),
        start: moment("2026-11-30T09:00"),
        now: DEMO_NOW,
    };
    let unknown = ReservoError::UnknownBooking { value: "RSV-0099".into() };
    for (number, error) in [(4, started), (99, unknown)] {
        assert_eq!(house.cancel(BookingId::new(number), &key("k")), Err(error));
    }
    // What starts at this very minute has started.
    let mut house = demo();
    house.now = moment("2026-11-30T11:00");
    assert_eq!(house.cancel(BookingId::new(3), &key("k")).unwrap_err().code(), "already_started");
}

/// T34: cancelling again, under another key, finds what was wanted: a success that says what was given back then, however the
/// clock and the policy have moved on. It is one cancellation.
#[test]
fn cancelling_again_is_a_success_that_gives_back_nothing_more() {
    let mut house = demo();
    let first = house.cancel(BookingId::new(2), &key("k")).unwrap();
    let once = house.bookings.find(BookingId::new(2)).unwrap();
    house.now = moment("2027-01-01T00:00");
    let again = CancelReceipt { status: BookingStatus::AlreadyCancelled, ..first.clone() };
    assert_eq!(house.cancel(BookingId::new(2), &key("other")), Ok(again.clone()));
    assert_eq!(house.cancel(BookingId::new(2), &key("other")), Ok(again));
    assert_eq!(house.cancel(BookingId::new(2), &key("k")), Ok(first));
    assert_eq!(
        (house.bookings.find(BookingId::new(2)).unwrap(), house.bookings.find_by_key(&key("other")).unwrap()),
        (once, None)
    );
}

#[test]
fn the_same_key_cancels_once() {
    let mut house = demo();
    let first = house.cancel(BookingId::new(2), &key("k")).unwrap();
    house.now = moment("2027-01-01T00:00");
    assert_eq!(house.cancel(BookingId::new(2), &key("k")), Ok(first));
    assert_eq!(
        house.bookings.find(BookingId::new(2)).unwrap().unwrap().receipt().status,
        BookingStatus::Cancelled
    );
    let mut house = demo();
    house.cancel(BookingId::new(2), &key("k")).unwrap();
    assert_eq!(house.cancel(BookingId::new(1), &key("k")).unwrap_err().code(), "key_reused");
    house.now = moment("2026-12-01T08:00");
    assert_eq!(house.book(request("2026-12-01", 9, 1), &key("k")).unwrap_err().code(), "key_reused");
}

#[test]
fn ids_have_one_way_to_be_written() {
    for (text, id) in [("RSV-0001", 1), ("rsv-0042", 42), (" RSV-9999 ", 9999), ("RSV-10000", 10_000)] {
        assert_eq!(text.parse(), Ok(BookingId::new(id)));
    }
    for text in [
        "RSV-1",
        "RSV-00001",
        "RSV-+001",
        "RSV0001",
        "0001",
        "RSV-",
        "",
        "RSV-99999999999",
        "RSÜ-0001",
        "💥-0001",
    ] {
        assert_eq!(text.parse::<BookingId>(), Err(ReservoError::UnknownBooking { value: text.into() }));
    }
}

#[test]
fn a_customer_has_a_name() {
    assert_eq!(Customer::new("  Ada Lovelace ").unwrap().name(), "Ada Lovelace");
    for name in ["", "   ", "a\nb", &"x".repeat(101)] {
        assert_eq!(Customer::new(name).unwrap_err().code(), "invalid_customer");
    }
}

#[test]
fn two_threads_cannot_take_one_room() {
    let house = Arc::new(Reservo::new(DEMO_NOW));
    let won: usize = std::thread::scope(|scope| {
        let attempts: Vec<_> = (0..8)
            .map(|number| {
                let house = Arc::clone(&house);
                scope
                    .spawn(move || house.book(request("2026-12-01", 9, 3), &key(&number.to_string())).is_ok())
            })
            .collect();
        attempts.into_iter().map(|attempt| usize::from(attempt.join().unwrap())).sum()
    });
    assert_eq!(won, 1);
}

#[test]
fn the_demo_has_a_booking_for_every_fate() {
    let house = demo();
    let bookings: Vec<Booking> = house.bookings.all().unwrap();
    let fates: Vec<_> = bookings
        .iter()
        .map(|booking| {
            (house.now.minutes_until(booking.slot.start()), house.refund(booking), booking.state.clone())
        })
        .collect();
    assert_eq!(
        fates,
        [
            (23 * 60, Cents(6825), BookingState::Booked),
            (52 * 60, Cents(6400), BookingState::Booked),
            (60, Cents(0), BookingState::Booked),
            (-60, Cents(0), BookingState::Booked),
            (71 * 60, Cents(6000), BookingState::Cancelled { refund_cents: Cents(6000) }),
        ],
    );
    for booking in &bookings {
        let slot = booking.slot;
        assert_eq!(
            TimeSlot::new(slot.date(), i64::from(slot.start_hour()), slot.hours(), house.library.hours),
            Ok(slot)
        );
        assert!(
            serde_json::from_str::<Booking>(&serde_json::to_string(booking).unwrap()).unwrap() == *booking
        );
    }
    // "Forum tomorrow at 9" is taken, and new bookings follow the old.
    let forum = BookingRequest { room: Room::Forum, plan: Plan::Team, ..request("2026-12-01", 9, 3) };
    assert_eq!(house.book(forum, &key("k")).unwrap_err().code(), "slot_taken");
    assert_eq!(house.book(request("2026-12-01", 9, 3), &key("k")).unwrap().id, BookingId::new(6));
}
