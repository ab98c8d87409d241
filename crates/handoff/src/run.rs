//! The state of a conversation, and how it ends.

use serde::{Deserialize, Serialize};
use sommelier_protocol::{StopReason, ToolName, Words};
use sommelier_runtime::turn::Standstill;
use sommelier_runtime::{AgentName, ModelError, Turn, derived_id};
use std::collections::BTreeSet;

use crate::{Refusal, Relay, Trail};

/// What a conversation remembers beside the turn that is out: the agents at rest, the hops, the counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    pub(crate) conversation: Box<str>,
    /// The fingerprint of the definition that the run began with.
    pub(crate) definition: u64,
    /// The agent that has the turn.
    pub(crate) active: AgentName,
    /// The agents that had the turn and gave it away, in the order in which they did.
    pub(crate) idle: Vec<(AgentName, Turn)>,
    pub(crate) trail: Trail,
    /// The user's last words, kept only where a route may want them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user_words: Option<Box<str>>,
    /// Messages of the user.
    pub(crate) messages: u32,
    /// Model calls of the conversation that brought a reply.
    pub(crate) model_calls: u32,
    /// Model calls when the user last spoke.
    pub(crate) model_calls_before: u32,
    /// Runs of agents' own tools.
    pub(crate) tool_calls: u32,
    /// Tools that are switched off, by agent.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) switched_off: BTreeSet<(AgentName, ToolName)>,
}

impl Run {
    pub(crate) fn new(conversation: Box<str>, relay: &Relay) -> Self {
        Self {
            conversation,
            definition: relay.fingerprint(),
            active: relay.entry().clone(),
            idle: Vec::new(),
            trail: Trail::default(),
            user_words: None,
            messages: 0,
            model_calls: 0,
            model_calls_before: 0,
            tool_calls: 0,
            switched_off: BTreeSet::new(),
        }
    }

    /// The conversation's name.
    pub fn conversation(&self) -> &str {
        &self.conversation
    }

    /// The agent that has the turn.
    pub fn active(&self) -> &AgentName {
        &self.active
    }

    /// The handoffs asked for.
    pub fn trail(&self) -> &Trail {
        &self.trail
    }

    /// Messages of the user so far.
    pub fn messages(&self) -> u32 {
        self.messages
    }

    /// Model calls that brought a reply, over all agents.
    pub fn model_calls(&self) -> u32 {
        self.model_calls
    }

    /// Calls of agents' own tools, over all agents, those included that a gate denied or that failed.
    pub fn tool_calls(&self) -> u32 {
        self.tool_calls
    }

    /// The turn of an agent at rest.
    pub fn idle(&self, agent: &str) -> Option<&Turn> {
        self.idle.iter().find(|(name, _)| name.as_str() == agent).map(|(_, turn)| turn)
    }

    /// Whether the tool of this agent is switched off.
    pub fn is_switched_off(&self, agent: &AgentName, tool: &str) -> bool {
        self.switched_off.iter().any(|(name, off)| name == agent && off.as_str() == tool)
    }

    pub(crate) fn wake(&mut self, agent: &AgentName) -> Option<Turn> {
        let place = self.idle.iter().position(|(name, _)| name == agent)?;
        Some(self.idle.remove(place).1)
    }

    pub(crate) fn set_down(&mut self, turn: Turn) {
        self.idle.push((self.active.clone(), turn));
    }

    /// Begins to count anew what counts from one message of the user to the next.
    pub(crate) fn user_spoke(&mut self, words: &Words, relay: &Relay) {
        self.user_words = relay.wants_user_words().then(|| words.as_str().into());
        self.messages = self.messages.saturating_add(1);
        self.model_calls_before = self.model_calls;
        self.trail.user_spoke();
    }

    /// What ids of calls of the newest reply begin with: conversation, message, model call.
    pub(crate) fn reply_id(&self) -> String {
        derived_id(&self.conversation, &[self.messages, self.model_calls])
    }
}

/// Why a run ended. Waiting for a person is no end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum RunEnd {
    /// The agent that had the turn answered.
    Answered,
    /// It answered, but its words name a legal receiver as if it had handed over, and it had not.
    Unresolved,
    /// The model declined.
    ModelRefused,
    /// A handoff was refused, and the guards are set to stop there.
    HandoffRefused {
        /// Why.
        refusal: Refusal,
    },
    /// A handoff was refused since all hops are used up.
    HopLimit {
        /// The cap and the chain.
        refusal: Refusal,
    },
    /// The reply was cut.
    Truncated {
        /// `max_tokens` or `model_context_window_exceeded`.
        stop: StopReason,
    },
    /// An agent reached the most model calls of one activation.
    TurnLimit {
        /// The limit.
        max_steps: u32,
    },
    /// The agents together reached the most model calls between two messages of the user.
    BudgetSpent {
        /// The limit.
        max_model_calls: u32,
    },
    /// Nothing new came.
    NoProgress {
        /// In which way.
        why: Standstill,
    },
    /// The model could not be asked. The run can be tried again from there.
    Failed {
        /// Why.
        error: ModelError,
    },
    /// The reply stopped for a reason that is not known here.
    UnknownStop {
        /// The reason as it came.
        stop: StopReason,
    },
}

impl RunEnd {
    /// The end in a word, for spans and reports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Unresolved => "unresolved",
            Self::ModelRefused => "model_refused",
            Self::HandoffRefused { .. } => "handoff_refused",
            Self::HopLimit { .. } => "hop_limit",
            Self::Truncated { .. } => "truncated",
            Self::TurnLimit { .. } => "turn_limit",
            Self::BudgetSpent { .. } => "budget_spent",
            Self::NoProgress { .. } => "no_progress",
            Self::Failed { .. } => "failed",
            Self::UnknownStop { .. } => "unknown_stop",
        }
    }

    /// The refusal that ended the run, if one did.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::HandoffRefused { refusal } | Self::HopLimit { refusal } => Some(refusal),
            _ => None,
        }
    }
}
