//! Agents that may hand over to each other.

use serde::Serialize;
use sommelier_protocol::{BlankText, ToolName, Words, transcript};
use sommelier_runtime::{Agent, AgentName, Definition, DefinitionError};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

#[cfg(test)]
use crate::planted::{self, Bug};
use crate::pseudo_tool::{self, HANDOFF_TO_SPECIALIST, Receiver};
use crate::refusal::list;
use crate::{Guards, Route, Run, Step, step};

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
    entry: AgentName,
    entry_policy: EntryPolicy,
    guards: Guards,
    max_model_calls: u32,
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
            step.run_mut().switched_off.clear();
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
        self.max_model_calls
    }

    /// The routes, by sender and in the order they were added.
    pub fn routes(&self) -> impl Iterator<Item = &Route> {
        self.routes.values().flatten().map(|(_, way)| &way.route)
    }

    /// A number that is the same for equal definitions, and that a saved run carries.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
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

/// Describes a [`Relay`].
#[derive(Clone, Debug)]
pub struct RelayBuilder {
    agents: Vec<Agent>,
    routes: Vec<Route>,
    entries: Vec<String>,
    entry_policy: EntryPolicy,
    guards: Guards,
    max_model_calls: u32,
}

impl Default for RelayBuilder {
    fn default() -> Self {
        Self {
            agents: Vec::new(),
            routes: Vec::new(),
            entries: Vec::new(),
            entry_policy: EntryPolicy::default(),
            guards: Guards::default(),
            max_model_calls: 50,
        }
    }
}

impl RelayBuilder {
    /// Adds an agent.
    pub fn agent(mut self, agent: Agent) -> Self {
        self.agents.push(agent);
        self
    }

    /// Names an agent that may hear the user first. The first one named is the default.
    pub fn entry(mut self, name: impl Into<String>) -> Self {
        self.entries.push(name.into());
        self
    }

    /// Adds a route with the minimal package policy.
    pub fn route(self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.route_with(Route::new(from, to))
    }

    /// Adds a route.
    pub fn route_with(mut self, route: Route) -> Self {
        self.routes.push(route);
        self
    }

    /// Sets the guards.
    pub fn guards(mut self, guards: Guards) -> Self {
        self.guards = guards;
        self
    }

    /// Sets to whom the user's next message goes.
    pub fn entry_policy(mut self, policy: EntryPolicy) -> Self {
        self.entry_policy = policy;
        self
    }

    /// Sets the most model calls between two messages of the user, over all agents; 50 when not set.
    pub fn max_model_calls(mut self, most: u32) -> Self {
        self.max_model_calls = most;
        self
    }

    /// Checks everything before anything runs.
    ///
    /// # Errors
    /// [`BuildErrors`] with all that is wrong: illegal, double or reserved names, an entry or a route that leads nowhere,
    /// an agent that no route reaches, a receiver without a tool that a route requires, a cap beyond the law.
    pub fn build(self) -> Result<Relay, BuildErrors> {
        let mut errors = Vec::new();
        let names: BTreeSet<&str> = self.agents.iter().map(Agent::name).collect();
        self.check_agents(&names, &mut errors);
        self.check_routes(&names, &mut errors);

        let mut agents = BTreeMap::new();
        for agent in &self.agents {
            match self.with_pseudo_tool(agent).build() {
                Ok(definition) => {
                    if definition.table().has(HANDOFF_TO_SPECIALIST) {
                        errors.push(BuildError::ReservedTool { agent: agent.name().to_owned() });
                    }
                    agents.insert(definition.name().clone(), definition);
                }
                Err(error) => errors.push(BuildError::Agent(error)),
            }
        }
        errors.extend(missing_tools(&self.routes, &agents));
        let routes = ways(&self.routes);
        let entry = self.entries.first().and_then(|name| AgentName::new(name.as_str()).ok());
        match entry {
            Some(entry) if errors.is_empty() => {
                let fingerprint = fingerprint(&agents, &self);
                Ok(Relay {
                    agents,
                    routes,
                    entry,
                    entry_policy: self.entry_policy,
                    guards: self.guards,
                    max_model_calls: self.max_model_calls,
                    fingerprint,
                })
            }
            _ => {
                // What a name breaks is told once, also when a route names it too.
                errors.sort_by_key(BuildError::rank);
                errors.dedup();
                Err(BuildErrors(errors))
            }
        }
    }

    fn check_agents(&self, names: &BTreeSet<&str>, errors: &mut Vec<BuildError>) {
        let mut seen = BTreeSet::new();
        for agent in &self.agents {
            if !seen.insert(agent.name()) {
                errors.push(BuildError::DuplicateAgent { name: agent.name().to_owned() });
            }
        }
        if self.entries.is_empty() {
            errors.push(BuildError::NoEntry);
        }
        let lost = self.entries.iter().filter(|entry| !names.contains(entry.as_str()));
        errors.extend(lost.map(|entry| BuildError::UnknownEntry { name: entry.clone() }));
    }

    fn check_routes(&self, names: &BTreeSet<&str>, errors: &mut Vec<BuildError>) {
        let mut seen = BTreeSet::new();
        for route in &self.routes {
            let (from, to) = (route.from.clone(), route.to.clone());
            if from == to {
                errors.push(BuildError::SelfRoute { agent: from.clone() });
            }
            if !seen.insert((&route.from, &route.to)) {
                errors.push(BuildError::DuplicateRoute { from: from.clone(), to: to.clone() });
            }
            for end in [&from, &to] {
                if !names.contains(end.as_str()) {
                    let (from, to) = (from.clone(), to.clone());
                    errors.push(BuildError::RouteToNowhere { from, to, missing: end.clone() });
                }
            }
            for cap in route.policy.beyond_law() {
                errors.push(BuildError::BeyondLaw { from: from.clone(), to: to.clone(), cap });
            }
        }
        if self.entries.iter().all(|entry| names.contains(entry.as_str())) && !self.entries.is_empty() {
            let reached = self.reached();
            let lost = self.agents.iter().map(Agent::name).filter(|name| !reached.contains(name));
            errors.extend(lost.map(|name| BuildError::Unreachable { agent: name.to_owned() }));
        }
    }

    fn reached(&self) -> BTreeSet<&str> {
        let mut reached: BTreeSet<&str> = self.entries.iter().map(String::as_str).collect();
        let mut open: Vec<&str> = reached.iter().copied().collect();
        while let Some(from) = open.pop() {
            let next = self.routes.iter().filter(|route| route.from == from).map(|route| route.to.as_str());
            open.extend(next.filter(|to| reached.insert(to)));
        }
        reached
    }

    /// The agent with the pseudo-tool, when it has somebody to hand over to.
    fn with_pseudo_tool(&self, agent: &Agent) -> Agent {
        let mine = self.routes.iter().filter(|route| route.from == agent.name());
        let receivers: Vec<Receiver<'_>> = mine
            .filter_map(|route| {
                let receiver = self.agents.iter().find(|other| other.name() == route.to)?;
                let (name, purpose) = (receiver.name(), receiver.purpose_text());
                Some(Receiver { name, purpose, policy: &route.policy })
            })
            .collect();
        match ToolName::new(HANDOFF_TO_SPECIALIST) {
            Ok(name) if !receivers.is_empty() => {
                agent.clone().reserve(pseudo_tool::definition(name, &receivers))
            }
            _ => agent.clone(),
        }
    }
}

fn ways(routes: &[Route]) -> BTreeMap<AgentName, Vec<(AgentName, Way)>> {
    let mut ways: BTreeMap<AgentName, Vec<(AgentName, Way)>> = BTreeMap::new();
    for route in routes {
        if let (Ok(from), Ok(to)) = (AgentName::new(route.from.as_str()), AgentName::new(route.to.as_str())) {
            let requires =
                route.requires.iter().filter_map(|tool| ToolName::new(tool.as_str()).ok()).collect();
            ways.entry(from).or_default().push((to, Way { route: route.clone(), requires }));
        }
    }
    ways
}

fn missing_tools(routes: &[Route], agents: &BTreeMap<AgentName, Definition>) -> Vec<BuildError> {
    let required = routes.iter().flat_map(|route| route.requires.iter().map(move |tool| (route, tool)));
    let missing = required.filter(|(route, tool)| {
        agents.get(route.to.as_str()).is_some_and(|receiver| !receiver.table().has(tool))
    });
    missing
        .map(|(route, tool)| BuildError::MissingTool {
            from: route.from.clone(),
            to: route.to.clone(),
            tool: tool.clone(),
        })
        .collect()
}

/// A number for everything that a run depends on.
fn fingerprint(agents: &BTreeMap<AgentName, Definition>, builder: &RelayBuilder) -> u64 {
    let agents: Vec<_> = agents
        .values()
        .map(|agent| {
            let limits = format!("{:?}", agent.limits());
            let table = agent.table();
            let gated: Vec<_> = table.names().filter(|tool| table.needs_approval(tool.as_str())).collect();
            let asked = (agent.system(), agent.model(), agent.max_tokens(), agent.definitions());
            (agent.name(), asked, gated, limits)
        })
        .collect();
    let all = (
        agents,
        &builder.routes,
        &builder.entries,
        builder.entry_policy,
        &builder.guards,
        builder.max_model_calls,
    );
    transcript::fingerprint(&serde_json::to_string(&all).unwrap_or_default())
}

/// What is wrong with a relay's description: its author's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// An agent is not well formed.
    #[error(transparent)]
    Agent(DefinitionError),
    /// An agent has a tool of its own under the name of the handoff, which no function stands behind.
    #[error("{agent} has a tool of its own named {HANDOFF_TO_SPECIALIST:?}, the name of the handoff")]
    ReservedTool {
        /// The agent.
        agent: String,
    },
    /// Two agents have one name.
    #[error("two agents are named {name:?}; names must differ")]
    DuplicateAgent {
        /// The name.
        name: String,
    },
    /// No agent hears the user first.
    #[error("the relay has no entry")]
    NoEntry,
    /// The entry is not there.
    #[error("the entry {name:?} is no agent of the relay")]
    UnknownEntry {
        /// The name.
        name: String,
    },
    /// A route from an agent to itself.
    #[error("the route {agent} -> {agent} leads back to its own agent")]
    SelfRoute {
        /// The agent.
        agent: String,
    },
    /// A route that is there twice.
    #[error("the route {from} -> {to} is there twice")]
    DuplicateRoute {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
    },
    /// A route whose one end is not there.
    #[error("the route {from} -> {to} {} at an agent that is not there", if missing == from { "begins" } else { "ends" })]
    RouteToNowhere {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
        /// The one that is not there.
        missing: String,
    },
    /// An agent that no route reaches from an entry.
    #[error("no route from an entry reaches {agent}")]
    Unreachable {
        /// The agent.
        agent: String,
    },
    /// A receiver that lacks a tool which a route requires.
    #[error("the route {from} -> {to} requires the tool {tool:?}, which {to} does not have")]
    MissingTool {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
        /// The tool.
        tool: String,
    },
    /// A cap that is higher than the package law.
    #[error("the policy of the route {from} -> {to} is beyond the package law: {cap}")]
    BeyondLaw {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
        /// The cap, its value, and the law.
        cap: String,
    },
}

impl BuildError {
    fn rank(&self) -> u8 {
        match self {
            Self::Agent(_) | Self::ReservedTool { .. } => 0,
            Self::DuplicateAgent { .. } => 1,
            Self::NoEntry | Self::UnknownEntry { .. } => 2,
            Self::SelfRoute { .. } | Self::DuplicateRoute { .. } | Self::RouteToNowhere { .. } => 3,
            Self::Unreachable { .. } => 4,
            Self::MissingTool { .. } => 5,
            Self::BeyondLaw { .. } => 6,
        }
    }
}

/// All that is wrong with a relay's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildErrors(pub Vec<BuildError>);

impl fmt::Display for BuildErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&texts.join("; "))
    }
}

impl std::error::Error for BuildErrors {}
