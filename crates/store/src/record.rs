//! A record's hash, and the record as a store keeps it.

use sommelier_runner::journal::{Epoch, Event, Hash, Head, Record};

use crate::hash::Fields;

/// The hash that a record has by its content. In a sound journal it equals the record's [`hash`](Record::hash).
///
/// It is SHA-256 over these fields, each behind its length as eight bytes, numbers as eight bytes themselves,
/// the highest first: `sommelier-store record 1`, conversation, seq, epoch, kind, version, time, body, the
/// hash before.
pub fn computed_hash(record: &Record) -> Hash {
    let mut fields = Fields::of("sommelier-store record 1");
    fields.text(&record.conversation);
    fields.number(record.seq);
    fields.number(record.epoch.get());
    event(&mut fields, &record.event);
    fields.hash(&record.prev_hash);
    fields.finish()
}

/// An event behind a head.
pub(crate) fn chained(prev: Head, conversation: &str, epoch: Epoch, event: Event) -> Record {
    let conversation = conversation.to_owned();
    let seq = prev.seq.saturating_add(1);
    let record = Record { conversation, seq, epoch, event, prev_hash: prev.hash, hash: Hash::ZERO };
    Record { hash: computed_hash(&record), ..record }
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
