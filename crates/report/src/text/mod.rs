//! A story for a terminal.

mod line;
mod pen;

pub(crate) use line::{Below, below, named, said};

use crate::conversations::MOST_ENDS;
use crate::shown::{
    LONGEST, bytes, counted, cut, duration, in_line, is_whole_in, moment, offset, short, visible,
};
use crate::story::{Event, Finding, Kind, Part, Passage, Passes, Source, Spent, Story, What, is_denied};
use crate::used::{ToolUse, tools};
use crate::who::Cast;
use line::{Long, handed_over, line};
use pen::{Colour, Pen};

/// Branches that lie deeper are indented no further, lest what nests for long fills a terminal with blanks.
const DEEPEST: usize = 16;

/// When an event happened stands in so many columns.
const TIMES: usize = 14;

/// Why something was refused stands in its line up to so many columns.
const WHY: usize = 300;

/// Of more pieces than this only those at both ends are told: a terminal folds nothing.
const MOST_PIECES: usize = 12;
const PIECES_AT_AN_END: usize = 4;

/// The story in lines that any terminal shows: nothing in them moves the cursor or begins a line of its own. It says what a
/// [page](crate::html::page) says, and a value is as long as there.
///
/// ```
/// use sommelier_report::{Story, text};
///
/// let story = Story { title: "guest-7".into(), ..Story::default() };
/// assert!(text::document(&story).starts_with("guest-7"));
/// ```
pub fn document(story: &Story) -> String {
    written(story, false)
}

/// The same with colours, for a terminal that is known to be one. Nothing is said by a colour alone.
///
/// ```
/// use sommelier_report::{Story, text};
///
/// let story = Story { title: "guest-7".into(), ..Story::default() };
/// assert!(text::coloured(&story).starts_with("\u{1b}[1mguest-7\u{1b}[0m"));
/// ```
pub fn coloured(story: &Story) -> String {
    written(story, true)
}

fn written(story: &Story, is_coloured: bool) -> String {
    let mut out = Pen::new(is_coloured);
    told(story, &mut out);
    out.into_text()
}

fn told(story: &Story, out: &mut Pen) {
    let cast = Cast::of(story);
    head(story, out);
    if story.conversation_count() > 1 {
        budget(story, out);
        routes(story, out);
        let all = story.conversations();
        for (one, number) in all.iter().zip(1_usize..) {
            out.heading(&format!("── conversation {number} of {} ──", all.len()));
            told(one, out);
        }
        return;
    }
    events(&cast, out);
    hops(story, out);
    refusals(story, out);
    budget(story, out);
    branches(&cast, out);
    by_whom(&cast, out);
    by_tools(story, out);
    routes(story, out);
}

/// How long it took, or since when a person is waited for.
pub(crate) fn how_long(story: &Story) -> String {
    match &*story.outcome.status {
        "waiting" => format!("waits for a person since {}", moment(story.ended_us)),
        _ => format!("took {}", duration(story.took_us())),
    }
}

/// What a story came to: of several conversations how many came to what.
fn came_to(story: &Story) -> String {
    let counts: Vec<String> = story
        .outcomes()
        .into_iter()
        .map(|(status, count)| format!("{count} {}", short(status, 60)))
        .collect();
    match counts.get(..MOST_ENDS) {
        _ if counts.is_empty() => in_line(&story.outcome.status),
        Some(first) if first.len() < counts.len() => format!("{}, …", first.join(", ")),
        _ => counts.join(", "),
    }
}

fn head(story: &Story, out: &mut Pen) {
    let source = match story.source {
        Source::Journal { records, .. } => counted(records as u64, "record", "records"),
        Source::Trace => "a trace".to_owned(),
    };
    let (crossed, behind) = story.bytes();
    out.painted(Some(Colour::Strong), &in_line(&story.title)).put(format_args!("  "));
    out.painted(of_end(&story.outcome.status), &came_to(story)).end();
    if story.began_us > 0 {
        out.put(format_args!("began {}, {}, from {source}", moment(story.began_us), how_long(story))).end();
    }
    let hops = counted(story.taken().count() as u64, "handoff", "handoffs");
    let (crossed, behind, refused) = (bytes(crossed), bytes(behind), story.refusals().len());
    out.put(format_args!("{hops}: {crossed} crossed, {behind} left behind; {refused} refused")).end();
    if let Some(why) = &story.outcome.why {
        out.put(format_args!("{}", in_line(why))).end();
    }
    for remark in &story.remarks {
        out.painted(Some(Colour::Yellow), "note:").put(format_args!(" {}", in_line(remark))).end();
    }
    if let Some(answer) = &story.outcome.answer {
        let (answer, left_out) = cut(answer, LONGEST);
        out.end().lines(2, visible(answer).trim_end());
        out.left_out(2, left_out);
    }
    if !story.done.is_empty() {
        out.end();
    }
    for done in &story.done {
        let (stands, tool) = (done.stands(), short(&done.tool, 80));
        out.value(2, &format!("{stands}: {tool}"), done.gave());
    }
}

fn events(story: &Cast<'_>, out: &mut Pen) {
    if story.events.is_empty() {
        return;
    }
    out.heading("events, each when it was over, with how long it took");
    for (place, event) in story.events.iter().enumerate() {
        let at = offset(event.at_us.saturating_sub(story.began_us));
        let blank = 2 * story.depth(event.run).min(DEEPEST);
        let mut said = in_line(&line(story, event, Long::Below));
        let mut more = below(story, place);
        // The answer of the story stands at the head of it.
        if matches!(&event.what, What::Ended { text, .. } if *text == story.outcome.answer)
            && !more.is_empty()
        {
            said.push_str(": the answer above");
            more.clear();
        }
        out.painted(Some(Colour::Grey), &format!("{at:>TIMES$}")).put(format_args!("  {:blank$}", ""));
        out.painted(of_event(story, event), &said);
        if let Some(took) = event.took_us.filter(|us| *us > 0) {
            out.painted(Some(Colour::Grey), &format!(" ({})", duration(took)));
        }
        out.end();
        for Below { name, text, .. } in more {
            out.value(TIMES + 4 + blank, &format!("{name}:"), text);
        }
    }
}

/// The colour of a word for how something ended.
fn of_end(status: &str) -> Option<Colour> {
    match status {
        "answered" | "done" => Some(Colour::Green),
        "failed" | "model_refused" => Some(Colour::Red),
        "several" => None,
        _ => Some(Colour::Yellow),
    }
}

/// The colours of the tree of spans: what was taken and done is green, what was refused yellow, what failed red.
fn of_event(story: &Story, event: &Event) -> Option<Colour> {
    match &event.what {
        What::Replied { error: Some(_), .. } => Some(Colour::Red),
        What::Ran { approval: Some(approval), .. } if is_denied(approval) => Some(Colour::Yellow),
        What::Ran { error: Some(_), .. } => Some(Colour::Red),
        What::HandedOver { hop } => match story.hops.get(*hop)?.outcome {
            Passage::Taken | Passage::TakenOut => Some(Colour::Green),
            Passage::Refused { .. } | Passage::NotTaken { .. } => Some(Colour::Yellow),
        },
        What::Asked { question } => {
            let is_refused = matches!(story.questions.get(*question)?.outcome, Finding::Refused { .. });
            is_refused.then_some(Colour::Yellow)
        }
        What::Returned { question, .. } => match &story.questions.get(*question)?.outcome {
            Finding::Returned { status, .. } => of_end(status),
            Finding::Open | Finding::Refused { .. } => None,
        },
        What::Ended { end, .. } => of_end(end),
        _ => None,
    }
}

fn hops(story: &Story, out: &mut Pen) {
    if !story.hops.iter().any(|hop| hop.package.is_some() || !hop.left_behind.is_empty()) {
        return;
    }
    out.heading("what crossed");
    for hop in &story.hops {
        out.put(format_args!("  {}", handed_over(story, hop))).end();
        let is_taken = matches!(hop.outcome, Passage::Taken | Passage::TakenOut);
        let (crossed, behind) = if is_taken { ("crossed:", "behind:") } else { ("package:", "kept:") };
        if let Some(package) = &hop.package {
            out.value(4, crossed, package.get());
        }
        let pieces = &hop.left_behind;
        let ends = if pieces.len() > MOST_PIECES { PIECES_AT_AN_END } else { pieces.len() };
        let (first, rest) = pieces.split_at(ends);
        let (between, last) = rest.split_at(rest.len().saturating_sub(ends));
        let mut piece = |bytes: &str, what: &str| {
            out.put(format_args!("    ")).painted(Some(Colour::Grey), &format!("{behind:<8}"));
            out.put(format_args!(" {bytes:>9}  {}", short(what, 200))).end();
        };
        first.iter().for_each(|it| piece(&bytes(it.bytes), &it.what));
        if !between.is_empty() {
            let sum = between.iter().map(|it| it.bytes).fold(0, u64::saturating_add);
            piece(&bytes(sum), &format!("{} pieces between", between.len()));
        }
        last.iter().for_each(|it| piece(&bytes(it.bytes), &it.what));
        for item in &hop.open_items {
            out.value(4, "open:   ", item);
        }
    }
}

fn refusals(story: &Story, out: &mut Pen) {
    let refusals = story.refusals();
    if refusals.is_empty() {
        return;
    }
    out.heading("refused");
    for it in refusals {
        let why = match (it.what, it.detail) {
            (_, "") => it.code.to_owned(),
            // No guard says of a question what kind of refusal it was.
            ("question", detail) => format!("{}: {detail}", it.code),
            (_, detail) => detail.to_owned(),
        };
        let by =
            if it.guard.is_empty() { String::new() } else { format!(", refused by {}", short(it.guard, 60)) };
        let (from, to) = (short(it.from, 60), short(it.to, 60));
        match it.what {
            "tool" => out.put(format_args!("  tool {to} of {from}{by}")),
            "question" => out.put(format_args!("  question of {from} by {to}{by}")),
            what => out.put(format_args!("  {what} of {from} to {to}{by}")),
        };
        if is_whole_in(&why, WHY) {
            out.put(format_args!(": {}", short(&why, WHY))).end();
        } else {
            out.end().value(4, "why:", &why);
        }
    }
}

fn budget(story: &Story, out: &mut Pen) {
    if story.budget.is_empty() {
        return;
    }
    out.heading(&format!("used {}", since(story.source)));
    for spent in &story.budget {
        out.put(format_args!("  {}", used(spent))).end();
    }
}

/// Since when what was used is counted.
pub(crate) fn since(source: Source) -> &'static str {
    match source {
        Source::Journal { .. } => "since the user last spoke",
        Source::Trace => "in all",
    }
}

/// What each branch has used of what it was given.
fn branches(story: &Cast<'_>, out: &mut Pen) {
    let mut is_first = true;
    for (question, run) in story.branches() {
        let Some(budget) = story.runs.get(run).map(|run| &run.budget).filter(|budget| !budget.is_empty())
        else {
            continue;
        };
        if std::mem::take(&mut is_first) {
            out.heading("used by branches");
        }
        let used: Vec<String> = budget.iter().map(used).collect();
        let blank = 2 * story.depth(run).min(DEEPEST);
        let (who, tool) =
            (short(story.part(question.to.unwrap_or(usize::MAX)), 60), short(&question.tool, 80));
        out.put(format_args!("{:blank$}{who}, by {tool}: {}", "", used.join(", "))).end();
    }
}

/// Who used how much of it.
fn by_whom(story: &Cast<'_>, out: &mut Pen) {
    let is_agent = |part: &Part| matches!(part.kind, Kind::Agent | Kind::Delegate);
    let agents: Vec<&Part> = story
        .in_order()
        .into_iter()
        .filter_map(|place| story.parts.get(place))
        .filter(|it| is_agent(it))
        .collect();
    if agents.is_empty() {
        return;
    }
    out.heading("used by whom");
    for Part { name, model_calls, tool_calls, input_tokens, output_tokens, .. } in agents {
        let calls = counted(*model_calls, "model call", "model calls");
        let runs = counted(*tool_calls, "run of a tool", "runs of tools");
        let tokens = match (input_tokens, output_tokens) {
            (0, 0) => String::new(),
            (read, written) => format!(", {read} → {written} tokens"),
        };
        out.put(format_args!("  {}: {calls}, {runs}{tokens}", short(name, 60))).end();
    }
}

fn by_tools(story: &Story, out: &mut Pen) {
    let tools = tools(story);
    if tools.is_empty() {
        return;
    }
    out.heading("with which tools");
    for (tool, ToolUse { runs, failed, took_us }) in tools {
        let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
        let (tool, runs) = (short(tool, 80), counted(runs, "run", "runs"));
        out.put(format_args!("  {tool}: {runs}{failed}, took {}", duration(took_us))).end();
    }
}

/// How much was used of what.
fn used(spent: &Spent) -> String {
    let measure = in_line(&spent.measure);
    // One is one model call, and handoff, by the cap: the plural is that of the first words.
    let one = match (spent.allowed.unwrap_or(spent.used), measure.split_once("s,")) {
        (1, Some((one, rest))) => Some(format!("{one},{rest}")),
        (1, None) => measure.strip_suffix('s').map(str::to_owned),
        _ => None,
    };
    format!("{} {}", share(spent), one.unwrap_or(measure))
}

/// How much was used, and of how much.
pub(crate) fn share(spent: &Spent) -> String {
    match spent.allowed {
        Some(allowed) => format!("{} of {allowed}", spent.used),
        None => spent.used.to_string(),
    }
}

fn routes(story: &Story, out: &mut Pen) {
    for relay in story.relays.iter().filter(|relay| !relay.ways.is_empty()) {
        let place =
            if relay.place.is_empty() { String::new() } else { format!(" behind {}", in_line(&relay.place)) };
        out.heading(&format!("ways{place}"));
        for way in &relay.ways {
            let arrow = if way.passes == Passes::Turn { "⇒" } else { "⇄" };
            let notes = if way.notes.is_empty() {
                String::new()
            } else {
                format!("  [{}]", in_line(&way.notes.join(", ")))
            };
            let (from, to) = (short(&way.from, 60), short(&way.to, 60));
            out.put(format_args!("  {from} {arrow} {to}  {}{notes}", gone(way))).end();
        }
    }
}

/// How often a way was gone.
pub(crate) fn gone(way: &crate::story::Way) -> String {
    let mut words = Vec::new();
    if way.taken > 0 {
        words.push(format!("taken {}×", way.taken));
    }
    if way.refused > 0 {
        words.push(format!("refused {}×", way.refused));
    }
    if way.is_route == Some(false) {
        words.push("no such route".to_owned());
    }
    if words.is_empty() { "not taken".to_owned() } else { words.join(", ") }
}
