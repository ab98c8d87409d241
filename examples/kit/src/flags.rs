//! The flags of the example binaries.

use lexopt::prelude::*;
use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::Trace;

/// What was asked for on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// One JSON document on stdout and nothing else.
    pub json: bool,
    /// What of the spans goes to stderr.
    pub trace: Trace,
    /// Approve the tools that need it.
    pub approve: bool,
    /// Deny the tools that need approval.
    pub deny: bool,
    /// What a person says to questions, each as it was written.
    pub answers: Vec<String>,
    /// The conversation's name.
    pub conversation: Option<String>,
    /// What the house's clock shows, such as `2026-11-30T10:00`.
    pub now: Option<String>,
    /// The program's own flags, each with its value as it was written.
    values: BTreeMap<String, String>,
    /// Words that are no flag.
    pub words: Vec<String>,
    /// Whether help was asked for.
    pub help: bool,
}

/// Wrong use: what, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misuse(String);

impl Misuse {
    /// What is wrong, safe for a terminal whatever was typed.
    pub fn new(what: impl AsRef<str>) -> Self {
        Self(crate::printable(what.as_ref()))
    }
}

impl std::fmt::Display for Misuse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Misuse {}

impl Flags {
    /// Reads the arguments after the program's name. `allowed` are the flags of this program.
    ///
    /// # Errors
    /// [`Misuse`] for a flag that the program does not have, and for a value that does not fit its flag.
    pub fn parse(args: impl IntoIterator<Item = OsString>, allowed: &[&str]) -> Result<Self, Misuse> {
        let mut flags = Self::default();
        let mut parser = lexopt::Parser::from_args(args);
        while let Some(arg) = parser.next().map_err(wrong)? {
            match arg {
                Short('h') | Long("help") => flags.help = true,
                Long(name) if !allowed.contains(&name) => {
                    let known: Vec<String> = allowed.iter().map(|name| format!("--{name}")).collect();
                    return Err(Misuse::new(format!(
                        "--{name} is no flag here; there are {}",
                        known.join(", ")
                    )));
                }
                Long("json") => flags.json = true,
                Long("approve") => flags.approve = true,
                Long("deny") => flags.deny = true,
                Long("answer") => flags.answers.push(value(&mut parser, "--answer")?),
                Long("conversation") => flags.conversation = Some(value(&mut parser, "--conversation")?),
                Long("trace") => flags.trace = value(&mut parser, "--trace")?,
                Long("now") => flags.now = Some(value(&mut parser, "--now")?),
                Long(name) => {
                    let name = name.to_owned();
                    let written = value(&mut parser, &format!("--{name}"))?;
                    flags.values.insert(name, written);
                }
                Value(word) => flags.words.push(word.parse().map_err(wrong)?),
                other => return Err(wrong(other.unexpected())),
            }
        }
        Ok(flags)
    }

    /// The number after the program's own flag `--name`; `None` when it was not given.
    ///
    /// # Errors
    /// [`Misuse`] when it is no whole number, or none of `legal`.
    pub fn number(&self, name: &str, legal: RangeInclusive<i64>) -> Result<Option<i64>, Misuse> {
        let Some(written) = self.values.get(name) else { return Ok(None) };
        read_number(name, written, &legal).map(Some)
    }

    /// The numbers after the program's own flag `--name`, written `3` or `2..6`, both ends included; `None` when it
    /// was not given.
    ///
    /// # Errors
    /// [`Misuse`] when it is no such range, an empty one, or not all of it is of `legal`.
    pub fn range(
        &self,
        name: &str,
        legal: RangeInclusive<i64>,
    ) -> Result<Option<RangeInclusive<i64>>, Misuse> {
        let Some(written) = self.values.get(name) else { return Ok(None) };
        let (first, last) = written.split_once("..").unwrap_or((written, written));
        let first = read_number(name, first, &legal)?;
        let last = read_number(name, last.strip_prefix('=').unwrap_or(last), &legal)?;
        if first > last {
            return Err(Misuse::new(format!(
                "--{name} {written}: the range is empty; write {last}..{first}"
            )));
        }
        Ok(Some(first..=last))
    }
}

fn read_number(name: &str, written: &str, legal: &RangeInclusive<i64>) -> Result<i64, Misuse> {
    let number: i64 = written
        .trim()
        .parse()
        .map_err(|_| Misuse::new(format!("--{name} {written}: a whole number is wanted")))?;
    if !legal.contains(&number) {
        let (least, most) = (legal.start(), legal.end());
        return Err(Misuse::new(format!("--{name} {written}: {least} to {most} are possible")));
    }
    Ok(number)
}

/// The value after a flag.
fn value<T: FromStr>(parser: &mut lexopt::Parser, flag: &str) -> Result<T, Misuse>
where
    T::Err: Into<Box<dyn Error + Send + Sync>>,
{
    let value = parser.value().map_err(wrong)?;
    value.parse().map_err(|error| Misuse::new(format!("{flag}: {error}")))
}

fn wrong(error: lexopt::Error) -> Misuse {
    Misuse::new(error.to_string())
}
