//! Runs as JSON. The members that `ask` of the examples prints too have the same names here.

use serde::Serialize;
use sommelier_handoff::{
    Announced, Announcement, Done, HandoffPackage, Hop, HopOutcome, Millis, Run, RunEnd, Step,
};
use sommelier_protocol::sight::in_sight;
use sommelier_runner::Settled;
use sommelier_runner::journal::Record;

use crate::asked::QuestionRow;
use crate::desk::Desk;
use crate::done::{Account, DoneRow, FailedRow, KEPT};
use crate::fault::Fault;
use crate::file::quoted;
use crate::words::{in_line, named};

/// What a run has come to.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SettledRow {
    /// The run's id: the conversation's name.
    pub(crate) run: String,
    /// How it ended, in a word; `waiting` when it has not.
    pub(crate) end: String,
    /// What happened, where the end says more than its word.
    pub(crate) why: Option<String>,
    /// The command that tries again from there, where a run ended without an answer and can be.
    pub(crate) again: Option<String>,
    /// The answer; empty when there is none.
    pub(crate) answer: String,
    /// The answer's id, the same however often it is told.
    pub(crate) answer_id: Option<String>,
    /// The agent that has the turn.
    pub(crate) last_agent: String,
    /// Who decided in this turn, as the replies on record say; null where none has come.
    pub(crate) model: Option<String>,
    /// The handoffs taken, in all turns.
    pub(crate) hops: Vec<HopRow>,
    /// The handoffs refused, in all turns.
    pub(crate) refusals: Vec<HopRow>,
    /// Those of this turn, taken or refused, a line each, in the order in which they were asked for.
    #[serde(skip)]
    pub(crate) hops_in_turn: Vec<String>,
    pub(crate) model_calls: u32,
    pub(crate) tool_calls: u32,
    /// What tools have done in this turn, or may have done.
    pub(crate) done: Vec<DoneRow>,
    /// What they have done in the turns before.
    pub(crate) done_before: Vec<DoneRow>,
    /// What a person has approved in this turn, and was not done all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) failed: Vec<FailedRow>,
    /// What it waits for.
    pub(crate) waiting: Vec<QuestionRow>,
    /// What the user said while it waits: an agent reads it when the questions are answered.
    pub(crate) kept: Vec<String>,
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
        let Self { package_bytes, history_bytes, .. } = self;
        let (from, to) = (named(&self.from), named(&self.to));
        match &self.refusal {
            None => format!("{from} → {to} with {package_bytes} bytes, {history_bytes} stay behind"),
            Some(refusal) => format!("{from} → {to} refused: {}", in_line(&refusal.detail)),
        }
    }
}

impl SettledRow {
    pub(crate) fn of(desk: &Desk, run: &str, settled: &Settled) -> Result<Self, Fault> {
        let records = desk.records(run)?;
        let until = |answer_id: &str| until(&records, answer_id);
        match settled {
            Settled::Ended(report) => {
                let done = report.done();
                Ok(Self::of_step(desk, run, &Step::Done(done.clone()), until(&done.answer_id())))
            }
            Settled::Waiting(parked) => Ok(Self::of_step(desk, run, parked.step(), &records)),
            // The run as it stood when it came to this answer: the conversation may have gone on since.
            Settled::Recorded(closed) => {
                let records = until(&closed.answer_id);
                match desk.replay(run, records)?.step() {
                    Some(step) => Ok(Self::of_step(desk, run, step, records)),
                    None => Err(crate::fault::unknown_run(run)),
                }
            }
        }
    }

    /// A run at a step in which nothing goes on by itself, with the records that came to it.
    pub(crate) fn of_step(desk: &Desk, name: &str, step: &Step, records: &[Record]) -> Self {
        let run = step.run();
        let (end, answer, answer_id) = match step {
            Step::Done(done) => (done.end().as_str(), done.answer(), Some(done.answer_id())),
            _ => ("waiting", None, None),
        };
        let ended = if let Step::Done(done) = step { Some(done) } else { None };
        let why = ended.and_then(|done| {
            let (word, told) = (done.end().as_str(), done.end().to_string());
            told.strip_prefix(word)?.strip_prefix(": ").map(str::to_owned)
        });
        let waiting = QuestionRow::all(desk, name, step, records);
        let account = Account::of(name, records, &waiting);
        let Account { done, before, failed, hops_before, said, models, declined } = account;
        let hops = HopRow::all(run);
        let in_turn = hops.iter().filter(|hop| !hops_before.contains(&*hop.id));
        let hops_in_turn = in_turn.map(HopRow::line).collect();
        let (taken, refusals) = hops.into_iter().partition(|hop| hop.number.is_some());
        Self {
            run: name.to_owned(),
            end: end.to_owned(),
            why: why.or(declined),
            again: ended.and_then(|done| again(desk, name, done)),
            answer: answer.unwrap_or_default(),
            answer_id,
            last_agent: run.active().to_string(),
            model: (!models.is_empty()).then(|| models.join(", ")),
            hops: taken,
            refusals,
            hops_in_turn,
            model_calls: run.cost().model_calls,
            tool_calls: run.tool_calls_over_tree(),
            done,
            done_before: before,
            failed,
            waiting,
            kept: said.kept,
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
            let mut text = crate::asked::text(&self.waiting);
            self.tell_done(&mut text);
            if let Some(kept) = self.kept_words() {
                text.push_str(&format!("\n\n{kept}"));
            }
            text.push_str(&format!("\n\nrun {}", named(&self.run)));
            return text;
        }
        let mut text = match (&*self.answer, &*self.end) {
            ("", "cancelled") => "The run was called off, so it has no answer.".to_owned(),
            ("", "taken_over") => "A person has taken the run over, so no agent answers.".to_owned(),
            ("", _) => self.no_answer(),
            (answer, _) => answer.to_owned(),
        };
        self.tell_done(&mut text);
        let had = if self.end == "answered" { "answered" } else { "had the turn" };
        text.push_str(&format!("\n\n{} {had}{}", named(&self.last_agent), self.decided()));
        for hop in &self.hops_in_turn {
            text.push_str(&format!("\n{hop}"));
        }
        text.push_str(&format!("\nrun {}", named(&self.run)));
        if let Some(again) = &self.again {
            text.push_str(&format!(
                "\n\nIt can be tried again from there, and nothing is done twice:\n  {again}"
            ));
        }
        text
    }

    /// That there is no answer, and what happened.
    pub(crate) fn no_answer(&self) -> String {
        let why = self.why.as_ref().map(|why| format!(": {}", in_line(why))).unwrap_or_default();
        format!("No answer: the run ended as {}{why}.", self.end)
    }

    /// Who decided, as it stands behind other words.
    pub(crate) fn decided(&self) -> String {
        self.model.as_ref().map(|model| format!(", decisions by {}", in_line(model))).unwrap_or_default()
    }

    /// What was done, as a paragraph; nothing where nothing was. Who is left without an answer is told also that nothing
    /// was done, and what was done before and stands.
    fn tell_done(&self, text: &mut String) {
        let mut lines: Vec<String> = self.done.iter().map(DoneRow::line).collect();
        if !matches!(&*self.end, "answered" | "waiting") {
            if lines.is_empty() {
                lines.push("Nothing was done in this turn.".to_owned());
            }
            let standing = self.done_before.iter().filter(|done| done.stands());
            lines.extend(standing.map(|done| format!("It stands from before: {}", done.what())));
        }
        lines.extend(self.failed.iter().map(FailedRow::line));
        if !lines.is_empty() {
            text.push_str(&format!("\n\n{}", lines.join("\n")));
        }
    }

    /// That a question which was shown before is still open, and how it is answered.
    pub(crate) fn still_waits(&self) -> String {
        let ids: Vec<String> = self.waiting.iter().map(|question| named(&question.id)).collect();
        let mut text = format!("It still waits for an answer to {}.", ids.join(", "));
        text.extend(self.kept_words().map(|kept| format!(" {kept}")));
        let commands = self.waiting.iter().flat_map(|question| &question.commands);
        text.extend(commands.map(|command| format!("\n  {command}")));
        text
    }

    /// What becomes of words that were said while a question is open.
    fn kept_words(&self) -> Option<String> {
        let kept: Vec<String> =
            self.kept.iter().map(|text| in_sight(&serde_json::Value::from(&**text).to_string())).collect();
        (!kept.is_empty()).then(|| format!("{KEPT}: {}.", kept.join(", ")))
    }
}

/// The command that tries a run again from where it ended.
fn again(desk: &Desk, run: &str, done: &Done) -> Option<String> {
    if matches!(done.end(), RunEnd::Answered | RunEnd::Cancelled { .. } | RunEnd::TakenOver { .. }) {
        return None;
    }
    done.clone().retry(&desk.relay).ok()?;
    let store = desk.file.flag().map(|flag| format!("{flag} ")).unwrap_or_default();
    let flag = if matches!(done.end(), RunEnd::Failed { .. }) { "" } else { "--again " };
    // A name that begins like a flag is none.
    let dashes = if run.starts_with('-') { "-- " } else { "" };
    Some(format!("sommelier {store}resume {}{flag}{dashes}{}", desk.decider.flags(), quoted(run)))
}

/// The records up to the one that closes the run with this answer; all of them where there is none.
fn until<'r>(records: &'r [Record], answer_id: &str) -> &'r [Record] {
    let closes = |record: &Record| {
        record.event.kind() == "closed"
            && serde_json::from_str::<Announced>(record.event.body()).is_ok_and(
                |told| matches!(told.what, Announcement::Closed { answer_id: of, .. } if *of == *answer_id),
            )
    };
    let place = records.iter().rposition(closes);
    place.and_then(|place| records.get(..=place)).unwrap_or(records)
}
