//! Whether a package holds messages where a task and its data belong.
//!
//! A message is an object with `role` and one of `content`, `parts`, `tool_calls` and `text`; so is, by itself, a
//! block that says it is a call or its result. The case of the names does not matter. It is found at any depth,
//! also in a string, and there at any place: alone, in a list, among words, in a fence, quoted once more.
//!
//! What stands in a string was not read under the [law](crate::law): it may be nested without end, name a key
//! twice, hold any number, end in the middle, or be no JSON but for a part, and none of that may hide a message. So
//! it is scanned in one pass without recursion instead of being read.

use crate::{Fields, Json};

/// Strings inside strings that are looked into. What is quoted deeper counts as a message when it could hold one:
/// no datum is wrapped so often.
const QUOTED: usize = 4;

/// What a message says beside its role.
const CONTENT: [&str; 4] = ["content", "parts", "tool_calls", "text"];

/// The types of a block that is a call or its result.
const BLOCKS: [&str; 5] =
    ["tool_use", "tool_result", "server_tool_use", "function_call", "function_call_output"];

/// Where `fields` hold a message.
pub(crate) fn in_fields(fields: &Fields, path: &str) -> Option<String> {
    let mut seen = Seen::default();
    for (key, value) in fields.iter() {
        seen.key(key);
        if let Json::String(text) = value {
            seen.value(text);
        }
    }
    if seen.is_message() {
        return Some(path.to_owned());
    }
    fields.iter().find_map(|(key, value)| inside(value, path, key))
}

/// Where `value` holds a message.
pub(crate) fn in_json(value: &Json, path: &str) -> Option<String> {
    match value {
        Json::Object(fields) => in_fields(fields, path),
        Json::Array(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(place, item)| inside(item, path, place))
        }
        Json::String(text) => in_text(text, path),
        _ => None,
    }
}

/// Where the value at `step` of `path` holds a message. A path is written only for what may hold one.
fn inside(value: &Json, path: &str, step: impl std::fmt::Display) -> Option<String> {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => None,
        value => in_json(value, &format!("{path}.{step}")),
    }
}

/// Where `text` holds a message: its own path.
pub(crate) fn in_text(text: &str, path: &str) -> Option<String> {
    is_told_in(text, 0).then(|| path.to_owned())
}

/// The members that an object has had.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    role: bool,
    content: bool,
    block: bool,
    /// Whether the last key is `type`, whose value is still to come.
    at_type: bool,
}

impl Seen {
    fn key(&mut self, key: &str) {
        let is = |name: &str| key.trim().eq_ignore_ascii_case(name);
        self.role |= is("role");
        self.content |= CONTENT.into_iter().any(is);
        self.at_type = is("type");
    }

    fn value(&mut self, text: &str) {
        let is = |name: &str| text.trim().eq_ignore_ascii_case(name);
        self.block |= self.at_type && BLOCKS.into_iter().any(is);
        self.at_type = false;
    }

    fn is_message(self) -> bool {
        self.block || (self.role && self.content)
    }

    fn or(self, other: Self) -> Self {
        Self {
            role: self.role || other.role,
            content: self.content || other.content,
            block: self.block || other.block,
            at_type: self.at_type || other.at_type,
        }
    }
}

/// One way to read a text: whether this place is in a string depends on which quotes before it are taken for
/// quotes. Words before an object may hold an odd number of them.
struct Reading {
    /// Where the string began that is open here, behind its quote: for joined readings the first and the last
    /// of the places.
    string: Option<(usize, usize)>,
    /// Whether the character before this one, in a string, takes its meaning from it.
    is_escaped: bool,
    /// Lists and objects that are open here.
    open: Vec<Seen>,
}

impl Reading {
    /// Whether both go on alike from here.
    fn is_like(&self, other: &Self) -> bool {
        (self.string.is_some(), self.is_escaped) == (other.string.is_some(), other.is_escaped)
    }

    /// Takes over what another knows that goes on alike.
    fn join(&mut self, other: Self) {
        self.string = match (self.string, other.string) {
            (Some(mine), Some(theirs)) => Some((mine.0.min(theirs.0), mine.1.max(theirs.1))),
            (mine, theirs) => mine.or(theirs),
        };
        let missing = other.open.len().saturating_sub(self.open.len());
        self.open.splice(0..0, other.open[..missing].iter().copied());
        for (mine, theirs) in self.open.iter_mut().rev().zip(other.open.iter().rev()) {
            *mine = mine.or(*theirs);
        }
    }

    /// Reads on by one character. Whether there is a message.
    fn read(&mut self, text: &str, at: usize, byte: u8, quoted: usize) -> bool {
        let Some((first, last)) = self.string else {
            match byte {
                b'"' => self.string = Some((at + 1, at + 1)),
                b'{' | b'[' => self.open.push(Seen::default()),
                b'}' | b']' => drop(self.open.pop()),
                b'\'' => return self.key(|| single_quoted(&text[at + 1..])),
                _ => {}
            }
            return false;
        };
        if self.is_escaped || byte != b'"' {
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            return false;
        }
        self.string = None;
        let string = unescaped(&text[last..at]);
        if is_before_colon(&text[at + 1..]) {
            return self.key(|| Some(&string));
        }
        if let Some(seen) = self.open.last_mut() {
            seen.value(&string);
        }
        // What is a name is one in the shortest string; what holds a message does so in the longest.
        let is_message = self.open.last().is_some_and(|seen| seen.is_message());
        is_message || is_told_in(&unescaped(&text[first..at]), quoted + 1)
    }

    /// Takes a key of the object that is open. Whether it is a message now.
    fn key<'a>(&mut self, key: impl FnOnce() -> Option<&'a str>) -> bool {
        let Some(seen) = self.open.last_mut() else { return false };
        if let Some(key) = key() {
            seen.key(key);
        }
        seen.is_message()
    }
}

/// Whether a text has a message in it.
///
/// Text that is quoted, but for the quotes around it, is looked at without its escapes too. Else a reading begins
/// at the start, and another wherever an object may begin that all the others take for a part of
/// a string. Readings that go on alike are joined, so there are never more than three.
fn is_told_in(text: &str, quoted: usize) -> bool {
    if !text.contains(['{', '"']) {
        return false;
    }
    if quoted > QUOTED {
        return true;
    }
    if text.contains("\\\"") && is_told_in(&unescaped(text), quoted + 1) {
        return true;
    }
    let mut readings: Vec<Reading> = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        if matches!(byte, b'{' | b'[' | b'"') && readings.iter().all(|reading| reading.string.is_some()) {
            // A quote may be the first of a text that is quoted as a whole; later ones are read as they come.
            if byte != b'"' || readings.is_empty() {
                readings.push(Reading { string: None, is_escaped: false, open: Vec::new() });
            }
        }
        if readings.iter_mut().any(|reading| reading.read(text, at, byte, quoted)) {
            return true;
        }
        if matches!(byte, b'"' | b'\\') || readings.len() > 2 {
            join(&mut readings);
        }
    }
    false
}

fn join(readings: &mut Vec<Reading>) {
    let mut from = 1;
    while from < readings.len() {
        match (0..from).find(|to| readings[*to].is_like(&readings[from])) {
            Some(to) => {
                let other = readings.remove(from);
                readings[to].join(other);
            }
            None => from += 1,
        }
    }
}

fn is_before_colon(text: &str) -> bool {
    text.trim_start().starts_with(':')
}

/// The key that stands before the next single quote, where there is one, as other languages write it.
fn single_quoted(text: &str) -> Option<&str> {
    let end = text.bytes().take(16).position(|byte| byte == b'\'')?;
    is_before_colon(&text[end + 1..]).then(|| &text[..end])
}

/// What a string says. What is no escape stands for itself, so that it hides nothing around it.
fn unescaped(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let mut after = rest[at + 1..].chars();
        match after.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('b' | 'f') => text.push(' '),
            Some('u') => {
                let code = after.as_str().get(..4).and_then(|hex| u32::from_str_radix(hex, 16).ok());
                // Half a pair says nothing that is looked for.
                text.push(code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER));
                after = after.as_str().get(4..).filter(|_| code.is_some()).unwrap_or(after.as_str()).chars();
            }
            Some(other) => text.push(other),
            None => {}
        }
        rest = after.as_str();
    }
    text.push_str(rest);
    text
}
