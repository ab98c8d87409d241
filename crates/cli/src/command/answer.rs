//! `answer`: what a person says to a question, wherever the run that asks was driven.

use sommelier_handoff::Answer as Said;

use crate::arguments::Lease;
use crate::desk::Desk;
use crate::fault::Fault;
use crate::open::OpenQuestion;
use crate::teller::Teller;

/// What cannot be answered is refused before anything is written for it; what happens meanwhile the driver sees.
pub(super) fn run(
    desk: &Desk,
    teller: &mut Teller<'_>,
    (id, digest): (&str, Option<&str>),
    said: &Said,
    by: Option<&str>,
    lease: Lease,
) -> Result<u8, Fault> {
    let question = OpenQuestion::find(desk, id)?;
    question.check_digest(digest)?;
    question.check_choice(said)?;
    let run = question.run;
    desk.tell_last_model(teller, &run);
    let settled =
        desk.drive(teller, &run, lease, |driver| driver.answer(&run, id, said.clone(), digest, by))?;
    super::tell(desk, teller, &run, &settled)
}
