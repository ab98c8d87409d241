//! The trade that quotes, books and cancels.

use super::phrase::{
    condition, hours, json, list, open_plan, open_room, open_slot, quoted, room_plan_hours, still_needed,
    untestable,
};
use super::seen::{Failure, Outcome, Seen};
use super::{Call, Price, Progress, Told, Wanted};
use crate::booking::{BookingId, BookingReceipt, BookingStatus, CancelReceipt};
use crate::civil::Date;
use crate::price::Quote;
use crate::reader::{Condition, Found, Obstacle, Request};
use crate::tools::UNNAMED;
use crate::{Plan, Room};

/// The most calls with an effect that one request brings about.
const MOST_EFFECTS: usize = 4;

pub(super) fn quote(request: &Request, seen: &Seen<'_>) -> Progress {
    let (Some(room), Some(plan), Some(count)) =
        (request.room.given(), request.plan.given(), request.hours.given())
    else {
        if let Some(wanted) = without_room(request) {
            return Progress::Told(Told { alternative: Some(wanted), ..Told::default() });
        }
        return Progress::Told(Told::say(still_needed("For a quote", &open_for_quote(request))));
    };
    let found = match price(*room, *plan, *count, seen) {
        Ok(found) => found,
        Err(progress) => return *progress,
    };
    let mut text = format!("{} costs {}.", found.of, found.total_cents);
    match &request.condition {
        Found::Given(wanted) => {
            let is = if wanted.holds(found.total_cents) { "is" } else { "is not" };
            text.push_str(&format!(" That {is} {}.", condition(*wanted)));
        }
        other => {
            if let Some(raw) = untestable(other) {
                text.push_str(&format!(" I cannot check {raw}."));
            }
        }
    }
    if let Some(small) = too_small(*room, &request.people) {
        text.push_str(&format!(" But {small}."));
    }
    Progress::Told(Told { text, price: Some(found), ..Told::default() })
}

/// Whoever asks what it costs for so many people, and names no room, is helped by a comparison.
fn without_room(request: &Request) -> Option<Wanted> {
    let settled = matches!(request.plan, Found::Missing | Found::Given(_))
        && matches!(request.hours, Found::Missing | Found::Given(_))
        && request.room.is_missing();
    let people = request.people.given().filter(|_| settled)?;
    Some(Wanted {
        hours: request.hours.given().copied(),
        plans: request.plan.given().copied().into_iter().collect(),
        min_seats: Some(*people),
        condition: request.condition.given().copied(),
        ..Wanted::default()
    })
}

/// The price of a room, or the way to it.
fn price(room: Room, plan: Plan, count: i64, seen: &Seen<'_>) -> Result<Price, Box<Progress>> {
    let arguments = format!(r#"{{"room":"{room}","plan":"{plan}","hours":{count}}}"#);
    match seen.outcome::<Quote>("get_quote", &arguments) {
        None => Err(Box::new(Progress::Call(Call::look("get_quote", arguments)))),
        Some(Outcome::Worked(quote)) => Ok(Price {
            of: room_plan_hours(quote.room, quote.plan, quote.hours.get()),
            total_cents: quote.total_cents,
        }),
        Some(Outcome::Failed(failure)) => {
            let text = format!("No quote for {room} {plan}: {}.", explain(&failure));
            Err(Box::new(Progress::Told(Told::say(text))))
        }
    }
}

pub(super) fn book(request: &Request, in_the_way: Option<Obstacle>, seen: &Seen<'_>) -> Progress {
    let told = |text: String| Progress::Told(Told::say(text));
    if let Some(raw) = untestable(&request.condition) {
        return told(format!("Nothing was booked: you made it depend on {raw}, which I cannot check."));
    }
    let (Some(room), Some(plan), Some(date), Some(start), Some(count)) = (
        request.room.given().copied(),
        request.plan.given().copied(),
        request.date.given().copied(),
        request.start_hour.given().copied(),
        request.hours.given().copied(),
    ) else {
        return told(still_needed("Nothing was booked:", &open_for_booking(request)));
    };
    if let Found::Unclear { .. } | Found::Ambiguous(_) = request.customer {
        return told(still_needed("Nothing was booked:", &open_for_booking(request)));
    }
    if let Some(small) = too_small(room, &request.people) {
        let fitting: Vec<Room> =
            Room::ALL.into_iter().filter(|room| too_small(*room, &request.people).is_none()).collect();
        let instead = if fitting.is_empty() {
            "no room is large enough".to_owned()
        } else {
            format!("{} would do", list(&fitting, "or"))
        };
        return told(format!("Nothing was booked: {small}; {instead}."));
    }
    if let Some(why) = in_the_way {
        return told(no_plain_order("Nothing was booked", why, seen));
    }
    if let Some(wanted) = request.condition.given() {
        match price(room, plan, count, seen) {
            Ok(found) if !wanted.holds(found.total_cents) => {
                let text = format!(
                    "Nothing was booked: {} for {} is not {}.",
                    found.total_cents,
                    found.of,
                    condition(*wanted)
                );
                return Progress::Told(Told { text, price: Some(found), ..Told::default() });
            }
            Ok(_) => {}
            Err(progress) => return *progress,
        }
    }
    let order =
        Order { room, plan, date, start, count, customer: request.customer.given().map(String::as_str) };
    order.place(request, seen)
}

/// Everything that the tool `book` takes.
struct Order<'t> {
    room: Room,
    plan: Plan,
    date: Date,
    start: i64,
    count: i64,
    customer: Option<&'t str>,
}

/// The arguments of `book`, as they stand in a call.
#[derive(serde::Deserialize)]
struct Placed {
    room: Room,
    plan: Plan,
    date: Date,
    start_hour: i64,
    hours: i64,
    customer: Option<String>,
}

/// What was done for earlier words and has not been told, since newer ones came before there was a reply.
pub(super) fn untold(seen: &Seen<'_>) -> Vec<String> {
    let booked = seen.untold::<Placed, BookingReceipt>("book").into_iter().map(|(placed, receipt)| {
        let Placed { room, plan, date, start_hour: start, hours: count, customer } = placed;
        Order { room, plan, date, start, count, customer: customer.as_deref() }.booked(&receipt)
    });
    let cancelled = seen.untold::<serde_json::Value, CancelReceipt>("cancel");
    booked.chain(cancelled.iter().map(|(_, receipt)| cancelled_text(receipt))).collect()
}

impl Order<'_> {
    /// That it was booked.
    fn booked(&self, receipt: &BookingReceipt) -> String {
        let Self { room, plan, date, start, count, customer } = self;
        let whom = match customer {
            Some(name) => format!("for {}", quoted_name(name)),
            None => format!("in the name {UNNAMED:?}, since none was given"),
        };
        format!(
            "Booked: {room} {plan} on {date} at {start}:00 for {}, {whom}. The booking is {} and costs {}.",
            hours(count),
            receipt.booking_id,
            receipt.total_cents,
        )
    }

    fn place(&self, request: &Request, seen: &Seen<'_>) -> Progress {
        let Self { room, plan, date, start, count, .. } = self;
        let customer = self.customer.map(|name| format!(r#","customer":{}"#, json(name))).unwrap_or_default();
        let arguments = format!(
            r#"{{"room":"{room}","plan":"{plan}","date":"{date}","start_hour":{start},"hours":{count}{customer}}}"#
        );
        match seen.outcome::<BookingReceipt>("book", &arguments) {
            None => {
                let undone = format!("{room} {plan} on {date} at {start}:00 was not booked");
                effect(Call::act("book", arguments), &undone, seen)
            }
            Some(Outcome::Worked(receipt)) => {
                let text = self.booked(&receipt);
                let price =
                    Price { of: room_plan_hours(*room, *plan, count), total_cents: receipt.total_cents };
                Progress::Told(Told { text, price: Some(price), ..Told::default() })
            }
            Some(Outcome::Failed(failure)) => {
                let taken = failure.code() == "slot_taken";
                Progress::Told(Told {
                    text: format!("Nothing was booked: {}.", explain(&failure)),
                    alternative: request.people.given().filter(|_| taken).map(|people| Wanted {
                        hours: Some(*count),
                        plans: vec![*plan],
                        min_seats: Some(*people),
                        exclude: vec![*room],
                        ..Wanted::default()
                    }),
                    ..Told::default()
                })
            }
        }
    }
}

/// Why an order is not followed.
pub(super) fn no_plain_order(undone: &str, why: Obstacle, seen: &Seen<'_>) -> String {
    let words = |span: crate::reader::Span| quoted(span.of(&seen.words));
    match why {
        Obstacle::Unread(span) => {
            format!("{undone}: I act only on a plain order, and I could not read {}.", words(span))
        }
        Obstacle::Question(span) => {
            format!("{undone}: {} is a question, and I act only on a plain order.", words(span))
        }
        Obstacle::Quoted(span) => {
            format!("{undone}: {} is quoted, and I act only on your own order.", words(span))
        }
        Obstacle::Between(span) => {
            format!(
                "{undone}: two bookings are named and {} stands between them; say which one.",
                words(span)
            )
        }
        Obstacle::Beside(span) => {
            format!("{undone}: I act only on a plain order, and {} stands beside it.", words(span))
        }
    }
}

pub(super) fn cancel(
    booking: &Found<BookingId>,
    unless: &Found<Condition>,
    in_the_way: Option<Obstacle>,
    seen: &Seen<'_>,
) -> Progress {
    let told = |text: String| Progress::Told(Told::say(text));
    let id = match booking {
        Found::Given(id) => *id,
        Found::Missing => {
            return told("Nothing was cancelled: which booking is it? I need its id.".to_owned());
        }
        Found::Unclear { raw, .. } => {
            return told(format!("Nothing was cancelled: {} is no booking id that I can read.", quoted(raw)));
        }
        Found::Ambiguous(several) => {
            return told(format!("Nothing was cancelled: {}?", list(several, "or")));
        }
    };
    let depends = match unless {
        Found::Missing => None,
        Found::Given(wanted) => Some(format!("an amount {}", condition(*wanted))),
        other => untestable(other),
    };
    if let Some(raw) = depends {
        return told(format!("{id} was not cancelled: you made it depend on {raw}, which I cannot check."));
    }
    if let Some(why) = in_the_way {
        return told(no_plain_order("Nothing was cancelled", why, seen));
    }
    let arguments = format!(r#"{{"booking_id":"{id}"}}"#);
    match seen.outcome::<CancelReceipt>("cancel", &arguments) {
        None => effect(Call::act("cancel", arguments), &format!("{id} was not cancelled"), seen),
        Some(Outcome::Worked(receipt)) => told(cancelled_text(&receipt)),
        Some(Outcome::Failed(failure)) => told(format!("Nothing was cancelled: {}.", explain(&failure))),
    }
}

/// That it is cancelled.
fn cancelled_text(CancelReceipt { booking_id, status, refund_cents }: &CancelReceipt) -> String {
    match status {
        BookingStatus::AlreadyCancelled => {
            format!("{booking_id} was already cancelled, with {refund_cents} refunded.")
        }
        BookingStatus::Booked | BookingStatus::Cancelled => {
            format!("{booking_id} is cancelled; the refund is {refund_cents}.")
        }
    }
}

/// A call with an effect, if there are not too many already.
fn effect(call: Call, undone: &str, seen: &Seen<'_>) -> Progress {
    if seen.count("book") + seen.count("cancel") < MOST_EFFECTS {
        return Progress::Call(call);
    }
    Progress::Told(Told::say(format!("{undone}: that is more than I do for one request; please ask again.")))
}

/// An error and what would be right.
fn explain(failure: &Failure) -> String {
    let number = |member: &str| failure.number(member).map(|number| number.to_string()).unwrap_or_default();
    match failure.code() {
        "approval_denied" => format!("it needs approval, which was not given ({})", failure.message()),
        "hours_out_of_range" => format!(
            "{} is not possible, a booking has {} to {}",
            hours(number("value")),
            number("min"),
            hours(number("max"))
        ),
        "slot_taken" => format!(
            "{} is taken from {} to {}; another time or room is possible",
            failure.text("room"),
            failure.text("taken_from").replace('T', " "),
            failure.text("taken_to").replace('T', " ")
        ),
        "start_in_past" => format!(
            "{} is in the past, now it is {}; a later start is possible",
            failure.text("value").replace('T', " "),
            failure.text("now").replace('T', " ")
        ),
        "unknown_booking" => format!("there is no booking {}", quoted(failure.text("value"))),
        "already_started" => format!(
            "{} started at {}, and only a booking that has not started can be cancelled",
            failure.text("value"),
            failure.text("start").replace('T', " ")
        ),
        "outside_opening_hours" => format!(
            "{} from {}:00 is outside the opening hours, {}:00 to {}:00",
            hours(number("hours")),
            number("value"),
            number("opens"),
            number("closes")
        ),
        _ => failure.message().trim_end_matches('.').to_owned(),
    }
}

fn open_for_quote(request: &Request) -> Vec<String> {
    let open = [
        open_room(&request.room),
        open_plan(&request.plan),
        open_slot("number of whole hours", "", &request.hours),
    ];
    open.into_iter().flatten().collect()
}

/// A name is no condition: the tool books without one.
fn open_for_booking(request: &Request) -> Vec<String> {
    let mut open = open_for_quote(request);
    open.extend(open_slot("day", "", &request.date));
    open.extend(open_slot("hour at which it starts", "", &request.start_hour));
    if !request.customer.is_missing() {
        open.extend(open_slot("name", "", &request.customer));
    }
    open
}

/// That a room is too small, as the tools describe the rooms.
fn too_small(room: Room, people: &Found<u32>) -> Option<String> {
    let people = people.given().filter(|people| room.seats() < **people)?;
    Some(format!("{room} is too small for {people} people"))
}

fn quoted_name(name: &str) -> String {
    quoted(name).trim_matches('"').to_owned()
}
