//! `report`: what happened in a run, or in a file of spans.

use std::path::Path;

use serde::Serialize;
use sommelier_cassette::write_whole;
use sommelier_handoff::Divergence;
use sommelier_report::{NoStory, Source, Story, html, mermaid, svg, text};
use sommelier_runner::DurableError;
use sommelier_store::{Journal, JournalError};

use super::report_file;
use crate::arguments::{Format, Report};
use crate::desk::Desk;
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
    if let Some(output) = form.file.filter(|output| is_same(output, file)) {
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
    let run = desk.find(&asked.source)?;
    let (story, is_whole) = story(desk, &run)?;
    form.tell(&story, teller)?;
    Ok(u8::from(!is_whole))
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
}

impl<'a> Form<'a> {
    fn of(asked: &'a Report, teller: &Teller<'_>) -> Result<Self, Fault> {
        let given = asked.output.as_deref();
        let file = given.filter(|file| *file != Path::new("-"));
        let format = asked.format.or_else(|| file.and_then(of_ending)).unwrap_or(Format::Html);
        if given.is_none() && format == Format::Html && teller.is_shown && !teller.json {
            let why = "a page is not for a terminal: write it to a file with `-o report.html`, or have `--format text`";
            return Err(Fault::caller("usage", why));
        }
        Ok(Self { format, file })
    }

    fn tell(&self, story: &Story, teller: &mut Teller<'_>) -> Result<(), Fault> {
        let Some(file) = self.file else {
            return if teller.json { teller.document(story) } else { teller.whole(&self.written(story)) };
        };
        let text = self.written(story);
        write_whole(file, text.as_bytes())
            .map_err(|error| Fault::caller("unwritten", format!("{}: {error}", file.display())))?;
        let (file, bytes) = (file.to_string_lossy().into_owned(), text.len());
        let said = format!("{}: {bytes} bytes", named(&file));
        teller.tell(|| said, &Written { file, format: name(self.format), bytes })
    }

    fn written(&self, story: &Story) -> String {
        match self.format {
            Format::Html => html::page(story),
            Format::Mermaid => mermaid::document(story),
            Format::Svg => svg::document(story),
            Format::Text => text::document(story),
        }
    }
}

/// The run began with another definition than this release has.
pub(crate) fn diverged(run: &str, why: Divergence) -> Fault {
    DurableError::Diverged { conversation: run.to_owned(), seq: 1, why: Box::new(why) }.into()
}

fn of_ending(file: &Path) -> Option<Format> {
    match file.extension()?.to_str()? {
        "html" | "htm" => Some(Format::Html),
        "svg" => Some(Format::Svg),
        "mmd" | "mermaid" => Some(Format::Mermaid),
        "txt" => Some(Format::Text),
        _ => None,
    }
}

fn name(format: Format) -> &'static str {
    match format {
        Format::Html => "html",
        Format::Mermaid => "mermaid",
        Format::Svg => "svg",
        Format::Text => "text",
    }
}
