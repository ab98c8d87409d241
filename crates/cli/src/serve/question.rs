//! A question to a person, with all that is needed to decide, and the forms that answer it.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use sommelier_protocol::RawJson;
use sommelier_protocol::sight::in_sight;
use sommelier_report::Markup;

use super::door::Session;
use super::form::encoded;
use super::page::{form, hidden};
use super::route::LONGEST_ANSWER;
use crate::asked::QuestionRow;
use crate::time::shown;

/// Writes a question as a card.
pub(super) fn card(session: &Session, row: &QuestionRow, out: &mut Markup) {
    // The same question has the same id: a page that hears of others leaves what is being typed here alone.
    out.raw("<article class=\"card question\" id=\"q-")
        .text(&encoded(&row.id))
        .raw("-")
        .text(&row.digest)
        .raw("\" data-keep>");
    out.raw("<header><h3><span class=\"chip wait\">your decision</span> ")
        .value(&row.agent)
        .raw(" ")
        .raw(asks(row.asks));
    if let Some(tool) = &row.tool {
        out.raw(" ").code(tool);
    }
    out.raw("</h3><p class=\"by muted\">in <a href=\"")
        .text(&session.at(&format!("/chat/{}", encoded(&row.run))))
        .raw("\">")
        .value(&row.path);
    out.raw("</a>, since <time>")
        .own(shown(row.since))
        .raw("</time>. ")
        .raw(stands(row.asks))
        .raw("</p></header>");
    arguments(row.input.as_ref(), out);
    if let Some(earlier) = &row.earlier {
        out.raw("<p class=\"by\">It was done before, and gave</p>").data(earlier);
    }
    for hop in &row.hops {
        out.raw("<p class=\"by\">Handoff: ").value(&hop.line()).raw("</p>");
    }
    if row.asks == "escalation"
        && let Some(package) = row.hops.last().and_then(|hop| hop.package.as_ref())
    {
        out.raw("<p class=\"by\">What was to be handed over</p>").data(&in_sight(&package.to_json()));
    }
    out.raw("<div class=\"choices\">");
    for choice in row.choices {
        answer(session, row, choice, out);
    }
    out.raw("</div><p class=\"muted digest\">")
        .code(&row.id)
        .raw(" · digest ")
        .code(&row.digest)
        .raw("</p></article>");
}

/// What is asked, as it stands behind who asks.
fn asks(kind: &str) -> &'static str {
    match kind {
        "tool" => "wants to run",
        "handoff" => "wants to hand over",
        "words" => "asks you",
        "escalation" => "was refused a handoff",
        "in_doubt" => "does not know whether this was done:",
        "repeat" => "wants to do again what was done before:",
        _ => "asks",
    }
}

/// What holds until it is answered.
fn stands(kind: &str) -> &'static str {
    match kind {
        "in_doubt" => "A process has ended while it was at it, so it may have happened.",
        "words" | "escalation" => "The run waits for you.",
        _ => "It has not been done.",
    }
}

/// What is asked in full, member by member.
fn arguments(input: Option<&RawJson>, out: &mut Markup) {
    let Some(input) = input else { return };
    match members(input.get()) {
        Some(members) => {
            out.raw("<dl class=\"arguments\">");
            for (name, value) in members {
                out.raw("<div><dt>").value(&name).raw("</dt><dd>").data(&value).raw("</dd></div>");
            }
            out.raw("</dl>");
        }
        None => {
            out.data(input.get());
        }
    }
}

/// One answer: a button, with a field where words belong to it.
fn answer(session: &Session, row: &QuestionRow, choice: &'static str, out: &mut Markup) {
    let (name, field, class) = match choice {
        "approve" => ("Approve", None, "primary"),
        "reject" => ("Reject", Some("Why, for the agent"), "danger"),
        "say" => ("Say", Some("Your answer to the agent"), "primary"),
        "take_over" => ("Take over", Some("Who or why, for the record"), "danger"),
        "happened" => ("It has happened", Some("What the call gave"), ""),
        "did_not_happen" => ("It has not happened", None, ""),
        "undone" => ("I have undone it", None, ""),
        other => (other, None, ""),
    };
    form(session, "/answer", "choice", out);
    hidden("question", &encoded(&row.id), out);
    hidden("digest", &row.digest, out);
    hidden("word", &choice.replace('_', "-"), out);
    if let Some(field) = field {
        out.raw("<label>").raw(field).raw(" <input name=\"text\" required dir=\"auto\" maxlength=\"");
        out.own(LONGEST_ANSWER).raw("\" autocomplete=\"off\"></label>");
    }
    out.raw("<button type=\"submit\" class=\"").raw(class).raw("\">").raw(name).raw("</button></form>");
}

/// The members of an object, in the order in which they were written; `None` for what is none.
fn members(json: &str) -> Option<Vec<(String, String)>> {
    struct Members;
    impl<'d> Visitor<'d> for Members {
        type Value = Vec<(String, String)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<M: MapAccess<'d>>(self, mut map: M) -> Result<Self::Value, M::Error> {
            let mut members = Vec::new();
            while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                members.push((name, value.get().to_owned()));
            }
            Ok(members)
        }
    }
    serde_json::Deserializer::from_str(json).deserialize_map(Members).ok()
}
