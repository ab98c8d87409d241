//! A lesson: something that is run, shown, and held to what it claims.

use serde::Serialize;
use std::error::Error;
use std::process::ExitCode;

use crate::{Flags, Trace, install};

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
        let flags = match Flags::parse(std::env::args_os().skip(1), &allowed) {
            Ok(flags) if flags.help => {
                println!("{}", self.help());
                return ExitCode::SUCCESS;
            }
            Ok(flags) if flags.words.is_empty() => flags,
            Ok(flags) => return wrong_use(&format!("a lesson takes no words, found {:?}", flags.words)),
            Err(misuse) => return wrong_use(&misuse.to_string()),
        };
        install(flags.trace);
        match show(&flags) {
            Ok(shown) => self.print(&flags, &shown),
            Err(error) => {
                eprintln!("lesson {}: {error}", self.number);
                ExitCode::FAILURE
            }
        }
    }

    fn print<J: Serialize>(self, flags: &Flags, shown: &Shown<J>) -> ExitCode {
        #[derive(Serialize)]
        struct Document<'a, J> {
            lesson: &'static str,
            title: &'static str,
            #[serde(flatten)]
            shown: &'a J,
            claims: &'a [Claim],
        }

        let all_hold = shown.claims.iter().all(|claim| claim.holds);
        if flags.json {
            let document = Document {
                lesson: self.number,
                title: self.title,
                shown: &shown.json,
                claims: &shown.claims,
            };
            match serde_json::to_string_pretty(&document) {
                Ok(json) => println!("{json}"),
                Err(error) => {
                    eprintln!("lesson {}: {error}", self.number);
                    return ExitCode::FAILURE;
                }
            }
        } else {
            println!("Lesson {}: {}\n\n{}", self.number, self.title, shown.text);
            println!("What this run shows:");
            for claim in &shown.claims {
                println!("  {} {}", if claim.holds { "yes" } else { "NO " }, claim.claim);
            }
            if flags.trace == Trace::Off {
                println!("\nThe same as spans: cargo xtask lesson {} --trace tree", self.number);
                for (flag, value, meaning) in self.flags {
                    println!("To change it:      --{flag} {value}, {meaning}");
                }
            }
        }
        if all_hold { ExitCode::SUCCESS } else { ExitCode::FAILURE }
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

fn wrong_use(what: &str) -> ExitCode {
    eprintln!("{what}");
    ExitCode::from(2)
}
