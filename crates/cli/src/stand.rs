//! How a run stands, by its records.

use serde::Serialize;
use sommelier_handoff::{Millis, Step};
use sommelier_runner::journal::Record;
use sommelier_store::{Journal, JournalError};

use crate::desk::Desk;
use crate::fault::Fault;
use crate::time::shown;
use crate::words::{counted, named};

/// The status of a run that a process drives, or did and has died.
pub(crate) const RUNNING: &str = "running";

/// A run with all that is on record of it.
pub(crate) struct Stand {
    pub(crate) summary: Summary,
    /// The records; of a run that is damaged those that can be read.
    pub(crate) records: Vec<Record>,
    /// Where it stands; `None` before anybody has spoken, and where that cannot be told.
    pub(crate) step: Option<Step>,
}

/// A run in short.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    pub(crate) id: String,
    /// How it ended, in a word; or `opened`, `running`, `interrupted`, `waiting`; or what is wrong with its records.
    pub(crate) status: String,
    /// The agent that has the turn.
    pub(crate) agent: Option<String>,
    /// How often the user has spoken.
    pub(crate) turns: u32,
    /// Handoffs taken.
    pub(crate) hops: u32,
    /// Questions that are open.
    pub(crate) questions: usize,
    pub(crate) records: usize,
    /// How often the right to write was taken.
    pub(crate) epoch: u64,
    /// The times of the first record and of the last, in milliseconds since 1970.
    pub(crate) began: Millis,
    pub(crate) updated: Millis,
    /// Why it cannot be told how it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fault: Option<Fault>,
}

impl Stand {
    pub(crate) fn of(desk: &Desk, run: &str) -> Result<Self, Fault> {
        let (records, mut fault) = match desk.store.load(run, 1) {
            Ok(records) => (records, None),
            Err(error @ JournalError::Damaged(_)) => {
                (desk.store.salvage(run).unwrap_or_default(), Some(error.into()))
            }
            Err(error) => return Err(error.into()),
        };
        let mut step = None;
        if fault.is_none() {
            match desk.replay(run, &records) {
                Ok(replay) => step = replay.into_parts().0,
                Err(why) => fault = Some(why),
            }
        }
        let status = match (&fault, &step) {
            (Some(fault), _) => fault.code(),
            (None, Some(step)) => status(desk, run, step)?,
            (None, None) => "opened",
        };
        let summary = Summary {
            id: run.to_owned(),
            status: status.to_owned(),
            agent: step.as_ref().map(|step| step.run().active().to_string()),
            turns: step.as_ref().map_or(0, |step| step.run().messages()),
            hops: step.as_ref().map_or(0, |step| step.run().trail().count()),
            questions: step.as_ref().map_or(0, |step| step.questions().len()),
            records: records.len(),
            epoch: records.last().map_or(0, |record| record.epoch.get()),
            began: records.first().map_or(0, |record| record.event.at()),
            updated: records.last().map_or(0, |record| record.event.at()),
            fault,
        };
        Ok(Self { summary, records, step })
    }
}

fn status(desk: &Desk, run: &str, step: &Step) -> Result<&'static str, Fault> {
    Ok(match step {
        Step::Done(done) => done.end().as_str(),
        step if step.is_at_rest() => "waiting",
        _ => {
            let lease = desk.store.lease(run)?;
            if lease.is_some_and(|lease| desk.now() < lease.until) { RUNNING } else { "interrupted" }
        }
    })
}

impl Summary {
    /// The run in a line.
    pub(crate) fn line(&self) -> String {
        let Self { id, status, turns, hops, questions, records, .. } = self;
        let mut line = format!("{}  {status}", named(id));
        if let Some(agent) = &self.agent {
            line.push_str(&format!(" at {}", named(agent)));
        }
        let counts = [
            counted(turns, "turn", "turns"),
            counted(hops, "hop", "hops"),
            counted(records, "record", "records"),
        ];
        line.push_str(&format!("  {}", counts.join(", ")));
        if *questions > 0 {
            line.push_str(&format!(", {} open", counted(questions, "question", "questions")));
        }
        format!("{line}  {}", shown(self.updated))
    }
}
