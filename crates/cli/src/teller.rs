//! Saying what there is to say, as text or as JSON.

use std::io::{self, BufRead, Write};

use serde::Serialize;
use sommelier_protocol::sight::{lines_in_sight, printable};

use crate::Io;
use crate::fault::{Fault, unprinted};
use crate::words::in_line;

/// Where a command says things. A reader that has gone away wants no more of it, and that is no fault.
pub(crate) struct Teller<'a> {
    pub(crate) json: bool,
    /// Whether the reader has gone away.
    pub(crate) is_alone: bool,
    /// Whether a terminal shows what is said.
    pub(crate) is_shown: bool,
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
}

/// What a user types.
pub(crate) struct Input<'a> {
    pub(crate) lines: &'a mut dyn BufRead,
    pub(crate) is_interactive: bool,
}

#[derive(Serialize)]
struct Failed<'a> {
    error: &'a Fault,
}

impl<'a> Teller<'a> {
    pub(crate) fn new(io: Io<'a>) -> (Self, Input<'a>) {
        let Io { input, is_interactive, is_shown, out, err } = io;
        (Self { json: false, is_alone: false, is_shown, out, err }, Input { lines: input, is_interactive })
    }

    /// Says a text or a document, whichever was asked for.
    pub(crate) fn tell(
        &mut self,
        text: impl FnOnce() -> String,
        document: &impl Serialize,
    ) -> Result<(), Fault> {
        if self.json { self.document(document) } else { self.say(&text()) }
    }

    /// Says a document, in which all can be seen.
    pub(crate) fn document(&mut self, document: &impl Serialize) -> Result<(), Fault> {
        let document = serde_json::to_string_pretty(document).map_err(io::Error::other)?;
        self.line(&lines_in_sight(&document))
    }

    /// Says a text, in which all can be seen.
    pub(crate) fn say(&mut self, text: &str) -> Result<(), Fault> {
        self.line(&printable(text))
    }

    /// Writes a line as it is, at once and whole.
    pub(crate) fn line(&mut self, line: &str) -> Result<(), Fault> {
        if self.is_alone {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        self.write(&bytes)
    }

    /// Writes what is whole in itself, as it is.
    pub(crate) fn whole(&mut self, text: &str) -> Result<(), Fault> {
        if self.is_alone { Ok(()) } else { self.write(text.as_bytes()) }
    }

    /// Asks for a line of a person.
    pub(crate) fn prompt(&mut self) -> Result<(), Fault> {
        self.write(b"> ")
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        match self.out.write_all(bytes).and_then(|()| self.out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_alone = true;
                Ok(())
            }
            written => written.map_err(|error| unprinted(&error)),
        }
    }

    /// Says something in a line beside what was asked for.
    pub(crate) fn note(&mut self, text: &str) {
        // Whoever watches may be gone.
        let _ = writeln!(self.err, "sommelier: {}", in_line(text));
    }

    /// Says what went wrong, as a person reads it.
    fn tell_fault(&mut self, fault: &Fault) {
        let _ = writeln!(self.err, "sommelier: {}", printable(&fault.text()));
    }

    /// The exit code. What went wrong is said: in a document where one was asked for, since a program reads one stream.
    pub(crate) fn end(&mut self, ended: Result<u8, Fault>) -> u8 {
        let fault = match ended {
            Ok(code) => return code,
            Err(fault) => fault,
        };
        if self.json {
            if self.document(&Failed { error: &fault }).is_err() {
                self.tell_fault(&fault);
            }
        } else {
            self.tell_fault(&fault);
        }
        fault.exit_code()
    }
}
