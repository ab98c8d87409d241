//! From the questions of a reply to the branches that answer them.

use sommelier_protocol::{ToolUse, Words};
use sommelier_runtime::turn::Reserved;
use sommelier_runtime::{Limits, derived_id};

use super::delegation::{Asked, Branch, Delegation};
use super::{Step, activate, arbitrate};
use crate::delegate::Deputy;
#[cfg(test)]
use crate::planted::{self, Bug};
use crate::{DelegateRefusal, HandoffPackage, Link, LinkOutcome, Millis, Relay, Run};

/// A reply has calls of reserved tools: those of delegates open branches, and handoffs are ruled on after them.
pub(super) fn open(relay: &Relay, mut run: Box<Run>, mut inner: Reserved, at: Millis) -> Step {
    let limits = relay.agent(run.active.as_str()).map(|agent| *agent.limits());
    let Some(limits) = limits.filter(|_| !relay.deputies(&run.active).is_empty()) else {
        return arbitrate(relay, run, inner, at);
    };
    let questions = judge(relay, &run, &inner, &limits);
    #[cfg(test)]
    if planted::is(Bug::HandoffBeforeBranches) && questions.len() < inner.calls().count() {
        for (question, _) in &questions {
            inner.settle(question.place, sommelier_runtime::ToolOutput::ok("{}"));
        }
        return arbitrate(relay, run, inner, at);
    }
    let mut shares = Shares::new(&run, questions.iter().filter(|(_, looked)| looked.is_ok()).count());
    let mut branches = Vec::new();
    for (question, looked) in questions {
        match looked.and_then(|package| shares.grant(&run, question.deputy, package)) {
            Ok((package, allowance)) => branches.push(question.branch(&run, &inner, package, allowance, at)),
            Err((package, refusal)) => {
                let link = question.link(&run, package, refusal, at);
                inner.settle(question.place, link.told());
                #[cfg(test)]
                if planted::is(Bug::RefusedQuestionForgotten) {
                    continue;
                }
                run.extra_mut().links.push(link);
            }
        }
    }
    if branches.is_empty() {
        return arbitrate(relay, run, inner, at);
    }
    let given: u32 = branches.iter().map(|branch| branch.step.run().left).sum();
    #[cfg(test)]
    let given = planted::instead(Bug::AllowanceNotTaken, given, || 0);
    run.left = run.left.saturating_sub(given);
    Step::Delegate(Delegation { run, inner, branches })
}

/// A call of a delegate.
struct Question<'a> {
    place: usize,
    call: ToolUse,
    deputy: &'a Deputy,
}

/// A question that is not sent out, and why.
type Refused = (Option<HandoffPackage>, DelegateRefusal);

/// Looks at the questions of a reply, in the order of the calls: what is to be sent out, or why not.
fn judge<'a>(
    relay: &'a Relay,
    run: &Run,
    inner: &Reserved,
    limits: &Limits,
) -> Vec<(Question<'a>, Result<HandoffPackage, Refused>)> {
    let deputies = relay.deputies(&run.active);
    let of_deputy = |(place, call): (usize, &ToolUse)| {
        let deputy = deputies.iter().find(|deputy| deputy.tool.as_str() == call.name())?;
        Some(Question { place, call: call.clone(), deputy })
    };
    let questions: Vec<Question<'_>> = inner.calls().filter_map(of_deputy).collect();
    let asked: Vec<&Deputy> = questions.iter().map(|question| question.deputy).collect();
    #[cfg(test)]
    let asked = planted::instead(Bug::AfterIgnored, asked, Vec::new);
    let look = |question: Question<'a>| {
        let looked = look_at(relay, run, &question.call, question.deputy, &asked, limits.input_bytes);
        (question, looked)
    };
    questions.into_iter().map(look).collect()
}

/// Looks at one question of a reply that asks all of `asked`.
fn look_at(
    relay: &Relay,
    run: &Run,
    call: &ToolUse,
    deputy: &Deputy,
    asked: &[&Deputy],
    most: usize,
) -> Result<HandoffPackage, Refused> {
    let tool = || deputy.tool.clone();
    let package = match deputy.question(relay, run, call, most) {
        Ok(package) => package,
        Err(refusal) => return Err((None, refusal)),
    };
    let is_off = run.is_switched_off(&run.active, call.name());
    #[cfg(test)]
    let is_off = planted::instead(Bug::SwitchedOffAsked, is_off, || false);
    if is_off {
        return Err((Some(package), DelegateRefusal::SwitchedOff { tool: tool() }));
    }
    match deputy.waits_for(asked) {
        Some(first) => {
            let after = first.tool.clone();
            Err((Some(package), DelegateRefusal::NotYet { tool: tool(), after }))
        }
        None => match deputy.judge(&package, &run.trail) {
            Ok(()) => Ok(package),
            Err(refusal) => Err((Some(package), refusal)),
        },
    }
}

impl Question<'_> {
    #[cfg_attr(
        not(test),
        expect(unused_variables, reason = "one of the planted bugs tells what the asker was told")
    )]
    fn branch(
        self,
        run: &Run,
        asker: &Reserved,
        package: HandoffPackage,
        allowance: u32,
        at: Millis,
    ) -> Branch {
        #[cfg(test)]
        let package = planted::instead(Bug::BranchHearsAsker, package.clone(), || {
            let heard = asker.messages().iter().flat_map(|message| message.texts()).next();
            HandoffPackage::new(format!("{} {}", package.task(), heard.unwrap_or_default()))
        });
        let Self { place, call, deputy } = self;
        let id: Box<str> = branch_id(run, place).into();
        let mut branch = Run::branch(id.clone(), deputy, allowance, run);
        branch.bind(&package);
        let words = Words::or_dash(package.to_question_under(&run.active, deputy.contract));
        let step = activate(&deputy.relay, Box::new(branch), words, at);
        let (from, tool, call_id) = (run.active.clone(), deputy.tool.clone(), call.id().into());
        Branch { asked: Asked { id, from, tool, place, call_id, at, package }, step }
    }

    fn link(&self, run: &Run, package: Option<HandoffPackage>, refusal: DelegateRefusal, at: Millis) -> Link {
        Link {
            id: branch_id(run, self.place).into(),
            from: run.active.clone(),
            tool: self.deputy.tool.clone(),
            call_id: self.call.id().into(),
            at,
            package_bytes: package.as_ref().map_or(0, HandoffPackage::bytes),
            package,
            outcome: LinkOutcome::Refused { refusal },
        }
    }
}

/// The id of the branch that the call at `place` of the newest reply opens.
pub(super) fn branch_id(run: &Run, place: usize) -> String {
    let place = u32::try_from(place).unwrap_or(u32::MAX);
    #[cfg(test)]
    let place = planted::instead(Bug::OneIdForAllBranches, place, || 0);
    derived_id(&run.conversation, &[run.messages, run.model_calls, place])
}

/// The model calls that are left, shared among branches. One is kept for the agent that asks, or it could not answer.
struct Shares {
    rest: u32,
    share: u32,
}

impl Shares {
    fn new(run: &Run, branches: usize) -> Self {
        let rest = run.left.saturating_sub(1);
        #[cfg(test)]
        let rest = planted::instead(Bug::NothingKeptForAsker, rest, || run.left);
        let branches = u32::try_from(branches).unwrap_or(u32::MAX).max(1);
        Self { rest, share: (rest / branches).max(1) }
    }

    /// The package with the model calls that its branch may make, if there are any left.
    fn grant(
        &mut self,
        run: &Run,
        deputy: &Deputy,
        package: HandoffPackage,
    ) -> Result<(HandoffPackage, u32), Refused> {
        match self.take(deputy.max_model_calls) {
            Some(allowance) => Ok((package, allowance)),
            None => {
                // Besides what branches of this reply were given, the one that is kept included.
                let left = run.left.min(self.rest.saturating_add(1));
                let (tool, allowance) = (deputy.tool.clone(), run.allowance);
                Err((Some(package), DelegateRefusal::BudgetSpent { tool, left, allowance }))
            }
        }
    }

    /// The share of the next branch, at most `cap`; `None` when nothing is left.
    fn take(&mut self, cap: u32) -> Option<u32> {
        let given = self.share.min(cap).min(self.rest);
        self.rest -= given;
        (given > 0).then_some(given)
    }
}
