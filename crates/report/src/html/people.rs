//! What people were asked, and what was refused.

use super::chip;
use crate::asking::asks_a_person;
use crate::markup::Markup;
use crate::shown::{duration, offset};
use crate::who::Cast;

pub(super) fn asks(story: &Cast<'_>, out: &mut Markup) {
    for ask in &story.asks {
        out.raw("<article class=\"card\"><header><h3>");
        story.named(ask.from, out);
        out.raw(" <span class=\"arrow\">").own(asks_a_person(&ask.asks)).raw("</span> ");
        match &*ask.asks {
            "words" => out.value(&ask.about),
            _ => out.code(&ask.about),
        };
        out.raw("</h3><p class=\"by\">");
        match &ask.answer {
            None => chip("waiting", out),
            Some(answer) => {
                let is_no = matches!(&*answer.word, "reject" | "take_over" | "undone" | "did_not_happen");
                out.raw(if is_no { "<span class=\"chip bad\">" } else { "<span class=\"chip good\">" });
                out.value(&answer.word.replace('_', " ")).raw("</span> by ");
                story.named(ask.person, out);
                out.raw(" after ").own(duration(answer.at_us.saturating_sub(ask.at_us)));
            }
        }
        out.raw("<span class=\"muted\">, asked at ").own(offset(ask.at_us.saturating_sub(story.began_us)));
        out.raw(", ").code(&ask.id).raw("</span></p></header>");
        if let Some(text) = ask.answer.as_ref().and_then(|answer| answer.text.as_deref()) {
            out.words(text);
        }
        if let Some(detail) = &ask.detail {
            out.raw("<details open=\"\"><summary>What was asked</summary>").data(detail).raw("</details>");
        }
        out.raw("</article>\n");
    }
}

pub(super) fn refusals(story: &Cast<'_>, out: &mut Markup) {
    out.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Refusals\"><table class=\"stack\"><thead><tr><th scope=\"col\">At</th>");
    out.raw("<th scope=\"col\">What</th><th scope=\"col\">From and to</th><th scope=\"col\">Refused by</th>");
    out.raw("<th scope=\"col\">Why</th></tr></thead><tbody>");
    for refused in story.refusals() {
        let at = offset(refused.at_us.saturating_sub(story.began_us));
        out.raw("<tr><td class=\"num\" data-of=\"At\">")
            .own(at)
            .raw("</td><td class=\"word\" data-of=\"What\">")
            .raw(refused.what)
            .raw("</td><th scope=\"row\" data-of=\"From and to\">");
        out.name(refused.from)
            .raw(" → ")
            .name(refused.to)
            .raw("</th><td data-of=\"Refused by\">")
            .name(refused.guard);
        if !refused.code.is_empty() {
            out.raw(" ").code(refused.code);
        }
        out.raw("</td><td data-of=\"Why\">").words(refused.detail).raw("</td></tr>");
    }
    out.raw("</tbody></table></div>\n");
}
