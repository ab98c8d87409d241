//! A file that could not be read.

use sommelier_protocol::sight::printable;

/// A text that is no script or no plan of faults.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no {what}: {why}")]
pub struct UnreadableFile {
    what: &'static str,
    why: String,
}

impl UnreadableFile {
    pub(crate) fn new(what: &'static str, why: &serde_json::Error) -> Self {
        // The error quotes what stands there, which may be meant for the terminal.
        Self { what, why: printable(&why.to_string()) }
    }
}
