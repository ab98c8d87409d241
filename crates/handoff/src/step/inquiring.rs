//! A person is asked about calls of tools: whether they may run, whether they may run once more, whether they have run.
//!
//! ```text
//!                 ┌─ Approval ─▶ approve: it runs        reject: it does not
//!   ask_about ────┼─ Repeat ───▶ approve: it runs        reject: it does not, and is told what was done before
//!                 └─ InDoubt ──▶ happened, did_not_happen, undone: it has its output, and never runs
//! ```
//!
//! What a call that was in doubt is told is a function of the answer on record, as all that follows from answers is. It was
//! made, so it is counted as a run, when the reply is answered or the run ends.

use serde::Serialize;
use sommelier_protocol::ToolUse;
use sommelier_runtime::tool::{self, Failure, ToolFailure};
use sommelier_runtime::{ToolOutput, Turn};

use super::human::{AskHuman, Held};
use super::{CallTools, Step};
#[cfg(test)]
use crate::planted::{self, Bug};
use crate::question::{Answer, Asks, Inquiry, Question, suffix};
use crate::{Measure, Millis, Run};

impl CallTools {
    /// Asks a person whether the calls at these places may run. No call of the reply runs before they are answered.
    ///
    /// # Errors
    /// The step is handed back when a place is none of [`calls`](Self::calls), or there is none.
    pub fn ask(self, places: &[usize], at: Millis) -> Result<Step, Box<Self>> {
        self.ask_about(&places.iter().map(|place| (*place, Inquiry::Approval)).collect::<Vec<_>>(), at)
    }

    /// Asks a person whether the calls at these places have had their effect, for a driver that finds that they were begun
    /// and that nothing came of them, and that can ask nobody else. No call of the reply runs before they are answered.
    ///
    /// A call that was in doubt never runs. What the person says has happened is its result; what has not happened, or was
    /// undone, is an error that says so (`did_not_happen`, `undone`). The others of the reply run then.
    ///
    /// ```
    /// use sommelier_handoff::{Agent, Answer, Relay, Step};
    /// # use sommelier_runtime::tool::{CallContext, Failure};
    /// # use sommelier_runtime::{Tool, script, tool_args};
    /// # tool_args! {
    /// #     /// Nothing is asked for.
    /// #     struct Nothing {}
    /// # }
    /// # let mail = Tool::new("mail", "Sends it.", |_: Nothing, _: &CallContext<'_>| Ok::<_, Failure>("sent"));
    ///
    /// let clerk = Agent::new("clerk", "You send mail.").tools([mail]);
    /// let relay = Relay::builder().agent(clerk).entry("clerk").build()?;
    /// let Step::CallModel(call) = relay.start("c", "Send it.")? else { panic!() };
    /// # let reply = script::call("tu_1", "mail", "{}");
    /// let Step::CallTools(calls) = call.resume(&relay, Ok(reply), 1_000) else { panic!() };
    /// // The process ended here, and another finds that the mail was begun.
    /// let Ok(step) = calls.doubt(&[0], 9_000) else { panic!() };
    /// assert_eq!(&*step.questions()[0].1.id, "c/1/1/0/in_doubt");
    /// let sent = Answer::Happened { result: r#""sent""#.into() };
    /// let Ok(Step::CallModel(call)) = step.answer(&relay, "c/1/1/0/in_doubt", sent, 9_500) else { panic!() };
    /// assert_eq!(script::last_result(&call.request(&relay)), r#""sent""#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As of [`ask_about`](Self::ask_about).
    pub fn doubt(self, places: &[usize], at: Millis) -> Result<Step, Box<Self>> {
        self.ask_about(&places.iter().map(|place| (*place, Inquiry::InDoubt)).collect::<Vec<_>>(), at)
    }

    /// Asks a person whether these calls may run although their effect was done before. Each comes with what the person
    /// is shown of the earlier call: what it gave, or its id. Whose call is rejected, that agent's model is told so too
    /// (`possible_repeat`).
    ///
    /// # Errors
    /// As of [`ask_about`](Self::ask_about).
    pub fn ask_repeat(self, repeats: &[(usize, Box<str>)], at: Millis) -> Result<Step, Box<Self>> {
        let repeat =
            |(place, earlier): &(usize, Box<str>)| (*place, Inquiry::Repeat { earlier: earlier.clone() });
        self.ask_about(&repeats.iter().map(repeat).collect::<Vec<_>>(), at)
    }

    /// Asks a person about calls of the reply, each in one way, all at once. No call of the reply runs before all is
    /// answered.
    ///
    /// A call that was begun is in doubt whatever was switched off since; else a place is one of [`calls`](Self::calls).
    ///
    /// # Errors
    /// The step is handed back when nothing is asked, no such call waits at a place, a place stands twice, a call was asked
    /// about in the same way before, an approval is asked of one that [is approved](Self::is_approved), or more would be in
    /// doubt than tool calls are left.
    pub fn ask_about(self, inquiries: &[(usize, Inquiry)], at: Millis) -> Result<Step, Box<Self>> {
        let of_call = |(place, call): (usize, &ToolUse)| {
            let (_, inquiry) = inquiries.iter().find(|(asked, _)| *asked == place)?;
            let asks = inquiry.asks(call)?;
            let is_due = match inquiry {
                Inquiry::Approval => self.waits(place) && !self.is_approved(place),
                Inquiry::Repeat { .. } => {
                    self.waits(place) && self.run.decision_on(place, asks.suffix()).is_none()
                }
                Inquiry::InDoubt => {
                    self.run.attested(place, call).is_none() && self.run.rejected(place, call).is_none()
                }
            };
            let id = [&self.run.call_id(place), asks.suffix()].concat().into();
            is_due.then(|| Question { id, from: self.run.active.clone(), at, asks })
        };
        let questions: Vec<Question> = self.inner.calls().filter_map(of_call).collect();
        if questions.is_empty() || questions.len() != inquiries.len() || !self.affords(&questions) {
            return Err(Box::new(self));
        }
        Ok(Step::AskHuman(AskHuman { run: self.run, held: Held::Tools(self.inner), questions }))
    }

    fn waits(&self, place: usize) -> bool {
        self.calls().any(|(waiting, _)| waiting == place)
    }

    /// Whether no more calls are in doubt by these questions, or were and wait for what was said of them, than tool calls
    /// are left: each was made.
    pub(super) fn affords(&self, questions: &[Question]) -> bool {
        let open = questions.iter().filter(|question| matches!(question.asks, Asks::InDoubt { .. }));
        let left = self.run.left(Measure::ToolCalls);
        left.is_none_or(|left| open.fold(self.count_attested(), |made, _| made.saturating_add(1)) <= left)
    }

    /// Whether a person has approved the call at this place, be it that it runs or that it [may repeat](Self::may_repeat)
    /// what was done.
    pub fn is_approved(&self, place: usize) -> bool {
        matches!(self.run.decision_at(place), Some(Answer::Approve)) || self.may_repeat(place)
    }

    /// Whether a person has said that the call at this place may run although its effect was done before.
    pub fn may_repeat(&self, place: usize) -> bool {
        let decision = self.run.decision_on(place, suffix::REPEAT);
        decision.is_some_and(|decision| decision.answer == Answer::Approve)
    }

    /// How many calls were in doubt of which a person has said what came of them.
    pub(super) fn count_attested(&self) -> u64 {
        if self.run.decisions().is_empty() {
            return 0;
        }
        let attested = self.inner.calls().filter(|(place, call)| self.run.attested(*place, call).is_some());
        attested.map(|_| 1).sum()
    }

    /// The step with what people said of calls that were in doubt as the outputs of these: they were made, and are counted.
    pub(super) fn attested(mut self) -> Self {
        let attested =
            self.inner.calls().filter_map(|(place, call)| Some((place, self.run.attested(place, call)?)));
        let attested: Vec<(usize, ToolOutput)> = attested.collect();
        for (place, output) in attested {
            self.count(place, output);
        }
        self
    }

    /// The turn at rest, `questions` left open. What is known of calls that were in doubt is told, and of those that still
    /// are that nobody knows; the others are told `why` they were not run.
    pub(super) fn left_open(self, questions: &[Question], why: &str) -> (Box<Run>, Turn) {
        let Self { run, mut inner } = self.attested();
        let is_in_doubt = |place: usize| {
            let id = [&run.call_id(place), suffix::IN_DOUBT].concat();
            // One that a person has taken over is in doubt as before.
            questions.iter().any(|question| *question.id == *id) || run.decision(&id).is_some()
        };
        let left: Vec<usize> =
            inner.calls().map(|(place, _)| place).filter(|place| is_in_doubt(*place)).collect();
        for place in left {
            inner.settle(place, unsaid());
        }
        (run, inner.leave(why))
    }
}

impl Run {
    /// The output of the call at `place` of the newest reply that was in doubt, as a person has told it.
    pub(super) fn attested(&self, place: usize, call: &ToolUse) -> Option<ToolOutput> {
        attested(&self.decision_on(place, suffix::IN_DOUBT)?.answer, call.name())
    }

    /// What a call is answered with that a person has rejected.
    pub(super) fn rejected(&self, place: usize, call: &ToolUse) -> Option<ToolOutput> {
        match self.decision_at(place) {
            #[cfg(test)]
            _ if planted::is(Bug::RejectedToolRuns) => return None,
            Some(Answer::Reject { reason }) => return Some(tool::denied(call.name(), reason)),
            _ => {}
        }
        let decision = self.decision_on(place, suffix::REPEAT)?;
        match (&decision.answer, &decision.question.asks) {
            (Answer::Reject { reason }, Asks::Repeat { earlier, .. }) => {
                Some(ToolOutput::failed(&PossibleRepeat {
                    error: "possible_repeat",
                    tool: call.name(),
                    reason,
                    earlier,
                    effect: "none: the tool was not run",
                }))
            }
            _ => None,
        }
    }
}

/// What a model is told of a call that would have done again what was done, and did not run.
#[derive(Serialize)]
struct PossibleRepeat<'a> {
    error: &'static str,
    tool: &'a str,
    reason: &'a str,
    earlier: &'a str,
    effect: &'static str,
}

impl ToolFailure for PossibleRepeat<'_> {
    fn code(&self) -> &str {
        self.error
    }
}

/// The output of a call that was in doubt, of which a person has said this; `None` when that was no word about it.
pub(super) fn attested(answer: &Answer, tool: &str) -> Option<ToolOutput> {
    let failed =
        |code: &str, detail: &str| ToolOutput::failed(&Failure::new(code, format!("{tool} {detail}")));
    match answer {
        Answer::Happened { result } => Some(ToolOutput::ok(result.clone())),
        Answer::DidNotHappen => Some(failed(
            "did_not_happen",
            "was begun and had no effect, a person says; it may be called again",
        )),
        Answer::Undone => Some(failed("undone", "had its effect, and a person has undone it")),
        Answer::Approve | Answer::Reject { .. } | Answer::Say { .. } | Answer::TakeOver { .. } => None,
    }
}

/// What a call is told of which a person was asked whether it had happened, and none has said.
fn unsaid() -> ToolOutput {
    ToolOutput::failed(&Failure::new("in_doubt", "nobody has said whether the call had an effect"))
}

/// Whether a call was told that a person was asked whether it had happened, and none has said.
pub(crate) fn is_unsaid(error: &str) -> bool {
    *unsaid().content == *error
}
