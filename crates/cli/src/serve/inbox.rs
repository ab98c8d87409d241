//! The inbox: what waits for a person.

use sommelier_http::Answer;
use sommelier_report::Markup;

use super::app::App;
use super::door::Session;
use super::page::{Place, framed, said};
use super::question;
use crate::command::inbox::open;
use crate::fault::Fault;

pub(super) fn page(app: &App, session: &Session) -> Result<Answer, Fault> {
    let mut out = Markup::new();
    out.raw("<main id=\"main\"><header class=\"talk\"><p class=\"eyebrow\">Inbox</p><h1>What waits for you</h1></header>\n");
    out.raw("<div id=\"now\" class=\"now\" aria-live=\"polite\" data-live=\"")
        .text(&session.at("/inbox/events"))
        .raw("\">")
        .put(&cards(app, session)?);
    out.raw("</div></main>\n");
    Ok(framed(session, 200, "Inbox", Place::Inbox, &out))
}

/// A card for each question that is open; those that are open longest come first.
pub(super) fn cards(app: &App, session: &Session) -> Result<Markup, Fault> {
    let (mut out, mut left_out) = (Markup::new(), Vec::new());
    let questions = open(app.desk, &mut left_out)?;
    for row in &questions {
        question::card(session, row, &mut out);
    }
    if questions.is_empty() {
        out.raw("<p id=\"none\" class=\"empty\">Nothing waits for a person.</p>");
    }
    for (place, left) in left_out.iter().enumerate() {
        out.raw("<div class=\"notice\" id=\"left-")
            .own(place)
            .raw("\"><p>")
            .value(&left.run)
            .raw(" is left out:</p>");
        out.words(&said(&left.fault)).raw("</div>");
    }
    Ok(out)
}
