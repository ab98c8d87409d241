//! A conversation: what happened in it, how it stands, and what can be said to it.

use sommelier_handoff::Step;
use sommelier_http::Answer;
use sommelier_report::{Markup, Story, html};
use sommelier_runner::journal::Record;
use sommelier_store::Journal;

use super::app::{App, Work};
use super::door::{Session, by_chance};
use super::form::encoded;
use super::page::{self, Place, chip, form, framed, hidden, link};
use super::question;
use super::route::{LONGEST_REASON, LONGEST_WORDS};
use super::runs::first_words;
use crate::asked::QuestionRow;
use crate::command::report::{diverged, story};
use crate::done::Account;
use crate::fault::Fault;
use crate::stand::{RUNNING, Stand};
use crate::words::counted;

/// What people may try first: one that is handed over, and one that waits for a person.
const EXAMPLES: [&str; 2] = [
    "Quote Focus pro 3h. And what happens if I don't show up?",
    "Book Studio basic for 2 hours tomorrow at 14, for Ada",
];

/// A conversation as it stands.
pub(super) struct View {
    /// The first words that were said in it.
    first: Option<String>,
    /// The last record that is seen in it.
    pub(super) seq: u64,
    /// What happened, each as the inside of an item.
    pub(super) items: Vec<Markup>,
    /// How it stands: pieces with an id each.
    pub(super) state: Markup,
    /// Whether it may change without a record: who drives it may have died.
    pub(super) is_going: bool,
}

impl View {
    pub(super) fn of(app: &App, session: &Session, run: &str) -> Result<Self, Fault> {
        let stand = Stand::of(app.desk, run)?;
        let seq = stand.records.last().map_or(0, |record| record.seq);
        let is_going = stand.summary.status == RUNNING || app.is_going(run);
        let items = match stand.summary.fault {
            None => items(app, run, &stand.records)?,
            Some(_) => story(app.desk, run).map(|(story, _)| html::feed(&story)).unwrap_or_default(),
        };
        let first = first_words(&stand.records);
        Ok(Self { first, seq, items, state: state(app, session, run, &stand), is_going })
    }

    /// Whether there is such a conversation: something of it is on record, or is being done or was not done here.
    fn is_there(&self, app: &App, run: &str) -> bool {
        self.seq > 0 || app.work(run).is_some()
    }
}

/// What happened by these records.
pub(super) fn items(app: &App, run: &str, records: &[Record]) -> Result<Vec<Markup>, Fault> {
    let story = Story::of_run(&app.desk.relay, run, records).map_err(|why| diverged(run, why))?;
    Ok(html::feed(&story))
}

/// What happened by the records up to this one, as whoever has seen that far knows it.
pub(super) fn items_until(app: &App, run: &str, seq: u64) -> Vec<Markup> {
    let records = app.desk.store.load(run, 1).unwrap_or_default();
    let seen: Vec<Record> = records.into_iter().take_while(|record| record.seq <= seq).collect();
    items(app, run, &seen).unwrap_or_default()
}

/// An item of the list with its id.
pub(super) fn item(place: usize, inside: &Markup) -> Markup {
    let mut out = Markup::new();
    out.raw("<li id=\"e").own(place).raw("\">").put(inside).raw("</li>");
    out
}

/// The page of a new conversation. It has a name from here on, so that a form that is sent twice begins one.
pub(super) fn fresh(app: &App, session: &Session) -> Result<Answer, Fault> {
    let run = app.desk.fresh_name("chat")?;
    new(app, session, 200, &run, ("", None))
}

fn new(
    app: &App,
    session: &Session,
    status: u16,
    run: &str,
    (words, fault): (&str, Option<&Fault>),
) -> Result<Answer, Fault> {
    let mut out = Markup::new();
    out.raw("<main id=\"main\" class=\"chat new\"><p class=\"eyebrow\">Sommelier · hand off the turn, not the transcript</p>");
    out.raw("<h1>What can the house do for you?</h1><p class=\"muted\">Rooms by the hour: a quote, a booking, the rules. Watch who has the turn, and what crosses when it is handed over.</p>");
    if let Some(fault) = fault {
        page::notice(&page::said(fault), &mut out);
    }
    composer(session, run, words, &mut out)?;
    out.raw("<div class=\"examples\"><p class=\"muted\" id=\"try\">Or try</p><ul aria-labelledby=\"try\">");
    for example in EXAMPLES {
        out.raw("<li>");
        form(session, "/say", "class=\"example\"", &mut out);
        hidden("run", &encoded(run), &mut out);
        hidden("key", &by_chance()?, &mut out);
        hidden("text", example, &mut out);
        out.raw("<button type=\"submit\">").text(example).raw("</button></form></li>");
    }
    out.raw("</ul></div></main>\n");
    Ok(framed(app, session, status, "Chat", Place::Chat, &out))
}

/// The page of a conversation.
pub(super) fn page(app: &App, session: &Session, run: &str) -> Result<Answer, Fault> {
    let view = View::of(app, session, run)?;
    if !view.is_there(app, run) {
        return Err(crate::fault::unknown_run(run));
    }
    whole(app, session, 200, run, &view, ("", None))
}

/// The page again, with words that were not taken. Where they would have begun a conversation there is none yet to be shown.
pub(super) fn refused(app: &App, session: &Session, run: &str, words: &str, fault: &Fault) -> Answer {
    let (status, said) = (page::status(fault), (words, Some(fault)));
    let shown = View::of(app, session, run).and_then(|view| match view.is_there(app, run) {
        true => whole(app, session, status, run, &view, said),
        false => new(app, session, status, run, said),
    });
    shown.unwrap_or_else(|fault| page::fault(app, session, &fault, &[]))
}

fn whole(
    app: &App,
    session: &Session,
    status: u16,
    run: &str,
    view: &View,
    (words, fault): (&str, Option<&Fault>),
) -> Result<Answer, Fault> {
    let mut out = Markup::new();
    out.raw(
        "<main id=\"main\" class=\"chat\"><header class=\"talk\"><p class=\"eyebrow\">Conversation</p><h1>",
    )
    .value(view.first.as_deref().unwrap_or(run));
    out.raw("</h1><p class=\"meta\">");
    if view.first.is_some() {
        out.raw("<span class=\"name\">").value(run).raw("</span> · ");
    }
    link(session, &format!("/runs/{}", encoded(run)), "", "Report", &mut out);
    out.raw(" · ");
    link(session, "/", "", "New conversation", &mut out);
    out.raw("</p></header>\n");
    out.raw("<ol class=\"feed\" id=\"feed\" role=\"log\" aria-label=\"What happened\" data-live=\"")
        .text(&session.at(&format!("/chat/{}/events", encoded(run))));
    out.raw("\" data-seen=\"").own(view.seq).raw("\">\n");
    for (place, inside) in view.items.iter().enumerate() {
        out.put(&item(place, inside)).raw("\n");
    }
    out.raw("</ol>\n<div id=\"now\" class=\"now\" aria-live=\"polite\">").put(&view.state).raw("</div>\n");
    out.raw("<noscript><p class=\"muted\">Without scripts this page does not move by itself: reload it to see what is new.</p></noscript>\n");
    if let Some(fault) = fault {
        page::notice(&page::said(fault), &mut out);
    }
    composer(session, run, words, &mut out)?;
    out.raw("</main>\n");
    Ok(framed(app, session, status, view.first.as_deref().unwrap_or(run), Place::Chat, &out))
}

fn composer(session: &Session, run: &str, words: &str, out: &mut Markup) -> Result<(), Fault> {
    form(session, "/say", "class=\"composer\" id=\"say\"", out);
    hidden("run", &encoded(run), out);
    hidden("key", &by_chance()?, out);
    out.raw("<label class=\"sr\" for=\"text\">Your words</label><textarea id=\"text\" name=\"text\" rows=\"2\" required dir=\"auto\" maxlength=\"").own(LONGEST_WORDS).raw("\" placeholder=\"Say something\">");
    // A browser leaves out a line end that comes first.
    out.raw("\n")
        .exact(words)
        .raw("</textarea><button type=\"submit\" class=\"primary\">Send</button></form>\n");
    Ok(())
}

/// How it stands, and what can be done about it.
fn state(app: &App, session: &Session, run: &str, stand: &Stand) -> Markup {
    let mut out = Markup::new();
    let (summary, work) = (&stand.summary, app.work(run));
    let is_here = matches!(work, Some(Work::Going { .. }));
    // Before its first record a run that is being begun stands nowhere.
    let status = if is_here && matches!(&*summary.status, "opened" | "interrupted") {
        RUNNING
    } else {
        &summary.status
    };
    out.raw("<p id=\"status\" class=\"status\"");
    if let Some(count) = app.waiting.count(app.desk) {
        out.raw(" data-waiting=\"").own(count).raw("\"");
    }
    out.raw(">");
    chip(status, &mut out);
    if let Some(agent) = &summary.agent {
        out.raw(if status == RUNNING { " <span class=\"dots\">" } else { " <span>" }).value(agent);
        out.raw(match (status, &stand.step) {
            (RUNNING, _) => " is at work</span>",
            ("answered", _) => " has the turn</span>",
            (_, Some(Step::Done(_))) => " had the turn</span>",
            _ => " has the turn</span>",
        });
    }
    let counts =
        [counted(summary.hops, "handoff", "handoffs"), counted(summary.records, "record", "records")];
    out.raw(" <span class=\"muted\">").own(counts.join(" · ")).raw("</span></p>");
    if let Some(fault) = &summary.fault {
        out.raw("<div id=\"fault\" class=\"notice\">").words(&page::said(fault)).raw("</div>");
    }
    if let Some(Work::Failed { why, unsaid, .. }) = work {
        out.raw("<div id=\"failed\" class=\"notice\">").words(&why);
        // What is on record was heard, whatever came then.
        if let Some(words) = unsaid.filter(|words| !is_heard(&stand.records, words)) {
            out.raw("<p class=\"by\">What you said is not on record:</p>").words(&words);
        }
        out.raw("</div>");
    }
    if let Some(step) = &stand.step {
        let questions = QuestionRow::all(app.desk, run, step, &stand.records);
        for row in &questions {
            question::card((app, session), row, None, &mut out);
        }
        let kept = match questions.is_empty() {
            true => Vec::new(),
            false => Account::of(run, &stand.records, &questions).said.kept,
        };
        // Whoever has said them sees no answer.
        if !kept.is_empty() {
            out.raw("<div id=\"kept\" class=\"card\">");
            question::kept(&kept, &mut out);
            out.raw("</div>");
        }
        actions(app, session, run, (status, step), &mut out);
    }
    out
}

/// Whether the user's last words on record are these, or the last answer.
fn is_heard(records: &[Record], words: &str) -> bool {
    let text = serde_json::Value::from(words).to_string();
    let has_it = |kind: &&str| {
        let last = records.iter().rev().find(|record| record.event.kind() == *kind);
        last.is_some_and(|record| record.event.body().contains(&text))
    };
    ["turn_received", "human_answered"].iter().any(has_it)
}

/// Whether a person has ended it, so that agents do not go on by themselves.
pub(super) fn is_over(status: &str) -> bool {
    matches!(status, "cancelled" | "taken_over")
}

fn actions(app: &App, session: &Session, run: &str, (status, step): (&str, &Step), out: &mut Markup) {
    let button = |action: &'static str, name: &'static str, out: &mut Markup| {
        form(session, action, "class=\"inline\"", out);
        hidden("run", &encoded(run), out);
        out.raw("<button type=\"submit\" class=\"primary\">").raw(name).raw("</button></form>");
    };
    if status == "interrupted" {
        out.raw("<div id=\"go-on\" class=\"card\"><p>The process that was at work on this has ended in the middle. All that it had done is on record, and nothing is done twice.</p>");
        button("/resume", "Go on", out);
        out.raw("</div>");
    }
    if let Step::Done(done) = step
        && !matches!(status, "answered" | "cancelled" | "taken_over")
        && done.clone().retry(&app.desk.relay).is_ok()
    {
        out.raw("<div id=\"again\" class=\"card\"><p>").value(&done.end().to_string());
        out.raw("</p><p class=\"muted\">It can be tried again from there, and nothing is done twice.</p>");
        button("/again", "Try again", out);
        out.raw("</div>");
    }
    if is_over(status) {
        out.raw("<div id=\"over\" class=\"card\" data-keep><p>").raw(match status {
            "cancelled" => "This was called off, so agents do not go on by themselves. ",
            _ => "A person has taken this over, so agents do not go on by themselves. ",
        });
        link(session, "/", "", "Begin a new conversation", out);
        // The composer is seen once it is ticked.
        out.raw("</p><label><input type=\"checkbox\" name=\"over\" value=\"go-on\" form=\"say\"> Have the agents go on with this one all the same</label></div>");
    }
    if matches!(status, "waiting" | "interrupted" | "running") {
        out.raw("<details id=\"call-off\" class=\"call-off\"><summary>Call this off</summary>");
        form(session, "/cancel", "class=\"inline\"", out);
        hidden("run", &encoded(run), out);
        out.raw("<label>Why, for the record <input name=\"reason\" dir=\"auto\" maxlength=\"")
            .own(LONGEST_REASON)
            .raw("\"></label><button type=\"submit\" class=\"danger\">Call off</button></form></details>");
    }
}
