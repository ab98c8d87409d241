//! The first difference between what was recorded and what came.

use std::fmt;

use crate::exchange::Asked;
use crate::node::Node;

/// How many characters of a value are shown.
const SHOWN: usize = 120;
/// How many characters before the difference are shown of a long text.
const BEFORE: usize = 30;

/// Where two requests differ first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    path: String,
    /// The character of the text from which on it differs, where it is one that is shown from its middle.
    from: Option<usize>,
    recorded: String,
    came: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, from, recorded, came } = self;
        write!(f, "at `{path}`")?;
        if let Some(from) = from {
            write!(f, " from character {from} on")?;
        }
        write!(f, " {recorded} was recorded, and {came} came")
    }
}

impl Difference {
    /// The first one, in the order in which a request is written.
    pub(crate) fn between(recorded: &Asked, came: &Asked) -> Option<Self> {
        let settings =
            recorded.settings.iter().map(|(name, value)| (&**name, Some(&**value), came.setting(name)));
        let new = came.settings.iter().filter(|(name, _)| recorded.setting(name).is_none());
        let new = new.map(|(name, value)| (&**name, None, Some(&**value)));
        let in_settings = settings.chain(new).find_map(|(name, a, b)| of_pair(part(name), a, b));
        in_settings.or_else(|| {
            let count = recorded.messages.len().max(came.messages.len());
            let message = |asked: &'_ Asked, place: usize| asked.messages.get(place).cloned();
            (0..count).find_map(|place| {
                let (a, b) = (message(recorded, place), message(came, place));
                of_pair(format!("messages[{place}]"), a.as_deref(), b.as_deref())
            })
        })
    }
}

fn of_pair(path: String, recorded: Option<&Node>, came: Option<&Node>) -> Option<Difference> {
    match (recorded, came) {
        (None, None) => None,
        (Some(a), Some(b)) => of_nodes(path, a, b),
        (a, b) => Some(Difference { path, from: None, recorded: whole(a), came: whole(b) }),
    }
}

fn of_nodes(path: String, recorded: &Node, came: &Node) -> Option<Difference> {
    match (recorded, came) {
        (a, b) if a == b => None,
        (Node::Object(a), Node::Object(b)) => of_members(&path, a, b),
        (Node::List(a), Node::List(b)) => (0..a.len().max(b.len()))
            .find_map(|place| of_pair(format!("{path}[{place}]"), a.get(place), b.get(place))),
        (Node::Text(a), Node::Text(b)) => Some(of_texts(path, a, b)),
        (a, b) => Some(Difference { path, from: None, recorded: whole(Some(a)), came: whole(Some(b)) }),
    }
}

/// The order of members says nothing; of several of one name the first is compared with the first.
fn of_members(path: &str, recorded: &[(String, Node)], came: &[(String, Node)]) -> Option<Difference> {
    let nth = |members: &'_ [(String, Node)], place: usize| {
        let name = members.get(place).map(|(name, _)| name);
        members.iter().take(place).filter(|(before, _)| Some(before) == name).count()
    };
    let find = |members: &[(String, Node)], name: &str, nth: usize| {
        members.iter().filter(|(of, _)| of == name).nth(nth).map(|(_, value)| value.clone())
    };
    let known = recorded.iter().enumerate().find_map(|(place, (name, value))| {
        let other = find(came, name, nth(recorded, place));
        of_pair(format!("{path}.{}", part(name)), Some(value), other.as_ref())
    });
    known.or_else(|| {
        came.iter().enumerate().find_map(|(place, (name, value))| {
            let is_new = find(recorded, name, nth(came, place)).is_none();
            is_new.then(|| of_pair(format!("{path}.{}", part(name)), None, Some(value))).flatten()
        })
    })
}

fn of_texts(path: String, recorded: &str, came: &str) -> Difference {
    let from = recorded.chars().zip(came.chars()).take_while(|(a, b)| a == b).count();
    let is_long = recorded.chars().count().max(came.chars().count()) > SHOWN;
    let begin = if is_long { from.saturating_sub(BEFORE) } else { 0 };
    let shown = |text: &str| format!("\"{}\"", shown(text, begin));
    Difference { path, from: is_long.then_some(from), recorded: shown(recorded), came: shown(came) }
}

fn whole(node: Option<&Node>) -> String {
    match node {
        None => "nothing".to_owned(),
        Some(Node::Text(text)) => format!("\"{}\"", shown(text, 0)),
        Some(node) => shown(&node.json(), 0),
    }
}

/// A name as a part of a path.
fn part(name: &str) -> String {
    shown(name, 0)
}

/// A text from one of its characters on, as far as it is shown, in one line in which all can be seen.
pub(crate) fn shown(text: &str, begin: usize) -> String {
    let mut rest = text.chars().skip(begin);
    let shown: String = rest.by_ref().take(SHOWN).flat_map(printable).collect();
    let before = if begin > 0 { "…" } else { "" };
    let after = if rest.next().is_some() { "…" } else { "" };
    format!("{before}{shown}{after}")
}

/// What would not be seen, or would change how the rest is seen, is written by its number.
fn printable(character: char) -> impl Iterator<Item = char> {
    let is_plain = matches!(character, '"' | '\'' | '\\');
    let escaped = (!is_plain).then(|| character.escape_debug());
    escaped.into_iter().flatten().chain(is_plain.then_some(character))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(recorded: &str, came: &str) -> String {
        let [recorded, came] = [recorded, came].map(|json| Node::of_json(json).unwrap());
        of_nodes("m".to_owned(), &recorded, &came)
            .map_or_else(|| "none".to_owned(), |found| found.to_string())
    }

    #[test]
    fn the_first_difference_is_named_by_its_path() {
        let check =
            |recorded: &str, came: &str, expected: &str| assert_eq!(between(recorded, came), expected);
        check(r#"{"a":1,"b":[2]}"#, r#"{"b":[2],"a":1}"#, "none");
        check(r#"{"a":{"hours":3}}"#, r#"{"a":{"hours":4}}"#, "at `m.a.hours` 3 was recorded, and 4 came");
        check(r#"{"a":1,"a":2}"#, r#"{"a":1,"a":3}"#, "at `m.a` 2 was recorded, and 3 came");
        check(r#"{"a":1}"#, r#"{"a":1,"a":3}"#, "at `m.a` nothing was recorded, and 3 came");
        check("[1,2]", "[1]", "at `m[1]` 2 was recorded, and nothing came");
        check(r#"{"a":"3"}"#, r#"{"a":3}"#, r#"at `m.a` "3" was recorded, and 3 came"#);
        check(r#""a\nb""#, r#""a\u0007b""#, r#"at `m` "a\nb" was recorded, and "a\u{7}b" came"#);
        check("null", "[]", "at `m` null was recorded, and [] came");
    }

    #[test]
    fn of_a_long_text_the_middle_is_shown_by_characters() {
        let [a, b] = ["x", "y"].map(|end| format!("\"{}{end}{}\"", "é".repeat(500), "z".repeat(500)));
        let shown = |end: &str| format!("\"…{}{end}{}…\"", "é".repeat(30), "z".repeat(89));
        let expected =
            format!("at `m` from character 500 on {} was recorded, and {} came", shown("x"), shown("y"));
        assert_eq!(between(&a, &b), expected);
    }
}
