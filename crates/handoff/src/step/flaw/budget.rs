//! What cannot have been given and used.

use sommelier_runtime::turn::Used;

use super::Place;
use crate::budget::{Clock, Purse, Shared};
use crate::step::delegation::Branch;
use crate::{Cost, Link, Relay, Run};

/// What is out, beside the agents at rest.
#[derive(Default)]
pub(super) struct Out<'a> {
    /// What the conversation of the turn that is out has used.
    pub(super) used: Used,
    /// Whether its model has replied, and the reply is what is to be seen to.
    pub(super) has_replied: bool,
    pub(super) branches: &'a [Branch],
}

impl Run {
    /// Whether what the run was given is what its place has to give.
    pub(super) fn has_its_budget(&self, relay: &Relay, place: Place<'_>) -> bool {
        let empty = Purse::default();
        let purse = self.purse().unwrap_or(&empty);
        let more = purse.more_model_calls.unwrap_or_default();
        let given = |shared| purse.share(shared).map(|share| (share.most, share.more));
        let is_within = |shared: Shared| {
            let overspent = purse.share(shared).is_some_and(|share| share.used > share.given());
            // Only of tokens nobody knows how many come.
            shared == Shared::Tokens || !overspent
        };
        let fits = match place {
            Place::Root => {
                let most = |shared| given(shared).map(|(most, _)| most);
                self.allowance == relay.max_model_calls().saturating_add(more)
                    && Shared::ALL.iter().all(|shared| most(*shared) == relay.budget().of(*shared))
                    && purse.time.map(|clock| clock.most) == relay.budget().millis
            }
            Place::Branch { deputy, asker, at, .. } => {
                let is_shared = |shared: Shared| match (given(shared), deputy.budget.of(shared)) {
                    (Some((most, more)), cap) => more == 0 && cap.is_none_or(|cap| most <= cap),
                    (None, cap) => cap.is_none() && asker.given(shared.measure()).is_none(),
                };
                let is_in_time = match (purse.time, deputy.budget.millis) {
                    (Some(Clock { most, again: None, until: Some(until) }), cap) => {
                        until == at.saturating_add(most) && cap.is_none_or(|cap| most <= cap)
                    }
                    // It has begun anew while the branch was open.
                    (Some(Clock { most, again: Some(again), until: Some(until) }), cap) => {
                        until >= at.saturating_add(again) && cap.is_none_or(|cap| most <= cap && again <= cap)
                    }
                    (time, cap) => time.is_none() && cap.is_none() && !asker.is_timed(),
                };
                (1..=deputy.budget.model_calls).contains(&self.allowance)
                    && more == 0
                    && is_in_time
                    && Shared::ALL.into_iter().all(is_shared)
            }
        };
        fits && Shared::ALL.into_iter().all(is_within)
    }

    /// How much of it was used in the whole conversation, over this run and all its branches that have ended.
    fn used_over_tree(&self, shared: Shared) -> u64 {
        match shared {
            Shared::ToolCalls => self.cost().tool_calls.into(),
            Shared::Tokens => {
                let Cost { input_tokens, output_tokens, .. } = self.cost();
                input_tokens.saturating_add(output_tokens)
            }
            Shared::Hops => {
                let branches = self.links().iter().filter_map(Link::run);
                let branches = branches.map(|done| done.run().used_over_tree(shared));
                branches.fold(self.trail.count().into(), u64::saturating_add)
            }
        }
    }

    /// What is wrong with an agent at rest, or with what all of them count, `out` besides them.
    pub(super) fn flaw_of_rest(
        &self,
        relay: &Relay,
        place: Place<'_>,
        out: &Out<'_>,
    ) -> Option<&'static str> {
        let mut idle = self.idle.iter().filter_map(|(name, turn)| Some((relay.agent(name.as_str())?, turn)));
        let flaw = idle.find_map(|(agent, turn)| turn.flaw(agent));
        let awaiting = &self.extra().awaiting;
        let flaw = flaw.or_else(|| awaiting.iter().find_map(|waits| waits.flaw(relay, self)));
        let turns = self.used().map(|(_, used)| used).chain([out.used]);
        let (replies, tool_calls) = turns.fold((0, 0), |(replies, tool_calls), used| {
            (replies + u64::from(used.replies), tool_calls + u64::from(used.tool_calls))
        });
        let adds_up = replies == u64::from(self.model_calls)
            && tool_calls == u64::from(self.tool_calls)
            && self.has_asked(place, out)
            && Shared::ALL.into_iter().all(|shared| self.has_used(shared, place, out));
        flaw.or((!adds_up).then_some("the counts do not add up"))
    }

    /// Whether the model calls that are left are those that were not made. In a branch nothing is there anew; at the root no
    /// more was used than ever, and no less than open branches hold and the newest reply took.
    fn has_asked(&self, place: Place<'_>, out: &Out<'_>) -> bool {
        let lent = out.branches.iter().map(|branch| branch.step.run().allowance).fold(0, u32::saturating_add);
        let least = lent.saturating_add(out.has_replied.into());
        let most = self.cost().model_calls.saturating_add(lent);
        match place {
            Place::Root => (least..=most).contains(&self.allowance.saturating_sub(self.left)),
            Place::Branch { .. } => self.has_paid(lent),
        }
    }

    /// Whether what is used of it is what was used in a branch, or at the root no more than was used ever and no less than
    /// open branches were given.
    fn has_used(&self, shared: Shared, place: Place<'_>, out: &Out<'_>) -> bool {
        let Some(share) = self.purse().and_then(|purse| purse.share(shared)) else { return true };
        let given = out.branches.iter().filter_map(|branch| branch.step.run().given(shared.measure()));
        let given = given.fold(0, u64::saturating_add);
        let used = match shared {
            Shared::Tokens => out.used.input_tokens.saturating_add(out.used.output_tokens),
            Shared::ToolCalls | Shared::Hops => 0,
        };
        let most = self.used_over_tree(shared).saturating_add(used).saturating_add(given);
        match place {
            // Beyond the end of counting nobody knows.
            Place::Branch { .. } if most < u64::MAX => share.used == most,
            _ => (given..=most).contains(&share.used),
        }
    }
}
