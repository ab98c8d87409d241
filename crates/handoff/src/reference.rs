//! What stands in a package under the name of an artifact: its value, or a reference.
//!
//! A reference has a key with `$`, which no datum of a package has (see [`law`](crate::law)), so neither is taken for the
//! other, whoever wrote it.

use crate::law::{ARTIFACT, RESULT_OF};
use crate::{Artifact, Fields, HandoffPackage, Json, Millis, PackageError};

/// What stands in a package under the name of an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form<'a> {
    Value(&'a Json),
    /// The newest result of a tool, or of a call.
    ResultOf(&'a str),
    Reference(Reference<'a>),
}

/// A reference to the run's table. As code writes it, it is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: Option<u32>,
    at: Option<Millis>,
    bytes: Option<usize>,
}

impl<'a> Form<'a> {
    /// `None` for what is neither a value nor a reference.
    pub(crate) fn of(value: &'a Json) -> Option<Self> {
        let Json::Object(fields) = value else { return Some(Self::Value(value)) };
        match (fields.get(ARTIFACT), fields.get(RESULT_OF)) {
            (None, None) => Some(Self::Value(value)),
            (None, Some(Json::String(of))) if fields.len() == 1 => Some(Self::ResultOf(of)),
            (Some(Json::String(name)), None) => Reference::of(name, fields).map(Self::Reference),
            _ => None,
        }
    }
}

impl Form<'_> {
    /// Bytes of the value, as a reference says that stands in its place.
    pub(crate) fn bytes_elsewhere(&self) -> usize {
        match self {
            Form::Value(_) | Form::ResultOf(_) => 0,
            Form::Reference(reference) => reference.bytes.unwrap_or(0),
        }
    }
}

impl<'a> Reference<'a> {
    fn of(name: &'a str, fields: &Fields) -> Option<Self> {
        let mut reference = Self { name, version: None, at: None, bytes: None };
        for (key, value) in fields.iter() {
            match key {
                ARTIFACT => {}
                "version" => reference.version = Some(value.number()?),
                "at" => reference.at = Some(value.number()?),
                "bytes" => reference.bytes = Some(value.number()?),
                _ => return None,
            }
        }
        Some(reference)
    }

    /// The version; 0, which none has, when it names none.
    pub(crate) fn version(&self) -> u32 {
        self.version.unwrap_or(0)
    }

    /// Whether it is to the letter what stands in a package for this artifact.
    pub(crate) fn is_to(&self, artifact: &Artifact) -> bool {
        let Artifact { name, version, at, value, .. } = artifact;
        *self == Reference { name, version: Some(*version), at: Some(*at), bytes: Some(value.bytes()) }
    }
}

/// The artifacts of a package, by name.
pub(crate) fn forms(package: &HandoffPackage) -> impl DoubleEndedIterator<Item = (&str, Form<'_>)> {
    let forms: Vec<_> = package.artifacts().iter().collect();
    forms.into_iter().filter_map(|(name, value)| Some((name, Form::of(value)?)))
}

/// Where the references of a package stand.
pub(crate) fn references(package: &HandoffPackage) -> Vec<String> {
    let referred = forms(package).filter(|(_, form)| !matches!(form, Form::Value(_)));
    referred.map(|(name, _)| path(name)).collect()
}

/// The artifacts that are neither a value nor a reference.
pub(crate) fn broken(artifacts: &Fields) -> impl Iterator<Item = PackageError> {
    let broken = artifacts.iter().filter(|(_, value)| Form::of(value).is_none());
    broken.map(|(name, _)| PackageError::BrokenReference { path: path(name) })
}

pub(crate) fn path(name: &str) -> String {
    format!("artifacts.{name}")
}
