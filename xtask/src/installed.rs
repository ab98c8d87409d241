//! What is installed once beside the project, and is no part of it: where it is, and how it gets there.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::fault::Fault;

/// The folder that the variable names, or the one of this name in the user's cache.
pub(crate) fn folder(variable: &str, name: &str) -> Result<PathBuf, Fault> {
    let named = |variable: &str| env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = || named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")));
    let folder = named(variable).or_else(|| Some(cache()?.join("sommelier").join(name)));
    folder.ok_or_else(|| Fault::Failed(format!("there is no folder to install into: set {variable} to one")))
}

/// Whether a command that takes `--install` and nothing else is to install.
pub(crate) fn wants_install(command: &str, args: &[OsString]) -> Result<bool, Fault> {
    match args {
        [] => Ok(false),
        [flag] if flag == "--install" => Ok(true),
        [first, others @ ..] => {
            let is_flag = first == "--install";
            let arg = others.first().filter(|_| is_flag).unwrap_or(first).to_string_lossy();
            Err(Fault::Misuse(format!("`{command}` takes --install and nothing else, found `{arg}`")))
        }
    }
}

/// Makes an environment for Python in `folder`.
pub(crate) fn venv(folder: &Path) -> Command {
    let mut venv = Command::new(if cfg!(windows) { "python" } else { "python3" });
    venv.args(["-m", "venv"]).arg(folder);
    venv
}

/// `pip` of an environment.
pub(crate) fn pip(environment: &Path) -> Command {
    let mut pip = Command::new(program(environment, "python"));
    pip.args(["-m", "pip", "--disable-pip-version-check"]);
    pip
}

/// The folder of an environment's programs.
pub(crate) fn programs(environment: &Path) -> PathBuf {
    environment.join(if cfg!(windows) { "Scripts" } else { "bin" })
}

/// A program of an environment, whether it is there or not.
pub(crate) fn program(environment: &Path, name: &str) -> PathBuf {
    programs(environment).join(if cfg!(windows) { format!("{name}.exe") } else { name.to_owned() })
}

/// Does a step unless it is done. What its program says is seen, since some steps take long.
pub(crate) fn step(what: &str, is_done: bool, command: impl FnOnce() -> Command) -> Result<(), Fault> {
    if is_done {
        say(&format!("  there   {what}"));
        return Ok(());
    }
    say(&format!("  making  {what}"));
    let mut command = command();
    let name =
        Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let status = command.stdin(Stdio::null()).status().map_err(Fault::system(format!("start `{name}`")))?;
    match status.success() {
        true => Ok(()),
        false => Err(Fault::Failed(format!("{what}: `{name}` has failed, {status}"))),
    }
}

/// Tells how far it has come.
pub(crate) fn say(line: &str) {
    // Losing the reader must not lose the verdict.
    let _ = writeln!(io::stdout(), "{line}").and_then(|()| io::stdout().flush());
}
