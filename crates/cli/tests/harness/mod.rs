//! A folder with a journal, and the command over it, in this process or in another.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    dead_code,
    reason = "a test says so by panicking; not every file of tests needs all"
)]

pub(crate) mod serving;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;
use sommelier::{Io, run};
use tracing::Dispatch;

pub(crate) const RUNNING_CASE: &str = "Quote Focus pro 3h. And what happens if I don't show up?";
pub(crate) const BOOKING: &str = "Book Studio basic for 2 hours tomorrow at 14, for Ada";

/// A folder that is gone when the test is over.
pub(crate) struct Place(PathBuf);

/// What a command said, and its exit code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: u8,
}

impl Said {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// What was said, where it went well.
    pub(crate) fn fine(self) -> String {
        assert_eq!((self.code, &*self.err), (0, ""), "{}", self.out);
        self.out
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("sommelier-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        // A process of this number that was killed may have left it.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.path("journal.db")
    }

    fn arguments(&self, arguments: &[&str]) -> Vec<OsString> {
        let store = ["--store".into(), self.journal().into_os_string()];
        store.into_iter().chain(arguments.iter().map(Into::into)).collect()
    }

    /// Runs the command in this process.
    pub(crate) fn says(&self, arguments: &[&str]) -> Said {
        self.hears("", arguments)
    }

    /// Runs the command in this process, while somebody types `input`.
    pub(crate) fn hears(&self, input: &str, arguments: &[&str]) -> Said {
        says(input, std::iter::once("sommelier".into()).chain(self.arguments(arguments)))
    }

    /// As [`hears`](Self::hears), at a terminal.
    pub(crate) fn hears_at_a_terminal(&self, input: &str, arguments: &[&str]) -> Said {
        heard(input, true, std::iter::once("sommelier".into()).chain(self.arguments(arguments)))
    }

    /// As [`says`](Self::says), with a clock that stands still.
    pub(crate) fn then(&self, arguments: &[&str]) -> Said {
        let now = ["--now", "2026-11-30T10:00"];
        self.says(&now.iter().chain(arguments).copied().collect::<Vec<_>>())
    }

    /// The document that the command prints.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        self.then(&["--json"].iter().chain(arguments).copied().collect::<Vec<_>>()).json()
    }

    /// The command in a process of its own.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sommelier"));
        command.args(self.arguments(arguments)).stdin(Stdio::null());
        command
    }

    /// Runs the command in a process of its own, to its end.
    pub(crate) fn apart(&self, arguments: &[&str]) -> Said {
        said(self.command(arguments).output().unwrap())
    }

    /// Begins the command in a process of its own, with pipes.
    pub(crate) fn begin(&self, arguments: &[&str]) -> Child {
        let piped = Stdio::piped;
        self.command(arguments).stdin(piped()).stdout(piped()).stderr(piped()).spawn().unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Where a place for spans is met for the first time, `tracing` asks whoever watches in this process whether it is wanted. While there is
/// one alone it asks who watches this thread, and what nobody here wants is off for all: a command that is not watched would cost
/// another test its spans. Beside these two there is never one alone.
static WATCHERS: LazyLock<[Dispatch; 2]> =
    LazyLock::new(|| [(); 2].map(|()| Dispatch::new(tracing_subscriber::registry())));

/// Runs the command in this process with these arguments.
pub(crate) fn says(input: &str, arguments: impl IntoIterator<Item = OsString>) -> Said {
    heard(input, false, arguments)
}

fn heard(input: &str, is_interactive: bool, arguments: impl IntoIterator<Item = OsString>) -> Said {
    LazyLock::force(&WATCHERS);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let io = Io {
        input: &mut input.as_bytes(),
        is_interactive,
        is_shown: is_interactive,
        out: &mut out,
        err: &mut err,
    };
    let code = run(arguments, io);
    Said { out: text(out), err: text(err), code }
}

/// What has to happen while agents are at work, tried with agents that take ever more time until it has: how long a test takes for
/// it nobody knows beforehand. An attempt is told how many milliseconds each reply takes, and gives `None` where it was too late.
pub(crate) fn while_at_work<T>(slow: u32, attempt: impl Fn(u32) -> Option<T>) -> T {
    [1, 4, 16, 64]
        .into_iter()
        .find_map(|times| attempt(slow * times))
        .unwrap_or_else(|| panic!("it was too late"))
}

pub(crate) fn said(output: Output) -> Said {
    let code = output.status.code().and_then(|code| u8::try_from(code).ok());
    Said { code: code.unwrap_or(u8::MAX), out: text(output.stdout), err: text(output.stderr) }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}
