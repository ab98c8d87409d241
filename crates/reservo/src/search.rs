//! Finds the policy documents that speak of what is asked.
//!
//! Query and document become sets of terms: words without ending and without the words that say nothing, and ideas that
//! are said in many ways (not showing up, cancelling, getting money back), in English and German. A term that few
//! documents have weighs more, one in the title double, an idea double.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::policy::{DocId, PolicyDocument, PolicyLibrary};
use crate::words::{Word, is_one_of, sentences};

/// How many documents a search gives at most.
pub const MAX_HITS: usize = 3;

/// A document that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// Its id.
    pub doc_id: DocId,
    /// Its title.
    pub title: String,
    /// Its whole text.
    pub text: String,
    /// How well it fits, for comparison within one search; at least 1.
    pub score: u32,
}

/// The documents that share a term with `query`, best first, equal scores by id, at most [`MAX_HITS`]; none if no
/// document does.
///
/// ```
/// use reservo::{PolicyLibrary, policy::DocId, search::search_docs};
///
/// let library = PolicyLibrary::standard();
/// let hits = search_docs(&library, "What happens if I don't show up?");
/// assert_eq!(hits[0].doc_id, DocId::NoShow);
/// assert_eq!(search_docs(&library, "volcano"), []);
/// ```
pub fn search_docs(library: &PolicyLibrary, query: &str) -> Vec<Hit> {
    let wanted = terms(query);
    let shelf: Vec<(PolicyDocument, BTreeSet<String>, BTreeSet<String>)> = library
        .documents()
        .into_iter()
        .map(|document| {
            let (title, text) = (terms(&document.title), terms(&document.text));
            (document, title, text)
        })
        .collect();
    let weight = |term: &String| {
        let holders =
            shelf.iter().filter(|(_, title, text)| title.contains(term) || text.contains(term)).count();
        // Rare words weigh more, and a word that every document has still counts.
        let rarity = u32::try_from(shelf.len() + 1 - holders).unwrap_or(1);
        if term.starts_with(IDEA) { 2 * rarity } else { rarity }
    };
    let weighed: Vec<(&String, u32)> = wanted.iter().map(|term| (term, weight(term))).collect();
    let mut hits: Vec<Hit> = shelf
        .iter()
        .filter_map(|(document, title, text)| {
            let score = weighed
                .iter()
                .map(|(term, weight)| match (title.contains(*term), text.contains(*term)) {
                    (true, _) => 2 * weight,
                    (false, true) => *weight,
                    (false, false) => 0,
                })
                .sum();
            let PolicyDocument { doc_id, title, text } = document.clone();
            (score > 0).then_some(Hit { doc_id, title, text, score })
        })
        .collect();
    hits.sort_by_key(|hit| (std::cmp::Reverse(hit.score), hit.doc_id));
    hits.truncate(MAX_HITS);
    hits
}

/// An idea that is said in many ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Idea {
    NoShow,
    Cancel,
    Refund,
    Change,
    Open,
    Pay,
}

/// Marks a term that is an idea; no word contains it.
const IDEA: char = '#';

/// The terms of a text.
fn terms(text: &str) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    for sentence in sentences(text) {
        let mut taken = 0;
        for at in 0..sentence.words.len() {
            if let Some((idea, length)) = idea_at(&sentence.words, at) {
                terms.insert(format!("{IDEA}{idea:?}"));
                taken = taken.max(at + length);
                continue;
            }
            let word = sentence.words[at].text.as_str();
            if at >= taken && !is_one_of(word, SAYS_NOTHING) && word.len() <= 40 {
                terms.insert(stem(word).to_owned());
            }
        }
    }
    terms
}

/// The idea said by the words from `at` on, and how many words say it.
pub(crate) fn idea_at(words: &[Word], at: usize) -> Option<(Idea, usize)> {
    let word = words[at].text.as_str();
    if let Some(length) = no_show_at(words, at) {
        return Some((Idea::NoShow, length));
    }
    let next = words.get(at + 1).map_or("", |word| word.text.as_str());
    let pair = [
        ("money", "back", Idea::Refund),
        ("get", "back", Idea::Refund),
        ("geld", "zurueck", Idea::Refund),
        ("call", "off", Idea::Cancel),
        ("called", "off", Idea::Cancel),
        ("calling", "off", Idea::Cancel),
        ("other", "time", Idea::Change),
        ("another", "time", Idea::Change),
        ("another", "date", Idea::Change),
        ("another", "day", Idea::Change),
        ("different", "date", Idea::Change),
        ("different", "time", Idea::Change),
        ("different", "day", Idea::Change),
        ("anderen", "tag", Idea::Change),
        ("credit", "card", Idea::Pay),
        ("business", "hours", Idea::Open),
    ];
    if let Some((_, _, idea)) = pair.into_iter().find(|(first, second, _)| (*first, *second) == (word, next))
    {
        return Some((idea, 2));
    }
    // "get it back", "bekomme ich das Geld zurueck"
    if is_one_of(word, "get getting bekomme bekommen erhalte erhalten kriege kriegen")
        && let Some(back) = (at + 1..words.len().min(at + 5))
            .take_while(|&place| !words[place].pause_before)
            .find(|&place| matches!(words[place].text.as_str(), "back" | "zurueck"))
    {
        return Some((Idea::Refund, back + 1 - at));
    }
    let starts = |stems: &[&str]| stems.iter().any(|stem| word.starts_with(stem));
    let idea = if starts(&["cancel", "cancle", "storn", "annullier", "absage"]) {
        Idea::Cancel
    } else if starts(&[
        "refund",
        "reimburs",
        "rueckerstatt",
        "erstatt",
        "rueckzahl",
        "zurueckerstatt",
        "zurueckbek",
        "zurueckerh",
    ]) {
        Idea::Refund
    } else if starts(&["reschedul", "rebook", "postpon", "umbuch", "verschieb", "verleg"])
        || is_one_of(word, "change changes changing changed move moves moving aendern")
    {
        Idea::Change
    } else if starts(&["oeffn", "geoeffn", "schliess"])
        || is_one_of(word, "open opens opening closes closing closed offen")
        || (word == "close" && next != "to")
    {
        Idea::Open
    } else if starts(&["pay", "bezahl", "zahl", "abgebucht", "abbuch"])
        || is_one_of(word, "paid charged charge charges billed invoice rechnung")
    {
        Idea::Pay
    } else {
        return None;
    };
    Some((idea, 1))
}

/// How many words from `at` on say that somebody does not come.
fn no_show_at(words: &[Word], at: usize) -> Option<usize> {
    let text = |at: usize| words.get(at).map_or("", |word: &Word| word.text.as_str());
    // The words after `at`, as far as no pause divides them.
    let near = |from: usize, reach: usize| {
        (from..words.len().min(from + reach)).take_while(|&at| !words[at].pause_before).collect::<Vec<_>>()
    };
    let word = text(at);
    if is_one_of(word, "no-show no-shows noshow noshows nichterscheinen no-showing") {
        return Some(1);
    }
    if matches!((word, text(at + 1)), ("no" | "not", "show" | "shows" | "showing")) {
        return Some(2 + usize::from(text(at + 2) == "up"));
    }
    if is_one_of(word, NEGATIONS) {
        for place in near(at + 1, 4) {
            let end = match (text(place), text(place + 1), text(place + 2)) {
                // To show somebody something is no showing up.
                ("show" | "shows", "me" | "us" | "the" | "it" | "a" | "my", _) => continue,
                ("show" | "shows" | "showing" | "showed" | "turn" | "turns" | "turning", "up", _) => {
                    place + 2
                }
                (
                    "show" | "shows" | "appear" | "appears" | "attend" | "attends" | "arrive" | "arrives",
                    _,
                    _,
                ) => place + 1,
                // "Come to it" is said of a room, "come to terms" is not.
                ("come" | "comes" | "coming", next, object)
                    if next != "to" || is_one_of(object, "the my our it that this") =>
                {
                    place + 1
                }
                ("make", "it", _) => place + 2,
                ("make", "my" | "the" | "our" | "this" | "that", _) => place + 3,
                (
                    "erscheine" | "erscheinen" | "erscheint" | "auftauche" | "auftauchen" | "auftaucht",
                    _,
                    _,
                )
                | ("komme" | "kommen" | "kommt", _, _) => place + 1,
                ("da" | "there", "bin" | "sind" | "ist" | "bist", _) => place + 2,
                ("be" | "am" | "are" | "is", "there", _) => place + 2,
                _ => continue,
            };
            return Some(end - at);
        }
    }
    if is_one_of(word, "komme kommen kommt erscheine erscheint auftauche auftaucht") {
        return near(at + 1, 3).into_iter().find(|&place| text(place) == "nicht").map(|place| place + 1 - at);
    }
    if is_one_of(
        word,
        "\
        miss misses missed missing skip skipped forget forgot verpasse verpassen verpasst versaeume \
        vergesse vergessen",
    ) {
        // "Forget" is said of much else; what is missed may be named with room, plan and length.
        let reach = if word.starts_with("mis") || word.starts_with("verpass") { 8 } else { 4 };
        let object = near(at + 1, reach).into_iter().find(|&place| {
            is_one_of(
                text(place),
                "\
                booking bookings slot it them meeting appointment reservation come termin buchung \
                reservierung ihn sie",
            )
        });
        // In German the object stands before the verb.
        let before = at > 0 && is_one_of(text(at - 1), "termin buchung reservierung ihn sie");
        return object.map(|place| place + 1 - at).or(before.then_some(1));
    }
    None
}

const NEGATIONS: &str = "\
    not dont doesnt didnt wont cant cannot never nobody noone no-one fail fails failing without couldnt \
    nicht nie niemand keiner isnt arent";

/// Words without which a question says the same.
const SAYS_NOTHING: &str = "\
    a about after all am an and any are as at auf back be before by can could customer customers das dem \
    den der des did die do does doesnt dont ein eine einen er es for from fuer get goes had happen \
    happens has have how i ich if im in is ist it its kann later mein meine may me mit more much my need \
    nicht no not of off on or our passiert please quote reservo room she so tell that the their them \
    there they this to und under up used van von wann want was we wenn what when where which who wie \
    will wir with would you your zu %";

/// A word without the endings that do not change what it is about.
fn stem(word: &str) -> &str {
    for ending in ["ings", "ing", "ies", "es", "ed", "s"] {
        if let Some(stem) = word.strip_suffix(ending).filter(|stem| stem.len() >= 4) {
            return stem;
        }
    }
    word
}
