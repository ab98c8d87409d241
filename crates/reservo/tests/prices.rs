//! The price list: every entry, every total, every comparison.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use reservo::price::{Comparison, PriceRow, Quote};
use reservo::{Cents, Fault, Hours, Plan, PriceList, ReservoError, Room};

/// Cents per hour: basic, pro, team.
const TABLE: [(Room, u32, [i64; 3]); 3] = [
    (Room::Focus, 2, [2500, 2000, 1750]),
    (Room::Studio, 6, [4000, 3200, 2800]),
    (Room::Forum, 14, [6500, 5200, 4550]),
];

fn hours(hours: i64) -> Hours {
    Hours::new(hours).unwrap()
}

#[test]
fn a_total_is_the_rate_times_the_hours() {
    let prices = PriceList::standard();
    for (room, seats, rates) in TABLE {
        assert_eq!(room.seats(), seats);
        for (plan, rate) in Plan::ALL.into_iter().zip(rates) {
            for length in 1..=8 {
                let expected = Quote {
                    room,
                    plan,
                    hours: hours(length),
                    rate_cents_per_hour: Cents(rate),
                    total_cents: Cents(rate * length),
                };
                assert_eq!(prices.quote(room, plan, hours(length)), expected);
            }
        }
    }
}

#[test]
fn pro_and_team_are_20_and_30_percent_off() {
    for (_, _, [basic, pro, team]) in TABLE {
        assert_eq!(
            (Cents(basic).checked_percent(80), Cents(basic).checked_percent(70)),
            (Some(Cents(pro)), Some(Cents(team)))
        );
    }
}

#[test]
fn a_changed_entry_changes_its_quotes_and_no_other() {
    let mut prices = PriceList::standard();
    prices.set_rate(Room::Studio, Plan::Pro, Cents(1)).unwrap();
    assert_eq!(prices.quote(Room::Studio, Plan::Pro, hours(8)).total_cents, Cents(8));
    assert_eq!(prices.quote(Room::Studio, Plan::Team, hours(8)).total_cents, Cents(22_400));
    for rate in [-1, PriceList::MAX_RATE.0 + 1, i64::MIN, i64::MAX] {
        let error = prices.set_rate(Room::Studio, Plan::Pro, Cents(rate)).unwrap_err();
        assert_eq!(
            (error.fault(), error),
            (Fault::Program, ReservoError::RateOutOfRange { value: Cents(rate) })
        );
    }
}

#[test]
fn hours_are_1_to_8() {
    for value in [i64::MIN, -1, 0, 9, 99, 256 + 3, i64::MAX] {
        assert_eq!(Hours::new(value), Err(ReservoError::HoursOutOfRange { value }));
    }
}

#[track_caller]
fn check(wanted: Comparison, expected: &[(Room, Plan, i64)]) {
    let rows: Vec<_> = PriceList::standard().compare(&wanted);
    let short: Vec<_> = rows.iter().map(|row| (row.room, row.plan, row.total_cents.0)).collect();
    assert_eq!(short, expected);
}

#[test]
fn a_comparison_is_sorted_by_total() {
    use Plan::{Basic, Pro, Team};
    use Room::{Focus, Forum, Studio};
    let all = Comparison::of(hours(3));
    check(
        all.clone(),
        &[
            (Focus, Team, 5250),
            (Focus, Pro, 6000),
            (Focus, Basic, 7500),
            (Studio, Team, 8400),
            (Studio, Pro, 9600),
            (Studio, Basic, 12_000),
            (Forum, Team, 13_650),
            (Forum, Pro, 15_600),
            (Forum, Basic, 19_500),
        ],
    );
    check(
        Comparison { plans: vec![Pro], ..all.clone() },
        &[(Focus, Pro, 6000), (Studio, Pro, 9600), (Forum, Pro, 15_600)],
    );
    check(
        Comparison { rooms: vec![Forum, Focus], plans: vec![Team], ..all.clone() },
        &[(Focus, Team, 5250), (Forum, Team, 13_650)],
    );
    check(
        Comparison { plans: vec![Team], min_seats: Some(6), exclude: vec![Forum], ..all.clone() },
        &[(Studio, Team, 8400)],
    );
    check(Comparison { min_seats: Some(15), ..all }, &[]);
}

#[test]
fn equal_totals_are_sorted_by_name_of_room_then_of_plan() {
    let mut prices = PriceList::standard();
    for room in Room::ALL {
        for plan in Plan::ALL {
            prices.set_rate(room, plan, Cents(100)).unwrap();
        }
    }
    let rows = prices.compare(&Comparison::of(hours(1)));
    let names: Vec<_> = rows.iter().map(|row| format!("{} {}", row.room, row.plan)).collect();
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!((names.len(), names), (9, sorted));
}

#[test]
fn a_row_names_its_seats() {
    let rows = PriceList::standard().compare(&Comparison {
        rooms: vec![Room::Studio],
        plans: vec![Plan::Pro],
        ..Comparison::of(hours(2))
    });
    let expected = PriceRow {
        room: Room::Studio,
        seats: 6,
        plan: Plan::Pro,
        hours: hours(2),
        rate_cents_per_hour: Cents(3200),
        total_cents: Cents(6400),
    };
    assert_eq!(rows, [expected]);
}

#[test]
fn names_are_read_without_regard_to_case_and_never_guessed() {
    for (text, room) in [("Focus", Room::Focus), (" STUDIO ", Room::Studio), ("forum", Room::Forum)] {
        assert_eq!(text.parse(), Ok(room));
    }
    for (text, nearest) in [
        ("Fokus", Some(Room::Focus)),
        ("stduio", Some(Room::Studio)),
        ("Forumm", Some(Room::Forum)),
        ("Atrium", None),
        ("", None),
    ] {
        assert_eq!(text.parse::<Room>(), Err(ReservoError::UnknownRoom { value: text.into(), nearest }));
    }
    for (text, nearest) in [("prro", Some(Plan::Pro)), ("baisc", Some(Plan::Basic)), ("gold", None)] {
        assert_eq!(text.parse::<Plan>(), Err(ReservoError::UnknownPlan { value: text.into(), nearest }));
    }
}
