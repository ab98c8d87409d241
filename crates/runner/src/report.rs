//! What came of a run.

use sommelier_handoff::{AgentName, Cost, Done, Failure, Hop, Link, Question, Refusal, Run, RunEnd, Step};
use std::collections::BTreeMap;

use crate::secrets::Secrets;

/// What came of a run. Later kinds of outcome may be added.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// The run has ended, well or not; [`Report::end`] says how.
    Ended(Report),
    /// A person has to answer before anything goes on; [`Parked::questions`] says what.
    Waiting(Parked),
}

/// A run that stands where it is, mostly since it waits for a person, with all of its branches. It is a value: it can be saved, and another process can take
/// it up.
///
/// The values of [secret](sommelier_runtime::Tool::secret) arguments are not in the step. They stay with this value as long as
/// it is not taken apart.
#[derive(Clone, Debug)]
pub struct Parked {
    step: Box<Step>,
    secrets: Secrets,
}

impl Parked {
    /// A step that is not driven for now, such as one that was loaded.
    pub fn new(step: Step) -> Self {
        Self::with(step, Secrets::default())
    }

    pub(crate) fn with(step: Step, secrets: Secrets) -> Self {
        Self { step: Box::new(step), secrets }
    }

    pub(crate) fn secrets(&self) -> Secrets {
        self.secrets.clone()
    }

    /// The questions that are open, each with the run that it is asked in: its conversation is the path in the tree, its
    /// trail the hops so far.
    pub fn questions(&self) -> Vec<(&Run, &Question)> {
        self.step.questions()
    }

    /// The step.
    pub fn step(&self) -> &Step {
        &self.step
    }

    /// Gives the step away, to be saved or answered.
    pub fn into_step(self) -> Step {
        *self.step
    }
}

/// By their steps.
impl PartialEq for Parked {
    fn eq(&self, other: &Self) -> bool {
        self.step == other.step
    }
}

/// A run that has ended.
///
/// The values of [secret](sommelier_runtime::Tool::secret) arguments are not in the run. They stay with this value as long as it is
/// not taken apart, so whoever [goes on](crate::Runner::go_on) with the report goes on with them.
#[derive(Clone, Debug)]
pub struct Report {
    done: Done,
    answer: String,
    secrets: Secrets,
}

impl Report {
    pub(crate) fn with(done: Done, secrets: Secrets) -> Self {
        let answer = done.answer().unwrap_or_default();
        Self { done, answer, secrets }
    }

    pub(crate) fn into_parts(self) -> (Done, Secrets) {
        (self.done, self.secrets)
    }

    /// The answer; empty when the run ended without one.
    pub fn answer(&self) -> &str {
        &self.answer
    }

    /// The agent that has the turn: the one that answered.
    pub fn last_agent(&self) -> &str {
        self.done.run().active().as_str()
    }

    /// Why the run ended.
    pub fn end(&self) -> &RunEnd {
        self.done.end()
    }

    /// The handoffs taken in the conversation.
    pub fn hops(&self) -> impl Iterator<Item = &Hop> {
        self.done.run().trail().taken()
    }

    /// The handoffs refused in the conversation, and why.
    pub fn refusals(&self) -> impl Iterator<Item = &Refusal> {
        self.done.run().trail().refusals()
    }

    /// Who asked whom in the conversation, and what came of it. What happened in a branch is in the branch's own run.
    pub fn links(&self) -> &[Link] {
        self.done.run().links()
    }

    /// What failed since the user last spoke, from the outside in: see [`Done::failures`]. Each is an error with its causes
    /// behind it.
    pub fn failures(&self) -> Vec<Failure> {
        self.done.failures()
    }

    /// Model calls that brought a reply, over the conversation and all agents, those of branches included.
    pub fn model_calls(&self) -> u32 {
        self.cost().model_calls
    }

    /// Calls of agents' own tools over the conversation, those of branches included, and those that a gate denied or
    /// that failed.
    pub fn tool_calls(&self) -> u32 {
        self.done.run().tool_calls_over_tree()
    }

    /// What was spent over the conversation, branches included.
    pub fn cost(&self) -> Cost {
        self.done.run().cost()
    }

    /// What each agent has spent over the conversation, branches included.
    pub fn cost_by_agent(&self) -> BTreeMap<AgentName, Cost> {
        self.done.run().cost_by_agent()
    }

    /// The run itself: every agent's messages, the whole trail.
    pub fn done(&self) -> &Done {
        &self.done
    }

    /// Gives the run away, to be saved. What is secret in it is not known any more to who goes on with it.
    pub fn into_done(self) -> Done {
        self.done
    }
}

/// By their runs.
impl PartialEq for Report {
    fn eq(&self, other: &Self) -> bool {
        self.done == other.done
    }
}

/// Of a run that was saved, or taken out of its report: none of its secrets is known.
impl From<Done> for Report {
    fn from(done: Done) -> Self {
        Self::with(done, Secrets::default())
    }
}
