//! How a run is printed.

use serde::Serialize;
use sommelier_handoff::{Done, HANDOFF_TO_SPECIALIST, HandoffPackage, Hop, HopOutcome};
use sommelier_protocol::{Message, Role, ToolUse};
use sommelier_runner::Report;
use std::io::{self, Write};

/// A run as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct RunRow {
    /// The answer; empty when there is none.
    pub answer: String,
    /// The agent that had the turn last.
    pub last_agent: String,
    /// How the run ended, in a word.
    pub end: &'static str,
    /// Who decided: a label such as `concept (claude-sonnet-5)`.
    pub model: String,
    /// The handoffs taken.
    pub hops: Vec<HopRow>,
    /// Model calls that brought a reply.
    pub model_calls: u32,
    /// Runs of tools.
    pub tool_calls: u32,
    /// The handoffs refused.
    pub refusals: Vec<RefusalRow>,
}

/// A handoff as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct HopRow {
    /// The sender.
    pub from: String,
    /// The receiver.
    pub to: String,
    /// What crossed.
    pub package: Option<HandoffPackage>,
    /// Its bytes.
    pub package_bytes: usize,
    /// Bytes of the sender's conversation that stayed behind.
    pub history_bytes: usize,
    /// `taken` or `refused`.
    pub outcome: &'static str,
}

/// A refused handoff as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct RefusalRow {
    /// The sender.
    pub from: String,
    /// The receiver, as it was asked for.
    pub to: String,
    /// The guard that refused.
    pub guard: &'static str,
    /// The refusal in a word.
    pub error: &'static str,
    /// The refusal in a sentence.
    pub detail: String,
}

impl RunRow {
    /// The row of a run whose decisions `model` made.
    pub fn of(report: &Report, model: &str) -> Self {
        let hops = report.done().run().trail().hops();
        Self {
            answer: report.answer().to_owned(),
            last_agent: report.last_agent().to_owned(),
            end: report.end().as_str(),
            model: model.to_owned(),
            hops: report.hops().map(HopRow::of).collect(),
            model_calls: report.model_calls(),
            tool_calls: report.tool_calls(),
            refusals: hops.iter().filter_map(RefusalRow::of).collect(),
        }
    }
}

impl HopRow {
    /// The row of a handoff that was asked for.
    pub fn of(hop: &Hop) -> Self {
        Self {
            from: hop.from.to_string(),
            to: hop.to.to_string(),
            package: hop.package.clone(),
            package_bytes: hop.package_bytes,
            history_bytes: hop.history_bytes,
            outcome: if hop.outcome.is_taken() { "taken" } else { "refused" },
        }
    }
}

impl RefusalRow {
    /// The row of a refused handoff; `None` for one that was taken.
    pub fn of(hop: &Hop) -> Option<Self> {
        let HopOutcome::Refused { refusal } = &hop.outcome else { return None };
        Some(Self {
            from: hop.from.to_string(),
            to: hop.to.to_string(),
            guard: refusal.guard().as_str(),
            error: refusal.code(),
            detail: refusal.to_string(),
        })
    }
}

/// Tells a run agent by agent: what each read, called, got and said, and what crossed between them.
pub fn narrate(done: &Done) -> String {
    let run = done.run();
    let mut text = String::new();
    let mut agents: Vec<&str> = run.trail().taken().map(|hop| hop.from.as_str()).collect();
    agents.push(run.active().as_str());
    for (place, agent) in agents.iter().enumerate() {
        if agents[..place].contains(agent) {
            continue;
        }
        let messages = run.idle(agent).map(|turn| turn.messages()).unwrap_or_default();
        text.push_str(&narrate_agent(agent, messages));
        for hop in run.trail().taken().filter(|hop| hop.from.as_str() == *agent) {
            let package = hop.package.as_ref().map(HandoffPackage::to_json).unwrap_or_default();
            line(&mut text, "", &format!("handoff: {} → {}", hop.from, hop.to));
            line(&mut text, "", &format!("what crosses, {} bytes: {package}", hop.package_bytes));
            line(&mut text, "", &format!("what stays behind: {} bytes of conversation", hop.history_bytes));
            text.push('\n');
        }
    }
    text
}

/// Tells one agent's conversation: what it read, called, got and said.
pub fn narrate_agent(agent: &str, messages: &[Message]) -> String {
    let calls = messages.iter().flat_map(Message::tool_uses);
    let handoffs: Vec<&str> =
        calls.filter(|call| call.name() == HANDOFF_TO_SPECIALIST).map(ToolUse::id).collect();
    let mut text = String::new();
    for message in messages {
        tell(&mut text, agent, message, &handoffs);
    }
    text
}

/// At most `most` characters of a text.
pub fn excerpt(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn tell(text: &mut String, agent: &str, message: &Message, handoffs: &[&str]) {
    let who = if message.role == Role::Assistant { agent } else { "reads" };
    for words in message.texts() {
        line(text, who, words);
    }
    for call in message.tool_uses() {
        line(text, who, &format!("calls {} {}", call.name(), call.input()));
    }
    for result in message.tool_results() {
        // No tool has run for a handoff: the loop answers it, so that the conversation stays legal.
        let how = match (handoffs.contains(&result.tool_use_id()), result.is_error()) {
            (_, true) => "error",
            (true, false) => "(the loop)",
            (false, false) => "result",
        };
        line(text, how, &result.words());
    }
}

fn line(text: &mut String, who: &str, words: &str) {
    for (n, part) in words.lines().enumerate() {
        let who = if n == 0 { who } else { "" };
        text.push_str(format!("{who:<14} {}", printable(part)).trim_end());
        text.push('\n');
    }
}

/// The words with what a terminal would obey shown instead: control characters but line ends, and those that
/// turn the direction of text.
pub fn printable(words: &str) -> String {
    let turns = |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let shown = |c: char| {
        if (c.is_control() && c != '\n') || turns(c) { c.escape_default().collect() } else { vec![c] }
    };
    words.chars().flat_map(shown).collect()
}

/// Prints a text and a line end. A reader that has gone away wants no more of it.
///
/// # Errors
/// What the writer says, such as that the disk is full.
pub fn print(text: &str) -> io::Result<()> {
    match writeln!(io::stdout(), "{text}") {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
