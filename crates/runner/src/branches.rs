//! Branches on threads.

use sommelier_handoff::step::CALLED_OFF;
use sommelier_handoff::{Branch, Delegation, HandOff, OnFailedBranch, Relay, Step};
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use tracing::{Span, dispatcher};

use crate::runner::Driven;
use crate::{RunError, Runner, spans};

/// Why a run is called off, once it is.
pub(crate) type CalledOff<'a> = dyn Fn() -> Option<&'static str> + Sync + 'a;

impl Runner<'_> {
    /// Drives every branch to its end, all at the same time. Where one ends with nothing and the relay says so, the
    /// others are called off at their next step.
    pub(crate) fn run_branches(
        &self,
        relay: &Relay,
        delegation: Delegation,
        agent: &Span,
        called_off: &CalledOff<'_>,
    ) -> Result<Delegation, RunError> {
        let has_failed = &AtomicBool::new(false);
        let calls_off = relay.on_failed_branch() == OnFailedBranch::CallOff;
        let is_called_off =
            &|| called_off().or_else(|| has_failed.load(Ordering::Acquire).then_some(CALLED_OFF));
        // A subscriber that was set for this thread alone is carried to the threads of the branches.
        let dispatch = dispatcher::get_default(Clone::clone);
        let (joint, branches) = delegation.split();
        // The spans open in the order of the calls, whichever thread is the first to run. One that had ended when it was
        // loaded is not asked again.
        let asked = branches.into_iter().map(|branch| {
            let span = branch.done().is_none().then(|| spans::delegate(agent, &branch));
            (span, branch)
        });
        let driven = at_once(asked.collect(), |(span, branch)| {
            // The inner `move` lets the span close while the subscriber is there.
            dispatcher::with_default(&dispatch, move || {
                let branch = match &span {
                    Some(span) => self.run_branch(relay, branch, span, is_called_off)?,
                    None => branch,
                };
                if calls_off && branch.has_failed() {
                    has_failed.store(true, Ordering::Release);
                }
                Ok(branch)
            })
        });
        let branches = driven.into_iter().map(|branch| branch.unwrap_or_else(|| Err(panicked())));
        let branches = branches.collect::<Result<Vec<_>, _>>()?;
        joint.put_back(branches).map_err(|unfit| RunError::Driver(unfit.to_string()))
    }

    fn run_branch(
        &self,
        relay: &Relay,
        branch: Branch,
        span: &Span,
        called_off: &CalledOff<'_>,
    ) -> Result<Branch, RunError> {
        let Some(inside) = branch.relay(relay) else {
            return Err(RunError::Driver("the relay is not the one that the run began with".to_owned()));
        };
        let take = ControlFlow::<Infallible, HandOff>::Continue;
        let branch =
            branch.try_map(|step| match self.drive_under(inside, step, span, take, called_off)? {
                Driven::Done(done) => Ok::<_, RunError>(Step::Done(done)),
                Driven::Waiting(step) => Ok(step),
            })?;
        if let Some(done) = branch.done() {
            spans::record_branch(span, done);
        }
        Ok(branch)
    }
}

fn panicked() -> RunError {
    RunError::Driver("a branch's thread panicked".to_owned())
}

/// Does `work` on each of `items` at the same time, on scoped threads, and gives what came of each in the order of the
/// items; `None` where the work panicked. One item needs no thread. Where no thread can be had the work is done here.
fn at_once<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<Option<R>> {
    if items.len() == 1 {
        return items.into_iter().map(|item| Some(work(item))).collect();
    }
    // Each item lies where both the thread and, should there be none, this one can take it.
    let slots: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    let do_it = |slot: &Mutex<Option<T>>| {
        let item = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        item.map(&work)
    };
    let do_it = &do_it;
    thread::scope(|scope| {
        let start = |slot| (slot, thread::Builder::new().spawn_scoped(scope, move || do_it(slot)));
        let started: Vec<_> = slots.iter().map(start).collect();
        let ended = started.into_iter().map(|(slot, thread)| match thread {
            Ok(thread) => thread.join().ok().flatten(),
            Err(_) => do_it(slot),
        });
        ended.collect()
    })
}
