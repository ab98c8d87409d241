//! What a run waits for a person to say.

use serde::{Deserialize, Serialize};
use sommelier_protocol::{RawJson, ToolName};
use sommelier_runtime::AgentName;

use crate::refusal::list;
use crate::{HandoffPackage, Millis, Refusal};

/// The reserved tool by which an agent asks a person; see [`RelayBuilder::may_ask_human`](crate::RelayBuilder::may_ask_human).
pub const ASK_HUMAN: &str = "ask_human";

/// Something that only a person can say, and that the run waits for.
///
/// Its id is derived: where in the tree it is asked, and the message, the model call and the call that it is about. So it
/// is the same when the step is repeated, and no two questions of a tree share one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The id.
    pub id: Box<str>,
    /// The agent that the question comes from.
    pub from: AgentName,
    /// Since when it is open.
    pub at: Millis,
    /// What is asked.
    pub asks: Asks,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Asks {
    /// May this tool run, with these arguments?
    Tool {
        /// The id of the call.
        call_id: Box<str>,
        /// The tool.
        tool: ToolName,
        /// The arguments as they will run.
        input: RawJson,
    },
    /// May this handoff be taken?
    Handoff {
        /// The id of the call.
        call_id: Box<str>,
        /// The receiver.
        to: AgentName,
        /// What would cross.
        package: Box<HandoffPackage>,
    },
    /// A question of the agent's own.
    Words {
        /// The id of the call.
        call_id: Box<str>,
        /// The question.
        question: Box<str>,
        /// The answers that are possible; any words when there are none.
        choices: Vec<Box<str>>,
    },
    /// A guard has refused a handoff, and a person is to say how to go on.
    Escalation {
        /// Why it was refused.
        refusal: Box<Refusal>,
    },
}

/// A question of an agent's own, as it was written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wording {
    pub(crate) question: Box<str>,
    pub(crate) choices: Vec<Box<str>>,
}

impl Asks {
    /// The answers that are possible, in words for people and programs: `approve`, `reject`, `say`, `take_over`.
    pub fn choices(&self) -> &'static [&'static str] {
        match self {
            Self::Tool { .. } | Self::Handoff { .. } => &["approve", "reject"],
            Self::Words { .. } => &["say"],
            Self::Escalation { .. } => &["reject", "take_over"],
        }
    }

    /// The question in a word, for spans and reports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Tool { .. } => "tool",
            Self::Handoff { .. } => "handoff",
            Self::Words { .. } => "words",
            Self::Escalation { .. } => "escalation",
        }
    }
}

/// What a person says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// Yes: the tool runs, the handoff is taken.
    Approve,
    /// No. A tool does not run, a handoff stays refused; the agent's model is told why and goes on.
    Reject {
        /// Why, in words for the model.
        reason: Box<str>,
    },
    /// The answer to an agent's own question.
    Say {
        /// The words.
        text: Box<str>,
    },
    /// The person goes on in the agents' place: the run ends.
    TakeOver {
        /// Who, or why, for the record.
        note: Box<str>,
    },
}

impl Answer {
    /// The answer in a word: one of [`Asks::choices`].
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject { .. } => "reject",
            Self::Say { .. } => "say",
            Self::TakeOver { .. } => "take_over",
        }
    }
}

/// An answer on record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The question that was answered.
    pub question: Question,
    /// The answer.
    pub answer: Answer,
    /// When.
    pub at: Millis,
}

/// An answer that cannot be taken: the fault of whoever gave it. The run is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// No question has this id.
    #[error("no question {id:?} is open; open: {}", list(open))]
    Unknown {
        /// The id.
        id: String,
        /// The questions that are open.
        open: Vec<String>,
    },
    /// The question has been answered.
    #[error("{id} has been answered before, with {}", answer.as_str())]
    Decided {
        /// The id.
        id: String,
        /// The answer that was taken.
        answer: Answer,
    },
    /// The time of the run that asks is over. It waits on with the answer unused, and can be given
    /// [more time](crate::Step::with_more).
    #[error("the time for {id} was over at {until}, and it is {at}")]
    TooLate {
        /// The id.
        id: String,
        /// When the time was over.
        until: Millis,
        /// When the answer came.
        at: Millis,
    },
    /// The question does not have this answer.
    #[error("{answer:?} is no answer to {id}; possible: {}", list(choices))]
    NoChoice {
        /// The id.
        id: String,
        /// The answer.
        answer: String,
        /// What would be one.
        choices: Vec<String>,
    },
}
