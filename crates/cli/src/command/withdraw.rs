//! `withdraw`: an invitation is taken back.

use serde::Serialize;
use sommelier_store::Standing;

use crate::desk::Desk;
use crate::fault::Fault;
use crate::file::quoted;
use crate::invited::InvitationRow;
use crate::teller::Teller;
use crate::time::shown;
use crate::words::named;

#[derive(Serialize)]
struct Withdrawn {
    invitation: InvitationRow,
    /// When it was taken back, in milliseconds since 1970.
    withdrawn: u64,
}

pub(super) fn run(desk: &Desk, teller: &mut Teller<'_>, given: &str) -> Result<u8, Fault> {
    // Whoever has the token at hand may give it, and it is not repeated.
    let id = given.split('.').next().unwrap_or_default();
    let Some(invitation) = desk.store.invitations().withdraw(id, desk.now())? else {
        let why = format!("there is no invitation {id:?}; `sommelier inbox` lists those that are open");
        return Err(Fault::caller("unknown_invitation", why));
    };
    let row = InvitationRow::of(&invitation);
    match invitation.standing {
        Standing::Withdrawn { at } => {
            let text = || format!("Invitation {id} to answer {} is withdrawn.", named(&row.question));
            teller.tell(text, &Withdrawn { invitation: row.clone(), withdrawn: at })?;
            Ok(0)
        }
        Standing::Spent { at } => {
            let (run, at) = (quoted(&row.run), shown(at));
            let why = format!("it was made use of at {at}; `sommelier show {run}` tells the answer");
            Err(Fault::caller("spent", why))
        }
        Standing::Open => Err(Fault::caller("journal", "the invitation was not withdrawn; try again")),
    }
}
