//! The rules for the turn, said once more and plainly: it moves, comes back, and ends.

use super::ledger::{Outcome, Row};
use super::reference::{Passed, Reference, Stand, Waiting, end_of};
use super::scenario::ROOT;
use super::told::{View, Words, name, result_of};
use crate::{Closing, DelegateStatus, Guard, HandoffPackage, Measure, RunEnd};

impl Reference<'_> {
    /// The handoff is taken, if its receiver is still ready.
    pub(super) fn takes(&mut self, view: &View<'_>) {
        let Passed { place, to, package, told } = self.passed.take().expect("a handoff has passed");
        if !self.is_ready(to) {
            self.saw("refused at the last moment");
            return self.rules(view);
        }
        let from = self.counts.active.clone();
        let id = self.call_id(place);
        let comes_back = self.counts.waiting.iter().any(|agent| agent == to);
        if self.scenario.way(&from, to).returns && !comes_back {
            let before = self.so_far();
            self.waiting.push(Waiting { agent: from.clone(), place, told, before });
            self.counts.waiting.push(from.clone());
        } else {
            self.settle(told);
            self.seat().is_told(|_, block| panic!("{block:?} is not answered"));
            self.set_down();
            self.closes(&from, Closing::HandedOn);
        }
        if comes_back {
            self.closes(to, Closing::HandedOn);
        }
        self.see_hop(&from, to, &package);
        self.counts.hops += 1;
        self.counts.hops_since_user += 1;
        let left = package.open_items().iter().map(ToString::to_string).collect();
        let outcome = Outcome::Taken { number: self.counts.hops, to: to.to_owned(), left, end: None };
        self.counts.rows.push(Row { id, from: from.clone(), outcome });
        for constraint in package.constraints() {
            if !self.counts.constraints.contains(&constraint.to_string()) {
                self.counts.constraints.push(constraint.to_string());
            }
        }
        if comes_back {
            return self.is_handed_back(&from, to, &package, view);
        }
        self.counts.active = to.to_owned();
        self.hears(package.to_prompt(&name(&from)), view);
    }

    pub(super) fn see_hop(&self, from: &str, to: &str, package: &HandoffPackage) {
        let chain: Vec<&str> = self.counts.since_user().rev().map(|(from, _)| from).collect();
        match chain.as_slice() {
            [first, ..] if *first == to => self.saw("handed back (A→B→A)"),
            [_, first, ..] if *first == to => self.saw("round a cycle of three"),
            _ => {}
        }
        if self.counts.at_rest.iter().any(|agent| agent == to) {
            self.saw("activated again");
        }
        if self.path != ROOT {
            self.saw("handed over in a branch");
        }
        if package.artifacts().get("user_words").is_some() {
            self.saw("words of the user crossed");
        }
        if package.artifacts().get("user_words_left_out").is_some() {
            self.saw("words of the user left out");
        }
        if !self.counts.constraints.is_empty() && !package.constraints().is_empty() {
            self.saw("constraint carried on");
        }
        if self.scenario.way(from, to).is_guarded {
            self.saw("own guard passed");
        }
    }

    /// The turn has gone to one that waits: it goes on with the package as the result. Whoever waited in between waits no
    /// more.
    pub(super) fn is_handed_back(&mut self, from: &str, to: &str, package: &HandoffPackage, view: &View<'_>) {
        self.saw("turn handed back to one that waits");
        while let Some(agent) = self.counts.waiting.last().filter(|agent| *agent != to).cloned() {
            self.stops_waiting();
            self.closes(&agent, Closing::HandedOn);
        }
        let package = serde_json::to_string(package).unwrap();
        let (_, effects) = self.since(&self.waiting.last().unwrap().before);
        let mut told = format!(r#"{{"status":"handed_back","from":"{from}","package":{package}"#);
        if !effects.is_empty() {
            told.push_str(&format!(r#","effects":{}"#, serde_json::to_string(&effects).unwrap()));
        }
        told.push('}');
        self.comes_back(told, view);
    }

    /// The agent that waited last has the turn again, with this result of its handoff.
    pub(super) fn comes_back(&mut self, result: String, view: &View<'_>) {
        let Waiting { agent, place, mut told, .. } = self.waiting.pop().unwrap();
        self.counts.waiting.pop();
        self.counts.active = agent;
        let result = Words::of(result, self.most().result_bytes);
        told.iter_mut().find(|(other, _)| *other == place).unwrap().1 = result;
        self.is_told(told, view);
    }

    /// The agent that waited last waits no more: each of its calls that nothing has answered is told so.
    pub(super) fn stops_waiting(&mut self) {
        self.waiting.pop();
        let agent = self.counts.waiting.pop().unwrap();
        self.seat_of(&agent).is_told(|_, _| Words::error("not_run"));
        self.counts.at_rest.push(agent);
    }

    /// The active agent hears something, and goes on in its own conversation.
    pub(super) fn hears(&mut self, words: String, view: &View<'_>) {
        let active = self.counts.active.clone();
        self.counts.at_rest.retain(|agent| *agent != active);
        self.seat().begin();
        self.seat().heard.push(words);
        self.goes_on(view);
    }

    /// The model is asked next, unless a limit says no. What the user said meanwhile is read first.
    pub(super) fn goes_on(&mut self, view: &View<'_>) {
        let max_steps = self.most().max_steps;
        if self.seat().steps >= max_steps {
            return self.turn_ends(RunEnd::TurnLimit { max_steps }, view);
        }
        while let Some((speech, words)) = self.next_words() {
            self.user_spoke(speech, &words);
            self.seat().heard.push(words);
            self.saw("words read in mid-run");
        }
        if self.counts.left > 0 {
            self.stand = Stand::Model;
            return;
        }
        self.set_down();
        self.finishes(
            RunEnd::BudgetSpent { measure: Measure::ModelCalls, most: self.counts.allowance.into() },
            view,
        );
    }

    pub(super) fn set_down(&mut self) {
        self.counts.at_rest.push(self.counts.active.clone());
    }

    /// The active agent's turn has ended: whoever waits for it gets the answer, else the run ends.
    pub(super) fn turn_ends(&mut self, end: RunEnd, view: &View<'_>) {
        let active = self.counts.active.clone();
        self.touched.insert(active.clone());
        self.set_down();
        if self.waiting.is_empty() || matches!(end, RunEnd::Failed { .. }) {
            return self.finishes(end, view);
        }
        self.saw("turn came back");
        let (steps, effects) = self.since(&self.waiting.last().unwrap().before);
        let left = self.counts.left_to(&active);
        let mut result = result_of(&end, view.last_words(&active), steps, (left.len(), effects));
        if end == RunEnd::Answered && !left.is_empty() {
            self.saw("turn came back with items open");
            let quoted: Vec<String> = left.iter().map(|item| format!("{item:?}")).collect();
            result.reason = Some(format!("items_open: {}", quoted.join(", ")).into());
        }
        self.closes(&active, closing(result.status));
        self.comes_back(serde_json::to_string(&result).unwrap(), view);
    }

    pub(super) fn finishes(&mut self, end: RunEnd, view: &View<'_>) {
        let how = match &end {
            RunEnd::Failed { .. } => None,
            RunEnd::TakenOver { .. } => Some(Closing::Escalated),
            RunEnd::Cancelled { .. } => Some(Closing::Cancelled),
            end => {
                let words = view.last_words(&self.counts.active);
                Some(closing(result_of(end, words, 0, (self.left_open(), Vec::new())).status))
            }
        };
        let goes_on =
            !matches!(end, RunEnd::Failed { .. } | RunEnd::TakenOver { .. } | RunEnd::Cancelled { .. });
        self.finishes_so(end_of(&end), how, goes_on, view);
    }

    /// The run ends with a refusal.
    pub(super) fn finishes_by(&mut self, end: String, guard: Guard, view: &View<'_>) {
        let has_words = guard == Guard::Cap && view.last_words(&self.counts.active).is_some();
        let how = if has_words { Closing::Partial } else { Closing::Failed };
        self.finishes_so(end, Some(how), true, view);
    }

    /// What was handed over ends with the run, but for one that failed; those who wait wait on. Words that came meanwhile
    /// are what the run goes on with.
    pub(super) fn finishes_so(&mut self, end: String, how: Option<Closing>, goes_on: bool, view: &View<'_>) {
        if !self.waiting.is_empty() {
            self.saw("ended while somebody waits");
        }
        if let Some(how) = how {
            self.closes_if(|_| true, how);
        }
        match if goes_on { self.next_words() } else { None } {
            Some((speech, words)) => {
                self.saw("went on with unread words");
                self.has_heard(speech, words, view);
            }
            None => self.stand = Stand::Done(end),
        }
    }

    /// How many items are left of what the agent was handed last that has the turn.
    pub(super) fn left_open(&self) -> usize {
        self.counts.newest_to(&self.counts.active).map_or(0, |(left, _)| left.len())
    }

    /// All work that is open ends like this, and nobody waits any more.
    pub(super) fn ends_all(&mut self, how: Closing) {
        self.closes_if(|_| true, how);
        while !self.waiting.is_empty() {
            self.stops_waiting();
        }
    }

    /// Work goes on where it ended: that of the active agent, and of those who wait for it.
    pub(super) fn all_reopen(&mut self) {
        let waiting = self.counts.waiting.clone();
        waiting.iter().chain([&self.counts.active.clone()]).for_each(|agent| self.reopens(agent));
    }

    /// The agent has its newest work again, unless it had done it or handed it on.
    fn reopens(&mut self, agent: &str) {
        let newest = self.counts.rows.iter_mut().rev().find_map(|row| match &mut row.outcome {
            Outcome::Taken { to, end, .. } if to == agent => Some(end),
            _ => None,
        });
        if let Some(end) = newest.filter(|end| !matches!(end, Some(Closing::Done | Closing::HandedOn))) {
            *end = None;
        }
    }

    /// Ends what this agent was handed and has not ended.
    pub(super) fn closes(&mut self, agent: &str, how: Closing) {
        self.closes_if(|to| to == agent, how);
    }

    pub(super) fn closes_if(&mut self, is_meant: impl Fn(&str) -> bool, how: Closing) {
        for row in &mut self.counts.rows {
            let Outcome::Taken { to, left, end, .. } = &mut row.outcome else { continue };
            if is_meant(to) && end.is_none() {
                let is_partial = how == Closing::Done && !left.is_empty();
                *end = Some(if is_partial { Closing::Partial } else { how });
            }
        }
    }
}

pub(super) fn closing(status: DelegateStatus) -> Closing {
    match status {
        DelegateStatus::Done => Closing::Done,
        DelegateStatus::Partial => Closing::Partial,
        DelegateStatus::Failed => Closing::Failed,
    }
}
