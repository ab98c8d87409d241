//! A journal in memory: for lessons and tests, gone with the process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use sommelier_runner::journal::{
    Appended, Epoch, Event, Head, Heads, Journal, JournalError, Lease, Record, Verified,
};

use crate::chain::Chain;
use crate::faults::Faults;
use crate::health::{Health, locked};
use crate::record::Row;
use crate::rules::{Outcome, Request, Tail};

/// A journal that lives as long as a handle on it.
///
/// ```
/// use sommelier_store::{Epoch, Event, Journal, MemoryStore};
///
/// let store = MemoryStore::new();
/// let opened = Event::new("opened", 1, 0, "{}")?;
/// let head = store.append("guest-7", 0, Epoch::NONE, &[opened.clone()])?.head();
/// assert_eq!(head.seq, 1);
/// assert_eq!(store.another().load("guest-7", 1)?[0].event, opened);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryStore {
    shelf: Arc<Mutex<BTreeMap<String, Kept>>>,
    health: Health,
    faults: Faults,
}

#[derive(Debug)]
struct Kept {
    rows: Vec<Row>,
    tail: Tail,
}

impl MemoryStore {
    /// A store without a conversation.
    pub fn new() -> Self {
        Self::default()
    }

    /// Another handle on the same conversations, as a second process would have it.
    pub fn another(&self) -> Self {
        Self { shelf: Arc::clone(&self.shelf), ..Self::default() }
    }

    /// Lets calls fail by a plan.
    #[cfg(feature = "conformance")]
    #[must_use]
    pub fn faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    /// Does to the rows of a conversation what the store never would.
    #[cfg(feature = "conformance")]
    pub fn tamper(&self, conversation: &str, tamper: crate::conformance::Tamper) {
        use crate::conformance::Tamper;

        let mut shelf = locked(&self.shelf);
        let Some(kept) = shelf.get_mut(conversation) else { return };
        let row = |kept: &mut Kept, seq: u64, change: &dyn Fn(&mut Row)| {
            kept.rows.iter_mut().filter(|row| row.record.seq == seq).for_each(change);
        };
        match tamper {
            Tamper::Body { seq, body } => row(kept, seq, &|row| rewrite(&mut row.record.event, body)),
            Tamper::Kind { seq, kind } => row(kept, seq, &|row| {
                let event = &mut row.record.event;
                *event =
                    Event::unchecked(kind.to_owned(), event.version(), event.at(), event.body().to_owned());
            }),
            Tamper::Rehashed { seq, body } => row(kept, seq, &|row| {
                rewrite(&mut row.record.event, body);
                row.record.hash = crate::record::computed_hash(&row.record);
            }),
            Tamper::Delete { seq } => kept.rows.retain(|row| row.record.seq != seq),
            Tamper::Cut { seq } => {
                kept.rows.retain(|row| row.record.seq < seq);
                kept.tail.head = kept.rows.last().map_or(Head::START, |row| row.record.head());
            }
            Tamper::Forget => drop(shelf.remove(conversation)),
            Tamper::Batch { seq } => row(kept, seq, &|row| row.batch = crate::Hash::ZERO),
            Tamper::Head { head } => kept.tail.head = head,
            Tamper::Epoch { epoch } => {
                if let Some(holder) = &mut kept.tail.holder {
                    holder.epoch = epoch;
                }
            }
        }
    }

    fn write(&self, request: Request) -> Result<Outcome, JournalError> {
        self.health.check_writable(&request.conversation)?;
        self.apply(request).map_err(|error| self.health.note(error))
    }

    fn apply(&self, request: Request) -> Result<Outcome, JournalError> {
        let mut shelf = locked(&self.shelf);
        self.faults.before()?;
        let start = Tail::START;
        let kept = shelf.get(&request.conversation);
        let rows = kept.map_or(&[][..], |kept| &kept.rows);
        let at = |seq| Ok(find(rows, seq).map(|row| (row.batch, row.record.hash)));
        let ruling = kept.map_or(&start, |kept| &kept.tail).rule(&request, at)?;
        self.faults.before()?;
        if let Some(tail) = ruling.tail {
            let kept =
                shelf.entry(request.conversation).or_insert_with(|| Kept { rows: Vec::new(), tail: start });
            kept.rows.extend(ruling.rows);
            kept.tail = tail;
        }
        drop(shelf);
        self.faults.after_commit()?;
        Ok(ruling.outcome)
    }

    /// Looks at a conversation, and notes what was found.
    fn look(&self, conversation: &str, exported: Option<Head>) -> (Vec<Record>, u64, Option<crate::Finding>) {
        let shelf = locked(&self.shelf);
        let kept = shelf.get(conversation);
        let rows = kept.map_or(&[][..], |kept| &kept.rows);
        let mut chain = Chain::new(conversation, exported.or_else(|| self.health.exported(conversation)));
        let found = rows.iter().try_for_each(|row| chain.next(Ok(row)));
        let length = chain.length();
        let found = found.and_then(|()| chain.end(kept.map_or(&Tail::START, |kept| &kept.tail))).err();
        self.health.looked(conversation, found.as_ref());
        (rows.iter().map(|row| row.record.clone()).collect(), length, found)
    }

    fn tail<T>(&self, conversation: &str, read: impl FnOnce(&Tail) -> T) -> Result<Option<T>, JournalError> {
        self.health.check()?;
        Ok(locked(&self.shelf).get(conversation).map(|kept| read(&kept.tail)))
    }
}

impl Journal for MemoryStore {
    fn append(
        &self,
        conversation: &str,
        expected_seq: u64,
        epoch: Epoch,
        events: &[Event],
    ) -> Result<Appended, JournalError> {
        self.write(Request::append(conversation, expected_seq, epoch, events)?)?.appended()
    }

    fn take_lease(
        &self,
        conversation: &str,
        owner: &str,
        now: u64,
        term: u64,
    ) -> Result<Lease, JournalError> {
        self.write(Request::take(conversation, owner, now, term)?)?.taken()
    }

    fn renew_lease(&self, conversation: &str, epoch: Epoch, now: u64, term: u64) -> Result<(), JournalError> {
        self.write(Request::renew(conversation, epoch, now, term)?).map(drop)
    }

    fn lease(&self, conversation: &str) -> Result<Option<Lease>, JournalError> {
        Ok(self.tail(conversation, Tail::lease)?.flatten())
    }

    fn load(&self, conversation: &str, from: u64) -> Result<Vec<Record>, JournalError> {
        self.health.check()?;
        let (mut records, _, found) = self.look(conversation, None);
        found.map_or(Ok(()), |finding| Err(JournalError::Damaged(finding)))?;
        records.retain(|record| record.seq >= from);
        Ok(records)
    }

    fn salvage(&self, conversation: &str) -> Result<Vec<Record>, JournalError> {
        self.health.check()?;
        let shelf = locked(&self.shelf);
        let rows = shelf.get(conversation).map_or(&[][..], |kept| &kept.rows);
        Ok(rows.iter().map(|row| row.record.clone()).collect())
    }

    fn head(&self, conversation: &str) -> Result<Head, JournalError> {
        Ok(self.tail(conversation, |tail| tail.head)?.unwrap_or(Head::START))
    }

    fn heads(&self) -> Result<Heads, JournalError> {
        self.health.check()?;
        Ok(locked(&self.shelf).iter().map(|(name, kept)| (name.clone(), kept.tail.head)).collect())
    }

    fn verify(&self, conversation: Option<&str>, exported: &Heads) -> Result<Verified, JournalError> {
        let mut names = self.conversations()?;
        names.extend(exported.keys().cloned());
        names.sort();
        names.dedup();
        names.retain(|name| conversation.is_none_or(|wanted| wanted == name));
        let mut verified = Verified::default();
        for name in names {
            let (_, records, found) = self.look(&name, exported.get(&name).copied());
            verified.add(records, found);
        }
        Ok(verified)
    }
}

fn find(rows: &[Row], seq: u64) -> Option<&Row> {
    let at = rows.binary_search_by_key(&seq, |row| row.record.seq).ok()?;
    rows.get(at)
}

#[cfg(feature = "conformance")]
fn rewrite(event: &mut Event, body: &str) {
    *event = Event::unchecked(event.kind().to_owned(), event.version(), event.at(), body.to_owned());
}
