//! A journal in memory: for lessons and tests, gone with the process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use sommelier_runner::journal::{
    Appended, Claim, Epoch, Event, Hash, Head, Heads, Journal, JournalError, LateResult, Lease, Record,
    Unfit, Verified, Work,
};

use crate::chain::Chain;
use crate::faults::Faults;
use crate::health::{Health, locked};
use crate::record::Row;
use crate::rules::{Outcome, Request, Ruling, Tail, claimed, name_of};
use crate::turnstile::Turnstile;
use crate::work::done;

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
    shelf: Arc<Shelf>,
    health: Health,
    faults: Faults,
}

#[derive(Debug, Default)]
struct Shelf {
    /// Who writes is inside; a work may take its time there, and others read meanwhile.
    writing: Turnstile,
    conversations: Mutex<BTreeMap<String, Kept>>,
    late: Mutex<BTreeMap<String, Vec<LateResult>>>,
    /// Names, each with the conversation that has it.
    claims: Mutex<BTreeMap<String, String>>,
}

#[derive(Debug)]
struct Kept {
    rows: Vec<Row>,
    tail: Tail,
}

/// For how long a write waits for a work, as long as a file is waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

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

        let mut shelf = self.shelved();
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
            Tamper::Batch { seq } => row(kept, seq, &|row| row.batch = Hash::ZERO),
            Tamper::Head { head } => kept.tail.head = head,
            Tamper::Epoch { epoch } => {
                if let Some(holder) = &mut kept.tail.holder {
                    holder.epoch = epoch;
                }
            }
        }
    }

    fn write(&self, request: Request) -> Result<Outcome, JournalError> {
        let conversation = &request.conversation;
        match request.apart() {
            Some(ruling) => self.turn(conversation, || Ok(ruling)),
            None => {
                self.health.check_writable(conversation)?;
                self.turn(conversation, || self.look_up(conversation, |tail, at| tail.rule(&request, at)))
            }
        }
    }

    /// Writes what is ruled, when it is this handle's turn.
    fn turn(
        &self,
        conversation: &str,
        rule: impl FnOnce() -> Result<Ruling, JournalError>,
    ) -> Result<Outcome, JournalError> {
        let turn = self.shelf.writing.enter(LONGEST_WAIT)?;
        let written = self.health.check().and_then(|()| {
            self.faults.before()?;
            let ruling = rule()?;
            self.faults.before()?;
            let outcome = self.put(conversation, ruling)?;
            self.faults.after_commit()?;
            Ok(outcome)
        });
        drop(turn);
        written.map_err(|error| self.health.note(error))
    }

    fn put(&self, conversation: &str, ruling: Ruling) -> Result<Outcome, JournalError> {
        self.claim(conversation, &ruling.claims)?;
        if let Some(tail) = ruling.tail {
            let mut shelf = self.shelved();
            let new = || Kept { rows: Vec::new(), tail: Tail::START };
            let kept = shelf.entry(conversation.to_owned()).or_insert_with(new);
            kept.rows.extend(ruling.rows);
            kept.tail = tail;
        }
        if let Some(late) = ruling.late {
            locked(&self.shelf.late).entry(conversation.to_owned()).or_default().push(late);
        }
        Ok(ruling.outcome)
    }

    /// Does all of the claims, or none.
    fn claim(&self, conversation: &str, claims: &[Claim]) -> Result<(), JournalError> {
        let mut names = locked(&self.shelf.claims);
        let mut before = Vec::new();
        for claim in claims {
            let name = name_of(claim);
            let has = names.get(name).cloned();
            match claimed(claim, conversation, has.clone()) {
                Ok(by) => set(&mut names, name, by),
                Err(why) => {
                    before.into_iter().rev().for_each(|(name, by)| set(&mut names, name, by));
                    return Err(why);
                }
            }
            before.push((name, has));
        }
        Ok(())
    }

    /// Asks about a conversation's tail, beside a look at its records.
    fn look_up<T>(
        &self,
        conversation: &str,
        ask: impl FnOnce(&Tail, &dyn Fn(u64) -> Result<Option<(Hash, Hash)>, JournalError>) -> T,
    ) -> T {
        let shelf = self.shelved();
        let kept = shelf.get(conversation);
        let rows = kept.map_or(&[][..], |kept| &kept.rows);
        let at = |seq| Ok(find(rows, seq).map(|row| (row.batch, row.record.hash)));
        ask(kept.map_or(&Tail::START, |kept| &kept.tail), &at)
    }

    fn shelved(&self) -> MutexGuard<'_, BTreeMap<String, Kept>> {
        locked(&self.shelf.conversations)
    }

    /// Looks at a conversation, and notes what was found.
    fn look(&self, conversation: &str, exported: Option<Head>) -> (Vec<Record>, u64, Option<crate::Finding>) {
        let shelf = self.shelved();
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
        Ok(self.shelved().get(conversation).map(|kept| read(&kept.tail)))
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

    fn append_with(
        &self,
        conversation: &str,
        expected_seq: u64,
        epoch: Epoch,
        work: &mut Work<'_>,
    ) -> Result<Appended, JournalError> {
        Unfit::check_name(conversation)?;
        self.health.check_writable(conversation)?;
        let rule = || {
            let tail = self.look_up(conversation, |tail, at| {
                tail.admit(conversation, expected_seq, epoch, at).map(|()| tail.clone())
            })?;
            Ok(tail.worked(conversation, &done(work, &())?)?)
        };
        self.turn(conversation, rule)?.appended()
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
        let shelf = self.shelved();
        let rows = shelf.get(conversation).map_or(&[][..], |kept| &kept.rows);
        Ok(rows.iter().map(|row| row.record.clone()).collect())
    }

    fn newest(&self) -> Result<Vec<Record>, JournalError> {
        self.health.check()?;
        let shelf = self.shelved();
        Ok(shelf.values().filter_map(|kept| kept.rows.last()).map(|row| row.record.clone()).collect())
    }

    fn note_late(&self, conversation: &str, epoch: Epoch, event: &Event) -> Result<(), JournalError> {
        self.write(Request::note(conversation, epoch, event)?).map(drop)
    }

    fn late(&self, conversation: &str) -> Result<Vec<LateResult>, JournalError> {
        self.health.check()?;
        Ok(locked(&self.shelf.late).get(conversation).cloned().unwrap_or_default())
    }

    fn claimed(&self, name: &str) -> Result<Option<String>, JournalError> {
        self.health.check()?;
        Ok(locked(&self.shelf.claims).get(name).cloned())
    }

    fn claims(&self) -> Result<Vec<(String, String)>, JournalError> {
        self.health.check()?;
        let claims = locked(&self.shelf.claims);
        Ok(claims.iter().map(|(name, by)| (name.clone(), by.clone())).collect())
    }

    fn head(&self, conversation: &str) -> Result<Head, JournalError> {
        Ok(self.tail(conversation, |tail| tail.head)?.unwrap_or(Head::START))
    }

    fn heads(&self) -> Result<Heads, JournalError> {
        self.health.check()?;
        Ok(self.shelved().iter().map(|(name, kept)| (name.clone(), kept.tail.head)).collect())
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

/// Says who has a name, or that nobody has.
fn set(names: &mut BTreeMap<String, String>, name: &str, by: Option<String>) {
    match by {
        Some(by) => names.insert(name.to_owned(), by),
        None => names.remove(name),
    };
}

fn find(rows: &[Row], seq: u64) -> Option<&Row> {
    let at = rows.binary_search_by_key(&seq, |row| row.record.seq).ok()?;
    rows.get(at)
}

#[cfg(feature = "conformance")]
fn rewrite(event: &mut Event, body: &str) {
    *event = Event::unchecked(event.kind().to_owned(), event.version(), event.at(), body.to_owned());
}
