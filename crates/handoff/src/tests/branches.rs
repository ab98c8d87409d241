//! What holds of the branches that a run opens and takes back.

use super::ledger::{Asked, Ledger};
use super::player::{Opened, Player};
use super::scenario::ROOT;
use super::team::{Ask, Deputy};
use super::told::{Told, Words, bytes, heard, result_of};
use crate::{DelegateRefusal, Delegation, HandoffPackage, Link, LinkOutcome, Run, RunEnd, Step};

impl Player<'_> {
    /// The questions of the last reply: those that are refused are told why and are on record; the others have a
    /// branch each, in the order of the calls, which knows the question and nothing else. Whether any has.
    pub(super) fn check_asked(&mut self, before: &Run, after: &Step) -> bool {
        let verdicts = self.ledger.judge(&self.asks);
        let from = self.ledger.counts.active.clone();
        let links = &after.run().links()[before.links().len()..];
        assert_eq!(&after.run().links()[..before.links().len()], before.links(), "what is on record stays");
        let mut refused = links.iter();
        self.open.clear();
        for ((place, ask), verdict) in self.asks.clone().into_iter().zip(verdicts) {
            let deputy = ask.deputy(&from).unwrap();
            let run = &self.ledger.counts;
            let path = format!("{}/{}/{}/{place}", self.path, run.messages, run.model_calls);
            match verdict {
                Ok(allowance) => self.open.push(Opened { path, place, deputy, allowance, spent: 0 }),
                Err(code) => self.check_refused_question(refused.next(), &path, place, ask, code),
            }
        }
        assert!(refused.next().is_none(), "nothing is on record that was not asked");
        self.ledger.given = self.open.iter().map(|open| open.allowance).sum();
        let Step::Delegate(delegation) = after else {
            assert!(self.open.is_empty(), "questions are asked: {after:?}");
            return false;
        };
        let found = delegation.branches().iter().map(|branch| (branch.path(), branch.tool().as_str()));
        let expected = self.open.iter().map(|open| (open.path.as_str(), open.deputy.tool));
        assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "the branches are those asked");
        assert!(self.ledger.left() > 0, "a model call is kept for the agent that asks");
        self.see_opened();
        true
    }

    fn check_refused_question(
        &mut self,
        link: Option<&Link>,
        path: &str,
        place: usize,
        ask: Ask,
        code: &'static str,
    ) {
        let link = link.expect("a refused question is on record");
        let LinkOutcome::Refused { refusal } = &link.outcome else { panic!("no branch was open: {link:?}") };
        assert_eq!((&*link.id, refusal.code()), (path, code), "refused for the first reason");
        if let DelegateRefusal::BudgetSpent { left, allowance, .. } = refusal {
            let given: u32 = self.open.iter().map(|open| open.allowance).sum();
            let expected = (self.ledger.left() - given, self.ledger.allowance);
            assert_eq!((*left, *allowance), (expected.0.into(), expected.1.into()));
        }
        self.check_package(link, ask.question.package());
        self.coverage.refused_question(refusal);
        let words = Words::Holding(format!(r#""error":"{code}""#));
        self.found.push(Told { place, call_id: Some(link.call_id.clone()), words });
        self.on_record(path.to_owned(), ask.tool(&self.ledger.counts.active), code, false);
    }

    fn check_package(&self, link: &Link, package: Option<HandoffPackage>) {
        assert_eq!(link.package, package, "the question is on record");
        assert_eq!(link.package_bytes, package.map_or(0, |package| bytes(&package)));
    }

    fn on_record(&mut self, id: String, tool: &str, outcome: &'static str, has_run: bool) {
        let from = self.ledger.counts.active.clone();
        self.ledger.counts.links.push(Asked { id, from, tool: tool.to_owned(), outcome, has_run });
    }

    fn see_opened(&self) {
        self.saw("branch opened");
        if self.path != ROOT {
            self.saw("branch of a branch opened");
        }
        if self.open.len() > 1 {
            self.saw("two branches at once");
        }
        let teams = self.open.iter().filter(|open| open.deputy.tool == "ask_team");
        if teams.count() > 1 {
            self.saw("a team asked twice in one reply");
        }
    }

    /// The ledger of a branch that has just been opened.
    pub(super) fn ledger_of(&self, open: &Opened) -> Ledger {
        let Opened { deputy: Deputy { entry, .. }, allowance, .. } = *open;
        let mut ledger = Ledger { allowance, off: self.ledger.off.clone(), ..Ledger::default() };
        ledger.counts.active = entry.to_owned();
        ledger.counts.messages = 1;
        ledger
    }

    /// A branch begins with the question as its only message.
    pub(super) fn check_begun(&self, open: &Opened, step: &Step, asker: &Self) {
        let asked = asker.asks.iter().find(|(place, _)| *place == open.place);
        let package = asked.and_then(|(_, ask)| ask.question.package()).unwrap();
        let prompt = package.to_question(&super::told::name(&asker.ledger.counts.active));
        assert!(matches!(step, Step::CallModel(_)), "a branch begins by asking a model: {step:?}");
        assert_eq!(self.values(step, open.deputy.entry), heard(None, &prompt), "the question, and no more");
        assert_eq!(step.run().user_words(), None, "no branch has words of the user");
    }

    /// The branches are joined: each is on record as it ended, and its call gets its finding.
    pub(super) fn check_joined(&mut self, delegation: &Delegation, after: &Step) {
        let links = &after.run().links()[delegation.run().links().len()..];
        assert_eq!(links.len(), self.open.len(), "each branch is on record");
        for ((open, branch), link) in self.open.clone().iter().zip(delegation.branches()).zip(links) {
            assert_eq!(link.run(), branch.done(), "the branch is on record as it ended");
            self.check_returned(open, link);
        }
        self.open.clear();
        if !self.handoffs.is_empty() {
            self.saw("handoff beside delegates");
        }
    }

    /// What a branch came to is on record and told. What it has spent is known from its own ledger.
    pub(super) fn check_returned(&mut self, open: &Opened, link: &Link) {
        let done = link.run().expect("a branch has a run");
        assert_eq!((&*link.id, link.tool.as_str()), (open.path.as_str(), open.deputy.tool));
        let asked = self.asks.iter().find(|(place, _)| *place == open.place);
        self.check_package(link, asked.and_then(|(_, ask)| ask.question.package()));
        let expected = result_of(done, open.spent);
        assert_eq!(link.result(), Some(&expected), "the finding is what the branch came to");
        let told = serde_json::to_string(&expected).unwrap();
        let words = match told.len() > self.scenario.limits.result_bytes {
            true => Words::Holding(r#""error":"result_too_large""#.to_owned()),
            false => Words::Exactly(told),
        };
        self.found.push(Told { place: open.place, call_id: Some(link.call_id.clone()), words });
        self.findings.insert((self.ledger.counts.active.clone(), open.path.clone()));
        self.coverage.found(expected.status);
        if matches!(done.end(), RunEnd::BudgetSpent { .. }) {
            self.saw("budget gone in a branch");
        }
        self.ledger.joined(open.allowance, open.spent);
        self.on_record(open.path.clone(), open.deputy.tool, expected.status.as_str(), true);
    }
}
