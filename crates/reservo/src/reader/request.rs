//! The slots of a request.

use serde::Serialize;

use crate::civil::Date;
use crate::money::Cents;
use crate::plan::Plan;
use crate::room::Room;

/// What the text says about one slot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Found<T> {
    /// Nothing.
    #[default]
    Missing,
    /// This. It was read, not checked: hours may be 99 and a date may be past.
    Given(T),
    /// Something that is no value.
    Unclear {
        /// The words as they were written, at most 80 characters of them.
        raw: String,
        /// What may have been meant; to be offered, never to be taken.
        nearest: Option<T>,
    },
    /// One of several, and the text does not say which.
    Ambiguous(Vec<T>),
}

impl<T> Found<T> {
    /// The value, if there is one and only one.
    pub const fn given(&self) -> Option<&T> {
        match self {
            Self::Given(value) => Some(value),
            _ => None,
        }
    }

    /// Whether the text says nothing about the slot.
    pub const fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }
}

/// What a quote or a booking needs to know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Request {
    /// The room.
    pub room: Found<Room>,
    /// The plan.
    pub plan: Found<Plan>,
    /// Whole hours.
    pub hours: Found<i64>,
    /// The day.
    pub date: Found<Date>,
    /// The hour at which it is to start.
    pub start_hour: Found<i64>,
    /// How many people are to sit in it.
    pub people: Found<u32>,
    /// For whom it is booked.
    pub customer: Found<String>,
    /// Only if this holds.
    pub condition: Found<Condition>,
}

impl Request {
    /// The names of the slots that a quote needs and the text does not settle: missing, unclear or ambiguous.
    pub fn open_for_quote(&self) -> Vec<&'static str> {
        let mut open = Vec::new();
        let mut note = |name, settled: bool| {
            if !settled {
                open.push(name);
            }
        };
        note("room", self.room.given().is_some());
        note("plan", self.plan.given().is_some());
        note("hours", self.hours.given().is_some());
        open
    }

    /// The names of the slots that a booking needs and the text does not settle. A condition is one of them only if it
    /// was not understood. The customer is one of them, although the tool `book` does without and books for "guest".
    ///
    /// ```
    /// use reservo::reader::{Intent, read};
    ///
    /// let reading = read("Book Focus pro for 3 hours tomorrow, if my boss agrees", reservo::DEMO_NOW);
    /// let Intent::Book(request) = &reading.parts[0].intent else { panic!() };
    /// assert_eq!(request.open_for_booking(), ["start_hour", "customer", "condition"]);
    /// ```
    pub fn open_for_booking(&self) -> Vec<&'static str> {
        let mut open = self.open_for_quote();
        let mut note = |name, settled: bool| {
            if !settled {
                open.push(name);
            }
        };
        note("date", self.date.given().is_some());
        note("start_hour", self.start_hour.given().is_some());
        note("customer", self.customer.given().is_some());
        note("condition", matches!(self.condition, Found::Missing | Found::Given(_)));
        open
    }

    /// Fills what is missing here with what `other` says.
    pub(super) fn fill_from(&mut self, other: &Self) {
        fn fill<T: Clone>(slot: &mut Found<T>, other: &Found<T>) {
            if slot.is_missing() {
                slot.clone_from(other);
            }
        }
        fill(&mut self.room, &other.room);
        fill(&mut self.plan, &other.plan);
        fill(&mut self.hours, &other.hours);
        fill(&mut self.date, &other.date);
        fill(&mut self.start_hour, &other.start_hour);
        fill(&mut self.people, &other.people);
        fill(&mut self.customer, &other.customer);
    }
}

/// What a comparison of prices needs to know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compare {
    /// Whole hours.
    pub hours: Found<i64>,
    /// Only these rooms; empty means all.
    pub rooms: Vec<Room>,
    /// A word that stands where a room would, and is none.
    pub unclear_room: Found<Room>,
    /// Only these plans; empty means all.
    pub plans: Vec<Plan>,
    /// Only these rooms on these plans; empty means every room named on every plan named.
    pub pairs: Vec<(Room, Plan)>,
    /// A word that stands where a plan would, and is none.
    pub unclear_plan: Found<Plan>,
    /// How many people are to sit in it.
    pub people: Found<u32>,
    /// Not these rooms.
    pub exclude: Vec<Room>,
    /// Only if this holds of the total.
    pub condition: Found<Condition>,
}

/// A condition on an amount of money. An amount in euro is read as a hundred times as many cents; no other currency is.
///
/// ```
/// use reservo::{Cents, reader::Condition};
///
/// assert!(Condition::Below(Cents(15000)).holds(Cents(13000)));
/// assert!(!Condition::Below(Cents(13000)).holds(Cents(13000)));
/// assert!(Condition::AtMost(Cents(13000)).holds(Cents(13000)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// Less than this.
    Below(Cents),
    /// This or less.
    AtMost(Cents),
    /// More than this.
    Above(Cents),
    /// This or more.
    AtLeast(Cents),
}

impl Condition {
    /// Whether it holds of an amount.
    pub fn holds(self, amount: Cents) -> bool {
        match self {
            Self::Below(limit) => amount < limit,
            Self::AtMost(limit) => amount <= limit,
            Self::Above(limit) => amount > limit,
            Self::AtLeast(limit) => amount >= limit,
        }
    }
}
