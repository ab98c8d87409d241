//! A copy of the journal elsewhere, which may be late and must hold up nobody.

use std::error::Error;
use std::sync::{Mutex, TryLockError};

use sommelier_runner::journal::{Damage, Finding, Head, Heads, Journal, JournalError, Record};
use thiserror::Error;

use crate::health::locked;

/// How many records are handed over at once, at most.
const LARGEST_PART: usize = 256;

/// Follows a journal and hands what is new to a sink: a file, another database, a service.
///
/// It only reads, at the times and on the thread of its caller, and it holds nothing of the journal while the sink
/// works. So a sink that is slow or dead holds up no append; how far it is behind is told by [`lag`](Self::lag), also
/// while it is stuck. What the sink has taken is remembered by its head, so a history that was cut off or written anew
/// since is noticed here, as [`verify`](Journal::verify) notices it.
///
/// ```
/// use sommelier_store::{Audit, Epoch, Event, Heads, Journal, MemoryStore};
///
/// let store = MemoryStore::new();
/// store.append("guest-7", 0, Epoch::NONE, &[Event::new("opened", 1, 0, "{}")?])?;
///
/// let audit = Audit::behind(Heads::new());
/// assert_eq!(audit.lag(&store)?.records, 1);
/// let mut lines = Vec::new();
/// let lag = audit.follow(&store, |records| {
///     lines.extend(records.iter().map(|record| format!("{} {}", record.conversation, record.event.kind())));
///     Ok(())
/// })?;
/// assert_eq!((lag.records, lines), (0, vec!["guest-7 opened".to_owned()]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Audit {
    taken: Mutex<Heads>,
    trouble: Mutex<Option<Trouble>>,
    following: Mutex<()>,
}

/// How far a sink is behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lag {
    /// How many records it has not taken.
    pub records: u64,
    /// Of which conversations, in order.
    pub conversations: Vec<String>,
    /// What was in the way when the journal was last followed.
    pub trouble: Option<Trouble>,
}

/// What keeps a sink from being up to date.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Trouble {
    /// The sink did not take what it was handed, with what it says.
    #[error("the sink: {0}")]
    Sink(String),
    /// The journal cannot be read, or a conversation is not what the sink has taken.
    #[error("the journal: {0}")]
    Journal(JournalError),
}

impl Audit {
    /// Goes on behind what the sink has taken already.
    pub fn behind(taken: Heads) -> Self {
        Self { taken: Mutex::new(taken), ..Self::default() }
    }

    /// Hands what is new to the sink, in parts of one conversation, each in its order. A part that the sink did not
    /// take is handed to it again the next time. Tells how far it is behind then.
    ///
    /// A conversation that is damaged keeps nobody from the others. Where another thread is following at this moment
    /// nothing is done.
    ///
    /// # Errors
    ///
    /// The journal cannot be read at all.
    pub fn follow(
        &self,
        journal: &dyn Journal,
        mut take: impl FnMut(&[Record]) -> Result<(), Box<dyn Error + Send + Sync>>,
    ) -> Result<Lag, JournalError> {
        let following = match self.following.try_lock() {
            Err(TryLockError::WouldBlock) => return self.lag(journal),
            // Each part is noted as a whole, so who panicked in between has harmed nothing.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Ok(following) => following,
        };
        let mut trouble = None;
        for (conversation, _) in self.behind_of(journal)? {
            let copied = self.copy(journal, &conversation, &mut take);
            let is_sink = matches!(copied, Err(Trouble::Sink(_)));
            trouble = trouble.or(copied.err());
            if is_sink {
                break;
            }
        }
        *locked(&self.trouble) = trouble;
        drop(following);
        self.lag(journal)
    }

    /// How far the sink is behind.
    ///
    /// # Errors
    ///
    /// The journal cannot be read at all.
    pub fn lag(&self, journal: &dyn Journal) -> Result<Lag, JournalError> {
        let behind = self.behind_of(journal)?;
        Ok(Lag {
            records: behind.iter().map(|(_, records)| records).sum(),
            conversations: behind.into_iter().map(|(conversation, _)| conversation).collect(),
            trouble: locked(&self.trouble).clone(),
        })
    }

    /// What the sink has taken: to be kept where it is, for [`behind`](Self::behind).
    pub fn taken(&self) -> Heads {
        locked(&self.taken).clone()
    }

    /// The conversations that stand elsewhere than the sink, with the records that it lacks.
    fn behind_of(&self, journal: &dyn Journal) -> Result<Vec<(String, u64)>, JournalError> {
        let (heads, taken) = (journal.heads()?, self.taken());
        let mut names: Vec<&String> = heads.keys().chain(taken.keys()).collect();
        names.sort();
        names.dedup();
        let behind = |name: &String| {
            let (there, here) = (head_of(&heads, name), head_of(&taken, name));
            (there != here).then(|| (name.clone(), there.seq.saturating_sub(here.seq)))
        };
        Ok(names.into_iter().filter_map(behind).collect())
    }

    fn copy(
        &self,
        journal: &dyn Journal,
        conversation: &str,
        take: &mut impl FnMut(&[Record]) -> Result<(), Box<dyn Error + Send + Sync>>,
    ) -> Result<(), Trouble> {
        let taken = head_of(&locked(&self.taken), conversation);
        let records = journal.load(conversation, taken.seq.max(1)).map_err(Trouble::Journal)?;
        let new = match &*records {
            new if taken == Head::START => new,
            [last, new @ ..] if last.head() == taken => new,
            [] => return Err(damaged(conversation, taken, Damage::Cut { exported: taken })),
            [_, ..] => return Err(damaged(conversation, taken, Damage::Replaced { exported: taken })),
        };
        for part in new.chunks(LARGEST_PART) {
            take(part).map_err(|error| Trouble::Sink(error.to_string()))?;
            if let Some(last) = part.last() {
                locked(&self.taken).insert(conversation.to_owned(), last.head());
            }
        }
        Ok(())
    }
}

fn head_of(heads: &Heads, conversation: &str) -> Head {
    heads.get(conversation).copied().unwrap_or(Head::START)
}

/// The record that the sink took last is not there any more.
fn damaged(conversation: &str, taken: Head, damage: Damage) -> Trouble {
    let finding = Finding { conversation: conversation.to_owned(), seq: taken.seq, damage };
    Trouble::Journal(JournalError::Damaged(finding))
}
