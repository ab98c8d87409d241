//! The tables, the statements, and the steps of a ledger in one connection's transaction.

use std::fmt;

use reservo::booking::{BookingState, CancelReceipt, Customer, IdempotencyKey, KeyUse, NewBooking, TimeSlot};
use reservo::policy::OpeningHours;
use reservo::{Booking, BookingId, Cents, Hours, ReservoError, Room};
use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension as _, Row, named_params};

use crate::ledger::LedgerError;

/// The tables.
const NAMES: [&str; 3] = ["reservo_ledger", "reservo_bookings", "reservo_keys"];

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

/// A row that no ledger writes: somebody has written to the file past it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRow {
    /// The booking's number, as it stands there. One in the range of a [`BookingId`] may be a booking's.
    pub booking: i64,
    /// The key, where it is the row of one.
    pub key: Option<IdempotencyKey>,
    /// The first column that cannot be read.
    pub column: &'static str,
    /// Why not.
    pub why: String,
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { booking, key, column, why } = self;
        match key {
            None => write!(f, "the {column} of booking {booking} cannot be read: {why}"),
            Some(key) => write!(f, "the {column} of the key {:?} cannot be read: {why}", key.0),
        }
    }
}

/// All that is in a ledger, whatever it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The bookings that can be read, in the order of their ids.
    pub bookings: Vec<Booking>,
    /// The keys that can be read, in their order.
    pub keys: Vec<UsedKey>,
    /// The rows that cannot be read.
    pub bad: Vec<BadRow>,
}

/// What an error of SQLite's means for who wants a room.
pub(crate) fn unreachable(error: rusqlite::Error) -> ReservoError {
    ReservoError::LedgerUnreachable { value: error.to_string() }
}

/// What a row that cannot be read means for who wants a room that it may have.
fn unreadable(bad: BadRow) -> ReservoError {
    ReservoError::LedgerUnreachable { value: bad.to_string() }
}

pub(crate) struct Pages<'a>(pub(crate) &'a Connection);

impl Pages<'_> {
    /// Makes the tables where there are none, and refuses those of another release.
    pub(crate) fn open(&self) -> Result<(), LedgerError> {
        if !self.are_there()? {
            self.0.execute_batch(TABLES)?;
            self.0.execute("INSERT INTO reservo_ledger VALUES (?1)", [VERSION])?;
        }
        Ok(())
    }

    /// Whether there are tables. Those of another release are refused, and those of which one is gone.
    pub(crate) fn are_there(&self) -> Result<bool, LedgerError> {
        let mut look =
            self.0.prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1")?;
        let mut lost = Vec::new();
        for name in NAMES {
            if !look.exists([name])? {
                lost.push(name);
            }
        }
        match lost.first() {
            None => self.check().map(|()| true),
            Some(_) if lost.len() == NAMES.len() => Ok(false),
            Some(name) => Err(LedgerError::Altered { what: format!("the table {name} is not there") }),
        }
    }

    fn check(&self) -> Result<(), LedgerError> {
        let version = self.0.query_row("SELECT version FROM reservo_ledger", (), |row| row.get(0));
        match version.optional()? {
            Some(VERSION) => Ok(()),
            Some(found) => Err(LedgerError::UnknownVersion { found, known: VERSION }),
            None => Err(LedgerError::Altered { what: "the table reservo_ledger has no version".to_owned() }),
        }
    }

    /// Whether anything was ever booked.
    pub(crate) fn is_begun(&self) -> rusqlite::Result<bool> {
        self.0.prepare_cached("SELECT 1 FROM reservo_bookings")?.exists(())
    }

    /// All rows, each read by itself.
    pub(crate) fn contents(&self) -> rusqlite::Result<Contents> {
        let mut contents = Contents::default();
        let mut statement = self.0.prepare_cached("SELECT * FROM reservo_bookings ORDER BY id")?;
        for row in statement.query_map((), |row| Ok(booking(row)))? {
            match row? {
                Ok(booking) => contents.bookings.push(booking),
                Err(bad) => contents.bad.push(bad),
            }
        }
        let mut statement = self.0.prepare_cached("SELECT * FROM reservo_keys ORDER BY key")?;
        for row in statement.query_map((), |row| Ok(used_key(row)))? {
            match row? {
                Ok(used) => contents.keys.push(used),
                Err(bad) => contents.bad.push(bad),
            }
        }
        Ok(contents)
    }

    pub(crate) fn find(&self, id: BookingId) -> Result<Option<Booking>, ReservoError> {
        self.one("SELECT * FROM reservo_bookings WHERE id = :id", named_params! {":id": id.number()})
    }

    pub(crate) fn used(&self, key: &IdempotencyKey) -> Result<Option<(KeyUse, Booking)>, ReservoError> {
        let read = |row: &Row<'_>| Ok(used_key(row).and_then(|used| Ok((used.used_for, booking(row)?))));
        let find = || {
            self.0
                .prepare_cached(
                    "SELECT * FROM reservo_keys JOIN reservo_bookings ON id = booking WHERE key = :key",
                )?
                .query_row(named_params! {":key": key.0}, read)
                .optional()
        };
        find().map_err(unreachable)?.transpose().map_err(unreadable)
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
        let Contents { bookings, bad, .. } = self.contents().map_err(unreachable)?;
        bad.into_iter().find(|bad| bad.key.is_none()).map_or(Ok(bookings), |bad| Err(unreadable(bad)))
    }

    pub(crate) fn keys(&self) -> Result<Vec<UsedKey>, ReservoError> {
        let Contents { keys, bad, .. } = self.contents().map_err(unreachable)?;
        bad.into_iter().find(|bad| bad.key.is_some()).map_or(Ok(keys), |bad| Err(unreadable(bad)))
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
        // A number that is none of a booking is somebody else's writing.
        let mut statement = self.0.prepare_cached(
            "SELECT ifnull(max(id), 0) + 1 FROM reservo_bookings WHERE id BETWEEN 0 AND 4294967294",
        )?;
        statement.query_row((), |row| row.get(0)).map(BookingId::new)
    }

    fn one(
        &self,
        statement: &str,
        values: &[(&str, &dyn rusqlite::ToSql)],
    ) -> Result<Option<Booking>, ReservoError> {
        let read = |row: &Row<'_>| Ok(booking(row));
        let find = || self.0.prepare_cached(statement)?.query_row(values, read).optional();
        find().map_err(unreachable)?.transpose().map_err(unreadable)
    }
}

const fn word(used_for: KeyUse) -> &'static str {
    match used_for {
        KeyUse::Book => "book",
        KeyUse::Cancel => "cancel",
    }
}

/// The house closes when it likes; a booking that was made when it closed later is one all the same.
const ANY_HOUR: OpeningHours = OpeningHours { opens: 0, closes: 24 };

fn used_key(row: &Row<'_>) -> Result<UsedKey, BadRow> {
    let text: String = value(row, "key").unwrap_or_default();
    let bad = |column, why| BadRow {
        booking: row.get("booking").unwrap_or_default(),
        key: Some(IdempotencyKey(text.clone())),
        column,
        why,
    };
    let key = IdempotencyKey(value(row, "key").map_err(|why| bad("key", why))?);
    let used_for: String = value(row, "used_for").map_err(|why| bad("used_for", why))?;
    let used_for = [KeyUse::Book, KeyUse::Cancel]
        .into_iter()
        .find(|known| word(*known) == used_for)
        .ok_or_else(|| bad("used_for", format!("{used_for:?} is nothing that a key is used for")))?;
    let booking = BookingId::new(value(row, "booking").map_err(|why| bad("booking", why))?);
    Ok(UsedKey { key, used_for, booking })
}

fn booking(row: &Row<'_>) -> Result<Booking, BadRow> {
    read_booking(row).map_err(|(column, why)| BadRow {
        booking: row.get("id").unwrap_or_default(),
        key: None,
        column,
        why,
    })
}

/// The booking, or the first column that cannot be read and why.
fn read_booking(row: &Row<'_>) -> Result<Booking, (&'static str, String)> {
    let id = BookingId::new(column(row, "id", Ok::<u32, ReservoError>)?);
    let room = column(row, "room", |text: String| text.parse())?;
    let plan = column(row, "plan", |text: String| text.parse())?;
    let date = column(row, "date", |text: String| text.parse())?;
    let hours = column(row, "hours", Hours::new)?;
    let slot = column(row, "start_hour", |start| TimeSlot::new(date, start, hours, ANY_HOUR))?;
    let customer = column(row, "customer", |text: String| Customer::new(&text))?;
    let total_cents = column(row, "total_cents", |cents| Ok::<_, ReservoError>(Cents(cents)))?;
    let state =
        column(row, "refund_cents", |refund: Option<i64>| {
            Ok::<_, ReservoError>(refund.map_or(BookingState::Booked, |refund| BookingState::Cancelled {
                refund_cents: Cents(refund),
            }))
        })?;
    Ok(Booking { id, room, plan, slot, customer, total_cents, state })
}

fn column<T: FromSql, V>(
    row: &Row<'_>,
    name: &'static str,
    read: impl FnOnce(T) -> Result<V, ReservoError>,
) -> Result<V, (&'static str, String)> {
    let found = value(row, name).map_err(|why| (name, why))?;
    read(found).map_err(|why| (name, why.to_string()))
}

fn value<T: FromSql>(row: &Row<'_>, name: &str) -> Result<T, String> {
    row.get(name).map_err(|error| match error {
        rusqlite::Error::FromSqlConversionFailure(.., why) => why.to_string(),
        rusqlite::Error::IntegralValueOutOfRange(_, number) => format!("{number} is out of range"),
        other => other.to_string(),
    })
}
