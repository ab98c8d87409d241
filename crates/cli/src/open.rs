//! Questions that are open, by their ids, and answers that were given.

use sommelier_handoff::{Answer as Said, Entry, InputKind, Millis, Question, Rejected, Step};
use sommelier_runner::DurableError;
use sommelier_runner::journal::Record;
use sommelier_store::Journal;

use crate::bookings::is_of;
use crate::desk::Desk;
use crate::fault::{Fault, decided};
use crate::file::quoted;
use crate::words::named;

/// A question that is open.
pub(crate) struct OpenQuestion {
    /// The run that asks.
    pub(crate) run: String,
    pub(crate) id: String,
    /// What an answer is bound to.
    pub(crate) digest: String,
    /// The answers that are possible.
    pub(crate) choices: &'static [&'static str],
}

/// An answer on record.
pub(crate) struct OnRecord {
    pub(crate) answer: Said,
    /// Who gave it.
    pub(crate) by: Option<Box<str>>,
    pub(crate) at: Millis,
}

impl OpenQuestion {
    /// The question of this id: it begins with the name of its conversation.
    pub(crate) fn find(desk: &Desk, id: &str) -> Result<Self, Fault> {
        let (mut open, mut answered) = (Vec::new(), None);
        for run in desk.store.conversations()?.into_iter().filter(|run| is_of(id, run)) {
            let records = desk.records(&run)?;
            match Self::within(desk, &run, &records, id)? {
                Some(question) => open.push(question),
                None => answered = answered.or_else(|| Some((OnRecord::of(id, &records)?.answer, run))),
            }
        }
        // Names may be such that an id is one of two runs. Which of them is meant only the person knows.
        if open.len() > 1 {
            let runs: Vec<String> = open.iter().map(|question| named(&question.run)).collect();
            let why = format!(
                "{id:?} is a question of each of these runs, and cannot be answered here: {}",
                runs.join(", ")
            );
            return Err(Fault::caller("ambiguous_question", why));
        }
        open.pop().ok_or_else(|| match answered {
            Some((answer, run)) => {
                let (why, run) = (decided(id, &answer), quoted(&run));
                Fault::caller("answered_before", why)
                    .typed(format_args!("; `sommelier resume {run}` tells what came of it"))
            }
            None => Fault::caller("unknown_question", format!("no question {id:?} is open"))
                .typed("; `sommelier inbox` lists those that are"),
        })
    }

    /// The question of this id in a run with these records.
    pub(crate) fn within(
        desk: &Desk,
        run: &str,
        records: &[Record],
        id: &str,
    ) -> Result<Option<Self>, Fault> {
        let replay = desk.replay(run, records)?;
        let questions = replay.step().map(Step::questions).unwrap_or_default();
        let found = questions.iter().find(|(_, question)| *question.id == *id);
        Ok(found.map(|(_, question)| Self::of(run, question)))
    }

    fn of(run: &str, question: &Question) -> Self {
        Self {
            run: run.to_owned(),
            id: question.id.to_string(),
            digest: question.digest().into(),
            choices: question.asks.choices(),
        }
    }

    /// Refuses who was shown another question.
    pub(crate) fn check_digest(&self, seen: Option<&str>) -> Result<(), Fault> {
        match seen.filter(|seen| *seen != self.digest) {
            None => Ok(()),
            Some(seen) => {
                let (id, seen, found) = (self.id.clone(), seen.to_owned(), self.digest.clone());
                Err(DurableError::OtherQuestion { id, seen, found }.into())
            }
        }
    }

    /// Refuses an answer that the question does not have.
    pub(crate) fn check_choice(&self, said: &Said) -> Result<(), Fault> {
        if self.choices.contains(&said.as_str()) {
            return Ok(());
        }
        let choices = self.choices.iter().map(ToString::to_string).collect();
        Err(Rejected::NoChoice { id: self.id.clone(), answer: said.as_str().to_owned(), choices }.into())
    }
}

impl OnRecord {
    /// The answer that was given to a question, if there is one.
    pub(crate) fn of(id: &str, records: &[Record]) -> Option<Self> {
        let answers =
            records.iter().map(|record| &record.event).filter(|event| event.kind() == "human_answered");
        answers.into_iter().find_map(|event| {
            let Ok(Entry::Input(input)) = Entry::read(event.kind(), event.version(), event.body()) else {
                return None;
            };
            match input.what {
                InputKind::HumanAnswered { id: answered, answer, by } if *answered == *id => {
                    Some(Self { answer, by, at: event.at() })
                }
                _ => None,
            }
        })
    }
}
