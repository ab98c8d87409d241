//! `sdk-check`: the official Python SDK of the Messages API against the fake server, and its types against what we send.
//!
//! Nobody of this project wrote the SDK, so what it reads and refuses is a second opinion. It is Python and comes from the
//! network, so it is no part of `ci`: where there is no Python, or the SDK cannot be had, the check is skipped and says so.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::fault::Fault;
use crate::launch;
use crate::root::{root, target};

/// What the check was written against. Another version may have other types.
const SDK: &str = "anthropic==2.14.0";

const SCRIPT: &str = "crates/fake-server/sdk/check.py";
const FIXTURES: &str = "crates/fake-server/fixtures";

pub(crate) fn run() -> Result<ExitCode, Fault> {
    let root = root();
    let python = match environment(&target()?) {
        Ok(python) => python,
        Err(why) => {
            let _ = writeln!(io::stdout(), "sdk-check: skipped, since {why}");
            return Ok(ExitCode::SUCCESS);
        }
    };
    let server = launch::build("sommelier-fake-server")?;
    let tour = launch::build_example("sommelier-providers", "tour")?;
    let status = Command::new(python)
        .arg(root.join(SCRIPT))
        .args([server, tour])
        .arg(root.join(FIXTURES))
        .status()
        .map_err(Fault::system("start Python"))?;
    match status.success() {
        true => Ok(ExitCode::SUCCESS),
        false => Err(Fault::Failed(format!("the SDK has found something: {status}"))),
    }
}

/// The Python of an environment of our own that has the SDK, made where it is not there yet; or why there is none.
fn environment(target: &Path) -> Result<PathBuf, String> {
    let folder = target.join("sdk-check");
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !python.exists() {
        let name = if cfg!(windows) { "python" } else { "python3" };
        quiet(
            Command::new(name).args(["-m", "venv"]).arg(&folder),
            "there is no Python that makes environments",
        )?;
    }
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", SDK];
    quiet(Command::new(&python).args(install), "the SDK cannot be had")?;
    Ok(python)
}

/// Runs a command whose output matters only where it fails.
fn quiet(command: &mut Command, otherwise: &str) -> Result<(), String> {
    let done = command.stdin(Stdio::null()).output().map_err(|error| format!("{otherwise}: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(format!("{otherwise}: {}", said.lines().last().unwrap_or("it gives no reason")))
}
