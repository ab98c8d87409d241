//! Events from bytes.

use sommelier_providers::sse::{Event, EventReader};
use sommelier_providers::{ProviderError, ReplyLimits};

use crate::pieces::ways;
use crate::written::{is_bounded, same};

/// In any pieces the events are the same; written and read again they are the same; none is larger than its cap.
pub(crate) fn run(bytes: &[u8]) {
    let narrow = ReplyLimits { event_bytes: 24, total_bytes: 200, ..ReplyLimits::default() };
    for limits in [ReplyLimits::default(), narrow] {
        let [whole, single, pieces] = ways(bytes).map(|way| read(&way, limits));
        same(&whole, &single, "a byte at a time");
        same(&whole, &pieces, "in pieces");
        let (events, end) = whole;
        for event in &events {
            // Each data line has its line end in the place of its field's name.
            assert!(event.name.len() + event.data.len() <= limits.event_bytes, "{event:?}");
        }
        let total: usize = events.iter().map(|event| event.name.len() + event.data.len()).sum();
        assert!(total <= limits.total_bytes.min(bytes.len()));
        if let Some(error) = end {
            is_bounded(&error);
        }
    }
    let (events, _) = read(&[bytes], ReplyLimits::default());
    let written: String = events.iter().map(wire).collect();
    same(&read(&[written.as_bytes()], ReplyLimits::default()), &(events, None), "written and read again");
}

fn read(pieces: &[&[u8]], limits: ReplyLimits) -> (Vec<Event>, Option<ProviderError>) {
    let (mut reader, mut events) = (EventReader::new(limits), Vec::new());
    for piece in pieces {
        let mut rest = *piece;
        loop {
            match reader.read(&mut rest) {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(error) => return (events, Some(error)),
            }
        }
        assert!(rest.is_empty(), "all bytes are taken");
    }
    (events, None)
}

fn wire(event: &Event) -> String {
    let data: String = event.data.split('\n').map(|line| format!("data: {line}\n")).collect();
    format!("event: {}\n{data}\n", event.name)
}
