//! How things are said.

use std::fmt::Display;

use crate::reader::{Condition, Found};
use crate::{Entry, Plan, Room};

/// A stretch of somebody's text, short and in quotes, cut between words, without what a terminal would obey.
pub(super) fn quoted(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut short = String::new();
    let mut left_out = false;
    for word in text.split_whitespace() {
        let word: String = word.chars().filter(|&c| !is_unseen(c)).collect();
        if short.chars().count() + word.chars().count() >= LONGEST {
            left_out = true;
            if short.is_empty() {
                short = word.chars().filter(|c| !c.is_ascii_digit()).take(LONGEST).collect();
            }
            break;
        }
        if !short.is_empty() && !word.is_empty() {
            short.push(' ');
        }
        short.push_str(&word);
    }
    if left_out { format!("\"{short}…\"") } else { format!("\"{short}\"") }
}

/// An answer as it may be printed: no control characters but line ends, and no agent named, since an answer that names a
/// receiver would be a handoff that was announced and not made.
pub(super) fn printable(answer: &str) -> String {
    let mut text: String = answer.chars().filter(|&c| c == '\n' || !is_unseen(c)).collect();
    for desk in Entry::ALL {
        text = text.replace(desk.name(), &desk.name().replace('_', " "));
    }
    text
}

/// Whether a character is obeyed rather than shown: controls, marks of writing direction, joiners of no width.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// "a", "a and b", "a, b and c".
pub(super) fn list(items: &[impl Display], last: &str) -> String {
    match items {
        [] => String::new(),
        [one] => one.to_string(),
        [before @ .., end] => {
            let before: Vec<String> = before.iter().map(ToString::to_string).collect();
            format!("{} {last} {end}", before.join(", "))
        }
    }
}

/// "1 hour", "3 hours".
pub(super) fn hours(count: impl Display) -> String {
    let count = count.to_string();
    if count == "1" { "1 hour".to_owned() } else { format!("{count} hours") }
}

/// "Focus pro for 3 hours".
pub(super) fn room_plan_hours(room: Room, plan: Plan, count: impl Display) -> String {
    format!("{room} {plan} for {}", hours(count))
}

/// "below 15000 cents".
pub(super) fn condition(condition: Condition) -> String {
    match condition {
        Condition::Below(limit) => format!("below {limit}"),
        Condition::AtMost(limit) => format!("at most {limit}"),
        Condition::Above(limit) => format!("above {limit}"),
        Condition::AtLeast(limit) => format!("at least {limit}"),
    }
}

/// What is still to be known about a slot, as part of "I still need …"; `None` when it is settled.
pub(super) fn open_slot<T: Display>(name: &str, choices: &str, found: &Found<T>) -> Option<String> {
    let choices = if choices.is_empty() { String::new() } else { format!(" ({choices})") };
    match found {
        Found::Given(_) => None,
        Found::Missing => Some(format!("the {name}{choices}")),
        Found::Unclear { raw, nearest } => {
            let meant = nearest.as_ref().map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            Some(format!("the {name}{choices}, {} is none{meant}", quoted(raw)))
        }
        Found::Ambiguous(several) => Some(format!("the {name} ({}?)", list(several, "or"))),
    }
}

pub(super) fn open_room(found: &Found<Room>) -> Option<String> {
    open_slot("room", &list(&Room::ALL, "or"), found)
}

pub(super) fn open_plan(found: &Found<Plan>) -> Option<String> {
    open_slot("plan", &list(&Plan::ALL, "or"), found)
}

/// A condition that cannot be tested.
pub(super) fn untestable(condition: &Found<Condition>) -> Option<String> {
    match condition {
        Found::Unclear { raw, .. } => Some(quoted(raw)),
        Found::Ambiguous(several) => {
            let several: Vec<String> = several.iter().map(|one| self::condition(*one)).collect();
            Some(list(&several, "or"))
        }
        Found::Missing | Found::Given(_) => None,
    }
}

/// A sentence that ends with what is still needed.
pub(super) fn still_needed(start: &str, open: &[String]) -> String {
    let text = format!("{start} I still need {}", list(open, "and"));
    if text.ends_with('?') { text } else { format!("{text}.") }
}

/// JSON of a text.
pub(super) fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
