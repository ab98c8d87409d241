//! What waits for a person, of all runs.
//!
//! What a run asks follows from its records, so it is looked at again only where these have grown: to look at all of them takes long
//! where there are many, and each page tells how many questions there are.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use sommelier_http::locked;
use sommelier_store::{Head, Journal};

use crate::asked::QuestionRow;
use crate::command::inbox::{LeftOut, asked_in, sort};
use crate::desk::Desk;
use crate::done::Said;
use crate::fault::Fault;
use crate::words::begin;

/// How long a page waits to tell how many questions there are.
const SOON: Duration = Duration::from_millis(500);

/// Characters that are kept of what a user has said.
const MOST_SAID: usize = 4_000;

/// What waits in each run that could be read.
#[derive(Default)]
pub(super) struct Waiting(Mutex<Seen>);

type Seen = BTreeMap<String, Run>;

/// What waits in a run.
struct Run {
    /// As of this head.
    head: Head,
    questions: Vec<QuestionRow>,
    said: Said,
}

/// Some of the questions that are open.
pub(super) struct Asked {
    /// Where they begin among all of them.
    pub(super) from: usize,
    /// Each with what the user of its run has said.
    pub(super) questions: Vec<(QuestionRow, Said)>,
    /// How many there are.
    pub(super) total: usize,
    /// What could not be read, and may have had more.
    pub(super) left_out: Vec<LeftOut>,
}

impl Waiting {
    /// Looks for the first time, which takes long where there are many runs. What could not be done is told by the inbox.
    pub(super) fn begin(&self, desk: &Desk) {
        let _ = look(desk, &mut locked(&self.0));
    }

    /// How many questions are open; `None` where that cannot be told, or not soon: no page waits for a look at all runs.
    pub(super) fn count(&self, desk: &Desk) -> Option<usize> {
        let mut seen = self.soon()?;
        look(desk, &mut seen).ok()?;
        Some(seen.values().map(|run| run.questions.len()).sum())
    }

    /// So many of them at most, those that are open longest first, behind the first `from`; where there are no more than these, the
    /// first.
    pub(super) fn asked(&self, desk: &Desk, from: usize, most: usize) -> Result<Asked, Fault> {
        let mut seen = locked(&self.0);
        let left_out = look(desk, &mut seen)?;
        let mut all: Vec<&QuestionRow> = seen.values().flat_map(|run| &run.questions).collect();
        sort(&mut all);
        let from = if from < all.len() { from } else { 0 };
        let with_said = |row: &&QuestionRow| {
            let said = seen.get(&row.run).map(|run| run.said.clone()).unwrap_or_default();
            ((*row).clone(), said)
        };
        let questions = all.iter().skip(from).take(most).map(with_said).collect();
        Ok(Asked { from, questions, total: all.len(), left_out })
    }

    /// What was seen, unless somebody else looks for long.
    fn soon(&self) -> Option<MutexGuard<'_, Seen>> {
        let start = Instant::now();
        loop {
            match self.0.try_lock() {
                Ok(seen) => return Some(seen),
                Err(TryLockError::Poisoned(seen)) => return Some(seen.into_inner()),
                Err(TryLockError::WouldBlock) if start.elapsed() > SOON => return None,
                Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(5)),
            }
        }
    }
}

/// Looks at the runs that have gone on, and gives those that cannot be read. These are looked at each time: they may have been
/// repaired.
fn look(desk: &Desk, seen: &mut Seen) -> Result<Vec<LeftOut>, Fault> {
    let (heads, mut left_out) = (desk.store.heads()?, Vec::new());
    seen.retain(|run, _| heads.contains_key(run));
    for (run, head) in heads {
        if seen.get(&run).is_some_and(|known| known.head == head) {
            continue;
        }
        match asked_in(desk, &run) {
            Ok((questions, said)) => {
                let said = Said {
                    before: said.before.map(|words| begin(&words, MOST_SAID)),
                    kept: said.kept.iter().map(|words| begin(words, MOST_SAID)).collect(),
                };
                seen.insert(run, Run { head, questions, said });
            }
            Err(fault) => {
                seen.remove(&run);
                left_out.push(LeftOut { run, fault });
            }
        }
    }
    Ok(left_out)
}
