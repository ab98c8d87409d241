//! A journal in a file of SQLite.

mod file_place;
mod file_system;
mod invitations;
mod open;
mod options;
mod readers;
mod rows;
mod shared;
mod works;
mod writer;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

pub use invitations::Invitations;
pub use open::OpenError;
pub use options::Options;

use sommelier_runner::journal::{
    Appended, Damage, Epoch, Event, Finding, Head, Heads, Journal, JournalError, LateResult, Lease, Record,
    Verified, Work,
};

use crate::chain::Chain;
use crate::health::Health;
use crate::rules::{Request, Tail};
use invitations::Cards;
use readers::Readers;
use shared::Shared;
use works::{Place, Works};
use writer::Writer;

/// A journal in a file of SQLite, for any number of threads and processes.
///
/// A handle has one thread that writes. Appends that wait at the same time, of whatever conversations, share
/// one transaction and so one sync of the disk; each is whole by itself and has its own answer. Reading is
/// done on connections of its own and waits for nobody.
///
/// ```
/// use sommelier_store::{Appended, Epoch, Event, Journal, SqliteStore};
///
/// # let folder = std::env::temp_dir().join(format!("sommelier-store-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("journal.db");
/// let opened = Event::new("opened", 1, 1_750_000_000_000, r#"{"entry":"booking_agent"}"#)?;
///
/// let store = SqliteStore::open(&path)?;
/// let Appended::Head(head) = store.append("guest-7", 0, Epoch::NONE, &[opened.clone()])? else { panic!() };
/// drop(store);
///
/// let store = SqliteStore::open(&path)?;
/// assert_eq!(store.load("guest-7", 1)?[0].event, opened);
/// // The answer was lost, so the call is made again.
/// assert_eq!(store.append("guest-7", 0, Epoch::NONE, &[opened])?, Appended::Duplicate(head));
/// # drop(store);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SqliteStore {
    // In this order they are closed. Whoever is the last one copies the log, and only the writer knows not to
    // where the store is broken.
    readers: Readers,
    works: Works,
    cards: Cards,
    writer: Writer,
    shared: Arc<Shared>,
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.readers.path()).finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens the journal of a file, or makes a new one, with [`Options::new`].
    ///
    /// # Errors
    ///
    /// As [`open_with`](Self::open_with).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_with(path, &Options::new())
    }

    /// Opens the journal of a file, or makes a new one where there is no file or an empty one.
    ///
    /// It looks at no record: [`load`](Journal::load) checks what it hands out, and
    /// [`verify`](Journal::verify) looks at all.
    ///
    /// # Errors
    ///
    /// The file is another program's or a newer version's, or is kept where it would not be safe; or the
    /// system refuses it.
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let connection = open::writable(path, options)?;
        let shared = Arc::new(Shared::new(path, options));
        Ok(Self {
            readers: Readers::new(path, options),
            works: Works::new(path, options, Arc::clone(&shared)),
            cards: Cards::new(path, options, Arc::clone(&shared)),
            writer: Writer::start(connection, Arc::clone(&shared))?,
            shared,
        })
    }

    /// How many transactions this handle has committed. Beside the number of appends it tells how many shared
    /// one.
    pub fn commits(&self) -> u64 {
        self.shared.commits()
    }

    /// A connection to the same file, for tables of one's own in it, with the settings that the journal's promises
    /// rest on.
    ///
    /// What is written by it is committed by itself; what is to stand or fall with events is written in
    /// [`append_with`](Journal::append_with). It copies no log, since nobody would see an error of that: the store
    /// does so as it writes.
    ///
    /// It waits for its turn to write as long as the store does ([`Options::busy_timeout`], five seconds unless set) and then
    /// fails as busy. A transactional tool or a work has the lock while it runs: what it writes by another connection than
    /// the one that it is handed waits for itself, and fails.
    ///
    /// # Errors
    ///
    /// What SQLite says.
    pub fn connection(&self) -> rusqlite::Result<rusqlite::Connection> {
        self.works.connection()
    }

    /// The invitations to answer questions of this journal's conversations, for people outside.
    pub fn invitations(&self) -> Invitations<'_> {
        Invitations::of(self)
    }

    fn health(&self) -> &Health {
        &self.shared.health
    }

    fn read<T>(
        &self,
        read: impl FnOnce(&rusqlite::Connection) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        self.health().check()?;
        let read = self.shared.check_place().and_then(|()| self.readers.read(read));
        read.map_err(|error| self.health().note(error))
    }

    fn tail(&self, conversation: &str) -> Result<Tail, JournalError> {
        self.read(|connection| Ok(rows::tail(connection, conversation)?.1))
    }

    /// Looks at the rows of a conversation, and notes what was found.
    fn look(
        &self,
        connection: &rusqlite::Connection,
        conversation: &str,
        exported: Option<Head>,
        mut keep: impl FnMut(Record),
    ) -> Result<(u64, Option<Finding>), JournalError> {
        let (id, tail) = match rows::tail(connection, conversation) {
            Err(JournalError::Damaged(finding)) => {
                self.health().looked(conversation, Some(&finding));
                return Ok((0, Some(finding)));
            }
            read => read?,
        };
        let mut chain = Chain::new(conversation, exported.or_else(|| self.health().exported(conversation)));
        let mut found = None;
        rows::each(connection, id, conversation, |row| {
            found = chain.next(row.as_ref().map_err(Clone::clone)).err();
            if let Ok(row) = row {
                keep(row.record);
            }
            found.is_none()
        })?;
        let length = chain.length();
        let found = found.or_else(|| chain.end(&tail).err());
        self.health().looked(conversation, found.as_ref());
        Ok((length, found))
    }
}

impl Journal for SqliteStore {
    fn append(
        &self,
        conversation: &str,
        expected_seq: u64,
        epoch: Epoch,
        events: &[Event],
    ) -> Result<Appended, JournalError> {
        self.writer.ask(Request::append(conversation, expected_seq, epoch, events)?)?.appended()
    }

    /// The work is handed the transaction as a [`&rusqlite::Connection`](rusqlite::Connection). It may write to any
    /// table but the journal's own, and is denied pragmas, other databases, and the end of the transaction.
    fn append_with(
        &self,
        conversation: &str,
        expected_seq: u64,
        epoch: Epoch,
        work: &mut Work<'_>,
    ) -> Result<Appended, JournalError> {
        self.works.append(&Place { conversation, expected_seq, epoch }, work)
    }

    fn take_lease(
        &self,
        conversation: &str,
        owner: &str,
        now: u64,
        term: u64,
    ) -> Result<Lease, JournalError> {
        self.writer.ask(Request::take(conversation, owner, now, term)?)?.taken()
    }

    fn renew_lease(&self, conversation: &str, epoch: Epoch, now: u64, term: u64) -> Result<(), JournalError> {
        self.writer.ask(Request::renew(conversation, epoch, now, term)?).map(drop)
    }

    fn lease(&self, conversation: &str) -> Result<Option<Lease>, JournalError> {
        Ok(self.tail(conversation)?.lease())
    }

    fn load(&self, conversation: &str, from: u64) -> Result<Vec<Record>, JournalError> {
        self.read(|connection| {
            let mut records = Vec::new();
            let keep = |record: Record| {
                if record.seq >= from {
                    records.push(record);
                }
            };
            let (_, found) = self.look(connection, conversation, None, keep)?;
            found.map_or(Ok(records), |finding| Err(JournalError::Damaged(finding)))
        })
    }

    fn salvage(&self, conversation: &str) -> Result<Vec<Record>, JournalError> {
        self.read(|connection| {
            let mut records = Vec::new();
            let (id, _) = rows::tail(connection, conversation)?;
            rows::each(connection, id, conversation, |row| row.map(|row| records.push(row.record)).is_ok())?;
            Ok(records)
        })
    }

    fn newest(&self) -> Result<Vec<Record>, JournalError> {
        self.read(rows::newest)
    }

    fn note_late(&self, conversation: &str, epoch: Epoch, event: &Event) -> Result<(), JournalError> {
        self.writer.ask(Request::note(conversation, epoch, event)?).map(drop)
    }

    fn late(&self, conversation: &str) -> Result<Vec<LateResult>, JournalError> {
        self.read(|connection| rows::late(connection, conversation))
    }

    fn claimed(&self, name: &str) -> Result<Option<String>, JournalError> {
        self.read(|connection| rows::claimed(connection, name))
    }

    fn claims(&self) -> Result<Vec<(String, String)>, JournalError> {
        self.read(rows::claims)
    }

    fn conversations(&self) -> Result<Vec<String>, JournalError> {
        self.read(rows::names)
    }

    fn head(&self, conversation: &str) -> Result<Head, JournalError> {
        Ok(self.tail(conversation)?.head)
    }

    fn heads(&self) -> Result<Heads, JournalError> {
        self.read(rows::heads)
    }

    fn verify(&self, conversation: Option<&str>, exported: &Heads) -> Result<Verified, JournalError> {
        self.read(|connection| {
            let mut names = rows::names(connection)?;
            names.extend(exported.keys().cloned());
            names.sort();
            names.dedup();
            names.retain(|name| conversation.is_none_or(|wanted| wanted == name));
            let mut verified = Verified::default();
            for name in names {
                let (records, found) = self.look(connection, &name, exported.get(&name).copied(), drop)?;
                verified.add(records, found);
            }
            if conversation.is_none() {
                let unreadable = |conversation: String, seq: u64, why: String| Finding {
                    conversation,
                    seq,
                    damage: Damage::Unreadable(why),
                };
                match rows::strays(connection) {
                    Ok(strays) => strays.into_iter().for_each(|(id, seq)| {
                        let why = "it belongs to no conversation".to_owned();
                        verified.add(0, Some(unreadable(format!("#{id}"), seq, why)));
                    }),
                    Err(JournalError::Malformed(why)) => {
                        verified.add(0, Some(unreadable("#events".to_owned(), 1, why)));
                    }
                    Err(why) => return Err(why),
                }
                if let Some((seq, why)) = rows::late_damage(connection)? {
                    verified.add(0, Some(unreadable("#late_results".to_owned(), seq, why)));
                }
                if let Some(why) = rows::claims_damage(connection)? {
                    verified.add(0, Some(unreadable("#claims".to_owned(), 1, why)));
                }
                if let Some(finding) = invitations::damage(connection)? {
                    verified.add(0, Some(finding));
                }
            }
            Ok(verified)
        })
    }
}
