//! `report`: what happened in a run, or in a file of spans.

use std::io;
use std::path::Path;

use serde::Serialize;
use sommelier_cassette::write_whole;
use sommelier_handoff::Divergence;
use sommelier_protocol::sight::lines_in_sight;
use sommelier_report::{NoStory, Source, Story, html, listed, mermaid, svg, text};
use sommelier_runner::DurableError;
use sommelier_store::{Journal, JournalError};

use super::report_file;
use crate::arguments::{Format, Report};
use crate::desk::Desk;
use crate::done::in_words;
use crate::fault::Fault;
use crate::file::{is_same, quoted};
use crate::teller::{Input, Teller};
use crate::words::named;

/// What was written.
#[derive(Serialize)]
struct Written {
    file: String,
    format: &'static str,
    bytes: usize,
}

/// Tells what a file of spans says.
pub(super) fn of_file(
    teller: &mut Teller<'_>,
    input: &mut Input<'_>,
    file: &Path,
    asked: &Report,
) -> Result<u8, Fault> {
    let form = Form::of(asked, teller)?;
    let source = if file == Path::new("-") { Path::new("/dev/stdin") } else { file };
    if let Some(output) = form.file.filter(|output| is_same(output, source)) {
        let why = format!(
            "{}: the report would replace the trace that it is of; give another file",
            output.display()
        );
        return Err(Fault::caller("unwritten", why));
    }
    let lines = report_file::lines(file, input)?;
    let story = Story::of_spans(&lines, asked.conversation.as_deref()).map_err(|why| match &why {
        NoStory::Records { conversation } => {
            let run = quoted(conversation);
            Fault::caller("no_trace", format!("{why}; name the run: `sommelier report {run}`"))
        }
        NoStory::OtherConversation { .. } => Fault::caller("unknown_conversation", why),
        _ => Fault::caller("no_trace", format!("{}: {why}", file.display())),
    })?;
    form.tell(&story, teller)?;
    Ok(0)
}

/// Tells what the records of a run say; of one that is damaged, as far as they go.
pub(super) fn of_run(desk: &Desk, teller: &mut Teller<'_>, asked: &Report) -> Result<u8, Fault> {
    let form = Form::of(asked, teller)?;
    if asked.conversation.is_some() {
        let why = "--conversation is for a trace of several conversations, and a run is one";
        return Err(Fault::caller("usage", why));
    }
    let run = desk.find(&asked.source).map_err(|fault| or_a_file(asked, fault))?;
    let (story, is_whole) = story(desk, &run)?;
    form.tell(&story, teller)?;
    Ok(u8::from(!is_whole))
}

/// Why there is no run; where a file has its name, how that is told.
pub(super) fn or_a_file(asked: &Report, fault: Fault) -> Fault {
    if !matches!(fault.code(), "unknown_run" | "no_journal") || !Path::new(&asked.source).is_file() {
        return fault;
    }
    let file = quoted(&asked.source);
    let why = format!(
        "{}: there is a file of this name and no run; a trace is known by `.jsonl` at its name's end",
        asked.source
    );
    Fault::caller("no_trace", why)
        .typed(format!(", and any other is given on stdin: `sommelier report - < {file}`"))
}

/// What the records of a run say, and whether all of them could be read.
pub(crate) fn story(desk: &Desk, run: &str) -> Result<(Story, bool), Fault> {
    let (records, damage) = match desk.store.load(run, 1) {
        Ok(records) => (records, None),
        Err(error @ JournalError::Damaged(_)) => {
            (desk.store.salvage(run).unwrap_or_default(), Some(error.to_string()))
        }
        Err(error) => return Err(error.into()),
    };
    let mut story = Story::of_run(&desk.relay, run, &records).map_err(|why| diverged(run, why))?;
    // What the tools of this house have done the records tell in no words of people.
    for done in &mut story.done {
        done.told = done.result.as_ref().and_then(|result| in_words(&done.tool, result));
    }
    let is_whole =
        damage.is_none() && !matches!(story.source, Source::Journal { records, told } if told < records);
    story.remarks.extend(damage.map(|damage| format!("The journal is damaged: {damage}.")));
    Ok((story, is_whole))
}

/// In which form a story is told, and where.
struct Form<'a> {
    format: Format,
    /// The file; stdout when there is none.
    file: Option<&'a Path>,
    /// Whether a terminal shows it.
    is_shown: bool,
}

impl<'a> Form<'a> {
    fn of(asked: &'a Report, teller: &Teller<'_>) -> Result<Self, Fault> {
        let given = asked.output.as_deref();
        let file = given.filter(|file| *file != Path::new("-"));
        let unsaid = if teller.json { Format::Json } else { Format::Html };
        let format = match (asked.format, file) {
            (Some(format), _) => format,
            (None, Some(file)) => of_ending(file)?.unwrap_or(unsaid),
            (None, None) => unsaid,
        };
        if file.is_none() && teller.json && format != Format::Json {
            let why = format!(
                "`--json` and `--format {}` are two forms for the same place: leave one out, or write to a file with `-o`",
                name(format)
            );
            return Err(Fault::caller("usage", why));
        }
        if given.is_none() && format == Format::Html && teller.is_shown {
            let why = "a page is not for a terminal: write it to a file with `-o report.html`, or have `--format text`";
            return Err(Fault::caller("usage", why));
        }
        Ok(Self { format, file, is_shown: file.is_none() && teller.is_shown })
    }

    fn tell(&self, story: &Story, teller: &mut Teller<'_>) -> Result<(), Fault> {
        self.must_be_drawable(story)?;
        let text = self.written(story)?;
        let Some(file) = self.file else { return teller.whole(&text) };
        write_whole(file, text.as_bytes())
            .map_err(|error| Fault::caller("unwritten", format!("{}: {error}", file.display())))?;
        let (file, bytes) = (file.to_string_lossy().into_owned(), text.len());
        let said = format!("{}: {bytes} bytes", named(&file));
        teller.tell(|| said, &Written { file, format: name(self.format), bytes })
    }

    /// One drawing of several conversations would put all of them on the same lines.
    fn must_be_drawable(&self, story: &Story) -> Result<(), Fault> {
        let is_drawing = matches!(self.format, Format::Mermaid | Format::Svg);
        if !is_drawing || story.conversation_count() < 2 {
            return Ok(());
        }
        let names: Vec<String> = story.conversations().into_iter().map(|one| one.title).collect();
        let why = format!(
            "a drawing is of one conversation, and the trace tells of {}: {}; say which with `--conversation NAME`, or have a page or text of all",
            names.len(),
            listed(&names)
        );
        Err(Fault::caller("several_conversations", why))
    }

    fn written(&self, story: &Story) -> Result<String, Fault> {
        Ok(match self.format {
            Format::Html => html::page(story),
            Format::Mermaid => mermaid::document(story),
            Format::Svg => svg::document(story),
            Format::Text if self.is_shown => text::coloured(story),
            Format::Text => text::document(story),
            Format::Json => {
                let document = serde_json::to_string_pretty(story).map_err(io::Error::other)?;
                format!("{}\n", lines_in_sight(&document))
            }
        })
    }
}

/// The run began with another definition than this release has.
pub(crate) fn diverged(run: &str, why: Divergence) -> Fault {
    DurableError::Diverged { conversation: run.to_owned(), seq: 1, why: Box::new(why) }.into()
}

/// The form that a file is named by; none where its name has no ending.
fn of_ending(file: &Path) -> Result<Option<Format>, Fault> {
    let Some(ending) = file.extension() else { return Ok(None) };
    let ending = ending.to_string_lossy();
    match &*ending.to_ascii_lowercase() {
        "html" | "htm" => Ok(Some(Format::Html)),
        "svg" => Ok(Some(Format::Svg)),
        "mmd" | "mermaid" => Ok(Some(Format::Mermaid)),
        "txt" => Ok(Some(Format::Text)),
        "json" => Ok(Some(Format::Json)),
        _ => {
            let why = format!(
                "{}: no form of a report is named by `.{}`; the endings are .html, .htm, .svg, .mmd, .mermaid, .txt and .json, and `--format` says the form of any other file",
                file.display(),
                ending
            );
            Err(Fault::caller("usage", why))
        }
    }
}

fn name(format: Format) -> &'static str {
    match format {
        Format::Html => "html",
        Format::Mermaid => "mermaid",
        Format::Svg => "svg",
        Format::Text => "text",
        Format::Json => "json",
    }
}
