//! One agent's turn as a state machine.
//!
//! ```text
//!   start ─▶ CallModel ── resume ─┬─▶ CallTools ── resume ─┬─▶ CallModel ...
//!                 ▲               │                        ├─▶ Reserved
//!                 │               ├─▶ Reserved ─┬─ answer ─┘
//!                 │               │             └─ close, conclude ─▶ Turn, at rest
//!    wake, retry  │               └─▶ Done(Turn)
//!       Turn ─────┘
//! ```
//!
//! Each state is consumed by its answer, so a wrong order does not compile. All state is plain data and can
//! be saved at any step; what does not change, the [`Definition`], is borrowed by each step instead.
//!
//! Whatever the model does, each call gets exactly one result in the next message: tools the agent does not
//! have, calls beyond a limit, calls of a reply that was cut.
//!
//! A turn waits for its answer; a step cannot be taken twice:
//!
//! ```compile_fail,E0382
//! # use sommelier_runtime::{script, Agent, TurnStep};
//! # let agent = Agent::new("clerk", "").build().unwrap();
//! let Ok(TurnStep::CallModel(call)) = TurnStep::start(&agent, "hello") else { panic!() };
//! call.resume(&agent, Ok(script::say("a")));
//! call.resume(&agent, Ok(script::say("b"))); // the step was consumed by its answer
//! ```
//!
//! and tools cannot be answered before the model was asked:
//!
//! ```compile_fail,E0599
//! # use sommelier_runtime::{Agent, TurnStep};
//! # let agent = Agent::new("clerk", "").build().unwrap();
//! let Ok(TurnStep::CallModel(call)) = TurnStep::start(&agent, "hello") else { panic!() };
//! call.calls(); // a model call has no tool calls yet
//! ```

use serde::{Deserialize, Serialize};
use sommelier_protocol::{
    Asking, BlankText, Called, ContentBlock, Message, ModelRequest, ModelResponse, Owing, Reply, Resting,
    StopReason, ToolChoice, ToolUse, Usage, Words,
};
use std::borrow::Cow;

use crate::tool::{self, ToolOutput};
use crate::{Definition, ModelError};

mod at_rest;
mod flaw;

use at_rest::Rest;
pub use at_rest::{Standstill, Turn, TurnEnd};
pub use flaw::MOST_COUNTED;

/// What is to be done next. The list is complete on purpose: a driver handles each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TurnStep {
    /// Ask the model.
    CallModel(ModelCall),
    /// Run the agent's own tools.
    CallTools(ToolCalls),
    /// Answer calls of reserved tools, or close the turn with them.
    Reserved(Reserved),
    /// The turn has come to rest.
    Done(Turn),
}

/// What a turn remembers beside its conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Progress {
    /// Model calls of this activation.
    steps: u32,
    /// Replies of the whole conversation.
    replies: u32,
    empty: u16,
    pauses: u16,
    /// How often in a row the same calls brought the same results, and their fingerprint.
    repeats: u16,
    /// Answers of the whole conversation that the layer above put into the model's mouth.
    #[serde(default, skip_serializing_if = "is_none")]
    concluded: u16,
    last: u32,
    /// Runs of the agent's own tools.
    #[serde(default, skip_serializing_if = "is_zero")]
    tool_calls: u32,
    input_tokens: u64,
    output_tokens: u64,
}

fn is_none(count: &u16) -> bool {
    *count == 0
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What a conversation has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Model calls that brought a reply.
    pub replies: u32,
    /// Runs of the agent's own tools; a call that was answered without one is none.
    pub tool_calls: u32,
    /// Tokens read, cached ones included, and those of calls that failed.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}

/// What a model is told whose reply was empty.
pub const EMPTY_REPLY: &str = "Your reply was empty. Answer, or call a tool.";
/// What a model is told that was paused with nothing to send back.
pub const GO_ON: &str = "Go on.";

impl TurnStep {
    /// Begins a turn with the user's words.
    ///
    /// # Errors
    /// [`BlankText`] when there are none.
    pub fn start(agent: &Definition, text: impl Into<Box<str>>) -> Result<Self, BlankText> {
        Ok(Self::opened(agent, Words::new(text)?))
    }

    /// Begins a turn with words.
    pub fn opened(agent: &Definition, words: Words) -> Self {
        next(Box::default(), Asking::opened(words), agent)
    }

    /// The messages so far.
    pub fn messages(&self) -> &[Message] {
        match self {
            Self::CallModel(call) => call.asking.messages(),
            Self::CallTools(calls) => calls.owing.messages(),
            Self::Reserved(reserved) => reserved.owing.messages(),
            Self::Done(turn) => turn.messages(),
        }
    }
}

/// The model is to be asked, unless the limit is reached.
fn next(progress: Box<Progress>, asking: Asking, agent: &Definition) -> TurnStep {
    if progress.steps >= agent.limits().max_steps {
        return rest(
            progress,
            Rest::Asking(asking),
            TurnEnd::StepLimit { max_steps: agent.limits().max_steps },
        );
    }
    TurnStep::CallModel(ModelCall { progress, asking })
}

fn rest(progress: Box<Progress>, rest: Rest, end: TurnEnd) -> TurnStep {
    TurnStep::Done(Turn { progress, rest, end })
}

/// The model is to be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    progress: Box<Progress>,
    asking: Asking,
}

impl ModelCall {
    /// The request to send. It borrows the conversation and the definition.
    ///
    /// An agent without tools whose model called for one all the same offers a tool that is none, and forbids
    /// its use: the service refuses a conversation with calls in it when no tool is given.
    pub fn request<'a>(&'a self, agent: &'a Definition) -> ModelRequest<'a> {
        let wants_stand_in = agent.definitions().is_empty()
            && self.asking.messages().iter().any(|message| message.tool_uses().next().is_some());
        let (tools, tool_choice) = match wants_stand_in {
            true => (Cow::Owned(tool::no_tool().into_iter().collect()), Some(ToolChoice::None)),
            false => (Cow::Borrowed(agent.definitions()), None),
        };
        ModelRequest {
            caller: Cow::Borrowed(agent.name().as_str()),
            run: Cow::Borrowed(""),
            replies: self.progress.replies,
            time_left: None,
            model: Cow::Borrowed(agent.model()),
            max_tokens: agent.max_tokens(),
            system: agent.system_borrowed(),
            tools,
            tool_choice,
            messages: Cow::Borrowed(self.asking.messages()),
            rest: Vec::new(),
        }
    }

    /// As [`request`](Self::request), with those of the agent's [unoffered](crate::Agent::reserve_unoffered) tools that
    /// have one of these names, in their places by name. Whoever offers a tool should do so in each request of an
    /// activation: the tools stand at the beginning of a request, and a prompt cache holds as far as nothing changes.
    pub fn request_offering<'a>(&'a self, agent: &'a Definition, names: &[&str]) -> ModelRequest<'a> {
        let offered = agent.unoffered().iter().filter(|tool| names.contains(&tool.name.as_str()));
        let mut tools: Vec<_> = agent.definitions().iter().chain(offered).cloned().collect();
        if tools.len() == agent.definitions().len() {
            return self.request(agent);
        }
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        ModelRequest { tools: Cow::Owned(tools), tool_choice: None, ..self.request(agent) }
    }

    /// The messages so far.
    pub fn messages(&self) -> &[Message] {
        self.asking.messages()
    }

    /// Bytes of the conversation so far as compact JSON.
    pub fn history_bytes(&self) -> usize {
        self.asking.bytes()
    }

    /// What the conversation has used.
    pub fn used(&self) -> Used {
        self.progress.used()
    }

    /// Puts the turn to rest before the model is asked, as one that the layer above closed.
    pub fn set_down(self) -> Turn {
        Turn { progress: self.progress, rest: Rest::Asking(self.asking), end: TurnEnd::Closed }
    }

    /// Gives back memory held for messages to come.
    pub fn shrink(&mut self) {
        self.asking.shrink();
    }

    /// Adds words of the user before the model is asked.
    pub fn say(self, words: Words) -> Self {
        Self { asking: self.asking.say(words), ..self }
    }

    /// Counts what a call used that failed, where it is not failed for that: the model may be asked again.
    pub fn charge(&mut self, error: &ModelError) {
        self.progress.charge(error.tokens());
    }

    /// Takes the model's reply, or the reason why there is none.
    ///
    /// What is owed is read off the content, never off the stop reason alone: a call may stand in a reply
    /// that was cut, and then it is answered but not run.
    pub fn resume(self, agent: &Definition, response: Result<ModelResponse, ModelError>) -> TurnStep {
        let Self { mut progress, asking } = self;
        let response = match response {
            Ok(response) => response,
            Err(error) => {
                progress.charge(error.tokens());
                return rest(progress, Rest::Asking(asking), TurnEnd::Failed { error });
            }
        };
        progress.steps = progress.steps.saturating_add(1);
        progress.count(&response.usage);
        let stop = response.stop_reason.unwrap_or_else(|| StopReason::Other("".into()));
        let mut content = response.content;
        withhold(&mut content, agent.limits().input_bytes);
        match asking.replied(content) {
            Reply::Empty(asking) => match cut_short(stop) {
                Some(end) => rest(progress, Rest::Asking(asking), end),
                None => ask_again(progress, Rest::Asking(asking), agent),
            },
            Reply::Said(resting) => said(progress, resting, stop, agent),
            Reply::Called(called) => match cut_short(stop) {
                Some(end) => {
                    let asking = called.owing.answer_each(|call| {
                        tool::not_run("the reply was cut before its end, so no call of it was run")
                            .into_result(call.id())
                    });
                    rest(progress, Rest::Asking(asking), end)
                }
                None => {
                    progress.empty = 0;
                    progress.pauses = 0;
                    ToolCalls::plan(progress, called, agent).next(agent)
                }
            },
        }
    }
}

/// The end that a stop reason means by itself, whatever the reply holds.
fn cut_short(stop: StopReason) -> Option<TurnEnd> {
    match stop {
        StopReason::EndTurn | StopReason::ToolUse | StopReason::StopSequence | StopReason::PauseTurn => None,
        StopReason::MaxTokens | StopReason::ContextWindowExceeded => Some(TurnEnd::Truncated { stop }),
        StopReason::Refusal => Some(TurnEnd::ModelRefused),
        StopReason::Other(_) => Some(TurnEnd::UnknownStop { stop }),
    }
}

/// A reply of words and no call.
fn said(mut progress: Box<Progress>, resting: Resting, stop: StopReason, agent: &Definition) -> TurnStep {
    if stop == StopReason::PauseTurn {
        progress.pauses = progress.pauses.saturating_add(1);
        progress.empty = 0;
        if u32::from(progress.pauses) > agent.limits().pauses {
            return rest(progress, Rest::paused(resting), TurnEnd::NoProgress { why: Standstill::Paused });
        }
        let asking = resting.go_on().unwrap_or_else(|resting| resting.say(Words::or_dash(GO_ON)));
        return next(progress, asking, agent);
    }
    if let Some(end) = cut_short(stop) {
        return rest(progress, Rest::Resting(resting), end);
    }
    if resting.last_words().trim().is_empty() {
        return ask_again(progress, Rest::paused(resting), agent);
    }
    rest(progress, Rest::Resting(resting), TurnEnd::Answered)
}

/// Asks once more after a reply with nothing in it, a few times.
fn ask_again(mut progress: Box<Progress>, silence: Rest, agent: &Definition) -> TurnStep {
    progress.empty = progress.empty.saturating_add(1);
    if u32::from(progress.empty) >= agent.limits().empty_replies {
        return rest(progress, silence, TurnEnd::NoProgress { why: Standstill::Empty });
    }
    next(progress, silence.say(Words::or_dash(EMPTY_REPLY)), agent)
}

/// Puts a note of its size in place of each input that is larger than a call may bring.
fn withhold(content: &mut [ContentBlock], most: usize) {
    for block in content {
        if let ContentBlock::ToolUse(call) = block
            && call.input().get().len() > most
        {
            call.withhold_input();
        }
    }
}

/// The bytes of an input that was [withheld](withhold). A model may write such a note itself; one of a size that
/// would have been kept is an input like any other.
fn withheld(agent: &Definition, call: &ToolUse) -> Option<usize> {
    call.withheld_bytes().filter(|bytes| *bytes > agent.limits().input_bytes)
}

/// What is to become of one call of a reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Plan {
    /// The agent's own tool runs.
    Run,
    /// The layer above answers.
    Reserve,
    /// The answer is known.
    Answered(ToolOutput),
}

/// The agent's own tools are to be run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCalls {
    progress: Box<Progress>,
    owing: Owing,
    plans: Vec<Plan>,
}

impl ToolCalls {
    fn plan(progress: Box<Progress>, called: Called, agent: &Definition) -> Self {
        let Called { owing, misnamed } = called;
        let most = agent.limits().calls_per_reply;
        let legal = || agent.definitions().iter().map(|definition| definition.name.as_str());
        let plan = |(place, call): (usize, &ToolUse)| {
            let written = misnamed.iter().find(|(at, _)| *at == place).map(|(_, name)| &**name);
            if place >= most {
                Plan::Answered(tool::too_many_calls(most))
            } else if let Some(written) = written {
                Plan::Answered(tool::unknown_tool(agent.name(), written, legal()))
            } else if agent.is_reserved(call.name()) {
                Plan::Reserve
            } else if agent.table().has(call.name()) {
                withheld(agent, call).map_or(Plan::Run, |bytes| {
                    Plan::Answered(tool::arguments_too_large(bytes, agent.limits().input_bytes))
                })
            } else {
                Plan::Answered(tool::unknown_tool(agent.name(), call.name(), legal()))
            }
        };
        let plans = owing.calls().enumerate().map(plan).collect();
        Self { progress, owing, plans }
    }

    /// The calls to run, each with its place among the calls of the reply.
    pub fn calls(&self) -> impl Iterator<Item = (usize, &ToolUse)> {
        wanted(&self.owing, &self.plans, &Plan::Run)
    }

    /// The messages so far, the reply with the calls last.
    pub fn messages(&self) -> &[Message] {
        self.owing.messages()
    }

    /// Replies that the conversation has had, the one with these calls included. With a name of the
    /// conversation it makes a scope for [`dispatch`](tool::dispatch) that no other reply has.
    pub fn replies(&self) -> u32 {
        self.progress.replies
    }

    /// What the conversation has used, the reply with these calls included.
    pub fn used(&self) -> Used {
        self.progress.used()
    }

    /// Answers the call at `place` of the reply without a run of its tool: [`calls`](Self::calls) has it no more. A
    /// place where no call waits for a run is left as it is.
    pub fn settle(&mut self, place: usize, output: ToolOutput) {
        if let Some(plan @ Plan::Run) = self.plans.get_mut(place) {
            *plan = Plan::Answered(output);
        }
    }

    /// Answers the call at `place` of the reply with what its tool gave: as [`settle`](Self::settle), and it is counted as
    /// a run. When the last is there, the turn is [resumed](Self::resume) without further outputs. Whether a call waited for
    /// one there.
    pub fn complete(&mut self, place: usize, output: ToolOutput) -> bool {
        let waits = self.plans.get(place) == Some(&Plan::Run);
        if waits {
            self.settle(place, output);
            self.progress.tool_calls = self.progress.tool_calls.saturating_add(1);
        }
        waits
    }

    /// Takes the outputs, one for each of [`calls`](Self::calls), in their order.
    ///
    /// # Errors
    /// [`Misuse`], which hands the step back, when their number is another.
    pub fn resume(mut self, agent: &Definition, outputs: Vec<ToolOutput>) -> Result<TurnStep, Misuse<Self>> {
        let ran = u32::try_from(outputs.len()).unwrap_or(u32::MAX);
        match fill(&mut self.plans, &Plan::Run, outputs) {
            Ok(()) => {
                self.progress.tool_calls = self.progress.tool_calls.saturating_add(ran);
                Ok(self.next(agent))
            }
            Err(count) => Err(count.of(self)),
        }
    }

    /// Ends the turn before the outputs are known: each call that waits for one is told `why`, and that nobody knows
    /// whether it had an effect.
    pub fn abandon(self, why: &str) -> Turn {
        closed(self.progress, self.owing, self.plans, why)
    }

    /// Ends the turn before any of its tools has begun: each call is told `why` it was not run.
    pub fn leave(mut self, why: &str) -> Turn {
        let waiting = self.plans.iter_mut().filter(|plan| **plan == Plan::Run);
        waiting.for_each(|plan| *plan = Plan::Reserve);
        closed(self.progress, self.owing, self.plans, why)
    }

    fn next(self, agent: &Definition) -> TurnStep {
        let Self { progress, owing, plans } = self;
        if plans.contains(&Plan::Run) {
            return TurnStep::CallTools(Self { progress, owing, plans });
        }
        if plans.contains(&Plan::Reserve) {
            return TurnStep::Reserved(Reserved { progress, owing, plans });
        }
        answered(progress, owing, plans, agent)
    }
}

/// All calls have their answers: the results go to the model.
fn answered(mut progress: Box<Progress>, owing: Owing, plans: Vec<Plan>, agent: &Definition) -> TurnStep {
    let print = fingerprint(&owing, &plans);
    progress.repeats = if print == progress.last { progress.repeats.saturating_add(1) } else { 1 };
    progress.last = print;
    let asking = answer(owing, plans, UNANSWERED);
    if u32::from(progress.repeats) >= agent.limits().repeats {
        return rest(progress, Rest::Asking(asking), TurnEnd::NoProgress { why: Standstill::Repeating });
    }
    next(progress, asking, agent)
}

/// What a call is told that nothing has answered.
const UNANSWERED: &str = "nothing answered this call";

/// Answers all calls; those without an answer of their own are told `why`. One whose tool may have run is in doubt.
fn answer(owing: Owing, plans: Vec<Plan>, why: &str) -> Asking {
    let mut plans = plans.into_iter();
    owing.answer_each(|call| match plans.next() {
        Some(Plan::Answered(output)) => output.into_result(call.id()),
        Some(Plan::Run) => tool::in_doubt(why).into_result(call.id()),
        Some(Plan::Reserve) | None => tool::not_run(why).into_result(call.id()),
    })
}

/// A turn that is closed with all its calls answered.
fn closed(progress: Box<Progress>, owing: Owing, plans: Vec<Plan>, why: &str) -> Turn {
    Turn { progress, rest: Rest::Asking(answer(owing, plans, why)), end: TurnEnd::Closed }
}

/// A number that tells whether two replies in a row made the same calls and got the same results.
fn fingerprint(owing: &Owing, plans: &[Plan]) -> u32 {
    let mut hash = 0_u64;
    let mut mix = |word: u64| hash = (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    // Eight bytes at a time, equal on every machine; the length keeps neighbours apart.
    let mut add = |text: &str| {
        mix(text.len() as u64);
        for part in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            mix(u64::from_le_bytes(word));
        }
    };
    for (call, plan) in owing.calls().zip(plans) {
        add(call.name());
        add(call.input().get());
        if let Plan::Answered(output) = plan {
            add(&output.content);
        }
    }
    // The upper half, which depends on all that was mixed in.
    (hash >> 32) as u32
}

fn wanted<'a>(
    owing: &'a Owing,
    plans: &'a [Plan],
    which: &'a Plan,
) -> impl Iterator<Item = (usize, &'a ToolUse)> {
    owing.calls().enumerate().zip(plans).filter(move |(_, plan)| *plan == which).map(|(call, _)| call)
}

/// Puts `outputs` in the places of `which`.
fn fill(plans: &mut [Plan], which: &Plan, outputs: Vec<ToolOutput>) -> Result<(), WrongCount> {
    let expected = plans.iter().filter(|plan| *plan == which).count();
    if expected != outputs.len() {
        return Err(WrongCount { expected, found: outputs.len() });
    }
    let places = plans.iter_mut().filter(|plan| *plan == which);
    for (place, output) in places.zip(outputs) {
        *place = Plan::Answered(output);
    }
    Ok(())
}

/// Calls of reserved tools want an answer from the layer above. The agent's own tools have run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reserved {
    progress: Box<Progress>,
    owing: Owing,
    plans: Vec<Plan>,
}

impl Reserved {
    /// The reserved calls, each with its place among the calls of the reply. An input that was larger than
    /// [`Limits::input_bytes`](crate::Limits::input_bytes) stands as a broken one that says so.
    pub fn calls(&self) -> impl Iterator<Item = (usize, &ToolUse)> {
        wanted(&self.owing, &self.plans, &Plan::Reserve)
    }

    /// The calls of the newest reply that have their answer: the agent's own tools have run, and the layer above may have
    /// [settled](Self::settle) some of its calls.
    pub fn answered(&self) -> impl DoubleEndedIterator<Item = (&ToolUse, &ToolOutput)> {
        let calls: Vec<_> = self.owing.calls().zip(&self.plans).collect();
        calls.into_iter().filter_map(|(call, plan)| match plan {
            Plan::Answered(output) => Some((call, output)),
            Plan::Run | Plan::Reserve => None,
        })
    }

    /// Replies that the conversation has had, the one with these calls included. With a name of the
    /// conversation it makes a scope for [`dispatch`](tool::dispatch) that no other reply has.
    pub fn replies(&self) -> u32 {
        self.progress.replies
    }

    /// The messages so far, the reply with the calls last.
    pub fn messages(&self) -> &[Message] {
        self.owing.messages()
    }

    /// Bytes of the conversation before the reply that made the calls, as compact JSON.
    pub fn history_bytes(&self) -> usize {
        let reply = self.messages().last().map_or(0, |reply| reply.wire_len() + 1);
        self.owing.bytes().saturating_sub(reply)
    }

    /// What the conversation has used, the reply with these calls included.
    pub fn used(&self) -> Used {
        self.progress.used()
    }

    /// Answers the call at `place` of the reply beforehand: [`calls`](Self::calls) has it no more. A place where no
    /// reserved call waits is left as it is.
    pub fn settle(&mut self, place: usize, output: ToolOutput) {
        if let Some(plan @ Plan::Reserve) = self.plans.get_mut(place) {
            *plan = Plan::Answered(output);
        }
    }

    /// Ends the turn; each reserved call that waits for an answer is told `why` it has none.
    pub fn abandon(self, why: &str) -> Turn {
        closed(self.progress, self.owing, self.plans, why)
    }

    /// Answers the calls, one output for each in their order, and goes on.
    ///
    /// # Errors
    /// [`Misuse`], which hands the step back, when the number of outputs is another.
    pub fn answer(mut self, agent: &Definition, outputs: Vec<ToolOutput>) -> Result<TurnStep, Misuse<Self>> {
        match fill(&mut self.plans, &Plan::Reserve, outputs) {
            Ok(()) => Ok(answered(self.progress, self.owing, self.plans, agent)),
            Err(count) => Err(count.of(self)),
        }
    }

    /// Answers the calls and ends the turn there: the model is not asked again unless the turn is woken.
    ///
    /// # Errors
    /// [`Misuse`], which hands the step back, when the number of outputs is another.
    pub fn close(mut self, outputs: Vec<ToolOutput>) -> Result<Turn, Misuse<Self>> {
        match fill(&mut self.plans, &Plan::Reserve, outputs) {
            Ok(()) => Ok(closed(self.progress, self.owing, self.plans, UNANSWERED)),
            Err(count) => Err(count.of(self)),
        }
    }

    /// Answers the calls and ends the turn with an answer that stood in one of them: the words follow the results as
    /// the model's own, and the turn has [answered](TurnEnd::Answered) as by any reply. The model is not asked for it.
    ///
    /// # Errors
    /// [`Misuse`], which hands the step back, when the number of outputs is another.
    pub fn conclude(mut self, outputs: Vec<ToolOutput>, answer: Words) -> Result<Turn, Misuse<Self>> {
        match fill(&mut self.plans, &Plan::Reserve, outputs) {
            Ok(()) => {
                let mut progress = self.progress;
                progress.concluded = progress.concluded.saturating_add(1);
                let asking = self::answer(self.owing, self.plans, UNANSWERED);
                Ok(Turn { progress, rest: Rest::Resting(asking.concluded(answer)), end: TurnEnd::Answered })
            }
            Err(count) => Err(count.of(self)),
        }
    }
}

struct WrongCount {
    expected: usize,
    found: usize,
}

impl WrongCount {
    fn of<S>(self, step: S) -> Misuse<S> {
        Misuse { expected: self.expected, found: self.found, step: Box::new(step) }
    }
}

/// Outputs that do not fit the calls: the driver's fault. The step is handed back as it was.
#[derive(Debug, thiserror::Error)]
#[error("{expected} call(s) want an output each, {found} output(s) came")]
pub struct Misuse<S> {
    /// How many calls there are.
    pub expected: usize,
    /// How many outputs came.
    pub found: usize,
    /// The step, unchanged.
    pub step: Box<S>,
}

impl Progress {
    fn count(&mut self, usage: &Usage) {
        self.replies = self.replies.saturating_add(1);
        self.charge((usage.total_input_tokens(), usage.output_tokens));
    }

    fn charge(&mut self, (read, written): (u64, u64)) {
        self.input_tokens = self.input_tokens.saturating_add(read);
        self.output_tokens = self.output_tokens.saturating_add(written);
    }

    fn used(&self) -> Used {
        let Self { replies, tool_calls, input_tokens, output_tokens, .. } = *self;
        Used { replies, tool_calls, input_tokens, output_tokens }
    }

    /// The same progress at the start of a new activation.
    fn again(mut self: Box<Self>) -> Box<Self> {
        self.steps = 0;
        self.empty = 0;
        self.pauses = 0;
        self.repeats = 0;
        self.last = 0;
        self
    }
}
