//! The tables, the statements, and the steps of a ledger in one connection's transaction.

use reservo::booking::{BookingState, CancelReceipt, Customer, IdempotencyKey, KeyUse, NewBooking, TimeSlot};
use reservo::policy::OpeningHours;
use reservo::{Booking, BookingId, Cents, Hours, ReservoError, Room};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, named_params};

use crate::ledger::LedgerError;

/// The version of the tables.
const VERSION: i64 = 1;

/// A booking stands as long as nothing was given back for it, not even nothing.
const TABLES: &str = "
CREATE TABLE reservo_ledger (version INTEGER NOT NULL) STRICT;
CREATE TABLE reservo_bookings (
    id INTEGER PRIMARY KEY,
    room TEXT NOT NULL,
    plan TEXT NOT NULL,
    date TEXT NOT NULL,
    start_hour INTEGER NOT NULL,
    hours INTEGER NOT NULL,
    customer TEXT NOT NULL,
    total_cents INTEGER NOT NULL,
    refund_cents INTEGER
) STRICT;
CREATE INDEX reservo_bookings_by_day ON reservo_bookings (room, date);
CREATE TABLE reservo_keys (
    key TEXT PRIMARY KEY,
    used_for TEXT NOT NULL,
    booking INTEGER NOT NULL REFERENCES reservo_bookings (id)
) STRICT, WITHOUT ROWID;
";

/// A key that was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedKey {
    /// The key.
    pub key: IdempotencyKey,
    /// For what.
    pub used_for: KeyUse,
    /// On which booking.
    pub booking: BookingId,
}

/// What an error of SQLite's means for who wants a room.
pub(crate) fn unreachable(error: rusqlite::Error) -> ReservoError {
    ReservoError::LedgerUnreachable { value: error.to_string() }
}

pub(crate) struct Pages<'a>(pub(crate) &'a Connection);

impl Pages<'_> {
    /// Makes the tables where there are none, and refuses those of another release.
    pub(crate) fn open(&self) -> Result<(), LedgerError> {
        if !self.are_there()? {
            self.0.execute_batch(TABLES)?;
            self.0.execute("INSERT INTO reservo_ledger VALUES (?1)", [VERSION])?;
        }
        self.check()
    }

    /// Whether there are tables.
    pub(crate) fn are_there(&self) -> rusqlite::Result<bool> {
        let look = "SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'reservo_ledger'";
        self.0.query_row(look, (), |row| row.get(0))
    }

    /// Refuses tables of another release.
    pub(crate) fn check(&self) -> Result<(), LedgerError> {
        let found = self.0.query_row("SELECT version FROM reservo_ledger", (), |row| row.get(0))?;
        if found == VERSION { Ok(()) } else { Err(LedgerError::UnknownVersion { found, known: VERSION }) }
    }

    pub(crate) fn find(&self, id: BookingId) -> Result<Option<Booking>, ReservoError> {
        self.one("SELECT * FROM reservo_bookings WHERE id = :id", named_params! {":id": id.number()})
    }

    pub(crate) fn used(&self, key: &IdempotencyKey) -> Result<Option<(KeyUse, Booking)>, ReservoError> {
        let read = |row: &Row<'_>| Ok((used_for(row)?, booking(row)?));
        let find = || {
            self.0
                .prepare_cached(
                    "SELECT * FROM reservo_keys JOIN reservo_bookings ON id = booking WHERE key = :key",
                )?
                .query_row(named_params! {":key": key.0}, read)
                .optional()
        };
        find().map_err(unreachable)
    }

    pub(crate) fn overlap(&self, room: Room, slot: TimeSlot) -> Result<Option<Booking>, ReservoError> {
        self.one(
            "SELECT * FROM reservo_bookings
             WHERE room = :room AND date = :date AND refund_cents IS NULL
                 AND start_hour < :end AND :start < start_hour + hours
             ORDER BY start_hour, id LIMIT 1",
            named_params! {
                ":room": room.name(),
                ":date": slot.date().to_string(),
                ":start": slot.start_hour(),
                ":end": slot.end_hour(),
            },
        )
    }

    pub(crate) fn all(&self) -> Result<Vec<Booking>, ReservoError> {
        let read = || {
            let mut statement = self.0.prepare_cached("SELECT * FROM reservo_bookings ORDER BY id")?;
            statement.query_map((), booking)?.collect::<rusqlite::Result<_>>()
        };
        read().map_err(unreachable)
    }

    pub(crate) fn keys(&self) -> Result<Vec<UsedKey>, ReservoError> {
        let used = |row: &Row<'_>| {
            let key = IdempotencyKey(row.get("key")?);
            Ok(UsedKey { key, used_for: used_for(row)?, booking: BookingId::new(row.get("booking")?) })
        };
        let read = || {
            let mut statement = self.0.prepare_cached("SELECT * FROM reservo_keys ORDER BY key")?;
            statement.query_map((), used)?.collect::<rusqlite::Result<_>>()
        };
        read().map_err(unreachable)
    }

    pub(crate) fn insert(&self, new: NewBooking, key: &IdempotencyKey) -> Result<Booking, ReservoError> {
        if let Some((used_for, booking)) = self.used(key)? {
            return new.repeats(key, used_for, &booking);
        }
        if let Some(taken) = self.overlap(new.room, new.slot)? {
            return Err(new.meets(&taken));
        }
        let booking = new.under(self.next_id().map_err(unreachable)?);
        self.write(&booking).map_err(unreachable)?;
        self.write_key(key, KeyUse::Book, booking.id).map_err(unreachable)?;
        Ok(booking)
    }

    pub(crate) fn cancel(
        &self,
        id: BookingId,
        refund: Cents,
        key: &IdempotencyKey,
    ) -> Result<CancelReceipt, ReservoError> {
        let (found, used) = (self.find(id)?, self.used(key)?);
        let used_for = used.as_ref().map(|(used_for, booking)| (*used_for, booking));
        let receipt = Booking::cancellation(id, found.as_ref(), refund, key, used_for)?;
        if used.is_none() {
            self.mark_cancelled(id, receipt.refund_cents).map_err(unreachable)?;
            self.write_key(key, KeyUse::Cancel, id).map_err(unreachable)?;
        }
        Ok(receipt)
    }

    /// Writes a booking down as it is.
    pub(crate) fn write(&self, booking: &Booking) -> rusqlite::Result<()> {
        let refund = match booking.state {
            BookingState::Booked => None,
            BookingState::Cancelled { refund_cents } => Some(refund_cents.0),
        };
        let mut statement = self.0.prepare_cached(
            "INSERT INTO reservo_bookings VALUES
                 (:id, :room, :plan, :date, :start_hour, :hours, :customer, :total_cents, :refund_cents)",
        )?;
        let values = named_params! {
            ":id": booking.id.number(),
            ":room": booking.room.name(),
            ":plan": booking.plan.name(),
            ":date": booking.slot.date().to_string(),
            ":start_hour": booking.slot.start_hour(),
            ":hours": booking.slot.hours().get(),
            ":customer": booking.customer.name(),
            ":total_cents": booking.total_cents.0,
            ":refund_cents": refund,
        };
        statement.execute(values).map(drop)
    }

    fn write_key(&self, key: &IdempotencyKey, used_for: KeyUse, booking: BookingId) -> rusqlite::Result<()> {
        let mut statement =
            self.0.prepare_cached("INSERT INTO reservo_keys VALUES (:key, :used_for, :booking)")?;
        let values = named_params! {":key": key.0, ":used_for": word(used_for), ":booking": booking.number()};
        statement.execute(values).map(drop)
    }

    fn mark_cancelled(&self, id: BookingId, refund: Cents) -> rusqlite::Result<()> {
        let mut statement =
            self.0.prepare_cached("UPDATE reservo_bookings SET refund_cents = :refund WHERE id = :id")?;
        statement.execute(named_params! {":refund": refund.0, ":id": id.number()}).map(drop)
    }

    fn next_id(&self) -> rusqlite::Result<BookingId> {
        let mut statement = self.0.prepare_cached("SELECT ifnull(max(id), 0) + 1 FROM reservo_bookings")?;
        statement.query_row((), |row| row.get(0)).map(BookingId::new)
    }

    fn one(
        &self,
        statement: &str,
        values: &[(&str, &dyn rusqlite::ToSql)],
    ) -> Result<Option<Booking>, ReservoError> {
        let find = || self.0.prepare_cached(statement)?.query_row(values, booking).optional();
        find().map_err(unreachable)
    }
}

const fn word(used_for: KeyUse) -> &'static str {
    match used_for {
        KeyUse::Book => "book",
        KeyUse::Cancel => "cancel",
    }
}

fn used_for(row: &Row<'_>) -> rusqlite::Result<KeyUse> {
    match row.get::<_, String>("used_for")? {
        text if text == word(KeyUse::Book) => Ok(KeyUse::Book),
        text if text == word(KeyUse::Cancel) => Ok(KeyUse::Cancel),
        text => Err(foreign(format!("a key is used for {text:?}").into())),
    }
}

/// The house closes when it likes; a booking that was made when it closed later is one all the same.
const ANY_HOUR: OpeningHours = OpeningHours { opens: 0, closes: 24 };

fn booking(row: &Row<'_>) -> rusqlite::Result<Booking> {
    let text = |column: &str| row.get::<_, String>(column);
    let refund: Option<i64> = row.get("refund_cents")?;
    let hours = Hours::new(row.get("hours")?).map_err(wrong)?;
    let date = text("date")?.parse().map_err(wrong)?;
    Ok(Booking {
        id: BookingId::new(row.get("id")?),
        room: text("room")?.parse().map_err(wrong)?,
        plan: text("plan")?.parse().map_err(wrong)?,
        slot: TimeSlot::new(date, row.get("start_hour")?, hours, ANY_HOUR).map_err(wrong)?,
        customer: Customer::new(&text("customer")?).map_err(wrong)?,
        total_cents: Cents(row.get("total_cents")?),
        state: refund
            .map_or(BookingState::Booked, |refund| BookingState::Cancelled { refund_cents: Cents(refund) }),
    })
}

/// A value that no ledger writes.
fn wrong(error: ReservoError) -> rusqlite::Error {
    foreign(Box::new(error))
}

fn foreign(error: Box<dyn std::error::Error + Send + Sync>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, error)
}
