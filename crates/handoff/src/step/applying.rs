//! How a step takes an input that was written down.

use sommelier_protocol::Words;
use sommelier_protocol::transcript::fingerprint;
use sommelier_runtime::ToolOutput;
use sommelier_runtime::tool::shortened;

use super::{Branch, CallTools, Step};
use crate::input::AskedCall;
#[cfg(test)]
use crate::planted::{self, Bug};
use crate::{Answer, Input, InputKind, Inquiry, Millis, Rejected, Relay};

/// An input that the step does not take: the fault of whoever gave it, or of a journal that is not this run's.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Misfit {
    /// The step waits for something else.
    #[error("{input} does not fit a step that is to {step}")]
    Kind {
        /// What came.
        input: &'static str,
        /// What the step is there for.
        step: &'static str,
    },
    /// There is no open step of this path in the tree.
    #[error("no step is open at {0:?}")]
    Path(Box<str>),
    /// The step has no call at this place that waits.
    #[error("no call waits at place {0}")]
    Place(usize),
    /// The handoff that is to be taken is another one, or has another package.
    #[error("the handoff on record is {recorded}, and the step has {found}")]
    OtherHandoff {
        /// The hop on record.
        recorded: Box<str>,
        /// The hop of the step.
        found: Box<str>,
    },
    /// A handoff is on record as taken that does not stand.
    #[error("the handoff {0} does not stand")]
    NotStanding(Box<str>),
    /// A handoff is on record as ruled on again that stands: taking it is a record of its own.
    #[error("the handoff {0} stands")]
    Standing(Box<str>),
    /// An output is on record as what it does not say of itself: as one of a tool that worked, or that failed.
    #[error("the output at place {place} does not say of itself that it is {input}")]
    Outcome {
        /// What came.
        input: &'static str,
        /// The place of its call among the calls of the reply.
        place: usize,
    },
    /// It came to a branch, which hears nobody but its asker, and which nobody gives more or tries again.
    #[error("{0} does not come to a branch")]
    OfBranch(&'static str),
    /// The question is asked in another run of the tree.
    #[error("the question {id} is asked in {run}")]
    AskedIn {
        /// The question.
        id: Box<str>,
        /// The run that asks.
        run: Box<str>,
    },
    /// The words are blank.
    #[error("there are no words")]
    Blank,
    /// An answer that cannot be taken.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The artifact cannot be put there.
    #[error("the artifact {name} was refused: {why}")]
    Artifact {
        /// Its name.
        name: Box<str>,
        /// Why.
        why: Box<str>,
    },
}

/// A step that was handed back, with why.
pub type Unfed = (Box<Step>, Misfit);

impl Step {
    /// What the step is there for, in a few words.
    pub fn purpose(&self) -> &'static str {
        match self {
            Self::CallModel(_) => "ask a model",
            Self::CallTools(_) => "run tools",
            Self::AskHuman(_) => "ask a person",
            Self::Delegate(_) => "bring branches to their end",
            Self::HandOff(_) => "take a handoff",
            Self::Done(_) => "rest",
        }
    }

    /// Takes an input wherever in the tree it belongs: what a driver does by the methods of each step, for one that writes
    /// the input down first, or reads it again. What comes to the run at the root is taken by the whole tree.
    ///
    /// # Errors
    /// [`Misfit`], when the input does not fit; the tree is lost with it. [`feed_or_keep`](Self::feed_or_keep) hands it back.
    pub fn feed(self, relay: &Relay, input: &Input) -> Result<Self, Misfit> {
        self.feed_or_keep(relay, input).map_err(|(_, misfit)| misfit)
    }

    /// As [`feed`](Self::feed).
    ///
    /// # Errors
    /// The step as it was, with the [`Misfit`].
    pub fn feed_or_keep(self, relay: &Relay, input: &Input) -> Result<Self, Unfed> {
        let Input { run: path, at, what } = input;
        if *self.run().conversation() == **path {
            return self.fed(relay, what, *at);
        }
        if what.begins_anew() {
            return Err((Box::new(self), Misfit::OfBranch(what.name())));
        }
        self.fed_below(relay, path, what, *at)
    }

    /// Takes an input that came to a branch, however deep, and leaves the rest of the tree as it is. Unlike
    /// [`go_on_at`](Self::go_on_at) this reaches a branch that waits for branches of its own: it may be called off.
    fn fed_below(self, relay: &Relay, path: &str, what: &InputKind, at: Millis) -> Result<Self, Unfed> {
        let no_path = |tree: Self| Err((Box::new(tree), Misfit::Path(shortened(path).into())));
        let Self::Delegate(mut delegation) = self else { return no_path(self) };
        let leads_there = |branch: &Branch| branch.done().is_none() && is_in(path, branch.path());
        #[cfg(test)]
        if planted::is(Bug::InputToAnotherBranch) {
            let other = delegation.branches.iter().position(|branch| branch.done().is_none());
            let place = other.unwrap_or_default();
            let Branch { asked, step } = delegation.branches.remove(place);
            let inside = relay.delegate(asked.from.as_str(), asked.tool.as_str()).unwrap_or(relay);
            let step = step.fed(inside, what, at).unwrap_or_else(|(step, _)| *step);
            delegation.branches.insert(place, Branch { asked, step });
            return Ok(Self::Delegate(delegation));
        }
        let place = delegation.branches.iter().position(leads_there);
        let found = place.and_then(|place| Some((place, delegation.branches.get(place)?.relay(relay)?)));
        let Some((place, inside)) = found else { return no_path(Self::Delegate(delegation)) };
        let Branch { asked, step } = delegation.branches.remove(place);
        let is_there = *step.run().conversation() == *path;
        let fed = if is_there { step.fed(inside, what, at) } else { step.fed_below(inside, path, what, at) };
        let (step, misfit) = match fed {
            Ok(step) => (step, None),
            Err((step, misfit)) => (*step, Some(misfit)),
        };
        delegation.branches.insert(place, Branch { asked, step });
        match misfit {
            None => Ok(Self::Delegate(delegation)),
            Some(misfit) => Err((Box::new(Self::Delegate(delegation)), misfit)),
        }
    }

    fn fed(self, relay: &Relay, what: &InputKind, at: Millis) -> Result<Self, Unfed> {
        let misfit = |step: Self| {
            let why = Misfit::Kind { input: what.name(), step: step.purpose() };
            Err((Box::new(step), why))
        };
        match (what, self) {
            (InputKind::TurnReceived { text, begun, .. }, step) => step.told(relay, text, *begun),
            (InputKind::ModelResponded { response }, Self::CallModel(call)) => {
                Ok(call.resume(relay, Ok((**response).clone()), at))
            }
            (InputKind::ModelFailed { error }, Self::CallModel(call)) => {
                Ok(call.resume(relay, Err(error.clone()), at))
            }
            (InputKind::ApprovalAsked { calls: asked }, Self::CallTools(calls)) => {
                calls.asked_about(asked.iter().map(AskedCall::inquiry), at)
            }
            (InputKind::ToolInDoubt { places }, Self::CallTools(calls)) => {
                calls.asked_about(places.iter().map(|place| (*place, Inquiry::InDoubt)), at)
            }
            (
                InputKind::ToolCompleted { place, output } | InputKind::ToolFailed { place, output },
                Self::CallTools(calls),
            ) => calls.completed(relay, what.name(), (*place, output), at),
            (InputKind::ToolsSkipped, Self::CallTools(calls)) => {
                let is_none_left = calls.calls().next().is_none();
                if is_none_left { Ok(calls.or_resume(relay, at)) } else { misfit(Self::CallTools(calls)) }
            }
            (InputKind::Joined, Self::Delegate(delegation)) => match delegation.join(relay, at) {
                Ok(step) => Ok(step),
                Err(delegation) => misfit(Self::Delegate(*delegation)),
            },
            (InputKind::HandoffCommitted { hop }, Self::HandOff(handoff)) => {
                let found = handoff.hop_at(at);
                if **hop != found {
                    let why = Misfit::OtherHandoff { recorded: shown(hop), found: shown(&found) };
                    return Err((Box::new(Self::HandOff(handoff)), why));
                }
                if !handoff.stands(relay, at) {
                    return Err((Box::new(Self::HandOff(handoff)), Misfit::NotStanding(found.id)));
                }
                Ok(handoff.take(relay, at))
            }
            (InputKind::HandoffReconsidered, Self::HandOff(handoff)) => {
                if handoff.stands(relay, at) {
                    let id = handoff.hop().id.clone();
                    return Err((Box::new(Self::HandOff(handoff)), Misfit::Standing(id)));
                }
                Ok(handoff.take(relay, at))
            }
            (InputKind::HumanAnswered { id, answer, .. }, step) => step.decided_by(relay, id, answer, at),
            #[cfg(test)]
            (InputKind::Cancelled { reason, .. }, step) if planted::is(Bug::CalledOffAsUnbegun) => {
                Ok(Self::Done(step.cancel_unbegun(relay, reason, at)))
            }
            (InputKind::Cancelled { reason, begun: true }, step) => {
                Ok(Self::Done(step.cancel(relay, reason, at)))
            }
            (InputKind::Cancelled { reason, begun: false }, step) => {
                Ok(Self::Done(step.cancel_unbegun(relay, reason, at)))
            }
            (InputKind::Deadline { begun: true }, step) => Ok(step.now(relay, at)),
            (InputKind::Deadline { begun: false }, step) => Ok(step.now_unbegun(relay, at)),
            (InputKind::ToolsSwitched { agent, tool, on: true }, step) => Ok(step.switch_on(agent, tool)),
            (InputKind::ToolsSwitched { agent, tool, on: false }, step) => {
                Ok(step.switch_off(agent.clone(), tool.clone()))
            }
            (InputKind::ArtifactPut { name, value }, mut step) => match step.put_artifact(name, value, at) {
                Ok(_) => Ok(step),
                Err(error) => {
                    let why = Misfit::Artifact { name: name.clone(), why: error.to_string().into() };
                    Err((Box::new(step), why))
                }
            },
            (InputKind::MoreGiven { budget }, Self::Done(done)) => {
                done.with_more(relay, *budget).or_else(|done| misfit(Self::Done(done)))
            }
            (InputKind::MoreGiven { budget }, step) => Ok(step.with_more(relay, *budget, at)),
            (InputKind::Retried, Self::Done(done)) => {
                done.retry(relay).or_else(|done| misfit(Self::Done(done)))
            }
            (_, step) => misfit(step),
        }
    }

    /// Hears the user: a request that has not gone out has the words in it.
    fn told(self, relay: &Relay, text: &str, begun: bool) -> Result<Self, Unfed> {
        #[cfg(test)]
        let begun = planted::instead(Bug::WordsInRequestThatIsOut, begun, || false);
        match (Words::new(text), self) {
            (Ok(words), Self::CallModel(call)) if !begun => Ok(call.hear(relay, words)),
            (Ok(words), step) => Ok(step.hear(relay, words)),
            (Err(_), step) => Err((Box::new(step), Misfit::Blank)),
        }
    }

    /// Takes an answer to a question of this run. One of a branch is answered there.
    fn decided_by(self, relay: &Relay, id: &str, answer: &Answer, at: Millis) -> Result<Self, Unfed> {
        let own = self.run().conversation();
        let asked_in = self
            .questions()
            .into_iter()
            .find(|(run, question)| *question.id == *id && run.conversation() != own);
        if let Some((run, question)) = asked_in {
            let why = Misfit::AskedIn { id: question.id.clone(), run: run.conversation().into() };
            return Err((Box::new(self), why));
        }
        self.answer(relay, id, answer.clone(), at).map_err(|(step, why)| (step, why.into()))
    }
}

/// Whether `path` is that of the run at `above`, or of a branch in it.
pub(crate) fn is_in(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl AskedCall {
    fn inquiry(&self) -> (usize, Inquiry) {
        let inquiry = match &self.repeats {
            None => Inquiry::Approval,
            Some(earlier) => Inquiry::Repeat { earlier: earlier.clone() },
        };
        (self.place, inquiry)
    }
}

impl CallTools {
    /// Takes an output that is on record as `input`.
    fn completed(
        self,
        relay: &Relay,
        input: &'static str,
        (place, output): (usize, &ToolOutput),
        at: Millis,
    ) -> Result<Step, Unfed> {
        let said = InputKind::tool_output(place, output.clone());
        if said.name() != input {
            return Err((Box::new(Step::CallTools(self)), Misfit::Outcome { input, place }));
        }
        let taken = self.complete(relay, place, output.clone(), at);
        taken.map_err(|step| (Box::new(Step::CallTools(*step)), Misfit::Place(place)))
    }

    fn asked_about(
        self,
        inquiries: impl Iterator<Item = (usize, Inquiry)>,
        at: Millis,
    ) -> Result<Step, Unfed> {
        let inquiries: Vec<(usize, Inquiry)> = inquiries.collect();
        let why = Misfit::Place(inquiries.first().map(|(place, _)| *place).unwrap_or_default());
        self.ask_about(&inquiries, at).map_err(|step| (Box::new(Step::CallTools(*step)), why))
    }
}

/// A hop for an error: its id, the size of what crosses, and a fingerprint of all of it.
fn shown(hop: &crate::Hop) -> Box<str> {
    let print = fingerprint(&serde_json::to_string(hop).unwrap_or_default());
    let (id, to) = (shortened(&hop.id), shortened(&hop.to));
    format!("{id} to {to} with {} byte(s), {print:016x}", hop.package_bytes).into()
}
