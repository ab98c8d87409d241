//! How a run ends where it stands: called off, or because its time is over.

use super::{CallTools, Done, Step, finish};
use crate::{Budget, Millis, Relay, Run, RunEnd};

impl Step {
    /// Calls the run off, where it stands: nothing more is done in it, and everything that was is kept. Each open call
    /// is answered, so the conversation stays legal and may go on. A run that has ended is left as it is.
    pub fn cancel(self, relay: &Relay, reason: &str, at: Millis) -> Done {
        self.halt(relay, Halt::CalledOff { reason }, at)
    }

    /// As [`cancel`](Self::cancel), for a driver that knows that nobody has begun this step: it has made it by its own last
    /// answer, and has not looked at it since. The tools that it asks for have not run, and their calls say so; after `cancel`
    /// they are in doubt, since a step that was saved and loaded may be at work elsewhere. Of branches nothing of the kind is
    /// known.
    pub fn cancel_unbegun(self, relay: &Relay, reason: &str, at: Millis) -> Done {
        self.halt_unbegun(relay, Halt::CalledOff { reason }, at)
    }

    /// Tells the run, and its branches, what time it is. Where the time of one is limited
    /// ([`Budget::millis`](crate::Budget::millis)) this begins its clock, and ends it when its time is over, wherever it
    /// stands: while it waits for a person, for tools, for the taking of a handoff. Like a run that is called off it keeps
    /// all that was done; its end is [`RunEnd::BudgetSpent`]. A run that has ended is left as it is.
    ///
    /// The time that comes with an answer counts as well: what was answered is kept, and when the time is over by then
    /// nothing more is begun. An answer of the model that ends the run is its answer, however late it comes.
    ///
    /// A driver calls this before each step, and whenever [`deadline`](Self::deadline) has passed while it waits.
    ///
    /// ```
    /// use sommelier_handoff::{Agent, Budget, Relay, RunEnd, Step};
    ///
    /// let relay = Relay::builder()
    ///     .agent(Agent::new("clerk", "You greet."))
    ///     .entry("clerk")
    ///     .budget(Budget::new(50).millis(500))
    ///     .build()?;
    /// let step = relay.start("c", "hello")?.now(&relay, 1_000);
    /// assert_eq!(step.deadline(), Some(1_500));
    /// let Step::Done(done) = step.now(&relay, 1_500) else { panic!() };
    /// assert_eq!(done.end().to_string(), "budget_spent: 500 millisecond(s)");
    /// assert!(done.with_more(&relay, Budget::new(0).millis(100)).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn now(self, relay: &Relay, at: Millis) -> Self {
        self.told_time(relay, at, Self::halt)
    }

    /// As [`now`](Self::now), for a driver that knows that nobody has begun this step: see
    /// [`cancel_unbegun`](Self::cancel_unbegun).
    pub fn now_unbegun(self, relay: &Relay, at: Millis) -> Self {
        self.told_time(relay, at, Self::halt_unbegun)
    }

    fn told_time(
        mut self,
        relay: &Relay,
        at: Millis,
        halt: fn(Self, &Relay, Halt<'_>, Millis) -> Done,
    ) -> Self {
        if let Self::Done(_) = self {
            return self;
        }
        self.run_mut().hear_time(at);
        if let Self::Delegate(step) = self {
            self = Self::Delegate(step.now(relay, at));
        }
        if !self.run().is_over(at) {
            return self;
        }
        let Done { run, end } = halt(self, relay, Halt::TimeOver, at);
        finish(relay, run, end, at)
    }

    /// Gives a run that has not ended so much more than it was given, wherever it stands: what was asked of people and is
    /// answered now counts. Time begins anew at `at`, and is `more.millis`, or when that is `None` as much as there was; that
    /// of open branches begins anew with it, each with as much as its delegate may have. What was not limited stays without a
    /// limit. A run that has ended is left as it is: see [`Done::with_more`].
    ///
    /// ```
    /// use sommelier_handoff::{Agent, Answer, Budget, Rejected, Relay, Step};
    /// # use sommelier_runtime::script;
    ///
    /// let relay = Relay::builder()
    ///     .agent(Agent::new("clerk", "You ask."))
    ///     .entry("clerk")
    ///     .may_ask_human("clerk")
    ///     .budget(Budget::new(50).millis(500))
    ///     .build()?;
    /// let Step::CallModel(call) = relay.start("c", "hello")?.now(&relay, 1_000) else { panic!() };
    /// # let reply = script::call("tu_1", "ask_human", r#"{"question":"For whom?"}"#);
    /// let step = call.resume(&relay, Ok(reply), 1_010); // it asks a person
    /// let ada = || Answer::Say { text: "Ada".into() };
    /// let Err((step, why)) = step.answer(&relay, "c/1/1/0", ada(), 90_000) else { panic!() };
    /// assert_eq!(why, Rejected::TooLate { id: "c/1/1/0".to_owned(), until: 1_500, at: 90_000 });
    /// let step = step.with_more(&relay, Budget::new(0), 90_000);
    /// assert_eq!(step.deadline(), Some(90_500));
    /// assert!(step.answer(&relay, "c/1/1/0", ada(), 90_000).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_more(mut self, relay: &Relay, more: Budget, at: Millis) -> Self {
        if let Self::Done(_) = self {
            return self;
        }
        self.run_mut().add(&more);
        self.run_mut().hear_time(at);
        if let Self::Delegate(step) = &mut self {
            step.renew_time(relay, at);
        }
        self
    }

    /// When the first of the open steps of the tree is over its time: until then a driver may wait for what it waits for,
    /// and then it is to say what time it [is](Self::now). `None` when no time is limited, or no clock has begun.
    pub fn deadline(&self) -> Option<Millis> {
        let open = self.open().into_iter().filter(|step| !matches!(step, Self::Done(_)));
        open.filter_map(|step| step.run().deadline()).min()
    }

    /// As [`halt`](Self::halt), where no tool of this step has begun.
    fn halt_unbegun(self, relay: &Relay, halt: Halt<'_>, at: Millis) -> Done {
        let Self::CallTools(step) = self else { return self.halt(relay, halt, at) };
        let CallTools { mut run, inner } = step.settled();
        run.set_down(inner.leave(halt.why()));
        let end = halt.end(&run);
        Done::of(relay, run, end, at)
    }

    /// Ends the run where it stands. Each open call is answered, so the conversation stays legal.
    pub(super) fn halt(self, relay: &Relay, halt: Halt<'_>, at: Millis) -> Done {
        let why = halt.why();
        let (mut run, turn) = match self {
            Self::AskHuman(asking) => return asking.end(relay, |run| halt.end(run), why, at),
            Self::CallModel(step) => (step.run, step.inner.set_down()),
            Self::CallTools(step) => {
                let why = format!("{why}; whether the call had an effect is not known");
                let CallTools { run, inner } = step.settled();
                (run, inner.abandon(&why))
            }
            Self::Delegate(step) => {
                let (run, inner) = step.halt(relay, halt, at);
                (run, inner.abandon(why))
            }
            Self::HandOff(step) => (step.run, step.inner.abandon(&format!("{why} before it was taken"))),
            Self::Done(done) => return done,
        };
        run.set_down(turn);
        let end = halt.end(&run);
        Done::of(relay, run, end, at)
    }
}

/// Why a run ends where it stands.
#[derive(Clone, Copy)]
pub(super) enum Halt<'a> {
    CalledOff { reason: &'a str },
    TimeOver,
}

impl Halt<'_> {
    /// What open calls are told.
    pub(super) fn why(self) -> &'static str {
        match self {
            Self::CalledOff { .. } => "called off",
            Self::TimeOver => TIME_OVER,
        }
    }

    pub(super) fn end(self, run: &Run) -> RunEnd {
        match self {
            Self::CalledOff { reason } => RunEnd::Cancelled { reason: reason.into() },
            Self::TimeOver => run.time_spent(),
        }
    }
}

/// What a call is told that is not done any more.
pub(super) const TIME_OVER: &str = "the time is over";
