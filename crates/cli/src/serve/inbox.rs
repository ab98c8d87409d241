//! The inbox: what waits for a person.

use sommelier_http::{Answer, Request};
use sommelier_report::Markup;

use super::app::App;
use super::door::Session;
use super::form::Fields;
use super::page::{Place, form, framed, link_to, said};
use super::question;
use super::route::LONGEST_BY;
use super::waiting::Asked;
use crate::fault::Fault;
use crate::words::counted;

/// Questions, and runs that cannot be read, on a page.
const MOST_SHOWN: usize = 50;

pub(super) fn page(app: &App, session: &Session, request: &Request) -> Result<Answer, Fault> {
    let from = from(request);
    let mut out = Markup::new();
    out.raw("<main id=\"main\"><header class=\"talk\"><p class=\"eyebrow\">Inbox</p><h1>What waits for you</h1></header>\n");
    who(session, &mut out);
    out.raw("<div id=\"now\" class=\"now\" aria-live=\"polite\" data-live=\"")
        .text(&session.at(&format!("/inbox/events?from={from}")))
        .raw("\">")
        .put(&cards(app, session, from)?);
    out.raw("</div></main>\n");
    Ok(framed(app, session, 200, "Inbox", Place::Inbox, &out))
}

/// By whom answers are on record, and the form that says it.
fn who(session: &Session, out: &mut Markup) {
    let name = session.name();
    out.raw("<details class=\"answering\"><summary>Your answers are on record by ")
        .value(name.as_deref().unwrap_or("a person without a name"));
    out.raw("</summary>");
    form(session, "/name", "class=\"inline\"", out);
    out.raw("<label>Your name <input name=\"by\" dir=\"auto\" autocomplete=\"name\" maxlength=\"")
        .own(LONGEST_BY);
    out.raw("\" value=\"").exact(&name.unwrap_or_default());
    out.raw("\"></label><button type=\"submit\">Answer by this name</button></form></details>\n");
}

/// Behind how many of the questions the page begins.
pub(super) fn from(request: &Request) -> usize {
    let from = || Fields::read(request.query().as_bytes())?.get("from")?.parse().ok();
    from().unwrap_or_default()
}

/// A card for each question of a page; those that are open longest come first.
pub(super) fn cards(app: &App, session: &Session, from: usize) -> Result<Markup, Fault> {
    let asked = app.waiting.asked(app.desk, from, MOST_SHOWN)?;
    let mut out = Markup::new();
    count(&asked, &mut out);
    for (row, said) in &asked.questions {
        question::card((app, session), row, Some(said), &mut out);
    }
    more(session, &asked, &mut out);
    for (place, left) in asked.left_out.iter().take(MOST_SHOWN).enumerate() {
        out.raw("<div class=\"notice\" id=\"left-")
            .own(place)
            .raw("\"><p>")
            .value(&left.run)
            .raw(" is left out:</p>");
        out.words(&said(&left.fault)).raw("</div>");
    }
    if let Some(more @ 1..) = asked.left_out.len().checked_sub(MOST_SHOWN) {
        let more = counted(more, "more run is", "more runs are");
        out.raw("<div class=\"notice\" id=\"left-more\"><p>").own(more).raw(" left out.</p></div>");
    }
    Ok(out)
}

/// How many there are, and which of them are here.
fn count(asked: &Asked, out: &mut Markup) {
    let Asked { from, questions, total, .. } = asked;
    out.raw("<p id=\"count\" data-waiting=\"").own(total).raw(match total {
        0 => "\" class=\"empty\">Nothing waits for a person.",
        _ => "\" class=\"muted\">",
    });
    if *total > 0 {
        out.own(counted(total, "question waits.", "questions wait."));
    }
    if questions.len() < *total {
        out.own(format!(
            " These are {} to {}; those that wait longest come first.",
            from + 1,
            from + questions.len()
        ));
    }
    out.raw("</p>");
}

/// The ways to the questions that are not here.
fn more(session: &Session, Asked { from, questions, total, .. }: &Asked, out: &mut Markup) {
    if questions.len() == *total {
        return;
    }
    out.raw("<p id=\"more\" class=\"pages\">");
    if *from > 0 {
        link_to(session, "/inbox", "Those that wait longest", out);
    }
    let next = from + questions.len();
    if next < *total {
        let name = format!("The next {}", MOST_SHOWN.min(total - next));
        link_to(session, &format!("/inbox?from={next}"), &name, out);
    }
    out.raw("</p>");
}
