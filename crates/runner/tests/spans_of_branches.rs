//! The spans of delegations: the branch under its question, the question under who asked, on whichever thread it ran.

#![expect(clippy::unwrap_used, reason = "a test may stop at what cannot be")]

mod harness;

use harness::{
    Seen, Spans, Turn, agent, calls, ended, hands_to, links, question, runner, says, script, supervised,
};
use sommelier_handoff::{Contract, Delegate, OnFailedBranch, Relay, Step};
use sommelier_protocol::{ContentBlock, StopReason, ToolName};
use sommelier_runtime::{AgentName, Model, ScriptedModel, script};
use std::time::{Duration, Instant};
use tracing::{Dispatch, dispatcher};
use tracing_subscriber::layer::SubscriberExt;

fn both() -> Turn {
    calls([
        ("ask_billing", question("Was INV-311 paid twice?")),
        ("ask_shipping", question("Where is the parcel?")),
    ])
}

/// A supervisor that asks two at the same time. One uses a tool, the other hands over.
fn two_at_once() -> ScriptedModel {
    script([
        ("supervisor", both()),
        ("billing", calls([("look", r#"{"word":"INV-311"}"#)])),
        ("billing", says("Paid twice.")),
        ("shipping", hands_to("customs")),
        ("customs", says("It waits for a form.")),
        ("supervisor", says("Paid twice, and it waits.")),
    ])
}

/// S3-11, S3-31, C133, C134: the whole tree as one value. A branch stands under its question and the question under who
/// asked, whichever threads they were on; a receiver within a branch stands beside its sender, under the same question.
#[test]
fn a_supervisor_with_two_branches_is_one_tree() {
    let (report, spans) = Spans::of(|| {
        ended(runner(two_at_once()).conversation("c").run(&supervised().build().unwrap(), "hello"))
    });
    let asked: Vec<usize> = report.links().iter().map(|link| link.package_bytes).collect();
    let hop = report.links()[1].run().unwrap().run().trail().hops()[0].clone();
    let activation = |agent: &str, run: &str| {
        format!(
            "otel.name=invoke_agent {agent}, otel.kind=internal, gen_ai.operation.name=invoke_agent, \
             gen_ai.agent.name={agent}, gen_ai.conversation.id={run}"
        )
    };
    let chat = |agent: &str, run: &str, finish: &str| {
        format!(
            "otel.name=chat claude-sonnet-5, otel.kind=internal, gen_ai.operation.name=chat, \
             gen_ai.conversation.id={run}, gen_ai.provider.name=_other, gen_ai.request.model=claude-sonnet-5, \
             gen_ai.request.max_tokens=1024, gen_ai.agent.name={agent}, decision=concept (claude-sonnet-5), \
             gen_ai.response.model=claude-sonnet-5, gen_ai.response.finish_reasons={finish}, \
             gen_ai.usage.input_tokens=0, gen_ai.usage.output_tokens=0"
        )
    };
    let delegate = |tool: &str, id: &str, target: &str, run: &str, bytes: usize| {
        format!(
            "otel.name=execute_tool {tool} {target}, otel.kind=internal, gen_ai.operation.name=execute_tool, \
             gen_ai.tool.name={tool}, gen_ai.tool.type=function, gen_ai.tool.call.id={id}, \
             gen_ai.agent.name=supervisor, gen_ai.transfer.mode=return_to_caller, \
             gen_ai.transfer.target.name={target}, parent_run=c, child_run={run}, package_bytes={bytes}, \
             status=done, steps_used=2, end=answered"
        )
    };
    assert_eq!(
        spans.lines(),
        [
            "1 invoke_workflow: otel.name=invoke_workflow supervisor, otel.kind=internal, \
             gen_ai.operation.name=invoke_workflow, gen_ai.workflow.name=supervisor, gen_ai.agent.name=supervisor, gen_ai.conversation.id=c, begins=true, \
             end=answered"
                .to_owned(),
            format!("2 invoke_agent in 1: {}", activation("supervisor", "c")),
            format!("3 chat in 2: {}", chat("supervisor", "c", "tool_use")),
            format!("4 delegate in 2: {}", delegate("ask_billing", "tu_1_0", "billing", "c/1/1/0", asked[0])),
            format!("5 invoke_agent in 4: {}", activation("billing", "c/1/1/0")),
            format!("6 chat in 5: {}", chat("billing", "c/1/1/0", "tool_use")),
            "7 execute_tool in 5: otel.name=execute_tool look, otel.kind=internal, \
             gen_ai.operation.name=execute_tool, gen_ai.tool.name=look, gen_ai.tool.type=function, \
             gen_ai.tool.call.id=tu_1_0, gen_ai.tool.description=Looks a word up., gen_ai.agent.name=billing"
                .to_owned(),
            format!("8 chat in 5: {}", chat("billing", "c/1/1/0", "end_turn")),
            format!(
                "9 delegate in 2: {}",
                delegate("ask_shipping", "tu_1_1", "shipping", "c/1/1/1", asked[1])
            ),
            format!("10 invoke_agent in 9: {}", activation("shipping", "c/1/1/1")),
            format!("11 chat in 10: {}", chat("shipping", "c/1/1/1", "tool_use")),
            format!(
                "12 handoff in 10: otel.name=execute_tool handoff_to_specialist customs, otel.kind=internal, \
                 gen_ai.operation.name=execute_tool, gen_ai.tool.name=handoff_to_specialist, \
                 gen_ai.tool.type=function, gen_ai.tool.call.id=tu_1_0, gen_ai.agent.name=shipping, \
                 gen_ai.transfer.mode=pass_control, gen_ai.transfer.target.name=customs, package_bytes={}, \
                 history_bytes={}, outcome=taken, hop=1, hop_of_message=1",
                hop.package_bytes, hop.history_bytes
            ),
            format!("13 invoke_agent in 9 after 12: {}", activation("customs", "c/1/1/1")),
            format!("14 chat in 13: {}", chat("customs", "c/1/1/1", "end_turn")),
            format!("15 chat in 2: {}", chat("supervisor", "c", "end_turn")),
        ]
    );
}

/// S3-21, S3-23: the span of a question under a contract tells what its branch says of itself, or that it broke the
/// contract; and no word of either.
#[test]
fn the_span_of_a_question_tells_how_its_contract_was_kept() {
    let relay = Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", Delegate::new("ask_billing", agent("billing")).contract(Contract::default()))
        .entry("supervisor")
        .build()
        .unwrap();
    let says_it_failed =
        r#"{"status":"failed","finding":null,"action_needed":null,"evidence":[],"reason":"MARKER"}"#;
    for (answers, expected) in [
        (vec![says_it_failed], ["failed", "answered", "failed", "1"]),
        (vec!["MARKER", says_it_failed], ["failed", "answered", "failed", "2"]),
        (vec!["MARKER", "MARKER"], ["failed", "contract_broken", "contract_broken", "2"]),
    ] {
        let turns = answers.into_iter().map(|answer| ("billing", says(answer)));
        let asks = ("supervisor", calls([("ask_billing", question("Was INV-311 paid?"))]));
        let model = script(std::iter::once(asks).chain(turns).chain([("supervisor", says("Nothing."))]));
        let (_, spans) = Spans::of(|| ended(runner(model).conversation("c").run(&relay, "hello")));
        let delegates = spans.named("delegate");
        let told = delegates.iter().map(|span| span.pick(["status", "end", "error.type", "steps_used"]));
        assert_eq!(told.collect::<Vec<_>>(), [expected]);
        assert!(!spans.lines().concat().contains("MARKER"));
    }
}

/// The delegations' spans, in the order of their ids: the branch's id, and what came of it.
fn told(spans: &Spans) -> Vec<[String; 2]> {
    let delegates = spans.named("delegate");
    let mut told: Vec<_> =
        delegates.iter().map(|span| span.pick(["child_run", "status"]).map(str::to_owned)).collect();
    told.sort_unstable();
    told
}

fn sorted(mut links: Vec<[String; 2]>) -> Vec<[String; 2]> {
    links.sort_unstable();
    links
}

/// S3-11: a question that opens no branch has its span all the same, with the code, and nothing under it.
#[test]
fn each_refused_question_has_its_span_with_the_code() {
    let delegate = |tool: &str| Delegate::new(tool, agent(&tool.replace("ask_", "")));
    let tools = ["ask_a", "ask_b", "ask_c", "ask_d", "ask_e"];
    let builder = Relay::builder().agent(agent("supervisor")).entry("supervisor").max_model_calls(3);
    let relay = tools.iter().fold(builder, |relay, tool| {
        let delegate = if *tool == "ask_b" { delegate(tool).after("ask_a") } else { delegate(tool) };
        relay.delegate("supervisor", delegate)
    });
    let relay = relay.build().unwrap();
    let arguments = ["{}".to_owned(), question("b"), question("c"), question("d"), question("e")];
    let model = script([
        ("supervisor", calls(tools.into_iter().zip(arguments))),
        ("d", says("Yes.")),
        ("supervisor", says("d says yes.")),
    ]);
    let step = relay.start("c", "hello").unwrap();
    let step = step.switch_off(AgentName::new("supervisor").unwrap(), ToolName::new("ask_c").unwrap());

    let (report, spans) = Spans::of(|| ended(runner(&model).drive(&relay, step)));
    let fields = ["gen_ai.tool.name", "gen_ai.transfer.target.name", "status", "refusal", "error.type"];
    let delegates = spans.named("delegate");
    let mut rows: Vec<_> = delegates.iter().map(|span| span.pick(fields)).collect();
    rows.sort_unstable();
    assert_eq!(
        rows,
        [
            ["ask_a", "", "refused", "invalid_question", "invalid_question"],
            ["ask_b", "", "refused", "not_yet", "not_yet"],
            ["ask_c", "", "refused", "tool_switched_off", "tool_switched_off"],
            ["ask_d", "d", "done", "", ""],
            ["ask_e", "", "refused", "budget_spent", "budget_spent"],
        ]
    );
    assert_eq!(told(&spans), sorted(links(report.done().run())));
    let above: Vec<String> = spans.named("invoke_agent").iter().map(|agent| parent(&spans, agent)).collect();
    assert_eq!(above, ["invoke_workflow supervisor", "execute_tool ask_d d"]);
}

fn parent(spans: &Spans, span: &Seen) -> String {
    spans.all()[span.parent.unwrap()].field("otel.name").to_owned()
}

/// A branch that comes to nothing, or not far enough, has how it ended as its error.
#[test]
fn a_branch_that_did_not_answer_has_its_error() {
    let relay = Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", Delegate::new("ask_billing", agent("billing")))
        .delegate("supervisor", Delegate::new("ask_shipping", agent("shipping")).max_model_calls(1))
        .entry("supervisor")
        .build()
        .unwrap();
    let talks: Turn = Box::new(|_| {
        let mut reply = script::call("tu_1", "look", r#"{"word":"A-7"}"#);
        reply.content.insert(0, ContentBlock::text("It left on Monday."));
        reply
    });
    let model = script([("supervisor", both()), ("shipping", talks), ("supervisor", says("Ask again."))]);
    let (report, spans) = Spans::of(|| ended(runner(&model).run(&relay, "hello")));
    let delegates = spans.named("delegate");
    let fields = ["gen_ai.tool.name", "status", "steps_used", "end", "error.type"];
    assert_eq!(
        delegates.iter().map(|span| span.pick(fields)).collect::<Vec<_>>(),
        [
            ["ask_billing", "failed", "0", "failed", "failed"],
            ["ask_shipping", "partial", "1", "budget_spent", "budget_spent"],
        ]
    );
    assert_eq!(told(&spans), sorted(links(report.done().run())));
    assert_eq!(spans.all()[0].pick(["end", "error.type"]), ["answered", ""]);
}

/// The run that asks is told by the name of its conversation, whatever the caller made of that; a branch within a branch
/// was asked by the branch.
#[test]
fn the_asking_run_is_known_whatever_its_name() {
    let inner = Relay::builder()
        .agent(agent("billing"))
        .delegate("billing", Delegate::new("ask_archive", agent("archive")))
        .entry("billing");
    let relay = Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", Delegate::team("ask_billing", inner.build().unwrap()))
        .entry("supervisor")
        .build()
        .unwrap();
    let model = || {
        script([
            ("supervisor", calls([("ask_billing", question("Paid?"))])),
            ("billing", calls([("ask_archive", question("Kept?"))])),
            ("archive", says("Kept.")),
            ("billing", says("Paid.")),
            ("supervisor", says("Paid.")),
        ])
    };
    let long = "é/".repeat(1000);
    for name in ["c", "", "/", "//", "a/b", "/1/2/0", "1/1/0", "c/1/1/0/1/1", "a b\n/ü", &long] {
        let (_, spans) = Spans::of(|| ended(runner(model()).conversation(name).run(&relay, "hello")));
        let delegates = spans.named("delegate");
        let runs: Vec<_> = delegates.iter().map(|span| span.pick(["parent_run", "child_run"])).collect();
        let (outer, inner) = (format!("{name}/1/1/0"), format!("{name}/1/1/0/1/1/0"));
        assert_eq!(runs, [[name, &*outer], [&*outer, &*inner]], "{name:?}");
        let agents = spans.named("invoke_agent");
        let conversations: Vec<_> = agents.iter().map(|span| span.field("gen_ai.conversation.id")).collect();
        assert_eq!(conversations, [name, &*outer, &*inner], "{name:?}");
    }
}

/// S3-31: eight conversations at the same time, each with two branches at the same time, on one relay and one model. No
/// span of one stands in the trace of another.
#[test]
fn conversations_with_branches_keep_apart() {
    let (relay, model) = (supervised().build().unwrap(), two_at_once());
    let ((), spans) = Spans::of(|| {
        let dispatch = dispatcher::get_default(Clone::clone);
        std::thread::scope(|scope| {
            for n in 0..8 {
                let (relay, model, dispatch) = (&relay, &model, &dispatch);
                let run = move || ended(runner(model).conversation(format!("c-{n}")).run(relay, "hello"));
                scope.spawn(move || dispatcher::with_default(dispatch, run));
            }
        });
    });
    let all = spans.all();
    assert_eq!(all.len(), 8 * 15);
    for span in &all {
        let conversation = spans.conversation_of(span);
        assert!(conversation.starts_with("c-"), "{span:?}");
        for field in ["gen_ai.conversation.id", "parent_run", "child_run"] {
            let run = span.field(field);
            assert!(run.is_empty() || run.split('/').next() == Some(&*conversation), "{span:?}");
        }
    }
}

fn is_of(span: &Seen, agent: &str) -> bool {
    span.field("gen_ai.agent.name") == agent
}

/// A question within a branch that is called off before it was worked on has its span too, and no model is asked.
#[test]
fn a_question_that_is_called_off_at_once_has_its_span() {
    let inner = Relay::builder()
        .agent(agent("shipping"))
        .delegate("shipping", Delegate::new("ask_archive", agent("archive")))
        .entry("shipping");
    let relay = Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", Delegate::new("ask_billing", agent("billing")))
        .delegate("supervisor", Delegate::team("ask_shipping", inner.build().unwrap()))
        .on_failed_branch(OnFailedBranch::CallOff)
        .entry("supervisor")
        .build()
        .unwrap();
    let spans = Spans::default();
    // billing fails once shipping's model is asked, and shipping asks once billing's span has closed: too late.
    let until = |is_so: fn(&Spans) -> bool| {
        let (seen, since) = (spans.clone(), Instant::now());
        move || {
            while !is_so(&seen) {
                assert!(since.elapsed() < Duration::from_secs(60), "the other branch does not come that far");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    };
    let is_asked = until(|spans| spans.named("chat").iter().any(|chat| is_of(chat, "shipping")));
    let has_failed = until(|spans| {
        spans
            .named("delegate")
            .iter()
            .any(|span| span.field("gen_ai.tool.name") == "ask_billing" && span.closed)
    });
    let declines: Turn = Box::new(move |_| {
        is_asked();
        script::reply(Vec::new(), StopReason::Refusal)
    });
    let asks = calls([("ask_archive", question("Kept?"))]);
    let late: Turn = Box::new(move |request| {
        has_failed();
        asks(request)
    });
    let model = script([
        ("supervisor", both()),
        ("billing", declines),
        ("shipping", late),
        ("supervisor", says("Not today.")),
    ]);
    let dispatch = Dispatch::new(tracing_subscriber::registry().with(spans.clone()));
    let report =
        dispatcher::with_default(&dispatch, || ended(runner(&model).conversation("c").run(&relay, "hello")));
    let failed = |run: &str| [run.to_owned(), "failed".to_owned()];
    assert_eq!(told(&spans), ["c/1/1/0", "c/1/1/1", "c/1/1/1/1/1/0"].map(failed));
    assert_eq!(told(&spans), sorted(links(report.done().run())));
    let ends: Vec<_> = spans.named("delegate").iter().map(|span| span.field("end").to_owned()).collect();
    assert_eq!(ends, ["model_refused", "cancelled", "cancelled"]);
    assert_eq!(model.unused(), Vec::new());
}

/// A branch that had ended when its step was loaded is not asked again: the one that was left open is.
#[test]
fn a_loaded_branch_that_had_ended_has_no_span() {
    let relay = supervised().build().unwrap();
    let model = two_at_once();
    let mut step = relay.start("c", "hello").unwrap();
    for path in ["c", "c/1/1/1", "c/1/1/1", "c/1/1/1"] {
        let go_on = |relay: &Relay, step: Step| match step {
            Step::CallModel(call) => {
                let response = model.complete(call.request(relay));
                call.resume(relay, response, 1000)
            }
            Step::HandOff(handoff) => handoff.take(relay, 1000),
            step => step,
        };
        step = step.go_on_at(&relay, path, go_on).unwrap();
    }
    let loaded = relay.load(&step.save().unwrap()).unwrap();
    let (report, spans) = Spans::of(|| ended(runner(&model).drive(&relay, loaded)));
    assert_eq!(told(&spans), [["c/1/1/0".to_owned(), "done".to_owned()]]);
    let agents = spans.named("invoke_agent");
    let agents: Vec<_> = agents.iter().map(|span| span.field("gen_ai.agent.name")).collect();
    assert_eq!(agents, ["supervisor", "billing"]);
    assert_eq!((report.links().len(), report.answer()), (2, "Paid twice, and it waits."));
}

/// The tree is drawn the same whichever branch was faster.
#[test]
fn a_tree_of_branches_is_drawn_the_same_each_time() {
    let draw = || {
        let drawn = Drawn::default();
        let tree = sommelier_metrics::TreeLayer::new(drawn.clone()).with_times(false);
        let dispatch = Dispatch::new(tracing_subscriber::registry().with(tree));
        let relay = supervised().build().unwrap();
        dispatcher::with_default(&dispatch, || {
            ended(runner(two_at_once()).conversation("c").run(&relay, "hello"))
        });
        drawn.text()
    };
    let first = draw();
    let shape: Vec<&str> = first.lines().map(|line| line.split(" · ").next().unwrap()).collect();
    assert_eq!(
        shape,
        [
            "invoke_workflow",
            "└─ agent supervisor",
            "   ├─ chat concept (claude-sonnet-5)",
            "   ├─ delegate ask_billing done",
            "   │  └─ agent billing",
            "   │     ├─ chat concept (claude-sonnet-5)",
            "   │     ├─ tool look",
            "   │     └─ chat concept (claude-sonnet-5)",
            "   ├─ delegate ask_shipping done",
            "   │  ├─ agent shipping",
            "   │  │  ├─ chat concept (claude-sonnet-5)",
            "   │  │  └─ handoff 1",
            "   │  └─ agent customs",
            "   │     └─ chat concept (claude-sonnet-5)",
            "   └─ chat concept (claude-sonnet-5)",
        ]
    );
    for _ in 0..20 {
        assert_eq!(draw(), first);
    }
}

/// What was written, kept for the test.
#[derive(Clone, Default)]
struct Drawn(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl Drawn {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl std::io::Write for Drawn {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Whoever watches changes no run with branches either.
#[test]
fn a_run_with_branches_is_the_same_whether_it_is_watched_or_not() {
    let relay = supervised().build().unwrap();
    let run = || ended(runner(two_at_once()).conversation("c").run(&relay, "hello"));
    assert_eq!(run(), Spans::of(run).0);
}
