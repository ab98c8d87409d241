//! The gate: who decides on effects that cannot be undone, and what the model is told when they do not happen.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{Nothing, Spans, agent, calls, desk, ended, house, runner, says, script, story_of, to};
use reservo::Reservo;
use sommelier_handoff::{Answer, HANDOFF_TO_SPECIALIST, Relay, RunEnd, Step};
use sommelier_protocol::ToolUse;
use sommelier_runner::{Decision, Gate, Outcome, Report, Runner, dispatch_parallel};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Agent, Model, ScriptedModel, Tool, ToolOutput};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

const BOOK: &str =
    r#"{"room":"Focus","plan":"pro","date":"2026-12-01","start_hour":9,"hours":3,"customer":"Ada"}"#;
const CANCEL: &str = r#"{"booking_id":"RSV-0002"}"#;

/// What a run of these calls in one reply, under this gate, brought for each call.
fn results(runner: Runner<'_>, house: &Arc<Reservo>) -> Vec<String> {
    let report = ended(runner.run(&desk(house), "Book it, please."));
    assert_eq!(report.end(), &RunEnd::Answered);
    let answers = &story_of(&report, "booking_agent")[2];
    answers.strip_prefix("user: ").unwrap().split(" | ").map(str::to_owned).collect()
}

fn asks_for<const N: usize>(wanted: [(&'static str, &'static str); N]) -> ScriptedModel {
    script([("booking_agent", calls(wanted)), ("booking_agent", says("That is all."))])
}

/// How many bookings stand in the ledger, and what became of RSV-0002.
fn ledger(house: &Reservo) -> (usize, String) {
    let all = house.bookings.all().unwrap();
    (all.len(), serde_json::to_string(&all[1].state.status()).unwrap())
}

const DENIED: &str = r#"{"error":"approval_denied","tool":"book","reason":"no one is here to approve it","effect":"none: the tool was not run"}"#;

/// S3-28: who sets no gate approves nothing. The model is told that there was no effect, and there is none.
#[test]
fn a_runner_without_a_gate_denies() {
    let house = house(500, 2000);
    let told = results(runner(asks_for([("book", BOOK), ("cancel", CANCEL)])), &house);
    let cancel = DENIED.replace(r#""tool":"book""#, r#""tool":"cancel""#);
    assert_eq!(told, [format!("tu_1_0!{DENIED}"), format!("tu_1_1!{cancel}")]);
    assert_eq!(ledger(&house), (5, r#""booked""#.to_owned()));
}

/// S3-28: with approval both happen.
#[test]
fn a_gate_that_approves_lets_the_effect_happen() {
    let house = house(500, 2000);
    let runner = runner(asks_for([("book", BOOK), ("cancel", CANCEL)])).gate(Gate::approve_all());
    assert_eq!(
        results(runner, &house),
        [
            r#"tu_1_0={"booking_id":"RSV-0006","status":"booked","total_cents":6000}"#,
            r#"tu_1_1={"booking_id":"RSV-0002","status":"cancelled","refund_cents":6400}"#,
        ]
    );
    assert_eq!(ledger(&house), (6, r#""cancelled""#.to_owned()));
}

/// S3-28: of calls in one reply, each is decided on by itself.
#[test]
fn a_gate_by_tool_denies_one_of_several_calls() {
    let house = house(500, 2000);
    let gate = Gate::new(|approval| match approval.tool {
        "cancel" => Decision::Approve,
        _ => Decision::Deny { reason: "only cancelling is approved here".into() },
    });
    let wanted =
        [("book", BOOK), ("get_quote", r#"{"room":"Focus","plan":"pro","hours":3}"#), ("cancel", CANCEL)];
    assert_eq!(
        results(runner(asks_for(wanted)).gate(gate), &house),
        [
            format!(
                "tu_1_0!{}",
                DENIED.replace("no one is here to approve it", "only cancelling is approved here")
            ),
            r#"tu_1_1={"room":"Focus","plan":"pro","hours":3,"rate_cents_per_hour":2000,"total_cents":6000}"#
                .to_owned(),
            r#"tu_1_2={"booking_id":"RSV-0002","status":"cancelled","refund_cents":6400}"#.to_owned(),
        ]
    );
    assert_eq!(ledger(&house), (5, r#""cancelled""#.to_owned()));
}

/// A gate that approves everything and writes down what it was asked.
fn asked_gate() -> (Gate, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let gate = Gate::new({
        let asked = Arc::clone(&asked);
        move |approval| {
            let line = format!("{} {}#{}{}", approval.agent, approval.tool, approval.call_id, approval.input);
            asked.lock().unwrap().push(line);
            Decision::Approve
        }
    });
    (gate, asked)
}

/// S3-28: the gate sees the call as it would run, and is not asked about tools that need no approval.
#[test]
fn a_gate_is_asked_only_where_approval_is_needed() {
    let (gate, asked) = asked_gate();
    let wanted = [("get_quote", r#"{"room":"Focus","plan":"pro","hours":3}"#), ("book", BOOK)];
    results(runner(asks_for(wanted)).gate(gate), &house(500, 2000));
    assert_eq!(*asked.lock().unwrap(), [format!("booking_agent book#tu_1_1{BOOK}")]);
}

/// S3-28: nobody is to approve what could not run: arguments that do not fit are refused before.
#[test]
fn a_gate_is_not_asked_about_arguments_that_do_not_fit() {
    let house = house(500, 2000);
    let (gate, asked) = asked_gate();
    let wanted = [
        ("book", r#"{"room":"Focus"}"#),
        ("book", r#"{"room":"Focus","#),
        ("cancel", r#"{"booking_id":"RSV-0002","force":true}"#),
    ];
    let with_gate = results(runner(asks_for(wanted)).gate(gate), &house);
    assert_eq!(*asked.lock().unwrap(), Vec::<String>::new());
    assert_eq!(with_gate, results(runner(asks_for(wanted)), &house));
    for told in with_gate {
        assert!(told.contains(r#"!{"error":"invalid_arguments","#), "{told}");
    }
    assert_eq!(ledger(&house), (5, r#""booked""#.to_owned()));
}

/// A tool that needs approval and counts its runs.
fn counted() -> (Tool, Arc<AtomicU32>) {
    let runs = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&runs);
    let tool = Tool::new("launch", "Cannot be undone.", move |_: Nothing, _: &CallContext<'_>| {
        Ok::<_, Failure>(counter.fetch_add(1, Ordering::Relaxed))
    });
    (tool.needs_approval(), runs)
}

/// A gate that fails has not approved.
#[test]
fn a_gate_that_panics_lets_nothing_through() {
    let (tool, runs) = counted();
    let agent = Agent::new("clerk", "").tools([tool]).build().unwrap();
    let call = ToolUse::scripted("a", "launch", "{}");
    let gate = Gate::new(|_| panic!("the gate is broken"));
    let outputs = dispatch_parallel(&agent, [(0, &call), (1, &call)], "test/1", &gate);
    let errors: Vec<Option<&str>> = outputs.iter().map(|output| output.error.as_deref()).collect();
    assert_eq!((errors, runs.load(Ordering::Relaxed)), (vec![Some("approval_denied"); 2], 0));
}

/// S3-28: also by hand, and for each call of a tool.
#[test]
fn a_denied_tool_does_not_run() {
    let (tool, runs) = counted();
    let agent = Agent::new("clerk", "").tools([tool]).build().unwrap();
    let calls = ["a", "b"].map(|id| ToolUse::scripted(id, "launch", "{}"));
    let gate = Gate::new(|approval| match approval.call_id {
        "b" => Decision::Approve,
        _ => Decision::Deny { reason: "not this one".into() },
    });
    let outputs = dispatch_parallel(&agent, calls.iter().enumerate(), "test/1", &gate);
    let denied = r#"{"error":"approval_denied","tool":"launch","reason":"not this one","effect":"none: the tool was not run"}"#;
    assert_eq!(outputs, [ToolOutput::error("approval_denied", denied), ToolOutput::ok("0")]);
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

/// A run that is about to book, saved as JSON.
fn about_to_book(relay: &Relay, conversation: &str) -> String {
    let model = asks_for([("book", BOOK)]);
    let Step::CallModel(call) = relay.start(conversation, "Book it, please.").unwrap() else {
        panic!("the model is asked first")
    };
    let response = model.complete(call.request(relay));
    let step = call.resume(relay, response, 1000);
    assert!(matches!(step, Step::CallTools(_)));
    step.save().unwrap()
}

fn driven(relay: &Relay, saved: &str) -> Report {
    let model = asks_for([("book", BOOK)]);
    ended(runner(&model).gate(Gate::approve_all()).drive(relay, relay.load(saved).unwrap()))
}

/// S3-28: a step that is loaded and driven a second time has the keys of the first, so its effect happens once.
#[test]
fn a_repeated_step_books_once() {
    let house = house(500, 2000);
    let relay = desk(&house);
    let saved = about_to_book(&relay, "c");
    let first = driven(&relay, &saved);
    assert_eq!(
        story_of(&first, "booking_agent")[2],
        r#"user: tu_1_0={"booking_id":"RSV-0006","status":"booked","total_cents":6000}"#
    );
    assert_eq!(driven(&relay, &saved), first);
    assert_eq!(ledger(&house).0, 6);

    // The same words in another conversation are another booking, for which the room is no longer free.
    let other = driven(&relay, &about_to_book(&relay, "d"));
    let told = &story_of(&other, "booking_agent")[2];
    assert!(told.starts_with(r#"user: tu_1_0!{"error":"slot_taken""#), "{told}");
}

/// A tool that needs approval is denied for every agent that has it.
#[test]
fn a_gate_stands_before_the_tools_of_every_agent() {
    let (tool, runs) = counted();
    let relay = Relay::builder()
        .agent(agent("booking_agent"))
        .agent(agent("policy_agent").tools([tool]))
        .entry("booking_agent")
        .route("booking_agent", "policy_agent")
        .build()
        .unwrap();
    let model = script([
        ("booking_agent", harness::hands_to("policy_agent")),
        ("policy_agent", calls([("launch", "{}")])),
        ("policy_agent", says("It was not approved.")),
    ]);
    let report = ended(runner(&model).run(&relay, "hello"));
    assert_eq!((report.answer(), runs.load(Ordering::Relaxed)), ("It was not approved.", 0));
    assert_eq!(report.tool_calls(), 1);
}

/// A gate that fails has approved nothing, and the model is told that there was no effect.
#[test]
fn a_gate_that_panics_denies() {
    let house = house(500, 2000);
    let gate = Gate::new(|_| panic!("the gate is broken"));
    let told = results(runner(asks_for([("book", BOOK)])).gate(gate), &house);
    assert_eq!(
        told,
        [format!("tu_1_0!{}", DENIED.replace("no one is here to approve it", "the gate failed"))]
    );
    assert_eq!(ledger(&house), (5, r#""booked""#.to_owned()));
}

/// Two agents; the first has a tool that needs approval.
fn launching_pair() -> (Relay, Arc<AtomicU32>) {
    let (tool, runs) = counted();
    let builder = Relay::builder().agent(agent("booking").tools([tool])).agent(agent("policy"));
    (builder.entry("booking").route("booking", "policy").build().unwrap(), runs)
}

/// A reply that launches, looks, and hands over.
fn launches_and_hands() -> ScriptedModel {
    let reply = [
        ("launch", "{}".to_owned()),
        ("look", r#"{"word":"tea"}"#.to_owned()),
        (HANDOFF_TO_SPECIALIST, to("policy", "Go on.")),
    ];
    script([("booking", calls(reply)), ("policy", says("Well."))])
}

/// The runs of tools in a trace: the agent under whose activation each stands, the tool, whether it was approved, the error.
fn checked(spans: &Spans) -> Vec<[String; 4]> {
    let all = spans.all();
    let under = |span: &harness::Seen| all[span.parent.unwrap()].field("gen_ai.agent.name").to_owned();
    let told = |span: &harness::Seen| {
        let [tool, approval, error] = span.pick(["gen_ai.tool.name", "approval", "error.type"]);
        [under(span), tool.to_owned(), approval.to_owned(), error.to_owned()]
    };
    // Tools run at the same time, so their spans stand in no order.
    let mut checked: Vec<_> = spans.named("execute_tool").iter().map(told).collect();
    checked.sort();
    checked
}

fn line(approval: &str, error: &str) -> [[String; 4]; 2] {
    [["booking", "launch", approval, error], ["booking", "look", "", ""]].map(|line| line.map(str::to_owned))
}

/// C32: what a gate made of a tool in a reply that also hands over is in the trace under the sender, and in the report as
/// its result, its count and its conversation; the handoff leaves nothing of it out.
#[test]
fn a_gates_word_on_a_tool_beside_a_handoff_is_in_the_report() {
    let denied = r#"tu_1_0!{"error":"approval_denied","tool":"launch","reason":"not now","effect":"none: the tool was not run"}"#;
    let approve: fn() -> Gate = Gate::approve_all;
    let deny: fn() -> Gate = || Gate::new(|_| Decision::Deny { reason: "not now".into() });
    let cases = [
        (approve, "tu_1_0=0", 1, line("approved", "")),
        (deny, denied, 0, line("denied", "approval_denied")),
    ];
    for (gate, result, ran, told) in cases {
        let (relay, runs) = launching_pair();
        let (report, spans) =
            Spans::of(|| ended(runner(launches_and_hands()).gate(gate()).run(&relay, "hello")));
        assert_eq!((report.last_agent(), report.hops().count()), ("policy", 1));
        assert_eq!((report.tool_calls(), runs.load(Ordering::Relaxed)), (2, ran));
        assert_eq!(checked(&spans), told);
        assert_eq!(
            story_of(&report, "booking")[2],
            format!(r#"user: {result} | tu_1_1="tea" | tu_1_2={{"status":"handed_over","to":"policy"}}"#)
        );
    }
}

/// C32: so it is with a person's word, which is on record as the sender's question too.
#[test]
fn a_persons_word_on_a_tool_beside_a_handoff_is_in_the_report() {
    for (answer, ran, told) in [
        (Answer::Approve, 1, line("approved_by_person", "").to_vec()),
        (
            Answer::Reject { reason: "not now".into() },
            0,
            line("denied_by_person", "approval_denied").to_vec(),
        ),
    ] {
        let (relay, runs) = launching_pair();
        let model = launches_and_hands();
        let runner = runner(&model).conversation("c").gate(Gate::ask_all());
        let Outcome::Waiting(parked) = runner.run(&relay, "hello").unwrap() else { panic!("it waits") };
        let (report, spans) = Spans::of(|| ended(runner.answer(&relay, parked, "c/1/1/0", answer.clone())));
        assert_eq!((report.last_agent(), runs.load(Ordering::Relaxed)), ("policy", ran));
        assert_eq!(checked(&spans), told);
        let decisions = report.done().run().decisions();
        assert_eq!(decisions.len(), 1);
        assert_eq!((decisions[0].question.from.as_str(), &decisions[0].answer), ("booking", &answer));
    }
}
