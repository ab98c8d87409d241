//! The one thread that writes, and how it puts those together who wait at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::open::OpenError;
use super::options::Options;
use super::rows::{self, told};
use crate::faults::Faults;
use crate::health::Health;
use crate::rules::{Outcome, Request, Ruling};
use sommelier_runner::journal::JournalError;

/// How many requests share a transaction at most, so that nobody waits long for the others.
const LARGEST_GROUP: usize = 256;

/// How many requests may wait. Who comes later waits to be let in.
const QUEUE: usize = 1024;

/// After how many pages in the log it is copied into the file, about. A log that is copied is written over
/// from its beginning, and a file that does not grow is synced faster.
const CHECKPOINT_PAGES: usize = 1000;

type Answer = Result<Outcome, JournalError>;

struct Job {
    request: Request,
    answer: SyncSender<Answer>,
}

/// The way to the thread that writes. It ends when this is dropped, after all that it was asked.
pub(super) struct Writer {
    jobs: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    commits: Arc<AtomicU64>,
    health: Arc<Health>,
}

impl Writer {
    pub(super) fn start(
        connection: Connection,
        options: &Options,
        health: Arc<Health>,
    ) -> Result<Self, OpenError> {
        let (jobs, queue) = sync_channel(QUEUE);
        let commits = Arc::new(AtomicU64::new(0));
        let desk = Desk {
            connection,
            faults: options.faults.clone(),
            health: Arc::clone(&health),
            commits: Arc::clone(&commits),
            uncopied: 0,
        };
        let thread = thread::Builder::new()
            .name("sommelier-store".to_owned())
            .spawn(move || desk.work(&queue))
            .map_err(OpenError::Thread)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), commits, health })
    }

    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Asks and waits for the answer. A thread that has died lets go of both ends, so nobody waits for it.
    pub(super) fn ask(&self, request: Request) -> Answer {
        self.health.check_writable(&request.conversation)?;
        let (answer, answered) = sync_channel(1);
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(Job { request, answer }).is_ok());
        match answered.recv() {
            Ok(answer) if sent => answer,
            _ => Err(self.health.note(JournalError::Broken("the thread that writes has died".to_owned()))),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // If it died, its callers have been told.
            let _ = thread.join();
        }
    }
}

/// What the thread has before it.
struct Desk {
    connection: Connection,
    faults: Faults,
    health: Arc<Health>,
    commits: Arc<AtomicU64>,
    /// About how many pages stand in the log alone, as far as this handle has written them.
    uncopied: usize,
}

impl Desk {
    fn work(mut self, queue: &Receiver<Job>) {
        while let Ok(first) = queue.recv() {
            let waiting = queue.try_iter().take(LARGEST_GROUP - 1);
            let (requests, callers): (Vec<Request>, Vec<SyncSender<Answer>>) =
                std::iter::once(first).chain(waiting).map(|job| (job.request, job.answer)).unzip();
            let answers = self.write(&requests);
            for (caller, answer) in callers.iter().zip(answers) {
                // Who has gone does not want to know.
                let _ = caller.send(answer);
            }
            self.copy_the_log();
        }
    }

    /// Writes what has come in together, and has an answer for each.
    fn write(&mut self, requests: &[Request]) -> Vec<Answer> {
        let error = match self.health.check().and_then(|()| self.together(requests)) {
            Ok(answers) => return answers,
            Err(error) => self.health.note(error),
        };
        if error == JournalError::Full && requests.len() > 1 {
            // There may be room for some of them.
            return requests.iter().flat_map(|request| self.write(std::slice::from_ref(request))).collect();
        }
        requests.iter().map(|_| Err(error.clone())).collect()
    }

    /// One transaction for all. An `Err` means that nothing of it is there, or, if it breaks the store, that
    /// nobody knows.
    fn together(&mut self, requests: &[Request]) -> Result<Vec<Answer>, JournalError> {
        self.faults.before()?;
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(told)?;
        let mut written = 0;
        let mut answers = Vec::with_capacity(requests.len());
        for request in requests {
            let answer = one(&transaction, request, &self.faults);
            match answer {
                Ok((outcome, pages)) => {
                    written += pages;
                    answers.push(Ok(outcome));
                }
                Err(error) if stops_all(&error, &transaction) => return Err(error),
                Err(error) => answers.push(Err(error)),
            }
        }
        self.faults.before()?;
        transaction.commit().map_err(told)?;
        if written > 0 {
            self.commits.fetch_add(1, Ordering::Relaxed);
            self.uncopied += written;
        }
        self.faults.after_commit()?;
        Ok(answers)
    }

    /// Copies the log into the file now and then. After an error of it nobody knows what is on disk: the
    /// system may have dropped what it could not write, and would call a second try a success.
    fn copy_the_log(&mut self) {
        if self.uncopied < CHECKPOINT_PAGES || self.health.check().is_err() {
            return;
        }
        self.uncopied = 0;
        let copied = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()));
        // Where others read or write, or there is no room, it is done another time.
        if let Err(error @ JournalError::Broken(_)) = copied.map_err(told) {
            self.health.note(error);
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        if self.health.check().is_err() {
            // Closing copies the log. After an error that is for those to do who open it again.
            let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
    }
}

/// Does an error of one request undo what stands beside it in the transaction?
fn stops_all(error: &JournalError, transaction: &Transaction<'_>) -> bool {
    match error {
        JournalError::Broken(_) | JournalError::Busy => true,
        // SQLite may have undone all of it.
        JournalError::Full => transaction.is_autocommit(),
        _ => false,
    }
}

/// Decides on one request and writes it, all of it or nothing. Tells how many pages it wrote, about.
fn one(
    transaction: &Transaction<'_>,
    request: &Request,
    faults: &Faults,
) -> Result<(Outcome, usize), JournalError> {
    faults.before()?;
    let conversation = &request.conversation;
    let (id, tail) = rows::tail(transaction, conversation).map_err(read_only)?;
    let ruling = tail.rule(request, |seq| rows::at(transaction, id, conversation, seq)).map_err(read_only)?;
    let run = |statement| transaction.prepare_cached(statement).and_then(|mut s| s.execute(())).map_err(told);
    run("SAVEPOINT request")?;
    match put(transaction, conversation, &ruling, faults) {
        Ok(pages) => {
            run("RELEASE request")?;
            Ok((ruling.outcome, pages))
        }
        Err(error) => {
            if !transaction.is_autocommit() {
                run("ROLLBACK TO request")?;
                run("RELEASE request")?;
            }
            Err(error)
        }
    }
}

/// What cannot be read for damage cannot be written after.
fn read_only(error: JournalError) -> JournalError {
    match error {
        JournalError::Damaged(finding) => JournalError::ReadOnly(finding),
        other => other,
    }
}

fn put(
    transaction: &Transaction<'_>,
    conversation: &str,
    ruling: &Ruling,
    faults: &Faults,
) -> Result<usize, JournalError> {
    let Some(tail) = &ruling.tail else { return Ok(0) };
    faults.before()?;
    let id = rows::put_tail(transaction, conversation, tail)?;
    let mut pages = 1;
    for row in &ruling.rows {
        faults.before()?;
        rows::put(transaction, id, row)?;
        // The leaf of the table, that of the index, and what does not fit.
        pages += 2 + row.record.event.body().len() / 4096;
    }
    Ok(pages)
}
