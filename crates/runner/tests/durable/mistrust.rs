//! What a journal says of itself is not believed where it cannot be, and what a driver cannot write it lets others write.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sommelier_runner::journal::{
    Appended, Epoch, Event, Head, Heads, Journal, JournalError, LateResult, Lease, Record, Verified, Work,
};
use sommelier_runner::{DurableError, DurableRunner, RunError, Turn};
use sommelier_store::MemoryStore;

use crate::desk::{CONVERSATION, Clock, Kind, World, model, relay, runner};

/// What a journal does at one of its writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// It says that it has written up to here, and has not written.
    Claims(u64),
    /// It says that this was written before, and has not written.
    Repeats(u64),
    /// It cannot write.
    Fails,
    /// It cannot be read.
    Reads,
}

/// A journal that does this at its write of this number, and at all later ones.
struct Odd {
    inner: MemoryStore,
    does: Does,
    at: usize,
    writes: AtomicUsize,
}

impl Odd {
    fn new(inner: &MemoryStore, does: Does, at: usize) -> Self {
        Self { inner: inner.another(), does, at, writes: AtomicUsize::new(0) }
    }

    fn is_odd(&self) -> bool {
        self.writes.fetch_add(1, Ordering::Relaxed) >= self.at
    }

    fn odd(&self) -> Result<Appended, JournalError> {
        let head = |seq| Head { seq, ..self.inner.head(CONVERSATION).unwrap() };
        match self.does {
            Does::Claims(seq) => Ok(Appended::Head(head(seq))),
            Does::Repeats(seq) => Ok(Appended::Duplicate(head(seq))),
            Does::Fails | Does::Reads => Err(JournalError::Full),
        }
    }
}

impl Journal for Odd {
    fn append(&self, of: &str, seq: u64, epoch: Epoch, events: &[Event]) -> Result<Appended, JournalError> {
        if self.is_odd() { self.odd() } else { self.inner.append(of, seq, epoch, events) }
    }

    fn append_with(
        &self,
        of: &str,
        seq: u64,
        epoch: Epoch,
        work: &mut Work<'_>,
    ) -> Result<Appended, JournalError> {
        let is_odd = self.is_odd();
        let appended = self.inner.append_with(of, seq, epoch, work)?;
        if is_odd { self.odd() } else { Ok(appended) }
    }

    fn take_lease(&self, of: &str, owner: &str, now: u64, term: u64) -> Result<Lease, JournalError> {
        if self.does == Does::Reads {
            // Somebody else was there since the look.
            self.inner.take_lease(of, "host-9", now, 0)?;
        }
        self.inner.take_lease(of, owner, now, term)
    }

    fn renew_lease(&self, of: &str, epoch: Epoch, now: u64, term: u64) -> Result<(), JournalError> {
        self.inner.renew_lease(of, epoch, now, term)
    }

    fn lease(&self, of: &str) -> Result<Option<Lease>, JournalError> {
        self.inner.lease(of)
    }

    fn load(&self, of: &str, from: u64) -> Result<Vec<Record>, JournalError> {
        let records = self.inner.load(of, from)?;
        // The look before the lease is fine, and the one behind it is not.
        match self.does == Does::Reads && self.is_odd() {
            true => Err(JournalError::Busy),
            false => Ok(records),
        }
    }

    fn salvage(&self, of: &str) -> Result<Vec<Record>, JournalError> {
        self.inner.salvage(of)
    }

    fn newest(&self) -> Result<Vec<Record>, JournalError> {
        self.inner.newest()
    }

    fn note_late(&self, of: &str, epoch: Epoch, event: &Event) -> Result<(), JournalError> {
        self.inner.note_late(of, epoch, event)
    }

    fn late(&self, of: &str) -> Result<Vec<LateResult>, JournalError> {
        self.inner.late(of)
    }

    fn claimed(&self, name: &str) -> Result<Option<String>, JournalError> {
        self.inner.claimed(name)
    }

    fn claims(&self) -> Result<Vec<(String, String)>, JournalError> {
        self.inner.claims()
    }

    fn head(&self, of: &str) -> Result<Head, JournalError> {
        self.inner.head(of)
    }

    fn heads(&self) -> Result<Heads, JournalError> {
        self.inner.heads()
    }

    fn verify(&self, of: Option<&str>, exported: &Heads) -> Result<Verified, JournalError> {
        self.inner.verify(of, exported)
    }
}

/// Drives the desk's turn on a journal.
fn submit(
    journal: &dyn Journal,
    kind: Kind,
    world: &Arc<World>,
    clock: &Clock,
) -> Result<String, DurableError> {
    let (relay, runner) = (relay(kind, world), runner(model(), clock));
    let durable = DurableRunner::new(&runner, &relay, journal);
    let settled = durable.submit(CONVERSATION, Turn::new("Seat 7, please.").key("m-1"))?;
    Ok(settled.answer().to_owned())
}

/// A journal that says it has written and ends elsewhere than behind what was given to it is broken, at whichever write: nothing
/// is done on the strength of it.
#[test]
fn a_head_that_cannot_be_is_not_believed() {
    for kind in [Kind::AtMostOnce, Kind::Transactional] {
        for at in 0.. {
            let mut outcomes = Vec::new();
            for does in [Does::Claims(999_999), Does::Claims(0), Does::Repeats(1)] {
                let (store, world, clock) = (MemoryStore::new(), Arc::default(), Clock::at(1_000));
                let odd = Odd::new(&store, does, at);
                let settled = submit(&odd, kind, &world, &clock);
                let writes = odd.writes.load(Ordering::Relaxed);
                let is_broken =
                    matches!(settled, Err(DurableError::Run(RunError::Unkept(JournalError::Broken(_)))));
                let is_fine = writes <= at && settled.is_ok();
                assert!(is_fine || is_broken && writes == at + 1, "{kind:?}, {at}, {does:?}: {settled:?}");
                outcomes.push(is_fine);
            }
            if outcomes == [true; 3] {
                assert!(at > 3, "{kind:?}: {at}");
                break;
            }
        }
    }
}

/// What stopped a process from writing does not keep others from the conversation: its lease is given back, and is not waited
/// for.
#[test]
fn who_cannot_write_gives_its_lease_back() {
    for at in 0.. {
        let (store, world, clock) = (MemoryStore::new(), Arc::default(), Clock::at(1_000));
        let odd = Odd::new(&store, Does::Fails, at);
        let (relay, runner) = (relay(Kind::Keyed, &world), runner(model(), &clock));
        let durable = DurableRunner::new(&runner, &relay, &odd).owner("host-1");
        let stopped = durable.submit(CONVERSATION, Turn::new("Seat 7, please.").key("m-1"));
        if odd.writes.load(Ordering::Relaxed) <= at {
            assert!(stopped.is_ok() && at > 3, "{at}: {stopped:?}");
            break;
        }
        assert!(
            matches!(stopped, Err(DurableError::Run(RunError::Unkept(JournalError::Full)))),
            "{stopped:?}"
        );
        // It is still there, and so would its lease be.
        let answer = submit(&store, Kind::Keyed, &world, &clock).unwrap();
        assert_eq!((&*answer, world.count()), ("That is 12.00 for seat 7.", 1), "{at}");
    }
}

/// The same of who has the lease and cannot read what it is to go on from.
#[test]
fn who_cannot_read_gives_its_lease_back() {
    let (store, world, clock) = (MemoryStore::new(), Arc::default(), Clock::at(1_000));
    let odd = Odd::new(&store, Does::Reads, 1);
    let (relay, runner) = (relay(Kind::Keyed, &world), runner(model(), &clock));
    let durable = DurableRunner::new(&runner, &relay, &odd);
    durable.submit(CONVERSATION, Turn::new("Seat 7, please.").key("m-1")).unwrap_err();
    assert_eq!(submit(&store, Kind::Keyed, &world, &clock).unwrap(), "That is 12.00 for seat 7.");
}
