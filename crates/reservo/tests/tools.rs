//! The house's functions as tools: what they declare of themselves, and where they write.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::any::Any;
use std::sync::Arc;

use reservo::booking::{CancelReceipt, IdempotencyKey, KeyUse, NewBooking, TimeSlot};
use reservo::{
    Booking, BookingId, Bookings, Cents, DEMO_NOW, MemoryBookings, Reservo, ReservoError, Room, SPECIALISTS,
    demo, specialists::specialist,
};
use sommelier_protocol::ToolUse;
use sommelier_runtime::tool::{Within, dispatch_one, dispatch_within};
use sommelier_runtime::{Definition, ToolOutput};

fn booking_desk(house: Reservo) -> Definition {
    specialist("booking_agent").unwrap().agent(&Arc::new(house)).build().unwrap()
}

const FOCUS: &str =
    r#"{"room":"Focus","plan":"pro","date":"2026-12-01","start_hour":9,"hours":3,"customer":"Ada"}"#;

fn call(name: &str, arguments: &str) -> ToolUse {
    ToolUse::scripted("tu_1", name, arguments)
}

/// Whoever only looks says so; the two that do something write where the journal does, and cancelling undoes booking.
#[test]
fn every_tool_of_the_house_says_what_its_effect_is_like() {
    let house = Arc::new(demo());
    let told: Vec<(String, &str, bool)> = SPECIALISTS
        .iter()
        .map(|specialist| specialist.agent(&house).build().unwrap())
        .flat_map(|agent| {
            let table = agent.table();
            let told = table.names().map(|name| {
                (name.to_string(), table.effect(name.as_str()).as_str(), table.needs_approval(name.as_str()))
            });
            told.collect::<Vec<_>>()
        })
        .collect();
    let told: Vec<(&str, &str, bool)> =
        told.iter().map(|(name, effect, gated)| (&**name, *effect, *gated)).collect();
    let expected = [
        ("book", "transactional", true),
        ("cancel", "transactional", true),
        ("get_quote", "read_only", false),
        ("search_docs", "read_only", false),
        ("compare_prices", "read_only", false),
    ];
    assert_eq!(told, expected);
}

/// A booking is known by its room, its day and its first hour, whatever else is asked for; a cancellation by the booking's id,
/// and by that it undoes the booking.
#[test]
fn what_a_call_is_for_is_known_whoever_makes_it() {
    let agent = booking_desk(demo());
    let key = |name: &str, arguments: &str| agent.table().business_key(&call(name, arguments)).unwrap();
    let expected = r#"{"room":"Focus","date":"2026-12-01","start_hour":9}"#;
    assert_eq!(key("book", FOCUS), expected);
    assert_eq!(
        key("book", r#"{"start_hour":9,"date":"2026-12-01","room":"Focus","plan":"team","hours":1}"#),
        expected
    );
    assert_eq!(key("cancel", r#"{"booking_id":"RSV-0001"}"#), r#"{"booking_id":"RSV-0001"}"#);
    let undoes = agent.table().declaration("cancel").unwrap().undoes().unwrap();
    let booked = dispatch_one(&agent, 0, &call("book", FOCUS), "c/1/1");
    let named = undoes.named_by(&call("cancel", r#"{"booking_id":"RSV-0006"}"#));
    assert_eq!((undoes.tool(), undoes.named_in(&booked.content)), ("book", named));
}

/// T34: one who cancels twice, each time by another call, is told of a success twice, and gets the money back once.
#[test]
fn cancelling_twice_is_one_cancellation_and_two_successes() {
    let house = demo();
    let agent = booking_desk(house.clone());
    let cancel = |scope| dispatch_one(&agent, 0, &call("cancel", r#"{"booking_id":"RSV-0002"}"#), scope);
    let told = |status| {
        ToolOutput::ok(format!(r#"{{"booking_id":"RSV-0002","status":"{status}","refund_cents":6400}}"#))
    };
    assert_eq!(cancel("c/1/1"), told("cancelled"));
    let once = house.bookings.find(BookingId::new(2)).unwrap();
    assert_eq!((cancel("c/2/1"), cancel("c/1/1")), (told("already_cancelled"), told("cancelled")));
    assert_eq!(house.bookings.find(BookingId::new(2)).unwrap(), once);
}

/// A ledger that can write into a [`Draft`].
#[derive(Debug, Default)]
struct Drafting(MemoryBookings);

/// What is not there before somebody commits it.
struct Draft(MemoryBookings);

/// A ledger within a draft.
#[derive(Debug)]
struct Drafted<'a>(&'a MemoryBookings);

macro_rules! delegate_bookings {
    ($ty:ty { $($within:tt)* }) => {
        impl Bookings for $ty {
            fn find(&self, id: BookingId) -> Result<Option<Booking>, ReservoError> {
                self.0.find(id)
            }

            fn find_by_key(&self, key: &IdempotencyKey) -> Result<Option<(KeyUse, Booking)>, ReservoError> {
                self.0.find_by_key(key)
            }

            fn find_overlap(&self, room: Room, slot: TimeSlot) -> Result<Option<Booking>, ReservoError> {
                self.0.find_overlap(room, slot)
            }

            fn all(&self) -> Result<Vec<Booking>, ReservoError> {
                self.0.all()
            }

            fn insert(&self, booking: NewBooking, key: &IdempotencyKey) -> Result<Booking, ReservoError> {
                self.0.insert(booking, key)
            }

            fn cancel(
                &self,
                id: BookingId,
                refund: Cents,
                key: &IdempotencyKey,
            ) -> Result<CancelReceipt, ReservoError> {
                self.0.cancel(id, refund, key)
            }

            $($within)*
        }
    };
}

delegate_bookings! { Drafted<'_> {} }

delegate_bookings! { Drafting {
    fn within<'a>(&'a self, transaction: &'a dyn Any) -> Option<Box<dyn Bookings + 'a>> {
        let draft = transaction.downcast_ref::<Draft>()?;
        Some(Box::new(Drafted(&draft.0)))
    }
} }

/// Within a transaction the tools see and write what is in it, and the house's own ledger has none of it. Into one of a type
/// that the ledger does not know it does not write.
#[test]
fn tools_write_through_the_transaction_of_their_call() {
    let house = Reservo { bookings: Arc::new(Drafting::default()), ..Reservo::new(DEMO_NOW) };
    let agent = booking_desk(house.clone());
    let draft = Draft(MemoryBookings::default());
    let within = |transaction| Within { transaction: Some(transaction), ..Within::default() };
    let booked = dispatch_within(&agent, 0, &call("book", FOCUS), "c/1/1", within(&draft));
    let receipt = r#"{"booking_id":"RSV-0001","status":"booked","total_cents":6000}"#;
    assert_eq!(booked, ToolOutput::ok(receipt));
    let cancel = call("cancel", r#"{"booking_id":"RSV-0001"}"#);
    let outside = dispatch_one(&agent, 0, &cancel, "c/1/2");
    let inside = dispatch_within(&agent, 0, &cancel, "c/1/2", within(&draft));
    assert_eq!((outside.error.as_deref(), inside.error), (Some("unknown_booking"), None));
    assert_eq!((draft.0.all().unwrap().len(), house.bookings.all().unwrap().len()), (1, 0));

    let foreign = dispatch_within(&agent, 0, &call("book", FOCUS), "c/1/3", within(&"another database"));
    assert_eq!((foreign, house.bookings.all().unwrap().len()), (ToolOutput::ok(receipt), 1));
}
