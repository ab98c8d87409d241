//! How a run is printed.

use serde::Serialize;
use sommelier_handoff::{
    Done, HANDOFF_TO_SPECIALIST, HandoffPackage, Hop, HopOutcome, Link, LinkOutcome, Run,
};
use sommelier_protocol::sight::printable;
use sommelier_protocol::{Message, Role, ToolUse};
use sommelier_runner::Report;
use std::io::{self, Write};

use crate::wrap::{WIDTH, wrapped_to};

/// A run as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct RunRow {
    /// The answer; empty when there is none.
    pub answer: String,
    /// The agent that had the turn last.
    pub last_agent: String,
    /// How the run ended, in a word; `waiting` when it has not.
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
    /// Who asked whom, over the whole tree: what a branch asked stands after it. Left out when nobody was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkRow>,
}

/// A delegation as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct LinkRow {
    /// The run that asked, by the name of its conversation.
    pub parent_run: String,
    /// The branch that answered; of a refused question, the one that would have.
    pub child_run: String,
    /// The agent that asked.
    pub from: String,
    /// The tool by which it asked.
    pub tool: String,
    /// The question and its context, when they could be read.
    pub package: Option<HandoffPackage>,
    /// Their bytes.
    pub package_bytes: usize,
    /// `done`, `partial`, `failed` or `refused`.
    pub status: &'static str,
    /// What the asker was told; `None` when there is nothing.
    pub finding: Option<String>,
    /// What was recommended to be done next. Left out when nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_needed: Option<String>,
    /// The ids that bear the finding out. Left out when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// Why it is not done; `None` when it is.
    pub reason: Option<String>,
    /// Model calls of the branch, those of its own branches included.
    pub steps_used: u32,
    /// The handoffs taken in the branch. Left out when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hops: Vec<HopRow>,
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
        Self {
            answer: report.answer().to_owned(),
            end: report.end().as_str(),
            ..Self::so_far(report.done().run(), model)
        }
    }

    /// The row of a run that waits for a person: what there is of it so far. Branches that are open are not counted.
    pub fn so_far(run: &Run, model: &str) -> Self {
        Self {
            answer: String::new(),
            last_agent: run.active().to_string(),
            end: "waiting",
            model: model.to_owned(),
            hops: run.trail().taken().map(HopRow::of).collect(),
            model_calls: run.cost().model_calls,
            tool_calls: run.tool_calls_over_tree(),
            refusals: run.trail().hops().iter().filter_map(RefusalRow::of).collect(),
            links: LinkRow::all(run),
        }
    }
}

impl LinkRow {
    /// The rows of a run's delegations, and of all within its branches.
    pub fn all(run: &Run) -> Vec<Self> {
        let rows = run.links().iter().flat_map(|link| {
            let within = link.run().map(|done| Self::all(done.run())).unwrap_or_default();
            std::iter::once(Self::of(run, link)).chain(within)
        });
        rows.collect()
    }

    /// The row of a delegation of `run`.
    pub fn of(run: &Run, link: &Link) -> Self {
        let result = link.result();
        let (status, reason) = match &link.outcome {
            LinkOutcome::Returned { result, .. } => (result.status.as_str(), result.reason.clone()),
            LinkOutcome::Refused { refusal } => ("refused", Some(refusal.to_string().into())),
        };
        let hops = link.run().map(|done| done.run().trail().taken().map(HopRow::of).collect());
        Self {
            parent_run: run.conversation().to_owned(),
            child_run: link.id.to_string(),
            from: link.from.to_string(),
            tool: link.tool.to_string(),
            package: link.package.clone(),
            package_bytes: link.package_bytes,
            status,
            finding: result.and_then(|result| result.finding.clone()).map(Into::into),
            action_needed: result.and_then(|result| result.action_needed.clone()).map(Into::into),
            evidence: result.iter().flat_map(|result| &result.evidence).map(ToString::to_string).collect(),
            reason: reason.map(Into::into),
            steps_used: result.map_or(0, |result| result.steps_used),
            hops: hops.unwrap_or_default(),
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

/// Tells a run agent by agent: what each read, called, got and said, and what crossed between them. What a delegate did
/// stands before its finding, behind a bar, for the agent that asked has seen none of it.
pub fn narrate(done: &Done) -> String {
    narrated(done, WIDTH)
}

/// The same in lines of at most `width` columns.
fn narrated(done: &Done, width: usize) -> String {
    let run = done.run();
    let mut text = String::new();
    let mut agents: Vec<&str> = run.trail().taken().map(|hop| hop.from.as_str()).collect();
    agents.push(run.active().as_str());
    for (place, agent) in agents.iter().enumerate() {
        if agents[..place].contains(agent) {
            continue;
        }
        let messages = run.idle(agent).map(|turn| turn.messages()).unwrap_or_default();
        let links: Vec<&Link> = run.links().iter().filter(|link| link.from.as_str() == *agent).collect();
        text.push_str(&conversation(agent, messages, &links, width));
        for hop in run.trail().taken().filter(|hop| hop.from.as_str() == *agent) {
            let package = hop.package.as_ref().map(HandoffPackage::to_json).unwrap_or_default();
            line(&mut text, "", &format!("handoff: {} → {}", hop.from, hop.to), width);
            line(&mut text, "", &format!("what crosses, {} bytes: {package}", hop.package_bytes), width);
            line(
                &mut text,
                "",
                &format!("what stays behind: {} bytes of conversation", hop.history_bytes),
                width,
            );
            text.push('\n');
        }
    }
    text
}

/// Tells one agent's conversation: what it read, called, got and said.
pub fn narrate_agent(agent: &str, messages: &[Message]) -> String {
    conversation(agent, messages, &[], WIDTH)
}

/// The conversation of an agent that asked others as `links` tell.
fn conversation(agent: &str, messages: &[Message], links: &[&Link], width: usize) -> String {
    let calls = messages.iter().flat_map(Message::tool_uses);
    let handoffs: Vec<&str> =
        calls.filter(|call| call.name() == HANDOFF_TO_SPECIALIST).map(ToolUse::id).collect();
    let mut text = String::new();
    for message in messages {
        tell(&mut text, agent, message, &handoffs, links, width);
    }
    text
}

fn tell(text: &mut String, agent: &str, message: &Message, handoffs: &[&str], links: &[&Link], width: usize) {
    let who = if message.role == Role::Assistant { agent } else { "reads" };
    for result in message.tool_results() {
        if let Some(link) = links.iter().find(|link| *link.call_id == *result.tool_use_id()) {
            let how = delegated(text, link, width);
            line(text, how, &result.words(), width);
            continue;
        }
        // No tool has run for a handoff: the loop answers it, so that the conversation stays legal.
        let how = match (handoffs.contains(&result.tool_use_id()), result.is_error()) {
            (_, true) => "error",
            (true, false) => "(the loop)",
            (false, false) => "result",
        };
        line(text, how, &result.words(), width);
    }
    // Results stand before words in a message of the user, and words before calls in one of a model.
    for words in message.texts() {
        line(text, who, words, width);
    }
    for call in message.tool_uses() {
        line(text, who, &format!("calls {} {}", call.name(), call.input()), width);
    }
}

/// What stands before all that a delegate did.
const BAR: &str = "  │ ";

/// Tells what crossed to a delegate and what it did; gives what its answer is.
fn delegated(text: &mut String, link: &Link, width: usize) -> &'static str {
    let Some(branch) = link.run() else { return "refused" };
    let to = branch.run().trail().taken().next().map_or(branch.run().active(), |hop| &hop.from);
    let package = link.package.as_ref().map(HandoffPackage::to_json).unwrap_or_default();
    line(text, "", &format!("delegation: {} ⇄ {to}", link.from), width);
    line(text, "", &format!("what crosses, {} bytes: {package}", link.package_bytes), width);
    for told in narrated(branch, width.saturating_sub(BAR.chars().count())).lines() {
        text.push_str(format!("{BAR}{told}").trim_end());
        text.push('\n');
    }
    "finding"
}

fn line(text: &mut String, who: &str, words: &str, width: usize) {
    for (n, part) in words.lines().enumerate() {
        let who = if n == 0 { who } else { "" };
        text.push_str(wrapped_to(&format!("{who:<14} {}", printable(part)), 15, width).trim_end());
        text.push('\n');
    }
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
