//! Plays a scenario, step by step: any of the open steps of the tree goes on.

use sommelier_protocol::{ModelResponse, ToolName, Words};
use sommelier_runtime::{AgentName, ModelError, ToolOutput, tool};
use std::collections::BTreeMap;

use super::coverage::Coverage;
use super::scenario::{Move, ROOT, Reply, Scenario, Speech, Switch};
use super::team::{POLICY, REQUIRED, Voice};
use super::tree::Tree;
use crate::{Relay, Step};

/// What answers a step.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    Reply(Reply, Box<Result<ModelResponse, ModelError>>),
    Outputs(Vec<ToolOutput>),
    Join,
    Take,
    Hear(Speech),
    Retry,
}

/// All that is done is done at this time, or two orders of the same steps would differ in it.
const AT: u64 = 1_800_000_000_000;
pub(super) const CALLED_OFF: &str = "changed my mind";

/// Plays `scenario` to its end. It panics where a property does not hold.
///
/// Two runs go side by side, given the same answers: one as it is, and a twin that is saved as JSON and
/// loaded before every step. They must be equal all the way, so a loaded run goes on as if it had not been
/// saved. In the end the scenario is played once more in another order of the branches, which must come to the same.
pub(super) fn play(scenario: &Scenario, coverage: &Coverage) {
    let relay = scenario.relay();
    let mut step = begun(&relay, scenario);
    let mut twin = step.clone();
    let mut hand = Hand::new(scenario);
    let mut tree = Tree::new(scenario, &relay, coverage);
    loop {
        if let Some(switch) = hand.switch(&step) {
            step = switched(step, switch);
            twin = switched(twin, switch);
            tree.switched(switch);
        }
        twin = relay.load(&twin.save().unwrap()).unwrap();
        assert_eq!(step, twin, "a loaded run is the run that was saved");
        if let Some(path) = hand.calls_off(&step) {
            let next = called_off(&relay, step.clone(), &path);
            twin = called_off(&relay, twin, &path);
            tree.check_called_off(&step, &path, &next);
            step = next;
            continue;
        }
        let path = hand.pick(&step, Order::Drawn);
        tree.check_step(&step, &path);
        let Some(answer) = hand.answer(&relay, &step, &path) else { break };
        let next = gone_on(&relay, step.clone(), &path, answer.clone());
        twin = gone_on(&relay, twin, &path, answer.clone());
        tree.check_passage(&step, &path, &answer, &next);
        step = next;
    }
    if hand.may_differ {
        return;
    }
    let other = played(&relay, scenario, Order::LastFirst);
    assert_eq!(Some(step), other, "any order of the branches comes to the same tree");
    tree.compared();
}

/// Whether two orders of the branches come to the same tree, with nothing checked on the way.
pub(super) fn orders_agree(scenario: &Scenario) -> bool {
    let relay = scenario.relay();
    let [drawn, other] = [Order::Drawn, Order::LastFirst].map(|order| played(&relay, scenario, order));
    drawn == other
}

/// Where the scenario ends in this order; none when it is called off at a moment that other orders do not have.
fn played(relay: &Relay, scenario: &Scenario, order: Order) -> Option<Step> {
    let mut step = begun(relay, scenario);
    let mut hand = Hand::new(scenario);
    loop {
        if let Some(switch) = hand.switch(&step) {
            step = switched(step, switch);
        }
        if let Some(path) = hand.calls_off(&step) {
            step = called_off(relay, step, &path);
            continue;
        }
        let path = hand.pick(&step, order);
        let Some(answer) = hand.answer(relay, &step, &path) else { break };
        step = gone_on(relay, step, &path, answer);
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

fn gone_on(relay: &Relay, tree: Step, path: &str, answer: Answer) -> Step {
    tree.go_on_at(relay, path, |relay, step| answered(relay, step, answer)).unwrap()
}

/// Calls the whole tree off, or the branch at `path`.
fn called_off(relay: &Relay, tree: Step, path: &str) -> Step {
    let call_off = |relay: &Relay, step: Step| Step::Done(step.cancel(relay, CALLED_OFF, AT));
    match path {
        ROOT => call_off(relay, tree),
        _ => tree.go_on_at(relay, path, call_off).unwrap(),
    }
}

fn answered(relay: &Relay, step: Step, answer: Answer) -> Step {
    match (step, answer) {
        (Step::CallModel(call), Answer::Reply(_, reply)) => call.resume(relay, *reply, AT),
        (Step::CallTools(calls), Answer::Outputs(outputs)) => calls.resume(relay, outputs, AT).unwrap(),
        (Step::Delegate(delegation), Answer::Join) => {
            let (joint, mut branches) = delegation.split();
            branches.reverse();
            joint.put_back(branches).unwrap().join(relay, AT).unwrap()
        }
        (Step::HandOff(handoff), Answer::Take) => handoff.take(relay, AT),
        (Step::Done(done), Answer::Hear(speech)) => {
            let words = speech.words(done.run().messages() + 1);
            done.hear(relay, Words::new(words).unwrap())
        }
        (Step::Done(done), Answer::Retry) => done.retry(relay).unwrap_or_else(Step::Done),
        (step, answer) => panic!("{answer:?} is no answer to {step:?}"),
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
            asked: BTreeMap::new(),
            root: 0,
            is_new: true,
            branches: 0,
            picks: 0,
            has_called_off: false,
            may_differ: false,
        }
    }

    /// What goes off or on before the next step of the run that hears the user. When branches have just been opened,
    /// that is before any of them goes on.
    fn switch(&mut self, tree: &Step) -> Option<Switch> {
        if !std::mem::take(&mut self.is_new) {
            return None;
        }
        if matches!(tree, Step::HandOff(_)) && self.losses.next() == Some(&true) {
            return Some(Switch { agent: POLICY, tool: REQUIRED, is_on: false });
        }
        self.scenario.switches.get(self.root).copied().flatten()
    }

    /// The path of what is called off now, if anything is.
    fn calls_off(&mut self, tree: &Step) -> Option<String> {
        let due = self
            .scenario
            .call_off
            .filter(|due| !self.has_called_off && due.root <= self.root && due.branches == self.branches)?;
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

    /// The answer to the open step at `path`; none when the user has nothing more to say.
    fn answer(&mut self, relay: &Relay, tree: &Step, path: &str) -> Option<Answer> {
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
                Answer::Reply(reply, Box::new(written))
            }
            Step::CallTools(calls) => {
                let agent = calls.agent(relay).unwrap();
                Answer::Outputs(tool::dispatch(agent, calls.calls(), &calls.scope()))
            }
            Step::AskHuman(_) => unreachable!("no scenario asks a person"),
            Step::Delegate(_) => Answer::Join,
            Step::HandOff(_) => Answer::Take,
            Step::Done(_) => match self.moves.next()? {
                Move::Hear(speech) => Answer::Hear(*speech),
                Move::Retry => Answer::Retry,
            },
        })
    }
}
