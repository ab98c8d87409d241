//! What a run waits for a person to say.

use serde::{Deserialize, Serialize};
use sommelier_protocol::{RawJson, ToolName, ToolUse};
use sommelier_runtime::AgentName;

use crate::refusal::list;
use crate::{HandoffPackage, Millis, Refusal};

/// The reserved tool by which an agent asks a person; see [`RelayBuilder::may_ask_human`](crate::RelayBuilder::may_ask_human).
pub const ASK_HUMAN: &str = "ask_human";

/// Something that only a person can say, and that the run waits for.
///
/// Its id is derived: where in the tree it is asked, and the message, the model call and the call that it is about; behind
/// that `/escalation`, `/in_doubt` or `/repeat` where it asks for this. So it is the same when the step is repeated, and no
/// two questions of a tree share one.
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
    /// This tool was begun, and nobody knows whether it had its effect: has it happened?
    InDoubt {
        /// The id of the call.
        call_id: Box<str>,
        /// The tool.
        tool: ToolName,
        /// The arguments with which it was begun.
        input: RawJson,
    },
    /// What this tool would do was done before, by another call: may it be done once more, with these arguments?
    Repeat {
        /// The id of the call.
        call_id: Box<str>,
        /// The tool.
        tool: ToolName,
        /// The arguments as they will run.
        input: RawJson,
        /// The earlier call, in words for people: what it gave, or its id.
        earlier: Box<str>,
    },
}

/// What a person is to say about a call of a tool: see [`CallTools::ask_about`](crate::CallTools::ask_about).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Inquiry {
    /// Whether it may run.
    Approval,
    /// Whether it has had its effect: it was begun, and nobody knows.
    InDoubt,
    /// Whether it may run although its effect was done before.
    Repeat {
        /// The earlier call, in words for people: what it gave, or its id.
        earlier: Box<str>,
    },
}

impl Inquiry {
    /// What is asked about this call; `None` where no tool can have its name.
    pub(crate) fn asks(&self, call: &ToolUse) -> Option<Asks> {
        let (call_id, tool, input) =
            (call.id().into(), ToolName::new(call.name()).ok()?, call.input().clone());
        Some(match self {
            Self::Approval => Asks::Tool { call_id, tool, input },
            Self::InDoubt => Asks::InDoubt { call_id, tool, input },
            Self::Repeat { earlier } => Asks::Repeat { call_id, tool, input, earlier: earlier.clone() },
        })
    }
}

/// What the ids of questions have behind the id of the call that they are about. One call may be asked about in several
/// ways, one after the other, and no two questions share an id.
pub(crate) mod suffix {
    /// Of what is asked first: an approval, words, a handoff.
    pub(crate) const NONE: &str = "";
    pub(crate) const ESCALATION: &str = "/escalation";
    pub(crate) const IN_DOUBT: &str = "/in_doubt";
    pub(crate) const REPEAT: &str = "/repeat";
}

impl Question {
    /// The id of the call that it is about; `None` where the id is not one of such a question.
    pub(crate) fn call(&self) -> Option<&str> {
        self.id.strip_suffix(self.asks.suffix())
    }
}

/// A question of an agent's own, as it was written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wording {
    pub(crate) question: Box<str>,
    pub(crate) choices: Vec<Box<str>>,
}

impl Asks {
    /// The answers that are possible, in words for people and programs: `approve`, `reject`, `say`, `take_over`,
    /// `happened`, `did_not_happen`, `undone`.
    pub fn choices(&self) -> &'static [&'static str] {
        match self {
            Self::Tool { .. } | Self::Handoff { .. } => &["approve", "reject"],
            Self::Words { .. } => &["say"],
            Self::Escalation { .. } => &["reject", "take_over"],
            Self::InDoubt { .. } => &["happened", "did_not_happen", "undone", "take_over"],
            Self::Repeat { .. } => &["approve", "reject", "take_over"],
        }
    }

    /// The question in a word, for spans and reports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Tool { .. } => "tool",
            Self::Handoff { .. } => "handoff",
            Self::Words { .. } => "words",
            Self::Escalation { .. } => "escalation",
            Self::InDoubt { .. } => "in_doubt",
            Self::Repeat { .. } => "repeat",
        }
    }

    /// What the id of the question has behind that of the call.
    pub(crate) fn suffix(&self) -> &'static str {
        match self {
            Self::Tool { .. } | Self::Handoff { .. } | Self::Words { .. } => suffix::NONE,
            Self::Escalation { .. } => suffix::ESCALATION,
            Self::InDoubt { .. } => suffix::IN_DOUBT,
            Self::Repeat { .. } => suffix::REPEAT,
        }
    }

    /// The id, the tool and the arguments of the call of a tool that it is about, if it is about one.
    pub(crate) fn of_tool(&self) -> Option<(&str, &ToolName, &RawJson)> {
        match self {
            Self::Tool { call_id, tool, input }
            | Self::InDoubt { call_id, tool, input }
            | Self::Repeat { call_id, tool, input, .. } => Some((call_id, tool, input)),
            Self::Handoff { .. } | Self::Words { .. } | Self::Escalation { .. } => None,
        }
    }

    /// What is wrong with this answer, if it is none, and what would be one.
    pub(crate) fn misfit<'a>(&self, answer: &'a Answer) -> Option<(&'a str, Vec<String>)> {
        let kinds = || self.choices().iter().map(ToString::to_string).collect();
        if !self.choices().contains(&answer.as_str()) {
            return Some((answer.as_str(), kinds()));
        }
        match (self, answer) {
            (Self::Words { choices, .. }, Answer::Say { text })
                if text.trim().is_empty() || !(choices.is_empty() || choices.contains(text)) =>
            {
                Some((text, choices.iter().map(ToString::to_string).collect()))
            }
            // It is all that the agent is told.
            (_, Answer::Happened { result }) if result.trim().is_empty() => Some((result, kinds())),
            _ => None,
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
    /// What was in doubt has happened.
    Happened {
        /// What the tool would have given: the result of its call.
        result: Box<str>,
    },
    /// What was in doubt has not happened: the model is told that it had no effect and may be called again.
    DidNotHappen,
    /// What was in doubt had happened, and the person has undone it.
    Undone,
}

impl Answer {
    /// The answer in a word: one of [`Asks::choices`].
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject { .. } => "reject",
            Self::Say { .. } => "say",
            Self::TakeOver { .. } => "take_over",
            Self::Happened { .. } => "happened",
            Self::DidNotHappen => "did_not_happen",
            Self::Undone => "undone",
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
