//! Which page a path has, and what a form does.

use sommelier_handoff::InputKind;
use sommelier_http::{Answer, Request, Wrong};
use sommelier_runner::Turn;

use super::app::App;
use super::door::{self, Door, Session, Shut};
use super::form::{Fields, encoded, segment};
use super::{chat, inbox, live, page, runs};
use crate::arguments::Word;
use crate::command::resume::has_ended_in_vain;
use crate::fault::Fault;
use crate::open::OpenQuestion;
use crate::stand::Stand;

/// Paths that forms are sent to.
const ACTS: [&str; 5] = ["/say", "/answer", "/resume", "/again", "/cancel"];

/// Answers a request, whatever it is.
pub(super) fn answer(app: &'static App, door: &Door, port: u16, heard: Result<&Request, &Wrong>) -> Answer {
    let answered = match heard {
        Err(wrong) => page::plain(wrong.status, &wrong.why),
        Ok(request) => match inside(app, door, port, request) {
            Ok(answer) => answer,
            Err(shut) => page::shut(shut),
        },
    };
    page::guarded(answered)
}

fn inside(app: &'static App, door: &Door, port: u16, request: &Request) -> Result<Answer, Shut> {
    door.check_host(request, port)?;
    let is_get = matches!(&*request.method, "GET" | "HEAD");
    if is_get && request.path() == "/" {
        let query = Fields::read(request.query().as_bytes()).unwrap_or_default();
        if let Some(token) = query.get("token") {
            return Ok(match door.let_in(token, port) {
                // The token stands in no page and in no address bar from here on.
                Ok(Some(cookie)) => page::see("/").header("set-cookie", cookie),
                Ok(None) => return Err(Shut::Unknown),
                Err(fault) => page::plain(500, &fault.line()),
            });
        }
    }
    let session = door.session(request, port)?;
    let is_act = ACTS.contains(&request.path());
    match &*request.method {
        "GET" | "HEAD" if is_act => Ok(page::plain(405, "This is for a form.").header("allow", "POST")),
        "GET" | "HEAD" => Ok(look(app, &session, request)),
        "POST" if is_act => {
            door::check_kind(request)?;
            let Some(fields) = Fields::read(&request.body) else {
                return Ok(page::plain(400, "The form is no UTF-8."));
            };
            session.check_form(request, &fields)?;
            Ok(act(app, &session, request.path(), &fields))
        }
        _ => Ok(page::plain(405, "A page is read with GET.").header("allow", "GET, HEAD")),
    }
}

/// What is looked at. Nothing changes by it.
fn look(app: &'static App, session: &Session, request: &Request) -> Answer {
    let segments: Option<Vec<String>> = request.path().split('/').skip(1).map(segment).collect();
    let Some(segments) = segments else { return page::plain(400, "The address is no UTF-8.") };
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let looked = match segments.as_slice() {
        [""] => chat::fresh(app, session),
        ["style.css"] => return page::style(),
        ["script.js"] => return page::script(),
        ["icon.svg"] => return page::icon(),
        ["chat", run] => chat::page(app, session, run),
        ["chat", run, "events"] => Ok(live::chat(app, session, run, request)),
        ["runs"] => runs::all(app),
        ["runs", run] => runs::one(app, run),
        ["inbox"] => inbox::page(app, session),
        ["inbox", "events"] => Ok(live::inbox(app, session)),
        _ => return page::told(404, "There is no such page.", None),
    };
    looked.unwrap_or_else(|fault| page::fault(&fault, None))
}

/// What is done. The page that follows shows what came of it.
fn act(app: &'static App, session: &Session, path: &str, fields: &Fields) -> Answer {
    let run = named(fields, "run");
    let begun = match path {
        "/say" => {
            let said = say(app, &run, fields);
            // The words are not lost where they cannot be taken.
            return said.map_or_else(
                |fault| chat::refused(app, session, &run, &fields.words("text"), &fault),
                |()| page::see(&chat_of(&run)),
            );
        }
        "/answer" => {
            return answered(app, fields).unwrap_or_else(|fault| {
                page::fault(&fault, Some(("/inbox", "To the inbox, which shows what is asked now")))
            });
        }
        "/resume" => resume(app, &run),
        "/again" => again(app, &run),
        _ => cancel(app, &run, fields),
    };
    let back = chat_of(&run);
    begun.map_or_else(
        |fault| page::fault(&fault, Some((&back, "Back to the conversation"))),
        |()| page::see(&back),
    )
}

/// The name of a run or a question in a form.
fn named(fields: &Fields, name: &str) -> String {
    fields.get(name).and_then(segment).unwrap_or_default()
}

fn chat_of(run: &str) -> String {
    format!("/chat/{}", encoded(run))
}

fn say(app: &'static App, run: &str, fields: &Fields) -> Result<(), Fault> {
    let text = fields.words("text");
    if text.is_empty() {
        return Err(Fault::caller("blank", "there are no words; say something"));
    }
    let stand = Stand::of(app.desk, run)?;
    if let end @ ("taken_over" | "cancelled") = &*stand.summary.status {
        let why = format!(
            "{run:?} ended as {end}, so agents do not go on by themselves; begin another conversation"
        );
        return Err(Fault::caller("over", why));
    }
    // A form that is sent twice is heard once.
    let key = fields.get("key").filter(|key| !key.is_empty()).map(|key| format!("web-{key}"));
    let turn = Turn::new(&*text).at(reservo::entry(&text).name());
    let turn = key.iter().fold(turn, |turn, key| turn.key(key));
    let name = run.to_owned();
    app.begin(run, Some(text), false, move |driver| driver.submit(&name, turn.clone()))
}

fn answered(app: &'static App, fields: &Fields) -> Result<Answer, Fault> {
    let id = named(fields, "question");
    let digest = fields.get("digest").filter(|digest| !digest.is_empty()).map(str::to_owned);
    let Some(digest) = digest else {
        return Err(Fault::caller("usage", "an answer in a browser says the digest of what was shown"));
    };
    let text = Some(fields.words("text")).filter(|text| !text.is_empty());
    let said = Word::read(fields.get("word").unwrap_or_default())?.answer(text)?;
    let by = Some(fields.words("by")).filter(|by| !by.is_empty());
    let question = OpenQuestion::find(app.desk, &id)?;
    question.check_digest(Some(&digest))?;
    question.check_choice(&said)?;
    let (run, name) = (question.run.clone(), question.run);
    app.begin(&run, None, false, move |driver| {
        driver.answer(&name, &id, said.clone(), Some(&digest), by.as_deref())
    })?;
    Ok(page::see(&chat_of(&run)))
}

fn resume(app: &'static App, run: &str) -> Result<(), Fault> {
    let run = app.desk.find(run)?;
    let name = run.clone();
    app.begin(&run, None, false, move |driver| driver.resume(&name))
}

fn again(app: &'static App, run: &str) -> Result<(), Fault> {
    let run = app.desk.find(run)?;
    let (is_tried, name) = (has_ended_in_vain(app.desk, &run)?, run.clone());
    app.begin(&run, None, false, move |driver| match is_tried {
        true => driver.give(&name, InputKind::Retried),
        false => driver.resume(&name),
    })
}

fn cancel(app: &'static App, run: &str, fields: &Fields) -> Result<(), Fault> {
    let run = app.desk.find(run)?;
    let reason = match fields.words("reason") {
        reason if reason.is_empty() => "a person called it off in the browser".to_owned(),
        reason => reason,
    };
    let name = run.clone();
    app.begin(&run, None, true, move |driver| driver.cancel(&name, &reason))
}
