//! An event in its place.

use crate::event::Event;
use crate::hash::{Fields, Hash};
use crate::head::Head;
use crate::lease::Epoch;

/// An event with its place in a conversation's journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The conversation.
    pub conversation: String,
    /// The number in it: 1, 2, 3, without a gap.
    pub seq: u64,
    /// In which epoch it was written. The event that takes a lease has the epoch that it begins.
    pub epoch: Epoch,
    /// What happened.
    pub event: Event,
    /// The hash of the record before, [`Hash::ZERO`] for the first.
    pub prev_hash: Hash,
    /// The hash over all of the above.
    pub hash: Hash,
}

impl Record {
    /// An event behind a head.
    pub(crate) fn after(prev: Head, conversation: &str, epoch: Epoch, event: Event) -> Self {
        let conversation = conversation.to_owned();
        let seq = prev.seq.saturating_add(1);
        let record = Self { conversation, seq, epoch, event, prev_hash: prev.hash, hash: Hash::ZERO };
        Self { hash: record.computed_hash(), ..record }
    }

    /// The hash that the record has by its content. In a sound journal it equals [`hash`](Self::hash).
    ///
    /// It is SHA-256 over these fields, each behind its length as eight bytes, numbers as eight bytes
    /// themselves, the highest first: `sommelier-store record 1`, conversation, seq, epoch, kind, version,
    /// time, body, the hash before.
    pub fn computed_hash(&self) -> Hash {
        let mut fields = Fields::of("sommelier-store record 1");
        fields.text(&self.conversation);
        fields.number(self.seq);
        fields.number(self.epoch.get());
        event(&mut fields, &self.event);
        fields.hash(&self.prev_hash);
        fields.finish()
    }

    /// The head of the conversation when this was its last record.
    pub const fn head(&self) -> Head {
        Head { seq: self.seq, hash: self.hash }
    }
}

/// A record as a store keeps it, with the batch that it came in.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) record: Record,
    pub(crate) batch: Hash,
}

/// The id of a batch, event by event: a hash over the conversation, the number that was expected, and the
/// events.
///
/// It holds no epoch: the same batch is the same whoever repeats it, and the epoch is compared before.
#[derive(Clone)]
pub(crate) struct BatchId(Fields);

impl BatchId {
    pub(crate) fn begin(conversation: &str, expected_seq: u64) -> Self {
        let mut fields = Fields::of("sommelier-store batch 1");
        fields.text(conversation);
        fields.number(expected_seq);
        Self(fields)
    }

    pub(crate) fn add(&mut self, added: &Event) {
        event(&mut self.0, added);
    }

    pub(crate) fn finish(self) -> Hash {
        self.0.finish()
    }

    pub(crate) fn of(conversation: &str, expected_seq: u64, events: &[Event]) -> Hash {
        let mut id = Self::begin(conversation, expected_seq);
        events.iter().for_each(|event| id.add(event));
        id.finish()
    }
}

fn event(fields: &mut Fields, event: &Event) {
    fields.text(event.kind());
    fields.number(event.version().into());
    fields.number(event.at());
    fields.text(event.body());
}
