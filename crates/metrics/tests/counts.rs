//! What the layer counts, compared as whole reports.
#![expect(clippy::unwrap_used, reason = "a test may; clippy excuses only the test functions themselves")]

mod emit;

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use emit::{DeadWriter, agent, chat, handoff, refuse, running_case, take, tool, workflow};
use sommelier_metrics::{
    Handoffs, Hop, LinesLayer, MAX_KEYS, MAX_LISTED_HOPS, Metrics, ModelCalls, ModelUse, Report, ToolRuns,
    ToolUse, TreeLayer, Workflows,
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
        workflows: Workflows { closed: times, by_end: counts([("answered", times)]) },
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
            refused: times,
            bytes_crossing: times * 105,
            bytes_left_behind: times * 433,
            hops: (0..times).map(|_| hop.clone()).collect(),
            hops_unlisted: 0,
            refusals: counts([("known", times)]),
        },
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
  hop 1                 booking_agent → policy_agent 105 B (left behind 433 B), took 0 µs, first chat done after 0 µs
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
