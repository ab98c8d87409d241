//! Who may have the turn, as the hops tell.

use sommelier_runtime::AgentName;
use std::collections::BTreeSet;

/// Who may have the turn, as the hops tell: the last of a list, and below it those that wait for theirs to come back. Where
/// the user spoke the turn may have begun anew at the entry, and no hop tells of that; so there may be more than one such
/// list. None when anybody may have it.
#[derive(Default)]
pub(super) struct Holders<'a> {
    may_be: BTreeSet<Vec<&'a AgentName>>,
}

impl<'a> Holders<'a> {
    /// The user has spoken, and the agent at work has heard it or, in a run that had ended, the entry.
    pub(super) fn or_entry(&mut self, entry: &'a AgentName) {
        if !self.may_be.is_empty() {
            self.may_be.insert(vec![entry]);
        }
    }

    /// Whether this agent can have the turn: it got it, or those that got it after it have given it back.
    pub(super) fn has(&mut self, agent: &'a AgentName) -> bool {
        if self.may_be.is_empty() {
            self.may_be.insert(vec![agent]);
        }
        let mut may_be = BTreeSet::new();
        for mut turns in std::mem::take(&mut self.may_be) {
            if let Some(place) = turns.iter().rposition(|holder| *holder == agent) {
                turns.truncate(place + 1);
                may_be.insert(turns);
            }
        }
        self.may_be = may_be;
        !self.may_be.is_empty()
    }

    /// A handoff was taken by whoever has the turn.
    pub(super) fn take(&mut self, to: &'a AgentName, returns: bool) {
        let taken = |mut turns: Vec<&'a AgentName>| {
            if !returns {
                turns.pop();
            }
            match turns.iter().position(|holder| *holder == to) {
                Some(place) => turns.truncate(place + 1),
                None => turns.push(to),
            }
            turns
        };
        self.may_be = std::mem::take(&mut self.may_be).into_iter().map(taken).collect();
    }

    /// Whether these may be those that wait.
    pub(super) fn wait(&self, waiting: impl Iterator<Item = &'a AgentName> + Clone) -> bool {
        let are = |turns: &Vec<&'a AgentName>| {
            waiting.clone().eq(turns[..turns.len().saturating_sub(1)].iter().copied())
        };
        self.may_be.iter().any(are)
    }
}
