//! JSON kept as text.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// A JSON value as the text it came in: member order, number text and duplicate keys are what they were.
///
/// It is checked while it is read, however deeply it is nested: half a surrogate pair, which is JSON by its
/// grammar but no text, is an error like any other.
///
/// ```
/// use sommelier_protocol::RawJson;
///
/// let raw = RawJson::parse(r#"{"b":1.50,"a":18446744073709551617}"#)?;
/// assert_eq!(raw.get(), r#"{"b":1.50,"a":18446744073709551617}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Serialize)]
#[serde(transparent)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Keeps `text`, white space around it removed.
    ///
    /// # Errors
    /// When `text` is not one JSON value; the error gives line and column.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        let raw: Box<RawValue> = serde_json::from_str(text)?;
        match lone_surrogate(text) {
            None => Ok(Self(raw)),
            Some(place) => {
                let before = &text[..place];
                let line = 1 + before.matches('\n').count();
                let column = 1 + before.len() - before.rfind('\n').map_or(0, |end| end + 1);
                let error = format_args!("{LONE_SURROGATE} at line {line} column {column}");
                Err(serde::de::Error::custom(error))
            }
        }
    }

    /// Keeps `raw`, or gives it back when it holds half a surrogate pair.
    pub(crate) fn checked(raw: Box<RawValue>) -> Result<Self, Box<RawValue>> {
        if lone_surrogate(raw.get()).is_none() { Ok(Self(raw)) } else { Err(raw) }
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

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::checked(raw).map_err(|_| serde::de::Error::custom(LONE_SURROGATE))
    }
}

const LONE_SURROGATE: &str = "lone surrogate in a string";

/// The place of an escape in `json` that is half a surrogate pair. `json` is valid by JSON's grammar, so a
/// backslash stands in strings only.
fn lone_surrogate(json: &str) -> Option<usize> {
    let escape = |place: usize| {
        let digits = json.get(place..)?.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut from = 0;
    while let Some(step) = json[from..].find('\\') {
        let place = from + step;
        from = match escape(place) {
            Some(0xd800..=0xdbff) if matches!(escape(place + 6), Some(0xdc00..=0xdfff)) => place + 12,
            Some(0xd800..=0xdfff) => return Some(place),
            Some(_) => place + 6,
            None => place + 2,
        };
    }
    None
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
