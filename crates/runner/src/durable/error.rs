//! Why a conversation could not be driven.

use sommelier_handoff::{Divergence, Misfit, Rejected};
use sommelier_protocol::transcript::fingerprint;

use crate::RunError;
use crate::journal::JournalError;

/// A conversation that could not be driven, or not read. What is on record is safe.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DurableError {
    /// There is no such conversation, or nobody has spoken in it: the caller's fault.
    #[error("there is no conversation {0:?}")]
    Unknown(String),
    /// A name that a conversation cannot have: the caller's fault.
    #[error(
        "{0:?} is no name for a conversation: it ends with three numbers between slashes, as the paths of branches do"
    )]
    Name(String),
    /// Another process has the lease: it drives the conversation, has driven it and keeps it for the next turn, or has died.
    /// Nothing was written, and nobody here knows which of these it is. Make the same call again, a moment later and at
    /// latest after `until`, with the same [key](crate::Turn::key) where it is a turn: a process that lives may have given the
    /// answer meanwhile, which is then told, or [released](crate::DurableRunner::release) the conversation; it may also have
    /// renewed its lease, and the error then has a later `until`. Of one that has died, `until` stays, and the first call
    /// after it goes on.
    #[error("`{owner}` drives the conversation {conversation:?}, until {until} at least")]
    Held {
        /// The conversation.
        conversation: String,
        /// Who has the lease.
        owner: String,
        /// Until when unless it is renewed, in milliseconds since 1970 by the clock of whoever has it.
        until: u64,
    },
    /// The call comes from within the conversation, as from one of its tools, and would wait for itself; or for one that waits
    /// for it: the caller's fault. Nothing was done. Who wants to speak to it has [`tell`](super::DurableRunner::tell).
    #[error("{conversation:?} cannot be waited for from within itself; `tell` speaks to it")]
    Inside {
        /// The conversation.
        conversation: String,
    },
    /// A key that names another turn: the caller's fault.
    #[error(
        "the key {key:?} of {conversation:?} is of other words: {recorded} are on record, {found} have come now"
    )]
    KeyReused {
        /// The conversation.
        conversation: String,
        /// The key.
        key: String,
        /// A fingerprint of the words on record, in hexadecimal.
        recorded: String,
        /// A fingerprint of the words that came.
        found: String,
    },
    /// A key of a turn with words in it that the [redactor](crate::Runner::redact) takes out: the caller's fault. Keys are
    /// compared and kept as they are, so one without such words is needed, such as a message's id. Nothing was written.
    #[error(
        "the key of a turn in {conversation:?} has words in it that are not to be kept; give one without, such as a message's id"
    )]
    SecretKey {
        /// The conversation.
        conversation: String,
    },
    /// An answer that cannot be taken: the fault of whoever gave it. Nothing of it is on record.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// An answer to another question than the one that is open under this id. Nothing of it is on record.
    #[error("the answer to {id} is to a question with the digest {seen}, and {found} is open")]
    OtherQuestion {
        /// The question's id.
        id: String,
        /// What the person has seen.
        seen: String,
        /// What is open.
        found: String,
    },
    /// An input that does not fit where the run stands: the caller's fault. Nothing of it is on record.
    #[error(transparent)]
    Misfit(Misfit),
    /// The records are not those of a run of this definition. They are not gone on with, and nothing of them is lost.
    #[error("record {seq} of {conversation:?} does not follow: {why}")]
    Diverged {
        /// The conversation.
        conversation: String,
        /// The first record that does not follow.
        seq: u64,
        /// Why.
        why: Box<Divergence>,
    },
    /// The journal could not be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The run could not be driven.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl DurableError {
    pub(super) fn refused(misfit: Misfit) -> Self {
        match misfit {
            Misfit::Rejected(rejected) => Self::Rejected(rejected),
            misfit => Self::Misfit(misfit),
        }
    }

    pub(super) fn secret_key(conversation: &str) -> Self {
        Self::SecretKey { conversation: conversation.to_owned() }
    }

    pub(super) fn key_reused(conversation: &str, key: &str, recorded: &str, found: &str) -> Self {
        let print = |text: &str| format!("{:016x}", fingerprint(text));
        Self::KeyReused {
            conversation: conversation.to_owned(),
            key: key.to_owned(),
            recorded: print(recorded),
            found: print(found),
        }
    }
}
