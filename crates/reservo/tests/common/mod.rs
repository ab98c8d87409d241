// Shared by the tests of the reader.
//! Readings as one line per part, so that a table of texts can be read.

use std::fmt::Display;

use reservo::DEMO_NOW;
use reservo::reader::{Condition, Found, Intent, Part, Request, read};

/// Reads a text on the demo's Monday and shows what was read.
pub(crate) fn shown(text: &str) -> String {
    read(text, DEMO_NOW).parts.iter().map(part).collect::<Vec<_>>().join("; ")
}

fn part(part: &Part) -> String {
    let mut words = match &part.intent {
        Intent::Quote(one) => vec!["quote".to_owned(), request(one)],
        Intent::Book(one) => vec!["book".to_owned(), request(one)],
        Intent::Cancel { booking, condition } => {
            vec!["cancel".to_owned(), slot("", booking), slot("if ", &map(condition))]
        }
        Intent::Compare(one) => vec![
            "compare".to_owned(),
            list("", &one.rooms),
            slot("room=", &one.unclear_room),
            list("", &one.plans),
            slot("plan=", &one.unclear_plan),
            slot("hours=", &one.hours),
            slot("people=", &one.people),
            list("not ", &one.exclude),
            slot("if ", &map(&one.condition)),
        ],
        Intent::Policy { topic, about } => vec![format!("policy {topic:?}"), request(about)],
        Intent::Courtesy(courtesy) => vec![format!("{courtesy:?}")],
        Intent::Unreadable(why) => vec![format!("unreadable {why:?}")],
        other => vec![format!("{other:?}")],
    };
    words.extend(part.refers_to.map(|at| format!("->{at}")));
    words.retain(|word| !word.is_empty());
    words.join(" ")
}

fn request(request: &Request) -> String {
    [
        slot("", &request.room),
        slot("", &request.plan),
        slot("hours=", &request.hours),
        slot("on ", &request.date),
        slot("at ", &request.start_hour),
        slot("people=", &request.people),
        slot("for ", &request.customer),
        slot("if ", &map(&request.condition)),
    ]
    .into_iter()
    .filter(|word| !word.is_empty())
    .collect::<Vec<_>>()
    .join(" ")
}

/// `!word` is a value that could not be read, `?` before the nearest, `a|b` a choice.
fn slot<T: Display>(name: &str, found: &Found<T>) -> String {
    match found {
        Found::Missing => String::new(),
        Found::Given(value) => format!("{name}{value}"),
        Found::Unclear { raw, nearest: None } => format!("{name}!{raw:?}"),
        Found::Unclear { raw, nearest: Some(nearest) } => format!("{name}!{raw:?}?{nearest}"),
        Found::Ambiguous(values) => {
            format!("{name}{}", values.iter().map(T::to_string).collect::<Vec<_>>().join("|"))
        }
    }
}

fn list<T: Display>(name: &str, values: &[T]) -> String {
    let values: Vec<String> = values.iter().map(T::to_string).collect();
    if values.is_empty() { String::new() } else { format!("{name}{}", values.join("+")) }
}

fn map(found: &Found<Condition>) -> Found<String> {
    match found {
        Found::Missing => Found::Missing,
        Found::Given(condition) => Found::Given(match condition {
            Condition::Below(cents) => format!("<{}", cents.0),
            Condition::AtMost(cents) => format!("<={}", cents.0),
            Condition::Above(cents) => format!(">{}", cents.0),
            Condition::AtLeast(cents) => format!(">={}", cents.0),
        }),
        Found::Unclear { raw, .. } => Found::Unclear { raw: raw.clone(), nearest: None },
        Found::Ambiguous(_) => Found::Unclear { raw: "several".into(), nearest: None },
    }
}
