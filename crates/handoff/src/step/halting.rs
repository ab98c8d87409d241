//! How a run ends where it stands: called off, or because its time is over.

use super::{CallTools, Done, Step, finish};
use crate::{Millis, Relay, Run, RunEnd};

impl Step {
    /// Calls the run off, where it stands: nothing more is done in it, and everything that was is kept. Each open call
    /// is answered, so the conversation stays legal and may go on. A run that has ended is left as it is.
    pub fn cancel(self, relay: &Relay, reason: &str, at: Millis) -> Done {
        self.halt(relay, Halt::CalledOff { reason }, at)
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
    pub fn now(mut self, relay: &Relay, at: Millis) -> Self {
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
        let Done { run, end } = self.halt(relay, Halt::TimeOver, at);
        finish(relay, run, end, at)
    }

    /// When the first of the open steps of the tree is over its time: until then a driver may wait for what it waits for,
    /// and then it is to say what time it [is](Self::now). `None` when no time is limited, or no clock has begun.
    pub fn deadline(&self) -> Option<Millis> {
        let open = self.open().into_iter().filter(|step| !matches!(step, Self::Done(_)));
        open.filter_map(|step| step.run().deadline()).min()
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
