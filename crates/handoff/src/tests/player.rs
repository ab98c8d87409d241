//! One run of the tree beside its reference: after each input both must say the same, and some things must be true besides.

use sommelier_protocol::{Message, Role, sequence};
use std::collections::BTreeSet;

use super::coverage::Coverage;
use super::driver::Input;
use super::ledger::Counts;
use super::reference::{Reference, Stand};
use super::scenario::{ANNOUNCED, Block, ROOT, Reply, Scenario};
use super::team::{AGENTS, GATED, marks};
use super::told::{View, assert_calls_are_answered, assert_heard, assert_untouched, bytes};
use crate::{Asks, Done, Hop, HopOutcome, Link, LinkOutcome, Measure, Refusal, Relay, Run, RunEnd, Step};

pub(super) struct Player<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) relay: &'a Relay,
    pub(super) path: String,
    pub(super) reference: Reference<'a>,
    /// Bytes of the messages before the last reply.
    history_bytes: usize,
    /// Whose findings each agent has been told: the agent that asked, and the path of the branch.
    pub(super) findings: BTreeSet<(String, String)>,
    pub(super) coverage: &'a Coverage,
}

impl<'a> Player<'a> {
    pub(super) fn new(relay: &'a Relay, reference: Reference<'a>, coverage: &'a Coverage) -> Self {
        let (scenario, path) = (reference.scenario, reference.path.clone());
        let findings = BTreeSet::new();
        Self { scenario, relay, path, reference, history_bytes: 0, findings, coverage }
    }

    pub(super) fn saw(&self, sight: &'static str) {
        self.coverage.saw(sight);
    }

    /// `before` goes on with this input, and must come to what the reference says. What branches have come to is told to
    /// the reference by the tree.
    pub(super) fn goes_on(&mut self, before: &Step, input: &Input, after: &Step) {
        self.reference.touched.clear();
        let view = View { relay: self.relay, step: after };
        match input {
            Input::Reply(reply, _) => {
                self.see_reply(before, reply);
                self.reference.has_replied(reply, &view);
            }
            Input::Outputs(outputs) => {
                self.see_outputs();
                self.reference.has_run(outputs, &view);
            }
            Input::Ask(places) => {
                self.reference.has_asked(places);
                self.check_questions(after);
            }
            Input::Decide(id, answer) => self.reference.has_decided(id, answer, &view),
            Input::Join => unreachable!("the tree knows what the branches came to"),
            Input::Take => self.reference.takes(&view),
            Input::Hear(speech, words) => self.reference.is_spoken_to(*speech, words.clone(), &view),
            Input::Retry => self.is_retried(before, after, &view),
        }
        self.compare(before, after);
        self.see_end(before, after);
    }

    /// What is so after an input: the run stands where the reference does, what is on record is what it says, and so is
    /// what each agent has heard and been told.
    pub(super) fn compare(&self, before: &Step, after: &Step) {
        self.check_counts(after);
        let view = View { relay: self.relay, step: after };
        for (agent, seat) in &self.reference.seats {
            if let Some(messages) = view.messages(agent) {
                assert_heard(agent, messages, &seat.heard, &seat.told);
            }
        }
        let is_untouched = |agent: &&str| !self.reference.touched.contains(*agent);
        assert_untouched(before, after, AGENTS.into_iter().filter(is_untouched));
        self.check_records(before.run(), after.run());
        self.check_questions(after);
    }

    /// What must be so of a step that is to go on.
    pub(super) fn check_step(&self, step: &Step) {
        self.check_counts(step);
        match step {
            Step::CallModel(call) => {
                let request = call.request(self.relay);
                assert_eq!(sequence::check(&request), [], "every request passes the checker");
                assert_calls_are_answered(&request.messages);
                assert_eq!(
                    &*request.caller, self.reference.counts.active,
                    "the agent that has the turn is asked"
                );
                assert!(self.reference.counts.left > 0, "the budget has room");
                self.check_nothing_leaked(&request.caller, &request.messages);
            }
            Step::HandOff(handoff) => self.check_hop(handoff.hop(), handoff.messages()),
            Step::Done(done) => self.check_rest(done),
            Step::CallTools(_) | Step::AskHuman(_) | Step::Delegate(_) => {}
        }
    }

    fn check_counts(&self, step: &Step) {
        let run = step.run();
        assert_eq!(run.conversation(), self.path);
        assert_eq!(
            Counts::of(run),
            self.reference.counts,
            "the run says of itself what the rules say: {step:?}"
        );
        assert_eq!(Stand::of(step), self.reference.stand, "the run stands where the rules say");
        let (guards, trail) = (self.relay.guards(), run.trail());
        assert!(trail.since_user().count() <= guards.max_handoffs as usize);
        assert!(trail.taken().count() <= guards.max_handoffs_per_conversation.unwrap_or(u32::MAX) as usize);
        let pairs: BTreeSet<_> = trail.since_user().map(|hop| (&hop.from, &hop.to)).collect();
        assert!(!guards.refuse_repeated_pairs || pairs.len() == trail.since_user().count());
    }

    /// An agent reads what it wrote itself in this run, and of what its delegates said the findings, and of what those
    /// said that gave the turn back their answers: nothing else of any other agent, and nothing of itself in another run.
    fn check_nothing_leaked(&self, agent: &str, messages: &[Message]) {
        let text = serde_json::to_string(messages).unwrap();
        let mine = (agent, self.path.as_str());
        for of in marks(&text, "secret_of_") {
            assert_eq!(of, mine, "a secret got to {agent} in {}", self.path);
        }
        for of in marks(&text, "said_by_") {
            let is_finding = self.findings.contains(&(agent.to_owned(), of.1.to_owned()));
            let is_told = is_finding || self.gave_back(agent, of);
            assert!(of == mine || is_told, "{of:?} left words with {agent} in {}: {text}", self.path);
        }
    }

    /// Whether an agent of this run may have answered one that had handed it the turn on a route that returns.
    fn gave_back(&self, agent: &str, (other, path): (&str, &str)) -> bool {
        let mut taken = self.reference.counts.taken();
        let waits = taken.any(|(from, to)| from == agent && self.scenario.way(from, to).returns);
        path == self.path && other != agent && waits
    }

    /// Both sizes are those of the JSON, and the hop has the next number.
    fn check_hop(&self, hop: &Hop, messages: &[Message]) {
        let (_, before) = messages.split_last().unwrap();
        assert_eq!(hop.history_bytes, bytes(before));
        assert_eq!(hop.package_bytes, bytes(&hop.package));
        assert_eq!(hop.outcome, HopOutcome::Taken { number: self.reference.counts.hops + 1 });
    }

    fn check_rest(&self, done: &Done) {
        for (agent, turn) in done.run().at_rest() {
            assert_calls_are_answered(turn.messages());
            self.check_nothing_leaked(agent.as_str(), turn.messages());
            assert_eq!(turn.history_bytes(), bytes(&turn.messages()));
        }
        let answers = matches!(done.end(), RunEnd::Answered | RunEnd::Unresolved);
        assert_eq!(answers, done.answer().is_some(), "there is an answer when there is one");
        let is_announced = done.answer().is_some_and(|answer| answer.contains(ANNOUNCED));
        assert_eq!(matches!(done.end(), RunEnd::Unresolved), is_announced, "a handoff in words only");
        if let RunEnd::BudgetSpent { measure, most } = done.end() {
            let allowance = u64::from(self.reference.counts.allowance);
            let left = done.run().model_calls_left();
            assert_eq!((*measure, *most, left), (Measure::ModelCalls, allowance, 0));
        }
        let may_go_on = matches!(done.end(), RunEnd::Failed { .. });
        let open = done.run().trail().open().count();
        assert!(may_go_on || open == 0, "what was handed over ends with the run");
    }

    /// What has come on record by the last input is complete: sizes, chains, the packages.
    fn check_records(&self, before: &Run, after: &Run) {
        for hop in &after.trail().hops()[before.trail().hops().len().min(after.trail().hops().len())..] {
            assert_eq!(hop.package_bytes, hop.package.as_ref().map_or(0, bytes));
            assert_eq!(hop.history_bytes, self.history_bytes);
            if let HopOutcome::Refused { refusal } = &hop.outcome {
                self.check_loop(refusal, hop);
            }
        }
        for link in &after.links()[before.links().len()..] {
            assert_eq!(link.package_bytes, link.package.as_ref().map_or(0, bytes));
            if let LinkOutcome::Refused { refusal } = &link.outcome {
                self.coverage.refused_question(refusal);
            }
        }
    }

    /// A refused loop tells its chain and its cap.
    fn check_loop(&self, refusal: &Refusal, hop: &Hop) {
        let (max, chain) = match refusal {
            Refusal::HandoffLimitExceeded { max, chain } => (Some(*max), chain),
            Refusal::RepeatedPair { chain, .. } => (None, chain),
            _ => return,
        };
        // Words that were read since make a message of their own, in which hops count anew.
        if hop.id.starts_with(&format!("{}/{}/", self.path, self.reference.counts.messages)) {
            let expected = self.reference.chain(hop.from.as_str(), &hop.to);
            assert_eq!(chain.iter().map(|agent| agent.as_str()).collect::<Vec<_>>(), expected);
            assert_eq!(max, max.and(self.reference.cap()));
        }
    }

    /// What a person is asked is what the calls say.
    fn check_questions(&self, step: &Step) {
        let Step::AskHuman(asking) = step else { return };
        if self.path != ROOT {
            self.saw("a person asked in a branch");
        }
        for question in asking.questions() {
            assert_eq!(question.from.as_str(), self.reference.counts.active);
            let call = self.reference.open_calls().into_iter().find(|(place, _)| {
                let id = self.reference.call_id(*place);
                *question.id == *id || *question.id == *format!("{id}/escalation")
            });
            match (&question.asks, call.unwrap().1) {
                (Asks::Tool { tool, .. }, Block::Call(..)) => assert_eq!(tool.as_str(), GATED),
                (Asks::Words { question, choices, .. }, Block::Person(_, inquiry)) => {
                    let (asked, answers) = inquiry.asked().unwrap();
                    assert_eq!((&**question, choices.len()), (asked.as_str(), answers.len()));
                }
                (Asks::Handoff { to, package, .. }, Block::HandOff(..)) => {
                    let passed = self.reference.rule().passed.unwrap();
                    assert_eq!((to.as_str(), &**package), (passed.to, &passed.package));
                }
                (Asks::Escalation { refusal }, Block::HandOff(..)) => {
                    let guards = step.run().trail().refusals().map(Refusal::guard);
                    assert!(guards.into_iter().any(|guard| guard == refusal.guard()));
                }
                (asks, block) => panic!("{asks:?} is asked about {block:?}"),
            }
        }
    }

    fn see_reply(&mut self, before: &Step, reply: &Reply) {
        let Step::CallModel(call) = before else { panic!("no model was asked: {before:?}") };
        match reply {
            Reply::Fails(_) => return,
            Reply::Says { stop: Some(stop), .. } => self.coverage.stopped(stop),
            Reply::Says { stop: None, .. } => self.saw("reply without a stop reason"),
        }
        let request = call.request(self.relay);
        let goes_on = matches!(request.messages.last(), Some(last) if last.role == Role::Assistant);
        let kept = request.messages.len() - usize::from(goes_on);
        self.history_bytes = bytes(&request.messages[..kept]);
    }

    fn see_outputs(&self) {
        let open = self.reference.open_calls();
        let hands = open.iter().any(|(_, block)| matches!(block, Block::HandOff(..)));
        if hands {
            self.saw("handoff beside own tools");
        }
        if hands && open.iter().any(|(_, block)| matches!(block, Block::Ask(..))) {
            self.saw("own tools, questions and handoffs in one reply");
        }
    }

    fn see_end(&self, before: &Step, after: &Step) {
        if !before.run().extra().awaiting.is_empty() {
            match (before, after) {
                (_, Step::Done(done)) if matches!(done.end(), RunEnd::Failed { .. }) => {
                    self.saw("failed while somebody waits");
                }
                (Step::Done(done), Step::CallModel(_)) if matches!(done.end(), RunEnd::Failed { .. }) => {
                    self.saw("went on after a failure while somebody waits");
                }
                _ => {}
            }
        }
        if let (Step::Done(done), false) = (after, matches!(before, Step::Done(_))) {
            self.coverage.ended(done.end());
        }
    }

    /// A run that ended without an answer can be tried again; one that answered cannot.
    fn is_retried(&mut self, before: &Step, after: &Step, view: &View<'_>) {
        let Step::Done(done) = before else { panic!("it has not ended: {before:?}") };
        if let (Step::Done(back), true) = (after, before == after) {
            let can_go_on = matches!(
                done.end(),
                RunEnd::Failed { .. } | RunEnd::Cancelled { .. } | RunEnd::TakenOver { .. }
            );
            assert!(!can_go_on, "a run that failed or was called off can be tried again");
            if matches!(back.end(), RunEnd::Answered) {
                self.saw("answered run not retried");
            }
            return;
        }
        assert!(done.answer().is_none(), "a run that answered is not tried again");
        if matches!(done.end(), RunEnd::Failed { .. }) {
            self.saw("failed run retried");
        }
        if matches!(done.end(), RunEnd::Cancelled { .. }) {
            self.saw("called off and tried again");
        }
        self.reference.is_retried(view);
    }

    /// What came of a branch is on record as it ended; the asker is told of it.
    pub(super) fn found(&mut self, link: &Link, path: &str) {
        self.findings.insert((self.reference.counts.active.clone(), path.to_owned()));
        let result = link.result().unwrap();
        self.coverage.found(result.status);
        if !result.effects.is_empty() {
            self.saw("effects of a branch told");
        }
        if matches!(link.run().unwrap().end(), RunEnd::BudgetSpent { .. }) {
            self.saw("budget gone in a branch");
        }
    }
}
