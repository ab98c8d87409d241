//! The record of hops.

use serde::{Deserialize, Serialize};
use sommelier_runtime::AgentName;

use crate::completion::items;
#[cfg(test)]
use crate::planted::{self, Bug};
use crate::{Completion, Compliance, Fields, HandoffPackage, Refusal, law};

/// A moment, in milliseconds since 1970-01-01 UTC. The core reads no clock: times come in with the answers
/// of a driver.
pub type Millis = u64;

/// One handoff that was asked for, taken or not: who, whom, when, what crossed and what stayed behind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hop {
    /// The id, the same whenever this step is repeated: conversation, message, model call, call.
    pub id: Box<str>,
    /// The sender.
    pub from: AgentName,
    /// The receiver: its name, or what the model wrote when that is no name.
    pub to: Box<str>,
    /// The id of the sender's call.
    pub call_id: Box<str>,
    /// When.
    pub at: Millis,
    /// The package, when it could be read.
    pub package: Option<HandoffPackage>,
    /// Bytes of the package as compact JSON; 0 when it could not be read.
    pub package_bytes: usize,
    /// Bytes of the sender's conversation before the handoff, as compact JSON: what stays behind.
    pub history_bytes: usize,
    /// What became of it.
    pub outcome: HopOutcome,
    /// What became of the work that was handed over; `None` while the receiver has it, and for a hop that was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<HopEnd>,
    /// What is known of the work beside its end: see [`completion`](Self::completion) and
    /// [`compliance`](Self::compliance).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Box<Account>>,
}

/// What is known of work beside how it ended: what most hops do without, so that they stay small in memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// What the receiver has said of the open items of its package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<Completion>,
    /// One for each constraint of the package, when a check is there for any of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compliance: Vec<Compliance>,
}

impl Hop {
    /// What the receiver has said of the open items; `None` when it has not, or there were none.
    pub fn completion(&self) -> Option<&Completion> {
        self.account.as_ref()?.completion.as_ref()
    }

    /// The open items that nobody has said to be done, with those that were found on the way. Where the work was handed
    /// on there are none: what is open then stands in the next package, where code puts it when its sender does not.
    pub fn unfinished(&self) -> Vec<&str> {
        match self.end {
            Some(HopEnd { how: Closing::HandedOn, .. }) => Vec::new(),
            _ if !self.outcome.is_taken() => Vec::new(),
            _ => self.left(),
        }
    }

    /// As [`unfinished`](Self::unfinished), handed on or not.
    pub(crate) fn left(&self) -> Vec<&str> {
        match (self.completion(), &self.package) {
            (Some(completion), _) => completion.open.iter().map(|item| &**item).collect(),
            (None, Some(package)) => items(package),
            (None, None) => Vec::new(),
        }
    }

    /// How work has ended that looks as if it had ended like this: what still has open items is not done, whoever
    /// answered.
    pub(crate) fn closing(&self, how: Closing) -> Closing {
        if how == Closing::Done && !self.left().is_empty() { Closing::Partial } else { how }
    }
}

impl Hop {
    /// The hop as text for people: who, whom, when, what to do, what is done, what is open, what binds, and which values
    /// came along, by name. No value stands in it.
    ///
    /// A text of more than one line goes on indented, so none can look like another member; characters that no package may
    /// hold stand as their codes.
    ///
    /// ```
    /// use sommelier_handoff::{HandoffPackage, Hop, HopOutcome};
    /// # use sommelier_handoff::AgentName;
    ///
    /// let package = HandoffPackage::new("What does a no-show cost?")
    ///     .open_item("tell the fee")
    ///     .artifact("quote", &6000)?;
    /// let hop = Hop {
    ///     id: "conversation-1/1/1/0".into(),
    ///     from: AgentName::new("booking_agent")?,
    ///     to: "policy_agent".into(),
    ///     call_id: "tu_1".into(),
    ///     at: 1_764_460_000_000,
    ///     package_bytes: package.bytes(),
    ///     package: Some(package),
    ///     history_bytes: 0,
    ///     outcome: HopOutcome::Taken { number: 1 },
    ///     end: None,
    ///     account: None,
    /// };
    /// assert_eq!(
    ///     hop.to_text(),
    ///     "from: booking_agent\nto: policy_agent\nat: 1764460000000\ntask: What does a no-show cost?\n\
    ///      open: tell the fee\nartifacts: quote\n",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_text(&self) -> String {
        let at = self.at.to_string();
        let mut lines = vec![("from", self.from.as_str()), ("to", &*self.to), ("at", &at)];
        let (mut values, mut artifacts) = (String::new(), String::new());
        if let Some(package) = &self.package {
            let names = |fields: &Fields| fields.iter().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
            (values, artifacts) = (names(package.context_fields()), names(package.artifacts()));
            lines.push(("task", package.task()));
            let texts = [
                ("completed", package.completed_steps()),
                ("open", package.open_items()),
                ("constraint", package.constraints()),
            ];
            lines.extend(
                texts.into_iter().flat_map(|(name, texts)| texts.iter().map(move |it| (name, &**it))),
            );
        }
        let names = [("context", &*values), ("artifacts", &*artifacts)].into_iter();
        lines.extend(names.filter(|(_, names)| !names.is_empty()));
        let line =
            |(name, text): (&str, &str)| format!("{name}: {}\n", law::shown(text).replace('\n', "\n  "));
        lines.into_iter().map(line).collect()
    }
}

/// What became of work that was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HopEnd {
    /// How it ended.
    pub how: Closing,
    /// When.
    pub at: Millis,
}

/// How work ended that was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closing {
    /// The receiver answered, and of the open items that it was handed it has said that all are done.
    Done,
    /// The receiver was stopped and had said something until then; or it answered, and nobody has said that all of its
    /// open items are done.
    Partial,
    /// There is nothing from the receiver.
    Failed,
    /// The receiver handed the turn on, or back: the work is the next hop's.
    HandedOn,
    /// A person has taken it over.
    Escalated,
    /// It was called off.
    Cancelled,
}

impl Closing {
    /// The end in a word, for spans and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::HandedOn => "handed_on",
            Self::Escalated => "escalated",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What became of a handoff that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HopOutcome {
    /// The receiver has the turn.
    Taken {
        /// The number of the hop in the conversation, from 1.
        number: u32,
    },
    /// The sender keeps the turn, or the run ended.
    Refused {
        /// Why.
        refusal: Box<Refusal>,
    },
}

impl HopOutcome {
    /// Whether the receiver has the turn.
    pub fn is_taken(&self) -> bool {
        matches!(self, Self::Taken { .. })
    }
}

/// All handoffs asked for in a conversation, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trail {
    hops: Vec<Hop>,
    /// How many hops there were when the user last spoke.
    before: usize,
    taken: u32,
    /// How many were taken when the user last spoke.
    taken_before: u32,
}

impl Trail {
    /// All handoffs asked for.
    pub fn hops(&self) -> &[Hop] {
        &self.hops
    }

    /// The handoffs taken.
    pub fn taken(&self) -> impl Iterator<Item = &Hop> {
        self.hops.iter().filter(|hop| hop.outcome.is_taken())
    }

    /// The refusals.
    pub fn refusals(&self) -> impl Iterator<Item = &Refusal> {
        self.hops.iter().filter_map(|hop| match &hop.outcome {
            HopOutcome::Refused { refusal } => Some(&**refusal),
            HopOutcome::Taken { .. } => None,
        })
    }

    /// The hops whose work nobody has ended. While a run goes on the receiver has it; in a run that is over nobody has, and
    /// it is an orphan.
    pub fn open(&self) -> impl Iterator<Item = &Hop> {
        self.taken().filter(|hop| hop.end.is_none())
    }

    /// The open items that nobody has said to be done, each with its hop. While a run goes on some of them are in the
    /// works; in one that is over nobody sees to them. What was handed on stands with the hop that it was handed on by.
    pub fn unfinished(&self) -> impl Iterator<Item = (&Hop, &str)> {
        self.taken().flat_map(|hop| hop.unfinished().into_iter().map(move |item| (hop, item)))
    }

    /// The newest hop to `agent`.
    pub(crate) fn newest_to(&self, agent: &AgentName) -> Option<&Hop> {
        self.hops.iter().rev().find(|hop| hop.outcome.is_taken() && *hop.to == *agent.as_str())
    }

    /// The newest hop by which `agent` handed over.
    pub(crate) fn newest_from(&self, agent: &AgentName) -> Option<&Hop> {
        self.hops.iter().rev().find(|hop| hop.outcome.is_taken() && hop.from == *agent)
    }

    /// The newest hop to `agent`, while nobody has ended the work.
    pub(crate) fn held(&self, agent: &AgentName) -> Option<&Hop> {
        self.newest_to(agent).filter(|hop| hop.end.is_none())
    }

    fn held_mut(&mut self, agent: &AgentName) -> Option<&mut Hop> {
        let is_theirs = |hop: &&mut Hop| hop.outcome.is_taken() && *hop.to == *agent.as_str();
        self.hops.iter_mut().rev().find(is_theirs).filter(|hop| hop.end.is_none())
    }

    /// How many handoffs were taken in the conversation.
    pub fn count(&self) -> u32 {
        self.taken
    }

    /// How many were taken since the user last spoke.
    pub fn count_since_user(&self) -> u32 {
        self.taken.saturating_sub(self.taken_before)
    }

    /// The handoffs taken since the user last spoke.
    pub fn since_user(&self) -> impl Iterator<Item = &Hop> {
        self.hops.iter().skip(self.before).filter(|hop| hop.outcome.is_taken())
    }

    /// The agents in turn since the user last spoke, ending with `next`.
    pub(crate) fn chain(&self, active: &AgentName, next: &AgentName) -> Vec<AgentName> {
        let mut chain: Vec<AgentName> = self.since_user().map(|hop| hop.from.clone()).collect();
        chain.extend([active.clone(), next.clone()]);
        chain
    }

    pub(crate) fn record(&mut self, hop: Hop) {
        let counts = hop.outcome.is_taken();
        #[cfg(test)]
        let counts = planted::instead(Bug::RefusedHopCounted, counts, || true);
        if counts {
            self.taken = self.taken.saturating_add(1);
        }
        self.hops.push(hop);
    }

    /// Ends the work that `agent` got by its newest hop, if that is open. What begins with the user's words has no time of
    /// its own; no work ends before it began.
    pub(crate) fn close(&mut self, agent: &AgentName, how: Closing, at: Millis, compliance: Vec<Compliance>) {
        if let Some(hop) = self.held_mut(agent) {
            hop.end = Some(HopEnd { how, at: at.max(hop.at) });
            if !compliance.is_empty() {
                hop.account.get_or_insert_default().compliance = compliance;
            }
        }
    }

    /// Notes what `agent` has said of the items of its newest hop.
    pub(crate) fn complete(&mut self, agent: &AgentName, completion: Completion) {
        if let Some(hop) = self.held_mut(agent) {
            hop.account.get_or_insert_default().completion = Some(completion);
        }
    }

    /// The run goes on where it ended: `active` has the work again that it got by its newest hop, unless it had done it,
    /// or said itself what of it is open. What was found of its constraints is found anew when it ends.
    pub(crate) fn reopen(&mut self, active: &AgentName) {
        let is_theirs = |hop: &&mut Hop| hop.outcome.is_taken() && *hop.to == *active.as_str();
        let hop = self.hops.iter_mut().rev().find(is_theirs).filter(|hop| hop.completion().is_none());
        let is_done = |end: &HopEnd| matches!(end.how, Closing::Done | Closing::HandedOn);
        if let Some(hop) = hop.filter(|hop| !hop.end.as_ref().is_some_and(is_done)) {
            hop.end = None;
            hop.account = None;
        }
    }

    /// Whether the newest handoff that was asked for was refused.
    pub(crate) fn ends_refused(&self) -> bool {
        self.hops.last().is_some_and(|hop| !hop.outcome.is_taken())
    }

    /// Forgets the refusals of one reply, which is ruled on again.
    pub(crate) fn forget_refusals_of(&mut self, reply_id: &str) {
        let is_of_reply = |hop: &Hop| hop.id.rsplit_once('/').is_some_and(|(reply, _)| reply == reply_id);
        while self.hops.last().is_some_and(|hop| !hop.outcome.is_taken() && is_of_reply(hop)) {
            self.hops.pop();
        }
    }

    /// How many hops there were when the user last spoke.
    pub(crate) fn before(&self) -> usize {
        self.before
    }

    /// Whether the counts are those of the hops, and each hop's those of its package: what is loaded may say
    /// otherwise.
    pub(crate) fn adds_up(&self) -> bool {
        let numbers = self.hops.iter().filter_map(|hop| match hop.outcome {
            HopOutcome::Taken { number } => Some(number),
            HopOutcome::Refused { .. } => None,
        });
        let is_measured =
            |hop: &Hop| hop.package_bytes == hop.package.as_ref().map_or(0, HandoffPackage::bytes);
        let has_package = |hop: &Hop| match hop.outcome {
            HopOutcome::Taken { .. } => hop.package.is_some(),
            HopOutcome::Refused { .. } => hop.end.is_none(),
        };
        if !numbers.eq(1..=self.taken) || !self.hops.iter().all(|hop| is_measured(hop) && has_package(hop)) {
            return false;
        }
        let taken = |hops: &[Hop]| hops.iter().filter(|hop| hop.outcome.is_taken()).count();
        let before = self.hops.get(..self.before).map(taken);
        before == usize::try_from(self.taken_before).ok()
            && Ok(taken(&self.hops)) == usize::try_from(self.taken)
    }

    pub(crate) fn user_spoke(&mut self) {
        self.before = self.hops.len();
        self.taken_before = self.taken;
    }

    pub(crate) fn shrink(&mut self) {
        self.hops.shrink_to_fit();
    }
}
