//! What a caller hands in: an event that has no place in a journal yet.

use serde::Deserialize;
use serde::de::IgnoredAny;
use thiserror::Error;

use super::claim::Claim;

/// The kind of the events by which leases are taken. Only a store writes it.
pub const LEASE_TAKEN: &str = "lease_taken";

/// The longest body of an event, in bytes: 16 MiB.
pub const MAX_BODY: usize = 16 << 20;

/// The longest name of a conversation or an owner, in bytes.
pub const MAX_NAME: usize = 256;

const MAX_KIND: usize = 64;

/// The largest number that every store can hold: in a time, a term or a place, 2^63 - 1.
pub const MAX_NUMBER: u64 = i64::MAX as u64;

/// Something that happened, as a kind with its version, a time and a body of JSON.
///
/// The body is kept byte for byte: it is checked to be JSON and otherwise not read. What has to be secret
/// must be gone from it before it comes here.
///
/// ```
/// use sommelier_runner::journal::Event;
///
/// let event = Event::new("turn_received", 1, 1_750_000_000_000, r#"{"text": "Is Focus free?"}"#)?;
/// assert_eq!(event.body(), r#"{"text": "Is Focus free?"}"#);
/// assert!(Event::new("turn_received", 1, 0, "not JSON").is_err());
/// assert!(Event::new("Turn received", 1, 0, "{}").is_err());
/// # Ok::<(), sommelier_runner::journal::Unfit>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    kind: String,
    version: u32,
    at: u64,
    body: String,
    claims: Vec<Claim>,
}

impl Event {
    /// An event of a kind, in a version of that kind's body, at a time in milliseconds since 1970.
    ///
    /// # Errors
    ///
    /// `kind` is not one to 64 characters of `a-z`, `0-9` and `_`, or is [`LEASE_TAKEN`], which stores write
    /// by themselves; `at` is beyond 2^63 - 1; `body` is longer than [`MAX_BODY`] or is no JSON text.
    pub fn new(
        kind: impl Into<String>,
        version: u32,
        at: u64,
        body: impl Into<String>,
    ) -> Result<Self, Unfit> {
        let event = Self { kind: kind.into(), version, at, body: body.into(), claims: Vec::new() };
        let legal = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
        if !(1..=MAX_KIND).contains(&event.kind.len())
            || !event.kind.bytes().all(legal)
            || event.kind == LEASE_TAKEN
        {
            return Err(Unfit::Kind(event.kind));
        }
        if at > MAX_NUMBER {
            return Err(Unfit::Number(at));
        }
        if event.body.len() > MAX_BODY {
            return Err(Unfit::LongBody(event.body.len()));
        }
        is_json(&event.body).map_err(|why| Unfit::Body(why.to_string()))?;
        Ok(event)
    }

    /// For stores: the event by which an owner takes a lease, for a `term` in milliseconds.
    pub fn lease_taken(owner: &str, at: u64, term: u64) -> Self {
        let body = serde_json::json!({ "owner": owner, "term": term }).to_string();
        Self { kind: LEASE_TAKEN.to_owned(), version: 1, at, body, claims: Vec::new() }
    }

    /// For stores: an event as it was read back, unchecked. What is wrong with it shows in its hash.
    pub const fn unchecked(kind: String, version: u32, at: u64, body: String) -> Self {
        Self { kind, version, at, body, claims: Vec::new() }
    }

    /// The event with what it does to the names that one conversation has at a time, in this order. It is done when the event
    /// is written, and is not part of what is read back.
    #[must_use]
    pub fn claiming(self, claims: impl IntoIterator<Item = Claim>) -> Self {
        Self { claims: claims.into_iter().collect(), ..self }
    }

    /// What it does to the names that one conversation has at a time.
    pub fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// What kind of thing happened.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Which version of the kind's body this is.
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// When, in milliseconds since 1970, by the caller's clock.
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// The body, as it came.
    pub fn body(&self) -> &str {
        &self.body
    }
}

fn is_json(text: &str) -> Result<(), serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    IgnoredAny::deserialize(&mut reader)?;
    reader.end()
}

/// A value that no journal takes, whatever is in it: the caller's own mistake.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unfit {
    /// No kind of an event, or one that is a store's own.
    #[error("`{0}` is no kind of an event")]
    Kind(String),
    /// A time, a term or a sequence number that is too large.
    #[error("{0} is beyond what a journal counts to")]
    Number(u64),
    /// A body that is no JSON text.
    #[error("the body is no JSON: {0}")]
    Body(String),
    /// A body that is too long, with its bytes.
    #[error("the body has {0} bytes, more than {MAX_BODY}")]
    LongBody(usize),
    /// The name of a conversation or an owner that is empty, too long, or holds U+0000.
    #[error("a name is 1 to {MAX_NAME} bytes without U+0000, not {0:?}")]
    Name(String),
    /// A batch without an event.
    #[error("the batch is empty")]
    Empty,
}

impl Unfit {
    /// For stores: refuses a name of a conversation or an owner that is none.
    ///
    /// # Errors
    ///
    /// [`Unfit::Name`].
    pub fn check_name(name: &str) -> Result<(), Self> {
        if (1..=MAX_NAME).contains(&name.len()) && !name.contains('\0') {
            return Ok(());
        }
        // Enough to know it by; a name of megabytes is not carried on in an error.
        Err(Self::Name(name.chars().take(64).collect()))
    }

    /// For stores: refuses a number beyond [`MAX_NUMBER`].
    ///
    /// # Errors
    ///
    /// [`Unfit::Number`].
    pub const fn check_number(number: u64) -> Result<(), Self> {
        if number > MAX_NUMBER { Err(Self::Number(number)) } else { Ok(()) }
    }
}
