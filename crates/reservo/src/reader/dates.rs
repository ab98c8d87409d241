//! Finds the days that a sentence names.

use super::lexicon::{Number, month, number, weekday};
use super::request::Found;
use super::slots::{Finder, Slot};
use crate::civil::{Date, DateTime, Weekday};
use crate::words::is_one_of;

impl Finder<'_> {
    pub(super) fn date_at(&self, at: usize) -> Option<(Slot, usize)> {
        let today = self.now.date();
        let word = self.word(at);
        let (next, after) = (self.word(at + 1), self.word(at + 2));
        let given = |date: Option<Date>, to: usize| {
            let found = date.map_or_else(|| self.unclear(at, to), Found::Given);
            Some((Slot::Date(found), to))
        };
        let days_away = |days: i64, to: usize| given(today.add_days(days).ok(), to);
        match (word, next, after) {
            ("today" | "tonight" | "heute", ..) => return days_away(0, at + 1),
            ("tomorrow" | "tmrw" | "tmr", ..) => return days_away(1, at + 1),
            ("tommorow" | "tomorow" | "tommorrow" | "tomorrows", ..) => {
                let nearest = today.add_days(1).ok();
                return Some((Slot::Date(Found::Unclear { raw: self.raw(at, at + 1), nearest }), at + 1));
            }
            ("morgen", ..) if !matches!(self.word_before(at), "guten" | "am" | "schoenen") => {
                return days_away(1, at + 1);
            }
            ("uebermorgen", ..) => return days_away(2, at + 1),
            ("day", "after", "tomorrow") => return days_away(2, at + 3),
            ("yesterday" | "gestern", ..) => return days_away(-1, at + 1),
            (
                "next" | "this" | "naechste" | "naechsten" | "diese" | "dieses",
                "week" | "weekend" | "month" | "woche" | "wochenende" | "monat",
                _,
            ) => return Some((Slot::Date(self.unclear(at, at + 2)), at + 2)),
            ("in", count, unit) => {
                let days = match unit {
                    "day" | "days" | "tag" | "tagen" => 1,
                    "week" | "weeks" | "woche" | "wochen" => 7,
                    _ => 0,
                };
                let count = match count {
                    "a" | "einem" | "einer" => Some(Number::Whole(1)),
                    count => number(count),
                };
                if let (1.., Some(Number::Whole(count))) = (days, count) {
                    return given(count.checked_mul(days).and_then(|days| today.add_days(days).ok()), at + 3);
                }
            }
            _ => {}
        }
        if is_iso_shaped(word) {
            return given(word.parse().ok(), at + 1);
        }
        if let Some(found) = self.weekday_at(at) {
            return Some(found);
        }
        if let Some(found) = self.month_and_day_at(at) {
            return Some(found);
        }
        self.numeric_date_at(at)
    }

    fn weekday_at(&self, at: usize) -> Option<(Slot, usize)> {
        let today = self.now.date();
        let lead = self.word(at);
        let led = is_one_of(lead, "next this coming last on naechsten naechster diesen kommenden letzten");
        let (name, to) = if led { (self.word(at + 1), at + 2) } else { (lead, at + 1) };
        let day = Weekday::ALL[weekday(name, led)?];
        let upcoming = day.after(today).ok()?;
        let is_today = today.weekday() == day;
        let week_later = |date: Date| date.add_days(7).ok();
        let found = match lead {
            "last" | "letzten" => {
                today.add_days(-(7 - today.days_until(upcoming) % 7)).map_or(Found::Missing, Found::Given)
            }
            "this" | "diesen" if is_today => Found::Given(today),
            "next" | "naechsten" | "naechster" | "coming" | "kommenden" if is_today => Found::Given(upcoming),
            // Some mean the first such day to come by it, some the one of next week.
            "next" | "naechsten" | "naechster" => {
                Found::Ambiguous([Some(upcoming), week_later(upcoming)].into_iter().flatten().collect())
            }
            _ if is_today => Found::Ambiguous(vec![today, upcoming]),
            _ => Found::Given(upcoming),
        };
        Some((Slot::Date(found), to))
    }

    /// "December 1st", "1 December 2026", "the 1st of December".
    fn month_and_day_at(&self, at: usize) -> Option<(Slot, usize)> {
        let day = |word: &str| -> Option<u8> {
            let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            (word.len() == digits.len() || is_one_of(&word[digits.len()..], "st nd rd th"))
                .then(|| digits.parse().ok())?
        };
        let (month, day, mut to) =
            if let (Some(month), Some(day)) = (month(self.word(at)), day(self.word(at + 1))) {
                (month, day, at + 2)
            } else {
                let day = day(self.word(at))?;
                let place = at + 1 + usize::from(self.word(at + 1) == "of");
                (month(self.word(place))?, day, place + 1)
            };
        let year = Some(self.word(to)).filter(|word| word.len() == 4).and_then(|word| word.parse().ok());
        to += usize::from(year.is_some());
        Some((Slot::Date(self.dated(at, to, year, month, day)), to))
    }

    /// "01.12.2026", "1/12/2026", and after "on" or "am" without the year.
    fn numeric_date_at(&self, at: usize) -> Option<(Slot, usize)> {
        let word = self.word(at);
        let mark = word.chars().find(|c| matches!(c, '.' | '/'))?;
        let parts: Vec<&str> = word.split(mark).take(4).collect();
        let small = |part: &str| if part.len() <= 2 { part.parse::<u8>().ok() } else { None };
        let (first, second, year) = match parts[..] {
            [first, second, year] if year.len() == 4 => {
                (small(first)?, small(second)?, Some(year.parse().ok()?))
            }
            [first, second] if is_one_of(self.word_before(at), "on am den vom the") => {
                (small(first)?, small(second)?, None)
            }
            _ => return None,
        };
        let day_first = self.dated(at, at + 1, year, second, first);
        if mark == '.' || first == second {
            return Some((Slot::Date(day_first), at + 1));
        }
        // With a slash the month may come first.
        let month_first = self.dated(at, at + 1, year, first, second);
        let found = match (day_first, month_first) {
            (Found::Given(one), Found::Given(other)) => Found::Ambiguous(vec![one, other]),
            (Found::Given(one), _) | (_, Found::Given(one)) => Found::Given(one),
            (one, _) => one,
        };
        Some((Slot::Date(found), at + 1))
    }

    /// A day and month, with the year if it was said; without it the day of this year if that is still to come.
    fn dated(&self, from: usize, to: usize, year: Option<u16>, month: u8, day: u8) -> Found<Date> {
        let today = self.now.date();
        if let Some(year) = year {
            return Date::new(year, month, day).map_or_else(|_| self.unclear(from, to), Found::Given);
        }
        match (Date::new(today.year(), month, day), Date::new(today.year().saturating_add(1), month, day)) {
            (Ok(date), _) if date >= today => Found::Given(date),
            (Ok(past), Ok(next)) => Found::Ambiguous(vec![past, next]),
            (Ok(date), Err(_)) | (Err(_), Ok(date)) => Found::Given(date),
            _ => self.unclear(from, to),
        }
    }

    /// "2026-12-01T09:00".
    pub(super) fn iso_moment_at(&self, at: usize) -> Option<(DateTime, usize)> {
        let word = self.word(at);
        (word.len() == 16)
            .then(|| word.to_ascii_uppercase().parse().ok())
            .flatten()
            .map(|moment| (moment, at + 1))
    }
}

fn is_iso_shaped(word: &str) -> bool {
    let parts: Vec<&str> = word.splitn(4, '-').collect();
    parts.len() == 3
        && parts.iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}
