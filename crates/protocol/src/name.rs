//! Names and ids that check themselves.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A text that is no legal name or id: which one, and the rule it breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found:?} is no {what}: {rule}")]
pub struct IllegalName {
    /// What the text was meant to be, such as `tool name`.
    pub what: &'static str,
    /// The text found, cut to its first 80 characters.
    pub found: String,
    /// What would be right.
    pub rule: &'static str,
}

impl IllegalName {
    /// An error that quotes at most 80 characters of `found`.
    pub fn new(what: &'static str, found: &str, rule: &'static str) -> Self {
        Self { what, found: found.chars().take(80).collect(), rule }
    }
}

pub(crate) fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

macro_rules! checked_name {
    ($(#[$meta:meta])* $name:ident, $what:literal, $rule:literal, $is_legal:expr) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "Box<str>", into = "Box<str>")]
        pub struct $name(Box<str>);

        impl $name {
            /// Checks `text` and keeps it.
            ///
            /// # Errors
            /// [`IllegalName`], with the rule, when `text` breaks it.
            pub fn new(text: impl Into<Box<str>>) -> Result<Self, IllegalName> {
                let text = text.into();
                if Self::is_legal(&text) { Ok(Self(text)) } else { Err(IllegalName::new($what, &text, $rule)) }
            }

            /// Whether `text` keeps the rule.
            pub fn is_legal(text: &str) -> bool {
                $is_legal(text)
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<Box<str>> for $name {
            type Error = IllegalName;

            fn try_from(text: Box<str>) -> Result<Self, IllegalName> {
                Self::new(text)
            }
        }

        impl From<$name> for Box<str> {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl $crate::wire::Member for $name {}
    };
}

checked_name!(
    /// A tool's name: 1 to 64 ASCII letters, digits, `_` or `-`, as the Messages API asks.
    ///
    /// ```
    /// use sommelier_protocol::ToolName;
    ///
    /// assert_eq!(ToolName::new("get_quote")?.as_str(), "get_quote");
    /// assert!(ToolName::new("get quote").is_err());
    /// # Ok::<(), sommelier_protocol::IllegalName>(())
    /// ```
    ToolName,
    "tool name",
    "1 to 64 ASCII letters, digits, `_` or `-`",
    |text: &str| text.len() <= 64 && is_word(text)
);

checked_name!(
    /// The id of one tool call: at least one ASCII letter, digit, `_` or `-`; at most 256 bytes here, since an
    /// id is echoed in every request.
    ToolUseId,
    "tool_use id",
    "1 to 256 ASCII letters, digits, `_` or `-`",
    |text: &str| text.len() <= 256 && is_word(text)
);
