//! JSON that keeps what it was: member order and number text.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use sommelier_protocol::{RawJson, json_string_len};

use crate::law;

/// A JSON value that was read under the [package law](crate::law): no duplicate keys, bounded, and numbers
/// with the text they had.
///
/// ```
/// use sommelier_handoff::Json;
///
/// let value = Json::of(&vec![1, 2])?;
/// assert_eq!(value.to_string(), "[1,2]");
/// # Ok::<(), sommelier_handoff::PackageError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as its text.
    Number(Box<str>),
    /// A string.
    String(Box<str>),
    /// A list.
    Array(Vec<Self>),
    /// An object.
    Object(Fields),
}

impl Json {
    /// The value's JSON, read under the law.
    ///
    /// # Errors
    /// [`PackageError`](crate::PackageError) when the value has no JSON form or breaks the law.
    pub fn of(value: &(impl Serialize + ?Sized)) -> Result<Self, crate::PackageError> {
        law::read_value(value, Vec::new())
    }

    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if this is one and fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// The number, if this is one and its text is one of this type.
    pub(crate) fn number<T: std::str::FromStr>(&self) -> Option<T> {
        match self {
            Self::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// What kind of value this is, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    pub(crate) fn find_invisible(&self, path: &str, found: &mut Vec<String>) {
        match self {
            Self::String(text) => law::find_invisible_in(text, path, found),
            Self::Array(items) => {
                for (place, item) in items.iter().enumerate() {
                    item.find_invisible(&format!("{path}.{place}"), found);
                }
            }
            Self::Object(fields) => fields.find_invisible(path, found),
            Self::Null | Self::Bool(_) | Self::Number(_) => {}
        }
    }

    /// Bytes of the value as compact JSON, counted and not written.
    pub(crate) fn wire_len(&self) -> usize {
        match self {
            Self::Null => "null".len(),
            Self::Bool(true) => "true".len(),
            Self::Bool(false) => "false".len(),
            Self::Number(text) => text.len(),
            Self::String(text) => json_string_len(text),
            Self::Array(items) => list_len(items.iter().map(Self::wire_len)),
            Self::Object(fields) => fields.wire_len(),
        }
    }

    /// How deep lists and objects are nested: 0 for a plain value.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::Array(items) => 1 + items.iter().map(Self::depth).max().unwrap_or(0),
            Self::Object(fields) => 1 + fields.depth(),
            _ => 0,
        }
    }
}

impl std::fmt::Display for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&serde_json::to_string(self).unwrap_or_default())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(text) => match RawJson::parse(text) {
                Ok(number) => number.serialize(serializer),
                Err(error) => Err(serde::ser::Error::custom(error)),
            },
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Self::Object(fields) => fields.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        law::read(raw.get()).map_err(D::Error::custom)
    }
}

/// The members of an object, in order, each key once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Vec<(Box<str>, Json)>);

impl Fields {
    pub(crate) const EMPTY: Self = Self(Vec::new());

    /// The value of a member.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.iter().find(|(name, _)| &**name == key).map(|(_, value)| value)
    }

    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().map(|(key, value)| (&**key, value))
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets a member: in its place when it is there, else at the end.
    pub(crate) fn set(&mut self, key: &str, value: Json) {
        match self.0.iter_mut().find(|(name, _)| &**name == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.into(), value)),
        }
    }

    /// Adds a member that is not there yet.
    pub(crate) fn push(&mut self, key: String, value: Json) {
        self.0.push((key.into_boxed_str(), value));
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<Json> {
        let place = self.0.iter().position(|(name, _)| &**name == key)?;
        Some(self.0.remove(place).1)
    }

    pub(crate) fn find_invisible(&self, path: &str, found: &mut Vec<String>) {
        for (key, value) in self.iter() {
            value.find_invisible(&format!("{path}.{key}"), found);
        }
    }

    /// Bytes of the object as compact JSON, counted and not written.
    pub(crate) fn wire_len(&self) -> usize {
        list_len(self.0.iter().map(|(key, value)| json_string_len(key) + 1 + value.wire_len()))
    }

    pub(crate) fn depth(&self) -> usize {
        self.0.iter().map(|(_, value)| value.depth()).max().unwrap_or(0)
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Bytes of a list or object: its brackets, its items, and the commas between them.
pub(crate) fn list_len(items: impl Iterator<Item = usize>) -> usize {
    let (count, bytes) = items.fold((0_usize, 0), |(count, bytes), item| (count + 1, bytes + item));
    2 + count.saturating_sub(1) + bytes
}
