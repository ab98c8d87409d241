//! The one thread that appends, and how it puts those together who wait at the same time.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::open::OpenError;
use super::rows::{self, told};
use super::shared::Shared;
use crate::faults::Faults;
use crate::rules::{Outcome, Request, Ruling};
use sommelier_runner::journal::JournalError;

/// How many requests share a transaction at most, so that nobody waits long for the others.
const LARGEST_GROUP: usize = 256;

/// How many requests may wait. Who comes later waits to be let in.
const QUEUE: usize = 1024;

type Answer = Result<Outcome, JournalError>;

struct Job {
    request: Request,
    answer: SyncSender<Answer>,
}

/// The way to the thread that writes. It ends when this is dropped, after all that it was asked.
pub(super) struct Writer {
    jobs: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

impl Writer {
    pub(super) fn start(connection: Connection, shared: Arc<Shared>) -> Result<Self, OpenError> {
        let (jobs, queue) = sync_channel(QUEUE);
        let desk = Desk { connection, shared: Arc::clone(&shared) };
        let thread = thread::Builder::new()
            .name("sommelier-store".to_owned())
            .spawn(move || desk.work(&queue))
            .map_err(OpenError::Thread)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), shared })
    }

    /// Asks and waits for the answer. A thread that has died lets go of both ends, so nobody waits for it.
    pub(super) fn ask(&self, request: Request) -> Answer {
        let health = &self.shared.health;
        if request.apart().is_none() {
            health.check_writable(&request.conversation)?;
        }
        self.shared.check_not_at_work()?;
        let (answer, answered) = sync_channel(1);
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(Job { request, answer }).is_ok());
        match answered.recv() {
            Ok(answer) if sent => answer,
            _ => Err(health.note(JournalError::Broken("the thread that writes has died".to_owned()))),
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
    shared: Arc<Shared>,
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
            self.shared.copy_the_log(&self.connection);
        }
        // Others may have the file open for longer, and a copy of it alone should hold what was acknowledged.
        self.shared.copy_all_of_the_log(&self.connection);
    }

    /// Writes what has come in together, and has an answer for each.
    fn write(&mut self, requests: &[Request]) -> Vec<Answer> {
        let error = match self.together(requests) {
            Ok(answers) => return answers,
            Err(error) => self.shared.health.note(error),
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
        let Shared { faults, health, .. } = &*self.shared;
        let _turn = self.shared.enter()?;
        health.check()?;
        faults.before()?;
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(told)?;
        let mut written = 0;
        let mut answers = Vec::with_capacity(requests.len());
        for request in requests {
            let answer = one(&transaction, request, faults);
            match answer {
                Ok((outcome, pages)) => {
                    written += pages;
                    answers.push(Ok(outcome));
                }
                Err(error) if stops_all(&error, &transaction) => return Err(error),
                Err(error) => answers.push(Err(error)),
            }
        }
        faults.before()?;
        transaction.commit().map_err(told)?;
        self.shared.committed(written);
        faults.after_commit()?;
        self.shared.check_written()?;
        Ok(answers)
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        if self.shared.health.check().is_err() {
            // Closing copies the log. After an error that is for those to do who open it again.
            let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
    }
}

/// Does an error of one request undo what stands beside it in the transaction?
fn stops_all(error: &JournalError, transaction: &Transaction<'_>) -> bool {
    match error {
        JournalError::Broken(_) | JournalError::Malformed(_) | JournalError::Busy => true,
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
    let ruling = match request.apart() {
        Some(ruling) => ruling,
        None => {
            let (id, tail) = rows::tail(transaction, conversation).map_err(read_only)?;
            tail.rule(request, |seq| rows::at(transaction, id, conversation, seq)).map_err(read_only)?
        }
    };
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
pub(super) fn read_only(error: JournalError) -> JournalError {
    match error {
        JournalError::Damaged(finding) => JournalError::ReadOnly(finding),
        other => other,
    }
}

/// Writes what was ruled. Tells how many pages that took, about.
pub(super) fn put(
    transaction: &Transaction<'_>,
    conversation: &str,
    ruling: &Ruling,
    faults: &Faults,
) -> Result<usize, JournalError> {
    if let Some(late) = &ruling.late {
        faults.before()?;
        rows::put_late(transaction, conversation, late)?;
        return Ok(2 + late.event.body().len() / 4096);
    }
    let Some(tail) = &ruling.tail else { return Ok(0) };
    faults.before()?;
    let id = rows::put_tail(transaction, conversation, tail)?;
    let mut pages = 1;
    for claim in &ruling.claims {
        faults.before()?;
        rows::claim(transaction, conversation, claim)?;
        pages += 1;
    }
    for row in &ruling.rows {
        faults.before()?;
        rows::put(transaction, id, row)?;
        // The leaf of the table, that of the index, and what does not fit.
        pages += 2 + row.record.event.body().len() / 4096;
    }
    Ok(pages)
}
