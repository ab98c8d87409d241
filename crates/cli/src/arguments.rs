//! What people type.

use std::convert::Infallible;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use reservo::civil::DateTime;
use sommelier_handoff::Answer as Said;
use sommelier_store::Token;

use crate::command::LESSON;
use crate::fault::Fault;
use crate::model::{Asking, Choice};
use crate::watched::Watching;
use crate::words::is_seen;

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
    #[arg(long, global = true, value_name = "MILLIS", default_value_t = 0, hide = true)]
    pub(crate) slow: u64,
    /// What the clock of the records shows, for tests.
    #[arg(long, global = true, value_name = "TIME", hide = true)]
    pub(crate) now: Option<DateTime>,
    #[command(flatten)]
    pub(crate) watching: Watching,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// An argument in which there is something that can be seen: none of them makes sense without.
fn filled(given: &str) -> Result<String, &'static str> {
    if given.chars().any(is_seen) { Ok(given.to_owned()) } else { Err("there is nothing in it") }
}

/// The number of the lesson that is held here: `5` and `05` are the same.
fn lesson(given: &str) -> Result<u32, String> {
    match given.parse() {
        Ok(number) if LESSON.parse() == Ok(number) => Ok(number),
        Ok(number) => Err(format!(
            "no model is asked in lesson {number:02}; it is run by `cargo xtask lesson {number:02}`, and {LESSON} here"
        )),
        Err(_) => Err(format!("a lesson has a number, and the one that is held here is {LESSON}")),
    }
}

/// For the commands that ask a model.
const SLOW: &str = "\
With --slow MILLIS each reply of the model takes so long at least: time to try out what a crash does.";

const EXIT_CODES: &str = "\
RUN is a run's id or a prefix that only one has.
Exit codes: 0 answered or sound, 1 ended otherwise or damage found, 2 wrong use, 3 waiting for a person.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Says something, and prints the answer.
    #[command(after_help = SLOW)]
    Ask(Ask),
    /// Talks, line by line, in a conversation that goes on whenever it is called again.
    #[command(after_help = SLOW)]
    Chat {
        /// The conversation's name.
        #[arg(default_value = "chat", value_parser = filled)]
        name: String,
        /// The same by a flag, as `ask` has it.
        #[arg(long, value_name = "NAME", value_parser = filled, conflicts_with = "name")]
        conversation: Option<String>,
        #[command(flatten)]
        asking: Asking,
    },
    /// Holds the case of lesson 05 with a model, in a conversation of its own, and looks whether what must hold does.
    #[command(after_help = SLOW)]
    Lesson {
        /// The lesson: 05.
        #[arg(value_name = "NN", value_parser = lesson)]
        number: u32,
        #[command(flatten)]
        asking: Asking,
    },
    /// Lists all runs and how they stand.
    Runs,
    /// Shows a run, record by record.
    Show {
        /// The run.
        #[arg(value_parser = filled)]
        run: String,
        /// Also the records that say who drives the run.
        #[arg(long)]
        all: bool,
    },
    /// Goes on with a run that was interrupted, and prints its answer; of one that has ended the answer on record.
    #[command(after_help = SLOW)]
    Resume {
        /// The run.
        #[arg(value_parser = filled)]
        run: String,
        /// Also where it has ended without an answer: a model declined, a reply was cut, a limit was reached. It is tried
        /// again from there, and nothing is done twice.
        #[arg(long)]
        again: bool,
        #[command(flatten)]
        lease: Lease,
        #[command(flatten)]
        asking: Asking,
    },
    /// Tells what happened in a run, or in a file of spans: as a page, a drawing, or text.
    Report(Report),
    /// Lists what waits for a person.
    Inbox,
    /// Shows conversations, runs and the inbox in a browser, until it is ended.
    #[command(after_help = SLOW)]
    Serve(Serve),
    /// Answers a question, and goes on with its run.
    Answer(Answer),
    /// Invites a person outside to answer a question: prints a token that is good for one answer.
    Invite(Invite),
    /// Takes an invitation back.
    Withdraw {
        /// The invitation's id: what its token begins with.
        #[arg(value_parser = filled)]
        invitation: String,
    },
    /// Calls a run off.
    Cancel {
        /// The run.
        #[arg(value_parser = filled)]
        run: String,
        /// Why, for the record.
        #[arg(long, default_value = "a person called it off", value_parser = filled)]
        reason: String,
        #[command(flatten)]
        lease: Lease,
    },
    /// Looks for runs that no process drives any more, and goes on with them.
    #[command(after_help = SLOW)]
    Sweep {
        /// For how long nothing was written, in milliseconds.
        #[arg(long, default_value_t = 0, value_name = "MILLIS")]
        idle: u64,
        /// First waits for runs that are leased to a process, which may have died: four seconds at most.
        #[arg(long)]
        wait: bool,
        #[command(flatten)]
        asking: Asking,
    },
    /// Looks at every record, and at what was kept beside the records.
    Verify {
        /// Heads that `export --heads` has printed: what was there then must be there now.
        #[arg(long, value_name = "FILE")]
        heads: Option<PathBuf>,
    },
    /// Makes a cassette of a run: what its models were asked and said, in a file that `--model cassette:FILE` answers from.
    Cassette {
        /// The run.
        #[arg(value_parser = filled)]
        run: String,
        /// The file; on stdout unless given.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
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
        #[arg(value_parser = filled)]
        run: String,
        /// The handoff: its number in the run or its id; the last one that was taken unless given.
        #[arg(long, value_name = "HOP", value_parser = filled)]
        from: Option<String>,
        /// Who gets the package instead.
        #[arg(long, value_name = "AGENT", value_parser = filled)]
        to: Option<String>,
        #[command(flatten)]
        asking: Asking,
    },
}

impl Command {
    /// How the command asks a model, and which one unless that is said; `None` for one that asks none.
    pub(crate) fn asking(&self) -> Option<(&Asking, Choice)> {
        match self {
            Self::Lesson { asking, .. } => Some((asking, Choice::Script)),
            Self::Ask(Ask { asking, .. })
            | Self::Answer(Answer { asking, .. })
            | Self::Chat { asking, .. }
            | Self::Resume { asking, .. }
            | Self::Sweep { asking, .. }
            | Self::Serve(Serve { asking, .. })
            | Self::Replay { asking, .. } => Some((asking, Choice::Offline)),
            Self::Runs
            | Self::Show { .. }
            | Self::Inbox
            | Self::Invite(_)
            | Self::Withdraw { .. }
            | Self::Cancel { .. }
            | Self::Verify { .. }
            | Self::Cassette { .. }
            | Self::Report(_)
            | Self::Export { .. } => None,
        }
    }
}

/// What becomes of another process's lease.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Lease {
    /// Takes the run from the process that has it, without waiting: one that is known to be dead, or is to be stopped.
    /// Nothing that it still does is written, and what it was just doing is in doubt.
    #[arg(long)]
    pub(crate) evict: bool,
}

impl Lease {
    /// It is waited for until it is over.
    pub(crate) const WAITED_FOR: Self = Self { evict: false };
}

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// What to say.
    pub(crate) text: String,
    /// The conversation to say it in; a new one unless given.
    #[arg(long, value_name = "NAME", value_parser = filled)]
    pub(crate) conversation: Option<String>,
    /// Your own name for it: said again under this key in the same conversation, it is answered from the record.
    #[arg(long, value_parser = filled)]
    pub(crate) key: Option<String>,
    #[command(flatten)]
    pub(crate) lease: Lease,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "sommelier answer [OPTIONS] <ID> <WORD> [TEXT]\n       \
                      sommelier answer [OPTIONS] --token <TOKEN> <WORD> [TEXT]",
    after_help = Word::help()
)]
pub(crate) struct Answer {
    /// The digest of the question that you were shown: an answer to another one is refused.
    #[arg(long, value_parser = filled)]
    digest: Option<String>,
    /// Who answers, for the record.
    #[arg(long, value_name = "NAME", value_parser = filled)]
    by: Option<String>,
    /// The token that you were sent, which says what question you answer; `-` reads it from stdin, so that it is in no list of
    /// processes.
    #[arg(long, conflicts_with_all = ["digest", "by", "evict"])]
    token: Option<Hidden>,
    #[command(flatten)]
    pub(crate) lease: Lease,
    #[command(flatten)]
    pub(crate) asking: Asking,
    /// The question's id. It is not given with a token.
    #[arg(value_name = "ID", value_parser = filled)]
    first: String,
    /// What you say.
    #[arg(value_name = "WORD", value_parser = filled)]
    second: Option<String>,
    /// The words that belong to it: with `reject` why, or how to go on, for the agent; with `say` the answer to the agent's own question; with
    /// `take-over` who or why, for the record; with `happened` what the call gave.
    #[arg(value_name = "TEXT", value_parser = filled)]
    third: Option<String>,
}

/// Which question is answered.
#[derive(Debug)]
pub(crate) enum Addressed {
    /// That of this id, by somebody who is at the machine.
    Question {
        id: String,
        /// The digest of what was shown.
        digest: Option<String>,
        by: Option<String>,
    },
    /// That of this token, by whoever has it.
    Token(Hidden),
}

impl Answer {
    /// Which question is answered, and what is said.
    pub(crate) fn read(self) -> Result<(Addressed, Said), Fault> {
        let Self { digest, by, token, first, second, third, .. } = self;
        match (token, second, third) {
            (Some(token), text, None) => Ok((Addressed::Token(token), Word::read(&first)?.answer(text)?)),
            (Some(_), ..) => Err(Fault::caller(
                "usage",
                "a token says what question is answered; no id is given with it: \
                 sommelier answer --token <TOKEN> <WORD> [TEXT]",
            )),
            (None, ..) if Token::is_like(&first) => {
                Err(Fault::caller("usage", "a token is given with --token, and best as `--token -` on stdin"))
            }
            (None, Some(word), text) => {
                let answer = Word::read(&word)?.answer(text)?;
                Ok((Addressed::Question { id: first, digest, by }, answer))
            }
            (None, None, _) => {
                Err(Fault::caller("usage", "an answer has a word: sommelier answer <ID> <WORD> [TEXT]"))
            }
        }
    }
}

/// What must not be shown: it takes any text, so that no message of the parser repeats it.
#[derive(Clone)]
pub(crate) struct Hidden(pub(crate) String);

impl FromStr for Hidden {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hidden")
    }
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The run; or the file of a trace, whose name ends in `.jsonl`, and `-` for one on stdin.
    #[arg(value_name = "RUN|FILE.jsonl", value_parser = filled)]
    pub(crate) source: String,
    /// Where to write it; `-` for stdout. A file that is there is replaced.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// In which form; unless given, as the file's name ends: `.html`, `.svg`, `.mmd`, `.txt` or `.json`. Without either a page.
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// Of a trace of several conversations, the one that is meant.
    #[arg(long, value_name = "NAME", value_parser = filled)]
    pub(crate) conversation: Option<String>,
}

impl Report {
    /// The file that is meant; none where it is a run.
    pub(crate) fn file(&self) -> Option<&Path> {
        (self.source == "-" || self.source.ends_with(".jsonl")).then(|| Path::new(&self.source))
    }
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The port; 0 for one that is free.
    #[arg(long, value_name = "N", default_value_t = 8417)]
    pub(crate) port: u16,
    /// The address to listen at. Beyond this machine whoever has the token may read and answer everything, and what is sent
    /// is not encrypted.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub(crate) host: IpAddr,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// A form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One page, whole in itself
    Html,
    /// A sequence diagram, for a document that draws such
    Mermaid,
    /// The sequence diagram, as a drawing
    Svg,
    /// For a terminal
    Text,
    /// The story as JSON, for another program
    Json,
}

/// How long a token is good unless it is said, in hours.
const HOURS: u64 = 24;

#[derive(Debug, Args)]
pub(crate) struct Invite {
    /// The question's id.
    #[arg(value_parser = filled)]
    pub(crate) id: String,
    /// The digest of the question that you were shown: to another one nobody is invited.
    #[arg(long, value_parser = filled)]
    pub(crate) digest: Option<String>,
    /// Who is invited, for the record.
    #[arg(long, value_name = "NAME", value_parser = filled)]
    pub(crate) to: Option<String>,
    /// For how many hours the token is good; 24 unless given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "millis")]
    hours: Option<u64>,
    /// For how long the token is good, in milliseconds.
    #[arg(long = "for", value_name = "MILLIS", value_parser = clap::value_parser!(u64).range(1..))]
    millis: Option<u64>,
}

impl Invite {
    /// For how long the token is good, in milliseconds.
    pub(crate) fn term(&self) -> u64 {
        self.millis.unwrap_or_else(|| self.hours.unwrap_or(HOURS).saturating_mul(60 * 60 * 1000))
    }
}

// A word with its text and no command of its own: so an id that begins with a dash can be written behind `--`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Word {
    /// Yes: it runs, or is handed over
    Approve,
    /// No: it is not done, the agent reads why and goes on; a handoff that was refused stays so, and the agents go on
    Reject,
    /// The answer to an agent's own question
    Say,
    /// The run ends for the agents, and what is left to do is yours
    TakeOver,
    /// What was in doubt has happened: it is not done again, and the agent reads what it gave
    Happened,
    /// What was in doubt has not happened: the agent may try it again
    DidNotHappen,
    /// What was in doubt had happened, and you have undone it: the agent is told so and goes on
    Undone,
}

impl Word {
    /// The word that was typed.
    pub(crate) fn read(typed: &str) -> Result<Self, Fault> {
        Self::from_str(typed, false).map_err(|_| {
            let words: Vec<String> = Self::value_variants().iter().map(|word| word.typed()).collect();
            // A token may have come here by mistake.
            let typed = if Token::is_like(typed) { "a token" } else { typed };
            Fault::caller(
                "usage",
                format!("invalid value '{typed}' for '<WORD>'\n  [possible values: {}]", words.join(", ")),
            )
        })
    }

    /// The words with what they mean.
    fn help() -> String {
        let line = |word: &Self| {
            let meaning = word.to_possible_value().and_then(|word| word.get_help().map(ToString::to_string));
            format!("\n  {:<15} {}", word.typed(), meaning.unwrap_or_default())
        };
        format!("Words:{}\n\n{SLOW}", Self::value_variants().iter().map(line).collect::<String>())
    }

    /// The answer with its text, which some words want and the others do not have.
    pub(crate) fn answer(self, text: Option<String>) -> Result<Said, Fault> {
        let is_alone = |answer| match &text {
            None => Ok(answer),
            Some(text) => {
                Err(Fault::caller("usage", format!("{text:?} is too much: `{}` stands alone", self.typed())))
            }
        };
        let with = |what: &str| {
            text.clone().map(Into::into).ok_or_else(|| {
                let word = self.typed();
                Fault::caller("usage", format!("`{word}` wants a text behind it"))
                    .typed(format_args!(": sommelier answer <ID> {word} <{what}>"))
            })
        };
        Ok(match self {
            Self::Approve => is_alone(Said::Approve)?,
            Self::Reject => Said::Reject { reason: with("REASON")? },
            Self::Say => Said::Say { text: with("TEXT")? },
            Self::TakeOver => Said::TakeOver { note: with("NOTE")? },
            Self::Happened => Said::Happened { result: with("RESULT")? },
            Self::DidNotHappen => is_alone(Said::DidNotHappen)?,
            Self::Undone => is_alone(Said::Undone)?,
        })
    }

    /// The word as it is typed.
    fn typed(self) -> String {
        self.to_possible_value().map(|word| word.get_name().to_owned()).unwrap_or_default()
    }
}
