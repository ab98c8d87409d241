//! What went wrong, and whose fault it is.

use std::ffi::OsString;
use std::fmt::Display;
use std::io;

use clap::error::{ContextKind, ContextValue};
use reservo::ReservoError;
use reservo_ledger::LedgerError;
use rusqlite::ErrorCode;
use serde::{Serialize, Serializer};
use sommelier_handoff::{Answer, Divergence, Rejected};
use sommelier_runner::journal::JournalError;
use sommelier_runner::{DurableError, RunError};
use sommelier_store::{CheckError, IssueError, OpenError, TokenRefused};

use crate::file::{no_journal_yet, quoted};
use crate::words::{in_line, named};

/// Why a command did not do what it was called for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// What went wrong, in a word.
    code: &'static str,
    whose: Whose,
    /// What went wrong, with the value and with what would be right.
    message: String,
    /// What to type then, behind the message: a command or a flag. In a browser nobody can.
    typed: String,
}

impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Told<'a> {
            code: &'static str,
            whose: Whose,
            message: &'a str,
        }
        let Self { code, whose, .. } = *self;
        Told { code, whose, message: &self.message() }.serialize(serializer)
    }
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
        Self { code, whose, message: message.to_string(), typed: String::new() }
    }

    /// The same with what to type then, as it stands behind the message.
    pub(crate) fn typed(mut self, advice: impl Display) -> Self {
        self.typed = advice.to_string();
        self
    }

    /// Wrong use.
    pub(crate) fn caller(code: &'static str, message: impl Display) -> Self {
        Self::new(code, Whose::Caller, message)
    }

    fn message(&self) -> String {
        [&*self.message, &*self.typed].concat()
    }

    /// What went wrong, in one line: what names there are in it come from outside.
    pub(crate) fn line(&self) -> String {
        in_line(&self.message())
    }

    /// The line for who cannot type a command.
    pub(crate) fn line_in_page(&self) -> String {
        in_line(&self.message)
    }

    /// What went wrong, in a line; of arguments that cannot be read in several, which tell what would be right.
    pub(crate) fn text(&self) -> String {
        if self.code == "usage" { self.message() } else { self.line() }
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

/// What was to be printed was not. What a command has done is on record all the same.
pub(crate) fn unprinted(error: &io::Error) -> Fault {
    let why = format!(
        "stdout cannot be written: {error}; the journal has what was done, and `sommelier show` and `sommelier resume` \
         tell it again"
    );
    Fault::new("input_output", Whose::Program, why)
}

/// Arguments that cannot be read.
pub(crate) fn usage(error: &clap::Error, arguments: &[OsString]) -> Fault {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    // Of an argument that is taken for a group of flags the first one is told, and what was typed is what is meant.
    let whole = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(told)) => {
            let given = arguments.iter().filter_map(|argument| argument.to_str());
            given.into_iter().find(|given| given.starts_with(told.as_str())).map(|given| (told, given))
        }
        _ => None,
    };
    let told = whole.map(|(told, given)| text.replace(&format!("{told}'"), &format!("{given}'")));
    Fault::caller("usage", told.as_deref().unwrap_or(text))
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
            OpenError::Absent { path } => no_journal_yet(path),
            OpenError::Sqlite(why) if is_malformed(why) => {
                malformed(format_args!("the file itself is damaged: {why}"), IN_ROWS)
            }
            OpenError::InMemory { .. } => {
                Self::caller("in_memory", format!("{error}; give a file with --store"))
            }
            OpenError::Network { .. } => {
                Self::caller("network", format!("{error}; give a file on a disk of this machine"))
            }
            OpenError::UnknownVersion { .. } => Self::new("other_version", Whose::Program, error),
            OpenError::Busy => Self::new("busy", Whose::OtherProcess, format!("{error}; try again")),
            OpenError::Altered { .. } => altered(error),
            _ => Self::new("unreadable", Whose::Journal, error),
        }
    }
}

/// Whether SQLite says that the file is none of its databases any more.
fn is_malformed(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Whether SQLite has waited in vain for somebody else who writes.
fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Somebody has written to the file past the program, and not to its rows alone.
fn altered(error: impl Display) -> Fault {
    let why =
        format!("{error}; nothing was written. Undo what was done to the file, or take the file from a copy");
    Fault::new("altered", Whose::Journal, why)
}

/// The file itself is damaged, not one conversation in it.
fn malformed(error: impl Display, rest: &str) -> Fault {
    let why = format!("{error}: a part of the file is missing or was overwritten; take the file from a copy");
    Fault::new("damaged", Whose::Journal, why).typed(format_args!("; {rest}"))
}

/// What can be done with the rest of a file that can be opened.
const IN_PARTS: &str = "what can still be read `sommelier export` prints, conversation by conversation";

/// What can be done with the rest of one that cannot be.
const IN_ROWS: &str = "nothing of it can be read here, and `sqlite3 FILE .recover` may find rows in it";

impl From<LedgerError> for Fault {
    fn from(error: LedgerError) -> Self {
        match &error {
            LedgerError::Sqlite(why) if is_malformed(why) => {
                malformed(format_args!("the file itself is damaged: {why}"), IN_PARTS)
            }
            LedgerError::Sqlite(why) if is_busy(why) => JournalError::Busy.into(),
            LedgerError::Altered { .. } => altered(error),
            LedgerError::UnknownVersion { .. } => Self::new("other_version", Whose::Program, error),
            _ => Self::new("ledger", Whose::Journal, error),
        }
    }
}

impl From<ReservoError> for Fault {
    fn from(error: ReservoError) -> Self {
        Self::new("ledger", Whose::Journal, error)
    }
}

impl From<JournalError> for Fault {
    fn from(error: JournalError) -> Self {
        if let JournalError::Malformed(_) = &error {
            return malformed(error, IN_PARTS);
        }
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
        let typed = match code {
            "damaged" => "; `sommelier verify` tells all that is damaged",
            "broken" => "; the same call reads what is there and goes on",
            _ => "",
        };
        let advice = match code {
            "full" => "; what is on record is safe, and the same call goes on when there is room",
            "busy" => "; try again",
            _ => "",
        };
        Self::new(code, whose, format!("{error}{advice}")).typed(typed)
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
            )
            .typed(format_args!(
                ". If it is dead, or is to be stopped, `sommelier resume {} --evict` takes the run from it, as cancel, answer \
                 and ask --conversation do with --evict",
                quoted(&conversation)
            )),
            DurableError::Inside { .. } => Self::caller("inside", error),
            DurableError::SecretKey { .. } => Self::caller("secret_key", error),
            DurableError::KeyReused { conversation, key, .. } => Self::caller(
                "key_reused",
                format!("{key:?} is the key of other words in {conversation:?}, so this is not the same turn sent again"),
            )
            .typed("; give another --key, or those words to be told their answer"),
            DurableError::Rejected(rejected) => rejected.into(),
            DurableError::OtherQuestion { .. } => {
                Self::caller("other_question", error).typed("; `sommelier inbox` shows what is asked now")
            }
            DurableError::Name(_) => Self::caller("name", error),
            DurableError::Misfit(_) => Self::caller("misfit", error),
            DurableError::Diverged { ref why, .. } => {
                let (code, whose) = match **why {
                    Divergence::OtherDefinition(_) | Divergence::Unread(_) => {
                        ("other_definition", Whose::Program)
                    }
                    // By the same definition, so what is on record is not what was written.
                    _ => ("diverged", Whose::Journal),
                };
                Self::new(code, whose, error)
            }
            DurableError::Journal(error) | DurableError::Run(RunError::Unkept(error)) => error.into(),
            DurableError::Run(RunError::Blank(_)) => blank(),
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
        match rejected {
            // The words of an answer as they are typed.
            Rejected::NoChoice { id, answer, choices } => {
                let choices: Vec<String> = choices.iter().map(|choice| typed(choice)).collect();
                let why = format!(
                    "{:?} is no answer to {}; possible: {}",
                    typed(&answer),
                    named(&id),
                    choices.join(", ")
                );
                Self::caller(code, why)
            }
            Rejected::Decided { id, answer } => Self::caller(code, decided(&id, &answer)),
            rejected => Self::caller(code, rejected),
        }
    }
}

/// That a question has its answer.
pub(crate) fn decided(id: &str, answer: &Answer) -> String {
    format!("{} has been answered before, with {}", named(id), typed(answer.as_str()))
}

/// The word of an answer as people type it.
fn typed(word: &str) -> String {
    word.replace('_', "-")
}

/// Somebody has said nothing, or nothing that can be seen.
pub(crate) fn blank() -> Fault {
    Fault::caller("blank", "there are no words; say something")
}

pub(crate) fn unknown_run(given: &str) -> Fault {
    Fault::caller("unknown_run", format!("there is no run {given:?}")).typed("; `sommelier runs` lists them")
}
