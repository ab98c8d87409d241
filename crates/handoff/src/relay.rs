//! Agents that may hand over to each other.

use serde::Serialize;
use sommelier_protocol::{BlankText, ToolName, Words};
use sommelier_runtime::{AgentName, Definition};
use std::collections::BTreeMap;

use crate::delegate::Deputy;
use crate::own_guard::OwnGuard;
#[cfg(test)]
use crate::planted::{self, Bug};
use crate::refusal::list;
use crate::transform::Transform;
use crate::work::ConstraintCheck;
use crate::{Budget, Guards, Route, Routes, Run, Step, step};

mod builder;
mod demands;

pub use builder::RelayBuilder;

/// The definition of a run: agents, routes, guards. It does not change while runs go on, and any number of
/// conversations share one; each has its own state.
///
/// ```
/// use sommelier_handoff::{Agent, Relay};
///
/// let errors = Relay::builder()
///     .agent(Agent::new("booking_agent", "You quote and book rooms."))
///     .agent(Agent::new("Policy Agent", "You answer from the policy documents."))
///     .entry("booking_agent")
///     .route("booking_agent", "policy_agent")
///     .build()
///     .unwrap_err();
/// assert_eq!(
///     errors.to_string(),
///     "\"Policy Agent\" is no agent name: a lower-case letter, then up to 63 of a-z, 0-9 and _; \
///      the route booking_agent -> policy_agent ends at an agent that is not there; \
///      no route from an entry reaches Policy Agent",
/// );
/// ```
#[derive(Clone, Debug)]
pub struct Relay {
    agents: BTreeMap<AgentName, Definition>,
    routes: BTreeMap<AgentName, Vec<(AgentName, Way)>>,
    deputies: BTreeMap<AgentName, Vec<Deputy>>,
    on_failed_branch: OnFailedBranch,
    constraints: Vec<Box<str>>,
    guards_of: BTreeMap<AgentName, Vec<OwnGuard>>,
    transforms: Vec<Transform>,
    checks: Vec<ConstraintCheck>,
    depth: u32,
    entry: AgentName,
    entry_policy: EntryPolicy,
    guards: Guards,
    budget: Budget,
    max_branches: Option<u32>,
    fingerprint: u64,
}

/// A route whose ends have been checked.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) route: Route,
    pub(crate) requires: Vec<ToolName>,
}

/// To whom the next message of the user goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
pub enum EntryPolicy {
    /// The agent that has the turn.
    #[default]
    Active,
    /// The entry, each time.
    Entry,
}

/// What becomes of the other branches of a reply when one of them ends with nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
pub enum OnFailedBranch {
    /// They go on; the agent that asked is told what each of them came to.
    #[default]
    Keep,
    /// They are called off at their next step; the agent that asked is told what each had found until then.
    CallOff,
}

impl Relay {
    /// A relay to be described.
    pub fn builder() -> RelayBuilder {
        RelayBuilder::default()
    }

    /// Begins a conversation with the user's words at the entry. `conversation` names it: ids and idempotency
    /// keys begin with it, so it should be new.
    ///
    /// # Errors
    /// [`BlankText`] when there are no words.
    pub fn start(
        &self,
        conversation: impl Into<Box<str>>,
        text: impl Into<Box<str>>,
    ) -> Result<Step, BlankText> {
        Ok(step::begin(self, Run::new(conversation.into(), self), Words::new(text)?))
    }

    /// Begins a conversation at another agent than the entry.
    ///
    /// # Errors
    /// [`StartError`] when there is no such agent, or there are no words.
    pub fn start_at(
        &self,
        agent: &str,
        conversation: impl Into<Box<str>>,
        text: impl Into<Box<str>>,
    ) -> Result<Step, StartError> {
        let words = Words::new(text)?;
        let Some((name, _)) = self.agents.get_key_value(agent) else {
            let known = self.agents.keys().cloned().collect();
            return Err(StartError::UnknownAgent { name: agent.to_owned(), known });
        };
        let run = Run { active: name.clone(), ..Run::new(conversation.into(), self) };
        Ok(step::begin(self, run, words))
    }

    /// Loads a step that was saved as JSON.
    ///
    /// # Errors
    /// [`LoadError`] when the text is no saved step, or was saved under another definition.
    pub fn load(&self, saved: &str) -> Result<Step, LoadError> {
        let step: Step =
            serde_json::from_str(saved).map_err(|error| LoadError::NotAStep(error.to_string()))?;
        #[cfg(test)]
        let step = planted::instead(Bug::SwitchesNotLoaded, step.clone(), || {
            let mut step = step;
            step.run_mut().extra_mut().switched_off.clear();
            step
        });
        #[cfg(test)]
        let step = planted::instead(Bug::AnswersNotLoaded, step.clone(), || {
            let mut step = step;
            step.run_mut().extra_mut().decisions.clear();
            step
        });
        let found = step.run().definition;
        if found != self.fingerprint {
            return Err(LoadError::OtherDefinition { saved: found, ours: self.fingerprint });
        }
        match step.flaw(self) {
            Some(flaw) => Err(LoadError::NotAStep(flaw)),
            None => Ok(step),
        }
    }

    /// The agents, by name.
    pub fn agents(&self) -> impl Iterator<Item = &Definition> {
        self.agents.values()
    }

    /// The agent of this name.
    pub fn agent(&self, name: &str) -> Option<&Definition> {
        self.agents.get(name)
    }

    /// The agent that hears the user first.
    pub fn entry(&self) -> &AgentName {
        &self.entry
    }

    /// To whom the user's next message goes.
    pub fn entry_policy(&self) -> EntryPolicy {
        self.entry_policy
    }

    /// The guards' settings.
    pub fn guards(&self) -> &Guards {
        &self.guards
    }

    /// The most model calls between two messages of the user, over all agents.
    pub fn max_model_calls(&self) -> u32 {
        self.budget.model_calls
    }

    /// The most of each between two messages of the user, over all agents and branches.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The most branches that one reply may open; `None` when only the calls of a reply are limited.
    pub fn max_branches(&self) -> Option<u32> {
        self.max_branches
    }

    /// The routes, by sender and in the order they were added.
    pub fn routes(&self) -> Routes<'_> {
        Routes::new(self)
    }

    pub(crate) fn route_at(&self, place: usize) -> Option<&Route> {
        self.routes.values().flatten().nth(place).map(|(_, way)| &way.route)
    }

    /// The relay behind a delegate: whom `asker` asks by calls of `tool`.
    pub fn delegate(&self, asker: &str, tool: &str) -> Option<&Self> {
        let deputy = self.deputies.get(asker)?.iter().find(|deputy| deputy.tool.as_str() == tool)?;
        Some(&deputy.relay)
    }

    /// The delegates, as the agent that asks and the tool by which it does, by asker and in the order they were added.
    pub fn delegates(&self) -> impl Iterator<Item = (&AgentName, &ToolName)> {
        self.deputies.iter().flat_map(|(asker, deputies)| deputies.iter().map(move |one| (asker, &one.tool)))
    }

    /// How deep delegates are nested: 0 without any.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// What stands in every package as a constraint, whatever a model writes.
    pub fn constraints(&self) -> &[Box<str>] {
        &self.constraints
    }

    /// What becomes of the other branches of a reply when one ends with nothing.
    pub fn on_failed_branch(&self) -> OnFailedBranch {
        self.on_failed_branch
    }

    /// The guards of the user's own that an agent has as a receiver.
    pub(crate) fn guards_of(&self, receiver: &AgentName) -> &[OwnGuard] {
        self.guards_of.get(receiver).map_or(&[], Vec::as_slice)
    }

    /// What code changes in every package.
    pub(crate) fn transforms(&self) -> &[Transform] {
        &self.transforms
    }

    pub(crate) fn constraint_checks(&self) -> &[ConstraintCheck] {
        &self.checks
    }

    pub(crate) fn deputies(&self, asker: &AgentName) -> &[Deputy] {
        self.deputies.get(asker).map_or(&[], Vec::as_slice)
    }

    /// A number that is the same for equal definitions, and that a saved run carries.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The [fingerprint](Self::fingerprint) as a journal keeps it, in hexadecimal.
    pub fn definition_id(&self) -> String {
        format!("{:016x}", self.fingerprint)
    }

    /// The receivers that are legal for `from`.
    pub(crate) fn receivers(&self, from: &AgentName) -> impl Iterator<Item = &AgentName> {
        self.routes.get(from).into_iter().flatten().map(|(to, _)| to)
    }

    /// Whether any route takes the user's words along.
    pub(crate) fn wants_user_words(&self) -> bool {
        self.routes().any(|route| route.with_user_words)
    }

    pub(crate) fn way(&self, from: &AgentName, to: &AgentName) -> Option<&Way> {
        self.routes.get(from)?.iter().find(|(receiver, _)| receiver == to).map(|(_, way)| way)
    }
}

/// A conversation that cannot begin: the caller's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// There are no words.
    #[error(transparent)]
    Blank(#[from] BlankText),
    /// There is no such agent.
    #[error("the relay has no agent {name:?}; it has {}", list(known))]
    UnknownAgent {
        /// The name asked for.
        name: String,
        /// The agents there are.
        known: Vec<AgentName>,
    },
}

/// A saved run that cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The text is no saved step.
    #[error("not a saved step: {0}")]
    NotAStep(String),
    /// The run was saved under another definition: other agents, prompts, tools, routes or guards.
    #[error(
        "saved under the definition {saved:016x}, this one is {ours:016x}; load it with the definition it began with"
    )]
    OtherDefinition {
        /// The fingerprint that the run carries.
        saved: u64,
        /// The fingerprint of the relay.
        ours: u64,
    },
}
