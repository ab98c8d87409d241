//! `ci`: every check of the project, a step at a time; the first that fails is the last.

use std::io::{self, Write};
use std::process::{Command, ExitCode, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::example::Example;
use crate::fault::Fault;
use crate::launch::build;
use crate::lesson::Lesson;
use crate::root::{cargo, root};
use crate::tidy;

type Check = fn() -> Result<(), Fault>;

const STEPS: [(&str, Check); 7] = [
    ("fmt", || run_cargo(&["fmt", "--all", "--check"], &[])),
    // All targets, so that benches and examples are at least compiled.
    ("clippy", || run_cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])),
    ("test", || run_cargo(&["test", "--workspace"], &[])),
    ("doc", || run_cargo(&["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")])),
    ("lessons", check_lessons),
    ("examples", check_examples),
    ("tidy", check_tidy),
];

pub(crate) fn run() -> Result<ExitCode, Fault> {
    let start = Instant::now();
    for (name, check) in STEPS {
        let step = Instant::now();
        say(&format!("── {name}"));
        check().map_err(|fault| {
            Fault::Failed(format!("step `{name}` failed after {}: {fault}", seconds(step.elapsed())))
        })?;
        say(&format!("── {name}: ok, {}", seconds(step.elapsed())));
    }
    say(&format!("ci: all {} steps passed in {}", STEPS.len(), seconds(start.elapsed())));
    Ok(ExitCode::SUCCESS)
}

fn run_cargo(args: &[&str], envs: &[(&str, &str)]) -> Result<(), Fault> {
    let status =
        cargo().args(args).envs(envs.iter().copied()).status().map_err(Fault::system("start cargo"))?;
    if status.success() {
        Ok(())
    } else {
        Err(Fault::Failed(format!("`cargo {}`: {status}", args.join(" "))))
    }
}

fn check_tidy() -> Result<(), Fault> {
    let findings = tidy::report()?;
    if findings == 0 { Ok(()) } else { Err(Fault::Failed(format!("{findings} findings"))) }
}

fn check_lessons() -> Result<(), Fault> {
    let lessons = Lesson::all(root())?;
    if lessons.is_empty() {
        say("no lessons yet");
    }
    lessons
        .iter()
        .try_for_each(|lesson| check_program(&lesson.package(), &format!("lesson {}", lesson.number())))
}

fn check_examples() -> Result<(), Fault> {
    let examples = Example::all(root())?;
    if examples.is_empty() {
        say("no examples yet");
    }
    examples
        .iter()
        .try_for_each(|example| check_program(example.name(), &format!("example {}", example.name())))
}

/// Runs a program as a reader and as another program would. `command` is its name after `cargo xtask`.
fn check_program(package: &str, command: &str) -> Result<(), Fault> {
    let program = build(package)?;
    let run = |flags: &[&str]| {
        let output = Command::new(&program)
            .args(flags)
            .output()
            .map_err(Fault::system(format!("start `{package}`")))?;
        judge(&output, flags.contains(&"--json")).map_err(|why| {
            let _ = io::stderr().write_all(&output.stdout);
            let _ = io::stderr().write_all(&output.stderr);
            Fault::Failed(format!("`cargo xtask {command} {}`: {why}", flags.join(" ")))
        })
    };
    run(&[])?;
    run(&["--json"])?;
    say(&format!("{command}: ok, as text and as JSON"));
    Ok(())
}

fn judge(output: &Output, json: bool) -> Result<(), String> {
    if !output.status.success() {
        return Err(output.status.to_string());
    }
    if output.stdout.iter().all(u8::is_ascii_whitespace) {
        return Err("nothing on stdout".to_owned());
    }
    if json {
        serde_json::from_slice::<Value>(&output.stdout)
            .map_err(|error| format!("stdout is not one JSON document: {error}"))?;
    }
    Ok(())
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

fn say(line: &str) {
    // Losing the reader must not lose the verdict.
    let _ = writeln!(io::stdout(), "{line}").and_then(|()| io::stdout().flush());
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    fn output(code: i32, stdout: &str) -> Output {
        Output { status: ExitStatus::from_raw(code << 8), stdout: stdout.into(), stderr: Vec::new() }
    }

    #[test]
    fn a_lesson_must_end_well_and_say_something() {
        assert_eq!(judge(&output(0, "shown"), false), Ok(()));
        assert!(judge(&output(1, "shown"), false).is_err());
        assert!(judge(&output(0, " \n"), false).is_err());
    }

    #[test]
    fn json_is_one_document_and_nothing_else() {
        assert_eq!(judge(&output(0, "{\"answer\": 1}\n"), true), Ok(()));
        for stdout in ["{} {}", "note\n{}", "{", "{}\nbye"] {
            assert!(judge(&output(0, stdout), true).is_err(), "{stdout}");
        }
    }
}
