//! `cancel`: a run is called off.

use sommelier_handoff::Step;

use crate::arguments::Lease;
use crate::desk::Desk;
use crate::fault::Fault;
use crate::rows::SettledRow;
use crate::teller::Teller;

/// The exit code is 0 when the run is called off, since that is what was asked for, and 1 when it had ended otherwise.
pub(super) fn run(
    desk: &Desk,
    teller: &mut Teller<'_>,
    given: &str,
    reason: &str,
    lease: Lease,
) -> Result<u8, Fault> {
    let run = desk.find(given)?;
    let records = desk.records(&run)?;
    let had_ended = matches!(desk.replay(&run, &records)?.step(), Some(Step::Done(_)));
    let settled = desk.drive(teller, &run, lease, |driver| driver.cancel(&run, reason))?;
    let row = SettledRow::of(desk, &run, &settled)?;
    let is_cancelled = row.end == "cancelled";
    let text = || match (is_cancelled, had_ended) {
        (true, false) => row.text(),
        (true, true) => format!("It had been called off before, and nothing was done now.\n\n{}", row.text()),
        (false, _) => {
            let (end, text) = (&row.end, row.text());
            format!(
                "Nothing was called off: the run had ended before, as {end}. What it came to stands:\n\n{text}"
            )
        }
    };
    teller.tell(text, &row)?;
    Ok(u8::from(!is_cancelled))
}
