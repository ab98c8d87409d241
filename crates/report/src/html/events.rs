//! The table of all events.

use crate::markup::Markup;
use crate::shown::{duration, offset};
use crate::story::What;
use crate::text::{self, Below};
use crate::who::Cast;

pub(super) fn table(story: &Cast<'_>, out: &mut Markup) {
    out.raw("<table class=\"events\"><caption>All that happened, in order: when it was over, and how long it took</caption><thead><tr><th scope=\"col\" class=\"num\">Over at</th>");
    out.raw("<th scope=\"col\">What</th><th scope=\"col\" class=\"num\">Took</th></tr></thead><tbody>\n");
    for (place, event) in story.events.iter().enumerate() {
        out.raw("<tr><td class=\"num\">").own(offset(event.at_us.saturating_sub(story.began_us)));
        out.raw("</td><td>");
        if let Some(part) = of(story, &event.what) {
            out.raw("<span class=\"who ").own(story.colour(part)).raw("\"><span class=\"badge ");
            out.own(story.kind(part)).raw("\" aria-hidden=\"true\"><span>").own(story.letter(part));
            out.raw("</span></span></span>");
        }
        out.sentence(&text::said(story, event));
        more(story, place, out);
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

/// What was said, called and given, for who wants to see it. Of a question the cards above have it.
fn more(story: &Cast<'_>, place: usize, out: &mut Markup) {
    let what = story.events.get(place).map(|event| &event.what);
    if matches!(what, Some(What::Asked { .. } | What::Waited { .. } | What::Decided { .. })) {
        return;
    }
    for Below { name, text, is_data } in text::below(story, place) {
        out.raw(" <details><summary>").raw(name).raw("</summary>");
        if is_data {
            out.data(text)
        } else {
            out.words(text)
        };
        out.raw("</details>");
    }
}
