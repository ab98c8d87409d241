//! The run as a value that moves through its steps.
//!
//! ```text
//!   start ─▶ CallModel ─resume─┬─▶ CallTools ─resume─▶ CallModel ...
//!                ▲             ├─▶ AskHuman ─answer─▶ wherever the answer leads
//!                │             ├─▶ Delegate ─join─▶ CallModel, HandOff ...
//!                │             ├─▶ HandOff ─take─▶ CallModel of the receiver
//!                │             └─▶ Done ─hear─▶ CallModel ...
//!                └── a refused handoff is told to the sender's model, or ends the run
//! ```
//!
//! A step holds the whole run. It is consumed by its answer, so a wrong order does not compile:
//!
//! ```compile_fail,E0599
//! # use sommelier_handoff::{Agent, Relay, Step};
//! # let relay = Relay::builder().agent(Agent::new("clerk", "")).entry("clerk").build().unwrap();
//! let Ok(Step::CallModel(call)) = relay.start("c", "hello") else { panic!() };
//! call.take(&relay, 0); // only a handoff can be taken
//! ```
//!
//! ```compile_fail,E0382
//! # use sommelier_handoff::{Agent, Relay, Step};
//! # use sommelier_runtime::script;
//! # let relay = Relay::builder().agent(Agent::new("clerk", "")).entry("clerk").build().unwrap();
//! let Ok(Step::CallModel(call)) = relay.start("c", "hello") else { panic!() };
//! call.resume(&relay, Ok(script::say("a")), 0);
//! call.resume(&relay, Ok(script::say("b")), 0); // the step was consumed by its answer
//! ```

use serde::{Deserialize, Serialize};
use sommelier_protocol::{Message, ModelRequest, ModelResponse, ToolName, Words};
use sommelier_runtime::turn::{ModelCall, Reserved};
use sommelier_runtime::{AgentName, Definition, ModelError, ToolOutput, Turn, TurnEnd, TurnStep};
use std::borrow::Cow;

use crate::arbiter::{self, Ruling, Taken};
use crate::budget::Shared;
#[cfg(test)]
use crate::planted::{self, Bug};
use crate::{
    COMPLETE_HANDOFF, Closing, EntryPolicy, Guard, HandoffPackage, Hop, HopOutcome, Millis, OnRefusal,
    READ_ARTIFACT, Refusal, Relay, Run, RunEnd,
};

mod announcing;
mod applying;
mod calling;
mod completing;
mod delegation;
mod done;
mod ending;
mod flaw;
mod halting;
mod human;
mod inquiring;
mod opening;
mod reading;
mod returning;
mod shares;

use ending::{end_of, end_work, ended, may_be_mended};
use halting::{Halt, TIME_OVER};

pub use announcing::Glimpse;
pub(crate) use applying::is_in;
pub use applying::{Misfit, Unfed};
pub use calling::CallTools;
pub use delegation::{Branch, CALLED_OFF, Delegation, Joint, Unfit};
pub use done::Done;
pub use human::AskHuman;
pub(crate) use inquiring::is_unsaid;

/// What is to be done next. The list is complete on purpose: a driver handles each.
///
/// A step is plain data: it can be saved as JSON at any time and loaded with [`Relay::load`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// Ask the model of the agent that has the turn.
    CallModel(CallModel),
    /// Run tools of the agent that has the turn.
    CallTools(CallTools),
    /// Questions are open that only a person can answer.
    AskHuman(AskHuman),
    /// Delegates have been asked: bring each branch to its end, then join them.
    Delegate(Delegation),
    /// A handoff has passed all guards: write it down, then take it.
    HandOff(HandOff),
    /// The run has ended, until the user speaks again.
    Done(Done),
}

impl Step {
    /// The run's state.
    pub fn run(&self) -> &Run {
        match self {
            Self::CallModel(step) => &step.run,
            Self::CallTools(step) => &step.run,
            Self::AskHuman(step) => &step.run,
            Self::Delegate(step) => &step.run,
            Self::HandOff(step) => &step.run,
            Self::Done(step) => &step.run,
        }
    }

    pub(crate) fn run_mut(&mut self) -> &mut Run {
        match self {
            Self::CallModel(step) => &mut step.run,
            Self::CallTools(step) => &mut step.run,
            Self::AskHuman(step) => &mut step.run,
            Self::Delegate(step) => &mut step.run,
            Self::HandOff(step) => &mut step.run,
            Self::Done(step) => &mut step.run,
        }
    }

    /// Switches a tool of an agent off, in open branches too: a route that requires it is not ready, and a call of it
    /// gets an error.
    pub fn switch_off(mut self, agent: AgentName, tool: ToolName) -> Self {
        self.for_each_run(&mut |run| {
            run.extra_mut().switched_off.insert((agent.clone(), tool.clone()));
        });
        self
    }

    /// Switches a tool on again, in open branches too.
    pub fn switch_on(mut self, agent: &AgentName, tool: &ToolName) -> Self {
        self.for_each_run(&mut |run| {
            run.extra_mut().switched_off.retain(|(name, off)| name != agent || off != tool);
        });
        self
    }

    fn for_each_run(&mut self, change: &mut impl FnMut(&mut Run)) {
        change(self.run_mut());
        if let Self::Delegate(delegation) = self {
            delegation.branches.iter_mut().for_each(|branch| branch.step.for_each_run(change));
        }
    }

    /// Hears the user, at any moment. A run that has ended goes on. Any other keeps the words until its next model call:
    /// they stand after open results, or after a package that is being handed over, and are read once, by the agent that
    /// has the turn then. Branches do not hear them.
    pub fn hear(mut self, relay: &Relay, words: Words) -> Self {
        match self {
            Self::Done(done) => done.hear(relay, words),
            _ => {
                #[cfg(test)]
                if planted::is(Bug::BranchHearsUser) {
                    self.for_each_run(&mut |run| run.extra_mut().inbox.push(words.as_str().into()));
                    return self;
                }
                self.run_mut().extra_mut().inbox.push(words.as_str().into());
                self
            }
        }
    }

    /// The step as JSON.
    ///
    /// # Errors
    /// Never for a step that this crate made; the error is the writer's.
    pub fn save(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// Gives back memory held for what is to come, for a run that will wait a while.
    pub fn shrink(&mut self) {
        let run = self.run_mut();
        run.shrink();
        run.trail.shrink();
        run.idle.shrink_to_fit();
        for (_, turn) in &mut run.idle {
            turn.shrink();
        }
        match self {
            Self::CallModel(step) => step.inner.shrink(),
            Self::Delegate(step) => step.branches.iter_mut().for_each(|branch| branch.step.shrink()),
            Self::CallTools(_) | Self::AskHuman(_) | Self::HandOff(_) | Self::Done(_) => {}
        }
    }
}

/// The run ends, unless the user has said something meanwhile: then it goes on with that. What failed or was taken out of
/// the agents' hands does not go on by itself.
fn finish(relay: &Relay, mut run: Box<Run>, end: RunEnd, at: Millis) -> Step {
    let is_over = !end.awaits_user();
    #[cfg(test)]
    let is_over = planted::instead(Bug::WordsLeftAtEnd, is_over, || true);
    match if is_over { None } else { run.next_words() } {
        Some(words) => heard(relay, *Done::of(relay, run, end, at).run, words),
        None => Step::Done(Done::of(relay, run, end, at)),
    }
}

/// The user has spoken after the run came to its end. Whoever hears it goes on with the work that it was handed, and those
/// that wait for the turn to come back wait on, as they do when the user speaks in the middle; where the turn begins anew at
/// the entry they are told that it will not come.
fn heard(relay: &Relay, mut run: Run, words: Words) -> Step {
    if relay.entry_policy() == EntryPolicy::Entry {
        let why = "the user has spoken, and the turn has begun anew";
        ending::end_all(relay, &mut run, Closing::Failed, why, 0);
        run.active = relay.entry().clone();
    } else {
        ending::reopen_works(&mut run);
    }
    begin(relay, run, words)
}

/// Begins a run, or goes on after the user has spoken, at the active agent.
pub(crate) fn begin(relay: &Relay, mut run: Run, words: Words) -> Step {
    run.user_spoke(&words, relay);
    activate(relay, Box::new(run), words, 0)
}

/// Gives the active agent words to work on.
fn activate(relay: &Relay, mut run: Box<Run>, words: Words, at: Millis) -> Step {
    let active = run.active.clone();
    let turn = run.wake(&active);
    let Some(agent) = relay.agent(active.as_str()) else { return lost(run) };
    let inner = match turn {
        Some(turn) => turn.wake(agent, words),
        None => TurnStep::opened(agent, words),
    };
    advance(relay, run, inner, at)
}

/// A run whose active agent is not in the relay. [`Relay::load`] refuses one, and steps make none.
fn lost(run: Box<Run>) -> Step {
    let detail = format!("the relay has no agent {}", run.active);
    Step::Done(Done { run, end: RunEnd::Failed { error: ModelError::Malformed { detail } } })
}

/// The run goes on with what the active agent's turn asks for.
fn advance(relay: &Relay, mut run: Box<Run>, inner: TurnStep, at: Millis) -> Step {
    if run.is_over(at) {
        match too_late(inner) {
            Ok(turn) => {
                run.set_down(turn);
                let end = run.time_spent();
                return finish(relay, run, end, at);
            }
            Err(turn) => return rested(relay, run, turn, at),
        }
    }
    match inner {
        TurnStep::CallModel(mut inner) => {
            // What the user said meanwhile stands after the open results, or after the package.
            while let Some(words) = run.next_words() {
                #[cfg(test)]
                let left = run.left;
                run.user_spoke(&words, relay);
                #[cfg(test)]
                {
                    run.left = planted::instead(Bug::WordsRenewNothing, run.left, || left);
                    if planted::is(Bug::WordsLost) {
                        continue;
                    }
                    if planted::is(Bug::WordsReadTwice) {
                        inner = inner.say(words.clone());
                    }
                }
                inner = inner.say(words);
            }
            let Some(end) = run.spent() else { return Step::CallModel(CallModel { run, inner }) };
            run.set_down(inner.set_down());
            finish(relay, run, end, at)
        }
        TurnStep::CallTools(inner) => CallTools { run, inner }.or_resume(relay, at),
        TurnStep::Reserved(inner) => reserved(relay, run, inner, at),
        TurnStep::Done(turn) => rested(relay, run, turn, at),
    }
}

/// The turn of the active agent has come to its end.
fn rested(relay: &Relay, run: Box<Run>, turn: Turn, at: Millis) -> Step {
    if run.is_awaited() && !matches!(turn.end(), TurnEnd::Failed { .. }) {
        return returning::give_back(relay, run, turn, at);
    }
    ended(relay, run, turn, at)
}

/// The turn at rest before what it asks for is begun; one that has come to its end is handed back.
fn too_late(inner: TurnStep) -> Result<Turn, Turn> {
    match inner {
        TurnStep::CallModel(inner) => Ok(inner.set_down()),
        TurnStep::CallTools(inner) => Ok(inner.leave(TIME_OVER)),
        TurnStep::Reserved(inner) => Ok(inner.abandon(TIME_OVER)),
        TurnStep::Done(turn) => Err(turn),
    }
}

/// The tools that are offered to the agent that has the turn, and not to everybody.
fn offered(agent: &Definition, run: &Run) -> Vec<&'static str> {
    let completes = completing::is_offered(agent, run).then_some(COMPLETE_HANDOFF);
    let reads = reading::is_offered(agent, run).then_some(READ_ARTIFACT);
    completes.into_iter().chain(reads).collect()
}

/// The agent's own tools have run, and calls of reserved ones are left: what is to be read first, then questions to a
/// person, then delegates, then the end of the work, or one handoff. It may be looked at again when something that it waited
/// for is there.
fn reserved(relay: &Relay, run: Box<Run>, inner: Reserved, at: Millis) -> Step {
    let inner = reading::settle(relay, &run, inner);
    match human::ask(relay, run, inner, at) {
        Ok((run, inner)) => opening::open(relay, run, inner, at),
        Err(asking) => *asking,
    }
}

/// A reply ends the work that was handed over, or asks for a handoff or for several.
fn arbitrate(relay: &Relay, run: Box<Run>, inner: Reserved, at: Millis) -> Step {
    let (mut run, inner) = match completing::complete(relay, run, inner, at) {
        Ok(left) => left,
        Err(concluded) => return *concluded,
    };
    if run.trail.ends_refused() {
        run.trail.forget_refusals_of(&run.reply_id());
    }
    let Ruling { outputs, taken, refused } = arbiter::rule(relay, &run, &inner, at);
    let loud = refused.iter().find_map(|hop| match &hop.outcome {
        HopOutcome::Refused { refusal } if relay.guards().after(refusal.guard()) != OnRefusal::Tell => {
            Some((hop.id.clone(), (**refusal).clone()))
        }
        _ => None,
    });
    for hop in refused {
        run.trail.record(hop);
    }
    match (taken, loud) {
        (Some(taken), _) => human::approve(relay, run, inner, outputs, taken, at),
        (None, Some((_, refusal))) if relay.guards().after(refusal.guard()) == OnRefusal::Stop => {
            stop(relay, run, inner, outputs, refusal, at)
        }
        (None, Some((hop, refusal))) => human::escalate(relay, run, inner, outputs, (&hop, refusal), at),
        (None, None) => tell(relay, run, inner, outputs, at),
    }
}

/// The sender's model is told why, and goes on.
fn tell(relay: &Relay, run: Box<Run>, inner: Reserved, outputs: Vec<ToolOutput>, at: Millis) -> Step {
    let Some(agent) = relay.agent(run.active.as_str()) else { return lost(run) };
    match inner.answer(agent, outputs) {
        Ok(inner) => advance(relay, run, inner, at),
        Err(misuse) => unanswered(run, *misuse.step),
    }
}

/// The run ends with the refusal; the sender's conversation stays legal.
fn stop(
    relay: &Relay,
    mut run: Box<Run>,
    inner: Reserved,
    outputs: Vec<ToolOutput>,
    refusal: Refusal,
    at: Millis,
) -> Step {
    match inner.close(outputs) {
        Ok(turn) => run.set_down(turn),
        Err(misuse) => return unanswered(run, *misuse.step),
    }
    let end = match refusal.guard() {
        Guard::Cap => RunEnd::HopLimit { refusal },
        _ => RunEnd::HandoffRefused { refusal },
    };
    finish(relay, run, end, at)
}

/// The arbiter gives one output a call, so this is not reached; were it, the run would end and lose nothing.
fn unanswered(mut run: Box<Run>, inner: Reserved) -> Step {
    run.set_down(inner.abandon("nothing answered this call"));
    let detail = "the handoffs of a reply were not all answered".to_owned();
    Step::Done(Done { run, end: RunEnd::Failed { error: ModelError::Malformed { detail } } })
}

/// The model of the active agent is to be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallModel {
    run: Box<Run>,
    inner: ModelCall,
}

impl CallModel {
    /// The run's state.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The agent that asks; `None` when `relay` is not the one the run began with.
    pub fn agent<'a>(&self, relay: &'a Relay) -> Option<&'a Definition> {
        relay.agent(self.run.active.as_str())
    }

    /// The request to send. It borrows the conversation and the definition.
    pub fn request<'a>(&'a self, relay: &'a Relay) -> ModelRequest<'a> {
        let request = match self.agent(relay) {
            Some(agent) => match &offered(agent, &self.run)[..] {
                [] => self.inner.request(agent),
                more => self.inner.request_offering(agent, more),
            },
            None => ModelRequest::new("", 0, &[]),
        };
        ModelRequest { run: Cow::Borrowed(self.run.conversation()), ..request }
    }

    /// Hears the user before the request has gone out: it has the words in it. Where it is under way already,
    /// [`Step::hear`] keeps them for the next one, as a reply to this one does not know them.
    ///
    /// ```
    /// use sommelier_handoff::{Agent, Relay, Step};
    /// use sommelier_protocol::Words;
    ///
    /// let relay = Relay::builder().agent(Agent::new("clerk", "You greet.")).entry("clerk").build()?;
    /// let Step::CallModel(call) = relay.start("c", "hello")? else { panic!() };
    /// let Step::CallModel(call) = call.hear(&relay, Words::new("In French, please.")?) else { panic!() };
    /// let request = call.request(&relay);
    /// let texts: Vec<&str> = request.messages[0].texts().collect();
    /// assert_eq!(texts, ["hello", "In French, please."]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hear(mut self, relay: &Relay, words: Words) -> Step {
        self.run.extra_mut().inbox.push(words.as_str().into());
        advance(relay, self.run, TurnStep::CallModel(self.inner), 0)
    }

    /// Takes the model's reply, or the reason why there is none. When the run's time is over by then, that is the reason.
    pub fn resume(mut self, relay: &Relay, response: Result<ModelResponse, ModelError>, at: Millis) -> Step {
        let Some(agent) = relay.agent(self.run.active.as_str()) else { return lost(self.run) };
        self.run.hear_time(at);
        match &response {
            Ok(ModelResponse { usage, .. }) => {
                self.run.model_calls = self.run.model_calls.saturating_add(1);
                self.run.left = self.run.left.saturating_sub(1);
                self.run
                    .charge(Shared::Tokens, usage.total_input_tokens().saturating_add(usage.output_tokens));
            }
            Err(error) => {
                let (read, written) = error.tokens();
                self.run.charge(Shared::Tokens, read.saturating_add(written));
                if self.run.is_over(at) {
                    self.inner.charge(error);
                    return advance(relay, self.run, TurnStep::CallModel(self.inner), at);
                }
            }
        }
        let inner = self.inner.resume(agent, response);
        advance(relay, self.run, inner, at)
    }
}

/// A handoff that has passed all guards. Until it is taken the sender has the turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandOff {
    run: Box<Run>,
    inner: Reserved,
    outputs: Vec<ToolOutput>,
    taken: Box<Taken>,
}

/// What is left when a handoff is taken out of its relay: see [`HandOff::release`].
#[derive(Clone, Debug, PartialEq)]
pub struct Released {
    /// The receiver.
    pub to: AgentName,
    /// What crosses.
    pub package: HandoffPackage,
    /// The record of the hop.
    pub hop: Hop,
    /// The sender's turn, closed with its result, so that its conversation stays legal.
    pub sender: Turn,
    /// The run without the receiver's activation.
    pub run: Run,
}

impl HandOff {
    /// The run's state; the sender is active.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The sender.
    pub fn from(&self) -> &AgentName {
        &self.run.active
    }

    /// The receiver.
    pub fn to(&self) -> &AgentName {
        &self.taken.to
    }

    /// What crosses.
    pub fn package(&self) -> &HandoffPackage {
        &self.taken.package
    }

    /// Whether [`take`](Self::take) with this time gives the receiver the turn: the run has time left, the receiver is
    /// ready, and the artifacts are the newest. A driver that keeps a record asks this before it writes, and takes with the
    /// same time; so no hop is on record that was not taken.
    pub fn stands(&self, relay: &Relay, at: Millis) -> bool {
        let Self { run, inner, taken, .. } = self;
        let is_ready = arbiter::ready(relay, run, &taken.to).is_ok();
        #[cfg(test)]
        let is_ready = planted::instead(Bug::ReadyAskedOnce, is_ready, || true);
        is_ready && !run.is_over(at) && arbiter::is_current(relay, run, inner, taken)
    }

    /// The record of the hop: what a driver writes down before it takes the handoff, once it [stands](Self::stands).
    pub fn hop(&self) -> &Hop {
        &self.taken.hop
    }

    /// The hop as it is on record once it is taken at this time.
    pub fn hop_at(&self, at: Millis) -> Hop {
        Hop { at, ..self.taken.hop.clone() }
    }

    /// The sender's messages, its open handoff call last.
    pub fn messages(&self) -> &[Message] {
        self.inner.messages()
    }

    /// Takes the handoff: the sender's turn is closed, and the receiver has the turn with the package alone.
    ///
    /// Whether the receiver is ready is asked once more, since a tool may have been switched off meanwhile, and whether the
    /// artifacts are still the newest, since code may have put newer ones into the run. If not, the handoffs of the reply are
    /// ruled on again as things now stand, so that each is told what is true of it, and another may be the first that is fit.
    /// When the run's time is over it is not taken.
    pub fn take(self, relay: &Relay, at: Millis) -> Step {
        if self.run.is_over(at) {
            return Step::HandOff(self).now(relay, at);
        }
        if !self.stands(relay, at) {
            return arbitrate(relay, self.run, self.inner, at);
        }
        let Self { mut run, inner, outputs, taken } = self;
        let added = arbiter::added(&run, &inner, &taken, at);
        let Taken { to, package, mut hop } = *taken;
        hop.at = at;
        // Who hands the turn to one that waits for it gives it back, and does not wait in turn.
        let comes_back = relay.way(&run.active, &to).is_some_and(|way| way.route.returns) && !run.awaits(&to);
        // An answer that comes back is the sender's affair; any other is the run's, and has its contract to keep.
        let contract = if comes_back { None } else { run.contract() };
        let words = Words::or_dash(package.to_prompt_under(&run.active, contract));
        #[cfg(test)]
        let words = planted::instead(Bug::ReceiverHearsSender, words.clone(), || {
            let heard = inner.messages().iter().flat_map(Message::texts).next().unwrap_or_default();
            Words::or_dash(format!("{}\n{heard}", words.as_str()))
        });
        if comes_back {
            returning::wait(&mut run, inner, outputs, &hop);
        } else {
            match inner.close(outputs) {
                Ok(turn) => run.set_down(turn),
                Err(misuse) => return unanswered(run, *misuse.step),
            }
            end_work(relay, &mut run, &hop.from, Closing::HandedOn, at);
        }
        if run.awaits(&to) {
            end_work(relay, &mut run, &to, Closing::HandedOn, at);
        }
        run.trail.record(hop);
        run.charge(Shared::Hops, 1);
        #[cfg(test)]
        if planted::is(Bug::HopRenewsBudget) {
            run.left = run.allowance;
        }
        run.bind(&package);
        run.add_artifacts(added);
        if run.awaits(&to) {
            return returning::hand_back(relay, run, &to, &package, at);
        }
        #[cfg(test)]
        let to = planted::instead(Bug::SenderStaysActive, to, || run.active.clone());
        #[cfg(test)]
        if planted::is(Bug::ReceiverForgets) {
            drop(run.wake(&to));
        }
        run.active = to;
        activate(relay, run, words, at)
    }

    /// Closes the sender's turn and gives the package away without activating the receiver: for one agent run
    /// by itself, outside its relay. As when it is [taken](Self::take), the sender's work ends as handed on, and what the
    /// package says binds.
    ///
    /// # Errors
    /// The handoff is handed back when it does not [stand](Self::stands) any more. To take it is to have it ruled on again.
    pub fn release(self, relay: &Relay, at: Millis) -> Result<Released, Box<Self>> {
        if !self.stands(relay, at) {
            return Err(Box::new(self));
        }
        let Self { mut run, inner, outputs, taken } = self;
        run.add_artifacts(arbiter::added(&run, &inner, &taken, at));
        let Taken { to, package, mut hop } = *taken;
        hop.at = at;
        let sender = match inner.close(outputs) {
            Ok(turn) => turn,
            Err(misuse) => misuse.step.abandon("nothing answered this call"),
        };
        // Its checks see it at rest.
        run.set_down(sender.clone());
        end_work(relay, &mut run, &hop.from, Closing::HandedOn, at);
        drop(run.wake(&hop.from));
        run.trail.record(hop.clone());
        run.charge(Shared::Hops, 1);
        run.bind(&package);
        Ok(Released { to, package, hop, sender, run: *run })
    }
}
