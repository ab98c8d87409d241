//! A pattern that is ready to run.

use sommelier_handoff::{Agent, AgentName, BuildErrors, Delegate, Relay, RelayBuilder, Run};
use sommelier_runner::{Report, Runner};
use std::collections::BTreeMap;

use crate::Rule;

/// A pattern that is ready to run: an agent with delegates, and the rule that decides for it, if one does.
#[derive(Clone, Debug)]
pub struct Team {
    relay: Relay,
    rule: Option<Rule>,
}

impl Team {
    pub(crate) fn build(
        lead: Agent,
        delegates: Vec<Delegate>,
        rule: Option<Rule>,
        change: impl FnOnce(RelayBuilder) -> RelayBuilder,
    ) -> Result<Self, BuildErrors> {
        let name = lead.name().to_owned();
        let relay = Relay::builder().agent(lead).entry(&*name);
        let relay = delegates.into_iter().fold(relay, |relay, delegate| relay.delegate(&*name, delegate));
        Ok(Self { relay: change(relay).build()?, rule })
    }

    /// The relay to run.
    pub fn relay(&self) -> &Relay {
        &self.relay
    }

    /// The runner with the rule in the place of the lead's model. Where a model decides, the runner as it is.
    pub fn on<'m>(&self, runner: Runner<'m>) -> Runner<'m> {
        match &self.rule {
            Some(rule) => runner.model_of(self.relay.entry().as_str(), rule.clone()),
            None => runner,
        }
    }

    /// Model calls of a run of this team: the moves of a rule are none.
    pub fn model_calls(&self, report: &Report) -> u32 {
        let costs = report.cost_by_agent();
        let of_models = costs.iter().filter(|(agent, _)| self.is_model(agent));
        of_models.map(|(_, cost)| cost.model_calls).sum()
    }

    /// The model calls of a run of this team that had to wait for each other: of branches that ran side by side the
    /// longest counts.
    pub fn critical_path(&self, report: &Report) -> u32 {
        longest_chain(report.done().run(), &|agent| self.is_model(agent))
    }

    fn is_model(&self, agent: &AgentName) -> bool {
        self.rule.is_none() || agent != self.relay.entry()
    }
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
