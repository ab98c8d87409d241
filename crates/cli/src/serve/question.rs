//! A question to a person, with all that is needed to decide, and the forms that answer it.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use sommelier_protocol::RawJson;
use sommelier_protocol::sight::in_sight;
use sommelier_report::Markup;

use super::app::App;
use super::door::Session;
use super::form::encoded;
use super::page::{form, hidden};
use super::route::LONGEST_ANSWER;
use super::runs::beginning;
use crate::asked::QuestionRow;
use crate::done::{KEPT, Said};
use crate::time::shown;

/// Bytes of a value that may stand beside others.
const LONGEST_BESIDE: usize = 40;

/// Characters, and lines, of a user's words that stand unfolded beside a question.
const LONGEST_SAID: usize = 400;
const MOST_LINES: usize = 6;

/// Writes a question as a card, with what the user has said where it stands nowhere above.
pub(super) fn card(
    (app, session): (&App, &Session),
    row: &QuestionRow,
    said: Option<&Said>,
    out: &mut Markup,
) {
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
    if let Some(said) = said {
        heard(said, out);
    }
    match row.asks {
        // Why it was refused stands in the line of the handoff.
        "escalation" => refused_by(row, out),
        _ => arguments(row.input.as_ref(), out),
    }
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
    if let Some(remark) = app.desk.decider.remark_in_page(row.model.as_deref()) {
        out.raw("<p class=\"by\">Model: ").value(&remark).raw("</p>");
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

/// What the user has said: folded where it is long.
fn heard(said: &Said, out: &mut Markup) {
    // More may be said while the card is kept as it is.
    out.raw("<div class=\"heard\">");
    if let Some(words) = &said.before {
        match words.chars().count() > LONGEST_SAID || words.lines().count() > MOST_LINES {
            true => {
                out.raw("<details class=\"said\"><summary>The user said: ").value(&beginning(words));
                out.raw("</summary>").words(words).raw("</details>");
            }
            false => {
                out.raw("<p class=\"by\">The user said</p>").words(words);
            }
        }
    }
    if !said.kept.is_empty() {
        kept(&said.kept, out);
    }
    out.raw("</div>");
}

/// What becomes of words that were said while a question is open.
pub(super) fn kept(words: &[String], out: &mut Markup) {
    out.raw("<p class=\"by\">").raw(KEPT).raw(":</p>");
    for words in words {
        out.words(words);
    }
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

/// Which guard has refused the handoff, and as what.
fn refused_by(row: &QuestionRow, out: &mut Markup) {
    let Some(refusal) = row.hops.last().and_then(|hop| hop.refusal.as_ref()) else {
        return arguments(row.input.as_ref(), out);
    };
    out.raw("<p class=\"by\">Refused by the guard ").code(refusal.guard).raw(" as ").code(refusal.error);
    out.raw(".</p>");
}

/// What is asked in full, member by member; what is long has a line of its own, also where there is little room.
fn arguments(input: Option<&RawJson>, out: &mut Markup) {
    let Some(input) = input else { return };
    match members(input.get()) {
        Some(members) => {
            out.raw("<dl class=\"arguments\">");
            for (name, value) in members {
                out.raw(if value.len() > LONGEST_BESIDE { "<div class=\"long\"><dt>" } else { "<div><dt>" });
                out.value(&name).raw("</dt><dd>").data(&value).raw("</dd></div>");
            }
            out.raw("</dl>");
        }
        None => {
            out.data(input.get());
        }
    }
}

/// One answer: a button with a field where words belong to it, and what comes of it.
fn answer(session: &Session, row: &QuestionRow, choice: &'static str, out: &mut Markup) {
    let Offered { name, field, class, then } = Offered::of(row, choice);
    form(session, "/answer", "class=\"choice\"", out);
    hidden("question", &encoded(&row.id), out);
    hidden("digest", &row.digest, out);
    hidden("run", &encoded(&row.run), out);
    hidden("word", &choice.replace('_', "-"), out);
    if let Some(field) = field {
        out.raw("<label>").raw(field).raw(" <input name=\"text\" required dir=\"auto\" maxlength=\"");
        out.own(LONGEST_ANSWER).raw("\" autocomplete=\"off\"></label>");
    }
    out.raw("<button type=\"submit\" class=\"").raw(class).raw("\">").raw(name).raw("</button>");
    out.raw("<p class=\"then muted\">").raw(then).raw("</p></form>");
}

/// An answer as it is offered: what it is called, and what comes of it.
struct Offered {
    /// What the button says.
    name: &'static str,
    /// What the field is for, where words belong to it.
    field: Option<&'static str>,
    /// How the button looks.
    class: &'static str,
    /// What comes of it.
    then: &'static str,
}

/// For what an agent hears.
const WHY: Option<&str> = Some("Why, for the agent");

impl Offered {
    /// The answer `choice` to this question.
    fn of(row: &QuestionRow, choice: &'static str) -> Self {
        let is_branch = row.path != row.run;
        let (name, field, class, then) = match (choice, row.asks) {
            ("approve", "handoff") => (
                "Approve the handoff",
                None,
                "primary",
                "The agent that it goes to has the turn, with this package.",
            ),
            ("approve", "repeat") => (
                "Approve: do it again",
                None,
                "primary",
                "It runs with these arguments, beside what was done before.",
            ),
            ("approve", _) => {
                ("Approve: run it", None, "primary", "It runs with these arguments, and the agents go on.")
            }
            ("reject", "escalation") => (
                "Have the agents go on",
                Some("What the agent is to hear"),
                "primary",
                "The handoff stays refused. The agent reads your words and goes on without it.",
            ),
            ("reject", "handoff") => {
                ("Reject the handoff", WHY, "danger", "The agent keeps the turn, reads why, and goes on.")
            }
            ("reject", "repeat") => (
                "Reject: not again",
                WHY,
                "danger",
                "It is not done again. The agent reads why, and goes on.",
            ),
            ("reject", _) => {
                ("Reject: do not run it", WHY, "danger", "It is not run. The agent reads why, and goes on.")
            }
            ("say", _) => {
                ("Answer", Some("Your answer to the agent"), "primary", "The agent reads it, and goes on.")
            }
            ("take_over", _) if is_branch => (
                "End this branch and take over",
                Some("Who or why, for the record"),
                "danger",
                "No agent goes on in this branch. The agent that it works for is told so, and goes on.",
            ),
            ("take_over", _) => (
                "End it and take over",
                Some("Who or why, for the record"),
                "danger",
                "No agent goes on with this. What is left to do is yours.",
            ),
            ("happened", _) => (
                "It has happened",
                Some("What the call gave"),
                "",
                "It is not done again. The agent reads what it gave, and goes on.",
            ),
            ("did_not_happen", _) => {
                ("It has not happened", None, "", "The agent is told so, and may try it again.")
            }
            ("undone", _) => (
                "I have undone it",
                None,
                "",
                "The agent is told that it was done and is undone, and goes on.",
            ),
            (other, _) => (other, None, "", "The agents go on with it."),
        };
        Self { name, field, class, then }
    }
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
