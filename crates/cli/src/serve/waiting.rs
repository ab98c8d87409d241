//! What waits for a person, of all runs.
//!
//! What a run asks follows from its records, so it is looked at again only where these have grown: to look at all of them takes long
//! where there are many, and each page tells how many questions there are.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use sommelier_http::locked;
use sommelier_store::{Head, Journal};

use crate::asked::QuestionRow;
use crate::command::inbox::{LeftOut, asked_in, sort};
use crate::desk::Desk;
use crate::fault::Fault;

/// The questions that are open in each run that could be read, as of its head.
#[derive(Default)]
pub(super) struct Waiting(Mutex<Seen>);

type Seen = BTreeMap<String, (Head, Vec<QuestionRow>)>;

/// Some of the questions that are open.
pub(super) struct Asked {
    /// Where they begin among all of them.
    pub(super) from: usize,
    pub(super) questions: Vec<QuestionRow>,
    /// How many there are.
    pub(super) total: usize,
    /// What could not be read, and may have had more.
    pub(super) left_out: Vec<LeftOut>,
}

impl Waiting {
    /// How many questions are open.
    pub(super) fn count(&self, desk: &Desk) -> Result<usize, Fault> {
        let (seen, _) = self.look(desk)?;
        Ok(seen.values().map(|(_, questions)| questions.len()).sum())
    }

    /// So many of them at most, those that are open longest first, behind the first `from`; where there are no more than these, the
    /// first.
    pub(super) fn asked(&self, desk: &Desk, from: usize, most: usize) -> Result<Asked, Fault> {
        let (seen, left_out) = self.look(desk)?;
        let mut all: Vec<&QuestionRow> = seen.values().flat_map(|(_, questions)| questions).collect();
        sort(&mut all);
        let from = if from < all.len() { from } else { 0 };
        let questions = all.iter().skip(from).take(most).copied().cloned().collect();
        Ok(Asked { from, questions, total: all.len(), left_out })
    }

    /// Looks at the runs that have gone on. One that cannot be read is looked at each time: it may have been repaired.
    fn look(&self, desk: &Desk) -> Result<(MutexGuard<'_, Seen>, Vec<LeftOut>), Fault> {
        let (heads, mut left_out) = (desk.store.heads()?, Vec::new());
        let mut seen = locked(&self.0);
        seen.retain(|run, _| heads.contains_key(run));
        for (run, head) in heads {
            if seen.get(&run).is_some_and(|(at, _)| *at == head) {
                continue;
            }
            match asked_in(desk, &run) {
                Ok(questions) => drop(seen.insert(run, (head, questions))),
                Err(fault) => {
                    seen.remove(&run);
                    left_out.push(LeftOut { run, fault });
                }
            }
        }
        Ok((seen, left_out))
    }
}
