//! What a route wants to find in the context, by name and type.

use serde::Serialize;
use sommelier_protocol::{RawJson, json_string_len};

use crate::{FieldFault, Json, PackageError, law};

/// A value that a package's context must have on a route, or may have. The sender's model is told of it, and the code
/// checks it.
///
/// ```
/// use sommelier_handoff::{Field, HandoffPackage, PackageError, PackagePolicy};
///
/// let policy = PackagePolicy::minimal().field(Field::integer("quoted_cents", "what was quoted"));
/// let package = HandoffPackage::new("What does a no-show cost?").context("quoted_cents", "6000")?;
/// let wrong = PackageError::WrongType {
///     path: "context.quoted_cents".into(),
///     expected: "a whole number".into(),
///     found: "a string".into(),
/// };
/// assert_eq!(package.validate(&policy), [wrong]);
/// # Ok::<(), PackageError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    name: Box<str>,
    about: Box<str>,
    kind: Kind,
    is_optional: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
enum Kind {
    Text,
    Integer,
    Flag,
    OneOf(Vec<Box<str>>),
}

impl Field {
    fn new(name: impl Into<Box<str>>, about: impl Into<Box<str>>, kind: Kind) -> Self {
        Self { name: name.into(), about: about.into(), kind, is_optional: false }
    }

    /// A text that is not blank.
    pub fn text(name: impl Into<Box<str>>, about: impl Into<Box<str>>) -> Self {
        Self::new(name, about, Kind::Text)
    }

    /// A whole number of 64 bits.
    pub fn integer(name: impl Into<Box<str>>, about: impl Into<Box<str>>) -> Self {
        Self::new(name, about, Kind::Integer)
    }

    /// Yes or no.
    pub fn flag(name: impl Into<Box<str>>, about: impl Into<Box<str>>) -> Self {
        Self::new(name, about, Kind::Flag)
    }

    /// One of a few texts.
    pub fn one_of<S: Into<Box<str>>>(
        name: impl Into<Box<str>>,
        about: impl Into<Box<str>>,
        legal: impl IntoIterator<Item = S>,
    ) -> Self {
        Self::new(name, about, Kind::OneOf(legal.into_iter().map(Into::into).collect()))
    }

    /// The field may be left out. When it is there, it is checked.
    pub fn optional(mut self) -> Self {
        self.is_optional = true;
        self
    }

    /// The field's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn is_optional(&self) -> bool {
        self.is_optional
    }

    /// Why no context could have it.
    pub(crate) fn faults(&self) -> impl Iterator<Item = FieldFault> {
        let name = (!law::is_key(&self.name)).then_some(FieldFault::Name);
        let values: Vec<FieldFault> = match &self.kind {
            Kind::OneOf(legal) if legal.is_empty() => vec![FieldFault::NoValues],
            Kind::OneOf(legal) => legal.iter().filter_map(|value| unlawful(value)).collect(),
            Kind::Text | Kind::Integer | Kind::Flag => Vec::new(),
        };
        name.into_iter().chain(values)
    }

    /// The shortest value that is legal for it.
    pub(crate) fn least(&self) -> Json {
        match &self.kind {
            Kind::Text => Json::String("x".into()),
            Kind::OneOf(legal) => {
                let shortest = legal.iter().min_by_key(|value| json_string_len(value));
                Json::String(shortest.cloned().unwrap_or_default())
            }
            Kind::Integer | Kind::Flag => self.sample(),
        }
    }

    /// A value that is legal for it.
    pub(crate) fn sample(&self) -> Json {
        match &self.kind {
            Kind::Text => Json::String("a sample".into()),
            Kind::Integer => Json::Number("1".into()),
            Kind::Flag => Json::Bool(true),
            Kind::OneOf(legal) => Json::String(legal.first().cloned().unwrap_or_default()),
        }
    }

    /// The field as a model is told of it.
    pub(crate) fn told(&self) -> String {
        let kind = match &self.kind {
            Kind::OneOf(legal) => format!("one of {}", legal.join(", ")),
            kind => kind.expected().to_owned(),
        };
        let optional = if self.is_optional { ", may be left out" } else { "" };
        let about = if self.about.is_empty() { String::new() } else { format!(", {}", self.about) };
        format!("{}: {kind}{about}{optional}", self.name)
    }

    /// The field as a JSON Schema, for a service that holds a model to one.
    pub(crate) fn schema(&self) -> String {
        let kind = match &self.kind {
            Kind::Text => r#""type":"string","minLength":1"#.to_owned(),
            Kind::Integer => r#""type":"integer""#.to_owned(),
            Kind::Flag => r#""type":"boolean""#.to_owned(),
            Kind::OneOf(legal) => format!(r#""type":"string","enum":{}"#, list(legal)),
        };
        match self.about.is_empty() {
            true => format!("{{{kind}}}"),
            false => format!(r#"{{{kind},"description":{}}}"#, RawJson::string(&self.about)),
        }
    }

    /// What is wrong with the value of this field; `None` for a context without it.
    pub(crate) fn check(&self, value: Option<&Json>) -> Option<PackageError> {
        let path = format!("context.{}", self.name);
        let Some(value) = value else {
            return (!self.is_optional).then_some(PackageError::Missing { field: path });
        };
        match (&self.kind, value) {
            (Kind::Text | Kind::OneOf(_), Json::String(text)) if law::is_blank(text) => {
                Some(PackageError::Blank { field: path })
            }
            (Kind::OneOf(legal), Json::String(text)) if !legal.contains(text) => {
                let (found, legal) = (law::shortened(text), legal.join(", "));
                Some(PackageError::NotOneOf { path, found, legal })
            }
            (Kind::Text | Kind::OneOf(_), Json::String(_)) | (Kind::Flag, Json::Bool(_)) => None,
            (Kind::Integer, value) if value.as_i64().is_some() => None,
            (kind, other) => Some(PackageError::WrongType {
                path,
                expected: kind.expected().to_owned(),
                found: other.kind().to_owned(),
            }),
        }
    }
}

/// Texts as a list in JSON.
pub(crate) fn list<S: Serialize>(texts: &[S]) -> String {
    RawJson::of(texts).map(|json| json.to_string()).unwrap_or_else(|_| "[]".to_owned())
}

/// Why no field may have this value.
fn unlawful(value: &str) -> Option<FieldFault> {
    let fault = |error| FieldFault::Value { value: law::shortened(value), error };
    if law::is_blank(value) {
        return Some(fault(PackageError::Blank { field: "value".to_owned() }));
    }
    law::read_value(value, vec!["value".to_owned()]).err().map(fault)
}

impl Kind {
    fn expected(&self) -> &'static str {
        match self {
            Self::Text | Self::OneOf(_) => "a string",
            Self::Integer => "a whole number",
            Self::Flag => "a boolean",
        }
    }
}
