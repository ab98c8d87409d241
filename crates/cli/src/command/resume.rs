//! `resume`: a run goes on where its records end.

use sommelier_handoff::{InputKind, RunEnd, Step};

use crate::arguments::Lease;
use crate::desk::Desk;
use crate::fault::Fault;
use crate::stand::{RUNNING, Stand};
use crate::teller::Teller;

pub(super) fn run(
    desk: &Desk,
    teller: &mut Teller<'_>,
    given: &str,
    again: bool,
    lease: Lease,
) -> Result<u8, Fault> {
    let run = desk.find(given)?;
    let is_tried = again && has_ended_in_vain(desk, &run)?;
    // Where nothing is left to do no model is asked.
    let goes_on = || is_tried || Stand::of(desk, &run).is_ok_and(|stand| stand.summary.status == RUNNING);
    if !desk.decider.is_named() && goes_on() {
        desk.tell_last_model(teller, &run);
    }
    let settled = desk.drive(teller, &run, lease, |driver| match is_tried {
        true => driver.give(&run, InputKind::Retried),
        false => driver.resume(&run),
    })?;
    super::tell(desk, teller, &run, &settled)
}

/// Whether the run has ended without an answer, in a way that it can be tried again from.
pub(crate) fn has_ended_in_vain(desk: &Desk, run: &str) -> Result<bool, Fault> {
    let records = desk.records(run)?;
    let replay = desk.replay(run, &records)?;
    let Some(Step::Done(done)) = replay.step() else { return Ok(false) };
    Ok(*done.end() != RunEnd::Answered && done.clone().retry(&desk.relay).is_ok())
}
