//! Whether every number of an answer has a ground.
//!
//! A number is grounded when it stands in the user's words or in a tool's result of any agent, or when a declared rule
//! derives it. A package is no ground by itself, since a model wrote it: what it tells must come from those two. The rules: euro are a hundred cents; a number in words is that number; a day, an hour and a length are read from the
//! user's words into the arguments of `book`; a charge is percent of an amount plus a fee, a refund percent of an amount,
//! with percent and fee from a document that was found.

use std::collections::BTreeSet;

use reservo::{DEMO_NOW, SPECIALISTS, read};
use sommelier_handoff::Done;

const WORDS: [(&str, u32); 6] = [("one", 1), ("two", 2), ("three", 3), ("four", 4), ("five", 5), ("a ", 1)];

/// The numbers of an answer that have no ground.
pub(crate) fn ungrounded(done: &Done, user_text: &str) -> Vec<String> {
    let mut known = numbers(user_text);
    let lower = user_text.to_lowercase();
    if ["euro", "eur", "€"].iter().any(|unit| lower.contains(unit)) {
        known.extend(amounts(&known).into_iter().map(|euro| (euro * 100).to_string()).collect::<Vec<_>>());
    }
    known.extend(days_and_hours(user_text));
    known.extend(WORDS.iter().filter(|(word, _)| lower.contains(word)).map(|(_, value)| value.to_string()));
    let (mut documents, mut found) = (String::new(), BTreeSet::new());
    for specialist in SPECIALISTS {
        let Some(turn) = done.run().idle(specialist.name) else { continue };
        let mut searches = BTreeSet::new();
        for message in turn.messages() {
            for call in message.tool_uses() {
                match call.name() {
                    "book" => {
                        let input: serde_json::Value = call.input().read().unwrap();
                        for member in ["date", "start_hour", "hours"] {
                            found.extend(numbers(&input[member].to_string()));
                        }
                    }
                    "search_docs" => {
                        searches.insert(call.id().to_owned());
                    }
                    _ => {}
                }
            }
            for result in message.tool_results() {
                let words = result.words();
                if searches.contains(result.tool_use_id()) {
                    documents.push_str(&words);
                }
                found.extend(numbers(&words));
            }
        }
    }
    known.extend(found);
    let derived: BTreeSet<String> = amounts(&known)
        .into_iter()
        .flat_map(|amount| {
            let rates = before(&documents, " %");
            let fees = before(&documents, " cents");
            let parts: Vec<u128> = rates.iter().map(|rate| amount * rate / 100).collect();
            let sums: Vec<u128> =
                parts.iter().flat_map(|part| fees.iter().map(move |fee| part + fee)).collect();
            parts.into_iter().chain(sums)
        })
        .map(|amount| amount.to_string())
        .collect();
    let answer = done.answer().unwrap_or_default();
    numbers(&answer).into_iter().filter(|one| !known.contains(one) && !derived.contains(one)).collect()
}

/// The days and the hours of the day that the reader finds in a text.
fn days_and_hours(text: &str) -> BTreeSet<String> {
    let reading = serde_json::to_value(read(text, DEMO_NOW)).unwrap();
    let parts = reading["parts"].as_array().unwrap().iter();
    parts
        .filter_map(|part| part["intent"].as_object())
        .flat_map(|intent| intent.values())
        .flat_map(|request| numbers(&format!("{} {}", request["date"], request["start_hour"])))
        .collect()
}

/// The runs of digits, without leading zeros; the minutes of a full hour are none.
fn numbers(text: &str) -> BTreeSet<String> {
    let text = text.replace(":00", "");
    let digits = text.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty());
    digits
        .map(|run| match run.trim_start_matches('0') {
            "" => "0".to_owned(),
            rest => rest.to_owned(),
        })
        .collect()
}

fn amounts(numbers: &BTreeSet<String>) -> Vec<u128> {
    numbers
        .iter()
        .filter_map(|number| number.parse().ok())
        .filter(|amount| *amount < u128::MAX / 1000)
        .collect()
}

/// The numbers that stand before a unit.
fn before(text: &str, unit: &str) -> Vec<u128> {
    text.match_indices(unit)
        .filter_map(|(at, _)| {
            let head = &text[..at];
            let start = head.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
            head[start..].parse().ok()
        })
        .collect()
}

#[test]
fn the_check_itself_finds_an_invented_number() {
    let house = reservo::demo();
    let text = "Quote Focus pro 3h. And what happens if I don't show up?";
    let relay = crate::driver::relay(house, text);
    let done = crate::driver::drive(&relay, text, true, |step| step);
    assert_eq!(ungrounded(&done, text), Vec::<String>::new());
    let lying = crate::driver::drive_with(
        &relay,
        text,
        true,
        |request| match sommelier_runtime::Model::complete(&reservo::OfflineRules, request).unwrap() {
            reply if reply.words().is_empty() => reply,
            _ => sommelier_runtime::script::say("A no-show costs 50 %, 3001 cents."),
        },
        |step| step,
    );
    assert_eq!(ungrounded(&lying, text), ["3001", "50"]);
}
