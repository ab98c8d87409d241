//! Sends runs to a Phoenix, and reads them back through its API: what a viewer that nobody of us wrote makes of our spans.
//!
//! `cargo xtask trace-test` starts a Phoenix, and this program with its address. It prints each trace as Phoenix has it, a
//! span a line, and ends at the first difference.

mod compare;
mod houses;
mod phoenix;
mod scenes;
mod tree;
mod trees;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use sommelier_otel::{Otlp, TraceContext};
use tracing_subscriber::prelude::*;

use phoenix::Phoenix;
use scenes::Stage;

/// What may go wrong here is for whoever reads it.
type Failed = Box<dyn Error>;

/// How long Phoenix may take until it shows what it has been sent: it writes to its database now and then.
const PATIENCE: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match &words[..] {
        [url] if url.contains("://") => look(url),
        // The other processes of two scenes.
        ["cellar", url, project, conversation] => {
            watched(url, project, || scenes::in_the_cellar(conversation)).and_then(|said| say(&said))
        }
        ["answer", url, project, conversation, journal, id, shown] => {
            let answer = || scenes::answer(conversation, journal, id, shown);
            watched(url, project, answer).and_then(|said| say(&said))
        }
        _ => Err("usage: viewed URL, with the address of a Phoenix".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            let _ = writeln!(io::stderr(), "viewed: {why}");
            ExitCode::FAILURE
        }
    }
}

fn say(text: &str) -> Result<(), Failed> {
    Ok(writeln!(io::stdout(), "{text}")?)
}

/// Does some work whose spans are sent to Phoenix, all of them.
fn watched<T>(url: &str, project: &str, work: impl FnOnce() -> Result<T, Failed>) -> Result<T, Failed> {
    let otlp = Otlp::to(url).service("viewed").project(project).start()?;
    let done = tracing::subscriber::with_default(tracing_subscriber::registry().with(otlp.layer()), work);
    otlp.finish()?;
    done
}

/// Shows all scenes to Phoenix, and compares what it has of them with what was sent.
fn look(url: &str) -> Result<(), Failed> {
    let chance = TraceContext::begin().to_string();
    let project = format!("sommelier-{}", chance.get(..8).unwrap_or_default());
    let stage = Stage { url: url.to_owned(), project: project.clone() };
    let played = watched(url, &project, || stage.play())?;
    let traces = played.iter().flat_map(|scene| &scene.traces);
    let (traces, sent) =
        traces.fold((0, 0), |(traces, sent), trace| (traces + 1, sent + trace.tree.lines().count()));
    let spans = Phoenix::at(url).spans(&project, sent, PATIENCE)?;
    for scene in &played {
        let (text, holds) = scene.compare(&spans);
        say(&text)?;
        holds?;
    }
    if spans.len() != sent {
        return Err(format!("{sent} spans were sent and {} came back", spans.len()).into());
    }
    say(&format!(
        "{} scenes, {traces} traces, {sent} spans of project {project} are as they were sent",
        played.len()
    ))
}
