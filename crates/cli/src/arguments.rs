//! What people type.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use reservo::civil::DateTime;

/// Conversations with the house Reservo that survive a crash.
#[derive(Debug, Parser)]
#[command(name = "sommelier", version, max_term_width = 110, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    /// The journal's file; the one in your data directory unless given.
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) store: Option<PathBuf>,
    /// One JSON document on stdout and nothing else there.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Each reply of the model takes so many milliseconds at least: time to try out what a crash does.
    #[arg(long, global = true, value_name = "MILLIS", default_value_t = 0, hide_default_value = true)]
    pub(crate) slow: u64,
    /// What the clock of the records shows, for tests.
    #[arg(long, global = true, value_name = "TIME", hide = true)]
    pub(crate) now: Option<DateTime>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
RUN is a run's id or a prefix that only one has.
Exit codes: 0 answered or sound, 1 ended otherwise or damage found, 2 wrong use, 3 waiting for a person.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Says something, and prints the answer.
    Ask(Ask),
    /// Talks, line by line, in a conversation that goes on whenever it is called again.
    Chat {
        /// The conversation's name.
        #[arg(default_value = "chat")]
        name: String,
    },
    /// Lists all runs and how they stand.
    Runs,
    /// Shows a run, record by record.
    Show {
        /// The run.
        run: String,
    },
    /// Goes on with a run that was interrupted, and prints its answer; of one that has ended the answer on record.
    Resume {
        /// The run.
        run: String,
    },
    /// Lists what waits for a person.
    Inbox,
    /// Answers a question, and goes on with its run.
    Answer(Answer),
    /// Calls a run off.
    Cancel {
        /// The run.
        run: String,
        /// Why, for the record.
        #[arg(long, default_value = "a person called it off")]
        reason: String,
    },
    /// Looks for runs that no process drives any more, and goes on with them.
    Sweep {
        /// For how long nothing was written, in milliseconds.
        #[arg(long, default_value_t = 0, value_name = "MILLIS")]
        idle: u64,
    },
    /// Looks at every record, and at what was kept beside the records.
    Verify {
        /// Heads that `export --heads` has printed: what was there then must be there now.
        #[arg(long, value_name = "FILE")]
        heads: Option<PathBuf>,
    },
    /// Prints all records, one JSON object a line.
    Export {
        /// The last record of each run instead, in one document, to be kept where the journal is not.
        #[arg(long)]
        heads: bool,
    },
    /// Takes one handoff again, from the package on record. Nothing is written, and tools with an effect do not run.
    Replay {
        /// The run.
        run: String,
        /// The handoff: its number in the run or its id; the last one that was taken unless given.
        #[arg(long, value_name = "HOP")]
        from: Option<String>,
        /// Who gets the package instead.
        #[arg(long, value_name = "AGENT")]
        to: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// What to say.
    pub(crate) text: String,
    /// The conversation to say it in; a new one unless given.
    #[arg(long, value_name = "NAME")]
    pub(crate) conversation: Option<String>,
    /// Your own name for it: said again under this key in the same conversation, it is answered from the record.
    #[arg(long)]
    pub(crate) key: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Answer {
    /// The question's id.
    pub(crate) id: String,
    /// The digest of the question that you were shown: an answer to another one is refused.
    #[arg(long, global = true)]
    pub(crate) digest: Option<String>,
    /// Who answers, for the record.
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// What you say.
    #[command(subcommand)]
    pub(crate) said: Said,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Said {
    /// Yes: it runs, or is handed over.
    Approve,
    /// No.
    Reject {
        /// Why, in words for the agent.
        reason: String,
    },
    /// The answer to an agent's own question.
    Say {
        /// The words.
        text: String,
    },
    /// You go on in the agents' place, and the run ends.
    TakeOver {
        /// Who, or why, for the record.
        note: String,
    },
    /// What was in doubt has happened.
    Happened {
        /// What it gave.
        result: String,
    },
    /// What was in doubt has not happened.
    DidNotHappen,
    /// What was in doubt had happened, and you have undone it.
    Undone,
}

impl Said {
    pub(crate) fn answer(self) -> sommelier_handoff::Answer {
        use sommelier_handoff::Answer;
        match self {
            Self::Approve => Answer::Approve,
            Self::Reject { reason } => Answer::Reject { reason: reason.into() },
            Self::Say { text } => Answer::Say { text: text.into() },
            Self::TakeOver { note } => Answer::TakeOver { note: note.into() },
            Self::Happened { result } => Answer::Happened { result: result.into() },
            Self::DidNotHappen => Answer::DidNotHappen,
            Self::Undone => Answer::Undone,
        }
    }
}
