//! Bookings, and the ledger they are kept in.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::civil::{Date, DateTime, Time};
use crate::error::{ReservoError, clip};
use crate::hours::Hours;
use crate::money::Cents;
use crate::plan::Plan;
use crate::policy::OpeningHours;
use crate::room::Room;

/// The number of a booking, written `RSV-0001`; read without regard to case.
///
/// ```
/// use reservo::BookingId;
///
/// let id: BookingId = "rsv-0007".parse()?;
/// assert_eq!(id.to_string(), "RSV-0007");
/// assert_eq!("RSV-7".parse::<BookingId>().unwrap_err().code(), "unknown_booking");
/// # Ok::<(), reservo::ReservoError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BookingId(u32);

impl BookingId {
    /// The id with this number.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for BookingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RSV-{:04}", self.0)
    }
}

impl FromStr for BookingId {
    type Err = ReservoError;

    fn from_str(text: &str) -> Result<Self, ReservoError> {
        text.trim()
            .split_at_checked(4)
            .filter(|(prefix, _)| prefix.eq_ignore_ascii_case("RSV-"))
            .and_then(|(_, digits)| digits.parse().ok().map(|number| (Self(number), digits)))
            // One way to write each id: no sign, and zeros only up to four digits.
            .filter(|(id, digits)| id.to_string()[4..] == **digits)
            .map(|(id, _)| id)
            .ok_or_else(|| ReservoError::UnknownBooking { value: clip(text) })
    }
}

impl TryFrom<String> for BookingId {
    type Error = ReservoError;

    fn try_from(text: String) -> Result<Self, ReservoError> {
        text.parse()
    }
}

impl From<BookingId> for String {
    fn from(id: BookingId) -> Self {
        id.to_string()
    }
}

/// Names one attempt to book or cancel, so that the attempt can be repeated without doing it twice.
///
/// Whoever runs the attempt derives the key; it is never taken from a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IdempotencyKey(pub String);

impl From<&str> for IdempotencyKey {
    fn from(key: &str) -> Self {
        Self(key.to_owned())
    }
}

/// Whole hours of one day, within the opening hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeSlot {
    pub(crate) date: Date,
    pub(crate) start_hour: u8,
    pub(crate) hours: Hours,
}

impl TimeSlot {
    /// Checks that the house is open all the time.
    ///
    /// ```
    /// use reservo::booking::TimeSlot;
    /// use reservo::policy::OpeningHours;
    /// use reservo::Hours;
    ///
    /// let opening = OpeningHours { opens: 8, closes: 20 };
    /// assert!(TimeSlot::new("2026-12-01".parse()?, 17, Hours::new(3)?, opening).is_ok());
    /// assert!(TimeSlot::new("2026-12-01".parse()?, 18, Hours::new(3)?, opening).is_err());
    /// # Ok::<(), reservo::ReservoError>(())
    /// ```
    ///
    /// # Errors
    /// [`ReservoError::OutsideOpeningHours`].
    pub fn new(
        date: Date,
        start_hour: i64,
        hours: Hours,
        opening: OpeningHours,
    ) -> Result<Self, ReservoError> {
        match u8::try_from(start_hour) {
            Ok(start_hour)
                if start_hour < 24
                    && start_hour >= opening.opens
                    && start_hour + hours.get() <= opening.closes.min(24) =>
            {
                Ok(Self { date, start_hour, hours })
            }
            _ => Err(ReservoError::OutsideOpeningHours { value: start_hour, hours, opening }),
        }
    }

    /// The day.
    pub const fn date(self) -> Date {
        self.date
    }

    /// The hour at which it starts.
    pub const fn start_hour(self) -> u8 {
        self.start_hour
    }

    /// The hour at which it ends, at most 24.
    pub const fn end_hour(self) -> u8 {
        self.start_hour + self.hours.0
    }

    /// How long it is.
    pub const fn hours(self) -> Hours {
        self.hours
    }

    /// The moment at which it starts.
    pub const fn start(self) -> DateTime {
        DateTime::new(self.date, Time { hour: self.start_hour, minute: 0 })
    }

    /// Whether the two have an hour in common; one that ends when the other starts has none.
    pub fn overlaps(self, other: Self) -> bool {
        self.date == other.date && self.start_hour < other.end_hour() && other.start_hour < self.end_hour()
    }
}

/// The name of a customer: 1 to 100 characters, trimmed, no control characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Customer(String);

impl Customer {
    /// Trims and checks a name.
    ///
    /// # Errors
    /// [`ReservoError::InvalidCustomer`].
    pub fn new(name: &str) -> Result<Self, ReservoError> {
        let trimmed = name.trim();
        if trimmed.is_empty() || trimmed.chars().nth(100).is_some() || trimmed.contains(char::is_control) {
            return Err(ReservoError::InvalidCustomer { value: clip(name) });
        }
        Ok(Self(trimmed.to_owned()))
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Customer {
    type Error = ReservoError;

    fn try_from(name: String) -> Result<Self, ReservoError> {
        Self::new(&name)
    }
}

impl From<Customer> for String {
    fn from(customer: Customer) -> Self {
        customer.0
    }
}

/// What a customer asks to have booked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookingRequest {
    /// The room.
    pub room: Room,
    /// The plan the customer pays by.
    pub plan: Plan,
    /// The day.
    pub date: Date,
    /// The hour at which it is to start; any number, the house checks it.
    pub start_hour: i64,
    /// How long.
    pub hours: Hours,
    /// For whom.
    pub customer: Customer,
}

/// A room taken by a customer for a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booking {
    /// Its number.
    pub id: BookingId,
    /// The room.
    pub room: Room,
    /// The plan it is paid by.
    pub plan: Plan,
    /// When.
    pub slot: TimeSlot,
    /// For whom.
    pub customer: Customer,
    /// The price at the time of booking.
    pub total_cents: Cents,
    /// Whether it still stands.
    pub state: BookingState,
}

impl Booking {
    /// What the customer is told after booking, as the booking stands now.
    pub const fn receipt(&self) -> BookingReceipt {
        BookingReceipt { booking_id: self.id, status: self.state.status(), total_cents: self.total_cents }
    }

    /// For ledgers: decides on cancelling the booking `id`, as the ledger finds it and what it finds the key was used for.
    /// Where it is a receipt, the booking is to be marked as cancelled with its refund and the key as used for that.
    ///
    /// # Errors
    /// As [`Bookings::cancel`].
    pub fn cancellation(
        id: BookingId,
        found: Option<&Self>,
        refund: Cents,
        key: &IdempotencyKey,
        used: Option<(KeyUse, &Self)>,
    ) -> Result<CancelReceipt, ReservoError> {
        if let Some((_, first)) =
            used.filter(|(used_for, first)| (*used_for, first.id) != (KeyUse::Cancel, id))
        {
            return Err(ReservoError::KeyReused { value: clip(&key.0), booking_id: first.id });
        }
        let booking = found.ok_or_else(|| ReservoError::UnknownBooking { value: id.to_string() })?;
        let refund_cents = match booking.state {
            BookingState::Cancelled { refund_cents } if used.is_some() => refund_cents,
            BookingState::Cancelled { refund_cents } => {
                return Err(ReservoError::AlreadyCancelled { value: id, refund_cents });
            }
            BookingState::Booked => refund,
        };
        Ok(CancelReceipt { booking_id: id, status: BookingStatus::Cancelled, refund_cents })
    }
}

/// Whether a booking still stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BookingState {
    /// It stands.
    Booked,
    /// It was cancelled.
    Cancelled {
        /// What was given back.
        refund_cents: Cents,
    },
}

impl BookingState {
    /// The state as a word.
    pub const fn status(&self) -> BookingStatus {
        match self {
            Self::Booked => BookingStatus::Booked,
            Self::Cancelled { .. } => BookingStatus::Cancelled,
        }
    }
}

/// The state of a booking as a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BookingStatus {
    /// It stands.
    Booked,
    /// It was cancelled.
    Cancelled,
    /// It had been cancelled before, so that a request to cancel it did nothing. No booking is in this state: a receipt says so.
    AlreadyCancelled,
}

/// What the customer is told after booking.
///
/// ```
/// # use reservo::{BookingId, Cents, booking::{BookingReceipt, BookingStatus}};
/// let receipt =
///     BookingReceipt { booking_id: BookingId::new(1), status: BookingStatus::Booked, total_cents: Cents(6000) };
/// assert_eq!(
///     serde_json::to_string(&receipt).unwrap(),
///     r#"{"booking_id":"RSV-0001","status":"booked","total_cents":6000}"#,
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookingReceipt {
    /// The booking.
    pub booking_id: BookingId,
    /// Its state.
    pub status: BookingStatus,
    /// Its price.
    pub total_cents: Cents,
}

/// What the customer is told after cancelling, also when nothing was left to do.
///
/// ```
/// use reservo::{BookingId, demo};
///
/// let receipt = demo().cancel(BookingId::new(5), &"key".into())?;
/// assert_eq!(
///     serde_json::to_string(&receipt).unwrap(),
///     r#"{"booking_id":"RSV-0005","status":"already_cancelled","refund_cents":6000}"#,
/// );
/// # Ok::<(), reservo::ReservoError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelReceipt {
    /// The booking.
    pub booking_id: BookingId,
    /// Its state, or that it was in it before.
    pub status: BookingStatus,
    /// What is given back, or was given back then.
    pub refund_cents: Cents,
}

/// A ledger of bookings. Every method is one atomic step on a shared reference. The ledger of a house works from any thread
/// (`dyn Bookings + Send + Sync`); one [within](Self::within) a transaction stays on the thread of that.
///
/// After [`ReservoError::LedgerUnreachable`] nobody knows whether a step was made; the same key tells.
///
/// A ledger keeps rooms from being taken twice and keys from being used twice; prices, clocks and refunds are the
/// business of [`Reservo`](crate::Reservo).
pub trait Bookings: fmt::Debug {
    /// The booking with this id.
    ///
    /// # Errors
    /// [`ReservoError::LedgerUnreachable`].
    fn find(&self, id: BookingId) -> Result<Option<Booking>, ReservoError>;

    /// The booking that this key was used on, and for what.
    ///
    /// # Errors
    /// [`ReservoError::LedgerUnreachable`].
    fn find_by_key(&self, key: &IdempotencyKey) -> Result<Option<(KeyUse, Booking)>, ReservoError>;

    /// A standing booking of the room that overlaps the slot; the earliest if there are several.
    ///
    /// # Errors
    /// [`ReservoError::LedgerUnreachable`].
    fn find_overlap(&self, room: Room, slot: TimeSlot) -> Result<Option<Booking>, ReservoError>;

    /// All bookings, cancelled ones too, in the order of their ids.
    ///
    /// # Errors
    /// [`ReservoError::LedgerUnreachable`].
    fn all(&self) -> Result<Vec<Booking>, ReservoError>;

    /// Writes a booking down and gives it the next id. A key that made this very booking before returns it again.
    ///
    /// # Errors
    /// [`ReservoError::SlotTaken`], [`ReservoError::KeyReused`], [`ReservoError::LedgerUnreachable`].
    fn insert(&self, booking: NewBooking, key: &IdempotencyKey) -> Result<Booking, ReservoError>;

    /// Marks a booking as cancelled. A key that cancelled this very booking before returns it again, with the refund of
    /// then.
    ///
    /// # Errors
    /// [`ReservoError::UnknownBooking`], [`ReservoError::AlreadyCancelled`], [`ReservoError::KeyReused`],
    /// [`ReservoError::LedgerUnreachable`].
    fn cancel(
        &self,
        id: BookingId,
        refund: Cents,
        key: &IdempotencyKey,
    ) -> Result<CancelReceipt, ReservoError>;

    /// The ledger as it is within a transaction that somebody else ends: what is written through it is there when that is
    /// committed, and not before. `None`, which it is when not written otherwise, where the ledger cannot write into one of
    /// this type; then it is used as it stands.
    fn within<'a>(&'a self, transaction: &'a dyn Any) -> Option<Box<dyn Bookings + 'a>> {
        let _ = transaction;
        None
    }
}

/// A booking that has no id yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewBooking {
    /// The room.
    pub room: Room,
    /// The plan.
    pub plan: Plan,
    /// When.
    pub slot: TimeSlot,
    /// For whom.
    pub customer: Customer,
    /// The price.
    pub total_cents: Cents,
}

impl NewBooking {
    /// Whether `booking` is this one, whatever became of it and of the prices since.
    pub fn asks_for(&self, booking: &Booking) -> bool {
        (self.room, self.plan, self.slot, &self.customer)
            == (booking.room, booking.plan, booking.slot, &booking.customer)
    }

    /// For ledgers: what is answered where the key was used before, on `booking`.
    ///
    /// # Errors
    /// [`ReservoError::KeyReused`] if it was for something else.
    pub fn repeats(
        &self,
        key: &IdempotencyKey,
        used_for: KeyUse,
        booking: &Booking,
    ) -> Result<Booking, ReservoError> {
        if used_for == KeyUse::Book && self.asks_for(booking) {
            return Ok(booking.clone());
        }
        Err(ReservoError::KeyReused { value: clip(&key.0), booking_id: booking.id })
    }

    /// For ledgers: why it cannot be written down while `taken` stands, which overlaps it.
    pub fn meets(&self, taken: &Booking) -> ReservoError {
        ReservoError::SlotTaken {
            room: self.room,
            date: self.slot.date,
            start_hour: self.slot.start_hour,
            hours: self.slot.hours,
            taken_from: taken.slot.start_hour,
            taken_to: taken.slot.end_hour(),
        }
    }

    /// For ledgers: the booking that it becomes under its id.
    pub fn under(self, id: BookingId) -> Booking {
        let Self { room, plan, slot, customer, total_cents } = self;
        Booking { id, room, plan, slot, customer, total_cents, state: BookingState::Booked }
    }
}

/// What an idempotency key was used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyUse {
    /// To book.
    Book,
    /// To cancel.
    Cancel,
}

/// A ledger in memory.
///
/// ```
/// use reservo::{Bookings, MemoryBookings};
///
/// let ledger = MemoryBookings::default();
/// assert_eq!(ledger.find("RSV-0001".parse()?)?, None);
/// # Ok::<(), reservo::ReservoError>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryBookings {
    pages: Mutex<Pages>,
}

#[derive(Debug, Default)]
struct Pages {
    bookings: BTreeMap<BookingId, Booking>,
    keys: BTreeMap<IdempotencyKey, (KeyUse, BookingId)>,
}

impl MemoryBookings {
    /// Each change to the pages is made by one insertion after all checks, so what a panicking holder leaves is whole.
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FromIterator<Booking> for MemoryBookings {
    fn from_iter<I: IntoIterator<Item = Booking>>(bookings: I) -> Self {
        let bookings = bookings.into_iter().map(|booking| (booking.id, booking)).collect();
        Self { pages: Mutex::new(Pages { bookings, keys: BTreeMap::new() }) }
    }
}

impl Bookings for MemoryBookings {
    fn find(&self, id: BookingId) -> Result<Option<Booking>, ReservoError> {
        Ok(self.pages().bookings.get(&id).cloned())
    }

    fn find_by_key(&self, key: &IdempotencyKey) -> Result<Option<(KeyUse, Booking)>, ReservoError> {
        Ok(self.pages().used(key).map(|(used_for, booking)| (used_for, booking.clone())))
    }

    fn find_overlap(&self, room: Room, slot: TimeSlot) -> Result<Option<Booking>, ReservoError> {
        Ok(self.pages().find_overlap(room, slot).cloned())
    }

    fn all(&self) -> Result<Vec<Booking>, ReservoError> {
        Ok(self.pages().bookings.values().cloned().collect())
    }

    fn insert(&self, new: NewBooking, key: &IdempotencyKey) -> Result<Booking, ReservoError> {
        let mut pages = self.pages();
        if let Some((used_for, booking)) = pages.used(key) {
            return new.repeats(key, used_for, booking);
        }
        if let Some(taken) = pages.find_overlap(new.room, new.slot) {
            return Err(new.meets(taken));
        }
        let id = BookingId(pages.bookings.last_key_value().map_or(0, |(last, _)| last.0) + 1);
        let booking = new.under(id);
        pages.bookings.insert(id, booking.clone());
        pages.keys.insert(key.clone(), (KeyUse::Book, id));
        Ok(booking)
    }

    fn cancel(
        &self,
        id: BookingId,
        refund: Cents,
        key: &IdempotencyKey,
    ) -> Result<CancelReceipt, ReservoError> {
        let mut pages = self.pages();
        let receipt = Booking::cancellation(id, pages.bookings.get(&id), refund, key, pages.used(key))?;
        if let Some(booking) = pages.bookings.get_mut(&id) {
            booking.state = BookingState::Cancelled { refund_cents: receipt.refund_cents };
        }
        pages.keys.insert(key.clone(), (KeyUse::Cancel, id));
        Ok(receipt)
    }
}

impl Pages {
    fn used(&self, key: &IdempotencyKey) -> Option<(KeyUse, &Booking)> {
        let (used_for, id) = self.keys.get(key)?;
        Some((*used_for, self.bookings.get(id)?))
    }

    fn find_overlap(&self, room: Room, slot: TimeSlot) -> Option<&Booking> {
        self.bookings
            .values()
            .filter(|booking| booking.room == room && booking.state == BookingState::Booked)
            .filter(|booking| booking.slot.overlaps(slot))
            .min_by_key(|booking| booking.slot.start_hour)
    }
}
