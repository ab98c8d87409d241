//! Fills requests and comparisons from the marks of a segment.

use super::MAX_PARTS;
use super::drafts::take_condition;
use super::request::{Compare, Found, Request};
use super::slots::{Mark, Slot};
use crate::plan::Plan;
use crate::room::Room;

/// The requests that the marks of a segment make: a second value for a slot begins a second request, and what one of
/// them leaves out it has from its neighbours. `is_or` says whether two words have an "or" between them.
pub(super) fn requests(marks: &[Mark], book: bool, is_or: impl Fn(usize, usize) -> bool) -> Vec<Request> {
    let mut found = vec![Request::default()];
    let mut previous_end = marks.first().map_or(0, |mark| mark.from);
    for mark in marks {
        let last = found.len() - 1;
        let doubtful = book && previous_end < mark.from && is_or(previous_end, mark.from);
        let mut next = Request::default();
        let request = &mut found[last];
        let placed = match &mark.slot {
            Slot::Room(value) => place(&mut request.room, value, &mut next.room, doubtful),
            Slot::Plan(value) => place(&mut request.plan, value, &mut next.plan, doubtful),
            Slot::Hours(value) => place(&mut request.hours, value, &mut next.hours, doubtful),
            Slot::Date(value) => place(&mut request.date, value, &mut next.date, doubtful),
            Slot::Start(value) => place(&mut request.start_hour, value, &mut next.start_hour, doubtful),
            Slot::People(value) => {
                request.people = value.clone();
                true
            }
            Slot::Customer(name) => {
                request.customer = Found::Given(name.clone());
                true
            }
            Slot::Money(condition) => {
                request.condition = condition.clone();
                true
            }
            Slot::Booking(_) | Slot::Except(_) | Slot::BareCount | Slot::Notice => true,
        };
        if !placed && found.len() <= MAX_PARTS {
            found.push(next);
        }
        previous_end = mark.to;
    }
    for at in (1..found.len()).rev() {
        let after = Request { room: Found::Missing, ..found[at].clone() };
        found[at - 1].fill_from(&after);
    }
    for at in 1..found.len() {
        let before = found[at - 1].clone();
        found[at].fill_from(&before);
        take_condition(&mut found[at].condition, &before.condition);
    }
    found
}

/// Puts a value into a slot; `false` if the slot has another and the value went into the next request.
fn place<T: Clone + PartialEq>(
    slot: &mut Found<T>,
    value: &Found<T>,
    next: &mut Found<T>,
    doubtful: bool,
) -> bool {
    if slot.is_missing() || slot == value {
        slot.clone_from(value);
        return true;
    }
    if doubtful {
        match (&mut *slot, value) {
            (Found::Given(one), Found::Given(other)) => {
                *slot = Found::Ambiguous(vec![one.clone(), other.clone()]);
            }
            (Found::Ambiguous(several), Found::Given(other)) => several.push(other.clone()),
            _ => slot.clone_from(value),
        }
        return true;
    }
    next.clone_from(value);
    false
}

/// The comparison that the marks of a segment make.
pub(super) fn compare(marks: &[Mark]) -> Compare {
    let mut compare = Compare::default();
    for mark in marks {
        match &mark.slot {
            Slot::Room(Found::Given(room)) if !compare.rooms.contains(room) => compare.rooms.push(*room),
            Slot::Room(unclear @ Found::Unclear { .. }) => compare.unclear_room = unclear.clone(),
            Slot::Plan(Found::Given(plan)) if !compare.plans.contains(plan) => compare.plans.push(*plan),
            Slot::Plan(unclear @ Found::Unclear { .. }) => compare.unclear_plan = unclear.clone(),
            Slot::Hours(hours) if !compare.hours.is_missing() && compare.hours != *hours => {
                compare.hours = match (&compare.hours, hours) {
                    (Found::Given(one), Found::Given(other)) => Found::Ambiguous(vec![*one, *other]),
                    _ => hours.clone(),
                };
            }
            Slot::Hours(hours) => compare.hours = hours.clone(),
            Slot::People(people) => compare.people = people.clone(),
            Slot::Money(condition) => compare.condition = condition.clone(),
            Slot::Except(room) if !compare.exclude.contains(room) => compare.exclude.push(*room),
            _ => {}
        }
    }
    compare.pairs = pairs(marks);
    compare
}

/// "Studio basic or Forum team": each room with the plan that stands directly after it, if all have one.
fn pairs(marks: &[Mark]) -> Vec<(Room, Plan)> {
    let count = |wanted: fn(&Slot) -> bool| marks.iter().filter(|mark| wanted(&mark.slot)).count();
    let pairs: Vec<(Room, Plan)> = marks
        .windows(2)
        .filter(|pair| pair[0].to == pair[1].from)
        .filter_map(|pair| match (&pair[0].slot, &pair[1].slot) {
            (Slot::Room(Found::Given(room)), Slot::Plan(Found::Given(plan))) => Some((*room, *plan)),
            _ => None,
        })
        .collect();
    let all = [count(|slot| matches!(slot, Slot::Room(_))), count(|slot| matches!(slot, Slot::Plan(_)))];
    if pairs.len() > 1 && all == [pairs.len(); 2] { pairs } else { Vec::new() }
}
