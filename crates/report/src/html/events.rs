//! The table of all events.

use crate::markup::Markup;
use crate::shown::{duration, offset};
use crate::story::{Event, Finding, What};
use crate::text;
use crate::who::Cast;

pub(super) fn table(story: &Cast<'_>, out: &mut Markup) {
    out.raw("<table class=\"events\"><caption>All that happened, in order: when it was over, and how long it took</caption><thead><tr><th scope=\"col\" class=\"num\">Over at</th>");
    out.raw("<th scope=\"col\">What</th><th scope=\"col\" class=\"num\">Took</th></tr></thead><tbody>\n");
    for event in &story.events {
        out.raw("<tr><td class=\"num\">").own(offset(event.at_us.saturating_sub(story.began_us)));
        out.raw("</td><td>");
        if let Some(part) = of(story, &event.what) {
            out.raw("<span class=\"who ").own(story.colour(part)).raw("\"><span class=\"badge ");
            out.own(story.kind(part)).raw("\" aria-hidden=\"true\"><span>").own(story.letter(part));
            out.raw("</span></span></span>");
        }
        out.sentence(&text::said(story, event));
        more(story, event, out);
        out.raw("</td><td class=\"num\">");
        if let Some(took) = event.took_us {
            out.own(duration(took));
        }
        out.raw("</td></tr>\n");
    }
    out.raw("</tbody></table>\n");
}

/// Whose event it is.
fn of(story: &Cast<'_>, what: &What) -> Option<usize> {
    match what {
        What::Said { from, .. } | What::CameBack { from, .. } => Some(*from),
        What::Replied { agent, .. } | What::Ran { agent, .. } => Some(*agent),
        What::HandedOver { hop } => Some(story.hops.get(*hop)?.from),
        What::Asked { question } => Some(story.questions.get(*question)?.from),
        What::Returned { by, .. } => Some(*by),
        What::Waited { ask } => Some(story.asks.get(*ask)?.from),
        What::Decided { ask } => Some(story.asks.get(*ask)?.person),
        What::Noted { agent, .. } | What::Ended { agent, .. } => *agent,
    }
}

/// What was said, called and given, for who wants to see it.
fn more(story: &Cast<'_>, event: &Event, out: &mut Markup) {
    let words = |name: &'static str, words: Option<&str>, out: &mut Markup| {
        if let Some(words) = words.filter(|words| !words.is_empty()) {
            out.raw("<details><summary>").raw(name).raw("</summary>").words(words).raw("</details>");
        }
    };
    let data = |name: &'static str, data: Option<&str>, out: &mut Markup| {
        if let Some(data) = data.filter(|data| !data.is_empty()) {
            out.raw("<details><summary>").raw(name).raw("</summary>").data(data).raw("</details>");
        }
    };
    match &event.what {
        What::Said { text, .. } | What::Replied { text, .. } | What::Ended { text, .. } => {
            words("words", text.as_deref(), out);
        }
        What::Ran { input, output, .. } => {
            data("arguments", input.as_deref(), out);
            data("result", output.as_deref(), out);
        }
        What::Returned { question, .. } => {
            if let Some(Finding::Returned { finding, .. }) =
                story.questions.get(*question).map(|it| &it.outcome)
            {
                words("finding", finding.as_deref(), out);
            }
        }
        What::Noted { detail, .. } => data("more", detail.as_deref(), out),
        What::HandedOver { .. }
        | What::CameBack { .. }
        | What::Asked { .. }
        | What::Waited { .. }
        | What::Decided { .. } => {}
    }
}
