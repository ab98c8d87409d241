//! Splits sentences into the things they ask.
//!
//! A *trigger* is a word that shows an intent. A segment of a sentence reaches from the divider before its trigger (a
//! comma or an "and" after which no slot of the segment before follows) to the next segment. Two triggers without a
//! divider between them are one question said with two words, and [`absorb`] says which of the two it is.

use super::lexicon::is_common;
use super::request::{Compare, Condition, Found, Request};
use super::slots::{Finder, Mark, Slot, is_divider};
use super::{Courtesy, Intent, MAX_PARTS, Part, Reading, Span, Topic, Why};
use crate::booking::BookingId;
use crate::civil::DateTime;
use crate::room::Room;
use crate::search::{Idea, idea_at};
use crate::words::{Sentence, Word, is_one_of, sentences};

pub(super) fn read(text: &str, now: DateTime) -> Reading {
    let mut drafts = Drafts { drafts: Vec::new() };
    for sentence in sentences(text) {
        let words = &sentence.words[..];
        SentenceReader { finder: Finder { text, words, now }, sentence: &sentence }.read_into(&mut drafts);
        let mut standing = drafts.drafts.iter().enumerate().filter(|(_, draft)| !draft.used_up);
        if let Some((first, draft)) = standing.nth(MAX_PARTS) {
            let rest = Span { start: draft.span.start, end: text.trim_end().len() };
            drafts.drafts.truncate(first);
            drafts.push(Intent::Unreadable(Why::TooMany), rest);
            break;
        }
    }
    drafts.into_reading(text)
}

/// Whether a word is a trigger by itself, and so no unknown name.
pub(super) fn is_trigger_word(word: &str) -> bool {
    let words = [Word { text: word.to_owned(), start: 0, end: 0, capital: false, pause_before: false }];
    trigger_at(&words, 0).is_some()
}

/// A part before it is linked to the others.
#[derive(Debug)]
struct Draft {
    intent: Intent,
    span: Span,
    /// Slots of a sentence that asks nothing by itself; they belong to a request before or after it.
    fragment: Option<Fragment>,
    /// Whether it says "it" or "I", and so may speak about an earlier part.
    personal: bool,
    /// Whether it asks for the cheapest of an earlier comparison.
    refers_to_compare: bool,
    /// Whether a fragment went into another part.
    used_up: bool,
}

#[derive(Debug, Default)]
struct Fragment {
    request: Request,
    booking: Found<BookingId>,
}

struct Drafts {
    drafts: Vec<Draft>,
}

impl Drafts {
    fn push(&mut self, intent: Intent, span: Span) -> &mut Draft {
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
                personal: false,
                refers_to_compare: false,
                used_up: false,
            });
        }
        let last = self.drafts.len() - 1;
        let draft = &mut self.drafts[last];
        draft.span.end = span.end;
        draft
    }

    /// A request takes the slots of the fragments before it.
    fn push_request(&mut self, mut intent: Intent, span: Span) -> &mut Draft {
        for draft in &mut self.drafts {
            let Some(fragment) = draft.fragment.as_mut().filter(|_| !draft.used_up) else { continue };
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
    fn push_fragment(&mut self, fragment: Fragment, span: Span) {
        let mut new_quote = None;
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
                contrast(&mut request.room, &other.room);
                contrast(&mut request.plan, &other.plan);
                contrast(&mut request.hours, &other.hours);
                contrast(&mut request.date, &other.date);
                contrast(&mut request.start_hour, &other.start_hour);
                request.fill_from(&other);
                take_condition(&mut request.condition, &other.condition);
            }
            Some(Intent::Compare(compare)) => fill_compare(compare, &fragment.request),
            Some(Intent::Cancel { booking, condition }) => {
                if booking.is_missing() {
                    *booking = fragment.booking;
                }
                take_condition(condition, &fragment.request.condition);
            }
            _ => {
                self.drafts.push(Draft {
                    intent: Intent::Unreadable(Why::NoRequest),
                    span,
                    fragment: Some(fragment),
                    personal: false,
                    refers_to_compare: false,
                    used_up: false,
                });
            }
        }
        if let Some(request) = new_quote {
            self.push(Intent::Quote(request), span);
        }
    }

    fn into_reading(self, text: &str) -> Reading {
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
        let trimmed = text.trim();
        if drafts.is_empty() && !trimmed.is_empty() {
            let start = text.len() - text.trim_start().len();
            let span = Span { start, end: start + trimmed.len() };
            return Reading {
                parts: vec![Part { intent: Intent::Unreadable(Why::NoRequest), span, refers_to: None }],
            };
        }
        let mut parts: Vec<Part> = Vec::new();
        for draft in drafts {
            let linked = link(draft, &parts);
            parts.push(linked);
        }
        Reading { parts }
    }
}

/// Finds the earlier part that a draft speaks about, and takes from it what the draft leaves out.
fn link(draft: Draft, parts: &[Part]) -> Part {
    let Draft { mut intent, span, personal, refers_to_compare, .. } = draft;
    let latest = |wanted: fn(&Intent) -> bool| parts.iter().rposition(|part| wanted(&part.intent));
    let is_request = |intent: &Intent| matches!(intent, Intent::Quote(_) | Intent::Book(_));
    let refers_to = match &mut intent {
        Intent::Book(request) if refers_to_compare => {
            let earlier = latest(|intent| matches!(intent, Intent::Compare(_)));
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
        Intent::Policy { about, .. } if personal && about.room.is_missing() => {
            latest(|intent| matches!(intent, Intent::Quote(_) | Intent::Book(_) | Intent::Cancel { .. }))
        }
        _ => None,
    };
    Part { intent, span, refers_to }
}

fn take_condition(condition: &mut Found<Condition>, other: &Found<Condition>) {
    if condition.is_missing() {
        condition.clone_from(other);
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

/// A word that shows an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trigger {
    /// "quote"
    Quote,
    /// "how much", "cost"
    Cost,
    /// "prices"
    Prices,
    /// "compare", "cheapest"
    Compare,
    Book,
    /// "cancel"
    Cancel,
    /// "cancellation"
    Cancellation,
    NoShow,
    Late,
    Refund,
    Change,
    Open,
    Pay,
    /// "policy"
    Rules,
    /// "is it free"
    Availability,
}

/// The trigger that begins at a word, and how many words it has.
fn trigger_at(words: &[Word], at: usize) -> Option<(Trigger, usize)> {
    let text = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    let before = |back: usize| at.checked_sub(back).map_or("", text);
    let (word, next) = (text(at), text(at + 1));
    match (word, next) {
        ("how", "much" | "expensive") | ("wie", "viel" | "teuer") => return Some((Trigger::Cost, 2)),
        ("least", "expensive") | ("best", "price" | "deal") | ("lowest", "price" | "prices") => {
            return Some((Trigger::Compare, 2));
        }
        _ => {}
    }
    if let Some((idea, length)) = idea_at(words, at) {
        let trigger = match idea {
            Idea::NoShow => Trigger::NoShow,
            Idea::Cancel if is_cancel_verb(word) => Trigger::Cancel,
            Idea::Cancel => Trigger::Cancellation,
            Idea::Refund => Trigger::Refund,
            Idea::Change => Trigger::Change,
            Idea::Open => Trigger::Open,
            Idea::Pay => Trigger::Pay,
        };
        return Some((trigger, length));
    }
    let trigger = match word {
        "quote" | "quotes" | "quotation" | "quotations" | "angebot" | "preisangebot"
        | "kostenvoranschlag" | "estimate" => Trigger::Quote,
        "cost" | "costs" | "kostet" | "kosten" | "price" | "preis" | "wieviel" | "pricing" => Trigger::Cost,
        "prices" | "rates" | "preise" | "tarife" => Trigger::Prices,
        "compare" | "comparison" | "comparing" | "cheapest" | "cheaper" => Trigger::Compare,
        word if ["vergleich", "guenstigst", "billigst"].iter().any(|stem| word.starts_with(stem)) => {
            Trigger::Compare
        }
        "book" | "buch" if !is_one_of(before(1), "a the this that my das mein") => Trigger::Book,
        "reserve" | "buche" | "buchen" | "reserviere" | "reservieren" => Trigger::Book,
        "booking" | "reservation" | "buchung" | "reservierung"
            if matches!(before(1), "a" | "an" | "eine" | "the")
                && is_one_of(before(2), "make place need want like create moechte brauche mache") =>
        {
            Trigger::Book
        }
        "late" | "verspaetung" | "verspaetet" | "spaet" => Trigger::Late,
        "policy" | "policies" | "terms" | "rules" | "conditions" | "agb" | "regeln" | "bedingungen"
        | "richtlinien" => Trigger::Rules,
        "available" | "availability" | "frei" | "verfuegbar" | "vacant" => Trigger::Availability,
        "free" if next != "of" => Trigger::Availability,
        _ => return None,
    };
    Some((trigger, 1))
}

fn is_cancel_verb(word: &str) -> bool {
    is_one_of(
        word,
        "\
        cancel cancle cancell storniere stornieren storniert storniern absagen",
    ) || matches!(word, "call" | "annulliere" | "annullieren")
}

/// What a segment asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Quote,
    Cost,
    Prices,
    Compare,
    Book,
    Cancel,
    /// With its rank: of two topics in one question the higher is meant.
    Policy(Topic, u8),
    Refused(Why),
}

#[derive(Debug)]
struct Segment {
    kind: Kind,
    start: usize,
    trigger_end: usize,
    /// "if I don't show up"
    hypothetical: bool,
    /// It has a word that asks, or one that asks to be told.
    question: bool,
    /// "book the cheapest"
    with_compare: bool,
}

/// A condition that a sentence states.
enum Clause {
    /// On an amount of money; the money is a mark of its own.
    Money,
    /// One that holds anyway, as "if it is free".
    Harmless,
    /// The case that a question is about.
    Hypothesis,
    /// One that is not understood.
    Opaque,
}

struct SentenceReader<'t> {
    finder: Finder<'t>,
    sentence: &'t Sentence,
}

impl SentenceReader<'_> {
    fn read_into(&self, drafts: &mut Drafts) {
        let words = self.finder.words;
        let span = Span { start: self.sentence.start, end: self.sentence.end };
        if orders_to_ignore(words) {
            drafts.push(Intent::Unreadable(Why::OrderToIgnore), span);
            return;
        }
        let mut marks = self.finder.marks();
        let mut conditions: Vec<Found<Condition>> = Vec::new();
        let mut silent = vec![None; words.len()];
        let mut hypothetical = vec![false; words.len()];
        self.read_clauses(&mut marks, &mut conditions, &mut silent, &mut hypothetical);
        let segments = self.segments(&marks, &silent, &hypothetical);
        let opaque = conditions.into_iter().next();
        if segments.is_empty() {
            self.read_without_trigger(&marks, opaque, span, drafts);
            return;
        }
        let thanks = matches!(self.finder.word(0), "thanks" | "thank" | "danke");
        let slotless = !marks.iter().any(|mark| names_price(&mark.slot));
        if thanks
            && slotless
            && segments.iter().all(|one| matches!(one.kind, Kind::Quote | Kind::Cost | Kind::Prices))
        {
            drafts.push(Intent::Courtesy(Courtesy::Thanks), span);
            return;
        }
        let ends: Vec<usize> = segments.iter().skip(1).map(|next| next.start).chain([words.len()]).collect();
        let mut next_mark = 0;
        for (segment, end) in segments.iter().zip(ends) {
            let from = next_mark;
            while marks.get(next_mark).is_some_and(|mark| mark.from < end) {
                next_mark += 1;
            }
            self.read_segment(segment, end, &marks[from..next_mark], opaque.as_ref(), drafts);
        }
    }

    /// Finds the conditions: which triggers they silence, which marks they use up, which are questions in disguise.
    fn read_clauses(
        &self,
        marks: &mut Vec<Mark>,
        conditions: &mut Vec<Found<Condition>>,
        silent: &mut [Option<bool>],
        hypothetical: &mut [bool],
    ) {
        let words = self.finder.words;
        let mut at = 0;
        while at < words.len() {
            let lead = self.finder.word(at);
            let begins = match lead {
                "if" | "wenn" | "falls" | "sofern" | "unless" | "provided" | "ausser" | "solange" => {
                    lead != "ausser" || self.finder.word(at + 1) == "wenn"
                }
                "as" => (self.finder.word(at + 1), self.finder.word(at + 2)) == ("long", "as"),
                _ => false,
            };
            if !begins {
                at += 1;
                continue;
            }
            let end = self.clause_end(at);
            match self.judge(at, end, marks) {
                Clause::Money => silent[at..end].fill(Some(false)),
                Clause::Harmless => silent[at..end].fill(Some(true)),
                Clause::Hypothesis => hypothetical[at..end].fill(true),
                Clause::Opaque => {
                    silent[at..end].fill(Some(true));
                    marks.retain(|mark| !(at..end).contains(&mark.from));
                    conditions.push(Found::Unclear { raw: self.finder.raw(at, end), nearest: None });
                }
            }
            at = end;
        }
    }

    /// A condition ends at a pause, at "then", or at the order that it is a condition of.
    fn clause_end(&self, start: usize) -> usize {
        const LONGEST: usize = 24;
        let words = self.finder.words;
        let mut at = start + 1;
        while at < words.len().min(start + LONGEST) {
            let word = &words[at];
            let after_subject = is_one_of(
                self.finder.word(at - 1),
                "\
                i we you to they ich wir zu not dont cant nicht would will someone customer must can",
            );
            let orders = is_one_of(
                word.text.as_str(),
                "\
                book reserve cancel buche reserviere storniere please bitte quote",
            );
            if (word.pause_before && at > start + 1)
                || matches!(word.text.as_str(), "then" | "dann")
                || (orders && !after_subject && at > start + 1)
            {
                break;
            }
            at += 1;
        }
        at
    }

    fn judge(&self, start: usize, end: usize, marks: &[Mark]) -> Clause {
        let words = self.finder.words;
        let inside = |mark: &&Mark| (start..end).contains(&mark.from);
        let says = |list: &[&str]| words[start..end].iter().any(|word| list.contains(&word.text.as_str()));
        if says(&["unless", "ausser"]) {
            return Clause::Opaque;
        }
        let supposed = (start + 1..end).any(|at| {
            idea_at(words, at)
                .is_some_and(|(idea, _)| matches!(idea, Idea::NoShow | Idea::Cancel | Idea::Change))
                || words[at].text == "late"
        });
        if supposed {
            return Clause::Hypothesis;
        }
        // A sentence has few marks about rooms; this is looked at once per condition.
        let from = marks.partition_point(|mark| mark.from < start);
        let here = &marks[from..];
        if here.iter().take_while(inside).any(|mark| matches!(mark.slot, Slot::Money(_))) {
            return Clause::Money;
        }
        let named: Option<&Slot> =
            here.iter().take_while(inside).map(|mark| &mark.slot).find(|slot| matches!(slot, Slot::Room(_)));
        let other_room = named.is_some_and(|named| {
            marks.iter().take(64).any(|mark| matches!(mark.slot, Slot::Room(_)) && mark.slot != *named)
        });
        let holds = says(&["free", "available", "possible", "frei", "verfuegbar", "moeglich", "vacant"])
            || matches!(
                (self.finder.word(start + 1), self.finder.word(start + 2)),
                ("you", "can" | "could" | "please" | "would") | ("i" | "we", "book" | "reserve" | "may")
            );
        let denied = says(&["not", "isnt", "no", "nicht", "never", "cant", "arent"]);
        if holds && !denied && !other_room { Clause::Harmless } else { Clause::Opaque }
    }

    fn segments(&self, marks: &[Mark], silent: &[Option<bool>], hypothetical: &[bool]) -> Vec<Segment> {
        let words = self.finder.words;
        let mut segments: Vec<Segment> = Vec::new();
        let mut marks = marks.iter().peekable();
        let (mut last_slot_end, mut last_pause, mut at) = (0, 0, 0);
        while at < words.len() {
            if words[at].pause_before {
                last_pause = at;
            }
            let mut covered_to = at;
            while let Some(mark) = marks.next_if(|mark| mark.from <= at) {
                covered_to = covered_to.max(mark.to);
                if names_price(&mark.slot)
                    || matches!(
                        mark.slot,
                        Slot::Date(_) | Slot::Start(_) | Slot::Booking(_) | Slot::Customer(_)
                    )
                {
                    last_slot_end = mark.to;
                }
            }
            if covered_to > at {
                at = covered_to;
                continue;
            }
            let Some((trigger, length)) = trigger_at(words, at) else {
                at += 1;
                continue;
            };
            let silenced = match silent[at] {
                Some(all) => {
                    all || matches!(trigger, Trigger::Cost | Trigger::Prices | Trigger::Pay | Trigger::Quote)
                }
                None => false,
            };
            if silenced {
                at += 1;
                continue;
            }
            let previous = segments.last();
            let since = previous.map_or(0, |segment| segment.trigger_end).max(last_slot_end);
            let divides = |place: usize| words[place].pause_before || is_divider(&words[place].text);
            let divider = (since..=at).find(|&place| place > 0 && divides(place));
            let firm = divider.is_some_and(|from| (from..=at).any(|place| is_divider(&words[place].text)));
            let context_from = divider
                .unwrap_or_else(|| previous.map_or(0, |segment| segment.start))
                .max(last_pause)
                .max(at.saturating_sub(24));
            let context = &words[context_from..at];
            let question = asks(context);
            if let Some(kind) = resolve(trigger, words, at, length, context, question, hypothetical[at]) {
                let next = Segment {
                    kind,
                    // The first segment has the whole beginning of the sentence.
                    start: if segments.is_empty() { 0 } else { divider.unwrap_or(at) },
                    trigger_end: at + length,
                    hypothetical: hypothetical[at],
                    question,
                    with_compare: false,
                };
                let slots_between = previous.is_some_and(|segment| last_slot_end > segment.start);
                let absorbed = segments.last_mut().is_some_and(|last| {
                    let absorbed = absorb(last, &next, divider.is_some(), firm, slots_between);
                    if absorbed {
                        last.trigger_end = next.trigger_end;
                        last.hypothetical |= next.hypothetical;
                        last.question |= next.question;
                    }
                    absorbed
                });
                if !absorbed {
                    segments.push(next);
                }
            }
            at += length;
        }
        segments
    }

    fn read_segment(
        &self,
        segment: &Segment,
        end: usize,
        marks: &[Mark],
        opaque: Option<&Found<Condition>>,
        drafts: &mut Drafts,
    ) {
        let words = self.finder.words;
        // The divider itself says nothing, but a sentence keeps its beginning.
        let span = Span { start: words[segment.start].start, end: words[end - 1].end };
        let personal = words[segment.start..end].iter().any(|word| is_one_of(word.text.as_str(), PERSONAL));
        let has = |wanted: fn(&Slot) -> bool| marks.iter().any(|mark| wanted(&mark.slot));
        let has_room = has(|slot| matches!(slot, Slot::Room(_)));
        let priced = has_room && has(|slot| matches!(slot, Slot::Plan(_) | Slot::Hours(_)));
        let kind = match segment.kind {
            Kind::Prices => {
                let rooms = marks.iter().filter(|mark| matches!(mark.slot, Slot::Room(_))).count();
                let plans = marks.iter().filter(|mark| matches!(mark.slot, Slot::Plan(_))).count();
                if (rooms, plans) == (1, 1) { Kind::Quote } else { Kind::Compare }
            }
            Kind::Cost if !has_room && has(|slot| matches!(slot, Slot::People(_))) => Kind::Compare,
            // "What do you charge for Focus pro 3h?"
            Kind::Policy(Topic::Payment, _) if priced => Kind::Quote,
            kind => kind,
        };
        let from_sentence = |request: &mut Request| {
            if let Some(opaque) = opaque {
                request.condition.clone_from(opaque);
            }
        };
        match kind {
            Kind::Quote | Kind::Cost => {
                // "How much is it if I don't show up": the question is the one on the rules.
                let only_asks = kind == Kind::Cost && !marks.iter().any(|mark| names_price(&mark.slot));
                if only_asks && self.merges_with_policy(segment, end, drafts) {
                    return;
                }
                for mut request in self.requests(segment, marks, false) {
                    from_sentence(&mut request);
                    drafts.push_request(Intent::Quote(request), span);
                }
            }
            Kind::Book => {
                for mut request in self.requests(segment, marks, true) {
                    from_sentence(&mut request);
                    let earlier =
                        drafts.drafts.iter().any(|draft| matches!(draft.intent, Intent::Compare(_)));
                    if segment.with_compare && !earlier {
                        drafts.push_request(Intent::Compare(compare(marks)), span);
                    }
                    drafts.push_request(Intent::Book(request), span).refers_to_compare = segment.with_compare;
                }
            }
            Kind::Compare | Kind::Prices => {
                drafts.push_request(Intent::Compare(compare(marks)), span);
            }
            Kind::Cancel => self.read_cancel(segment, end, marks, opaque, span, drafts),
            Kind::Policy(topic, _) => {
                let about = requests(marks, false, |_, _| false).into_iter().next().unwrap_or_default();
                drafts.push(Intent::Policy { topic, about }, span).personal = personal;
            }
            Kind::Refused(why) => {
                drafts.push(Intent::Unreadable(why), span);
            }
        }
    }

    /// A bare "what does it cost" beside a question on the rules of the same sentence is one question with it.
    fn merges_with_policy(&self, segment: &Segment, end: usize, drafts: &mut Drafts) -> bool {
        let last = drafts.drafts.last_mut().filter(|last| {
            last.span.start >= self.sentence.start && matches!(last.intent, Intent::Policy { .. })
        });
        if let Some(last) = last {
            last.span.end = self.finder.words[end - 1].end;
            return true;
        }
        // The question on the rules may follow; then this segment is only its beginning.
        let words = self.finder.words;
        let asked_after = (end..words.len().min(end + 12)).any(|at| {
            matches!(
                trigger_at(words, at),
                Some((
                    Trigger::NoShow
                        | Trigger::Cancellation
                        | Trigger::Cancel
                        | Trigger::Refund
                        | Trigger::Late,
                    _
                ))
            )
        });
        let own_divider = words.get(end).is_some_and(|next| is_divider(&next.text));
        segment.kind == Kind::Cost && asked_after && !own_divider
    }

    fn read_cancel(
        &self,
        segment: &Segment,
        end: usize,
        marks: &[Mark],
        opaque: Option<&Found<Condition>>,
        span: Span,
        drafts: &mut Drafts,
    ) {
        let every = self.finder.words[segment.start..end].iter().any(|word| {
            is_one_of(
                word.text.as_str(),
                "\
                all every everything everyone everyones any each alle alles jede saemtliche except",
            )
        });
        if every {
            drafts.push(Intent::Unreadable(Why::EveryBooking), span);
            return;
        }
        let mut condition = opaque.cloned().unwrap_or_default();
        let mut bookings = Vec::new();
        for mark in marks {
            match &mark.slot {
                Slot::Booking(booking) if !bookings.contains(booking) => bookings.push(booking.clone()),
                Slot::Money(found) => take_condition(&mut condition, found),
                _ => {}
            }
        }
        if bookings.is_empty() {
            bookings.push(Found::Missing);
        }
        for booking in bookings {
            drafts.push_request(Intent::Cancel { booking, condition: condition.clone() }, span);
        }
    }

    /// The requests of a segment, at least one.
    fn requests(&self, segment: &Segment, marks: &[Mark], book: bool) -> Vec<Request> {
        let is_or = |from: usize, to: usize| {
            self.finder.words[from..to].iter().any(|word| matches!(word.text.as_str(), "or" | "oder"))
        };
        let mut found = requests(marks, book, is_or);
        if let Some(first) = found.first_mut().filter(|first| first.room.is_missing()) {
            first.room = self.unknown_room_after(segment.trigger_end, marks);
        }
        found
    }

    /// A word directly after the trigger that can only be meant as a room.
    fn unknown_room_after(&self, trigger_end: usize, marks: &[Mark]) -> Found<Room> {
        let mut at = trigger_end;
        while at < trigger_end + 4 && is_one_of(self.finder.word(at), SKIPPED) {
            at += 1;
        }
        let word = self.finder.word(at);
        let candidate = (3..=30).contains(&word.len())
            && word.chars().all(char::is_alphabetic)
            && !is_common(word)
            && !is_trigger_word(word)
            && !marks.iter().any(|mark| (mark.from..mark.to).contains(&at));
        if !candidate {
            return Found::Missing;
        }
        Found::Unclear { raw: self.finder.raw(at, at + 1), nearest: Room::nearest(word) }
    }

    fn read_without_trigger(
        &self,
        marks: &[Mark],
        opaque: Option<Found<Condition>>,
        span: Span,
        drafts: &mut Drafts,
    ) {
        let words = self.finder.words;
        let slots: Vec<&Mark> = marks.iter().filter(|mark| mark.slot != Slot::Notice).collect();
        if slots.is_empty()
            && let Some(courtesy) = courtesy(words)
        {
            drafts.push(Intent::Courtesy(courtesy), span);
            return;
        }
        let retracts = matches!(
            (self.finder.word(words.len().saturating_sub(2)), self.finder.word(words.len() - 1)),
            ("never", "mind")
                | ("scratch", "that")
                | ("forget", "it")
                | ("lieber" | "doch", "nicht")
                | ("do", "not")
        ) || matches!(self.finder.word(words.len() - 1), "nevermind" | "dont");
        let mut condition = opaque;
        if retracts {
            condition = Some(Found::Unclear { raw: self.finder.raw(0, words.len()), nearest: None });
        }
        let asked =
            drafts.drafts.iter().any(|draft| matches!(draft.intent, Intent::Book(_) | Intent::Cancel { .. }));
        if !slots.is_empty() || (condition.is_some() && asked) {
            let booking = marks.iter().find_map(|mark| match &mark.slot {
                Slot::Booking(booking) => Some(booking.clone()),
                _ => None,
            });
            let mut first = true;
            for mut request in requests(marks, false, |_, _| false) {
                if let Some(condition) = condition.take() {
                    request.condition = condition;
                }
                let booking = booking.clone().filter(|_| std::mem::take(&mut first)).unwrap_or_default();
                drafts.push_fragment(Fragment { request, booking }, span);
            }
            return;
        }
        // Words that say nothing need no answer, unless the text has no others.
        if !words.iter().all(|word| is_common(&word.text)) {
            drafts.push(Intent::Unreadable(Why::NoRequest), span);
        }
    }
}

/// Whether a slot decides a price.
fn names_price(slot: &Slot) -> bool {
    matches!(slot, Slot::Room(_) | Slot::Plan(_) | Slot::Hours(_))
}

/// What a trigger means where it stands; `None` if it means nothing there.
fn resolve(
    trigger: Trigger,
    words: &[Word],
    at: usize,
    length: usize,
    context: &[Word],
    question: bool,
    hypothetical: bool,
) -> Option<Kind> {
    let next = words.get(at + length).map_or("", |word| word.text.as_str());
    let last = context.last().map_or("", |word| word.text.as_str());
    let negated = |reach: usize| {
        context[context.len().saturating_sub(reach)..]
            .iter()
            .any(|word| is_one_of(word.text.as_str(), "dont not never nicht kein without"))
    };
    let said_after = |list: &[&str], reach: usize| {
        words[at + length..words.len().min(at + length + reach)]
            .iter()
            .take_while(|word| !word.pause_before && !is_divider(&word.text))
            .any(|word| list.contains(&word.text.as_str()))
    };
    let of_rules =
        ["policy", "policies", "fee", "fees", "terms", "rules", "conditions", "deadline"].contains(&next);
    Some(match trigger {
        Trigger::Quote if negated(2) => Kind::Refused(Why::Negated),
        Trigger::Quote if is_one_of(last, "my the that this your of mein") && question => Kind::Cost,
        Trigger::Quote => Kind::Quote,
        Trigger::Cost => Kind::Cost,
        Trigger::Prices => Kind::Prices,
        Trigger::Compare => Kind::Compare,
        Trigger::Book => {
            let supposed = context[context.len().saturating_sub(3)..]
                .iter()
                .any(|word| is_one_of(word.text.as_str(), "if when once wenn falls before after bevor"));
            if supposed {
                return None;
            }
            if negated(4) || said_after(&["nicht"], 12) { Kind::Refused(Why::Negated) } else { Kind::Book }
        }
        Trigger::Cancel if of_rules || hypothetical || asks_to_cancel(context) => {
            Kind::Policy(Topic::Cancellation, 4)
        }
        Trigger::Cancel if negated(4) || said_after(&["nicht", "not"], 12) => Kind::Refused(Why::Negated),
        Trigger::Cancel => Kind::Cancel,
        Trigger::Cancellation => Kind::Policy(Topic::Cancellation, 4),
        Trigger::NoShow => Kind::Policy(Topic::NoShow, 6),
        Trigger::Late => Kind::Policy(Topic::NoShow, 1),
        Trigger::Refund => {
            let when = context
                .iter()
                .any(|word| is_one_of(word.text.as_str(), "long when quickly soon fast wann lange"));
            let after = said_after(&["take", "takes", "arrive", "arrives", "dauert", "lange", "long"], 4);
            Kind::Policy(Topic::Refund, if when || after { 5 } else { 3 })
        }
        Trigger::Change => {
            let noun = is_one_of(words[at].text.as_str(), "changes changing moving rescheduling umbuchung")
                || of_rules;
            if noun || question || hypothetical {
                Kind::Policy(Topic::Change, 5)
            } else {
                Kind::Refused(Why::NotOffered)
            }
        }
        Trigger::Open => Kind::Policy(Topic::OpeningHours, 2),
        Trigger::Pay => Kind::Policy(Topic::Payment, 1),
        Trigger::Rules => Kind::Policy(Topic::Other, 0),
        Trigger::Availability => Kind::Refused(Why::NotOffered),
    })
}

/// Whether the words before a trigger ask, or ask to be told.
fn asks(context: &[Word]) -> bool {
    context.iter().any(|word| {
        is_one_of(
            word.text.as_str(),
            "\
            what whats how when which who why is are does do can could may will would tell explain know \
            about wissen was wie wann wo welche gibt darf kann koennen policy possible allowed",
        )
    })
}

/// Whether the words before "cancel" make it a question about cancelling rather than the order to do it. When in doubt
/// it is a question.
fn asks_to_cancel(context: &[Word]) -> bool {
    let asking = context.iter().any(|word| {
        is_one_of(
            word.text.as_str(),
            "\
            if when what whats how until wenn falls wann was wie bis darf late possible allowed able \
            does is fee cost costs kosten kostet refund before happens passiert why who should moeglich",
        )
    });
    let may = context.windows(2).any(|pair| {
        matches!(
            (pair[0].text.as_str(), pair[1].text.as_str()),
            (
                "can" | "could" | "may" | "do" | "did" | "must" | "kann" | "koennen" | "muss",
                "i" | "we" | "one" | "they" | "you-can" | "ich" | "wir" | "man" | "customers" | "people"
            )
        )
    });
    asking || may
}

/// Whether a new trigger says more about the segment before it rather than beginning one of its own. May change what
/// that segment asks.
fn absorb(last: &mut Segment, next: &Segment, divided: bool, firm: bool, slots_between: bool) -> bool {
    use Kind::{Book, Cancel, Compare, Cost, Policy, Prices, Quote, Refused};
    match (last.kind, next.kind) {
        (Policy(_, rank), Policy(topic, higher)) if !divided => {
            if higher > rank {
                last.kind = Policy(topic, higher);
            }
            true
        }
        (Policy(one, _), Policy(other, _)) if one == other => true,
        // "If I cancel, do I get a refund?"
        (Policy(..), Policy(Topic::Payment | Topic::Refund | Topic::Other, _)) => last.hypothetical && !firm,
        // "I can't make it, cancel RSV-0002" states a reason.
        (Policy(Topic::NoShow, _), Cancel) if !last.hypothetical && !last.question => {
            last.kind = Cancel;
            true
        }
        (Quote | Cost | Prices, Quote | Cost | Prices) if !divided || !slots_between => {
            if next.kind == Prices || (next.kind == Quote && last.kind == Cost) {
                last.kind = next.kind;
            }
            true
        }
        (Quote | Cost | Prices | Compare, Compare) | (Compare, Cost | Prices | Quote)
            if !divided || !slots_between =>
        {
            last.kind = Compare;
            true
        }
        // "What does it cost to book" orders nothing.
        (Cost, Book) => !divided,
        (Book, Compare) if !divided => {
            last.with_compare = true;
            true
        }
        (Book, Book) | (Cancel, Cancel) => !divided,
        (Book | Quote | Cost | Compare, Refused(Why::NotOffered)) | (Refused(Why::NotOffered), Book) => {
            !divided
        }
        // "Cancel RSV-0001 because I can't make it", "and refund me".
        (Cancel, Policy(Topic::Refund, _)) => !next.question && !next.hypothetical,
        (Cancel | Book, Policy(..)) => !divided && !next.question && !next.hypothetical,
        (Quote, Policy(Topic::Payment | Topic::Other | Topic::OpeningHours, _)) => !divided && !next.question,
        _ => false,
    }
}

/// The requests that the marks of a segment make: a second value for a slot begins a second request, and what one of
/// them leaves out it has from its neighbours. `is_or` says whether two words have an "or" between them.
fn requests(marks: &[Mark], book: bool, is_or: impl Fn(usize, usize) -> bool) -> Vec<Request> {
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
            Slot::Booking(_) | Slot::Except(_) | Slot::Notice => true,
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

fn compare(marks: &[Mark]) -> Compare {
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
    compare
}

/// Whether a sentence orders to disregard what binds the one who reads it.
fn orders_to_ignore(words: &[Word]) -> bool {
    words.iter().enumerate().any(|(at, word)| {
        is_one_of(
            word.text.as_str(),
            "\
            ignore disregard forget override bypass ignoriere ignorieren vergiss missachte ignoring \
            circumvent",
        ) && words[at + 1..].iter().take(7).any(|word| {
            [
                "instruction",
                "prompt",
                "rule",
                "guideline",
                "restriction",
                "system",
                "polic",
                "safety",
                "anweisung",
                "regel",
                "vorgabe",
                "everything",
                "gate",
                "approval",
            ]
            .iter()
            .any(|stem| word.text.starts_with(stem))
        })
    })
}

fn courtesy(words: &[Word]) -> Option<Courtesy> {
    if words.len() > 6 {
        return None;
    }
    words.iter().find_map(|word| match word.text.as_str() {
        "hi" | "hello" | "hey" | "hallo" | "moin" | "greetings" | "morning" | "servus" | "guten" => {
            Some(Courtesy::Greeting)
        }
        "thanks" | "thank" | "thx" | "danke" | "dankeschoen" | "cheers" => Some(Courtesy::Thanks),
        "bye" | "goodbye" | "tschuess" | "ciao" | "wiedersehen" => Some(Courtesy::Farewell),
        _ => None,
    })
}

/// Words by which a question speaks about somebody's own booking.
const PERSONAL: &str = "\
    i im id ive we it my that this customer they someone somebody nobody guest our he she ich wir es \
    mein meine man jemand niemand keiner one";

/// Words between a trigger and the room.
const SKIPPED: &str = "\
    the a an me us for of please is does do in would den das die ein eine einen mir uns bitte fuer";
