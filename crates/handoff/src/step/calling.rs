//! The step in which tools are to be run.

use serde::{Deserialize, Serialize};

use sommelier_protocol::ToolUse;
use sommelier_runtime::tool::Failure;
use sommelier_runtime::turn::{Misuse, ToolCalls};
use sommelier_runtime::{Definition, ToolOutput};

use super::{Step, advance, lost};
use crate::budget::Shared;
#[cfg(test)]
use crate::planted::{self, Bug};
use crate::{Measure, Millis, Relay, Run};

/// Tools of the active agent are to be run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallTools {
    pub(super) run: Box<Run>,
    pub(super) inner: ToolCalls,
}

impl CallTools {
    /// The run's state.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The agent whose tools are to be run; `None` when `relay` is not the one the run began with.
    pub fn agent<'a>(&self, relay: &'a Relay) -> Option<&'a Definition> {
        relay.agent(self.run.active.as_str())
    }

    /// The calls to run, each with its place among the calls of the reply. A call of a tool that is switched
    /// off, one that a person has rejected, and one for which no tool call is left are none of them: each gets an error. Nor
    /// is one that was [in doubt](Self::doubt) and of which a person has said what came of it.
    pub fn calls(&self) -> impl Iterator<Item = (usize, &ToolUse)> {
        self.looked_at().filter(|(_, told)| told.is_none()).map(|(call, _)| call)
    }

    /// The calls of the agent's own tools, each with what it is told when it does not run. The first are those that run
    /// when there are more than the run may make.
    fn looked_at(&self) -> impl Iterator<Item = ((usize, &ToolUse), Option<ToolOutput>)> {
        // What was in doubt was made, whatever else is still to be.
        let mut left =
            self.run.left(Measure::ToolCalls).map(|left| left.saturating_sub(self.count_attested()));
        self.inner.calls().map(move |(place, call)| {
            let mut told = self.told(place, call);
            match &mut left {
                Some(left) if told.is_none() && *left > 0 => *left -= 1,
                Some(_) if told.is_none() => told = Some(self.spent(call)),
                _ => {}
            }
            ((place, call), told)
        })
    }

    /// The step with an answer for each call that does not run: nobody has to wait for it, or to doubt what it did.
    pub(super) fn settled(self) -> Self {
        let mut this = self.attested();
        let told: Vec<(usize, ToolOutput)> =
            this.looked_at().filter_map(|((place, _), told)| Some((place, told?))).collect();
        for (place, output) in told {
            this.inner.settle(place, output);
        }
        this
    }

    /// What a call is told for which no tool call is left.
    fn spent(&self, call: &ToolUse) -> ToolOutput {
        let most = self.run.given(Measure::ToolCalls).unwrap_or_default();
        let detail = format!("{} was not run: no tool calls are left of {most}", call.name());
        ToolOutput::failed(&Failure::new("tool_calls_spent", detail))
    }

    /// What a call is told that does not run, whatever is left.
    fn told(&self, place: usize, call: &ToolUse) -> Option<ToolOutput> {
        let attested = self.run.attested(place, call);
        let off = || self.is_off(call).then(|| switched_off(call));
        attested.or_else(off).or_else(|| self.run.rejected(place, call))
    }

    fn is_off(&self, call: &ToolUse) -> bool {
        self.run.is_switched_off(&self.run.active, call.name())
    }

    /// The step, or what follows it when there is nothing to run.
    pub(super) fn or_resume(self, relay: &Relay, at: Millis) -> Step {
        if self.calls().next().is_some() {
            return Step::CallTools(self);
        }
        self.resume(relay, Vec::new(), at).unwrap_or_else(|misuse| Step::CallTools(*misuse.step))
    }

    /// What the idempotency keys of these calls begin with: conversation, message, model call.
    pub fn scope(&self) -> String {
        self.run.reply_id()
    }

    /// Takes the outputs, one for each of [`calls`](Self::calls), in their order.
    ///
    /// # Errors
    /// [`Misuse`], which hands the step back, when their number is another.
    pub fn resume(
        mut self,
        relay: &Relay,
        outputs: Vec<ToolOutput>,
        at: Millis,
    ) -> Result<Step, Misuse<Self>> {
        let Some(agent) = relay.agent(self.run.active.as_str()) else { return Ok(lost(self.run)) };
        let (expected, found) = (self.calls().count(), outputs.len());
        if expected != found {
            return Err(Misuse { expected, found, step: Box::new(self) });
        }
        self = self.settled();
        #[cfg(test)]
        let found = planted::instead(Bug::ToolRunNotCounted, found, || found.saturating_sub(1));
        match self.inner.resume(agent, outputs) {
            Ok(inner) => {
                let ran = u32::try_from(found).unwrap_or(u32::MAX);
                self.run.tool_calls = self.run.tool_calls.saturating_add(ran);
                self.run.charge(Shared::ToolCalls, ran.into());
                Ok(advance(relay, self.run, inner, at))
            }
            Err(Misuse { expected, found, step }) => {
                let step = Box::new(Self { run: self.run, inner: *step });
                Err(Misuse { expected, found, step })
            }
        }
    }

    /// Takes the output of the call at this place, which was made.
    pub(super) fn count(&mut self, place: usize, output: ToolOutput) {
        if !self.inner.complete(place, output) {
            return;
        }
        let ran = 1;
        #[cfg(test)]
        let ran = planted::instead(Bug::OutputCountedTwice, ran, || 2);
        self.run.tool_calls = self.run.tool_calls.saturating_add(ran);
        self.run.charge(Shared::ToolCalls, ran.into());
    }

    /// Takes the output of one of [`calls`](Self::calls), wherever it stands among them; with the last one the run goes on.
    /// For a driver that keeps each output as it comes, so that none has to be had twice.
    ///
    /// # Errors
    /// The step is handed back when no call waits at this place.
    pub fn complete(
        mut self,
        relay: &Relay,
        place: usize,
        output: ToolOutput,
        at: Millis,
    ) -> Result<Step, Box<Self>> {
        if !self.calls().any(|(waiting, _)| waiting == place) {
            return Err(Box::new(self));
        }
        self.count(place, output);
        if self.calls().next().is_some() {
            return Ok(Step::CallTools(self));
        }
        self.resume(relay, Vec::new(), at).map_err(|misuse| misuse.step)
    }
}

/// What a model is told that calls a tool which is switched off.
fn switched_off(call: &ToolUse) -> ToolOutput {
    ToolOutput::failed(&Failure::new("tool_switched_off", format!("{} is switched off for now", call.name())))
}
