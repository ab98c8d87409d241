//! A ledger of bookings in the journal's own file.

use std::any::Any;

use rusqlite::{Connection, OptionalExtension, params};
use sommelier_runtime::tool::Failure;

/// A row of the ledger. Nothing in the table keeps a row from standing there twice: that is what is to be seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// The idempotency key of the call that wrote it.
    pub key: String,
    /// `book` or `cancel`.
    pub act: String,
    /// The booking.
    pub booking: String,
}

pub(crate) fn prepare(connection: &Connection) {
    connection
        .execute_batch("CREATE TABLE IF NOT EXISTS ledger (key TEXT NOT NULL, act TEXT NOT NULL, booking TEXT NOT NULL) STRICT")
        .unwrap();
}

/// Writes a row in the transaction that a tool was handed, and nowhere else.
pub(crate) fn write(
    transaction: Option<&dyn Any>,
    key: &str,
    act: &str,
    booking: &str,
) -> Result<(), Failure> {
    let connection = transaction.and_then(|transaction| transaction.downcast_ref::<Connection>());
    let connection =
        connection.ok_or(Failure::new("no_transaction", "there is no transaction of the journal"))?;
    connection.execute("INSERT INTO ledger VALUES (?1, ?2, ?3)", params![key, act, booking]).unwrap();
    Ok(())
}

pub(crate) fn rows(connection: &Connection) -> Vec<Row> {
    let known = connection
        .query_row("SELECT 1 FROM sqlite_schema WHERE name = 'ledger'", (), |_| Ok(()))
        .optional()
        .unwrap();
    if known.is_none() {
        return Vec::new();
    }
    let mut statement = connection.prepare("SELECT key, act, booking FROM ledger ORDER BY rowid").unwrap();
    let row = |row: &rusqlite::Row<'_>| Ok(Row { key: row.get(0)?, act: row.get(1)?, booking: row.get(2)? });
    statement.query_map((), row).unwrap().map(Result::unwrap).collect()
}
