//! Opening the file: whose it is, in which version, and how SQLite is to treat it.

use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use thiserror::Error;

use super::file_system::network_kind;
use super::options::Options;

/// "Somm", by which a file is known to be a journal of ours.
const APPLICATION_ID: i32 = 0x536F_6D6D;

/// The version of the tables.
const VERSION: i32 = STEPS.len() as i32;

/// The tables of the journal, which nobody else writes to.
pub(super) const OURS: [&str; 6] =
    ["conversations", "events", "late_results", "claims", "invitations", "refused_tokens"];

/// Tables whose rows have the types that they were declared with. A conversation is a number in the records,
/// so that their index stays small; what is hashed is its name.
const TABLES: &str = "
CREATE TABLE conversations (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    owner TEXT,
    term INTEGER NOT NULL,
    until INTEGER NOT NULL
) STRICT;
CREATE TABLE events (
    conversation INTEGER NOT NULL REFERENCES conversations (id),
    seq INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    body TEXT NOT NULL,
    prev_hash BLOB NOT NULL,
    hash BLOB NOT NULL,
    batch BLOB NOT NULL,
    PRIMARY KEY (conversation, seq)
) STRICT;
";

/// What version 2 has more than version 1. What came late stands beside the records, with the conversation's
/// name: nothing follows from it, and it is kept whatever becomes of them. It is rare and read by people, and so
/// has no index.
const SINCE_1: &str = "
CREATE TABLE late_results (
    id INTEGER PRIMARY KEY,
    conversation TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
";

/// What version 3 has more than version 2: the names that one conversation has at a time. What was begun before it was
/// brought up is not among them. And invitations, which name what they are to as what came late does: nothing in a record
/// follows from them, and of a token there is a hash.
const SINCE_2: &str = "
CREATE TABLE claims (
    name TEXT NOT NULL PRIMARY KEY,
    conversation TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE invitations (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    conversation TEXT NOT NULL,
    question TEXT NOT NULL,
    digest TEXT NOT NULL,
    whom TEXT,
    issued INTEGER NOT NULL,
    until INTEGER NOT NULL,
    hash BLOB NOT NULL,
    standing TEXT NOT NULL,
    since INTEGER NOT NULL
) STRICT;
CREATE TABLE refused_tokens (
    reason TEXT PRIMARY KEY,
    count INTEGER NOT NULL,
    last INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";

/// What makes a journal of each version out of one of the version before, an empty file being of version 0.
const STEPS: [&str; 3] = [TABLES, SINCE_1, SINCE_2];

/// Why a file was not opened. Nothing in it was changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file is no journal of ours.
    #[error("{} is no journal of Sommelier's (application id {found:#010x})", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The application id that it bears.
        found: i32,
    },
    /// There is no journal, and none was to be made: no file, or an empty one.
    #[error("there is no journal yet at {}", path.display())]
    Absent {
        /// The file.
        path: PathBuf,
    },
    /// The journal was written by a newer release.
    #[error("{} is a journal of version {found}; this release knows version {known}", path.display())]
    UnknownVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i32,
        /// The version that is known here.
        known: i32,
    },
    /// The journal's own tables are others than it made, or something hangs on them that it did not make: somebody has
    /// written to the file past it.
    #[error("{}: {what} is none of what the journal made there", path.display())]
    Altered {
        /// The file.
        path: PathBuf,
        /// What is not as it was made.
        what: String,
    },
    /// The name stands for a database in memory, which survives nothing. For that there is a store in memory.
    #[error("{name:?} names a database in memory, which would survive nothing")]
    InMemory {
        /// The name.
        name: String,
    },
    /// The file is on a file system over a network.
    #[error("{} is on a file system over a network ({kind}), where locks may not hold", path.display())]
    Network {
        /// The file.
        path: PathBuf,
        /// The kind of file system.
        kind: String,
    },
    /// SQLite cannot keep a log beside the file, without which readers would wait for the writer.
    #[error("the journal mode is `{found}` where `wal` was asked for")]
    NoLog {
        /// The mode that SQLite chose.
        found: String,
    },
    /// The file is locked by somebody else for longer than the store waits.
    #[error("the store is locked by somebody else")]
    Busy,
    /// SQLite refuses, with what it says.
    #[error("SQLite: {0}")]
    Sqlite(rusqlite::Error),
    /// The thread that is to write could not be started.
    #[error("the writer's thread cannot be started")]
    Thread(#[source] std::io::Error),
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        if is_busy(&error) { Self::Busy } else { Self::Sqlite(error) }
    }
}

/// The connection of the writer, to a file that is known to be ours.
pub(super) fn writable(path: &Path, options: &Options) -> Result<Connection, OpenError> {
    if matches!(path.to_str(), Some("" | ":memory:")) {
        return Err(OpenError::InMemory { name: path.display().to_string() });
    }
    if let Some(kind) = network_kind(path).filter(|_| !options.network) {
        return Err(OpenError::Network { path: path.to_owned(), kind });
    }
    if !options.makes
        && std::fs::metadata(path).map_or_else(|error| error.kind() == NotFound, |file| file.len() == 0)
    {
        return Err(OpenError::Absent { path: path.to_owned() });
    }
    let mut connection =
        connect(path, options, OpenFlags::SQLITE_OPEN_CREATE).map_err(|error| no_database(path, error))?;
    // Whose it is comes first: changing the mode would write to the file of somebody else. It is looked at in
    // one transaction, since another process may just be making it.
    let look = connection.transaction()?;
    let version = version(&look, path)?;
    look.finish()?;
    if version == 0 && !options.makes {
        return Err(OpenError::Absent { path: path.to_owned() });
    }
    if version < STEPS.len() {
        bring_up(&mut connection, path)?;
    }
    keep_a_log(&connection, options.busy)?;
    cap(&connection, options)?;
    Ok(connection)
}

/// A connection that writes to tables of others, to a file that the writer has opened.
pub(super) fn beside(path: &Path, options: &Options) -> rusqlite::Result<Connection> {
    let connection = connect(path, options, OpenFlags::empty())?;
    // The writer alone copies the log, since it alone tells of an error.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    cap(&connection, options)?;
    Ok(connection)
}

/// A connection that only reads, to a file that the writer has opened.
pub(super) fn readable(path: &Path, options: &Options) -> rusqlite::Result<Connection> {
    let connection = connect(path, options, OpenFlags::empty())?;
    connection.execute_batch("PRAGMA query_only = ON")?;
    Ok(connection)
}

fn connect(path: &Path, options: &Options, more: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    // A name is a name, whatever it begins with: SQLite reads one that begins with `file:` as an address with options.
    let connection = Connection::open_with_flags(Path::new(".").join(path), flags)?;
    connection.busy_timeout(options.busy)?;
    defend(&connection)?;
    // The writer copies the log by itself, so that an error of it is seen (`wal_autocheckpoint` hides it). On
    // systems of Apple's a sync reaches the disk only if it is told to be full.
    connection.execute_batch(
        "PRAGMA synchronous = FULL;
         PRAGMA foreign_keys = ON;
         PRAGMA trusted_schema = OFF;
         PRAGMA cell_size_check = ON;
         PRAGMA fullfsync = ON;
         PRAGMA checkpoint_fullfsync = ON;
         PRAGMA wal_autocheckpoint = 0;",
    )?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

/// Statements that would damage the file are refused.
pub(super) fn defend(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false).map(drop)
}

/// Each connection has a cap of its own.
fn cap(connection: &Connection, options: &Options) -> rusqlite::Result<()> {
    let Some(bytes) = options.max_bytes else { return Ok(()) };
    let page: u32 = connection.query_row("PRAGMA page_size", (), |row| row.get(0))?;
    let pages = (bytes / u64::from(page.max(1))).max(1);
    connection.query_row(&format!("PRAGMA max_page_count = {pages}"), (), |_| Ok(()))
}

/// The version of the journal in the file, 0 where there is nothing in it. It is an error if it is not ours.
fn version(connection: &Connection, path: &Path) -> Result<usize, OpenError> {
    let number = |pragma: &str| connection.query_row(pragma, (), |row| row.get::<_, i32>(0));
    let found = number("PRAGMA application_id").map_err(|error| no_database(path, error))?;
    if found == 0 && number("SELECT count(*) FROM sqlite_schema")? == 0 {
        return Ok(0);
    }
    if found != APPLICATION_ID {
        return Err(OpenError::Foreign { path: path.to_owned(), found });
    }
    let found = number("PRAGMA user_version")?;
    let Some(version) = usize::try_from(found).ok().filter(|version| (1..=STEPS.len()).contains(version))
    else {
        return Err(OpenError::UnknownVersion { path: path.to_owned(), found, known: VERSION });
    };
    check_tables(connection, path, version)?;
    Ok(version)
}

/// The journal's tables are as they were made, and nothing hangs on them that would write where the journal writes, or
/// keep it from it.
fn check_tables(connection: &Connection, path: &Path, version: usize) -> Result<(), OpenError> {
    let words = |text: &str| text.trim_end_matches(';').split_whitespace().collect::<Vec<_>>().join(" ");
    let tables = || STEPS.iter().take(version).flat_map(|step| step.split_inclusive(';'));
    let expected: Vec<String> =
        tables().map(|table| words(table.trim())).filter(|table| !table.is_empty()).collect();
    let mut statement =
        connection.prepare("SELECT name, tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL")?;
    let is_ours = |name: &String| OURS.iter().any(|ours| ours.eq_ignore_ascii_case(name));
    let mut rows = statement.query(())?;
    let mut lost: Vec<&str> = tables().filter_map(|table| table.split_whitespace().nth(2)).collect();
    while let Some(row) = rows.next()? {
        let (name, table, sql): (String, String, String) =
            (row.get("name")?, row.get("tbl_name")?, row.get("sql")?);
        if !is_ours(&name) && !is_ours(&table) {
            continue;
        }
        if !expected.contains(&words(&sql)) {
            return Err(OpenError::Altered { path: path.to_owned(), what: name });
        }
        lost.retain(|lost| *lost != name);
    }
    match lost.first() {
        None => Ok(()),
        Some(lost) => {
            Err(OpenError::Altered { path: path.to_owned(), what: format!("{lost}, which is not there,") })
        }
    }
}

/// Makes the tables that are not there yet, all of them or none.
fn bring_up(connection: &mut Connection, path: &Path) -> Result<(), OpenError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let version = version(&transaction, path)?;
    if version == 0 {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    for step in STEPS.iter().skip(version) {
        transaction.execute_batch(step)?;
    }
    if version < STEPS.len() {
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    Ok(transaction.commit()?)
}

/// Switches to a log of writes. SQLite does not wait for others by itself here.
fn keep_a_log(connection: &Connection, busy: Duration) -> Result<(), OpenError> {
    let start = Instant::now();
    loop {
        let found = connection.query_row("PRAGMA journal_mode = WAL", (), |row| row.get::<_, String>(0));
        match found {
            Ok(found) if found == "wal" => return Ok(()),
            Ok(found) => return Err(OpenError::NoLog { found }),
            Err(error) if is_busy(&error) && start.elapsed() < busy => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn no_database(path: &Path, error: rusqlite::Error) -> OpenError {
    if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) {
        return OpenError::Foreign { path: path.to_owned(), found: 0 };
    }
    error.into()
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
