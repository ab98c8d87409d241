//! The conditions that a sentence states: on money, harmless, supposed, or not understood.

use super::parts::SentenceReader;
use super::request::{Condition, Found};
use super::slots::{Mark, Slot};
use super::triggers::ends_clause;
use crate::search::{Idea, idea_at};
use crate::words::is_one_of;

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

impl SentenceReader<'_> {
    /// Finds the conditions: which triggers they silence, which marks they use up, which are questions in disguise.
    pub(super) fn read_clauses(
        &self,
        marks: &mut Vec<Mark>,
        conditions: &mut Vec<Found<Condition>>,
        silent: &mut [Option<bool>],
        hypothetical: &mut [Option<usize>],
        understood: &mut [bool],
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
                Clause::Money => {
                    silent[at..end].fill(Some(false));
                    understood[at..end].fill(true);
                }
                Clause::Harmless => {
                    silent[at..end].fill(Some(true));
                    understood[at..end].fill(true);
                }
                Clause::Hypothesis => hypothetical[at..end].fill(Some(at)),
                // "What if ..." asks, and binds nothing.
                Clause::Opaque if matches!(self.finder.word_before(at), "what" | "was") => {}
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
            // "wenn ich Focus pro buche": the verb ends the clause, and orders nothing.
            let is_its_verb = self.is_supposed_by_someone(start) && ends_clause(words, at);
            if (word.pause_before && at > start + 1)
                || matches!(word.text.as_str(), "then" | "dann")
                || (orders && !after_subject && !is_its_verb && at > start + 1)
            {
                break;
            }
            at += 1;
        }
        at
    }

    /// "wenn ich ..."
    fn is_supposed_by_someone(&self, start: usize) -> bool {
        is_one_of(self.finder.word(start), "wenn falls sofern")
            && is_one_of(self.finder.word(start + 1), "ich wir man jemand")
    }

    fn judge(&self, start: usize, end: usize, marks: &[Mark]) -> Clause {
        let words = self.finder.words;
        let inside = |mark: &&Mark| (start..end).contains(&mark.from);
        let says = |list: &[&str]| words[start..end].iter().any(|word| list.contains(&word.text.as_str()));
        if says(&["unless", "ausser"]) {
            return Clause::Opaque;
        }
        // "If not, leave it" is what happens anyway.
        let alternative = is_one_of(self.finder.word(start + 1), "not nicht");
        if alternative && words[start + 2..].iter().all(|word| is_one_of(&word.text, LEAVING)) {
            return Clause::Harmless;
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
            )
            || (self.is_supposed_by_someone(start)
                && is_one_of(self.finder.word(end - 1), "buche buchen bucht reserviere reservieren"));
        let denied = says(&["not", "isnt", "no", "nicht", "never", "cant", "arent"]);
        if holds && !denied && !other_room { Clause::Harmless } else { Clause::Opaque }
    }
}

/// Words that order nothing to be done.
pub(super) const LEAVING: &str = "\
    leave forget skip drop do nothing dont not it that then just never mind be please book anything otherwise else \
    sonst ansonsten andernfalls \
    lass lassen es bleiben sein dann nichts mach bitte";
