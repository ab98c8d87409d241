//! Civil dates and times.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use proptest::prelude::*;
use reservo::civil::{Date, DateTime, Time, Weekday};

fn date(text: &str) -> Date {
    text.parse().unwrap()
}

#[test]
fn there_is_such_a_day_or_there_is_not() {
    for text in ["0001-01-01", "2024-02-29", "2000-02-29", "2026-04-30", "2026-12-31", "9999-12-31"] {
        assert_eq!(date(text).to_string(), text);
    }
    for text in [
        "2026-02-29",
        "1900-02-29",
        "2026-04-31",
        "2026-13-01",
        "2026-00-10",
        "2026-01-00",
        "2026-01-32",
        "0000-01-01",
        "26-01-01",
        "2026-1-1",
        "2026-01-01-01",
        "2026/01/01",
        "+026-01-01",
        "",
        "tomorrow",
    ] {
        let error = text.parse::<Date>().unwrap_err();
        assert_eq!(
            (error.code(), error.to_string().contains(&format!("{text:?}"))),
            ("invalid_date", true),
            "{text}"
        );
    }
}

#[test]
fn days_are_counted_over_month_ends_and_leap_years() {
    for (from, days, to) in [
        ("2026-11-30", 1, "2026-12-01"),
        ("2026-12-31", 1, "2027-01-01"),
        ("2024-02-28", 1, "2024-02-29"),
        ("2024-02-28", 2, "2024-03-01"),
        ("2026-02-28", 1, "2026-03-01"),
        ("2100-02-28", 1, "2100-03-01"),
        ("2000-02-28", 366, "2001-02-28"),
        ("2026-03-01", -1, "2026-02-28"),
        ("1970-01-01", 20_787, "2026-11-30"),
        ("0001-01-01", 3_652_058, "9999-12-31"),
    ] {
        assert_eq!(date(from).add_days(days), Ok(date(to)), "{from} + {days}");
        assert_eq!(date(from).days_until(date(to)), days);
    }
    for (from, days) in [(Date::MAX, 1), (Date::MIN, -1), (Date::MIN, i64::MAX), (Date::MAX, i64::MIN)] {
        assert_eq!(from.add_days(days).unwrap_err().code(), "invalid_date");
    }
}

#[test]
fn weekdays_are_those_of_the_calendar() {
    for (text, weekday) in [
        ("1970-01-01", Weekday::Thursday),
        ("2000-01-01", Weekday::Saturday),
        ("2024-02-29", Weekday::Thursday),
        ("2026-11-29", Weekday::Sunday),
        ("2026-11-30", Weekday::Monday),
        ("0001-01-01", Weekday::Monday),
    ] {
        assert_eq!(date(text).weekday(), weekday, "{text}");
    }
    let monday = date("2026-11-30");
    let next: Vec<_> = Weekday::ALL.into_iter().map(|day| day.after(monday).unwrap().to_string()).collect();
    assert_eq!(
        next,
        ["2026-12-07", "2026-12-01", "2026-12-02", "2026-12-03", "2026-12-04", "2026-12-05", "2026-12-06"]
    );
}

#[test]
fn times_and_moments_are_read_as_they_are_written() {
    for text in ["2026-11-30T09:00", "2026-11-30T00:00", "2026-11-30T23:59"] {
        assert_eq!(text.parse::<DateTime>().unwrap().to_string(), text);
    }
    for text in
        ["2026-11-30", "2026-11-30T24:00", "2026-11-30T09:60", "2026-11-30 09:00", "2026-11-30T9:00", "T", ""]
    {
        assert!(text.parse::<DateTime>().is_err(), "{text}");
    }
    for text in ["9:00", "09.00", "24:00", "-1:00", ""] {
        assert_eq!(text.parse::<Time>().unwrap_err().code(), "invalid_time", "{text}");
    }
}

#[test]
fn minutes_and_hours_between_moments() {
    for (from, to, minutes, hours) in [
        ("2026-11-30T10:00", "2026-12-01T09:00", 23 * 60, 23),
        ("2026-11-30T10:00", "2026-12-01T10:00", 24 * 60, 24),
        ("2026-11-30T10:00", "2026-11-30T11:59", 119, 1),
        ("2026-11-30T10:00", "2026-11-30T09:00", -60, -1),
        ("2024-02-28T12:00", "2024-03-01T12:00", 48 * 60, 48),
    ] {
        let (from, to): (DateTime, DateTime) = (from.parse().unwrap(), to.parse().unwrap());
        assert_eq!((from.minutes_until(to), from.hours_until(to)), (minutes, hours), "{from} {to}");
    }
}

proptest! {
    #[test]
    fn adding_days_is_undone_by_counting_them(from in 0i64..3_652_059, to in 0i64..3_652_059) {
        let (one, other) = (Date::MIN.add_days(from).unwrap(), Date::MIN.add_days(to).unwrap());
        prop_assert_eq!(one.days_until(other), to - from);
        prop_assert_eq!(one < other, from < to);
        prop_assert_eq!(one.to_string().parse(), Ok(one));
        prop_assert_eq!(serde_json::from_str::<Date>(&serde_json::to_string(&one).unwrap()).unwrap(), one);
    }
}
