//! All runs, and one of them in full.

use sommelier_http::Answer;
use sommelier_report::{Markup, html};
use sommelier_runner::journal::Record;

use super::app::App;
use super::door::Session;
use super::form::encoded;
use super::page::{Place, chip, framed, link, notice, said};
use crate::command::report::story;
use crate::command::runs::all as summaries;
use crate::fault::{Fault, unknown_run};
use crate::record_line::line;
use crate::stand::{Stand, Summary};
use crate::time::{of_day, shown};

/// The page of all runs; what happened last comes first.
pub(super) fn all(app: &App, session: &Session) -> Result<Answer, Fault> {
    let runs = summaries(app.desk)?;
    let mut out = Markup::new();
    out.raw("<main id=\"main\"><header class=\"talk\"><p class=\"eyebrow\">Runs</p><h1>All that is on record</h1></header>\n");
    if runs.is_empty() {
        out.raw("<p class=\"empty\">There are no runs. ");
        link(session, "/", "", "Begin a conversation", &mut out);
        out.raw("</p>");
    } else {
        out.raw("<ul class=\"runs\">\n");
        for run in &runs {
            row(session, run, &mut out);
        }
        out.raw("</ul>");
    }
    out.raw("</main>\n");
    Ok(framed(session, 200, "Runs", Place::Runs, &out))
}

fn row(session: &Session, run: &Summary, out: &mut Markup) {
    let name = encoded(&run.id);
    out.raw("<li class=\"card\"><h2><a href=\"")
        .text(&session.at(&format!("/chat/{name}")))
        .raw("\">")
        .value(&run.id)
        .raw("</a></h2><p>");
    chip(&run.status, out);
    if let Some(agent) = &run.agent {
        out.raw(" at ").value(agent);
    }
    out.raw("</p><dl>");
    let mut figure = |name: &'static str, figure: usize| {
        out.raw("<div><dt>").raw(name).raw("</dt><dd>").own(figure).raw("</dd></div>");
    };
    figure("turns", run.turns as usize);
    figure("handoffs", run.hops as usize);
    figure("records", run.records);
    if run.questions > 0 {
        figure("questions", run.questions);
    }
    out.raw("</dl><p class=\"muted\"><time>").own(shown(run.updated)).raw("</time> · ");
    link(session, &format!("/runs/{name}"), "", "report", out);
    out.raw("</p>");
    if let Some(fault) = &run.fault {
        out.words(&said(fault));
    }
    out.raw("</li>\n");
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
    Ok(framed(session, 200, run, Place::Runs, &out))
}

fn links(session: &Session, run: &str, out: &mut Markup) {
    out.raw("<p class=\"meta\">");
    link(session, &format!("/chat/{}", encoded(run)), "", "To the conversation", out);
    out.raw("</p>");
}

fn records(records: &[Record], out: &mut Markup) {
    out.raw("<section id=\"records\" aria-labelledby=\"records-name\"><h2 id=\"records-name\">Records</h2><details><summary>What is written in the journal, record by record</summary>");
    out.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Records\"><table class=\"events\"><thead><tr><th scope=\"col\" class=\"num\">Nr</th><th scope=\"col\">At</th><th scope=\"col\">Kind</th><th scope=\"col\">What</th></tr></thead><tbody>\n");
    for record in records {
        let event = &record.event;
        out.raw("<tr><td class=\"num\">")
            .own(record.seq)
            .raw("</td><td>")
            .own(of_day(event.at()))
            .raw("</td><td>");
        out.code(event.kind()).raw("</td><td>").words(&line(event)).raw("</td></tr>\n");
    }
    out.raw("</tbody></table></div></details></section>\n");
}
