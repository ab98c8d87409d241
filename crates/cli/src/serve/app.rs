//! What all requests share: the desk, the driver, and which runs are being driven here.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sommelier_http::locked;
use sommelier_runner::{DurableError, DurableRunner, Settled};
use sommelier_store::Journal;
use tracing::Dispatch;
use tracing::dispatcher;

use super::page::said;
use super::streams::Streams;
use super::waiting::Waiting;
use crate::Io;
use crate::arguments::Lease;
use crate::desk::{Desk, wait_and_drive};
use crate::fault::{Fault, Whose};
use crate::teller::Teller;

/// How long a request waits for the first record of what it has begun, so that the page that follows shows it.
const FIRST_RECORD: Duration = Duration::from_millis(500);

/// How long a thread may take that has all on record.
const LAST_STEPS: Duration = Duration::from_millis(500);

/// Threads at work on runs at a time. Beyond it nothing is begun: each asks a model, and all of them the same one.
const MOST_AT_WORK: usize = 16;
/// The same where something is called off, which has to be possible also then.
const MOST_WITH_ENDS: usize = 2 * MOST_AT_WORK;

/// Runs of which is remembered what could not be done. The one that failed first is forgotten first.
const MOST_FAILED: usize = 64;

/// What is told of a thread that has ended in the middle by a fault of ours; what it was stands on the terminal.
const PANICKED: &str = "this program has a fault, by which the work on this run has ended in the middle; what is on record stays, and the \
                        terminal that the server was started at has more";

/// What all requests share.
pub(super) struct App {
    pub(super) desk: &'static Desk,
    /// One driver for all: it keeps two turns of one run apart, and calls off what it drives.
    driver: DurableRunner<'static>,
    /// Where spans go: threads do not inherit it.
    spans: Dispatch,
    works: Mutex<BTreeMap<String, Work>>,
    /// Counts whenever a work begins or ends, for pages that watch.
    changes: AtomicU64,
    /// Pages that watch.
    pub(super) streams: Streams,
    /// What waits for a person.
    pub(super) waiting: Waiting,
}

/// What is being done with a run here, or could not be.
#[derive(Clone)]
pub(super) enum Work {
    /// It is being done.
    Going {
        /// So many threads are at it.
        threads: usize,
        /// The user's words that it was begun with.
        words: Option<Words>,
    },
    /// It was not done.
    Failed {
        /// When, by the count of changes.
        at: u64,
        why: String,
        /// Words of the user's that are on no record by it.
        unsaid: Option<String>,
    },
}

/// Words of the user's, as a form has sent them.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Words {
    /// The form's own name for them; none where it gave none, and then they are no words that were sent before.
    pub(super) key: Option<String>,
    pub(super) text: String,
}

impl App {
    /// The desk and a driver over it, for as long as the process lives.
    pub(super) fn open(desk: Desk) -> &'static Self {
        let desk: &'static Desk = Box::leak(Box::new(desk));
        Box::leak(Box::new(Self {
            desk,
            driver: desk.driver(),
            spans: dispatcher::get_default(Clone::clone),
            works: Mutex::default(),
            changes: AtomicU64::default(),
            streams: Streams::default(),
            waiting: Waiting::default(),
        }))
    }

    /// What is being done with a run here, or could not be.
    pub(super) fn work(&self, run: &str) -> Option<Work> {
        locked(&self.works).get(run).cloned()
    }

    pub(super) fn is_going(&self, run: &str) -> bool {
        self.work(run).as_ref().is_some_and(Work::is_going)
    }

    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// Begins to do something with a run on a thread of its own. Where something is being done already, only calling off is
    /// taken beside it, and the same form once more is what is being done. What it comes to is in the journal; what could not be done is told on the run's page until something
    /// else is begun.
    pub(super) fn begin(
        &'static self,
        run: &str,
        words: Option<Words>,
        beside: bool,
        work: impl Fn(&DurableRunner<'_>) -> Result<Settled, DurableError> + Send + 'static,
    ) -> Result<(), Fault> {
        if !self.enter(run, words.as_ref(), beside)? {
            return Ok(());
        }
        let unsaid = words.map(|words| words.text);
        let (name, before) = (run.to_owned(), self.last_record(run));
        let drive = move || {
            let mut at_work = AtWork { app: self, run: name, unsaid, done: None };
            let done = self.drive(&at_work.run, work);
            at_work.done = Some(done);
        };
        if let Err(error) = thread::Builder::new().name("drive".to_owned()).spawn(drive) {
            self.leave(run, None);
            return Err(error.into());
        }
        let start = Instant::now();
        while start.elapsed() < FIRST_RECORD && self.is_going(run) && self.last_record(run) == before {
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    fn drive(
        &self,
        run: &str,
        work: impl Fn(&DurableRunner<'_>) -> Result<Settled, DurableError>,
    ) -> Result<(), Fault> {
        let (mut out, mut err) = (io::sink(), io::stderr());
        let io = Io {
            input: &mut io::empty(),
            is_interactive: false,
            is_shown: false,
            out: &mut out,
            err: &mut err,
        };
        let (mut teller, _) = Teller::new(io);
        let settled = dispatcher::with_default(&self.spans, || {
            wait_and_drive(&self.driver, &mut teller, run, Lease::WAITED_FOR, work)
        });
        if let Some((told, true)) = self.desk.decider.tape().end() {
            teller.note(&told);
        }
        settled?;
        Ok(())
    }

    /// Counts one more at work on a run; or finds that just these words are at work in it. Who is about to be done is waited for: what a run waits for is on record, and shown, a
    /// moment before its thread has ended.
    fn enter(&self, run: &str, words: Option<&Words>, beside: bool) -> Result<bool, Fault> {
        let start = Instant::now();
        let is_other = |work: &Work| work.is_going() && !work.is_of(words);
        while !beside && self.work(run).as_ref().is_some_and(is_other) && start.elapsed() < LAST_STEPS {
            thread::sleep(Duration::from_millis(5));
        }
        let mut works = locked(&self.works);
        let (going, words) = match works.get(run) {
            Some(work) if work.is_of(words) => return Ok(false),
            Some(Work::Going { .. }) if !beside => {
                let why =
                    "the agents are still at work on this run; wait until they are done, and send it again";
                return Err(Fault::new("at_work", Whose::OtherProcess, why));
            }
            Some(Work::Going { threads, words }) => (*threads, words.clone()),
            _ => (0, words.cloned()),
        };
        let at_work: usize = works.values().map(Work::threads).sum();
        if at_work >= if beside { MOST_WITH_ENDS } else { MOST_AT_WORK } {
            let why = format!(
                "agents are at work on {at_work} things, which is as much as this server does at a time; wait until some of it \
                 is done, and send it again"
            );
            return Err(Fault::new("crowded", Whose::OtherProcess, why));
        }
        works.insert(run.to_owned(), Work::Going { threads: going + 1, words });
        self.changes.fetch_add(1, Ordering::SeqCst);
        Ok(true)
    }

    fn leave(&self, run: &str, failed: Option<(String, Option<String>)>) {
        let mut works = locked(&self.works);
        let at = self.changes.fetch_add(1, Ordering::SeqCst);
        let left = match works.get(run) {
            Some(Work::Going { threads: threads @ 2.., words }) => {
                Some(Work::Going { threads: threads - 1, words: words.clone() })
            }
            _ => failed.map(|(why, unsaid)| Work::Failed { at, why, unsaid }),
        };
        match left {
            Some(work) => works.insert(run.to_owned(), work),
            None => works.remove(run),
        };
        let failed = works.iter().filter_map(|(run, work)| Some((work.failed_at()?, run.clone())));
        let failed: BTreeSet<(u64, String)> = failed.collect();
        for (_, run) in failed.iter().rev().skip(MOST_FAILED) {
            works.remove(run);
        }
    }

    /// Waits until nothing is at work here, for so long at most; what is still at work then.
    pub(super) fn rest(&self, within: Duration) -> usize {
        let start = Instant::now();
        loop {
            let at_work = locked(&self.works).values().map(Work::threads).sum();
            if at_work == 0 || start.elapsed() >= within {
                return at_work;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    pub(super) fn last_record(&self, run: &str) -> u64 {
        self.desk.store.head(run).map_or(0, |head| head.seq)
    }
}

/// A thread at work on a run. When it is dropped the run is free again and the thread's place is too, also where the thread panics.
struct AtWork {
    app: &'static App,
    run: String,
    unsaid: Option<String>,
    /// What it has come to; `None` until it has come to something.
    done: Option<Result<(), Fault>>,
}

impl Drop for AtWork {
    fn drop(&mut self) {
        // Another command that answers beside this has not to wait for the lease to be over.
        self.app.driver.release(&self.run);
        let why = match self.done.take() {
            Some(Ok(())) => None,
            Some(Err(fault)) => Some(said(&fault)),
            None => Some(PANICKED.to_owned()),
        };
        self.app.leave(&self.run, why.map(|why| (why, self.unsaid.take())));
    }
}

impl Work {
    fn threads(&self) -> usize {
        if let Self::Going { threads, .. } = self { *threads } else { 0 }
    }

    fn is_going(&self) -> bool {
        matches!(self, Self::Going { .. })
    }

    /// Whether it is being done for just these words, sent by the same form.
    fn is_of(&self, words: Option<&Words>) -> bool {
        let words = words.filter(|words| words.key.is_some());
        matches!((self, words), (Self::Going { words: Some(begun), .. }, Some(words)) if begun == words)
    }

    fn failed_at(&self) -> Option<u64> {
        if let Self::Failed { at, .. } = self { Some(*at) } else { None }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test says so by panicking")]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::arguments::Arguments;

    /// The thread's place is free again, whoever asks next gets it, and what was said is not lost.
    #[test]
    fn a_work_that_panics_is_told_and_holds_no_place() {
        let folder = std::env::temp_dir().join(format!("sommelier-app-{}", std::process::id()));
        // A process of this number may have left it, and with it a log that is another journal's.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        let journal = folder.join("journal.db");
        let store = journal.to_str().unwrap();
        let arguments = Arguments::try_parse_from(["sommelier", "--store", store, "serve"]).unwrap();
        let app = App::open(Desk::open_or_make(&arguments).unwrap());
        let words = Words { key: None, text: "hello".to_owned() };
        for _ in 0..=MOST_AT_WORK {
            app.begin("a", Some(words.clone()), false, |_| std::panic::panic_any("planted")).unwrap();
            assert_eq!(app.rest(Duration::from_secs(60)), 0);
            let Some(Work::Failed { why, unsaid, .. }) = app.work("a") else { panic!("it is not told") };
            assert_eq!((&*why, unsaid.as_deref()), (PANICKED, Some("hello")));
        }
        app.begin("a", None, false, |driver| {
            driver.submit("a", sommelier_runner::Turn::new("Quote Focus pro 3h"))
        })
        .unwrap();
        assert_eq!(app.rest(Duration::from_secs(60)), 0);
        assert!(app.work("a").is_none() && app.last_record("a") > 0);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
