//! The record of delegations: who asked whom, and what came of it.

use serde::{Deserialize, Serialize};
use sommelier_protocol::ToolName;
use sommelier_runtime::turn::Used;
use sommelier_runtime::{AgentName, ToolOutput, Turn};

use crate::contract::Stated;
use crate::effects::effects;
#[cfg(test)]
use crate::planted::{self, Bug};
use crate::{Closing, DelegateRefusal, Done, HandoffPackage, Millis, Relay, RunEnd, law};

/// One delegation, from the agent that asked to the branch that answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The id of the branch, the same whenever this step is repeated: conversation, message, model call, call. It is
    /// the name of the branch's own conversation, so what happens in the branch has ids that begin with it.
    pub id: Box<str>,
    /// The agent that asked.
    pub from: AgentName,
    /// The tool by which it asked.
    pub tool: ToolName,
    /// The id of its call.
    pub call_id: Box<str>,
    /// When it asked.
    pub at: Millis,
    /// The question and its context, when they could be read.
    pub package: Option<HandoffPackage>,
    /// Bytes of the package as compact JSON; 0 when it could not be read.
    pub package_bytes: usize,
    /// What came of it.
    pub outcome: LinkOutcome,
}

/// What came of a delegation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LinkOutcome {
    /// The branch has ended.
    Returned {
        /// When.
        at: Millis,
        /// What the asker was told.
        result: DelegateResult,
        /// The branch's run with everything in it. The asker has seen none of it.
        run: Box<Done>,
    },
    /// No branch was opened.
    Refused {
        /// Why.
        refusal: DelegateRefusal,
    },
}

impl Link {
    /// What the asker was told, when the branch has ended.
    pub fn result(&self) -> Option<&DelegateResult> {
        match &self.outcome {
            LinkOutcome::Returned { result, .. } => Some(result),
            LinkOutcome::Refused { .. } => None,
        }
    }

    /// What answers the asker's call.
    pub(crate) fn told(&self) -> ToolOutput {
        match &self.outcome {
            LinkOutcome::Returned { result, .. } => result.output(),
            // Short by itself: what a model wrote stands in it shortened.
            LinkOutcome::Refused { refusal } => refusal.told(),
        }
    }

    /// The branch's run, when there was one.
    pub fn run(&self) -> Option<&Done> {
        match &self.outcome {
            LinkOutcome::Returned { run, .. } => Some(run),
            LinkOutcome::Refused { .. } => None,
        }
    }
}

/// How far a delegate came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelegateStatus {
    /// It answered.
    Done,
    /// It was stopped by a limit or called off, and had said something until then; or it answered, and nobody has said
    /// that all open items are done which the one that answered had been handed.
    Partial,
    /// There is nothing from it.
    Failed,
}

impl DelegateStatus {
    /// How far a turn came that ended like this; `is_open` when items that it was handed are left.
    pub(crate) fn of(end: &RunEnd, turn: Option<&Turn>, is_open: bool) -> Self {
        match end {
            RunEnd::Answered if is_open => Self::Partial,
            RunEnd::Answered => Self::Done,
            RunEnd::Unresolved
            | RunEnd::TurnLimit { .. }
            | RunEnd::BudgetSpent { .. }
            | RunEnd::HopLimit { .. }
            | RunEnd::Truncated { .. }
            | RunEnd::Cancelled { .. }
                if turn.and_then(Turn::last_words).is_some() =>
            {
                Self::Partial
            }
            _ => Self::Failed,
        }
    }

    /// What it means for work that was handed over.
    pub(crate) fn closing(self) -> Closing {
        match self {
            Self::Done => Closing::Done,
            Self::Partial => Closing::Partial,
            Self::Failed => Closing::Failed,
        }
    }

    /// The same where something is still open: that is not done.
    pub(crate) fn with_open(self, is_open: bool) -> Self {
        if is_open && self == Self::Done { Self::Partial } else { self }
    }

    /// The status in a word, for spans and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Partial => "partial",
            Self::Failed => "failed",
        }
    }
}

/// Why an answer is not all that was wanted, in a word.
pub(crate) const ITEMS_OPEN: &str = "items_open";

/// What the agent that asked is told: all that comes back from a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegateResult {
    /// How far it came.
    pub status: DelegateStatus,
    /// What it says; `None` when there is nothing.
    pub finding: Option<Box<str>>,
    /// What it recommends to be done next, where its answer has a [contract](crate::Contract) to keep. Whoever asked
    /// decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_needed: Option<Box<str>>,
    /// The ids that bear the finding out, where its answer has a contract to keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Box<str>>,
    /// Why it is not done; `None` when it is. Where the turn comes back with open items, these stand here; of those in a
    /// branch only their number does, since what its agents handed each other is their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Box<str>>,
    /// Model calls of the branch, those of its own delegates included; where the turn comes back, those since it was
    /// handed over.
    pub steps_used: u32,
    /// The tools that need approval and ran in the branch, or since the turn was handed over, whatever came of it: what they did stays done. One of which
    /// nobody knows whether it did anything has ` (not known)` behind its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Box<str>>,
}

impl DelegateResult {
    /// What a branch in `relay` comes to that ended like this; the asker's results may have `most` bytes.
    pub(crate) fn of(done: &Done, relay: &Relay, most: usize) -> Self {
        let steps_used = done.run().cost().model_calls;
        let result = Self::of_end(done.end(), done.turn(), done.run().left_open(), steps_used);
        let is_stated = *done.end() == RunEnd::Answered && done.run().contract().is_some();
        let result = if done.run().contract().is_some() { result.under_contract(done) } else { result };
        let effects = effects(done.run(), relay);
        #[cfg(test)]
        let effects = planted::instead(Bug::EffectsNotTold, effects, Vec::new);
        Self { effects, ..result }.within(most, is_stated)
    }

    /// The same where the branch has a contract to keep: nothing of its words is told but what keeps it. Where it was
    /// stopped, it is not done, whatever its last words state.
    fn under_contract(self, done: &Done) -> Self {
        let is_answer = *done.end() == RunEnd::Answered;
        let stated = done.stated().filter(|_| self.status != DelegateStatus::Failed);
        let Some(Stated { status, finding, action_needed, evidence, reason }) = stated else {
            return Self { finding: None, ..self };
        };
        // Where it was stopped, or left items open, it is no more done than code says.
        let is_its_own = is_answer && status.with_open(self.status != DelegateStatus::Done) == status;
        let (status, reason) = if is_its_own { (status, reason) } else { (self.status, self.reason) };
        Self { status, finding, action_needed, evidence, reason, ..self }
    }

    /// What a turn comes to that ended like this with so many open items, after so many model calls.
    pub(crate) fn of_end(end: &RunEnd, turn: Option<&Turn>, open: usize, steps_used: u32) -> Self {
        let status = DelegateStatus::of(end, turn, open > 0);
        let finding = match status {
            DelegateStatus::Done => turn.and_then(Turn::answer),
            // What was said on the way is not the answer, and better than nothing.
            DelegateStatus::Partial => turn.and_then(Turn::last_words),
            DelegateStatus::Failed => None,
        };
        let finding = finding.map(|words| law::shown(&words).into());
        let why = || match end {
            RunEnd::Answered => format!("{ITEMS_OPEN}: {open}"),
            end => end.told(),
        };
        let reason = (status != DelegateStatus::Done).then(|| why().into());
        Self {
            status,
            finding,
            action_needed: None,
            evidence: Vec::new(),
            reason,
            steps_used,
            effects: Vec::new(),
        }
    }

    /// A finding is not cut: one that is larger than results may be is not told, and why is. Neither is anything else
    /// that the branch's model wrote.
    fn within(self, most: usize, is_stated: bool) -> Self {
        let bytes = serde_json::to_string(&self).map_or(0, |text| text.len());
        if bytes <= most || (self.finding.is_none() && !is_stated) {
            return self;
        }
        Self {
            status: DelegateStatus::Failed,
            finding: None,
            action_needed: None,
            evidence: Vec::new(),
            reason: Some(format!("result_too_large: {bytes} bytes, at most {most}").into()),
            ..self
        }
    }

    pub(crate) fn output(&self) -> ToolOutput {
        let text = serde_json::to_string(self).unwrap_or_default();
        match self.status {
            DelegateStatus::Done | DelegateStatus::Partial => ToolOutput::ok(text),
            DelegateStatus::Failed => ToolOutput::error("delegate_failed", text),
        }
    }
}

/// What was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Model calls that brought a reply.
    pub model_calls: u32,
    /// Runs of agents' own tools, those included that a gate denied or that failed.
    pub tool_calls: u32,
    /// Tokens read, cached ones included.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}

impl Cost {
    pub(crate) fn of(used: Used) -> Self {
        let Used { replies: model_calls, tool_calls, input_tokens, output_tokens } = used;
        Self { model_calls, tool_calls, input_tokens, output_tokens }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.model_calls = self.model_calls.saturating_add(other.model_calls);
        self.tool_calls = self.tool_calls.saturating_add(other.tool_calls);
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
    }
}
