//! A page of several conversations: how each stands, and then what happened in each by itself.

use super::{chip, happened, written_of};
use crate::markup::Markup;
use crate::shown::{bytes, counted, duration, offset};
use crate::who::Cast;

/// So many conversations are drawn; of the others the page has all that happened, without a drawing.
const MOST_DRAWN: usize = 50;

pub(super) fn table(story: &Cast<'_>, out: &mut Markup) {
    out.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"The conversations\"><table class=\"stack\">");
    out.raw(
        "<caption>In the order in which they began</caption><thead><tr><th scope=\"col\">Conversation</th>",
    );
    out.raw("<th scope=\"col\">Came to</th><th scope=\"col\" class=\"num\">Began</th>");
    out.raw("<th scope=\"col\" class=\"num\">Took</th><th scope=\"col\" class=\"num\">Handoffs</th>");
    out.raw("<th scope=\"col\" class=\"num\">Crossed</th><th scope=\"col\" class=\"num\">Refused</th></tr></thead><tbody>");
    for (one, number) in story.conversations().iter().zip(1_u64..) {
        out.raw("<tr><th scope=\"row\"><a href=\"#conversation-").own(number).raw("\">").value(&one.title);
        out.raw("</a></th><td data-of=\"Came to\">");
        chip(&one.outcome.status, out);
        out.raw("</td>");
        let figures = [
            ("Began", offset(one.began_us.saturating_sub(story.began_us))),
            ("Took", duration(one.took_us())),
            ("Handoffs", one.taken().count().to_string()),
            ("Crossed", bytes(one.bytes().0)),
            ("Refused", one.refusals().len().to_string()),
        ];
        for (of, figure) in figures {
            out.raw("<td class=\"num\" data-of=\"").raw(of).raw("\">").own(figure).raw("</td>");
        }
        out.raw("</tr>");
    }
    out.raw("</tbody></table></div>\n");
    let left_out = story.conversation_count().saturating_sub(MOST_DRAWN);
    if left_out > 0 {
        let count = counted(left_out as u64, "conversation is", "conversations are");
        out.raw("<p class=\"muted\">The last ").own(count);
        out.raw(" told without drawings; a report of one by itself has them: <code>--conversation NAME</code>.</p>\n");
    }
}

/// What happened in each, below what is told of all.
pub(super) fn each(story: &Cast<'_>, out: &mut Markup) {
    let all = story.conversations();
    for (one, number) in all.iter().zip(1_usize..) {
        let cast = Cast::one_of(one, number);
        out.raw("<section class=\"conversation\" id=\"conversation-").own(number);
        out.raw("\" aria-labelledby=\"conversation-").own(number).raw("-name\"><h2 id=\"conversation-");
        out.own(number).raw("-name\">").value(&one.title).raw(" ");
        chip(&one.outcome.status, out);
        out.raw("</h2>\n");
        for section in written_of(&cast, happened(&cast, number <= MOST_DRAWN)) {
            section.write_within(out);
        }
        out.raw("</section>\n");
    }
}
