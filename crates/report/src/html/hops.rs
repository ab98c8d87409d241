//! What crossed, beside what was left behind.

use sommelier_handoff::{Fields, HandoffPackage};
use sommelier_protocol::RawJson;

use super::chip;
use crate::markup::Markup;
use crate::shown::{bytes, counted, duration, grouped, offset};
use crate::story::{Finding, Hop, Passage, Question};
use crate::who::Cast;

/// Of more pieces than this only their sum is seen until they are opened: a long chat has dozens at each of its handoffs.
const MOST_OPEN: usize = 8;

pub(super) fn all(story: &Cast<'_>, out: &mut Markup) {
    for hop in &story.hops {
        one(story, hop, out);
    }
}

pub(super) fn one(story: &Cast<'_>, hop: &Hop, out: &mut Markup) {
    let is_taken = matches!(hop.outcome, Passage::Taken | Passage::TakenOut);
    out.raw(if is_taken { "<article class=\"card\">" } else { "<article class=\"card refused\">" });
    out.raw("<header><h3>");
    if let Some(number) = hop.number {
        out.raw("<span class=\"nr\">").own(number).raw("</span> ");
    }
    story.named(hop.from, out);
    out.raw(if is_taken {
        " <span class=\"arrow\">hands over to</span> "
    } else {
        " <span class=\"arrow\">wanted to hand over to</span> "
    });
    match hop.to {
        Some(to) => story.named(to, out),
        None => {
            out.name(&hop.to_name);
        }
    }
    out.raw("</h3><p class=\"by\">");
    verdict(hop, out);
    out.raw("<span class=\"muted\">, ").raw(when(hop)).raw(" at ");
    out.own(offset(hop.at_us.saturating_sub(story.began_us)));
    if let Some(id) = &hop.id {
        out.raw(", ").code(id);
    }
    if let Some(end) = &hop.end {
        out.raw(", its work: ");
        chip(end, out);
    }
    out.raw("</span></p></header>");
    ratio(hop.package_bytes, hop.history_bytes, out);
    out.raw("<div class=\"sides\"><div>");
    crossed(hop, is_taken, out);
    out.raw("</div><div>");
    behind(hop, is_taken, out);
    out.raw("</div></div></article>\n");
}

fn verdict(hop: &Hop, out: &mut Markup) {
    match &hop.outcome {
        Passage::Taken => chip("taken", out),
        Passage::TakenOut => chip("taken_out", out),
        Passage::NotTaken { why } => {
            chip("not_taken", out);
            out.raw(" ").value(&why.replace('_', " "));
        }
        Passage::Refused { guard, detail, code } => {
            out.raw("<span class=\"chip bad\">refused by ").name(guard).raw("</span> ");
            out.value(detail.as_deref().or(code.as_deref()).unwrap_or_default());
        }
    }
}

/// What the time of a handoff is the time of.
fn when(hop: &Hop) -> &'static str {
    match hop.outcome {
        Passage::Taken => "handed over",
        Passage::TakenOut => "taken out",
        Passage::NotTaken { .. } => "not taken",
        Passage::Refused { .. } => "refused",
    }
}

/// A bar of two parts, which the numbers beside it say as well.
fn ratio(crossed: u64, behind: u64, out: &mut Markup) {
    let sum = crossed.saturating_add(behind).max(1);
    let share = u32::try_from(u128::from(crossed) * 1000 / u128::from(sum)).unwrap_or_default();
    let share = if crossed > 0 { share.max(4) } else { share };
    out.raw(
        "<svg class=\"ratio\" aria-hidden=\"true\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\">",
    );
    out.raw("<rect class=\"rest\" width=\"1000\" height=\"10\"/><rect class=\"part\" width=\"").number(share);
    out.raw("\" height=\"10\"/></svg>");
}

fn crossed(hop: &Hop, is_taken: bool, out: &mut Markup) {
    out.raw(if is_taken { "<h4>Crossed <b>" } else { "<h4>Would have crossed <b>" })
        .own(bytes(hop.package_bytes))
        .raw("</b></h4>");
    if hop.reference_bytes > 0 {
        out.raw("<p class=\"muted\">and ")
            .own(bytes(hop.reference_bytes))
            .raw(" that may be read by reference</p>");
    }
    match &hop.package {
        Some(package) => opened(package, out),
        None if hop.package_bytes == 0 => {
            out.raw("<p class=\"muted\">No package could be read.</p>");
        }
        None => {
            out.raw("<p class=\"muted\">The package is not in the source.</p>");
        }
    }
    list("Open still", &hop.open_items, out);
}

fn behind(hop: &Hop, is_taken: bool, out: &mut Markup) {
    out.raw(if is_taken { "<h4>Left behind <b>" } else { "<h4>Would have been left behind <b>" })
        .own(bytes(hop.history_bytes))
        .raw("</b></h4>");
    if hop.left_behind.is_empty() {
        out.raw("<p class=\"muted\">The sender’s conversation. Its pieces are not in the source.</p>");
        return;
    }
    let (count, sum) =
        (hop.left_behind.len(), hop.left_behind.iter().map(|piece| piece.bytes).fold(0, u64::saturating_add));
    out.raw(if count > MOST_OPEN { "<details><summary>" } else { "<details open=\"\"><summary>" });
    out.own(counted(count as u64, "piece", "pieces")).raw(" of the sender’s conversation, ");
    out.own(bytes(sum)).raw("</summary><table class=\"pieces\"><thead><tr><th scope=\"col\">What</th><th scope=\"col\" class=\"num\">Bytes</th></tr></thead><tbody>");
    for piece in &hop.left_behind {
        out.raw("<tr><td>")
            .value(&piece.what)
            .raw("</td><td class=\"num\">")
            .own(grouped(piece.bytes))
            .raw("</td></tr>");
    }
    out.raw("</tbody></table></details>");
}

/// A package with its sections, opened.
pub(super) fn opened(package: &RawJson, out: &mut Markup) {
    out.raw("<details open=\"\"><summary>The package</summary>");
    match HandoffPackage::read(package.get()) {
        Ok(read) => sections(&read, out),
        // It was cut, or is of another release.
        Err(_) => {
            out.data(&package.read::<String>().unwrap_or_else(|_| package.get().to_owned()));
        }
    }
    out.raw("</details>");
}

fn sections(package: &HandoffPackage, out: &mut Markup) {
    out.raw("<dl class=\"package\"><dt>task</dt><dd>").words(package.task()).raw("</dd>");
    fields("context", package.context_fields(), out);
    let texts = |name: &'static str, texts: &[Box<str>], out: &mut Markup| {
        if !texts.is_empty() {
            out.raw("<dt>").raw(name).raw("</dt><dd><ul>");
            for text in texts {
                out.raw("<li>").words(text).raw("</li>");
            }
            out.raw("</ul></dd>");
        }
    };
    texts("constraints", package.constraints(), out);
    texts("completed steps", package.completed_steps(), out);
    texts("open items", package.open_items(), out);
    fields("artifacts", package.artifacts(), out);
    out.raw("</dl>");
}

fn fields(name: &'static str, fields: &Fields, out: &mut Markup) {
    if fields.is_empty() {
        return;
    }
    out.raw("<dt>").raw(name).raw("</dt><dd><table><tbody>");
    for (key, value) in fields.iter() {
        out.raw("<tr><th scope=\"row\">").code(key).raw("</th><td>");
        match value.as_str() {
            Some(text) => out.words(text),
            None => out.data(&value.to_string()),
        };
        out.raw("</td></tr>");
    }
    out.raw("</tbody></table></dd>");
}

fn list(name: &'static str, items: &[String], out: &mut Markup) {
    if items.is_empty() {
        return;
    }
    out.raw("<h4>").raw(name).raw("</h4><ul>");
    for item in items {
        out.raw("<li>").words(item).raw("</li>");
    }
    out.raw("</ul>");
}

pub(super) fn questions(story: &Cast<'_>, out: &mut Markup) {
    for question in &story.questions {
        asked(story, question, out);
    }
}

fn asked(story: &Cast<'_>, question: &Question, out: &mut Markup) {
    let is_refused = matches!(question.outcome, Finding::Refused { .. });
    out.raw(if is_refused {
        "<article class=\"card refused\"><header><h3>"
    } else {
        "<article class=\"card\"><header><h3>"
    });
    story.named(question.from, out);
    out.raw(if is_refused {
        " <span class=\"arrow\">wanted to ask by</span> "
    } else {
        " <span class=\"arrow\">asks by</span> "
    });
    out.code(&question.tool);
    if let Some(to) = question.to {
        out.raw(" ");
        story.named(to, out);
    }
    out.raw("</h3><p class=\"by\">");
    let (finding, reason) = came_of(question, out);
    out.raw("<span class=\"muted\">, asked at ").own(offset(question.at_us.saturating_sub(story.began_us)));
    if let Some(until) = question.until_us {
        out.raw(", for ").own(duration(until.saturating_sub(question.at_us)));
    }
    out.raw(", ").code(&question.id).raw("</span></p></header><div class=\"sides\"><div>");
    out.raw(if is_refused { "<h4>Would have been asked with <b>" } else { "<h4>Asked with <b>" });
    out.own(bytes(question.package_bytes)).raw("</b></h4>");
    match &question.package {
        Some(package) => opened(package, out),
        None => {
            out.raw("<p class=\"muted\">The question is not in the source.</p>");
        }
    }
    out.raw("</div><div>").raw(if is_refused { "<h4>Why not</h4>" } else { "<h4>Came back</h4>" });
    match (finding, reason) {
        (None, None) => {
            out.raw("<p class=\"muted\">No words of it are in the source.</p>");
        }
        (finding, reason) => {
            for text in [finding, reason].into_iter().flatten() {
                out.words(text);
            }
        }
    }
    out.raw("</div></div></article>\n");
}

/// How a question ended, and what was found or said of it.
fn came_of<'q>(question: &'q Question, out: &mut Markup) -> (Option<&'q str>, Option<&'q str>) {
    match &question.outcome {
        Finding::Open => {
            chip("open", out);
            (None, None)
        }
        Finding::Refused { code, detail } => {
            out.raw("<span class=\"chip bad\">refused: ").value(&code.replace('_', " ")).raw("</span>");
            (None, detail.as_deref())
        }
        Finding::Returned { status, finding, reason, steps, .. } => {
            chip(status, out);
            out.raw(" ").own(counted(*steps, "model call", "model calls"));
            (finding.as_deref(), reason.as_deref())
        }
    }
}
