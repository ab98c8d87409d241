//! Where the spans of a run go, for whoever wants to see them.

use std::fs::OpenOptions;
use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use sommelier_cassette::must_be_no_database;
use sommelier_metrics::{LinesLayer, TreeLayer};
use sommelier_otel::{Otlp, TraceContext};
use tracing::Dispatch;
use tracing::dispatcher;
use tracing_subscriber::layer::SubscriberExt;

use crate::fault::Fault;
use crate::file::quoted;
use crate::teller::Teller;

/// The flags by which a run is watched.
#[derive(Clone, Debug, Args)]
pub(crate) struct Watching {
    /// Shows the spans on stderr.
    #[arg(long, global = true, value_enum, value_name = "HOW", default_value = "off", hide_possible_values = true, help_heading = HEADING)]
    trace: How,
    /// Adds the spans to this file, one JSON object a line: for `sommelier report FILE`.
    #[arg(long, global = true, value_name = "FILE", help_heading = HEADING)]
    trace_file: Option<PathBuf>,
    /// Sends the spans to a collector or viewer, such as http://127.0.0.1:4318, by OTLP over HTTP.
    #[arg(long, global = true, value_name = "URL", help_heading = HEADING)]
    otlp: Option<String>,
    /// Also what is said: instructions, messages, packages, arguments, results. Without it none of that is in a span.
    #[arg(long, global = true, help_heading = HEADING)]
    contents: bool,
}

const HEADING: &str = "Tracing: --trace tree|json|off";

/// How spans are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum How {
    /// A tree for each turn.
    Tree,
    /// A JSON object for each span.
    Json,
    /// Not at all.
    Off,
}

impl Watching {
    /// Does the work of a command while its spans go where they are wanted.
    pub(crate) fn over<'t>(
        &self,
        teller: &mut Teller<'t>,
        work: impl FnOnce(&mut Teller<'t>) -> Result<u8, Fault>,
    ) -> Result<u8, Fault> {
        if !self.is_on() {
            return work(teller);
        }
        let tree =
            (self.trace == How::Tree).then(|| TreeLayer::new(stderr()).with_ansi(stderr().is_terminal()));
        let lines = (self.trace == How::Json).then(|| LinesLayer::new(stderr()));
        let file = self.trace_file.as_deref().map(appended).transpose()?.map(LinesLayer::new);
        let otlp = self.otlp.as_deref().map(|url| Otlp::to(url).project("sommelier").start()).transpose();
        let otlp = otlp.map_err(|error| Fault::caller("usage", error))?;
        let sent = otlp.as_ref().map(Otlp::layer);
        let subscriber = tracing_subscriber::registry().with(tree).with(lines).with(file).with(sent);
        let ended = dispatcher::with_default(&Dispatch::new(subscriber), || work(teller));
        // What a viewer does not get makes no answer wrong.
        if let Some(Err(lost)) = otlp.map(|otlp| otlp.finish()) {
            teller.note(&lost.to_string());
        }
        ended
    }

    fn is_on(&self) -> bool {
        self.trace != How::Off || self.trace_file.is_some() || self.otlp.is_some()
    }

    /// The trace in which a turn is told: the one under which another process has started this one, or one of its own; none where
    /// nobody looks.
    pub(crate) fn trace(&self) -> Option<TraceContext> {
        TraceContext::from_environment().or_else(|| self.is_on().then(TraceContext::begin))
    }

    /// Whether what is said is in the spans.
    pub(crate) fn has_contents(&self) -> bool {
        self.contents
    }
}

/// A file to which lines are added; its owner's alone where it is made, for it may have what was said in it.
fn appended(path: &Path) -> Result<std::fs::File, Fault> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    must_be_no_database(path).and_then(|()| options.open(path)).map_err(|error| {
        Fault::caller("unwritten", format!("{}: {error}", quoted(&path.display().to_string())))
    })
}
