//! Errors as JSON: the code, the offending value, what would be right, and a message.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use reservo::booking::{BookingRequest, Customer};
use reservo::{BookingId, Cents, Hours, Plan, ReservoError, Room, demo};

#[track_caller]
fn check(error: &ReservoError, expected: &str) {
    let json = serde_json::to_string(error).unwrap();
    let (fields, message) = json.split_once(r#","message":"#).unwrap();
    assert_eq!(format!("{fields}}}"), expected);
    assert_eq!(message, format!("{}}}", serde_json::to_string(&error.to_string()).unwrap()));
    let text = error.to_string();
    assert!(!text.ends_with('.') && !text.contains('\n'), "{text}");
}

#[test]
fn every_error_says_what_was_wrong_and_what_is_right() {
    let house = demo();
    let book = |room, date: &str, start_hour, hours| {
        let request = BookingRequest {
            room,
            plan: Plan::Pro,
            date: date.parse().unwrap(),
            start_hour,
            hours: Hours::new(hours).unwrap(),
            customer: Customer::new("Ada").unwrap(),
        };
        house.book(request, &"k".into()).unwrap_err()
    };
    let cancel = |number| house.cancel(BookingId::new(number), &"k".into()).unwrap_err();
    check(
        &"Fokus".parse::<Room>().unwrap_err(),
        r#"{"error":"unknown_room","value":"Fokus","allowed":["Focus","Studio","Forum"],"nearest":"Focus"}"#,
    );
    check(
        &"gold".parse::<Plan>().unwrap_err(),
        r#"{"error":"unknown_plan","value":"gold","allowed":["basic","pro","team"]}"#,
    );
    check(&Hours::new(99).unwrap_err(), r#"{"error":"hours_out_of_range","value":99,"min":1,"max":8}"#);
    check(
        &book(Room::Forum, "2026-12-01", 9, 3),
        concat!(
            r#"{"error":"slot_taken","value":"2026-12-01T09:00","room":"Forum","hours":3,"#,
            r#""taken_from":"2026-12-01T09:00","taken_to":"2026-12-01T12:00"}"#
        ),
    );
    check(
        &book(Room::Focus, "2026-12-01", 19, 3),
        r#"{"error":"outside_opening_hours","value":19,"hours":3,"opens":8,"closes":20}"#,
    );
    check(
        &book(Room::Focus, "2026-11-29", 9, 3),
        r#"{"error":"start_in_past","value":"2026-11-29T09:00","now":"2026-11-30T10:00"}"#,
    );
    check(&cancel(99), r#"{"error":"unknown_booking","value":"RSV-0099","form":"RSV-0001"}"#);
    let by_ledger = house.bookings.cancel(BookingId::new(5), Cents(0), &"k".into()).unwrap_err();
    check(&by_ledger, r#"{"error":"already_cancelled","value":"RSV-0005","refund_cents":6000}"#);
    check(
        &cancel(4),
        r#"{"error":"already_started","value":"RSV-0004","start":"2026-11-30T09:00","now":"2026-11-30T10:00"}"#,
    );
    check(
        &"2026-02-30".parse::<reservo::civil::Date>().unwrap_err(),
        r#"{"error":"invalid_date","value":"2026-02-30","form":"YYYY-MM-DD"}"#,
    );
    check(
        &ReservoError::LedgerUnreachable { value: "database is locked".to_owned() },
        r#"{"error":"ledger_unreachable","value":"database is locked"}"#,
    );
    check(
        &ReservoError::RateOutOfRange { value: Cents(-1) },
        r#"{"error":"rate_out_of_range","value":-1,"min":0,"max":10000000}"#,
    );
}

#[test]
fn a_long_value_is_not_carried_whole() {
    let error = "x".repeat(100_000).parse::<Room>().unwrap_err();
    assert!(error.to_string().len() < 300);
}
