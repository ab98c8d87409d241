//! What holds of the tree: its runs share nothing, and together they spend what was given.

use std::collections::{BTreeMap, BTreeSet};

use super::coverage::Coverage;
use super::driver::{CALLED_OFF, Input, find};
use super::ledger::Counts;
use super::player::Player;
use super::reference::{Found, Opened, Reference};
use super::scenario::{ROOT, Reply, Scenario, Speech, Switch};
use super::told::{View, Words, result_of};
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
    /// Messages that the user had spoken when these began.
    messages: u32,
    /// Whether two branches have been open at once.
    had_two: bool,
    coverage: &'a Coverage,
}

impl<'a> Tree<'a> {
    pub(super) fn new(scenario: &'a Scenario, relay: &'a Relay, coverage: &'a Coverage) -> Self {
        let root = Player::new(relay, Reference::root(scenario, coverage), coverage);
        let players = BTreeMap::from([(ROOT.to_owned(), root)]);
        let (steps, replies, failed, messages, had_two) = (0, 0, 0, 1, false);
        Self { scenario, relay, players, steps, replies, failed, messages, had_two, coverage }
    }

    /// A tool goes off or on in all runs that are open.
    pub(super) fn switched(&mut self, switch: Switch) {
        let Switch { agent, tool, is_on } = switch;
        for player in self.players.values_mut() {
            player.reference.has_switched(agent, tool, is_on);
        }
    }

    /// The user has said something in mid-run.
    pub(super) fn heard(&mut self, tree: &Step, speech: Speech, words: String) {
        let view = View { relay: self.relay, step: tree };
        self.players.get_mut(ROOT).unwrap().reference.is_spoken_to(speech, words, &view);
    }

    /// What holds of the whole, and of the run at `path`, which is to go on.
    pub(super) fn check_step(&self, tree: &Step, path: &str) {
        let (_, step) = find(self.relay, tree, path).unwrap();
        self.players[path].check_step(step);
        let calls = u32::try_from(self.scenario.limits.calls_per_reply).unwrap();
        // A reply brings at most a run of tools, a join and two handoffs, the second where the receiver of the first
        // was not ready any more; and each of its calls a question, its answer, and the same once more for a handoff that is
        // ruled on again. A call that fails ends its run.
        let most = (5 + 4 * calls) * self.scenario.max_model_calls + self.failed + 2;
        assert!(self.steps <= most, "it always ends");
        let left: u32 = runs(tree).iter().map(|run| run.model_calls_left()).sum();
        assert_eq!(left + self.replies, self.scenario.max_model_calls, "what was given is spent or left");
        let asked: BTreeSet<&str> = tree.questions().iter().map(|(run, _)| run.conversation()).collect();
        if asked.len() > 1 {
            self.coverage.saw("questions open in two branches");
        }
        if path == ROOT {
            check_ids(tree);
        }
    }

    /// The run at `path` has gone on by this input, and it alone.
    pub(super) fn check_passage(&mut self, before: &Step, path: &str, input: &Input, after: &Step) {
        self.steps += 1;
        match input {
            Input::Reply(Reply::Fails(_), _) => self.failed += 1,
            Input::Reply(Reply::Says { .. }, _) => self.replies += 1,
            _ => {}
        }
        self.check_others(before, path, after);
        let (_, was) = find(self.relay, before, path).unwrap();
        let (relay, is) = find(self.relay, after, path).unwrap();
        if let (Input::Join, Step::Delegate(delegation)) = (input, was) {
            let ended: Vec<Done> =
                delegation.branches().iter().map(|branch| branch.done().unwrap().clone()).collect();
            let found = self.close_accounts(path, was, is.run(), &ended);
            let player = self.players.get_mut(path).unwrap();
            player.reference.touched.clear();
            player.reference.has_joined(found, &View { relay, step: is });
            player.compare(was, is);
        } else {
            self.players.get_mut(path).unwrap().goes_on(was, input, is);
        }
        let messages = after.run().messages();
        if messages != self.messages || matches!((input, is), (Input::Retry, Step::CallModel(_))) {
            (self.steps, self.replies, self.failed, self.messages) = (0, 0, 0, messages);
        }
        if let (Step::Delegate(_), false) = (is, matches!(was, Step::Delegate(_))) {
            self.open(relay, path, is);
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

    /// The branches that the run at `path` has just opened: each begins with the question as its only message.
    fn open(&mut self, relay: &'a Relay, path: &str, step: &Step) {
        let Step::Delegate(delegation) = step else { panic!("no branch is open: {step:?}") };
        let asker = self.players[path].reference.clone();
        self.had_two |= asker.open.len() > 1;
        self.see_opened(path, &asker.open);
        assert!(asker.counts.left > 0, "a model call is kept for the agent that asks");
        for (opened, branch) in asker.open.iter().zip(delegation.branches()) {
            assert_eq!(branch.tool().as_str(), opened.deputy.tool);
            let inside = branch.relay(relay).unwrap();
            let player = Player::new(inside, Reference::branch(&asker, opened), self.coverage);
            player.compare(branch.step(), branch.step());
            player.check_step(branch.step());
            let is_new = self.players.insert(opened.path.clone(), player).is_none();
            assert!(is_new, "no path is used twice");
        }
    }

    fn see_opened(&self, path: &str, open: &[Opened]) {
        self.coverage.saw("branch opened");
        if path != ROOT {
            self.coverage.saw("branch of a branch opened");
        }
        if open.len() > 1 {
            self.coverage.saw("two branches at once");
        }
        if open.iter().filter(|open| open.deputy.tool == "ask_team").count() > 1 {
            self.coverage.saw("a team asked twice in one reply");
        }
    }

    /// What the branches of the run at `path` have come to goes on record; they are no players any more. What each has
    /// spent is known from its own account.
    fn close_accounts(&mut self, path: &str, before: &Step, after: &Run, ended: &[Done]) -> Vec<Found> {
        let opened = self.players[path].reference.open.clone();
        let links = &after.links()[before.run().links().len()..];
        let links = &links[..opened.len().min(links.len())];
        assert_eq!(links.len(), ended.len(), "each branch is on record");
        let mut all = Vec::new();
        for ((opened, done), link) in opened.iter().zip(ended).zip(links) {
            assert_eq!(link.run(), Some(done), "the branch is on record as it ended");
            let branch = self.players.remove(&opened.path).unwrap();
            let reference = &branch.reference;
            let spent = reference.counts.allowance - reference.counts.left;
            let most = self.scenario.limits.result_bytes;
            let view = View { relay: branch.relay, step: &Step::Done(done.clone()) };
            let words = view.last_words(&reference.counts.active);
            let expected =
                result_of(done.end(), words, spent, (reference.left_open(), effects_of(reference)));
            assert_eq!(link.result(), Some(&expected), "the finding is what the branch came to");
            let (id, tool) = (&*link.id, link.tool.as_str());
            assert_eq!((id, tool), (opened.path.as_str(), opened.deputy.tool));
            let player = self.players.get_mut(path).unwrap();
            player.found(link, &opened.path);
            let words = Words::of(serde_json::to_string(&expected).unwrap(), most);
            all.push(Found { status: expected.status, words, spent, effects: effects_of(reference) });
        }
        all
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
        let found = match before {
            Step::Delegate(delegation) => {
                let links = &done.run().links()[before.run().links().len()..];
                let branches = delegation.branches();
                assert_eq!(links.len(), branches.len(), "each branch is on record");
                for (branch, link) in branches.iter().zip(links) {
                    self.check_run_called_off(branch.path(), branch.step(), link.run().unwrap());
                }
                let ended: Vec<Done> = links.iter().map(|link| link.run().unwrap().clone()).collect();
                self.close_accounts(path, before, done.run(), &ended)
            }
            Step::AskHuman(_) => {
                self.coverage.saw("called off while a person is asked");
                Vec::new()
            }
            _ => Vec::new(),
        };
        let player = self.players.get_mut(path).unwrap();
        let after = Step::Done(done.clone());
        let end = RunEnd::Cancelled { reason: CALLED_OFF.into() };
        player.reference.touched.clear();
        player.reference.is_called_off(found, end, &View { relay: player.relay, step: &after });
        player.compare(before, &after);
        player.coverage.ended(done.end());
        player.check_step(&after);
    }

    /// The same tree has come of another order.
    pub(super) fn compared(&self) {
        if self.had_two {
            self.coverage.saw("the same tree in another order");
        }
    }
}

/// The tools that need approval and ran in a run or its branches, in the order of the agents at rest, and then of those that
/// wait.
fn effects_of(reference: &Reference<'_>) -> Vec<String> {
    let Counts { at_rest, waiting, .. } = &reference.counts;
    let seats = at_rest.iter().chain(waiting).filter_map(|agent| reference.seats.get(agent));
    let own = seats.flat_map(|seat| seat.effects.clone());
    own.chain(reference.effects_below.clone()).collect()
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
