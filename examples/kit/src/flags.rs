//! The flags of the example binaries.

use lexopt::prelude::*;
use std::error::Error;
use std::ffi::OsString;
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
    /// What the house's clock shows, such as `2026-11-30T10:00`.
    pub now: Option<String>,
    /// A no-show fee other than the house's, in cents.
    pub fee: Option<i64>,
    /// A rate for Focus on the pro plan other than the house's, in cents an hour.
    pub rate: Option<i64>,
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
                Long("trace") => flags.trace = value(&mut parser, "--trace")?,
                Long("now") => flags.now = Some(value(&mut parser, "--now")?),
                Long("fee") => flags.fee = Some(value(&mut parser, "--fee")?),
                Long("rate") => flags.rate = Some(value(&mut parser, "--rate")?),
                Value(word) => flags.words.push(word.parse().map_err(wrong)?),
                other => return Err(wrong(other.unexpected())),
            }
        }
        Ok(flags)
    }
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
