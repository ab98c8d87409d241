//! The run waits for a person.
//!
//! ```text
//!   CallTools ──ask_about──▶ AskHuman ──answer, the last one──▶ CallTools ...
//!   a reply ───────────────▶ AskHuman ──answer, the last one──▶ Delegate, HandOff, CallModel, Done ...
//! ```
//!
//! What was answered is on record in the run, by the question's id. The rest is a function of it: when the last answer
//! is there, the step is looked at once more as if it had just been reached, and finds each decision where it needs it.

use serde::{Deserialize, Serialize};
use sommelier_protocol::ToolUse;
use sommelier_runtime::turn::{Reserved, ToolCalls};
use sommelier_runtime::{ToolOutput, derived_id};

use super::{CallTools, Done, HandOff, Step, reserved, tell};
use crate::arbiter::Taken;
#[cfg(test)]
use crate::planted::{self, Bug};
use crate::question::{ASK_HUMAN, Answer, Asks, Decision, Question, Rejected, Wording, suffix};
use crate::{DelegateRefusal, Millis, Refusal, Relay, Run, RunEnd, pseudo_tool};

/// Questions are open that only a person can answer. Nothing else goes on in this run until they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskHuman {
    pub(super) run: Box<Run>,
    pub(super) held: Held,
    pub(super) questions: Vec<Question>,
}

/// The turn that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Held {
    /// Its tools have not run.
    Tools(ToolCalls),
    /// Its tools have run.
    Reserved(Reserved),
}

impl AskHuman {
    /// The run's state; the agent that the questions come from is active.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The questions that are open, in the order of the calls.
    pub fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// Whether `answer` can be taken. One by which a person takes over comes never too late: it begins nothing.
    pub(super) fn check(&self, id: &str, answer: &Answer, at: Millis) -> Result<(), Rejected> {
        self.check_choice(id, answer)?;
        match self.run.deadline() {
            Some(until) if until <= at && !matches!(answer, Answer::TakeOver { .. }) => {
                Err(Rejected::TooLate { id: id.to_owned(), until, at })
            }
            _ => Ok(()),
        }
    }

    fn check_choice(&self, id: &str, answer: &Answer) -> Result<(), Rejected> {
        let Some(question) = self.questions.iter().find(|question| *question.id == *id) else {
            return Err(Rejected::Unknown { id: id.to_owned(), open: Vec::new() });
        };
        #[cfg(test)]
        if planted::is(Bug::NoChoiceTaken) && question.asks.choices().contains(&answer.as_str()) {
            return Ok(());
        }
        match question.asks.misfit(answer) {
            None => Ok(()),
            Some((found, choices)) => {
                Err(Rejected::NoChoice { id: id.to_owned(), answer: found.to_owned(), choices })
            }
        }
    }

    /// Takes an answer that was checked; with the last one the run goes on.
    pub(super) fn take(mut self, relay: &Relay, id: &str, answer: Answer, at: Millis) -> Step {
        let Some(place) = self.questions.iter().position(|question| *question.id == *id) else {
            return Step::AskHuman(self);
        };
        let question = self.questions.remove(place);
        #[cfg(test)]
        if planted::is(Bug::AnsweredQuestionStaysOpen) {
            self.questions.insert(place, question.clone());
        }
        let takes_over = matches!(answer, Answer::TakeOver { .. });
        #[cfg(test)]
        let takes_over = planted::instead(Bug::TakenOverGoesOn, takes_over, || false);
        self.run.extra_mut().decisions.push(Decision { question, answer, at });
        if takes_over {
            let by =
                |run: &Run| RunEnd::TakenOver { by: run.newest_taking_over().unwrap_or_default().into() };
            return Step::Done(self.end(relay, by, TAKEN_OVER, at));
        }
        if !self.questions.is_empty() {
            return Step::AskHuman(self);
        }
        #[cfg(test)]
        if planted::is(Bug::WaitingBranchAsksAgain) && self.run.conversation().contains('/') {
            return self.end(relay, |_| RunEnd::Answered, "", at).retry(relay).unwrap_or_else(Step::Done);
        }
        match self.held {
            Held::Tools(inner) => CallTools { run: self.run, inner }.or_resume(relay, at),
            Held::Reserved(inner) => reserved(relay, self.run, inner, at),
        }
    }

    /// Ends the run here. Each open call is told `why` it was not run, or that nobody knows whether it was.
    pub(super) fn end(self, relay: &Relay, end: impl FnOnce(&Run) -> RunEnd, why: &str, at: Millis) -> Done {
        let (mut run, turn) = match self.held {
            Held::Tools(inner) => CallTools { run: self.run, inner }.left_open(&self.questions, why),
            Held::Reserved(inner) => (self.run, inner.abandon(why)),
        };
        run.set_down(turn);
        let end = end(&run);
        Done::of(relay, run, end, at)
    }
}

/// What a call is told that a person has taken out of the agents' hands.
const TAKEN_OVER: &str = "a person decides; this was not done";

/// What a question to a person is answered with: what is wrong with it, or what the person said. `None` while it is open.
pub(super) fn settled(answer: Option<&Answer>, call: &ToolUse, most: usize) -> Option<ToolOutput> {
    if let Err(errors) = pseudo_tool::read_words(call, most) {
        return Some(DelegateRefusal::InvalidQuestion { errors }.told());
    }
    match answer {
        #[cfg(test)]
        Some(_) if planted::is(Bug::AnswerNotTold) => Some(ToolOutput::ok("{}")),
        Some(Answer::Say { text }) => Some(ToolOutput::ok(serde_json::json!({ "answer": text }).to_string())),
        _ => None,
    }
}

/// A reply's questions to a person: those that are answered get their answer, the others are open.
pub(super) fn ask(
    relay: &Relay,
    run: Box<Run>,
    mut inner: Reserved,
    at: Millis,
) -> Result<(Box<Run>, Reserved), Box<Step>> {
    if !inner.calls().any(|(_, call)| call.name() == ASK_HUMAN) {
        return Ok((run, inner));
    }
    let most = relay.agent(run.active.as_str()).map_or(0, |agent| agent.limits().input_bytes);
    let calls: Vec<(usize, ToolUse)> = inner
        .calls()
        .filter(|(_, call)| call.name() == ASK_HUMAN)
        .map(|(place, call)| (place, call.clone()))
        .collect();
    let mut questions = Vec::new();
    for (place, call) in calls {
        match settled(run.decision_at(place), &call, most) {
            Some(output) => inner.settle(place, output),
            None => {
                let Wording { question, choices } = pseudo_tool::read_words(&call, most).unwrap_or_default();
                let asks = Asks::Words { call_id: call.id().into(), question, choices };
                let id = run.call_id(place).into();
                questions.push(Question { id, from: run.active.clone(), at, asks });
            }
        }
    }
    if questions.is_empty() {
        return Ok((run, inner));
    }
    Err(Box::new(Step::AskHuman(AskHuman { run, held: Held::Reserved(inner), questions })))
}

/// A handoff has passed all guards. On a route that needs approval a person is asked before it can be taken.
pub(super) fn approve(
    relay: &Relay,
    run: Box<Run>,
    inner: Reserved,
    outputs: Vec<ToolOutput>,
    taken: Taken,
    at: Millis,
) -> Step {
    if !needs_approval(relay, &run, &taken) {
        return Step::HandOff(HandOff { run, inner, outputs, taken: Box::new(taken) });
    }
    let Taken { to, package, hop } = taken;
    let asks = Asks::Handoff { call_id: hop.call_id, to, package: Box::new(package) };
    let question = Question { id: hop.id, from: run.active.clone(), at, asks };
    Step::AskHuman(AskHuman { run, held: Held::Reserved(inner), questions: vec![question] })
}

/// Whether a person has to approve a handoff first, and has not approved just this one.
pub(super) fn needs_approval(relay: &Relay, run: &Run, taken: &Taken) -> bool {
    let is_this = |asks: &Asks| match asks {
        Asks::Handoff { to, package, .. } => *to == taken.to && **package == taken.package,
        _ => false,
    };
    let is_approved = run.decisions().iter().any(|Decision { question, answer, .. }| {
        question.id == taken.hop.id && *answer == Answer::Approve && is_this(&question.asks)
    });
    #[cfg(test)]
    let is_approved =
        planted::instead(Bug::RejectedHandoffTaken, is_approved, || run.decision(&taken.hop.id).is_some());
    #[cfg(test)]
    let is_approved = planted::instead(Bug::ApprovalNotAsked, is_approved, || true);
    #[cfg(test)]
    let is_approved = planted::instead(Bug::ApprovalOfAnother, is_approved, || {
        let is_approval = |decision: &Decision| {
            decision.answer == Answer::Approve && decision.question.asks.as_str() == "handoff"
        };
        run.decisions().iter().any(is_approval)
    });
    relay.way(&run.active, &taken.to).is_some_and(|way| way.route.needs_approval) && !is_approved
}

/// A guard has refused a handoff, and a person is to say how to go on. When that was said, the sender's model is told,
/// in the person's words too.
pub(super) fn escalate(
    relay: &Relay,
    run: Box<Run>,
    inner: Reserved,
    mut outputs: Vec<ToolOutput>,
    (hop, refusal): (&str, Refusal),
    at: Millis,
) -> Step {
    #[cfg(test)]
    if planted::is(Bug::EscalationNotAsked) {
        return tell(relay, run, inner, outputs, at);
    }
    let id: Box<str> = [hop, suffix::ESCALATION].concat().into();
    if let Some(answer) = run.decision(&id) {
        let place = inner.calls().position(|(place, _)| run.call_id(place) == hop);
        let output = place.and_then(|place| outputs.get_mut(place));
        if let (Answer::Reject { reason }, Some(output)) = (answer, output) {
            *output = refusal.told_with(relay.receivers(&run.active), Some(reason));
        }
        return tell(relay, run, inner, outputs, at);
    }
    let asks = Asks::Escalation { refusal: Box::new(refusal) };
    let question = Question { id, from: run.active.clone(), at, asks };
    Step::AskHuman(AskHuman { run, held: Held::Reserved(inner), questions: vec![question] })
}

impl Step {
    /// The questions that the tree waits for, each with the run that it is asked in: its path is the run's conversation.
    pub fn questions(&self) -> Vec<(&Run, &Question)> {
        self.open()
            .into_iter()
            .filter_map(|step| match step {
                Self::AskHuman(asking) => Some(asking),
                _ => None,
            })
            .flat_map(|asking| asking.questions.iter().map(|question| (&*asking.run, question)))
            .collect()
    }

    /// Takes a person's answer to the question of this id, wherever in the tree it is open.
    ///
    /// # Errors
    /// [`Rejected`], with the step as it was: an id that no question has, a question that was answered before, an answer
    /// that the question does not have, or one that comes when the time of the run that asks is over.
    pub fn answer(
        self,
        relay: &Relay,
        id: &str,
        answer: Answer,
        at: Millis,
    ) -> Result<Self, (Box<Self>, Rejected)> {
        let asking = self.open().into_iter().find_map(|step| match step {
            Self::AskHuman(asking) if asking.questions.iter().any(|question| *question.id == *id) => {
                Some(asking)
            }
            _ => None,
        });
        let Some(asking) = asking else {
            let rejected = self.not_open(id);
            #[cfg(test)]
            if planted::is(Bug::SecondAnswerTaken) && matches!(rejected, Rejected::Decided { .. }) {
                return Ok(self);
            }
            return Err((Box::new(self), rejected));
        };
        if let Err(rejected) = asking.check(id, &answer, at) {
            return Err((Box::new(self), rejected));
        }
        let path = asking.run.conversation().to_owned();
        let taken = self.go_on_at(relay, &path, |relay, step| match step {
            Self::AskHuman(asking) => asking.take(relay, id, answer, at),
            other => other,
        });
        taken.map_err(|step| {
            let rejected = step.not_open(id);
            (step, rejected)
        })
    }

    fn not_open(&self, id: &str) -> Rejected {
        if let Some(answer) = self.decided(id) {
            return Rejected::Decided { id: id.to_owned(), answer };
        }
        let open = self.questions().iter().map(|(_, question)| question.id.to_string()).collect();
        Rejected::Unknown { id: id.to_owned(), open }
    }

    /// The answer that was taken to a question, in this run, in open branches and in those that have ended.
    fn decided(&self, id: &str) -> Option<Answer> {
        let of_branches = || match self {
            Self::Delegate(delegation) => {
                delegation.branches.iter().find_map(|branch| branch.step.decided(id))
            }
            _ => None,
        };
        self.run().decided(id).or_else(of_branches)
    }
}

impl Run {
    /// The answers that people gave in this run, in order.
    pub fn decisions(&self) -> &[Decision] {
        &self.extra().decisions
    }

    /// What was answered to the question of this id in this run.
    pub(crate) fn decision(&self, id: &str) -> Option<&Answer> {
        self.decision_record(id).map(|decision| &decision.answer)
    }

    fn decision_record(&self, id: &str) -> Option<&Decision> {
        self.decisions().iter().find(|decision| *decision.question.id == *id)
    }

    /// What was answered to the question about the call at `place` of the newest reply.
    pub(crate) fn decision_at(&self, place: usize) -> Option<&Answer> {
        self.decision_on(place, suffix::NONE).map(|decision| &decision.answer)
    }

    /// The answer to the question about the call at `place` of the newest reply, with the question. Most runs have no
    /// answers, and then no id is made to look for one.
    pub(crate) fn decision_record_at(&self, place: usize) -> Option<&Decision> {
        self.decision_on(place, suffix::NONE)
    }

    /// As [`decision_record_at`](Self::decision_record_at), of the question whose id has this [`suffix`].
    pub(super) fn decision_on(&self, place: usize, suffix: &str) -> Option<&Decision> {
        if self.decisions().is_empty() {
            return None;
        }
        self.decision_record(&[&self.call_id(place), suffix].concat())
    }

    /// The id of the call at `place` of the newest reply.
    pub(crate) fn call_id(&self, place: usize) -> String {
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        derived_id(&self.conversation, &[self.messages, self.model_calls, place])
    }

    /// As [`decision`](Self::decision), over branches that have ended too.
    fn decided(&self, id: &str) -> Option<Answer> {
        let of_branches = || self.links().iter().find_map(|link| link.run()?.run().decided(id));
        self.decision(id).cloned().or_else(of_branches)
    }

    /// What a person has noted whose newest answer it was to take over.
    pub(super) fn newest_taking_over(&self) -> Option<&str> {
        match self.decisions().last().map(|decision| &decision.answer) {
            Some(Answer::TakeOver { note }) => Some(&**note),
            _ => None,
        }
    }
}
