//! Whom a pattern may ask.

use sommelier_handoff::{AgentName, Contract, Delegate, PackagePolicy};

use crate::{Rule, TeamError};

/// Whom a pattern may ask: a [`Delegate`], or a whole [`Team`](crate::Team) put [behind](crate::Team::behind) a tool,
/// whose rules come along.
///
/// Where a team is asked with a [context](sommelier_handoff::HandoffPackage::context), the rule that leads it hands
/// those values on with each question that it asks.
///
/// A team's relay that is made a delegate by [`Delegate::team`] leaves its rules behind; put the team behind a tool
/// instead.
///
/// ```
/// use sommelier_handoff::{Agent, Delegate};
/// use sommelier_patterns::{FanOut, Finding, Pipeline};
/// use sommelier_runner::{Outcome, Runner};
/// use sommelier_runtime::{ScriptedModel, script};
///
/// let desks = FanOut::new("desks")
///     .part(Delegate::new("ask_kitchen", Agent::new("kitchen", "")), |words| format!("Kitchen: {words}"))
///     .part(Delegate::new("ask_cellar", Agent::new("cellar", "")), |words| format!("Cellar: {words}"))
///     .aggregate(|_, findings| findings.iter().map(Finding::words).collect::<Vec<_>>().join(" "))
///     .build()?;
/// let team = Pipeline::new("waiter")
///     .stage(desks.behind("ask_desks"), |words, _| words.to_owned())
///     .stage(Delegate::new("write", Agent::new("writer", "")), |_, so_far| so_far[0].words().to_owned())
///     .build()?;
///
/// let model = ScriptedModel::new()
///     .turn("kitchen", |_| script::say("Turbot."))
///     .turn("cellar", |_| script::say("Chablis."))
///     .turn("writer", |request| {
///         let heard = script::first_words(request).contains("Turbot. Chablis.");
///         script::say(if heard { "Turbot, with a Chablis." } else { "Nothing came." })
///     });
/// let Outcome::Ended(report) = team.run(Runner::new(model), "What is there?")? else { panic!() };
/// assert_eq!(report.answer(), "Turbot, with a Chablis.");
/// assert_eq!((team.model_calls(&report), team.critical_path(&report)), (3, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Member {
    pub(crate) delegate: Delegate,
    pub(crate) rules: Vec<(AgentName, Rule)>,
}

impl Member {
    /// The name of the tool by which it is asked.
    pub fn tool(&self) -> &str {
        self.delegate.tool()
    }

    /// What it is for, in one line, as [`Delegate::purpose`]: a model that may ask it is told.
    pub fn purpose(self, purpose: impl Into<String>) -> Self {
        self.with(|delegate| delegate.purpose(purpose))
    }

    /// The most model calls for one question, as [`Delegate::max_model_calls`]. The moves of rules count here as the
    /// calls of models do.
    pub fn max_model_calls(self, most: u32) -> Self {
        self.with(|delegate| delegate.max_model_calls(most))
    }

    /// Names another one whose finding its question needs, as [`Delegate::after`]. Only a model that decides whom it
    /// asks can keep to it.
    pub fn after(self, tool: impl Into<String>) -> Self {
        self.with(|delegate| delegate.after(tool))
    }

    /// What a question and its context may be like, as [`Delegate::policy`].
    pub fn policy(self, policy: PackagePolicy) -> Self {
        self.with(|delegate| delegate.policy(policy))
    }

    /// What its answers must be like, as [`Delegate::contract`]. Where a rule leads it, the rule has to write them so.
    pub fn contract(self, contract: Contract) -> Self {
        self.with(|delegate| delegate.contract(contract))
    }

    fn with(self, change: impl FnOnce(Delegate) -> Delegate) -> Self {
        Self { delegate: change(self.delegate), rules: self.rules }
    }
}

impl From<Delegate> for Member {
    fn from(delegate: Delegate) -> Self {
        Self { delegate, rules: Vec::new() }
    }
}

/// Whether `lead`, who asks everybody at once, may have these.
pub(crate) fn all_at_once(lead: &str, members: &[Member]) -> Result<(), TeamError> {
    let waits = |member: &Member| {
        let (tool, after) = (member.tool().to_owned(), member.delegate.waits_for().first()?.clone());
        Some(TeamError::AfterAtOnce { lead: lead.to_owned(), tool, after })
    };
    members.iter().find_map(waits).map_or(Ok(()), Err)
}
