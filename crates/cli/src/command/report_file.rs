//! The lines of a file of spans, as far as a report is made of them.

use std::fmt::Display;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use sommelier_report::{MOST_BYTES, NoStory};

use crate::fault::Fault;
use crate::teller::Input;

/// Reads a file, or stdin where it is `-`. Neither is read beyond what a report is made of, and what has no end is not begun.
pub(super) fn lines(file: &Path, input: &mut Input<'_>) -> Result<Vec<u8>, Fault> {
    if file == Path::new("-") {
        return bounded(&mut *input.lines).map_err(|error| unread(file, error))?;
    }
    let found = fs::metadata(file).map_err(|error| unread(file, error))?;
    must_be_a_file(file, &found)?;
    let opened = File::open(file).map_err(|error| unread(file, error))?;
    bounded(opened).map_err(|error| unread(file, error))?
}

/// All that comes, where that is not too much.
fn bounded(source: impl Read) -> io::Result<Result<Vec<u8>, Fault>> {
    let mut lines = Vec::new();
    let bytes = source.take(MOST_BYTES as u64 + 1).read_to_end(&mut lines)?;
    Ok(if bytes > MOST_BYTES { Err(Fault::caller("no_trace", NoStory::TooLong)) } else { Ok(lines) })
}

/// Refuses what may never end, before it is opened: to open a pipe is to wait for whoever writes to it.
fn must_be_a_file(file: &Path, found: &Metadata) -> Result<(), Fault> {
    if !found.is_file() {
        let what = if found.is_dir() { "a folder" } else { "no regular file, but a pipe or a device" };
        return Err(unread(file, format_args!("it is {what}")));
    }
    if found.len() > MOST_BYTES as u64 {
        let why = NoStory::TooLong;
        return Err(Fault::caller("no_trace", format!("{}, {} bytes: {why}", file.display(), found.len())));
    }
    Ok(())
}

fn unread(file: &Path, why: impl Display) -> Fault {
    let right = "give the file of a trace, the name of a run, or `-` for stdin";
    Fault::caller("no_trace", format!("{}: {why}; {right}", file.display()))
}
