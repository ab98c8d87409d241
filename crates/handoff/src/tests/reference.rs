//! The rules of a run, said once more and plainly: what follows from each input, without the code under test.
//!
//! A [`Reference`] holds one run. It is told what came in, and says where the run stands then, who has the turn, what is
//! on record, and what each agent has heard and been told. What models and branches said it reads off their
//! conversations.

use sommelier_runtime::ToolOutput;
use sommelier_runtime::turn::{EMPTY_REPLY, GO_ON, Standstill};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::coverage::Coverage;
use super::ledger::{Asked, Counts, Outcome, Row};
use super::scenario::{ANNOUNCED, Block, Own, ROOT, Reply, Scenario, Speech};
use super::seat::{Call, Seat};
use super::team::{DESK, Deputy, GATED, receivers};
use super::told::{View, Words};
use crate::{Answer, DelegateStatus, Guard, HandoffPackage, RunEnd, Step};

/// Where a run stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stand {
    /// The model of the active agent is asked.
    Model,
    /// The calls at these places run.
    Tools(Vec<usize>),
    /// A person is asked: the id of each question, and its kind.
    People(Vec<(String, &'static str)>),
    /// The branches of these names are open.
    Delegates(Vec<String>),
    HandOff {
        id: String,
        to: String,
        package: HandoffPackage,
    },
    Done(String),
}

impl Stand {
    pub(super) fn of(step: &Step) -> Self {
        match step {
            Step::CallModel(_) => Self::Model,
            Step::CallTools(calls) => Self::Tools(calls.calls().map(|(place, _)| place).collect()),
            Step::AskHuman(asking) => {
                let questions = asking.questions().iter();
                Self::People(questions.map(|one| (one.id.to_string(), one.asks.as_str())).collect())
            }
            Step::Delegate(delegation) => {
                Self::Delegates(delegation.branches().iter().map(|branch| branch.path().to_owned()).collect())
            }
            Step::HandOff(handoff) => Self::HandOff {
                id: handoff.hop().id.to_string(),
                to: handoff.to().to_string(),
                package: handoff.package().clone(),
            },
            Step::Done(done) => Self::Done(end_of(done.end())),
        }
    }
}

/// An end; of one by a refusal only the guard.
pub(super) fn end_of(end: &RunEnd) -> String {
    match end.refusal() {
        Some(refusal) => refused_end(refusal.guard()),
        None => format!("{end:?}"),
    }
}

fn refused_end(guard: Guard) -> String {
    let word = if guard == Guard::Cap { "hop_limit" } else { "handoff_refused" };
    format!("{word} by {}", guard.as_str())
}

/// An agent that waits for its handoff to come back.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) agent: String,
    /// The place of the handoff among the calls, and what the others are told.
    pub(super) place: usize,
    pub(super) told: Vec<(usize, Words)>,
    /// What had been done by then.
    pub(super) before: Before,
}

/// What had been done when an agent handed over.
#[derive(Clone, Debug, Default)]
pub(super) struct Before {
    spent: u32,
    /// How many effects each agent had had, and how many branches had told of.
    effects: BTreeMap<String, usize>,
    below: usize,
}

/// A branch that is open, or has ended and is not joined yet.
#[derive(Clone, Debug)]
pub(super) struct Opened {
    pub(super) path: String,
    pub(super) place: usize,
    pub(super) deputy: Deputy,
    pub(super) allowance: u32,
    pub(super) prompt: String,
    /// What the question binds the branch to.
    pub(super) binding: Vec<String>,
}

/// What came of a branch: for its place, how far it came, what is told, and what it has spent.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) status: DelegateStatus,
    pub(super) words: Words,
    pub(super) spent: u32,
    pub(super) effects: Vec<String>,
}

/// A handoff that passed all guards, and what the calls are told when it is taken.
#[derive(Clone, Debug)]
pub(super) struct Passed {
    pub(super) place: usize,
    pub(super) to: &'static str,
    pub(super) package: HandoffPackage,
    pub(super) told: Vec<(usize, Words)>,
}

/// One run, as the rules say it must be.
#[derive(Clone)]
pub(super) struct Reference<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) path: String,
    pub(super) counts: Counts,
    pub(super) seats: BTreeMap<String, Seat>,
    pub(super) stand: Stand,
    /// Agents that something was said to by the last input.
    pub(super) touched: BTreeSet<String>,
    pub(super) open: Vec<Opened>,
    /// What branches told that ran in them and needs approval.
    pub(super) effects_below: Vec<String>,
    /// Model calls of branches that have ended.
    spent_below: u32,
    pub(super) passed: Option<Passed>,
    /// How the user last spoke.
    pub(super) speech: Speech,
    /// What a person said, by question.
    pub(super) decided: BTreeMap<String, Answer>,
    /// Whether the calls that a person is asked about are those of tools.
    asks_of_tools: bool,
    pub(super) inbox: VecDeque<(Speech, String)>,
    pub(super) waiting: Vec<Waiting>,
    pub(super) coverage: &'a Coverage,
}

impl<'a> Reference<'a> {
    /// The run that hears the user.
    pub(super) fn root(scenario: &'a Scenario, coverage: &'a Coverage) -> Self {
        let mut root = Self::new(scenario, ROOT.to_owned(), DESK, scenario.max_model_calls, coverage);
        let words = scenario.opening.words(1);
        root.user_spoke(scenario.opening, &words);
        root.seat().heard.push(words);
        root
    }

    /// A branch that `asker` has opened: it knows the question, and which tools are off.
    pub(super) fn branch(asker: &Self, opened: &Opened) -> Self {
        let Opened { path, deputy, allowance, prompt, binding, .. } = opened;
        let mut branch = Self::new(asker.scenario, path.clone(), deputy.entry, *allowance, asker.coverage);
        branch.counts.messages = 1;
        branch.counts.off = asker.counts.off.clone();
        branch.counts.constraints = binding.clone();
        branch.seat().heard.push(prompt.clone());
        branch
    }

    fn new(
        scenario: &'a Scenario,
        path: String,
        active: &str,
        allowance: u32,
        coverage: &'a Coverage,
    ) -> Self {
        let counts = Counts { active: active.to_owned(), allowance, left: allowance, ..Counts::default() };
        Self {
            scenario,
            path,
            counts,
            seats: BTreeMap::new(),
            stand: Stand::Model,
            touched: BTreeSet::new(),
            open: Vec::new(),
            effects_below: Vec::new(),
            spent_below: 0,
            passed: None,
            speech: Speech::Plain,
            decided: BTreeMap::new(),
            asks_of_tools: false,
            inbox: VecDeque::new(),
            waiting: Vec::new(),
            coverage,
        }
    }

    pub(super) fn saw(&self, sight: &'static str) {
        self.coverage.saw(sight);
    }

    /// The agent that has the turn.
    pub(super) fn seat(&mut self) -> &mut Seat {
        self.seat_of(&self.counts.active.clone())
    }

    pub(super) fn seat_of(&mut self, agent: &str) -> &mut Seat {
        self.touched.insert(agent.to_owned());
        self.seats.entry(agent.to_owned()).or_default()
    }

    /// The calls of the newest reply that are open.
    pub(super) fn open_calls(&self) -> Vec<(usize, Block)> {
        self.seats.get(&self.counts.active).map(|seat| seat.open().collect()).unwrap_or_default()
    }

    /// The id of the newest reply, and of a call of it.
    pub(super) fn reply_id(&self) -> String {
        format!("{}/{}/{}", self.path, self.counts.messages, self.counts.model_calls)
    }

    pub(super) fn call_id(&self, place: usize) -> String {
        format!("{}/{place}", self.reply_id())
    }

    pub(super) fn tell(&mut self, place: usize, words: Words) {
        self.seat().calls[place].words = Some(words);
    }

    /// What has been done so far.
    pub(super) fn so_far(&self) -> Before {
        let effects = self.seats.iter().map(|(agent, seat)| (agent.clone(), seat.effects.len()));
        let (spent, below) = (self.counts.model_calls + self.spent_below, self.effects_below.len());
        Before { spent, effects: effects.collect(), below }
    }

    /// The model calls since, and the effects of those at rest and of branches.
    pub(super) fn since(&self, before: &Before) -> (u32, Vec<String>) {
        let own = self.counts.at_rest.iter().flat_map(|agent| {
            let had = before.effects.get(agent).copied().unwrap_or_default();
            self.seats.get(agent).into_iter().flat_map(move |seat| seat.effects.iter().skip(had).cloned())
        });
        let effects = own.chain(self.effects_below.iter().skip(before.below).cloned()).collect();
        (self.counts.model_calls + self.spent_below - before.spent, effects)
    }

    pub(super) fn is_off(&self, tool: &str) -> bool {
        self.counts.off.iter().any(|(agent, off)| (agent, off.as_str()) == (&self.counts.active, tool))
    }
}

/// A reply comes in, and its own tools run first.
impl Reference<'_> {
    pub(super) fn has_replied(&mut self, reply: &Reply, view: &View<'_>) {
        if let Reply::Fails(error) = reply {
            return self.turn_ends(RunEnd::Failed { error: error.clone() }, view);
        }
        self.counts.model_calls += 1;
        self.counts.left -= 1;
        self.seat().steps += 1;
        let cut = reply.cut_short();
        let calls = reply.calls();
        match cut {
            _ if !calls.is_empty() => self.has_called(&calls, cut, view),
            Some(end) => self.turn_ends(end, view),
            None if reply.is_empty() => self.was_silent(view),
            None if reply.stop() == Some(&sommelier_protocol::StopReason::PauseTurn) => {
                if self.most().pauses < self.pauses_now() {
                    return self.turn_ends(RunEnd::NoProgress { why: Standstill::Paused }, view);
                }
                if !reply.ends_paused() {
                    self.seat().heard.push(GO_ON.to_owned());
                }
                self.goes_on(view);
            }
            None => {
                let said = view.said(&self.counts.active);
                match said.trim() {
                    "" => self.was_silent(view),
                    said if said.contains(ANNOUNCED) => self.turn_ends(RunEnd::Unresolved, view),
                    _ => self.turn_ends(RunEnd::Answered, view),
                }
            }
        }
    }

    pub(super) fn most(&self) -> sommelier_runtime::Limits {
        self.scenario.limits
    }

    fn pauses_now(&mut self) -> u32 {
        self.seat().was_paused()
    }

    fn was_silent(&mut self, view: &View<'_>) {
        let most = self.most().empty_replies;
        if self.seat().was_silent(most) {
            return self.turn_ends(RunEnd::NoProgress { why: Standstill::Empty }, view);
        }
        self.seat().heard.push(EMPTY_REPLY.to_owned());
        self.goes_on(view);
    }

    /// Calls of a reply that was cut are not run. Of any other, those are kept that lead somewhere.
    fn has_called(&mut self, calls: &[Block], cut: Option<RunEnd>, view: &View<'_>) {
        if let Some(end) = cut {
            let told = calls.iter().map(|_| Words::error("not_run"));
            self.seat().told.extend(told);
            return self.turn_ends(end, view);
        }
        let active = self.counts.active.clone();
        let leads = |(place, block): (usize, &Block)| {
            place < self.scenario.limits.calls_per_reply
                && match block {
                    Block::Call(_, own) => own.tool().is_some(),
                    Block::HandOff(..) => !receivers(&active).is_empty(),
                    Block::Ask(_, ask) => ask.deputy(&active).is_some(),
                    Block::Person(..) => self.scenario.may_ask_human(&active),
                    _ => false,
                }
        };
        let kept = calls.iter().enumerate().map(|(place, block)| {
            let words = if leads((place, block)) { None } else { Some(Words::Any) };
            Call { block: *block, words }
        });
        let kept = kept.collect();
        self.seat().has_called(kept);
        if self.path != ROOT && calls.iter().any(|call| matches!(call, Block::Call(_, own) if own.tool().is_some_and(|tool| self.is_off(tool)))) {
            self.saw("tool switched off in a branch");
        }
        self.runs_or_goes_on(view);
    }

    pub(super) fn runs_or_goes_on(&mut self, view: &View<'_>) {
        let places = self.to_run();
        match places.is_empty() {
            true => self.has_run(&[], view),
            false => self.stand = Stand::Tools(places),
        }
    }

    /// The calls of own tools that are to run: those that are not off, nor rejected.
    fn to_run(&self) -> Vec<usize> {
        let runs = |(place, block): (usize, Block)| match block {
            Block::Call(_, own) if !self.is_off(own.tool().unwrap()) && !self.is_rejected(place) => {
                Some(place)
            }
            _ => None,
        };
        self.open_calls().into_iter().filter_map(runs).collect()
    }

    pub(super) fn is_rejected(&self, place: usize) -> bool {
        matches!(self.decided.get(&self.call_id(place)), Some(Answer::Reject { .. }))
    }

    /// Tools go off and on; calls that wait are looked at once more.
    pub(super) fn has_switched(&mut self, agent: &str, tool: &str, is_on: bool) {
        let off = (agent.to_owned(), tool.to_owned());
        if is_on {
            self.counts.off.remove(&off);
        } else {
            self.counts.off.insert(off);
        }
        if let Stand::Tools(_) = self.stand {
            self.stand = Stand::Tools(self.to_run());
        }
        if let (Stand::People(_), true) =
            (&self.stand, !is_on && tool == GATED && agent == self.counts.active)
        {
            self.saw("tool off while a person is asked");
        }
    }

    /// The tools have run, with these outputs.
    pub(super) fn has_run(&mut self, outputs: &[ToolOutput], view: &View<'_>) {
        let mut outputs = outputs.iter();
        for (place, block) in self.open_calls() {
            let Block::Call(_, own) = block else { continue };
            let words = if self.is_off(own.tool().unwrap()) {
                Words::error("tool_switched_off")
            } else if let Some(Answer::Reject { reason }) = self.decided.get(&self.call_id(place)) {
                self.coverage.saw("tool rejected");
                Words::Holding(format!(r#"{{"error":"approval_denied","tool":"{GATED}","reason":"{reason}""#))
            } else {
                let output = outputs.next().expect("each call that runs has an output");
                self.counts.tool_calls += 1;
                if own == Own::Gated && output.error.is_none() {
                    self.seat().effects.push(GATED.to_owned());
                }
                Words::Exactly(output.content.to_string())
            };
            self.tell(place, words);
        }
        assert!(outputs.next().is_none(), "no output without a call");
        self.reserved(view);
    }
}

/// Then people are asked, then delegates, then one handoff is ruled on.
impl Reference<'_> {
    fn reserved(&mut self, view: &View<'_>) {
        let mut questions = Vec::new();
        for (place, block) in self.open_calls() {
            let Block::Person(_, inquiry) = block else { continue };
            let id = self.call_id(place);
            match (inquiry.asked(), self.decided.get(&id)) {
                (None, _) => {
                    self.saw("question to a person refused");
                    self.tell(place, Words::error("invalid_question"));
                }
                (Some(_), Some(Answer::Say { text })) => {
                    let words = Words::Exactly(serde_json::json!({ "answer": text }).to_string());
                    self.tell(place, words);
                }
                (Some(_), _) => questions.push((id, "words")),
            }
        }
        if !questions.is_empty() {
            return self.asks_people(questions, false);
        }
        self.opens_branches();
        match self.open.is_empty() {
            true => self.rules(view),
            false => {
                self.stand = Stand::Delegates(self.open.iter().map(|open| open.path.clone()).collect());
            }
        }
    }

    pub(super) fn asks_people(&mut self, questions: Vec<(String, &'static str)>, of_tools: bool) {
        self.asks_of_tools = of_tools;
        self.stand = Stand::People(questions);
    }

    /// A driver has a person asked about calls of tools.
    pub(super) fn has_asked(&mut self, places: &[usize]) {
        let questions = places.iter().map(|place| (self.call_id(*place), "tool")).collect();
        self.asks_people(questions, true);
    }

    /// A person has answered. With the last answer the step is looked at again.
    pub(super) fn has_decided(&mut self, id: &str, answer: &Answer, view: &View<'_>) {
        let Stand::People(questions) = &mut self.stand else { panic!("nobody was asked: {:?}", self.stand) };
        let place = questions.iter().position(|(open, _)| open == id).expect("the question is open");
        let (_, kind) = questions.remove(place);
        let is_last = questions.is_empty();
        self.coverage.decided(kind, answer);
        self.counts.decisions.push((id.to_owned(), format!("{answer:?}")));
        self.decided.insert(id.to_owned(), answer.clone());
        if let Answer::TakeOver { note } = answer {
            self.seat().is_told(|_, _| Words::error("not_run"));
            self.set_down();
            return self.finishes(RunEnd::TakenOver { by: note.clone() }, view);
        }
        match (is_last, self.asks_of_tools) {
            (false, _) => self.saw("one of several questions answered"),
            (true, true) => self.runs_or_goes_on(view),
            (true, false) => self.reserved(view),
        }
    }

    /// The branches have come back, in the order of the calls.
    pub(super) fn has_joined(&mut self, found: Vec<Found>, view: &View<'_>) {
        if self.open_calls().iter().any(|(_, block)| matches!(block, Block::HandOff(..))) {
            self.saw("handoff beside delegates");
        }
        self.settles(found);
        self.rules(view);
    }

    pub(super) fn settles(&mut self, found: Vec<Found>) {
        for (opened, found) in std::mem::take(&mut self.open).into_iter().zip(found) {
            let Opened { path, place, deputy, allowance, .. } = opened;
            self.counts.left += allowance - found.spent;
            self.counts.links.push(Asked {
                id: path,
                from: self.counts.active.clone(),
                tool: deputy.tool.to_owned(),
                outcome: found.status.as_str(),
                has_run: true,
            });
            self.effects_below.extend(found.effects);
            self.spent_below += found.spent;
            self.tell(place, found.words);
        }
    }

    /// The handoffs of a reply are ruled on, as things now stand.
    pub(super) fn rules(&mut self, view: &View<'_>) {
        let of_reply = format!("{}/", self.reply_id());
        while self
            .counts
            .rows
            .pop_if(|row| matches!(row.outcome, Outcome::Refused(_)) && row.id.starts_with(&of_reply))
            .is_some()
        {}
        let ruling = self.rule();
        for (place, guard) in &ruling.refused {
            self.coverage.refused(*guard);
            let (id, from) = (self.call_id(*place), self.counts.active.clone());
            self.counts.rows.push(Row { id, from, outcome: Outcome::Refused(*guard) });
        }
        if let Some(passed) = ruling.passed {
            return self.passes(passed);
        }
        let mut told = ruling.told;
        let loud = ruling
            .refused
            .iter()
            .find(|(_, guard)| self.scenario.guards.after(*guard) != crate::OnRefusal::Tell);
        let Some((place, guard)) = loud else { return self.is_told(told, view) };
        if self.scenario.guards.after(*guard) == crate::OnRefusal::Stop {
            self.settle(told);
            self.seat().is_told(|_, block| panic!("{block:?} is not answered"));
            self.set_down();
            return self.finishes_by(refused_end(*guard), *guard, view);
        }
        let id = format!("{}/escalation", self.call_id(*place));
        match self.decided.get(&id) {
            None => self.asks_people(vec![(id, "escalation")], false),
            Some(answer) => {
                let Answer::Reject { reason } = answer else { panic!("the run goes on: {answer:?}") };
                let words = Words::Holding(format!(r#""decision":"{reason}""#));
                let mine = told.iter_mut().find(|(other, _)| other == place).unwrap();
                mine.1 = words;
                self.saw("escalated and told");
                self.is_told(told, view);
            }
        }
    }

    /// A handoff has passed all guards. Where its route wants that, a person is asked about just this one.
    fn passes(&mut self, passed: Passed) {
        let id = self.call_id(passed.place);
        let is_gated = self.scenario.way(&self.counts.active, passed.to).is_gated;
        if is_gated && self.decided.get(&id) != Some(&Answer::Approve) {
            return self.asks_people(vec![(id, "handoff")], false);
        }
        self.stand = Stand::HandOff { id, to: passed.to.to_owned(), package: passed.package.clone() };
        self.passed = Some(passed);
    }

    pub(super) fn settle(&mut self, told: Vec<(usize, Words)>) {
        for (place, words) in told {
            self.tell(place, words);
        }
    }

    /// All calls are answered, and the model goes on with the results.
    pub(super) fn is_told(&mut self, told: Vec<(usize, Words)>, view: &View<'_>) {
        self.settle(told);
        self.seat().is_told(|_, block| panic!("{block:?} is not answered"));
        let newest = view.newest(&self.counts.active);
        let most = self.most().repeats;
        match self.seat().repeats(newest, most) {
            true => self.turn_ends(RunEnd::NoProgress { why: Standstill::Repeating }, view),
            false => self.goes_on(view),
        }
    }
}
