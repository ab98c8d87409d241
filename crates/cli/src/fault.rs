//! What went wrong, and whose fault it is.

use std::fmt::Display;
use std::io;

use reservo::ReservoError;
use reservo_ledger::LedgerError;
use serde::Serialize;
use sommelier_handoff::{Divergence, Rejected};
use sommelier_runner::journal::JournalError;
use sommelier_runner::{DurableError, RunError};
use sommelier_store::{CheckError, IssueError, OpenError, TokenRefused};

/// Why a command did not do what it was called for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Fault {
    /// What went wrong, in a word.
    code: &'static str,
    whose: Whose,
    /// What went wrong, with the value and with what would be right.
    message: String,
}

/// Whose fault it is: who can do something about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Whose {
    /// Whoever typed the command.
    Caller,
    /// Another process that is at work. Nothing is wrong.
    OtherProcess,
    /// What is on disk, or the disk.
    Journal,
    /// The program: the agents as they are defined in this release.
    Program,
}

impl Fault {
    pub(crate) fn new(code: &'static str, whose: Whose, message: impl Display) -> Self {
        Self { code, whose, message: message.to_string() }
    }

    /// Wrong use.
    pub(crate) fn caller(code: &'static str, message: impl Display) -> Self {
        Self::new(code, Whose::Caller, message)
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The fault in a word, for a list in which it stands beside others.
    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self.whose {
            Whose::Caller => 2,
            Whose::OtherProcess | Whose::Journal | Whose::Program => 1,
        }
    }
}

/// Arguments that cannot be read.
pub(crate) fn usage(error: &clap::Error) -> Fault {
    let text = error.to_string();
    Fault::caller("usage", text.strip_prefix("error: ").unwrap_or(&text).trim_end())
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::new("input_output", Whose::Program, error)
    }
}

impl From<OpenError> for Fault {
    fn from(error: OpenError) -> Self {
        match &error {
            OpenError::Foreign { .. } => Self::caller(
                "no_journal",
                format!("{error}, and is left as it is; give the file of a journal with --store"),
            ),
            OpenError::InMemory { .. } => {
                Self::caller("in_memory", format!("{error}; give a file with --store"))
            }
            OpenError::Network { .. } => {
                Self::caller("network", format!("{error}; give a file on a disk of this machine"))
            }
            OpenError::UnknownVersion { .. } => Self::new("other_version", Whose::Program, error),
            OpenError::Busy => Self::new("busy", Whose::OtherProcess, format!("{error}; try again")),
            _ => Self::new("unreadable", Whose::Journal, error),
        }
    }
}

impl From<LedgerError> for Fault {
    fn from(error: LedgerError) -> Self {
        Self::new("ledger", Whose::Journal, error)
    }
}

impl From<ReservoError> for Fault {
    fn from(error: ReservoError) -> Self {
        Self::new("ledger", Whose::Journal, error)
    }
}

impl From<JournalError> for Fault {
    fn from(error: JournalError) -> Self {
        let (code, whose) = match &error {
            JournalError::Damaged(_) | JournalError::ReadOnly(_) => ("damaged", Whose::Journal),
            JournalError::Full => ("full", Whose::Journal),
            JournalError::Broken(_) => ("broken", Whose::Journal),
            JournalError::Busy => ("busy", Whose::OtherProcess),
            JournalError::Held { .. } | JournalError::Fenced(_) | JournalError::Conflict(_) => {
                ("held", Whose::OtherProcess)
            }
            JournalError::Unfit(_) => ("unfit", Whose::Caller),
            _ => ("journal", Whose::Journal),
        };
        let advice = match code {
            "damaged" => "; `sommelier verify` tells all that is damaged",
            "full" => "; what is on record is safe, and the same call goes on when there is room",
            "broken" => "; the same call reads what is there and goes on",
            _ => "",
        };
        Self::new(code, whose, format!("{error}{advice}"))
    }
}

/// Whoever presents a token is told that it is not valid, and not why.
impl From<TokenRefused> for Fault {
    fn from(_: TokenRefused) -> Self {
        Self::caller("invalid_token", TokenRefused::TOLD)
    }
}

impl From<CheckError> for Fault {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::Refused(refused) => refused.into(),
            CheckError::Journal(error) => error.into(),
            error => Self::new("journal", Whose::Journal, error),
        }
    }
}

impl From<IssueError> for Fault {
    fn from(error: IssueError) -> Self {
        match error {
            IssueError::Journal(error) => error.into(),
            IssueError::Over { .. } => Self::caller("usage", error),
            error => Self::new("input_output", Whose::Program, error),
        }
    }
}

impl From<DurableError> for Fault {
    fn from(error: DurableError) -> Self {
        match error {
            DurableError::Unknown(name) => unknown_run(&name),
            DurableError::Held { conversation, owner, .. } => Self::new(
                "held",
                Whose::OtherProcess,
                format!("`{owner}` drives {conversation:?}; try again when it has ended"),
            ),
            DurableError::KeyReused { .. } => {
                Self::caller("key_reused", format!("{error}; give another --key"))
            }
            DurableError::Rejected(rejected) => rejected.into(),
            DurableError::OtherQuestion { .. } => {
                Self::caller("other_question", format!("{error}; `sommelier inbox` shows what is asked now"))
            }
            DurableError::Name(_) => Self::caller("name", error),
            DurableError::Misfit(_) => Self::caller("misfit", error),
            DurableError::Diverged { ref why, .. } => {
                let code = match **why {
                    Divergence::OtherDefinition(_) | Divergence::Unread(_) => "other_definition",
                    _ => "diverged",
                };
                Self::new(code, Whose::Program, error)
            }
            DurableError::Journal(error) | DurableError::Run(RunError::Unkept(error)) => error.into(),
            DurableError::Run(RunError::Blank(_)) => {
                Self::caller("blank", "there are no words; say something")
            }
            error => Self::new("driver", Whose::Program, error),
        }
    }
}

impl From<Rejected> for Fault {
    fn from(rejected: Rejected) -> Self {
        let code = match rejected {
            Rejected::Unknown { .. } => "unknown_question",
            Rejected::Decided { .. } => "answered_before",
            Rejected::NoChoice { .. } => "no_choice",
            Rejected::TooLate { .. } => return Self::new("too_late", Whose::Program, rejected),
        };
        Self::caller(code, rejected)
    }
}

pub(crate) fn unknown_run(given: &str) -> Fault {
    Fault::caller("unknown_run", format!("there is no run {given:?}; `sommelier runs` lists them"))
}
