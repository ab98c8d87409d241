//! The fields of one span, as last recorded.

use std::fmt;
use std::fmt::Write as _;

use serde::ser::{Serialize, SerializeMap, Serializer};
use tracing::field::{Field, Visit};
use tracing::span;

use crate::names;

/// Field values by name, in the order in which they were first recorded.
///
/// The number of entries is bounded by the fields that the span's call site declares.
#[derive(Debug, Default)]
pub(crate) struct Fields(Vec<(&'static str, Value)>);

#[derive(Debug)]
enum Value {
    Text(String),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
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

    /// The text recorded under `name`, unless it is empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Value::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// The number recorded under `name`, also if it was recorded as signed or as text.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            Value::Unsigned(number) => Some(*number),
            Value::Signed(number) => u64::try_from(*number).ok(),
            Value::Text(text) => text.parse().ok(),
            Value::Float(_) | Value::Flag(_) => None,
        }
    }

    /// Whether `true` was recorded under `name`.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Value::Flag(true)))
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    fn set(&mut self, name: &'static str, value: Value) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field.name(), Value::Float(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field.name(), Value::Signed(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field.name(), Value::Unsigned(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field.name(), Value::Flag(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field.name(), Value::Text(value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = String::new();
        // A `Debug` that gives up keeps what it wrote until then; `format!` would panic.
        let _ = write!(text, "{value:?}");
        self.set(field.name(), Value::Text(text));
    }
}

/// All fields but a textual `otel.name`, which a line carries beside them.
impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in &self.0 {
            match value {
                Value::Text(text) if *name == names::OTEL_NAME && !text.is_empty() => {}
                Value::Text(text) => map.serialize_entry(name, text)?,
                Value::Unsigned(number) => map.serialize_entry(name, number)?,
                Value::Signed(number) => map.serialize_entry(name, number)?,
                Value::Float(number) if number.is_finite() => map.serialize_entry(name, number)?,
                // JSON has no word for these.
                Value::Float(number) => map.serialize_entry(name, &number.to_string())?,
                Value::Flag(flag) => map.serialize_entry(name, flag)?,
            }
        }
        map.end()
    }
}
