//! The ledger within a transaction that somebody else ends.

use std::fmt;

use reservo::booking::{CancelReceipt, IdempotencyKey, KeyUse, NewBooking, TimeSlot};
use reservo::{Booking, BookingId, Bookings, Cents, ReservoError, Room};
use rusqlite::Connection;

use crate::pages::{Pages, unreachable};

pub(crate) struct Within<'a>(pub(crate) &'a Connection);

impl fmt::Debug for Within<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Within")
    }
}

impl Within<'_> {
    /// Whoever ends the transaction may commit it after an error of one step, so a step is whole by itself.
    fn step<T>(&self, act: impl FnOnce(&Pages<'_>) -> Result<T, ReservoError>) -> Result<T, ReservoError> {
        // After some errors SQLite undoes the whole transaction. What is written then would be committed by itself.
        if self.0.is_autocommit() {
            let value = "the transaction has been undone".to_owned();
            return Err(ReservoError::LedgerUnreachable { value });
        }
        self.run("SAVEPOINT reservo")?;
        match act(&Pages(self.0)) {
            Ok(done) => {
                self.run("RELEASE reservo")?;
                Ok(done)
            }
            Err(error) => {
                if !self.0.is_autocommit() {
                    self.run("ROLLBACK TO reservo; RELEASE reservo")?;
                }
                Err(error)
            }
        }
    }

    fn run(&self, statements: &str) -> Result<(), ReservoError> {
        self.0.execute_batch(statements).map_err(unreachable)
    }
}

impl Bookings for Within<'_> {
    fn find(&self, id: BookingId) -> Result<Option<Booking>, ReservoError> {
        Pages(self.0).find(id)
    }

    fn find_by_key(&self, key: &IdempotencyKey) -> Result<Option<(KeyUse, Booking)>, ReservoError> {
        Pages(self.0).used(key)
    }

    fn find_overlap(&self, room: Room, slot: TimeSlot) -> Result<Option<Booking>, ReservoError> {
        Pages(self.0).overlap(room, slot)
    }

    fn all(&self) -> Result<Vec<Booking>, ReservoError> {
        Pages(self.0).all()
    }

    fn insert(&self, booking: NewBooking, key: &IdempotencyKey) -> Result<Booking, ReservoError> {
        self.step(|pages| pages.insert(booking, key))
    }

    fn cancel(
        &self,
        id: BookingId,
        refund: Cents,
        key: &IdempotencyKey,
    ) -> Result<CancelReceipt, ReservoError> {
        self.step(|pages| pages.cancel(id, refund, key))
    }
}
