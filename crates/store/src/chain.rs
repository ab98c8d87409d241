//! Looking at the records of a conversation one after another: does each follow from the one before?

use sommelier_runner::journal::{Damage, Epoch, Finding, Hash, Head, LEASE_TAKEN, Record};

use crate::record::{BatchId, Row, computed_hash};
use crate::rules::Tail;

/// How far a conversation has been found sound.
pub(crate) struct Chain<'a> {
    conversation: &'a str,
    exported: Option<Head>,
    head: Head,
    epoch: Epoch,
    /// The batch that is being read: its first number, the id that its rows bear, and the one that its events
    /// give.
    batch: Option<(u64, Hash, BatchId)>,
}

impl<'a> Chain<'a> {
    pub(crate) fn new(conversation: &'a str, exported: Option<Head>) -> Self {
        Self { conversation, exported, head: Head::START, epoch: Epoch::NONE, batch: None }
    }

    /// How many records have been found sound.
    pub(crate) const fn length(&self) -> u64 {
        self.head.seq
    }

    /// The next row, or what the store says that keeps it from being read.
    pub(crate) fn next(&mut self, row: Result<&Row, String>) -> Result<(), Finding> {
        let seq = self.head.seq.saturating_add(1);
        let row = row.map_err(|why| self.finding(seq, Damage::Unreadable(why)))?;
        self.follows(&row.record, seq).map_err(|damage| self.finding(seq, damage))?;
        self.batched(row, seq)?;
        self.head = row.record.head();
        self.epoch = row.record.epoch;
        Ok(())
    }

    /// The end, against what the store keeps as the conversation's tail.
    pub(crate) fn end(mut self, kept: &Tail) -> Result<(), Finding> {
        self.close_batch()?;
        let seq = self.head.seq.saturating_add(1);
        if kept.head.seq > self.head.seq {
            return Err(self.finding(seq, Damage::Missing));
        }
        if kept.head != self.head {
            return Err(self.finding(kept.head.seq, Damage::Kept { kept: kept.head }));
        }
        if kept.epoch() != self.epoch {
            let damage = Damage::KeptEpoch { kept: kept.epoch(), found: self.epoch };
            return Err(self.finding(self.head.seq, damage));
        }
        match self.exported.filter(|exported| exported.seq > self.head.seq) {
            Some(exported) => Err(self.finding(seq, Damage::Cut { exported })),
            None => Ok(()),
        }
    }

    fn follows(&self, record: &Record, seq: u64) -> Result<(), Damage> {
        if record.seq != seq {
            return Err(Damage::Missing);
        }
        if computed_hash(record) != record.hash {
            return Err(Damage::Altered);
        }
        if record.prev_hash != self.head.hash {
            return Err(Damage::Unlinked);
        }
        let expected = if record.event.kind() == LEASE_TAKEN { self.epoch.next() } else { self.epoch };
        if record.epoch != expected {
            return Err(Damage::Epoch { expected, found: record.epoch });
        }
        match self.exported.filter(|exported| exported.seq == seq && exported.hash != record.hash) {
            Some(exported) => Err(Damage::Replaced { exported }),
            None => Ok(()),
        }
    }

    fn batched(&mut self, row: &Row, seq: u64) -> Result<(), Finding> {
        if self.batch.as_ref().is_none_or(|(_, borne, _)| *borne != row.batch) {
            self.close_batch()?;
            self.batch = Some((seq, row.batch, BatchId::begin(self.conversation, self.head.seq)));
        }
        if let Some((_, _, id)) = &mut self.batch {
            id.add(&row.record.event);
        }
        Ok(())
    }

    fn close_batch(&mut self) -> Result<(), Finding> {
        let Some((first, borne, id)) = self.batch.take() else { return Ok(()) };
        if id.finish() == borne { Ok(()) } else { Err(self.finding(first, Damage::Batch)) }
    }

    fn finding(&self, seq: u64, damage: Damage) -> Finding {
        Finding { conversation: self.conversation.to_owned(), seq, damage }
    }
}
