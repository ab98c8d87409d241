//! What a run says of itself, as one value: the reference says it too, and both must be equal.

use std::collections::BTreeSet;

use super::driver::AT;
use crate::{Closing, Guard, HopOutcome, LinkOutcome, Run};

/// What a run says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counts {
    pub(super) active: String,
    /// Those that wait for a handoff to come back, the one that is answered first last.
    pub(super) waiting: Vec<String>,
    pub(super) at_rest: Vec<String>,
    pub(super) messages: u32,
    pub(super) model_calls: u32,
    pub(super) tool_calls: u32,
    pub(super) allowance: u32,
    pub(super) left: u32,
    /// Each handoff that was asked for.
    pub(super) rows: Vec<Row>,
    /// Hops of the conversation, and since the user spoke.
    pub(super) hops: u32,
    pub(super) hops_since_user: u32,
    /// Who was asked, and what came of it.
    pub(super) links: Vec<Asked>,
    pub(super) constraints: Vec<String>,
    pub(super) unread: Vec<String>,
    pub(super) decisions: Vec<(String, String)>,
    pub(super) off: BTreeSet<(String, String)>,
    pub(super) user_words: Option<String>,
}

/// A handoff on record.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) from: String,
    pub(super) outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    Taken {
        number: u32,
        to: String,
        /// The items of the package that nobody has said to be done.
        left: Vec<String>,
        end: Option<Closing>,
    },
    Refused(Guard),
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
        let extra = run.extra();
        let texts = |texts: &[Box<str>]| texts.iter().map(ToString::to_string).collect();
        let decisions = run.decisions().iter();
        let off = extra.switched_off.iter().map(|(agent, tool)| (agent.to_string(), tool.to_string()));
        Self {
            active: run.active().to_string(),
            waiting: extra.awaiting.iter().map(|waits| waits.agent.to_string()).collect(),
            at_rest: run.at_rest().map(|(agent, _)| agent.to_string()).collect(),
            messages: run.messages(),
            model_calls: run.model_calls(),
            tool_calls: run.tool_calls(),
            allowance: run.allowance,
            left: run.model_calls_left(),
            rows: trail.hops().iter().map(Row::of).collect(),
            hops: trail.count(),
            hops_since_user: trail.count_since_user(),
            links: run.links().iter().map(Asked::of).collect(),
            constraints: texts(run.constraints()),
            unread: texts(run.unread()),
            decisions: decisions
                .map(|decision| (decision.question.id.to_string(), format!("{:?}", decision.answer)))
                .collect(),
            off: off.collect(),
            user_words: run.user_words().map(str::to_owned),
        }
    }

    /// The hops that were taken, as sender and receiver.
    pub(super) fn taken(&self) -> impl DoubleEndedIterator<Item = (&str, &str)> {
        self.rows.iter().filter_map(|row| match &row.outcome {
            Outcome::Taken { to, .. } => Some((row.from.as_str(), to.as_str())),
            Outcome::Refused(_) => None,
        })
    }

    /// The items that are left of the newest work that `agent` was handed, and how that work ended, if it did.
    pub(super) fn newest_to(&self, agent: &str) -> Option<(&[String], Option<Closing>)> {
        self.rows.iter().rev().find_map(|row| match &row.outcome {
            Outcome::Taken { to, left, end, .. } if to == agent => Some((left.as_slice(), *end)),
            _ => None,
        })
    }

    /// The items that are left of the work that `agent` has not ended.
    pub(super) fn left_to(&self, agent: &str) -> &[String] {
        self.newest_to(agent).filter(|(_, end)| end.is_none()).map_or(&[], |(left, _)| left)
    }

    /// Those since the user spoke.
    pub(super) fn since_user(&self) -> impl DoubleEndedIterator<Item = (&str, &str)> {
        let before = self.hops - self.hops_since_user;
        self.taken().collect::<Vec<_>>().into_iter().skip(before as usize)
    }
}

impl Row {
    pub(super) fn is_refused(&self) -> bool {
        matches!(self.outcome, Outcome::Refused(_))
    }

    fn of(hop: &crate::Hop) -> Self {
        let outcome = match &hop.outcome {
            HopOutcome::Taken { number } => {
                assert!(hop.end.is_none_or(|end| end.at == AT), "{hop:?}");
                let left = hop.left().into_iter().map(str::to_owned).collect();
                Outcome::Taken {
                    number: *number,
                    to: hop.to.to_string(),
                    left,
                    end: hop.end.map(|end| end.how),
                }
            }
            HopOutcome::Refused { refusal } => Outcome::Refused(refusal.guard()),
        };
        Self { id: hop.id.to_string(), from: hop.from.to_string(), outcome }
    }
}

impl Asked {
    fn of(link: &crate::Link) -> Self {
        Self {
            id: link.id.to_string(),
            from: link.from.to_string(),
            tool: link.tool.to_string(),
            outcome: match &link.outcome {
                LinkOutcome::Returned { result, .. } => result.status.as_str(),
                LinkOutcome::Refused { refusal } => refusal.code(),
            },
            has_run: link.run().is_some(),
        }
    }
}
