//! Whether every number of an answer has a ground.
//!
//! A number has a ground when it stands in the user's words or in a tool's result of any agent, or when a declared rule
//! derives it. What a model wrote is no ground, in its own words as little as in a package: a number that a package tells
//! must come from those two as well. The rules:
//!
//! - a euro is a hundred cents;
//! - `one` to `five`, and `a` or `an`, are 1 to 5, and 1;
//! - a day, an hour and a length that the house reads out of the user's words, such as "tomorrow from 2 to 4 pm", are
//!   those numbers;
//! - a part is percent of an amount, a charge is such a part and a fee, with percent and fee from one result of
//!   `search_docs`.
//!
//! Digits alone are looked at: "three thousand" is not seen, and "3,000" is taken for 3 and 0.

use std::collections::BTreeSet;

use sommelier_protocol::{Message, ToolUse};

use crate::civil::DateTime;
use crate::reader::read;

const WORDS: [(&str, u32); 7] =
    [("one", 1), ("two", 2), ("three", 3), ("four", 4), ("five", 5), ("a", 1), ("an", 1)];

/// The numbers of `answer` that have no ground, each once and in the order in which they stand there.
///
/// `words` are the user's, read at the time `now`; `conversations` are the messages of each agent that worked on them.
///
/// ```
/// use reservo::{DEMO_NOW, grounding::ungrounded};
/// use sommelier_protocol::Message;
///
/// let words = "Quote Focus pro 3h.";
/// let conversation = [Message::user(words)];
/// let found = ungrounded("3 hours cost 6000 cents.", words, DEMO_NOW, [&conversation[..]]);
/// assert_eq!(found, ["6000"]);
/// ```
pub fn ungrounded<'a>(
    answer: &str,
    words: &str,
    now: DateTime,
    conversations: impl IntoIterator<Item = &'a [Message]>,
) -> Vec<String> {
    let mut known = said(words, now);
    let mut documents = Vec::new();
    for messages in conversations {
        let calls = messages.iter().flat_map(Message::tool_uses);
        let searches: BTreeSet<&str> =
            calls.filter(|call| call.name() == "search_docs").map(ToolUse::id).collect();
        for result in messages.iter().flat_map(Message::tool_results) {
            let text = result.words();
            known.extend(numbers(&text));
            if searches.contains(result.tool_use_id()) {
                documents.push(text);
            }
        }
    }
    known.extend(derived(&known, &documents));
    let mut seen = BTreeSet::new();
    numbers(answer).filter(|number| !known.contains(number) && seen.insert(number.clone())).collect()
}

/// The numbers that the user's words state.
fn said(words: &str, now: DateTime) -> BTreeSet<String> {
    let lower = words.to_lowercase();
    let mut known: BTreeSet<String> = numbers(words).collect();
    if ["euro", "eur", "€"].iter().any(|unit| lower.contains(unit)) {
        let cents: Vec<String> = amounts(&known).map(|euro| (euro * 100).to_string()).collect();
        known.extend(cents);
    }
    let in_words = lower.split(|c: char| !c.is_alphanumeric());
    let values = in_words.filter_map(|word| WORDS.iter().find(|(name, _)| *name == word));
    known.extend(values.map(|(_, value)| value.to_string()));
    known.extend(times(words, now));
    known
}

/// The days, the hours of the day and the lengths that the reader finds in a text.
fn times(words: &str, now: DateTime) -> BTreeSet<String> {
    let reading = serde_json::to_value(read(words, now)).unwrap_or_default();
    let parts = reading["parts"].as_array().into_iter().flatten();
    let requests = parts.filter_map(|part| part["intent"].as_object()).flat_map(|intent| intent.values());
    requests
        .flat_map(|request| {
            let told = ["date", "start_hour", "hours"].map(|member| request[member].to_string());
            numbers(&told.join(" ")).collect::<Vec<_>>()
        })
        .collect()
}

/// What the rules of charges and refunds make of the known amounts.
fn derived(known: &BTreeSet<String>, documents: &[String]) -> Vec<String> {
    let amounts: Vec<u128> = amounts(known).collect();
    let of_document = |document: &String| {
        let (percents, fees) = (before(document, " %"), before(document, " cents"));
        let parts =
            amounts.iter().flat_map(|amount| percents.iter().map(move |percent| amount * percent / 100));
        parts
            .flat_map(|part| std::iter::once(part).chain(fees.iter().map(move |fee| part + fee)))
            .map(|amount| amount.to_string())
            .collect::<Vec<_>>()
    };
    documents.iter().flat_map(of_document).collect()
}

/// The runs of digits, without leading zeros; the minutes of a full hour are none.
fn numbers(text: &str) -> impl Iterator<Item = String> {
    let runs: Vec<String> = text
        .replace(":00", "")
        .split(|c: char| !c.is_ascii_digit())
        .filter(|run| !run.is_empty())
        .map(|run| match run.trim_start_matches('0') {
            "" => "0".to_owned(),
            rest => rest.to_owned(),
        })
        .collect();
    runs.into_iter()
}

/// The numbers that may be amounts: small enough to be reckoned with.
fn amounts(numbers: &BTreeSet<String>) -> impl Iterator<Item = u128> {
    let most = u128::from(u64::MAX);
    numbers.iter().filter_map(|number| number.parse().ok()).filter(move |amount| *amount <= most)
}

/// The numbers that stand before a unit.
fn before(text: &str, unit: &str) -> Vec<u128> {
    let heads = text.match_indices(unit).map(|(at, _)| &text[..at]);
    let digits = heads.map(|head| &head[head.trim_end_matches(|c: char| c.is_ascii_digit()).len()..]);
    digits.filter_map(|digits| digits.parse::<u64>().ok()).map(u128::from).collect()
}
