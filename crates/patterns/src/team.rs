//! A pattern that is ready to run.

use sommelier_handoff::{Agent, AgentName, Delegate, Relay, RelayBuilder, Run};
use sommelier_runner::{Outcome, Report, RunError, Runner};
use sommelier_runtime::Limits;
use std::collections::BTreeMap;

use crate::{Member, Rule, TeamError};

/// Model calls that a relay allows when nothing is said.
const USUAL_BUDGET: u32 = 50;

/// A pattern that is ready to run: an agent with delegates, and the rules that decide for it and for the teams behind
/// its delegates.
///
/// ```
/// use sommelier_handoff::{Agent, Delegate};
/// use sommelier_patterns::FanOut;
/// use sommelier_runner::{Outcome, Runner};
/// use sommelier_runtime::{ScriptedModel, script};
///
/// let team = FanOut::new("waiter")
///     .part(Delegate::new("ask_kitchen", Agent::new("kitchen", "")), |words| words.to_owned())
///     .build()?;
/// let model = ScriptedModel::new().turn("kitchen", |request| {
///     let is_first = script::first_words(request).contains("What is there?");
///     script::say(if is_first { "Turbot." } else { "It is out." })
/// });
/// let Outcome::Ended(first) = team.run(Runner::new(&model), "What is there?")? else { panic!() };
/// assert_eq!(first.answer(), "ask_kitchen: Turbot.");
///
/// // The same by hand, to go on with the conversation.
/// let runner = team.on(Runner::new(&model));
/// let Outcome::Ended(second) = runner.go_on(team.relay(), first.into_done(), "Is it still there?")? else { panic!() };
/// assert_eq!(second.answer(), "ask_kitchen: It is out.");
/// assert_eq!(team.model_calls(&second), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Team {
    relay: Relay,
    rules: BTreeMap<AgentName, Rule>,
}

/// The code that leads a team.
pub(crate) struct Lead {
    pub(crate) name: String,
    pub(crate) rule: Rule,
    /// Its moves, when it asks each member once.
    pub(crate) moves: u32,
}

impl Team {
    /// A team that code leads. What it may ask and how often its author has written down, so nothing of it is cut, and
    /// the budget is at least what all members may spend together.
    pub(crate) fn by_rule(
        lead: Lead,
        members: Vec<Member>,
        change: impl FnOnce(RelayBuilder) -> RelayBuilder,
    ) -> Result<Self, TeamError> {
        let Lead { name, rule, moves } = lead;
        let usual = Limits::default();
        let max_steps = usual.max_steps.max(moves);
        let limits = Limits { max_steps, calls_per_reply: u32::MAX as usize, ..usual };
        let most = members.iter().map(|member| member.delegate.allowance()).fold(moves, u32::saturating_add);
        Self::build(Agent::new(name, "").limits(limits), Some(rule), members, |relay| {
            change(relay.max_model_calls(most.max(USUAL_BUDGET)))
        })
    }

    /// A team whose lead is a model.
    pub(crate) fn by_model(
        lead: Agent,
        members: Vec<Member>,
        change: impl FnOnce(RelayBuilder) -> RelayBuilder,
    ) -> Result<Self, TeamError> {
        Self::build(lead, None, members, change)
    }

    fn build(
        lead: Agent,
        rule: Option<Rule>,
        members: Vec<Member>,
        change: impl FnOnce(RelayBuilder) -> RelayBuilder,
    ) -> Result<Self, TeamError> {
        let name = lead.name().to_owned();
        let mut relay = Relay::builder().agent(lead).entry(&*name);
        let mut of_members = Vec::new();
        for Member { delegate, rules } in members {
            relay = relay.delegate(&*name, delegate);
            of_members.extend(rules);
        }
        let relay = change(relay).build()?;
        let mut rules = BTreeMap::new();
        let of_lead = rule.map(|rule| (relay.entry().clone(), rule));
        for (name, rule) in of_lead.into_iter().chain(of_members) {
            if rules.insert(name.clone(), rule).is_some() {
                return Err(TeamError::TwoRules { name });
            }
        }
        let everybody = agents(&relay);
        let is_double = |name: &&AgentName| everybody.iter().filter(|agent| *agent == name).count() > 1;
        match rules.keys().find(is_double) {
            Some(name) => Err(TeamError::NamedLikeRule { name: name.clone() }),
            None => Ok(Self { relay, rules }),
        }
    }

    /// The relay to run. It alone is not the team: where rules decide it needs a runner that has them, which is what
    /// [`on`](Self::on) makes; without it the leads' moves are asked of a model.
    pub fn relay(&self) -> &Relay {
        &self.relay
    }

    /// The rules of the whole tree, each by the name of the agent that it decides for; none where only models decide.
    /// For a driver of one's own: a [`Rule`] is a [`Model`](sommelier_runtime::Model), to be asked for that agent.
    pub fn rules(&self) -> impl Iterator<Item = (&AgentName, &Rule)> {
        self.rules.iter()
    }

    /// The runner with each rule of the tree in the place of its agent's model. Where only models decide, the runner as
    /// it is.
    pub fn on<'m>(&self, runner: Runner<'m>) -> Runner<'m> {
        self.rules().fold(runner, |runner, (name, rule)| runner.model_of(name.as_str(), rule.clone()))
    }

    /// Begins a conversation with the user's words and drives it to its end. To go on with it afterwards, take the
    /// runner that [`on`](Self::on) makes.
    ///
    /// # Errors
    /// [`RunError`], as [`Runner::run`].
    pub fn run(&self, runner: Runner<'_>, text: &str) -> Result<Outcome, RunError> {
        self.on(runner).run(&self.relay, text)
    }

    /// The team as somebody whom another pattern asks by calls of `tool`. It may use as much for one
    /// question as the [budget](Relay::budget) of its own relay allows, unless [`Member::max_model_calls`] says otherwise, and never more than its
    /// asker has left.
    ///
    /// Two levels below the outermost team are usual; for more, give that one
    /// `build_with(|relay| relay.max_depth(3))`. Agents for which rules decide need names of their own in the whole tree,
    /// so one team stands behind one tool. [`Member`] has an example.
    pub fn behind(self, tool: impl Into<String>) -> Member {
        let budget = *self.relay.budget();
        let delegate = Delegate::team(tool, self.relay).budget(budget);
        Member { delegate, rules: self.rules.into_iter().collect() }
    }

    /// Model calls of a run of this team: the moves of rules are none, nor are those of teams within it.
    pub fn model_calls(&self, report: &Report) -> u32 {
        let costs = report.cost_by_agent();
        let of_models = costs.iter().filter(|(agent, _)| self.is_model(agent));
        of_models.map(|(_, cost)| cost.model_calls).sum()
    }

    /// The model calls of a run of this team that had to wait for each other: of branches that ran side by side the
    /// longest counts, and the moves of rules do not.
    pub fn critical_path(&self, report: &Report) -> u32 {
        longest_chain(report.done().run(), &|agent| self.is_model(agent))
    }

    fn is_model(&self, agent: &AgentName) -> bool {
        !self.rules.contains_key(agent)
    }
}

/// The names of all agents of a tree; one that stands in it twice is named twice.
fn agents(relay: &Relay) -> Vec<&AgentName> {
    let mine = relay.agents().map(|agent| agent.name());
    let behind = relay.delegates().filter_map(|(asker, tool)| relay.delegate(asker.as_str(), tool.as_str()));
    mine.chain(behind.flat_map(agents)).collect()
}

/// The model calls of a run that had to wait for each other, where every agent is a model's: of branches that ran side
/// by side the longest counts. A run without branches is a single chain, so all of its calls count, whoever made them;
/// a handoff makes no chain shorter. For a [`Team`] that a rule leads ask [`Team::critical_path`].
///
/// ```
/// use sommelier_handoff::{Agent, Relay};
/// use sommelier_patterns::critical_path;
/// use sommelier_runner::{Outcome, Runner};
/// use sommelier_runtime::{ScriptedModel, script};
///
/// let relay = Relay::builder()
///     .agent(Agent::new("clerk", "You take down what is wanted."))
///     .agent(Agent::new("till", "You take the money."))
///     .entry("clerk")
///     .route("clerk", "till")
///     .build()?;
/// let order = r#"{"specialist":"till","task":"Take the money.","context":{"tickets":2}}"#;
/// let model = ScriptedModel::new()
///     .turn("clerk", |_| script::call("tu_1", "handoff_to_specialist", order))
///     .turn("till", |_| script::say("Here are your tickets."));
/// let Outcome::Ended(report) = Runner::new(model).run(&relay, "Two tickets, please.")? else { panic!() };
/// assert_eq!((report.model_calls(), critical_path(&report)), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn critical_path(report: &Report) -> u32 {
    longest_chain(report.done().run(), &|_| true)
}

/// The model calls of a run, and for each reply that opened branches those of the longest.
fn longest_chain(run: &Run, is_model: &dyn Fn(&AgentName) -> bool) -> u32 {
    let own = run.at_rest().filter(|(agent, _)| is_model(agent)).map(|(_, turn)| turn.replies());
    let mut longest: BTreeMap<&str, u32> = BTreeMap::new();
    for link in run.links() {
        let reply = link.id.rsplit_once('/').map_or(&*link.id, |(reply, _)| reply);
        let steps = link.run().map_or(0, |branch| longest_chain(branch.run(), is_model));
        let most = longest.entry(reply).or_default();
        *most = steps.max(*most);
    }
    own.sum::<u32>() + longest.values().sum::<u32>()
}
