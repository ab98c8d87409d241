//! The rules for the user, said once more and plainly: they speak, try again, call off.

use std::collections::BTreeSet;

use super::reference::{Found, Reference, Stand};
use super::scenario::{Block, Own, Speech};
use super::team::{DESK, GATED};
use super::told::{View, Words};
use crate::{Closing, EntryPolicy, RunEnd};

impl Reference<'_> {
    /// The user says something, at any moment: a run that has ended goes on, any other keeps the words.
    pub(super) fn is_spoken_to(&mut self, speech: Speech, words: String, view: &View<'_>) {
        if let Stand::Done(_) = self.stand {
            let first = self.next_words();
            let Some((earlier, before)) = first else { return self.has_heard(speech, words, view) };
            self.saw("words left over read first");
            self.inbox.push_back((speech, words.clone()));
            self.counts.unread.push(words);
            return self.has_heard(earlier, before, view);
        }
        match self.stand {
            Stand::People(_) => self.saw("words while a person is asked"),
            Stand::Delegates(_) => self.saw("words while branches are open"),
            Stand::HandOff { .. } => self.saw("words while a handoff is out"),
            _ => {}
        }
        self.inbox.push_back((speech, words.clone()));
        self.counts.unread.push(words);
    }

    pub(super) fn next_words(&mut self) -> Option<(Speech, String)> {
        let next = self.inbox.pop_front()?;
        self.counts.unread.remove(0);
        Some(next)
    }

    /// The user has spoken to a run that had ended.
    pub(super) fn has_heard(&mut self, speech: Speech, words: String, view: &View<'_>) {
        if self.scenario.entry_policy == EntryPolicy::Entry {
            self.ends_all(Closing::Failed);
            self.counts.active = DESK.to_owned();
        } else {
            if !self.waiting.is_empty() {
                self.saw("heard while somebody waits");
            }
            self.all_reopen();
        }
        self.user_spoke(speech, &words);
        self.hears(words, view);
    }

    /// What counts from one message of the user to the next counts anew.
    pub(super) fn user_spoke(&mut self, speech: Speech, words: &str) {
        self.speech = speech;
        self.counts.user_words = Some(words.to_owned());
        self.counts.messages += 1;
        self.counts.left = self.counts.allowance;
        self.counts.hops_since_user = 0;
    }

    /// The user's last words.
    pub(super) fn words(&self) -> &str {
        self.counts.user_words.as_deref().unwrap_or_default()
    }

    /// The run is tried again from where it ended.
    pub(super) fn is_retried(&mut self, view: &View<'_>) {
        let active = self.counts.active.clone();
        self.counts.at_rest.retain(|agent| *agent != active);
        self.seat().begin();
        self.counts.left = self.counts.allowance;
        if !self.waiting.is_empty() {
            self.saw("tried again while somebody waits");
        }
        self.all_reopen();
        self.goes_on(view);
    }

    /// The run is called off where it stands. Branches that were open came to this.
    pub(super) fn is_called_off(&mut self, found: Vec<Found>, end: RunEnd, view: &View<'_>) {
        let at_work = matches!(self.stand, Stand::Tools(_));
        self.settles(found);
        self.passed = None;
        let rejected: Vec<usize> =
            (0..self.seat().calls.len()).filter(|place| self.is_rejected(*place)).collect();
        let active = self.counts.active.clone();
        let off: BTreeSet<String> = self
            .counts
            .off
            .iter()
            .filter(|(agent, _)| *agent == active)
            .map(|(_, tool)| tool.clone())
            .collect();
        let mut in_doubt = 0;
        self.seat().is_told(|place, block| match block {
            Block::Call(_, own) if at_work => {
                if off.contains(own.tool().unwrap()) {
                    return Words::error("tool_switched_off");
                }
                if rejected.contains(&place) {
                    return Words::error("approval_denied");
                }
                in_doubt += usize::from(own == Own::Gated);
                Words::error("in_doubt")
            }
            _ => Words::error("not_run"),
        });
        if in_doubt > 0 {
            self.saw("called off while a tool ran that cannot be undone");
        }
        self.seat().effects.extend(std::iter::repeat_n(format!("{GATED} (not known)"), in_doubt));
        self.set_down();
        self.finishes(end, view);
    }
}
