//! Events from bytes, whatever the pieces.

use proptest::prelude::*;
use sommelier_providers::sse::{Event, EventReader};
use sommelier_providers::{ProviderError, ReplyLimits};

fn read(bytes: &[u8], size: usize) -> Result<Vec<Event>, ProviderError> {
    let mut reader = EventReader::new(ReplyLimits::default());
    let mut events = Vec::new();
    for mut piece in bytes.chunks(size) {
        while let Some(event) = reader.read(&mut piece)? {
            events.push(event);
        }
    }
    Ok(events)
}

fn event(name: &str, data: &str) -> Event {
    Event { name: name.to_owned(), data: data.to_owned() }
}

/// Each form of a line, in any pieces.
#[test]
fn lines_make_events() {
    let rows = [
        ("event: a\ndata: 1\n\n", vec![event("a", "1")]),
        ("event: a\r\ndata: 1\r\n\r\n", vec![event("a", "1")]),
        ("event: a\rdata: 1\r\r", vec![event("a", "1")]),
        ("\u{feff}event: a\ndata: 1\n\n", vec![event("a", "1")]),
        ("event: a\ndata: \u{feff}1\n\n", vec![event("a", "\u{feff}1")]),
        ("data: 1\ndata: 2\ndata\n\n", vec![event("", "1\n2\n")]),
        ("data:  two spaces \n\n", vec![event("", " two spaces ")]),
        ("data:none\n\ndata: 2\n\n", vec![event("", "none"), event("", "2")]),
        ("data\n\n", vec![event("", "")]),
        (": comment\nid: 7\nretry: 10\nother: x\ndata: 1\n\n", vec![event("", "1")]),
        ("event: lost\n\ndata: 1\n\n", vec![event("", "1")]),
        ("event: a\nevent: b\ndata: 1\n\n", vec![event("b", "1")]),
        ("error: {}\n\n", vec![event("error", "{}")]),
        ("data: cut\n", vec![]),
        ("\n\r\n\r", vec![]),
    ];
    for (wire, expected) in rows {
        for size in 1..=wire.len() {
            assert_eq!(read(wire.as_bytes(), size), Ok(expected.clone()), "{wire:?} {size}");
        }
    }
}

/// A line that is no text is told.
#[test]
fn a_line_that_is_no_text_is_told() {
    let error = read(b"data: \xff\n\n", 3);
    assert!(
        matches!(&error, Err(ProviderError::Malformed { detail }) if detail.contains("utf-8")),
        "{error:?}"
    );
}

proptest! {
    /// Any bytes in any pieces give the same events.
    #[test]
    fn any_pieces_give_the_same(bytes in prop::collection::vec(prop::sample::select(&b"event: data\r\n\n\xc3\xa9"[..]), 0..80), size in 1..20_usize) {
        prop_assert_eq!(read(&bytes, size), read(&bytes, 1 << 20));
    }
}
