//! SHA-256 over fields that each have their length before them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// A SHA-256. As text, and in JSON, 64 hexadecimal digits in lower case.
///
/// ```
/// use sommelier_store::Hash;
///
/// let text = "00".repeat(32);
/// assert_eq!(text.parse(), Ok(Hash::ZERO));
/// assert_eq!(Hash::ZERO.to_string(), text);
/// assert!("00".parse::<Hash>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hash([u8; 32]);

impl Hash {
    /// What the first record of a conversation has in front of it.
    pub const ZERO: Self = Self([0; 32]);

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(crate) const fn of_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

/// A text that is not 64 hexadecimal digits in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a hash is 64 hexadecimal digits in lower case, not `{0}`")]
pub struct NotAHash(String);

impl FromStr for Hash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let byte = |pair: &[u8]| match *pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        };
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
        let bytes = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        bytes.map(Self).ok_or_else(|| NotAHash(text.to_owned()))
    }
}

impl TryFrom<String> for Hash {
    type Error = NotAHash;

    fn try_from(text: String) -> Result<Self, NotAHash> {
        text.parse()
    }
}

impl From<Hash> for String {
    fn from(hash: Hash) -> Self {
        hash.to_string()
    }
}

/// Fields on their way into a hash. Each goes in behind its length as eight bytes, so no two lists of fields
/// are the same bytes: what ends one field cannot begin the next.
#[derive(Clone)]
pub(crate) struct Fields(Sha256);

impl Fields {
    /// `what` keeps the hashes of one kind of thing apart from those of another.
    pub(crate) fn of(what: &str) -> Self {
        let mut fields = Self(Sha256::new());
        fields.text(what);
        fields
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn number(&mut self, number: u64) {
        self.bytes(&number.to_be_bytes());
    }

    pub(crate) fn hash(&mut self, hash: &Hash) {
        self.bytes(hash.as_bytes());
    }

    pub(crate) fn finish(self) -> Hash {
        Hash(self.0.finalize().into())
    }

    fn bytes(&mut self, bytes: &[u8]) {
        // No machine has a length that 64 bits do not hold.
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }
}
