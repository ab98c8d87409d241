//! What was done in a turn, and what was said while it waits, as the records tell it.

use std::collections::{BTreeMap, BTreeSet};

use reservo::booking::{BookingReceipt, BookingStatus, CancelReceipt};
use serde::Serialize;
use sommelier_handoff::{Announcement, Answer, Chronicle, Effect, Entry, InputKind};
use sommelier_protocol::sight::in_sight;
use sommelier_protocol::{RawJson, ToolName};
use sommelier_runner::journal::Record;
use sommelier_runtime::ToolOutput;

use crate::asked::QuestionRow;
use crate::words::{in_line, named};

/// What becomes of words that were said while a question is open.
pub(crate) const KEPT: &str =
    "What was said meanwhile is no answer to it, and is kept for the agent until then";

/// What the records of a conversation say of the turn in which they end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    /// What tools have done in the turn, or may have done.
    pub(crate) done: Vec<DoneRow>,
    /// What they have done in the turns before.
    pub(crate) before: Vec<DoneRow>,
    /// What a person has approved in the turn, and was not done all the same.
    pub(crate) failed: Vec<FailedRow>,
    /// The ids of the handoffs that were asked for in the turns before.
    pub(crate) hops_before: BTreeSet<Box<str>>,
    /// The user's words, before and after a question was asked that is open.
    pub(crate) said: Said,
    /// Whose replies came in the turn, each once, in the order in which they came first.
    pub(crate) models: Vec<String>,
    /// Why the model declined, where that was its last reply.
    pub(crate) declined: Option<String>,
}

/// What the user of a run has said that waits for a person.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Said {
    /// The newest words of before the question.
    #[serde(rename = "said")]
    pub(crate) before: Option<String>,
    /// Words that were said while it is open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) kept: Vec<String>,
}

/// Something that a tool has done, or may have done. What only reads does nothing.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DoneRow {
    tool: String,
    /// What the tool gave; null where that is not known.
    result: Option<RawJson>,
    /// Whether a later call has undone it.
    undone: bool,
    /// Whether nobody knows if it was done.
    in_doubt: bool,
}

/// Something that a person has approved and a tool has refused: whoever approved it counts on it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FailedRow {
    tool: String,
    /// What went wrong, in a word.
    error: String,
    /// What the tool said of it in words of people; null where it said nothing.
    detail: Option<String>,
}

impl Account {
    /// What the records say, where these questions are open at their end.
    pub(crate) fn of(conversation: &str, records: &[Record], open: &[QuestionRow]) -> Self {
        let mut chronicle = Chronicle::default();
        // How many effects there were when the turn began, and whether the one before has ended.
        let (mut before, mut is_over) = (0, false);
        let (mut said, mut is_asked) = (Said::default(), false);
        let (mut models, mut declined) = (Vec::<String>::new(), None);
        // The calls of each run that run, by their places, and those that a person has approved.
        let (mut calls, mut approved) = (BTreeMap::new(), BTreeSet::new());
        let mut failed = BTreeMap::new();
        let (mut hops, mut hops_before) = (BTreeSet::new(), BTreeSet::new());
        for record in records {
            match Entry::read(record.event.kind(), record.event.version(), record.event.body()) {
                Ok(Entry::Input(input)) => {
                    match &input.what {
                        InputKind::TurnReceived { text, .. } => {
                            if std::mem::take(&mut is_over) {
                                before = chronicle.effects().len();
                                hops_before.append(&mut hops);
                                models.clear();
                                failed.clear();
                            }
                            match is_asked {
                                true => said.kept.push(text.to_string()),
                                false => said.before = Some(text.to_string()),
                            }
                        }
                        InputKind::HumanAnswered { id, answer: Answer::Approve, .. } => {
                            approved.insert(id.clone());
                        }
                        InputKind::ToolCompleted { place, .. } => {
                            let call = calls.get(&(input.run.clone(), *place));
                            call.map(|(key, _)| failed.remove(key));
                        }
                        InputKind::ToolFailed { place, output } => {
                            let call: Option<&(Box<str>, _)> = calls.get(&(input.run.clone(), *place));
                            if let Some((key, tool)) = call.filter(|(key, _)| approved.contains(key)) {
                                failed.insert(key.clone(), FailedRow::of(tool, output));
                            }
                        }
                        InputKind::HandoffCommitted { hop } => _ = hops.insert(hop.id.clone()),
                        InputKind::Retried | InputKind::MoreGiven { .. } => is_over = false,
                        InputKind::ModelResponded { response } => {
                            declined = response.declined().map(|why| why.to_string());
                            if models.iter().all(|known| **known != *response.model) {
                                models.push(response.model.to_string());
                            }
                        }
                        _ => {}
                    }
                    chronicle.note_input(&input);
                }
                Ok(Entry::Announced(told)) => {
                    chronicle.note_announced(conversation, &told);
                    match &told.what {
                        Announcement::ToolIntended { key, tool, place, .. } => {
                            calls.insert((told.run.clone(), *place), (key.clone(), tool.clone()));
                        }
                        Announcement::HandoffRefused { hop, .. } => _ = hops.insert(hop.clone()),
                        Announcement::Closed { .. } if *told.run == *conversation => is_over = true,
                        Announcement::Escalated { questions } => {
                            is_asked |=
                                questions.iter().any(|asked| open.iter().any(|row| row.id == *asked.id));
                        }
                        _ => {}
                    }
                }
                Err(_) => {}
            }
        }
        let mut done: Vec<DoneRow> = chronicle.effects().iter().map(DoneRow::of).collect();
        let in_turn = done.split_off(before.min(done.len()));
        // What may have been done is told as that.
        chronicle.in_doubt().for_each(|effect| _ = failed.remove(&effect.key));
        let unknown = chronicle.in_doubt().map(DoneRow::of);
        let (before, done) = (done, in_turn.into_iter().chain(unknown).collect());
        let failed = failed.into_values().collect();
        Self { done, before, failed, hops_before, said, models, declined }
    }
}

/// The model that has replied last, as its reply names it; `None` where none has replied.
pub(crate) fn last_model(records: &[Record]) -> Option<String> {
    records.iter().rev().map(|record| &record.event).find_map(|event| {
        let Ok(Entry::Input(input)) = Entry::read(event.kind(), event.version(), event.body()) else {
            return None;
        };
        match input.what {
            InputKind::ModelResponded { response } => Some(response.model.to_string()),
            _ => None,
        }
    })
}

impl FailedRow {
    fn of(tool: &ToolName, output: &ToolOutput) -> Self {
        let error = output.error.as_deref().unwrap_or_default().to_owned();
        let said: Option<serde_json::Value> = serde_json::from_str(&output.content).ok();
        let detail = said.as_ref().and_then(|said| said.get("message").or(said.get("detail"))?.as_str());
        Self { tool: tool.to_string(), error, detail: detail.map(str::to_owned) }
    }

    /// What was not done, in plain words.
    pub(crate) fn line(&self) -> String {
        let detail = self.detail.iter().map(|detail| format!(": {}", in_line(detail))).collect::<String>();
        format!("Not done, though it was approved: {}, {}{detail}", named(&self.tool), in_line(&self.error))
    }
}

impl DoneRow {
    fn of(effect: &Effect) -> Self {
        let result = effect.result.as_deref().map(|result| {
            let seen = in_sight(result);
            RawJson::parse(&seen).unwrap_or_else(|_| RawJson::string(result))
        });
        Self { tool: effect.tool.to_string(), in_doubt: result.is_none(), result, undone: effect.is_undone }
    }

    /// Whether it may still be so.
    pub(crate) fn stands(&self) -> bool {
        !self.undone
    }

    /// What was done, in plain words.
    pub(crate) fn line(&self) -> String {
        let what = self.what();
        match self {
            Self { in_doubt: true, .. } => format!("In doubt: {what} may have been done, and nobody knows"),
            Self { undone: true, .. } => format!("Done, and undone since: {what}"),
            _ => format!("Done: {what}"),
        }
    }

    /// The tool and what it gave: for the tools of the house as people say it.
    pub(crate) fn what(&self) -> String {
        let Some(result) = &self.result else { return named(&self.tool) };
        let gave = in_words(&self.tool, result).unwrap_or_else(|| result.get().to_owned());
        format!("{} {gave}", named(&self.tool))
    }
}

/// What a tool of the house gave, as people say it.
pub(crate) fn in_words(tool: &str, result: &RawJson) -> Option<String> {
    match tool {
        "book" => {
            let receipt: BookingReceipt = result.read().ok()?;
            Some(format!("{}, {}", receipt.booking_id, receipt.total_cents))
        }
        "cancel" => {
            let CancelReceipt { booking_id, status, refund_cents } = result.read().ok()?;
            Some(match status {
                BookingStatus::AlreadyCancelled => format!("{booking_id}, which was cancelled before"),
                _ => format!("{booking_id}, {refund_cents} back"),
            })
        }
        _ => None,
    }
}
