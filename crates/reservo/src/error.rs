//! What can go wrong in the house.

use serde::ser::{Serialize, SerializeMap, Serializer};
use thiserror::Error;

use crate::booking::BookingId;
use crate::civil::{Date, DateTime};
use crate::hours::Hours;
use crate::money::Cents;
use crate::plan::Plan;
use crate::policy::OpeningHours;
use crate::price::PriceList;
use crate::room::Room;

/// Why the house did not do what it was asked.
///
/// Each variant carries the offending value; [`ReservoError::fault`] says whose fault it is. As JSON it is an object
/// that begins with the code and the value and ends with the message:
///
/// ```
/// use reservo::Room;
///
/// let error = "Fokus".parse::<Room>().unwrap_err();
/// assert_eq!(
///     serde_json::to_string(&error).unwrap(),
///     concat!(
///         r#"{"error":"unknown_room","value":"Fokus","allowed":["Focus","Studio","Forum"],"nearest":"Focus","#,
///         r#""message":"the request names room \"Fokus\"; the rooms are Focus, Studio, Forum; nearest is Focus"}"#
///     ),
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReservoError {
    /// No room has this name.
    #[error("the request names room {value:?}; the rooms are Focus, Studio, Forum{}", nearest_is(*.nearest))]
    UnknownRoom {
        /// The name as it was given.
        value: String,
        /// A room whose name is near.
        nearest: Option<Room>,
    },
    /// No plan has this name.
    #[error("the request names plan {value:?}; the plans are basic, pro, team{}", nearest_is(*.nearest))]
    UnknownPlan {
        /// The name as it was given.
        value: String,
        /// A plan whose name is near.
        nearest: Option<Plan>,
    },
    /// Too short or too long.
    #[error("the request asks for {value} hours; {} to {} whole hours are possible", Hours::MIN, Hours::MAX)]
    HoursOutOfRange {
        /// The hours asked for.
        value: i64,
    },
    /// The room is taken at that time.
    #[error(
        "{room} is taken on {date} from {taken_from}:00 to {taken_to}:00, which meets {start_hour}:00 for {hours} hours; another time or room is possible"
    )]
    SlotTaken {
        /// The room.
        room: Room,
        /// The day.
        date: Date,
        /// The hour asked for.
        start_hour: u8,
        /// The length asked for.
        hours: Hours,
        /// The first hour of the booking in the way.
        taken_from: u8,
        /// The hour at which the booking in the way ends.
        taken_to: u8,
    },
    /// Begins too early or ends too late.
    #[error("the request starts at {value}:00 for {hours} hours; the house is open {opening}")]
    OutsideOpeningHours {
        /// The hour asked for.
        value: i64,
        /// The length asked for.
        hours: Hours,
        /// When the house is open.
        opening: OpeningHours,
    },
    /// Begins before now.
    #[error("the request starts at {value}, which is before now, {now}; a later start is possible")]
    StartInPast {
        /// The start asked for.
        value: DateTime,
        /// The house's clock.
        now: DateTime,
    },
    /// No booking has this id.
    #[error(
        "the request names booking {value:?}, which the house does not have; an id is written like RSV-0001"
    )]
    UnknownBooking {
        /// The id as it was given.
        value: String,
    },
    /// The booking is cancelled, by another request. A ledger says so; the house takes it for what was wanted.
    #[error("booking {value} is already cancelled, with {refund_cents} refunded; nothing is left to do")]
    AlreadyCancelled {
        /// The booking.
        value: BookingId,
        /// What was refunded then.
        refund_cents: Cents,
    },
    /// The booking has begun.
    #[error(
        "booking {value} started at {start}, and now is {now}; only a booking that has not started can be cancelled"
    )]
    AlreadyStarted {
        /// The booking.
        value: BookingId,
        /// Its start.
        start: DateTime,
        /// The house's clock.
        now: DateTime,
    },
    /// There is no such day, or it is not written as one.
    #[error("the request names date {value:?}; a date is written like 2026-11-30")]
    InvalidDate {
        /// The date as it was given.
        value: String,
    },
    /// There is no such time, or it is not written as one.
    #[error(
        "the request names time {value:?}; a time is written like 09:00, or with a date like 2026-11-30T09:00"
    )]
    InvalidTime {
        /// The time as it was given.
        value: String,
    },
    /// The name of the customer is blank, or too long.
    #[error(
        "the request names customer {value:?}; a name has 1 to 100 characters, none of them a control character"
    )]
    InvalidCustomer {
        /// The name as it was given.
        value: String,
    },
    /// One key was used for two different things.
    #[error(
        "the request repeats key {value:?} with other content; the key belongs to what was done on {booking_id}"
    )]
    KeyReused {
        /// The key.
        value: String,
        /// The booking it was first used on.
        booking_id: BookingId,
    },
    /// The ledger of bookings could not be read or written, or holds what no ledger holds. Where it was to be written,
    /// nobody knows whether it was; the same key tells.
    #[error("the house cannot reach its ledger of bookings ({value}); the same request may succeed later")]
    LedgerUnreachable {
        /// What the ledger says.
        value: String,
    },
    /// A rate that no price list can hold.
    #[error("the price list is given a rate of {value}; 0 to {} per hour are possible", PriceList::MAX_RATE)]
    RateOutOfRange {
        /// The rate.
        value: Cents,
    },
}

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request is wrong and must be changed.
    Request,
    /// The request is right, but the house cannot serve it as things stand.
    House,
    /// The program that uses this crate is wrong.
    Program,
}

impl ReservoError {
    /// The stable name of the kind of error.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownRoom { .. } => "unknown_room",
            Self::UnknownPlan { .. } => "unknown_plan",
            Self::HoursOutOfRange { .. } => "hours_out_of_range",
            Self::SlotTaken { .. } => "slot_taken",
            Self::OutsideOpeningHours { .. } => "outside_opening_hours",
            Self::StartInPast { .. } => "start_in_past",
            Self::UnknownBooking { .. } => "unknown_booking",
            Self::AlreadyCancelled { .. } => "already_cancelled",
            Self::AlreadyStarted { .. } => "already_started",
            Self::InvalidDate { .. } => "invalid_date",
            Self::InvalidTime { .. } => "invalid_time",
            Self::InvalidCustomer { .. } => "invalid_customer",
            Self::KeyReused { .. } => "key_reused",
            Self::LedgerUnreachable { .. } => "ledger_unreachable",
            Self::RateOutOfRange { .. } => "rate_out_of_range",
        }
    }

    /// Whose fault it is.
    ///
    /// ```
    /// use reservo::{Fault, Hours};
    ///
    /// assert_eq!(Hours::new(0).unwrap_err().fault(), Fault::Request);
    /// ```
    pub const fn fault(&self) -> Fault {
        match self {
            Self::SlotTaken { .. }
            | Self::AlreadyCancelled { .. }
            | Self::AlreadyStarted { .. }
            | Self::LedgerUnreachable { .. } => Fault::House,
            Self::KeyReused { .. } | Self::RateOutOfRange { .. } => Fault::Program,
            _ => Fault::Request,
        }
    }
}

impl Serialize for ReservoError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("error", self.code())?;
        match self {
            Self::UnknownRoom { value, nearest } => {
                map.serialize_entry("value", value)?;
                map.serialize_entry("allowed", &Room::ALL)?;
                if let Some(nearest) = nearest {
                    map.serialize_entry("nearest", nearest)?;
                }
            }
            Self::UnknownPlan { value, nearest } => {
                map.serialize_entry("value", value)?;
                map.serialize_entry("allowed", &Plan::ALL)?;
                if let Some(nearest) = nearest {
                    map.serialize_entry("nearest", nearest)?;
                }
            }
            Self::HoursOutOfRange { value } => {
                map.serialize_entry("value", value)?;
                map.serialize_entry("min", &Hours::MIN)?;
                map.serialize_entry("max", &Hours::MAX)?;
            }
            Self::SlotTaken { room, date, start_hour, hours, taken_from, taken_to } => {
                map.serialize_entry("value", &format!("{date}T{start_hour:02}:00"))?;
                map.serialize_entry("room", room)?;
                map.serialize_entry("hours", hours)?;
                map.serialize_entry("taken_from", &format!("{date}T{taken_from:02}:00"))?;
                map.serialize_entry("taken_to", &format!("{date}T{taken_to:02}:00"))?;
            }
            Self::OutsideOpeningHours { value, hours, opening } => {
                map.serialize_entry("value", value)?;
                map.serialize_entry("hours", hours)?;
                map.serialize_entry("opens", &opening.opens)?;
                map.serialize_entry("closes", &opening.closes)?;
            }
            Self::StartInPast { value, now } => {
                map.serialize_entry("value", value)?;
                map.serialize_entry("now", now)?;
            }
            Self::UnknownBooking { value } => {
                map.serialize_entry("value", value)?;
                map.serialize_entry("form", "RSV-0001")?;
            }
            Self::AlreadyCancelled { value, refund_cents } => {
                map.serialize_entry("value", value)?;
                map.serialize_entry("refund_cents", refund_cents)?;
            }
            Self::AlreadyStarted { value, start, now } => {
                map.serialize_entry("value", value)?;
                map.serialize_entry("start", start)?;
                map.serialize_entry("now", now)?;
            }
            Self::InvalidDate { value } => {
                map.serialize_entry("value", value)?;
                map.serialize_entry("form", "YYYY-MM-DD")?;
            }
            Self::InvalidTime { value } => {
                map.serialize_entry("value", value)?;
                map.serialize_entry("form", "HH:MM")?;
            }
            Self::InvalidCustomer { value } | Self::LedgerUnreachable { value } => {
                map.serialize_entry("value", value)?;
            }
            Self::KeyReused { value, booking_id } => {
                map.serialize_entry("value", value)?;
                map.serialize_entry("booking_id", booking_id)?;
            }
            Self::RateOutOfRange { value } => {
                map.serialize_entry("value", value)?;
                map.serialize_entry("min", &Cents::ZERO)?;
                map.serialize_entry("max", &PriceList::MAX_RATE)?;
            }
        }
        map.serialize_entry("message", &self.to_string())?;
        map.end()
    }
}

/// The end of a message that suggests a name.
fn nearest_is(nearest: Option<impl std::fmt::Display>) -> String {
    nearest.map(|name| format!("; nearest is {name}")).unwrap_or_default()
}

/// A foreign text as an error may carry it: whole if short, else its beginning and an ellipsis.
pub(crate) fn clip(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
