//! `lesson`: runs the example `lesson-NN`, or lists the lessons there are. With a model lesson 05 is held by the command
//! `sommelier`.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::fault::Fault;
use crate::launch::launch;
use crate::model;
use crate::root::root;

/// A lesson: a package in examples/ named `lesson-NN`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lesson {
    number: u32,
    folder: PathBuf,
}

impl Lesson {
    pub(crate) fn all(root: &Path) -> Result<Vec<Self>, Fault> {
        let examples = root.join("examples");
        let mut lessons = Vec::new();
        for entry in fs::read_dir(&examples).map_err(Fault::system("read examples/"))? {
            let folder = entry.map_err(Fault::system("read examples/"))?.path();
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            if let Some(number) = name.strip_prefix("lesson-").and_then(|digits| digits.parse().ok())
                && folder.join("Cargo.toml").is_file()
            {
                lessons.push(Self { number, folder });
            }
        }
        lessons.sort();
        Ok(lessons)
    }

    /// The lesson of this number, for tests of what is done with one.
    #[cfg(test)]
    pub(crate) fn of(number: u32) -> Self {
        Self { number, folder: PathBuf::from(format!("examples/lesson-{number:02}")) }
    }

    /// The lesson that `word` means: `5` and `05` are the same.
    pub(crate) fn find<'a>(word: &str, lessons: &'a [Self]) -> Option<&'a Self> {
        lessons.iter().find(|lesson| same_number(word, &lesson.number()))
    }

    pub(crate) fn package(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub(crate) fn number(&self) -> String {
        format!("{:02}", self.number)
    }

    /// What the lesson says of itself in the first line of its program.
    fn title(&self) -> String {
        fs::read_to_string(self.folder.join("src/main.rs"))
            .ok()
            .and_then(|source| first_doc_line(&source))
            .unwrap_or_default()
    }
}

/// Are these two the number of one lesson?
pub(crate) fn same_number(a: &str, b: &str) -> bool {
    let number = |word: &str| -> Option<u32> {
        let digits = word.bytes().all(|byte| byte.is_ascii_digit());
        word.parse().ok().filter(|_| digits)
    };
    number(a).is_some_and(|a| number(b) == Some(a))
}

pub(crate) fn run(mut args: Vec<OsString>) -> Result<ExitCode, Fault> {
    let lessons = Lesson::all(root())?;
    if args.is_empty() {
        return list(&lessons);
    }
    let rest = args.split_off(1);
    let word = args.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    match word.as_str() {
        "list" | "--help" | "-h" => list(&lessons),
        _ => match Lesson::find(&word, &lessons) {
            Some(lesson) => {
                let asks_for_help = rest.iter().any(|arg| arg == "--help" || arg == "-h");
                let (program, args) = model::lesson(lesson, rest)?;
                let ended = launch(&program, args)?;
                if asks_for_help && let Some(more) = model::help(lesson, &program) {
                    io::stdout().write_all(more.as_bytes()).map_err(Fault::system("write to stdout"))?;
                }
                Ok(ended)
            }
            None => Err(Fault::Misuse(unknown(&word, &lessons))),
        },
    }
}

fn list(lessons: &[Lesson]) -> Result<ExitCode, Fault> {
    let mut text = String::from(
        "usage: cargo xtask lesson NN [--json] [--trace tree|json|off]\n       cargo xtask lesson 05 --model MODEL \
         [--base-url URL]\n\n",
    );
    for lesson in lessons {
        text.push_str(&format!("  {}  {}\n", lesson.number(), lesson.title()));
    }
    io::stdout().write_all(text.as_bytes()).map_err(Fault::system("write to stdout"))?;
    Ok(ExitCode::SUCCESS)
}

fn unknown(word: &str, lessons: &[Lesson]) -> String {
    let numbers: Vec<String> = lessons.iter().map(Lesson::number).collect();
    let known = if numbers.is_empty() { "none yet".to_owned() } else { numbers.join(", ") };
    if word.starts_with('-') {
        format!("the number comes first, then `{word}`; lessons: {known}")
    } else {
        format!("unknown lesson `{word}`; lessons: {known}")
    }
}

/// The first line of a program's docs that says something.
pub(crate) fn first_doc_line(source: &str) -> Option<String> {
    source
        .lines()
        .filter_map(|line| line.trim().strip_prefix("//!"))
        .map(str::trim)
        .find(|text| !text.is_empty())
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lessons(numbers: &[u32]) -> Vec<Lesson> {
        numbers.iter().map(|number| Lesson::of(*number)).collect()
    }

    #[test]
    fn a_number_is_read_with_and_without_its_zero() {
        let lessons = lessons(&[4, 5, 6]);
        for word in ["5", "05", "005"] {
            assert_eq!(Lesson::find(word, &lessons).map(Lesson::package), Some("lesson-05".to_owned()));
        }
        for word in ["7", "", "+5", "five", "99999999999", "--json"] {
            assert_eq!(Lesson::find(word, &lessons), None, "{word}");
        }
    }

    #[test]
    fn an_unknown_lesson_is_answered_with_the_known_ones() {
        assert_eq!(unknown("9", &lessons(&[4, 5])), "unknown lesson `9`; lessons: 04, 05");
        assert_eq!(unknown("9", &[]), "unknown lesson `9`; lessons: none yet");
        assert_eq!(unknown("--json", &lessons(&[5])), "the number comes first, then `--json`; lessons: 05");
    }

    #[test]
    fn the_title_is_the_first_line_of_the_docs() {
        let source = "//!\n//! The handoff, whole.\n//!\n//! Run it.\nfn main() {}\n";
        assert_eq!(first_doc_line(source), Some("The handoff, whole.".to_owned()));
        assert_eq!(first_doc_line("fn main() {}"), None);
    }
}
