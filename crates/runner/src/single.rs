//! One agent run by itself.

use sommelier_handoff::{Agent, Done, HandOff, HandoffPackage, Hop, Relay, Released, Run, RunEnd};
use sommelier_protocol::Message;
use sommelier_runtime::{AgentName, Turn};
use std::ops::ControlFlow;

use crate::driven::Driven;
use crate::runner::Around;
use crate::secrets::Secrets;
use crate::{Outcome, RunError, Runner};

/// What came of one agent's run.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentRun {
    /// The answer, when the agent gave one.
    pub answer: Option<String>,
    /// Model calls that brought a reply.
    pub steps: u32,
    /// Why the run ended.
    pub stopped: RunEnd,
    /// Every message of the agent's conversation.
    pub messages: Vec<Message>,
}

impl AgentRun {
    fn of(done: &Done) -> Self {
        Self {
            answer: done.answer(),
            steps: done.run().model_calls(),
            stopped: done.end().clone(),
            messages: messages(done.turn()),
        }
    }
}

/// Runs one agent on a task, with nobody to hand over to: a relay of one.
///
/// # Errors
/// [`RunError`] when the agent is not well formed or the task is blank.
///
/// ```
/// use sommelier_handoff::Agent;
/// use sommelier_runner::{Runner, run_agent};
/// use sommelier_runtime::{ScriptedModel, script};
///
/// let model = ScriptedModel::new().turn("clerk", |_| script::say("Good morning."));
/// let run = run_agent(&Runner::new(model), Agent::new("clerk", "You greet."), "hello")?;
/// assert_eq!((run.answer.as_deref(), run.steps), (Some("Good morning."), 1));
/// # Ok::<(), sommelier_runner::RunError>(())
/// ```
pub fn run_agent(runner: &Runner<'_>, agent: Agent, task: &str) -> Result<AgentRun, RunError> {
    let entry = agent.name().to_owned();
    let relay = Relay::builder().agent(agent).entry(entry).build()?;
    match runner.run(&relay, task)? {
        Outcome::Ended(report) => Ok(AgentRun::of(report.done())),
        Outcome::Waiting(parked) => Err(RunError::Waiting { parked: Box::new(parked) }),
    }
}

/// What came of one agent that may hand over.
#[derive(Clone, Debug, PartialEq)]
pub struct HandoffRun {
    /// How its turn ended.
    pub stopped: Stopped,
    /// Every message of the agent's conversation. After a handoff the last one answers the handoff call, so the
    /// conversation is legal and may go on.
    pub messages: Vec<Message>,
    /// Model calls that brought a reply.
    pub model_calls: u32,
    /// The handoffs asked for, the taken one last.
    pub hops: Vec<Hop>,
}

impl HandoffRun {
    fn of(run: &Run, turn: Option<&Turn>, stopped: Stopped) -> Self {
        let hops = run.trail().hops().to_vec();
        Self { stopped, messages: messages(turn), model_calls: run.model_calls(), hops }
    }
}

/// How the turn of one agent ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Stopped {
    /// It answered.
    Answered {
        /// The answer.
        text: String,
    },
    /// It answered, and named a legal receiver as if it had handed over; it had not.
    Unresolved {
        /// The words.
        text: String,
    },
    /// It handed the turn over. Its model is not called again.
    HandedOff {
        /// The receiver.
        to: AgentName,
        /// What crosses.
        package: HandoffPackage,
    },
    /// It stopped without an answer.
    Stopped {
        /// Why.
        reason: RunEnd,
    },
}

/// Runs one agent of `relay` until it answers, hands the turn over, or stops. The receiver is not activated.
///
/// # Errors
/// [`RunError`] when there is no such agent or the text is blank.
pub fn run_agent_with_handoff(
    runner: &Runner<'_>,
    relay: &Relay,
    agent: &str,
    text: &str,
) -> Result<HandoffRun, RunError> {
    run_from(runner, relay, agent, text, |_| true)
}

/// Runs a conversation of `relay` from its entry until a handoff that `is_out` picks, an answer, or another end. The
/// picked handoff is released: its receiver is not activated here, so it may be code, a person, or an agent of
/// another system. All handoffs before it are taken.
///
/// # Errors
/// [`RunError`] when the text is blank.
///
/// ```
/// use sommelier_handoff::{Agent, Relay};
/// use sommelier_runner::{Runner, Stopped, run_until_handoff};
/// use sommelier_runtime::{ScriptedModel, script};
///
/// let relay = Relay::builder()
///     .agent(Agent::new("clerk", "You take down what is wanted."))
///     .agent(Agent::new("till", "Code that takes the money."))
///     .entry("clerk")
///     .route("clerk", "till")
///     .build()?;
/// let order = r#"{"specialist":"till","task":"Take the money.","context":{"cents":6000}}"#;
/// let model = ScriptedModel::new().turn("clerk", |_| script::call("tu_1", "handoff_to_specialist", order));
/// let run = run_until_handoff(&Runner::new(model), &relay, "Two tickets, please.", |handoff| {
///     handoff.to().as_str() == "till"
/// })?;
/// let Stopped::HandedOff { package, .. } = &run.stopped else { panic!("{run:?}") };
/// assert_eq!(package.context_value("cents").and_then(|cents| cents.as_i64()), Some(6000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run_until_handoff(
    runner: &Runner<'_>,
    relay: &Relay,
    text: &str,
    is_out: impl FnMut(&HandOff) -> bool,
) -> Result<HandoffRun, RunError> {
    run_from(runner, relay, relay.entry().as_str(), text, is_out)
}

fn run_from(
    runner: &Runner<'_>,
    relay: &Relay,
    agent: &str,
    text: &str,
    mut is_out: impl FnMut(&HandOff) -> bool,
) -> Result<HandoffRun, RunError> {
    let vault = runner.vault(Secrets::default());
    let step = relay.start_at(agent, runner.conversation_name(), vault.words(text))?;
    let at_handoff = |handoff: HandOff| match is_out(&handoff) {
        true => {
            let at = handoff.hop().at;
            // What does not stand any more is taken, and so ruled on again.
            handoff
                .release(relay, at)
                .map_or_else(|handoff| ControlFlow::Continue(*handoff), ControlFlow::Break)
        }
        false => ControlFlow::Continue(handoff),
    };
    let around = Around::of(&vault);
    Ok(match runner.drive_to_handoff(relay, step, at_handoff, &around)? {
        Driven::TakenOut(Released { to, package, sender, run, .. }) => {
            HandoffRun::of(&run, Some(&sender), Stopped::HandedOff { to, package })
        }
        Driven::Waiting(step) => return Err(RunError::Waiting { parked: Box::new(around.parked(step)) }),
        Driven::Unwritten(step, why) => return Err(RunError::unwritten(around.parked(step), why)),
        Driven::Done(done) => {
            let stopped = match done.answer() {
                Some(text) if *done.end() == RunEnd::Unresolved => Stopped::Unresolved { text },
                Some(text) => Stopped::Answered { text },
                None => Stopped::Stopped { reason: done.end().clone() },
            };
            HandoffRun::of(done.run(), done.turn(), stopped)
        }
    })
}

fn messages(turn: Option<&Turn>) -> Vec<Message> {
    turn.map(Turn::messages).unwrap_or_default().to_vec()
}
