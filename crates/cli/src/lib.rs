//! The command `sommelier`: conversations with the house Reservo that are written down as they go, an inbox for what waits
//! for a person, and a look at every record.
//!
//! **What this crate knows:** how a journal, a driver and a house are put together, what people type, and what they are
//! shown. **What it does not know:** how a run goes on; that is the driver's. It writes nothing to a journal itself.
//!
//! What each command does, its exit code and its JSON are in `docs/operating.md`.
//!
//! ```
//! use sommelier::{Io, run};
//!
//! # let folder = std::env::temp_dir().join(format!("sommelier-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let store = folder.join("journal.db");
//! let (mut out, mut err) = (Vec::new(), Vec::new());
//! let io = Io { input: &mut std::io::empty(), is_interactive: false, is_shown: false, out: &mut out, err: &mut err };
//! let arguments = ["sommelier", "ask", "Quote Focus pro for 3 hours", "--store"].map(Into::into);
//! let code = run(arguments.into_iter().chain([store.into_os_string()]), io);
//! assert_eq!(code, 0);
//! assert!(String::from_utf8(out)?.starts_with("Focus pro for 3 hours costs 6000 cents."));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arguments;
mod asked;
mod bookings;
mod command;
mod desk;
mod done;
mod fault;
mod file;
mod house;
mod invariant;
mod invited;
mod model;
mod open;
mod record_line;
mod rows;
mod serve;
mod stand;
mod story;
mod tape;
mod teller;
mod time;
mod watched;
mod words;

use std::ffi::OsString;
use std::fmt;
use std::io::{BufRead, Write};

use clap::Parser;
use clap::error::ErrorKind;

use arguments::Arguments;
use teller::Teller;

/// What a command reads and writes.
pub struct Io<'a> {
    /// What the user types, for `chat`.
    pub input: &'a mut dyn BufRead,
    /// Whether a person types it, who is shown a prompt.
    pub is_interactive: bool,
    /// Whether a terminal shows what was asked for.
    pub is_shown: bool,
    /// For what was asked for.
    pub out: &'a mut dyn Write,
    /// For what is said beside it.
    pub err: &'a mut dyn Write,
}

impl fmt::Debug for Io<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Io")
            .field("is_interactive", &self.is_interactive)
            .field("is_shown", &self.is_shown)
            .finish_non_exhaustive()
    }
}

/// Runs the command of these arguments, the program's name first, and gives its exit code: 0 answered or sound, 1 ended
/// otherwise or damage found, 2 wrong use, 3 waiting for a person.
pub fn run(arguments: impl IntoIterator<Item = OsString>, io: Io<'_>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let (mut teller, mut input) = Teller::new(io);
    let read = match Arguments::try_parse_from(&arguments) {
        Ok(read) => read,
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            let said = teller.say(error.to_string().trim_end());
            return teller.end(said.map(|()| 0));
        }
        Err(error) => {
            // The flag counts also where the rest cannot be read.
            teller.json = arguments.iter().any(|argument| argument == "--json");
            return teller.end(Err(fault::usage(&error, &arguments)));
        }
    };
    teller.json = read.json;
    let watching = read.watching.clone();
    let cassettes = read.command.asking().into_iter().flat_map(|(asking, _)| asking.cassettes());
    let ended = watching
        .must_have_a_place()
        .and_then(|()| watching.must_leave(read.store.clone(), cassettes))
        .and_then(|()| watching.over(&mut teller, |teller| command::run(read, teller, &mut input)));
    teller.end(ended)
}
