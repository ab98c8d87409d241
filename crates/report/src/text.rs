//! A story for a terminal.

use std::fmt::Write as _;

use crate::asking::asking;
use crate::conversations::MOST_ENDS;
use crate::shown::{LONGEST, bytes, counted, cut, duration, in_line, moment, offset, short, visible};
use crate::story::{Event, Finding, Hop, Passage, Passes, Source, Spent, Story, What};
use crate::who::Cast;

/// Branches that lie deeper are indented no further, lest what nests for long fills a terminal with blanks.
const DEEPEST: usize = 16;

/// The story in lines that any terminal shows: nothing in them moves the cursor or begins a line of its own.
///
/// ```
/// use sommelier_report::{Story, text};
///
/// let story = Story { title: "guest-7".into(), ..Story::default() };
/// assert!(text::document(&story).starts_with("guest-7"));
/// ```
pub fn document(story: &Story) -> String {
    let (cast, mut out) = (Cast::of(story), String::new());
    head(story, &mut out);
    if story.conversation_count() > 1 {
        budget(story, &mut out);
        routes(story, &mut out);
        let all = story.conversations();
        for (one, number) in all.iter().zip(1_usize..) {
            let _ = write!(out, "\n── conversation {number} of {} ──\n", all.len());
            out.push_str(&document(one));
        }
        return out;
    }
    events(&cast, &mut out);
    hops(story, &mut out);
    refusals(story, &mut out);
    budget(story, &mut out);
    branches(&cast, &mut out);
    routes(story, &mut out);
    out
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

fn head(story: &Story, out: &mut String) {
    let source = match story.source {
        Source::Journal { records, .. } => counted(records as u64, "record", "records"),
        Source::Trace => "a trace".to_owned(),
    };
    let (crossed, behind) = story.bytes();
    let _ = writeln!(out, "{}  {}", in_line(&story.title), came_to(story));
    if story.began_us > 0 {
        let _ = writeln!(out, "began {}, {}, from {source}", moment(story.began_us), how_long(story));
    }
    let hops = counted(story.taken().count() as u64, "handoff", "handoffs");
    let refused = story.refusals().len();
    let _ =
        writeln!(out, "{hops}: {} crossed, {} left behind; {refused} refused", bytes(crossed), bytes(behind));
    if let Some(why) = &story.outcome.why {
        let _ = writeln!(out, "{}", in_line(why));
    }
    for remark in &story.remarks {
        let _ = writeln!(out, "note: {}", in_line(remark));
    }
    if let Some(answer) = &story.outcome.answer {
        let (answer, left_out) = cut(answer, LONGEST);
        let _ = writeln!(out, "\n  {}", visible(answer).trim_end().replace('\n', "\n  "));
        if left_out > 0 {
            let _ = writeln!(out, "  … {} left out", bytes(left_out as u64));
        }
    }
}

fn events(story: &Cast<'_>, out: &mut String) {
    if story.events.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nevents, each when it was over, with how long it took");
    for event in &story.events {
        let at = offset(event.at_us.saturating_sub(story.began_us));
        let took =
            event.took_us.filter(|us| *us > 0).map(|us| format!(" ({})", duration(us))).unwrap_or_default();
        let depth = story.depth(event.run).min(DEEPEST);
        let _ = writeln!(out, "{at:>14}  {}{}{took}", "  ".repeat(depth), in_line(&said(story, event)));
    }
}

/// The name of somebody, as lines have it.
pub(crate) fn named(story: &Story, place: usize) -> String {
    short(story.part(place), 60)
}

/// What happened, in a line.
pub(crate) fn said(story: &Story, event: &Event) -> String {
    let part = |place: usize| named(story, place);
    match &event.what {
        What::Said { from, to, text } => {
            let text = text.as_deref().map(|text| format!(": “{}”", short(text, 200))).unwrap_or_default();
            format!("{} → {}{text}", part(*from), part(*to))
        }
        What::Replied { agent, model, calls, input_tokens, output_tokens, error, .. } => {
            let model = model.as_deref().map(|model| format!(" {}", short(model, 60))).unwrap_or_default();
            let calls = match calls.as_slice() {
                [] => String::new(),
                calls => format!(" calls {}", short(&calls.join(", "), 200)),
            };
            let tokens = match (input_tokens, output_tokens) {
                (Some(read), Some(written)) if read.saturating_add(*written) > 0 => {
                    format!(", {read} → {written} tokens")
                }
                _ => String::new(),
            };
            let error =
                error.as_deref().map(|error| format!(" failed: {}", short(error, 200))).unwrap_or_default();
            format!("{}: model{model}{calls}{tokens}{error}", part(*agent))
        }
        What::Ran { agent, tool, error, approval, .. } => {
            let approval =
                approval.as_deref().map(|word| format!(", {}", word.replace('_', " "))).unwrap_or_default();
            let error = error.as_deref().map(|error| format!(", {}", short(error, 80))).unwrap_or_default();
            format!("{}: tool {}{approval}{error}", part(*agent), short(tool, 80))
        }
        What::HandedOver { hop } => story.hops.get(*hop).map(|hop| hop_line(story, hop)).unwrap_or_default(),
        What::CameBack { from, to } => format!("{} → {}: the turn comes back", part(*from), part(*to)),
        What::Asked { question } => story.questions.get(*question).map_or_else(String::new, |question| {
            let to = question.to.map_or_else(String::new, |to| format!(" → {}", part(to)));
            let refused = match &question.outcome {
                Finding::Refused { code, .. } => format!(", refused: {}", short(code, 60)),
                Finding::Open | Finding::Returned { .. } => String::new(),
            };
            let crossed = bytes(question.package_bytes);
            format!("{}{to}: asks by {}, {crossed}{refused}", part(question.from), short(&question.tool, 80))
        }),
        What::Returned { question, by } => {
            story.questions.get(*question).map_or_else(String::new, |question| {
                let to = part(*by);
                let status = match &question.outcome {
                    Finding::Returned { status, steps, .. } => {
                        format!("{status}, {}", counted(*steps, "model call", "model calls"))
                    }
                    Finding::Open | Finding::Refused { .. } => "returned".to_owned(),
                };
                format!("{to} → {}: {status}", part(question.from))
            })
        }
        What::Waited { ask } => story.asks.get(*ask).map_or_else(String::new, |ask| {
            format!(
                "{} → {}: {} {}",
                part(ask.from),
                part(ask.person),
                asking(&ask.asks),
                short(&ask.about, 200)
            )
        }),
        What::Decided { ask } => story.asks.get(*ask).map_or_else(String::new, |ask| {
            let Some(answer) = &ask.answer else { return String::new() };
            let text =
                answer.text.as_deref().map(|text| format!(": {}", short(text, 200))).unwrap_or_default();
            format!("{} → {}: {}{text}", part(ask.person), part(ask.from), answer.word.replace('_', " "))
        }),
        What::Noted { agent, note, detail } => {
            let agent = agent.map(|agent| format!("{}: ", part(agent))).unwrap_or_default();
            let detail =
                detail.as_deref().map(|detail| format!(": {}", short(detail, 200))).unwrap_or_default();
            format!("{agent}{}{detail}", short(note, 200))
        }
        What::Ended { agent, end, text } => {
            let agent = agent.map(part).unwrap_or_default();
            match text {
                Some(text) => format!("{agent} → user: “{}”", short(text, 200)),
                None => format!("{agent}: ended as {}", end.replace('_', " ")),
            }
        }
    }
}

fn hop_line(story: &Story, hop: &Hop) -> String {
    let (from, to) = (short(story.part(hop.from), 60), short(&hop.to_name, 60));
    let (crossed, behind) = (bytes(hop.package_bytes), bytes(hop.history_bytes));
    match &hop.outcome {
        Passage::Taken => {
            let number = hop.number.map(|number| format!(" {number}")).unwrap_or_default();
            format!("{from} ⇒ {to}: handoff{number}, {crossed} cross, {behind} left behind")
        }
        Passage::TakenOut => format!("{from} ⇒ {to}: handoff taken out, {crossed}, {behind} left behind"),
        Passage::NotTaken { why } => {
            format!("{from} ⇏ {to}: handoff not taken, {}", short(why, 120).replace('_', " "))
        }
        Passage::Refused { guard, detail, code } => {
            let why = detail.as_deref().or(code.as_deref()).unwrap_or_default();
            format!("{from} ⇏ {to}: handoff refused by {}: {}", short(guard, 60), short(why, 300))
        }
    }
}

fn hops(story: &Story, out: &mut String) {
    if !story.hops.iter().any(|hop| hop.package.is_some() || !hop.left_behind.is_empty()) {
        return;
    }
    let _ = writeln!(out, "\nwhat crossed");
    for hop in &story.hops {
        let _ = writeln!(out, "  {}", hop_line(story, hop));
        let is_taken = matches!(hop.outcome, Passage::Taken | Passage::TakenOut);
        let (crossed, behind) = if is_taken { ("crossed:", "behind:") } else { ("package:", "kept:") };
        if let Some(package) = &hop.package {
            let _ = writeln!(out, "    {crossed} {}", short(package.get(), 1_000));
        }
        for piece in &hop.left_behind {
            let _ = writeln!(out, "    {behind:<8} {:>9}  {}", bytes(piece.bytes), short(&piece.what, 200));
        }
        for item in &hop.open_items {
            let _ = writeln!(out, "    open:    {}", short(item, 200));
        }
    }
}

fn refusals(story: &Story, out: &mut String) {
    let refusals = story.refusals();
    if refusals.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nrefused");
    for it in refusals {
        let why = match (it.what, it.detail) {
            (_, "") => it.code.to_owned(),
            // No guard says of a question what kind of refusal it was.
            ("question", detail) => format!("{}: {detail}", it.code),
            (_, detail) => detail.to_owned(),
        };
        let by =
            if it.guard.is_empty() { String::new() } else { format!(", refused by {}", short(it.guard, 60)) };
        let (from, to, why) = (short(it.from, 60), short(it.to, 60), short(&why, 300));
        let _ = match it.what {
            "tool" => writeln!(out, "  tool {to} of {from}{by}: {why}"),
            "question" => writeln!(out, "  question of {from} by {to}{by}: {why}"),
            what => writeln!(out, "  {what} of {from} to {to}{by}: {why}"),
        };
    }
}

fn budget(story: &Story, out: &mut String) {
    if story.budget.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nused {}", since(story.source));
    for spent in &story.budget {
        let _ = writeln!(out, "  {}", used(spent));
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
fn branches(story: &Cast<'_>, out: &mut String) {
    let mut is_first = true;
    for (question, run) in story.branches() {
        let Some(budget) = story.runs.get(run).map(|run| &run.budget).filter(|budget| !budget.is_empty())
        else {
            continue;
        };
        if std::mem::take(&mut is_first) {
            let _ = writeln!(out, "\nused by branches");
        }
        let used: Vec<String> = budget.iter().map(used).collect();
        let blank = "  ".repeat(story.depth(run).min(DEEPEST));
        let who = short(story.part(question.to.unwrap_or(usize::MAX)), 60);
        let _ = writeln!(out, "{blank}{who}, by {}: {}", short(&question.tool, 80), used.join(", "));
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

fn routes(story: &Story, out: &mut String) {
    for relay in story.relays.iter().filter(|relay| !relay.ways.is_empty()) {
        let place =
            if relay.place.is_empty() { String::new() } else { format!(" behind {}", in_line(&relay.place)) };
        let _ = writeln!(out, "\nways{place}");
        for way in &relay.ways {
            let arrow = if way.passes == Passes::Turn { "⇒" } else { "⇄" };
            let notes = if way.notes.is_empty() {
                String::new()
            } else {
                format!("  [{}]", in_line(&way.notes.join(", ")))
            };
            let _ = writeln!(
                out,
                "  {} {arrow} {}  {}{}",
                short(&way.from, 60),
                short(&way.to, 60),
                gone(way),
                notes
            );
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
