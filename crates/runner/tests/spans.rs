//! The spans of a run: their tree, their fields, and what is in none of them.

mod harness;

use harness::{
    Nothing, REQUEST, Spans, agent, calls, decisions, desk, ended, hands_to, house, relay, runner, says,
    script, team, to,
};
use sommelier_handoff::{Delegate, Guards, HANDOFF_TO_SPECIALIST, Relay, RunEnd, Step};
use sommelier_protocol::{ContentBlock, ModelRequest, ModelResponse, StopReason, ToolName, ToolUse, Usage};
use sommelier_runner::{Decision, Gate, TARGET, dispatch_parallel, run_agent_with_handoff};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Agent, AgentName, Model, ModelError, Remote, ScriptedModel, Tool};
use std::sync::Barrier;
use tracing::info_span;

const PAIR: &str = "booking_agent -> policy_agent";

/// S0-L05: the tree of the whole case as one value: names, parents, what follows from what, and every field.
#[test]
fn the_whole_case_is_one_tree() {
    let (report, spans) =
        Spans::of(|| ended(runner(decisions()).conversation("c").run(&desk(&house(500, 2000)), REQUEST)));
    let history = report.hops().next().unwrap().history_bytes;
    let chat = |agent: &str, finish: &str| {
        format!(
            "otel.name=chat claude-sonnet-5, otel.kind=internal, gen_ai.operation.name=chat, \
             gen_ai.conversation.id=c, gen_ai.provider.name=_other, gen_ai.request.model=claude-sonnet-5, gen_ai.request.max_tokens=1024, \
             gen_ai.agent.name={agent}, decision=concept (claude-sonnet-5), \
             gen_ai.response.model=claude-sonnet-5, gen_ai.response.finish_reasons={finish}, \
             gen_ai.usage.input_tokens=0, gen_ai.usage.output_tokens=0"
        )
    };
    let activation = |agent: &str, purpose: &str| {
        format!(
            "otel.name=invoke_agent {agent}, otel.kind=internal, gen_ai.operation.name=invoke_agent, \
             gen_ai.agent.name={agent}, gen_ai.agent.description={purpose}, gen_ai.conversation.id=c"
        )
    };
    let tool = |name: &str, description: &str, agent: &str| {
        format!(
            "otel.name=execute_tool {name}, otel.kind=internal, gen_ai.operation.name=execute_tool, \
             gen_ai.tool.name={name}, gen_ai.tool.type=function, gen_ai.tool.call.id=tu_1, \
             gen_ai.tool.description={description}, gen_ai.agent.name={agent}"
        )
    };
    let (books, knows) =
        ("quotes, books and cancels rooms", "answers questions about the rules from the policy documents");
    let quotes = "Tells what a room costs on a plan for a number of hours, in cents. Books nothing.";
    let finds = "Finds the policy documents that speak of a question, best first, at most three.";
    assert_eq!(
        spans.lines(),
        [
            "1 invoke_workflow: otel.name=invoke_workflow booking_agent, otel.kind=internal, \
             gen_ai.operation.name=invoke_workflow, gen_ai.workflow.name=booking_agent, gen_ai.agent.name=booking_agent, gen_ai.conversation.id=c, begins=true, \
             end=answered"
                .to_owned(),
            format!("2 invoke_agent in 1: {}", activation("booking_agent", books)),
            format!("3 chat in 2: {}", chat("booking_agent", "tool_use")),
            format!("4 execute_tool in 2: {}", tool("get_quote", quotes, "booking_agent")),
            format!("5 chat in 2: {}", chat("booking_agent", "tool_use")),
            format!(
                "6 handoff in 2: otel.name=execute_tool handoff_to_specialist policy_agent, otel.kind=internal, \
                 gen_ai.operation.name=execute_tool, gen_ai.tool.name=handoff_to_specialist, \
                 gen_ai.tool.type=function, gen_ai.tool.call.id=tu_2, gen_ai.agent.name=booking_agent, \
                 gen_ai.transfer.mode=pass_control, gen_ai.transfer.target.name=policy_agent, package_bytes=105, \
                 history_bytes={history}, outcome=taken, hop=1, hop_of_message=1"
            ),
            format!("7 invoke_agent in 1 after 6: {}", activation("policy_agent", knows)),
            format!("8 chat in 7: {}", chat("policy_agent", "tool_use")),
            format!("9 execute_tool in 7: {}", tool("search_docs", finds, "policy_agent")),
            format!("10 chat in 7: {}", chat("policy_agent", "end_turn")),
        ]
    );
}

/// A receiver, what became of the handoff, which guard refused, and with which error.
fn handoffs(spans: &Spans) -> Vec<[String; 4]> {
    let fields = ["gen_ai.transfer.target.name", "outcome", "refusal", "error.type"];
    spans.named("handoff").iter().map(|span| span.pick(fields).map(str::to_owned)).collect()
}

/// One span for each handoff that was asked for. A refused one has the guard and the error, under its sender.
#[test]
fn each_handoff_that_was_asked_for_has_a_span() {
    let model = script([
        ("booking_agent", hands_to("nobody")),
        (
            "booking_agent",
            calls([
                (HANDOFF_TO_SPECIALIST, to("booking_agent", "Go on.")),
                (HANDOFF_TO_SPECIALIST, to("policy_agent", "Go on.")),
                (HANDOFF_TO_SPECIALIST, to("policy_agent", "Go on.")),
                (HANDOFF_TO_SPECIALIST, to("policy_agent", "Go elsewhere.")),
            ]),
        ),
        ("policy_agent", says("Here you are.")),
    ]);
    let (report, spans) = Spans::of(|| ended(runner(&model).run(&relay(PAIR), "hello")));
    let refused = |to: &str, guard: &str, error: &str| [to, "refused", guard, error].map(str::to_owned);
    assert_eq!(
        handoffs(&spans),
        [
            refused("_other", "known", "unknown_specialist"),
            refused("booking_agent", "self", "self_handoff"),
            refused("policy_agent", "duplicate", "duplicate_handoff"),
            refused("policy_agent", "one_per_turn", "one_handoff_per_turn"),
            ["policy_agent", "taken", "", ""].map(str::to_owned),
        ]
    );
    assert_eq!(report.done().run().trail().hops().len(), 5);
    let all = spans.all();
    for handoff in spans.named("handoff") {
        assert_eq!(all[handoff.parent.unwrap()].pick(["otel.name"]), ["invoke_agent booking_agent"]);
    }
}

/// A refusal that ends the run is on the handoff and on the root.
#[test]
fn a_refusal_that_ends_the_run_is_on_the_root_too() {
    let strict = team(PAIR).guards(Guards::default().max_handoffs(0)).build().unwrap();
    let model = script([("booking_agent", hands_to("policy_agent"))]);
    let (_, spans) = Spans::of(|| ended(runner(&model).run(&strict, "hello")));
    let refused = ["policy_agent", "refused", "cap", "handoff_limit_exceeded"].map(str::to_owned);
    assert_eq!(handoffs(&spans), [refused]);
    assert_eq!(spans.all()[0].pick(["end", "error.type"]), ["hop_limit", "hop_limit"]);
}

/// A step that was loaded may have changed meanwhile: what its handoff came to is what its span says.
#[test]
fn a_handoff_that_falls_away_at_its_taking_says_so() {
    let routes = sommelier_handoff::Route::new("booking_agent", "policy_agent").requires(["look"]);
    let builder = Relay::builder().agent(agent("booking_agent")).agent(agent("policy_agent"));
    let builder = builder.agent(agent("pricing_agent")).entry("booking_agent").route_with(routes);
    let relay = builder.route("booking_agent", "pricing_agent").build().unwrap();
    let model = script([
        (
            "booking_agent",
            calls([
                (HANDOFF_TO_SPECIALIST, to("nobody", "Go on.")),
                (HANDOFF_TO_SPECIALIST, to("policy_agent", "Go on.")),
                (HANDOFF_TO_SPECIALIST, to("pricing_agent", "Go on.")),
            ]),
        ),
        ("pricing_agent", says("Here you are.")),
    ]);
    let Step::CallModel(call) = relay.start("c", "hello").unwrap() else {
        panic!("the model is asked first")
    };
    let response = model.complete(call.request(&relay));
    let ruled = call.resume(&relay, response, 1000);
    let step = ruled.switch_off(AgentName::new("policy_agent").unwrap(), ToolName::new("look").unwrap());

    let (report, spans) = Spans::of(|| ended(runner(&model).drive(&relay, step)));
    assert_eq!(report.answer(), "Here you are.");
    assert_eq!(
        handoffs(&spans),
        [
            ["policy_agent", "refused", "ready", "target_not_ready"].map(str::to_owned),
            ["pricing_agent", "taken", "", ""].map(str::to_owned),
        ]
    );
}

/// 5.4-L04: a handoff that is taken out of its relay ends the trace, and is no error.
#[test]
fn a_handoff_that_is_taken_out_ends_its_root() {
    let model = script([("booking_agent", hands_to("policy_agent"))]);
    let (_, spans) = Spans::of(|| {
        run_agent_with_handoff(&runner(&model), &relay(PAIR), "booking_agent", "hello").unwrap()
    });
    let names: Vec<&str> = spans.all().iter().map(|span| span.name).collect();
    assert_eq!(names, ["invoke_workflow", "invoke_agent", "chat", "handoff"]);
    assert_eq!(handoffs(&spans), [["policy_agent", "taken_out", "", ""].map(str::to_owned)]);
    assert_eq!(spans.all()[0].pick(["end", "error.type"]), ["handed_off", ""]);
}

/// Each message of the user is a trace of its own; the agent that goes on follows from no handoff.
#[test]
fn each_message_of_the_user_is_a_trace() {
    let model = script([
        ("booking_agent", hands_to("policy_agent")),
        ("policy_agent", says("Yes.")),
        ("policy_agent", says("No.")),
    ]);
    let (runner, relay) = (runner(&model).conversation("c"), relay(PAIR));
    let (_, spans) = Spans::of(|| {
        let report = ended(runner.run(&relay, "hello"));
        ended(runner.go_on(&relay, report.into_done(), "And then?"))
    });
    let roots: Vec<_> = spans.all().into_iter().filter(|span| span.parent.is_none()).collect();
    let fields = ["otel.name", "gen_ai.conversation.id", "end"];
    let roots: Vec<_> = roots.iter().map(|root| root.pick(fields)).collect();
    assert_eq!(
        roots,
        [
            ["invoke_workflow booking_agent", "c", "answered"],
            ["invoke_workflow policy_agent", "c", "answered"]
        ]
    );
    assert_eq!(spans.named("invoke_agent").last().unwrap().follows, Vec::<usize>::new());
}

/// The caller's name for the trace stands on each root, and nowhere else.
#[test]
fn a_root_has_the_callers_name_for_its_trace() {
    let model = script([("booking_agent", hands_to("policy_agent")), ("policy_agent", says("Yes."))]);
    let named = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let (_, spans) = Spans::of(|| ended(runner(&model).trace(named).run(&relay(PAIR), "hello")));
    let spans = spans.all();
    assert_eq!(spans[0].field("trace"), named);
    assert_eq!(spans[1..].iter().map(|span| span.field("trace")).collect::<String>(), "");
}

/// A trace is a root also where the caller has a span of its own.
#[test]
fn a_run_inside_a_span_of_the_callers_is_its_own_root() {
    let model = script([("booking_agent", says("Yes."))]);
    let ((), spans) = Spans::of(|| {
        let _mine = info_span!("mine").entered();
        ended(runner(&model).run(&relay(PAIR), "hello"));
    });
    assert_eq!(spans.named("invoke_workflow")[0].parent, None);
    assert_eq!(spans.named("invoke_agent")[0].parent, Some(1));
}

/// The end stands on the root whatever it is, and as an error where it is no answer.
#[test]
fn the_end_is_on_the_root() {
    let limited = || {
        let builder =
            Relay::builder().agent(agent("booking_agent").max_steps(1)).agent(agent("policy_agent"));
        builder.entry("booking_agent").route("booking_agent", "policy_agent").build().unwrap()
    };
    let stopped = |stop: StopReason| -> harness::Turn {
        Box::new(move |_| sommelier_runtime::script::reply(vec![ContentBlock::text("So")], stop.clone()))
    };
    let end = |turn: harness::Turn| {
        let model = script([("booking_agent", turn)]);
        let (_, spans) = Spans::of(|| ended(runner(&model).run(&limited(), "hello")));
        spans.all()[0].pick(["end", "error.type"]).map(str::to_owned)
    };
    assert_eq!(end(says("Yes.")), ["answered", ""]);
    assert_eq!(end(says("policy_agent will see to it.")), ["unresolved"; 2]);
    assert_eq!(end(calls([("fail", "{}")])), ["turn_limit"; 2]);
    assert_eq!(end(stopped(StopReason::MaxTokens)), ["truncated"; 2]);
    assert_eq!(end(stopped(StopReason::Refusal)), ["model_refused"; 2]);
    assert_eq!(end(stopped(StopReason::Other("tired".into()))), ["unknown_stop"; 2]);
}

/// A model with figures of its own.
struct Live(Result<ModelResponse, ModelError>);

impl Model for Live {
    fn complete(&self, _: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        self.0.clone()
    }

    fn provider(&self) -> &str {
        "anthropic"
    }
}

/// What a live model tells of its reply is on its span; it has no label, so there is no decision.
#[test]
fn a_model_call_has_provider_tokens_and_id() {
    let mut reply = sommelier_runtime::script::say("Yes.");
    reply.id = "msg_1".into();
    reply.model = "claude-sonnet-5-20260101".into();
    reply.usage = Usage::new(12, 4);
    reply.usage.cache_read_input_tokens = Some(30);
    reply.usage.cache_creation_input_tokens = Some(7);
    let (_, spans) = Spans::of(|| ended(runner(Live(Ok(reply))).run(&relay(PAIR), "hello")));
    let fields = ["gen_ai.provider.name", "gen_ai.response.id", "gen_ai.response.model", "decision"];
    let chat = &spans.named("chat")[0];
    assert_eq!(chat.pick(fields), ["anthropic", "msg_1", "claude-sonnet-5-20260101", ""]);
    let usage = ["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"];
    let cache = ["gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_write.input_tokens"];
    assert_eq!((chat.pick(usage), chat.pick(cache)), (["49", "4"], ["30", "7"]));
    assert_eq!(chat.pick(["otel.kind"]), ["client"]);
}

/// What a service or a tool writes at length does not fill a trace: an odd stop reason is `_other`, ids, names and
/// codes are cut.
#[test]
fn what_comes_from_outside_is_cut() {
    let long = "x".repeat(1_000_000);
    let mut reply = sommelier_runtime::script::say("Yes.");
    reply.stop_reason = Some(StopReason::Other(long.clone().into()));
    reply.id = long.clone().into();
    reply.model = long.into();
    let (_, spans) = Spans::of(|| ended(runner(Live(Ok(reply))).run(&relay(PAIR), "hello")));
    let chat = &spans.named("chat")[0];
    let (cut, fields) = ("x".repeat(64), ["gen_ai.response.id", "gen_ai.response.model"]);
    assert_eq!(chat.pick(fields), [&*cut, &*cut]);
    assert_eq!(chat.pick(["gen_ai.response.finish_reasons"]), ["_other"]);
}

/// Where a model is asked over a network, and how, is on its calls as the conventions want it.
#[test]
fn a_model_call_has_its_server_and_whether_it_is_streamed() {
    struct Remotely(bool);
    impl Model for Remotely {
        fn complete(&self, _: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
            Ok(sommelier_runtime::script::say("Yes."))
        }

        fn remote(&self) -> Option<Remote<'_>> {
            Some(Remote { address: "models.example", port: 8443, is_streamed: self.0 })
        }
    }
    for (is_streamed, told) in [(false, ""), (true, "true")] {
        let (_, spans) = Spans::of(|| ended(runner(Remotely(is_streamed)).run(&relay(PAIR), "hello")));
        let fields = ["server.address", "server.port", "gen_ai.request.stream"];
        assert_eq!(spans.named("chat")[0].pick(fields), ["models.example", "8443", told]);
    }
}

/// A model call that brought no reply has the status that the service answered by, or else the kind of its error. The agent that
/// has asked has the run's end, and so has the root.
#[test]
fn a_failed_model_call_has_its_error() {
    let error = |model: Box<dyn Model>| {
        let (report, spans) = Spans::of(|| ended(runner(model).run(&relay(PAIR), "hello")));
        assert!(matches!(report.end(), RunEnd::Failed { .. }));
        assert_eq!(spans.all()[0].pick(["end", "error.type"]), ["failed"; 2]);
        let status = |name: &str| spans.named(name)[0].pick(["otel.status_code"]).map(str::to_owned);
        assert_eq!(["invoke_workflow", "invoke_agent", "chat"].map(status), [["ERROR"]; 3]);
        assert_eq!(spans.named("invoke_agent")[0].pick(["error.type"]), ["failed"]);
        spans.named("chat")[0].pick(["error.type", "gen_ai.response.model"]).map(str::to_owned)
    };
    let service = ModelError::Service { status: 529, detail: "overloaded".to_owned() };
    assert_eq!(error(Box::new(ScriptedModel::new())), ["no_script", ""]);
    assert_eq!(error(Box::new(Live(Err(service.clone())))), ["529", ""]);
    assert_eq!(error(Box::new(Live(Err(service.charged(12, 0))))), ["529", ""]);
}

/// A tool that waits until all calls of the reply are in it, under a span of its own.
fn meet(calls: usize) -> Tool {
    let meeting = Barrier::new(calls);
    Tool::new("meet", "Waits for all.", move |_: Nothing, context: &CallContext<'_>| {
        let inside = info_span!("inside", call = context.call_id);
        let _inside = inside.entered();
        meeting.wait();
        Ok::<_, Failure>(())
    })
}

/// S0-14: tools on threads of their own have their spans under their agent, and are the current span of their work.
#[test]
fn tools_on_parallel_threads_have_their_parents() {
    let relay =
        Relay::builder().agent(Agent::new("clerk", "").tools([meet(8)])).entry("clerk").build().unwrap();
    let model = script([("clerk", calls([("meet", "{}"); 8])), ("clerk", says("All met."))]);
    let (_, spans) = Spans::of(|| ended(runner(&model).run(&relay, "hello")));
    let all = spans.all();
    let mut pairs: Vec<[&str; 3]> = all
        .iter()
        .filter(|span| span.name == "inside")
        .map(|inside| {
            let tool = &all[inside.parent.unwrap()];
            let agent = &all[tool.parent.unwrap()];
            [inside.field("call"), tool.field("gen_ai.tool.call.id"), agent.field("otel.name")]
        })
        .collect();
    pairs.sort_unstable();
    let ids: Vec<String> = (0..8).map(|n| format!("tu_1_{n}")).collect();
    assert_eq!(pairs, ids.iter().map(|id| [id.as_str(), id, "invoke_agent clerk"]).collect::<Vec<_>>());
}

/// S0-14: by hand, the tools stand under the current span.
#[test]
fn tools_run_by_hand_stand_under_the_current_span() {
    let clerk = Agent::new("clerk", "").tools([meet(2)]).build().unwrap();
    let calls = ["a", "b"].map(|id| ToolUse::scripted(id, "meet", "{}"));
    let (_, spans) = Spans::of(|| {
        let _mine = info_span!("mine").entered();
        dispatch_parallel(&clerk, calls.iter().enumerate(), "test/1", &Gate::default())
    });
    assert_eq!(spans.named("execute_tool").iter().map(|tool| tool.parent).collect::<Vec<_>>(), [Some(0); 2]);
}

/// A tool that failed, was denied or broke down has its error's code; one that worked has none.
#[test]
fn a_failed_tool_has_its_error() {
    let boom = Tool::new("boom", "Breaks.", |_: Nothing, _: &CallContext<'_>| -> Result<(), Failure> {
        panic!("boom")
    });
    let launch = Tool::new("launch", "Starts.", |_: Nothing, _: &CallContext<'_>| Ok::<_, Failure>(()));
    let relay = Relay::builder()
        .agent(agent("clerk").tools([boom, launch.needs_approval()]))
        .entry("clerk")
        .build()
        .unwrap();
    let wanted = [
        ("look", r#"{"word":"tea"}"#),
        ("look", r#"{"words":"tea"}"#),
        ("fail", "{}"),
        ("boom", "{}"),
        ("launch", "{}"),
    ];
    let model = script([("clerk", calls(wanted)), ("clerk", says("Done."))]);
    let (_, spans) = Spans::of(|| ended(runner(&model).run(&relay, "hello")));
    let tools = spans.named("execute_tool");
    let mut tools: Vec<_> =
        tools.iter().map(|tool| tool.pick(["gen_ai.tool.call.id", "error.type"])).collect();
    tools.sort_unstable();
    assert_eq!(
        tools,
        [
            ["tu_1_0", ""],
            ["tu_1_1", "invalid_arguments"],
            ["tu_1_2", "no_luck"],
            ["tu_1_3", "panic"],
            ["tu_1_4", "approval_denied"],
        ]
    );
}

const MARKER: &str = "ZANZIBAR";

/// What an author says of an agent and of a tool is in their spans, as the conventions want it: as it was written, but no
/// more of it than a line. Where nothing was said, there is nothing.
#[test]
fn what_an_author_says_of_an_agent_and_of_a_tool_is_in_their_spans() {
    let long = "ü".repeat(300);
    let told = |text: &str, name: &'static str| {
        Tool::new(name, text, |_: harness::Look, _: &CallContext<'_>| Ok::<_, Failure>("found"))
    };
    let tools = [told("  Looks a word up.\n", "looks"), told(" ", "silent"), told(&long, "chatty")];
    let booking = Agent::new("booking_agent", "Book.").purpose("  books rooms ").tools(tools);
    let policy = Agent::new("policy_agent", "Know.").purpose(&*long);
    let pricing = Agent::new("pricing_agent", "Price.");
    let builder = Relay::builder().agent(booking).agent(policy).agent(pricing).entry("booking_agent");
    let builder = builder.route("booking_agent", "policy_agent").route("policy_agent", "pricing_agent");
    let relay = builder.build().unwrap();
    let model = script([
        ("booking_agent", calls(["looks", "silent", "chatty"].map(|tool| (tool, r#"{"word":"a"}"#)))),
        ("booking_agent", hands_to("policy_agent")),
        ("policy_agent", hands_to("pricing_agent")),
        ("pricing_agent", says("Here you are.")),
    ]);
    let (_, spans) = Spans::of(|| ended(runner(&model).run(&relay, "hello")));
    let said = |span: &str, of: &'static str, what: &'static str| {
        spans.named(span).iter().map(|span| span.pick([of, what]).map(str::to_owned)).collect::<Vec<_>>()
    };
    let first = "ü".repeat(256);
    assert_eq!(
        said("invoke_agent", "gen_ai.agent.name", "gen_ai.agent.description"),
        [["booking_agent", "books rooms"], ["policy_agent", &first], ["pricing_agent", ""]]
            .map(|pair| pair.map(str::to_owned))
    );
    let mut tools = said("execute_tool", "gen_ai.tool.name", "gen_ai.tool.description");
    tools.sort();
    assert_eq!(
        tools,
        [["chatty", &first], ["looks", "Looks a word up."], ["silent", ""]]
            .map(|pair| pair.map(str::to_owned))
    );
}

/// The design's word: no text of a conversation, no argument and no result is in any span, nor what agents are instructed
/// to do. A marker stands in all of them.
#[test]
fn no_text_argument_or_result_is_in_a_span() {
    let marked = |name: &'static str| {
        Tool::new(name, "A tool.", |_: harness::Look, _: &CallContext<'_>| Ok::<_, Failure>(MARKER))
    };
    let fails =
        Tool::new("fails", "A tool.", |_: harness::Look, _: &CallContext<'_>| -> Result<(), Failure> {
            Err(Failure::new("no_luck", MARKER))
        });
    let boom = Tool::new("boom", "A tool.", |_: harness::Look, _: &CallContext<'_>| -> Result<(), Failure> {
        panic!("{MARKER}")
    });
    let tools = [marked("works"), marked("gated").needs_approval(), fails, boom];
    let booking = Agent::new("booking_agent", MARKER).label(MARKER).purpose("books rooms").tools(tools);
    let policy = Agent::new("policy_agent", MARKER);
    let clerk = Delegate::new("ask_clerk", Agent::new("clerk", MARKER)).purpose(MARKER);
    let late = Delegate::new("ask_late", Agent::new("late", MARKER)).after("ask_clerk");
    let builder = Relay::builder().agent(booking).agent(policy).entry("booking_agent");
    let builder = builder.delegate("policy_agent", clerk).delegate("policy_agent", late);
    let relay = builder.route("booking_agent", "policy_agent").build().unwrap();

    let look = format!(r#"{{"word":"{MARKER}"}}"#);
    let wrong = format!(r#"{{"{MARKER}":"{MARKER}"}}"#);
    let broken = format!(r#"{{"{MARKER}"#);
    let package = format!(
        r#"{{"specialist":"policy_agent","task":"{MARKER}","context":{{"{MARKER}":"{MARKER}"}},"artifacts":{{"a":"{MARKER}"}}}}"#
    );
    let tools = ["works", "works", "works", "gated", "fails", "boom", MARKER];
    let arguments = [&look, &wrong, &broken, &look, &look, &look, &look];
    let turn = |wanted: Vec<(&'static str, String)>| -> harness::Turn {
        let inner = calls(wanted);
        Box::new(move |request| {
            let mut reply = inner(request);
            reply.content.insert(0, ContentBlock::text(MARKER));
            reply
        })
    };
    let model = script([
        ("booking_agent", turn(tools.into_iter().zip(arguments.map(String::clone)).collect())),
        (
            "booking_agent",
            turn(vec![
                (HANDOFF_TO_SPECIALIST, to("zanzibar", MARKER)),
                (HANDOFF_TO_SPECIALIST, to(&format!("{MARKER} {MARKER}"), MARKER)),
                (HANDOFF_TO_SPECIALIST, to("booking_agent", MARKER)),
                (HANDOFF_TO_SPECIALIST, broken.clone()),
                (HANDOFF_TO_SPECIALIST, format!(r#"{{"specialist":"policy_agent","{MARKER}":1}}"#)),
            ]),
        ),
        ("booking_agent", turn(vec![(HANDOFF_TO_SPECIALIST, package)])),
        (
            "policy_agent",
            turn(vec![
                ("ask_clerk", format!(r#"{{"question":"{MARKER}","context":{{"{MARKER}":"{MARKER}"}}}}"#)),
                ("ask_clerk", format!(r#"{{"question":"{MARKER}","{MARKER}":1}}"#)),
                ("ask_clerk", broken.clone()),
                ("ask_late", format!(r#"{{"question":"{MARKER}"}}"#)),
            ]),
        ),
        ("clerk", says(MARKER)),
        ("policy_agent", says(MARKER)),
    ]);
    let gate = Gate::new(|_| Decision::Deny { reason: MARKER.to_owned() });
    let (report, spans) = Spans::of(|| {
        let report = ended(runner(&model).gate(gate).run(&relay, MARKER));
        let detail = MARKER.to_owned();
        for error in [
            ModelError::Unreachable { detail: detail.clone() },
            ModelError::Service { status: 500, detail: detail.clone() },
            ModelError::Malformed { detail },
        ] {
            ended(runner(Live(Err(error))).run(&relay, MARKER));
        }
        report
    });
    assert_eq!((report.answer(), report.model_calls(), report.refusals().count()), (MARKER, 6, 5));
    assert_eq!(
        harness::links(report.done().run()).iter().map(|[_, status]| status.as_str()).collect::<Vec<_>>(),
        ["refused", "refused", "refused", "done"]
    );
    assert_eq!(spans.all().len(), 35, "{:#?}", spans.lines());
    for line in spans.lines() {
        assert!(!line.to_uppercase().contains(MARKER), "{line}");
    }
}

/// Whoever watches changes no run. What is watched stands under one target, which the layers know too.
#[test]
fn a_run_is_the_same_whether_it_is_watched_or_not() {
    assert_eq!((TARGET, sommelier_metrics::names::TARGET), ("sommelier", TARGET));
    let run = || ended(runner(decisions()).conversation("c").run(&desk(&house(500, 2000)), REQUEST));
    assert_eq!(run(), Spans::of(run).0);
}
