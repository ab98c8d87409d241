//! `trace-test`: the spans of runs in a viewer that nobody of us wrote, Arize Phoenix, on this machine and without a
//! network.
//!
//! A program of `sommelier-otel` sends runs to it and reads them back through its API: whole trees, with what Phoenix makes of
//! each span. Phoenix is large and comes from the network, so it is installed once, by `trace-test --install`, and it is no
//! part of `ci`: where it is not there the test is skipped and says so.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use crate::fault::Fault;
use crate::installed::{self, say, step};
use crate::launch;
use crate::server::{Server, Start, free_ports};

/// What it was written against. Another version may have another API.
const PHOENIX: &str = "arize-phoenix==20.26.1";

/// How to install it, for whoever has not.
const HINT: &str = "to install it: cargo xtask trace-test --install (Python 3.10 or newer; 530 MB from PyPI)";

/// How long Phoenix may take until it can be asked: when it starts for the first time it builds its database, step by step.
const PATIENCE: Duration = Duration::from_secs(900);

pub(crate) fn run(args: &[OsString]) -> Result<ExitCode, Fault> {
    let folder = Folder(installed::folder("SOMMELIER_TRACE", "trace")?);
    match installed::wants_install("trace-test", args)? {
        true => install(&folder),
        false => test(&folder),
    }
}

fn test(folder: &Folder) -> Result<ExitCode, Fault> {
    let program = folder.phoenix();
    if !program.is_file() {
        say(&format!(
            "trace-test: skipped, since Phoenix is not installed in {}\n{HINT}",
            folder.0.display()
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let viewed = launch::build_example("sommelier-otel", "viewed")?;
    let start = Instant::now();
    let phoenix = folder.start(&program)?;
    say(&format!("trace-test: Phoenix can be asked after {} s", start.elapsed().as_secs()));
    let start = Instant::now();
    let status = Command::new(viewed)
        .arg(phoenix.url())
        .stdin(Stdio::null())
        // Whatever traces this process is no part of what is looked at, and a header may be a key for another place.
        .env_remove("TRACEPARENT")
        .env_remove("OTEL_EXPORTER_OTLP_HEADERS")
        .env_remove("OTEL_EXPORTER_OTLP_TRACES_HEADERS")
        .status()
        .map_err(Fault::system("start `viewed`"))?;
    drop(phoenix);
    let took = start.elapsed().as_secs();
    if !status.success() {
        return Err(Fault::Failed(format!("trace-test failed after {took} s: {status}")));
    }
    say(&format!("trace-test: passed in {took} s"));
    Ok(ExitCode::SUCCESS)
}

fn install(folder: &Folder) -> Result<ExitCode, Fault> {
    let start = Instant::now();
    let Folder(path) = folder;
    fs::create_dir_all(path).map_err(Fault::system(format!("make {}", path.display())))?;
    say(&format!("trace-test: installing into {}", path.display()));
    let environment = folder.environment();
    let has_python = installed::program(&environment, "python").exists();
    step("an environment for Python", has_python, || installed::venv(&environment))?;
    step("Phoenix; this takes long", folder.phoenix().is_file(), || {
        let mut pip = installed::pip(&environment);
        pip.args(["install", "--quiet", PHOENIX]);
        pip
    })?;
    match folder.phoenix().is_file() {
        true => {
            let took = start.elapsed().as_secs();
            say(&format!("trace-test: installed in {took} s; now: cargo xtask trace-test"));
            Ok(ExitCode::SUCCESS)
        }
        false => {
            Err(Fault::Failed(format!("every step went well, and Phoenix is not in {}", path.display())))
        }
    }
}

/// Where Phoenix is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Folder(PathBuf);

impl Folder {
    fn environment(&self) -> PathBuf {
        self.0.join("phoenix")
    }

    /// Its program, whether it is there or not.
    fn phoenix(&self) -> PathBuf {
        installed::program(&self.environment(), "phoenix")
    }

    /// Phoenix on free ports of this machine alone. Its database stays, for building it takes minutes.
    fn start(&self, program: &Path) -> Result<Server, Fault> {
        let data = self.0.join("data");
        fs::create_dir_all(&data).map_err(Fault::system(format!("make {}", data.display())))?;
        let [port, grpc] = free_ports()?;
        let mut command = Command::new(program);
        command.arg("serve");
        // What somebody has set for a Phoenix of their own is not for this one.
        let of_others = env::vars_os().map(|(name, _)| name);
        of_others.filter(|name| name.to_string_lossy().starts_with("PHOENIX_")).for_each(|name| {
            command.env_remove(name);
        });
        command.env("PHOENIX_WORKING_DIR", &data);
        command.env("PHOENIX_HOST", "127.0.0.1");
        command.env("PHOENIX_PORT", port.to_string()).env("PHOENIX_GRPC_PORT", grpc.to_string());
        command.env("PHOENIX_TELEMETRY_ENABLED", "false").env("PHOENIX_ALLOW_EXTERNAL_RESOURCES", "false");
        let log = self.0.join("phoenix.log");
        Server::start(Start { command, port, health: "/healthz", patience: PATIENCE, log: &log })
    }
}
