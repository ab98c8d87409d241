//! The fields of one span, as last recorded.

use std::borrow::Cow;
use std::fmt;
use std::fmt::Write as _;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use tracing::field::{Field, Visit};
use tracing::span;

/// So many fields of one span are read from a line; a call site of ours declares a tenth of it, and each is searched for by its name.
const MAX_READ: usize = 256;

/// Field values by name, in the order in which they were first recorded.
///
/// The number of entries is bounded by the fields that the span's call site declares, and by 256 where they are read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(Vec<(Cow<'static, str>, FieldValue)>);

/// What was recorded under a name.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(untagged)]
pub enum FieldValue {
    /// Words.
    Text(String),
    /// A number that has no sign.
    Unsigned(u64),
    /// A number below 0.
    Signed(i64),
    /// A number with a fraction. One that JSON has no word for is written as text, and read as such.
    Float(f64),
    /// A yes or a no.
    Flag(bool),
}

impl Fields {
    /// The fields given when a span is created.
    pub(crate) fn created(attributes: &span::Attributes<'_>) -> Self {
        let mut fields = Self::default();
        attributes.record(&mut fields);
        fields
    }

    /// The fields of one later `record`.
    ///
    /// They are read before any lock is taken, as a value's `Debug` is code of the caller: it may panic.
    pub(crate) fn recorded(values: &span::Record<'_>) -> Self {
        let mut fields = Self::default();
        values.record(&mut fields);
        fields
    }

    /// Takes over `later`, whose values win.
    pub(crate) fn merge(&mut self, later: Self) {
        for (name, value) in later.0 {
            self.set(name, value);
        }
    }

    /// The fields and their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &FieldValue)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    /// Takes out the text recorded under `name`, unless it is empty.
    pub(crate) fn take_text(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        match self.0.remove(at) {
            (_, FieldValue::Text(text)) if !text.is_empty() => Some(text),
            other => {
                self.0.insert(at, other);
                None
            }
        }
    }

    /// The text recorded under `name`, unless it is empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            FieldValue::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// The number recorded under `name`, also if it was recorded as signed or as text.
    pub fn number(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            FieldValue::Unsigned(number) => Some(*number),
            FieldValue::Signed(number) => u64::try_from(*number).ok(),
            FieldValue::Text(text) => text.parse().ok(),
            FieldValue::Float(_) | FieldValue::Flag(_) => None,
        }
    }

    /// Whether `true` was recorded under `name`.
    pub fn is_set(&self, name: &str) -> bool {
        matches!(self.get(name), Some(FieldValue::Flag(true)))
    }

    /// What was recorded under `name`.
    pub fn get(&self, name: &str) -> Option<&FieldValue> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    fn set(&mut self, name: impl Into<Cow<'static, str>>, value: FieldValue) {
        let name = name.into();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field.name(), FieldValue::Float(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field.name(), FieldValue::Signed(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field.name(), FieldValue::Unsigned(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field.name(), FieldValue::Flag(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field.name(), FieldValue::Text(value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = String::new();
        // A `Debug` that gives up keeps what it wrote until then; `format!` would panic.
        let _ = write!(text, "{value:?}");
        self.set(field.name(), FieldValue::Text(text));
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl Serialize for FieldValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Unsigned(number) => serializer.serialize_u64(*number),
            Self::Signed(number) => serializer.serialize_i64(*number),
            Self::Float(number) if number.is_finite() => serializer.serialize_f64(*number),
            // JSON has no word for these.
            Self::Float(number) => serializer.collect_str(number),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
        }
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Map;

        impl<'de> Visitor<'de> for Map {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of texts, numbers and booleans")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Fields::default();
                while let Some((name, value)) = map.next_entry::<String, FieldValue>()? {
                    fields.set(name, value);
                    if fields.0.len() > MAX_READ {
                        return Err(A::Error::custom(format_args!("a span has at most {MAX_READ} fields")));
                    }
                }
                Ok(fields)
            }
        }

        deserializer.deserialize_map(Map)
    }
}
