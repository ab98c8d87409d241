//! `inbox`: what waits for a person.

use serde::Serialize;
use sommelier_store::Journal;

use crate::asked::{QuestionRow, one};
use crate::desk::Desk;
use crate::fault::Fault;
use crate::teller::Teller;

#[derive(Serialize)]
struct Inbox {
    questions: Vec<QuestionRow>,
}

pub(super) fn run(desk: &Desk, teller: &mut Teller<'_>) -> Result<u8, Fault> {
    let questions = open(desk, teller, |_| true)?;
    let text = || match questions.len() {
        0 => "Nothing waits for a person.".to_owned(),
        _ => questions.iter().map(one).collect::<Vec<_>>().join("\n\n"),
    };
    teller.tell(text, &Inbox { questions: questions.clone() })?;
    Ok(0)
}

/// The questions that are open in the runs that `wanted` picks, those that are open longest first. A run that cannot be
/// read is told, and hides no other.
pub(super) fn open(
    desk: &Desk,
    teller: &mut Teller<'_>,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<QuestionRow>, Fault> {
    let mut questions = Vec::new();
    for run in desk.store.conversations()?.into_iter().filter(|run| wanted(run)) {
        let read = desk.records(&run).and_then(|records| desk.replay(&run, &records));
        match read {
            Ok(replay) => questions
                .extend(replay.step().map(|step| QuestionRow::all(desk, &run, step)).unwrap_or_default()),
            Err(fault) => teller.note(&format!("{run:?} is left out: {}", fault.message())),
        }
    }
    questions.sort_by(|one: &QuestionRow, other| (one.since, &one.id).cmp(&(other.since, &other.id)));
    Ok(questions)
}
