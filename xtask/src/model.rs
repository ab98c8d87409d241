//! `--model` among the arguments of `ask` or `lesson`: then the command `sommelier` is started in the example's place; for the lesson
//! that it holds a flag is enough that it alone has.
//!
//! It alone knows live models, and sends spans to files and viewers. The examples need no network and no TLS, so that the first minute is short.

use std::ffi::{OsStr, OsString};

use crate::fault::Fault;
use crate::lesson::Lesson;

/// The package of the command that knows live models.
const SOMMELIER: &str = "sommelier";

/// The lesson that it holds with any model.
const LESSON: &str = "05";

/// The flags that choose a model, or where one is.
const OF_MODELS: [&str; 2] = ["--model", "--base-url"];

/// The flags by which `sommelier` says where spans go and what is in them. Its lesson needs no other flag with them.
const OF_SPANS: [&str; 3] = ["--trace-file", "--otlp", "--contents"];

/// A program to be started: its package, and its arguments.
pub(crate) type Program = (String, Vec<OsString>);

/// The program that `ask` starts.
pub(crate) fn ask(args: Vec<OsString>) -> Program {
    match has_one(&OF_MODELS, &args) {
        true => sommelier(&["ask"], args),
        false => ("ask".to_owned(), args),
    }
}

/// The program that a lesson is.
pub(crate) fn lesson(lesson: &Lesson, args: Vec<OsString>) -> Result<Program, Fault> {
    let number = lesson.number();
    let is_held = number == LESSON;
    match has_one(&OF_MODELS, &args) {
        has_model if is_held && (has_model || has_one(&OF_SPANS, &args)) => {
            Ok(sommelier(&["lesson", LESSON], args))
        }
        false => Ok((lesson.package(), args)),
        true => Err(Fault::Misuse(format!(
            "lesson {number} has decisions of its own and takes no model; lesson {LESSON} is held with any: `cargo xtask lesson \
             {LESSON} --model MODEL`"
        ))),
    }
}

/// What a lesson's own program does not know of, and says nothing of: that any model may hold it.
pub(crate) fn help(lesson: &Lesson, program: &str) -> Option<String> {
    (lesson.number() == LESSON && program == lesson.package()).then(|| {
        "  --model MODEL   held with this model instead of a script; `--base-url URL` says where it is (docs/live.md)\n  \
         --trace-file F  adds the spans to a file; `--otlp URL` sends them to a viewer, `--contents` with what is said (docs/tracing.md)\n\n\
         By each of these it is held by `sommelier lesson 05`, which keeps a journal and has flags of its own.\n"
            .to_owned()
    })
}

fn sommelier(command: &[&str], args: Vec<OsString>) -> Program {
    (SOMMELIER.to_owned(), command.iter().map(OsString::from).chain(args).collect())
}

/// Whether one of these flags is among the arguments.
fn has_one(flags: &[&str], args: &[OsString]) -> bool {
    let is_flag = |arg: &OsString| {
        let flag = arg.to_string_lossy();
        flag.split('=').next().is_some_and(|name| flags.contains(&name))
    };
    args.iter().take_while(|arg| *arg != OsStr::new("--")).any(is_flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn program(package: &str, line: &str) -> Program {
        (package.to_owned(), words(line))
    }

    /// S1-20.
    #[test]
    fn a_text_goes_to_the_command_where_a_model_is_chosen() {
        assert_eq!(ask(words("hello --json")), program("ask", "hello --json"));
        let live = "hello --model anthropic:claude-sonnet-5";
        assert_eq!(ask(words(live)), program("sommelier", &format!("ask {live}")));
        assert_eq!(ask(words("hello --model=offline")), program("sommelier", "ask hello --model=offline"));
        assert_eq!(ask(words("hello --base-url URL")), program("sommelier", "ask hello --base-url URL"));
        assert_eq!(ask(words("-- --model")), program("ask", "-- --model"));
    }

    /// S1-20.
    #[test]
    fn one_lesson_is_held_with_any_model_and_the_others_say_which() {
        let of = |number| Lesson::of(number);
        assert_eq!(lesson(&of(5), words("--fee 7")).unwrap(), program("lesson-05", "--fee 7"));
        let live = lesson(&of(5), words("--model script --json")).unwrap();
        assert_eq!(live, program("sommelier", "lesson 05 --model script --json"));
        for spans in ["--trace-file F", "--trace-file=F --json", "--otlp URL --contents"] {
            let held = program("sommelier", &format!("lesson 05 {spans}"));
            assert_eq!(lesson(&of(5), words(spans)).unwrap(), held);
            // Another lesson says itself that it has no such flag.
            assert_eq!(lesson(&of(4), words(spans)).unwrap(), program("lesson-04", spans));
        }
        let told = "lesson 04 has decisions of its own and takes no model; lesson 05 is held with any: `cargo xtask lesson 05 \
                    --model MODEL`";
        assert_eq!(lesson(&of(4), words("--model script")).unwrap_err().to_string(), told);
    }
}
