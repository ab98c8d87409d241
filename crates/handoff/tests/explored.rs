//! All that can happen to a small relay: every choice at every point, each state looked at once.
//!
//! Three agents, a cycle of routes one of which returns and one of which needs approval, at most four hops; two delegates
//! whose branches go on in any order; two questions to people; the user speaks once more or calls off, at any moment that
//! others wait in. Each state is saved and loaded before it goes on.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{agent, runs};
use sommelier_handoff::{
    ASK_HUMAN, Answer, Asks, Delegate, Guards, HANDOFF_TO_SPECIALIST, Relay, Route, Run, RunEnd, Step,
};
use sommelier_protocol::{ContentBlock, Message, ModelResponse, StopReason, ToolUse, Words, sequence};
use sommelier_runtime::{ModelError, script};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

const HOPS: u32 = 4;
const PAUSES: usize = 2;
const FEWEST_STATES: usize = 12_000;
/// The time of all that happens, so that orders that come to the same are one state.
const AT: u64 = 7;

fn relay() -> Relay {
    Relay::builder()
        .agent(agent("a"))
        .agent(agent("b"))
        .agent(agent("c"))
        .entry("a")
        .route_with(Route::new("a", "b").returns())
        .route_with(Route::new("b", "c").needs_approval())
        .route("c", "a")
        .delegate("c", Delegate::new("ask_left", agent("a")).max_model_calls(1))
        .delegate("c", Delegate::new("ask_right", agent("b")).max_model_calls(1))
        .may_ask_human("b")
        .guards(Guards::default().max_handoffs(HOPS).max_handoffs_per_conversation(HOPS))
        .max_model_calls(8)
        .build()
        .unwrap()
}

/// What may happen next.
#[derive(Clone, Debug)]
enum Choice {
    /// A model says this.
    Says(String, Said),
    /// A person answers.
    Answers(String, Answer),
    /// All branches have ended.
    Joins(String),
    Takes(String),
    Hears,
    CallsOff,
}

#[derive(Clone, Copy, Debug)]
enum Said {
    Words,
    HandsTo(&'static str),
    AsksPerson,
    AsksBoth,
    Nothing,
}

impl Said {
    fn reply(self, call: &str) -> Result<ModelResponse, ModelError> {
        let tool =
            |id: String, name: &str, input: &str| ContentBlock::from(ToolUse::scripted(id, name, input));
        let blocks = match self {
            Self::Words => vec![ContentBlock::text("So it is.")],
            Self::HandsTo(to) => {
                let input = format!(r#"{{"specialist":"{to}","task":"Go on.","context":{{}}}}"#);
                vec![tool(format!("{call}_0"), HANDOFF_TO_SPECIALIST, &input)]
            }
            Self::AsksPerson => vec![tool(format!("{call}_0"), ASK_HUMAN, r#"{"question":"May I?"}"#)],
            Self::AsksBoth => ["ask_left", "ask_right"]
                .into_iter()
                .enumerate()
                .map(|(place, name)| tool(format!("{call}_{place}"), name, r#"{"question":"What?"}"#))
                .collect(),
            Self::Nothing => return Err(ModelError::Unreachable { detail: "no route".to_owned() }),
        };
        Ok(script::reply(blocks, StopReason::ToolUse))
    }
}

/// All runs of a tree, those of open branches included.
fn all_runs(step: &Step) -> Vec<&Run> {
    let mut all = runs(step.run());
    if let Step::Delegate(delegation) = step {
        all.extend(delegation.branches().iter().flat_map(|branch| all_runs(branch.step())));
    }
    all
}

fn pauses(step: &Step) -> usize {
    step.questions().len() + all_runs(step).iter().map(|run| run.decisions().len()).sum::<usize>()
}

fn choices(step: &Step) -> Vec<Choice> {
    let mut choices = Vec::new();
    for open in step.open() {
        let path = open.run().conversation().to_owned();
        let says = |said| Choice::Says(path.clone(), said);
        match open {
            Step::CallModel(call) => {
                let is_root = path == "conv";
                choices.push(says(Said::Words));
                match call.run().active().as_str() {
                    "a" if is_root => choices.push(says(Said::HandsTo("b"))),
                    "b" if is_root => {
                        if pauses(step) < PAUSES {
                            choices.push(says(Said::HandsTo("c")));
                            choices.push(says(Said::AsksPerson));
                        }
                    }
                    "c" if is_root => {
                        choices.push(says(Said::HandsTo("a")));
                        choices.push(says(Said::Nothing));
                        if call.run().links().is_empty() {
                            choices.push(says(Said::AsksBoth));
                        }
                    }
                    _ => choices.push(says(Said::Nothing)),
                }
            }
            Step::AskHuman(asking) => {
                for question in asking.questions() {
                    let answers = match question.asks {
                        Asks::Words { .. } => vec![Answer::Say { text: "You may.".into() }],
                        _ => vec![Answer::Approve, Answer::Reject { reason: "no".into() }],
                    };
                    let id = question.id.to_string();
                    choices.extend(answers.into_iter().map(|answer| Choice::Answers(id.clone(), answer)));
                }
            }
            Step::Delegate(_) => choices.push(Choice::Joins(path)),
            Step::HandOff(_) => choices.push(Choice::Takes(path)),
            Step::CallTools(_) => panic!("nobody calls a tool"),
            Step::Done(_) => {}
        }
    }
    if !matches!(step, Step::Done(_)) {
        choices.push(Choice::CallsOff);
    }
    if step.run().messages() == 1 && step.run().unread().is_empty() {
        choices.push(Choice::Hears);
    }
    choices
}

fn go_on(relay: &Relay, step: Step, choice: Choice) -> Step {
    let at = |step: Step, path: &str, go_on: &dyn Fn(&Relay, Step) -> Step| {
        step.go_on_at(relay, path, |relay, step| go_on(relay, step)).unwrap()
    };
    match choice {
        Choice::Says(path, said) => at(step, &path, &|relay, step| match step {
            Step::CallModel(call) => {
                let id = format!("tu_{}", call.run().model_calls());
                call.resume(relay, said.reply(&id), AT)
            }
            other => panic!("no model is asked: {other:?}"),
        }),
        Choice::Joins(path) => at(step, &path, &|relay, step| match step {
            Step::Delegate(delegation) => delegation.join(relay, AT).unwrap(),
            other => panic!("nothing to join: {other:?}"),
        }),
        Choice::Takes(path) => at(step, &path, &|relay, step| match step {
            Step::HandOff(handoff) => handoff.take(relay, AT),
            other => panic!("nothing to take: {other:?}"),
        }),
        Choice::Answers(id, answer) => step.answer(relay, &id, answer, AT).unwrap(),
        Choice::Hears => step.hear(relay, Words::new("One more thing.").unwrap()),
        Choice::CallsOff => Step::Done(step.cancel(relay, "enough", AT)),
    }
}

/// What was seen, in all.
#[derive(Debug, Default)]
struct Seen {
    /// A hash of each state.
    states: BTreeSet<u64>,
    /// Those that lead to the one that is looked at.
    path: Vec<u64>,
    ends: BTreeSet<&'static str>,
    most_hops: u32,
    most_pauses: usize,
    most_open: usize,
    deepest: usize,
}

/// Goes through all that can follow from `step`.
fn explore(relay: &Relay, step: Step, seen: &mut Seen) {
    let saved = step.save().unwrap();
    let mut hasher = DefaultHasher::new();
    saved.hash(&mut hasher);
    let state = hasher.finish();
    assert!(!seen.path.contains(&state), "it always ends: it comes back to where it was: {step:?}");
    if !seen.states.insert(state) {
        return;
    }
    check(relay, &step);
    note(&step, seen);
    assert_eq!(relay.load(&saved).unwrap(), step, "a loaded step is the one that was saved");
    seen.path.push(state);
    let choices = choices(&step);
    let is_of_agents = |choice: &Choice| !matches!(choice, Choice::Hears | Choice::CallsOff);
    let is_over = matches!(step, Step::Done(_));
    assert_ne!(choices.iter().any(is_of_agents), is_over, "it always ends: it waits for nothing: {step:?}");
    for choice in choices {
        let before = step.run().trail().count();
        let takes = matches!((&choice, &step), (Choice::Takes(_), Step::HandOff(_)));
        let next = go_on(relay, step.clone(), choice);
        let after = next.run().trail().count();
        assert_eq!(after, before + u32::from(takes), "each hop counts, and nothing else does");
        explore(relay, next, seen);
    }
    seen.path.pop();
}

fn note(step: &Step, seen: &mut Seen) {
    seen.most_hops = seen.most_hops.max(step.run().trail().count());
    seen.most_pauses = seen.most_pauses.max(pauses(step));
    seen.most_open = seen.most_open.max(step.open().len());
    seen.deepest = seen.deepest.max(seen.path.len());
    if let Step::Done(done) = step {
        seen.ends.insert(done.end().as_str());
    }
}

fn check(relay: &Relay, step: &Step) {
    let paths: BTreeSet<&str> = step.open().iter().map(|open| open.run().conversation()).collect();
    assert_eq!(paths.len(), step.open().len(), "one step is open in a branch");
    check_holder(step);
    if let Step::CallModel(call) = step {
        assert_eq!(sequence::check(&call.request(relay)), []);
    }
    for run in all_runs(step) {
        let numbers: Vec<String> = run.trail().taken().map(|hop| format!("{:?}", hop.outcome)).collect();
        let counted: Vec<String> =
            (1..=run.trail().count()).map(|n| format!("Taken {{ number: {n} }}")).collect();
        assert_eq!(numbers, counted, "no hop is uncounted");
        assert!(run.trail().count() <= HOPS);
    }
}

/// Whoever has the turn in a run is at rest when it has ended, and only then; so it is in each open branch.
fn check_holder(step: &Step) {
    let run = step.run();
    let is_over = matches!(step, Step::Done(_));
    let resting: Vec<&str> = run.at_rest().map(|(agent, _)| agent.as_str()).collect();
    let distinct: BTreeSet<&str> = resting.iter().copied().collect();
    assert_eq!(distinct.len(), resting.len(), "no agent is there twice");
    assert_eq!(resting.contains(&run.active().as_str()), is_over, "one agent has the turn: {step:?}");
    let is_orphaned = matches!(step, Step::Done(done) if !matches!(done.end(), RunEnd::Failed { .. }))
        && run.trail().open().count() > 0;
    assert!(!is_orphaned, "no work is open in a run that has ended: {step:?}");
    for (agent, turn) in run.at_rest() {
        assert_eq!(open_calls(turn.messages()), 0, "{agent} is at rest and no call of it is open");
    }
    if let Step::Delegate(delegation) = step {
        delegation.branches().iter().for_each(|branch| check_holder(branch.step()));
    }
}

/// The calls that the next message does not answer.
fn open_calls(messages: &[Message]) -> usize {
    let of = |(place, message): (usize, &Message)| {
        let answered: BTreeSet<&str> = messages
            .get(place + 1)
            .map(|next| next.tool_results().map(|result| result.tool_use_id()).collect())
            .unwrap_or_default();
        message.tool_uses().filter(|call| !answered.contains(call.id())).count()
    };
    messages.iter().enumerate().map(of).sum()
}

/// S1-06, S1-27: it always ends; no call is open in a log that has ended, and no work; in each branch one agent has the
/// turn; each hop is counted.
#[test]
fn whatever_happens_to_a_small_relay_it_ends_and_nothing_is_lost() {
    let relay = relay();
    let mut seen = Seen::default();
    explore(&relay, relay.start("conv", "hello").unwrap(), &mut seen);
    let Seen { states, ends, most_hops, most_pauses, most_open, deepest, .. } = seen;
    println!("{} states, the farthest {deepest} choices from the beginning", states.len());
    // Should it see less than that, something cannot happen any more that could.
    assert!(states.len() >= FEWEST_STATES, "{} states", states.len());
    assert_eq!((most_hops, most_pauses, most_open), (HOPS, PAUSES, 2));
    let all = ["answered", "budget_spent", "cancelled", "failed", "handoff_refused", "hop_limit"];
    assert_eq!(ends, BTreeSet::from(all));
}
