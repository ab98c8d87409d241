//! Works: the transactions in which callers write to tables of their own, beside the events that tell of it.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use sommelier_runner::journal::{Appended, Epoch, Event, JournalError, Undone, Unfit, Work};

use super::open::{self, OURS, defend};
use super::options::Options;
use super::rows::{self, told};
use super::shared::Shared;
use super::writer::{put, read_only};
use crate::health::locked;
use crate::work::done;

/// Works are done on the threads of their callers, one at a time, on a connection that the appends do not use:
/// what a work leaves behind in one is no matter to them.
pub(super) struct Works {
    path: PathBuf,
    options: Options,
    shared: Arc<Shared>,
    idle: Mutex<Option<Bench>>,
}

/// Where a work goes, and on what condition.
pub(super) struct Place<'a> {
    pub(super) conversation: &'a str,
    pub(super) expected_seq: u64,
    pub(super) epoch: Epoch,
}

impl Works {
    pub(super) fn new(path: &Path, options: &Options, shared: Arc<Shared>) -> Self {
        Self { path: path.to_owned(), options: options.clone(), shared, idle: Mutex::default() }
    }

    pub(super) fn append(&self, place: &Place<'_>, work: &mut Work<'_>) -> Result<Appended, JournalError> {
        let health = &self.shared.health;
        Unfit::check_name(place.conversation)?;
        health.check_writable(place.conversation)?;
        let turn = self.shared.enter()?;
        health.check()?;
        self.shared.check_place().map_err(|error| health.note(error))?;
        let mut bench = self.bench().map_err(|error| health.note(error))?;
        let appended = bench.append(place, work, &self.shared).map_err(|error| health.note(error));
        drop(turn);
        self.put_back(bench, &appended);
        appended
    }

    /// For writing past the journal.
    pub(super) fn connection(&self) -> rusqlite::Result<Connection> {
        open::beside(&self.path, &self.options)
    }

    fn bench(&self) -> Result<Bench, JournalError> {
        let idle = locked(&self.idle).take();
        idle.map_or_else(|| Bench::open(self.connection()?), Ok).map_err(told)
    }

    /// Keeps the connection for the next, where it is known to be as it was.
    fn put_back(&self, bench: Bench, appended: &Result<Appended, JournalError>) {
        if matches!(
            appended,
            Err(JournalError::Broken(_)
                | JournalError::Malformed(_)
                | JournalError::Panicked(_)
                | JournalError::Refused(_))
        ) {
            return;
        }
        self.shared.copy_the_log(&bench.connection);
        if bench.connection.is_autocommit() {
            *locked(&self.idle) = Some(bench);
        }
    }
}

/// A connection, and whether a work has it in its hands.
struct Bench {
    connection: Connection,
    at_work: Arc<AtomicBool>,
}

impl Bench {
    fn open(mut connection: Connection) -> rusqlite::Result<Self> {
        let at_work = Arc::new(AtomicBool::new(false));
        let watched = Arc::clone(&at_work);
        connection.authorizer(Some(move |context: AuthContext<'_>| {
            if watched.load(Ordering::Relaxed) && is_forbidden(&context.action) {
                Authorization::Deny
            } else {
                Authorization::Allow
            }
        }))?;
        // SQLite undoes a transaction by itself after some errors, and what a work writes after that would be
        // committed statement by statement.
        let watched = Arc::clone(&at_work);
        connection.commit_hook(Some(move || watched.load(Ordering::Relaxed)))?;
        Ok(Self { connection, at_work })
    }

    /// One transaction. Whatever ends it early undoes it.
    fn append(
        &mut self,
        place: &Place<'_>,
        work: &mut Work<'_>,
        shared: &Shared,
    ) -> Result<Appended, JournalError> {
        let &Place { conversation, expected_seq, epoch } = place;
        let faults = &shared.faults;
        faults.before()?;
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(told)?;
        faults.before()?;
        let (id, tail) = rows::tail(&transaction, conversation).map_err(read_only)?;
        tail.admit(conversation, expected_seq, epoch, |seq| rows::at(&transaction, id, conversation, seq))
            .map_err(read_only)?;
        let before = transaction.total_changes();
        let events = do_work(&transaction, &self.at_work, work)?;
        let changed = transaction.total_changes() - before;
        let ruling = tail.worked(conversation, &events)?;
        // A row of the work's is a page of its table and one of an index, about.
        let pages = put(&transaction, conversation, &ruling, faults)? + 2 * changed as usize;
        faults.before()?;
        transaction.commit().map_err(refused)?;
        shared.committed(pages);
        faults.after_commit()?;
        shared.check_written()?;
        ruling.outcome.appended()
    }
}

/// What an error of the commit means: what the work wrote may be nothing that the tables take, as a row whose parent is
/// missing. That is told of this work, and the store goes on.
fn refused(error: rusqlite::Error) -> JournalError {
    match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig | ErrorCode::OperationInterrupted) => {
            JournalError::Refused(error.to_string())
        }
        _ => told(error),
    }
}

fn do_work(
    transaction: &Connection,
    at_work: &AtomicBool,
    work: &mut Work<'_>,
) -> Result<Vec<Event>, JournalError> {
    at_work.store(true, Ordering::Relaxed);
    let worked = done(work, transaction as &dyn Any);
    at_work.store(false, Ordering::Relaxed);
    // What a work has switched off is on again for what comes after it.
    defend(transaction).map_err(told)?;
    let events = worked?;
    // After some errors, a lack of room among them, SQLite undoes the whole transaction by itself. A work that
    // looked past one has written nothing.
    if transaction.is_autocommit() {
        return Err(Undone.into());
    }
    Ok(events)
}

/// What no work may do: end the transaction in which its events will be, touch the journal's own tables, and make anything
/// temporary, which the next work on the connection would find, and which stands before a table of the same name.
fn is_forbidden(action: &AuthAction<'_>) -> bool {
    match *action {
        AuthAction::Transaction { .. }
        | AuthAction::Attach { .. }
        | AuthAction::Detach { .. }
        | AuthAction::Pragma { .. }
        | AuthAction::CreateTempTable { .. }
        | AuthAction::CreateTempView { .. }
        | AuthAction::CreateTempIndex { .. }
        | AuthAction::CreateTempTrigger { .. } => true,
        AuthAction::Insert { table_name }
        | AuthAction::Update { table_name, .. }
        | AuthAction::Delete { table_name }
        | AuthAction::DropTable { table_name }
        | AuthAction::AlterTable { table_name, .. }
        | AuthAction::CreateIndex { table_name, .. }
        | AuthAction::DropIndex { table_name, .. }
        | AuthAction::CreateTrigger { table_name, .. } => OURS.contains(&table_name),
        _ => false,
    }
}
