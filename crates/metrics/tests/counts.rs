//! What the layer counts, compared as whole reports.
#![expect(clippy::unwrap_used, reason = "a test may; clippy excuses only the test functions themselves")]

mod emit;

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use emit::{
    DeadWriter, agent, chat, delegate, delegating_case, handoff, refuse, returned, running_case, take, tool,
    unasked, workflow,
};
use sommelier_metrics::{
    Constraints, DelegateUse, Delegations, Handoffs, Hop, LinesLayer, Link, MAX_KEYS, MAX_LISTED_HOPS,
    MAX_LISTED_LINKS, Metrics, ModelCalls, ModelUse, Quality, Report, ToolRuns, ToolUse, TreeLayer,
    Workflows,
};
use tracing::{Dispatch, Span, dispatcher, info_span};
use tracing_subscriber::prelude::*;

fn watch(run: impl FnOnce()) -> Report {
    let metrics = Metrics::new();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(metrics.layer()), run);
    metrics.report()
}

fn counts<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, u64> {
    counts.map(|(key, count)| (key.to_owned(), count)).into()
}

/// The running case `times` over, times zeroed.
fn running_report(times: u64) -> Report {
    let used = |calls: u64, input_tokens, output_tokens| ModelUse {
        calls: times * calls,
        failed: 0,
        input_tokens: times * input_tokens,
        output_tokens: times * output_tokens,
    };
    let ran = |runs: u64, failed| ToolUse { runs: times * runs, failed: times * failed };
    let hop = Hop {
        number: 1,
        from: "booking_agent".to_owned(),
        to: "policy_agent".to_owned(),
        package_bytes: 105,
        history_bytes: 433,
        transfer_us: 0,
        first_chat_us: Some(0),
    };
    Report {
        workflows: Workflows { closed: times, conversations: 0, by_end: counts([("answered", times)]) },
        model: ModelCalls {
            total: used(4, 2_950, 220),
            by_agent: [
                ("booking_agent".to_owned(), used(3, 2_650, 150)),
                ("policy_agent".to_owned(), used(1, 300, 70)),
            ]
            .into(),
        },
        tools: ToolRuns {
            total: ran(2, 1),
            by_tool: [("book".to_owned(), ran(1, 1)), ("get_quote".to_owned(), ran(1, 0))].into(),
            errors: counts([("slot_taken", times)]),
        },
        handoffs: Handoffs {
            asked: times * 2,
            taken: times,
            again: 0,
            refused: times,
            bytes_crossing: times * 105,
            bytes_left_behind: times * 433,
            bytes_by_reference: 0,
            hops: (0..times).map(|_| hop.clone()).collect(),
            hops_unlisted: 0,
            refusals: counts([("known", times)]),
            unwritten: 0,
            constraints: Constraints::default(),
        },
        delegations: Delegations::default(),
        spent: BTreeMap::new(),
    }
}

#[test]
fn the_running_case_is_counted() {
    let report = watch(running_case);
    assert_eq!(report.without_times(), running_report(1));
}

#[test]
fn the_table_is_aligned() {
    assert_eq!(
        watch(running_case).without_times().to_string(),
        "\
workflows            1  answered 1
model calls          4  2950 tokens in, 220 out
  booking_agent      3  2650 tokens in, 150 out
  policy_agent       1  300 tokens in, 70 out
tool runs            2  1 failed: slot_taken 1
  book               1  1 failed
  get_quote          1
handoffs             2  1 taken, 1 refused: known 1
  hop 1                 booking_agent → policy_agent 105 B (left behind 433 B), took 0 ms, first chat done after 0 ms
bytes crossing     105
bytes left behind  433"
    );
}

#[test]
fn a_report_survives_json() {
    let report = watch(running_case);
    let json = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
}

#[test]
fn nothing_open_is_counted() {
    let metrics = Metrics::new();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(metrics.layer()), || {
        let workflow = workflow();
        assert_eq!(metrics.report(), Report::default());
        drop(workflow);
        assert_eq!(metrics.report().workflows.by_end, counts([("(unset)", 1)]));
    });
}

#[test]
fn eight_threads_add_up() {
    let metrics = Metrics::new();
    let dispatch = Dispatch::new(
        tracing_subscriber::registry()
            .with(metrics.layer())
            .with(TreeLayer::new(std::io::sink()))
            .with(LinesLayer::new(std::io::sink())),
    );
    thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| dispatcher::with_default(&dispatch, || (0..50).for_each(|_| running_case())));
        }
    });
    assert_eq!(metrics.report().without_times(), running_report(400));
}

#[test]
fn tools_on_other_threads_count_and_let_their_parents_close() {
    let metrics = Metrics::new();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(metrics.layer()), || {
        let workflow = workflow();
        let agent = agent(&workflow, "booking_agent");
        let dispatch = dispatcher::get_default(Clone::clone);
        thread::scope(|threads| {
            for name in ["get_quote", "find_slot", "get_quote"] {
                let span = tool(&agent, name);
                let dispatch = &dispatch;
                // The inner `move` makes the span drop while the dispatcher is there.
                threads.spawn(move || dispatcher::with_default(dispatch, move || span.in_scope(|| ())));
            }
        });
    });
    let report = metrics.report();
    assert_eq!(
        (report.tools.by_tool, report.workflows.closed),
        (
            [
                ("find_slot".to_owned(), ToolUse { runs: 1, failed: 0 }),
                ("get_quote".to_owned(), ToolUse { runs: 2, failed: 0 })
            ]
            .into(),
            1
        )
    );
}

#[test]
fn dead_writers_lose_no_counts() {
    let metrics = Metrics::new();
    let subscriber = tracing_subscriber::registry()
        .with(TreeLayer::new(DeadWriter))
        .with(LinesLayer::new(DeadWriter))
        .with(metrics.layer());
    tracing::subscriber::with_default(subscriber, || (0..3).for_each(|_| running_case()));
    assert_eq!(metrics.report().without_times(), running_report(3));
}

#[test]
fn other_targets_are_ignored_also_in_between() {
    let report = watch(|| {
        let agent = info_span!(target: "sommelier", "invoke_agent", gen_ai.agent.name = "booking_agent");
        let between = info_span!(target: "hyper", parent: &agent, "chat", gen_ai.usage.input_tokens = 7_u64);
        info_span!(target: "sommelier", parent: &between, "chat", gen_ai.usage.input_tokens = 5_u64);
        info_span!(target: "sommelier::inner", "execute_tool", gen_ai.tool.name = "get_quote");
        info_span!(target: "sommelier", "unheard_of", gen_ai.tool.name = "get_quote");
    });
    let used = ModelUse { calls: 1, failed: 0, input_tokens: 5, output_tokens: 0 };
    let model = ModelCalls { total: used.clone(), by_agent: [("booking_agent".to_owned(), used)].into() };
    assert_eq!(report, Report { model, ..Report::default() });
}

#[test]
fn a_later_value_replaces_the_earlier_one() {
    let report = watch(|| {
        let workflow = workflow();
        workflow.record("end", "failed");
        workflow.record("end", "answered");
        let chat = chat(&workflow, "booking_agent", (1, 1), "end_turn");
        chat.record("gen_ai.usage.input_tokens", 10_i64);
        chat.record("gen_ai.usage.output_tokens", tracing::field::display(20));
        chat.record("error.type", "timeout");
    });
    assert_eq!(report.workflows.by_end, counts([("answered", 1)]));
    assert_eq!(report.model.total, ModelUse { calls: 1, failed: 1, input_tokens: 10, output_tokens: 20 });
}

#[test]
fn a_hop_is_timed_however_the_spans_overlap() {
    let pause = || thread::sleep(Duration::from_millis(2));
    // The receiver's span may be opened while the handoff is open, or after it has closed.
    for handoff_closes_first in [false, true] {
        let started = Instant::now();
        let mut first_chat = Duration::ZERO;
        let report = watch(|| {
            let workflow = workflow();
            let sender = agent(&workflow, "booking_agent");
            let hop = handoff(&sender, "policy_agent");
            let id = hop.id();
            take(&hop, 1);
            pause();
            let mut hop = Some(hop);
            if handoff_closes_first {
                hop = None;
            }
            let receiver = agent(&workflow, "policy_agent");
            receiver.follows_from(id);
            drop(hop);
            pause();
            drop(chat(&receiver, "policy_agent", (1, 1), "tool_use"));
            first_chat = started.elapsed();
            pause();
            drop(chat(&receiver, "policy_agent", (1, 1), "end_turn"));
        });
        let [hop] = &report.handoffs.hops[..] else { panic!("one hop: {report:?}") };
        let first_chat_us = hop.first_chat_us.unwrap();
        assert!(hop.transfer_us >= 2_000, "{hop:?}");
        assert!(first_chat_us >= hop.transfer_us + 2_000, "{hop:?}");
        assert!(u128::from(first_chat_us) <= first_chat.as_micros(), "{hop:?} {first_chat:?}");
    }
}

#[test]
fn a_hop_without_a_receiver_has_no_first_chat() {
    let report = watch(|| {
        let sender = agent(&Span::none(), "booking_agent");
        take(&handoff(&sender, "policy_agent"), 1);
        // Follows from nothing.
        drop(chat(&agent(&Span::none(), "policy_agent"), "policy_agent", (1, 1), "end_turn"));
    });
    assert_eq!(report.handoffs.hops[0].first_chat_us, None);
}

#[test]
fn each_refusal_is_counted_by_its_guard() {
    let guards = ["known", "self", "route", "package", "ready", "cap", "pair", "one_per_turn", "duplicate"];
    let report = watch(|| {
        for guard in guards {
            refuse(&handoff(&Span::none(), "policy_agent"), guard);
        }
        // Cut off before it was decided.
        drop(handoff(&Span::none(), "policy_agent"));
    });
    assert_eq!(
        report.handoffs,
        Handoffs {
            asked: 10,
            refused: 9,
            refusals: counts(guards.map(|guard| (guard, 1))),
            ..Handoffs::default()
        }
    );
}

#[test]
fn hops_past_the_cap_are_counted_but_not_listed() {
    let report = watch(|| {
        for hop in 1..=MAX_LISTED_HOPS as u64 + 2 {
            take(&handoff(&Span::none(), "policy_agent"), hop);
        }
    });
    let Handoffs { taken, bytes_crossing, hops, hops_unlisted, .. } = report.handoffs;
    let all = MAX_LISTED_HOPS as u64 + 2;
    assert_eq!((taken, bytes_crossing, hops.len(), hops_unlisted), (all, all * 105, MAX_LISTED_HOPS, 2));
}

#[test]
fn a_model_that_invents_tool_names_cannot_fill_memory() {
    let report = watch(|| {
        for n in 0..1_000 {
            tool(&Span::none(), &format!("tool_{n}")).record("error.type", "unknown_tool");
        }
        drop(tool(&Span::none(), &"x".repeat(100_000)));
    });
    let ToolRuns { total, by_tool, errors } = report.tools;
    assert_eq!(total, ToolUse { runs: 1_001, failed: 1_000 });
    assert_eq!(errors, counts([("unknown_tool", 1_000)]));
    assert_eq!(by_tool.len(), MAX_KEYS);
    assert_eq!(by_tool.values().map(|used| used.runs).sum::<u64>(), 1_001);
    assert!(by_tool.keys().all(|name| name.len() < 200));
    assert_eq!(by_tool["(others)"].runs, 1_001 - (MAX_KEYS as u64 - 1));
}

#[test]
fn a_table_is_safe_for_a_terminal() {
    let report = watch(|| drop(tool(&Span::none(), "get\u{1b}[2J\nquote")));
    assert!(report.to_string().contains("\n  get\\u{1b}[2J\\nquote  1\n"), "{report}");
}

#[test]
fn absurd_claims_do_not_overflow() {
    let report = watch(|| {
        for _ in 0..2 {
            drop(chat(&Span::none(), "booking_agent", (u64::MAX, 1), "end_turn"));
        }
    });
    assert_eq!(report.model.total.input_tokens, u64::MAX);
}

#[test]
fn one_handle_counts_once_and_two_count_apart() {
    let (one, other) = (Metrics::new(), Metrics::new());
    let subscriber =
        tracing_subscriber::registry().with(one.layer()).with(one.clone().layer()).with(other.layer());
    tracing::subscriber::with_default(subscriber, running_case);
    assert_eq!(one.report().without_times(), running_report(1));
    assert_eq!(other.report().without_times(), running_report(1));
}

/// Branches that are open at once are those of one workflow, however many layers of one handle are told of them.
#[test]
fn a_branch_is_open_once_under_two_layers_of_one_handle() {
    let twice = Metrics::new();
    let subscriber = tracing_subscriber::registry().with(twice.layer()).with(twice.layer());
    tracing::subscriber::with_default(subscriber, || delegating_case("c-17"));
    let once = watch(|| delegating_case("c-17"));
    assert_eq!(twice.report().delegations.most_at_once, once.delegations.most_at_once);
    assert_eq!(twice.report().without_times(), once.without_times());
}

/// A value is shown by code of the caller, which may be traced as well.
#[test]
fn a_value_may_open_a_span_while_it_is_shown() {
    struct Traced;
    impl std::fmt::Debug for Traced {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            drop(tool(&Span::none(), "look_up"));
            f.write_str("not_found")
        }
    }
    let report = watch(|| {
        tool(&Span::none(), "get_quote").record("error.type", tracing::field::debug(Traced));
    });
    assert_eq!(report.tools.total, ToolUse { runs: 2, failed: 1 });
    assert_eq!(report.tools.errors, counts([("not_found", 1)]));
}

#[test]
fn a_value_that_cannot_be_shown_spoils_no_count() {
    struct Broken;
    impl std::fmt::Debug for Broken {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            Err(std::fmt::Error)
        }
    }
    struct Panics;
    impl std::fmt::Debug for Panics {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("a value of the caller")
        }
    }
    let report = watch(|| {
        let span = tool(&Span::none(), "get_quote");
        span.record("error.type", tracing::field::debug(Broken));
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            span.record("error.type", tracing::field::debug(Panics));
        }));
        assert!(caught.is_err());
    });
    assert_eq!(report.tools.total, ToolUse { runs: 1, failed: 0 });
}

/// The links of the delegating case, in the order of their ids.
fn delegating_links(conversation: &str) -> [Link; 4] {
    let link =
        |at: &str, from: &str, tool: &str, to: Option<&str>, status: &str, error: Option<&str>, steps| {
            let child_run = format!("{conversation}{at}");
            Link {
                parent_run: child_run.rsplitn(4, '/').last().unwrap().to_owned(),
                child_run,
                from: from.to_owned(),
                tool: tool.to_owned(),
                to: to.map(str::to_owned),
                status: status.to_owned(),
                error: error.map(str::to_owned),
                package_bytes: 40,
                steps_used: steps,
                took_us: 0,
            }
        };
    [
        link("/1/1/0", "supervisor", "ask_billing", Some("billing"), "done", None, 3),
        link("/1/1/0/1/1/0", "billing", "ask_archive", Some("archive"), "done", None, 1),
        link("/1/1/1", "supervisor", "ask_shipping", Some("shipping"), "partial", Some("truncated"), 2),
        link("/1/1/2", "supervisor", "ask_legal", None, "refused", Some("not_yet"), 0),
    ]
}

#[test]
fn the_delegating_case_is_counted() {
    let asked =
        |failed, bytes_crossing, steps_used| DelegateUse { asked: 1, failed, bytes_crossing, steps_used };
    assert_eq!(
        watch(|| delegating_case("c-17")).without_times().delegations,
        Delegations {
            asked: 4,
            by_status: counts([("done", 2), ("partial", 1), ("refused", 1)]),
            refusals: counts([("not_yet", 1)]),
            bytes_crossing: 120,
            steps_used: 5,
            by_tool: [
                ("ask_archive".to_owned(), asked(0, 40, 1)),
                ("ask_billing".to_owned(), asked(0, 40, 3)),
                ("ask_legal".to_owned(), asked(1, 0, 0)),
                ("ask_shipping".to_owned(), asked(1, 40, 2)),
            ]
            .into(),
            most_at_once: 0,
            deepest: 2,
            links: delegating_links("c-17").to_vec(),
            links_unlisted: 0,
        }
    );
}

/// What branches use is the agents' own, and in the total; their hops and tools are counted like any.
#[test]
fn what_branches_use_is_counted_where_it_belongs() {
    let report = watch(|| delegating_case("c-17")).without_times();
    let used =
        |calls, input_tokens, output_tokens| ModelUse { calls, failed: 0, input_tokens, output_tokens };
    assert_eq!(
        report.model,
        ModelCalls {
            total: used(7, 35, 8),
            by_agent: [
                ("archive".to_owned(), used(1, 7, 1)),
                ("billing".to_owned(), used(2, 13, 3)),
                ("customs".to_owned(), used(1, 2, 1)),
                ("shipping".to_owned(), used(1, 3, 1)),
                ("supervisor".to_owned(), used(2, 10, 2)),
            ]
            .into(),
        }
    );
    assert_eq!((report.handoffs.taken, report.tools.total.runs), (1, 1));
    assert_eq!(report.model.total.calls, 2 + report.delegations.steps_used);
}

#[test]
fn delegations_have_two_lines_of_the_table() {
    let report = watch(|| delegating_case("c-17")).to_string();
    let lines: Vec<&str> = report.lines().skip_while(|line| !line.starts_with("delegations")).collect();
    assert_eq!(
        lines,
        [
            "delegations          4  done 2, partial 1, refused 1: not_yet 1",
            "  branches           3  5 steps in all, asked with 120 B; up to 3 at once, 2 deep",
        ]
    );
    assert!(!watch(running_case).to_string().contains("delegations"));
}

/// Conversations at the same time: the sums are those of all, the links are each one's own, and how many branches are
/// open at once is asked of one message at a time.
#[test]
fn eight_conversations_with_branches_are_kept_apart() {
    let metrics = Metrics::new();
    let dispatch = Dispatch::new(tracing_subscriber::registry().with(metrics.layer()));
    thread::scope(|threads| {
        for n in 0..8 {
            let dispatch = &dispatch;
            let run = move || dispatcher::with_default(dispatch, || delegating_case(&format!("c-{n}")));
            threads.spawn(run);
        }
    });
    let report = metrics.report();
    assert_eq!(report.delegations.most_at_once, 3);
    let delegations = report.without_times().delegations;
    assert_eq!((delegations.asked, delegations.steps_used), (32, 40));
    let expected: Vec<Link> = (0..8).flat_map(|n| delegating_links(&format!("c-{n}"))).collect();
    assert_eq!(delegations.links, expected);
}

#[test]
fn a_delegation_that_was_cut_off_has_no_status() {
    let report =
        watch(|| drop(delegate("supervisor", &Span::none(), "ask_billing", Some("billing"), "c/1/1/0")));
    assert_eq!(report.delegations.by_status, counts([("(unset)", 1)]));
    // Nor need it say anything else.
    let report = watch(|| drop(info_span!(target: "sommelier", "delegate"))).without_times();
    let unset = || "(unset)".to_owned();
    let link = Link {
        parent_run: unset(),
        child_run: unset(),
        from: unset(),
        tool: unset(),
        status: unset(),
        ..Link::default()
    };
    assert_eq!(report.delegations.links, [link]);
}

#[test]
fn links_past_the_cap_are_counted_but_not_listed() {
    let all = MAX_LISTED_LINKS as u64 + 2;
    let report = watch(|| {
        for n in 0..all {
            let tool = format!("ask_{n}");
            returned(
                &delegate("supervisor", &Span::none(), &tool, Some("billing"), "c/1/1/0"),
                "done",
                1,
                "answered",
            );
        }
        unasked(&delegate("supervisor", &Span::none(), "ask_0", None, "c/1/1/0"), "budget_spent");
    });
    let Delegations { asked, steps_used, by_tool, links, links_unlisted, .. } = report.delegations;
    assert_eq!((asked, steps_used, links.len(), links_unlisted), (all + 1, all, MAX_LISTED_LINKS, 3));
    assert_eq!((by_tool.len(), by_tool["ask_0"].asked), (MAX_KEYS, 2));
}

/// Names of conversations are the caller's: a long one is cut where the ids of its branches do not differ yet.
#[test]
fn a_long_conversation_name_does_not_make_its_branches_one() {
    let name = "é".repeat(100_000);
    let links = watch(|| delegating_case(&name)).delegations.links;
    let ids = links.iter().map(|link| {
        let (head, tail) = link.child_run.split_once('…').unwrap();
        let end = tail.trim_start_matches('é');
        assert_eq!((head.chars().count(), tail.chars().count()), (60, 60));
        (link.tool.as_str(), end)
    });
    assert_eq!(
        ids.collect::<BTreeMap<_, _>>(),
        [
            ("ask_archive", "/1/1/0/1/1/0"),
            ("ask_billing", "/1/1/0"),
            ("ask_legal", "/1/1/2"),
            ("ask_shipping", "/1/1/1"),
        ]
        .into()
    );
}

/// A report that was written before there were delegations can still be read.
#[test]
fn a_report_without_delegations_is_read() {
    let mut old = serde_json::to_value(running_report(1)).unwrap();
    old.as_object_mut().unwrap().remove("delegations").unwrap();
    assert_eq!(serde_json::from_value::<Report>(old).unwrap(), running_report(1));
}

/// S1-39. Two conversations: one of two messages, the first of which is handed over twice, and one without a handoff.
#[test]
fn quality_is_told_over_conversations_and_hops() {
    let message = |begins: bool, hops: &[u64]| {
        let workflow = workflow();
        if begins {
            workflow.record("begins", true);
        }
        let found: &[(&str, u64)] = match hops.len() {
            0 => &[("constraints_unknown", 3)],
            1 => &[("constraints_unchecked", 6)],
            _ => &[("constraints_kept", 3), ("constraints_broken", 1)],
        };
        for (name, count) in found {
            workflow.record(*name, count);
        }
        let sender = agent(&workflow, "booking_agent");
        for (place, number) in hops.iter().enumerate() {
            let hop = handoff(&sender, "policy_agent");
            take(&hop, *number);
            hop.record("hop_of_message", place as u64 + 1);
            let receiver = agent(&workflow, "policy_agent");
            receiver.follows_from(&hop);
            chat(&receiver, "policy_agent", (300, 70), "end_turn").in_scope(|| ());
        }
        refuse(&handoff(&sender, "nobody"), "known");
    };
    let report = watch(|| {
        message(true, &[1, 2]);
        message(false, &[3]);
        message(true, &[]);
    });
    assert_eq!(report.handoffs.constraints, Constraints { kept: 3, broken: 1, unchecked: 6, unknown: 3 });
    let mut times: Vec<u64> = report.handoffs.hops.iter().filter_map(|hop| hop.first_chat_us).collect();
    times.sort_unstable();
    assert_eq!(
        report.quality(),
        Quality {
            handoffs_per_conversation: Some(1.5),
            first_response_us: Some(times[1]),
            rehandoff_rate: Some(1.0 / 3.0),
            bytes_per_hop: Some(105.0),
            constraint_violation_rate: Some(0.25),
            refusal_rates: [("known".to_owned(), 0.5)].into(),
        }
    );
    let shown = report.without_times().quality().to_string();
    assert_eq!(
        shown,
        "handoffs per conversation  1.50\n\
         first response after a hop 0 ms\n\
         handed over again          33.3 %\n\
         bytes per hop              105.00\n\
         constraints broken         25.0 %\n\
         refused by known           50.0 %"
    );
}

/// S1-39. Where nothing happened there is no ratio, rather than one of zero.
#[test]
fn quality_of_nothing_is_nothing() {
    assert_eq!(Report::default().quality(), Quality::default());
}

/// What spans claim is added up as far as numbers go.
#[test]
fn no_claim_of_constraints_overflows() {
    let report = watch(|| {
        drop(info_span!(target: "sommelier", "invoke_workflow", constraints_kept = u64::MAX));
        drop(info_span!(target: "sommelier", "invoke_workflow", constraints_broken = 1_u64));
    });
    assert_eq!(report.handoffs.constraints.total(), u64::MAX);
    assert_eq!(report.quality().constraint_violation_rate, Some(1.0 / 18_446_744_073_709_551_615.0));
    assert!(report.to_string().contains("18446744073709551615 kept, 1 broken"), "{report}");
}

/// How deep a branch lies is known when it opens: thousands, each within the one before, are counted as they come.
#[test]
fn branches_thousands_deep_are_counted() {
    const DEPTH: u64 = 3_000;
    let report = watch(|| {
        let mut branches = vec![workflow()];
        for _ in 0..DEPTH {
            let around = branches.last().unwrap();
            branches.push(delegate("a", around, "ask_b", Some("b"), "c/1/1/0"));
        }
        while branches.pop().is_some() {}
    });
    assert_eq!((report.delegations.deepest, report.delegations.most_at_once), (DEPTH, DEPTH));
}
