//! What all pages have: their frame, their headers, and the files that they load.

use sommelier_http::Answer;
use sommelier_report::{Markup, html};

use super::app::App;
use super::door::{Session, Shut};
use crate::fault::Fault;

const HTML: &str = "text/html; charset=utf-8";

/// Nothing but what this server serves is loaded, run, sent to or framed.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Characters of a page's title.
const LONGEST_TITLE: usize = 80;

/// Which of the places in the head of each page one is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Chat,
    Runs,
    Inbox,
    Elsewhere,
}

/// The answer with the headers that each one has.
pub(super) fn guarded(answer: Answer) -> Answer {
    answer
        .header("content-security-policy", POLICY)
        .header("x-content-type-options", "nosniff")
        // Of a form's sender nothing would be known under `no-referrer`: browsers then hide its origin from us too.
        .header("referrer-policy", "same-origin")
        .header("cross-origin-opener-policy", "same-origin")
        .header("cross-origin-resource-policy", "same-origin")
        .header("cache-control", "no-store")
}

/// A page in its frame.
pub(super) fn framed(
    app: &App,
    session: &Session,
    status: u16,
    title: &str,
    at: Place,
    body: &Markup,
) -> Answer {
    let mut out = Markup::new();
    out.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n");
    out.raw("<title>").text(&short(title)).raw(" · Sommelier</title>\n");
    out.raw("<link rel=\"icon\" href=\"").text(&session.at("/icon.svg")).raw("\" type=\"image/svg+xml\">\n");
    out.raw("<link rel=\"stylesheet\" href=\"").text(&session.at("/style.css")).raw("\">\n");
    out.raw("<script src=\"")
        .text(&session.at("/script.js"))
        .raw("\" defer></script>\n</head>\n<body class=\"app\">\n");
    out.raw("<a class=\"skip\" href=\"#main\">Skip to the page</a>\n<header class=\"bar\"><div>");
    link(session, "/", "class=\"brand\"", "Sommelier", &mut out);
    out.raw("<nav aria-label=\"Places\"><ul>");
    let mut place = |path: &str, name: &'static str, is_here: bool, count: Option<usize>| {
        out.raw("<li><a href=\"").text(&session.at(path)).raw("\"").raw(if is_here {
            " aria-current=\"page\">"
        } else {
            ">"
        });
        out.raw(name);
        if let Some(count) = count {
            out.raw("<span id=\"waiting\"").raw(if count == 0 { " hidden>" } else { ">" });
            out.raw(" <b>").own(count).raw("</b><span class=\"sr\"> waiting</span></span>");
        }
        out.raw("</a></li>");
    };
    place("/", "Chat", at == Place::Chat, None);
    place("/runs", "Runs", at == Place::Runs, None);
    place("/inbox", "Inbox", at == Place::Inbox, app.waiting.count(app.desk));
    out.raw("</ul></nav></div></header>\n").put(body).raw("</body>\n</html>\n");
    Answer::whole(status, HTML, out.into_string())
}

/// A link to another page, whose name is of this program's words and numbers.
pub(super) fn link_to(session: &Session, path: &str, name: &str, out: &mut Markup) {
    out.raw("<a href=\"").text(&session.at(path)).raw("\">").text(name).raw("</a>");
}

/// A link to another page.
pub(super) fn link(session: &Session, path: &str, is: &'static str, name: &'static str, out: &mut Markup) {
    out.raw("<a href=\"").text(&session.at(path)).raw("\"").raw(if is.is_empty() { "" } else { " " }).raw(is);
    out.raw(">").raw(name).raw("</a>");
}

/// A name where nothing but a few words has room.
fn short(name: &str) -> String {
    match name.char_indices().nth(LONGEST_TITLE) {
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()),
        None => name.to_owned(),
    }
}

/// A page that tells something, with what was typed and is nowhere else, and with ways to go on.
pub(super) fn told(
    app: &App,
    session: &Session,
    status: u16,
    what: &str,
    (typed, on): (&str, &[(&str, &'static str)]),
) -> Answer {
    let mut out = Markup::new();
    out.raw("<main id=\"main\" class=\"narrow\"><h1>That did not work</h1>");
    notice(what, &mut out);
    if !typed.is_empty() {
        out.raw("<label>What you typed <textarea readonly rows=\"2\" dir=\"auto\">\n").exact(typed);
        out.raw("</textarea></label>");
    }
    for (path, name) in on {
        out.raw("<p>");
        link(session, path, "", name, &mut out);
        out.raw("</p>");
    }
    out.raw("</main>\n");
    framed(app, session, status, "That did not work", Place::Elsewhere, &out)
}

/// A page that tells what went wrong.
pub(super) fn fault(app: &App, session: &Session, fault: &Fault, on: &[(&str, &'static str)]) -> Answer {
    told(app, session, status(fault), &said(fault), ("", on))
}

/// What went wrong, and what can be done about it in a browser.
pub(super) fn said(fault: &Fault) -> String {
    let advice = match fault.code() {
        "unknown_run" => "; Runs, at the top of the page, has all that there are",
        "unknown_question" | "other_question" => "; the inbox shows what is asked now",
        "answered_before" => "; its conversation shows what came of it",
        "key_reused" => "; say it once more on the conversation's page as it is now",
        "broken" => "; whoever has this server has to end it and start it again, which reads what is there",
        "damaged" | "diverged" => "; whoever has this server has to look at the journal",
        _ => "",
    };
    fault.line_in_page() + advice
}

/// The status by which a fault is told.
pub(super) fn status(fault: &Fault) -> u16 {
    match fault.code() {
        "unknown_run" | "unknown_question" => 404,
        "answered_before" | "other_question" | "at_work" | "held" | "over" | "key_reused" => 409,
        "busy" | "crowded" => 503,
        _ if fault.exit_code() == 2 => 422,
        _ => 500,
    }
}

/// Words that stand out.
pub(super) fn notice(what: &str, out: &mut Markup) {
    out.raw("<div class=\"notice\" role=\"alert\">").words(what).raw("</div>");
}

/// A page that loads nothing but how it looks, for who is not let in. What stands between backticks is code.
pub(super) fn plain(status: u16, why: &str) -> Answer {
    let mut out = Markup::new();
    out.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n");
    out.raw("<title>Sommelier</title>\n<link rel=\"stylesheet\" href=\"/style.css\">\n</head>\n<body class=\"app\">\n");
    out.raw("<header class=\"bar\"><div><span class=\"brand\">Sommelier</span></div></header>\n");
    out.raw("<main id=\"main\" class=\"narrow\"><h1>That did not work</h1><div class=\"notice\" role=\"alert\"><p>");
    for (place, piece) in why.split('`').enumerate() {
        match place % 2 {
            0 => out.text(piece),
            _ => out.raw("<code>").text(piece).raw("</code>"),
        };
    }
    out.raw("</p></div></main>\n</body>\n</html>\n");
    Answer::whole(status, HTML, out.into_string())
}

/// Why a request goes no further, on a page that tells nothing else.
pub(super) fn shut(shut: Shut) -> Answer {
    let (status, why) = match shut {
        Shut::Doubtful => {
            (400, "The request has two headers of one name that say different things, and nothing was done.")
        }
        Shut::Host => (421, "This server is not at the address that was asked for."),
        Shut::Unknown => (
            401,
            "Open the address that `sommelier serve` has printed last: the token in it lets one browser in, once. If you have just opened \
             one, it was used before, and there is a newer one at the terminal.",
        ),
        Shut::Foreign => (403, "This was sent from a page of another site, and nothing was done."),
        Shut::Kind => (415, "This is no form, and nothing was done."),
        Shut::Stale => (
            403,
            "The form is of a session that is over, and nothing was done. Go back, reload the page, and send it again.",
        ),
    };
    plain(status, why)
}

/// Has the browser ask for another page.
pub(super) fn see(path: &str) -> Answer {
    Answer::whole(303, HTML, "").header("location", path)
}

pub(super) fn style() -> Answer {
    Answer::whole(200, "text/css; charset=utf-8", [html::STYLE, include_str!("style.css")].concat())
}

pub(super) fn script() -> Answer {
    Answer::whole(200, "text/javascript; charset=utf-8", include_str!("script.js"))
}

pub(super) fn icon() -> Answer {
    Answer::whole(200, "image/svg+xml", include_str!("icon.svg"))
}

/// The beginning of a form, with the token that makes it one of ours.
pub(super) fn form(session: &Session, action: &str, is: &'static str, out: &mut Markup) {
    out.raw("<form method=\"post\" action=\"").text(&session.at(action)).raw("\" ").raw(is).raw(">");
    hidden("form_token", &session.form_token, out);
}

/// A field that nobody sees. Names of runs are [encoded](super::form::encoded) in it, since not every character of a name comes back.
pub(super) fn hidden(name: &'static str, value: &str, out: &mut Markup) {
    out.raw("<input type=\"hidden\" name=\"").raw(name).raw("\" value=\"").text(value).raw("\">");
}

/// How a run stands, in a word that is told apart by colour too.
pub(super) fn chip(status: &str, out: &mut Markup) {
    let class = match status {
        "answered" => "chip good",
        "waiting" => "chip wait",
        "running" => "chip busy",
        "opened" => "chip",
        _ => "chip bad",
    };
    out.raw("<span class=\"").raw(class).raw("\">").value(&status.replace('_', " ")).raw("</span>");
}
