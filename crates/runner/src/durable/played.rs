//! The playing of records: where a conversation stands by them.

use sommelier_handoff::{Divergence, Entry, Input, Relay, Replay};

use super::DurableError;
use crate::journal::{Event, LEASE_TAKEN, Record};

/// Plays the records of a conversation.
///
/// # Errors
/// [`DurableError::Diverged`] with the number of the first record that does not follow.
pub fn replay<'r>(
    relay: &'r Relay,
    conversation: &str,
    records: &[Record],
) -> Result<Replay<'r>, DurableError> {
    replay_seeing(relay, conversation, records, |_, _| {})
}

/// As [`replay`], and shows each input before it is played, with where the run stood until then: what a model was asked, for
/// one, stands in the step that its reply comes to.
///
/// # Errors
/// As [`replay`].
pub fn replay_seeing<'r>(
    relay: &'r Relay,
    conversation: &str,
    records: &[Record],
    mut see: impl FnMut(&Replay<'r>, &Input),
) -> Result<Replay<'r>, DurableError> {
    let mut replay = Replay::new(relay, conversation);
    for record in records.iter().filter(|record| record.event.kind() != LEASE_TAKEN) {
        play(&mut replay, &record.event, &mut see).map_err(|why| DurableError::Diverged {
            conversation: conversation.to_owned(),
            seq: record.seq,
            why: Box::new(why),
        })?;
    }
    Ok(replay)
}

/// Plays a record. Its time stands in its body too, and only that is played.
fn play<'r>(
    replay: &mut Replay<'r>,
    event: &Event,
    see: &mut impl FnMut(&Replay<'r>, &Input),
) -> Result<(), Divergence> {
    let entry = Entry::read(event.kind(), event.version(), event.body())?;
    let within = match &entry {
        Entry::Input(input) => input.at,
        Entry::Announced(told) => told.at,
    };
    if within != event.at() {
        let (kind, beside) = (event.kind().into(), event.at());
        return Err(Divergence::OtherTime { kind, beside, within });
    }
    match entry {
        Entry::Input(input) => {
            see(replay, &input);
            replay.take(*input)
        }
        Entry::Announced(told) => replay.compare(*told),
    }
}
