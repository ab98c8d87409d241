//! How much a run may use, and what is left of it.
//!
//! Model calls are counted in the [`Run`] itself. The other measures are limited where somebody says so, and only then
//! is anything kept of them: a [`Purse`].
//!
//! A branch is given some of what its asker has, and what it leaves over comes back at the join. What is given counts as
//! used meanwhile, so a tree never uses more than its root was given, whichever branch goes on first. Tokens are known
//! when a reply is there: of them a tree may use more by one reply for each open branch.

use serde::{Deserialize, Serialize};
use std::fmt;

use crate::{Millis, Run, RunEnd};

/// The most of each that a run may use between two messages of the user, its branches included.
///
/// A run that has used all of its model calls, tokens or time ends as [`RunEnd::BudgetSpent`], with everything in it, and
/// [goes on with more](crate::Done::with_more). A tool call beyond the most is not run, and the model is told; a hop
/// beyond it is refused by [`Guard::Cap`](crate::Guard::Cap).
///
/// ```
/// use sommelier_handoff::{Agent, Budget, Delegate, Relay};
///
/// let billing = Agent::new("billing", "You know the invoices.");
/// let relay = Relay::builder()
///     .agent(Agent::new("supervisor", "You ask the desks."))
///     .delegate("supervisor", Delegate::new("ask_billing", billing).budget(Budget::new(2).millis(500)))
///     .entry("supervisor")
///     .budget(Budget::new(100).tool_calls(40).tokens(200_000))
///     .build()?;
/// assert_eq!(relay.budget().tokens, Some(200_000));
/// # Ok::<(), sommelier_handoff::BuildErrors>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Model calls that bring a reply.
    pub model_calls: u32,
    /// Runs of agents' own tools; no limit when `None`.
    pub tool_calls: Option<u32>,
    /// Tokens, read and written; no limit when `None`.
    pub tokens: Option<u64>,
    /// Handoffs that are taken, branches' included; no limit when `None`. The guards' own cap stands beside it.
    pub hops: Option<u32>,
    /// Milliseconds, by the times that a driver gives, from the first that it gives; no limit when `None`.
    pub millis: Option<Millis>,
}

impl Budget {
    /// So many model calls, and nothing else limited.
    pub fn new(model_calls: u32) -> Self {
        Self { model_calls, tool_calls: None, tokens: None, hops: None, millis: None }
    }

    /// No limit of its own. A delegate with it is given a share of whatever its asker has left, so a limit that is raised
    /// at the root reaches it.
    pub fn unlimited() -> Self {
        Self::new(u32::MAX)
    }

    /// Sets the most runs of tools.
    pub fn tool_calls(mut self, most: u32) -> Self {
        self.tool_calls = Some(most);
        self
    }

    /// Sets the most tokens, read and written together.
    pub fn tokens(mut self, most: u64) -> Self {
        self.tokens = Some(most);
        self
    }

    /// Sets the most handoffs that are taken.
    pub fn hops(mut self, most: u32) -> Self {
        self.hops = Some(most);
        self
    }

    /// Sets the most milliseconds.
    pub fn millis(mut self, most: Millis) -> Self {
        self.millis = Some(most);
        self
    }

    /// The limit of what is shared like tool calls, tokens and hops.
    pub(crate) fn of(&self, measure: Shared) -> Option<u64> {
        match measure {
            Shared::ToolCalls => self.tool_calls.map(u64::from),
            Shared::Tokens => self.tokens,
            Shared::Hops => self.hops.map(u64::from),
        }
    }
}

/// What a budget limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Model calls that bring a reply.
    ModelCalls,
    /// Runs of agents' own tools.
    ToolCalls,
    /// Tokens, read and written.
    Tokens,
    /// Handoffs that are taken.
    Hops,
    /// Time.
    Millis,
}

impl Measure {
    /// The measure in a word, for spans and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ModelCalls => "model_calls",
            Self::ToolCalls => "tool_calls",
            Self::Tokens => "tokens",
            Self::Hops => "hops",
            Self::Millis => "millis",
        }
    }

    /// One of it.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::ModelCalls => "model call",
            Self::ToolCalls => "tool call",
            Self::Tokens => "token",
            Self::Hops => "hop",
            Self::Millis => "millisecond",
        }
    }
}

impl fmt::Display for Measure {
    /// As people say it: `model calls`, `milliseconds`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s", self.unit())
    }
}

/// The measures of which a branch is given a share, besides model calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shared {
    ToolCalls,
    Tokens,
    Hops,
}

impl Shared {
    pub(crate) const ALL: [Self; 3] = [Self::ToolCalls, Self::Tokens, Self::Hops];

    pub(crate) fn measure(self) -> Measure {
        match self {
            Self::ToolCalls => Measure::ToolCalls,
            Self::Tokens => Measure::Tokens,
            Self::Hops => Measure::Hops,
        }
    }
}

/// What a run was given of the measures that are limited besides model calls, and what it has used of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Purse {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tool_calls: Option<Share>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tokens: Option<Share>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hops: Option<Share>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) time: Option<Clock>,
    /// Model calls that were added since the user spoke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) more_model_calls: Option<u32>,
}

/// One measure of a purse.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Share {
    pub(crate) most: u64,
    /// What was added since the user spoke.
    pub(crate) more: u64,
    /// What open branches were given counts as used.
    pub(crate) used: u64,
}

impl Share {
    pub(crate) fn of(most: u64) -> Self {
        Self { most, more: 0, used: 0 }
    }

    pub(crate) fn given(&self) -> u64 {
        self.most.saturating_add(self.more)
    }

    pub(crate) fn left(&self) -> u64 {
        self.given().saturating_sub(self.used)
    }
}

/// The time of a purse.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Clock {
    pub(crate) most: Millis,
    /// The time that was given in its place when the run went on with more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) again: Option<Millis>,
    /// When it is over; `None` while nobody has said what time it is.
    pub(crate) until: Option<Millis>,
}

impl Clock {
    pub(crate) fn given(&self) -> Millis {
        self.again.unwrap_or(self.most)
    }
}

/// What a branch is given.
pub(crate) struct Given {
    pub(crate) model_calls: u32,
    pub(crate) purse: Option<Box<Purse>>,
}

impl Purse {
    /// The purse of a root; `None` when nothing but model calls is limited.
    fn of(budget: &Budget) -> Option<Self> {
        let time = budget.millis.map(|most| Clock { most, again: None, until: None });
        let [tool_calls, tokens, hops] = Shared::ALL.map(|shared| budget.of(shared).map(Share::of));
        Self { tool_calls, tokens, hops, time, more_model_calls: None }.or_none()
    }

    /// The purse, if anything is in it.
    pub(crate) fn or_none(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }

    pub(crate) fn share(&self, shared: Shared) -> Option<&Share> {
        match shared {
            Shared::ToolCalls => self.tool_calls.as_ref(),
            Shared::Tokens => self.tokens.as_ref(),
            Shared::Hops => self.hops.as_ref(),
        }
    }

    pub(crate) fn share_mut(&mut self, shared: Shared) -> &mut Option<Share> {
        match shared {
            Shared::ToolCalls => &mut self.tool_calls,
            Shared::Tokens => &mut self.tokens,
            Shared::Hops => &mut self.hops,
        }
    }

    /// What a branch was given counts as used.
    pub(crate) fn lend(&mut self, branch: &Self) {
        self.change(branch, |mine, theirs| mine.used = mine.used.saturating_add(theirs.given()));
    }

    /// A branch has ended: what it used counts, and no more what it was given.
    pub(crate) fn take_back(&mut self, branch: &Self) {
        self.change(branch, |mine, theirs| {
            mine.used = mine.used.saturating_sub(theirs.given()).saturating_add(theirs.used);
        });
    }

    /// The purse as if a branch had been given nothing.
    pub(crate) fn unlend(&mut self, branch: &Self) {
        self.change(branch, |mine, theirs| mine.used = mine.used.saturating_sub(theirs.given()));
    }

    fn change(&mut self, branch: &Self, change: impl Fn(&mut Share, &Share)) {
        for shared in Shared::ALL {
            if let (Some(mine), Some(theirs)) = (self.share_mut(shared), branch.share(shared)) {
                change(mine, theirs);
            }
        }
    }

    /// Whether this can be `earlier`, gone on: nobody gave it more, and nothing it used came back.
    pub(crate) fn follows(&self, earlier: &Self) -> bool {
        let is_less_left = |shared| match (self.share(shared), earlier.share(shared)) {
            (Some(now), Some(then)) => now.given() == then.given() && now.used >= then.used,
            (now, then) => now.is_none() && then.is_none(),
        };
        Shared::ALL.into_iter().all(is_less_left)
            && (self.time, self.more_model_calls) == (earlier.time, earlier.more_model_calls)
    }
}

impl Run {
    /// How much of `measure` the run was given for itself and its branches; `None` when that is not limited, or, of model
    /// calls, [without a limit](Budget::unlimited). A branch is given a share of what its asker has, and that is its limit.
    pub fn given(&self, measure: Measure) -> Option<u64> {
        let share = |shared| self.purse()?.share(shared).map(Share::given);
        match measure {
            Measure::ModelCalls => self.limits_model_calls().then(|| self.allowance.into()),
            Measure::ToolCalls => share(Shared::ToolCalls),
            Measure::Tokens => share(Shared::Tokens),
            Measure::Hops => share(Shared::Hops),
            Measure::Millis => self.purse()?.time.map(|clock| clock.given()),
        }
    }

    /// How much of `measure` is left, what open branches were given not counted; `None` when that is not limited. How
    /// much time is left only a clock can tell: see [`deadline`](Self::deadline).
    pub fn left(&self, measure: Measure) -> Option<u64> {
        let share = |shared| self.purse()?.share(shared).map(Share::left);
        match measure {
            Measure::ModelCalls => self.limits_model_calls().then(|| self.left.into()),
            Measure::ToolCalls => share(Shared::ToolCalls),
            Measure::Tokens => share(Shared::Tokens),
            Measure::Hops => share(Shared::Hops),
            Measure::Millis => None,
        }
    }

    fn limits_model_calls(&self) -> bool {
        self.allowance < Budget::unlimited().model_calls
    }

    /// When the run's time is over; `None` when that is not limited, or nobody has told the run yet what time it is.
    pub fn deadline(&self) -> Option<Millis> {
        self.purse()?.time?.until
    }

    /// Whether the run's time is limited, so that a driver has to tell it what time it is.
    pub fn is_timed(&self) -> bool {
        self.purse().is_some_and(|purse| purse.time.is_some())
    }

    pub(crate) fn purse(&self) -> Option<&Purse> {
        self.extra.as_deref()?.purse.as_deref()
    }

    pub(crate) fn purse_mut(&mut self) -> Option<&mut Purse> {
        self.extra.as_deref_mut()?.purse.as_deref_mut()
    }

    /// Hears what time it is; the first time since the user spoke begins the clock.
    pub(crate) fn hear_time(&mut self, at: Millis) {
        if let Some(clock) = self.purse_mut().and_then(|purse| purse.time.as_mut()) {
            clock.until.get_or_insert(at.saturating_add(clock.given()));
        }
    }

    /// Whether the run's time is over.
    pub(crate) fn is_over(&self, at: Millis) -> bool {
        self.deadline().is_some_and(|until| until <= at)
    }

    /// Whether what is left of the model calls is just what this run and its branches have not made, `lent` being what open
    /// branches hold. So it is in a branch, where nothing is there anew.
    pub(crate) fn has_paid(&self, lent: u32) -> bool {
        self.allowance.checked_sub(self.left) == Some(self.cost().model_calls.saturating_add(lent))
    }

    /// The end of a run whose time is over.
    pub(crate) fn time_spent(&self) -> RunEnd {
        self.spent_of(Measure::Millis)
    }

    /// The end of a run that has nothing left to ask a model with.
    pub(crate) fn spent(&self) -> Option<RunEnd> {
        if self.left == 0 {
            return Some(self.spent_of(Measure::ModelCalls));
        }
        (self.left(Measure::Tokens) == Some(0)).then(|| self.spent_of(Measure::Tokens))
    }

    fn spent_of(&self, measure: Measure) -> RunEnd {
        RunEnd::BudgetSpent { measure, most: self.given(measure).unwrap_or_default() }
    }

    /// Something was used.
    pub(crate) fn charge(&mut self, shared: Shared, amount: u64) {
        if let Some(share) = self.purse_mut().and_then(|purse| purse.share_mut(shared).as_mut()) {
            share.used = share.used.saturating_add(amount);
        }
    }

    /// The user has spoken: everything is there anew.
    pub(crate) fn fill(&mut self, budget: &Budget) {
        self.allowance = budget.model_calls;
        self.left = self.allowance;
        let purse = Purse::of(budget).map(Box::new);
        if purse.is_some() || self.purse().is_some() {
            self.extra_mut().purse = purse;
        }
    }

    /// The run is tried again: what it was given is there anew.
    pub(crate) fn refill(&mut self) {
        self.left = self.allowance;
        let Some(purse) = self.purse_mut() else { return };
        for share in Shared::ALL {
            if let Some(share) = purse.share_mut(share) {
                share.used = 0;
            }
        }
        if let Some(clock) = &mut purse.time {
            clock.until = None;
        }
    }

    /// The run goes on with more. Its time begins anew, since nobody knows how long it has waited.
    pub(crate) fn add(&mut self, more: &Budget) {
        let added = self.allowance.saturating_add(more.model_calls) - self.allowance;
        self.allowance += added;
        self.left = self.left.saturating_add(added);
        if added > 0 {
            let before = &mut self.extra_mut().purse.get_or_insert_default().more_model_calls;
            *before = Some(before.unwrap_or_default().saturating_add(added));
        }
        let Some(purse) = self.purse_mut() else { return };
        for shared in Shared::ALL {
            if let (Some(share), Some(more)) = (purse.share_mut(shared), more.of(shared)) {
                share.more = share.more.saturating_add(more);
            }
        }
        if let Some(clock) = &mut purse.time {
            clock.again = more.millis.or(clock.again);
            clock.until = None;
        }
    }

    /// The time of a branch begins anew, now that its asker's has: as much as `cap` lets it have of what its asker has.
    pub(crate) fn renew_time(&mut self, until: Option<Millis>, cap: Option<Millis>, at: Millis) {
        let left = until.map(|until| until.saturating_sub(at));
        let again = left.into_iter().chain(cap).min();
        if let (Some(clock), Some(given)) = (self.purse_mut().and_then(|purse| purse.time.as_mut()), again) {
            clock.again = again;
            clock.until = Some(at.saturating_add(given));
        }
    }
}
