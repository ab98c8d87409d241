//! A lesson or another example: something that is run, shown, and held to what it claims.

use serde::Serialize;
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::{Flags, Misuse, Trace, install, print, wrapped};

/// Something that a lesson or an example claims, and whether what was measured bears it out.
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

/// What a lesson or an example shows.
#[derive(Clone, Debug)]
pub struct Shown<J> {
    /// For a reader.
    pub text: String,
    /// For a program.
    pub json: J,
    /// What it claims.
    pub claims: Vec<Claim>,
}

/// A flag besides `--json` and `--trace`: name, name of the value, meaning.
pub type Flag = (&'static str, &'static str, &'static str);

/// A lesson's title and flags.
#[derive(Clone, Copy, Debug)]
pub struct Lesson {
    /// The number, such as `05`.
    pub number: &'static str,
    /// What it is about, in a line.
    pub title: &'static str,
    /// Flags besides `--json` and `--trace`: name, name of the value, meaning.
    pub flags: &'static [Flag],
}

impl Lesson {
    /// Runs the lesson: 0 when everything it claims holds, 1 when something does not, 2 for wrong use.
    pub fn run<J: Serialize>(
        self,
        show: impl FnOnce(&Flags) -> Result<Shown<J>, Box<dyn Error>>,
    ) -> ExitCode {
        self.run_narrow("", show)
    }

    /// The same for a lesson that runs too much to be read as spans: `narrow` are flags by which it runs little, to be
    /// recommended with `--trace tree`.
    pub fn run_narrow<J: Serialize>(
        self,
        narrow: &str,
        show: impl FnOnce(&Flags) -> Result<Shown<J>, Box<dyn Error>>,
    ) -> ExitCode {
        Program::Lesson(self).run(narrow, show)
    }
}

/// An example that is no lesson: it has a name in the place of a number.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The name, such as `support-desk`: that of its package.
    pub name: &'static str,
    /// What it is about, in a line.
    pub title: &'static str,
    /// Flags besides `--json` and `--trace`: name, name of the value, meaning.
    pub flags: &'static [Flag],
}

impl Example {
    /// Runs the example: 0 when everything it claims holds, 1 when something does not, 2 for wrong use.
    pub fn run<J: Serialize>(
        self,
        show: impl FnOnce(&Flags) -> Result<Shown<J>, Box<dyn Error>>,
    ) -> ExitCode {
        Program::Example(self).run("", show)
    }
}

/// What is run: the two differ in what they are called.
#[derive(Clone, Copy)]
enum Program {
    Lesson(Lesson),
    Example(Example),
}

impl Program {
    fn title(self) -> &'static str {
        match self {
            Self::Lesson(lesson) => lesson.title,
            Self::Example(example) => example.title,
        }
    }

    fn flags(self) -> &'static [Flag] {
        match self {
            Self::Lesson(lesson) => lesson.flags,
            Self::Example(example) => example.flags,
        }
    }

    /// Its name after `cargo xtask`, such as `lesson 05`.
    fn command(self) -> String {
        match self {
            Self::Lesson(lesson) => format!("lesson {}", lesson.number),
            Self::Example(example) => format!("example {}", example.name),
        }
    }

    fn heading(self) -> String {
        let title = self.title();
        match self {
            Self::Lesson(lesson) => format!("Lesson {}: {title}", lesson.number),
            Self::Example(example) => format!("Example {}: {title}", example.name),
        }
    }

    fn run<J: Serialize>(
        self,
        narrow: &str,
        show: impl FnOnce(&Flags) -> Result<Shown<J>, Box<dyn Error>>,
    ) -> ExitCode {
        let mut allowed = vec!["json", "trace"];
        allowed.extend(self.flags().iter().map(|(flag, ..)| *flag));
        let done = Flags::parse(std::env::args_os().skip(1), &allowed)
            .map_err(Box::from)
            .and_then(|flags| self.show(&flags, narrow, show));
        match done {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                // Standard error may be gone too; the status tells.
                let _ = writeln!(io::stderr(), "{}: {error}", self.command());
                if error.is::<Misuse>() { ExitCode::from(2) } else { ExitCode::FAILURE }
            }
        }
    }

    /// Shows the program's work, and tells whether everything it claims holds.
    fn show<J: Serialize>(
        self,
        flags: &Flags,
        narrow: &str,
        show: impl FnOnce(&Flags) -> Result<Shown<J>, Box<dyn Error>>,
    ) -> Result<bool, Box<dyn Error>> {
        if flags.help {
            print(self.help().trim_end())?;
            return Ok(true);
        }
        if !flags.words.is_empty() {
            let which = match self {
                Self::Lesson(_) => "a lesson",
                Self::Example(_) => "this example",
            };
            return Err(Misuse::new(format!("{which} takes no words, found {:?}", flags.words)).into());
        }
        let metrics = install(flags.trace);
        let shown = show(flags)?;
        let has_spans = metrics.report().workflows.closed > 0;
        let narrow = has_spans.then_some(narrow);
        print(&if flags.json { self.json(&shown)? } else { self.text(flags, narrow, &shown) })?;
        if flags.trace == Trace::Tree && !has_spans {
            // Standard error may be gone; the lesson has been shown.
            let _ = writeln!(io::stderr(), "{} runs nothing, so there are no spans", self.command());
        }
        Ok(shown.claims.iter().all(|claim| claim.holds))
    }

    fn json<J: Serialize>(self, shown: &Shown<J>) -> serde_json::Result<String> {
        #[derive(Serialize)]
        struct Document<'a, J> {
            #[serde(skip_serializing_if = "Option::is_none")]
            lesson: Option<&'static str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            example: Option<&'static str>,
            title: &'static str,
            #[serde(flatten)]
            shown: &'a J,
            claims: &'a [Claim],
        }

        let (lesson, example) = match self {
            Self::Lesson(lesson) => (Some(lesson.number), None),
            Self::Example(example) => (None, Some(example.name)),
        };
        let Shown { json: shown, claims, .. } = shown;
        serde_json::to_string_pretty(&Document { lesson, example, title: self.title(), shown, claims })
    }

    /// `narrow` are the flags to see the spans with; `None` when there are no spans.
    fn text<J>(self, flags: &Flags, narrow: Option<&str>, shown: &Shown<J>) -> String {
        let shown_text: String = shown.text.split_inclusive('\n').map(fitted).collect();
        let mut text = format!("{}\n\n{shown_text}\nWhat this run shows:\n", self.heading());
        for claim in &shown.claims {
            let told = format!("  {} {}", if claim.holds { "yes" } else { "NO " }, claim.claim);
            text.push_str(&format!("{}\n", wrapped(&told, 6)));
        }
        if flags.trace == Trace::Off {
            if let Some(narrow) = narrow {
                let blank = if narrow.is_empty() { "" } else { " " };
                let command = format!("cargo xtask {}{blank}{narrow} --trace tree", self.command());
                text.push_str(&format!("\nThe same as spans: {command}"));
            }
            for (flag, value, meaning) in self.flags() {
                text.push_str(&format!("\nTo change it:      --{flag} {value}, {meaning}"));
            }
        }
        text.trim_end().to_owned()
    }

    fn help(self) -> String {
        let mut help = format!(
            "{}\n\n  cargo xtask {} [FLAGS]\n\n  --json          one JSON document on stdout\n  \
             --trace HOW     spans to stderr: tree, json or off (default)\n",
            self.heading(),
            self.command()
        );
        for (flag, value, meaning) in self.flags() {
            help.push_str(&format!("  {:<15} {meaning}\n", format!("--{flag} {value}")));
        }
        help
    }
}

/// A line with its end, broken where it is too long; what goes on stands a little further in.
fn fitted(line: &str) -> String {
    let indent = line.chars().take_while(|c| *c == ' ').count();
    match line.strip_suffix('\n') {
        Some(line) => wrapped(line, indent + 2) + "\n",
        None => wrapped(line, indent + 2),
    }
}
