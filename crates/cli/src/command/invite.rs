//! `invite`: a token by which a person outside may answer one question.

use serde::Serialize;
use sommelier_store::{InvitedTo, Token};

use crate::arguments::Invite;
use crate::asked::command_by_token;
use crate::desk::Desk;
use crate::fault::Fault;
use crate::invited::InvitationRow;
use crate::open::OpenQuestion;
use crate::teller::Teller;
use crate::time::shown;
use crate::words::named;

#[derive(Serialize)]
struct Invited {
    invitation: InvitationRow,
    /// It is told this once.
    token: String,
    /// The commands that answer, with the token on stdin.
    commands: Vec<String>,
}

pub(super) fn run(desk: &Desk, teller: &mut Teller<'_>, given: &Invite) -> Result<u8, Fault> {
    let to = given.to.as_deref();
    if [to, given.digest.as_deref(), Some(&given.id)].into_iter().flatten().any(Token::is_like) {
        return Err(Fault::caller("usage", "a token is no id, name or digest"));
    }
    let question = OpenQuestion::find(desk, &given.id)?;
    question.check_digest(given.digest.as_deref())?;
    let now = desk.now();
    let invited_to =
        InvitedTo { conversation: &question.run, question: &question.id, digest: &question.digest, whom: to };
    let (invitation, token) =
        desk.store.invitations().issue(&invited_to, now, now.saturating_add(given.term()))?;
    let invited = Invited {
        invitation: InvitationRow::of(&invitation),
        token: token.reveal(),
        commands: question.choices.iter().map(|choice| command_by_token(desk, choice)).collect(),
    };
    teller.tell(|| invited.text(), &invited)?;
    Ok(0)
}

impl Invited {
    fn text(&self) -> String {
        let InvitationRow { id, question, digest, until, .. } = &self.invitation;
        let to = self.invitation.to.as_deref().map(|to| format!(" of {}", named(to))).unwrap_or_default();
        let mut text = format!(
            "Invitation {id}{to} to answer {}\n  digest     {digest}\n  until      {}\n  token      {}",
            named(question),
            shown(*until),
            self.token
        );
        for command in &self.commands {
            text.push_str(&format!("\n  {command}"));
        }
        text.push_str(&format!(
            "\nThe token is shown this once. Whoever has it may give one answer; `sommelier withdraw {id}` takes it back."
        ));
        text
    }
}
