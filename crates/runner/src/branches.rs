//! Branches on threads.

use sommelier_handoff::{Branch, Delegation, HandOff, OnFailedBranch, Relay, Step};
use sommelier_runtime::tool::at_once;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use tracing::{Span, dispatcher};

use crate::conduct::Ended;
use crate::driven::Driven;
use crate::durable::Works;
use crate::mailbox::Signals;
use crate::runner::{Around, Unwritten};
use crate::secrets::Vault;
use crate::{RunError, Runner, spans};

/// Branches of one reply that go on at the same time. Each may run as many tools at once as a reply may call, and those
/// of other conversations are there too: threads are not to be had without end.
const MOST_AT_ONCE: usize = 8;

impl Runner<'_> {
    /// Drives every branch to its end, or until it waits for a person, all at the same time. Where one ends with nothing
    /// and the relay says so, the others are called off: at their next step, or where they wait. Where a handoff in one
    /// could not be written down, that branch stays before it, and the first reason is told.
    pub(crate) fn run_branches(
        &self,
        relay: &Relay,
        delegation: Delegation,
        agent: &Span,
        around: &Around<'_>,
    ) -> Result<(Delegation, Option<Unwritten>), RunError> {
        let calls_off = relay.on_failed_branch() == OnFailedBranch::CallOff;
        let has_failed = &AtomicBool::new(calls_off && delegation.branches().iter().any(Branch::has_failed));
        let around = &Around { signals: Signals::of_branches(&around.signals, has_failed), ..*around };
        // A subscriber that was set for this thread alone is carried to the threads of the branches.
        let dispatch = dispatcher::get_default(Clone::clone);
        let works = Works::here();
        let (joint, branches) = delegation.split();
        let asked = branches.into_iter().map(|branch| asked(agent, branch, around.vault)).collect::<Vec<_>>();
        let driven = at_once(&asked, MOST_AT_ONCE, |slot| {
            let taken = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some((span, branch)) = taken else { return Err(panicked()) };
            // The inner `move` lets the span close while the subscriber is there.
            let drive = move || {
                let (branch, unwritten) = match &span {
                    Some(span) => self.run_branch(relay, branch, span, around)?,
                    None => (branch, None),
                };
                if calls_off && branch.has_failed() {
                    has_failed.store(true, Ordering::Release);
                }
                // The span of a branch that waits stays open until all are here: it may be called off yet, or its time
                // may be over.
                Ok((span.filter(|_| branch.done().is_none()), branch, unwritten))
            };
            works.with(|| dispatcher::with_default(&dispatch, drive))
        });
        let branches = driven.into_iter().map(|driven| match driven.unwrap_or_else(|| Err(panicked()))? {
            (Some(span), branch, _)
                if around.signals.called_off().is_some() || self.is_over(branch.step()) =>
            {
                self.run_branch(relay, branch, &span, around)
            }
            (_, branch, unwritten) => Ok((branch, unwritten)),
        });
        let (branches, unwritten): (Vec<_>, Vec<_>) =
            branches.collect::<Result<Vec<_>, RunError>>()?.into_iter().unzip();
        let delegation = joint.put_back(branches).map_err(|unfit| RunError::Driver(unfit.to_string()))?;
        Ok((delegation, unwritten.into_iter().flatten().next()))
    }

    fn run_branch(
        &self,
        relay: &Relay,
        branch: Branch,
        span: &Span,
        around: &Around<'_>,
    ) -> Result<(Branch, Option<Unwritten>), RunError> {
        let Some(inside) = branch.relay(relay) else {
            return Err(RunError::Driver("the relay is not the one that the run began with".to_owned()));
        };
        let take = ControlFlow::<Infallible, HandOff>::Continue;
        let mut unwritten = None;
        let ended = Ended::of(branch.step().run());
        let branch = branch.try_map(|step| match self.drive_under(inside, step, span, take, around)? {
            Driven::Done(done) => Ok::<_, RunError>(Step::Done(done)),
            Driven::Waiting(step) => Ok(step),
            Driven::Unwritten(step, why) => {
                unwritten = Some(why);
                Ok(step)
            }
        })?;
        ended.record_since(span, branch.step().run());
        if let Some(done) = branch.done() {
            spans::record_branch(span, done);
        }
        Ok((branch, unwritten))
    }
}

/// A branch with its span, where the thread that brings it further takes both out. The spans open in the order of the
/// calls, whichever thread is the first to run; a branch that had ended when it was loaded is not asked again.
fn asked(agent: &Span, branch: Branch, vault: &Vault<'_>) -> Mutex<Option<(Option<Span>, Branch)>> {
    let span = branch.done().is_none().then(|| spans::delegate(agent, &branch, vault));
    Mutex::new(Some((span, branch)))
}

fn panicked() -> RunError {
    RunError::Driver("a branch's thread panicked".to_owned())
}
