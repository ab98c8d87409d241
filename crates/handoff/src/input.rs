//! What comes into a run from outside, as data that can be written down.
//!
//! A run is a function of its inputs. Whoever keeps them, in order and each before it is acted upon, has kept the run:
//! [`Replay`](crate::Replay) plays them again, and comes to the step at which a crash has stopped it. That is why nothing
//! else has to be kept, and a step that was saved is no more than a shortcut.

use serde::{Deserialize, Serialize};
use sommelier_protocol::{ModelResponse, RawJson, ToolName};
use sommelier_runtime::{AgentName, ModelError, ToolOutput};

use crate::{Answer, Budget, Hop, Millis};

/// The version of the bodies that this crate writes.
pub const ENTRY_VERSION: u32 = 1;

/// One input: where in the tree it came in, when, and what it was.
///
/// ```
/// use sommelier_handoff::{Agent, Input, InputKind, Relay, Step};
/// use sommelier_runtime::script;
///
/// let relay = Relay::builder().agent(Agent::new("clerk", "You greet.")).entry("clerk").build()?;
/// let step = relay.start("c", "hello")?;
/// let reply = InputKind::ModelResponded { response: Box::new(script::say("Good morning.")) };
/// let input = Input { run: "c".into(), at: 1, what: reply };
/// let Step::Done(done) = step.feed(&relay, &input)? else { panic!() };
/// assert_eq!(done.answer().as_deref(), Some("Good morning."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The run that it came to: the conversation's name, or the path of a branch.
    pub run: Box<str>,
    /// When, by the clock of whoever drove the run.
    pub at: Millis,
    /// What came.
    pub what: InputKind,
}

/// What came in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum InputKind {
    /// A conversation begins; its first words come with the next input.
    Opened {
        /// The fingerprint of the definition that it begins with, in hexadecimal.
        definition: Box<str>,
        /// The agent that hears the user first.
        agent: AgentName,
    },
    /// The user spoke.
    TurnReceived {
        /// The caller's name for this turn, by which it is known when it is sent again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Box<str>>,
        /// The words.
        text: Box<str>,
        /// The caller's name for the trace in which the turn is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trace: Option<Box<str>>,
        /// Whether a request of the run may be out: then the words are kept for the next one, as a reply to this one does not
        /// know them.
        #[serde(default, skip_serializing_if = "is_false")]
        begun: bool,
    },
    /// The model replied.
    ModelResponded {
        /// The reply.
        response: Box<ModelResponse>,
    },
    /// The model did not reply.
    ModelFailed {
        /// Why.
        error: ModelError,
    },
    /// A person is to be asked about calls: whether they may run, or may run although their effect was done before.
    ApprovalAsked {
        /// The calls.
        calls: Vec<AskedCall>,
    },
    /// A person is to be asked about calls that were begun, and of which nobody knows whether they have had their effect.
    ToolInDoubt {
        /// Their places among the calls of the reply.
        places: Vec<usize>,
    },
    /// A tool has run and says that it worked.
    ToolCompleted {
        /// The place of its call among the calls of the reply.
        place: usize,
        /// What it said.
        output: ToolOutput,
    },
    /// A tool has run and says that it failed, or it was not allowed to run.
    ToolFailed {
        /// The place of its call among the calls of the reply.
        place: usize,
        /// What the model is told.
        output: ToolOutput,
    },
    /// No call of the reply is left that may run, since their tools have been switched off: each is told so.
    ToolsSkipped,
    /// The branches have ended, and whoever asked them goes on.
    Joined,
    /// A handoff was taken. This record is the transfer of control: before it the sender has the turn, after it the receiver.
    HandoffCommitted {
        /// The hop as it was taken, with its package.
        hop: Box<Hop>,
    },
    /// A handoff did not stand any more when it was to be taken, and was ruled on again.
    HandoffReconsidered,
    /// A person has answered a question.
    HumanAnswered {
        /// The question's id.
        id: Box<str>,
        /// The answer.
        answer: Answer,
        /// Who, as the caller names them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Box<str>>,
    },
    /// The run was called off.
    Cancelled {
        /// Why.
        reason: Box<str>,
        /// Whether the step may have been begun: then the effects of its tools are not known.
        begun: bool,
    },
    /// Somebody looked at the clock, and it began or was over.
    Deadline {
        /// Whether the step may have been begun.
        begun: bool,
    },
    /// A tool was switched on or off.
    ToolsSwitched {
        /// The agent.
        agent: AgentName,
        /// Its tool.
        tool: ToolName,
        /// Whether it may be used from now on.
        on: bool,
    },
    /// Code has put an artifact into the run.
    ArtifactPut {
        /// Its name.
        name: Box<str>,
        /// Its value.
        value: RawJson,
    },
    /// The run was given more than it had.
    MoreGiven {
        /// So much more.
        budget: Budget,
    },
    /// A run that had failed was tried again.
    Retried,
}

/// A call that a person is to be asked about before it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedCall {
    /// Its place among the calls of the reply.
    pub place: usize,
    /// What came of an earlier call that had the same effect, where that is why the person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Box<str>>,
}

impl InputKind {
    /// All kinds, as a journal names them.
    pub const NAMES: [&'static str; 19] = [
        "opened",
        "turn_received",
        "model_responded",
        "model_failed",
        "approval_asked",
        "tool_in_doubt",
        "tool_completed",
        "tool_failed",
        "tools_skipped",
        "joined",
        "handoff_committed",
        "handoff_reconsidered",
        "human_answered",
        "cancelled",
        "deadline",
        "tools_switched",
        "artifact_put",
        "more_given",
        "retried",
    ];

    /// An output of a tool, by what it says of itself.
    pub fn tool_output(place: usize, output: ToolOutput) -> Self {
        match output.error {
            None => Self::ToolCompleted { place, output },
            Some(_) => Self::ToolFailed { place, output },
        }
    }

    /// The kind, as a journal names it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Opened { .. } => "opened",
            Self::TurnReceived { .. } => "turn_received",
            Self::ModelResponded { .. } => "model_responded",
            Self::ModelFailed { .. } => "model_failed",
            Self::ApprovalAsked { .. } => "approval_asked",
            Self::ToolInDoubt { .. } => "tool_in_doubt",
            Self::ToolCompleted { .. } => "tool_completed",
            Self::ToolFailed { .. } => "tool_failed",
            Self::ToolsSkipped => "tools_skipped",
            Self::Joined => "joined",
            Self::HandoffCommitted { .. } => "handoff_committed",
            Self::HandoffReconsidered => "handoff_reconsidered",
            Self::HumanAnswered { .. } => "human_answered",
            Self::Cancelled { .. } => "cancelled",
            Self::Deadline { .. } => "deadline",
            Self::ToolsSwitched { .. } => "tools_switched",
            Self::ArtifactPut { .. } => "artifact_put",
            Self::MoreGiven { .. } => "more_given",
            Self::Retried => "retried",
        }
    }

    /// Whether the plan for the calls of the newest reply can follow from it.
    pub(crate) fn leads_on(&self) -> bool {
        matches!(
            self,
            Self::ModelResponded { .. }
                | Self::ToolCompleted { .. }
                | Self::ToolFailed { .. }
                | Self::ToolsSkipped
                | Self::Joined
                | Self::HumanAnswered { .. }
                | Self::HandoffReconsidered
        )
    }

    /// Whether it sets a run going that has ended. Nobody does that to a branch.
    pub(crate) fn begins_anew(&self) -> bool {
        matches!(self, Self::TurnReceived { .. } | Self::MoreGiven { .. } | Self::Retried)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Input {
    /// The input as JSON.
    ///
    /// # Errors
    /// Never for an input that this crate can make; the error is the writer's.
    pub fn body(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}
