//! Links the parts of a text: what one leaves out, another says.

use super::plain::unread_sign;
use super::request::{Compare, Condition, Found, Request};
use super::{Intent, MAX_PARTS, Obstacle, Part, Reading, Span, Why};
use crate::booking::BookingId;

/// A part before it is linked to the others.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) intent: Intent,
    pub(super) span: Span,
    /// Slots of a sentence that asks nothing by itself; they belong to a request before or after it.
    pub(super) fragment: Option<Fragment>,
    /// How it speaks about an earlier part, if it does.
    pub(super) speaks_of: SpeaksOf,
    /// Whether it is a comparison that finds one, as the cheapest, rather than a list of prices.
    pub(super) chooses: bool,
    /// Whether it asks for the cheapest of an earlier comparison.
    pub(super) refers_to_compare: bool,
    /// Whether a fragment went into another part.
    pub(super) used_up: bool,
    /// What of its own sentence forbids to act on it.
    pub(super) in_the_way: Option<Obstacle>,
}

/// How a part speaks about one before it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SpeaksOf {
    /// "it" or "I": about some booking or other.
    pub(super) anything: bool,
    /// "it" or "that one": about what was named last.
    pub(super) it: bool,
    /// "the cheaper one": about what a comparison finds.
    pub(super) choice: bool,
}

#[derive(Debug, Default)]
pub(super) struct Fragment {
    pub(super) request: Request,
    pub(super) booking: Found<BookingId>,
}

#[derive(Default)]
pub(super) struct Drafts {
    pub(super) drafts: Vec<Draft>,
    /// What of the text forbids to act on any of it.
    in_the_way: Option<Obstacle>,
}

impl Drafts {
    /// Whether there are more parts than a reading may have.
    pub(super) fn is_full(&self) -> bool {
        self.first_surplus().is_some()
    }

    /// Notes what of a sentence is in the way of the orders in it, which begin at `first`, and so of all.
    pub(super) fn note(&mut self, first: usize, in_the_way: Option<Obstacle>) {
        let orders = self.drafts.get_mut(first..).unwrap_or_default().iter_mut();
        orders.for_each(|draft| draft.in_the_way = in_the_way);
        self.in_the_way = self.in_the_way.or(in_the_way);
    }

    fn first_surplus(&self) -> Option<usize> {
        let mut standing = self.drafts.iter().enumerate().filter(|(_, draft)| !draft.used_up);
        standing.nth(MAX_PARTS).map(|(at, _)| at)
    }
    pub(super) fn push(&mut self, intent: Intent, span: Span) -> &mut Draft {
        let joins = match (self.drafts.last(), &intent) {
            (
                Some(Draft { intent: Intent::Unreadable(before), fragment: None, .. }),
                Intent::Unreadable(why),
            ) => before == why && *why != Why::TooMany,
            _ => false,
        };
        if !joins {
            self.drafts.push(Draft {
                intent,
                span,
                fragment: None,
                speaks_of: SpeaksOf::default(),
                chooses: false,
                refers_to_compare: false,
                used_up: false,
                in_the_way: None,
            });
        }
        let last = self.drafts.len() - 1;
        let draft = &mut self.drafts[last];
        draft.span.end = span.end;
        draft
    }

    /// A request takes the slots of the fragments before it.
    pub(super) fn push_request(&mut self, mut intent: Intent, span: Span) -> &mut Draft {
        for draft in &mut self.drafts {
            let Some(fragment) = draft.fragment.as_mut().filter(|_| !draft.used_up) else { continue };
            let conflicts = match &intent {
                Intent::Book(request) => {
                    let mut doubted = request.clone();
                    doubted.contrast(&fragment.request);
                    doubted != *request || !fragment.booking.is_missing()
                }
                Intent::Cancel { booking, .. } => {
                    fragment.request != Request::default()
                        || !(booking.is_missing()
                            || fragment.booking.is_missing()
                            || *booking == fragment.booking)
                }
                _ => false,
            };
            if conflicts {
                self.in_the_way = self.in_the_way.or(Some(Obstacle::Beside(draft.span)));
            }
            match &mut intent {
                Intent::Quote(request) | Intent::Book(request) => request.fill_from(&fragment.request),
                Intent::Compare(compare) => fill_compare(compare, &fragment.request),
                Intent::Cancel { booking, .. } if booking.is_missing() && !fragment.booking.is_missing() => {
                    *booking = std::mem::take(&mut fragment.booking);
                }
                _ => continue,
            }
            draft.used_up = true;
        }
        self.push(intent, span)
    }

    /// A sentence without a trigger: its slots go to the request before it, or wait for the one after it.
    pub(super) fn push_fragment(&mut self, fragment: Fragment, span: Span) {
        let mut new_quote = None;
        // What goes to no order, and what an order has no place for, is in the way of all.
        let mut homeless = self.drafts.iter().any(|draft| is_order(&draft.intent));
        let before = self.drafts.iter_mut().rev().find(|draft| {
            matches!(
                draft.intent,
                Intent::Quote(_) | Intent::Book(_) | Intent::Compare(_) | Intent::Cancel { .. }
            )
        });
        match before.map(|draft| &mut draft.intent) {
            Some(Intent::Quote(request)) => {
                let other = &fragment.request;
                let differs = (!other.room.is_missing()
                    && !request.room.is_missing()
                    && other.room != request.room)
                    || (!other.plan.is_missing() && !request.plan.is_missing() && other.plan != request.plan)
                    || (!other.hours.is_missing()
                        && !request.hours.is_missing()
                        && other.hours != request.hours);
                if differs {
                    let mut next = other.clone();
                    next.fill_from(request);
                    new_quote = Some(next);
                } else {
                    request.fill_from(other);
                    take_condition(&mut request.condition, &other.condition);
                }
            }
            Some(Intent::Book(request)) => {
                let other = fragment.request;
                homeless = !fragment.booking.is_missing();
                request.contrast(&other);
                request.fill_from(&other);
                take_condition(&mut request.condition, &other.condition);
            }
            Some(Intent::Compare(compare)) => fill_compare(compare, &fragment.request),
            Some(Intent::Cancel { booking, condition }) => {
                let no_slot = Request { condition: Found::Missing, ..fragment.request.clone() };
                homeless = no_slot != Request::default();
                if booking.is_missing() {
                    *booking = fragment.booking;
                } else {
                    homeless |= !fragment.booking.is_missing() && *booking != fragment.booking;
                }
                take_condition(condition, &fragment.request.condition);
            }
            _ => {
                self.drafts.push(Draft {
                    intent: Intent::Unreadable(Why::NoRequest),
                    span,
                    fragment: Some(fragment),
                    speaks_of: SpeaksOf::default(),
                    chooses: false,
                    refers_to_compare: false,
                    used_up: false,
                    in_the_way: None,
                });
            }
        }
        if homeless {
            self.in_the_way = self.in_the_way.or(Some(Obstacle::Beside(span)));
        }
        if let Some(request) = new_quote {
            self.push(Intent::Quote(request), span);
        }
    }

    /// The reading of `text`, which is what was read of the `whole`.
    pub(super) fn into_reading(mut self, text: &str, whole: &str) -> Reading {
        let end = whole.trim_end().len();
        let left_out = match self.first_surplus() {
            Some(first) => {
                let start = self.drafts[first].span.start;
                self.drafts.truncate(first);
                Some(start)
            }
            None => (text.len() < end).then(|| whole.len() - whole[text.len()..].trim_start().len()),
        };
        if let Some(start) = left_out {
            let rest = Span { start, end };
            self.push(Intent::Unreadable(Why::TooMany), rest);
            self.in_the_way = self.in_the_way.or(Some(Obstacle::Beside(rest)));
        }
        let mut drafts: Vec<Draft> = self.drafts.into_iter().filter(|draft| !draft.used_up).collect();
        for draft in &mut drafts {
            // A room with a plan or a length asks for its price.
            if let Some(Fragment { request, .. }) = draft.fragment.take() {
                let named =
                    [!request.room.is_missing(), !request.plan.is_missing(), !request.hours.is_missing()];
                if named.into_iter().filter(|named| *named).count() >= 2 {
                    draft.intent = Intent::Quote(request);
                }
            }
        }
        quote_what_is_booked(&mut drafts);
        // Of an order to cancel that names no booking nobody knows what it takes back.
        let nameless = drafts
            .iter()
            .find(|draft| matches!(&draft.intent, Intent::Cancel { booking: Found::Missing, .. }));
        let beside = nameless.map(|draft| Obstacle::Beside(draft.span));
        let in_the_way = self.in_the_way.or(beside).or_else(|| unread_sign(text));
        for draft in &mut drafts {
            draft.in_the_way = draft.in_the_way.or(in_the_way).filter(|_| is_order(&draft.intent));
        }
        let trimmed = text.trim();
        if drafts.is_empty() && !trimmed.is_empty() {
            let start = text.len() - text.trim_start().len();
            let span = Span { start, end: start + trimmed.len() };
            return Reading {
                parts: vec![Part {
                    intent: Intent::Unreadable(Why::NoRequest),
                    span,
                    refers_to: None,
                    in_the_way: None,
                }],
            };
        }
        let mut parts: Vec<Part> = Vec::new();
        // The latest comparison that finds one.
        let mut choosing = None;
        for (place, draft) in drafts.into_iter().enumerate() {
            let chooses = draft.chooses;
            let linked = link(draft, &parts, choosing);
            parts.push(linked);
            choosing = if chooses { Some(place) } else { choosing };
        }
        Reading { parts }
    }
}

/// "Quote and book Focus pro": a quote of nothing, with nothing before it, is of what is booked directly after it.
fn quote_what_is_booked(drafts: &mut [Draft]) {
    let first = drafts.iter().position(|draft| !matches!(draft.intent, Intent::Courtesy(_)));
    let Some([first, second, ..]) = first.map(|at| &mut drafts[at..]) else { return };
    if let (Intent::Quote(quote), Intent::Book(book)) = (&mut first.intent, &second.intent)
        && quote.room.is_missing()
        && quote.plan.is_missing()
        && quote.hours.is_missing()
    {
        quote.fill_from(book);
    }
}

const fn is_order(intent: &Intent) -> bool {
    matches!(intent, Intent::Book(_) | Intent::Cancel { .. })
}

/// Whether it is about one booking, made or to be made.
const fn is_priced(intent: &Intent) -> bool {
    matches!(intent, Intent::Quote(_) | Intent::Book(_) | Intent::Cancel { .. })
}

/// Finds the earlier part that a draft speaks about, and takes from it what the draft leaves out. `choosing` is the
/// place of the latest comparison that finds one.
fn link(draft: Draft, parts: &[Part], choosing: Option<usize>) -> Part {
    let Draft { mut intent, span, speaks_of, refers_to_compare, in_the_way, .. } = draft;
    let latest = |wanted: fn(&Intent) -> bool| parts.iter().rposition(|part| wanted(&part.intent));
    let is_request = |intent: &Intent| matches!(intent, Intent::Quote(_) | Intent::Book(_));
    let is_compare = |intent: &Intent| matches!(intent, Intent::Compare(_));
    // "The cheaper one" is of any comparison, "it" only of one that found something after all others were named.
    let compared = match latest(is_compare) {
        found if speaks_of.choice => found,
        _ if speaks_of.it => choosing.filter(|place| latest(is_priced).is_none_or(|other| other < *place)),
        _ => None,
    };
    let refers_to = match &mut intent {
        Intent::Quote(request) | Intent::Book(request)
            if refers_to_compare || (request.room.is_missing() && compared.is_some()) =>
        {
            let earlier = if refers_to_compare { latest(is_compare) } else { compared };
            if let Some(Intent::Compare(compare)) =
                earlier.and_then(|at| parts.get(at)).map(|part| &part.intent)
            {
                if request.hours.is_missing() {
                    request.hours.clone_from(&compare.hours);
                }
                if let ([plan], true) = (&compare.plans[..], request.plan.is_missing()) {
                    request.plan = Found::Given(*plan);
                }
            }
            earlier
        }
        Intent::Quote(request) | Intent::Book(request) if request.room.is_missing() => {
            let earlier = latest(is_request);
            if let Some(Intent::Quote(other) | Intent::Book(other)) =
                earlier.and_then(|at| parts.get(at)).map(|part| &part.intent)
            {
                request.fill_from(other);
                take_condition(&mut request.condition, &other.condition);
            }
            earlier
        }
        Intent::Policy { about, .. } if about.room.is_missing() && compared.is_some() => compared,
        Intent::Policy { about, .. } if speaks_of.anything && about.room.is_missing() => latest(is_priced),
        _ => None,
    };
    Part { intent, span, refers_to, in_the_way }
}

pub(super) fn take_condition(condition: &mut Found<Condition>, other: &Found<Condition>) {
    if condition.is_missing() {
        condition.clone_from(other);
    }
}

impl Request {
    /// Doubts each slot for which `other` has another value.
    fn contrast(&mut self, other: &Self) {
        contrast(&mut self.room, &other.room);
        contrast(&mut self.plan, &other.plan);
        contrast(&mut self.hours, &other.hours);
        contrast(&mut self.date, &other.date);
        contrast(&mut self.start_hour, &other.start_hour);
        contrast(&mut self.people, &other.people);
        contrast(&mut self.customer, &other.customer);
    }
}

/// Two values for one slot of a booking are a doubt, never a correction that is followed.
fn contrast<T: Clone + PartialEq>(slot: &mut Found<T>, other: &Found<T>) {
    match (&*slot, other) {
        (Found::Given(one), Found::Given(two)) if one != two => {
            *slot = Found::Ambiguous(vec![one.clone(), two.clone()]);
        }
        (Found::Given(_), Found::Unclear { .. } | Found::Ambiguous(_)) => slot.clone_from(other),
        _ => {}
    }
}

fn fill_compare(compare: &mut Compare, request: &Request) {
    if compare.hours.is_missing() {
        compare.hours.clone_from(&request.hours);
    }
    if compare.people.is_missing() {
        compare.people.clone_from(&request.people);
    }
    take_condition(&mut compare.condition, &request.condition);
    match &request.plan {
        Found::Given(plan) if compare.plans.is_empty() => compare.plans.push(*plan),
        unclear @ Found::Unclear { .. } => compare.unclear_plan.clone_from(unclear),
        _ => {}
    }
}
