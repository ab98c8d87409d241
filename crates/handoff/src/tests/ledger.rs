//! What the run counts, counted once more from outside.

use std::collections::{BTreeMap, BTreeSet};

use super::scenario::{Block, HandOff, Speech};
use super::team::{Ask, Deputy, POLICY, REQUIRED};
use crate::{Guard, Guards, HopOutcome, LinkOutcome, Run};

type Pair = (String, String);

/// What a run says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counts {
    pub(super) active: String,
    pub(super) messages: u32,
    pub(super) model_calls: u32,
    pub(super) tool_calls: u32,
    /// Sender and receiver of each hop of the conversation.
    pub(super) hops: Vec<Pair>,
    pub(super) hop_count: u32,
    pub(super) since_user: Vec<Pair>,
    pub(super) since_user_count: u32,
    pub(super) refused: BTreeMap<Guard, u32>,
    /// Who was asked, and what came of it.
    pub(super) links: Vec<Asked>,
}

/// A question on record.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) id: String,
    pub(super) from: String,
    pub(super) tool: String,
    /// How far the branch came, or why there was none.
    pub(super) outcome: &'static str,
    pub(super) has_run: bool,
}

impl Counts {
    pub(super) fn of(run: &Run) -> Self {
        let trail = run.trail();
        let mut refused = BTreeMap::new();
        for refusal in trail.refusals() {
            *refused.entry(refusal.guard()).or_default() += 1;
        }
        let links = run.links().iter().map(|link| Asked {
            id: link.id.to_string(),
            from: link.from.to_string(),
            tool: link.tool.to_string(),
            outcome: match &link.outcome {
                LinkOutcome::Returned { result, .. } => result.status.as_str(),
                LinkOutcome::Refused { refusal } => refusal.code(),
            },
            has_run: link.run().is_some(),
        });
        Self {
            active: run.active().to_string(),
            messages: run.messages(),
            model_calls: run.model_calls(),
            tool_calls: run.tool_calls(),
            hops: trail.taken().map(|hop| (hop.from.to_string(), hop.to.to_string())).collect(),
            hop_count: trail.count(),
            since_user: trail.since_user().map(|hop| (hop.from.to_string(), hop.to.to_string())).collect(),
            since_user_count: trail.count_since_user(),
            refused,
            links: links.collect(),
        }
    }
}

/// The counts as they must be, and what no run tells.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    pub(super) counts: Counts,
    /// Model calls that the run was given.
    pub(super) allowance: u32,
    /// Model calls that brought a reply, since the user spoke or the run was retried.
    pub(super) spent: u32,
    /// Those of branches that have been joined since.
    pub(super) spent_below: u32,
    /// Those that open branches were given.
    pub(super) given: u32,
    /// How the user last spoke.
    pub(super) speech: Speech,
    /// Tools that are switched off, by agent.
    pub(super) off: BTreeSet<(&'static str, &'static str)>,
}

/// What must become of the handoffs of one reply.
pub(super) struct Verdicts {
    /// For each handoff the guard that refuses it; `None` for the one that is taken.
    pub(super) refused_by: Vec<Option<Guard>>,
    /// Its place, and the receiver.
    pub(super) taken: Option<(usize, &'static str)>,
}

impl Ledger {
    /// A new stretch of work begins: the user spoke, or the run is tried again.
    pub(super) fn begin(&mut self) {
        self.spent = 0;
        self.spent_below = 0;
    }

    /// What is left of what the run was given.
    pub(super) fn left(&self) -> u32 {
        self.allowance - self.spent - self.spent_below - self.given
    }

    /// A branch is back, which was given `allowance` and has spent so much of it, its own branches included.
    pub(super) fn joined(&mut self, allowance: u32, spent: u32) {
        self.given -= allowance;
        self.spent_below += spent;
    }

    /// What becomes of the questions of one reply: the branch's model calls, or why there is no branch. One model call
    /// is kept for the agent that asks, and the others are shared out evenly.
    pub(super) fn judge(&self, asks: &[(usize, Ask)]) -> Vec<Result<u32, &'static str>> {
        let asker = self.counts.active.as_str();
        let deputies: Vec<Deputy> = asks.iter().filter_map(|(_, ask)| ask.deputy(asker)).collect();
        let waits = |deputy: &Deputy| deputies.iter().any(|other| deputy.after == Some(other.tool));
        let alone = asks.iter().zip(&deputies).map(|((_, ask), deputy)| {
            if ask.question.package().is_none() {
                Err("invalid_question")
            } else if self.off.contains(&(deputy.asker, deputy.tool)) {
                Err("tool_switched_off")
            } else if waits(deputy) {
                Err("not_yet")
            } else {
                Ok(deputy.max_model_calls)
            }
        });
        let alone: Vec<_> = alone.collect();
        let fit = alone.iter().filter(|verdict| verdict.is_ok()).count().max(1);
        let mut rest = self.left().saturating_sub(1);
        let share = (rest / u32::try_from(fit).unwrap()).max(1);
        let granted = alone.into_iter().map(|verdict| {
            let given = verdict?.min(share).min(rest);
            rest -= given;
            if given == 0 { Err("budget_spent") } else { Ok(given) }
        });
        granted.collect()
    }

    pub(super) fn user_spoke(&mut self, speech: Speech) {
        self.begin();
        self.speech = speech;
        self.counts.messages += 1;
        self.counts.since_user.clear();
        self.counts.since_user_count = 0;
    }

    /// What the user last said.
    pub(super) fn words(&self) -> String {
        self.speech.words(self.counts.messages)
    }

    pub(super) fn hopped(&mut self, to: &str) {
        let pair = (std::mem::replace(&mut self.counts.active, to.to_owned()), to.to_owned());
        self.counts.hops.push(pair.clone());
        self.counts.hop_count += 1;
        self.counts.since_user.push(pair);
        self.counts.since_user_count += 1;
    }

    pub(super) fn refused(&mut self, guard: Guard) {
        *self.counts.refused.entry(guard).or_default() += 1;
    }

    /// A refusal is ruled on again.
    pub(super) fn forget(&mut self, guard: Guard) {
        let count = self.counts.refused.get_mut(&guard).unwrap();
        *count -= 1;
        if *count == 0 {
            self.counts.refused.remove(&guard);
        }
    }

    /// Whether a tool of the active agent runs for this call.
    pub(super) fn runs(&self, call: Block) -> bool {
        matches!(call, Block::Call(_, own) if own.tool().is_some()) && !self.is_off(call)
    }

    /// Whether this call is one of a tool that is switched off.
    pub(super) fn is_off(&self, call: Block) -> bool {
        let Block::Call(_, own) = call else { return false };
        let is_off = |tool| self.off.iter().any(|off| *off == (self.counts.active.as_str(), tool));
        own.tool().is_some_and(is_off)
    }

    /// The agents in turn since the user spoke, ending with `to`.
    pub(super) fn chain(&self, to: &str) -> Vec<String> {
        let senders = self.counts.since_user.iter().map(|(from, _)| from.clone());
        senders.chain([self.counts.active.clone(), to.to_owned()]).collect()
    }

    pub(super) fn is_ready(&self, to: &str) -> bool {
        to != POLICY || !self.off.contains(&(POLICY, REQUIRED))
    }

    /// The cap that is reached, if one is.
    pub(super) fn cap(&self, guards: &Guards) -> Option<u32> {
        let here =
            (self.counts.since_user.len() >= guards.max_handoffs as usize).then_some(guards.max_handoffs);
        here.or(guards.max_handoffs_per_conversation.filter(|max| self.counts.hops.len() >= *max as usize))
    }

    fn verdict(&self, guards: &Guards, handoff: HandOff) -> Result<&'static str, Guard> {
        let from = &self.counts.active;
        let to = handoff.receiver(from)?;
        let has_been = self.counts.since_user.contains(&(from.clone(), to.to_owned()));
        if !self.is_ready(to) {
            Err(Guard::Ready)
        } else if self.cap(guards).is_some() {
            Err(Guard::Cap)
        } else if guards.refuse_repeated_pairs && has_been {
            Err(Guard::Pair)
        } else {
            Ok(to)
        }
    }

    /// The first that no guard refuses is taken; one equal to it is its duplicate, another is one too many.
    pub(super) fn verdicts(&self, guards: &Guards, handoffs: &[HandOff]) -> Verdicts {
        let alone: Vec<_> = handoffs.iter().map(|handoff| self.verdict(guards, *handoff)).collect();
        let taken = alone.iter().enumerate().find_map(|(place, verdict)| Some((place, (*verdict).ok()?)));
        let refused_by = alone.iter().enumerate().map(|(place, verdict)| match (verdict, taken) {
            (Err(guard), _) => Some(*guard),
            (Ok(_), Some((first, _))) if first == place => None,
            (Ok(to), Some((first, receiver)))
                if *to == receiver && handoffs[first].parcel == handoffs[place].parcel =>
            {
                Some(Guard::Duplicate)
            }
            (Ok(_), _) => Some(Guard::OnePerTurn),
        });
        Verdicts { refused_by: refused_by.collect(), taken }
    }
}

/// The refusals among `hops`.
pub(super) fn guards_of(hops: &[crate::Hop]) -> Vec<Guard> {
    let guards = hops.iter().filter_map(|hop| match &hop.outcome {
        HopOutcome::Refused { refusal } => Some(refusal.guard()),
        HopOutcome::Taken { .. } => None,
    });
    guards.collect()
}
