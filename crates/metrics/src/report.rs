//! What was counted.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names;
use crate::text::{duration, shown, steps};

/// How many hops are listed one by one; later ones are only counted, in [`Handoffs::hops_unlisted`].
pub const MAX_LISTED_HOPS: usize = 1_000;

/// How many delegations are listed one by one; later ones are only counted, in [`Delegations::links_unlisted`].
pub const MAX_LISTED_LINKS: usize = 1_000;

/// How many distinct keys a table holds; later ones are counted together under `(others)`.
///
/// A name of more than 120 characters is cut before it becomes a key.
pub const MAX_KEYS: usize = 256;

/// Counts of the spans that have closed so far.
///
/// All fields are plain and public; byte sizes are in bytes, times in microseconds (`_us`). `Display` is a small
/// aligned table without a final newline, safe for a terminal whatever the names are.
///
/// ```
/// use sommelier_metrics::{Handoffs, Hop, Report};
///
/// let report = Report {
///     handoffs: Handoffs {
///         asked: 1,
///         taken: 1,
///         bytes_crossing: 105,
///         bytes_left_behind: 433,
///         hops: vec![Hop {
///             number: 1,
///             from: "booking_agent".to_owned(),
///             to: "policy_agent".to_owned(),
///             package_bytes: 105,
///             history_bytes: 433,
///             transfer_us: 31,
///             first_chat_us: Some(1_250),
///         }],
///         ..Handoffs::default()
///     },
///     ..Report::default()
/// };
/// assert_eq!(
///     report.to_string(),
///     "workflows            0\n\
///      model calls          0\n\
///      tool runs            0\n\
///      handoffs             1  1 taken, 0 refused\n\
///      \x20 hop 1                 booking_agent → policy_agent 105 B (left behind 433 B), \
///      took 31 µs, first chat done after 1.2 ms\n\
///      bytes crossing     105\n\
///      bytes left behind  433"
/// );
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// User messages worked on.
    pub workflows: Workflows,
    /// Model calls and their tokens.
    pub model: ModelCalls,
    /// Tool runs and their errors. A handoff is no tool run, nor is a delegation.
    pub tools: ToolRuns,
    /// Handoffs, hops and what crossed.
    pub handoffs: Handoffs,
    /// Who asked whom while keeping the turn, and what came of it.
    #[serde(default)]
    pub delegations: Delegations,
    /// What was used up where a workflow or a branch ended for it, or a question was refused: counts by measure, such as
    /// `model_calls`, `tokens` or `millis`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub spent: BTreeMap<String, u64>,
}

impl Report {
    /// The same report with every time set to zero, so that two runs compare as whole values.
    ///
    /// A time that was never measured stays `None`. What depends on which thread was faster is taken out too: the links
    /// stand in the order of their ids, and [`Delegations::most_at_once`] is zero.
    ///
    /// ```
    /// # use sommelier_metrics::Report;
    /// assert_eq!(Report::default().without_times(), Report::default());
    /// ```
    #[must_use]
    pub fn without_times(mut self) -> Self {
        for hop in &mut self.handoffs.hops {
            hop.transfer_us = 0;
            hop.first_chat_us = hop.first_chat_us.map(|_| 0);
        }
        for link in &mut self.delegations.links {
            link.took_us = 0;
        }
        self.delegations.links.sort_by(|one, other| one.child_run.cmp(&other.child_run));
        self.delegations.most_at_once = 0;
        self
    }
}

/// User messages worked on: `invoke_workflow` spans.
///
/// ```
/// # use sommelier_metrics::Workflows;
/// let workflows = Workflows { closed: 2, conversations: 1, by_end: [("answered".to_owned(), 2)].into() };
/// assert_eq!(serde_json::to_string(&workflows)?, r#"{"closed":2,"conversations":1,"by_end":{"answered":2}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workflows {
    /// How many closed.
    pub closed: u64,
    /// How many of them began a conversation.
    #[serde(default)]
    pub conversations: u64,
    /// How many by their `end`; `(unset)` where none was recorded.
    pub by_end: BTreeMap<String, u64>,
}

/// Model calls: `chat` spans.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCalls {
    /// Of all agents.
    pub total: ModelUse,
    /// By the agent that called, from the span or the `invoke_agent` around it; else `(unset)`.
    pub by_agent: BTreeMap<String, ModelUse>,
}

/// Calls of a model and the tokens they used.
///
/// ```
/// # use sommelier_metrics::ModelUse;
/// let used = ModelUse { calls: 3, failed: 1, input_tokens: 2_410, output_tokens: 120 };
/// assert_eq!(used.to_string(), "2410 tokens in, 120 out, 1 failed");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUse {
    /// Calls made, with the failed ones.
    pub calls: u64,
    /// Calls that bore an `error.type`.
    pub failed: u64,
    /// Tokens of the requests.
    pub input_tokens: u64,
    /// Tokens of the responses.
    pub output_tokens: u64,
}

impl fmt::Display for ModelUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tokens in, {} out", self.input_tokens, self.output_tokens)?;
        if self.failed > 0 { write!(f, ", {} failed", self.failed) } else { Ok(()) }
    }
}

/// Tool runs: `execute_tool` spans.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRuns {
    /// Of all tools.
    pub total: ToolUse,
    /// By the name the model called, also where no such tool exists.
    pub by_tool: BTreeMap<String, ToolUse>,
    /// Failed runs by `error.type`, for example `slot_taken` or `unknown_tool`.
    pub errors: BTreeMap<String, u64>,
}

/// Runs of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    /// Runs, with the failed ones.
    pub runs: u64,
    /// Runs that bore an `error.type`.
    pub failed: u64,
}

/// Handoffs: `handoff` spans.
///
/// `asked` is `taken + refused`, plus those that closed with neither outcome: one cut off by a cancel, one for which the time
/// was over, or one that was taken out of its relay (`taken_out`). An attempt that could not be written down is none of them:
/// the same handoff is tried again, and is counted when something has become of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handoffs {
    /// Handoffs that an agent asked for.
    pub asked: u64,
    /// Hops: handoffs that were taken.
    pub taken: u64,
    /// Hops after the first since the user last spoke: whoever got the turn gave it away again.
    #[serde(default)]
    pub again: u64,
    /// Handoffs that a guard refused.
    pub refused: u64,
    /// Attempts at a handoff that could not be written down. A handoff may have several of them before it is taken.
    #[serde(default)]
    pub unwritten: u64,
    /// Bytes that crossed: the packages of the hops taken.
    pub bytes_crossing: u64,
    /// Bytes that stayed behind: the senders' transcripts at the hops taken.
    pub bytes_left_behind: u64,
    /// Bytes that did not cross and that the receivers may read: the artifacts that the packages of the hops taken have by
    /// reference.
    #[serde(default)]
    pub bytes_by_reference: u64,
    /// The first [`MAX_LISTED_HOPS`] hops, in the order in which their spans closed.
    pub hops: Vec<Hop>,
    /// Hops taken that are not listed.
    pub hops_unlisted: u64,
    /// Refused handoffs by guard, for example `ready` or `cap`.
    pub refusals: BTreeMap<String, u64>,
    /// What became of the constraints that crossed.
    #[serde(default)]
    pub constraints: Constraints,
}

/// What became of constraints, counted where the work under them ended: each once for each hop that it travelled on.
///
/// ```
/// # use sommelier_metrics::Constraints;
/// let constraints = Constraints { kept: 3, broken: 1, unchecked: 2, unknown: 0 };
/// assert_eq!(constraints.to_string(), "3 kept, 1 broken, 2 unchecked");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constraints {
    /// A check in code found it kept.
    pub kept: u64,
    /// A check found it broken.
    pub broken: u64,
    /// No check is there for it.
    pub unchecked: u64,
    /// Its check failed.
    pub unknown: u64,
}

impl Constraints {
    /// All of them.
    pub fn total(&self) -> u64 {
        // They are what spans claim.
        [self.broken, self.unchecked, self.unknown].into_iter().fold(self.kept, u64::saturating_add)
    }
}

impl fmt::Display for Constraints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kept, broken, unchecked, unknown } = self;
        let counts = [(kept, "kept"), (broken, "broken"), (unchecked, "unchecked"), (unknown, "unknown")];
        let told = counts.into_iter().filter(|(count, _)| **count > 0);
        f.write_str(&told.map(|(count, what)| format!("{count} {what}")).collect::<Vec<_>>().join(", "))
    }
}

/// One handoff that was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// Its number in its conversation, from 1; 0 if none was recorded.
    pub number: u64,
    /// The agent that handed off.
    pub from: String,
    /// The agent that took over.
    pub to: String,
    /// What crossed, in bytes.
    pub package_bytes: u64,
    /// The sender's transcript left behind, in bytes.
    pub history_bytes: u64,
    /// The life of the handoff's span, in microseconds.
    pub transfer_us: u64,
    /// From the opening of the handoff's span to the end of the receiver's first model call, in microseconds.
    ///
    /// `None` while there was no such call, or when the receiver's span follows from no handoff.
    pub first_chat_us: Option<u64>,
}

impl fmt::Display for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} → {} {} B (left behind {} B), took {}",
            shown(&self.from),
            shown(&self.to),
            self.package_bytes,
            self.history_bytes,
            duration(self.transfer_us)
        )?;
        match self.first_chat_us {
            Some(us) => write!(f, ", first chat done after {}", duration(us)),
            None => Ok(()),
        }
    }
}

/// Delegations: `delegate` spans.
///
/// What a branch did is counted where it belongs: its model calls in [`ModelCalls`], its tools in [`ToolRuns`], its hops
/// in [`Handoffs`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegations {
    /// Questions that were put to a delegate.
    pub asked: u64,
    /// How many by their `status`: `done`, `partial`, `failed`, `refused`; `(unset)` where none was recorded.
    pub by_status: BTreeMap<String, u64>,
    /// Refused questions by code, for example `not_yet` or `budget_spent`.
    pub refusals: BTreeMap<String, u64>,
    /// Bytes that crossed: the packages of the questions that were not refused.
    pub bytes_crossing: u64,
    /// Model calls in branches. Those of a branch within a branch are among those of the outer one, and count once.
    pub steps_used: u64,
    /// By the tool of the question.
    pub by_tool: BTreeMap<String, DelegateUse>,
    /// The most branches that were open at the same time under one user message. It depends on the threads.
    pub most_at_once: u64,
    /// How deep branches were nested: 1 where none was asked within another.
    pub deepest: u64,
    /// The first [`MAX_LISTED_LINKS`] delegations, in the order in which their spans closed, so those within a branch
    /// stand before it.
    pub links: Vec<Link>,
    /// Delegations that are not listed.
    pub links_unlisted: u64,
}

/// Questions put by one tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelegateUse {
    /// Questions, with the refused ones.
    pub asked: u64,
    /// Questions that bore an `error.type`: refused, or not answered in full.
    pub failed: u64,
    /// Bytes that crossed.
    pub bytes_crossing: u64,
    /// Model calls of its branches, those of their own branches included.
    pub steps_used: u64,
}

/// One delegation. Together the links are the tree of who asked whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The run that asked. An id of more than 120 characters is cut in its middle.
    pub parent_run: String,
    /// The branch; of a refused question, the one that would have been.
    pub child_run: String,
    /// The agent that asked.
    pub from: String,
    /// The tool by which it asked.
    pub tool: String,
    /// The agent that was asked; `None` when no branch was opened.
    pub to: Option<String>,
    /// `done`, `partial`, `failed` or `refused`.
    pub status: String,
    /// Why it is not done: how the branch ended, or the code of the refusal.
    pub error: Option<String>,
    /// The question and its context, in bytes.
    pub package_bytes: u64,
    /// Model calls of the branch, those of its own branches included.
    pub steps_used: u64,
    /// The life of the delegation's span, in microseconds.
    pub took_us: u64,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows();
        let labels = rows.iter().map(|row| row.label.chars().count()).max().unwrap_or_default();
        let counts = rows.iter().map(|row| row.count.len()).max().unwrap_or_default();
        for (n, Row { label, count, note }) in rows.iter().enumerate() {
            let line = format!("{label:labels$}  {count:>counts$}  {note}");
            write!(f, "{}{}", if n == 0 { "" } else { "\n" }, line.trim_end())?;
        }
        Ok(())
    }
}

struct Row {
    label: String,
    count: String,
    note: String,
}

impl Row {
    fn new(label: impl Into<String>, count: u64, note: impl Into<String>) -> Self {
        Self { label: label.into(), count: count.to_string(), note: note.into() }
    }
}

impl Report {
    fn rows(&self) -> Vec<Row> {
        let Self { workflows, model, tools, handoffs, delegations, spent } = self;
        let mut rows = vec![Row::new("workflows", workflows.closed, tally(&workflows.by_end))];

        let used = if model.total.calls > 0 { model.total.to_string() } else { String::new() };
        rows.push(Row::new("model calls", model.total.calls, used));
        for (agent, used) in &model.by_agent {
            rows.push(Row::new(format!("  {}", shown(agent)), used.calls, used.to_string()));
        }

        rows.push(Row::new("tool runs", tools.total.runs, failures(&tools.total, &tools.errors)));
        for (tool, used) in &tools.by_tool {
            let note = failures(used, &BTreeMap::new());
            rows.push(Row::new(format!("  {}", shown(tool)), used.runs, note));
        }

        let mut outcomes = match handoffs.asked {
            0 => String::new(),
            _ => {
                let outcomes = format!("{} taken, {} refused", handoffs.taken, handoffs.refused);
                reasons(outcomes, &handoffs.refusals)
            }
        };
        if handoffs.unwritten > 0 {
            let after = if outcomes.is_empty() { "" } else { "; " };
            outcomes.push_str(&format!("{after}{} not written down", handoffs.unwritten));
        }
        rows.push(Row::new("handoffs", handoffs.asked, outcomes));
        for hop in &handoffs.hops {
            let label = format!("  hop {}", hop.number);
            rows.push(Row { label, count: String::new(), note: hop.to_string() });
        }
        if handoffs.hops_unlisted > 0 {
            rows.push(Row::new("  hops not listed", handoffs.hops_unlisted, ""));
        }
        if handoffs.constraints.total() > 0 {
            let constraints = handoffs.constraints;
            rows.push(Row::new("constraints", constraints.total(), constraints.to_string()));
        }
        rows.push(Row::new("bytes crossing", handoffs.bytes_crossing, ""));
        rows.push(Row::new("bytes left behind", handoffs.bytes_left_behind, ""));
        if handoffs.bytes_by_reference > 0 {
            rows.push(Row::new("bytes by reference", handoffs.bytes_by_reference, ""));
        }
        rows.extend(delegations.rows());
        if !spent.is_empty() {
            rows.push(Row::new("budgets spent", spent.values().sum(), tally(spent)));
        }
        rows
    }
}

impl Delegations {
    /// Two rows; none when nobody was asked.
    fn rows(&self) -> Vec<Row> {
        if self.asked == 0 {
            return Vec::new();
        }
        let refused = self.by_status.get(names::REFUSED).copied().unwrap_or_default();
        let what = reasons(tally(&self.by_status), &self.refusals);
        let within = format!(
            "{} in all, asked with {} B; up to {} at once, {} deep",
            steps(self.steps_used),
            self.bytes_crossing,
            self.most_at_once,
            self.deepest
        );
        vec![Row::new("delegations", self.asked, what), Row::new("  branches", self.asked - refused, within)]
    }
}

fn failures(used: &ToolUse, errors: &BTreeMap<String, u64>) -> String {
    match used.failed {
        0 => String::new(),
        failed => reasons(format!("{failed} failed"), errors),
    }
}

fn reasons(what: String, counts: &BTreeMap<String, u64>) -> String {
    if counts.is_empty() { what } else { format!("{what}: {}", tally(counts)) }
}

fn tally(counts: &BTreeMap<String, u64>) -> String {
    let counts: Vec<String> = counts.iter().map(|(key, count)| format!("{} {count}", shown(key))).collect();
    counts.join(", ")
}
