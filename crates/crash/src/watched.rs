//! A journal that tells what it has acknowledged, and at which a process kills itself.

use std::fmt;
use std::slice;

use sommelier_runner::journal::{
    Appended, Epoch, Event, Head, Heads, Journal, JournalError, LateResult, Lease, Record, Verified, Work,
};

use crate::point::{Point, die};

/// What a journal that is watched has to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Records are about to be written, so many behind this number.
    Trying {
        /// The number of the record before.
        seq: u64,
        /// How many.
        events: u64,
    },
    /// It is acknowledged that the records end here.
    Head(Head),
    /// A turn of the user is on record.
    Accepted,
}

/// A journal around another one. Every record can be written by itself, so that there are kills between any two of them.
pub struct Watched<J> {
    inner: J,
    point: Option<Point>,
    splits: bool,
    tell: Box<dyn Fn(Heard) + Send + Sync>,
}

impl<J: fmt::Debug> fmt::Debug for Watched<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<J: Journal> Watched<J> {
    /// Around `inner`, with whom it tells what.
    pub fn new(inner: J, tell: impl Fn(Heard) + Send + Sync + 'static) -> Self {
        Self { inner, point: None, splits: false, tell: Box::new(tell) }
    }

    /// The process kills itself there.
    #[must_use]
    pub fn point(self, point: Option<Point>) -> Self {
        Self { point, ..self }
    }

    /// Whether each record is written by itself.
    #[must_use]
    pub fn splits(self, splits: bool) -> Self {
        Self { splits, ..self }
    }

    /// Writes the records behind `seq`, and dies at the point that is among them.
    fn write<T>(
        &self,
        seq: u64,
        events: u64,
        write: impl FnOnce() -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let is_here = |point: u64| (seq + 1..=seq + events).contains(&point);
        if let Some(Point::Before(point)) = self.point
            && is_here(point)
        {
            die();
        }
        (self.tell)(Heard::Trying { seq, events });
        let written = write()?;
        if let Some(Point::After(point)) = self.point
            && is_here(point)
        {
            die();
        }
        Ok(written)
    }

    fn append_whole(
        &self,
        conversation: &str,
        seq: u64,
        epoch: Epoch,
        events: &[Event],
    ) -> Result<Appended, JournalError> {
        let write = || self.inner.append(conversation, seq, epoch, events);
        let appended = self.write(seq, events.len() as u64, write)?;
        (self.tell)(Heard::Head(appended.head()));
        if events.iter().any(|event| event.kind() == "turn_received") {
            (self.tell)(Heard::Accepted);
        }
        Ok(appended)
    }
}

impl<J: Journal> Journal for Watched<J> {
    fn append(
        &self,
        conversation: &str,
        expected_seq: u64,
        epoch: Epoch,
        events: &[Event],
    ) -> Result<Appended, JournalError> {
        if !self.splits {
            return self.append_whole(conversation, expected_seq, epoch, events);
        }
        let mut seq = expected_seq;
        let mut last = None;
        for event in events {
            let appended = self.append_whole(conversation, seq, epoch, slice::from_ref(event))?;
            seq = appended.head().seq;
            last = Some(appended);
        }
        last.ok_or_else(|| JournalError::Broken("nothing to write".to_owned()))
    }

    fn append_with(
        &self,
        conversation: &str,
        expected_seq: u64,
        epoch: Epoch,
        work: &mut Work<'_>,
    ) -> Result<Appended, JournalError> {
        let write = || self.inner.append_with(conversation, expected_seq, epoch, work);
        let appended = self.write(expected_seq, 1, write)?;
        (self.tell)(Heard::Head(appended.head()));
        Ok(appended)
    }

    fn take_lease(
        &self,
        conversation: &str,
        owner: &str,
        now: u64,
        term: u64,
    ) -> Result<Lease, JournalError> {
        let seq = self.inner.head(conversation)?.seq;
        let lease = self.write(seq, 1, || self.inner.take_lease(conversation, owner, now, term))?;
        (self.tell)(Heard::Head(lease.head));
        Ok(lease)
    }

    fn renew_lease(&self, conversation: &str, epoch: Epoch, now: u64, term: u64) -> Result<(), JournalError> {
        self.inner.renew_lease(conversation, epoch, now, term)
    }

    fn lease(&self, conversation: &str) -> Result<Option<Lease>, JournalError> {
        self.inner.lease(conversation)
    }

    fn load(&self, conversation: &str, from: u64) -> Result<Vec<Record>, JournalError> {
        self.inner.load(conversation, from)
    }

    fn salvage(&self, conversation: &str) -> Result<Vec<Record>, JournalError> {
        self.inner.salvage(conversation)
    }

    fn newest(&self) -> Result<Vec<Record>, JournalError> {
        self.inner.newest()
    }

    fn note_late(&self, conversation: &str, epoch: Epoch, event: &Event) -> Result<(), JournalError> {
        self.inner.note_late(conversation, epoch, event)
    }

    fn late(&self, conversation: &str) -> Result<Vec<LateResult>, JournalError> {
        self.inner.late(conversation)
    }

    fn claimed(&self, name: &str) -> Result<Option<String>, JournalError> {
        self.inner.claimed(name)
    }

    fn claims(&self) -> Result<Vec<(String, String)>, JournalError> {
        self.inner.claims()
    }

    fn head(&self, conversation: &str) -> Result<Head, JournalError> {
        self.inner.head(conversation)
    }

    fn heads(&self) -> Result<Heads, JournalError> {
        self.inner.heads()
    }

    fn verify(&self, conversation: Option<&str>, exported: &Heads) -> Result<Verified, JournalError> {
        self.inner.verify(conversation, exported)
    }
}
