//! `ask`: one text, one answer.

use crate::arguments::Ask;
use crate::desk::Desk;
use crate::fault::{Fault, blank};
use crate::teller::Teller;
use crate::words::is_seen;

pub(super) fn run(desk: &Desk, teller: &mut Teller<'_>, asked: Ask) -> Result<u8, Fault> {
    let Ask { text, conversation, key, lease, asking: _ } = asked;
    if !text.chars().any(is_seen) {
        return Err(blank());
    }
    let run = match conversation {
        Some(name) => name,
        None => desk.fresh_name("run")?,
    };
    let turn = desk.turn(&text);
    let turn = key.iter().fold(turn, |turn, key| turn.key(key));
    desk.tell_last_model(teller, &run);
    let settled = desk.drive(teller, &run, lease, |driver| driver.submit(&run, turn.clone()))?;
    super::tell(desk, teller, &run, &settled)
}
