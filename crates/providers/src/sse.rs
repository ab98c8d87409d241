//! Server-sent events, read as the bytes come.

use crate::ProviderError;
use crate::limits::ReplyLimits;

/// One event: what it is called, which may be nothing, and its data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The event's name; empty where the service gives none.
    pub name: String,
    /// The data lines, joined by line ends.
    pub data: String,
}

/// Cuts a stream of bytes into events, wherever the pieces begin and end.
///
/// Lines end with LF, CR or both. Comments, ids and `retry` are skipped; an event without data is none. What stands
/// after the last blank line when the stream ends was cut, and is no event.
///
/// ```
/// use sommelier_providers::sse::{Event, EventReader};
/// use sommelier_providers::ReplyLimits;
///
/// let mut reader = EventReader::new(ReplyLimits::default());
/// assert_eq!(reader.read(&mut &b": hello\nevent: ping\nda"[..])?, None);
/// let mut rest = &b"ta: {}\r\n\r\ndata: next"[..];
/// assert_eq!(reader.read(&mut rest)?, Some(Event { name: "ping".into(), data: "{}".into() }));
/// assert_eq!(rest, b"\ndata: next");
/// # Ok::<(), sommelier_providers::ProviderError>(())
/// ```
#[derive(Debug)]
pub struct EventReader {
    limits: ReplyLimits,
    line: Vec<u8>,
    /// The last byte ended a line as CR: an LF now belongs to it.
    after_cr: bool,
    is_first_line: bool,
    event: Event,
    has_data: bool,
    event_bytes: usize,
    total_bytes: usize,
}

impl EventReader {
    /// A reader at the beginning of a stream.
    pub fn new(limits: ReplyLimits) -> Self {
        Self {
            limits,
            line: Vec::new(),
            after_cr: false,
            is_first_line: true,
            event: Event::default(),
            has_data: false,
            event_bytes: 0,
            total_bytes: 0,
        }
    }

    /// Takes bytes off the front of `bytes` up to the end of the next event, and gives it; `None` once all are taken and
    /// none has ended. What stands behind an event is not looked at before it is asked for, so that the pieces in which
    /// bytes come change nothing.
    ///
    /// # Errors
    /// [`TooLarge`](ProviderError::TooLarge) when an event or the whole stream exceeds its limit, and
    /// [`Malformed`](ProviderError::Malformed) for a line that is no UTF-8.
    pub fn read(&mut self, bytes: &mut &[u8]) -> Result<Option<Event>, ProviderError> {
        while let Some((&byte, rest)) = bytes.split_first() {
            *bytes = rest;
            self.total_bytes = self.total_bytes.saturating_add(1);
            if self.total_bytes > self.limits.total_bytes {
                return Err(too_large("the stream", self.limits.total_bytes));
            }
            let is_rest_of_end = byte == b'\n' && self.after_cr;
            self.after_cr = byte == b'\r';
            if is_rest_of_end {
                continue;
            }
            if matches!(byte, b'\n' | b'\r') {
                if let Some(event) = self.end_line()? {
                    return Ok(Some(event));
                }
                continue;
            }
            self.event_bytes += 1;
            if self.event_bytes > self.limits.event_bytes {
                return Err(too_large("an event of the stream", self.limits.event_bytes));
            }
            self.line.push(byte);
        }
        Ok(None)
    }

    /// Takes the line that has ended; a blank one completes the event.
    fn end_line(&mut self) -> Result<Option<Event>, ProviderError> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8(line)
            .map_err(|error| ProviderError::malformed(format_args!("a line of the stream: {error}")))?;
        let line = match std::mem::take(&mut self.is_first_line) {
            true => line.strip_prefix('\u{feff}').unwrap_or(&line),
            false => &line,
        };
        if line.is_empty() {
            self.event_bytes = 0;
            let event = std::mem::take(&mut self.event);
            return Ok(std::mem::take(&mut self.has_data).then_some(event));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => self.add(value),
            // llama.cpp tells an error in a field of this name, without an event.
            "error" => {
                "error".clone_into(&mut self.event.name);
                self.add(value);
            }
            _ => {}
        }
        Ok(None)
    }

    fn add(&mut self, data: &str) {
        if self.has_data {
            self.event.data.push('\n');
        }
        self.event.data.push_str(data);
        self.has_data = true;
    }
}

pub(crate) fn too_large(what: &'static str, most: usize) -> ProviderError {
    ProviderError::TooLarge { what, most, unit: "bytes" }
}
