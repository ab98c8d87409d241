//! An event in a line, and what of it a line has no room for.

use crate::asking::asking;
use crate::shown::{bytes, counted, is_whole_in, short};
use crate::story::{Event, Finding, Hop, Passage, Story, What};

/// So many columns of a line are for somebody's words.
const ROOM: usize = 200;

/// What becomes of words that are longer than their room in a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Long {
    /// Their beginning stands in it.
    Cut,
    /// They are left out: they stand below.
    Below,
}

impl Long {
    /// Words behind a mark, as far as they stand in the line.
    fn words(self, mark: &str, words: Option<&str>) -> String {
        match words {
            Some(words) if self == Self::Cut || is_whole_in(words, ROOM) => {
                format!("{mark}{}", short(words, ROOM))
            }
            _ => String::new(),
        }
    }

    fn quoted(self, words: Option<&str>) -> String {
        match self.words("", words) {
            quoted if quoted.is_empty() => quoted,
            quoted => format!(": “{quoted}”"),
        }
    }
}

/// What of an event stands in full below its line.
pub(crate) struct Below<'s> {
    pub(crate) name: &'static str,
    pub(crate) text: &'s str,
    /// Whether it is data, and no words.
    pub(crate) is_data: bool,
}

/// The name of somebody, as lines have it.
pub(crate) fn named(story: &Story, place: usize) -> String {
    short(story.part(place), 60)
}

/// What happened, in a line.
pub(crate) fn said(story: &Story, event: &Event) -> String {
    line(story, event, Long::Cut)
}

/// What happened, in a line.
pub(super) fn line(story: &Story, event: &Event, long: Long) -> String {
    let part = |place: usize| named(story, place);
    match &event.what {
        What::Said { from, to, text } => {
            format!("{} → {}{}", part(*from), part(*to), long.quoted(text.as_deref()))
        }
        What::Replied { agent, model, calls, input_tokens, output_tokens, error, .. } => {
            let model = model.as_deref().map(|model| format!(" {}", short(model, 60))).unwrap_or_default();
            let calls = match calls.as_slice() {
                [] => String::new(),
                calls => format!(" calls {}", short(&calls.join(", "), ROOM)),
            };
            let tokens = match (input_tokens, output_tokens) {
                (Some(read), Some(written)) if read.saturating_add(*written) > 0 => {
                    format!(", {read} → {written} tokens")
                }
                _ => String::new(),
            };
            let failed = if error.is_some() { " failed" } else { "" };
            let error = long.words(": ", error.as_deref());
            format!("{}: model{model}{calls}{tokens}{failed}{error}", part(*agent))
        }
        What::Ran { agent, tool, error, approval, .. } => {
            let approval =
                approval.as_deref().map(|word| format!(", {}", word.replace('_', " "))).unwrap_or_default();
            let error = error.as_deref().map(|error| format!(", {}", short(error, 80))).unwrap_or_default();
            format!("{}: tool {}{approval}{error}", part(*agent), short(tool, 80))
        }
        What::HandedOver { hop } => {
            story.hops.get(*hop).map(|hop| handed_over(story, hop)).unwrap_or_default()
        }
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
                    Finding::Returned { status, steps, reason, .. } => {
                        let reason = long.words(": ", reason.as_deref());
                        format!("{status}, {}{reason}", counted(*steps, "model call", "model calls"))
                    }
                    Finding::Open | Finding::Refused { .. } => "returned".to_owned(),
                };
                format!("{to} → {}: {status}", part(question.from))
            })
        }
        What::Waited { ask } => story.asks.get(*ask).map_or_else(String::new, |ask| {
            let about = long.words(" ", Some(&ask.about));
            format!("{} → {}: {}{about}", part(ask.from), part(ask.person), asking(&ask.asks))
        }),
        What::Decided { ask } => story.asks.get(*ask).map_or_else(String::new, |ask| {
            let Some(answer) = &ask.answer else { return String::new() };
            let text = long.words(": ", answer.text.as_deref());
            format!("{} → {}: {}{text}", part(ask.person), part(ask.from), answer.word.replace('_', " "))
        }),
        What::Noted { agent, note, detail } => {
            let agent = agent.map(|agent| format!("{}: ", part(agent))).unwrap_or_default();
            format!("{agent}{}{}", short(note, ROOM), long.words(": ", detail.as_deref()))
        }
        What::Ended { agent, end, text } => {
            let agent = agent.map(part).unwrap_or_default();
            match text {
                Some(text) => format!("{agent} → user{}", long.quoted(Some(text))),
                None => format!("{agent}: ended as {}", end.replace('_', " ")),
            }
        }
    }
}

/// A handoff, in a line.
pub(super) fn handed_over(story: &Story, hop: &Hop) -> String {
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

/// What of the event at this place its line does not have in full: what was said, called and given. Packages are told with their
/// handoffs.
pub(crate) fn below<'s>(story: &'s Story, place: usize) -> Vec<Below<'s>> {
    let Some(event) = story.events.get(place) else { return Vec::new() };
    let is_some = |text: &&'s String| !text.is_empty();
    let words = |name, text: &'s Option<String>| {
        text.as_ref().filter(is_some).map(|text| Below { name, text, is_data: false })
    };
    let data = |name, text: &'s Option<String>| {
        text.as_ref().filter(is_some).map(|text| Below { name, text, is_data: true })
    };
    let is_long = |below: &Below<'s>| !is_whole_in(below.text, ROOM);
    match &event.what {
        What::Said { text, .. } | What::Ended { text, .. } => {
            words("words", text).filter(is_long).into_iter().collect()
        }
        What::Replied { text, error, .. } => {
            let said = words("words", text).filter(|_| !is_told_next(story, place, text.as_deref()));
            said.into_iter().chain(words("error", error).filter(is_long)).collect()
        }
        What::Ran { input, output, .. } => {
            data("arguments", input).into_iter().chain(data("result", output)).collect()
        }
        What::Returned { question, .. } => match story.questions.get(*question).map(|it| &it.outcome) {
            Some(Finding::Returned { finding, reason, .. }) => {
                let reason = words("reason", reason).filter(is_long);
                words("finding", finding).into_iter().chain(reason).collect()
            }
            _ => Vec::new(),
        },
        What::Asked { question } => match story.questions.get(*question).and_then(|it| it.package.as_ref()) {
            Some(package) => vec![Below { name: "package", text: package.get(), is_data: true }],
            None => Vec::new(),
        },
        What::Waited { ask } => {
            let Some(ask) = story.asks.get(*ask) else { return Vec::new() };
            let about = Below { name: "question", text: &ask.about, is_data: false };
            Some(about).filter(is_long).into_iter().chain(data("what was asked", &ask.detail)).collect()
        }
        What::Decided { ask } => {
            let answer = story.asks.get(*ask).and_then(|ask| ask.answer.as_ref());
            answer.and_then(|it| words("words", &it.text)).filter(is_long).into_iter().collect()
        }
        What::Noted { detail, .. } => data("more", detail).filter(is_long).into_iter().collect(),
        What::HandedOver { .. } | What::CameBack { .. } => Vec::new(),
    }
}

/// Whether the words of a reply are those of the event after it: an answer, or what a branch found.
fn is_told_next(story: &Story, place: usize, words: Option<&str>) -> bool {
    match story.events.get(place + 1).map(|event| &event.what) {
        Some(What::Ended { text, .. }) => text.as_deref() == words,
        Some(What::Returned { question, .. }) => {
            let outcome = story.questions.get(*question).map(|question| &question.outcome);
            matches!(outcome, Some(Finding::Returned { finding, .. }) if finding.as_deref() == words)
        }
        _ => false,
    }
}
