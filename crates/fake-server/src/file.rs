//! A file that could not be read.

/// A text that is no script or no plan of faults.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no {what}: {why}")]
pub struct UnreadableFile {
    what: &'static str,
    why: String,
}

impl UnreadableFile {
    pub(crate) fn new(what: &'static str, why: &serde_json::Error) -> Self {
        Self { what, why: why.to_string() }
    }
}
