//! The law beneath every package policy: what no edge may let through.
//!
//! A package is written by a model, so it is read as input from a stranger: its size is looked at before it
//! is parsed; it is bounded in depth, members, values and text; nothing in it can be read in two ways. A
//! text reader that keeps the last of two equal keys, or turns a large integer into a float, would let the
//! one who checks and the one who acts see different packages.
//!
//! | what | law |
//! | --- | --- |
//! | input, unread | at most [`INPUT_BYTES`] |
//! | package, compact | at most [`PACKAGE_BYTES`] |
//! | depth | at most [`DEPTH`] |
//! | members of one object | at most [`KEYS`], no key twice |
//! | values in all | at most [`NODES`] |
//! | one string | at most [`STRING_BYTES`]; no control character but line end and tab, no separator of lines or paragraphs, no character that turns the direction of text, no tag character or anything else of the tags' plane |
//! | one key | at most [`KEY_BYTES`], an ASCII identifier; of an artifact also `$artifact` or `$result_of`, which make a reference of it |
//! | numbers | a whole number of 64 bits, or a decimal that a 64-bit float gives back unchanged |

use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::Serialize;
use serde_json::value::RawValue;
use sommelier_protocol::RawJson;
pub(crate) use sommelier_runtime::tool::shortened;
use std::fmt;

use crate::{Fields, Json, PackageError};

/// Bytes of a package's text as it came; more is refused unread.
pub const INPUT_BYTES: usize = 256 * 1024;
/// Bytes of a package as compact JSON.
pub const PACKAGE_BYTES: usize = 64 * 1024;
/// Lists and objects inside each other.
pub const DEPTH: usize = 16;
/// Members of one object.
pub const KEYS: usize = 256;
/// Values in all.
pub const NODES: usize = 1024;
/// Bytes of one string.
pub const STRING_BYTES: usize = 16 * 1024;
/// Bytes of one key.
pub const KEY_BYTES: usize = 128;

/// The key of a reference to an artifact of the run.
pub(crate) const ARTIFACT: &str = "$artifact";
/// The key of a reference to what a tool has brought.
pub(crate) const RESULT_OF: &str = "$result_of";

/// Reads `text` under the law.
pub(crate) fn read(text: &str) -> Result<Json, PackageError> {
    read_at(text, Vec::new())
}

/// Reads the text of a package, whose artifacts may be references. No datum can be taken for one: in data their keys
/// are illegal.
pub(crate) fn read_package(text: &str) -> Result<Json, PackageError> {
    Reader { nodes: 0, path: Vec::new(), references: true }.read(text)
}

/// Reads a value that code gives to a member of `section`, as if it stood in a package.
pub(crate) fn read_member(
    section: &str,
    key: &str,
    value: &(impl Serialize + ?Sized),
) -> Result<Json, PackageError> {
    if !is_key(key) {
        return Err(PackageError::IllegalKey { path: section.to_owned(), found: shortened(key) });
    }
    read_value(value, vec![section.to_owned(), key.to_owned()])
}

/// Reads the JSON of a value, which stands at `path`.
pub(crate) fn read_value(value: &(impl Serialize + ?Sized), path: Vec<String>) -> Result<Json, PackageError> {
    match RawJson::of(value) {
        Ok(json) => read_at(json.get(), path),
        Err(error) => Err(PackageError::NotJson { path: path.join("."), detail: error.to_string() }),
    }
}

fn read_at(text: &str, path: Vec<String>) -> Result<Json, PackageError> {
    Reader { nodes: 0, path, references: false }.read(text)
}

/// The arguments of a call: the text of the member `apart`, which is no part of the package, and the others,
/// read under the law.
pub(crate) struct Arguments {
    pub(crate) apart: Option<Result<Box<str>, PackageError>>,
    pub(crate) others: Result<Fields, PackageError>,
}

/// Reads the arguments of a call, which are JSON. One member is known whatever is wrong with the others.
pub(crate) fn read_arguments(input: &RawJson, apart: &str) -> Result<Arguments, PackageError> {
    let text = input.get();
    if text.len() > INPUT_BYTES {
        return Err(PackageError::InputTooLarge { bytes: text.len(), most: INPUT_BYTES });
    }
    let mut reader = Reader { nodes: 1, path: Vec::new(), references: true };
    let members: Members<'_> = parts(text).map_err(|error| reader.not_json(&error))?;
    let (mine, others): (Vec<_>, Vec<_>) = members.0.into_iter().partition(|(key, _)| key == apart);
    let apart = match &mine[..] {
        [] => None,
        [(_, raw)] => Some(text_of(raw.get(), apart)),
        _ => return Err(PackageError::DuplicateKey { path: apart.to_owned() }),
    };
    Ok(Arguments { apart, others: reader.fields(others) })
}

fn text_of(json: &str, path: &str) -> Result<Box<str>, PackageError> {
    let reader = Reader { nodes: 0, path: vec![path.to_owned()], references: false };
    if json.starts_with('"') {
        return serde_json::from_str(json).map_err(|error| reader.not_json(&error));
    }
    let found = read_at(json, reader.path)?.kind().to_owned();
    Err(PackageError::WrongType { path: path.to_owned(), expected: "a string".to_owned(), found })
}

struct Reader {
    nodes: usize,
    path: Vec<String>,
    /// Whether artifacts may be references.
    references: bool,
}

impl Reader {
    fn read(&mut self, text: &str) -> Result<Json, PackageError> {
        if text.len() > INPUT_BYTES {
            return Err(PackageError::InputTooLarge { bytes: text.len(), most: INPUT_BYTES });
        }
        // One pass over the whole text first, without recursion: what follows reads parts that are JSON.
        let raw: &RawValue = serde_json::from_str(text).map_err(|error| self.not_json(&error))?;
        self.value(raw.get())
    }

    fn value(&mut self, text: &str) -> Result<Json, PackageError> {
        self.nodes += 1;
        if self.nodes > NODES {
            return Err(PackageError::TooManyValues { most: NODES });
        }
        match text.as_bytes().first() {
            Some(b'{') => self.object(text).map(Json::Object),
            Some(b'[') => self.array(text).map(Json::Array),
            Some(b'"') => self.string(text).map(Json::String),
            Some(b't') => Ok(Json::Bool(true)),
            Some(b'f') => Ok(Json::Bool(false)),
            Some(b'n') => Ok(Json::Null),
            _ if is_exact(text) => Ok(Json::Number(text.into())),
            _ => Err(PackageError::InexactNumber { path: self.path(), found: shortened(text) }),
        }
    }

    fn object(&mut self, text: &str) -> Result<Fields, PackageError> {
        self.check_depth()?;
        let members: Members<'_> = parts(text).map_err(|error| self.not_json(&error))?;
        self.fields(members.0)
    }

    fn fields(&mut self, members: Vec<(String, &RawValue)>) -> Result<Fields, PackageError> {
        if members.len() > KEYS {
            return Err(PackageError::TooManyKeys { path: self.path(), found: members.len(), most: KEYS });
        }
        let mut fields = Fields::default();
        for (key, value) in members {
            if !is_key(&key) && !self.is_reference(&key) {
                return Err(PackageError::IllegalKey { path: self.path(), found: shortened(&key) });
            }
            self.path.push(key);
            let value = self.value(value.get())?;
            let key = self.path.pop().unwrap_or_default();
            if fields.get(&key).is_some() {
                self.path.push(key);
                return Err(PackageError::DuplicateKey { path: self.path() });
            }
            fields.push(key, value);
        }
        Ok(fields)
    }

    /// Whether this key makes a reference of the artifact that is being read.
    fn is_reference(&self, key: &str) -> bool {
        let is_artifact = self.path.len() == 2 && self.path[0] == "artifacts";
        self.references && is_artifact && [ARTIFACT, RESULT_OF].contains(&key)
    }

    fn array(&mut self, text: &str) -> Result<Vec<Json>, PackageError> {
        self.check_depth()?;
        let items: Items<'_> = parts(text).map_err(|error| self.not_json(&error))?;
        let mut values = Vec::new();
        for (place, item) in items.0.iter().enumerate() {
            self.path.push(place.to_string());
            values.push(self.value(item.get())?);
            self.path.pop();
        }
        Ok(values)
    }

    fn string(&mut self, text: &str) -> Result<Box<str>, PackageError> {
        let text: Box<str> = serde_json::from_str(text).map_err(|error| self.not_json(&error))?;
        if text.len() > STRING_BYTES {
            let (bytes, most) = (text.len(), STRING_BYTES);
            return Err(PackageError::StringTooLong { path: self.path(), bytes, most });
        }
        if let Some(found) = text.chars().find(|c| is_forbidden(*c)) {
            return Err(PackageError::ForbiddenCharacter { path: self.path(), found: code(found) });
        }
        Ok(text)
    }

    fn check_depth(&self) -> Result<(), PackageError> {
        if self.path.len() < DEPTH {
            return Ok(());
        }
        Err(PackageError::TooDeep { path: self.path(), most: DEPTH })
    }

    fn path(&self) -> String {
        self.path.join(".")
    }

    fn not_json(&self, error: &serde_json::Error) -> PackageError {
        PackageError::NotJson { path: self.path(), detail: error.to_string() }
    }
}

pub(crate) fn is_key(text: &str) -> bool {
    let mut bytes = text.bytes();
    let begins = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let goes_on = bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    begins && goes_on && text.len() <= KEY_BYTES
}

/// Members of an object with their values unread, duplicates included.
struct Members<'a>(Vec<(String, &'a RawValue)>);
/// Items of a list, unread.
struct Items<'a>(Vec<&'a RawValue>);

fn parts<'a, T: TryFromJson<'a>>(text: &'a str) -> serde_json::Result<T> {
    T::try_from_json(&mut serde_json::Deserializer::from_str(text))
}

trait TryFromJson<'a>: Sized {
    fn try_from_json<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error>;
}

impl<'a> TryFromJson<'a> for Members<'a> {
    fn try_from_json<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Walk;

        impl<'a> Visitor<'a> for Walk {
            type Value = Members<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Members<'a>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                    if members.len() > NODES {
                        return Err(A::Error::custom("more members than any package may have"));
                    }
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Walk)
    }
}

impl<'a> TryFromJson<'a> for Items<'a> {
    fn try_from_json<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Walk;

        impl<'a> Visitor<'a> for Walk {
            type Value = Items<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'a>>(self, mut seq: A) -> Result<Items<'a>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                    if items.len() > NODES {
                        return Err(A::Error::custom("more items than any package may have"));
                    }
                }
                Ok(Items(items))
            }
        }

        deserializer.deserialize_seq(Walk)
    }
}

/// Whether a number means the same to whoever reads it: a whole number of 64 bits, or a decimal that a
/// 64-bit float gives back.
fn is_exact(text: &str) -> bool {
    if text.parse::<i64>().is_ok() {
        return text != "-0";
    }
    let Ok(value) = text.parse::<f64>() else { return false };
    let is_decimal = text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
    is_decimal && value.is_finite() && decimal(text) == decimal(&format!("{value:e}"))
}

/// Sign, digits without zeros at either end, and the power of ten of the last digit.
fn decimal(text: &str) -> Option<(bool, String, i64)> {
    let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    let significant = all.trim_end_matches('0');
    let dropped = all.len() - significant.len();
    let exponent = exponent.checked_add(dropped as i64)?.checked_sub(fraction.len() as i64)?;
    let significant = significant.trim_start_matches('0');
    let is_zero = significant.is_empty();
    Some((is_negative, significant.to_owned(), if is_zero { 0 } else { exponent }))
}

/// Control characters but line end and tab, and the separators of lines and paragraphs, which some readers take
/// for a line end; characters that turn the direction of the text around them; and tag characters with the rest
/// of their range, which hide text in plain sight.
fn is_forbidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}' => true,
        '\u{2028}' | '\u{2029}' => true,
        '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

/// A text of a model as others may see it: characters that no package may hold stand as their codes.
pub(crate) fn shown(text: &str) -> String {
    let shown = |c: char| if is_forbidden(c) { format!("<{}>", code(c)) } else { c.to_string() };
    if text.chars().any(is_forbidden) { text.chars().map(shown).collect() } else { text.to_owned() }
}

/// Adds the place of a character that is legal and cannot be seen, such as a zero-width joiner.
pub(crate) fn find_invisible_in(text: &str, path: &str, found: &mut Vec<String>) {
    found.extend(text.chars().find(|c| is_invisible(*c)).map(|c| format!("{path}: {}", code(c))));
}

/// Whether nothing of a text can be seen.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || is_invisible(c))
}

/// What Unicode lets a reader show as nothing: joiners, fillers, variation selectors (an emoji may have one),
/// marks of mathematics, music and shorthand, the marks of an annotation, and the blank of Braille.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
    )
}

fn code(c: char) -> String {
    format!("U+{:04X}", u32::from(c))
}
