//! The house as a whole.

use std::sync::Arc;

use crate::booking::{
    Booking, BookingId, BookingRequest, BookingState, BookingStatus, Bookings, CancelReceipt, IdempotencyKey,
    KeyUse, MemoryBookings, NewBooking, TimeSlot,
};
use crate::civil::DateTime;
use crate::error::ReservoError;
use crate::hours::Hours;
use crate::money::Cents;
use crate::plan::Plan;
use crate::policy::PolicyLibrary;
use crate::price::{Comparison, PriceList, PriceRow, Quote};
use crate::room::Room;
use crate::search::{self, Hit};

/// The house: its prices, its policies, its ledger and the time that its clock shows.
///
/// A clone shares the ledger. Every method works on a shared reference from any thread.
///
/// ```
/// use reservo::booking::{BookingRequest, Customer};
/// use reservo::{Hours, Plan, Reservo, Room};
///
/// let house = Reservo::new("2026-11-30T10:00".parse()?);
/// let booking = house.book(
///     BookingRequest {
///         room: Room::Focus,
///         plan: Plan::Pro,
///         date: "2026-12-01".parse()?,
///         start_hour: 9,
///         hours: Hours::new(3)?,
///         customer: Customer::new("Ada")?,
///     },
///     &"first".into(),
/// )?;
/// assert_eq!(booking.id.to_string(), "RSV-0001");
/// // 23 hours ahead: half is given back.
/// assert_eq!(house.cancel(booking.id, &"second".into())?.refund_cents.0, 3000);
/// # Ok::<(), reservo::ReservoError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reservo {
    /// What rooms cost.
    pub prices: PriceList,
    /// The policies.
    pub library: PolicyLibrary,
    /// The ledger.
    pub bookings: Arc<dyn Bookings + Send + Sync>,
    /// What the clock shows.
    pub now: DateTime,
}

impl Reservo {
    /// The house with its standard prices and policies and an empty ledger in memory.
    pub fn new(now: DateTime) -> Self {
        Self {
            prices: PriceList::standard(),
            library: PolicyLibrary::standard(),
            bookings: Arc::new(MemoryBookings::default()),
            now,
        }
    }

    /// What a room costs.
    pub fn quote(&self, room: Room, plan: Plan, hours: Hours) -> Quote {
        self.prices.quote(room, plan, hours)
    }

    /// Prices side by side, cheapest first.
    pub fn compare_prices(&self, wanted: &Comparison) -> Vec<PriceRow> {
        self.prices.compare(wanted)
    }

    /// The policy documents that speak of what `query` asks, best first; at most three.
    pub fn search_docs(&self, query: &str) -> Vec<Hit> {
        search::search_docs(&self.library, query)
    }

    /// Books a room. The same key with the same request returns the booking it made, also after the clock has moved on.
    ///
    /// # Errors
    /// [`ReservoError::OutsideOpeningHours`], [`ReservoError::StartInPast`], [`ReservoError::SlotTaken`],
    /// [`ReservoError::KeyReused`], [`ReservoError::LedgerUnreachable`].
    pub fn book(&self, request: BookingRequest, key: &IdempotencyKey) -> Result<Booking, ReservoError> {
        self.book_in(&*self.bookings, request, key)
    }

    /// Books a room in `ledger`, which is the house's own or that within a transaction.
    pub(crate) fn book_in(
        &self,
        ledger: &dyn Bookings,
        request: BookingRequest,
        key: &IdempotencyKey,
    ) -> Result<Booking, ReservoError> {
        let BookingRequest { room, plan, date, start_hour, hours, customer } = request;
        let slot = TimeSlot::new(date, start_hour, hours, self.library.hours)?;
        if slot.start() < self.now && ledger.find_by_key(key)?.is_none() {
            return Err(ReservoError::StartInPast { value: slot.start(), now: self.now });
        }
        let total_cents = self.quote(room, plan, hours).total_cents;
        ledger.insert(NewBooking { room, plan, slot, customer, total_cents }, key)
    }

    /// Cancels a booking and gives back what the cancellation policy says. The same key on the same booking returns the
    /// receipt of then. A booking that was cancelled before is what was wanted: the receipt says what was given back then,
    /// and that nothing was done now.
    ///
    /// # Errors
    /// [`ReservoError::UnknownBooking`], [`ReservoError::AlreadyStarted`], [`ReservoError::KeyReused`],
    /// [`ReservoError::LedgerUnreachable`].
    pub fn cancel(&self, id: BookingId, key: &IdempotencyKey) -> Result<CancelReceipt, ReservoError> {
        self.cancel_in(&*self.bookings, id, key)
    }

    /// Cancels a booking of `ledger`, which is the house's own or that within a transaction.
    pub(crate) fn cancel_in(
        &self,
        ledger: &dyn Bookings,
        id: BookingId,
        key: &IdempotencyKey,
    ) -> Result<CancelReceipt, ReservoError> {
        let booking =
            ledger.find(id)?.ok_or_else(|| ReservoError::UnknownBooking { value: id.to_string() })?;
        let start = booking.slot.start();
        let repeated = ledger.find_by_key(key)?.is_some_and(|(used_for, _)| used_for == KeyUse::Cancel);
        if start <= self.now && booking.state == BookingState::Booked && !repeated {
            return Err(ReservoError::AlreadyStarted { value: id, start, now: self.now });
        }
        match ledger.cancel(id, self.refund(&booking), key) {
            Err(ReservoError::AlreadyCancelled { value: booking_id, refund_cents }) => {
                let status = BookingStatus::AlreadyCancelled;
                Ok(CancelReceipt { booking_id, status, refund_cents })
            }
            done => done,
        }
    }

    /// What cancelling the booking now would give back.
    pub fn refund(&self, booking: &Booking) -> Cents {
        let percent = self.library.cancel.refund_percent(self.now.minutes_until(booking.slot.start()));
        // A total is at most eight times the dearest rate, so a percentage of it fits.
        booking.total_cents.checked_percent(percent).unwrap_or(Cents::ZERO)
    }
}
