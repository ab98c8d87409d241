//! The report as one page, whole in itself: it loads nothing, and needs no script to be read.
//!
//! [`page`] is the whole of it. The other functions give its pieces, for a page of somebody else's that has [`STYLE`].

mod conversations;
mod events;
mod feed;
mod hops;
mod names;
mod people;
mod tables;

use crate::asking::asks_a_person;
use crate::conversations::MOST_ENDS;
use crate::drawn::Drawn;
use crate::markup::Markup;
use crate::shown::{bytes, counted, moment, short};
use crate::story::{Kind, Source, Story, What};
use crate::telling::WAITS;
use crate::text::how_long;
use crate::who::Cast;
use crate::{svg, timeline};

/// How the page and its pieces look.
pub const STYLE: &str = concat!(
    include_str!("../style/theme.css"),
    include_str!("../style/svg.css"),
    include_str!("../style/page.css")
);

/// The whole page.
///
/// ```
/// use sommelier_report::{Story, html};
///
/// let story = Story { title: "<script>alert(1)</script>".into(), ..Story::default() };
/// assert!(!html::page(&story).contains("<script"));
/// ```
pub fn page(story: &Story) -> String {
    let mut out = Markup::new();
    out.raw(include_str!("head.html")).raw("<title>");
    out.text(&short(&story.title, 80))
        .raw(" · Sommelier</title>\n<style>")
        .raw(STYLE)
        .raw("</style>\n</head>\n<body>\n");
    out.raw("<a class=\"skip\" href=\"#story\">Skip to the story</a>\n");
    out.put(&head(story));
    let cast = Cast::of(story);
    let sections = sections(&cast);
    out.put(&contents(&sections)).raw("<main id=\"story\" tabindex=\"-1\">\n");
    written_all(&cast, &sections, &mut out);
    out.raw("</main>\n</body>\n</html>\n");
    out.into_string()
}

/// The head of the page: how the run stands, and its figures.
pub fn head(story: &Story) -> Markup {
    let mut out = Markup::new();
    title(story, &mut out);
    out
}

/// All that the page tells below its head, section by section, behind links to them.
pub fn body(story: &Story) -> Markup {
    let cast = Cast::of(story);
    let sections = sections(&cast);
    let mut out = contents(&sections);
    written_all(&cast, &sections, &mut out);
    out
}

fn written_all(story: &Cast<'_>, sections: &[Section], out: &mut Markup) {
    for section in sections {
        section.write(out);
    }
    if story.conversation_count() > 1 {
        conversations::each(story, out);
    }
}

/// What happened, each event as the inside of an item of a list, in order: as a conversation that is watched shows it.
pub fn feed(story: &Story) -> Vec<Markup> {
    feed::items(&Cast::of(story))
}

/// The sequence diagram in a box of its own that can be scrolled.
pub fn sequence(story: &Story) -> String {
    written(story, in_box)
}

/// All handoffs, each as a card: what crossed beside what was left behind.
pub fn hops(story: &Story) -> String {
    written(story, hops::all)
}

/// One handoff as a card; empty where there is none at this place of [`Story::hops`].
pub fn hop(story: &Story, place: usize) -> String {
    let mut out = Markup::new();
    if let Some(hop) = story.hops.get(place) {
        hops::one(&Cast::of(story), hop, &mut out);
    }
    out.into_string()
}

/// What was asked of delegates, and what they found.
pub fn questions(story: &Story) -> String {
    written(story, hops::questions)
}

/// What people were asked, and what they said.
pub fn people(story: &Story) -> String {
    written(story, people::asks)
}

/// What was refused and why.
pub fn refusals(story: &Story) -> String {
    written(story, people::refusals)
}

/// What took how long, and the table of all events.
pub fn events(story: &Story) -> String {
    written(story, times)
}

/// What was used of what there is, and who used it.
pub fn budget(story: &Story) -> String {
    written(story, tables::budget)
}

/// Who may hand over to whom, and who did.
pub fn routes(story: &Story) -> String {
    written(story, tables::routes)
}

fn written(story: &Story, write: fn(&Cast<'_>, &mut Markup)) -> String {
    let mut out = Markup::new();
    write(&Cast::of(story), &mut out);
    out.into_string()
}

/// A part of the page under a heading.
struct Section {
    id: String,
    name: &'static str,
    body: Markup,
}

impl Section {
    fn write(&self, out: &mut Markup) {
        self.begin(out);
        out.raw("<h2 id=\"").own(&self.id).raw("-name\">").raw(self.name).raw("</h2>\n");
        out.put(&self.body).raw("</section>\n");
    }

    /// As a part of what is told of one conversation.
    fn write_within(&self, out: &mut Markup) {
        self.begin(out);
        out.raw("<h3 id=\"").own(&self.id).raw("-name\">").raw(self.name).raw("</h3>\n");
        out.put(&self.body).raw("</section>\n");
    }

    fn begin(&self, out: &mut Markup) {
        out.raw("<section id=\"").own(&self.id).raw("\" aria-labelledby=\"").own(&self.id).raw("-name\">");
    }
}

/// Links to the sections.
fn contents(sections: &[Section]) -> Markup {
    let mut out = Markup::new();
    out.raw("<nav aria-label=\"Sections\"><ul>");
    for section in sections {
        out.raw("<li><a href=\"#").own(&section.id).raw("\">").raw(section.name).raw("</a></li>");
    }
    out.raw("</ul></nav>\n");
    out
}

/// What writes a part of the page.
type Write = fn(&Cast<'_>, &mut Markup);

/// The parts that a story has something for: of several conversations what is told of all of them.
fn sections(story: &Cast<'_>) -> Vec<Section> {
    let is_several = story.conversation_count() > 1;
    let is_any_way = story.relays.iter().any(|relay| !relay.ways.is_empty());
    let last: [(&'static str, &'static str, Write, bool); 3] = [
        ("budget", "What it used", tables::budget, !story.parts.is_empty()),
        ("routes", "Ways taken and not taken", tables::routes, is_any_way),
        ("names", "Long names in full", names::long, names::is_any_long(story)),
    ];
    let mut all = if is_several {
        vec![("conversations", "The conversations", conversations::table as Write, true)]
    } else {
        happened(story, true)
    };
    all.extend(last);
    written_of(story, all)
}

/// The parts about what happened in a conversation, with drawings or without.
fn happened(story: &Cast<'_>, is_drawn: bool) -> Vec<(&'static str, &'static str, Write, bool)> {
    let is_any = !story.events.is_empty();
    vec![
        ("outcome", "Asked and answered", outcome, true),
        ("sequence", "Who spoke to whom", in_box, is_any && is_drawn),
        ("handoffs", "What crossed", hops::all, !story.hops.is_empty()),
        ("questions", "Questions to delegates", hops::questions, !story.questions.is_empty()),
        ("people", "People in the loop", people::asks, !story.asks.is_empty()),
        ("refusals", "Refused, and why", people::refusals, !story.refusals().is_empty()),
        ("time", "In the course of time", if is_drawn { times } else { events::table }, is_any),
    ]
}

fn written_of(story: &Cast<'_>, all: Vec<(&'static str, &'static str, Write, bool)>) -> Vec<Section> {
    let section = |(id, name, write, is_there): (&'static str, _, Write, bool)| {
        is_there.then(|| {
            let mut body = Markup::new();
            write(story, &mut body);
            Section { id: story.id(id), name, body }
        })
    };
    all.into_iter().filter_map(section).collect()
}

fn title(story: &Story, out: &mut Markup) {
    let is_several = story.conversation_count() > 1;
    out.raw("<header class=\"page\"><p class=\"eyebrow\">Sommelier · report of ");
    out.raw(if is_several { "several conversations" } else { "a run" })
        .raw("</p><h1>")
        .value(&short(&story.title, 160));
    out.raw("</h1><p class=\"meta\">");
    if is_several {
        let ends = story.outcomes();
        for (status, count) in ends.iter().take(MOST_ENDS) {
            counted_chip(status, *count, out);
            out.raw(" ");
        }
        out.raw(if ends.len() > MOST_ENDS { "…" } else { "" });
    } else {
        chip(&story.outcome.status, out);
    }
    if story.began_us > 0 {
        out.raw(" began <time>").own(moment(story.began_us)).raw("</time>, ").own(how_long(story));
    }
    match story.source {
        Source::Journal { records, .. } => {
            out.raw(" · from the journal, ").own(counted(records as u64, "record", "records"));
        }
        Source::Trace => {
            out.raw(" · from a trace");
        }
    }
    out.raw("</p>\n<dl class=\"figures\">");
    let (crossed, behind) = story.bytes();
    let agents = story.parts.iter().filter(|part| matches!(part.kind, Kind::Agent | Kind::Delegate)).count();
    let calls: u64 = story.parts.iter().map(|part| part.model_calls).sum();
    let taken = story.taken().count();
    figure(if taken == 1 { "handoff" } else { "handoffs" }, taken, out);
    figure("crossed", bytes(crossed), out);
    figure("left behind", bytes(behind), out);
    figure("refused", story.refusals().len(), out);
    figure(if agents == 1 { "agent" } else { "agents" }, agents, out);
    figure(if calls == 1 { "model call" } else { "model calls" }, calls, out);
    out.raw("</dl>");
    if !story.remarks.is_empty() {
        out.raw("<div class=\"remarks\" role=\"note\"><h2>What is not here</h2><ul>");
        for remark in &story.remarks {
            out.raw("<li>").value(remark).raw("</li>");
        }
        out.raw("</ul></div>");
    }
    out.raw("</header>\n");
}

fn figure(name: &'static str, figure: impl std::fmt::Display, out: &mut Markup) {
    out.raw("<div><dt>").raw(name).raw("</dt><dd>").own(figure).raw("</dd></div>");
}

/// A word for how something stands.
fn chip(status: &str, out: &mut Markup) {
    out.raw("<span class=\"")
        .raw(class_of(status))
        .raw("\">")
        .value(&status.replace('_', " "))
        .raw("</span>");
}

/// How often something came to stand so.
fn counted_chip(status: &str, count: usize, out: &mut Markup) {
    out.raw("<span class=\"").raw(class_of(status)).raw("\">").own(count).raw(" ");
    out.value(&status.replace('_', " ")).raw("</span>");
}

/// The class of a word for how something stands. One that is not known is neither good nor bad.
fn class_of(status: &str) -> &'static str {
    match status {
        "answered" | "done" | "taken" | "approved" | "approved_by_person" | "approve" => "chip good",
        "unresolved" | "model_refused" | "handoff_refused" | "hop_limit" | "truncated" | "turn_limit"
        | "budget_spent" | "no_progress" | "contract_broken" | "failed" | "unknown_stop" | "taken_over"
        | "cancelled" | "unwritten" | "escalated" | "refused" | "denied" | "denied_by_person"
        | "not_taken" => "chip bad",
        _ => "chip",
    }
}

fn outcome(story: &Cast<'_>, out: &mut Markup) {
    for event in &story.events {
        match &event.what {
            What::Said { from, to, text } => {
                out.raw("<div class=\"said\"><p class=\"by\">");
                story.named(*from, out);
                out.raw(" to ");
                story.named(*to, out);
                out.raw("</p>");
                match text {
                    Some(text) => out.words(text),
                    None => out.raw("<p class=\"muted\">The words are not in the source.</p>"),
                };
                out.raw("</div>");
            }
            What::Ended { agent, end, text } => {
                out.raw("<div class=\"said answer\"><p class=\"by\">");
                if let Some(agent) = agent {
                    story.named(*agent, out);
                    out.raw(" ");
                }
                chip(end, out);
                out.raw("</p>");
                match text {
                    Some(text) => out.words(text),
                    None if end == "answered" => {
                        out.raw("<p class=\"muted\">The words are not in the source.</p>")
                    }
                    None => out,
                };
                out.raw("</div>");
            }
            What::Waited { ask } => open_ask(story, *ask, out),
            _ => {}
        }
    }
    if story.outcome.status == "waiting" && story.asks.is_empty() {
        out.raw("<p><span class=\"chip\">waiting</span> A person is asked");
        let asked = story.events.iter().rev().find_map(|event| match &event.what {
            What::Noted { note, detail, .. } if note == WAITS => detail.as_deref(),
            _ => None,
        });
        match asked {
            Some(asked) => out.raw(": ").value(asked).raw(".</p>"),
            None => out.raw(". What they are asked is not in the source.</p>"),
        };
    }
    if let Some(why) = &story.outcome.why {
        out.raw("<p>It ended so: ").value(why).raw("</p>");
    }
    for done in &story.done {
        out.raw("<p class=\"done\">");
        chip(done.stands(), out);
        out.raw(" ").code(&done.tool).raw(" ").value(done.gave()).raw("</p>");
    }
    let is_told = |what: &What| matches!(what, What::Said { .. } | What::Ended { .. });
    if story.events.is_empty() {
        out.raw("<p class=\"muted\">Nobody has spoken yet.</p>");
    } else if !story.events.iter().any(|event| is_told(&event.what)) {
        out.raw("<p class=\"muted\">What was asked and answered is not in the source.</p>");
    }
}

/// What a person was asked and has not answered yet.
fn open_ask(story: &Cast<'_>, ask: usize, out: &mut Markup) {
    let Some(ask) = story.asks.get(ask).filter(|ask| ask.answer.is_none()) else { return };
    out.raw("<div class=\"said answer\"><p class=\"by\">");
    story.named(ask.from, out);
    out.raw(" ").own(asks_a_person(&ask.asks)).raw(" ");
    match &*ask.asks {
        "words" => out.value(&ask.about),
        _ => out.code(&ask.about),
    };
    out.raw(" ");
    chip("waiting", out);
    out.raw("</p>");
    if let Some(detail) = &ask.detail {
        out.data(detail);
    }
    out.raw("</div>");
}

fn in_box(story: &Cast<'_>, out: &mut Markup) {
    out.raw("<figure><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Sequence diagram\">");
    svg::draw(story, None, out);
    out.raw("</div><figcaption>A thick arrow hands the turn over, with the bytes that cross. An arrow that ends in a cross was refused. ");
    out.raw(
        "A dashed one comes back, a dotted one goes to a person or comes from one. A circle is a model call, a box a tool.",
    );
    if let Some(remark) = Drawn::of(story).remark() {
        out.raw(" <b>").own(remark).raw(": <a href=\"#").own(story.id("time"));
        out.raw("\">the table of all that happened</a> has them.</b>");
    }
    out.raw("</figcaption></figure>\n");
}

fn times(story: &Cast<'_>, out: &mut Markup) {
    match timeline::draw(story) {
        Some(timeline) => {
            out.raw("<figure><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Timeline\">")
                .put(&timeline.drawing);
            out.raw("</div><figcaption>Filled: a model is asked. Light: a tool runs. Outlined: a delegate or a person is waited for. ");
            out.raw("An upright line is a turn that passes. Where nobody was at work for long, the axis is broken.");
            if timeline.left_out > 0 {
                let count = counted(timeline.left_out as u64, "more is", "more are");
                out.raw(" <b>").own(count).raw(" not drawn: the table below has them all.</b>");
            }
            out.raw("</figcaption></figure>\n");
        }
        None => {
            out.raw("<p class=\"muted\">All of it happened within one tick of the clock, so there is nothing to draw.</p>\n");
        }
    }
    events::table(story, out);
}
