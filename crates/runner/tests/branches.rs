//! Delegates driven by the runner: branches at the same time, on threads of their own, and what is reported of them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{
    Look, Nothing, Spans, Turn, Watched, agent, calls, ended, hands_to, runner, says, script, story_of, team,
};
use sommelier_handoff::step::CALLED_OFF;
use sommelier_handoff::{
    Agent, Cost, Delegate, DelegateResult, DelegateStatus, Link, OnFailedBranch, Relay, RelayBuilder, RunEnd,
};
use sommelier_protocol::{ContentBlock, ModelRequest, ModelResponse, Usage};
use sommelier_runner::{Report, Runner, run_agent};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Model, ModelError, ScriptedModel, Tool, script};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use tracing::{Dispatch, dispatcher};
use tracing_subscriber::layer::SubscriberExt;

/// A supervisor with two delegates.
fn desk(billing: Agent, shipping: Agent) -> RelayBuilder {
    Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", Delegate::new("ask_billing", billing))
        .delegate("supervisor", Delegate::new("ask_shipping", shipping))
        .entry("supervisor")
}

const BOTH: [(&str, &str); 2] = [
    ("ask_billing", r#"{"question":"Was INV-311 paid twice?"}"#),
    ("ask_shipping", r#"{"question":"Where is A-7?"}"#),
];

fn looks(word: &'static str) -> Turn {
    calls([("look", format!(r#"{{"word":"{word}"}}"#))])
}

/// Words beside a look at a word, in one reply.
fn says_and_looks(text: &'static str, word: &'static str) -> Turn {
    Box::new(move |request| {
        let mut reply = looks(word)(request);
        reply.content.insert(0, ContentBlock::text(text));
        reply
    })
}

fn results(report: &Report) -> Vec<DelegateResult> {
    report.links().iter().filter_map(Link::result).cloned().collect()
}

fn result(
    status: DelegateStatus,
    finding: Option<&str>,
    reason: Option<&str>,
    steps_used: u32,
) -> DelegateResult {
    DelegateResult {
        status,
        finding: finding.map(Into::into),
        reason: reason.map(Into::into),
        steps_used,
        effects: Vec::new(),
        action_needed: None,
        evidence: Vec::new(),
    }
}

/// A relay whose two delegates have a tool that waits until `meeting` is full, and the threads that came.
fn meeting_desk(meeting: Barrier) -> (Relay, Arc<Mutex<BTreeSet<String>>>) {
    let met = Arc::new(Mutex::new(BTreeSet::new()));
    let meeting = Arc::new(meeting);
    let meet = |name: &str| {
        let (meeting, met) = (Arc::clone(&meeting), Arc::clone(&met));
        let tool = Tool::new("meet", "Waits for the others.", move |_: Nothing, _: &CallContext<'_>| {
            met.lock().unwrap().insert(format!("{:?}", thread::current().id()));
            meeting.wait();
            Ok::<_, Failure>("met")
        });
        Agent::new(name, "").tools([tool])
    };
    (desk(meet("billing"), meet("shipping")).build().unwrap(), met)
}

/// S3-10, S3-06: two branches are under way at the same time, each on a thread of its own: two tools that wait for each
/// other both go on. The results stand in the order of the calls.
#[test]
fn branches_run_at_the_same_time() {
    let (relay, met) = meeting_desk(Barrier::new(2));
    let model = script([
        ("supervisor", calls(BOTH)),
        ("billing", calls([("meet", "{}")])),
        ("shipping", calls([("meet", "{}")])),
        ("billing", says("Twice.")),
        ("shipping", says("In transit.")),
        ("supervisor", says("Both.")),
    ]);
    let report = ended(runner(&model).run(&relay, "INV-311 and A-7?"));
    assert_eq!(model.unused(), []);
    assert_eq!(report.end(), &RunEnd::Answered);
    assert_eq!(
        story_of(&report, "supervisor")[2],
        concat!(
            r#"user: tu_1_0={"status":"done","finding":"Twice.","steps_used":2} | "#,
            r#"tu_1_1={"status":"done","finding":"In transit.","steps_used":2}"#
        )
    );
    let here = format!("{:?}", thread::current().id());
    let met = met.lock().unwrap();
    assert_eq!((met.len(), met.contains(&here)), (2, false));
}

/// One branch needs no thread: it is driven on the caller's.
#[test]
fn one_branch_alone_needs_no_thread() {
    let (relay, met) = meeting_desk(Barrier::new(1));
    let model = script([
        ("supervisor", calls([BOTH[0]])),
        ("billing", calls([("meet", "{}")])),
        ("billing", says("Twice.")),
        ("supervisor", says("Twice.")),
    ]);
    ended(runner(&model).run(&relay, "INV-311?"));
    assert_eq!(*met.lock().unwrap(), BTreeSet::from([format!("{:?}", thread::current().id())]));
}

/// However the threads go, a run is the value that it is on one thread.
#[test]
fn a_run_on_threads_is_the_same_value_each_time() {
    let relay = || desk(agent("billing"), agent("shipping")).build().unwrap();
    let run = || {
        let model = script([
            ("supervisor", calls(BOTH)),
            ("billing", looks("INV")),
            ("billing", looks("311")),
            ("billing", says("Twice.")),
            ("shipping", looks("A-7")),
            ("shipping", says("In transit.")),
            ("supervisor", says("Both.")),
        ]);
        ended(runner(model).conversation("conv").run(&relay(), "INV-311 and A-7?"))
    };
    let first = run();
    for _ in 0..20 {
        assert_eq!(run(), first);
    }
}

/// Longer than any test machine needs, so that a failure is a failed test and not one that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// What two agents tell each other so that a test has its order: whether one has gone so far.
#[derive(Clone, Default)]
struct Signal(Arc<(Mutex<bool>, Condvar)>);

impl Signal {
    fn give(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    /// Waits until it was given; not for ever, so that a test that fails ends.
    fn wait(&self) {
        let given = self.0.0.lock().unwrap();
        drop(self.0.1.wait_timeout_while(given, PATIENCE, |given| !*given).unwrap());
    }
}

/// Billing's model cannot be reached, once shipping is in its tool.
struct FailsMeanwhile {
    script: ScriptedModel,
    shipping_is_in_its_tool: Signal,
}

impl Model for FailsMeanwhile {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        if request.caller != "billing" {
            return self.script.complete(request);
        }
        self.shipping_is_in_its_tool.wait();
        Err(ModelError::Unreachable { detail: "no route to host".to_owned() })
    }
}

/// A run in which billing fails while shipping is in its tool, which does not end before that is known, and how many turns of
/// the script were left over.
fn fails_meanwhile(then: OnFailedBranch, shipping: Vec<(&'static str, Turn)>) -> (Report, usize) {
    let shipping_is_in_its_tool = Signal::default();
    let (in_tool, spans) = (shipping_is_in_its_tool.clone(), Spans::default());
    let seen = spans.clone();
    // The span of a branch closes when all that follows from its end has been done.
    let billing_has_failed = move || {
        let asked = seen.named("delegate");
        asked.iter().any(|span| span.field("gen_ai.tool.name") == "ask_billing" && span.closed)
    };
    let slow = Tool::new("look", "Looks a word up.", move |look: Look, _: &CallContext<'_>| {
        in_tool.give();
        let until = Instant::now() + PATIENCE;
        while !billing_has_failed() {
            assert!(Instant::now() < until, "billing does not fail");
            thread::sleep(Duration::from_millis(1));
        }
        Ok::<_, Failure>(look.word)
    });
    let relay = desk(agent("billing"), Agent::new("shipping", "").tools([slow]));
    let relay = relay.on_failed_branch(then).build().unwrap();
    let turns = [("supervisor", calls(BOTH)), ("supervisor", says("So far."))];
    let script = script(turns.into_iter().chain(shipping));
    let model = FailsMeanwhile { script, shipping_is_in_its_tool };
    let runner = runner(&model);
    let dispatch = Dispatch::new(tracing_subscriber::registry().with(spans));
    let report = dispatcher::with_default(&dispatch, || ended(runner.run(&relay, "INV-311 and A-7?")));
    assert_eq!(report.end(), &RunEnd::Answered);
    let left = model.script.unused().len();
    (report, left)
}

const DOWN: &str = "failed: unreachable";

/// C146: a branch that fails takes nothing from the others, which go on to their ends.
#[test]
fn a_failed_branch_leaves_the_others_to_their_work() {
    let shipping = vec![("shipping", looks("A-7")), ("shipping", says("In transit."))];
    let (report, left) = fails_meanwhile(OnFailedBranch::Keep, shipping);
    let expected = [
        result(DelegateStatus::Failed, None, Some(DOWN), 0),
        result(DelegateStatus::Done, Some("In transit."), None, 2),
    ];
    assert_eq!((results(&report), left), (expected.to_vec(), 0));
}

/// C146: where the relay says so, a branch that fails calls the others off at their next step; what they had found until
/// then is told, and the run answers.
#[test]
fn a_failed_branch_may_call_the_others_off() {
    let shipping =
        vec![("shipping", says_and_looks("It was on the road.", "A-7")), ("shipping", says("In transit."))];
    let (report, left) = fails_meanwhile(OnFailedBranch::CallOff, shipping);
    let reason = format!("cancelled: {CALLED_OFF}");
    let expected = [
        result(DelegateStatus::Failed, None, Some(DOWN), 0),
        result(DelegateStatus::Partial, Some("It was on the road."), Some(&reason), 1),
    ];
    assert_eq!((results(&report), left), (expected.to_vec(), 1));
    let called_off = report.links()[1].run().unwrap();
    assert_eq!(called_off.end(), &RunEnd::Cancelled { reason: CALLED_OFF.into() });
}

/// A model that panics when one agent asks.
struct Panics {
    script: ScriptedModel,
    agent: &'static str,
}

impl Model for Panics {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        assert!(request.caller != self.agent, "the adapter of {} panics", self.agent);
        self.script.complete(request)
    }
}

/// C146: a panic in the model of one branch costs that branch and nothing else.
#[test]
fn a_panic_in_one_branch_costs_that_branch() {
    let script = script([
        ("supervisor", calls(BOTH)),
        ("shipping", looks("A-7")),
        ("shipping", says("In transit.")),
        ("supervisor", says("In transit; billing could not be asked.")),
    ]);
    let model = Panics { script, agent: "billing" };
    let relay = desk(agent("billing"), agent("shipping")).build().unwrap();
    let report = ended(runner(&model).run(&relay, "INV-311 and A-7?"));
    assert_eq!((report.end(), model.script.unused()), (&RunEnd::Answered, vec![]));
    let reason = "failed: panicked";
    assert_eq!(
        results(&report),
        [
            result(DelegateStatus::Failed, None, Some(reason), 0),
            result(DelegateStatus::Done, Some("In transit."), None, 2),
        ]
    );
}

/// C139: the report counts what branches did: links, model calls, tool calls, cost in all and by agent. S(10) asks B(20),
/// whose team hands over to C(5): 35.
#[test]
fn the_report_counts_what_branches_did() {
    let relay = Relay::builder()
        .agent(agent("s"))
        .delegate("s", Delegate::team("ask_b", team("b -> c").build().unwrap()))
        .entry("s")
        .build()
        .unwrap();
    let used = |turn: Turn, read: u64, written: u64| -> Turn {
        Box::new(move |request| {
            let mut reply = turn(request);
            reply.usage = Usage::new(read, written);
            reply
        })
    };
    let model = script([
        ("s", used(calls([("look", r#"{"word":"tea"}"#), ("ask_b", r#"{"question":"Well?"}"#)]), 4, 1)),
        ("b", used(looks("tea"), 5, 5)),
        ("b", used(hands_to("c"), 5, 5)),
        ("c", used(says("Well."), 3, 2)),
        ("s", used(says("All well."), 3, 2)),
    ]);
    let watched = Watched::new(&model);
    let report = ended(runner(&watched).run(&relay, "hello"));
    assert_eq!(watched.order(), "s b b c s");
    let cost = |model_calls, tool_calls, input_tokens, output_tokens| Cost {
        model_calls,
        tool_calls,
        input_tokens,
        output_tokens,
    };
    assert_eq!((report.cost(), report.model_calls(), report.tool_calls()), (cost(5, 2, 20, 15), 5, 2));
    let by_agent: BTreeMap<String, Cost> =
        report.cost_by_agent().into_iter().map(|(agent, cost)| (agent.to_string(), cost)).collect();
    let expected = [("s", cost(2, 1, 7, 3)), ("b", cost(2, 1, 10, 10)), ("c", cost(1, 0, 3, 2))];
    assert_eq!(by_agent, expected.map(|(agent, cost)| (agent.to_owned(), cost)).into());
    let tokens = |cost: &Cost| cost.input_tokens + cost.output_tokens;
    assert_eq!(
        (["s", "b", "c"].map(|agent| tokens(&by_agent[agent])), tokens(&report.cost())),
        ([10, 20, 5], 35)
    );
    let links: Vec<(&str, &str, &DelegateResult)> = report
        .links()
        .iter()
        .map(|link| (link.tool.as_str(), &*link.call_id, link.result().unwrap()))
        .collect();
    assert_eq!(links, [("ask_b", "tu_1_1", &result(DelegateStatus::Done, Some("Well."), None, 3))]);
    // What happens inside is in the branch's own run: its hop is none of the report's.
    assert_eq!(
        (report.hops().count(), report.links()[0].run().unwrap().run().trail().taken().count()),
        (0, 1)
    );
}

/// The tools that an agent was offered in its first request, and its instructions.
fn first_offer(watched: &Watched<&ScriptedModel>, agent: &str) -> (serde_json::Value, serde_json::Value) {
    let asked = watched.asked();
    let (_, json) = asked.iter().find(|(caller, _)| caller == agent).unwrap();
    let request: serde_json::Value = serde_json::from_str(json).unwrap();
    (request["system"].clone(), request["tools"].clone())
}

/// C112: an agent has the same tools and instructions whether it was handed the turn, is asked as a delegate of its own
/// team, or is the entry; and asked or run alone, where it has nobody to hand over to, the same but the handoff.
#[test]
fn an_agent_has_the_same_tools_wherever_it_stands() {
    let desk = || team("clerk -> expert, expert -> clerk").build().unwrap();
    let question = r#"{"question":"Well?"}"#;
    let offer = |relay: &Relay, turns: Vec<(&'static str, Turn)>| {
        let model = script(turns);
        let watched = Watched::new(&model);
        let report = ended(runner(&watched).run(relay, "hello"));
        assert_eq!((report.end(), model.unused()), (&RunEnd::Answered, vec![]));
        first_offer(&watched, "expert")
    };
    let asking = |delegate: Delegate| {
        let relay = Relay::builder().agent(agent("boss")).delegate("boss", delegate).entry("boss").build();
        let turns =
            vec![("boss", calls([("ask", question)])), ("expert", says("Well.")), ("boss", says("Well."))];
        offer(&relay.unwrap(), turns)
    };
    let handed = offer(&desk(), vec![("clerk", hands_to("expert")), ("expert", says("Well."))]);
    let asked = asking(Delegate::team("ask", desk()).at("expert"));
    assert_eq!(handed, asked);
    let names = |offer: &(serde_json::Value, serde_json::Value)| -> Vec<String> {
        let tools = offer.1.as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&handed), ["fail", "handoff_to_specialist", "look"]);

    let alone = {
        let model = script([("expert", says("Well."))]);
        let watched = Watched::new(&model);
        run_agent(&runner(&watched), agent("expert"), "hello").unwrap();
        first_offer(&watched, "expert")
    };
    assert_eq!(alone, asking(Delegate::new("ask", agent("expert"))));
    let own = handed.1.as_array().unwrap().iter().filter(|tool| tool["name"] != "handoff_to_specialist");
    assert_eq!(alone, (handed.0.clone(), own.cloned().collect()));
}

/// A branch has the model that was set for its agent, and the gate of the runner: a tool that needs approval is denied in
/// it too.
#[test]
fn a_branch_has_the_models_and_the_gate_of_the_runner() {
    let books = Tool::new("book", "Books.", |_: Nothing, _: &CallContext<'_>| Ok::<_, Failure>("booked"));
    let booking = Agent::new("billing", "").tools([books.needs_approval()]);
    let relay = desk(booking, agent("shipping")).build().unwrap();
    let others = script([("supervisor", calls([BOTH[0]])), ("supervisor", says("Not booked."))]);
    let own = script([("billing", calls([("book", "{}")])), ("billing", says("Denied."))]);
    let report = ended(Runner::new(&others).model_of("billing", &own).run(&relay, "hello"));
    assert_eq!((report.end(), others.unused(), own.unused()), (&RunEnd::Answered, vec![], vec![]));
    let story = harness::story(report.links()[0].run().unwrap().run().idle("billing").unwrap().messages());
    assert!(story[2].starts_with("user: tu_1_0!") && story[2].contains("denied"), "{story:#?}");
}

/// Branches of branches are on threads too: four leaves, two of each branch, are under way at the same time.
#[test]
fn branches_of_branches_run_at_the_same_time() {
    let meeting = Arc::new(Barrier::new(4));
    let threads: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let leaf = |name: &str| {
        let (meeting, threads) = (Arc::clone(&meeting), Arc::clone(&threads));
        let meet = Tool::new("meet", "Waits.", move |_: Nothing, _: &CallContext<'_>| {
            let id: ThreadId = thread::current().id();
            threads.lock().unwrap().insert(format!("{id:?}"));
            meeting.wait();
            Ok::<_, Failure>("met")
        });
        Agent::new(name, "").tools([meet])
    };
    let mid = |name: &str| {
        Relay::builder()
            .agent(agent(name))
            .delegate(name, Delegate::new("ask_one", leaf("one")))
            .delegate(name, Delegate::new("ask_two", leaf("two")))
            .entry(name)
            .build()
            .unwrap()
    };
    let relay = Relay::builder()
        .agent(agent("boss"))
        .delegate("boss", Delegate::team("ask_left", mid("left")).max_model_calls(9))
        .delegate("boss", Delegate::team("ask_right", mid("right")).max_model_calls(9))
        .entry("boss")
        .build()
        .unwrap();
    let question = r#"{"question":"Well?"}"#;
    let asks = || calls([("ask_one", question), ("ask_two", question)]);
    let model = script([
        ("boss", calls([("ask_left", question), ("ask_right", question)])),
        ("left", asks()),
        ("right", asks()),
        ("one", calls([("meet", "{}")])),
        ("two", calls([("meet", "{}")])),
        ("one", says("1")),
        ("two", says("2")),
        ("left", Box::new(|request| script::say(format!("left {}", request.messages.len())))),
        ("right", Box::new(|request| script::say(format!("right {}", request.messages.len())))),
        ("boss", says("All.")),
    ]);
    let report = ended(runner(&model).run(&relay, "hello"));
    assert_eq!(
        results(&report),
        [
            result(DelegateStatus::Done, Some("left 3"), None, 6),
            result(DelegateStatus::Done, Some("right 3"), None, 6),
        ]
    );
    assert_eq!((report.model_calls(), report.tool_calls(), threads.lock().unwrap().len()), (14, 4, 4));
}
