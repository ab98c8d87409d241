//! What can go wrong in a command, and whose doing it is.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The caller asked for something that there is not: exit code 2.
    Misuse(String),
    /// The system refused us something: exit code 1.
    System { doing: String, source: io::Error },
    /// A check was made and did not hold: exit code 1.
    Failed(String),
}

impl Fault {
    pub(crate) fn system(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { doing: doing.into(), source }
    }

    pub(crate) fn code(&self) -> ExitCode {
        match self {
            Self::Misuse(_) => ExitCode::from(2),
            Self::System { .. } | Self::Failed(_) => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // What was typed may hold what a terminal would obey.
            Self::Misuse(what) | Self::Failed(what) => what.chars().try_for_each(|c| match c {
                c if c.is_control() && c != '\n' => write!(f, "{}", c.escape_default()),
                c => write!(f, "{c}"),
            }),
            Self::System { doing, source } => write!(f, "{doing}: {source}"),
        }
    }
}
