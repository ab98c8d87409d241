//! Runs as JSON. The members that `ask` of the examples prints too have the same names here.

use serde::Serialize;
use sommelier_handoff::{HandoffPackage, Hop, HopOutcome, Millis, Run, Step, TurnClosed};
use sommelier_runner::Settled;

use crate::asked::QuestionRow;
use crate::desk::Desk;
use crate::fault::Fault;

/// What a run has come to.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SettledRow {
    /// The run's id: the conversation's name.
    pub(crate) run: String,
    /// How it ended, in a word; `waiting` when it has not.
    pub(crate) end: String,
    /// The answer; empty when there is none.
    pub(crate) answer: String,
    /// The answer's id, the same however often it is told.
    pub(crate) answer_id: Option<String>,
    /// The agent that has the turn.
    pub(crate) last_agent: String,
    /// Who decided.
    pub(crate) model: &'static str,
    /// The handoffs taken.
    pub(crate) hops: Vec<HopRow>,
    /// The handoffs refused.
    pub(crate) refusals: Vec<HopRow>,
    pub(crate) model_calls: u32,
    pub(crate) tool_calls: u32,
    /// What it waits for.
    pub(crate) waiting: Vec<QuestionRow>,
}

/// A handoff that was asked for.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HopRow {
    pub(crate) id: String,
    /// Which of the run's handoffs it is, from 1; null for one that was refused.
    pub(crate) number: Option<u32>,
    pub(crate) from: String,
    pub(crate) to: String,
    /// Milliseconds since 1970.
    pub(crate) at: Millis,
    /// What crossed, or would have.
    pub(crate) package: Option<HandoffPackage>,
    pub(crate) package_bytes: usize,
    /// Bytes of the sender's conversation, which stayed behind.
    pub(crate) history_bytes: usize,
    /// `taken` or `refused`.
    pub(crate) outcome: &'static str,
    /// Why it was refused, in a word and in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refusal: Option<RefusalRow>,
    /// How the work ended that was handed over; null while the receiver has it.
    pub(crate) end: Option<&'static str>,
    /// Open items that nobody has said to be done.
    pub(crate) open_items: Vec<String>,
}

/// Why a handoff was refused.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RefusalRow {
    pub(crate) guard: &'static str,
    pub(crate) error: &'static str,
    pub(crate) detail: String,
}

impl HopRow {
    pub(crate) fn of(hop: &Hop) -> Self {
        let (number, refusal) = match &hop.outcome {
            HopOutcome::Taken { number } => (Some(*number), None),
            HopOutcome::Refused { refusal } => (None, Some(refusal)),
        };
        let refusal = refusal.map(|refusal| RefusalRow {
            guard: refusal.guard().as_str(),
            error: refusal.code(),
            detail: refusal.to_string(),
        });
        Self {
            id: hop.id.to_string(),
            number,
            from: hop.from.to_string(),
            to: hop.to.to_string(),
            at: hop.at,
            package: hop.package.clone(),
            package_bytes: hop.package_bytes,
            history_bytes: hop.history_bytes,
            outcome: if number.is_some() { "taken" } else { "refused" },
            refusal,
            end: hop.end.map(|end| end.how.as_str()),
            open_items: hop.unfinished().into_iter().map(str::to_owned).collect(),
        }
    }

    pub(crate) fn all(run: &Run) -> Vec<Self> {
        run.trail().hops().iter().map(Self::of).collect()
    }

    /// The handoff in a line.
    pub(crate) fn line(&self) -> String {
        let Self { from, to, package_bytes, history_bytes, .. } = self;
        match &self.refusal {
            None => format!("{from} → {to} with {package_bytes} bytes, {history_bytes} stay behind"),
            Some(refusal) => format!("{from} → {to} refused: {}", refusal.detail),
        }
    }
}

impl SettledRow {
    pub(crate) fn of(desk: &Desk, run: &str, settled: &Settled) -> Result<Self, Fault> {
        match settled {
            Settled::Ended(report) => Ok(Self::of_step(desk, run, &Step::Done(report.done().clone()))),
            Settled::Waiting(parked) => Ok(Self::of_step(desk, run, parked.step())),
            Settled::Recorded(closed) => Self::then(desk, run, closed),
        }
    }

    /// The run as it stood when it came to this answer: the conversation may have gone on since.
    fn then(desk: &Desk, run: &str, closed: &TurnClosed) -> Result<Self, Fault> {
        let records = desk.records(run)?;
        let closes = |kind: &str, body: &str| {
            kind == "closed" && serde_json::from_str::<sommelier_handoff::Announced>(body).is_ok_and(|told| {
                matches!(told.what, sommelier_handoff::Announcement::Closed { answer_id, .. } if answer_id == closed.answer_id)
            })
        };
        let place = records.iter().position(|record| closes(record.event.kind(), record.event.body()));
        let until = records.get(..=place.unwrap_or(records.len().saturating_sub(1))).unwrap_or_default();
        let replay = desk.replay(run, until)?;
        match replay.step() {
            Some(step) => Ok(Self::of_step(desk, run, step)),
            None => Err(crate::fault::unknown_run(run)),
        }
    }

    /// A run at a step in which nothing goes on by itself.
    pub(crate) fn of_step(desk: &Desk, name: &str, step: &Step) -> Self {
        let run = step.run();
        let (taken, refusals) = HopRow::all(run).into_iter().partition(|hop| hop.number.is_some());
        let (end, answer, answer_id) = match step {
            Step::Done(done) => (done.end().as_str(), done.answer(), Some(done.answer_id())),
            _ => ("waiting", None, None),
        };
        Self {
            run: name.to_owned(),
            end: end.to_owned(),
            answer: answer.unwrap_or_default(),
            answer_id,
            last_agent: run.active().to_string(),
            model: reservo::OfflineRules::NAME,
            hops: taken,
            refusals,
            model_calls: run.cost().model_calls,
            tool_calls: run.tool_calls_over_tree(),
            waiting: QuestionRow::all(desk, name, step),
        }
    }

    /// 0 answered, 1 ended otherwise, 3 waiting for a person.
    pub(crate) fn exit_code(&self) -> u8 {
        match &*self.end {
            "answered" => 0,
            "waiting" => 3,
            _ => 1,
        }
    }

    pub(crate) fn text(&self) -> String {
        if !self.waiting.is_empty() {
            return format!("{}\n\nrun {}", crate::asked::text(&self.waiting), self.run);
        }
        let mut text = match &*self.answer {
            "" => format!("No answer: the run ended as {}.", self.end),
            answer => answer.to_owned(),
        };
        text.push_str(&format!("\n\n{} answered, decisions by {}", self.last_agent, self.model));
        for hop in self.hops.iter().chain(&self.refusals) {
            text.push_str(&format!("\n{}", hop.line()));
        }
        text.push_str(&format!("\nrun {}", self.run));
        text
    }
}
