//! The commands there are.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::fault::Fault;
use crate::nearest::nearest;
use crate::{
    ask, browser_test, ci, crash, example, fuzz, help, lesson, live_test, sdk_check, soak, tidy, trace_test,
};

/// A command of `cargo xtask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Lesson,
    Example,
    Ask,
    Ci,
    Soak,
    Crash,
    Fuzz,
    SdkCheck,
    LiveTest,
    TraceTest,
    BrowserTest,
    Tidy,
    Help,
}

impl Command {
    pub(crate) const ALL: [Self; 13] = [
        Self::Lesson,
        Self::Example,
        Self::Ask,
        Self::Ci,
        Self::Soak,
        Self::Crash,
        Self::Fuzz,
        Self::SdkCheck,
        Self::LiveTest,
        Self::TraceTest,
        Self::BrowserTest,
        Self::Tidy,
        Self::Help,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Lesson => "lesson",
            Self::Example => "example",
            Self::Ask => "ask",
            Self::Ci => "ci",
            Self::Soak => "soak",
            Self::Crash => "crash",
            Self::Fuzz => "fuzz",
            Self::SdkCheck => "sdk-check",
            Self::LiveTest => "live-test",
            Self::TraceTest => "trace-test",
            Self::BrowserTest => "browser-test",
            Self::Tidy => "tidy",
            Self::Help => "help",
        }
    }

    /// The command with its arguments, and what it does in a line.
    pub(crate) fn usage(self) -> (&'static str, &'static str) {
        match self {
            Self::Lesson => (
                "lesson NN [--json] [--trace tree|json|off]",
                "run a lesson (05 is the whole handoff, with --model MODEL by any model); without a number, list them",
            ),
            Self::Example => (
                "example NAME [--json] [--trace tree|json|off]",
                "run another example; without a name, list them",
            ),
            Self::Ask => (
                "ask \"TEXT\" [--json] [--trace …] [--answer …] [--approve] [--deny] [--now …]",
                "put a request of your own to the agents, with --model MODEL to any; status 3 when it waits for an answer",
            ),
            Self::Ci => ("ci", "all checks: format, lints, every test, docs, lessons, examples, tidy"),
            Self::Soak => (
                "soak [RUNS] [SEED]",
                "the property test of the handoff, 100000 runs of it unless you say how many; minutes",
            ),
            Self::Crash => (
                "crash [KILLS] [SEED]",
                "runs whose processes are killed at random moments, 2000 times unless you say how often; minutes",
            ),
            Self::Fuzz => (
                "fuzz [TARGET] [SECONDS]",
                "each decoder against a fuzzer, 300 seconds unless you say how long; needs a nightly compiler",
            ),
            Self::SdkCheck => (
                "sdk-check",
                "Anthropic's own Python SDK against our fake server, and its types against our requests; needs Python",
            ),
            Self::LiveTest => (
                "live-test [--install]",
                "the support desk on a real model under llama.cpp, on this machine; --install gets both",
            ),
            Self::TraceTest => (
                "trace-test [--install]",
                "the spans of runs in a real viewer, Arize Phoenix, read back through its API; --install gets it",
            ),
            Self::BrowserTest => (
                "browser-test",
                "`sommelier serve` in a headless Chromium, from end to end, with pictures; needs Chromium and its driver",
            ),
            Self::Tidy => ("tidy", "the rules of the house alone: arrows, pure modules, docs, links"),
            Self::Help => ("help", "this list"),
        }
    }

    pub(crate) fn parse(name: &str) -> Result<Self, Fault> {
        if matches!(name, "--help" | "-h") {
            return Ok(Self::Help);
        }
        Self::ALL.into_iter().find(|command| command.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            let hint =
                nearest(name, &names).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            Fault::Misuse(format!("unknown command `{name}`{hint}\ncommands: {}", names.join(", ")))
        })
    }

    pub(crate) fn run(self, args: Vec<OsString>) -> Result<ExitCode, Fault> {
        match self {
            Self::Lesson => lesson::run(args),
            Self::Example => example::run(args),
            Self::Ask => ask::run(args),
            Self::Ci => self.alone(&args).and_then(|()| ci::run()),
            Self::Soak => soak::run(args),
            Self::Crash => crash::run(args),
            Self::Fuzz => fuzz::run(args),
            Self::SdkCheck => self.alone(&args).and_then(|()| sdk_check::run()),
            Self::LiveTest => live_test::run(&args),
            Self::TraceTest => trace_test::run(&args),
            Self::BrowserTest => self.alone(&args).and_then(|()| browser_test::run()),
            Self::Tidy => self.alone(&args).and_then(|()| tidy::run()),
            Self::Help => help::run(),
        }
    }

    fn alone(self, args: &[OsString]) -> Result<(), Fault> {
        args.first().map_or(Ok(()), |arg| {
            let arg = arg.to_string_lossy();
            Err(Fault::Misuse(format!("`{}` takes no arguments, found `{arg}`", self.name())))
        })
    }
}
