//! The house's functions as tools for agents.
//!
//! An agent owns only its tools: the booking desk has none that answers a question about the rules.

use sommelier_runtime::tool::{CallContext, ToolFailure};
use sommelier_runtime::{Tool, tool_args};
use std::str::FromStr;
use std::sync::Arc;

use crate::booking::{BookingReceipt, BookingRequest, Bookings, CancelReceipt, Customer};
use crate::price::{Comparison, PriceRow, Quote};
use crate::search::Hit;
use crate::{Hours, Plan, Reservo, ReservoError, Room};

tool_args! {
    /// A room, a plan and a length.
    pub struct GetQuote {
        /// The room's name.
        pub room: String => ["Focus", "Studio", "Forum"],
        /// The plan's name.
        pub plan: String => ["basic", "pro", "team"],
        /// Whole hours, 1 to 8.
        pub hours: i64,
    }
}

tool_args! {
    /// Everything that a booking needs.
    pub struct Book {
        /// The room's name.
        pub room: String => ["Focus", "Studio", "Forum"],
        /// The plan's name.
        pub plan: String => ["basic", "pro", "team"],
        /// The day, as YYYY-MM-DD.
        pub date: String,
        /// The hour at which it starts, 0 to 23.
        pub start_hour: i64,
        /// Whole hours, 1 to 8.
        pub hours: i64,
        /// For whom the room is booked; "guest" when left out.
        pub customer: Option<String>,
    }
}

tool_args! {
    /// The booking to cancel.
    pub struct Cancel {
        /// The booking's id, such as RSV-0001.
        pub booking_id: String,
    }
}

tool_args! {
    /// What to look for.
    pub struct SearchDocs {
        /// The question, in words.
        pub query: String,
    }
}

tool_args! {
    /// What to compare.
    pub struct ComparePrices {
        /// Whole hours, 1 to 8.
        pub hours: i64,
        /// Only these rooms; all when left out.
        pub rooms: Option<Vec<String>> => ["Focus", "Studio", "Forum"],
        /// Only these plans; all when left out.
        pub plans: Option<Vec<String>> => ["basic", "pro", "team"],
        /// Only rooms with at least so many seats.
        pub min_seats: Option<u32>,
    }
}

/// In whose name a room is booked when nobody gave one.
pub const UNNAMED: &str = "guest";

/// The tools of the booking desk: `get_quote`, `book` and `cancel`. The last two need approval, take the key
/// under which their effect happens once from the call's context, never from the model, and write through the context's
/// transaction where the ledger can.
///
/// A booking is known by its room, its day and its first hour; cancelling is an effect of its own, known by the booking's id,
/// and undoes the booking.
pub fn booking_tools(house: &Arc<Reservo>) -> Vec<Tool> {
    let (quoting, booking, cancelling) = (house.clone(), house.clone(), house.clone());
    vec![
        Tool::new(
            "get_quote",
            "Tells what a room costs on a plan for a number of hours, in cents. Books nothing.",
            move |asked: GetQuote, _: &CallContext<'_>| -> Result<Quote, ReservoError> {
                Ok(quoting.quote(asked.room.parse()?, asked.plan.parse()?, Hours::new(asked.hours)?))
            },
        )
        .read_only(),
        Tool::new(
            "book",
            "Books a room for a customer and charges the price; never guess an argument. Focus seats 2, Studio 6, \
             Forum 14.",
            move |asked: Book, context: &CallContext<'_>| -> Result<BookingReceipt, ReservoError> {
                let request = BookingRequest {
                    room: asked.room.parse()?,
                    plan: asked.plan.parse()?,
                    date: asked.date.parse()?,
                    start_hour: asked.start_hour,
                    hours: Hours::new(asked.hours)?,
                    customer: Customer::new(asked.customer.as_deref().unwrap_or(UNNAMED))?,
                };
                let key = context.idempotency_key.into();
                let booked = in_ledger(&booking, context, |ledger| booking.book_in(ledger, request, &key));
                booked.map(|booking| booking.receipt())
            },
        )
        .needs_approval()
        .transactional()
        // Two guests may ask for the same room; who gets it the ledger knows.
        .business_key(["room", "date", "start_hour"])
        .per_conversation(),
        Tool::new(
            "cancel",
            "Cancels one booking by its id and refunds what the policy allows.",
            move |asked: Cancel, context: &CallContext<'_>| -> Result<CancelReceipt, ReservoError> {
                let (id, key) = (asked.booking_id.parse()?, context.idempotency_key.into());
                in_ledger(&cancelling, context, |ledger| cancelling.cancel_in(ledger, id, &key))
            },
        )
        .needs_approval()
        .transactional()
        .business_key(["booking_id"])
        .per_conversation()
        .undoes("book", "booking_id"),
    ]
}

/// Does something with the house's ledger, within the transaction of the call where there is one that it can write into.
fn in_ledger<R>(house: &Reservo, context: &CallContext<'_>, act: impl FnOnce(&dyn Bookings) -> R) -> R {
    let within = context.transaction.and_then(|transaction| house.bookings.within(transaction));
    act(within.as_deref().unwrap_or(&*house.bookings))
}

/// The tool of the policy desk: `search_docs`.
pub fn policy_tools(house: &Arc<Reservo>) -> Vec<Tool> {
    let house = house.clone();
    vec![
        Tool::new(
            "search_docs",
            "Finds the policy documents that speak of a question, best first, at most three.",
            move |asked: SearchDocs, _: &CallContext<'_>| -> Result<Vec<Hit>, ReservoError> {
                Ok(house.search_docs(&asked.query))
            },
        )
        .read_only(),
    ]
}

/// The tool of the pricing desk: `compare_prices`.
pub fn pricing_tools(house: &Arc<Reservo>) -> Vec<Tool> {
    let house = house.clone();
    vec![
        Tool::new(
            "compare_prices",
            "Lists prices of rooms on plans for a number of hours, cheapest first, in cents.",
            move |asked: ComparePrices, _: &CallContext<'_>| -> Result<Vec<PriceRow>, ReservoError> {
                Ok(house.compare_prices(&Comparison {
                    rooms: parsed::<Room>(asked.rooms)?,
                    plans: parsed::<Plan>(asked.plans)?,
                    min_seats: asked.min_seats,
                    ..Comparison::of(Hours::new(asked.hours)?)
                }))
            },
        )
        .read_only(),
    ]
}

fn parsed<T: FromStr<Err = ReservoError>>(names: Option<Vec<String>>) -> Result<Vec<T>, ReservoError> {
    names.unwrap_or_default().iter().map(|name| name.parse()).collect()
}

impl ToolFailure for ReservoError {
    fn code(&self) -> &str {
        self.code()
    }
}
