//! What can be wrong with a cassette.

use std::io;
use std::path::{Path, PathBuf};

use sommelier_runner::DurableError;

use crate::cassette::MAX_BYTES;
use crate::{MAX_MESSAGES, VERSION};

/// Why a text or a file is no cassette, or one could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    /// It is no JSON: a file that was cut or damaged, or changed by hand and not ended.
    #[error("the cassette is no JSON: {why}")]
    Json {
        /// What is wrong, and where.
        why: String,
    },
    /// It is JSON and no cassette.
    #[error("the cassette has {found} at `{path}`, where {expected} belongs")]
    Shape {
        /// Where, such as `exchanges[3].keeps`.
        path: String,
        /// What belongs there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A version that this release does not know.
    #[error(
        "the cassette has version {found}, and this release reads version {VERSION}; record it anew, or read it with the release that wrote it"
    )]
    Version {
        /// The version.
        found: String,
    },
    /// It is larger than any that is read.
    #[error("the cassette has more than {MAX_BYTES} bytes; record fewer runs in one")]
    TooLarge,
    /// Its exchanges have more messages and settings together than are read.
    #[error(
        "the requests of the cassette have more than {MAX_MESSAGES} messages and settings together; record fewer turns in one"
    )]
    TooLong,
    /// A file that cannot be read or written.
    #[error("the cassette {} could not be {done}: {error}", path.display(), done = if *act == "read" { "read" } else { "written" })]
    File {
        /// The file.
        path: PathBuf,
        /// `read` or `write`.
        act: &'static str,
        /// Why not.
        error: io::Error,
    },
    /// Records that are not those of a run of the relay.
    #[error("the run cannot be played again: {0}")]
    Run(#[from] DurableError),
}

impl CassetteError {
    pub(crate) fn file(path: &Path, act: &'static str, error: &io::Error) -> Self {
        // The words of the error name no file.
        Self::File { path: path.to_owned(), act, error: io::Error::new(error.kind(), error.to_string()) }
    }
}
