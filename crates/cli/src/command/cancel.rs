//! `cancel`: a run is called off.

use crate::desk::Desk;
use crate::fault::Fault;
use crate::teller::Teller;

pub(super) fn run(desk: &Desk, teller: &mut Teller<'_>, given: &str, reason: &str) -> Result<u8, Fault> {
    let run = desk.find(given)?;
    let settled = desk.drive(teller, &run, |driver| driver.cancel(&run, reason))?;
    super::tell(desk, teller, &run, &settled)
}
