//! Civil dates and times without a zone, in the proleptic Gregorian calendar, years 1 to 9999.
//!
//! ```
//! use reservo::civil::{Date, DateTime, Weekday};
//!
//! let now: DateTime = "2026-11-30T10:00".parse()?;
//! assert_eq!(now.date().weekday(), Weekday::Monday);
//! assert_eq!(now.date().add_days(1)?.to_string(), "2026-12-01");
//! assert_eq!(now.minutes_until("2026-12-01T09:00".parse()?), 23 * 60);
//! # Ok::<(), reservo::ReservoError>(())
//! ```

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{ReservoError, clip};

/// A day of the calendar, written `2026-11-30`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Date {
    pub(crate) year: u16,
    pub(crate) month: u8,
    pub(crate) day: u8,
}

impl Date {
    /// The first day there is.
    pub const MIN: Self = Self { year: 1, month: 1, day: 1 };
    /// The last day there is.
    pub const MAX: Self = Self { year: 9999, month: 12, day: 31 };

    /// Checks that there is such a day.
    ///
    /// ```
    /// use reservo::civil::Date;
    ///
    /// assert!(Date::new(2028, 2, 29).is_ok());
    /// assert!(Date::new(2026, 2, 29).is_err());
    /// ```
    ///
    /// # Errors
    /// [`ReservoError::InvalidDate`] with the three numbers as they would be written.
    pub fn new(year: u16, month: u8, day: u8) -> Result<Self, ReservoError> {
        if (1..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_in(year, month)).contains(&day)
        {
            return Ok(Self { year, month, day });
        }
        Err(ReservoError::InvalidDate { value: format!("{year:04}-{month:02}-{day:02}") })
    }

    /// The year, 1 to 9999.
    pub const fn year(self) -> u16 {
        self.year
    }

    /// The month, 1 to 12.
    pub const fn month(self) -> u8 {
        self.month
    }

    /// The day of the month, 1 to 31.
    pub const fn day(self) -> u8 {
        self.day
    }

    /// The day of the week.
    pub fn weekday(self) -> Weekday {
        // Day 0, 1970-01-01, was a Thursday.
        Weekday::ALL[usize::try_from((self.days() + 3).rem_euclid(7)).unwrap_or(0)]
    }

    /// The date `days` later, or earlier if negative.
    ///
    /// # Errors
    /// [`ReservoError::InvalidDate`] if that is outside the years 1 to 9999.
    pub fn add_days(self, days: i64) -> Result<Self, ReservoError> {
        self.days()
            .checked_add(days)
            .and_then(Self::from_days)
            .ok_or_else(|| ReservoError::InvalidDate { value: format!("{self} {days:+} days") })
    }

    /// The whole days from this date to `later`, negative if that is earlier.
    pub fn days_until(self, later: Self) -> i64 {
        later.days() - self.days()
    }

    /// Midnight plus `hour` hours.
    ///
    /// # Errors
    /// [`ReservoError::InvalidTime`] for an hour over 23.
    pub fn at(self, hour: u8) -> Result<DateTime, ReservoError> {
        Time::new(hour, 0).map(|time| DateTime::new(self, time))
    }

    /// Days since 1970-01-01, by counting in eras of 400 years that begin on 1 March.
    fn days(self) -> i64 {
        let (month, day) = (i64::from(self.month), i64::from(self.day));
        let year = i64::from(self.year) - i64::from(month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
    }

    /// The inverse of [`Date::days`].
    fn from_days(days: i64) -> Option<Self> {
        let days = days.checked_add(719_468)?;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Self::new(u16::try_from(year).ok()?, u8::try_from(month).ok()?, u8::try_from(day).ok()?).ok()
    }
}

/// The number of days in a month, 28 to 31.
fn days_in(year: u16, month: u8) -> u8 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl FromStr for Date {
    type Err = ReservoError;

    fn from_str(text: &str) -> Result<Self, ReservoError> {
        let invalid = || ReservoError::InvalidDate { value: clip(text) };
        let mut parts = text.trim().split('-');
        let (Some(year), Some(month), Some(day), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(invalid());
        };
        match (digits(year, 4), digits(month, 2), digits(day, 2)) {
            (Some(year), Some(month), Some(day)) => {
                // Two digits fit into a byte.
                Self::new(year, month.try_into().unwrap_or(0), day.try_into().unwrap_or(0))
                    .map_err(|_| invalid())
            }
            _ => Err(invalid()),
        }
    }
}

/// A number written with exactly `length` digits.
fn digits(text: &str, length: usize) -> Option<u16> {
    (text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// A day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Weekday {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

impl Weekday {
    /// The week from Monday on.
    pub const ALL: [Self; 7] = [
        Self::Monday,
        Self::Tuesday,
        Self::Wednesday,
        Self::Thursday,
        Self::Friday,
        Self::Saturday,
        Self::Sunday,
    ];

    /// The first such day after `date`, 1 to 7 days later.
    ///
    /// # Errors
    /// [`ReservoError::InvalidDate`] at the end of the calendar.
    pub fn after(self, date: Date) -> Result<Date, ReservoError> {
        let ahead = (self as i64 - date.weekday() as i64).rem_euclid(7);
        date.add_days(if ahead == 0 { 7 } else { ahead })
    }
}

/// A time of day to the minute, written `09:00`, from `00:00` to `23:59`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Time {
    pub(crate) hour: u8,
    pub(crate) minute: u8,
}

impl Time {
    /// Checks that there is such a time.
    ///
    /// # Errors
    /// [`ReservoError::InvalidTime`] with the two numbers as they would be written.
    pub fn new(hour: u8, minute: u8) -> Result<Self, ReservoError> {
        if hour < 24 && minute < 60 {
            return Ok(Self { hour, minute });
        }
        Err(ReservoError::InvalidTime { value: format!("{hour:02}:{minute:02}") })
    }

    /// The hour, 0 to 23.
    pub const fn hour(self) -> u8 {
        self.hour
    }

    /// The minute, 0 to 59.
    pub const fn minute(self) -> u8 {
        self.minute
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.hour, self.minute)
    }
}

impl FromStr for Time {
    type Err = ReservoError;

    fn from_str(text: &str) -> Result<Self, ReservoError> {
        let invalid = || ReservoError::InvalidTime { value: clip(text) };
        let (hour, minute) = text.trim().split_once(':').ok_or_else(invalid)?;
        match (digits(hour, 2), digits(minute, 2)) {
            (Some(hour), Some(minute)) => {
                Self::new(hour.try_into().unwrap_or(24), minute.try_into().unwrap_or(60))
                    .map_err(|_| invalid())
            }
            _ => Err(invalid()),
        }
    }
}

/// A date with a time of day, written `2026-11-30T09:00`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DateTime {
    pub(crate) date: Date,
    pub(crate) time: Time,
}

impl DateTime {
    /// Puts the two together; every pair is valid.
    pub const fn new(date: Date, time: Time) -> Self {
        Self { date, time }
    }

    /// The day.
    pub const fn date(self) -> Date {
        self.date
    }

    /// The time of day.
    pub const fn time(self) -> Time {
        self.time
    }

    /// The minutes from this moment to `later`, negative if that is earlier.
    pub fn minutes_until(self, later: Self) -> i64 {
        let minute_of_day = |time: Time| i64::from(time.hour) * 60 + i64::from(time.minute);
        self.date.days_until(later.date) * 24 * 60 + minute_of_day(later.time) - minute_of_day(self.time)
    }

    /// The whole hours from this moment to `later`; a part of an hour is dropped.
    pub fn hours_until(self, later: Self) -> i64 {
        self.minutes_until(later) / 60
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}T{}", self.date, self.time)
    }
}

impl FromStr for DateTime {
    type Err = ReservoError;

    fn from_str(text: &str) -> Result<Self, ReservoError> {
        let (date, time) =
            text.trim().split_once('T').ok_or_else(|| ReservoError::InvalidTime { value: clip(text) })?;
        Ok(Self::new(date.parse()?, time.parse()?))
    }
}

macro_rules! as_text_in_serde {
    ($($kind:ty),*) => {$(
        impl TryFrom<String> for $kind {
            type Error = ReservoError;

            fn try_from(text: String) -> Result<Self, ReservoError> {
                text.parse()
            }
        }

        impl From<$kind> for String {
            fn from(value: $kind) -> Self {
                value.to_string()
            }
        }
    )*};
}
as_text_in_serde!(Date, Time, DateTime);
