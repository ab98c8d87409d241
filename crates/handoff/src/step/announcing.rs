//! What follows from an input, and what a driver is about to do.

use sommelier_protocol::transcript::fingerprint;
use sommelier_protocol::{ToolName, ToolUse};
use sommelier_runtime::Definition;

use super::applying::Unfed;
use super::{AskHuman, CallModel, CallTools, Done, Step};
use crate::announcement::{Announcement, Asked, PlannedCall};
#[cfg(test)]
use crate::planted::{self, Bug};
use crate::{Announced, Chronicle, Effect, Hop, HopOutcome, Input, InputKind, Question, Refusal, Relay, Run};

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

/// What has to be known of a step before it takes an input, so that what followed from it can be told. The default is that
/// of a run that has not begun.
#[derive(Clone, Debug, Default)]
pub struct Glimpse {
    /// Hops up to the refusals at the end of the trail. These are forgotten when their reply is ruled on again.
    settled: usize,
    /// Those refusals, each with its hop.
    refused: Vec<(Box<str>, Box<Refusal>)>,
    /// Which of the hops were open.
    open: Vec<usize>,
    /// The questions that were open.
    questions: Vec<Question>,
    /// The hop that the agent is to take up with its next reply.
    unaccepted: Option<(Box<str>, usize)>,
    was_done: bool,
    /// The branches that had ended and were told of.
    links: usize,
    /// Those that were open, by path.
    branches: Vec<(Box<str>, Self)>,
}

impl Step {
    /// As [`feed_or_keep`](Self::feed_or_keep), and what has followed from the input in the run that it came to.
    ///
    /// # Errors
    /// As of [`feed_or_keep`](Self::feed_or_keep).
    pub fn feed_and_tell(self, relay: &Relay, input: &Input) -> Result<(Self, Vec<Announced>), Unfed> {
        let before = self.at(relay, &input.run).map(|(_, step)| step.glimpse()).unwrap_or_default();
        let step = self.feed_or_keep(relay, input)?;
        let told = step.at(relay, &input.run).map(|(_, step)| step.announced_since(&before, input));
        Ok((step, told.unwrap_or_default()))
    }

    /// What to [announce](Self::announced_since) is compared with.
    pub fn glimpse(&self) -> Glimpse {
        let run = self.run();
        let hops = run.trail().hops();
        let refused: Vec<_> = hops.iter().rev().map_while(refusal).collect();
        let is_open = |hop: &Hop| hop.outcome.is_taken() && hop.end.is_none();
        let open = hops.iter().enumerate().filter(|(_, hop)| is_open(hop)).map(|(place, _)| place).collect();
        let unaccepted = match self {
            Self::CallModel(_) => run.to_be_accepted().map(|hop| (hop.id.clone(), constraints(hop))),
            _ => None,
        };
        let below = self.branches().iter().map(|branch| (branch.path().into(), branch.step().glimpse()));
        Glimpse {
            settled: hops.len() - refused.len(),
            refused: refused
                .into_iter()
                .map(|(hop, refusal)| (hop.into(), Box::new(refusal.clone())))
                .collect(),
            open,
            questions: match self {
                Self::AskHuman(asking) => asking.questions.clone(),
                _ => Vec::new(),
            },
            unaccepted,
            was_done: matches!(self, Self::Done(_)),
            links: run.links().len(),
            branches: below.collect(),
        }
    }

    /// What has followed from `input`, which came to the run at the root of this step; the glimpse is of the step before. It
    /// is the same whenever it is derived, so a replay can be compared with what was written down. Of branches it tells what
    /// befell them by this input: they were opened, called off, or are over their time.
    pub fn announced_since(&self, before: &Glimpse, input: &Input) -> Vec<Announced> {
        let mut told = Vec::new();
        if let (InputKind::ModelResponded { .. }, Some((hop, constraints))) =
            (&input.what, &before.unaccepted)
        {
            told.push(Announcement::ReceiverAccepted { hop: hop.clone(), constraints: *constraints });
        }
        let leads_on = input.what.leads_on();
        #[cfg(test)]
        let leads_on = planted::instead(Bug::PlanToldAgain, leads_on, || true);
        if leads_on {
            told.extend(self.planned(&input.what));
        }
        let was_done = before.was_done && !input.what.begins_anew();
        let mut all = Vec::new();
        self.tell(before, was_done, told, &mut all);
        all.into_iter().map(|(run, what)| Announced { run, at: input.at, what }).collect()
    }

    /// What befell the run and its branches; `told` comes first.
    fn tell(&self, before: &Glimpse, was_done: bool, mut told: Vec<Announcement>, all: &mut Told) {
        let run = self.run();
        told.extend(refused(run, before));
        told.extend(closed(run, before));
        if let Self::AskHuman(asking) = self {
            told.extend(asking.escalated(before));
        }
        all.extend(told.into_iter().map(|what| (run.conversation.clone(), what)));
        for branch in self.branches() {
            let earlier = before.branch(branch.path());
            branch.step().tell(earlier, earlier.was_done, Vec::new(), all);
        }
        tell_ended(run, before, all);
        if let (Self::Done(done), false) = (self, was_done) {
            all.push((run.conversation.clone(), done.closed()));
        }
    }

    /// What is to be done with the calls of the newest reply, once that is known.
    fn planned(&self, input: &InputKind) -> Option<Announcement> {
        let (tools, branches, handoff) = match self {
            // A call that has its output changes nothing in the plan for the others.
            Self::CallTools(calls) if matches!(input, InputKind::ModelResponded { .. }) => {
                (calls.planned(), Vec::new(), None)
            }
            Self::Delegate(delegation) => {
                let paths = delegation.branches().iter().map(|branch| branch.path().into());
                (Vec::new(), paths.collect(), None)
            }
            Self::HandOff(handoff) => (Vec::new(), Vec::new(), Some(handoff.hop().id.clone())),
            Self::CallTools(_) | Self::CallModel(_) | Self::AskHuman(_) | Self::Done(_) => return None,
        };
        Some(Announcement::Planned { tools, branches, handoff })
    }
}

/// Announcements, each with its run.
type Told = Vec<(Box<str>, Announcement)>;

static NOTHING: Glimpse = Glimpse {
    settled: 0,
    refused: Vec::new(),
    open: Vec::new(),
    questions: Vec::new(),
    unaccepted: None,
    was_done: false,
    links: 0,
    branches: Vec::new(),
};

impl Glimpse {
    /// What was known of a branch: nothing, when it was not open.
    fn branch(&self, path: &str) -> &Self {
        self.branches.iter().find(|(of, _)| **of == *path).map_or(&NOTHING, |(_, glimpse)| glimpse)
    }
}

/// What befell branches that have ended with the step of the run that asked.
fn tell_ended(run: &Run, before: &Glimpse, all: &mut Told) {
    #[cfg(test)]
    if planted::is(Bug::EndOfBranchNotTold) {
        return;
    }
    let ended = run.links().iter().skip(before.links).filter_map(|link| Some((link, link.run()?)));
    for (link, done) in ended {
        let earlier = before.branch(&link.id);
        let told = refused(done.run(), earlier).chain(closed(done.run(), earlier));
        all.extend(told.map(|what| (link.id.clone(), what)));
        tell_ended(done.run(), earlier, all);
        if !earlier.was_done {
            all.push((link.id.clone(), done.closed()));
        }
    }
}

impl Run {
    /// The hop by which the active agent got the turn, while it has not replied since.
    pub(crate) fn to_be_accepted(&self) -> Option<&Hop> {
        #[cfg(test)]
        if planted::is(Bug::TakingUpNotTold) {
            return None;
        }
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
            effect: definition.table().effect(call.name()).as_str().into(),
            business_key: definition.table().business_key(call).map(Into::into),
            per_conversation: definition
                .table()
                .declaration(call.name())
                .is_some_and(|declared| declared.is_per_conversation()),
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

/// The key of the effect that a call undoes.
fn undone(definition: &Definition, call: &ToolUse, chronicle: &Chronicle) -> Option<Box<str>> {
    let undoes = definition.table().declaration(call.name())?.undoes()?;
    let named = undoes.named_by(call)?;
    let is_it = |effect: &&Effect| {
        let result = effect.result.as_deref().filter(|_| effect.tool.as_str() == undoes.tool());
        result.and_then(|result| undoes.named_in(result)).is_some_and(|of| of == named)
    };
    Some(chronicle.effects().iter().rev().find(is_it)?.key.clone())
}

impl AskHuman {
    fn escalated(&self, before: &Glimpse) -> Option<Announcement> {
        let new = self.questions.iter().filter(|question| !before.questions.contains(question));
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
    /// The id of the answer that ends this turn: the same however often it is sent. A run that goes on from its end, as one
    /// that is tried again, ends with another answer.
    pub fn answer_id(&self) -> String {
        self.run.reply_id()
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
    let since = run.trail().hops().iter().skip(before.settled);
    let refused = since.filter_map(|hop| Some((hop, refusal(hop)?)));
    let is_known = |(id, why): (&str, &Refusal)| {
        before.refused.iter().any(|(known, refusal)| **known == *id && **refusal == *why)
    };
    refused.filter(move |(_, (id, why))| !is_known((id, why))).map(|(hop, (id, why))| {
        Announcement::HandoffRefused { hop: id.into(), to: hop.to.clone(), refusal: Box::new(why.clone()) }
    })
}

/// The id of a hop that was refused, and why.
fn refusal(hop: &Hop) -> Option<(&str, &Refusal)> {
    match &hop.outcome {
        HopOutcome::Refused { refusal } => Some((&hop.id, refusal)),
        HopOutcome::Taken { .. } => None,
    }
}

/// Work that has ended since, and work that goes on again.
fn closed<'a>(run: &'a Run, before: &'a Glimpse) -> impl Iterator<Item = Announcement> + 'a {
    let hops = run.trail().hops().iter().enumerate().filter(|(_, hop)| hop.outcome.is_taken());
    hops.filter_map(|(place, hop)| {
        let was_open = place >= before.settled || before.open.contains(&place);
        match (was_open, hop.end) {
            #[cfg(test)]
            (true, Some(_)) if planted::is(Bug::ClosingNotTold) => None,
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
