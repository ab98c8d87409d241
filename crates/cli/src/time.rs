//! Times of records, as people read them.

use reservo::civil::{Date, DateTime};
use sommelier_handoff::Millis;

const DAY: Millis = 24 * 60 * 60 * 1000;

/// A moment such as `2026-11-30 10:00:00.250 UTC`.
pub(crate) fn shown(at: Millis) -> String {
    match day(at) {
        Some(day) => format!("{day} {} UTC", of_day(at)),
        // Beyond the years that there are dates for.
        None => format!("{at} ms"),
    }
}

/// Times of a day that stand one below the other, and the days that they are of.
#[derive(Default)]
pub(crate) struct Days(Option<Date>);

impl Days {
    /// The day of this moment, where it is another one than that of the moment before.
    pub(crate) fn begun_by(&mut self, at: Millis) -> Option<Date> {
        let day = day(at);
        if std::mem::replace(&mut self.0, day) == day { None } else { day }
    }
}

fn day(at: Millis) -> Option<Date> {
    let days = i64::try_from(at / DAY).ok()?;
    epoch()?.add_days(days).ok()
}

/// The time of a moment's day, such as `10:00:00.250`.
pub(crate) fn of_day(at: Millis) -> String {
    let (seconds, millis) = (at % DAY / 1000, at % 1000);
    format!("{:02}:{:02}:{:02}.{millis:03}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// The milliseconds of a moment since 1970; 0 for one before.
pub(crate) fn millis(moment: DateTime) -> Millis {
    let minutes = epoch().and_then(|day| day.at(0).ok()).map_or(0, |start| start.minutes_until(moment));
    Millis::try_from(minutes).unwrap_or_default() * 60_000
}

fn epoch() -> Option<Date> {
    Date::new(1970, 1, 1).ok()
}
