//! A handle whose layers stand on several registries, or in several places of one.
#![expect(clippy::unwrap_used, reason = "a test may; clippy excuses only the test functions themselves")]

mod emit;

use std::thread;

use emit::{agent, chat, handoff, take, tool, workflow};
use sommelier_metrics::{Metrics, ModelUse};
use tracing::span::Id;
use tracing::{Dispatch, Span, dispatcher, info_span};
use tracing_subscriber::prelude::*;
use tracing_subscriber::{Layer, Registry};

/// Wherever a layer stands, in an option, in a list, or in the place of another one that was there when spans opened, it is a layer of
/// its handle: each span is counted once, with what is around it.
#[test]
fn layers_of_one_handle_are_one_wherever_they_stand() {
    let one_tool = |layers: Vec<Box<dyn Layer<Registry> + Send + Sync>>, metrics: &Metrics| {
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layers), || {
            drop(tool(&Span::none(), "get_quote"));
        });
        metrics.report().tools.total.runs
    };
    let metrics = Metrics::new();
    assert_eq!(one_tool(vec![metrics.layer().boxed(), metrics.layer().boxed()], &metrics), 1);
    let metrics = Metrics::new();
    let some = || Some(metrics.layer());
    assert_eq!(one_tool(vec![some().boxed(), some().boxed(), metrics.layer().boxed()], &metrics), 1);

    let metrics = Metrics::new();
    let (layer, handle) = tracing_subscriber::reload::Layer::new(metrics.layer());
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
        let workflow = workflow();
        let agent = agent(&workflow, "booking_agent");
        handle.reload(metrics.layer()).unwrap();
        drop(info_span!(target: "sommelier", parent: &agent, "chat"));
        drop((agent, workflow));
    });
    let report = metrics.report();
    assert_eq!((report.workflows.closed, report.model.by_agent["booking_agent"].calls), (1, 1));
}

/// A span that never closes, since its last child was let go where nobody watches, is gone with its registry, and no span of another
/// registry is taken for it.
#[test]
fn a_span_that_never_closes_is_no_other() {
    let metrics = Metrics::new();
    let registry = || Dispatch::new(tracing_subscriber::registry().with(metrics.layer()));
    for _ in 0..10 {
        let child = dispatcher::with_default(&registry(), || {
            let workflow = workflow();
            chat(&workflow, "booking_agent", (0, 0), "end_turn")
        });
        thread::spawn(move || drop(child)).join().unwrap();
    }
    for _ in 0..30 {
        dispatcher::with_default(&registry(), || drop(tool(&Span::none(), "get_quote")));
    }
    let report = metrics.report();
    assert_eq!((report.tools.total.runs, report.workflows.closed), (30, 0));
}

/// So two closed handoffs bear the same id too, and each receiver is timed from its own.
#[test]
fn closed_handoffs_of_two_registries_are_kept_apart() {
    let metrics = Metrics::new();
    let dispatches = [(); 2].map(|()| Dispatch::new(tracing_subscriber::registry().with(metrics.layer())));
    let hops =
        dispatches.each_ref().map(|dispatch| dispatcher::with_default(dispatch, || closed_hop("till")));
    assert_eq!(hops[0], hops[1]);
    let timed = || -> Vec<bool> {
        metrics.report().handoffs.hops.iter().map(|hop| hop.first_chat_us.is_some()).collect()
    };
    for (dispatch, expected) in dispatches.iter().zip([[true, false], [true, true]]) {
        dispatcher::with_default(dispatch, || first_chat_after(&hops[0]));
        assert_eq!(timed(), expected);
    }
}

/// A registry gives an id out again when its span is long gone: an agent that follows the span which has it now follows no handoff.
#[test]
fn a_span_with_the_id_of_a_closed_handoff_is_none() {
    let metrics = Metrics::new();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(metrics.layer()), || {
        let hop = closed_hop("till");
        let again = || info_span!(target: "sommelier", "delegate", gen_ai.transfer.target.name = "till");
        let _has_its_id = (0..1_000_000).map(|_| again()).find(|span| span.id().unwrap() == hop).unwrap();
        first_chat_after(&hop);
    });
    assert_eq!(metrics.report().handoffs.hops[0].first_chat_us, None);
}

fn closed_hop(target: &str) -> Id {
    let hop = handoff(&Span::none(), target);
    take(&hop, 1);
    hop.id().unwrap()
}

fn first_chat_after(hop: &Id) {
    let receiver = agent(&Span::none(), "till");
    receiver.follows_from(hop.clone());
    drop(chat(&receiver, "till", (0, 0), "end_turn"));
}

/// Each registry gives its ids out from the first one on, so spans of two that are open at the same time bear the same.
#[test]
fn one_handle_keeps_the_spans_of_two_registries_apart() {
    let metrics = Metrics::new();
    let dispatches = [(); 2].map(|()| Dispatch::new(tracing_subscriber::registry().with(metrics.layer())));
    let spans = dispatches.each_ref().map(|dispatch| {
        dispatcher::with_default(dispatch, || {
            let workflow = workflow();
            let chat = chat(&agent(&workflow, "booking_agent"), "booking_agent", (0, 0), "end_turn");
            (workflow, chat)
        })
    });
    assert_eq!(spans[0].1.id(), spans[1].1.id());
    for ((dispatch, (workflow, chat)), tokens) in dispatches.iter().zip(spans).zip([10_u64, 200]) {
        dispatcher::with_default(dispatch, || {
            chat.record("gen_ai.usage.input_tokens", tokens);
            workflow.record("end", if tokens == 10 { "answered" } else { "turn_limit" });
            drop((chat, workflow));
        });
    }
    let report = metrics.report();
    let ends = [("answered".to_owned(), 1), ("turn_limit".to_owned(), 1)];
    assert_eq!(report.workflows.by_end, ends.into());
    assert_eq!(report.model.total, ModelUse { calls: 2, failed: 0, input_tokens: 210, output_tokens: 0 });
}
