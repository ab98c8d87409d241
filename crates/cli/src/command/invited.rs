//! `answer --token`: what a person outside says to the one question to which they are invited.
//!
//! That the question is answered once is the truth, and the invitation follows it: the token is checked, the answer is given in
//! the invitation's name, and then the invitation is spent. Whoever is cut off in between sends the same again.

use std::io::{BufRead, Read};

use serde::Serialize;
use sommelier_handoff::Answer as Said;
use sommelier_runner::DurableError;
use sommelier_store::{Invitation, TokenRefused};

use crate::arguments::{Hidden, Lease};
use crate::desk::Desk;
use crate::fault::Fault;
use crate::open::{OnRecord, OpenQuestion};
use crate::teller::{Input, Teller};
use crate::words::named;

/// More than a token has.
const LONGEST_LINE: u64 = 4096;

/// All that the person is told: the rest of the run is not theirs.
#[derive(Serialize)]
struct Taken<'a> {
    question: &'a str,
    answer: &'a str,
    invitation: &'a str,
}

/// How an invitation's question stands.
enum Now {
    Open(OpenQuestion),
    /// It has this answer, by this invitation.
    Taken,
    Refused(TokenRefused),
}

pub(super) fn run(
    desk: &Desk,
    teller: &mut Teller<'_>,
    input: &mut Input<'_>,
    token: Hidden,
    said: &Said,
) -> Result<u8, Fault> {
    let token = given(token, input)?;
    let invitations = desk.store.invitations();
    let invitation = invitations.check(token.0.trim(), desk.now())?;
    let (run, id) = (&invitation.conversation, &invitation.question);
    let drove = match now(desk, &invitation, said)? {
        Now::Open(question) => {
            question.check_choice(said)?;
            let (digest, by) = (invitation.digest.as_str(), invitation.by());
            desk.try_drive(teller, run, Lease::WAITED_FOR, |driver| {
                driver.answer(run, id, said.clone(), Some(digest), Some(&by))
            })
        }
        // A crash came between the answer and this, and the run may not have gone on.
        Now::Taken => desk.try_drive(teller, run, Lease::WAITED_FOR, |driver| driver.resume(run)),
        Now::Refused(why) => return Err(refused(desk, &invitation, why)?),
    };
    match now(desk, &invitation, said)? {
        Now::Refused(why) => return Err(refused(desk, &invitation, why)?),
        Now::Open(_) => drop(drove?),
        Now::Taken => match drove {
            // Somebody was faster, with the same answer by the same token.
            Ok(_) | Err(DurableError::Rejected(_)) => {}
            Err(why) => teller.note(&format!("the answer is on record; {}", Fault::from(why).line())),
        },
    }
    invitations.spend(&invitation, desk.now())?;
    let taken = Taken { question: id, answer: said.as_str(), invitation: &invitation.id };
    teller.tell(|| format!("The answer to {} is on record: {}.", named(id), said.as_str()), &taken)?;
    Ok(0)
}

/// The token, from stdin where that was said.
fn given(token: Hidden, input: &mut Input<'_>) -> Result<Hidden, Fault> {
    if token.0 != "-" {
        return Ok(token);
    }
    let mut line = Vec::new();
    input.lines.take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    Ok(Hidden(String::from_utf8_lossy(&line).into_owned()))
}

fn now(desk: &Desk, invitation: &Invitation, said: &Said) -> Result<Now, Fault> {
    let records = desk.records(&invitation.conversation)?;
    let open = OpenQuestion::within(desk, &invitation.conversation, &records, &invitation.question)?;
    let id = invitation.id.clone();
    Ok(match open {
        Some(question) if question.digest == invitation.digest => Now::Open(question),
        Some(question) => {
            let (shown, open) = (invitation.digest.clone(), question.digest);
            Now::Refused(TokenRefused::OtherQuestion { id, shown, open })
        }
        None => match OnRecord::of(&invitation.question, &records) {
            Some(known) if known.by.as_deref() != Some(&*invitation.by()) => {
                Now::Refused(TokenRefused::Closed { id })
            }
            Some(known) if known.answer == *said => Now::Taken,
            Some(known) => Now::Refused(TokenRefused::Spent { id, at: known.at }),
            None => Now::Refused(TokenRefused::Closed { id }),
        },
    })
}

/// Counts the refusal. An invitation by which another answer was given is spent, though a crash kept it from being marked.
fn refused(desk: &Desk, invitation: &Invitation, why: TokenRefused) -> Result<Fault, Fault> {
    let invitations = desk.store.invitations();
    if let TokenRefused::Spent { at, .. } = why {
        invitations.spend(invitation, at)?;
    }
    Ok(invitations.refuse(why, desk.now()).into())
}
