//! Reads a request written by a person, in English or German, by rules alone.
//!
//! A [`Reading`] is the ordered list of what the text asks, each [`Part`] with the slots it fills and its place in the
//! text. The reader never invents: a slot that the text does not fill is [`Found::Missing`], a word it cannot place is
//! [`Found::Unclear`] with the nearest name beside it, and text in which it finds no request is a part of its own,
//! [`Intent::Unreadable`]. It takes time linear in the text, since of a
//! sentence it reads [`MAX_SENTENCE`] bytes.
//!
//! ```text
//!  text ──▶ sentences ──▶ slots of a sentence ──▶ segments, one per trigger ──▶ drafts ──▶ linked parts
//!           words.rs      slots.rs, dates.rs     parts.rs, clauses.rs,         fill.rs,
//!                                                triggers.rs, plain.rs         drafts.rs
//! ```
//!
//! ```
//! use reservo::reader::{Found, Intent, Topic, read};
//! use reservo::{DEMO_NOW, Plan, Room};
//!
//! let text = "Quote Focus pro 3h. And what happens if I don't show up?";
//! let reading = read(text, DEMO_NOW);
//! let Intent::Quote(request) = &reading.parts[0].intent else { panic!() };
//! assert_eq!(request.room, Found::Given(Room::Focus));
//! assert_eq!(request.plan, Found::Given(Plan::Pro));
//! assert_eq!(request.hours, Found::Given(3));
//! assert!(matches!(reading.parts[1].intent, Intent::Policy { topic: Topic::NoShow, .. }));
//! // The second question is about the booking of the first.
//! assert_eq!(reading.parts[1].refers_to, Some(0));
//! assert_eq!(reading.parts[1].span.of(text), "And what happens if I don't show up");
//! ```

mod clauses;
mod dates;
mod drafts;
mod fill;
mod lexicon;
mod parts;
mod plain;
mod request;
mod slots;
mod triggers;

use serde::Serialize;

pub use request::{Compare, Condition, Found, Request};

use crate::Entry;
use crate::booking::BookingId;
use crate::civil::DateTime;

/// The most parts that one text is read into; the rest is reported as [`Why::TooMany`].
pub const MAX_PARTS: usize = 16;

/// The most bytes of a sentence that are read, far more than a person writes; the rest of the text is reported as
/// [`Why::TooMany`].
pub const MAX_SENTENCE: usize = 4 * 1024;

/// Reads a text. Words like "tomorrow" are counted from `now`.
pub fn read(text: &str, now: DateTime) -> Reading {
    parts::read(text, now)
}

/// What a text asks, in the order of the text. Only a text of blanks has no part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reading {
    /// The questions, orders and the stretches that could not be read.
    pub parts: Vec<Part>,
}

/// One thing that a text asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// What is asked.
    pub intent: Intent,
    /// Where it stands.
    pub span: Span,
    /// The index of the earlier part that this one speaks about: "it", or "if I don't show up" after a quote.
    pub refers_to: Option<usize>,
    /// What forbids to act on it. Only [`Intent::Book`] and [`Intent::Cancel`] have one: they may be acted on only if
    /// this is `None`.
    pub in_the_way: Option<Obstacle>,
}

/// What makes an order no plain order: an effect happens only if every word of the text was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Obstacle {
    /// A stretch that was not read, and may say anything: a condition, a correction, a second wish.
    Unread(Span),
    /// It stands in a question.
    Question(Span),
    /// It stands in quotation marks, and is somebody's words rather than the order of whoever wrote the text.
    Quoted(Span),
    /// What stands between two bookings does not join them.
    Between(Span),
    /// Another part of the text that cannot be done: an order that names no booking, or an order to disregard rules.
    Beside(Span),
}

/// A stretch of the text, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl Span {
    /// The stretch itself; empty if `text` is not the text that was read.
    pub fn of(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

/// What a part of a text asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Intent {
    /// What a room costs.
    Quote(Request),
    /// To book a room.
    Book(Request),
    /// To cancel a booking.
    Cancel {
        /// Which.
        booking: Found<BookingId>,
        /// Only if this holds; of the reader's conditions none can be tested on a refund, so anything but
        /// [`Found::Missing`] forbids cancelling unasked.
        condition: Found<Condition>,
    },
    /// Prices side by side, or the cheapest.
    Compare(Compare),
    /// What the rules of the house are.
    Policy {
        /// On what.
        topic: Topic,
        /// The booking that the question describes, if it does.
        about: Request,
    },
    /// Nothing, politely.
    Courtesy(Courtesy),
    /// Nothing that could be read, or nothing that will be done.
    Unreadable(Why),
}

impl Intent {
    /// Whose trade it is; `None` for what asks nothing of anyone.
    pub const fn desk(&self) -> Option<Entry> {
        match self {
            Self::Quote(_) | Self::Book(_) | Self::Cancel { .. } => Some(Entry::Booking),
            Self::Compare(_) => Some(Entry::Pricing),
            Self::Policy { .. } => Some(Entry::Policy),
            Self::Courtesy(_) | Self::Unreadable(_) => None,
        }
    }
}

/// What a question about the rules is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Topic {
    /// Not coming, or coming late.
    NoShow,
    /// Cancelling.
    Cancellation,
    /// How and when money comes back.
    Refund,
    /// Moving a booking to another time.
    Change,
    /// When the house is open.
    OpeningHours,
    /// When a booking is paid.
    Payment,
    /// The rules, with no topic that the reader knows.
    Other,
}

impl Topic {
    /// Whether what it comes to is a share of a price.
    pub const fn rests_on_price(self) -> bool {
        matches!(self, Self::NoShow | Self::Cancellation)
    }
}

/// A polite word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Courtesy {
    /// Hello.
    Greeting,
    /// Thanks.
    Thanks,
    /// Goodbye.
    Farewell,
}

/// Why a stretch of text asks nothing that can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Why {
    /// No request was found in it.
    NoRequest,
    /// It orders to disregard instructions or rules; nothing in that sentence is followed.
    OrderToIgnore,
    /// It asks to cancel every booking; only a booking named by its id is cancelled.
    EveryBooking,
    /// It says what is *not* to be done.
    Negated,
    /// It asks for something that the house does not do here, as moving a booking or looking up what is free.
    NotOffered,
    /// It comes after [`MAX_PARTS`] parts, or behind [`MAX_SENTENCE`] bytes of a sentence.
    TooMany,
}
