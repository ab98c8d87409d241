//! The layer that counts, over real runs: its numbers are those of the run's own report.

mod harness;

use harness::{
    REQUEST, Turn, agent, awake, calls, decisions, desk, ended, hands_to, house, question, relay, runner,
    says, script, supervised, team, to,
};
use sommelier_handoff::{Cost, Guards, HANDOFF_TO_SPECIALIST, Relay, Route, Step};
use sommelier_metrics::{
    Constraints, DelegateUse, Delegations, Handoffs, Hop, Link, Metrics, ModelCalls, ModelUse, Report,
    ToolRuns, ToolUse, Workflows,
};
use sommelier_protocol::{ToolName, Usage};
use sommelier_runner::{RunError, run_agent_with_handoff};
use sommelier_runtime::{AgentName, ScriptedModel};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use tracing::{Dispatch, dispatcher};
use tracing_subscriber::layer::SubscriberExt;

/// Does `work` while it is counted.
fn counted<T>(work: impl FnOnce(&Dispatch) -> T) -> (T, Report) {
    awake();
    let metrics = Metrics::new();
    let dispatch = Dispatch::new(tracing_subscriber::registry().with(metrics.layer()));
    let done = dispatcher::with_default(&dispatch, || work(&dispatch));
    (done, metrics.report().without_times())
}

fn table<V>(rows: impl IntoIterator<Item = (&'static str, V)>) -> BTreeMap<String, V> {
    rows.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn used(calls: u64, failed: u64) -> ModelUse {
    ModelUse { calls, failed, ..ModelUse::default() }
}

/// The report of so many running cases.
fn of_running_cases(n: u64, history_bytes: u64) -> Report {
    let hop = Hop {
        number: 1,
        from: "booking_agent".to_owned(),
        to: "policy_agent".to_owned(),
        package_bytes: 105,
        history_bytes,
        transfer_us: 0,
        first_chat_us: Some(0),
    };
    let runs = |runs| ToolUse { runs, failed: 0 };
    Report {
        workflows: Workflows { closed: n, conversations: n, by_end: table([("answered", n)]) },
        model: ModelCalls {
            total: used(4 * n, 0),
            by_agent: table([("booking_agent", used(2 * n, 0)), ("policy_agent", used(2 * n, 0))]),
        },
        tools: ToolRuns {
            total: runs(2 * n),
            by_tool: table([("get_quote", runs(n)), ("search_docs", runs(n))]),
            errors: BTreeMap::new(),
        },
        handoffs: Handoffs {
            asked: n,
            taken: n,
            bytes_crossing: 105 * n,
            bytes_left_behind: history_bytes * n,
            hops: (0..n).map(|_| hop.clone()).collect(),
            ..Handoffs::default()
        },
        delegations: Delegations::default(),
        spent: BTreeMap::new(),
    }
}

/// The whole report of the running case, and that its numbers are the run's own.
#[test]
fn the_running_case_is_counted() {
    let (report, counts) = counted(|_| ended(runner(decisions()).run(&desk(&house(500, 2000)), REQUEST)));
    let hop = report.hops().next().unwrap();
    assert_eq!(counts, of_running_cases(1, hop.history_bytes as u64));
    assert_eq!(
        (counts.model.total.calls, counts.tools.total.runs, counts.handoffs.bytes_crossing),
        (report.model_calls().into(), report.tool_calls().into(), hop.package_bytes as u64)
    );
}

/// R2: what a package has by reference is counted apart from what crosses, which is the reference.
#[test]
fn what_stands_by_reference_is_counted() {
    let team = Relay::builder().agent(agent("a")).agent(agent("b")).entry("a");
    let relay = team.route_with(Route::new("a", "b").references()).build().unwrap();
    let look = format!(r#"{{"word":"{}"}}"#, "w".repeat(600));
    let hands =
        r#"{"specialist":"b","task":"Go on.","context":{},"artifacts":{"found":{"$result_of":"look"}}}"#;
    let model = script([
        ("a", calls([("look", look), (HANDOFF_TO_SPECIALIST, hands.to_owned())])),
        ("b", calls([("read_artifact", r#"{"name":"found"}"#)])),
        ("b", says("Done.")),
    ]);
    let (report, counts) = counted(|_| ended(runner(&model).run(&relay, "hello")));
    let handoffs = &counts.handoffs;
    let crossing = report.hops().next().unwrap().package_bytes as u64;
    assert_eq!((handoffs.bytes_crossing, handoffs.bytes_by_reference), (crossing, 602));
    assert!(crossing < 150, "{crossing} bytes cross");
    assert!(counts.to_string().ends_with("\nbytes by reference  602"), "{counts}");
}

/// Eight threads at once, on one runner and one relay, lose no count.
#[test]
fn eight_threads_at_once_are_counted() {
    let (runner, relay) = (runner(decisions()), desk(&house(500, 2000)));
    let start = Barrier::new(8);
    let (histories, counts) = counted(|dispatch| {
        std::thread::scope(|scope| {
            let run = || {
                start.wait();
                dispatcher::with_default(dispatch, || ended(runner.run(&relay, REQUEST)))
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(run)).collect();
            let reports = threads.into_iter().map(|thread| thread.join().unwrap());
            reports.map(|report| report.hops().next().unwrap().history_bytes as u64).collect::<Vec<_>>()
        })
    });
    assert_eq!(histories, [histories[0]; 8]);
    assert_eq!(counts, of_running_cases(8, histories[0]));
}

/// A run with a refusal of every kind, each counted under its guard.
#[test]
fn refusals_are_counted_by_guard() {
    let three = ["booking_agent", "policy_agent", "pricing_agent"].map(agent);
    let builder = three.into_iter().fold(Relay::builder().entry("booking_agent"), |all, one| all.agent(one));
    let builder = builder
        .route_with(Route::new("booking_agent", "policy_agent"))
        .route_with(Route::new("booking_agent", "pricing_agent").requires(["look"]))
        .route("policy_agent", "booking_agent");
    let relay = builder.guards(Guards::default().max_handoffs(2)).build().unwrap();
    let model = script([
        (
            "booking_agent",
            calls([
                (HANDOFF_TO_SPECIALIST, to("nobody", "Go on.")),
                (HANDOFF_TO_SPECIALIST, to("booking_agent", "Go on.")),
                (HANDOFF_TO_SPECIALIST, to("policy_agent", "")),
                (HANDOFF_TO_SPECIALIST, to("pricing_agent", "Go on.")),
                (HANDOFF_TO_SPECIALIST, to("policy_agent", "Go on.")),
                (HANDOFF_TO_SPECIALIST, to("policy_agent", "Go on.")),
                (HANDOFF_TO_SPECIALIST, to("policy_agent", "Go elsewhere.")),
            ]),
        ),
        (
            "policy_agent",
            calls([
                (HANDOFF_TO_SPECIALIST, to("pricing_agent", "Go on.")),
                (HANDOFF_TO_SPECIALIST, to("booking_agent", "Go on.")),
            ]),
        ),
        ("booking_agent", hands_to("policy_agent")),
    ]);
    let off = (AgentName::new("pricing_agent").unwrap(), ToolName::new("look").unwrap());
    let step = relay.start("c", "hello").unwrap().switch_off(off.0, off.1);
    let (report, counts) = counted(|_| ended(runner(&model).drive(&relay, step)));

    let hop = |hop: &sommelier_handoff::Hop| Hop {
        number: if hop.from.as_str() == "booking_agent" { 1 } else { 2 },
        from: hop.from.to_string(),
        to: hop.to.to_string(),
        package_bytes: hop.package_bytes as u64,
        history_bytes: hop.history_bytes as u64,
        transfer_us: 0,
        first_chat_us: Some(0),
    };
    let taken: Vec<Hop> = report.hops().map(hop).collect();
    assert_eq!(
        counts,
        Report {
            workflows: Workflows { closed: 1, conversations: 1, by_end: table([("hop_limit", 1)]) },
            model: ModelCalls {
                total: used(3, 0),
                by_agent: table([("booking_agent", used(2, 0)), ("policy_agent", used(1, 0))]),
            },
            tools: ToolRuns::default(),
            handoffs: Handoffs {
                asked: 10,
                taken: 2,
                again: 1,
                refused: 8,
                unwritten: 0,
                bytes_crossing: taken.iter().map(|hop| hop.package_bytes).sum(),
                bytes_left_behind: taken.iter().map(|hop| hop.history_bytes).sum(),
                bytes_by_reference: 0,
                hops: taken,
                hops_unlisted: 0,
                constraints: Constraints::default(),
                refusals: table([
                    ("cap", 1),
                    ("duplicate", 1),
                    ("known", 1),
                    ("one_per_turn", 1),
                    ("package", 1),
                    ("ready", 1),
                    ("route", 1),
                    ("self", 1),
                ]),
            },
            delegations: Delegations::default(),
            spent: BTreeMap::new(),
        }
    );
    let told: u64 = counts.handoffs.refusals.values().sum();
    assert_eq!((report.refusals().count() as u64, report.hops().count()), (told, 2));
}

/// Ping-pong is refused by the pair, and the run ends with it.
#[test]
fn a_repeated_pair_is_counted() {
    let model = script([
        ("booking_agent", hands_to("policy_agent")),
        ("policy_agent", hands_to("booking_agent")),
        ("booking_agent", hands_to("policy_agent")),
    ]);
    let relay = team("booking_agent -> policy_agent, policy_agent -> booking_agent").build().unwrap();
    let (_, counts) = counted(|_| ended(runner(&model).run(&relay, "hello")));
    assert_eq!(counts.workflows.by_end, table([("handoff_refused", 1)]));
    assert_eq!((counts.handoffs.taken, counts.handoffs.refusals), (2, table([("pair", 1)])));
}

/// Tools that failed are counted by their code, and a model call that failed as such.
#[test]
fn failures_are_counted() {
    let wanted = [("look", r#"{"word":"tea"}"#), ("look", "{}"), ("fail", "{}")];
    let model = script([("booking_agent", calls(wanted))]);
    let (report, counts) =
        counted(|_| ended(runner(&model).run(&relay("booking_agent -> policy_agent"), "hello")));
    let runs = |runs, failed| ToolUse { runs, failed };
    assert_eq!(
        counts,
        Report {
            workflows: Workflows { closed: 1, conversations: 1, by_end: table([("failed", 1)]) },
            model: ModelCalls { total: used(2, 1), by_agent: table([("booking_agent", used(2, 1))]) },
            tools: ToolRuns {
                total: runs(3, 2),
                by_tool: table([("fail", runs(1, 1)), ("look", runs(2, 1))]),
                errors: table([("invalid_arguments", 1), ("no_luck", 1)]),
            },
            handoffs: Handoffs::default(),
            delegations: Delegations::default(),
            spent: BTreeMap::new(),
        }
    );
    assert_eq!((u64::from(report.model_calls()), u64::from(report.tool_calls())), (2 - 1, 3));
}

/// A handoff that was taken out of its relay was asked for, and neither taken nor refused.
#[test]
fn a_handoff_that_is_taken_out_is_only_asked_for() {
    let model: ScriptedModel = script([("booking_agent", hands_to("policy_agent"))]);
    let relay = relay("booking_agent -> policy_agent");
    let (_, counts) =
        counted(|_| run_agent_with_handoff(&runner(&model), &relay, "booking_agent", "hello").unwrap());
    assert_eq!(
        counts,
        Report {
            workflows: Workflows { closed: 1, conversations: 1, by_end: table([("handed_off", 1)]) },
            model: ModelCalls { total: used(1, 0), by_agent: table([("booking_agent", used(1, 0))]) },
            tools: ToolRuns::default(),
            handoffs: Handoffs { asked: 1, ..Handoffs::default() },
            delegations: Delegations::default(),
            spent: BTreeMap::new(),
        }
    );
}

/// A run that a saved step begins is counted from there on.
#[test]
fn a_loaded_step_is_counted_from_there_on() {
    let relay = desk(&house(500, 2000));
    let model = decisions();
    let mut step = relay.start("c", REQUEST).unwrap();
    while !matches!(step, Step::HandOff(_)) {
        step = match step {
            Step::CallModel(call) => {
                let response = sommelier_runtime::Model::complete(&model, call.request(&relay));
                call.resume(&relay, response, 0)
            }
            Step::CallTools(calls) => {
                let agent = calls.agent(&relay).unwrap();
                let outputs = sommelier_runtime::tool::dispatch(agent, calls.calls(), &calls.scope());
                calls.resume(&relay, outputs, 0).unwrap()
            }
            step => step,
        };
    }
    let loaded = relay.load(&step.save().unwrap()).unwrap();
    let (report, counts) = counted(|_| ended(runner(&model).drive(&relay, loaded)));
    assert_eq!((report.model_calls(), counts.model.total.calls), (4, 2));
    assert_eq!((counts.handoffs.taken, counts.handoffs.bytes_crossing), (1, 105));
}

/// A turn that costs so many tokens read.
fn costing(tokens: u64, turn: Turn) -> Turn {
    Box::new(move |request| {
        let mut reply = turn(request);
        reply.usage = Usage::new(tokens, 1);
        reply
    })
}

/// A supervisor that asks two at the same time; one of them hands over, and a third question is not valid.
fn two_at_once() -> ScriptedModel {
    let asked = [
        ("ask_billing", question("Paid?")),
        ("ask_shipping", question("Where?")),
        ("ask_billing", to("x", "y")),
    ];
    script([
        ("supervisor", costing(4, calls(asked))),
        ("billing", costing(12, calls([("look", r#"{"word":"INV-311"}"#)]))),
        ("billing", costing(8, says("Paid twice."))),
        ("shipping", costing(3, hands_to("customs"))),
        ("customs", costing(2, says("It waits for a form."))),
        ("supervisor", costing(6, says("Paid twice, and it waits."))),
    ])
}

/// S3-11: what branches did is counted as a whole value: the questions, the bytes that crossed, who asked whom and what
/// came of it. The numbers are those of the run's own links.
#[test]
fn delegations_are_counted() {
    let relay = supervised().build().unwrap();
    let (report, counts) = counted(|_| ended(runner(two_at_once()).conversation("c").run(&relay, "hello")));
    let mut links = report.links().to_vec();
    links.sort_by(|one, other| one.id.cmp(&other.id));
    let bytes: Vec<u64> = links.iter().map(|link| link.package_bytes as u64).collect();
    let row = |place: usize, to: Option<&str>, status: &str, error: Option<&str>, steps_used| Link {
        parent_run: "c".to_owned(),
        child_run: links[place].id.to_string(),
        from: "supervisor".to_owned(),
        tool: links[place].tool.to_string(),
        to: to.map(str::to_owned),
        status: status.to_owned(),
        error: error.map(str::to_owned),
        package_bytes: bytes[place],
        steps_used,
        took_us: 0,
    };
    let asked = |asked, failed, bytes_crossing| DelegateUse { asked, failed, bytes_crossing, steps_used: 2 };
    assert_eq!(
        counts.delegations,
        Delegations {
            asked: 3,
            by_status: table([("done", 2), ("refused", 1)]),
            refusals: table([("invalid_question", 1)]),
            bytes_crossing: bytes[0] + bytes[1],
            steps_used: 4,
            by_tool: table([("ask_billing", asked(2, 1, bytes[0])), ("ask_shipping", asked(1, 0, bytes[1]))]),
            most_at_once: 0,
            deepest: 1,
            links: vec![
                row(0, Some("billing"), "done", None, 2),
                row(1, Some("shipping"), "done", None, 2),
                row(2, None, "refused", Some("invalid_question"), 0),
            ],
            links_unlisted: 0,
        }
    );
    let hop = &counts.handoffs.hops[0];
    assert_eq!((hop.from.as_str(), hop.to.as_str(), hop.first_chat_us), ("shipping", "customs", Some(0)));
    let runs = |runs| ToolUse { runs, failed: 0 };
    assert_eq!(counts.tools.by_tool, table([("look", runs(1))]));
}

/// C139: what branches used is in the total, and is the agents' own: 35 tokens read, of which the supervisor 10, billing
/// 20, and shipping with its receiver 5. The run says the same of itself.
#[test]
fn what_branches_used_is_in_the_total() {
    let relay = supervised().build().unwrap();
    let (report, counts) = counted(|_| ended(runner(two_at_once()).run(&relay, "hello")));
    let used = |calls, input_tokens| ModelUse { calls, failed: 0, input_tokens, output_tokens: calls };
    let by_agent = table([
        ("billing", used(2, 20)),
        ("customs", used(1, 2)),
        ("shipping", used(1, 3)),
        ("supervisor", used(2, 10)),
    ]);
    assert_eq!(counts.model, ModelCalls { total: used(6, 35), by_agent: by_agent.clone() });
    let own = report.cost_by_agent().into_iter().map(|(agent, cost)| {
        let Cost { model_calls, input_tokens, output_tokens, .. } = cost;
        (agent.to_string(), ModelUse { calls: model_calls.into(), failed: 0, input_tokens, output_tokens })
    });
    assert_eq!(own.collect::<BTreeMap<_, _>>(), by_agent);
    assert_eq!((report.cost().input_tokens, report.model_calls()), (35, 6));
}

/// Branches that are open at the same time are counted as such: two models that wait for each other were asked at once.
/// Eight conversations at the same time make neither wider, and their links do not mix.
#[test]
fn width_and_links_are_each_conversations_own() {
    let relay = supervised().build().unwrap();
    let metrics = Metrics::new();
    let dispatch = Dispatch::new(tracing_subscriber::registry().with(metrics.layer()));
    std::thread::scope(|scope| {
        for n in 0..8 {
            let (relay, dispatch) = (&relay, &dispatch);
            scope.spawn(move || {
                let meet = Arc::new(Barrier::new(2));
                let meets = |text: &'static str| -> Turn {
                    let (meet, answers) = (Arc::clone(&meet), says(text));
                    Box::new(move |request| {
                        meet.wait();
                        answers(request)
                    })
                };
                let model = script([
                    (
                        "supervisor",
                        calls([("ask_billing", question("Paid?")), ("ask_shipping", question("Where?"))]),
                    ),
                    ("billing", meets("Paid.")),
                    ("shipping", meets("Here.")),
                    ("supervisor", says("Paid and here.")),
                ]);
                let runner = runner(model).conversation(format!("c-{n}"));
                dispatcher::with_default(dispatch, || ended(runner.run(relay, "hello")))
            });
        }
    });
    let report = metrics.report();
    assert_eq!((report.delegations.most_at_once, report.delegations.deepest), (2, 1));
    let links = report.without_times().delegations.links;
    let runs = links.iter().map(|link| format!("{} {}", link.parent_run, link.child_run));
    let expected = (0..8).flat_map(|n| (0..2).map(move |place| format!("c-{n} c-{n}/1/1/{place}")));
    assert_eq!(runs.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

/// C116: a handoff that could not be written down at first is one handoff, however often it is tried: the attempts are counted
/// apart, and the rates are those of what was asked for.
#[test]
fn a_handoff_that_is_tried_again_is_counted_once() {
    let relay = relay("a -> b");
    let model = script([("a", hands_to("nobody")), ("a", hands_to("b")), ("b", says("Well."))]);
    let left = AtomicU32::new(2);
    let runner = runner(&model).record_hops(|_| {
        let fails = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if fails.is_ok() { Err("the disk is full".into()) } else { Ok(()) }
    });
    let ((), report) = counted(|_| {
        let mut outcome = runner.run(&relay, "hello");
        while let Err(RunError::Unwritten { parked, .. }) = outcome {
            outcome = runner.drive(&relay, parked.into_step());
        }
        assert_eq!(ended(outcome).answer(), "Well.");
    });
    let Handoffs { asked, taken, refused, unwritten, .. } = report.handoffs;
    assert_eq!((asked, taken, refused, unwritten), (2, 1, 1, 2));
    assert_eq!(report.quality().refusal_rates, table([("known", 0.5)]));
    let row = "handoffs             2  1 taken, 1 refused: known 1; 2 not written down";
    assert!(report.to_string().contains(row), "{report}");
}
