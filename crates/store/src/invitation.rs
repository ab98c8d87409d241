//! An invitation to answer one question, and the token by which it is taken up.

use std::collections::BTreeMap;
use std::fmt;

use sommelier_runner::journal::{Hash, JournalError};
use subtle::ConstantTimeEq as _;
use thiserror::Error;

use crate::hash::Fields;

/// Bytes by which an invitation is found. They are no secret.
const ID: usize = 8;

/// Bytes that nobody guesses.
const SECRET: usize = 32;

/// What somebody is invited to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvitedTo<'a> {
    /// The conversation that asks.
    pub conversation: &'a str,
    /// The question's id.
    pub question: &'a str,
    /// The fingerprint of what is asked: the invitation is to just this question.
    pub digest: &'a str,
    /// Who is invited, for the record.
    pub whom: Option<&'a str>,
}

/// A person outside may answer one question, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// Its name. It stands open at the beginning of the token and is no secret.
    pub id: String,
    /// The conversation that asks.
    pub conversation: String,
    /// The question's id.
    pub question: String,
    /// The fingerprint of what was asked when it was issued.
    pub digest: String,
    /// Who is invited, if anybody said so.
    pub whom: Option<String>,
    /// When it was issued, in milliseconds since 1970.
    pub issued: u64,
    /// When it is over, in milliseconds since 1970: from this moment on its token is refused.
    pub until: u64,
    /// What has become of it.
    pub standing: Standing,
}

/// What has become of an invitation. Whether its time is over is for the clock to say, and whether its question is open for
/// the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nobody has made use of it.
    Open,
    /// Its token was used.
    Spent {
        /// When, in milliseconds since 1970.
        at: u64,
    },
    /// It was taken back.
    Withdrawn {
        /// When, in milliseconds since 1970.
        at: u64,
    },
}

impl Invitation {
    /// Whether its token would be taken at this moment, as far as that does not depend on the question.
    pub fn is_open(&self, now: u64) -> bool {
        self.standing == Standing::Open && now < self.until
    }

    /// Who answers by it, in the words that belong on record: `invitation 93c1a40b7d52e6f8`, with the person's name before
    /// it where it was given when the invitation was issued.
    pub fn by(&self) -> String {
        match &self.whom {
            Some(whom) => format!("{whom}, by invitation {}", self.id),
            None => format!("invitation {}", self.id),
        }
    }

    /// An error if the token is not good at this moment. The secret is compared first: who does not have it is not told apart
    /// by anything else.
    pub(crate) fn admit(&self, token: &Token, hash: &Hash, now: u64) -> Result<(), TokenRefused> {
        let is_same: bool = self.sealed_with(token).as_bytes().ct_eq(hash.as_bytes()).into();
        let id = self.id.clone();
        match self.standing {
            _ if !is_same => Err(TokenRefused::Wrong { id }),
            Standing::Spent { at } => Err(TokenRefused::Spent { id, at }),
            Standing::Withdrawn { at } => Err(TokenRefused::Withdrawn { id, at }),
            Standing::Open if now >= self.until => Err(TokenRefused::Expired { id, until: self.until }),
            Standing::Open => Ok(()),
        }
    }

    /// The hash that is stored in the token's place. It is over all that the invitation is bound to, so a row that was
    /// changed by hand opens to no token. The secret is of 32 bytes by chance: there is nothing to salt or to slow down.
    pub(crate) fn sealed_with(&self, token: &Token) -> Hash {
        let mut fields = Fields::of("sommelier-store invitation 1");
        fields.text(&token.secret);
        fields.text(&self.id);
        fields.text(&self.conversation);
        fields.text(&self.question);
        fields.text(&self.digest);
        fields.text(self.whom.as_deref().unwrap_or_default());
        fields.number(self.issued);
        fields.number(self.until);
        fields.finish()
    }
}

/// What an invited person has and nobody else. It is stored nowhere: what is lost is issued anew.
///
/// It has no `Display`, and its `Debug` has nothing secret in it. [`reveal`](Self::reveal) is the one way to its text.
pub struct Token {
    id: String,
    secret: String,
}

impl Token {
    /// A token by chance: the chance is the operating system's.
    pub(crate) fn by_chance() -> Result<Self, getrandom::Error> {
        let (mut id, mut secret) = ([0; ID], [0; SECRET]);
        getrandom::fill(&mut id)?;
        getrandom::fill(&mut secret)?;
        Ok(Self { id: hex(&id), secret: hex(&secret) })
    }

    /// The token of a text, if the text is like one.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let is_hex = |text: &str, bytes: usize| {
            text.len() == 2 * bytes && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let (id, secret) = text.split_once('.')?;
        (is_hex(id, ID) && is_hex(secret, SECRET))
            .then(|| Self { id: id.to_owned(), secret: secret.to_owned() })
    }

    /// Whether a text is like a token, right or wrong: to be kept out of messages and logs.
    pub fn is_like(text: &str) -> bool {
        Self::read(text.trim()).is_some()
    }

    /// The invitation's name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The token as text, for the person who is invited and nobody else: 81 characters that are safe in an address, 16
    /// hexadecimal digits that name the invitation, a dot, and 64 that are secret.
    pub fn reveal(&self) -> String {
        format!("{}.{}", self.id, self.secret)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("id", &self.id).finish_non_exhaustive()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Why a token was refused, for whoever runs the house. Whoever presented it is told [`TOLD`](Self::TOLD), whichever it
/// was: a reason would help to guess.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TokenRefused {
    /// The text is none of a token.
    #[error("the text is no token")]
    Misshapen,
    /// No invitation has this name.
    #[error("no such invitation was issued")]
    Unknown,
    /// The secret is not that of the invitation.
    #[error("the secret is not that of invitation {id}")]
    Wrong {
        /// The invitation.
        id: String,
    },
    /// The token was used before.
    #[error("invitation {id} was made use of at {at}")]
    Spent {
        /// The invitation.
        id: String,
        /// When, in milliseconds since 1970.
        at: u64,
    },
    /// The invitation was taken back.
    #[error("invitation {id} was withdrawn at {at}")]
    Withdrawn {
        /// The invitation.
        id: String,
        /// When, in milliseconds since 1970.
        at: u64,
    },
    /// The time is over.
    #[error("invitation {id} was over at {until}")]
    Expired {
        /// The invitation.
        id: String,
        /// When it was over, in milliseconds since 1970.
        until: u64,
    },
    /// The question is not open any more.
    #[error("the question of invitation {id} is not open")]
    Closed {
        /// The invitation.
        id: String,
    },
    /// Something else is asked by now.
    #[error("invitation {id} is to a question with the digest {shown}, and {open} is open")]
    OtherQuestion {
        /// The invitation.
        id: String,
        /// The digest when it was issued.
        shown: String,
        /// That of the question that is open.
        open: String,
    },
}

impl TokenRefused {
    /// All that the holder of a token that is refused is told.
    pub const TOLD: &str = "the token is not valid";

    /// The reason in a word, under which it is counted.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Misshapen => "misshapen",
            Self::Unknown => "unknown",
            Self::Wrong { .. } => "wrong",
            Self::Spent { .. } => "spent",
            Self::Withdrawn { .. } => "withdrawn",
            Self::Expired { .. } => "expired",
            Self::Closed { .. } => "closed",
            Self::OtherQuestion { .. } => "other_question",
        }
    }

    /// The invitation, where one of that name was issued.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Misshapen | Self::Unknown => None,
            Self::Wrong { id }
            | Self::Spent { id, .. }
            | Self::Withdrawn { id, .. }
            | Self::Expired { id, .. }
            | Self::Closed { id }
            | Self::OtherQuestion { id, .. } => Some(id),
        }
    }
}

/// How many tokens a journal's invitations have refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefusedTokens {
    /// How many in all.
    pub total: u64,
    /// When the last one was, in milliseconds since 1970.
    pub last: Option<u64>,
    /// How many for each [reason](TokenRefused::as_str).
    pub reasons: BTreeMap<String, u64>,
}

/// Why no invitation was issued. Nothing of it is in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum IssueError {
    /// It would be over before it begins: the caller's own mistake.
    #[error("an invitation that is over at {until} is of no use at {now}")]
    Over {
        /// The time at which it was to be issued.
        now: u64,
        /// The time at which it was to be over.
        until: u64,
    },
    /// The operating system gives no numbers by chance, with what it says.
    #[error("the operating system gives no chance: {0}")]
    NoChance(String),
    /// The journal does not take it.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// Why a token is not good.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CheckError {
    /// It was refused, which has been counted.
    #[error(transparent)]
    Refused(#[from] TokenRefused),
    /// The journal cannot be read: the token may be good.
    #[error(transparent)]
    Journal(#[from] JournalError),
}
