//! What is new, as it comes: server-sent events.
//!
//! A stream looks at the journal and tells what differs from what its page has. So it tells also what another process has done,
//! and a page that was away is told the rest: the number of the last record that it saw is all that there is to know of it. Where
//! the journal cannot be read the stream ends, and none begins: the page would look as if nothing had happened.
//!
//! | event | what it is |
//! |---|---|
//! | `item`, with the number of the last record as its id | an item of the list that is new or has changed, with its place |
//! | `state` | how the run stands, or what waits for a person |

use std::time::{Duration, Instant};

use sommelier_http::{Answer, Request, Stop};
use sommelier_report::Markup;
use sommelier_store::Journal;

use super::app::App;
use super::chat::{View, item, items_until};
use super::door::Session;
use super::form::Fields;
use super::inbox;
use super::route::Ends;
use super::streams::Stream;
use crate::fault::{Fault, unknown_run};

/// How often the journal is looked at.
const TICK: Duration = Duration::from_millis(100);
/// How often is looked for what no record tells: a lease that is over, and a file that was repaired.
const LOOK: Duration = Duration::from_secs(1);
/// How often something is sent in any case, by which a page that is gone is noticed.
const BEAT: Duration = Duration::from_secs(5);
/// How long a stream lasts. The page asks for another one.
const LONGEST: Duration = Duration::from_secs(600);
/// In how many milliseconds a page whose stream has ended for another one asks again.
const AGAIN: u32 = 2_000;

/// The events of a conversation.
pub(super) fn chat(
    app: &'static App,
    session: &Session,
    run: &str,
    (ends, request): (Ends, &Request),
) -> Result<Answer, Fault> {
    if app.desk.store.head(run)?.seq == 0 && app.work(run).is_none() {
        return Err(unknown_run(run));
    }
    let seen = seen(request);
    let stream = app.streams.enter(ends, request);
    let (session, run) = (session.clone(), run.to_owned());
    let mut items = items_until(app, &run, seen);
    let (mut state, mut place, mut is_going) = (Markup::new(), None, true);
    Ok(watched(stream, move |is_time| {
        let now = (app.last_record(&run), app.changes());
        if place == Some(now) && !(is_time && is_going) {
            return Some(String::new());
        }
        let view = View::of(app, &session, &run).ok()?;
        place = Some(now);
        is_going = view.is_going;
        let mut out = String::new();
        for (at, inside) in view.items.iter().enumerate() {
            if items.get(at) != Some(inside) {
                push("item", Some(view.seq), &item(at, inside), &mut out);
            }
        }
        items = view.items;
        if state != view.state {
            push("state", None, &view.state, &mut out);
            state = view.state;
        }
        Some(out)
    }))
}

/// The events of the inbox.
pub(super) fn inbox(
    app: &'static App,
    session: &Session,
    (ends, request): (Ends, &Request),
) -> Result<Answer, Fault> {
    app.desk.store.heads()?;
    let stream = app.streams.enter(ends, request);
    let (session, from, mut state, mut place) = (session.clone(), inbox::from(request), Markup::new(), None);
    Ok(watched(stream, move |is_time| {
        let mut out = String::new();
        if !is_time {
            return Some(out);
        }
        // Whether any run has gone on is soon known.
        let heads = app.desk.store.heads().ok()?;
        if place.as_ref() == Some(&heads) {
            return Some(out);
        }
        let cards = inbox::cards(app, &session, from).ok()?;
        place = Some(heads);
        if cards != state {
            state = cards;
            push("state", None, &state, &mut out);
        }
        Some(out)
    }))
}

/// The last record that the page has: what it was made of, or what it has heard since.
fn seen(request: &Request) -> u64 {
    let heard = request.header("last-event-id").and_then(|id| id.parse().ok());
    let after = || Fields::read(request.query().as_bytes())?.get("after")?.parse().ok();
    heard.or_else(after).unwrap_or_default()
}

/// A stream of what `look` finds new, which is `None` where nothing can be found any more. It is told whether it is time to look for
/// what no record tells.
fn watched(stream: Stream, mut look: impl FnMut(bool) -> Option<String> + Send + 'static) -> Answer {
    let start = Instant::now();
    let (mut looked, mut sent, mut is_ending) = (None::<Instant>, Instant::now(), false);
    Answer::live("text/event-stream; charset=utf-8", move |stop: &Stop| {
        loop {
            let is_first = looked.is_none();
            if is_ending || !is_first && stop.wait(TICK) || start.elapsed() > LONGEST {
                return None;
            }
            // What it would have told now, the page is told when it asks again.
            if stream.is_over() {
                is_ending = true;
                return Some(format!("retry: {AGAIN}\n\n"));
            }
            let is_time = looked.is_none_or(|looked| looked.elapsed() >= LOOK);
            if is_time {
                looked = Some(Instant::now());
            }
            let mut news = look(is_time)?;
            if is_first {
                news.insert_str(0, "retry: 1000\n\n");
            }
            if news.is_empty() && sent.elapsed() >= BEAT {
                news.push_str(": still here\n\n");
            }
            if !news.is_empty() {
                sent = Instant::now();
                return Some(news);
            }
        }
    })
}

/// An event. Each line of its data is a line of its own.
fn push(event: &str, id: Option<u64>, data: &Markup, out: &mut String) {
    out.push_str(&format!("event: {event}\n"));
    if let Some(id) = id {
        out.push_str(&format!("id: {id}\n"));
    }
    for line in data.as_str().split('\n') {
        out.push_str(&format!("data: {line}\n"));
    }
    out.push('\n');
}
