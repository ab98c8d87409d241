//! The statements, and what SQLite's errors mean for a journal.

use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Row as SqlRow, named_params};

use sommelier_runner::journal::{
    Claim, Damage, Epoch, Event, Finding, Hash, Head, Heads, JournalError, LateResult, Record,
};

use crate::record::Row;
use crate::rules::{Holder, Tail, name_of};

/// A conversation's number in the tables.
pub(super) type Id = Option<i64>;

/// What an error of SQLite's means. Most are beyond what a caller can do anything about.
pub(super) fn told(error: rusqlite::Error) -> JournalError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => JournalError::Full,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => JournalError::Busy,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            JournalError::Malformed(error.to_string())
        }
        _ => JournalError::Broken(error.to_string()),
    }
}

/// What an error of SQLite's means where one conversation is read: a value that is none of ours, or a page that is damaged,
/// is damage to that conversation, and does not keep anybody from the others.
fn told_of(conversation: &str, seq: u64, error: rusqlite::Error) -> JournalError {
    if !is_damage(&error) {
        return told(error);
    }
    let damage = Damage::Unreadable(error.to_string());
    JournalError::Damaged(Finding { conversation: conversation.to_owned(), seq, damage })
}

/// Is it about what is in the file, and not about reading it? Then it keeps nobody from the rest.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code().is_none_or(|code| code == ErrorCode::DatabaseCorrupt)
}

/// The number and the tail of a conversation; none and an empty tail if it has not begun.
pub(super) fn tail(connection: &Connection, conversation: &str) -> Result<(Id, Tail), JournalError> {
    let mut statement = connection
        .prepare_cached(
            "SELECT id, seq, hash, epoch, owner, term, until FROM main.conversations WHERE name = :name",
        )
        .map_err(told)?;
    let read = |row: &SqlRow<'_>| {
        let owner: Option<String> = row.get("owner")?;
        let epoch = Epoch::new(number(row, "epoch")?);
        let term = number(row, "term")?;
        let until = number(row, "until")?;
        let holder = owner.map(|owner| Holder { owner, epoch, term, until });
        let head = Head { seq: number(row, "seq")?, hash: hash(row, "hash")? };
        Ok((row.get("id")?, Tail { head, holder }))
    };
    let found = statement
        .query_row(named_params! {":name": conversation}, read)
        .optional()
        .map_err(|error| told_of(conversation, 1, error))?;
    Ok(found.map_or((None, Tail::START), |(id, tail)| (Some(id), tail)))
}

/// The batch and the hash of a record.
pub(super) fn at(
    connection: &Connection,
    id: Id,
    conversation: &str,
    seq: u64,
) -> Result<Option<(Hash, Hash)>, JournalError> {
    let mut statement = connection
        .prepare_cached("SELECT batch, hash FROM main.events WHERE conversation = :id AND seq = :seq")
        .map_err(told)?;
    let read = |row: &SqlRow<'_>| Ok((hash(row, "batch")?, hash(row, "hash")?));
    statement
        .query_row(named_params! {":id": id, ":seq": signed(seq)}, read)
        .optional()
        .map_err(|error| told_of(conversation, seq, error))
}

/// Each row of a conversation in order, or what SQLite says instead of it, until told to stop.
pub(super) fn each(
    connection: &Connection,
    id: Id,
    conversation: &str,
    mut next: impl FnMut(Result<Row, String>) -> bool,
) -> Result<(), JournalError> {
    let mut statement = connection
        .prepare_cached(
            "SELECT seq, epoch, kind, version, at, body, prev_hash, hash, batch FROM main.events
             WHERE conversation = :id ORDER BY seq",
        )
        .map_err(told)?;
    let mut rows = statement.query(named_params! {":id": id}).map_err(told)?;
    loop {
        let row = match rows.next() {
            Ok(Some(row)) => read(row, conversation).map_err(|error| error.to_string()),
            Ok(None) => return Ok(()),
            // A page that is damaged is a finding. Anything else keeps nobody from reading again.
            Err(error) if is_damage(&error) => {
                next(Err(error.to_string()));
                return Ok(());
            }
            Err(error) => return Err(told(error)),
        };
        let readable = row.is_ok();
        if !next(row) || !readable {
            return Ok(());
        }
    }
}

/// The names of all conversations, in order.
pub(super) fn names(connection: &Connection) -> Result<Vec<String>, JournalError> {
    let mut statement =
        connection.prepare_cached("SELECT name FROM main.conversations ORDER BY name").map_err(told)?;
    let names = statement.query_map((), |row| row.get("name")).map_err(told)?;
    names.collect::<rusqlite::Result<_>>().map_err(told)
}

/// The last record of each conversation, where it can be read.
pub(super) fn newest(connection: &Connection) -> Result<Vec<Record>, JournalError> {
    let mut statement = connection
        .prepare_cached(
            "SELECT seq, epoch, kind, version, at, body, prev_hash, hash, batch FROM main.events
             WHERE conversation = (SELECT id FROM main.conversations WHERE name = :name)
             ORDER BY seq DESC LIMIT 1",
        )
        .map_err(told)?;
    let mut newest = Vec::new();
    for name in names(connection)? {
        match statement.query_row(named_params! {":name": name}, |row| read(row, &name)).optional() {
            Ok(row) => newest.extend(row.map(|row| row.record)),
            Err(error) if is_damage(&error) => {}
            Err(error) => return Err(told(error)),
        }
    }
    Ok(newest)
}

/// What was said too late, in order.
pub(super) fn late(connection: &Connection, conversation: &str) -> Result<Vec<LateResult>, JournalError> {
    let mut statement = connection
        .prepare_cached(
            "SELECT epoch, kind, version, at, body FROM main.late_results WHERE conversation = :name ORDER BY id",
        )
        .map_err(told)?;
    let read =
        |row: &SqlRow<'_>| Ok(LateResult { epoch: Epoch::new(number(row, "epoch")?), event: event(row)? });
    let late = statement.query_map(named_params! {":name": conversation}, read).map_err(told)?;
    late.zip(1..).map(|(late, nth)| late.map_err(|error| told_of(conversation, nth, error))).collect()
}

/// The first thing that was said too late and cannot be read, by its number among all, and what SQLite says.
pub(super) fn late_damage(connection: &Connection) -> Result<Option<(u64, String)>, JournalError> {
    let mut statement = connection
        .prepare_cached(
            "SELECT conversation, epoch, kind, version, at, body FROM main.late_results ORDER BY id",
        )
        .map_err(told)?;
    let mut rows = statement.query(()).map_err(told)?;
    for nth in 1.. {
        let read = rows
            .next()
            .and_then(|row| row.map(|row| row.get::<_, String>("conversation").and(event(row))).transpose());
        match read {
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(error) if is_damage(&error) => return Ok(Some((nth, error.to_string()))),
            Err(error) => return Err(told(error)),
        }
    }
    Ok(None)
}

/// Writes what was said too late.
pub(super) fn put_late(
    connection: &Connection,
    conversation: &str,
    late: &LateResult,
) -> Result<(), JournalError> {
    let mut statement = connection
        .prepare_cached(
            "INSERT INTO main.late_results (conversation, epoch, kind, version, at, body)
             VALUES (:conversation, :epoch, :kind, :version, :at, :body)",
        )
        .map_err(told)?;
    let values = named_params! {
        ":conversation": conversation,
        ":epoch": signed(late.epoch.get()),
        ":kind": late.event.kind(),
        ":version": late.event.version(),
        ":at": signed(late.event.at()),
        ":body": late.event.body(),
    };
    statement.execute(values).map(drop).map_err(told)
}

/// The conversation that has a name.
pub(super) fn claimed(connection: &Connection, name: &str) -> Result<Option<String>, JournalError> {
    let mut statement =
        connection.prepare_cached("SELECT conversation FROM main.claims WHERE name = :name").map_err(told)?;
    statement.query_row(named_params! {":name": name}, |row| row.get("conversation")).optional().map_err(told)
}

/// All names that are taken, in order, each with the conversation that has it.
pub(super) fn claims(connection: &Connection) -> Result<Vec<(String, String)>, JournalError> {
    read_claims(connection).map_err(told)
}

/// What SQLite says of names that cannot be read.
pub(super) fn claims_damage(connection: &Connection) -> Result<Option<String>, JournalError> {
    match read_claims(connection) {
        Ok(_) => Ok(None),
        Err(error) if is_damage(&error) => Ok(Some(error.to_string())),
        Err(error) => Err(told(error)),
    }
}

fn read_claims(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let mut statement =
        connection.prepare_cached("SELECT name, conversation FROM main.claims ORDER BY name")?;
    statement.query_map((), |row| Ok((row.get("name")?, row.get("conversation")?)))?.collect()
}

/// Does what a claim says, or tells who has the name.
pub(super) fn claim(connection: &Connection, conversation: &str, claim: &Claim) -> Result<(), JournalError> {
    let name = name_of(claim);
    let statement = match crate::rules::claimed(claim, conversation, claimed(connection, name)?)? {
        Some(by) => connection
            .prepare_cached("INSERT OR REPLACE INTO main.claims (name, conversation) VALUES (:name, :by)")
            .and_then(|mut statement| statement.execute(named_params! {":name": name, ":by": by})),
        None => connection
            .prepare_cached("DELETE FROM main.claims WHERE name = :name")
            .and_then(|mut statement| statement.execute(named_params! {":name": name})),
    };
    statement.map(drop).map_err(told)
}

/// Where each conversation ends.
pub(super) fn heads(connection: &Connection) -> Result<Heads, JournalError> {
    let head = |name: String| tail(connection, &name).map(|(_, tail)| (name, tail.head));
    names(connection)?.into_iter().map(head).collect()
}

/// Records of conversations that are not there: their number, and that of the first record.
pub(super) fn strays(connection: &Connection) -> Result<Vec<(i64, u64)>, JournalError> {
    let mut statement = connection
        .prepare_cached(
            "SELECT conversation, min(seq) AS seq FROM main.events
             WHERE conversation NOT IN (SELECT id FROM main.conversations) GROUP BY conversation",
        )
        .map_err(told)?;
    let strays =
        statement.query_map((), |row| Ok((row.get("conversation")?, number(row, "seq")?))).map_err(told)?;
    strays.collect::<rusqlite::Result<_>>().map_err(told)
}

/// Writes a conversation's tail, and gives the conversation a number if it has none.
pub(super) fn put_tail(
    connection: &Connection,
    conversation: &str,
    tail: &Tail,
) -> Result<i64, JournalError> {
    let mut statement = connection
        .prepare_cached(
            "INSERT INTO main.conversations (name, seq, hash, epoch, owner, term, until)
             VALUES (:name, :seq, :hash, :epoch, :owner, :term, :until)
             ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, epoch = excluded.epoch,
                 owner = excluded.owner, term = excluded.term, until = excluded.until
             RETURNING id",
        )
        .map_err(told)?;
    let holder = tail.holder.as_ref();
    let values = named_params! {
        ":name": conversation,
        ":seq": signed(tail.head.seq),
        ":hash": tail.head.hash.as_bytes(),
        ":epoch": signed(tail.epoch().get()),
        ":owner": holder.map(|holder| &holder.owner),
        ":term": signed(holder.map_or(0, |holder| holder.term)),
        ":until": signed(holder.map_or(0, |holder| holder.until)),
    };
    statement.query_row(values, |row| row.get(0)).map_err(told)
}

/// Writes a row.
pub(super) fn put(connection: &Connection, id: i64, row: &Row) -> Result<(), JournalError> {
    let mut statement = connection
        .prepare_cached(
            "INSERT INTO main.events (conversation, seq, epoch, kind, version, at, body, prev_hash, hash, batch)
             VALUES (:id, :seq, :epoch, :kind, :version, :at, :body, :prev_hash, :hash, :batch)",
        )
        .map_err(told)?;
    let record = &row.record;
    let values = named_params! {
        ":id": id,
        ":seq": signed(record.seq),
        ":epoch": signed(record.epoch.get()),
        ":kind": record.event.kind(),
        ":version": record.event.version(),
        ":at": signed(record.event.at()),
        ":body": record.event.body(),
        ":prev_hash": record.prev_hash.as_bytes(),
        ":hash": record.hash.as_bytes(),
        ":batch": row.batch.as_bytes(),
    };
    statement.execute(values).map(drop).map_err(told)
}

fn read(row: &SqlRow<'_>, conversation: &str) -> rusqlite::Result<Row> {
    let record = Record {
        conversation: conversation.to_owned(),
        seq: number(row, "seq")?,
        epoch: Epoch::new(number(row, "epoch")?),
        event: event(row)?,
        prev_hash: hash(row, "prev_hash")?,
        hash: hash(row, "hash")?,
    };
    Ok(Row { record, batch: hash(row, "batch")? })
}

fn event(row: &SqlRow<'_>) -> rusqlite::Result<Event> {
    Ok(Event::unchecked(row.get("kind")?, row.get("version")?, number(row, "at")?, row.get("body")?))
}

pub(super) fn hash(row: &SqlRow<'_>, column: &str) -> rusqlite::Result<Hash> {
    row.get::<_, [u8; 32]>(column).map(Hash::from_bytes)
}

/// A number that was written as a signed one. A negative one stands in no sound row; it becomes one that fits
/// nowhere.
pub(super) fn number(row: &SqlRow<'_>, column: &str) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(|number| u64::try_from(number).unwrap_or(u64::MAX))
}

/// Requests hold no number beyond 2^63 - 1.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
