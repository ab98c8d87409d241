//! Builds an example quietly and runs it in the caller's folder.
//!
//! Building and running are two steps, not one `cargo run`: what takes long can then be told from what is
//! being shown, and the program's exit code is its own.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::fault::Fault;
use crate::root::cargo;

/// How long a build may take before a person at a terminal is told of it.
const PATIENCE: Duration = Duration::from_millis(800);

/// Runs `package` with stdin, stdout and stderr as they are, and gives its exit code back.
pub(crate) fn launch(package: &str, args: Vec<OsString>) -> Result<ExitCode, Fault> {
    let program = build(package)?;
    let status =
        Command::new(&program).args(args).status().map_err(Fault::system(format!("start `{package}`")))?;
    Ok(exit_code(status))
}

/// Builds `package` and tells where its program is. Nothing of it reaches stdout.
pub(crate) fn build(package: &str) -> Result<PathBuf, Fault> {
    build_target(package, package, &[])
}

/// As [`build`], for an example of a package.
pub(crate) fn build_example(package: &str, example: &str) -> Result<PathBuf, Fault> {
    build_target(package, example, &["--example", example])
}

fn build_target(package: &str, target: &str, which: &[&str]) -> Result<PathBuf, Fault> {
    let mut child = cargo()
        .args(["build", "--quiet", "--package", package, "--message-format=json-render-diagnostics"])
        .args(which)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(Fault::system("start cargo"))?;
    let built = announce_if_slow(package);
    let program = child.stdout.take().and_then(|stdout| {
        BufReader::new(stdout)
            .lines()
            .map_while(Result::ok)
            .filter_map(|line| executable(&line, target))
            .last()
    });
    let status = child.wait().map_err(Fault::system("wait for cargo"))?;
    drop(built);
    match program {
        Some(program) if status.success() => Ok(program),
        _ if status.success() => Err(Fault::Failed(format!("package `{package}` has no program to run"))),
        _ => Err(Fault::Failed(format!("package `{package}` does not build"))),
    }
}

/// Says once on a terminal that a build is going on, unless the handle is dropped soon.
fn announce_if_slow(package: &str) -> mpsc::Sender<()> {
    let (built, wait) = mpsc::channel::<()>();
    if io::stderr().is_terminal() {
        let note = format!("building {package} ...");
        thread::spawn(move || {
            if wait.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _ = writeln!(io::stderr(), "{note}");
            }
        });
    }
    built
}

/// The path of the program, if this line of cargo's report names that of `target`.
fn executable(line: &str, target: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    let kind = &message["target"]["kind"][0];
    let ours = message["target"]["name"] == target && (kind == "bin" || kind == "example");
    message["executable"].as_str().filter(|_| ours).map(PathBuf::from)
}

/// A program ended by a signal has no code of its own; shells say 128 + signal.
fn exit_code(status: ExitStatus) -> ExitCode {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal = None::<i32>;
    let code = status.code().or(signal.map(|signal| 128 + signal)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_in_cargos_report() {
        let line =
            r#"{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"ask"},"executable":"/x/ask"}"#;
        assert_eq!(executable(line, "ask"), Some(PathBuf::from("/x/ask")));
        assert_eq!(executable(line, "lesson-05"), None);
        assert_eq!(executable(r#"{"reason":"build-finished","success":true}"#, "ask"), None);
        assert_eq!(executable("no json", "ask"), None);
    }

    #[cfg(unix)]
    #[test]
    fn exit_codes_come_through_as_they_are() {
        use std::os::unix::process::ExitStatusExt;
        for code in [0, 1, 2, 3] {
            assert_eq!(exit_code(ExitStatus::from_raw(code << 8)), ExitCode::from(code as u8));
        }
        assert_eq!(exit_code(ExitStatus::from_raw(9)), ExitCode::from(137));
    }
}
