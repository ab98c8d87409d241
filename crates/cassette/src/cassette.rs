//! The cassette.

use std::fs;
use std::io::Read;
use std::path::Path;

use sommelier_runtime::Model;

use crate::{CassetteError, Exchange, reading, write_whole, writing};

/// The most bytes of a cassette, as a text: 64 MiB.
pub const MAX_BYTES: usize = 64 << 20;

/// Exchanges with a model, in one order that is the same whenever the same is recorded.
///
/// As a text it is JSON for people, described on the [crate's page](crate#the-file).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cassette {
    pub(crate) source: Source,
    pub(crate) exchanges: Vec<Exchange>,
}

impl Cassette {
    /// What was recorded.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The exchanges, in their order.
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// The cassette as a text.
    ///
    /// # Errors
    /// [`CassetteError`]: it could not be read again, [for its size](CassetteError::TooLarge) say.
    pub fn to_json(&self) -> Result<String, CassetteError> {
        let json = writing::cassette(self)?.pretty();
        // What is written in the place of another one is one that can be read.
        Self::from_json(&json)?;
        Ok(json)
    }

    /// Reads a cassette from its text. White space and the order of members are as you like, so it may have been written or
    /// changed by hand.
    ///
    /// # Errors
    /// [`CassetteError`] names the first place at which it is none, and what would be right there.
    pub fn from_json(json: &str) -> Result<Self, CassetteError> {
        within(json.len() as u64)?;
        reading::cassette(json)
    }

    /// Reads a cassette from a file.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json); and [`CassetteError::File`] when the file cannot be read.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, CassetteError> {
        let path = path.as_ref();
        let failed = |error| CassetteError::file(path, "read", &error);
        let mut bytes = Vec::new();
        let file = fs::File::open(path).map_err(failed)?;
        file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
        within(bytes.len() as u64)?;
        let json = String::from_utf8(bytes).map_err(|error| CassetteError::Json {
            why: format!("it is no UTF-8 from byte {} on", error.utf8_error().valid_up_to()),
        })?;
        Self::from_json(&json)
    }

    /// Writes the cassette to a file, as [`write_whole`] does.
    ///
    /// # Errors
    /// As [`to_json`](Self::to_json); and [`CassetteError::File`] when it cannot be written. What was there is there still.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), CassetteError> {
        let (path, json) = (path.as_ref(), self.to_json()?);
        write_whole(path, json.as_bytes()).map_err(|error| CassetteError::file(path, "write", &error))
    }
}

fn within(bytes: u64) -> Result<(), CassetteError> {
    if bytes > MAX_BYTES as u64 { Err(CassetteError::TooLarge) } else { Ok(()) }
}

/// The model that was recorded, as it tells of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Who runs it.
    pub provider: Box<str>,
    /// Its own name, when it is not the one that requests name.
    pub name: Option<Box<str>>,
    /// The label of its replies, when no live model made them.
    pub label: Option<Box<str>>,
}

impl Default for Source {
    /// A model of which nothing is known.
    fn default() -> Self {
        Self { provider: "_other".into(), name: None, label: None }
    }
}

impl Source {
    /// What a model tells of itself.
    ///
    /// ```
    /// use sommelier_cassette::Source;
    /// use sommelier_runtime::ScriptedModel;
    ///
    /// assert_eq!(Source::of(&ScriptedModel::new()).label.as_deref(), Some("concept (claude-sonnet-5)"));
    /// ```
    pub fn of(model: &(impl Model + ?Sized)) -> Self {
        Self {
            provider: model.provider().into(),
            name: model.name().map(Into::into),
            label: model.label().map(Into::into),
        }
    }

    /// What a replay's replies are labelled with.
    pub(crate) fn label_of_replay(&self) -> String {
        let known = self.label.as_deref().or(self.name.as_deref());
        let provider = (*self.provider != *"_other").then_some(&*self.provider);
        format!("recorded from {}", known.or(provider).unwrap_or("a model"))
    }
}
