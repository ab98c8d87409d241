//! A house to try things on.

use std::sync::Arc;

use crate::booking::{Booking, BookingId, BookingState, Customer, MemoryBookings, TimeSlot};
use crate::civil::{Date, DateTime, Time};
use crate::hours::Hours;
use crate::house::Reservo;
use crate::money::Cents;
use crate::plan::Plan;
use crate::room::Room;

/// What the clock of [`demo`] shows: Monday, 2026-11-30, 10:00.
pub const DEMO_NOW: DateTime =
    DateTime::new(Date { year: 2026, month: 11, day: 30 }, Time { hour: 10, minute: 0 });

/// The house at [`DEMO_NOW`], with a booking for every fate that cancelling can meet:
///
/// | id | room, plan | when | cancelled now |
/// |---|---|---|---|
/// | RSV-0001 | Forum, team | tomorrow 09:00-12:00 | 23 hours ahead: half, 6825 cents |
/// | RSV-0002 | Studio, pro | 2026-12-02 14:00-16:00 | more than 24 hours ahead: all, 6400 cents |
/// | RSV-0003 | Focus, basic | today 11:00-12:00 | 1 hour ahead: nothing |
/// | RSV-0004 | Studio, basic | today 09:00-11:00 | already started |
/// | RSV-0005 | Focus, pro | 2026-12-03 09:00-12:00 | already cancelled, 6000 cents |
///
/// ```
/// let house = reservo::demo();
/// assert_eq!(house.now.to_string(), "2026-11-30T10:00");
/// assert_eq!(house.cancel("RSV-0002".parse()?, &"key".into())?.refund_cents.0, 6400);
/// # Ok::<(), reservo::ReservoError>(())
/// ```
pub fn demo() -> Reservo {
    let mut house = Reservo::new(DEMO_NOW);
    let today = DEMO_NOW.date();
    let december = |day| Date { year: 2026, month: 12, day };
    let bookings = [
        (Room::Forum, Plan::Team, december(1), 9, 3, "Grace", BookingState::Booked),
        (Room::Studio, Plan::Pro, december(2), 14, 2, "Alan", BookingState::Booked),
        (Room::Focus, Plan::Basic, today, 11, 1, "Edsger", BookingState::Booked),
        (Room::Studio, Plan::Basic, today, 9, 2, "Barbara", BookingState::Booked),
        (
            Room::Focus,
            Plan::Pro,
            december(3),
            9,
            3,
            "Tony",
            BookingState::Cancelled { refund_cents: Cents(6000) },
        ),
    ];
    let ledger: MemoryBookings = bookings
        .into_iter()
        .zip(1..)
        .filter_map(|((room, plan, date, start_hour, hours, customer, state), number)| {
            let hours = Hours(hours);
            Some(Booking {
                id: BookingId::new(number),
                room,
                plan,
                slot: TimeSlot { date, start_hour, hours },
                customer: Customer::new(customer).ok()?,
                total_cents: house.quote(room, plan, hours).total_cents,
                state,
            })
        })
        .collect();
    house.bookings = Arc::new(ledger);
    house
}
