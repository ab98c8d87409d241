//! What follows from inputs, as data that is written down beside them.
//!
//! An announcement changes nothing: it is what people, sweepers and auditors look for, and what a replay is compared with.
//! Some follow from an input, as the refusal of a handoff from a reply. Others are intents: what a driver is about to do
//! outside, written down before it does so.

use serde::{Deserialize, Serialize};
use sommelier_protocol::ToolName;
use sommelier_runtime::AgentName;

use crate::{Closing, Millis, Refusal};

/// One announcement, with the run that it tells of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Announced {
    /// The conversation's name, or the path of a branch.
    pub run: Box<str>,
    /// When it was told, in milliseconds since 1970. A replay does not compare it.
    pub at: Millis,
    /// What is told.
    pub what: Announcement,
}

/// What is told of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Announcement {
    /// An intent: a model is about to be asked.
    ModelRequested {
        /// The agent that asks.
        agent: AgentName,
        /// Which of the run's model calls it is, from 1.
        call: u32,
        /// How often it has been asked, this time included: it is asked again when nobody knows of a reply.
        attempt: u32,
        /// A fingerprint of what is asked, in hexadecimal: how many messages there are, their bytes, and the last of them.
        digest: Box<str>,
        /// Model calls that the run has left, this one included.
        left: u32,
        /// The hop by which the agent has just got the turn, when this is its first request since: the receiver wakes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        activates: Option<Box<str>>,
    },
    /// What is to be done with the calls of a reply, in order: a person, tools, delegates, a handoff.
    Planned {
        /// The calls that run, when nobody else has to be asked, as things stood with the reply: where a tool is switched
        /// on later, or more calls are given, more of them run, and the intent of each tells it.
        tools: Vec<PlannedCall>,
        /// The branches that are opened.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        branches: Vec<Box<str>>,
        /// The handoff that is to be taken, by its id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        handoff: Option<Box<str>>,
    },
    /// An intent: a tool is about to run. All of one reply are written down together, before the first of them starts.
    ToolIntended {
        /// The idempotency key under which its effect happens once.
        key: Box<str>,
        /// The tool.
        tool: ToolName,
        /// The place of the call among those of the reply.
        place: usize,
        /// A fingerprint of the arguments, in hexadecimal.
        digest: Box<str>,
        /// What can be known of its effect after a crash, as the tool declares it.
        effect: Box<str>,
        /// Which effect it is, by what was fixed before the model ran.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        business_key: Option<Box<str>>,
        /// Whether other conversations may have an effect of the same business key.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        per_conversation: bool,
        /// The key of the effect that it undoes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        undoes: Option<Box<str>>,
    },
    /// A handoff was refused; the sender goes on, or the run ends.
    HandoffRefused {
        /// The hop's id.
        hop: Box<str>,
        /// Whom it was for, as the model wrote it.
        to: Box<str>,
        /// Why.
        refusal: Box<Refusal>,
    },
    /// The receiver has replied for the first time: it has taken the work up.
    ReceiverAccepted {
        /// The hop's id.
        hop: Box<str>,
        /// How many constraints its package has.
        constraints: usize,
    },
    /// Work that was handed over has ended.
    ObligationClosed {
        /// The hop's id.
        hop: Box<str>,
        /// How.
        how: Closing,
        /// The open items that nobody has said to be done.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        open: Vec<Box<str>>,
    },
    /// Work that had ended goes on.
    ObligationReopened {
        /// The hop's id.
        hop: Box<str>,
    },
    /// A person has to answer.
    Escalated {
        /// The questions, each with the fingerprint that an answer is bound to.
        questions: Vec<Asked>,
    },
    /// The run has ended, until the user speaks again.
    Closed {
        /// The answer's id: the same however often it is sent.
        answer_id: Box<str>,
        /// How it ended, in a word.
        end: Box<str>,
        /// The answer, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Box<str>>,
    },
}

/// A call that is to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedCall {
    /// Its place among the calls of the reply.
    pub place: usize,
    /// The tool.
    pub tool: Box<str>,
    /// The id that the model gave it.
    pub call_id: Box<str>,
}

/// A question to a person, as it was shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The question's id.
    pub id: Box<str>,
    /// What is asked, in a word.
    pub asks: Box<str>,
    /// The fingerprint of the whole question, in hexadecimal.
    pub digest: Box<str>,
}

impl Announcement {
    /// All kinds, as a journal names them.
    pub const NAMES: [&'static str; 9] = [
        "model_requested",
        "planned",
        "tool_intended",
        "handoff_refused",
        "receiver_accepted",
        "obligation_closed",
        "obligation_reopened",
        "escalated",
        "closed",
    ];

    /// The kind, as a journal names it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ModelRequested { .. } => "model_requested",
            Self::Planned { .. } => "planned",
            Self::ToolIntended { .. } => "tool_intended",
            Self::HandoffRefused { .. } => "handoff_refused",
            Self::ReceiverAccepted { .. } => "receiver_accepted",
            Self::ObligationClosed { .. } => "obligation_closed",
            Self::ObligationReopened { .. } => "obligation_reopened",
            Self::Escalated { .. } => "escalated",
            Self::Closed { .. } => "closed",
        }
    }

    /// Whether it tells what a driver is about to do outside. Such a one is repeated when what it tells of is done again.
    pub fn is_intent(&self) -> bool {
        matches!(self, Self::ModelRequested { .. } | Self::ToolIntended { .. })
    }
}

impl Announced {
    /// The announcement as JSON.
    ///
    /// # Errors
    /// Never for one that this crate has made; the error is the writer's.
    pub fn body(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}
