//! Where the spans of a run go, for whoever wants to see them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write, stderr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use clap::{Args, ValueEnum};
use sommelier_cassette::{BESIDE, must_be_no_database};
use sommelier_metrics::{LinesLayer, TreeLayer};
use sommelier_otel::{Otlp, TraceContext};
use tracing::Dispatch;
use tracing::dispatcher;
use tracing_subscriber::layer::SubscriberExt;

use crate::fault::Fault;
use crate::file::{JournalFile, is_same, quoted};
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
    /// Also what is said: instructions, messages, packages, arguments, results. Without it none of that is in a span. It is
    /// for one of the flags above.
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
    /// Refuses a flag that would do nothing.
    pub(crate) fn must_have_a_place(&self) -> Result<(), Fault> {
        if self.contents && !self.is_on() {
            let why = "--contents is for spans, and none are wanted; say where they go with --trace tree, --trace json, \
                       --trace-file FILE or --otlp URL";
            return Err(Fault::caller("usage", why));
        }
        Ok(())
    }

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
        let file = self.trace_file.as_deref().map(Filled::at).transpose()?;
        let lost = file.as_ref().map(|file| Arc::clone(&file.lost));
        let file = file.map(LinesLayer::new);
        let otlp = self.otlp.as_deref().map(|url| Otlp::to(url).project("sommelier").start()).transpose();
        let otlp = otlp.map_err(|error| Fault::caller("usage", error))?;
        if otlp.is_some() && TraceContext::from_environment().is_some_and(|trace| !trace.is_sampled()) {
            teller.note(
                "TRACEPARENT says that its trace is not recorded, so no spans are sent; its last two digits would be 01",
            );
        }
        let sent = otlp.as_ref().map(Otlp::layer);
        let subscriber = tracing_subscriber::registry().with(tree).with(lines).with(file).with(sent);
        let ended = dispatcher::with_default(&Dispatch::new(subscriber), || work(teller));
        // What a viewer does not get makes no answer wrong.
        if let Some(Err(lost)) = otlp.map(|otlp| otlp.finish()) {
            teller.note(&lost.to_string());
        }
        if let Some(lost) = lost.as_ref().and_then(|lost| lost.get()) {
            teller.note(lost);
        }
        ended
    }

    /// Refuses for spans what is another's: the journal's own file and those beside it, and a cassette's, also where the command is about to
    /// make it.
    pub(crate) fn must_leave<'c>(
        &self,
        store: Option<PathBuf>,
        mut cassettes: impl Iterator<Item = &'c Path>,
    ) -> Result<(), Fault> {
        let Some(file) = &self.trace_file else { return Ok(()) };
        let refused = |whose: &str| {
            let named = quoted(&file.display().to_string());
            Err(Fault::caller(
                "unwritten",
                format!("{named}: it is the {whose}'s; give another file for the spans"),
            ))
        };
        if JournalFile::of(store).is_ok_and(|store| is_beside(file, store.path())) {
            return refused("journal");
        }
        if cassettes.any(|cassette| is_one(file, cassette)) {
            return refused("cassette");
        }
        Ok(())
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

/// A file to which lines are added, until one cannot be written: what followed half a line could not be read. The run goes on.
struct Filled {
    named: String,
    file: File,
    /// Why it gets no more lines.
    lost: Arc<OnceLock<String>>,
}

impl Filled {
    /// The file at `path`; its owner's alone where it is made, for it may have what was said in it.
    fn at(path: &Path) -> Result<Self, Fault> {
        let named = quoted(&path.display().to_string());
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let opened = must_be_no_pipe(path)
            .and_then(|()| must_be_no_database(path))
            .and_then(|()| options.open(path))
            .and_then(of_lines)
            .and_then(at_a_line);
        match opened {
            Ok(file) => Ok(Self { named, file, lost: Arc::default() }),
            Err(error) => Err(Fault::caller("unwritten", format!("{named}: {error}"))),
        }
    }
}

impl Write for Filled {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        if self.lost.get().is_none()
            && let Err(error) = self.file.write_all(lines)
        {
            let _ = self.lost.set(format!("{}: {error}; spans since then are not in it", self.named));
        }
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Whether both paths lead to one file, also where it is not there yet.
fn is_one(file: &Path, other: &Path) -> bool {
    is_same(file, other) || place(file).is_some_and(|file| Some(file) == place(other))
}

/// Whether a file is a store's own, or one of those beside it.
fn is_beside(file: &Path, store: &Path) -> bool {
    [""].iter().chain(&BESIDE).any(|end| {
        let mut its = store.as_os_str().to_owned();
        its.push(end);
        is_one(file, Path::new(&its))
    })
}

/// Where a file is or would be, however its folder is written.
fn place(file: &Path) -> Option<PathBuf> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(fs::canonicalize(folder).ok()?.join(file.file_name()?))
}

/// A run does not wait for who reads its spans, and whoever writes into a pipe does.
fn must_be_no_pipe(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = fs::metadata(path).map(|there| there.file_type());
        if kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket()) {
            let why = "it is a pipe, whose reader could hold the run up; give a file, or take `--trace json` and stderr";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
    }
    Ok(())
}

/// Refuses a file that has something else in it, by a slip of the hand: behind a cassette or a page lines would spoil it.
fn of_lines(mut file: File) -> io::Result<File> {
    const LINE: &[u8] = br#"{"name":"#;
    let mut first = Vec::new();
    if file.metadata()?.is_file() {
        (&mut file).take(LINE.len() as u64).read_to_end(&mut first)?;
    }
    // A process that was killed may have left less than that; a brace by itself begins JSON that is laid out in lines.
    let begun = first.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if LINE.starts_with(begun.trim_ascii_end()) && begun != b"{" {
        return Ok(file);
    }
    let why = "there is something else than lines of spans in it; give another file";
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// The file at the beginning of a line: a process that was killed may have left the half of one.
fn at_a_line(mut file: File) -> io::Result<File> {
    let mut last = [b'\n'];
    // A device, such as a terminal, has no end.
    if file.metadata()?.is_file() && file.seek(SeekFrom::End(-1)).is_ok() {
        file.read_exact(&mut last)?;
    }
    if last != [b'\n'] {
        file.write_all(b"\n")?;
    }
    Ok(file)
}
