//! The blocking driver.

use sommelier_handoff::{
    Answer, Budget, CallModel, CallTools, HandOff, Hop, Input, InputKind, Millis, Relay, Run, Step,
};
use sommelier_protocol::{ModelRequest, ModelResponse, Words};
use sommelier_runtime::{Model, ModelError};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use tracing::Span;

use crate::answered::Answered;
use crate::dispatch::Pass;
use crate::driven::Driven;
use crate::durable::Log;
use crate::journal::MAX_BODY;
use crate::mailbox::Signals;
use crate::root::Root;
use crate::secrets::{Redact, Secrets, Vault};
use crate::seen::Seen;
use crate::spans::Told;
use crate::{Gate, Mailbox, Outcome, Parked, Report, RunError, dispatch, spans};

/// Why a handoff could not be written down.
pub(crate) type Unwritten = Box<dyn Error + Send + Sync>;

type Record<'m> = dyn Fn(&Hop) -> Result<(), Unwritten> + Send + Sync + 'm;

/// Drives runs: asks the models, runs the tools, takes the handoffs. A run is on the caller's thread, its branches are
/// on threads of their own.
///
/// A runner holds no state of any conversation, so one serves any number of them, from any thread.
pub struct Runner<'m> {
    model: Box<dyn Model + 'm>,
    models: BTreeMap<String, Box<dyn Model + 'm>>,
    gate: Gate,
    clock: Arc<dyn Fn() -> Millis + Send + Sync>,
    conversation: Option<String>,
    record: Option<Box<Record<'m>>>,
    redact: Option<Box<Redact<'m>>>,
    trace: Option<String>,
    shows_contents: bool,
}

impl<'m> Runner<'m> {
    /// A runner whose agents all ask `model`, whose gate denies, and whose clock is the system's.
    pub fn new(model: impl Model + 'm) -> Self {
        Self {
            model: Box::new(model),
            models: BTreeMap::new(),
            gate: Gate::default(),
            clock: Arc::new(now),
            conversation: None,
            record: None,
            redact: None,
            trace: None,
            shows_contents: false,
        }
    }

    /// Sets the model of one agent.
    pub fn model_of(mut self, agent: impl Into<String>, model: impl Model + 'm) -> Self {
        self.models.insert(agent.into(), Box::new(model));
        self
    }

    /// Sets the gate for tools that need approval.
    pub fn gate(mut self, gate: Gate) -> Self {
        self.gate = gate;
        self
    }

    /// Sets the clock, in milliseconds since 1970-01-01 UTC.
    pub fn clock(mut self, clock: impl Fn() -> Millis + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Names the conversation that [`run`](Self::run) begins. Idempotency keys begin with the name, so each
    /// conversation needs its own; when it is not set, a new one is made of the time, a count and a number by chance.
    pub fn conversation(mut self, name: impl Into<String>) -> Self {
        self.conversation = Some(name.into());
        self
    }

    /// Has each handoff written down before it is taken, those in branches too. The hop's id begins with its conversation
    /// and is the same whenever the handoff is tried again, so a record can be told from its repetition.
    ///
    /// Where that fails nothing has moved: no agent has got the turn, no model is told that one has, and no hop is on the
    /// trail. The run comes back whole in [`RunError::Unwritten`]: to [`drive`](Self::drive) its step tries the same handoff
    /// again, to [cancel](Step::cancel) it calls it off. Branches beside it come to their end first.
    ///
    /// ```
    /// use sommelier_handoff::{Agent, Relay};
    /// use sommelier_runner::{Outcome, RunError, Runner};
    /// use sommelier_runtime::{ScriptedModel, script};
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// let relay = Relay::builder()
    ///     .agent(Agent::new("clerk", ""))
    ///     .agent(Agent::new("till", ""))
    ///     .entry("clerk")
    ///     .route("clerk", "till")
    ///     .build()?;
    /// let order = r#"{"specialist":"till","task":"Take the money.","context":{}}"#;
    /// let model = ScriptedModel::new()
    ///     .turn("clerk", |_| script::call("tu_1", "handoff_to_specialist", order))
    ///     .turn("till", |_| script::say("Here are your tickets."));
    /// let disk_is_full = AtomicBool::new(true);
    /// let runner = Runner::new(model).record_hops(|_| match disk_is_full.load(Ordering::Relaxed) {
    ///     true => Err("the disk is full".into()),
    ///     false => Ok(()),
    /// });
    /// let Err(RunError::Unwritten { parked, .. }) = runner.run(&relay, "Two tickets, please.") else { panic!() };
    /// assert_eq!(parked.step().run().active().as_str(), "clerk");
    /// disk_is_full.store(false, Ordering::Relaxed);
    /// let Outcome::Ended(report) = runner.drive(&relay, parked.into_step())? else { panic!() };
    /// assert_eq!((report.last_agent(), report.hops().count()), ("till", 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn record_hops(
        mut self,
        record: impl Fn(&Hop) -> Result<(), Box<dyn Error + Send + Sync>> + Send + Sync + 'm,
    ) -> Self {
        self.record = Some(Box::new(record));
        self
    }

    /// Sets what is taken out of all words before anything else has them: of what users and people say, of what models
    /// write, but for arguments of an agent's tools, which a tool takes as they are (see
    /// [`Tool::secret`](sommelier_runtime::Tool::secret)), and of what tools and errors tell. No message, package, record or
    /// answer has them then, and a run that is gone on with sees the same bytes. What panics lets nothing pass.
    ///
    /// Names are kept as they are, of conversations, agents, tools, artifacts and owners of leases; so are keys of turns, and one
    /// with such words is [refused](crate::DurableError::SecretKey). What a tool, a gate or a model's adapter panics with goes
    /// into nothing that the runner writes, yet Rust's [hook](std::panic::set_hook) has written it to stderr by then: the
    /// hook is the whole program's, so it is for the program to set one that writes no words.
    ///
    /// ```
    /// use sommelier_handoff::{Agent, Relay};
    /// use sommelier_runner::{Outcome, Runner};
    /// use sommelier_runtime::{ScriptedModel, script};
    ///
    /// let relay = Relay::builder().agent(Agent::new("clerk", "You greet.")).entry("clerk").build()?;
    /// let model = ScriptedModel::new().turn("clerk", |request| {
    ///     script::say(format!("You said: {}", request.messages[0].texts().collect::<String>()))
    /// });
    /// let runner = Runner::new(model).redact(|text| text.replace("ada@example.org", "<address>"));
    /// let Outcome::Ended(report) = runner.run(&relay, "Write to ada@example.org")? else { panic!() };
    /// assert_eq!(report.answer(), "You said: Write to <address>");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn redact(mut self, redact: impl Fn(&str) -> String + Send + Sync + 'm) -> Self {
        self.redact = Some(Box::new(redact));
        self
    }

    /// Names the trace in which runs are told, such as a W3C `traceparent` that the caller was given or the 32 hexadecimal
    /// digits of a trace's id. It stands on each root as `trace`, and whoever exports the spans takes them there. A
    /// [turn](crate::Turn::trace) may name another.
    pub fn trace(mut self, name: impl Into<String>) -> Self {
        self.trace = Some(name.into());
        self
    }

    /// Puts what is said into the spans: instructions, messages, packages, arguments and results, each cut off at 64 KiB.
    /// Otherwise none of it is in any span. It has passed the [redactor](Self::redact), and a secret argument is its handle: all of
    /// it passes once more on its way into a span, since a step may have been made, or a journal begun, without that redactor.
    /// There arguments of tools pass too. What it has been through is to come out of a redactor as it went in.
    ///
    /// ```
    /// # use sommelier_handoff::{Agent, Relay};
    /// # use sommelier_runner::Runner;
    /// # use sommelier_runtime::{ScriptedModel, script};
    /// # let relay = Relay::builder().agent(Agent::new("clerk", "You greet.")).entry("clerk").build()?;
    /// # let model = ScriptedModel::new().turn("clerk", |_| script::say("Good morning."));
    /// let runner = Runner::new(model).redact(|text| text.replace("ada", "<name>")).show_contents();
    /// # runner.run(&relay, "hello")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn show_contents(mut self) -> Self {
        self.shows_contents = true;
        self
    }

    /// The vault of a run, with what is to be taken out of all words, and who may see the rest.
    pub(crate) fn vault(&self, secrets: Secrets) -> Vault<'_> {
        Vault::new(secrets, self.redact.as_deref()).shown(self.shows_contents)
    }

    /// Begins a conversation with the user's words and drives it to its end.
    ///
    /// # Errors
    /// [`RunError::Blank`] when there are no words. What a model or a tool does wrong is no error: it is in
    /// the report.
    pub fn run(&self, relay: &Relay, text: &str) -> Result<Outcome, RunError> {
        let vault = self.vault(Secrets::default());
        let step = relay.start(self.conversation_name(), vault.words(text))?;
        self.drive_around(relay, step, &Around::of(&vault))
    }

    /// Goes on with a conversation after the user has spoken again, however its run has ended: the caller says so by
    /// calling this. Where a person has taken over, or somebody has called the run off, an agent would answer in that
    /// person's place, so a loop that hands on whatever the user writes asks
    /// [`RunEnd::awaits_user`](sommelier_handoff::RunEnd::awaits_user) first.
    ///
    /// It takes a [`Report`], with which the values of [secret](sommelier_runtime::Tool::secret) arguments are: they are taken out
    /// of what the user and the models say from here on too, and a handle has its value. Of a [`Done`](sommelier_handoff::Done),
    /// as after a restart, none is known any more: what is said again in words stands there as it is said, until a tool gets it.
    ///
    /// # Errors
    /// [`RunError::Blank`] when there are no words, [`RunError::OtherRelay`] when the run began with another relay.
    pub fn go_on(&self, relay: &Relay, ended: impl Into<Report>, text: &str) -> Result<Outcome, RunError> {
        let words = Words::new(text)?;
        let (done, secrets) = ended.into().into_parts();
        if !done.run().is_of(relay) {
            return Err(RunError::other_relay(Parked::with(Step::Done(done), secrets)));
        }
        let vault = self.vault(secrets);
        let step = done.hear(relay, vault.said(words));
        self.drive_around(relay, step, &Around::of(&vault))
    }

    /// Gives a run that waits so much more than it was given. Its time begins anew, so an answer that would have come
    /// [too late](sommelier_handoff::Rejected::TooLate) counts: see [`Step::with_more`].
    pub fn with_more(&self, relay: &Relay, parked: Parked, more: Budget) -> Parked {
        let secrets = parked.secrets();
        Parked::with(parked.into_step().with_more(relay, more, (self.clock)()), secrets)
    }

    /// Goes on with a run that waits, after a person has answered one of its questions. Where more are open, it waits on.
    ///
    /// # Errors
    /// [`RunError::Rejected`] when the answer cannot be taken, [`RunError::OtherRelay`] when the run began with another
    /// relay; the run is in the error, as it was. An answer that comes when the time of the run is over is one of the first:
    /// nothing of it is on record, and the run waits on, to be given [more](Self::with_more) or [driven](Self::drive) to its
    /// end.
    pub fn answer(
        &self,
        relay: &Relay,
        parked: Parked,
        id: &str,
        answer: Answer,
    ) -> Result<Outcome, RunError> {
        if !parked.step().run().is_of(relay) {
            return Err(RunError::other_relay(parked));
        }
        let vault = self.vault(parked.secrets());
        let answered = Answered::of(parked.step(), id, &answer);
        match parked.into_step().answer(relay, id, vault.answer(answer), (self.clock)()) {
            Ok(step) => {
                let answered = answered.as_ref();
                self.drive_around(relay, step, &Around { answered, ..Around::of(&vault) })
            }
            Err((step, why)) => {
                Err(RunError::Rejected { why, parked: Box::new(Parked::with(*step, vault.secrets())) })
            }
        }
    }

    /// Drives a step, such as one that was loaded, to the end of its run.
    ///
    /// # Errors
    /// [`RunError::Unwritten`] when a handoff could not be [written down](Self::record_hops), [`RunError::OtherRelay`] when
    /// the run began with another relay; [`RunError::Driver`] is a fault of this driver.
    pub fn drive(&self, relay: &Relay, step: Step) -> Result<Outcome, RunError> {
        self.drive_around(relay, step, &Around::of(&self.vault(Secrets::default())))
    }

    /// As [`drive`](Self::drive), while others may speak to the run through `mailbox`, or call it off.
    ///
    /// # Errors
    /// Those of [`drive`](Self::drive).
    pub fn drive_with(&self, relay: &Relay, step: Step, mailbox: &Mailbox) -> Result<Outcome, RunError> {
        let vault = self.vault(Secrets::default());
        self.drive_around(relay, step, &Around { signals: Signals::of(mailbox), ..Around::of(&vault) })
    }

    pub(crate) fn drive_around(
        &self,
        relay: &Relay,
        step: Step,
        around: &Around<'_>,
    ) -> Result<Outcome, RunError> {
        if !step.run().is_of(relay) {
            return Err(RunError::other_relay(around.parked(step)));
        }
        let take = ControlFlow::<Infallible, HandOff>::Continue;
        Ok(match self.drive_to_handoff(relay, step, take, around)? {
            Driven::Done(done) => Outcome::Ended(Report::with(done, around.vault.secrets())),
            Driven::Waiting(step) => Outcome::Waiting(around.parked(step)),
            Driven::Unwritten(step, why) => return Err(RunError::unwritten(around.parked(step), why)),
        })
    }

    /// Drives a step to the end of its run, or to a handoff that `at_handoff` takes out.
    pub(crate) fn drive_to_handoff<T>(
        &self,
        relay: &Relay,
        step: Step,
        at_handoff: impl FnMut(HandOff) -> ControlFlow<T, HandOff>,
        around: &Around<'_>,
    ) -> Result<Driven<T>, RunError> {
        let told = around.log.map(Log::told).unwrap_or_default();
        let words = |trace: &str| around.vault.words(trace);
        let trace = told.trace.or(self.trace.as_deref()).map(words);
        let resumed = told.resumed.map(words);
        let told = Told { trace: trace.as_deref(), resumed: resumed.as_deref() };
        let root = Root::open(relay, &step, told, around);
        let driven = self.drive_under(relay, step, root.span(), at_handoff, around);
        let driven = driven.inspect_err(|error| root.stop(error))?;
        // The answer leaves after its record is safe.
        if let Some(log) = around.log {
            log.flush().map_err(RunError::Unkept).inspect_err(|error| root.stop(error))?;
        }
        root.close(&driven, around.log.and_then(Log::head));
        Ok(driven)
    }

    /// Drives the steps of one run, each agent's under `parent`. Before each step it is looked at what reaches it from
    /// outside, the time included.
    pub(crate) fn drive_under<T>(
        &self,
        relay: &Relay,
        mut step: Step,
        parent: &Span,
        mut at_handoff: impl FnMut(HandOff) -> ControlFlow<T, HandOff>,
        around: &Around<'_>,
    ) -> Result<Driven<T>, RunError> {
        let mut agent = spans::agent(parent, relay, step.run(), None);
        if let Some(answered) = around.answered {
            answered.tell_rejected(relay, step.run(), &agent, around.vault);
        }
        // What comes from outside may have been begun by another driver.
        let mut begun = Begun::Perhaps;
        loop {
            step = self.reached(relay, step, around, begun)?;
            begun = Begun::Never;
            let seen = Seen::of(step.run());
            step = match step {
                Step::CallModel(call) => {
                    seen.traced(relay, self.ask(relay, call, &agent, around)?, &agent, around.vault)
                }
                Step::CallTools(calls) => {
                    let step = match around.log {
                        Some(log) => self.run_tools_logged(relay, calls, &agent, (log, around.vault))?,
                        None => self.run_tools(relay, calls, &agent, around.vault)?,
                    };
                    seen.traced(relay, step, &agent, around.vault)
                }
                Step::AskHuman(_) => return Ok(Driven::Waiting(step)),
                Step::Delegate(delegation) => {
                    let (delegation, unwritten) = self.run_branches(relay, delegation, &agent, around)?;
                    if !delegation.is_over() {
                        // A branch waits, and the tree with it.
                        return Ok(Driven::open(Step::Delegate(delegation), unwritten));
                    }
                    let (step, at) = (Step::Delegate(delegation), (self.clock)());
                    let step = self.feed(relay, step, InputKind::Joined, at, around.log)?;
                    seen.traced(relay, step, &agent, around.vault)
                }
                Step::HandOff(handoff) => {
                    let span = spans::handoff(&agent, relay, handoff.hop(), around.vault);
                    let at = (self.clock)();
                    if let (Some(log), Some(_)) = (around.log, &self.record) {
                        log.flush().map_err(RunError::Unkept)?;
                    }
                    let handoff = match self.written_down(relay, handoff, at, &span, &mut at_handoff) {
                        ControlFlow::Continue(handoff) => handoff,
                        ControlFlow::Break(driven) => return Ok(driven),
                    };
                    let (step, is_taken) = self.take(relay, handoff, at, &span, around.log)?;
                    if is_taken {
                        agent = spans::agent(parent, relay, step.run(), Some(&span));
                    }
                    step
                }
                Step::Done(done) => {
                    spans::record_last_agent(&agent, done.end());
                    return Ok(Driven::Done(done));
                }
            };
        }
    }

    /// The handoff once it is on record, unless that fails or `at_handoff` takes it out. One that does not stand any more
    /// is on no record.
    fn written_down<T>(
        &self,
        relay: &Relay,
        handoff: HandOff,
        at: Millis,
        span: &Span,
        at_handoff: &mut impl FnMut(HandOff) -> ControlFlow<T, HandOff>,
    ) -> ControlFlow<Driven<T>, HandOff> {
        if let Some(record) = &self.record {
            // Taking it asks this too; only a record has to know before.
            if !handoff.stands(relay, at) {
                return ControlFlow::Continue(handoff);
            }
            let written = catch_unwind(AssertUnwindSafe(|| record(handoff.hop())));
            if let Err(why) = written.unwrap_or_else(|_| Err("it panicked".into())) {
                spans::record_hop_unwritten(span);
                return ControlFlow::Break(Driven::Unwritten(Step::HandOff(handoff), why));
            }
        }
        at_handoff(handoff).map_break(|taken_out| {
            spans::record_taken_out(span);
            Driven::TakenOut(taken_out)
        })
    }

    /// Takes a handoff: the step after it, and whether the receiver has the turn.
    fn take(
        &self,
        relay: &Relay,
        handoff: HandOff,
        at: Millis,
        span: &Span,
        log: Option<&Log<'_>>,
    ) -> Result<(Step, bool), RunError> {
        let id = handoff.hop().id.clone();
        let since_user = handoff.run().trail().count_since_user();
        let step = match log {
            Some(log) => log.take(relay, handoff, at).map_err(RunError::misfit)?,
            None => handoff.take(relay, at),
        };
        // By its id: where the receiver is no longer ready, all handoffs of the reply are ruled on anew; and where the time
        // is over none of them is.
        let hop = step.run().trail().hops().iter().rev().find(|hop| hop.id == id);
        match hop {
            Some(hop) => spans::record_hop(span, &hop.outcome, since_user),
            None => spans::record_hop_not_taken(span),
        }
        let is_taken = hop.is_some_and(|hop| hop.outcome.is_taken());
        Ok((step, is_taken))
    }

    /// The step after all that has reached it from outside. Branches are called off one by one, and end one by one when
    /// their time is over, each at its own first step, so that each has its span.
    fn reached(
        &self,
        relay: &Relay,
        mut step: Step,
        around: &Around<'_>,
        begun: Begun,
    ) -> Result<Step, RunError> {
        let is_open = |step: &Step| !matches!(step, Step::Done(_) | Step::Delegate(_));
        // Whether one of its tools may be at work, the records say, where there are some.
        let begun = |step: &Step| match around.log {
            Some(log) => log.is_any_begun(step.run().conversation()),
            None => matches!(begun, Begun::Perhaps),
        };
        if let Some(reason) = around.signals.called_off() {
            if !is_open(&step) {
                return Ok(step);
            }
            let reason = around.vault.words(&reason).into();
            let what = InputKind::Cancelled { reason, begun: begun(&step) };
            return self.feed(relay, step, what, (self.clock)(), around.log);
        }
        for words in around.signals.words_for(&step).into_iter().map(|words| around.vault.said(words)) {
            let what =
                InputKind::TurnReceived { key: None, text: words.as_str().into(), trace: None, begun: false };
            step = self.feed(relay, step, what, (self.clock)(), around.log)?;
        }
        if !is_open(&step) || !step.run().is_timed() {
            return Ok(step);
        }
        let at = (self.clock)();
        // A look at the clock counts where it begins the run's time, or ends it.
        if step.run().deadline().is_some_and(|until| at < until) {
            return Ok(step);
        }
        let what = InputKind::Deadline { begun: begun(&step) };
        self.feed(relay, step, what, at, around.log)
    }

    /// The step after an input, which is kept where there is a record.
    fn feed(
        &self,
        relay: &Relay,
        step: Step,
        what: InputKind,
        at: Millis,
        log: Option<&Log<'_>>,
    ) -> Result<Step, RunError> {
        let fed = match log {
            Some(log) => log.feed_at(relay, step, what, at),
            None => {
                let run = step.run().conversation().into();
                step.feed_or_keep(relay, &Input { run, at, what })
            }
        };
        fed.map_err(RunError::misfit)
    }

    /// Whether a step that waits is over its time.
    pub(crate) fn is_over(&self, step: &Step) -> bool {
        step.deadline().is_some_and(|until| until <= (self.clock)())
    }

    pub(crate) fn trace_name(&self) -> Option<&str> {
        self.trace.as_deref()
    }

    pub(crate) fn now(&self) -> Millis {
        (self.clock)()
    }

    pub(crate) fn decides(&self) -> &Gate {
        &self.gate
    }

    pub(crate) fn time_left(&self, run: &Run) -> Option<Millis> {
        run.deadline().map(|until| until.saturating_sub((self.clock)()))
    }

    fn ask(
        &self,
        relay: &Relay,
        call: CallModel,
        agent: &Span,
        around: &Around<'_>,
    ) -> Result<Step, RunError> {
        if let Some(log) = around.log {
            log.intend_request(relay, &call, (self.clock)()).map_err(RunError::Unkept)?;
        }
        let request = ModelRequest { time_left: self.time_left(call.run()), ..call.request(relay) };
        let model = self.models.get(&*request.caller).unwrap_or(&self.model);
        // What a model tells of itself is its adapter's code too.
        let conversation = call.run().conversation();
        let span = catch_unwind(AssertUnwindSafe(|| spans::chat(agent, conversation, &request, model)));
        let span = span.unwrap_or_else(|_| Span::none());
        if around.vault.is_shown() {
            spans::show_request(&span, &request, around.vault);
        }
        // The step waits for its answer, so a panic of the model's adapter costs the call and not the conversation.
        let complete = AssertUnwindSafe(|| span.in_scope(|| model.complete(request)));
        let response = catch_unwind(complete).unwrap_or(Err(ModelError::Panicked));
        let response = match (response, relay.agent(call.run().active().as_str())) {
            (Ok(response), Some(agent)) => Ok(around.vault.hide(agent, response)),
            (response, _) => response.map_err(|error| around.vault.error(error)),
        };
        let response = match around.log {
            Some(_) => response.and_then(recordable),
            None => response,
        };
        spans::record_response(&span, &response);
        if let (true, Ok(reply)) = (around.vault.is_shown(), &response) {
            spans::show_reply(&span, reply, around.vault);
        }
        drop(span);
        let at = (self.clock)();
        match around.log {
            Some(log) => {
                log.feed_at(relay, Step::CallModel(call), replied(response), at).map_err(RunError::misfit)
            }
            None => Ok(call.resume(relay, response, at)),
        }
    }

    fn run_tools(
        &self,
        relay: &Relay,
        calls: CallTools,
        span: &Span,
        vault: &Vault<'_>,
    ) -> Result<Step, RunError> {
        let Some(agent) = calls.agent(relay) else {
            return Err(RunError::Driver("the relay is not the one that the run began with".to_owned()));
        };
        let scope = calls.scope();
        let passes: Vec<_> = calls
            .calls()
            .map(|(place, call)| match calls.is_approved(place) {
                true => (place, call, Pass::Approved(spans::APPROVED_BY_PERSON)),
                false => (place, call, dispatch::pass(agent, (place, call), &scope, &self.gate, vault)),
            })
            .collect();
        let asked: Vec<usize> =
            passes.iter().filter(|(.., pass)| matches!(pass, Pass::Asks)).map(|(place, ..)| *place).collect();
        if !asked.is_empty() {
            let waiting = calls.ask(&asked, (self.clock)());
            return waiting.map_err(|_| RunError::Driver("a call could not be asked about".to_owned()));
        }
        let outputs = dispatch::run_all(agent, &passes, &scope, self.time_left(calls.run()), span, vault);
        calls.resume(relay, outputs, (self.clock)()).map_err(|misuse| RunError::Driver(misuse.to_string()))
    }

    pub(crate) fn conversation_name(&self) -> String {
        static COUNT: AtomicU64 = AtomicU64::new(1);
        self.conversation.clone().unwrap_or_else(|| {
            // A number by chance keeps processes apart that began at the same time.
            let chance = by_chance();
            format!("conversation-{}-{}-{chance:016x}", (self.clock)(), COUNT.fetch_add(1, Ordering::Relaxed))
        })
    }
}

/// A reply that a record of the journal takes. A larger one is none, by the fault of the model's service: it is paid for, the
/// run ends with that, and its records go on.
fn recordable(response: ModelResponse) -> Result<ModelResponse, ModelError> {
    /// What stands around the reply in its record: the name of the run, a version, a time.
    const AROUND: usize = 4 << 10;
    const MOST: usize = MAX_BODY - AROUND;
    let fault = match serde_json::to_string(&response) {
        Ok(text) if text.len() <= MOST => return Ok(response),
        Ok(text) => format!("it has {} bytes, and a record takes {MOST}", text.len()),
        Err(error) => format!("it cannot be written down: {error}"),
    };
    let used = &response.usage;
    Err(ModelError::Malformed { detail: fault }.charged(used.total_input_tokens(), used.output_tokens))
}

/// What came of a request, as an input.
fn replied(response: Result<ModelResponse, ModelError>) -> InputKind {
    match response {
        Ok(response) => InputKind::ModelResponded { response: Box::new(response) },
        Err(error) => InputKind::ModelFailed { error },
    }
}

/// What a run is driven in: what reaches it from outside, where it is written down, and what must not be.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    pub(crate) signals: Signals<'a>,
    pub(crate) log: Option<&'a Log<'a>>,
    pub(crate) vault: &'a Vault<'a>,
    /// What a person has just answered.
    pub(crate) answered: Option<&'a Answered>,
}

impl<'a> Around<'a> {
    /// Nothing but a vault.
    pub(crate) fn of(vault: &'a Vault<'a>) -> Self {
        Self { signals: Signals::default(), log: None, vault, answered: None }
    }

    /// A step that is not driven for now, with its secrets.
    pub(crate) fn parked(&self, step: Step) -> Parked {
        Parked::with(step, self.vault.secrets())
    }
}

/// Whether a step has been begun before this driver looks at it.
#[derive(Clone, Copy)]
enum Begun {
    /// It was made here just now.
    Never,
    /// It came from outside: another process may be at work on it.
    Perhaps,
}

/// A number that no other process has, and no other call of this.
pub(crate) fn by_chance() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Milliseconds since 1970-01-01 UTC; 0 for a clock set before it.
fn now() -> Millis {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

impl fmt::Debug for Runner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner")
            .field("models", &self.models.keys())
            .field("gate", &self.gate)
            .finish_non_exhaustive()
    }
}
