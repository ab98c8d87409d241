//! Counts and names as people say them.

use std::fmt::Display;

use sommelier_protocol::RawJson;
use sommelier_protocol::sight::{in_sight, printable};

/// The number with what is counted, in the singular where there is one of it.
pub(crate) fn counted(number: impl Display, one: &str, more: &str) -> String {
    let number = number.to_string();
    let what = if number == "1" { one } else { more };
    format!("{number} {what}")
}

/// A name or an id as it stands among other words: as it is where it cannot be taken for anything else, and else in quotes,
/// as JSON writes it. Names come from outside, and one with a line end in it would write lines of its own on the screen of
/// whoever approves.
pub(crate) fn named(name: &str) -> String {
    let is_plain = |c: char| is_seen(c) && !matches!(c, '"' | '\\' | '`');
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.to_owned();
    }
    in_sight(RawJson::string(name).get())
}

/// Words in one line, in which nothing can be obeyed by a terminal.
pub(crate) fn in_line(words: &str) -> String {
    let escape =
        |c: char| if is_seen(c) || c == ' ' { c.to_string() } else { c.escape_unicode().to_string() };
    printable(words).chars().map(escape).collect()
}

/// Whether the character shows, and as more than a space.
pub(crate) fn is_seen(c: char) -> bool {
    let mut bytes = [0; 4];
    let text: &str = c.encode_utf8(&mut bytes);
    !c.is_whitespace() && in_sight(text) == text
}

/// As much of a text as has so many characters at most.
pub(crate) fn begin(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
