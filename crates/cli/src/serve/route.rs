//! Which page a path has, and what a form does.

use std::io::{Write, stderr};
use std::net::IpAddr;

use sommelier_handoff::InputKind;
use sommelier_http::{Answer, Request, Wrong};
use sommelier_runner::Turn;
use sommelier_runner::journal::MAX_NAME;

use super::app::{App, Words};
use super::door::{self, Address, Door, Session, Shut};
use super::form::{Fields, encoded, segment};
use super::{chat, inbox, live, page, runs};
use crate::arguments::Word;
use crate::command::resume::has_ended_in_vain;
use crate::fault::{Fault, blank, unknown_run};
use crate::open::OpenQuestion;
use crate::stand::Stand;
use crate::words::is_seen;

/// Paths that forms are sent to.
const ACTS: [&str; 6] = ["/say", "/answer", "/resume", "/again", "/cancel", "/name"];

/// The longest that is taken of a text, in characters, as the fields of the pages have it.
pub(super) const LONGEST_WORDS: usize = 100_000;
pub(super) const LONGEST_ANSWER: usize = 20_000;
pub(super) const LONGEST_REASON: usize = 2_000;
/// The longest name of whoever answers.
pub(super) const LONGEST_BY: usize = 200;
/// A form of ours has 64 digits.
const LONGEST_KEY: usize = 64;

/// The ends of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    /// The port that it came to.
    pub(super) port: u16,
    /// Where it came from.
    pub(super) peer: IpAddr,
}

/// Who may go on, and with what.
enum Entry {
    /// A browser that shows this token.
    Token(String),
    /// One that was let in.
    Known(Session),
}

/// What a head is answered with before anything else of the request is read, and the connection ends: a refusal. Whoever is not let in gets
/// no second answer by the same connection, or could hold it without end.
pub(super) fn refuse(door: &Door, ends: Ends, head: &Request) -> Option<Answer> {
    entry(door, ends.port, head).err().map(page::guarded)
}

/// Answers a request, whatever it is.
pub(super) fn answer(app: &'static App, door: &Door, ends: Ends, heard: Result<&Request, &Wrong>) -> Answer {
    let answered = match heard {
        Err(wrong) => page::plain(wrong.status, &wrong.why),
        Ok(request) => match entry(door, ends.port, request) {
            Ok(Entry::Token(token)) => let_in(door, ends.port, &token),
            Ok(Entry::Known(session)) if request.method == "POST" => sent(app, &session, request),
            Ok(Entry::Known(session)) => look(app, &session, ends, request),
            Err(refused) => refused,
        },
    };
    page::guarded(answered)
}

/// All that is to be seen in a head.
fn entry(door: &Door, port: u16, head: &Request) -> Result<Entry, Answer> {
    door.check_host(head, port).map_err(page::shut)?;
    if head.method == "GET" && head.path() == "/" {
        let query = Fields::read(head.query().as_bytes()).unwrap_or_default();
        if let Some(token) = query.get("token") {
            return door.check_token(token).map(|()| Entry::Token(token.to_owned())).map_err(page::shut);
        }
    }
    // Who is not let in is told so on a page that looks like the others.
    if head.method == "GET" && head.path() == "/style.css" {
        return Err(page::style());
    }
    let session = door.session(head, port).map_err(page::shut)?;
    let is_act = ACTS.contains(&session.within(head.path()));
    match &*head.method {
        "GET" | "HEAD" if is_act => Err(page::plain(405, "This is for a form.").header("allow", "POST")),
        "GET" | "HEAD" => Ok(Entry::Known(session)),
        "POST" if is_act => {
            let checked = door::check_kind(head).and_then(|()| door::check_origin(head));
            checked.map_err(page::shut).map(|()| Entry::Known(session))
        }
        _ => Err(page::plain(405, "A page is read with GET.").header("allow", "GET, HEAD")),
    }
}

fn let_in(door: &Door, port: u16, token: &str) -> Answer {
    match door.let_in(token) {
        Ok(Some(session)) => {
            // Whoever sits at the terminal sees that somebody came in, and how to let another one in.
            let Address { url, others } = door.address(port);
            let others = others.iter().map(|url| format!(", on another machine {url}")).collect::<String>();
            let _ =
                writeln!(stderr(), "sommelier: a browser was let in; for another one there is {url}{others}");
            // The token stands in no page and in no address bar from here on.
            page::see(&session.at("/")).header("set-cookie", session.cookie(port))
        }
        Ok(None) => page::shut(Shut::Unknown),
        Err(fault) => page::plain(500, &page::said(&fault)),
    }
}

/// What a form has sent.
fn sent(app: &'static App, session: &Session, request: &Request) -> Answer {
    let Some(fields) = Fields::read(&request.body) else {
        return page::plain(400, "The form is no UTF-8.");
    };
    match session.check_form(&fields) {
        Ok(()) => act(app, session, session.within(request.path()), &fields),
        Err(shut) => page::shut(shut),
    }
}

/// What is looked at. Nothing changes by it.
fn look(app: &'static App, session: &Session, ends: Ends, request: &Request) -> Answer {
    let segments: Option<Vec<String>> =
        session.within(request.path()).split('/').skip(1).map(segment).collect();
    let Some(segments) = segments else { return page::plain(400, "The address is no UTF-8.") };
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let looked = match segments.as_slice() {
        // Nor is it shown: a page would be as long as the name, many times over.
        [_, run, ..] if run.len() > MAX_NAME => {
            return page::told(app, session, 404, "There is no conversation of so long a name.", ("", &[]));
        }
        [""] => chat::fresh(app, session),
        ["style.css"] => return page::style(),
        ["script.js"] => return page::script(),
        ["icon.svg"] => return page::icon(),
        ["chat", run] => chat::page(app, session, run),
        ["chat", run, "events"] => live::chat(app, session, run, (ends, request)),
        ["runs"] => runs::all(app, session, request),
        ["runs", run] => runs::one(app, session, run),
        ["inbox"] => inbox::page(app, session, request),
        ["inbox", "events"] => live::inbox(app, session, (ends, request)),
        _ => return page::told(app, session, 404, "There is no such page.", ("", &[])),
    };
    looked.unwrap_or_else(|fault| page::fault(app, session, &fault, &[]))
}

/// What is done. The page that follows shows what came of it.
fn act(app: &'static App, session: &Session, path: &str, fields: &Fields) -> Answer {
    if path == "/answer" {
        return answered(app, session, fields)
            .unwrap_or_else(|fault| unanswered(app, session, fields, &fault));
    }
    if path == "/name" {
        return name(session, fields).map_or_else(
            |fault| page::fault(app, session, &fault, &[("/inbox", "Back to the inbox")]),
            |()| page::see(&session.at("/inbox")),
        );
    }
    let run = match run_of(fields) {
        Ok(run) => run,
        Err(fault) => return page::fault(app, session, &fault, &[]),
    };
    let back = format!("/chat/{}", encoded(&run));
    let begun = match path {
        "/say" => {
            let said = say(app, &run, fields);
            // The words are not lost where they cannot be taken.
            return said.map_or_else(
                |fault| chat::refused(app, session, &run, &fields.words("text"), &fault),
                |()| page::see(&session.at(&back)),
            );
        }
        "/resume" => resume(app, &run),
        "/again" => again(app, &run),
        _ => cancel(app, session, &run, fields),
    };
    begun.map_or_else(
        |fault| page::fault(app, session, &fault, &[(&back, "Back to the conversation")]),
        |()| page::see(&session.at(&back)),
    )
}

/// The name of a run in a form: the whole of it, since a form is of one run and does something with it.
fn run_of(fields: &Fields) -> Result<String, Fault> {
    let run = fields.get("run").and_then(segment).unwrap_or_default();
    if (1..=MAX_NAME).contains(&run.len()) && run.chars().any(is_seen) && !run.contains('\0') {
        return Ok(run);
    }
    let why = format!(
        "the name of a conversation has 1 to {MAX_NAME} bytes, of which something can be seen; this one has {}",
        run.len()
    );
    Err(Fault::caller("name", why))
}

/// A run that there is.
fn known<'a>(app: &App, run: &'a str) -> Result<&'a str, Fault> {
    if app.last_record(run) == 0 { Err(unknown_run(run)) } else { Ok(run) }
}

/// A text of a form, of at most so many characters.
fn words(fields: &Fields, name: &str, most: usize) -> Result<String, Fault> {
    let text = fields.words(name);
    match text.chars().count() {
        count if count > most => {
            let why = format!("a text here has {most} characters at most, and this one has {count}");
            Err(Fault::caller("too_long", why))
        }
        _ => Ok(text),
    }
}

fn say(app: &'static App, run: &str, fields: &Fields) -> Result<(), Fault> {
    let text = words(fields, "text", LONGEST_WORDS)?;
    if !text.chars().any(is_seen) {
        return Err(blank());
    }
    let end = Stand::of(app.desk, run)?.summary.status;
    // As with the command, which wants `ask --conversation` then.
    if chat::is_over(&end) && fields.get("over") != Some("go-on") {
        let why = format!(
            "{run:?} ended as {end}, so agents do not go on by themselves; begin a new conversation, or tick that they go on with \
             this one"
        );
        return Err(Fault::caller("over", why));
    }
    // A form that is sent twice is heard once.
    let key = Some(words(fields, "key", LONGEST_KEY)?).filter(|key| !key.is_empty());
    let key = key.map(|key| format!("web-{key}"));
    let turn = Turn::new(&*text).at(reservo::entry(&text).name());
    let turn = key.iter().fold(turn, |turn, key| turn.key(key));
    let name = run.to_owned();
    app.begin(run, Some(Words { key, text }), false, move |driver| driver.submit(&name, turn.clone()))
}

fn answered(app: &'static App, session: &Session, fields: &Fields) -> Result<Answer, Fault> {
    let id = fields.get("question").and_then(segment).unwrap_or_default();
    if id.len() > 4 * MAX_NAME {
        return Err(Fault::caller("unknown_question", "there is no question of so long a name"));
    }
    let digest = fields.get("digest").filter(|digest| !digest.is_empty()).map(str::to_owned);
    let Some(digest) = digest else {
        return Err(Fault::caller("usage", "an answer in a browser says the digest of what was shown"));
    };
    let text = Some(words(fields, "text", LONGEST_ANSWER)?).filter(|text| !text.is_empty());
    let word = Word::read(fields.get("word").unwrap_or_default())
        .map_err(|_| Fault::caller("no_choice", "this is none of the answers that a question has"))?;
    let typed = text.clone().map(|text| Words { key: None, text });
    let said = word.answer(text)?;
    let by = session.name();
    let question = OpenQuestion::find(app.desk, &id)?;
    question.check_digest(Some(&digest))?;
    question.check_choice(&said)?;
    let (run, name) = (question.run.clone(), question.run);
    app.begin(&run, typed, false, move |driver| {
        driver.answer(&name, &id, said.clone(), Some(&digest), by.as_deref())
    })?;
    Ok(page::see(&session.at(&format!("/chat/{}", encoded(&run)))))
}

/// By whom the answers of a browser are from now on.
fn name(session: &Session, fields: &Fields) -> Result<(), Fault> {
    let by = words(fields, "by", LONGEST_BY)?;
    session.set_name(if by.chars().any(is_seen) { by } else { String::new() });
    Ok(())
}

/// What was answered is not lost where it cannot be taken, and its conversation shows what was answered before.
fn unanswered(app: &App, session: &Session, fields: &Fields, fault: &Fault) -> Answer {
    let run = run_of(fields).ok().filter(|run| app.last_record(run) > 0);
    let back = run.map(|run| format!("/chat/{}", encoded(&run)));
    let mut on: Vec<(&str, &'static str)> =
        back.iter().map(|back| (&**back, "To the conversation")).collect();
    on.push(("/inbox", "To the inbox, which shows what is asked now"));
    page::told(app, session, page::status(fault), &page::said(fault), (&fields.words("text"), &on))
}

fn resume(app: &'static App, run: &str) -> Result<(), Fault> {
    let name = known(app, run)?.to_owned();
    app.begin(run, None, false, move |driver| driver.resume(&name))
}

fn again(app: &'static App, run: &str) -> Result<(), Fault> {
    let name = known(app, run)?.to_owned();
    let is_tried = has_ended_in_vain(app.desk, run)?;
    app.begin(run, None, false, move |driver| match is_tried {
        true => driver.give(&name, InputKind::Retried),
        false => driver.resume(&name),
    })
}

fn cancel(app: &'static App, session: &Session, run: &str, fields: &Fields) -> Result<(), Fault> {
    let name = known(app, run)?.to_owned();
    let reason = words(fields, "reason", LONGEST_REASON)?;
    let reason = match (session.name(), &*reason) {
        (None, "") => "a person called it off in the browser".to_owned(),
        (None, _) => reason,
        (Some(by), "") => format!("{by} called it off in the browser"),
        (Some(by), _) => format!("{by} called it off in the browser: {reason}"),
    };
    app.begin(run, None, true, move |driver| driver.cancel(&name, &reason))
}
