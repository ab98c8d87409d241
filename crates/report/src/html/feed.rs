//! A conversation as it is watched: what was said in full, a handoff as a card, and the work between them in a line each.

use super::{chip, hops};
use crate::asking::asks_a_person;
use crate::markup::Markup;
use crate::shown::offset;
use crate::story::{Event, What};
use crate::text::{self, Below};
use crate::who::Cast;

pub(super) fn items(story: &Cast<'_>) -> Vec<Markup> {
    story.events.iter().enumerate().map(|(place, event)| item(story, place, event)).collect()
}

fn item(story: &Cast<'_>, place: usize, event: &Event) -> Markup {
    let mut out = Markup::new();
    match &event.what {
        What::Said { from, text, .. } => said(story, *from, text.as_deref(), &mut out),
        What::Ended { agent, end, text } => ended(story, *agent, (end, text.as_deref()), &mut out),
        What::HandedOver { hop } => {
            if let Some(hop) = story.hops.get(*hop) {
                hops::one(story, hop, &mut out);
            }
        }
        What::Replied { agent, model, text, calls, error, .. } => {
            begin(story, event, *agent, &mut out);
            out.raw("<span class=\"muted\">").value(model.as_deref().unwrap_or("a model"));
            out.raw(if calls.is_empty() { " replies" } else { " calls" }).raw("</span>");
            for call in calls {
                out.raw(" ").code(call);
            }
            failed(error.as_deref(), &mut out);
            // Words beside calls are told nowhere else; those of an answer stand in it.
            if let Some(words) = text.as_deref().filter(|words| !words.is_empty() && !calls.is_empty()) {
                out.words(words);
            }
            out.raw("</div>");
        }
        What::Ran { agent, tool, input, output, error, approval } => {
            begin(story, event, *agent, &mut out);
            out.raw("<span class=\"muted\">runs</span> ").code(tool);
            if let Some(word) = approval {
                out.raw(" ");
                chip(word, &mut out);
            }
            failed(error.as_deref(), &mut out);
            more("arguments", input.as_deref(), &mut out);
            more("result", output.as_deref(), &mut out);
            out.raw("</div>");
        }
        What::Waited { ask } => waited(story, event, *ask, &mut out),
        What::Decided { ask } => decided(story, event, *ask, &mut out),
        What::Noted { agent, .. } => {
            told_below(story, (place, event), agent.unwrap_or(usize::MAX), &mut out);
        }
        What::CameBack { from, .. } => line(story, event, *from, &mut out),
        What::Asked { question } => {
            line(story, event, story.questions.get(*question).map_or(usize::MAX, |it| it.from), &mut out);
        }
        What::Returned { by, .. } => told_below(story, (place, event), *by, &mut out),
    }
    out
}

fn said(story: &Cast<'_>, from: usize, text: Option<&str>, out: &mut Markup) {
    out.raw("<div class=\"bubble from-user\"><p class=\"by\">");
    story.named(from, out);
    out.raw("</p>");
    words(text, out);
    out.raw("</div>");
}

fn ended(story: &Cast<'_>, agent: Option<usize>, (end, text): (&str, Option<&str>), out: &mut Markup) {
    out.raw("<div class=\"bubble answer\"><p class=\"by\">");
    if let Some(agent) = agent {
        story.named(agent, out);
        out.raw(" ");
    }
    chip(end, out);
    out.raw("</p>");
    if text.is_some() || end == "answered" {
        words(text, out);
    }
    out.raw("</div>");
}

fn waited(story: &Cast<'_>, event: &Event, ask: usize, out: &mut Markup) {
    let Some(ask) = story.asks.get(ask) else { return };
    begin(story, event, ask.from, out);
    out.raw("<span class=\"muted\">").own(asks_a_person(&ask.asks)).raw("</span> ");
    match &*ask.asks {
        "words" => out.value(&ask.about),
        _ => out.code(&ask.about),
    };
    more("what was asked", ask.detail.as_deref(), out);
    out.raw("</div>");
}

fn decided(story: &Cast<'_>, event: &Event, ask: usize, out: &mut Markup) {
    let Some((ask, answer)) = story.asks.get(ask).and_then(|ask| Some((ask, ask.answer.as_ref()?))) else {
        return;
    };
    begin(story, event, ask.person, out);
    out.raw("<span class=\"muted\">says</span> ");
    out.raw("<span class=\"chip\">").value(&answer.word.replace('_', " ")).raw("</span>");
    if let Some(text) = &answer.text {
        out.words(text);
    }
    out.raw("</div>");
}

/// An event in a line.
fn line(story: &Cast<'_>, event: &Event, by: usize, out: &mut Markup) {
    begin(story, event, by, out);
    out.sentence(&behind_the_name(story, event, by)).raw("</div>");
}

/// An event in a line, with what this has no room for.
fn told_below(story: &Cast<'_>, (place, event): (usize, &Event), by: usize, out: &mut Markup) {
    begin(story, event, by, out);
    out.sentence(&behind_the_name(story, event, by));
    for Below { name, text, .. } in text::below(story, place) {
        more(name, Some(text), out);
    }
    out.raw("</div>");
}

/// What happened, in a line, behind the name of whose it is.
fn behind_the_name(story: &Cast<'_>, event: &Event, by: usize) -> String {
    let said = text::said(story, event);
    let name = text::named(story, by);
    let rest = said.strip_prefix(&*name).filter(|_| !name.is_empty());
    rest.map(|rest| rest.trim_start_matches(':').trim_start().to_owned()).unwrap_or(said)
}

/// The beginning of a piece of work: whose it is, and when.
fn begin(story: &Cast<'_>, event: &Event, by: usize, out: &mut Markup) {
    out.raw("<div class=\"work\"><span class=\"at\">")
        .own(offset(event.at_us.saturating_sub(story.began_us)))
        .raw("</span> ");
    if by < story.parts.len() {
        story.named(by, out);
        out.raw(" ");
    }
}

fn failed(error: Option<&str>, out: &mut Markup) {
    if let Some(error) = error {
        out.raw(" <span class=\"chip bad\">failed</span> ").value(error);
    }
}

fn words(text: Option<&str>, out: &mut Markup) {
    match text {
        Some(text) => out.words(text),
        None => out.raw("<p class=\"muted\">The words are not in the source.</p>"),
    };
}

fn more(name: &'static str, data: Option<&str>, out: &mut Markup) {
    if let Some(data) = data.filter(|data| !data.is_empty()) {
        // A space, since what is folded stands in the line.
        out.raw(" <details><summary>").raw(name).raw("</summary>").data(data).raw("</details>");
    }
}
