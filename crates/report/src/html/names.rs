//! Names that are too long to stand among other words.

use std::collections::BTreeSet;

use crate::markup::Markup;
use crate::shown::{is_long, short};
use crate::story::What;
use crate::who::Cast;

pub(super) fn is_any_long(story: &Cast<'_>) -> bool {
    story.parts.iter().any(|part| is_long(&part.name)) || others(story).any(is_long)
}

/// Each of them, to be opened: who takes part by the letter, and then tools and whom nobody knew.
pub(super) fn long(story: &Cast<'_>, out: &mut Markup) {
    for (place, part) in story.parts.iter().enumerate().filter(|(_, part)| is_long(&part.name)) {
        out.raw("<details><summary><span class=\"who ").own(story.colour(place)).raw("\">");
        story.badge(place, out);
        out.raw("<bdi>").text(&short(&part.name, 60)).raw("</bdi></span></summary>");
        out.words(&part.name).raw("</details>\n");
    }
    let others: BTreeSet<&str> = others(story).filter(|name| is_long(name)).collect();
    for name in others {
        out.raw("<details><summary><code dir=\"auto\">").text(&short(name, 60)).raw("</code></summary>");
        out.words(name).raw("</details>\n");
    }
}

/// Tools, and receivers that do not take part.
fn others<'c>(story: &'c Cast<'_>) -> impl Iterator<Item = &'c str> {
    let tools = story.events.iter().filter_map(|event| match &event.what {
        What::Ran { tool, .. } => Some(&**tool),
        _ => None,
    });
    let asked = story.questions.iter().map(|question| &*question.tool);
    let nobody = story.hops.iter().filter(|hop| hop.to.is_none()).map(|hop| &*hop.to_name);
    tools.chain(asked).chain(nobody)
}
