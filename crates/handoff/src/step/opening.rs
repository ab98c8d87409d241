//! From the questions of a reply to the branches that answer them.

use sommelier_protocol::{ToolUse, Words};
use sommelier_runtime::turn::Reserved;
use sommelier_runtime::{Limits, derived_id};

use super::delegation::{Asked, Branch, Delegation};
use super::shares::Shares;
use super::{Step, activate, arbitrate};
use crate::budget::Given;
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
    let mut shares = Shares::new(&run, questions.iter().filter(|(_, looked)| looked.is_ok()).count(), at);
    let mut branches = Vec::new();
    for (question, looked) in questions {
        let granted = looked.and_then(|package| match shares.grant(&run, question.deputy) {
            Ok(given) => Ok((package, given)),
            Err(refusal) => Err((Some(package), refusal)),
        });
        match granted {
            Ok((package, given)) => branches.push(question.branch(&run, &inner, package, given, at)),
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
    if let Some(purse) = run.purse_mut() {
        branches.iter().filter_map(|branch| branch.step.run().purse()).for_each(|branch| purse.lend(branch));
    }
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
    within(relay.max_branches(), questions.into_iter().map(look).collect())
}

/// Refuses the questions beyond the most branches that a reply may open.
fn within(
    most: Option<u32>,
    mut looked: Vec<(Question<'_>, Result<HandoffPackage, Refused>)>,
) -> Vec<(Question<'_>, Result<HandoffPackage, Refused>)> {
    let Some(most) = most else { return looked };
    let open = looked.iter_mut().filter(|(_, looked)| looked.is_ok());
    for (question, looked) in open.skip(usize::try_from(most).unwrap_or(usize::MAX)) {
        let refusal = DelegateRefusal::TooManyBranches { tool: question.deputy.tool.clone(), most };
        *looked = Err((looked.as_ref().ok().cloned(), refusal));
    }
    looked
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
        given: Given,
        at: Millis,
    ) -> Branch {
        #[cfg(test)]
        let package = planted::instead(Bug::BranchHearsAsker, package.clone(), || {
            let heard = asker.messages().iter().flat_map(|message| message.texts()).next();
            HandoffPackage::new(format!("{} {}", package.task(), heard.unwrap_or_default()))
        });
        let Self { place, call, deputy } = self;
        let id: Box<str> = branch_id(run, place).into();
        let mut branch = Run::branch(id.clone(), deputy, given, run);
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
