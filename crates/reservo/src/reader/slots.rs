//! Finds the values that fill slots in one sentence.

use super::lexicon::{Number, is_common, is_hour_unit, is_people, number, weekday};
use super::request::{Condition, Found};
use crate::booking::BookingId;
use crate::civil::{Date, DateTime};
use crate::error::clip;
use crate::money::Cents;
use crate::nearest::nearest_within;
use crate::plan::Plan;
use crate::room::Room;
use crate::words::{Word, is_one_of};

/// A value and the words it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Index of the first word.
    pub(super) from: usize,
    /// Index after the last word.
    pub(super) to: usize,
    pub(super) slot: Slot,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Room(Found<Room>),
    Plan(Found<Plan>),
    Hours(Found<i64>),
    Date(Found<Date>),
    Start(Found<i64>),
    People(Found<u32>),
    Customer(String),
    Booking(Found<BookingId>),
    Money(Found<Condition>),
    Except(Room),
    /// "for 3", of what it does not say.
    BareCount,
    /// Hours of notice, as in "3 hours before": no slot, but not to be read as another.
    Notice,
}

impl Slot {
    /// Whether the words are one value and no other.
    pub(super) const fn is_settled(&self) -> bool {
        match self {
            Self::Room(found) => found.given().is_some(),
            Self::Plan(found) => found.given().is_some(),
            Self::Hours(found) | Self::Start(found) => found.given().is_some(),
            Self::Date(found) => found.given().is_some(),
            Self::People(found) => found.given().is_some(),
            Self::Booking(found) => found.given().is_some(),
            Self::Money(found) => found.given().is_some(),
            Self::Customer(_) | Self::Except(_) | Self::BareCount | Self::Notice => true,
        }
    }
}

/// One sentence under the finger.
pub(super) struct Finder<'t> {
    pub(super) text: &'t str,
    pub(super) words: &'t [Word],
    pub(super) now: DateTime,
}

impl Finder<'_> {
    /// The values of the sentence in its order.
    pub(super) fn marks(&self) -> Vec<Mark> {
        let mut marks = Vec::new();
        let mut at = 0;
        while at < self.words.len() {
            let found = self.slots_at(at);
            let to = found.iter().map(|(_, to)| *to).max().unwrap_or(at + 1);
            marks.extend(found.into_iter().map(|(slot, to)| Mark { from: at, to, slot }));
            at = to;
        }
        // "for 3" says how long only if nothing else does, and then not in what.
        let timed = marks.iter().any(|mark| matches!(mark.slot, Slot::Hours(_)));
        marks.retain(|mark| !timed || mark.slot != Slot::BareCount);
        for mark in &mut marks {
            if mark.slot == Slot::BareCount {
                mark.slot = Slot::Hours(self.unclear(mark.from, mark.to));
            }
        }
        self.add_unknown_names(&mut marks);
        marks
    }

    fn slots_at(&self, at: usize) -> Vec<(Slot, usize)> {
        if let Some(both) = self.range_at(at) {
            return both;
        }
        if let Some((moment, to)) = self.iso_moment_at(at) {
            return vec![
                (Slot::Date(Found::Given(moment.date())), to),
                (Slot::Start(self.whole_hour(at, to, moment.time().hour(), moment.time().minute())), to),
            ];
        }
        self.booking_at(at)
            .or_else(|| self.except_at(at))
            .or_else(|| self.date_at(at))
            .or_else(|| self.money_at(at))
            .or_else(|| self.people_at(at))
            .or_else(|| self.hours_at(at))
            .or_else(|| self.start_at(at))
            .or_else(|| self.customer_at(at))
            .or_else(|| self.name_at(at))
            .or_else(|| self.bare_count_at(at))
            .into_iter()
            .collect()
    }

    /// The word at an index, empty past the end.
    pub(super) fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| word.text.as_str())
    }

    /// The word before an index, empty at the start.
    pub(super) fn word_before(&self, at: usize) -> &str {
        at.checked_sub(1).map_or("", |at| self.word(at))
    }

    /// The text of some words as it was written.
    pub(super) fn raw(&self, from: usize, to: usize) -> String {
        match (self.words.get(from), to.checked_sub(1).and_then(|last| self.words.get(last))) {
            (Some(first), Some(last)) => clip(self.text.get(first.start..last.end).unwrap_or_default()),
            _ => String::new(),
        }
    }

    pub(super) fn unclear<T>(&self, from: usize, to: usize) -> Found<T> {
        Found::Unclear { raw: self.raw(from, to), nearest: None }
    }

    fn booking_at(&self, at: usize) -> Option<(Slot, usize)> {
        let word = self.word(at);
        let rest = word.strip_prefix("rsv")?;
        let (digits, to) = match rest.strip_prefix('-').unwrap_or(rest) {
            "" if number(self.word(at + 1)).is_some() => (self.word(at + 1), at + 2),
            digits => (digits, at + 1),
        };
        let found = match format!("RSV-{digits}").parse() {
            Ok(id) => Found::Given(id),
            Err(_) => self.unclear(at, to),
        };
        Some((Slot::Booking(found), to))
    }

    fn except_at(&self, at: usize) -> Option<(Slot, usize)> {
        let mut next = match (self.word(at), self.word(at + 1)) {
            ("other", "than") | ("apart" | "aside", "from") | ("except", "for") => at + 2,
            ("except" | "excluding" | "besides" | "ausser" | "ohne" | "without" | "not", _) => at + 1,
            _ => return None,
        };
        if is_one_of(self.word(next), "the for dem den das") {
            next += 1;
        }
        Some((Slot::Except(self.word(next).parse().ok()?), next + 1))
    }

    /// "from 9 to 12", "between 9 and 12", "9:00-12:00": where it starts and, by subtraction, how long it is.
    fn range_at(&self, at: usize) -> Option<Vec<(Slot, usize)>> {
        let led = is_one_of(self.word(at), "from between von zwischen at um");
        let first_at = at + usize::from(led);
        let mut glued = self.word(first_at).split(['-', '–']);
        let (first, second, end) = match (glued.next(), glued.next(), glued.next()) {
            (Some(first), Some(second), None) if !first.is_empty() && !is_hour_unit(second) => {
                let suffixed = matches!(self.word(first_at + 1), "uhr" | "oclock");
                let marked = second.contains(':') || second.ends_with('m');
                let bare = [first, second]
                    .iter()
                    .all(|hour| (1..=2).contains(&hour.len()) && !hour.starts_with('0'))
                    && !is_one_of(self.word_before(first_at), "on am den the vom");
                if !led && !suffixed && !marked && !bare {
                    return None;
                }
                let first = clock(first, "")?.0;
                let (second, suffix) = clock(second, self.word(first_at + 1))?;
                (first, second, first_at + 1 + suffix)
            }
            (Some(_), None, _) => {
                let (first, suffix) = clock(self.word(first_at), self.word(first_at + 1))?;
                let marked = suffix > 0 || first.meridiem || self.word(first_at).contains(':');
                let to = first_at + 1 + suffix;
                let joined = match self.word(to) {
                    "to" | "till" | "til" | "until" | "bis" => led || marked,
                    "and" | "und" => led && matches!(self.word(at), "between" | "zwischen"),
                    _ => false,
                };
                if !joined {
                    return None;
                }
                let (second, suffix) = match self.word(to + 1) {
                    "noon" | "midday" | "mittag" => (Clock { hour: 12, minute: 0, meridiem: true }, 0),
                    word => clock(word, self.word(to + 2))?,
                };
                (first, second, to + 2 + suffix)
            }
            _ => return None,
        };
        if is_hour_unit(self.word(end)) || is_people(self.word(end)) || is_money_unit(self.word(end)) {
            return None;
        }
        // In "2 to 5pm" the first may be either half of the day.
        let whole = first.minute == 0 && second.minute == 0 && (first.meridiem || !second.meridiem);
        if !whole {
            return Some(vec![
                (Slot::Start(self.unclear(at, end)), end),
                (Slot::Hours(self.unclear(at, end)), end),
            ]);
        }
        let hours = if second.hour > first.hour {
            Found::Given(second.hour - first.hour)
        } else {
            self.unclear(at, end)
        };
        Some(vec![(Slot::Start(Found::Given(first.hour)), end), (Slot::Hours(hours), end)])
    }

    fn start_at(&self, at: usize) -> Option<(Slot, usize)> {
        let lead = self.word(at);
        let led = is_one_of(lead, "at um ab gegen from starting @");
        let place = at + usize::from(led);
        let (word, next) = (self.word(place), self.word(place + 1));
        if matches!((word, next), ("half" | "quarter", "past" | "to") | ("halb" | "viertel", _))
            && number(self.word(place + 1 + usize::from(matches!(next, "past" | "to" | "nach" | "vor"))))
                .is_some()
        {
            let to = place + 2 + usize::from(matches!(next, "past" | "to" | "nach" | "vor"));
            return Some((Slot::Start(self.unclear(at, to)), to));
        }
        let (time, suffix) = match word {
            "noon" | "midday" | "mittag" | "mittags" => (Clock { hour: 12, minute: 0, meridiem: true }, 0),
            "midnight" | "mitternacht" => (Clock { hour: 0, minute: 0, meridiem: true }, 0),
            word => {
                let next =
                    if next == "am" && weekday(self.word(place + 2), false).is_some() { "" } else { next };
                let (time, suffix) = clock(word, next)?;
                let marked = suffix > 0 || time.meridiem || word.contains(':') || word.ends_with("uhr");
                if !led && !marked {
                    return None;
                }
                (time, suffix)
            }
        };
        let mut to = place + 1 + suffix;
        if suffix == 0
            && (is_hour_unit(self.word(to)) || is_people(self.word(to)) || is_money_unit(self.word(to)))
        {
            return None;
        }
        if suffix > 0 && next == "uhr" && matches!(number(self.word(to)), Some(Number::Whole(1..=59))) {
            return Some((Slot::Start(self.unclear(at, to + 1)), to + 1));
        }
        let late = match (self.word(to), self.word(to + 1), self.word(to + 2)) {
            ("in", "the", "afternoon" | "evening") => Some((to + 3, true)),
            ("in", "the", "morning") => Some((to + 3, false)),
            ("am", "nachmittag" | "abend", _) => Some((to + 2, true)),
            ("nachmittags" | "abends", ..) => Some((to + 1, true)),
            ("morgens" | "vormittags", ..) => Some((to + 1, false)),
            // The date is read from the same word.
            ("tonight", ..) => Some((to, true)),
            _ => None,
        };
        let mut hour = time.hour;
        if let Some((end, late)) = late {
            to = end;
            if late && hour < 12 {
                hour += 12;
            }
        }
        if time.minute != 0 {
            return Some((Slot::Start(self.unclear(at, to)), to));
        }
        Some((Slot::Start(Found::Given(hour)), to))
    }

    fn whole_hour(&self, from: usize, to: usize, hour: u8, minute: u8) -> Found<i64> {
        if minute == 0 { Found::Given(i64::from(hour)) } else { self.unclear(from, to) }
    }

    fn hours_at(&self, at: usize) -> Option<(Slot, usize)> {
        let (found, to) = self.length_at(at)?;
        let before = matches!(
            (self.word(to), self.word(to + 1)),
            ("before" | "ahead" | "prior" | "notice" | "earlier" | "vorher" | "vor" | "davor" | "or", _)
                | ("in", "advance")
        );
        // A length of notice, or of anything that is no booking.
        if before
            && !matches!((self.word(to), self.word(to + 1)), ("or", next) if next != "more" && next != "less")
        {
            return Some((Slot::Notice, to));
        }
        Some((Slot::Hours(found), to))
    }

    fn length_at(&self, at: usize) -> Option<(Found<i64>, usize)> {
        let (word, next, after) = (self.word(at), self.word(at + 1), self.word(at + 2));
        let unclear = |to: usize| Some((self.unclear(at, to), to));
        match (word, next, after) {
            ("half", "a" | "an", "day" | "hour") => return unclear(at + 3),
            ("half" | "all" | "whole" | "full" | "entire", "day" | "hour", _)
            | ("halben" | "ganzen" | "halber" | "ganzer", "tag", _)
            | ("halbe", "stunde", _)
            | ("anderthalb" | "eineinhalb", "stunden", _)
            | ("few" | "some" | "several" | "mehrere" | "einige" | "paar", "hours" | "stunden", _) => {
                return unclear(at + 2);
            }
            ("couple", "of", "hours") | ("whole", "working", "day") => return unclear(at + 3),
            ("half-day" | "all-day" | "halbtags" | "ganztags" | "ganztaegig", ..) => return unclear(at + 1),
            ("a" | "an" | "eine" | "einer", unit, _) if is_hour_unit(unit) && unit != "h" => {
                return self.after_length(at, at + 2, Found::Given(1));
            }
            _ => {}
        }
        // Glued: 3h, 3hours, 3-hour, three-hour, 1.5h.
        if let Some(start) = word.find(|c: char| c.is_ascii_alphabetic() && !number_letters(word)) {
            let (count, unit) = word.split_at(start);
            if !count.is_empty() && is_hour_unit(unit) {
                return self.after_length(at, at + 1, self.counted(at, at + 1, count.trim_end_matches('-')));
            }
        }
        if let Some((count, unit)) = word.rsplit_once('-')
            && is_hour_unit(unit)
            && number(count).is_some()
        {
            return self.after_length(at, at + 1, self.counted(at, at + 1, count));
        }
        let is_number = number(word).is_some() || decimal(word);
        let filler = usize::from(matches!(next, "full" | "whole" | "volle" | "ganze"));
        let unit = self.word(at + 1 + filler);
        if is_number && is_hour_unit(unit) {
            return self.after_length(at, at + 2 + filler, self.counted(at, at + 2 + filler, word));
        }
        if is_number && matches!((next, after), ("and" | "und", "a" | "half")) && self.word(at + 3) == "half"
        {
            return unclear(at + 4 + usize::from(is_hour_unit(self.word(at + 4))));
        }
        if is_number && is_one_of(unit, "minutes minute min mins minuten days day tage") {
            return unclear(at + 2 + filler);
        }
        None
    }

    /// A length, unless "and a half" follows.
    fn after_length(&self, at: usize, to: usize, found: Found<i64>) -> Option<(Found<i64>, usize)> {
        match (self.word(to), self.word(to + 1), self.word(to + 2)) {
            ("and" | "und", "a" | "eine", "half" | "halbe") => Some((self.unclear(at, to + 3), to + 3)),
            _ => Some((found, to)),
        }
    }

    fn counted(&self, from: usize, to: usize, count: &str) -> Found<i64> {
        match number(count) {
            Some(Number::Whole(hours)) => Found::Given(hours),
            _ => self.unclear(from, to),
        }
    }

    fn people_at(&self, at: usize) -> Option<(Slot, usize)> {
        let (place, to) = match (self.word(at), self.word(at + 1)) {
            ("we", "are") | ("were" | "wir", "sind") => (at + 2, at + 3),
            ("team" | "group" | "party" | "gruppe", "of" | "von") => (at + 2, at + 3),
            _ => match (self.word(at + 1), self.word(at + 2)) {
                (noun, _) if is_people(noun) => (at, at + 2),
                ("of", "us" | "them") => (at, at + 3),
                (_, noun) if is_people(noun) && !is_common(self.word(at + 1)) => (at, at + 3),
                _ => return None,
            },
        };
        // "we are 6 hours late" is about no people.
        if is_hour_unit(self.word(to)) {
            return None;
        }
        let to = to + usize::from(to == place + 1 && is_people(self.word(to)));
        let found = match number(self.word(place))? {
            Number::Whole(count) => u32::try_from(count).map_or_else(|_| self.unclear(at, to), Found::Given),
            Number::TooLong => self.unclear(at, to),
        };
        Some((Slot::People(found), to))
    }

    fn money_at(&self, at: usize) -> Option<(Slot, usize)> {
        let (make, mut place): (fn(Cents) -> Condition, usize) =
            match (self.word(at), self.word(at + 1), self.word(at + 2)) {
                ("no" | "not", "more" | "higher", "than") => (Condition::AtMost, at + 3),
                ("not" | "nicht", "over" | "above" | "ueber", _) => (Condition::AtMost, at + 2),
                ("nicht", "mehr", "als") => (Condition::AtMost, at + 3),
                ("less" | "cheaper" | "lower", "than", _)
                | ("weniger" | "billiger" | "guenstiger", "als", _) => (Condition::Below, at + 2),
                ("at", "most", _) | ("up", "to", _) | ("bis", "zu", _) | ("budget", "of", _) => {
                    (Condition::AtMost, at + 2)
                }
                ("more" | "higher", "than", _) | ("mehr", "als", _) => (Condition::Above, at + 2),
                ("at", "least", _) => (Condition::AtLeast, at + 2),
                ("under" | "below" | "unter", ..) => (Condition::Below, at + 1),
                ("max" | "maximum" | "hoechstens" | "maximal" | "within" | "budget", ..) => {
                    (Condition::AtMost, at + 1)
                }
                ("over" | "above" | "ueber", ..) => (Condition::Above, at + 1),
                ("mindestens", ..) => (Condition::AtLeast, at + 1),
                _ => return None,
            };
        let mut unit = None;
        if is_money_unit(self.word(place)) {
            unit = Some(place);
            place += 1;
        }
        let amount = self.word(place);
        if !amount.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let digits_end = amount.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(amount.len());
        let (digits, glued) = amount.split_at(digits_end);
        let mut to = place + 1;
        let unit_word = if is_money_unit(glued) {
            glued
        } else if !glued.is_empty() {
            return None;
        } else if let Some(unit) = unit {
            self.word(unit)
        } else if is_money_unit(self.word(to)) {
            to += 1;
            self.word(to - 1)
        } else {
            ""
        };
        let cents = match unit_word {
            "cents" | "cent" | "ct" => in_hundredths(digits, 1),
            "euro" | "euros" | "eur" => in_hundredths(digits, 100),
            // An amount without a unit is only read as one where nothing follows that it could count.
            "" if self.words.get(to).is_none_or(|next| next.pause_before || is_divider(&next.text)) => None,
            "" => return None,
            _ => None,
        };
        let found = cents.map_or_else(|| self.unclear(at, to), |cents| Found::Given(make(cents)));
        Some((Slot::Money(found), to))
    }

    fn customer_at(&self, at: usize) -> Option<(Slot, usize)> {
        let with_apostrophe = |at: usize| self.raw(at, at + 1).contains(['\'', '’']);
        let name_at = match (self.word(at), self.word(at + 1), self.word(at + 2)) {
            ("name" | "customer" | "kunde" | "kundin", "is" | "ist" | "of", _) => at + 2,
            // One word alone may be anything: "auf Rechnung".
            ("auf", ..) if self.words.get(at + 2).is_some_and(|next| next.capital && !next.pause_before) => {
                at + 1
            }
            ("name" | "customer" | "kunde" | "kundin" | "namen" | "for" | "fuer" | "heisse", ..) => at + 1,
            ("im", ..) if with_apostrophe(at) => at + 1,
            ("i", "am", _) | ("ich", "bin", _) => at + 2,
            _ => return None,
        };
        let name_at = name_at + usize::from(is_one_of(self.word(name_at), "mr mrs ms dr herrn frau"));
        let explicit = self.word(at) == "name" || self.word(at) == "customer";
        let mut to = name_at;
        let least = if self.word(at) == "auf" { name_at + 1 } else { name_at };
        while to < name_at + 4 {
            let Some(word) = self.words.get(to) else { break };
            let is_name = word.capital
                && (to == name_at && explicit || !word.pause_before)
                && !is_common(&word.text)
                && word.text.chars().all(|c| c.is_alphabetic() || c == '-')
                && (explicit || (Room::nearest(&word.text).is_none() && word.text.parse::<Plan>().is_err()));
            if !is_name {
                break;
            }
            to += 1;
        }
        // "for Atrium pro" and "for the Gold plan" name a room and a plan.
        let names_other = (self.word(to).parse::<Plan>().is_ok() && !self.words[to].pause_before)
            || matches!(self.word(to), "plan" | "room" | "raum" | "tarif");
        (to > least && !names_other).then(|| (Slot::Customer(self.raw(name_at, to)), to))
    }

    fn bare_count_at(&self, at: usize) -> Option<(Slot, usize)> {
        let bare = matches!(self.word(at), "for" | "fuer")
            && number(self.word(at + 1)).is_some()
            && self.words.get(at + 2).is_none_or(|next| next.pause_before || is_divider(&next.text));
        bare.then_some((Slot::BareCount, at + 2))
    }

    /// A room or plan by its exact name.
    fn name_at(&self, at: usize) -> Option<(Slot, usize)> {
        let word = self.word(at);
        if let Ok(room) = word.parse() {
            return Some((Slot::Room(Found::Given(room)), at + 1));
        }
        let (name, suffixed) = match word.split_once('-') {
            Some((name, "plan" | "tarif" | "rate" | "preis" | "preise" | "prices" | "price")) => (name, true),
            _ => (word, is_one_of(self.word(at + 1), "plan tarif rate tier price prices")),
        };
        let plan: Plan = name.parse().ok()?;
        // Our own team is no plan, and in German "pro" is "per".
        let is_ours = plan == Plan::Team
            && !suffixed
            && (is_one_of(self.word_before(at), "my our the a his her your their whole mein unser das ein")
                || is_one_of(self.word(at + 1), "of meeting members event building"));
        let is_per = plan == Plan::Pro && is_one_of(self.word(at + 1), "stunde person tag kopf raum");
        (!is_ours && !is_per).then_some((Slot::Plan(Found::Given(plan)), at + 1))
    }

    /// Words that stand where a name would: a misspelt or unknown room or plan.
    fn add_unknown_names(&self, marks: &mut Vec<Mark>) {
        let mut covered = vec![false; self.words.len()];
        for mark in &*marks {
            covered[mark.from..mark.to].fill(true);
        }
        // Positions are looked up once, so that a long sentence stays linear.
        let mut plan_from = vec![false; self.words.len() + 1];
        let mut hours_from = vec![false; self.words.len() + 1];
        let mut room_to = vec![false; self.words.len() + 1];
        for mark in &*marks {
            match mark.slot {
                Slot::Plan(_) => plan_from[mark.from] = true,
                Slot::Hours(_) => hours_from[mark.from] = true,
                Slot::Room(_) => room_to[mark.to] = true,
                _ => {}
            }
        }
        let mut found = Vec::new();
        for (at, word) in self.words.iter().enumerate() {
            let text = word.text.as_str();
            if let Some((name, "plan" | "tarif")) = text.split_once('-').filter(|_| !covered[at]) {
                let raw = self.raw(at, at + 1);
                found.push(Mark {
                    from: at,
                    to: at + 1,
                    slot: Slot::Plan(Found::Unclear { nearest: Plan::nearest(name), raw }),
                });
                continue;
            }
            let candidate = !covered[at]
                && (3..=30).contains(&text.len())
                && text.chars().all(char::is_alphabetic)
                && !is_common(text)
                && !super::triggers::is_trigger_word(text);
            if !candidate {
                continue;
            }
            let raw = self.raw(at, at + 1);
            let near = nearest_within(text, 1, Room::ALL.map(|room| (room, room.name())));
            let before_plan_word = is_one_of(self.word(at + 1), "plan tarif tier package rate abo");
            let slot = if before_plan_word
                || (room_to[at] && !word.pause_before && self.ends_name(at + 1, &hours_from))
            {
                Slot::Plan(Found::Unclear { nearest: Plan::nearest(text), raw })
            } else if near.is_some() || plan_from[at + 1] || matches!(self.word(at + 1), "room" | "raum") {
                Slot::Room(Found::Unclear { nearest: Room::nearest(text), raw })
            } else {
                continue;
            };
            if let Slot::Room(_) = slot {
                room_to[at + 1] = true;
            }
            found.push(Mark { from: at, to: at + 1, slot });
        }
        if !found.is_empty() {
            marks.extend(found);
            marks.sort_by_key(|mark| mark.from);
        }
    }

    /// Whether a name that ends before `at` is followed by what follows the name of a plan.
    fn ends_name(&self, at: usize, hours_from: &[bool]) -> bool {
        hours_from[at]
            || self
                .words
                .get(at)
                .is_none_or(|next| next.pause_before || matches!(next.text.as_str(), "for" | "fuer"))
    }
}

/// A time of day as it was written; the hour is not checked.
#[derive(Clone, Copy)]
struct Clock {
    hour: i64,
    minute: u8,
    /// Whether the half of the day was said.
    meridiem: bool,
}

/// Reads "9", "09:30", "9.30", "9am", "9uhr", with the next word if that is "am", "pm", "uhr"; says how many words that
/// took beyond the first.
fn clock(word: &str, next: &str) -> Option<(Clock, usize)> {
    let digits_end = word.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(word.len());
    let (digits, glued) = if number(word).is_some() { (word, "") } else { word.split_at(digits_end) };
    let half = |suffix: &str| match suffix {
        "am" | "a.m" => Some(Some(false)),
        "pm" | "p.m" => Some(Some(true)),
        "uhr" | "oclock" => Some(None),
        _ => None,
    };
    let (half, taken) = match (glued, half(glued), half(next)) {
        ("", _, Some(half)) => (half, 1),
        ("" | "h", ..) => (None, 0),
        (_, Some(half), _) => (half, 0),
        _ => return None,
    };
    let (hour, minute) = match digits.split_once([':', '.']) {
        Some((hour, minute)) => {
            if minute.len() != 2 {
                return None;
            }
            (number(hour)?, minute.parse().ok().filter(|minute| *minute < 60)?)
        }
        None => (number(digits)?, 0),
    };
    let Number::Whole(hour) = hour else { return None };
    let hour = match half {
        // There is no 13 pm; the hour is left as it was, and the minute says that it was not read.
        Some(_) if !(1..=12).contains(&hour) => {
            return Some((Clock { hour, minute: 1, meridiem: true }, taken));
        }
        Some(true) => hour % 12 + 12,
        Some(false) => hour % 12,
        None => hour,
    };
    Some((Clock { hour, minute, meridiem: half.is_some() }, taken))
}

fn is_money_unit(word: &str) -> bool {
    is_one_of(word, "cents cent ct euro euros eur dollar dollars usd pounds gbp")
}

/// An amount as written, times `scale`, in whole cents. A mark before exactly three digits divides thousands, one before
/// one or two digits a fraction.
fn in_hundredths(written: &str, scale: i64) -> Option<Cents> {
    let mut whole = written.to_owned();
    let mut fraction = String::new();
    if let Some(mark) = written.rfind(['.', ',']) {
        let after = &written[mark + 1..];
        if matches!(after.len(), 1 | 2) {
            fraction = format!("{after:0<2}");
            whole.truncate(mark);
        }
    }
    if whole.split(['.', ',']).skip(1).any(|group| group.len() != 3) {
        return None;
    }
    let whole: i64 = whole.replace(['.', ','], "").parse().ok()?;
    let fraction: i64 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    if scale == 1 && fraction != 0 {
        return None;
    }
    whole.checked_mul(scale)?.checked_add(fraction).map(Cents)
}

/// Whether the word is digits with one mark in them.
fn decimal(word: &str) -> bool {
    word.split_once(['.', ','])
        .is_some_and(|(whole, part)| [whole, part].iter().all(|side| side.parse::<u32>().is_ok()))
}

/// Whether the word is a number in letters, so that it has no unit glued to it.
fn number_letters(word: &str) -> bool {
    number(word).is_some()
}

/// Words between two things asked in one sentence.
pub(super) fn is_divider(word: &str) -> bool {
    is_one_of(word, "and then also but or plus und dann ausserdem aber oder sowie afterwards danach")
}
