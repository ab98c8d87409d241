//! An agent, or a team of them, that another agent asks while it keeps its own turn.

use serde::{Deserialize, Serialize};
use sommelier_protocol::{ToolName, ToolUse};
use sommelier_runtime::{Agent, AgentName, DefinitionError, ToolOutput};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::own_guard::{Judged, Objection, OwnGuard};
use crate::pseudo_tool;
use crate::refusal::{first, told};
use crate::transform::{self, Broken};
use crate::{
    Budget, BuildError, Contract, HandoffPackage, Measure, PackageError, PackagePolicy, Relay, Run, Trail,
};

/// Model calls that a delegate may make for one question when nothing else is said.
pub const DELEGATE_MODEL_CALLS: u32 = 4;

/// How deep delegates may be nested at most, whatever a relay allows.
pub const DEPTH: u32 = 8;

/// A delegate as its author writes it down; [`Relay`] checks it.
///
/// To the agent that asks it is a tool with one argument that must be there, `question`, and one that may be, `context`.
/// A call opens a run of its own, a branch: nothing of the asker's conversation is in it, and nothing of the branch's
/// conversation comes back but a [finding](crate::DelegateResult). The asker keeps the turn. What an answer must be like
/// says its [`contract`](Self::contract).
///
/// ```
/// use sommelier_handoff::{Agent, Delegate, Relay};
///
/// let relay = Relay::builder()
///     .agent(Agent::new("supervisor", "You ask the desks and put their findings together."))
///     .delegate("supervisor", Delegate::new("ask_billing", Agent::new("billing", "You know the invoices.")))
///     .delegate("supervisor", Delegate::new("ask_shipping", Agent::new("shipping", "You know the parcels.")))
///     .entry("supervisor")
///     .build()?;
/// let tools = relay.agent("supervisor").unwrap().definitions().iter().map(|tool| tool.name.as_str());
/// assert_eq!(tools.collect::<Vec<_>>(), ["ask_billing", "ask_shipping"]);
/// # Ok::<(), sommelier_handoff::BuildErrors>(())
/// ```
#[derive(Clone, Debug)]
pub struct Delegate {
    tool: String,
    purpose: String,
    team: Team,
    budget: Budget,
    after: Vec<String>,
    policy: PackagePolicy,
    guards: Vec<OwnGuard>,
    contract: Option<Contract>,
}

#[derive(Clone, Debug)]
enum Team {
    One(Box<Agent>),
    Many { relay: Arc<Relay>, entry: Option<String> },
}

impl Delegate {
    /// One agent, asked by calls of `tool`. What it is for is the agent's own [purpose](Agent::purpose).
    pub fn new(tool: impl Into<String>, agent: Agent) -> Self {
        let purpose = agent.purpose_text().to_owned();
        Self::of(tool.into(), purpose, Team::One(Box::new(agent)))
    }

    /// A team, asked by calls of `tool`: its agents may hand over to each other, and have delegates of their own.
    pub fn team(tool: impl Into<String>, relay: impl Into<Arc<Relay>>) -> Self {
        Self::of(tool.into(), String::new(), Team::Many { relay: relay.into(), entry: None })
    }

    fn of(tool: String, purpose: String, team: Team) -> Self {
        Self {
            tool,
            purpose,
            team,
            budget: Budget::new(DELEGATE_MODEL_CALLS),
            after: Vec::new(),
            policy: PackagePolicy::question(),
            guards: Vec::new(),
            contract: None,
        }
    }

    /// The name of the tool by which it is asked.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The most model calls for one question, as [`max_model_calls`](Self::max_model_calls) has set it.
    pub fn allowance(&self) -> u32 {
        self.budget.model_calls
    }

    /// The tools of the delegates whose findings its question needs, as [`after`](Self::after) has named them.
    pub fn waits_for(&self) -> &[String] {
        &self.after
    }

    /// What it is for, in one line: the agent that asks is told.
    pub fn purpose(mut self, purpose: impl Into<String>) -> Self {
        self.purpose = purpose.into();
        self
    }

    /// The agent of a team that is asked, when it is another than the team's entry.
    pub fn at(mut self, agent: impl Into<String>) -> Self {
        if let Team::Many { entry, .. } = &mut self.team {
            *entry = Some(agent.into());
        }
        self
    }

    /// The most model calls for one question, over the whole branch; [`DELEGATE_MODEL_CALLS`] when not set.
    pub fn max_model_calls(mut self, most: u32) -> Self {
        self.budget.model_calls = most;
        self
    }

    /// The most of each for one question, over the whole branch; [`DELEGATE_MODEL_CALLS`], and nothing else limited, when
    /// not set. A branch is never given more than its share of what its asker has left, so a limit above that is none:
    /// with [`Budget::unlimited`] whatever is raised at the root reaches the delegate. A team's own
    /// [budget](crate::RelayBuilder::budget) is for the words of a user, and not for a question.
    ///
    /// [`RelayBuilder::budget`]: crate::RelayBuilder::budget
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Names another delegate of the same agent whose finding this one's question needs: a call of both in one reply is
    /// refused for this one.
    pub fn after(mut self, tool: impl Into<String>) -> Self {
        self.after.push(tool.into());
        self
    }

    /// What a question and its context may be like; that of a [question](PackagePolicy::question) when not set.
    pub fn policy(mut self, policy: PackagePolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Adds a guard of one's own, asked of each question that is valid: a pure function of the question, as a package, and
    /// of the asker's hops so far. It refuses, or fails, as [a route's](crate::Route::guard) does. A team's relay may have
    /// guards of the agent that is asked besides ([`RelayBuilder::guard_of`](crate::RelayBuilder::guard_of)).
    ///
    /// ```
    /// use sommelier_handoff::{Agent, Delegate, Verdict};
    ///
    /// let billing = Delegate::new("ask_billing", Agent::new("billing", "")).guard("no_secrets", |question, _| {
    ///     let is_secret = question.to_json().contains("secret");
    ///     Ok(if is_secret { Verdict::Refuse { reason: "a secret".to_owned() } } else { Verdict::Allow })
    /// });
    /// # let _ = billing;
    /// ```
    pub fn guard(
        mut self,
        name: impl Into<Box<str>>,
        check: impl Fn(&HandoffPackage, &Trail) -> Judged + Send + Sync + 'static,
    ) -> Self {
        self.guards.push(OwnGuard::new(name, check));
        self
    }

    pub(crate) fn package_policy(&self) -> &PackagePolicy {
        &self.policy
    }

    pub(crate) fn guard_names(&self) -> impl Iterator<Item = &str> {
        self.guards.iter().map(OwnGuard::name)
    }

    pub(crate) fn own_budget(&self) -> &Budget {
        &self.budget
    }

    /// What its answers must be like. When not set, its words are the finding, as they are.
    pub fn contract(mut self, contract: Contract) -> Self {
        self.contract = Some(contract);
        self
    }
}

/// A delegate that has been checked.
#[derive(Clone)]
pub(crate) struct Deputy {
    pub(crate) tool: ToolName,
    purpose: String,
    pub(crate) relay: Arc<Relay>,
    pub(crate) entry: AgentName,
    pub(crate) budget: Budget,
    /// All that must have been asked before, those included that the named ones wait for themselves.
    after: BTreeSet<ToolName>,
    policy: PackagePolicy,
    guards: Vec<OwnGuard>,
    pub(crate) contract: Option<Contract>,
}

impl fmt::Debug for Deputy {
    /// Not all of its relay, which others may share: shown once for each, a small definition would fill gigabytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Deputy");
        shown.field("tool", &self.tool).field("entry", &self.entry).finish_non_exhaustive()
    }
}

impl Deputy {
    pub(crate) fn definition(&self) -> sommelier_protocol::ToolDefinition {
        let after: Vec<&str> = self.after.iter().map(ToolName::as_str).collect();
        pseudo_tool::question(self.tool.clone(), &self.purpose, &after, &self.policy, self.contract.is_some())
    }

    /// What a saved run depends on.
    pub(crate) fn print(&self) -> impl Serialize + '_ {
        let told = (&self.tool, &self.purpose, &self.after, &self.policy, &self.guards);
        (told, self.relay.fingerprint(), &self.entry, self.budget, self.contract)
    }

    /// The question of a call as a package, as it leaves the asker's `run` in its `relay`: with what binds the asker, and
    /// after the transforms. `most` are the bytes of arguments that a call of the asker may bring.
    pub(crate) fn question(
        &self,
        relay: &Relay,
        run: &Run,
        call: &ToolUse,
        most: usize,
    ) -> Result<HandoffPackage, DelegateRefusal> {
        let invalid = |errors| DelegateRefusal::InvalidQuestion { errors };
        let failed = |Broken { transform, causes }| DelegateRefusal::TransformFailed { transform, causes };
        let written = pseudo_tool::read_question(call, most).map_err(invalid)?;
        let written = run.carry(relay, &written).unwrap_or(written);
        let package = transform::through(relay.transforms(), &written).map_err(failed)?.unwrap_or(written);
        let errors: Vec<_> = self.policy.check(&package).into_iter().map(PackageError::of_question).collect();
        if errors.is_empty() { Ok(package) } else { Err(invalid(errors)) }
    }

    /// Asks the guards of the user's own: those of this delegate, which see the asker's hops, and those of the agent that
    /// is asked, whose relay has had none yet.
    pub(crate) fn judge(&self, package: &HandoffPackage, asker: &Trail) -> Result<(), DelegateRefusal> {
        let own = self.guards.iter().try_for_each(|guard| guard.judge(package, asker));
        let of_receiver = || {
            let mut guards = self.relay.guards_of(&self.entry).iter();
            guards.try_for_each(|guard| guard.judge(package, &Trail::default()))
        };
        own.and_then(|()| of_receiver()).map_err(|objection| {
            let tool = self.tool.clone();
            match objection {
                Objection::Refused { guard, reason } => DelegateRefusal::GuardRefused { guard, tool, reason },
                Objection::Failed { guard, causes } => DelegateRefusal::GuardFailed { guard, tool, causes },
            }
        })
    }

    /// The first of `asked` in the same reply that this one has to wait for.
    pub(crate) fn waits_for<'a>(&self, asked: &[&'a Self]) -> Option<&'a Self> {
        asked.iter().copied().find(|other| self.after.contains(&other.tool))
    }
}

/// Checks the delegates of a relay. `names` are its agents.
pub(crate) fn deputies(
    delegates: &[(String, Delegate)],
    names: &BTreeSet<&str>,
    errors: &mut Vec<BuildError>,
) -> BTreeMap<String, Vec<Deputy>> {
    let mut deputies: BTreeMap<String, Vec<Deputy>> = BTreeMap::new();
    for (asker, delegate) in delegates {
        let told = || (asker.clone(), delegate.tool.clone());
        if !names.contains(asker.as_str()) {
            let (asker, tool) = told();
            errors.push(BuildError::DelegateOfNobody { asker, tool });
        }
        if pseudo_tool::KEPT.contains(&delegate.tool.as_str()) {
            let (agent, tool) = told();
            errors.push(BuildError::ReservedTool { agent, tool });
        }
        match check(asker, delegate, delegates) {
            Ok(deputy) => deputies.entry(asker.clone()).or_default().push(deputy),
            Err(error) => errors.push(*error),
        }
    }
    deputies
}

fn check(asker: &str, delegate: &Delegate, all: &[(String, Delegate)]) -> Result<Deputy, Box<BuildError>> {
    let tool = ToolName::new(delegate.tool.as_str());
    let tool = tool.map_err(|error| Box::new(BuildError::Agent(DefinitionError::Name(error))))?;
    let of = || (asker.to_owned(), delegate.tool.clone());
    let (relay, entry) = match &delegate.team {
        Team::One(agent) => {
            let relay = Relay::builder().entry(agent.name()).agent((**agent).clone()).build();
            let relay = relay.map_err(|errors| {
                let (asker, tool) = of();
                Box::new(BuildError::Delegate { asker, tool, errors })
            })?;
            let entry = relay.entry().clone();
            (Arc::new(relay), entry)
        }
        Team::Many { relay, entry } => {
            let wanted = entry.as_deref().unwrap_or_else(|| relay.entry().as_str());
            let Some(agent) = relay.agent(wanted) else {
                let (asker, tool) = of();
                return Err(Box::new(BuildError::DelegateEntry { asker, tool, entry: wanted.to_owned() }));
            };
            (Arc::clone(relay), agent.name().clone())
        }
    };
    let after = all_before(asker, delegate, all)?;
    let Delegate { purpose, budget, policy, guards, contract, .. } = delegate.clone();
    Ok(Deputy { tool, purpose, relay, entry, budget, after, policy, guards, contract })
}

/// All delegates of `asker` that must have been asked before this one.
fn all_before(
    asker: &str,
    delegate: &Delegate,
    all: &[(String, Delegate)],
) -> Result<BTreeSet<ToolName>, Box<BuildError>> {
    let of_asker = all.iter().filter(|(other, _)| other == asker);
    let siblings: BTreeMap<&str, &Delegate> = of_asker.map(|(_, one)| (one.tool.as_str(), one)).collect();
    let mut before = BTreeSet::new();
    let mut open: Vec<&str> = delegate.after.iter().map(String::as_str).collect();
    while let Some(tool) = open.pop() {
        if before.contains(tool) {
            continue;
        }
        let (asker, waiting) = (asker.to_owned(), delegate.tool.clone());
        let Some(first) = siblings.get(tool) else {
            return Err(Box::new(BuildError::AfterNothing { asker, tool: waiting, after: tool.to_owned() }));
        };
        if tool == delegate.tool {
            return Err(Box::new(BuildError::AfterItself { asker, tool: waiting }));
        }
        if let Ok(name) = ToolName::new(tool)
            && before.insert(name)
        {
            open.extend(first.after.iter().map(String::as_str));
        }
    }
    Ok(before)
}

/// Why a delegate is not asked. The asker's model is told, and goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum DelegateRefusal {
    /// The question or its context is not valid.
    #[error("the question is not valid: {}", first(errors))]
    InvalidQuestion {
        /// What is wrong with it: never empty.
        errors: Vec<PackageError>,
    },
    /// The question needs the finding of another delegate that the same reply asks.
    #[error("{tool} waits for the finding of {after}, which this reply asks too; ask it when that is there")]
    NotYet {
        /// The delegate that has to wait.
        tool: ToolName,
        /// The one it waits for.
        after: ToolName,
    },
    /// No model calls, tokens or time are left for a branch.
    #[error("no {measure} are left for {tool}: {left} of {allowance}{}", kept(*measure))]
    BudgetSpent {
        /// The delegate.
        tool: ToolName,
        /// Of what nothing is left.
        measure: Measure,
        /// How much is left.
        left: u64,
        /// How much the run was given.
        allowance: u64,
    },
    /// The reply opens as many branches as one may.
    #[error("a reply may ask {most} delegate(s) at once, and {tool} is one more; ask it when they are back")]
    TooManyBranches {
        /// The delegate.
        tool: ToolName,
        /// How many a reply may ask.
        most: u32,
    },
    /// A guard of the user's own, of the delegate or of the agent that is asked, refused.
    #[error("{guard} refuses the question to {tool}: {reason}")]
    GuardRefused {
        /// The guard's name.
        guard: String,
        /// The delegate.
        tool: ToolName,
        /// Why.
        reason: String,
    },
    /// A guard of the user's own failed: its author's fault, and no fault of the question.
    #[error("{guard} could not judge the question to {tool}: {}", causes.join(": "))]
    GuardFailed {
        /// The guard's name.
        guard: String,
        /// The delegate.
        tool: ToolName,
        /// What its error says, and each error behind it.
        causes: Vec<String>,
    },
    /// A transform gave no package that may cross: its author's fault, and no fault of the question.
    #[error("{transform} could not change the question: {}", causes.join(": "))]
    TransformFailed {
        /// The transform's name.
        transform: String,
        /// What its error says, and each error behind it; or in what its package breaks the law.
        causes: Vec<String>,
    },
    /// The delegate is switched off.
    #[error("{tool} is switched off for now")]
    SwitchedOff {
        /// The delegate.
        tool: ToolName,
    },
}

/// What of the measure the agent that asks keeps, when nothing of it is given away.
fn kept(measure: Measure) -> &'static str {
    match measure {
        Measure::ModelCalls => ", and one is kept for the answer",
        Measure::Tokens => ", and a share is kept for the answer",
        Measure::ToolCalls | Measure::Hops | Measure::Millis => "",
    }
}

impl DelegateRefusal {
    /// The refusal in a word, for models and spans.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidQuestion { .. } => "invalid_question",
            Self::NotYet { .. } => "not_yet",
            Self::BudgetSpent { .. } => "budget_spent",
            Self::GuardRefused { .. } => "guard_refused",
            Self::GuardFailed { .. } => "guard_failed",
            Self::TransformFailed { .. } => "transform_failed",
            Self::TooManyBranches { .. } => "too_many_branches",
            Self::SwitchedOff { .. } => "tool_switched_off",
        }
    }

    /// What the asker's model is told. What code of one's own says of its failure may be of the inside, which the asker does
    /// not see: it stands in the refusal, for whoever runs the relay.
    pub(crate) fn told(&self) -> ToolOutput {
        match self {
            Self::GuardFailed { guard, tool, .. } => {
                told(self.code(), &format_args!("{guard} could not judge the question to {tool}"))
            }
            Self::TransformFailed { transform, .. } => {
                told(self.code(), &format_args!("{transform} could not change the question"))
            }
            _ => told(self.code(), self),
        }
    }
}
