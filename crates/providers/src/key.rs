//! A key, which nobody sees.

use std::fmt;

use crate::SetupError;
use crate::error::CUT;

/// A key of a service. It has no `Display`, and its `Debug` does not show it.
#[derive(Clone)]
pub(crate) struct Key(String);

impl Key {
    /// The key that the environment holds; `None` where the variable is not set or blank.
    pub(crate) fn from_environment(variable: &str) -> Result<Option<Self>, SetupError> {
        let bad = |fault| SetupError::BadKey { variable: variable.to_owned(), fault };
        let key = match std::env::var(variable) {
            Ok(key) => key.trim().to_owned(),
            Err(std::env::VarError::NotPresent) => return Ok(None),
            Err(std::env::VarError::NotUnicode(_)) => return Err(bad("is no text")),
        };
        match key.bytes().all(|byte| byte.is_ascii_graphic()) {
            true => Ok(Some(Self(key)).filter(|key| !key.0.is_empty())),
            false => Err(bad("holds white space or other characters that no header takes")),
        }
    }

    /// For the one place where the key is written: the header of a request.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The text without the key, and without the part of it at the end of a text that was cut. What is too short to be a
    /// key is left alone, or half of a text would go.
    pub(crate) fn scrub(&self, text: &str) -> String {
        const SHORTEST: usize = 8;
        const SHOWS: usize = 4;
        if self.0.len() < SHORTEST {
            return text.to_owned();
        }
        let text = text.replace(&self.0, "[key]");
        let Some(cut) = text.strip_suffix(CUT) else { return text };
        let part = (SHOWS..self.0.len()).rev().find_map(|most| cut.strip_suffix(self.0.get(..most)?));
        part.map_or_else(|| text.clone(), |before| format!("{before}[key]{CUT}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}
