//! A program beside its page in docs/lessons or docs/examples: what the page shows is what the program prints.
#![allow(dead_code, reason = "each lesson uses its part: one runs nothing and so has no spans")]

use examples_kit::WIDTH;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A lesson or another example as it is built, and its page.
pub(crate) struct Lesson {
    program: &'static str,
    page: PathBuf,
    called: &'static str,
}

impl Lesson {
    /// The lesson of this number, whose program is at `program`.
    pub(crate) fn new(number: &str, program: &'static str) -> Self {
        Self { program, page: page("lessons", number), called: "a lesson" }
    }

    /// The example of this name, whose program is at `program`.
    pub(crate) fn example(name: &str, program: &'static str) -> Self {
        Self { program, page: page("examples", name), called: "this example" }
    }

    /// Runs the program with the flags, which are divided by blanks, to an exit status of `code`.
    pub(crate) fn run(&self, flags: &str, code: i32) -> Run {
        let Output { status, stdout, stderr } =
            Command::new(self.program).args(flags.split_whitespace()).output().unwrap();
        let [stdout, stderr] = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(status.code(), Some(code), "`{flags}`: {stdout}\n{stderr}");
        Run { stdout, stderr }
    }

    /// The page's block shows what the program prints. With `SOMMELIER_BLESS=1` the block is written anew.
    pub(crate) fn check_page(&self) {
        let printed = self.run("", 0).stdout;
        let long: Vec<&str> = printed.lines().filter(|line| line.chars().count() > WIDTH).collect();
        assert!(long.is_empty(), "these lines do not fit on a terminal: {long:#?}");
        let text = std::fs::read_to_string(&self.page).unwrap();
        let (before, shown, after) = block(&text);
        if shown == printed {
            return;
        }
        let page = self.page.display();
        if std::env::var("SOMMELIER_BLESS").is_ok_and(|bless| bless == "1") {
            std::fs::write(&self.page, format!("{before}{printed}{after}")).unwrap();
            println!("{page} shows what is printed now");
            return;
        }
        panic!(
            "{page} shows another output than the program prints; SOMMELIER_BLESS=1 writes it anew:\n{printed}"
        );
    }

    /// Wrong use is told on stderr and ends with 2; what is right is told beside it.
    pub(crate) fn check_wrong_use(&self) {
        let no_words = format!("{} takes no words, found [\"word\"]", self.called);
        for (flags, told) in [
            ("--bogus", "--bogus is no flag here; there are --json, --trace"),
            ("--trace loud", "there are tree, json, off"),
            ("word", &*no_words),
        ] {
            let run = self.run(flags, 2);
            assert_eq!(run.stdout, "", "{flags}");
            assert!(run.stderr.contains(told), "{flags}: {}", run.stderr);
        }
    }

    /// Spans go to stderr, and stdout is the same with them but for the line that tells of them.
    pub(crate) fn check_traces(&self, is_json: impl Fn(&str) -> bool) {
        self.check_traces_of("booking_agent", is_json);
    }

    /// As [`check_traces`](Self::check_traces), where another agent hears the user.
    pub(crate) fn check_traces_of(&self, entry: &str, is_json: impl Fn(&str) -> bool) {
        let [lines, tree] = self.traces();
        assert!(self.run("", 0).stdout.contains("The same as spans: "));
        assert!(lines.lines().all(|line| line.starts_with("{\"name\":\"") && is_json(line)));
        assert!(lines.contains("\"name\":\"handoff\""), "{lines}");
        let agent = format!("─ agent {entry}");
        for drawn in ["invoke_workflow · conversation ", &agent, "handoff"] {
            assert!(tree.contains(drawn), "{drawn:?}: {tree}");
        }
    }

    /// Nothing runs, so there is no span; who asks for a tree is told so.
    pub(crate) fn check_that_nothing_is_traced(&self) {
        let [lines, tree] = self.traces();
        assert_eq!(lines, "");
        assert!(
            tree.ends_with(" runs nothing, so there are no spans\n") && tree.lines().count() == 1,
            "{tree}"
        );
    }

    /// What is written to stderr as lines and as a tree.
    fn traces(&self) -> [String; 2] {
        let plain = self.run("", 0);
        assert_eq!(plain.stderr, "");
        let told = plain.stdout.split_once("\nThe same as spans: ");
        let untraced = told.map_or(&*plain.stdout, |(untraced, _)| untraced);

        ["--trace json", "--trace tree"].map(|flags| {
            let run = self.run(flags, 0);
            assert_eq!(run.stdout, untraced, "{flags}");
            run.stderr
        })
    }
}

/// What a program printed.
pub(crate) struct Run {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The page of this name in a folder of docs/.
fn page(folder: &str, name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/{folder}/{name}.md"))
}

/// The text before, in and after the first fenced block that follows the line `<!-- output -->`.
fn block(page: &str) -> (&str, &str, &str) {
    let marker = page.find("<!-- output -->\n").expect("the page has no line `<!-- output -->`");
    let fence = marker + page[marker..].find("```").expect("no fence follows the marker");
    let start = fence + page[fence..].find('\n').unwrap() + 1;
    let end = start + page[start..].find("```").expect("the fence is not closed");
    (&page[..start], &page[start..end], &page[end..])
}
