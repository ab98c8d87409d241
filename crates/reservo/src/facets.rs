//! Which trades a text asks for, and which of its parts needs what another brings.
//!
//! It says no more than the text does. What a room's being taken brings to light is not in it, and neither is what the
//! house makes of it: who works when is for others to choose.

use serde::Serialize;

use crate::Entry;
use crate::demo::DEMO_NOW;
use crate::reader::{Intent, Part, Request, Topic, read};
use crate::words::{is_one_of, sentences};

/// What a text asks, trade by trade.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Facets {
    /// The parts that are some trade's, in the order of the text. Polite words, and what could not be read, are none. A
    /// price that an answer is made of is one, before that answer, although the text only describes the booking.
    pub parts: Vec<Facet>,
}

/// One part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Facet {
    /// Whose trade it is.
    pub desk: Entry,
    /// The index in [`Facets::parts`] of the part whose result it needs.
    pub needs: Option<usize>,
}

impl Facets {
    /// How many trades are asked for.
    pub fn trades(&self) -> usize {
        Entry::ALL.into_iter().filter(|desk| self.count(*desk) > 0).count()
    }

    /// How many parts are this trade's.
    pub fn count(&self, desk: Entry) -> usize {
        self.parts.iter().filter(|part| part.desk == desk).count()
    }

    /// The parts that need what another trade brings. What a trade needs of its own work it has.
    pub fn needing_another(&self) -> impl Iterator<Item = Facet> {
        self.parts.iter().copied().filter(|part| {
            let brings = part.needs.and_then(|at| self.parts.get(at));
            brings.is_some_and(|brings| brings.desk != part.desk)
        })
    }
}

/// Reads which trades a text asks for.
///
/// A part needs another's result where its own answer is made of it:
///
/// - what a no-show or a cancellation comes to, beside a quote or an order to book, or of a booking that the question
///   describes: it is a share of the price. The rule itself, as "the cancellation policy" or "until when can I cancel",
///   is not;
/// - the same of what a comparison finds: "for it", "the cheaper one";
/// - what comes back, beside the order to cancel: the refund is that of the cancelled booking;
/// - a quote or an order to book what a comparison finds, or on a condition of a quote;
/// - whatever is wanted only if another part turns out so and so: "otherwise", "if it is taken".
///
/// ```
/// use reservo::{Entry, facets};
///
/// let found = facets("Quote Focus pro 3h. And what happens if I don't show up?");
/// let parts: Vec<_> = found.parts.iter().map(|part| (part.desk, part.needs)).collect();
/// assert_eq!(parts, [(Entry::Booking, None), (Entry::Policy, Some(0))]);
///
/// // The rules can be told by somebody who has never heard of the quote.
/// let found = facets("Quote Focus pro 3h and tell me the cancellation policy");
/// assert_eq!((found.trades(), found.needing_another().count()), (2, 0));
/// ```
pub fn facets(text: &str) -> Facets {
    // Only dates depend on the time, and no date decides a desk.
    let reading = read(text, DEMO_NOW);
    let mut places: Vec<(Option<&Part>, Entry, Needed<'_>)> = Vec::new();
    for part in &reading.parts {
        let Some(desk) = part.intent.desk() else { continue };
        let needed = needed(part, &reading.parts, text);
        if matches!(needed, Needed::PriceOf) {
            places.push((None, Entry::Booking, Needed::Nothing));
        }
        places.push((Some(part), desk, needed));
    }
    let place_of = |wanted: &Part| {
        places.iter().position(|(part, ..)| part.is_some_and(|part| std::ptr::eq(part, wanted)))
    };
    let facet = |(place, (_, desk, needed)): (usize, &(Option<&Part>, Entry, Needed<'_>))| Facet {
        desk: *desk,
        needs: match needed {
            Needed::Nothing => None,
            Needed::PriceOf => place.checked_sub(1),
            Needed::Result(part) => place_of(part),
        },
    };
    Facets { parts: places.iter().enumerate().map(facet).collect() }
}

/// What an answer is made of.
enum Needed<'p> {
    /// Nothing that another brings.
    Nothing,
    /// The result of this part.
    Result(&'p Part),
    /// The price of a booking that the part itself describes, and that no part asks for.
    PriceOf,
}

impl<'p> From<Option<&'p Part>> for Needed<'p> {
    fn from(part: Option<&'p Part>) -> Self {
        part.map_or(Self::Nothing, Self::Result)
    }
}

fn needed<'p>(part: &Part, all: &'p [Part], text: &str) -> Needed<'p> {
    let earlier = part.refers_to.and_then(|at| all.get(at));
    let here = all.iter().position(|other| std::ptr::eq(other, part)).unwrap_or_default();
    // The latest one before it, and if there is none, the first one after it.
    let priced = |wanted: &dyn Fn(&Request) -> bool| {
        let is_wanted = |other: &&Part| priced_request(other).is_some_and(wanted);
        all[..here].iter().rev().find(is_wanted).or_else(|| all.iter().find(is_wanted))
    };
    let before = |wanted: fn(&Intent) -> bool| all[..here].iter().rev().find(|other| wanted(&other.intent));
    let Asked { supposes, amount, rule, of_several, otherwise, back } = Asked::of(part.span.of(text));
    if let Some(first_choice) = before(|intent| intent.desk().is_some()).filter(|_| otherwise) {
        return Needed::Result(first_choice);
    }
    match &part.intent {
        Intent::Quote(_) => earlier.filter(|earlier| matches!(earlier.intent, Intent::Compare(_))).into(),
        Intent::Book(request) => {
            let is_chosen_by = |earlier: &&Part| match earlier.intent {
                Intent::Compare(_) => true,
                _ => !request.condition.is_missing(),
            };
            earlier.filter(is_chosen_by).into()
        }
        Intent::Compare(_) => {
            let quoted = all[..here].iter().rev().find(|other| priced_request(other).is_some());
            quoted.filter(|_| supposes && !of_several).into()
        }
        Intent::Policy { topic, about } if topic.rests_on_price() => {
            let cancelled = before(|intent| matches!(intent, Intent::Cancel { .. }));
            if *topic == Topic::Cancellation && !rule && (back || amount) && cancelled.is_some() {
                return cancelled.into();
            }
            let speaks_of_booking = earlier.is_some() || !about.room.is_missing();
            let is_meant = supposes || amount || (*topic == Topic::NoShow && speaks_of_booking && !rule);
            if !is_meant {
                return Needed::Nothing;
            }
            if about.room.is_missing() {
                let tells_price = |part: &&Part| {
                    priced_request(part).is_some() || matches!(part.intent, Intent::Compare(_))
                };
                let spoken_of = earlier.filter(tells_price);
                return spoken_of.or_else(|| priced(&|_| true)).into();
            }
            match priced(&|request| request.room == about.room) {
                Some(part) => Needed::Result(part),
                None if about.open_for_quote().is_empty() => Needed::PriceOf,
                None => Needed::Nothing,
            }
        }
        Intent::Policy { topic: Topic::Refund, .. } if back && !rule => {
            before(|intent| matches!(intent, Intent::Cancel { .. })).into()
        }
        _ => Needed::Nothing,
    }
}

/// The booking whose price a part tells.
fn priced_request(part: &Part) -> Option<&Request> {
    match &part.intent {
        Intent::Quote(request) | Intent::Book(request) => Some(request),
        _ => None,
    }
}

/// How a part asks.
struct Asked {
    /// It supposes a case.
    supposes: bool,
    /// It asks for an amount of money.
    amount: bool,
    /// It asks for the rule as such.
    rule: bool,
    /// It speaks of several things, so what it supposes is of each of them and not of what was asked before.
    of_several: bool,
    /// It is wanted only if what comes before it fails.
    otherwise: bool,
    /// It asks what or how much comes back, and not when.
    back: bool,
}

impl Asked {
    fn of(words: &str) -> Self {
        let sentences = sentences(words);
        let words: Vec<&str> =
            sentences.iter().flat_map(|sentence| &sentence.words).map(|word| word.text.as_str()).collect();
        let says = |list: &str| words.iter().any(|word| is_one_of(word, list));
        let follow = |first: &str, then: &str| {
            words.windows(2).any(|pair| is_one_of(pair[0], first) && is_one_of(pair[1], then))
        };
        // "If possible" and "if you can" are politeness.
        let polite = follow("if wenn falls", "possible you moeglich sie");
        Self {
            supposes: says("if wenn falls sollte suppose supposing") && !polite,
            // "Free of charge" asks for no amount.
            amount: (says(
                "cost costs charge charges charged pay owe wieviel kostet kosten zahle zahlen bezahlen",
            ) && !follow("of", "charge"))
                || follow("how wie", "much viel"),
            rule: says(
                "policy policies rule rules terms conditions fee regel regeln richtlinie richtlinien bedingungen",
            ),
            otherwise: says("otherwise sonst ansonsten andernfalls failing")
                || follow("or oder", "else")
                || follow("if wenn falls", "not nicht"),
            back: (says("what was wieviel amount betrag summe") || follow("how wie", "much viel"))
                && !says("long when quickly soon wann lange schnell"),
            of_several: says("they them each any ones there rooms raeume"),
        }
    }
}
