//! The house that the conversations are held with.

use std::sync::Arc;

use reservo::booking::Booking;
use reservo::{Entry, Reservo, demo, specialists};
use reservo_ledger::SqliteBookings;
use sommelier_handoff::{Guard, Guards, OnRefusal, Relay};

use crate::fault::{Fault, Whose};

/// The house with its clock at [`demo`]'s time, and a ledger in the file of the journal, which begins with the bookings of
/// that house.
///
/// The clock stands still on purpose: what an agent is told of the time is part of its definition, and a conversation goes
/// on only with the definition that it began with.
pub(crate) fn house(ledger: Arc<SqliteBookings>) -> Result<Arc<Reservo>, Fault> {
    ledger.begin_with(seeds()?)?;
    Ok(Arc::new(Reservo { bookings: ledger, ..demo() }))
}

/// The same house with a ledger in memory, gone with it.
pub(crate) fn mock_house() -> Arc<Reservo> {
    Arc::new(demo())
}

/// The bookings that the house begins with: nobody has made them in a conversation.
pub(crate) fn seeds() -> Result<Vec<Booking>, Fault> {
    Ok(demo().bookings.all()?)
}

/// The three desks over a house. Every conversation has this one relay; at which desk it begins its first words say. Desks that
/// hand over and over end with a person, who has all of it to look at, and not with one more desk.
pub(crate) fn relay(house: &Arc<Reservo>) -> Result<Relay, Fault> {
    let guards = Guards::default()
        .on_refusal(Guard::Cap, OnRefusal::Escalate)
        .on_refusal(Guard::Pair, OnRefusal::Escalate);
    specialists::relay(house, Entry::Booking)
        .guards(guards)
        .build()
        .map_err(|errors| Fault::new("definition", Whose::Program, errors))
}
