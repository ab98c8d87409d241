//! Where a case is carried out.

use std::panic::{AssertUnwindSafe, catch_unwind};

use sommelier_handoff::{Answer, Budget, BuildErrors, Done, Hop, Relay};
use sommelier_runner::{Outcome, Parked, RunError, Runner};
use sommelier_runtime::Model;
use support_desk::desk::{self, gate, guards, ticking};
use support_desk::{Desk, Escalated};

use crate::evidence::transcripts;
use crate::{Case, End, Evidence, Exchange, Heard, Witness};

/// A desk under limits, on a model that is watched.
#[derive(Debug)]
pub struct Bench<M> {
    witness: Witness<M>,
    relay: Relay,
}

impl<M: Model> Bench<M> {
    /// A bench whose desk may use no more than `budget` for each message.
    ///
    /// # Errors
    /// [`BuildErrors`] when there can be no such desk.
    pub fn new(witness: Witness<M>, budget: Budget) -> Result<Self, BuildErrors> {
        Ok(Self { witness, relay: desk::relay(guards()).budget(budget).build()? })
    }

    /// What the desk is, with its limits.
    pub fn relay(&self) -> &Relay {
        &self.relay
    }

    /// Carries out a case, to its end or until it can go no further.
    pub fn carry_out(&self, case: Case) -> Evidence {
        self.witness.set(case.freedom);
        let runner = Runner::new(&self.witness).gate(gate()).clock(ticking()).conversation(case.name);
        let desk = Desk { relay: self.relay.clone(), runner };
        let mut evidence = Evidence { case, heard: Vec::new() };
        let mut earlier = None;
        for says in case.says {
            earlier = self.hear(&desk, earlier, says, &mut evidence);
            if earlier.is_none() {
                break;
            }
        }
        evidence
    }

    /// Puts a message to the desk, and gives the run where the customer may speak again.
    fn hear(
        &self,
        desk: &Desk<'_>,
        earlier: Option<Done>,
        says: &'static str,
        evidence: &mut Evidence,
    ) -> Option<Done> {
        let before = earlier.as_ref().map_or(0, |done| done.run().trail().hops().len());
        self.witness.take();
        let asked = catch_unwind(AssertUnwindSafe(|| desk.ask(earlier, says)));
        let (exchanges, end) = (self.witness.take(), nothing());
        let mut heard = Heard { says, exchanges, hops: Vec::new(), end, transcripts: Vec::new() };
        let outcome = match asked {
            Ok(Ok(Outcome::Waiting(parked))) => self.escalate(desk, parked, &mut heard),
            Ok(Ok(outcome)) => {
                if let Outcome::Ended(report) = &outcome {
                    let (code, told) = (report.end().as_str(), report.end().to_string());
                    heard.end = End::Run { code, told };
                }
                Ok(outcome)
            }
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("something panicked".to_owned()),
        };
        let done = match outcome {
            Ok(Outcome::Ended(report)) => Some(report.into_done()),
            Ok(_) => None,
            Err(why) => {
                heard.end = End::Broken { why };
                None
            }
        };
        if let Some(done) = &done {
            heard.hops = since(done, before);
            heard.transcripts = transcripts(done.run());
        }
        evidence.heard.push(heard);
        done.filter(|done| done.end().awaits_user())
    }

    /// A person is asked, and takes over.
    fn escalate(&self, desk: &Desk<'_>, parked: Parked, heard: &mut Heard) -> Result<Outcome, String> {
        let Some(seen) = Escalated::of(&parked) else {
            return Err("it waits, and for no refusal of a guard".to_owned());
        };
        let answer = Answer::TakeOver { note: "the second line of support".into() };
        let after = desk.runner.answer(&desk.relay, parked, &seen.question, answer);
        let after = after.map_err(|error: RunError| error.to_string())?;
        let later: Vec<Exchange> = self.witness.take();
        let Outcome::Ended(report) = &after else { return Err("it waits on".to_owned()) };
        heard.end = End::Person { guard: seen.guard, asked_after: later.len(), code: report.end().as_str() };
        heard.exchanges.extend(later);
        Ok(after)
    }
}

fn nothing() -> End {
    End::Broken { why: "nothing came of it".to_owned() }
}

fn since(done: &Done, before: usize) -> Vec<Hop> {
    done.run().trail().hops().iter().skip(before).cloned().collect()
}
