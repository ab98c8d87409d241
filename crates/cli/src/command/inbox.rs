//! `inbox`: what waits for a person.

use std::borrow::Borrow;

use serde::Serialize;
use sommelier_protocol::RawJson;
use sommelier_protocol::sight::in_sight;
use sommelier_store::{Journal, JournalError};

use crate::asked::{QuestionRow, one_with};
use crate::desk::Desk;
use crate::done::{Account, Said};
use crate::fault::Fault;
use crate::invited::{InvitationRow, RefusedRow};
use crate::teller::Teller;
use crate::words::{begin, named};

#[derive(Serialize)]
struct Inbox {
    questions: Vec<Waits>,
    /// The invitations whose tokens are good.
    invitations: Vec<InvitationRow>,
    refused_tokens: RefusedRow,
    /// What could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOut>,
}

/// A question, with what the user has said whom it keeps waiting.
#[derive(Serialize)]
struct Waits {
    #[serde(flatten)]
    question: QuestionRow,
    #[serde(flatten)]
    said: Said,
}

/// The places beside the conversations, by the names that `verify` has for them.
const INVITATIONS: &str = "#invitations";
const REFUSED_TOKENS: &str = "#refused_tokens";

/// Characters of a user's words that stand in the text.
const LONGEST_SAID: usize = 400;

/// Something that cannot be read, and may have had a question.
#[derive(Serialize)]
pub(crate) struct LeftOut {
    /// The run, or `#invitations` or `#refused_tokens`, which are of no run.
    pub(crate) run: String,
    pub(crate) fault: Fault,
}

pub(super) fn run(desk: &Desk, teller: &mut Teller<'_>) -> Result<u8, Fault> {
    let mut left_out = Vec::new();
    let questions = open(desk, &mut left_out)?;
    let now = desk.now();
    let invitations = or_none(INVITATIONS, desk.store.invitations().all(), &mut left_out)?;
    let is_good = |row: &InvitationRow| questions.iter().any(|waits| is_to(row, &waits.question));
    let invitations = invitations.iter().filter(|invitation| invitation.is_open(now)).map(InvitationRow::of);
    let invitations = invitations.filter(is_good).collect();
    let refused_tokens = or_none(REFUSED_TOKENS, desk.store.invitations().refused(), &mut left_out)?;
    let refused_tokens = RefusedRow::of(refused_tokens);
    let inbox = Inbox { questions, invitations, refused_tokens, left_out };
    teller.tell(|| inbox.text(), &inbox)?;
    Ok(u8::from(!inbox.left_out.is_empty()))
}

impl Inbox {
    fn text(&self) -> String {
        let mut parts: Vec<String> = self.questions.iter().map(|waits| self.one(waits)).collect();
        if parts.is_empty() {
            let that_can_be_read = if self.left_out.is_empty() { "" } else { " that can be read" };
            parts.push(format!("Nothing{that_can_be_read} waits for a person."));
        }
        parts.extend(self.refused_tokens.line());
        let left_out =
            |LeftOut { run, fault }: &LeftOut| format!("{} is left out: {}", named(run), fault.line());
        parts.extend(self.left_out.iter().map(left_out));
        parts.join("\n\n")
    }

    fn one(&self, Waits { question, said }: &Waits) -> String {
        let heard = said.before.iter().map(|words| ("user said", shortly(words)));
        let kept = said.kept.iter().map(|words| ("said since", shortly(words)));
        let invited = self.invitations.iter().filter(|invitation| is_to(invitation, question));
        invited.fold(one_with(question, heard.chain(kept)), |text, invitation| {
            format!("{text}\n{}", invitation.line())
        })
    }
}

/// The beginning of a user's words; `show` has all of them.
fn shortly(words: &str) -> String {
    in_sight(RawJson::string(&begin(words, LONGEST_SAID)).get())
}

fn is_to(invitation: &InvitationRow, question: &QuestionRow) -> bool {
    (&invitation.run, &invitation.question, &invitation.digest)
        == (&question.run, &question.id, &question.digest)
}

/// What was read. Where it is damaged that is told, and hides no question.
fn or_none<T: Default>(
    what: &str,
    read: Result<T, JournalError>,
    left_out: &mut Vec<LeftOut>,
) -> Result<T, Fault> {
    match read {
        Err(error @ JournalError::Damaged(_)) => {
            left_out.push(LeftOut { run: what.to_owned(), fault: error.into() });
            Ok(T::default())
        }
        read => Ok(read?),
    }
}

/// The questions that are open, those that are open longest first. A run that cannot be read is told, and hides no other.
fn open(desk: &Desk, left_out: &mut Vec<LeftOut>) -> Result<Vec<Waits>, Fault> {
    let mut questions = Vec::new();
    for run in desk.store.conversations()? {
        match asked_in(desk, &run) {
            Ok((asked, said)) => {
                questions.extend(asked.into_iter().map(|question| Waits { question, said: said.clone() }));
            }
            Err(fault) => left_out.push(LeftOut { run, fault }),
        }
    }
    sort(&mut questions);
    Ok(questions)
}

/// The questions that are open in a run, and what its user has said.
pub(crate) fn asked_in(desk: &Desk, run: &str) -> Result<(Vec<QuestionRow>, Said), Fault> {
    let records = desk.records(run)?;
    let replay = desk.replay(run, &records)?;
    let questions = replay.step().map(|step| QuestionRow::all(desk, run, step, &records)).unwrap_or_default();
    let said = match &*questions {
        [] => Said::default(),
        open => Account::of(run, &records, open).said,
    };
    Ok((questions, said))
}

impl Borrow<QuestionRow> for Waits {
    fn borrow(&self) -> &QuestionRow {
        &self.question
    }
}

/// Those that are open longest come first.
pub(crate) fn sort<Q: Borrow<QuestionRow>>(questions: &mut [Q]) {
    let place = |row: &Q| (row.borrow().since, row.borrow().id.clone());
    questions.sort_by_cached_key(place);
}
