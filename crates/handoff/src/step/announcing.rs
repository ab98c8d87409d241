//! What follows from an input, and what a driver is about to do.

use sommelier_protocol::transcript::fingerprint;
use sommelier_protocol::{ToolName, ToolUse};
use sommelier_runtime::{Definition, derived_id};

use super::{AskHuman, CallModel, CallTools, Done, Step};
use crate::announcement::{Announcement, Asked, PlannedCall};
use crate::{Chronicle, Hop, HopOutcome, InputKind, Question, Relay, Run};

impl Step {
    /// The step at a path of the tree, open or not, with the relay that it belongs to.
    pub fn at<'a>(&'a self, relay: &'a Relay, path: &str) -> Option<(&'a Relay, &'a Self)> {
        if self.run().conversation() == path {
            return Some((relay, self));
        }
        self.branches()
            .iter()
            .filter(|branch| path.starts_with(branch.path()))
            .find_map(|branch| branch.step().at(branch.relay(relay)?, path))
    }
}

/// What has to be known of a step before it takes an input, so that what followed from it can be told.
#[derive(Clone, Debug)]
pub struct Glimpse {
    hops: usize,
    /// The refusals at the end of the trail: they are forgotten when the reply is ruled on again.
    refused: Vec<Hop>,
    /// Which of the hops were open.
    open: Vec<usize>,
    /// The questions that were open.
    questions: Vec<Box<str>>,
    /// The hop that the agent is to take up with its next reply.
    unaccepted: Option<(Box<str>, usize)>,
    was_done: bool,
}

impl Step {
    /// What to [announce](Self::announced_since) is compared with. It tells of the run at the root alone.
    pub fn glimpse(&self) -> Glimpse {
        let run = self.run();
        let hops = run.trail().hops();
        let refused = hops.iter().rev().take_while(|hop| !hop.outcome.is_taken()).cloned().collect();
        let is_open = |hop: &Hop| hop.outcome.is_taken() && hop.end.is_none();
        let open = hops.iter().enumerate().filter(|(_, hop)| is_open(hop)).map(|(place, _)| place).collect();
        let questions = match self {
            Self::AskHuman(asking) => asking.questions.iter().map(|question| question.id.clone()).collect(),
            _ => Vec::new(),
        };
        let unaccepted = match self {
            Self::CallModel(_) => run.to_be_accepted().map(|hop| (hop.id.clone(), constraints(hop))),
            _ => None,
        };
        let was_done = matches!(self, Self::Done(_));
        Glimpse { hops: hops.len(), refused, open, questions, unaccepted, was_done }
    }

    /// What has followed from `input`, for the run at the root; the glimpse is of the step before. It is the same whenever
    /// it is derived, so a replay can be compared with what was written down.
    pub fn announced_since(&self, before: &Glimpse, input: &InputKind) -> Vec<Announcement> {
        let run = self.run();
        let mut told = Vec::new();
        if let (InputKind::ModelResponded { .. }, Some((hop, constraints))) = (input, &before.unaccepted) {
            told.push(Announcement::ReceiverAccepted { hop: hop.clone(), constraints: *constraints });
        }
        told.extend(self.planned(input));
        told.extend(refused(run, before));
        told.extend(closed(run, before));
        match self {
            Self::AskHuman(asking) => told.extend(asking.escalated(before)),
            Self::Done(done) if !before.was_done => told.push(done.closed()),
            _ => {}
        }
        told
    }

    /// What is to be done with the calls of the newest reply, once that is known.
    fn planned(&self, input: &InputKind) -> Option<Announcement> {
        if matches!(input, InputKind::HandoffCommitted { .. } | InputKind::TurnReceived { .. }) {
            return None;
        }
        let nothing = (Vec::new(), Vec::new(), None);
        let (tools, branches, handoff) = match self {
            // A call that has its output changes nothing in the plan for the others.
            Self::CallTools(_) if !matches!(input, InputKind::ModelResponded { .. }) => return None,
            Self::CallTools(calls) => (calls.planned(), Vec::new(), None),
            Self::Delegate(delegation) => {
                let paths = delegation.branches().iter().map(|branch| branch.path().into());
                (Vec::new(), paths.collect(), None)
            }
            Self::HandOff(handoff) => (Vec::new(), Vec::new(), Some(handoff.hop().id.clone())),
            Self::CallModel(_) | Self::AskHuman(_) | Self::Done(_) => nothing,
        };
        let is_empty = tools.is_empty() && branches.is_empty() && handoff.is_none();
        (!is_empty).then_some(Announcement::Planned { tools, branches, handoff })
    }
}

impl Run {
    /// The hop by which the active agent got the turn, while it has not replied since.
    pub(crate) fn to_be_accepted(&self) -> Option<&Hop> {
        let hop = self.trail.held(&self.active)?;
        let (_, reply) = self.place_of(&hop.id)?;
        (reply == self.model_calls).then_some(hop)
    }
}

impl CallModel {
    /// Which of the run's model calls it is, from 1.
    pub fn number(&self) -> u32 {
        self.run.model_calls.saturating_add(1)
    }

    /// The intent to ask the model, for the `attempt`-th time. `relay` is the one that the step belongs to.
    pub fn intent(&self, relay: &Relay, attempt: u32) -> Announcement {
        let request = self.request(relay);
        let last = request.messages.last().map(|last| serde_json::to_string(last).unwrap_or_default());
        let (count, bytes) = (request.messages.len(), self.inner.history_bytes());
        Announcement::ModelRequested {
            agent: self.run.active.clone(),
            call: self.number(),
            attempt,
            digest: hex(&format!("{count} {bytes} {}", last.unwrap_or_default())),
            left: self.run.left,
            activates: self.run.to_be_accepted().map(|hop| hop.id.clone()),
        }
    }
}

impl CallTools {
    /// The intent to run the call at this place; `None` when none of the [`calls`](Self::calls) stands there.
    pub fn intent(&self, relay: &Relay, place: usize, chronicle: &Chronicle) -> Option<Announcement> {
        let (_, call) = self.calls().find(|(at, _)| *at == place)?;
        let definition = self.agent(relay)?;
        let tool = ToolName::new(call.name()).ok()?;
        Some(Announcement::ToolIntended {
            key: self.run.call_id(place).into(),
            tool,
            place,
            digest: hex(call.input().get()),
            effect: effect(definition, call),
            business_key: business_key(definition, call),
            undoes: undone(definition, call, chronicle),
        })
    }

    fn planned(&self) -> Vec<PlannedCall> {
        let planned = |(place, call): (usize, &ToolUse)| PlannedCall {
            place,
            tool: call.name().into(),
            call_id: call.id().into(),
        };
        self.calls().map(planned).collect()
    }
}

/// What can be known of a tool's effect after a crash.
fn effect(_definition: &Definition, _call: &ToolUse) -> Box<str> {
    "at_most_once".into()
}

/// The key of the effect that this call undoes.
fn undone(_definition: &Definition, _call: &ToolUse, _chronicle: &Chronicle) -> Option<Box<str>> {
    None
}

fn business_key(_definition: &Definition, _call: &ToolUse) -> Option<Box<str>> {
    None
}

impl AskHuman {
    fn escalated(&self, before: &Glimpse) -> Option<Announcement> {
        let new = self.questions.iter().filter(|question| !before.questions.contains(&question.id));
        let questions: Vec<Asked> = new.map(asked).collect();
        (!questions.is_empty()).then_some(Announcement::Escalated { questions })
    }
}

fn asked(question: &Question) -> Asked {
    Asked { id: question.id.clone(), asks: question.asks.as_str().into(), digest: question.digest() }
}

impl Question {
    /// The fingerprint of what is asked, in hexadecimal: an answer that names it is to just this question, with just these
    /// arguments. It finds mistakes and not forgers.
    pub fn digest(&self) -> Box<str> {
        hex(&serde_json::to_string(self).unwrap_or_default())
    }
}

impl Done {
    /// The id of the answer that ends this turn: the same however often it is sent.
    pub fn answer_id(&self) -> String {
        derived_id(self.run.conversation(), &[self.run.messages()])
    }

    fn closed(&self) -> Announcement {
        Announcement::Closed {
            answer_id: self.answer_id().into(),
            end: self.end.as_str().into(),
            answer: self.answer().map(Into::into),
        }
    }
}

/// Handoffs that were refused since, those of a reply that was ruled on again only where something has changed.
fn refused<'a>(run: &'a Run, before: &'a Glimpse) -> impl Iterator<Item = Announcement> + 'a {
    let since = before.hops.saturating_sub(before.refused.len());
    let new = run.trail().hops().iter().skip(since).filter(|hop| !before.refused.contains(hop));
    new.filter_map(|hop| match &hop.outcome {
        HopOutcome::Refused { refusal } => Some(Announcement::HandoffRefused {
            hop: hop.id.clone(),
            to: hop.to.clone(),
            refusal: refusal.clone(),
        }),
        HopOutcome::Taken { .. } => None,
    })
}

/// Work that has ended since, and work that goes on again.
fn closed<'a>(run: &'a Run, before: &'a Glimpse) -> impl Iterator<Item = Announcement> + 'a {
    let hops = run.trail().hops().iter().enumerate().filter(|(_, hop)| hop.outcome.is_taken());
    hops.filter_map(|(place, hop)| {
        let was_open = place >= before.hops || before.open.contains(&place);
        match (was_open, hop.end) {
            (true, Some(end)) => Some(Announcement::ObligationClosed {
                hop: hop.id.clone(),
                how: end.how,
                open: hop.unfinished().into_iter().map(Into::into).collect(),
            }),
            (false, None) => Some(Announcement::ObligationReopened { hop: hop.id.clone() }),
            _ => None,
        }
    })
}

fn constraints(hop: &Hop) -> usize {
    hop.package.as_ref().map_or(0, |package| package.constraints().len())
}

fn hex(text: &str) -> Box<str> {
    format!("{:016x}", fingerprint(text)).into()
}
