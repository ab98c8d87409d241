//! The state of a conversation, and how it ends.

use serde::{Deserialize, Serialize};
use sommelier_protocol::{StopReason, ToolName, Words};
use sommelier_runtime::turn::{Reserved, Standstill, Used};
use sommelier_runtime::{AgentName, ModelError, ToolOutput, Turn, derived_id};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::budget::{Given, Purse};
use crate::contract::Owed;
use crate::delegate::Deputy;
#[cfg(test)]
use crate::planted::{self, Bug};
use crate::refusal::list;
use crate::{
    Artifact, ContractError, Cost, Decision, HandoffPackage, Link, Measure, Refusal, Relay, Trail, law,
};

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
    /// Messages of the user.
    pub(crate) messages: u32,
    /// Model calls of the conversation that brought a reply, those of branches not counted.
    pub(crate) model_calls: u32,
    /// Runs of agents' own tools, those of branches not counted.
    pub(crate) tool_calls: u32,
    /// Model calls that the run was given when the user last spoke, for itself and its branches.
    pub(crate) allowance: u32,
    /// How many of them are left. Those that open branches were given are none of them.
    pub(crate) left: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) extra: Option<Box<Extra>>,
}

/// What most runs do without, so that they stay small in memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Extra {
    /// The user's last words, kept only where a route may want them. A branch has none: what it was asked, a model
    /// wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_words: Option<Box<str>>,
    /// Tools that are switched off, by agent.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) switched_off: BTreeSet<(AgentName, ToolName)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) links: Vec<Link>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) decisions: Vec<Decision>,
    /// Words of the user that came while a step was out, and have not been put before a model yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) inbox: Vec<Box<str>>,
    /// What the packages that were handed over have bound whoever works on, each once, in order; in a branch after what
    /// its question binds it to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) constraints: Vec<Box<str>>,
    /// Agents whose handoff is to come back, the one that is answered first last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) awaiting: Vec<Awaiting>,
    /// The contract that a branch's answer has to keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) owed: Option<Owed>,
    /// The newest version of each artifact, in the order in which they came first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) artifacts: Vec<Artifact>,
    /// What is limited besides model calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) purse: Option<Box<Purse>>,
}

/// An agent that handed the turn over on a route that returns. Its call is open until the receiver answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Awaiting {
    pub(crate) agent: AgentName,
    pub(crate) inner: Reserved,
    /// The outputs of all calls that are open, that of the handoff to be replaced.
    pub(crate) outputs: Vec<ToolOutput>,
    /// Which of them is the handoff's.
    pub(crate) place: usize,
}

static NOTHING_EXTRA: Extra = Extra {
    user_words: None,
    switched_off: BTreeSet::new(),
    links: Vec::new(),
    decisions: Vec::new(),
    inbox: Vec::new(),
    constraints: Vec::new(),
    awaiting: Vec::new(),
    owed: None,
    artifacts: Vec::new(),
    purse: None,
};

impl Run {
    pub(crate) fn new(conversation: Box<str>, relay: &Relay) -> Self {
        Self {
            conversation,
            definition: relay.fingerprint(),
            active: relay.entry().clone(),
            idle: Vec::new(),
            trail: Trail::default(),
            messages: 0,
            model_calls: 0,
            tool_calls: 0,
            allowance: 0,
            left: 0,
            extra: None,
        }
    }

    /// The run of a branch: it was asked one thing by another agent, which gives it some of what it has.
    pub(crate) fn branch(conversation: Box<str>, deputy: &Deputy, given: Given, asker: &Self) -> Self {
        let Given { model_calls: allowance, purse } = given;
        let relay = &deputy.relay;
        let run = Self { active: deputy.entry.clone(), ..Self::new(conversation, relay) };
        let mut run = Self { messages: 1, allowance, left: allowance, ..run };
        // Also of agents that are not in this relay: a delegate of a delegate may be one of them.
        let switched_off = &asker.extra().switched_off;
        #[cfg(test)]
        let switched_off =
            planted::instead(Bug::SwitchesNotInherited, switched_off, || &NOTHING_EXTRA.switched_off);
        if !switched_off.is_empty() {
            run.extra_mut().switched_off.clone_from(switched_off);
        }
        if let Some(contract) = deputy.contract {
            run.extra_mut().owed = Some(Owed::of(contract));
        }
        if purse.is_some() {
            run.extra_mut().purse = purse;
        }
        run
    }

    pub(crate) fn extra(&self) -> &Extra {
        self.extra.as_deref().unwrap_or(&NOTHING_EXTRA)
    }

    pub(crate) fn extra_mut(&mut self) -> &mut Extra {
        self.extra.get_or_insert_default()
    }

    /// Gives back the memory of an [`Extra`] that holds nothing.
    pub(crate) fn shrink(&mut self) {
        self.extra = self.extra.take().filter(|extra| **extra != NOTHING_EXTRA);
    }

    /// Words of the user that came while a step was out, and that no model has read yet, in order.
    pub fn unread(&self) -> &[Box<str>] {
        &self.extra().inbox
    }

    /// Takes the user's words that have waited longest.
    pub(crate) fn next_words(&mut self) -> Option<Words> {
        if self.unread().is_empty() {
            return None;
        }
        Some(Words::or_dash(self.extra_mut().inbox.remove(0)))
    }

    pub(crate) fn user_words(&self) -> Option<&str> {
        self.extra().user_words.as_deref()
    }

    /// Whether the run is of this relay, or of one with an equal definition: no other can drive it.
    ///
    /// ```
    /// use sommelier_handoff::{Agent, Relay};
    ///
    /// let relay = |name: &str| Relay::builder().agent(Agent::new(name, "")).entry(name).build();
    /// let step = relay("clerk")?.start("c-1", "hello")?;
    /// assert!(step.run().is_of(&relay("clerk")?) && !step.run().is_of(&relay("till")?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_of(&self, relay: &Relay) -> bool {
        self.definition == relay.fingerprint()
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

    /// Model calls that brought a reply, over all agents of this run. Those of its branches are in the
    /// [`cost`](Self::cost).
    pub fn model_calls(&self) -> u32 {
        self.model_calls
    }

    /// Calls of agents' own tools, over all agents of this run, those included that a gate denied or that failed. One that
    /// a person rejected was not made, and is none of them.
    pub fn tool_calls(&self) -> u32 {
        self.tool_calls
    }

    /// Calls of agents' own tools over this run and all its branches that have ended.
    pub fn tool_calls_over_tree(&self) -> u32 {
        self.cost().tool_calls
    }

    /// Model calls that are left until the user speaks again, branches that are open not counted.
    pub fn model_calls_left(&self) -> u32 {
        self.left
    }

    /// Who asked whom, and what came of it, in the order of the answers.
    pub fn links(&self) -> &[Link] {
        &self.extra().links
    }

    /// What was spent over this run and all its branches that have ended. The tokens are those of agents at rest.
    pub fn cost(&self) -> Cost {
        let Self { model_calls, tool_calls, .. } = *self;
        let mut cost = Cost { model_calls, tool_calls, ..Cost::default() };
        for (_, used) in self.used() {
            cost.add(Cost { model_calls: 0, tool_calls: 0, ..Cost::of(used) });
        }
        self.links().iter().filter_map(Link::run).for_each(|done| cost.add(done.run().cost()));
        cost
    }

    /// What each agent at rest has spent, over this run and all its branches that have ended. Agents of one name in
    /// several branches are told together.
    pub fn cost_by_agent(&self) -> BTreeMap<AgentName, Cost> {
        let mut costs: BTreeMap<AgentName, Cost> = BTreeMap::new();
        for (agent, used) in self.used() {
            costs.entry(agent.clone()).or_default().add(Cost::of(used));
        }
        for done in self.links().iter().filter_map(Link::run) {
            for (agent, cost) in done.run().cost_by_agent() {
                costs.entry(agent).or_default().add(cost);
            }
        }
        costs
    }

    /// What the conversation of each agent has used that is at rest or waits.
    pub(crate) fn used(&self) -> impl Iterator<Item = (&AgentName, Used)> {
        let awaiting = self.extra().awaiting.iter().map(|waits| (&waits.agent, waits.inner.used()));
        self.idle.iter().map(|(agent, turn)| (agent, turn.used())).chain(awaiting)
    }

    /// The turn of an agent at rest.
    pub fn idle(&self, agent: &str) -> Option<&Turn> {
        self.idle.iter().find(|(name, _)| name.as_str() == agent).map(|(_, turn)| turn)
    }

    /// The agents at rest, each with its turn, in the order in which they gave it away.
    pub fn at_rest(&self) -> impl Iterator<Item = (&AgentName, &Turn)> {
        self.idle.iter().map(|(agent, turn)| (agent, turn))
    }

    /// Whether the tool of this agent is switched off.
    pub fn is_switched_off(&self, agent: &AgentName, tool: &str) -> bool {
        self.extra().switched_off.iter().any(|(name, off)| name == agent && off.as_str() == tool)
    }

    /// What the packages that were handed over have bound whoever works on, each once, in order.
    pub fn constraints(&self) -> &[Box<str>] {
        &self.extra().constraints
    }

    /// The package with the constraints that it lacks, `None` when it lacks none: the relay's own, and those of every package
    /// that was handed over before. What binds once binds whoever works later, by a handoff or by a question; a model may
    /// add to it and leave nothing out.
    pub(crate) fn carry(&self, relay: &Relay, package: &HandoffPackage) -> Option<HandoffPackage> {
        #[cfg(test)]
        if planted::is(Bug::ConstraintDropped) {
            return None;
        }
        let house = relay.constraints();
        #[cfg(test)]
        let house = planted::instead(Bug::HouseNotBinding, house, || &[]);
        let binding = house.iter().chain(self.constraints());
        let lacking = binding.filter(|constraint| !package.constraints().contains(constraint));
        lacking.fold(None, |with: Option<HandoffPackage>, constraint| {
            let with = with.unwrap_or_else(|| package.clone());
            let has = with.constraints().contains(constraint);
            Some(if has { with } else { with.constraint(constraint.clone()) })
        })
    }

    /// Notes what a package that is handed over, or asks, binds whoever works on.
    pub(crate) fn bind(&mut self, package: &HandoffPackage) {
        for constraint in package.constraints() {
            if !self.constraints().contains(constraint) {
                self.extra_mut().constraints.push(constraint.clone());
            }
        }
    }

    /// Whether somebody waits for the answer of the agent that has the turn.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.extra().awaiting.is_empty()
    }

    /// Whether this agent waits for a handoff to come back.
    pub(crate) fn awaits(&self, agent: &AgentName) -> bool {
        self.extra().awaiting.iter().any(|waits| waits.agent == *agent)
    }

    /// How many items are open that the agent was handed which has the turn.
    pub(crate) fn left_open(&self) -> usize {
        let left = self.trail.newest_to(&self.active).map_or(0, |hop| hop.left().len());
        #[cfg(test)]
        let left = planted::instead(Bug::AnswerIsAll, left, || 0);
        left
    }

    /// The newest version of each artifact that was handed over or that code has put there, in the order in which they
    /// came first.
    pub fn artifacts(&self) -> &[Artifact] {
        &self.extra().artifacts
    }

    /// The newest version of an artifact.
    pub fn artifact(&self, name: &str) -> Option<&Artifact> {
        self.artifacts().iter().find(|artifact| *artifact.name == *name)
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
        if relay.wants_user_words() {
            self.extra_mut().user_words = Some(words.as_str().into());
        }
        self.messages = self.messages.saturating_add(1);
        self.fill(relay.budget());
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
    /// The agents together, branches included, used all the model calls, tokens or time that there are between two
    /// messages of the user. In a branch: all that it was given. The run can [go on with more](crate::Done::with_more).
    BudgetSpent {
        /// What was used up: model calls, tokens or time.
        measure: Measure,
        /// The limit.
        most: u64,
    },
    /// Nothing new came.
    NoProgress {
        /// In which way.
        why: Standstill,
    },
    /// In a branch: the answer broke its [contract](crate::Contract), and was not mended.
    ContractBroken {
        /// In what, the first few: never empty.
        errors: Vec<ContractError>,
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
    /// A person goes on in the agents' place.
    TakenOver {
        /// What that person noted: who, or why.
        by: Box<str>,
    },
    /// It was called off.
    Cancelled {
        /// Why, in the words of whoever did.
        reason: Box<str>,
    },
}

impl fmt::Display for RunEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HandoffRefused { refusal } | Self::HopLimit { refusal } => {
                write!(f, "{}: {refusal}", self.as_str())
            }
            Self::Truncated { stop } | Self::UnknownStop { stop } => {
                write!(f, "{}: {}", self.as_str(), stop.as_str())
            }
            Self::TurnLimit { max_steps } => write!(f, "{}: {max_steps} model call(s)", self.as_str()),
            Self::BudgetSpent { measure, most } => {
                write!(f, "{}: {most} {}(s)", self.as_str(), measure.unit())
            }
            Self::ContractBroken { errors } => write!(f, "{}: {}", self.as_str(), list(errors)),
            Self::Failed { error } => write!(f, "{}: {error}", self.as_str()),
            Self::TakenOver { by } => write!(f, "{}: {by}", self.as_str()),
            Self::Cancelled { reason } => write!(f, "{}: {reason}", self.as_str()),
            Self::Answered | Self::Unresolved | Self::ModelRefused | Self::NoProgress { .. } => {
                f.write_str(self.as_str())
            }
        }
    }
}

impl RunEnd {
    /// The end as those are told who must not look inside: no name of an agent, no word of a model or a service.
    pub(crate) fn told(&self) -> String {
        match self {
            Self::HandoffRefused { refusal } | Self::HopLimit { refusal } => {
                format!("{}: {}", self.as_str(), refusal.guard().as_str())
            }
            Self::ContractBroken { errors } => {
                let places: Vec<String> = errors.iter().map(ContractError::told).collect();
                format!("{}: {}", self.as_str(), list(&places))
            }
            Self::Failed { error } => format!("{}: {}", self.as_str(), error.kind()),
            Self::Cancelled { reason } => format!("{}: {}", self.as_str(), law::shown(reason)),
            Self::TurnLimit { .. } | Self::BudgetSpent { .. } => self.to_string(),
            _ => self.as_str().to_owned(),
        }
    }

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
            Self::ContractBroken { .. } => "contract_broken",
            Self::Failed { .. } => "failed",
            Self::UnknownStop { .. } => "unknown_stop",
            Self::TakenOver { .. } => "taken_over",
            Self::Cancelled { .. } => "cancelled",
        }
    }

    /// Whether the user's words, when they come, go on from here. What failed, or was taken out of the agents' hands, does
    /// not go on by itself: somebody has to say so. A loop between a user and a run looks here before it hands words on with
    /// [`Done::hear`](crate::Done::hear): after [`TakenOver`](Self::TakenOver) they are for the person who has the
    /// conversation, and an agent that heard them would speak over that person.
    pub fn awaits_user(&self) -> bool {
        !matches!(self, Self::Failed { .. } | Self::Cancelled { .. } | Self::TakenOver { .. })
    }

    /// What was used up, if that ended the run: a measure of the budget, or the hops, by the budget or by the
    /// [cap](crate::Guards::max_handoffs) of the guards.
    pub fn measure(&self) -> Option<Measure> {
        match self {
            Self::BudgetSpent { measure, .. } => Some(*measure),
            Self::HopLimit { .. } => Some(Measure::Hops),
            _ => None,
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
