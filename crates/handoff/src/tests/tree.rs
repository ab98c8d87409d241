//! What holds of the tree: its runs share nothing, and together they spend what was given.

use std::collections::{BTreeMap, BTreeSet};

use super::coverage::Coverage;
use super::driver::{Answer, CALLED_OFF, find};
use super::ledger::Ledger;
use super::passage::without_ends;
use super::player::Player;
use super::scenario::{ROOT, Reply, Scenario, Switch};
use super::team::DESK;
use super::told::{Told, Words, assert_only_set_down, assert_told};
use crate::{Done, Link, Relay, Run, RunEnd, Step};

pub(super) struct Tree<'a> {
    scenario: &'a Scenario,
    relay: &'a Relay,
    /// The runs that are not on record yet, by path.
    players: BTreeMap<String, Player<'a>>,
    /// Since the user spoke or the run was retried: steps, replies, and model calls that brought none.
    steps: u32,
    replies: u32,
    failed: u32,
    /// Whether two branches have been open at once.
    had_two: bool,
    coverage: &'a Coverage,
}

impl<'a> Tree<'a> {
    pub(super) fn new(scenario: &'a Scenario, relay: &'a Relay, coverage: &'a Coverage) -> Self {
        let mut ledger = Ledger { allowance: scenario.max_model_calls, ..Ledger::default() };
        ledger.counts.active = DESK.to_owned();
        ledger.user_spoke(scenario.opening);
        let root = Player::new(scenario, relay, ROOT.to_owned(), ledger, coverage);
        let players = BTreeMap::from([(ROOT.to_owned(), root)]);
        Self { scenario, relay, players, steps: 0, replies: 0, failed: 0, had_two: false, coverage }
    }

    /// A tool goes off or on in all runs that are open.
    pub(super) fn switched(&mut self, switch: Switch) {
        let Switch { agent, tool, is_on } = switch;
        for player in self.players.values_mut() {
            if is_on {
                player.ledger.off.remove(&(agent, tool));
            } else {
                player.ledger.off.insert((agent, tool));
            }
        }
    }

    /// What holds of the whole, and of the run at `path`, which is to go on.
    pub(super) fn check_step(&self, tree: &Step, path: &str) {
        let (_, step) = find(self.relay, tree, path).unwrap();
        self.players[path].check_step(step);
        // A reply brings at most a run of tools, a join and two handoffs, the second where the receiver of the first
        // was not ready any more; a call that fails ends its run.
        let most = 5 * self.scenario.max_model_calls + self.failed + 2;
        assert!(self.steps <= most, "it always ends");
        let left: u32 = runs(tree).iter().map(|run| run.model_calls_left()).sum();
        assert_eq!(left + self.replies, self.scenario.max_model_calls, "what was given is spent or left");
        if path == ROOT {
            check_ids(tree);
        }
    }

    /// The run at `path` has gone on by this answer, and it alone.
    pub(super) fn check_passage(&mut self, before: &Step, path: &str, answer: &Answer, after: &Step) {
        self.steps += 1;
        match answer {
            Answer::Reply(Reply::Fails(_), _) => self.failed += 1,
            Answer::Reply(Reply::Says { .. }, _) => self.replies += 1,
            _ => {}
        }
        self.check_others(before, path, after);
        let (_, was) = find(self.relay, before, path).unwrap();
        let (relay, is) = find(self.relay, after, path).unwrap();
        if let Answer::Join = answer {
            self.close_accounts(path);
        }
        let player = self.players.get_mut(path).unwrap();
        player.check_passage(was, answer, is);
        match (was, answer, is) {
            (_, Answer::Hear(_), _) | (_, Answer::Retry, Step::CallModel(_)) => {
                (self.steps, self.replies, self.failed) = (0, 0, 0);
            }
            (Step::CallModel(_) | Step::CallTools(_), _, Step::Delegate(_)) => self.open(relay, path, is),
            _ => {}
        }
    }

    /// Nothing has changed in any other run.
    fn check_others(&self, before: &Step, path: &str, after: &Step) {
        let is_below =
            |path: &str, other: &str| path.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'));
        for other in self.players.keys().filter(|other| *other != path && !is_below(other, path)) {
            let (_, was) = find(self.relay, before, other).unwrap();
            let (_, is) = find(self.relay, after, other).unwrap();
            if is_below(path, other) {
                assert_eq!(was.run(), is.run(), "the run that waits for the branch is as it was");
            } else {
                assert_eq!(was, is, "another branch is as it was");
            }
        }
    }

    /// The branches that the run at `path` has just opened.
    fn open(&mut self, relay: &'a Relay, path: &str, step: &Step) {
        let Step::Delegate(delegation) = step else { panic!("no branch is open: {step:?}") };
        let opened = self.players[path].open.clone();
        self.had_two |= opened.len() > 1;
        for (open, branch) in opened.iter().zip(delegation.branches()) {
            let asker = &self.players[path];
            let inside = branch.relay(relay).unwrap();
            let ledger = asker.ledger_of(open);
            let player = Player::new(self.scenario, inside, open.path.clone(), ledger, self.coverage);
            player.check_begun(open, branch.step(), asker);
            player.check_step(branch.step());
            let is_new = self.players.insert(open.path.clone(), player).is_none();
            assert!(is_new, "no path is used twice");
        }
    }

    /// What the branches of the run at `path` have spent goes into its account; they are no players any more.
    fn close_accounts(&mut self, path: &str) {
        for place in 0..self.players[path].open.len() {
            let of = self.players[path].open[place].path.clone();
            let branch = self.players.remove(&of).unwrap();
            let player = self.players.get_mut(path).unwrap();
            player.open[place].spent = branch.ledger.spent + branch.ledger.spent_below;
        }
    }

    /// The run at `path` was called off: the whole tree, or a branch of it and nothing else.
    pub(super) fn check_called_off(&mut self, before: &Step, path: &str, after: &Step) {
        let (_, was) = find(self.relay, before, path).unwrap();
        let (_, is) = find(self.relay, after, path).unwrap();
        let Step::Done(done) = is else { panic!("what was called off has ended: {is:?}") };
        if path != ROOT {
            self.check_others(before, path, after);
            self.coverage.saw("one branch called off");
        } else if before.open()[0].run().conversation() != ROOT {
            self.coverage.saw("called off in mid-branch");
        }
        self.check_run_called_off(path, was, done);
    }

    /// A run that is called off ends there; its open branches end before it, and what they have found is told.
    fn check_run_called_off(&mut self, path: &str, before: &Step, done: &Done) {
        if let Step::Done(ended) = before {
            return assert_eq!(done, ended, "a run that has ended is left as it is");
        }
        if let Step::Delegate(delegation) = before {
            let links = &done.run().links()[before.run().links().len()..];
            let branches = delegation.branches();
            assert_eq!(links.len(), branches.len(), "each branch is on record");
            for (branch, link) in branches.iter().zip(links) {
                self.check_run_called_off(branch.path(), branch.step(), link.run().unwrap());
            }
            self.close_accounts(path);
            let player = self.players.get_mut(path).unwrap();
            for (open, link) in std::mem::take(&mut player.open).iter().zip(links) {
                player.check_returned(open, link);
            }
        }
        let player = self.players.get_mut(path).unwrap();
        let after = Step::Done(done.clone());
        assert_eq!(done.end(), &RunEnd::Cancelled { reason: CALLED_OFF.into() });
        let hops = |run: &Run| without_ends(run.trail().hops());
        assert_eq!(hops(before.run()), hops(done.run()), "no handoff is ruled on any more");
        let newest = done.run().trail().taken().filter(|hop| *hop.to == *done.run().active().as_str()).last();
        assert!(newest.is_none_or(|hop| hop.end.is_some()), "what was handed over ends with the run");
        assert_only_set_down(before.run(), &after);
        if let Step::Delegate(_) | Step::HandOff(_) = before {
            let handoffs = player.handoffs.iter().map(|(place, _)| {
                let words = Words::Holding("called off".to_owned());
                Told { place: *place, call_id: None, words }
            });
            let told: Vec<Told> = player.found.iter().cloned().chain(handoffs).collect();
            assert_told(&told, &player.messages(&after, &player.ledger.counts.active));
        }
        player.ended(done.end());
        player.check_step(&after);
    }

    /// The same tree has come of another order.
    pub(super) fn compared(&self) {
        if self.had_two {
            self.coverage.saw("the same tree in another order");
        }
    }
}

/// The runs of a tree that are not on record yet.
fn runs(tree: &Step) -> Vec<&Run> {
    let Step::Delegate(delegation) = tree else { return vec![tree.run()] };
    let branches = delegation.branches().iter().flat_map(|branch| runs(branch.step()));
    std::iter::once(tree.run()).chain(branches).collect()
}

/// No two hops or delegations of a tree have one id.
fn check_ids(tree: &Step) {
    fn add<'a>(run: &'a Run, ids: &mut Vec<&'a str>) {
        ids.extend(run.trail().hops().iter().map(|hop| &*hop.id));
        ids.extend(run.links().iter().map(|link| &*link.id));
        run.links().iter().filter_map(Link::run).for_each(|done| add(done.run(), ids));
    }
    let mut ids = Vec::new();
    runs(tree).into_iter().for_each(|run| add(run, &mut ids));
    let distinct: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(distinct.len(), ids.len(), "each handoff and each question has an id of its own: {ids:?}");
}
