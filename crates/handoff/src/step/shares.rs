//! What is left to a run that asks, shared among the branches of one reply.

use crate::budget::{Clock, Given, Purse, Share, Shared};
use crate::delegate::Deputy;
#[cfg(test)]
use crate::planted::{self, Bug};
use crate::{DelegateRefusal, Measure, Millis, Run};

/// What is left, shared in equal parts. One model call is kept for the agent that asks, and as many tokens as each
/// branch may get, or it could not answer.
pub(super) struct Shares {
    model_calls: Part,
    /// In the order of [`Shared::ALL`].
    shared: [Option<Part>; 3],
    until: Option<Millis>,
    at: Millis,
}

/// One measure of what is left.
struct Part {
    rest: u64,
    share: u64,
}

impl Part {
    /// What the next branch would get, at most `cap`.
    fn next(&self, cap: Option<u64>) -> u64 {
        self.share.min(self.rest).min(cap.unwrap_or(u64::MAX))
    }

    fn take(&mut self, cap: Option<u64>) -> u64 {
        let given = self.next(cap);
        self.rest -= given;
        given
    }
}

impl Shares {
    pub(super) fn new(run: &Run, branches: usize, at: Millis) -> Self {
        let rest = run.left.saturating_sub(1);
        #[cfg(test)]
        let rest = planted::instead(Bug::NothingKeptForAsker, rest, || run.left);
        let branches = u64::try_from(branches).unwrap_or(u64::MAX).max(1);
        let part = |rest: u64| Part { rest, share: (rest / branches).max(1) };
        let shared = Shared::ALL.map(|shared| {
            let left = run.purse()?.share(shared)?.left();
            Some(match shared {
                // Nobody knows how many its answer takes.
                Shared::Tokens => Part { rest: left, share: left / branches.saturating_add(1) },
                Shared::ToolCalls | Shared::Hops => part(left),
            })
        });
        Self { model_calls: part(rest.into()), shared, until: run.deadline(), at }
    }

    /// What the next branch is given.
    ///
    /// # Errors
    /// When nothing is left of something that it could not do without.
    pub(super) fn grant(&mut self, run: &Run, deputy: &Deputy) -> Result<Given, DelegateRefusal> {
        if let Some((measure, left)) = self.lacking(run, deputy) {
            let allowance = run.given(measure).unwrap_or_default();
            return Err(DelegateRefusal::BudgetSpent { tool: deputy.tool.clone(), measure, left, allowance });
        }
        let model_calls = self.model_calls.take(Some(deputy.budget.model_calls.into()));
        let mut purse = Purse { time: self.time(deputy.budget.millis), ..Purse::default() };
        for (shared, part) in Shared::ALL.into_iter().zip(&mut self.shared) {
            let cap = deputy.budget.of(shared);
            let given = part.as_mut().map_or(cap, |part| Some(part.take(cap)));
            *purse.share_mut(shared) = given.map(Share::of);
        }
        let purse = purse.or_none().map(Box::new);
        Ok(Given { model_calls: u32::try_from(model_calls).unwrap_or(u32::MAX), purse })
    }

    /// Of what nothing is left for a branch, and how much is, besides what branches of this reply were given.
    fn lacking(&self, run: &Run, deputy: &Deputy) -> Option<(Measure, u64)> {
        let is_over = self.until.is_some_and(|until| until <= self.at);
        let [_, tokens, _] = &self.shared;
        if self.model_calls.next(Some(deputy.budget.model_calls.into())) == 0 {
            // The one that is kept included.
            Some((Measure::ModelCalls, u64::from(run.left).min(self.model_calls.rest.saturating_add(1))))
        } else if let Some(part) = tokens.as_ref().filter(|part| part.next(None) == 0) {
            Some((Measure::Tokens, part.rest))
        } else {
            is_over.then_some((Measure::Millis, 0))
        }
    }

    /// Time passes for all at once: a branch has its own, and never more than its asker.
    fn time(&self, cap: Option<Millis>) -> Option<Clock> {
        let left = self.until.map(|until| until.saturating_sub(self.at));
        let most = match (left, cap) {
            (Some(left), Some(cap)) => left.min(cap),
            (left, cap) => left.or(cap)?,
        };
        Some(Clock { most, again: None, until: Some(self.at.saturating_add(most)) })
    }
}
