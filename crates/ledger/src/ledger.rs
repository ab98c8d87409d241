//! The ledger, on a connection of its own.

use std::any::Any;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use reservo::booking::{CancelReceipt, IdempotencyKey, KeyUse, NewBooking, TimeSlot};
use reservo::{Booking, BookingId, Bookings, Cents, ReservoError, Room};
use rusqlite::{Connection, TransactionBehavior};
use sommelier_store::SqliteStore;
use thiserror::Error;

use crate::pages::{Contents, Pages, UsedKey, unreachable};
use crate::within::Within;

/// A ledger of bookings in the file of a journal.
///
/// Its clones in other processes and on other handles are the same ledger: what keeps rooms from being taken twice is
/// SQLite's lock. Outside of a transaction each step is a commit by itself, which waits for others as long as the store
/// does.
pub struct SqliteBookings {
    path: String,
    connection: Mutex<Connection>,
}

/// Why there is no ledger.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The ledger was written by another release.
    #[error("the ledger is of version {found}; this release knows version {known}")]
    UnknownVersion {
        /// Its version.
        found: i64,
        /// The version that is known here.
        known: i64,
    },
    /// The tables are not those that were made: somebody has written to the file past the ledger.
    #[error("the ledger is not as it was made: {what}")]
    Altered {
        /// What is not as it was.
        what: String,
    },
    /// SQLite refuses, with what it says.
    #[error("SQLite: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

impl fmt::Debug for SqliteBookings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteBookings").field("path", &self.path).finish_non_exhaustive()
    }
}

impl SqliteBookings {
    /// The ledger in the file of a store; a new and empty one where there is none yet.
    ///
    /// # Errors
    /// It is of another release, or SQLite refuses it.
    pub fn beside(store: &SqliteStore) -> Result<Self, LedgerError> {
        let mut connection = store.connection()?;
        // Whoever finds it there need not wait for those who write.
        if !Pages(&connection).are_there()? {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            Pages(&transaction).open()?;
            transaction.commit()?;
        }
        Ok(Self::on(connection))
    }

    /// The ledger in the file of a store; `None` where there is none. Nothing is written.
    ///
    /// # Errors
    /// It is of another release, or SQLite refuses it.
    pub fn find_beside(store: &SqliteStore) -> Result<Option<Self>, LedgerError> {
        let connection = store.connection()?;
        let is_there = Pages(&connection).are_there()?;
        Ok(is_there.then(|| Self::on(connection)))
    }

    fn on(connection: Connection) -> Self {
        Self { path: connection.path().unwrap_or_default().to_owned(), connection: Mutex::new(connection) }
    }

    /// Writes bookings down as they are, if the ledger has none and never had any. Tells whether it did.
    ///
    /// # Errors
    /// SQLite refuses it.
    pub fn begin_with(&self, bookings: impl IntoIterator<Item = Booking>) -> Result<bool, LedgerError> {
        let mut connection = self.connection();
        if Pages(&connection).is_begun()? {
            return Ok(false);
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let pages = Pages(&transaction);
        // Another process may have been faster.
        if pages.is_begun()? {
            return Ok(false);
        }
        bookings.into_iter().try_for_each(|booking| pages.write(&booking))?;
        transaction.commit()?;
        Ok(true)
    }

    /// All that is in it. A row that cannot be read hides no other: it is among [`Contents::bad`].
    ///
    /// # Errors
    /// SQLite refuses to read them.
    pub fn contents(&self) -> Result<Contents, LedgerError> {
        Ok(Pages(&self.connection()).contents()?)
    }

    /// The keys that were used, in their order: what to hold a journal against, beside [`all`](Bookings::all).
    ///
    /// # Errors
    /// [`ReservoError::LedgerUnreachable`].
    pub fn keys(&self) -> Result<Vec<UsedKey>, ReservoError> {
        Pages(&self.connection()).keys()
    }

    /// A step that panicked was undone as its transaction was dropped.
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is looked at and what is written is one transaction.
    fn step<T>(&self, act: impl FnOnce(&Pages<'_>) -> Result<T, ReservoError>) -> Result<T, ReservoError> {
        let mut connection = self.connection();
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(unreachable)?;
        let done = act(&Pages(&transaction))?;
        transaction.commit().map_err(unreachable)?;
        Ok(done)
    }
}

impl Bookings for SqliteBookings {
    fn find(&self, id: BookingId) -> Result<Option<Booking>, ReservoError> {
        Pages(&self.connection()).find(id)
    }

    fn find_by_key(&self, key: &IdempotencyKey) -> Result<Option<(KeyUse, Booking)>, ReservoError> {
        Pages(&self.connection()).used(key)
    }

    fn find_overlap(&self, room: Room, slot: TimeSlot) -> Result<Option<Booking>, ReservoError> {
        Pages(&self.connection()).overlap(room, slot)
    }

    fn all(&self) -> Result<Vec<Booking>, ReservoError> {
        Pages(&self.connection()).all()
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

    /// Within a transaction of `sommelier_store` on the same file. Into one of another file it does not write.
    fn within<'a>(&'a self, transaction: &'a dyn Any) -> Option<Box<dyn Bookings + 'a>> {
        let connection = transaction.downcast_ref::<Connection>()?;
        if connection.path() != Some(&*self.path) {
            return None;
        }
        Some(Box::new(Within(connection)))
    }
}
