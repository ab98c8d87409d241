//! How a relay is described, and checked before it is one.

use sommelier_protocol::{ToolName, transcript};
use sommelier_runtime::{Agent, AgentName, Definition};
use std::collections::{BTreeMap, BTreeSet};

use super::{EntryPolicy, OnFailedBranch, Relay, Way};
use crate::delegate::{self, Deputy};
use crate::own_guard::{Judged, OwnGuard};
use crate::pseudo_tool::{self, HANDOFF_TO_SPECIALIST, Receiver};
use crate::transform::Transform;
use crate::work::{About, Checked, ConstraintCheck, Work};
use crate::{
    ASK_HUMAN, Budget, BuildError, BuildErrors, COMPLETE_HANDOFF, DEPTH, Delegate, Guards, HandoffPackage,
    READ_ARTIFACT, Route, Trail, Transformed,
};

/// Describes a [`Relay`].
#[derive(Clone, Debug)]
pub struct RelayBuilder {
    agents: Vec<Agent>,
    pub(super) routes: Vec<Route>,
    entries: Vec<String>,
    entry_policy: EntryPolicy,
    guards: Guards,
    pub(super) budget: Budget,
    pub(super) max_branches: Option<u32>,
    pub(super) delegates: Vec<(String, Delegate)>,
    on_failed_branch: OnFailedBranch,
    max_depth: u32,
    may_ask_human: Vec<String>,
    pub(super) constraints: Vec<Box<str>>,
    pub(super) guards_of: Vec<(String, OwnGuard)>,
    pub(super) transforms: Vec<Transform>,
    pub(super) checks: Vec<ConstraintCheck>,
}

impl Default for RelayBuilder {
    fn default() -> Self {
        Self {
            agents: Vec::new(),
            routes: Vec::new(),
            entries: Vec::new(),
            entry_policy: EntryPolicy::default(),
            guards: Guards::default(),
            budget: Budget::new(50),
            max_branches: None,
            delegates: Vec::new(),
            on_failed_branch: OnFailedBranch::default(),
            max_depth: 2,
            may_ask_human: Vec::new(),
            constraints: Vec::new(),
            guards_of: Vec::new(),
            transforms: Vec::new(),
            checks: Vec::new(),
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

    /// Gives `asker` a delegate: somebody whom it asks by calls of a tool while it keeps the turn.
    pub fn delegate(mut self, asker: impl Into<String>, delegate: Delegate) -> Self {
        self.delegates.push((asker.into(), delegate));
        self
    }

    /// Puts a constraint into every package that is handed over: a policy of the house that no model may forget.
    pub fn constraint(mut self, text: impl Into<Box<str>>) -> Self {
        self.constraints.push(text.into());
        self
    }

    /// Gives a receiver a guard of its own: what it will not take on, whoever hands it over or asks it. It is asked on each
    /// route to this agent, after the route's own, and of each question where the relay is behind a delegate that begins at
    /// this agent. It sees the hops of this relay's run, and for a question there are none yet. The user's words are no
    /// package, and pass by it: whoever begins a run has them in hand.
    ///
    /// ```
    /// use sommelier_handoff::{Agent, Relay, Verdict};
    ///
    /// let relay = Relay::builder()
    ///     .agent(Agent::new("clerk", ""))
    ///     .agent(Agent::new("till", ""))
    ///     .entry("clerk")
    ///     .route("clerk", "till")
    ///     .guard_of("till", "euros_only", |package, _| {
    ///         let is_euros = package.context_value("currency").and_then(|value| value.as_str()) == Some("EUR");
    ///         Ok(if is_euros { Verdict::Allow } else { Verdict::Refuse { reason: "not in EUR".to_owned() } })
    ///     })
    ///     .build()?;
    /// # let _ = relay;
    /// # Ok::<(), sommelier_handoff::BuildErrors>(())
    /// ```
    pub fn guard_of(
        mut self,
        receiver: impl Into<String>,
        name: impl Into<Box<str>>,
        check: impl Fn(&HandoffPackage, &Trail) -> Judged + Send + Sync + 'static,
    ) -> Self {
        self.guards_of.push((receiver.into(), OwnGuard::new(name, check)));
        self
    }

    /// Lets code change each package that an agent of this relay sends, on every route and to every delegate, before the
    /// policy is asked and before anything is measured, judged, shown to a person or written down. The receiver, the hop
    /// or link and the person see what it made of the package; only the sender's own conversation has what its model wrote.
    ///
    /// It must be a pure function: a saved handoff is held against it when it is loaded. What it gives is bound by the law
    /// and the policy as a model's package is. One that fails, or panics, lets nothing through, and what went wrong is kept.
    /// The user's words that a route takes along pass it too; answers and findings do not, for they are no packages.
    ///
    /// ```
    /// use sommelier_handoff::{Agent, HandoffPackage, Relay};
    ///
    /// let relay = Relay::builder()
    ///     .agent(Agent::new("clerk", ""))
    ///     .agent(Agent::new("till", ""))
    ///     .entry("clerk")
    ///     .route("clerk", "till")
    ///     .transform("masked", |package| {
    ///         let text = package.to_json().replace("4111111111111111", "****");
    ///         HandoffPackage::read(&text).map_err(|errors| errors[0].clone().into())
    ///     })
    ///     .build()?;
    /// # let _ = relay;
    /// # Ok::<(), sommelier_handoff::BuildErrors>(())
    /// ```
    pub fn transform(
        mut self,
        name: impl Into<Box<str>>,
        change: impl Fn(HandoffPackage) -> Transformed + Send + Sync + 'static,
    ) -> Self {
        self.transforms.push(Transform::new(name, change));
        self
    }

    /// Checks in code whether this constraint is kept, whoever put it into a package. The check is a pure function of the
    /// [work](crate::Work) and is asked when the work of a hop ends, however it does. What it says is on the hop
    /// ([`Hop::compliance`](crate::Hop::compliance)) and is counted; it stops nobody. A check that fails or panics has said
    /// nothing. Where several are for one constraint, all are asked.
    ///
    /// ```
    /// use sommelier_handoff::{Conduct, Relay};
    ///
    /// let relay = Relay::builder().constraint("no more than 200 characters").constraint_check(
    ///     "no more than 200 characters",
    ///     |work| {
    ///         Ok(match work.answer().map_or(0, |answer| answer.chars().count()) {
    ///             ..=200 => Conduct::Keep,
    ///             found => Conduct::Break { reason: format!("the answer has {found}") },
    ///         })
    ///     },
    /// );
    /// # let _ = relay;
    /// ```
    pub fn constraint_check(
        mut self,
        constraint: impl Into<Box<str>>,
        check: impl Fn(&Work<'_>) -> Checked + Send + Sync + 'static,
    ) -> Self {
        self.checks.push(ConstraintCheck::new(About::Text(constraint.into()), check));
        self
    }

    /// As [`constraint_check`](Self::constraint_check), of every constraint that begins like this, as in
    /// `budget_cents: 5000`: the check reads the rest from [`Work::constraint`](crate::Work::constraint).
    pub fn constraint_check_of(
        mut self,
        beginning: impl Into<Box<str>>,
        check: impl Fn(&Work<'_>) -> Checked + Send + Sync + 'static,
    ) -> Self {
        self.checks.push(ConstraintCheck::new(About::Beginning(beginning.into()), check));
        self
    }

    /// Lets an agent ask a person, by the reserved tool [`ask_human`](crate::ASK_HUMAN).
    pub fn may_ask_human(mut self, agent: impl Into<String>) -> Self {
        self.may_ask_human.push(agent.into());
        self
    }

    /// Sets what becomes of the other branches of a reply when one of them ends with nothing.
    pub fn on_failed_branch(mut self, then: OnFailedBranch) -> Self {
        self.on_failed_branch = then;
        self
    }

    /// Sets how deep delegates may be nested; 2 when not set: a delegate may have delegates of its own. More than
    /// [`DEPTH`](crate::DEPTH) is never possible: a deeper tree could be saved and not be loaded.
    pub fn max_depth(mut self, most: u32) -> Self {
        self.max_depth = most.min(DEPTH);
        self
    }

    /// Sets the most model calls between two messages of the user, over all agents and branches; 50 when not set.
    pub fn max_model_calls(mut self, most: u32) -> Self {
        self.budget.model_calls = most;
        self
    }

    /// Sets the most of each between two messages of the user, over all agents and branches; 50 model calls, and nothing
    /// else limited, when not set.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Sets the most branches that one reply may open; the questions beyond it are refused, and may be asked again when
    /// those have come back. No limit when not set, but for [`Limits::calls_per_reply`](sommelier_runtime::Limits).
    pub fn max_branches(mut self, most: u32) -> Self {
        self.max_branches = Some(most);
        self
    }

    /// Checks everything before anything runs.
    ///
    /// # Errors
    /// [`BuildErrors`] with all that is wrong: illegal, double or reserved names, an entry or a route that leads nowhere,
    /// an agent that no route reaches, a receiver without a tool that a route requires, a cap beyond the law, a delegate
    /// that cannot be or is nested too deep, and what nobody could meet: a field that no context can have, caps below what
    /// is demanded, a budget of nothing, a guard without a name.
    pub fn build(self) -> Result<Relay, BuildErrors> {
        let mut errors = Vec::new();
        let names: BTreeSet<&str> = self.agents.iter().map(Agent::name).collect();
        self.check_agents(&names, &mut errors);
        self.check_routes(&names, &mut errors);
        self.check_demands(&mut errors);
        let deputies = delegate::deputies(&self.delegates, &names, &mut errors);
        let depths = deputies.values().flatten().map(|deputy| deputy.relay.depth() + 1);
        let depth = depths.max().unwrap_or(0);
        if depth > self.max_depth {
            errors.push(BuildError::TooDeep { depth, most: self.max_depth });
        }
        let agents = self.definitions(&deputies, &mut errors);
        errors.extend(missing_tools(&self.routes, &agents));
        let entry = self.entries.first().and_then(|name| AgentName::new(name.as_str()).ok());
        let Some(entry) = entry.filter(|_| errors.is_empty()) else {
            // What a name breaks is told once, also when a route names it too.
            errors.sort_by_key(BuildError::rank);
            errors.dedup();
            return Err(BuildErrors(errors));
        };
        let fingerprint = fingerprint(&agents, &deputies, &self);
        let named = |(asker, deputies): (String, _)| Some((AgentName::new(asker).ok()?, deputies));
        Ok(Relay {
            agents,
            routes: ways(&self.routes),
            deputies: deputies.into_iter().filter_map(named).collect(),
            on_failed_branch: self.on_failed_branch,
            constraints: self.constraints,
            guards_of: by_receiver(self.guards_of),
            transforms: self.transforms,
            checks: self.checks,
            depth,
            entry,
            entry_policy: self.entry_policy,
            guards: self.guards,
            budget: self.budget,
            max_branches: self.max_branches,
            fingerprint,
        })
    }

    /// The agents with the tools that the relay itself gives them.
    fn definitions(
        &self,
        deputies: &BTreeMap<String, Vec<Deputy>>,
        errors: &mut Vec<BuildError>,
    ) -> BTreeMap<AgentName, Definition> {
        let mut agents = BTreeMap::new();
        for agent in &self.agents {
            let mine = deputies.get(agent.name()).into_iter().flatten();
            let agent = mine.fold(self.with_pseudo_tool(agent), |agent, one| agent.reserve(one.definition()));
            let agent = self.with_read_artifact(self.with_complete_handoff(self.with_ask_human(agent)));
            match agent.build() {
                Ok(definition) => {
                    let kept = pseudo_tool::KEPT.into_iter();
                    errors.extend(kept.filter(|tool| definition.table().has(tool)).map(|tool| {
                        let (agent, tool) = (definition.name().to_string(), tool.to_owned());
                        BuildError::ReservedTool { agent, tool }
                    }));
                    agents.insert(definition.name().clone(), definition);
                }
                Err(error) => errors.push(BuildError::Agent(error)),
            }
        }
        agents
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
        let unknown = self.may_ask_human.iter().filter(|agent| !names.contains(agent.as_str()));
        errors.extend(unknown.map(|agent| BuildError::AskerNotThere { agent: agent.clone() }));
        let lost = self.guards_of.iter().filter(|(receiver, _)| !names.contains(receiver.as_str()));
        errors.extend(lost.map(|(receiver, _)| BuildError::GuardOfNobody { receiver: receiver.clone() }));
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

    /// The agent with the tool by which it asks a person, when it may.
    fn with_ask_human(&self, agent: Agent) -> Agent {
        match ToolName::new(ASK_HUMAN) {
            Ok(name) if self.may_ask_human.iter().any(|may| may == agent.name()) => {
                agent.reserve(pseudo_tool::ask_human(name))
            }
            _ => agent,
        }
    }

    /// The agent with the tool by which it ends its work on open items, when a route leads to it.
    fn with_complete_handoff(&self, agent: Agent) -> Agent {
        match ToolName::new(COMPLETE_HANDOFF) {
            Ok(name) if self.routes.iter().any(|route| route.to == agent.name()) => {
                agent.reserve_unoffered(pseudo_tool::complete_handoff(name))
            }
            _ => agent,
        }
    }

    /// The agent with the tool by which it reads artifacts, when it may be handed references.
    fn with_read_artifact(&self, agent: Agent) -> Agent {
        let is_handed = |route: &Route| route.references && route.to == agent.name();
        match ToolName::new(READ_ARTIFACT) {
            Ok(name) if self.routes.iter().any(is_handed) => {
                agent.reserve_unoffered(pseudo_tool::read_artifact(name))
            }
            _ => agent,
        }
    }

    /// The agent with the pseudo-tool, when it has somebody to hand over to.
    fn with_pseudo_tool(&self, agent: &Agent) -> Agent {
        let mine = self.routes.iter().filter(|route| route.from == agent.name());
        let receivers: Vec<Receiver<'_>> = mine
            .filter_map(|route| {
                let receiver = self.agents.iter().find(|other| other.name() == route.to)?;
                let (name, purpose) = (receiver.name(), receiver.purpose_text());
                let (policy, references, returns) = (&route.policy, route.references, route.returns);
                let with_user_words = route.with_user_words;
                Some(Receiver { name, purpose, policy, references, returns, with_user_words })
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

fn by_receiver(guards: Vec<(String, OwnGuard)>) -> BTreeMap<AgentName, Vec<OwnGuard>> {
    let mut by_receiver: BTreeMap<AgentName, Vec<OwnGuard>> = BTreeMap::new();
    for (receiver, guard) in guards {
        if let Ok(receiver) = AgentName::new(receiver) {
            by_receiver.entry(receiver).or_default().push(guard);
        }
    }
    by_receiver
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
fn fingerprint(
    agents: &BTreeMap<AgentName, Definition>,
    deputies: &BTreeMap<String, Vec<Deputy>>,
    builder: &RelayBuilder,
) -> u64 {
    let prints = |deputies: &Vec<Deputy>| {
        let prints: Vec<String> = deputies
            .iter()
            .map(|deputy| serde_json::to_string(&deputy.print()).unwrap_or_default())
            .collect();
        prints
    };
    let deputies: BTreeMap<&String, Vec<String>> =
        deputies.iter().map(|(asker, deputies)| (asker, prints(deputies))).collect();
    let agents: Vec<_> = agents
        .values()
        .map(|agent| {
            let limits = format!("{:?}", agent.limits());
            let table = agent.table();
            let gated: Vec<_> = table.names().filter(|tool| table.needs_approval(tool.as_str())).collect();
            let declared: Vec<_> = table.declarations().collect();
            let asked = (agent.system(), agent.model(), agent.max_tokens(), agent.definitions());
            (agent.name(), asked, agent.unoffered(), (gated, declared), limits)
        })
        .collect();
    let all = (
        agents,
        &builder.routes,
        &builder.entries,
        builder.entry_policy,
        &builder.guards,
        (builder.budget, builder.max_branches),
        deputies,
        builder.on_failed_branch,
        &builder.constraints,
        (&builder.guards_of, &builder.transforms),
        builder.checks.iter().map(ConstraintCheck::about).collect::<Vec<_>>(),
    );
    transcript::fingerprint(&serde_json::to_string(&all).unwrap_or_default())
}
