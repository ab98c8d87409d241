//! `inbox`: what waits for a person.

use serde::Serialize;
use sommelier_store::{Journal, JournalError};

use crate::asked::{QuestionRow, one};
use crate::desk::Desk;
use crate::fault::Fault;
use crate::invited::{InvitationRow, RefusedRow};
use crate::teller::Teller;

#[derive(Serialize)]
struct Inbox {
    questions: Vec<QuestionRow>,
    /// The invitations whose tokens are good.
    invitations: Vec<InvitationRow>,
    refused_tokens: RefusedRow,
}

pub(super) fn run(desk: &Desk, teller: &mut Teller<'_>) -> Result<u8, Fault> {
    let questions = open(desk, teller, |_| true)?;
    let now = desk.now();
    let invitations = or_none(teller, "the invitations", desk.store.invitations().all())?;
    let is_good = |row: &InvitationRow| questions.iter().any(|question| is_to(row, question));
    let invitations = invitations.iter().filter(|invitation| invitation.is_open(now)).map(InvitationRow::of);
    let invitations = invitations.filter(is_good).collect();
    let refused_tokens = or_none(teller, "the counts of refused tokens", desk.store.invitations().refused())?;
    let refused_tokens = RefusedRow::of(refused_tokens);
    let inbox = Inbox { questions, invitations, refused_tokens };
    teller.tell(|| inbox.text(), &inbox)?;
    Ok(0)
}

impl Inbox {
    fn text(&self) -> String {
        let mut parts: Vec<String> =
            self.questions.iter().map(|question| self.with_invited(question)).collect();
        if parts.is_empty() {
            parts.push("Nothing waits for a person.".to_owned());
        }
        parts.extend(self.refused_tokens.line());
        parts.join("\n\n")
    }

    fn with_invited(&self, question: &QuestionRow) -> String {
        let invited = self.invitations.iter().filter(|invitation| is_to(invitation, question));
        invited.fold(one(question), |text, invitation| format!("{text}\n{}", invitation.line()))
    }
}

fn is_to(invitation: &InvitationRow, question: &QuestionRow) -> bool {
    (&invitation.run, &invitation.question, &invitation.digest)
        == (&question.run, &question.id, &question.digest)
}

/// What was read. Where it is damaged that is told, and hides no question.
fn or_none<T: Default>(
    teller: &mut Teller<'_>,
    what: &str,
    read: Result<T, JournalError>,
) -> Result<T, Fault> {
    match read {
        Err(error @ JournalError::Damaged(_)) => {
            teller.note(&format!("{what} are left out: {}", Fault::from(error).message()));
            Ok(T::default())
        }
        read => Ok(read?),
    }
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
