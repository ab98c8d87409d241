//! What a driver needs to know of a journal: the trait that every store of events implements, and the plain types
//! that it speaks of.
//!
//! **What this module knows:** conversations, each a list of events with numbers from 1, a time and a body of JSON; who
//! may append to one; and what can be wrong with what was kept.
//!
//! **What it does not know:** where events are kept. It opens no file and computes no hash. `sommelier-store` has two
//! stores, in a file of SQLite and in memory, and its docs say what every store promises; its feature `conformance` holds
//! a store of one's own to it. What a store alone has a use for says so in its docs.

mod claim;
mod event;
mod finding;
mod hash;
mod head;
mod late;
mod lease;
mod record;
mod work;

use thiserror::Error;

pub use claim::Claim;
pub use event::{Event, LEASE_TAKEN, MAX_BODY, MAX_NAME, MAX_NUMBER, Unfit};
pub use finding::{Damage, Finding, Verified};
pub use hash::{Hash, NotAHash};
pub use head::{Head, Heads};
pub use late::LateResult;
pub use lease::{Epoch, Lease};
pub use record::Record;
pub use work::{Undone, Work};

/// A journal of events, in conversations that know nothing of each other but for the names that one of them has at a time.
///
/// There is one way to write, [`append`](Self::append): leases are taken by an append of their own kind, and
/// [`append_with`](Self::append_with) is an append whose events come about while it is made. What is answered with `Ok` is
/// safe: it is there after a crash. Calls block until they are answered, and every call is answered.
///
/// Time comes from the caller, in milliseconds since 1970. A store has no clock.
pub trait Journal: Send + Sync {
    /// Appends events behind the record `expected_seq`, all of them or none.
    ///
    /// The same batch again, because its answer was lost, is not written again: it is answered with
    /// [`Appended::Duplicate`]. It is the same if conversation, `expected_seq` and events are the same, to
    /// the byte. What its events [claim](Event::claiming) is done in the same commit.
    ///
    /// # Errors
    ///
    /// In the order in which they are looked for: what no journal takes ([`JournalError::Unfit`]), a store
    /// that is broken, a conversation that is damaged ([`JournalError::ReadOnly`]), an epoch that is not the
    /// present one ([`JournalError::Fenced`]), another head than was expected ([`JournalError::Conflict`]);
    /// then whatever prevents a write. After any error but [`JournalError::Broken`] nothing was written.
    /// After that one it is either all there or not at all, and a look at the reopened store tells.
    fn append(
        &self,
        conversation: &str,
        expected_seq: u64,
        epoch: Epoch,
        events: &[Event],
    ) -> Result<Appended, JournalError>;

    /// Does a work in the store's transaction and appends the events that it tells, all of it or nothing: what the work
    /// wrote to the same database and its events are both there, or both absent.
    ///
    /// Epoch and number are looked at first, so nothing of the work is begun for who is fenced or behind. It is called
    /// once at most. Others who want to write wait for it, so it had better be short; by itself it may read what stood
    /// before, from this journal, and is refused as [`JournalError::Busy`] where it wants to write other than through
    /// what it is handed.
    ///
    /// There is no [`Appended::Duplicate`] here: nobody knows the events before the work is done. Whoever has lost an
    /// answer and asks again is told of a conflict, and finds what happened in the journal.
    ///
    /// # Errors
    ///
    /// As [`append`](Self::append); and [`JournalError::Undone`] if the work undoes itself or the database has undone it,
    /// [`JournalError::Refused`] if the database does not take what it wrote, [`JournalError::Panicked`] if it panics, after which nothing of it is there and the store goes on.
    fn append_with(
        &self,
        conversation: &str,
        expected_seq: u64,
        epoch: Epoch,
        work: &mut Work<'_>,
    ) -> Result<Appended, JournalError>;

    /// Takes the right to write to a conversation, by an append that raises its epoch by one.
    ///
    /// It raises the epoch also for one who has the lease already, so what that one's other workers still
    /// write is refused. `now` and `term` are in milliseconds.
    ///
    /// # Errors
    ///
    /// [`JournalError::Held`] while somebody else's lease runs; else as [`append`](Self::append).
    fn take_lease(&self, conversation: &str, owner: &str, now: u64, term: u64)
    -> Result<Lease, JournalError>;

    /// Lets a lease run until `now + term`, or ends it at once with a `term` of 0.
    ///
    /// Appends renew a lease by themselves; this is for who waits long for something. It writes no event,
    /// since nothing of the conversation follows from it.
    ///
    /// # Errors
    ///
    /// As [`append`](Self::append), but for [`JournalError::Conflict`].
    fn renew_lease(&self, conversation: &str, epoch: Epoch, now: u64, term: u64) -> Result<(), JournalError>;

    /// The last lease that was taken, whether or not its time is over.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn lease(&self, conversation: &str) -> Result<Option<Lease>, JournalError>;

    /// The records of a conversation from the number `from` on, after a check of the chain up to the last of
    /// them.
    ///
    /// # Errors
    ///
    /// [`JournalError::Damaged`] names the first record that is bad; or the store cannot be read.
    fn load(&self, conversation: &str, from: u64) -> Result<Vec<Record>, JournalError>;

    /// The records that can be read, unchecked, up to the first that cannot: for people who look at what is
    /// damaged. No run may go on from it.
    ///
    /// # Errors
    ///
    /// The store cannot be read at all.
    fn salvage(&self, conversation: &str) -> Result<Vec<Record>, JournalError>;

    /// The last record of each conversation, unchecked, in the order of their names: a cheap look at how each of them
    /// stands. A conversation of which that record cannot be read is not among them; [`load`](Self::load) tells why.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn newest(&self) -> Result<Vec<Record>, JournalError>;

    /// Keeps what a worker of an older epoch had to say, apart from the records, for [`late`](Self::late). It needs no
    /// lease, and a conversation that is damaged takes it as well. The same said twice is kept twice.
    ///
    /// # Errors
    ///
    /// The call is unfit, the store is broken, or whatever prevents a write.
    fn note_late(&self, conversation: &str, epoch: Epoch, event: &Event) -> Result<(), JournalError>;

    /// What workers of a conversation said too late, in the order in which it came.
    ///
    /// # Errors
    ///
    /// [`JournalError::Damaged`] if one of them is nothing that can be read, or the store cannot be read.
    fn late(&self, conversation: &str) -> Result<Vec<LateResult>, JournalError>;

    /// The conversation that has this name by a [`Claim`].
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn claimed(&self, name: &str) -> Result<Option<String>, JournalError>;

    /// All names that are taken, in order, each with the conversation that has it.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn claims(&self) -> Result<Vec<(String, String)>, JournalError>;

    /// The names of all conversations, in order.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn conversations(&self) -> Result<Vec<String>, JournalError> {
        Ok(self.heads()?.into_keys().collect())
    }

    /// Where a conversation ends; [`Head::START`] if it has no record.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn head(&self, conversation: &str) -> Result<Head, JournalError>;

    /// Where each conversation ends: to be exported, and kept where the store is not.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn heads(&self) -> Result<Heads, JournalError>;

    /// Looks at every record of one conversation, or of all, and compares with heads that were exported.
    ///
    /// What it finds makes the conversation read-only for this handle, until a later look finds it sound. An
    /// exported head that was missing stays missing for every later look of this handle, [`load`](Self::load)
    /// included, also where it is not given again. To go on without what was lost, open the store anew.
    ///
    /// # Errors
    ///
    /// The store cannot be read at all. What is damaged is no error here but a [`Finding`].
    fn verify(&self, conversation: Option<&str>, exported: &Heads) -> Result<Verified, JournalError>;
}

/// How an append ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The batch was written, and this is the head now.
    Head(Head),
    /// The very same batch had been written before, and this is the head that it made then. Where more has
    /// been written since, the next append is a conflict, so nobody writes past what they have not read.
    Duplicate(Head),
}

impl Appended {
    /// The head that the batch made.
    pub const fn head(self) -> Head {
        match self {
            Self::Head(head) | Self::Duplicate(head) => head,
        }
    }
}

/// Why a journal did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Somebody has written meanwhile, or the number was never right. Load what is new, and decide again.
    #[error("the conversation stands at record {}", .0.seq)]
    Conflict(Head),
    /// The epoch is not the present one, which is told: somebody else has the lease. Stop, and do not act any
    /// more.
    #[error("the conversation is in epoch {0}")]
    Fenced(Epoch),
    /// Somebody else has the lease.
    #[error("`{owner}` has the lease until {until}")]
    Held {
        /// Who has it.
        owner: String,
        /// Until when, in milliseconds since 1970.
        until: u64,
    },
    /// An event takes a name that another conversation has. Nothing was written, also of what stood beside it in the batch.
    #[error("conversation {by:?} has taken {name:?}")]
    Claimed {
        /// The name.
        name: String,
        /// The conversation that has it.
        by: String,
    },
    /// The conversation is damaged, and nothing is written to it.
    #[error("read-only, since it is damaged: {0}")]
    ReadOnly(Finding),
    /// The conversation is damaged, and what is damaged is not handed out.
    #[error("damaged: {0}")]
    Damaged(Finding),
    /// There is no room. Nothing was written; the same call may succeed when there is room again.
    #[error("there is no room for it")]
    Full,
    /// Somebody else has kept the store locked for longer than it waits, or the work that waits for this call has.
    /// Nothing was written.
    #[error("the store is locked by somebody else")]
    Busy,
    /// The work undid itself, or the database undid it, which it does for instance where there is no room. Nothing of
    /// the work or its events is there.
    #[error("the work was undone")]
    Undone,
    /// The database does not take what the work wrote, with what it says: a row without its parent, say. Nothing of the work
    /// or its events is there, and the store goes on.
    #[error("the database refuses what the work wrote: {0}")]
    Refused(String),
    /// The work panicked, with these words. Nothing of the work or its events is there.
    #[error("the work panicked: {0}")]
    Panicked(String),
    /// After an error of the system nobody knows what is on disk. Every later call is answered with this,
    /// until the store is opened again and what is there has been read.
    #[error("the store is broken until it is opened again: {0}")]
    Broken(String),
    /// The file itself is damaged beyond one conversation. Nothing was written. What else of it can be read still is.
    #[error("the file itself is damaged: {0}")]
    Malformed(String),
    /// The call itself is not one that a journal takes.
    #[error(transparent)]
    Unfit(#[from] Unfit),
}

impl From<Undone> for JournalError {
    fn from(Undone: Undone) -> Self {
        Self::Undone
    }
}
