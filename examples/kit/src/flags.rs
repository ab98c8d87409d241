//! The flags of the example binaries.

use lexopt::prelude::*;
use std::ffi::OsString;

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
pub struct Misuse(pub String);

impl std::fmt::Display for Misuse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misuse {}

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
                    return Err(Misuse(format!("--{name} is no flag here; there are {}", known.join(", "))));
                }
                Long("json") => flags.json = true,
                Long("approve") => flags.approve = true,
                Long("trace") => flags.trace = parser.value().map_err(wrong)?.parse().map_err(wrong)?,
                Long("now") => flags.now = Some(parser.value().map_err(wrong)?.parse().map_err(wrong)?),
                Long("fee") => flags.fee = Some(parser.value().map_err(wrong)?.parse().map_err(wrong)?),
                Long("rate") => flags.rate = Some(parser.value().map_err(wrong)?.parse().map_err(wrong)?),
                Value(word) => flags.words.push(word.parse().map_err(wrong)?),
                other => return Err(wrong(other.unexpected())),
            }
        }
        Ok(flags)
    }
}

fn wrong(error: lexopt::Error) -> Misuse {
    Misuse(error.to_string())
}
