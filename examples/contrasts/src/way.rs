//! The ways of doing the job, and what is measured of each.

use examples_kit::Measured;
use serde::Serialize;
use sommelier_protocol::Message;
use sommelier_runtime::{Model, ScriptedModel};
use std::error::Error;

use crate::job::{LEGAL, TENANT};

/// A way of doing the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    Command,
    Tasks,
    Speaker,
    Package,
}

/// What is measured of a run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Ran {
    pub(crate) way: Way,
    pub(crate) model_calls: usize,
    /// How often another agent got the turn because one of them decided so.
    pub(crate) hops: usize,
    /// Bytes of the messages of the receiver's first request, as JSON: all that it has to work on.
    pub(crate) crossing_bytes: usize,
    /// Bytes of what is handed over, as each way has it: the state, the outputs, the conversation, the package.
    pub(crate) given_bytes: usize,
    /// The same itself.
    pub(crate) given: String,
    /// How many messages the receiver's first request has.
    pub(crate) messages: usize,
    /// Whether the receiver could name the tenant, which support has read and did not write on.
    pub(crate) knows_tenant: bool,
    pub(crate) answer: String,
    /// Scripted turns that nothing asked for.
    pub(crate) unasked: usize,
    /// Who decided.
    #[serde(skip)]
    pub(crate) label: String,
    /// What the receiver saw.
    #[serde(rename = "receiver_saw")]
    pub(crate) saw: Vec<Message>,
}

impl Way {
    pub(crate) const ALL: [Self; 4] = [Self::Command, Self::Tasks, Self::Speaker, Self::Package];

    /// Its name in the table.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Command => "command (LangGraph)",
            Self::Tasks => "task context (CrewAI)",
            Self::Speaker => "speaker (AutoGen)",
            Self::Package => "package (ours)",
        }
    }

    /// What its `given_bytes` are the bytes of.
    pub(crate) const fn gives(self) -> &'static str {
        match self {
            Self::Command => "the state",
            Self::Tasks => "the output",
            Self::Speaker => "the conversation",
            Self::Package => "the package",
        }
    }

    /// Whether the receiver reads the sender's conversation.
    pub(crate) const fn carries_history(self) -> bool {
        matches!(self, Self::Command | Self::Speaker)
    }

    /// Does the job, with so many pages of notes before the contract.
    pub(crate) fn run(self, steps: u32) -> Result<Ran, Box<dyn Error>> {
        match self {
            Self::Command => crate::command::run(steps),
            Self::Tasks => crate::tasks::run(steps),
            Self::Speaker => crate::speaker::run(steps),
            Self::Package => crate::ours::run(steps),
        }
    }

    /// Measures a run: `work` gives the answer, the hops and what was handed over.
    pub(crate) fn measure(
        self,
        model: ScriptedModel,
        work: impl FnOnce(&dyn Model) -> Result<(String, usize, String), Box<dyn Error>>,
    ) -> Result<Ran, Box<dyn Error>> {
        let model = Measured::new(model);
        let (answer, hops, given) = work(&model)?;
        let asked = model.asked();
        let first = asked.iter().find(|asked| asked.agent == LEGAL).ok_or("legal was not asked")?;
        Ok(Ran {
            way: self,
            model_calls: asked.len(),
            hops,
            crossing_bytes: first.message_bytes,
            given_bytes: given.len(),
            given,
            messages: first.messages.len(),
            knows_tenant: serde_json::to_string(&first.messages)?.contains(TENANT),
            answer,
            unasked: model.model().unused().len(),
            label: model.label().unwrap_or_default().to_owned(),
            saw: first.messages.clone(),
        })
    }
}
