//! Whether an order is plain, which decides whether anything is done.
//!
//! One rule: **an effect happens only on a plain order in a text of which every word was read.** An order is plain if it
//! is an imperative or one of the polite requests of [`OPENINGS`], and each of its other words belongs to a slot, to a
//! condition that was understood, to a reason of [`REASONS`] or to the [`FILLERS`]. The sentences beside it are plain
//! orders themselves, slots, polite words, or questions. Whatever else stands in the text is in the way of every order in
//! it, since it may take the order back, give it a condition, or say whose it is. The lists are closed on purpose: a word
//! that nobody thought of forbids, it never permits.

use super::clauses::LEAVING;
use super::parts::{Segment, SentenceReader};
use super::slots::{Mark, Slot, is_divider};
use super::triggers::{Kind, trigger_at};
use super::{Obstacle, Span};
use crate::words::is_one_of;

impl SentenceReader<'_> {
    /// What of a sentence stands in the way of doing anything. `understood` tells for each word whether it is of a
    /// condition that was understood, `after_question` whether the sentence before is a question.
    pub(super) fn in_the_way(
        &self,
        segments: &[Segment],
        marks: &[Mark],
        understood: &[bool],
        after_question: bool,
    ) -> Option<Obstacle> {
        let words = self.finder.words;
        let is_order = |segment: &Segment| matches!(segment.kind, Kind::Book | Kind::Cancel);
        let asks = self.is_question();
        let no_order = !segments.iter().any(is_order);
        // "Then" after a question makes an order depend on its answer.
        if after_question && is_one_of(self.finder.word(0), "then dann so also") && !words[0].pause_before {
            return Some(Obstacle::Unread(self.span(0, 1)));
        }
        if !segments.is_empty() && no_order && asks {
            return None;
        }
        let is_courteous = |at: usize| is_one_of(self.finder.word(at), COURTEOUS) || self.signs(at);
        if segments.is_empty() && (0..words.len()).all(is_courteous) {
            return None;
        }
        let mut read = vec![false; words.len()];
        self.read_reasons(marks, &mut read);
        self.read_other_case(&mut read);
        let ends = segments.iter().skip(1).map(|next| next.start).chain([words.len()]);
        for (segment, end) in segments.iter().zip(ends) {
            self.read_words(Some(segment), (segment.start, end), marks, understood, &mut read);
            let asked_after = matches!(segment.kind, Kind::Policy(..) | Kind::Compare)
                && segment.start > 0
                && self.begins_question(segment.start, asks);
            if asked_after {
                read[segment.start..end].fill(true);
            }
        }
        if segments.is_empty() {
            self.read_words(None, (0, words.len()), marks, understood, &mut read);
        }
        let named = |at: usize| {
            let mut here = marks.iter().filter(|mark| (mark.from..mark.to).contains(&at));
            here.any(|mark| matches!(mark.slot, Slot::Customer(_)))
        };
        if let Some(first) = (0..words.len()).find(|at| words[*at].quoted && !named(*at)) {
            let end = (first..words.len()).find(|at| !words[*at].quoted).unwrap_or(words.len());
            return Some(Obstacle::Quoted(self.span(first, end)));
        }
        let last_is_order = segments.last().is_some_and(is_order);
        if asks && last_is_order && !self.begins_politely() {
            return Some(Obstacle::Question(self.span(0, words.len())));
        }
        // "Quote: cancel RSV-0001" says what kind of words follow; it asks for no price.
        let titled = segments.windows(2).find(|pair| {
            is_order(&pair[1])
                && !is_order(&pair[0])
                && !is_divider(self.finder.word(pair[1].start))
                && !marks.iter().any(|mark| (pair[0].start..pair[1].start).contains(&mark.from))
        });
        if let Some(pair) = titled {
            return Some(Obstacle::Unread(self.span(pair[0].start, pair[1].start)));
        }
        if let Some(between) = self.between_bookings(segments, marks) {
            return Some(between);
        }
        if let Some(first) = read.iter().position(|read| !read) {
            let mut end = first + 1;
            for at in first..words.len() {
                let is_slot = marks.iter().any(|mark| (mark.from..mark.to).contains(&at));
                let is_verb = segments.iter().any(|one| is_order(one) && one.first_trigger_end == at + 1);
                if (at > first && words[at].pause_before) || (read[at] && (is_slot || is_verb)) {
                    break;
                }
                if !read[at] {
                    end = at + 1;
                }
            }
            return Some(Obstacle::Unread(self.span(first, end)));
        }
        self.unjoined(segments, marks)
    }

    fn span(&self, from: usize, to: usize) -> Span {
        let words = self.finder.words;
        let last = to.clamp(from + 1, words.len()) - 1;
        Span { start: words[from].start, end: words[last].end }
    }

    /// Whether the sentence ends with a question mark.
    pub(super) fn is_question(&self) -> bool {
        let rest = self.finder.text.get(self.sentence.end..).unwrap_or_default();
        let rest = rest.trim_start_matches(|c: char| {
            !c.is_alphanumeric() && !matches!(c, '?' | '？' | '.' | '!' | '\n' | '<')
        });
        rest.starts_with(['?', '？'])
    }

    /// Whether the sentence begins with "can you".
    fn begins_politely(&self) -> bool {
        let words = self.finder.words;
        let first = (0..words.len())
            .find(|at| !is_one_of(&words[*at].text, COURTEOUS) && !is_divider(&words[*at].text));
        first.is_some_and(|at| {
            is_one_of(
                self.finder.word(at),
                "can could would will kannst koenntest wuerdest koennen koennten koennt wuerden",
            ) && is_one_of(self.finder.word(at + 1), "you u du sie ihr")
        })
    }

    /// Whether a divider and a word that asks stand at a place: what is asked after an order takes nothing back.
    fn begins_question(&self, start: usize, asks: bool) -> bool {
        let words = self.finder.words;
        let divided = words[start].pause_before || is_divider(&words[start].text);
        let first =
            (start..words.len()).find(|at| !is_one_of(&words[*at].text, "and then also und dann auch"));
        let first = self.finder.word(first.unwrap_or(start));
        divided
            && (is_one_of(first, "what whats how tell compare was wie sag sage nenne vergleiche")
                || asks
                    && is_one_of(
                        first,
                        "when which who is are do does can wann welche welcher ist sind gibt kann",
                    ))
    }

    /// A name under a text, as in "Thanks, Bob".
    fn signs(&self, at: usize) -> bool {
        let word = &self.finder.words[at];
        at > 0
            && word.capital
            && !super::lexicon::is_common(&word.text)
            && trigger_at(self.finder.words, at).is_none()
            && self.finder.words.len() <= 6
            && word.text.chars().all(char::is_alphabetic)
    }

    /// Notes the words of a segment, or of a sentence that asks nothing, which were read.
    fn read_words(
        &self,
        segment: Option<&Segment>,
        (start, end): (usize, usize),
        marks: &[Mark],
        understood: &[bool],
        read: &mut [bool],
    ) {
        let words = self.finder.words;
        let kind = segment.map(|segment| segment.kind);
        for mark in marks.iter().filter(|mark| (start..end).contains(&mark.from)) {
            let is_slot = match (&mark.slot, kind) {
                (Slot::Booking(_), Some(Kind::Cancel) | None) => true,
                (Slot::Notice | Slot::Except(_) | Slot::BareCount, _)
                | (Slot::Booking(_), _)
                | (_, Some(Kind::Cancel)) => false,
                _ => true,
            };
            if is_slot && mark.slot.is_settled() {
                read[mark.from..mark.to].fill(true);
            }
        }
        let order = matches!(kind, Some(Kind::Book | Kind::Cancel));
        let verb = segment.map_or(start, |segment| segment.first_trigger_end);
        let mut opening = Vec::new();
        for at in start..end {
            let word = words[at].text.as_str();
            if read[at] {
                continue;
            }
            let conditional = understood[at] && kind != Some(Kind::Cancel);
            let leads_in = is_one_of(word, "but only aber nur")
                && kind != Some(Kind::Cancel)
                && (at + 1..end.min(at + 3)).find(|next| understood[*next]).is_some_and(|next| {
                    (at + 1..next).all(|between| is_one_of(self.finder.word(between), "only nur"))
                });
            // An order for another case is never followed; that it is one was read.
            let other_case =
                order && at < verb && is_one_of(word, "otherwise else sonst ansonsten andernfalls");
            read[at] = is_one_of(word, FILLERS)
                || self.is_of_phrase(at)
                || (word == "you" && self.finder.word_before(at) == "thank")
                || other_case
                || leads_in
                || (conditional && is_one_of(word, CONDITIONAL))
                || (order && at + 1 == verb && is_one_of(word, VERBS))
                || (kind == Some(Kind::Cancel)
                    && is_one_of(word, "booking bookings reservation buchung buchungen reservierung termin"))
                || (!order && kind.is_some() && (is_one_of(word, ASKED) || trigger_at(words, at).is_some()))
                || (kind.is_none()
                    && is_one_of(word, "my booking is id name meine mein buchung ist its bookings are"));
            if !read[at] && order && at < verb {
                opening.push(at);
            }
        }
        let said: Vec<&str> = opening.iter().map(|at| words[*at].text.as_str()).collect();
        if OPENINGS.contains(&said.join(" ").as_str()) {
            for at in opening {
                read[at] = true;
            }
        }
    }

    /// Whether a word that means something alone means nothing where it stands: "guten Tag", "buchen Sie", "under the name".
    fn is_of_phrase(&self, at: usize) -> bool {
        let (before, next, after) =
            (self.finder.word_before(at), self.finder.word(at + 1), self.finder.word(at + 2));
        match self.finder.word(at) {
            "guten" | "good" => at == 0 && is_one_of(next, DAYTIME),
            "sie" => is_one_of(before, "buchen stornieren reservieren"),
            "under" | "auf" => is_one_of(next, "the den") && is_one_of(after, "name namen"),
            word => at == 1 && is_one_of(before, "guten good") && is_one_of(word, DAYTIME),
        }
    }

    /// Notes the words of "if not, leave it" at the end of a sentence, which says what happens anyway.
    fn read_other_case(&self, read: &mut [bool]) {
        let words = self.finder.words;
        let word = |at: usize| self.finder.word(at);
        let lead = (0..words.len()).rev().take(LONGEST_CASE).find(|at| {
            is_one_of(word(*at), "otherwise else sonst ansonsten andernfalls")
                || (is_one_of(word(*at), "if wenn falls") && is_one_of(word(*at + 1), "not nicht"))
        });
        let Some(lead) = lead else { return };
        let leaves = (lead + 1..words.len()).all(|at| {
            let is_order = is_one_of(word(at), "book mach");
            is_one_of(word(at), LEAVING) && (!is_order || is_one_of(word(at - 1), "dont not"))
        });
        if leaves && lead + 1 < words.len() {
            read[lead..].fill(true);
        }
    }

    /// Notes the words that say why, if they are all of a reason that is known.
    fn read_reasons(&self, marks: &[Mark], read: &mut [bool]) {
        let words = self.finder.words;
        let mut start = 0;
        while start < words.len() {
            let leads = |at: usize| is_one_of(self.finder.word(at), "because since as weil denn da");
            let end = (start + 1..words.len())
                .find(|at| words[*at].pause_before || leads(*at))
                .unwrap_or(words.len());
            let from = start + usize::from(leads(start));
            let is_day = |at: usize| {
                marks.iter().any(|mark| mark.from <= at && at < mark.to && matches!(mark.slot, Slot::Date(_)))
            };
            if end - from <= 12 {
                let said: Vec<&str> =
                    (from..end).filter(|at| !is_day(*at)).map(|at| self.finder.word(at)).collect();
                if REASONS.contains(&said.join(" ").as_str()) {
                    read[start..end].fill(true);
                }
            }
            start = end;
        }
    }

    /// Between two bookings of one order nothing stands but "and" or a comma.
    fn between_bookings(&self, segments: &[Segment], marks: &[Mark]) -> Option<Obstacle> {
        let words = self.finder.words;
        let bookings: Vec<&Mark> =
            marks.iter().filter(|mark| matches!(mark.slot, Slot::Booking(_))).collect();
        bookings.windows(2).find_map(|pair| {
            let (from, to) = (pair[0].to, pair[1].from);
            let orders_again =
                segments.iter().any(|segment| (from..to).contains(&(segment.first_trigger_end - 1)));
            if orders_again {
                return None;
            }
            let odd = (from..to)
                .find(|at| !is_one_of(&words[*at].text, "and und sowie booking buchung please bitte"));
            if let Some(first) = odd {
                return Some(Obstacle::Between(self.span(first, to)));
            }
            let raw = self.finder.text.get(words[from - 1].end..words[to].start).unwrap_or_default();
            if raw.contains(|c: char| !c.is_alphanumeric() && !c.is_whitespace() && c != ',') {
                return Some(Obstacle::Unread(self.span(pair[0].from, pair[1].to)));
            }
            let joined =
                words[to].pause_before || (from..to).any(|at| is_one_of(&words[at].text, "and und sowie"));
            (!joined).then(|| Obstacle::Unread(self.span(pair[0].from, pair[1].to)))
        })
    }

    /// Two values for one slot are two orders only if an "and" stands between them.
    fn unjoined(&self, segments: &[Segment], marks: &[Mark]) -> Option<Obstacle> {
        let words = self.finder.words;
        let kinds: [fn(&Slot) -> bool; 7] = [
            |slot| matches!(slot, Slot::Room(_)),
            |slot| matches!(slot, Slot::Plan(_)),
            |slot| matches!(slot, Slot::Hours(_)),
            |slot| matches!(slot, Slot::Date(_)),
            |slot| matches!(slot, Slot::Start(_)),
            |slot| matches!(slot, Slot::Customer(_)),
            |slot| matches!(slot, Slot::People(_)),
        ];
        kinds.iter().find_map(|is_kind| {
            let of_kind: Vec<&Mark> = marks.iter().filter(|mark| is_kind(&mark.slot)).collect();
            of_kind.windows(2).find_map(|pair| {
                let (from, to) = (pair[0].to, pair[1].from);
                let between = words.get(from..to).unwrap_or_default();
                if segments.iter().any(|segment| (from..to).contains(&(segment.first_trigger_end - 1))) {
                    return None;
                }
                let joined = between.iter().any(|word| is_one_of(&word.text, "and und sowie then dann"));
                // "Focus, Studio and Forum"
                let listed = words[to].pause_before
                    && from == to
                    && words[pair[1].to..].first().is_some_and(|next| is_one_of(&next.text, "and und"));
                (!joined && !listed && pair[0].slot != pair[1].slot)
                    .then(|| Obstacle::Unread(self.span(pair[0].from, pair[1].to)))
            })
        })
    }
}

/// The first sign of a text that is neither a word nor a mark between words, as `❌` or a tag that strikes out: it may
/// say anything, so it is in the way like a word that was not read.
pub(super) fn unread_sign(text: &str) -> Option<Obstacle> {
    let mut tag_end = 0;
    for (at, c) in text.char_indices() {
        if at < tag_end {
            continue;
        }
        if c == '<' {
            let inside = text[at + 1..].trim_start_matches('/');
            let name = inside.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
            let end = text[at..].char_indices().take(100).find(|(_, c)| *c == '>');
            if let Some((end, _)) = end.filter(|_| is_plain_tag(name)) {
                tag_end = at + end + 1;
                continue;
            }
        }
        if !(c.is_alphanumeric() || c.is_whitespace() || SIGNS.contains(c)) {
            return Some(Obstacle::Unread(Span { start: at, end: at + c.len_utf8() }));
        }
    }
    None
}

/// Whether a tag of this name only sets off what stands in it.
fn is_plain_tag(name: &str) -> bool {
    ["b", "i", "u", "em", "strong", "p", "br", "div", "span"]
        .iter()
        .any(|plain| name.eq_ignore_ascii_case(plain))
}

/// Signs that change no order; the quotation marks are looked at elsewhere.
const SIGNS: &str = "\
    .,;:!?…？。！'’‘ʼ`´\"“”„‟«»‹›「」‚()[]-‑–—*_#@€$£%/&+•\u{308}\u{ad}\u{200b}\u{200c}\u{200d}\u{2060}\
    \u{fe0e}\u{fe0f}🙂😀😊👍🙏🎉👋";

/// The most words of "if not, leave it".
const LONGEST_CASE: usize = 10;

const DAYTIME: &str = "tag morgen abend morning afternoon evening day";

/// Verbs that order.
const VERBS: &str = "\
    book reserve cancel cancle cancell buche buchen buch reserviere reservieren storniere stornieren storniert storniern \
    booking reservation buchung reservierung annulliere annullieren";

/// What may stand before the verb besides fillers: nothing, or a polite form of the same order.
const OPENINGS: &[&str] = &[
    "can you",
    "could you",
    "would you",
    "will you",
    "can u",
    "could u",
    "i want to",
    "i need to",
    "i would like to",
    "id like to",
    "we want to",
    "we need to",
    "we would like to",
    "wed like to",
    "i want you to",
    "id like you to",
    "i want to make",
    "i need to make",
    "i would like to make",
    "id like to make",
    "we would like to make",
    "can you make",
    "could you make",
    "make",
    "i need",
    "i want",
    "id like",
    "i would like",
    "go ahead",
    "lets",
    "let us",
    "can you quote",
    "could you quote",
    "ich moechte",
    "ich will",
    "ich wuerde gern",
    "ich wuerde gerne",
    "ich moechte gern",
    "ich moechte gerne",
    "wir moechten",
    "wir wollen",
    "wir wuerden gern",
    "wir wuerden gerne",
    "kannst du",
    "koenntest du",
    "wuerdest du",
    "koennen sie",
    "koennten sie",
    "wuerden sie",
    "mache",
    "ich brauche",
];

/// Words that say nothing of their own in an order.
const FILLERS: &str = "\
    a an the and then also please pls plz me us it for on at in with my our room plan hi hello hey hallo there thanks \
    thank thx danke bitte und dann auch mir uns es den das die der dem ein eine einen fuer am um im in mit meine \
    meinen raum tarif besprechungsraum moin now jetzt";

/// Words of conditions on the price, and of conditions that hold anyway.
const CONDITIONAL: &str = "\
    if wenn falls sofern provided as long solange that thats its is are be stays price total cost costs comes to quote \
    kostet preis gesamtpreis ist bleibt free available possible frei verfuegbar moeglich vacant slot can could would may \
    less than";

/// Words that ask for a price, a comparison or the rules in a sentence that orders, too.
const ASKED: &str = "\
    quote compare price prices cost costs tell show give what whats is are does how much just otherwise else sonst each \
    policy policies rules need want would about of your to cancellation no-show can could you i id like know kostet kosten preis preise sag \
    sage nenne was wie viel vergleiche rooms raeume vs or oder if wenn zwischen between angebot which";

/// Polite words, alone in a sentence.
const COURTEOUS: &str = "\
    hi hello hey hallo moin greetings there servus guten tag good morning afternoon evening thanks thank you thx danke \
    dankeschoen vielen dank cheers bye goodbye tschuess ciao please bitte pls very much so a lot many in advance for your help \
    im voraus best kind regards all everyone team viele liebe beste gruesse lg vg mfg schoenen abend";

/// Reasons for an order.
const REASONS: &[&str] = &[
    "i cant make it",
    "i cannot make it",
    "we cant make it",
    "we cannot make it",
    "our plans changed",
    "our plans have changed",
    "my plans changed",
    "my plans have changed",
    "plans changed",
    "plans have changed",
    "we dont need it anymore",
    "we dont need it any more",
    "we dont need the room anymore",
    "we dont need the room any more",
    "we no longer need it",
    "we no longer need the room",
    "i dont need it anymore",
    "i dont need it any more",
    "i dont need the room anymore",
    "i no longer need it",
    "i no longer need the room",
    "im sick",
    "i am sick",
    "im ill",
    "i am ill",
    "wir brauchen den raum nicht mehr",
    "wir brauchen ihn nicht mehr",
    "ich brauche den raum nicht mehr",
    "ich brauche ihn nicht mehr",
    "ich kann nicht kommen",
    "wir koennen nicht kommen",
    "unsere plaene haben sich geaendert",
    "meine plaene haben sich geaendert",
    "ich bin krank",
    "ich krank bin",
    "wir den raum nicht mehr brauchen",
    "ich den raum nicht mehr brauche",
    "ich nicht kommen kann",
    "wir nicht kommen koennen",
];
