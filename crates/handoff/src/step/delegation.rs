//! Delegates that are asked: the turn stays where it is, and each question has a run of its own, a branch.
//!
//! ```text
//!                      ┌─▶ branch: CallModel ... Done ─┐
//!   Reserved ─open─▶ Delegate                          ├─join─▶ HandOff, CallModel ...
//!                      └─▶ branch: CallModel ... Done ─┘
//! ```
//!
//! Branches share nothing. Each is given what it may use when it is opened, and what it leaves over comes back at the
//! join. So it does not matter which of them goes on first: any order of their steps that keeps the order within each
//! branch leads to the same tree.

use serde::{Deserialize, Serialize};
use sommelier_protocol::ToolName;
use sommelier_runtime::turn::Reserved;
use sommelier_runtime::{AgentName, TurnStep};

use super::{Done, Halt, Step, advance, arbitrate};
use crate::budget::Purse;
#[cfg(test)]
use crate::planted::{self, Bug};
use crate::{DelegateResult, DelegateStatus, HandoffPackage, Link, LinkOutcome, Millis, Relay, Run};

/// What a branch of an open reply is told that another branch of it made pointless.
pub const CALLED_OFF: &str = "called off, since another branch failed";

/// Delegates have been asked, and their branches go on side by side. The agent that asked keeps the turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delegation {
    pub(super) run: Box<Run>,
    pub(super) inner: Reserved,
    pub(super) branches: Vec<Branch>,
}

/// One question and the run that answers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    pub(super) asked: Asked,
    pub(super) step: Step,
}

/// What was asked, and by whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    pub(super) id: Box<str>,
    pub(super) from: AgentName,
    pub(super) tool: ToolName,
    /// The place of the call among the calls of its reply.
    pub(super) place: usize,
    pub(super) call_id: Box<str>,
    pub(super) at: Millis,
    pub(super) package: HandoffPackage,
}

impl Branch {
    /// The branch's name in the tree, which is the name of its conversation too: the conversation that asked, and the
    /// message, model call and call in it.
    pub fn path(&self) -> &str {
        &self.asked.id
    }

    /// The agent that asked.
    pub fn from(&self) -> &AgentName {
        &self.asked.from
    }

    /// The tool by which it asked.
    pub fn tool(&self) -> &ToolName {
        &self.asked.tool
    }

    /// The id of the asker's call.
    pub fn call_id(&self) -> &str {
        &self.asked.call_id
    }

    /// What was asked.
    pub fn package(&self) -> &HandoffPackage {
        &self.asked.package
    }

    /// The relay that the branch runs in; `None` when `relay` is not the one of the run that asked.
    pub fn relay<'a>(&self, relay: &'a Relay) -> Option<&'a Relay> {
        relay.delegate(self.asked.from.as_str(), self.asked.tool.as_str())
    }

    /// Where the branch stands.
    pub fn step(&self) -> &Step {
        &self.step
    }

    /// What came of it, once it has ended.
    pub fn done(&self) -> Option<&Done> {
        match &self.step {
            Step::Done(done) => Some(done),
            _ => None,
        }
    }

    /// Whether it has ended with nothing.
    pub fn has_failed(&self) -> bool {
        self.done().is_some_and(|done| done.status() == DelegateStatus::Failed)
    }

    /// The branch after `go_on` has brought its step further.
    ///
    /// # Errors
    /// Those of `go_on`.
    pub fn try_map<E>(self, go_on: impl FnOnce(Step) -> Result<Step, E>) -> Result<Self, E> {
        Ok(Self { asked: self.asked, step: go_on(self.step)? })
    }
}

/// A delegation without its branches, which are with a driver.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    run: Box<Run>,
    inner: Reserved,
    taken_out: Vec<TakenOut>,
}

/// What must be true of a branch that comes back.
#[derive(Clone, Debug, PartialEq)]
struct TakenOut {
    path: Box<str>,
    definition: u64,
    allowance: u32,
    /// Model calls that it and its own branches that have ended have made.
    spent: u32,
    /// What its own open branches hold counts as not used.
    purse: Option<Box<Purse>>,
}

impl TakenOut {
    fn of(branch: &Branch) -> Self {
        let run = branch.step.run();
        let Run { definition, allowance, .. } = *run;
        let (path, spent) = (branch.asked.id.clone(), run.cost().model_calls);
        Self { path, definition, allowance, spent, purse: branch.step.purse_without_branches() }
    }

    /// Whether this is the branch, gone on. Nobody but the asker speaks in it, and nobody gives it more or anew.
    fn is(&self, branch: &Branch) -> bool {
        let run = branch.step.run();
        branch.asked.id == self.path
            && run.conversation() == &*self.path
            && (run.definition, run.allowance, run.messages) == (self.definition, self.allowance, 1)
            && run.unread().is_empty()
            && run.has_paid(branch.step.lent())
            && run.cost().model_calls >= self.spent
            && match (branch.step.purse_without_branches(), &self.purse) {
                (Some(purse), Some(earlier)) => purse.follows(earlier),
                (purse, earlier) => purse.is_none() && earlier.is_none(),
            }
    }
}

impl Delegation {
    /// The run's state; the agent that asked is active.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The branches, in the order of the calls.
    pub fn branches(&self) -> &[Branch] {
        &self.branches
    }

    /// Whether every branch has ended.
    pub fn is_over(&self) -> bool {
        self.branches.iter().all(|branch| branch.done().is_some())
    }

    /// Takes the branches out, so that each can be brought further by a thread or a task of its own.
    pub fn split(self) -> (Joint, Vec<Branch>) {
        let taken_out = self.branches.iter().map(TakenOut::of).collect();
        (Joint { run: self.run, inner: self.inner, taken_out }, self.branches)
    }

    /// Goes on with the findings: the asker's model is told them, or takes the handoff that stood beside its questions.
    ///
    /// # Errors
    /// The delegation is handed back when a branch has not ended.
    pub fn join(self, relay: &Relay, at: Millis) -> Result<Step, Box<Self>> {
        if !self.is_over() {
            return Err(Box::new(self));
        }
        let Self { mut run, mut inner, branches } = self;
        settle(relay, &mut run, &mut inner, branches, at);
        if run.is_over(at) {
            return Ok(advance(relay, run, TurnStep::Reserved(inner), at));
        }
        Ok(arbitrate(relay, run, inner, at))
    }

    /// Tells each branch what time it is.
    pub(super) fn now(self, relay: &Relay, at: Millis) -> Self {
        let branches = self.branches.into_iter().map(|branch| {
            let inside = branch.relay(relay).unwrap_or(relay);
            Branch { asked: branch.asked, step: branch.step.now(inside, at) }
        });
        Self { run: self.run, inner: self.inner, branches: branches.collect() }
    }

    /// The time of each open branch begins anew, since that of the one that asked has.
    pub(super) fn renew_time(&mut self, relay: &Relay, at: Millis) {
        let until = self.run.deadline();
        let deputies = relay.deputies(&self.run.active);
        for branch in self.branches.iter_mut().filter(|branch| branch.done().is_none()) {
            let Some(deputy) = deputies.iter().find(|deputy| deputy.tool == branch.asked.tool) else {
                continue;
            };
            branch.step.run_mut().renew_time(until, deputy.budget.millis, at);
            if let Step::Delegate(below) = &mut branch.step {
                below.renew_time(&deputy.relay, at);
            }
        }
    }

    /// Ends what is under way, branches included; what they have found so far is kept.
    pub(super) fn halt(self, relay: &Relay, halt: Halt<'_>, at: Millis) -> (Box<Run>, Reserved) {
        let Self { mut run, mut inner, branches } = self;
        let called_off = branches.into_iter().map(|branch| {
            let inside = branch.relay(relay).unwrap_or(relay);
            Branch { asked: branch.asked, step: Step::Done(branch.step.halt(inside, halt, at)) }
        });
        let called_off = called_off.collect();
        #[cfg(test)]
        let called_off = planted::instead(Bug::BranchesLostWhenCalledOff, called_off, Vec::new);
        settle(relay, &mut run, &mut inner, called_off, at);
        (run, inner)
    }
}

impl Joint {
    /// Puts the branches back, in whichever order they come.
    ///
    /// # Errors
    /// [`Unfit`] when they are not those that were taken out, gone on: a branch hears nobody but the one that asked, and is
    /// not tried again with new model calls.
    pub fn put_back(self, mut branches: Vec<Branch>) -> Result<Delegation, Unfit> {
        branches.sort_by_key(|branch| branch.asked.place);
        let fits = branches.len() == self.taken_out.len()
            && self.taken_out.iter().zip(&branches).all(|(taken_out, branch)| taken_out.is(branch));
        if !fits {
            let found = branches.iter().map(found).collect();
            let expected = self.taken_out.iter().map(|taken_out| taken_out.path.to_string()).collect();
            return Err(Unfit { expected, found, joint: Box::new(self), branches });
        }
        Ok(Delegation { run: self.run, inner: self.inner, branches })
    }
}

/// A branch as it came back, with what its run says of itself.
fn found(branch: &Branch) -> String {
    let run = branch.step.run();
    format!(
        "{} (run {}, {} message(s), {} of {} model calls left)",
        branch.path(),
        run.conversation(),
        run.messages,
        run.left,
        run.allowance
    )
}

/// Branches that are not those of a delegation: the driver's fault. All of it is handed back.
#[derive(Debug, thiserror::Error)]
#[error("the branches {expected:?} were taken out, {found:?} came back")]
pub struct Unfit {
    /// The paths of the branches that were taken out.
    pub expected: Vec<String>,
    /// The branches that came, each with what its run says of itself.
    pub found: Vec<String>,
    /// The delegation without its branches.
    pub joint: Box<Joint>,
    /// The branches that came.
    pub branches: Vec<Branch>,
}

/// Answers the calls of branches that have ended, writes down what came of them, and takes back what they left over.
fn settle(relay: &Relay, run: &mut Run, inner: &mut Reserved, branches: Vec<Branch>, returned: Millis) {
    let most = relay.agent(run.active.as_str()).map_or(usize::MAX, |agent| agent.limits().result_bytes);
    #[cfg(test)]
    let places: Vec<usize> = branches.iter().rev().map(|branch| branch.asked.place).collect();
    #[cfg(test)]
    let mut places = places.into_iter();
    for branch in branches {
        let Asked { id, from, tool, place, call_id, at, package } = branch.asked;
        let Step::Done(done) = branch.step else { continue };
        let Some(inside) = relay.delegate(from.as_str(), tool.as_str()) else { continue };
        let result = DelegateResult::of(&done, inside, most);
        #[cfg(test)]
        let place =
            places.next().map_or(place, |other| planted::instead(Bug::FindingsSwapped, place, || other));
        let left = done.run().left;
        #[cfg(test)]
        let left = planted::instead(Bug::AllowanceNotReturned, left, || 0);
        run.left = run.left.saturating_add(left);
        if let (Some(purse), Some(branch)) = (run.purse_mut(), done.run().purse()) {
            purse.take_back(branch);
        }
        let outcome = LinkOutcome::Returned { at: returned, result, run: Box::new(done) };
        let package_bytes = package.bytes();
        let package = Some(package);
        let link = Link { id, from, tool, call_id, at, package, package_bytes, outcome };
        inner.settle(place, link.told());
        run.extra_mut().links.push(link);
    }
}

impl Step {
    /// The branches that are open in this run.
    pub(super) fn branches(&self) -> &[Branch] {
        match self {
            Self::Delegate(delegation) => &delegation.branches,
            _ => &[],
        }
    }

    /// Model calls that the run has given to open branches.
    pub(super) fn lent(&self) -> u32 {
        self.branches().iter().map(|branch| branch.step.run().allowance).fold(0, u32::saturating_add)
    }

    fn purse_without_branches(&self) -> Option<Box<Purse>> {
        let mut purse = Box::new(self.run().purse()?.clone());
        let lent = self.branches().iter().filter_map(|branch| branch.step.run().purse());
        lent.for_each(|branch| purse.unlend(branch));
        Some(purse)
    }

    /// The steps of the tree that wait for an answer, in the order of the calls that opened them: this one, or, where
    /// delegates were asked, those of the branches that have not ended. A delegation all of whose branches have ended
    /// waits to be joined. The name of a step's conversation is its path in the tree.
    pub fn open(&self) -> Vec<&Self> {
        match self {
            Self::Delegate(delegation) if !delegation.is_over() => {
                let branches = delegation.branches.iter().filter(|branch| branch.done().is_none());
                branches.flat_map(|branch| branch.step.open()).collect()
            }
            _ => vec![self],
        }
    }

    /// Whether nothing goes on by itself: the run has ended, or all that is open in the tree waits for a person.
    pub fn is_at_rest(&self) -> bool {
        matches!(self, Self::Done(_)) || self.open().into_iter().all(|open| matches!(open, Self::AskHuman(_)))
    }

    /// Brings the open step at `path` further, and leaves the rest of the tree as it is. `go_on` gets the relay that
    /// the step belongs to.
    ///
    /// # Errors
    /// The tree is handed back when no step is open at this path, or when `go_on` has brought a branch to what it cannot come
    /// to by itself, as in [`Joint::put_back`]: then it stands there as `go_on` has left it.
    pub fn go_on_at(
        self,
        relay: &Relay,
        path: &str,
        go_on: impl FnOnce(&Relay, Self) -> Self,
    ) -> Result<Self, Box<Self>> {
        let mut delegation = match self {
            Self::Delegate(delegation) if !delegation.is_over() => delegation,
            step if step.run().conversation() == path => return Ok(go_on(relay, step)),
            step => return Err(Box::new(step)),
        };
        let holds = |branch: &Branch| branch.done().is_none() && path.starts_with(branch.path());
        let place = delegation.branches.iter().position(|branch| {
            holds(branch) && branch.step.open().iter().any(|step| step.run().conversation() == path)
        });
        let inside =
            place.and_then(|place| delegation.branches[place].relay(relay).map(|inside| (place, inside)));
        let Some((place, inside)) = inside else { return Err(Box::new(Self::Delegate(delegation))) };
        let branch = delegation.branches.remove(place);
        let taken_out = TakenOut::of(&branch);
        let Branch { asked, step } = branch;
        let (step, has_gone_on) = match step.go_on_at(inside, path, go_on) {
            Ok(step) => (step, true),
            Err(step) => (*step, false),
        };
        let branch = Branch { asked, step };
        let has_gone_on = has_gone_on && taken_out.is(&branch);
        delegation.branches.insert(place, branch);
        #[cfg(test)]
        if planted::is(Bug::LeftOverToNextBranch) {
            hand_on(&mut delegation.branches, place);
        }
        let tree = Self::Delegate(delegation);
        if has_gone_on { Ok(tree) } else { Err(Box::new(tree)) }
    }
}

/// A [planted bug](Bug::LeftOverToNextBranch).
#[cfg(test)]
fn hand_on(branches: &mut [Branch], ended: usize) {
    let next = branches.iter().position(|branch| branch.done().is_none());
    if let (Some(next), true) = (next, branches[ended].done().is_some()) {
        let left = std::mem::take(&mut branches[ended].step.run_mut().left);
        branches[next].step.run_mut().left += left;
    }
}
