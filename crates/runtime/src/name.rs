//! Names of agents.

use serde::{Deserialize, Serialize};
use sommelier_protocol::IllegalName;
use std::fmt;

/// Quotes as they stand around a word in one language or another.
const QUOTES: [char; 14] = ['"', '\'', '`', '“', '”', '„', '‟', '‘', '’', '‚', '«', '»', '‹', '›'];

/// An agent's name: a lower-case ASCII letter, then up to 63 lower-case letters, digits or `_`; and none of
/// the words in [`AgentName::RESERVED`], which mean someone else in a conversation.
///
/// A narrow alphabet keeps names apart that look alike, and makes two names equal only when they are the
/// same text. What people read is an agent's label, which may be any text.
///
/// ```
/// use sommelier_runtime::AgentName;
///
/// assert!(AgentName::new("booking_agent").is_ok());
/// assert!(AgentName::new("Booking agent").is_err());
/// assert!(AgentName::new("user").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Box<str>", into = "Box<str>")]
pub struct AgentName(Box<str>);

impl AgentName {
    /// Words that are no agent's name.
    pub const RESERVED: [&'static str; 9] =
        ["all", "assistant", "human", "model", "none", "self", "system", "tool", "user"];

    /// Checks `text` and keeps it.
    ///
    /// # Errors
    /// [`IllegalName`], with the rule, when `text` breaks it.
    pub fn new(text: impl Into<Box<str>>) -> Result<Self, IllegalName> {
        let text = text.into();
        if Self::RESERVED.contains(&&*text) {
            return Err(IllegalName::new("agent name", &text, "a reserved word that means someone else"));
        }
        let mut bytes = text.bytes();
        let begins = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase());
        let goes_on = bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        if begins && goes_on && text.len() <= 64 {
            return Ok(Self(text));
        }
        Err(IllegalName::new("agent name", &text, "a lower-case letter, then up to 63 of a-z, 0-9 and _"))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The one normal form of a name that a model wrote: blanks, line ends and quotes around it taken off,
    /// ASCII letters made lower-case. It is looked up as it then stands; nothing else is guessed.
    ///
    /// ```
    /// use sommelier_runtime::AgentName;
    ///
    /// assert_eq!(AgentName::normalise("\"Policy_Agent\"\n"), "policy_agent");
    /// assert_eq!(AgentName::normalise("« Policy_Agent »"), "policy_agent");
    /// ```
    pub fn normalise(written: &str) -> String {
        written.trim_matches(|c: char| c.is_whitespace() || QUOTES.contains(&c)).to_ascii_lowercase()
    }
}

impl TryFrom<Box<str>> for AgentName {
    type Error = IllegalName;

    fn try_from(text: Box<str>) -> Result<Self, IllegalName> {
        Self::new(text)
    }
}

impl From<AgentName> for Box<str> {
    fn from(name: AgentName) -> Self {
        name.0
    }
}

impl std::borrow::Borrow<str> for AgentName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for AgentName {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for AgentName {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
