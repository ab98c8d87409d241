//! `resume`: a run goes on where its records end.

use crate::arguments::Lease;
use crate::desk::Desk;
use crate::fault::Fault;
use crate::teller::Teller;

pub(super) fn run(desk: &Desk, teller: &mut Teller<'_>, given: &str, lease: Lease) -> Result<u8, Fault> {
    let run = desk.find(given)?;
    let settled = desk.drive(teller, &run, lease, |driver| driver.resume(&run))?;
    super::tell(desk, teller, &run, &settled)
}
