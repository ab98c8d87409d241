//! What is next, at whatever desk the model sits.

use std::collections::BTreeSet;

use super::handoff::{self, Findings, Rest, quote_line};
use super::phrase::{printable, quoted, room_plan_hours};
use super::policy::{self, Question};
use super::seen::Seen;
use super::{Call, Move, Price, Progress, Told, booking, pricing};
use crate::Entry;
use crate::reader::{Courtesy, Intent, Part, Request, Why};

/// Stretches that could not be read, as many as are quoted.
const MOST_QUOTED: usize = 3;

pub(super) fn next(seen: &Seen<'_>) -> Move {
    let reading = seen.reading();
    let mut work = Work::default();
    let known = seen.package.as_ref().map(handoff::prices).unwrap_or_default();
    for part in &reading.parts {
        work.take(part, &known, seen);
    }
    if !work.looks.is_empty() {
        return Move::Call(work.looks);
    }
    if let Some(act) = work.act {
        return Move::Call(vec![act]);
    }
    work.finish(&reading.parts, known, seen)
}

/// What a reading comes to, as things stand.
#[derive(Default)]
struct Work {
    looks: Vec<Call>,
    /// The first call with an effect.
    act: Option<Call>,
    /// What is settled, by the place of its part in the text.
    told: Vec<(usize, Told)>,
    rest: Rest,
    asked: Vec<Question>,
    unread: usize,
    greeted: Option<Courtesy>,
    place: usize,
}

/// Whether the words speak of more than one thing that was asked before.
fn speaks_of_several(words: &str) -> bool {
    words
        .split(|c: char| !c.is_alphanumeric())
        .any(|word| matches!(word, "them" | "these" | "those" | "each" | "all"))
}

/// Whether the words name a booking by its id.
fn names_booking(words: &str) -> bool {
    words.to_ascii_lowercase().contains("rsv-")
}

/// The order for the quote that a question about the rules needs, if it describes what is booked.
fn quote_order(about: &Request) -> Option<String> {
    let (room, plan, count) = (about.room.given()?, about.plan.given()?, about.hours.given()?);
    Some(format!("Quote {}", room_plan_hours(*room, *plan, count)))
}

/// Whether the price can be asked of another trade, and has not been.
fn may_ask_price(seen: &Seen<'_>) -> bool {
    let is_own = seen.desks.contains(&Entry::Booking);
    !is_own && !seen.was_refused() && seen.receivers.contains(&Entry::Booking)
}

impl Work {
    fn take(&mut self, part: &Part, known: &[Price], seen: &Seen<'_>) {
        let own = |desk: Entry| seen.desks.contains(&desk);
        let words = part.span.of(&seen.words);
        match &part.intent {
            Intent::Quote(request) if own(Entry::Booking) => self.progress(booking::quote(request, seen)),
            Intent::Book(request) if own(Entry::Booking) => {
                self.progress(booking::book(request, part.in_the_way, seen));
            }
            Intent::Cancel { booking, condition } if own(Entry::Booking) => {
                self.progress(booking::cancel(booking, condition, part.in_the_way, seen));
            }
            // The rest of the text does not go along with the order, so it is judged here.
            Intent::Book(_) | Intent::Cancel { .. } if part.in_the_way.is_some() => {
                let undone = match part.intent {
                    Intent::Book(_) => "Nothing was booked",
                    _ => "Nothing was cancelled",
                };
                let why = part.in_the_way.map(|why| booking::no_plain_order(undone, why, seen));
                self.progress(Progress::Told(Told::say(why.unwrap_or_default())));
            }
            Intent::Quote(_) | Intent::Book(_) | Intent::Cancel { .. } => {
                let order = printable(words);
                if !self.rest.orders.contains(&order) {
                    self.rest.orders.push(order);
                }
            }
            Intent::Compare(compare) => match pricing::wanted(compare) {
                Err(unclear) => self.progress(Progress::Told(Told::say(unclear))),
                Ok(mut wanted) => {
                    if let Some(package) = &seen.package {
                        wanted.settle(package);
                    }
                    if own(Entry::Pricing) {
                        self.progress(pricing::compare(&wanted, seen));
                    } else if !self.rest.comparisons.contains(&wanted) {
                        self.rest.comparisons.push(wanted);
                    }
                }
            },
            Intent::Policy { topic, about } => {
                let question = Question::on(*topic, words);
                let is_new = !self.asked.contains(&question);
                if is_new && question.is_on_price() && names_booking(words) {
                    let text = "I cannot look a booking up without changing it, so I tell the rule.";
                    self.told.push((self.place, Told::say(text)));
                }
                let order = question.is_on_price().then(|| quote_order(about)).flatten();
                if let Some(order) = order.filter(|_| is_new && known.is_empty() && may_ask_price(seen)) {
                    self.asked.push(question.clone());
                    self.rest.orders.push(order);
                    self.rest.questions.push(question);
                    self.place += 1;
                    return;
                }
                if is_new {
                    self.asked.push(question.clone());
                }
                if is_new && own(Entry::Policy) {
                    self.progress(policy::answer(&question, known, seen));
                } else if is_new {
                    self.rest.questions.push(question);
                }
            }
            Intent::Courtesy(courtesy) => self.greeted = Some(*courtesy),
            Intent::Unreadable(why) => self.unreadable(*why, words),
        }
        self.place += 1;
    }

    fn progress(&mut self, progress: Progress) {
        match progress {
            Progress::Call(call) if call.has_effect => {
                self.act.get_or_insert(call);
            }
            Progress::Call(call) => {
                if !self.looks.contains(&call) {
                    self.looks.push(call);
                }
            }
            Progress::Told(told) => self.told.push((self.place, told)),
        }
    }

    fn unreadable(&mut self, why: Why, words: &str) {
        let words = quoted(words);
        let text = match why {
            Why::OrderToIgnore => format!("I do not follow {words}: my rules stay as they are."),
            Why::EveryBooking => {
                format!("Nothing was cancelled for {words}: I cancel only a booking that is named by its id.")
            }
            Why::Negated => format!("I left undone what you do not want: {words}."),
            Why::NotOffered => format!("That is not offered here: {words}."),
            Why::TooMany => {
                format!("That is more than I take in at once; I left out everything from {words} on.")
            }
            Why::NoRequest => {
                self.unread += 1;
                match self.unread {
                    ..=MOST_QUOTED => format!("I could not read this as a request: {words}."),
                    _ if self.unread == MOST_QUOTED + 1 => "There is more that I could not read.".to_owned(),
                    _ => return,
                }
            }
        };
        self.told.push((self.place, Told::say(text)));
    }

    /// Hands over what is left, or answers.
    fn finish(mut self, parts: &[Part], known: Vec<Price>, seen: &Seen<'_>) -> Move {
        for (_, told) in &self.told {
            if let Some(wanted) = told.alternative.clone().filter(|_| !seen.desks.contains(&Entry::Pricing)) {
                self.rest.comparisons.push(wanted);
            }
        }
        let mut lines: Vec<String> = seen
            .package
            .iter()
            .flat_map(|package| package.completed_steps())
            .map(|step| printable(step))
            .collect();
        lines.extend(booking::untold(seen));
        let told_prices = known.iter().filter(|price| {
            let amount = price.total_cents.to_string();
            !lines.iter().any(|line| line.contains(&amount))
        });
        let told_prices: Vec<String> = told_prices.map(quote_line).collect();
        lines.extend(told_prices);
        lines.extend(self.told.iter().map(|(_, told)| told.text.clone()).filter(|text| !text.is_empty()));
        let mut told = BTreeSet::new();
        lines.retain(|line| told.insert(line.clone()));
        if let Some(to) = self.rest.next_desk(&seen.receivers).filter(|_| !seen.was_refused()) {
            let every = self.prices(known);
            let priced = every.len();
            let prices = self.meant(parts, &seen.words).map_or(every, |price| vec![price]);
            let findings = Findings { told: lines.clone(), prices, priced };
            if let Some(call) = handoff::call(to, &self.rest, &findings) {
                return Move::Call(vec![call]);
            }
        }
        let left = self.rest.task();
        if !left.is_empty() {
            lines.push(format!("I could not pass on what is not my trade: {}.", quoted(&left)));
        }
        if lines.is_empty() {
            lines.push(self.pleasantry().to_owned());
        }
        Move::Say(printable(&lines.join("\n")))
    }

    /// The price of the one part that every question about the rules speaks about; none if one says "them".
    fn meant(&self, parts: &[Part], words: &str) -> Option<Price> {
        let is_on_rules = |part: &&Part| matches!(part.intent, Intent::Policy { .. });
        if parts.iter().filter(is_on_rules).any(|part| speaks_of_several(part.span.of(words))) {
            return None;
        }
        let mut spoken_of = parts
            .iter()
            .filter(|part| matches!(part.intent, Intent::Policy { .. }))
            .map(|part| part.refers_to);
        let place = spoken_of.next()??;
        let same = spoken_of.all(|other| other == Some(place));
        let told = self.told.iter().find(|(at, _)| same && *at == place);
        told.and_then(|(_, told)| told.price.clone().or_else(|| told.found.clone()))
    }

    /// Every price that is known.
    fn prices(&self, known: Vec<Price>) -> Vec<Price> {
        let mut prices = known;
        for price in self.told.iter().filter_map(|(_, told)| told.price.clone()) {
            if !prices.contains(&price) {
                prices.push(price);
            }
        }
        prices
    }

    fn pleasantry(&self) -> &'static str {
        match self.greeted {
            Some(Courtesy::Thanks) => "You are welcome.",
            Some(Courtesy::Farewell) => "Goodbye, and see you soon.",
            Some(Courtesy::Greeting) => {
                "Hello! I quote, book and cancel rooms, compare prices, and answer questions about the rules."
            }
            None => {
                "I could not read a request in that. I quote, book and cancel rooms, compare prices, and answer questions about the rules."
            }
        }
    }
}
