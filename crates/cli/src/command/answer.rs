//! `answer`: what a person says to a question, wherever the run that asks was driven.

use sommelier_handoff::{Answer as Said, Entry, InputKind, Question, Rejected, Step};
use sommelier_runner::DurableError;
use sommelier_runner::journal::Record;
use sommelier_store::Journal;

use crate::arguments::Answer;
use crate::bookings::is_of;
use crate::desk::Desk;
use crate::fault::Fault;
use crate::file::quoted;
use crate::teller::Teller;

pub(super) fn run(desk: &Desk, teller: &mut Teller<'_>, given: Answer) -> Result<u8, Fault> {
    let Answer { id, digest, by, word, text } = given;
    let answer = word.answer(text)?;
    let run = run_of(desk, &id, &answer, digest.as_deref())?;
    let settled = desk.drive(teller, &run, |driver| {
        driver.answer(&run, &id, answer.clone(), digest.as_deref(), by.as_deref())
    })?;
    super::tell(desk, teller, &run, &settled)
}

/// The run that asks: a question's id begins with the name of its conversation. What cannot be answered is refused here, so
/// that nothing is written for it; what happens meanwhile the driver sees.
fn run_of(desk: &Desk, id: &str, said: &Said, seen: Option<&str>) -> Result<String, Fault> {
    let (mut open, mut answered) = (Vec::new(), None);
    for run in desk.store.conversations()?.into_iter().filter(|run| is_of(id, run)) {
        let records = desk.records(&run)?;
        let replay = desk.replay(&run, &records)?;
        let questions = replay.step().map(Step::questions).unwrap_or_default();
        match questions.iter().find(|(_, question)| *question.id == *id) {
            Some((_, question)) => open.push((run, check(question, said, seen))),
            None => answered = answered.or_else(|| Some((answer_to(id, &records)?, run))),
        }
    }
    // Names may be such that an id is one of two runs. Which of them is meant only the person knows.
    let runs: Vec<&str> = open.iter().map(|(run, _)| run.as_str()).collect();
    match (open.as_slice(), answered) {
        ([(run, checked)], _) => checked.clone().map(|()| run.clone()),
        ([], Some((answer, run))) => {
            let why = Rejected::Decided { id: id.to_owned(), answer };
            let run = quoted(&run);
            Err(Fault::caller(
                "answered_before",
                format!("{why}; `sommelier resume {run}` tells what came of it"),
            ))
        }
        ([], None) => {
            let why = format!("no question {id:?} is open; `sommelier inbox` lists those that are");
            Err(Fault::caller("unknown_question", why))
        }
        _ => {
            let why = format!(
                "{id:?} is a question of each of these runs, and cannot be answered here: {}",
                runs.join(", ")
            );
            Err(Fault::caller("ambiguous_question", why))
        }
    }
}

/// Refuses an answer that the question does not have, and one to another question than the person was shown.
fn check(question: &Question, said: &Said, seen: Option<&str>) -> Result<(), Fault> {
    let (id, found) = (question.id.to_string(), question.digest());
    if let Some(seen) = seen.filter(|seen| **seen != *found) {
        return Err(DurableError::OtherQuestion { id, seen: seen.to_owned(), found: found.into() }.into());
    }
    let choices = question.asks.choices();
    if !choices.contains(&said.as_str()) {
        let choices = choices.iter().map(ToString::to_string).collect();
        return Err(Rejected::NoChoice { id, answer: said.as_str().to_owned(), choices }.into());
    }
    Ok(())
}

/// The answer that was given to a question, if there is one on record.
fn answer_to(id: &str, records: &[Record]) -> Option<Said> {
    records.iter().map(|record| &record.event).filter(|event| event.kind() == "human_answered").find_map(
        |event| {
            let Ok(Entry::Input(input)) = Entry::read(event.kind(), event.version(), event.body()) else {
                return None;
            };
            match input.what {
                InputKind::HumanAnswered { id: answered, answer, .. } if *answered == *id => Some(answer),
                _ => None,
            }
        },
    )
}
