//! JSON kept as text.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A JSON value as the text it came in: member order, number text and duplicate keys are what they were.
///
/// ```
/// use sommelier_protocol::RawJson;
///
/// let raw = RawJson::parse(r#"{"b":1.50,"a":18446744073709551617}"#)?;
/// assert_eq!(raw.get(), r#"{"b":1.50,"a":18446744073709551617}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Keeps `text`, white space around it removed.
    ///
    /// # Errors
    /// When `text` is not one JSON value; the error gives line and column.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// The JSON of `value`.
    ///
    /// # Errors
    /// When `value` has no JSON form, such as a map whose keys are no strings.
    pub fn of(value: &(impl Serialize + ?Sized)) -> serde_json::Result<Self> {
        serde_json::value::to_raw_value(value).map(Self)
    }

    /// The JSON of a text.
    pub fn string(text: &str) -> Self {
        Self::of(text).unwrap_or_else(|_| Self::null())
    }

    /// The empty object, `{}`.
    pub fn empty_object() -> Self {
        Self::of(&serde_json::Map::new()).unwrap_or_else(|_| Self::null())
    }

    fn null() -> Self {
        Self(RawValue::NULL.to_owned())
    }

    /// The text of the value.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Reads the value as a `T`.
    ///
    /// # Errors
    /// When the value is no `T`; the error gives line and column within [`get`](Self::get).
    pub fn read<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(self.get())
    }

    /// Whether the value is an object.
    pub fn is_object(&self) -> bool {
        self.get().starts_with('{')
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for RawJson {}

impl std::fmt::Debug for RawJson {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.get())
    }
}

impl std::fmt::Display for RawJson {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.get())
    }
}
