//! Words that show an intent, and what they mean where they stand.

use super::slots::is_divider;
use super::{Topic, Why};
use crate::search::{Idea, idea_at};
use crate::words::{Word, is_one_of};

/// A word that shows an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trigger {
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
pub(super) fn trigger_at(words: &[Word], at: usize) -> Option<(Trigger, usize)> {
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
        "compare" | "comparison" | "comparing" | "cheapest" | "cheaper" | "recommend" | "recommendation"
        | "suggest" | "suggestion" | "guenstiger" | "billiger" => Trigger::Compare,
        word if ["vergleich", "guenstigst", "billigst", "empfiehl", "empfehl"]
            .iter()
            .any(|stem| word.starts_with(stem)) =>
        {
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
    ) || matches!(word, "call" | "called" | "annulliere" | "annullieren")
}

/// Whether a word is a trigger by itself, and so no unknown name.
pub(super) fn is_trigger_word(word: &str) -> bool {
    let words = [Word {
        text: word.to_owned(),
        start: 0,
        end: 0,
        capital: false,
        pause_before: false,
        quoted: false,
    }];
    trigger_at(&words, 0).is_some()
}

/// What a segment asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
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

/// What a trigger means where it stands; `None` if it means nothing there.
pub(super) fn resolve(
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
        // "What if I don't come to the cheapest" and "for the cheaper one" speak of what was compared before.
        Trigger::Compare if is_of_before(words, at, context, hypothetical) => return None,
        Trigger::Compare => Kind::Compare,
        Trigger::Book => {
            let supposed = context[context.len().saturating_sub(3)..]
                .iter()
                .any(|word| is_one_of(word.text.as_str(), "if when once wenn falls before after bevor"));
            if supposed || (hypothetical && ends_clause(words, at)) {
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

/// Whether nothing of its clause follows the word, as where a German clause ends with its verb.
pub(super) fn ends_clause(words: &[Word], at: usize) -> bool {
    words.get(at + 1).is_none_or(|next| next.pause_before || is_divider(&next.text))
}

/// Whether "the cheaper one" and the like stand for what a comparison before has found, and ask for none.
fn is_of_before(words: &[Word], at: usize, context: &[Word], hypothetical: bool) -> bool {
    let last = context.last().map_or("", |word| word.text.as_str());
    if !is_choice(&words[at].text) || !is_one_of(last, "the that den dem das die der zum zur") {
        return false;
    }
    let says = |list: &str| context.iter().any(|word| is_one_of(&word.text, list));
    // What is booked is chosen by the comparison, and "which is the cheaper one" asks for it.
    let asks_for_it =
        says("book reserve buche buchen reserviere reservieren which welcher welche welches find");
    let of_two = !words[at].text.starts_with("cheapest") && !words[at].text.contains("igst");
    let of_rules = (0..context.len())
        .any(|place| matches!(idea_at(context, place), Some((Idea::NoShow | Idea::Cancel, _))));
    !asks_for_it && (hypothetical || of_two || of_rules)
}

/// Whether the word names what a comparison finds.
pub(super) fn is_choice(word: &str) -> bool {
    is_one_of(word, "cheaper cheapest")
        || ["guenstiger", "guenstigst", "billiger", "billigst"].iter().any(|stem| word.starts_with(stem))
}

/// Whether the words before a trigger ask, or ask to be told.
pub(super) fn asks(context: &[Word]) -> bool {
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
