//! The sequence diagram as Mermaid's text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::asking::asking;
use crate::drawn::{Drawn, Step, gap};
use crate::shown::{bytes, counted, short};
use crate::story::{Finding, Kind, Passage, Story, What};
use crate::who::Cast;

/// The longest text of a message, in columns.
const LONGEST: usize = 120;
/// The longest name.
const LONGEST_NAME: usize = 60;
/// Mermaid draws no text of more than 50,000 characters unless it is set to; what comes behind so many is left out.
const MOST: usize = 49_000;

/// The sequence as a Mermaid diagram, for a document that draws such. Nothing that a run says is taken for Mermaid's own
/// words: whatever is not a letter, a digit or plain punctuation stands as its number. Of several conversations it has all on
/// the same lines, so draw each of [`Story::conversations`] by itself.
///
/// ```
/// use sommelier_report::{Story, mermaid};
///
/// assert_eq!(mermaid::document(&Story::default()), "sequenceDiagram\n");
/// ```
pub fn document(story: &Story) -> String {
    let cast = Cast::of(story);
    let drawn = Drawn::of(&cast);
    let mut out = Diagram {
        cast: &cast,
        user: drawn.lanes.first().copied().unwrap_or_default(),
        text: String::new(),
        working: BTreeMap::new(),
    };
    out.text.push_str("sequenceDiagram\n");
    for place in &drawn.lanes {
        let Some(part) = story.parts.get(*place) else { continue };
        let kind = if matches!(part.kind, Kind::User | Kind::Person) { "actor" } else { "participant" };
        let _ = writeln!(out.text, "    {kind} P{place} as {}", safe(&part.name, LONGEST_NAME));
    }
    let mut left_out = 0;
    for step in &drawn.steps {
        let count = match step {
            Step::Event(_) => 1,
            Step::Gap(count) => *count,
        };
        if left_out > 0 || !out.step(step) {
            left_out += count;
        }
    }
    if left_out > 0 {
        out.over(out.user, &format!("{}, Mermaid draws no more", gap(left_out)));
    }
    if let Some(remark) = drawn.remark() {
        out.over(out.user, &format!("{remark}; the text and the page tell all"));
    }
    out.text
}

/// A diagram that grows.
struct Diagram<'c> {
    cast: &'c Cast<'c>,
    user: usize,
    text: String,
    /// How many questions each who was asked is working on: Mermaid draws nothing where one is ended that has not begun.
    working: BTreeMap<usize, usize>,
}

impl Diagram<'_> {
    /// Whether a step could be written, as there was room for it.
    fn step(&mut self, step: &Step<'_>) -> bool {
        let line = match step {
            Step::Event(event) => line(self.cast, &event.what),
            Step::Gap(count) => Some(note(self.user, &gap(*count))),
        };
        let Some(line) = line else { return true };
        if self.text.len() + line.len() > MOST {
            return false;
        }
        let _ = writeln!(self.text, "    {line}");
        if let Step::Event(event) = step {
            self.work(&event.what);
        }
        true
    }

    /// Whose work on a question begins or ends.
    fn work(&mut self, what: &What) {
        let asked = |question: usize| self.cast.questions.get(question)?.to;
        match what {
            What::Asked { question } => {
                let Some(to) = asked(*question) else { return };
                *self.working.entry(to).or_default() += 1;
                let _ = writeln!(self.text, "    activate P{to}");
            }
            What::Returned { question, .. } => {
                let Some(to) = asked(*question) else { return };
                let Some(open) = self.working.get_mut(&to).filter(|open| **open > 0) else { return };
                *open -= 1;
                let _ = writeln!(self.text, "    deactivate P{to}");
            }
            _ => {}
        }
    }

    fn over(&mut self, part: usize, words: &str) {
        let _ = writeln!(self.text, "    {}", note(part, words));
    }
}

fn line(story: &Cast<'_>, what: &What) -> Option<String> {
    Some(match what {
        What::Said { from, to, text } => {
            message(*from, "->>", *to, &text.as_deref().map_or_else(|| "speaks".to_owned(), quoted))
        }
        What::Replied { agent, error, .. } => {
            note(*agent, &format!("the model failed: {}", error.as_deref()?))
        }
        What::Ran { agent, tool, error, .. } => {
            let error = error.as_deref().map(|error| format!(", {error}")).unwrap_or_default();
            message(*agent, "->>", *agent, &format!("{tool}{error}"))
        }
        What::HandedOver { hop } => {
            let hop = story.hops.get(*hop)?;
            match (&hop.outcome, hop.to) {
                (Passage::Taken, Some(to)) => {
                    let (crossed, behind) = (bytes(hop.package_bytes), bytes(hop.history_bytes));
                    message(hop.from, "->>", to, &format!("handoff, {crossed} cross, {behind} left behind"))
                }
                (Passage::Refused { guard, .. }, to) => {
                    let said = format!("handoff to {} refused by {guard}", hop.to_name);
                    match to.filter(|to| *to != hop.from) {
                        Some(to) => message(hop.from, "--x", to, &said),
                        None => note(hop.from, &said),
                    }
                }
                (Passage::NotTaken { why }, _) => {
                    note(hop.from, &format!("handoff to {} not taken, {why}", hop.to_name))
                }
                (Passage::Taken | Passage::TakenOut, _) => {
                    note(hop.from, &format!("handoff to {} taken out", hop.to_name))
                }
            }
        }
        What::CameBack { from, to } => message(*from, "-->>", *to, "the turn comes back"),
        What::Asked { question } => {
            let question = story.questions.get(*question)?;
            let asked = format!("{}, {}", question.tool, bytes(question.package_bytes));
            match (question.to, &question.outcome) {
                (Some(to), _) => message(question.from, "->>", to, &asked),
                (None, Finding::Refused { code, .. }) => {
                    note(question.from, &format!("{asked}, refused, {code}"))
                }
                (None, _) => note(question.from, &asked),
            }
        }
        What::Returned { question, by } => {
            let question = story.questions.get(*question)?;
            let told = match &question.outcome {
                Finding::Returned { status, steps, .. } => {
                    format!("{status}, {}", counted(*steps, "model call", "model calls"))
                }
                Finding::Open | Finding::Refused { .. } => "returned".to_owned(),
            };
            message(*by, "-->>", question.from, &told)
        }
        What::Waited { ask } => {
            let ask = story.asks.get(*ask)?;
            message(ask.from, "-)", ask.person, &format!("{} {}", asking(&ask.asks), ask.about))
        }
        What::Decided { ask } => {
            let ask = story.asks.get(*ask)?;
            let answer = ask.answer.as_ref()?;
            let text = answer.text.as_deref().map(|text| format!(" {text}")).unwrap_or_default();
            message(ask.person, "--)", ask.from, &format!("{}{text}", answer.word))
        }
        What::Noted { agent, note: words, detail } => {
            let detail = detail.as_deref().map(|detail| format!(": {detail}")).unwrap_or_default();
            note(agent.unwrap_or_default(), &format!("{words}{detail}"))
        }
        What::Ended { agent, end, text } => {
            let user = story.in_order().first().copied().unwrap_or_default();
            match (agent, text) {
                (Some(agent), Some(text)) => message(*agent, "->>", user, &quoted(text)),
                (Some(agent), None) if end == "answered" => message(*agent, "->>", user, "answers"),
                _ => note(agent.unwrap_or(user), &format!("ended as {end}")),
            }
        }
    })
}

fn message(from: usize, arrow: &str, to: usize, words: &str) -> String {
    format!("P{from}{arrow}P{to}: {}", safe(words, LONGEST))
}

fn note(over: usize, words: &str) -> String {
    format!("Note over P{over}: {}", safe(words, LONGEST))
}

fn quoted(text: &str) -> String {
    format!("“{text}”")
}

/// Words of a run as Mermaid shows them and reads nothing in them.
fn safe(words: &str, longest: usize) -> String {
    let mut safe = String::new();
    for c in short(words, longest).chars() {
        match c {
            c if c.is_alphanumeric() || c == ' ' || "_-.,()/→“”…·⏎".contains(c) => safe.push(c),
            c => {
                let _ = write!(safe, "#{};", u32::from(c));
            }
        }
    }
    // An empty one would end the line before it has begun.
    if safe.trim().is_empty() { "#160;".to_owned() } else { safe }
}
