//! What cannot be in a branch, open or ended.

use sommelier_runtime::Definition;
use std::collections::BTreeSet;

use super::Place;
use crate::delegate::Deputy;
use crate::step::Delegation;
use crate::step::delegation::Branch;
use crate::{DelegateResult, HandoffPackage, Link, LinkOutcome, Relay, Run};

impl Delegation {
    pub(super) fn flaw(&self, relay: &Relay) -> Option<String> {
        let asked = self.inner.calls().filter_map(|(place, call)| {
            let tool = relay.delegate(self.run.active.as_str(), call.name()).is_some();
            tool.then_some(place)
        });
        let most =
            relay.max_branches().map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        if !(1..=most).contains(&self.branches.len())
            || !asked.eq(self.branches.iter().map(|branch| branch.asked.place))
        {
            return Some("the branches are not those that the calls open".to_owned());
        }
        let is_open = |link: &Link| self.branches.iter().any(|branch| branch.asked.id == link.id);
        if self.run.links().iter().any(is_open) {
            return Some("a delegation that is open is on record as ended".to_owned());
        }
        let agent = relay.agent(self.run.active.as_str())?;
        self.branches.iter().find_map(|branch| self.flaw_of_branch(relay, agent, branch))
    }

    fn flaw_of_branch(&self, relay: &Relay, agent: &Definition, branch: &Branch) -> Option<String> {
        let asked = &branch.asked;
        let deputy = relay.deputies(&self.run.active).iter().find(|deputy| deputy.tool == asked.tool);
        let call = self.inner.calls().find(|(place, _)| *place == asked.place).map(|(_, call)| call);
        let (Some(deputy), Some(call)) = (deputy, call) else {
            return Some("a branch has no call that opened it".to_owned());
        };
        let is_asked = asked.from == self.run.active
            && call.name() == asked.tool.as_str()
            && call.id() == &*asked.call_id
            && *asked.id == *self.run.call_id(asked.place)
            && deputy.question(relay, &self.run, call, agent.limits().input_bytes).as_ref()
                == Ok(&asked.package)
            && deputy.judge(&asked.package, &self.run.trail).is_ok();
        if !is_asked {
            return Some("a branch is not the one that its call asks for".to_owned());
        }
        let run = branch.step.run();
        // One that has ended keeps the time that it had, whatever its asker was given since.
        if branch.done().is_none() && run.deadline() > self.run.deadline() && self.run.is_timed() {
            return Some("a branch has more time than the one that asked".to_owned());
        }
        let place = Place::Branch { deputy, question: &asked.package, asker: &self.run, at: asked.at };
        flaw_of_branch_run(deputy, &asked.id, run).or_else(|| branch.step.flaw_at(&deputy.relay, place))
    }
}

fn flaw_of_branch_run(deputy: &Deputy, id: &str, run: &Run) -> Option<String> {
    let fits = run.conversation() == id && run.definition == deputy.relay.fingerprint();
    (!fits).then(|| "a branch holds another run than its own".to_owned())
}

impl Link {
    fn flaw(&self, relay: &Relay, asker: &Run) -> Option<String> {
        let deputy = relay.deputies(&self.from).iter().find(|deputy| deputy.tool == self.tool);
        let Some(deputy) = deputy else { return Some("somebody was asked who is no delegate".to_owned()) };
        if self.package_bytes != self.package.as_ref().map_or(0, HandoffPackage::bytes) {
            return Some("the counts do not add up".to_owned());
        }
        let LinkOutcome::Returned { result, run: done, .. } = &self.outcome else { return None };
        let most = relay.agent(self.from.as_str()).map_or(usize::MAX, |agent| agent.limits().result_bytes);
        let question =
            self.package.as_ref().filter(|_| *result == DelegateResult::of(done, &deputy.relay, most));
        let Some(question) = question else { return Some("a finding is not that of its branch".to_owned()) };
        flaw_of_branch_run(deputy, &self.id, done.run())
            .or_else(|| done.flaw_at(&deputy.relay, Place::Branch { deputy, question, asker, at: self.at }))
    }
}

impl Run {
    pub(super) fn flaw_of_links(&self, relay: &Relay) -> Option<String> {
        let mut ids: BTreeSet<&str> = self.trail.hops().iter().map(|hop| &*hop.id).collect();
        for link in self.links() {
            let is_of_run = self.place_of(&link.id).is_some_and(|(message, reply)| {
                message <= self.messages && (1..=self.model_calls).contains(&reply)
            });
            if !is_of_run || !ids.insert(&link.id) {
                return Some("a delegation has an id that is not its own".to_owned());
            }
        }
        self.links().iter().find_map(|link| link.flaw(relay, self))
    }
}
