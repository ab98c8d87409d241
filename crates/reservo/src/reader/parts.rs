//! Splits sentences into the things they ask.
//!
//! A segment of a sentence reaches from the divider before its trigger (a comma or an "and" after which no slot of the
//! segment before follows) to the next segment. Two triggers without a divider between them are one question said with
//! two words, and [`absorb`] says which of the two it is.

use super::clauses::LEAVING;
use super::drafts::{Drafts, Fragment, SpeaksOf, take_condition};
use super::fill::{compare, requests};
use super::lexicon::{is_common, number};
use super::request::{Condition, Found, Request};
use super::slots::{Finder, Mark, Slot, is_divider};
use super::triggers::{Kind, Trigger, asks, is_choice, is_trigger_word, resolve, trigger_at};
use super::{Courtesy, Intent, MAX_SENTENCE, Obstacle, Reading, Span, Topic, Why};
use crate::civil::DateTime;
use crate::room::Room;
use crate::words::{Sentence, Word, is_one_of, sentences};

pub(super) fn read(whole: &str, now: DateTime) -> Reading {
    let text = head(whole);
    let mut drafts = Drafts::default();
    let mut after_question = false;
    for sentence in sentences(text) {
        let words = &sentence.words[..];
        let reader = SentenceReader { finder: Finder { text, words, now }, sentence: &sentence };
        let earlier = drafts.drafts.len();
        let in_the_way = reader.read_into(&mut drafts, after_question);
        drafts.note(earlier, in_the_way);
        after_question = reader.is_question();
        if drafts.is_full() {
            break;
        }
    }
    drafts.into_reading(text, whole)
}

/// What of a text is read: up to where a sentence is too long.
fn head(text: &str) -> &str {
    let text = text.trim_end();
    let too_long = sentences(text).into_iter().find(|sentence| sentence.end - sentence.start > MAX_SENTENCE);
    let Some(Sentence { words, start, .. }) = too_long else { return text };
    let end = words.iter().map(|word| word.end).take_while(|end| end - start <= MAX_SENTENCE).last();
    text[..end.unwrap_or(start)].trim_end()
}

#[derive(Debug)]
pub(super) struct Segment {
    pub(super) kind: Kind,
    pub(super) start: usize,
    /// Where its first trigger ends, and where its last.
    pub(super) first_trigger_end: usize,
    trigger_end: usize,
    /// "if I don't show up"
    hypothetical: bool,
    /// It has a word that asks, or one that asks to be told.
    question: bool,
    /// "book the cheapest"
    with_compare: bool,
}

impl Segment {
    fn new(kind: Kind, start: usize, trigger_end: usize) -> Self {
        Self {
            kind,
            start,
            first_trigger_end: trigger_end,
            trigger_end,
            hypothetical: false,
            question: false,
            with_compare: false,
        }
    }
}

pub(super) struct SentenceReader<'t> {
    pub(super) finder: Finder<'t>,
    pub(super) sentence: &'t Sentence,
}

impl SentenceReader<'_> {
    /// Adds what the sentence asks, and says what of it stands in the way of doing anything.
    fn read_into(&self, drafts: &mut Drafts, after_question: bool) -> Option<Obstacle> {
        let words = self.finder.words;
        let span = Span { start: self.sentence.start, end: self.sentence.end };
        if orders_to_ignore(words) {
            drafts.push(Intent::Unreadable(Why::OrderToIgnore), span);
            return Some(Obstacle::Beside(span));
        }
        let mut marks = self.finder.marks();
        let mut conditions: Vec<Found<Condition>> = Vec::new();
        let mut silent = vec![None; words.len()];
        let mut hypothetical = vec![None; words.len()];
        let mut understood = vec![false; words.len()];
        self.read_clauses(&mut marks, &mut conditions, &mut silent, &mut hypothetical, &mut understood);
        let segments = self.segments(&marks, &silent, &hypothetical);
        let in_the_way = self.in_the_way(&segments, &marks, &understood, after_question);
        let opaque = conditions.into_iter().next();
        if segments.is_empty() {
            self.read_without_trigger(&marks, opaque, span, drafts);
            return in_the_way;
        }
        let thanks = matches!(self.finder.word(0), "thanks" | "thank" | "danke");
        let slotless = !marks.iter().any(|mark| names_price(&mark.slot));
        if thanks
            && slotless
            && segments.iter().all(|one| matches!(one.kind, Kind::Quote | Kind::Cost | Kind::Prices))
        {
            drafts.push(Intent::Courtesy(Courtesy::Thanks), span);
            return in_the_way;
        }
        let ends: Vec<usize> = segments.iter().skip(1).map(|next| next.start).chain([words.len()]).collect();
        let mut next_mark = 0;
        for (segment, end) in segments.iter().zip(ends) {
            if drafts.is_full() {
                break;
            }
            let from = next_mark;
            while marks.get(next_mark).is_some_and(|mark| mark.from < end) {
                next_mark += 1;
            }
            self.read_segment(segment, end, &marks[from..next_mark], opaque.as_ref(), drafts);
            let told = drafts.drafts.len();
            self.push_unread(segment, end, &marks[from..next_mark], drafts);
            if drafts.drafts.len() == told && opaque.is_none() {
                self.push_unread_among_slots(segment, end, &marks[from..next_mark], drafts);
            }
        }
        in_the_way
    }

    fn segments(
        &self,
        marks: &[Mark],
        silent: &[Option<bool>],
        hypothetical: &[Option<usize>],
    ) -> Vec<Segment> {
        let words = self.finder.words;
        let mut segments: Vec<Segment> = Vec::new();
        let mut marks = marks.iter().peekable();
        let (mut last_slot_end, mut last_pause, mut first_slots, mut at) = (0, 0, 0, 0);
        // The first divider since the last trigger and the last slot, and the last "and" of all.
        let (mut divider, mut last_firm) = (None, None);
        while at < words.len() {
            if words[at].pause_before {
                last_pause = at;
            }
            if is_divider(&words[at].text) {
                last_firm = Some(at);
            }
            if at > 0 && (last_pause == at || last_firm == Some(at)) {
                divider = divider.or(Some(at));
            }
            let mut covered_to = at;
            while let Some(mark) = marks.next_if(|mark| mark.from <= at) {
                covered_to = covered_to.max(mark.to);
                first_slots += usize::from(names_price(&mark.slot));
                if names_price(&mark.slot)
                    || matches!(
                        mark.slot,
                        Slot::Date(_) | Slot::Start(_) | Slot::Booking(_) | Slot::Customer(_)
                    )
                {
                    last_slot_end = mark.to;
                    divider = None;
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
            // In a condition on money nothing is asked; only an order at its end counts.
            let silenced =
                silent[at].is_some_and(|all| all || !matches!(trigger, Trigger::Book | Trigger::Cancel));
            if silenced {
                at += 1;
                continue;
            }
            let previous = segments.last();
            let slots_between = previous.is_some_and(|segment| last_slot_end > segment.start);
            let firm = divider.is_some_and(|from| last_firm.is_some_and(|firm| firm >= from));
            let context_from = divider
                .unwrap_or_else(|| previous.map_or(0, |segment| segment.start))
                .max(last_pause)
                .max(at.saturating_sub(24));
            let context = &words[context_from..at];
            let question = asks(context);
            if let Some(kind) =
                resolve(trigger, words, at, length, context, question, hypothetical[at].is_some())
            {
                // "Focus pro 3h, and what if nobody comes?" asks for the price first.
                let priced = last_slot_end > 0
                    && first_slots >= 2
                    && divider.is_some_and(|from| from >= last_slot_end);
                if segments.is_empty() && priced && matches!(kind, Kind::Policy(..)) {
                    segments.push(Segment::new(Kind::Quote, 0, last_slot_end));
                }
                // A clause that began before the trigger of another segment is not the beginning of this one.
                let clause = segments
                    .last()
                    .and_then(|last| hypothetical[at].filter(|from| *from >= last.trigger_end));
                let next = Segment {
                    kind,
                    // The first segment has the whole beginning of the sentence.
                    start: if segments.is_empty() { 0 } else { divider.or(clause).unwrap_or(at) },
                    first_trigger_end: at + length,
                    trigger_end: at + length,
                    hypothetical: hypothetical[at].is_some(),
                    question,
                    with_compare: false,
                };
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
                divider = None;
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
        let says = |list: &str| words[segment.start..end].iter().any(|word| is_one_of(&word.text, list));
        // "... and don't turn up" speaks of somebody without naming him; "the no-show fee" does not.
        let unnamed = matches!(segment.kind, Kind::Policy(Topic::NoShow, _))
            && !says("no-show no-shows noshow no fee policy policies rules terms nichterscheinen");
        let personal = unnamed || says(PERSONAL);
        let speaks_of = SpeaksOf {
            anything: personal,
            choice: words[segment.start..end].iter().any(|word| is_choice(&word.text)),
            it: says(IT),
        };
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
            // "Quote all rooms"
            Kind::Quote | Kind::Cost
                if !has_room
                    && words[segment.start..end].iter().any(|word| is_one_of(&word.text, "rooms raeume")) =>
            {
                Kind::Compare
            }
            // "Quote the Forum on each plan"
            Kind::Quote | Kind::Cost
                if !has(|slot| matches!(slot, Slot::Plan(_)))
                    && words[segment.start..end].windows(2).any(|pair| {
                        is_one_of(&pair[1].text, "plan plans plaene tarif tarife")
                            && is_one_of(&pair[0].text, "all each every the jedem alle allen")
                            && (pair[0].text != "the" || pair[1].text == "plans")
                    }) =>
            {
                Kind::Compare
            }
            // "What do you charge for Focus pro 3h?"
            Kind::Policy(Topic::Payment, _) if priced => Kind::Quote,
            kind => kind,
        };
        // "Otherwise book Studio" is an order for a case that is not the one at hand, or not known to be.
        let order_end = segment.first_trigger_end.min(end);
        let otherwise = (segment.start..order_end)
            .find(|at| is_one_of(self.finder.word(*at), "otherwise else sonst ansonsten andernfalls"))
            .map(|at| Found::Unclear { raw: self.finder.raw(at, order_end), nearest: None });
        let opaque = otherwise.as_ref().or(opaque);
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
                    drafts.push_request(Intent::Quote(request), span).speaks_of = speaks_of;
                }
            }
            Kind::Book => {
                for mut request in self.requests(segment, marks, true) {
                    from_sentence(&mut request);
                    let earlier =
                        drafts.drafts.iter().any(|draft| matches!(draft.intent, Intent::Compare(_)));
                    if segment.with_compare && !earlier {
                        drafts.push_request(Intent::Compare(compare(marks)), span).chooses = true;
                    }
                    let draft = drafts.push_request(Intent::Book(request), span);
                    draft.refers_to_compare = segment.with_compare;
                    draft.speaks_of = speaks_of;
                }
            }
            Kind::Compare | Kind::Prices => {
                let chooses = speaks_of.choice || says(CHOOSING);
                drafts.push_request(Intent::Compare(compare(marks)), span).chooses = chooses;
            }
            Kind::Cancel => self.read_cancel(segment, end, marks, opaque, span, drafts),
            Kind::Policy(topic, _) => {
                let about = requests(marks, false, |_, _| false).into_iter().next().unwrap_or_default();
                drafts.push(Intent::Policy { topic, about }, span).speaks_of = speaks_of;
            }
            Kind::Refused(why) => {
                drafts.push(Intent::Unreadable(why), span);
            }
        }
    }

    /// What stands after a pause or an "and", holds no slot and says something: it was not read.
    fn push_unread(&self, segment: &Segment, end: usize, marks: &[Mark], drafts: &mut Drafts) {
        let words = self.finder.words;
        let read_to = marks.iter().map(|mark| mark.to).fold(segment.trigger_end, usize::max);
        let begins = |at: &usize| words[*at].pause_before || is_divider(&words[*at].text);
        let Some(from) = (read_to..end).find(begins) else { return };
        let Some(first) = (from..end).find(|at| !is_divider(&words[*at].text)) else { return };
        let asks = is_one_of(self.finder.word(first), ASKING);
        let adds = match segment.kind {
            Kind::Policy(..) => asks && !matches!(self.finder.word(from), "or" | "oder"),
            Kind::Refused(_) => false,
            _ => asks || !is_one_of(self.finder.word(first), ADDING),
        };
        let says =
            words[first..end].iter().any(|word| !is_common(&word.text) && !is_trigger_word(&word.text));
        let harmless = courtesy(&words[first..end]).is_some()
            || words[first..end].iter().all(|word| is_one_of(&word.text, LEAVING));
        if adds && says && !harmless && end - first >= 2 {
            let span = Span { start: words[first].start, end: words[end - 1].end };
            drafts.push(Intent::Unreadable(Why::NoRequest), span);
        }
    }

    /// What stands among the slots of a quote and may change its price, as "with a student discount" or "2 to".
    fn push_unread_among_slots(&self, segment: &Segment, end: usize, marks: &[Mark], drafts: &mut Drafts) {
        let words = self.finder.words;
        let Some(first) = marks.first().filter(|_| matches!(segment.kind, Kind::Quote | Kind::Cost)) else {
            return;
        };
        let mut covered = vec![false; end];
        for mark in marks {
            covered[mark.from.min(end)..mark.to.min(end)].fill(true);
        }
        let matters = |at: &usize| {
            let word = words[*at].text.as_str();
            !covered[*at]
                && (number(word).is_some()
                    || (word.len() > 3
                        && !word.starts_with("come")
                        && word.is_ascii()
                        && !is_common(word)
                        && !is_trigger_word(word)))
        };
        let Some(found) = (first.to..end).find(matters) else { return };
        let is_start = |at: &usize| covered[*at - 1] || words[*at].pause_before;
        let start = (first.to..=found).rev().find(is_start).unwrap_or(found);
        let stop = (found + 1..end).find(|at| covered[*at] || words[*at].pause_before).unwrap_or(end);
        let span = Span { start: words[start].start, end: words[stop - 1].end };
        drafts.push(Intent::Unreadable(Why::NoRequest), span);
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
            first.room = self.unknown_room_after(segment.first_trigger_end, marks);
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
        // "What do I pay, if I don't come?" and "how much do I get back, if I cancel?" are on the case supposed.
        (Policy(Topic::Payment | Topic::Refund, _), Policy(Topic::NoShow | Topic::Cancellation, _))
            if next.hypothetical && !firm =>
        {
            last.kind = next.kind;
            true
        }
        // "What does a no-show cost" asks what it comes to.
        (Policy(Topic::NoShow | Topic::Cancellation, _), Cost)
            if !divided && !slots_between && next.first_trigger_end <= last.trigger_end + 2 =>
        {
            true
        }
        // "I can't make it, cancel RSV-0002" states a reason.
        (Policy(Topic::NoShow, _), Cancel) if !last.hypothetical && !last.question => {
            last.kind = Cancel;
            last.first_trigger_end = next.first_trigger_end;
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
        // "How much do I get back if I cancel" is one question, on the rules.
        (Cost, Policy(Topic::NoShow | Topic::Cancellation | Topic::Refund | Topic::Change, _))
            if !divided && !slots_between =>
        {
            last.kind = next.kind;
            true
        }
        // "What does it cost to book" orders nothing, and "how much do I pay" asks once.
        (Cost, Book | Policy(Topic::Payment, _)) => !divided,
        // "Is it cheaper to book ..."
        (Compare, Book) => !divided && next.question,
        (Book, Compare) if !divided => {
            last.with_compare = true;
            true
        }
        (Book, Book) | (Cancel, Cancel) => !divided,
        (Book | Quote | Cost | Compare, Refused(Why::NotOffered)) | (Refused(Why::NotOffered), Book) => {
            !divided
        }
        // "Cancel RSV-0001 because I can't make it", "and refund me".
        (Cancel, Policy(Topic::Refund | Topic::NoShow, _)) => !next.question && !next.hypothetical,
        (Cancel | Book, Policy(..)) => !divided && !next.question && !next.hypothetical,
        (Quote, Policy(Topic::Payment | Topic::Other | Topic::OpeningHours, _)) => !divided && !next.question,
        _ => false,
    }
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

/// Words that stand for one thing named before.
const IT: &str = "\
    it that one this its dafuer dazu dort davon ihn es diesen dieses diese dessen";

/// Words by which a comparison chooses one; the names of what it finds are others.
const CHOOSING: &str = "least lowest best which recommend suggest empfiehl empfehle welcher welches welche";

/// Words that begin a question.
const ASKING: &str = "\
    is are do does can could will would what whats which who where when why how gibt ist sind kann koennt habt was wer wo";

/// Words that begin what only adds to the words before.
const ADDING: &str = "\
    for in with on at to from by of the a an my our because since as so that who which its it im i we he she \
    fuer mit im in am um weil da das der die ein eine mein meine unser wir ich er sie please bitte if wenn falls";

/// Words between a trigger and the room.
const SKIPPED: &str = "\
    the a an me us for of please is does do in would den das die ein eine einen mir uns bitte fuer";
