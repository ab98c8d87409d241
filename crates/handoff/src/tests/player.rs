//! What holds at every step of one run of the tree.

use sommelier_protocol::{Message, sequence};
use sommelier_runtime::Turn;
use std::collections::BTreeSet;

use super::coverage::Coverage;
use super::ledger::{Counts, Ledger};
use super::scenario::{ANNOUNCED, HandOff, Scenario};
use super::team::{AGENTS, Ask, Deputy, marks};
use super::told::{Told, assert_calls_are_answered, bytes};
use crate::{CallModel, Done, Guard, Hop, HopOutcome, Measure, Relay, Run, RunEnd, Step};

/// A branch that is open, or has ended and is not joined yet.
#[derive(Clone, Debug)]
pub(super) struct Opened {
    pub(super) path: String,
    pub(super) place: usize,
    pub(super) deputy: Deputy,
    pub(super) allowance: u32,
    /// Model calls that it has made when it is joined, by its own ledger.
    pub(super) spent: u32,
}

/// One run of the tree, and what must be true of it.
pub(super) struct Player<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) relay: &'a Relay,
    pub(super) path: String,
    pub(super) ledger: Ledger,
    /// The questions of the last reply that are to be ruled on, each with its place among the calls.
    pub(super) asks: Vec<(usize, Ask)>,
    /// The handoffs of that reply.
    pub(super) handoffs: Vec<(usize, HandOff)>,
    /// The branches that the reply opened.
    pub(super) open: Vec<Opened>,
    /// What questions of the reply are told.
    pub(super) found: Vec<Told>,
    /// What questions and handoffs of the reply are told.
    pub(super) told: Vec<Told>,
    /// Bytes of the messages before the last reply.
    pub(super) history_bytes: usize,
    /// Whose findings each agent has been told: the agent that asked, and the path of the branch.
    pub(super) findings: BTreeSet<(String, String)>,
    pub(super) coverage: &'a Coverage,
}

impl<'a> Player<'a> {
    pub(super) fn new(
        scenario: &'a Scenario,
        relay: &'a Relay,
        path: String,
        ledger: Ledger,
        coverage: &'a Coverage,
    ) -> Self {
        Self {
            scenario,
            relay,
            path,
            ledger,
            asks: Vec::new(),
            handoffs: Vec::new(),
            open: Vec::new(),
            found: Vec::new(),
            told: Vec::new(),
            history_bytes: 0,
            findings: BTreeSet::new(),
            coverage,
        }
    }

    pub(super) fn saw(&self, sight: &'static str) {
        self.coverage.saw(sight);
    }

    pub(super) fn refused(&mut self, guard: Guard) {
        self.ledger.refused(guard);
        self.coverage.refused(guard);
    }

    pub(super) fn ended(&self, end: &RunEnd) {
        self.coverage.ended(end);
    }

    pub(super) fn check_step(&self, step: &Step) {
        self.check_counts(step.run());
        match step {
            Step::CallModel(call) => self.check_request(call),
            Step::CallTools(_) | Step::AskHuman(_) | Step::Delegate(_) => {}
            Step::HandOff(handoff) => self.check_hop(handoff.hop(), handoff.messages()),
            Step::Done(done) => self.check_rest(done),
        }
    }

    fn check_counts(&self, run: &Run) {
        assert_eq!(run.conversation(), self.path);
        assert_eq!(Counts::of(run), self.ledger.counts, "the run counts what the driver counts");
        assert_eq!(
            run.model_calls_left(),
            self.ledger.left(),
            "what is left is what was not spent nor given"
        );
        self.check_guards_held(run);
    }

    /// No cap is passed, and no pair repeats since the user spoke.
    fn check_guards_held(&self, run: &Run) {
        let (guards, trail) = (self.relay.guards(), run.trail());
        assert!(trail.since_user().count() <= guards.max_handoffs as usize);
        assert!(trail.taken().count() <= guards.max_handoffs_per_conversation.unwrap_or(u32::MAX) as usize);
        let pairs: BTreeSet<_> = trail.since_user().map(|hop| (&hop.from, &hop.to)).collect();
        assert!(!guards.refuse_repeated_pairs || pairs.len() == trail.since_user().count());
    }

    fn check_request(&self, call: &CallModel) {
        let request = call.request(self.relay);
        assert_eq!(sequence::check(&request), [], "every request passes the checker");
        assert_calls_are_answered(&request.messages);
        assert_eq!(&*request.caller, self.ledger.counts.active, "the agent that has the turn is asked");
        assert!(self.ledger.left() > 0, "the budget has room");
        self.check_nothing_leaked(&request.caller, &request.messages);
    }

    /// An agent reads what it wrote itself in this run, and of what its delegates said the findings: nothing of any
    /// other agent, and nothing of itself in another run.
    fn check_nothing_leaked(&self, agent: &str, messages: &[Message]) {
        let text = serde_json::to_string(messages).unwrap();
        let mine = (agent, self.path.as_str());
        for of in marks(&text, "secret_of_") {
            assert_eq!(of, mine, "a secret got to {agent} in {}", self.path);
        }
        for of in marks(&text, "said_by_") {
            let is_finding = self.findings.contains(&(agent.to_owned(), of.1.to_owned()));
            assert!(of == mine || is_finding, "{of:?} left words with {agent} in {}: {text}", self.path);
        }
    }

    /// Both sizes are those of the JSON, and the hop has the next number.
    fn check_hop(&self, hop: &Hop, messages: &[Message]) {
        let (_, before) = messages.split_last().unwrap();
        assert_eq!(hop.history_bytes, bytes(before));
        assert_eq!(hop.package_bytes, bytes(&hop.package));
        assert_eq!(hop.outcome, HopOutcome::Taken { number: self.ledger.counts.hop_count + 1 });
    }

    pub(super) fn check_rest(&self, done: &Done) {
        for agent in AGENTS {
            let turn = done.run().idle(agent);
            let messages = turn.map(Turn::messages).unwrap_or_default();
            assert_calls_are_answered(messages);
            self.check_nothing_leaked(agent, messages);
            assert_eq!(turn.map(Turn::history_bytes), turn.map(|turn| bytes(&turn.messages())));
        }
        let answers = matches!(done.end(), RunEnd::Answered | RunEnd::Unresolved);
        assert_eq!(answers, done.answer().is_some(), "there is an answer when there is one");
        let is_announced = done.answer().is_some_and(|answer| answer.contains(ANNOUNCED));
        assert_eq!(matches!(done.end(), RunEnd::Unresolved), is_announced, "a handoff in words only");
        if let RunEnd::BudgetSpent { measure, most } = done.end() {
            let allowance = u64::from(self.ledger.allowance);
            assert_eq!((*measure, *most, self.ledger.left()), (Measure::ModelCalls, allowance, 0));
        }
    }
}
