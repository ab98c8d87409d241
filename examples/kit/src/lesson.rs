//! A lesson: something that is run, shown, and held to what it claims.

use serde::Serialize;
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::{Flags, Misuse, Trace, install, print};

/// Something that a lesson claims, and whether what was measured bears it out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The claim.
    pub claim: String,
    /// Whether it holds.
    pub holds: bool,
}

impl Claim {
    /// A claim that holds when `found` equals `expected`.
    pub fn equal<T: PartialEq + std::fmt::Debug>(claim: &str, found: T, expected: T) -> Self {
        let holds = found == expected;
        let claim = if holds {
            claim.to_owned()
        } else {
            format!("{claim} (expected {expected:?}, found {found:?})")
        };
        Self { claim, holds }
    }

    /// A claim that holds when `holds`.
    pub fn that(claim: &str, holds: bool) -> Self {
        Self { claim: claim.to_owned(), holds }
    }
}

/// What a lesson shows.
#[derive(Clone, Debug)]
pub struct Shown<J> {
    /// For a reader.
    pub text: String,
    /// For a program.
    pub json: J,
    /// What the lesson claims.
    pub claims: Vec<Claim>,
}

/// A lesson's title and flags.
#[derive(Clone, Copy, Debug)]
pub struct Lesson {
    /// The number, such as `05`.
    pub number: &'static str,
    /// What it is about, in a line.
    pub title: &'static str,
    /// Flags besides `--json` and `--trace`: name, name of the value, meaning.
    pub flags: &'static [(&'static str, &'static str, &'static str)],
}

impl Lesson {
    /// Runs the lesson: 0 when everything it claims holds, 1 when something does not, 2 for wrong use.
    pub fn run<J: Serialize>(
        self,
        show: impl FnOnce(&Flags) -> Result<Shown<J>, Box<dyn Error>>,
    ) -> ExitCode {
        let mut allowed = vec!["json", "trace"];
        allowed.extend(self.flags.iter().map(|(flag, ..)| *flag));
        let done = Flags::parse(std::env::args_os().skip(1), &allowed)
            .map_err(Box::from)
            .and_then(|flags| self.show(&flags, show));
        match done {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                // Standard error may be gone too; the status tells.
                let _ = writeln!(io::stderr(), "lesson {}: {error}", self.number);
                if error.is::<Misuse>() { ExitCode::from(2) } else { ExitCode::FAILURE }
            }
        }
    }

    /// Shows the lesson, and tells whether everything it claims holds.
    fn show<J: Serialize>(
        self,
        flags: &Flags,
        show: impl FnOnce(&Flags) -> Result<Shown<J>, Box<dyn Error>>,
    ) -> Result<bool, Box<dyn Error>> {
        if flags.help {
            print(&self.help())?;
            return Ok(true);
        }
        if !flags.words.is_empty() {
            return Err(Misuse::new(format!("a lesson takes no words, found {:?}", flags.words)).into());
        }
        let metrics = install(flags.trace);
        let shown = show(flags)?;
        let has_spans = metrics.report().workflows.closed > 0;
        print(&if flags.json { self.json(&shown)? } else { self.text(flags, has_spans, &shown) })?;
        Ok(shown.claims.iter().all(|claim| claim.holds))
    }

    fn json<J: Serialize>(self, shown: &Shown<J>) -> serde_json::Result<String> {
        #[derive(Serialize)]
        struct Document<'a, J> {
            lesson: &'static str,
            title: &'static str,
            #[serde(flatten)]
            shown: &'a J,
            claims: &'a [Claim],
        }

        let Shown { json: shown, claims, .. } = shown;
        serde_json::to_string_pretty(&Document { lesson: self.number, title: self.title, shown, claims })
    }

    fn text<J>(self, flags: &Flags, has_spans: bool, shown: &Shown<J>) -> String {
        let mut text =
            format!("Lesson {}: {}\n\n{}\nWhat this run shows:\n", self.number, self.title, shown.text);
        for claim in &shown.claims {
            text.push_str(&format!("  {} {}\n", if claim.holds { "yes" } else { "NO " }, claim.claim));
        }
        if flags.trace == Trace::Off {
            if has_spans {
                text.push_str(&format!(
                    "\nThe same as spans: cargo xtask lesson {} --trace tree",
                    self.number
                ));
            }
            for (flag, value, meaning) in self.flags {
                text.push_str(&format!("\nTo change it:      --{flag} {value}, {meaning}"));
            }
        }
        text.trim_end().to_owned()
    }

    fn help(self) -> String {
        let mut help = format!(
            "Lesson {}: {}\n\n  cargo xtask lesson {} [FLAGS]\n\n  --json          one JSON document on stdout\n  \
             --trace HOW     spans to stderr: tree, json or off (default)\n",
            self.number, self.title, self.number
        );
        for (flag, value, meaning) in self.flags {
            help.push_str(&format!("  {:<15} {meaning}\n", format!("--{flag} {value}")));
        }
        help
    }
}
