//! Plays a scenario, step by step, and holds each step to the properties.

use serde_json::{Value, json};
use sommelier_protocol::{Message, ModelResponse, Role, ToolName, Words, sequence};
use sommelier_runtime::{AgentName, ModelError, ToolOutput, Turn, tool};
use std::collections::BTreeSet;

use super::coverage::Coverage;
use super::ledger::{Counts, Ledger, guards_of};
use super::scenario::{
    AGENTS, ANNOUNCED, Block, DESK, HandOff, Move, POLICY, REQUIRED, Reply, Scenario, Speech, Switch, secret,
};
use crate::{
    CallModel, Done, EntryPolicy, Guard, Hop, HopOutcome, OnRefusal, Refusal, Relay, Run, RunEnd, Step,
};

/// What answers a step.
#[derive(Clone, Debug)]
enum Answer {
    Reply(Box<Result<ModelResponse, ModelError>>),
    Outputs(Vec<ToolOutput>),
    Take,
    Hear(Speech),
    Retry,
}

/// Plays `scenario` to its end. It panics where a property does not hold.
///
/// Two runs go side by side, given the same answers: one as it is, and a twin that is saved as JSON and
/// loaded before every step. They must be equal all the way, so a loaded run goes on as if it had not been
/// saved.
pub(super) fn play(scenario: &Scenario, coverage: &mut Coverage) {
    let relay = scenario.relay();
    let mut step = relay.start("c", scenario.opening.words(1)).unwrap();
    let mut twin = step.clone();
    let mut player = Player {
        scenario,
        relay: &relay,
        ledger: Ledger::default(),
        moves: scenario.moves.iter(),
        losses: scenario.losses.iter(),
        handoffs: Vec::new(),
        told: Vec::new(),
        history_bytes: 0,
        coverage,
    };
    player.ledger.counts.active = DESK.to_owned();
    player.ledger.user_spoke(scenario.opening);
    for number in 0.. {
        let switch = player.switch(number, &step);
        step = player.switched(step, switch);
        twin = player.switched(reloaded(&relay, &twin), switch);
        assert_eq!(step, twin, "a loaded run is the run that was saved");
        player.check_step(&step);
        let Some(answer) = player.answer(&step) else { return };
        let next = answered(&relay, step.clone(), answer.clone());
        twin = answered(&relay, twin, answer.clone());
        player.check_passage(&step, &answer, &next);
        step = next;
    }
}

fn reloaded(relay: &Relay, step: &Step) -> Step {
    relay.load(&step.save().unwrap()).unwrap()
}

fn answered(relay: &Relay, step: Step, answer: Answer) -> Step {
    const AT: u64 = 1_800_000_000_000;
    match (step, answer) {
        (Step::CallModel(call), Answer::Reply(reply)) => call.resume(relay, *reply, AT),
        (Step::CallTools(calls), Answer::Outputs(outputs)) => calls.resume(relay, outputs, AT).unwrap(),
        (Step::HandOff(handoff), Answer::Take) => handoff.take(relay, AT),
        (Step::Done(done), Answer::Hear(speech)) => {
            let words = speech.words(done.run().messages() + 1);
            done.hear(relay, Words::new(words).unwrap())
        }
        (Step::Done(done), Answer::Retry) => done.retry(relay).unwrap_or_else(Step::Done),
        (step, answer) => panic!("{answer:?} is no answer to {step:?}"),
    }
}

struct Player<'a> {
    scenario: &'a Scenario,
    relay: &'a Relay,
    ledger: Ledger,
    moves: std::slice::Iter<'a, Move>,
    losses: std::slice::Iter<'a, bool>,
    /// The handoffs of the last reply that are to be ruled on, each with its place among the calls.
    handoffs: Vec<(usize, HandOff)>,
    /// What each of them is told, by its place.
    told: Vec<(usize, &'static str)>,
    /// Bytes of the messages before the last reply.
    history_bytes: usize,
    coverage: &'a mut Coverage,
}

/// What is done at a step.
impl Player<'_> {
    /// What goes off or on before the step of this number.
    fn switch(&mut self, number: usize, step: &Step) -> Option<Switch> {
        if matches!(step, Step::HandOff(_)) && self.losses.next() == Some(&true) {
            return Some(Switch { agent: POLICY, tool: REQUIRED, is_on: false });
        }
        self.scenario.switches.get(number).copied().flatten()
    }

    fn switched(&mut self, step: Step, switch: Option<Switch>) -> Step {
        let Some(switch) = switch else { return step };
        let (agent, tool) = (name(switch.agent), ToolName::new(switch.tool).unwrap());
        if switch.is_on {
            self.ledger.off.remove(&(switch.agent, switch.tool));
            step.switch_on(&agent, &tool)
        } else {
            self.ledger.off.insert((switch.agent, switch.tool));
            step.switch_off(agent, tool)
        }
    }

    /// The answer to the step; none when the user has nothing more to say.
    fn answer(&mut self, step: &Step) -> Option<Answer> {
        Some(match step {
            Step::CallModel(_) => Answer::Reply(Box::new(
                self.scenario.reply(self.ledger.asked).written(&self.ledger.counts.active, self.ledger.asked),
            )),
            Step::CallTools(calls) => Answer::Outputs(tool::dispatch(
                calls.agent(self.relay).unwrap(),
                calls.calls(),
                &calls.scope(),
            )),
            Step::Delegate(_) => unreachable!("no scenario has delegates"),
            Step::HandOff(_) => Answer::Take,
            Step::Done(_) => match self.moves.next()? {
                Move::Hear(speech) => Answer::Hear(*speech),
                Move::Retry => Answer::Retry,
            },
        })
    }
}

/// What holds at every step.
impl Player<'_> {
    fn check_step(&mut self, step: &Step) {
        assert_eq!(Counts::of(step.run()), self.ledger.counts, "the run counts what the driver counts");
        let left = self.scenario.max_model_calls - self.ledger.spent;
        assert_eq!(step.run().model_calls_left(), left, "what is left is what was not spent");
        self.check_guards_held(step.run());
        self.check_end_is_near();
        match step {
            Step::CallModel(call) => self.check_request(call),
            Step::CallTools(_) => {}
            Step::Delegate(_) => {}
            Step::HandOff(handoff) => self.check_hop(handoff.hop(), handoff.messages()),
            Step::Done(done) => self.check_rest(done),
        }
    }

    /// No cap is passed, and no pair repeats since the user spoke.
    fn check_guards_held(&self, run: &Run) {
        let (guards, trail) = (self.relay.guards(), run.trail());
        assert!(trail.since_user().count() <= guards.max_handoffs as usize);
        assert!(trail.taken().count() <= guards.max_handoffs_per_conversation.unwrap_or(u32::MAX) as usize);
        let pairs: BTreeSet<_> = trail.since_user().map(|hop| (&hop.from, &hop.to)).collect();
        assert!(!guards.refuse_repeated_pairs || pairs.len() == trail.since_user().count());
        let ids: BTreeSet<_> = trail.hops().iter().map(|hop| &hop.id).collect();
        assert_eq!(ids.len(), trail.hops().len(), "each handoff asked for has an id of its own");
    }

    /// A model call brings at most a run of tools and two handoffs, the second where the receiver of the first
    /// was not ready any more; one more call may fail, and that ends the run.
    fn check_end_is_near(&self) {
        assert!(self.ledger.steps <= 4 * self.scenario.max_model_calls + 2, "it always ends");
    }

    fn check_request(&self, call: &CallModel) {
        let request = call.request(self.relay);
        assert_eq!(sequence::check(&request), [], "every request passes the checker");
        assert_calls_are_answered(&request.messages);
        assert_eq!(&*request.caller, self.ledger.counts.active, "the agent that has the turn is asked");
        assert!(self.ledger.spent < self.scenario.max_model_calls, "the budget has room");
        let text = serde_json::to_string(&request.messages).unwrap();
        for other in AGENTS.into_iter().filter(|other| *other != &*request.caller) {
            assert!(!text.contains(&secret(other)), "{other} left words with {}: {text}", request.caller);
        }
    }

    /// Both sizes are those of the JSON, and the hop has the next number.
    fn check_hop(&self, hop: &Hop, messages: &[Message]) {
        let (_, before) = messages.split_last().unwrap();
        assert_eq!(hop.history_bytes, bytes(before));
        assert_eq!(hop.package_bytes, bytes(&hop.package));
        assert_eq!(hop.outcome, HopOutcome::Taken { number: self.ledger.counts.hop_count + 1 });
    }

    fn check_rest(&mut self, done: &Done) {
        for agent in AGENTS {
            let turn = done.run().idle(agent);
            assert_calls_are_answered(turn.map(Turn::messages).unwrap_or_default());
            assert_eq!(turn.map(Turn::history_bytes), turn.map(|turn| bytes(&turn.messages())));
        }
        let answers = matches!(done.end(), RunEnd::Answered | RunEnd::Unresolved);
        assert_eq!(answers, done.answer().is_some(), "there is an answer when there is one");
        let is_announced = done.answer().is_some_and(|answer| answer.contains(ANNOUNCED));
        assert_eq!(matches!(done.end(), RunEnd::Unresolved), is_announced, "a handoff in words only");
        if let RunEnd::BudgetSpent { max_model_calls } = done.end() {
            let spent = (*max_model_calls, self.ledger.spent);
            assert_eq!(spent, (self.scenario.max_model_calls, self.scenario.max_model_calls));
        }
    }
}

/// What holds from one step to the next.
impl Player<'_> {
    fn check_passage(&mut self, before: &Step, answer: &Answer, after: &Step) {
        self.ledger.steps += 1;
        match (before, answer) {
            (Step::CallModel(call), Answer::Reply(_)) => self.check_reply(call, after),
            (Step::CallTools(calls), Answer::Outputs(outputs)) => {
                self.check_outputs(calls.run(), outputs, after);
            }
            (Step::HandOff(handoff), Answer::Take) => {
                if self.ledger.is_ready(handoff.to().as_str()) {
                    self.check_taken(handoff, after);
                } else {
                    self.check_refused_late(handoff.run(), after);
                }
            }
            (Step::Done(done), Answer::Hear(speech)) => self.check_heard(done, *speech, after),
            (Step::Done(done), Answer::Retry) => self.check_retried(done, after),
            _ => unreachable!("the answer fits the step"),
        }
        if let (Step::Done(done), false) = (after, matches!(answer, Answer::Retry)) {
            self.coverage.ended(done.end());
        }
    }

    /// A reply is counted; its tools run before its handoffs are ruled on.
    fn check_reply(&mut self, call: &CallModel, after: &Step) {
        let reply = self.scenario.reply(self.ledger.asked);
        self.ledger.asked += 1;
        match &reply {
            Reply::Fails(error) => {
                let Step::Done(done) = after else { panic!("a run without a reply ends: {after:?}") };
                assert_eq!(done.end(), &RunEnd::Failed { error: error.clone() });
                return assert_only_set_down(call.run(), after);
            }
            Reply::Says { stop: Some(stop), .. } => self.coverage.stopped(stop),
            Reply::Says { stop: None, .. } => self.coverage.saw("reply without a stop reason"),
        }
        self.ledger.counts.model_calls += 1;
        self.ledger.spent += 1;
        if let Some(end) = reply.cut_short() {
            let Step::Done(done) = after else { panic!("a reply that was cut ends the run: {after:?}") };
            assert_eq!(done.end(), &end);
        }
        let request = call.request(self.relay);
        let goes_on = matches!(request.messages.last(), Some(last) if last.role == Role::Assistant);
        let kept = request.messages.len() - usize::from(goes_on);
        self.history_bytes = bytes(&request.messages[..kept]);
        let calls = if reply.cut_short().is_none() { reply.calls() } else { Vec::new() };
        let looked_at = || calls.iter().take(self.scenario.limits.calls_per_reply);
        let runs = looked_at().filter(|call| self.ledger.runs(**call)).count();
        self.handoffs = looked_at()
            .enumerate()
            .filter_map(|(place, call)| match call {
                Block::HandOff(_, handoff) => Some((place, *handoff)),
                _ => None,
            })
            .collect();
        match after {
            Step::CallTools(calls) => {
                assert_eq!(calls.calls().count(), runs);
                assert_only_set_down(call.run(), after);
                assert_eq!(call.run().trail(), after.run().trail());
            }
            _ if runs > 0 => panic!("the reply's own tools run first: {after:?}"),
            _ => self.check_ruling(call.run(), call.run().trail().hops(), after),
        }
    }

    fn check_outputs(&mut self, before: &Run, outputs: &[ToolOutput], after: &Step) {
        self.ledger.counts.tool_calls += u32::try_from(outputs.len()).unwrap();
        if !self.handoffs.is_empty() {
            self.coverage.saw("handoff beside own tools");
        }
        self.check_ruling(before, before.trail().hops(), after);
    }

    /// The handoffs of a reply are ruled on as the ledger rules, whatever else the reply holds; the trail had
    /// these `earlier` hops.
    fn check_ruling(&mut self, before: &Run, earlier: &[Hop], after: &Step) {
        assert_only_set_down(before, after);
        let handoffs: Vec<HandOff> = self.handoffs.iter().map(|(_, handoff)| *handoff).collect();
        let verdicts = self.ledger.verdicts(self.relay.guards(), &handoffs);
        let refused: Vec<Guard> = verdicts.refused_by.iter().copied().flatten().collect();
        let (kept, hops) = after.run().trail().hops().split_at(earlier.len());
        assert_eq!(kept, earlier, "what was recorded stays");
        assert_eq!(guards_of(hops), refused, "each handoff is refused by the guard that comes first");
        for hop in hops {
            assert_eq!(hop.package_bytes, hop.package.as_ref().map_or(0, bytes));
            assert_eq!(hop.history_bytes, self.history_bytes);
            self.check_loop(hop);
        }
        for guard in &refused {
            self.ledger.refused(*guard);
            self.coverage.refused(*guard);
        }
        let told = self.handoffs.iter().zip(&verdicts.refused_by);
        self.told = told.map(|((place, _), guard)| (*place, told_of(*guard))).collect();
        match (verdicts.taken, after) {
            (Some((place, to)), Step::HandOff(handoff)) => {
                let from = self.ledger.counts.active.as_str();
                let package =
                    handoffs[place].parcel.package(from, to, self.ledger.speech, &self.ledger.words());
                assert_eq!((handoff.to().as_str(), handoff.package()), (to, &package));
                assert_eq!(handoff.hop().history_bytes, self.history_bytes);
            }
            (Some(_), after) => panic!("the first fit handoff is taken: {after:?}"),
            (None, after) => {
                self.check_after_refusals(&refused, after);
                if !self.told.is_empty() {
                    assert_told(&self.told, &self.messages(after, &self.ledger.counts.active));
                }
            }
        }
    }

    /// A refused loop tells its chain and its cap.
    fn check_loop(&self, hop: &Hop) {
        let HopOutcome::Refused { refusal } = &hop.outcome else { panic!("a hop before it is taken") };
        let found = match &**refusal {
            Refusal::HandoffLimitExceeded { max, chain } => (Some(*max), chain),
            Refusal::RepeatedPair { chain, .. } => (None, chain),
            _ => return,
        };
        let cap = self.ledger.cap(self.relay.guards());
        let chain: Vec<AgentName> = self.ledger.chain(&hop.to).iter().map(|agent| name(agent)).collect();
        assert_eq!(found, (cap, &chain));
    }

    /// The run ends with the first refusal that is loud, and with none that is not.
    fn check_after_refusals(&self, refused: &[Guard], after: &Step) {
        let is_loud = |guard: &&Guard| self.relay.guards().after(**guard) == OnRefusal::Stop;
        let end = match after {
            Step::Done(done) => done.end().clone(),
            _ => RunEnd::Answered,
        };
        let loud = match &end {
            RunEnd::HandoffRefused { refusal } => Some((refusal.guard(), false)),
            RunEnd::HopLimit { refusal } => Some((refusal.guard(), true)),
            _ => None,
        };
        assert_eq!(loud, refused.iter().find(is_loud).map(|guard| (*guard, *guard == Guard::Cap)));
    }

    fn check_taken(&mut self, handoff: &crate::HandOff, after: &Step) {
        let (from, to) = (handoff.from().to_string(), handoff.to().to_string());
        let closed = after.run().idle(&from).unwrap();
        assert_told(&self.told, closed.messages());
        let (_, kept) = handoff.messages().split_last().unwrap();
        assert!(closed.messages().starts_with(kept), "the sender keeps all that was said");
        let earlier = handoff.run().idle(&to);
        let prompt = handoff.package().to_prompt(handoff.from());
        assert_eq!(self.values(after, &to), heard(earlier, &prompt), "the package, and nothing else");
        let all: Vec<_> = self.ledger.counts.since_user.iter().rev().map(|(from, _)| from.as_str()).collect();
        match all.as_slice() {
            [first, ..] if *first == to => self.coverage.saw("handed back (A→B→A)"),
            [_, first, ..] if *first == to => self.coverage.saw("round a cycle of three"),
            _ => {}
        }
        if earlier.is_some() {
            self.coverage.saw("activated again");
        }
        let crossed = handoff.package().artifacts().get("user_words").and_then(|words| words.as_str());
        if crossed == Some(&*self.ledger.words()) {
            self.coverage.saw("words of the user crossed");
        }
        if handoff.package().artifacts().get("user_words_left_out").is_some() {
            self.coverage.saw("words of the user left out");
        }
        self.ledger.hopped(&to);
        let (hop, before) = after.run().trail().hops().split_last().unwrap();
        assert_eq!(before, handoff.run().trail().hops());
        assert_eq!(
            Hop { at: handoff.hop().at, ..hop.clone() },
            *handoff.hop(),
            "the record is what was shown"
        );
    }

    /// The receiver has lost a tool since the handoff was ruled fit: all handoffs of the reply are ruled on
    /// again.
    fn check_refused_late(&mut self, before: &Run, after: &Step) {
        self.coverage.saw("refused at the last moment");
        let hops = before.trail().hops();
        let refused = guards_of(&hops[hops.len() + 1 - self.told.len()..]);
        refused.iter().for_each(|guard| self.ledger.forget(*guard));
        self.check_ruling(before, &hops[..hops.len() - refused.len()], after);
    }

    fn check_heard(&mut self, done: &Done, speech: Speech, after: &Step) {
        self.ledger.user_spoke(speech);
        if self.scenario.entry_policy == EntryPolicy::Entry {
            self.ledger.counts.active = DESK.to_owned();
        }
        let active = self.ledger.counts.active.clone();
        let earlier = done.run().idle(&active);
        assert_eq!(
            self.values(after, &active),
            heard(earlier, &self.ledger.words()),
            "the agent hears the user's words"
        );
    }

    /// A run that failed can be tried again, with the request that failed; a run that answered cannot.
    fn check_retried(&mut self, done: &Done, after: &Step) {
        match after {
            Step::Done(back) => {
                assert!(!matches!(done.end(), RunEnd::Failed { .. }), "a failed run can be tried again");
                assert_eq!(back, done, "the run is handed back");
                if matches!(done.end(), RunEnd::Answered) {
                    self.coverage.saw("answered run not retried");
                }
            }
            _ => {
                assert!(done.answer().is_none(), "a run that answered is not tried again");
                let active = self.ledger.counts.active.clone();
                assert_eq!(self.messages(after, &active), done.turn().unwrap().messages());
                self.ledger.begin();
                if matches!(done.end(), RunEnd::Failed { .. }) {
                    self.coverage.saw("failed run retried");
                }
            }
        }
    }

    /// The conversation of an agent that has just got or kept the turn.
    fn messages(&self, step: &Step, agent: &str) -> Vec<Message> {
        match step {
            Step::CallModel(call) => call.request(self.relay).messages.into_owned(),
            Step::HandOff(handoff) => handoff.messages().to_vec(),
            Step::CallTools(_) | Step::Delegate(_) => panic!("no agent begins with calls"),
            Step::Done(done) => done.run().idle(agent).unwrap().messages().to_vec(),
        }
    }

    fn values(&self, step: &Step, agent: &str) -> Value {
        serde_json::to_value(self.messages(step, agent)).unwrap()
    }
}

/// The messages of a turn after it has heard `words`: the one message, or the earlier ones with the words
/// after what the user side said last.
fn heard(earlier: Option<&Turn>, words: &str) -> Value {
    let mut messages = serde_json::to_value(earlier.map_or(&[][..], Turn::messages)).unwrap();
    let list = messages.as_array_mut().unwrap();
    match list.last_mut().filter(|last| last["role"] == "user") {
        Some(last) => {
            if last["content"].is_string() {
                last["content"] = json!([{"type": "text", "text": last["content"]}]);
            }
            last["content"].as_array_mut().unwrap().push(json!({"type": "text", "text": words}));
        }
        None => list.push(json!({"role": "user", "content": words})),
    }
    messages
}

/// Nothing of the run has changed but the trail, the counts of calls, and, when it ended, that the turn of
/// the agent was set down.
fn assert_only_set_down(before: &Run, after: &Step) {
    let found = after.run();
    let mut expected = Run {
        trail: found.trail.clone(),
        model_calls: found.model_calls,
        tool_calls: found.tool_calls,
        left: found.left,
        ..before.clone()
    };
    if let Step::Done(_) = after {
        expected.set_down(found.idle(before.active().as_str()).unwrap().clone());
    }
    assert_eq!(*found, expected, "nothing else has changed");
}

/// Each handoff of the last reply, by its place among the calls, got the answer that is its own.
fn assert_told(told: &[(usize, &str)], messages: &[Message]) {
    let results: Vec<_> = messages.last().unwrap().tool_results().collect();
    for (place, words) in told {
        let found = results[*place].words();
        assert!(found.contains(words), "{words} is told at {place}: {found}");
    }
}

/// Each call is answered exactly once, in order, in the next message; nothing else is.
fn assert_calls_are_answered(messages: &[Message]) {
    let asked = messages.iter().map(|message| message.tool_uses().map(|call| call.id()).collect::<Vec<_>>());
    let answered = messages
        .iter()
        .skip(1)
        .map(|message| message.tool_results().map(|result| result.tool_use_id()).collect::<Vec<_>>());
    let last = std::iter::once(Vec::new());
    assert_eq!(asked.collect::<Vec<_>>(), answered.chain(last).take(messages.len()).collect::<Vec<_>>());
}

/// A word of what the sender is told of its handoff.
fn told_of(refused_by: Option<Guard>) -> &'static str {
    match refused_by {
        None => r#""handed_over""#,
        Some(Guard::Known) => r#""unknown_specialist""#,
        Some(Guard::Myself) => r#""self_handoff""#,
        Some(Guard::Route) => r#""no_route""#,
        Some(Guard::Package) => r#""invalid_package""#,
        Some(Guard::Ready) => r#""target_not_ready""#,
        Some(Guard::Cap) => r#""handoff_limit_exceeded""#,
        Some(Guard::Pair) => r#""repeated_pair""#,
        Some(Guard::OnePerTurn) => r#""one_handoff_per_turn""#,
        Some(Guard::Duplicate) => r#""duplicate_handoff""#,
    }
}

fn bytes(value: &(impl serde::Serialize + ?Sized)) -> usize {
    serde_json::to_string(value).unwrap().len()
}

fn name(text: &str) -> AgentName {
    AgentName::new(text).unwrap()
}
