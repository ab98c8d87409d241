//! How a step takes an input that was written down.

use sommelier_protocol::Words;

use super::Step;
use crate::{Input, InputKind, Millis, Rejected, Relay};

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
        let mut misfit = None;
        let tree = self.go_on_at(relay, path, |relay, step| {
            step.fed(relay, what, *at).unwrap_or_else(|(step, why)| {
                misfit = Some(why);
                *step
            })
        });
        match (tree, misfit) {
            (Ok(tree), None) => Ok(tree),
            (Ok(tree), Some(why)) => Err((Box::new(tree), why)),
            (Err(tree), why) => Err((tree, why.unwrap_or_else(|| Misfit::Path(path.clone())))),
        }
    }

    fn fed(self, relay: &Relay, what: &InputKind, at: Millis) -> Result<Self, Unfed> {
        let misfit = |step: Self| {
            let why = Misfit::Kind { input: what.name(), step: step.purpose() };
            Err((Box::new(step), why))
        };
        match (what, self) {
            (InputKind::TurnReceived { text, .. }, step) => step.told(relay, text),
            (InputKind::ModelResponded { response }, Self::CallModel(call)) => {
                Ok(call.resume(relay, Ok((**response).clone()), at))
            }
            (InputKind::ModelFailed { error }, Self::CallModel(call)) => {
                Ok(call.resume(relay, Err(error.clone()), at))
            }
            (InputKind::ApprovalAsked { places }, Self::CallTools(calls)) => {
                let why = Misfit::Place(places.first().copied().unwrap_or_default());
                calls.ask(places, at).map_err(|step| (Box::new(Self::CallTools(*step)), why))
            }
            (
                InputKind::ToolCompleted { place, output } | InputKind::ToolFailed { place, output },
                Self::CallTools(calls),
            ) => {
                let why = Misfit::Place(*place);
                let taken = calls.complete(relay, *place, output.clone(), at);
                taken.map_err(|step| (Box::new(Self::CallTools(*step)), why))
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
            (InputKind::HandoffReconsidered, Self::HandOff(handoff)) => Ok(handoff.take(relay, at)),
            (InputKind::HumanAnswered { id, answer, .. }, step) => {
                step.answer(relay, id, answer.clone(), at).map_err(|(step, why)| (step, why.into()))
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
    fn told(self, relay: &Relay, text: &str) -> Result<Self, Unfed> {
        match (Words::new(text), self) {
            (Ok(words), Self::CallModel(call)) => Ok(call.hear(relay, words)),
            (Ok(words), step) => Ok(step.hear(relay, words)),
            (Err(_), step) => Err((Box::new(step), Misfit::Blank)),
        }
    }
}

/// A hop for an error: its id, and the size of what crosses.
fn shown(hop: &crate::Hop) -> Box<str> {
    format!("{} to {} with {} byte(s)", hop.id, hop.to, hop.package_bytes).into()
}
