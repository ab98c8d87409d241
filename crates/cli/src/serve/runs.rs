//! All runs, and one of them in full.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use sommelier_handoff::{Entry, InputKind, Millis};
use sommelier_http::{Answer, Request};
use sommelier_report::{Markup, html};
use sommelier_runner::journal::Record;
use sommelier_store::Journal;

use super::app::App;
use super::door::Session;
use super::form::{Fields, encoded};
use super::page::{Place, chip, framed, link, link_to, notice, said};
use crate::command::report::story;
use crate::fault::{Fault, unknown_run};
use crate::record_line::line;
use crate::stand::Stand;
use crate::time::{Days, of_day, shown};

/// Runs on a page: each is replayed to be shown.
const MOST_SHOWN: usize = 100;
/// Characters of the words by which a run is known again.
const LONGEST_BEGINNING: usize = 120;

/// When a run last changed, and its name.
type Changed = (Reverse<Millis>, String);

/// A page of runs; what happened last comes first.
pub(super) fn all(app: &App, session: &Session, request: &Request) -> Result<Answer, Fault> {
    let runs = in_order(app)?;
    let from = place(request).map_or(0, |behind| runs.partition_point(|run| *run <= behind));
    let page: Vec<&Changed> = runs.iter().skip(from).take(MOST_SHOWN).collect();
    let mut out = Markup::new();
    out.raw("<main id=\"main\"><header class=\"talk\"><p class=\"eyebrow\">Runs</p><h1>All that is on record</h1></header>\n");
    if page.is_empty() {
        out.raw("<p class=\"empty\">").raw(if from == 0 {
            "There are no runs. "
        } else {
            "There are no older runs. "
        });
        link(session, "/", "", "Begin a conversation", &mut out);
        out.raw("</p>");
    } else {
        let shown = format!(
            "{} to {} of {}; what happened last comes first.",
            from + 1,
            from + page.len(),
            runs.len()
        );
        out.raw("<p class=\"muted\">").own(shown).raw("</p><ul class=\"runs\">\n");
        for (_, run) in &page {
            row(session, &Stand::of(app.desk, run)?, &mut out);
        }
        out.raw("</ul>");
    }
    out.raw("<p class=\"pages\">");
    if from > 0 {
        link(session, "/runs", "", "The newest", &mut out);
    }
    if from + page.len() < runs.len()
        && let Some((Reverse(before), behind)) = page.last()
    {
        link_to(
            session,
            &format!("/runs?before={before}&behind={}", encoded(behind)),
            "Older ones",
            &mut out,
        );
    }
    out.raw("</p></main>\n");
    Ok(framed(app, session, 200, "Runs", Place::Runs, &out))
}

/// All runs in the order of their pages. No run is replayed for it. One whose last record cannot be read comes before all others,
/// since somebody has to look at it.
fn in_order(app: &App) -> Result<Vec<Changed>, Fault> {
    let store = &app.desk.store;
    let mut changed: BTreeMap<String, Millis> =
        store.conversations()?.into_iter().map(|run| (run, Millis::MAX)).collect();
    changed.extend(store.newest()?.into_iter().map(|last| (last.conversation, last.event.at())));
    let mut runs: Vec<Changed> = changed.into_iter().map(|(run, at)| (Reverse(at), run)).collect();
    runs.sort();
    Ok(runs)
}

/// Behind which run a page begins: one that was the last of another page, and may have gone on since.
fn place(request: &Request) -> Option<Changed> {
    let query = Fields::read(request.query().as_bytes())?;
    let before = query.get("before")?.parse().ok()?;
    Some((Reverse(before), query.get("behind").unwrap_or_default().to_owned()))
}

fn row(session: &Session, stand: &Stand, out: &mut Markup) {
    let (run, name) = (&stand.summary, encoded(&stand.summary.id));
    out.raw("<li class=\"card\"><div><h2><a href=\"").text(&session.at(&format!("/chat/{name}"))).raw("\">");
    match first_words(&stand.records) {
        Some(words) => {
            out.value(&words).raw("</a></h2><p class=\"name muted\">").value(&run.id).raw("</p></div><p>")
        }
        None => out.value(&run.id).raw("</a></h2></div><p>"),
    };
    chip(&run.status, out);
    if let Some(agent) = &run.agent {
        out.raw(" at ").value(agent);
    }
    out.raw("</p><dl>");
    let mut figure = |figure: usize, one: &'static str, more: &'static str| {
        let name = if figure == 1 { one } else { more };
        out.raw("<div><dt>").raw(name).raw("</dt><dd>").own(figure).raw("</dd></div>");
    };
    figure(run.turns as usize, "turn", "turns");
    figure(run.hops as usize, "handoff", "handoffs");
    figure(run.records, "record", "records");
    if run.questions > 0 {
        figure(run.questions, "question", "questions");
    }
    out.raw("</dl><p class=\"muted\"><time>").own(shown(run.updated)).raw("</time> · ");
    link(session, &format!("/runs/{name}"), "", "report", out);
    out.raw("</p>");
    if let Some(fault) = &run.fault {
        out.words(&said(fault));
    }
    out.raw("</li>\n");
}

/// The beginning of the first words that a user has said in a run; `None` where nobody has, or where they cannot be read.
pub(super) fn first_words(records: &[Record]) -> Option<String> {
    let said = records.iter().find_map(|record| {
        let event = &record.event;
        match Entry::read(event.kind(), event.version(), event.body()) {
            Ok(Entry::Input(input)) => match input.what {
                InputKind::TurnReceived { text, .. } => Some(text),
                _ => None,
            },
            _ => None,
        }
    })?;
    Some(beginning(&said)).filter(|line| !line.is_empty())
}

/// The beginning of what was said, in one line.
pub(super) fn beginning(said: &str) -> String {
    // No words are read to their end for a line of them.
    let begin: String = said.chars().take(4 * LONGEST_BEGINNING).collect();
    let line = begin.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((end, _)) = line.char_indices().nth(LONGEST_BEGINNING) else {
        return if begin.len() < said.len() && !line.is_empty() { line + "…" } else { line };
    };
    let kept = line.get(..end).unwrap_or_default();
    // At the end of a word where there is one near: what is one sign to the eye is then not cut in two.
    let end = kept.rfind(' ').filter(|space| *space > end / 2).unwrap_or(end);
    format!("{}…", kept.get(..end).unwrap_or_default())
}

/// The page of one run: its report, and its records.
pub(super) fn one(app: &App, session: &Session, run: &str) -> Result<Answer, Fault> {
    let stand = Stand::of(app.desk, run)?;
    if stand.records.is_empty() && stand.summary.fault.is_none() {
        return Err(unknown_run(run));
    }
    let mut out = Markup::new();
    match story(app.desk, run) {
        Ok((story, _)) => {
            out.put(&html::head(&story)).raw("<main id=\"main\">");
            links(session, run, &mut out);
            out.put(&html::body(&story));
        }
        Err(fault) => {
            out.raw("<main id=\"main\"><h1>").value(run).raw("</h1>");
            links(session, run, &mut out);
            notice(&said(&fault), &mut out);
        }
    }
    records(&stand.records, &mut out);
    out.raw("</main>\n");
    Ok(framed(app, session, 200, run, Place::Runs, &out))
}

fn links(session: &Session, run: &str, out: &mut Markup) {
    out.raw("<p class=\"meta\">");
    link(session, &format!("/chat/{}", encoded(run)), "", "To the conversation", out);
    out.raw("</p>");
}

fn records(records: &[Record], out: &mut Markup) {
    out.raw("<section id=\"records\" aria-labelledby=\"records-name\"><h2 id=\"records-name\">Records</h2><details><summary>What is written in the journal, record by record</summary>");
    out.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Records\"><table class=\"events\"><thead><tr><th scope=\"col\" class=\"num\">Nr</th><th scope=\"col\">At</th><th scope=\"col\">Kind</th><th scope=\"col\">What</th></tr></thead><tbody>\n");
    let mut days = Days::default();
    for record in records {
        let event = &record.event;
        if let Some(day) = days.begun_by(event.at()) {
            out.raw("<tr><th scope=\"rowgroup\" colspan=\"4\">").own(day).raw("</th></tr>\n");
        }
        out.raw("<tr><td class=\"num\">")
            .own(record.seq)
            .raw("</td><td>")
            .own(of_day(event.at()))
            .raw("</td><td>");
        out.code(event.kind()).raw("</td><td>").words(&line(event)).raw("</td></tr>\n");
    }
    out.raw("</tbody></table></div></details></section>\n");
}
