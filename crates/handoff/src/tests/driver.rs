//! Plays a scenario, step by step: any of the open steps of the tree goes on.

use sommelier_protocol::{ModelResponse, ToolName, Words};
use sommelier_runtime::{AgentName, ModelError, ToolOutput, tool};
use std::collections::BTreeMap;

use super::coverage::Coverage;
use super::person::{Gate, Saying, drawn, one_of};
use super::records::Records;
use super::scenario::{CallOff, Moment, Move, ROOT, Reply, Scenario, Speech, Switch};
use super::team::{POLICY, REQUIRED, Voice};
use super::tree::Tree;
use crate::{Answer, Asks, Rejected, Relay, Step};

/// What a step goes on with.
#[derive(Clone, Debug)]
pub(super) enum Input {
    Reply(Reply, Box<Result<ModelResponse, ModelError>>),
    Outputs(Vec<ToolOutput>),
    /// A person is asked about the calls at these places.
    Ask(Vec<usize>),
    /// A person answers the question of this id.
    Decide(String, Answer),
    Join,
    Take,
    Hear(Speech, String),
    Retry,
}

/// All that is done is done at this time, or two orders of the same steps would differ in it.
pub(super) const AT: u64 = 1_800_000_000_000;
pub(super) const CALLED_OFF: &str = "changed my mind";

/// Plays `scenario` to its end. It panics where a property does not hold.
///
/// Two runs go side by side, given the same answers: one as it is, and a twin that is saved as JSON and
/// loaded before every step. They must be equal all the way, so a loaded run goes on as if it had not been
/// saved. What is done is written down, and the records lead to the same run. In the end the scenario is played once more in another order of the branches, which must come to the same.
pub(super) fn play(scenario: &Scenario, coverage: &Coverage) {
    let relay = scenario.relay();
    let mut step = begun(&relay, scenario);
    let mut twin = step.clone();
    let mut hand = Hand::new(scenario);
    let mut tree = Tree::new(scenario, &relay, coverage);
    let seed = format!("{:?}", (&scenario.order, scenario.replies.len(), scenario.max_model_calls));
    let mut records = Records::of(&relay, &scenario.opening.words(1), &step, &seed, coverage);
    loop {
        let (switch, remark) = hand.news(&step);
        if let Some(switch) = switch {
            let next = switched(step.clone(), switch);
            twin = switched(twin, switch);
            records.switched(&step, switch, &next);
            step = next;
            tree.switched(switch);
        }
        if let Some((speech, words)) = remark {
            let next = step.clone().hear(&relay, Words::new(words.clone()).unwrap());
            twin = twin.hear(&relay, Words::new(words.clone()).unwrap());
            records.heard(&step, &words, &next);
            step = next;
            tree.heard(&step, speech, words);
        }
        twin = relay.load(&twin.save().unwrap()).unwrap();
        assert_eq!(step, twin, "a loaded run is the run that was saved");
        late(&relay, &step, &hand, coverage);
        if let Some(path) = hand.calls_off(&step) {
            let next = called_off(&relay, step.clone(), &path);
            twin = called_off(&relay, twin, &path);
            hand.withdraw(&step, &next);
            records.called_off(&step, &path, &next);
            tree.check_called_off(&step, &path, &next);
            step = next;
            continue;
        }
        let path = hand.pick(&step, Order::Drawn);
        tree.check_step(&step, &path);
        let Some(input) = hand.input(&relay, &step, &path) else { break };
        if let Input::Decide(id, _) = &input {
            slip(&relay, &step, id, &hand, coverage);
        }
        let next = gone_on(&relay, step.clone(), &path, input.clone());
        twin = gone_on(&relay, twin, &path, input.clone());
        hand.withdraw(&step, &next);
        records.passed(&step, &path, &input, &next);
        tree.check_passage(&step, &path, &input, &next);
        step = next;
    }
    records.end(&step);
    if hand.may_differ {
        return;
    }
    if let Some(other) = played(&relay, scenario, Order::LastFirst) {
        assert_eq!(step, other, "any order of the branches comes to the same tree");
        tree.compared();
    }
}

/// Whether two orders of the branches come to the same tree, with nothing checked on the way.
pub(super) fn orders_agree(scenario: &Scenario) -> bool {
    let relay = scenario.relay();
    let [drawn, other] = [Order::Drawn, Order::LastFirst].map(|order| played(&relay, scenario, order));
    drawn.zip(other).is_none_or(|(drawn, other)| drawn == other)
}

/// Where the scenario ends in this order; none when it is called off at a moment that other orders do not have.
fn played(relay: &Relay, scenario: &Scenario, order: Order) -> Option<Step> {
    let mut step = begun(relay, scenario);
    let mut hand = Hand::new(scenario);
    loop {
        let (switch, remark) = hand.news(&step);
        if let Some(switch) = switch {
            step = switched(step, switch);
        }
        if let Some((_, words)) = remark {
            step = step.hear(relay, Words::new(words).unwrap());
        }
        if let Some(path) = hand.calls_off(&step) {
            step = called_off(relay, step, &path);
            continue;
        }
        let path = hand.pick(&step, order);
        let Some(input) = hand.input(relay, &step, &path) else { break };
        step = gone_on(relay, step, &path, input);
    }
    (!hand.may_differ).then_some(step)
}

fn begun(relay: &Relay, scenario: &Scenario) -> Step {
    relay.start(ROOT, scenario.opening.words(1)).unwrap()
}

/// The step of the run at `path`, and the relay that it belongs to.
pub(super) fn find<'r, 's>(relay: &'r Relay, tree: &'s Step, path: &str) -> Option<(&'r Relay, &'s Step)> {
    if tree.run().conversation() == path {
        return Some((relay, tree));
    }
    let Step::Delegate(delegation) = tree else { return None };
    let mut branches = delegation.branches().iter();
    branches.find_map(|branch| find(branch.relay(relay)?, branch.step(), path))
}

fn gone_on(relay: &Relay, tree: Step, path: &str, input: Input) -> Step {
    match input {
        Input::Decide(id, answer) => tree.answer(relay, &id, answer, AT).unwrap(),
        input => tree.go_on_at(relay, path, |relay, step| answered(relay, step, input)).unwrap(),
    }
}

/// Gives an answer that cannot be taken: nothing has changed by it.
fn rejected(relay: &Relay, tree: &Step, id: &str, answer: Answer) -> Rejected {
    let (back, why) = tree.clone().answer(relay, id, answer, AT).unwrap_err();
    assert_eq!(*back, *tree, "an answer that is not taken changes nothing");
    why
}

/// A person is wrong before the right answer comes.
fn slip(relay: &Relay, tree: &Step, id: &str, hand: &Hand<'_>, coverage: &Coverage) {
    if one_of(&hand.scenario.slips, id) != Some(true) {
        return;
    }
    let open: Vec<String> = tree.questions().iter().map(|(_, question)| question.id.to_string()).collect();
    let nobody = format!("{id}/0");
    let why = rejected(relay, tree, &nobody, Answer::Approve);
    assert_eq!(why, Rejected::Unknown { id: nobody, open });
    coverage.saw("answer to no question");
    let questions = tree.questions();
    let (_, question) = questions.iter().find(|(_, question)| &*question.id == id).unwrap();
    let why = rejected(relay, tree, id, Saying::odd(&question.asks, drawn(id)));
    assert!(matches!(why, Rejected::NoChoice { id: of, .. } if of == id), "no such choice");
    coverage.saw("answer that is no choice");
}

/// A person answers once more what has been answered, or what nobody waits for any more.
fn late(relay: &Relay, tree: &Step, hand: &Hand<'_>, coverage: &Coverage) {
    let moment = format!("{}.{}", hand.root, hand.branches);
    if one_of(&hand.scenario.slips, &moment) != Some(true) {
        return;
    }
    let (decided, withdrawn) = (&hand.decided, &hand.withdrawn);
    if let Some((id, answer)) = decided.get(drawn(&moment) % decided.len().max(1)) {
        let why = rejected(relay, tree, id, Answer::Approve);
        assert_eq!(why, Rejected::Decided { id: id.clone(), answer: answer.clone() });
        coverage.saw("answer given twice");
    }
    if let Some(id) = withdrawn.last() {
        let why = rejected(relay, tree, id, Answer::Approve);
        assert!(matches!(why, Rejected::Unknown { .. }), "nobody waits for {id}: {why}");
        coverage.saw("answer to a question that was called off");
    }
}

/// Calls the whole tree off, or the branch at `path`.
fn called_off(relay: &Relay, tree: Step, path: &str) -> Step {
    let call_off = |relay: &Relay, step: Step| Step::Done(step.cancel(relay, CALLED_OFF, AT));
    match path {
        ROOT => call_off(relay, tree),
        _ => tree.go_on_at(relay, path, call_off).unwrap(),
    }
}

fn answered(relay: &Relay, step: Step, input: Input) -> Step {
    match (step, input) {
        (Step::CallModel(call), Input::Reply(_, reply)) => call.resume(relay, *reply, AT),
        (Step::CallTools(calls), Input::Outputs(outputs)) => calls.resume(relay, outputs, AT).unwrap(),
        (Step::CallTools(calls), Input::Ask(places)) => calls.ask(&places, AT).unwrap(),
        (Step::Delegate(delegation), Input::Join) => {
            let (joint, mut branches) = delegation.split();
            branches.reverse();
            joint.put_back(branches).unwrap().join(relay, AT).unwrap()
        }
        (Step::HandOff(handoff), Input::Take) => handoff.take(relay, AT),
        (Step::Done(done), Input::Hear(_, words)) => done.hear(relay, Words::new(words).unwrap()),
        (Step::Done(done), Input::Retry) => done.retry(relay).unwrap_or_else(Step::Done),
        (step, input) => panic!("{input:?} is no input of {step:?}"),
    }
}

fn switched(step: Step, switch: Switch) -> Step {
    let (agent, tool) = (AgentName::new(switch.agent).unwrap(), ToolName::new(switch.tool).unwrap());
    if switch.is_on { step.switch_on(&agent, &tool) } else { step.switch_off(agent, tool) }
}

/// Which of the open steps goes on.
#[derive(Clone, Copy)]
enum Order {
    /// The one that the scenario says.
    Drawn,
    LastFirst,
}

/// Does what the scenario says. What it gives to a run depends on that run alone, whatever the order of the branches.
struct Hand<'a> {
    scenario: &'a Scenario,
    moves: std::slice::Iter<'a, Move>,
    losses: std::slice::Iter<'a, bool>,
    /// What has been answered, and what was called off before it was.
    decided: Vec<(String, Answer)>,
    withdrawn: Vec<String>,
    /// Model calls made by each run, failed ones included.
    asked: BTreeMap<String, usize>,
    /// Steps of the run that hears the user, and whether the switch before the next one is still to come.
    root: usize,
    is_new: bool,
    /// Steps of branches since the last of those.
    branches: usize,
    picks: usize,
    has_called_off: bool,
    /// The tree was called off at a moment that another order does not have.
    may_differ: bool,
}

impl<'a> Hand<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        Self {
            scenario,
            moves: scenario.moves.iter(),
            losses: scenario.losses.iter(),
            decided: Vec::new(),
            withdrawn: Vec::new(),
            asked: BTreeMap::new(),
            root: 0,
            is_new: true,
            branches: 0,
            picks: 0,
            has_called_off: false,
            may_differ: false,
        }
    }

    /// What goes off or on, and what the user says, before the next step of the run that hears the user. When branches have
    /// just been opened, that is before any of them goes on.
    fn news(&mut self, tree: &Step) -> (Option<Switch>, Option<(Speech, String)>) {
        if !std::mem::take(&mut self.is_new) {
            return (None, None);
        }
        let remark = self.scenario.remarks.get(self.root).copied().flatten();
        let remark = remark.filter(|_| !matches!(tree, Step::Done(_))).map(|speech| {
            let run = tree.run();
            let unread = u32::try_from(run.unread().len()).unwrap();
            (speech, speech.words(run.messages() + unread + 1))
        });
        let is_passed = match tree {
            Step::HandOff(_) => true,
            Step::AskHuman(asking) => matches!(asking.questions()[0].asks, Asks::Handoff { .. }),
            _ => false,
        };
        if is_passed && self.losses.next() == Some(&true) {
            return (Some(Switch { agent: POLICY, tool: REQUIRED, is_on: false }), remark);
        }
        (self.scenario.switches.get(self.root).copied().flatten(), remark)
    }

    /// Questions that are open no more, and were not answered.
    fn withdraw(&mut self, before: &Step, after: &Step) {
        let open = after.questions();
        for (_, question) in before.questions() {
            let id = &*question.id;
            let is_open = open.iter().any(|(_, other)| *other.id == *id);
            if !is_open && !self.decided.iter().any(|(other, _)| other == id) {
                self.withdrawn.push(id.to_owned());
            }
        }
    }

    /// The path of what is called off now, if anything is.
    fn calls_off(&mut self, tree: &Step) -> Option<String> {
        let due = self.scenario.call_off.filter(|due| !self.has_called_off && self.is_due(due, tree))?;
        let open = tree.open()[0].run().conversation().to_owned();
        if matches!(tree, Step::Done(_)) || !due.whole && open == ROOT {
            return None;
        }
        self.has_called_off = true;
        if due.whole {
            self.may_differ = self.branches > 0;
            self.gone_at_root();
            return Some(ROOT.to_owned());
        }
        self.may_differ = true;
        self.branches += 1;
        Some(open)
    }

    fn is_due(&self, due: &CallOff, tree: &Step) -> bool {
        let first = tree.open()[0];
        match due.moment {
            Moment::Waiting => matches!(first, Step::AskHuman(_)),
            Moment::Rejected => match first {
                Step::CallTools(calls) => {
                    let reply = format!("{}/", calls.scope());
                    let is_no = |(id, answer): &(String, Answer)| {
                        id.starts_with(&reply) && matches!(answer, Answer::Reject { .. })
                    };
                    self.decided.iter().any(is_no)
                }
                _ => false,
            },
            Moment::AfterSteps => due.root <= self.root && due.branches == self.branches,
        }
    }

    fn gone_at_root(&mut self) {
        self.root += 1;
        self.branches = 0;
        self.is_new = true;
    }

    fn pick(&mut self, tree: &Step, order: Order) -> String {
        let open = tree.open();
        let place = match order {
            Order::Drawn => {
                let drawn = self.scenario.order.get(self.picks % self.scenario.order.len().max(1));
                drawn.copied().unwrap_or(0) % open.len()
            }
            Order::LastFirst => open.len() - 1,
        };
        self.picks += 1;
        open[place].run().conversation().to_owned()
    }

    /// What the open step at `path` goes on with; none when the user has nothing more to say.
    fn input(&mut self, relay: &Relay, tree: &Step, path: &str) -> Option<Input> {
        let (relay, step) = find(relay, tree, path).unwrap();
        if path == ROOT {
            self.gone_at_root();
        } else {
            self.branches += 1;
        }
        Some(match step {
            Step::CallModel(call) => {
                let asked = self.asked.entry(path.to_owned()).or_default();
                let reply = self.scenario.reply(path, *asked);
                let voice = Voice { agent: call.run().active().as_str(), path };
                let written = reply.written(voice, *asked);
                *asked += 1;
                Input::Reply(reply, Box::new(written))
            }
            Step::CallTools(calls) => self.gate(relay, calls),
            Step::AskHuman(asking) => {
                let questions = asking.questions();
                let ids: String = questions.iter().map(|question| &*question.id).collect();
                let question = &questions[drawn(&ids) % questions.len()];
                let saying = one_of(&self.scenario.sayings, &question.id).unwrap_or(Saying::Yes);
                let answer = saying.answer(&question.asks, &question.id);
                self.decided.push((question.id.to_string(), answer.clone()));
                Input::Decide(question.id.to_string(), answer)
            }
            Step::Delegate(_) => Input::Join,
            Step::HandOff(_) => Input::Take,
            Step::Done(done) => match self.moves.next()? {
                Move::Hear(speech) => {
                    let run = done.run();
                    let unread = u32::try_from(run.unread().len()).unwrap();
                    Input::Hear(*speech, speech.words(run.messages() + unread + 1))
                }
                Move::Retry => Input::Retry,
            },
        })
    }

    /// The tools run, but for those that need approval: there it is as the scenario says.
    fn gate(&self, relay: &Relay, calls: &crate::CallTools) -> Input {
        let agent = calls.agent(relay).unwrap();
        let wait = |(place, call): &(usize, &sommelier_protocol::ToolUse)| {
            agent.table().needs_approval(call.name()) && !calls.is_approved(*place)
        };
        let waiting: Vec<usize> = calls.calls().filter(wait).map(|(place, _)| place).collect();
        let moment = format!("{} {waiting:?}", calls.scope());
        let gate = one_of(&self.scenario.gates, &moment).filter(|_| !waiting.is_empty());
        let outputs = || tool::dispatch(agent, calls.calls(), &calls.scope());
        match gate.unwrap_or(Gate::Run) {
            Gate::Run => Input::Outputs(outputs()),
            Gate::Ask => Input::Ask(waiting),
            Gate::AskOne => Input::Ask(vec![waiting[0]]),
            Gate::Deny => {
                let all = calls.calls().zip(outputs()).map(|((place, call), output)| {
                    if waiting.contains(&place) { tool::denied(call.name(), "not here") } else { output }
                });
                Input::Outputs(all.collect())
            }
        }
    }
}
