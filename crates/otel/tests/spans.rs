//! What a collector gets of a run: names, parents, links, attributes, in one trace over two processes.
#![expect(clippy::unwrap_used, reason = "a test may; clippy excuses only the test functions themselves")]

mod collector;

use std::time::{SystemTime, UNIX_EPOCH};

use collector::{Arrived, Collector, line};
use sommelier_handoff::{Agent, Delegate, Relay};
use sommelier_otel::{Otlp, TraceContext};
use sommelier_protocol::{ModelRequest, ModelResponse, Usage};
use sommelier_runner::Runner;
use sommelier_runtime::{Model, ModelError, ScriptedModel, script};
use tracing_subscriber::prelude::*;

/// A waiter hands over to a sommelier, who asks the cellar, and then wants to hand over to somebody who is not there.
fn house() -> Relay {
    Relay::builder()
        .agent(Agent::new("waiter", "You bring the bread."))
        .agent(Agent::new("sommelier", "You bring the wine."))
        .entry("waiter")
        .route("waiter", "sommelier")
        .route("sommelier", "waiter")
        .delegate("sommelier", Delegate::new("ask_cellar", Agent::new("cellar", "You know what there is.")))
        .build()
        .unwrap()
}

fn decisions() -> ScriptedModel {
    let handoff = |to: &str| format!(r#"{{"specialist":"{to}","task":"A red wine.","context":{{}}}}"#);
    let (over, astray) = (handoff("sommelier"), handoff("nobody"));
    ScriptedModel::new()
        .turn("waiter", move |_| script::call("tu_1", "handoff_to_specialist", &over))
        .turn("sommelier", |_| script::call("tu_1", "ask_cellar", r#"{"question":"What red is there?"}"#))
        .turn("cellar", |_| script::say("A Barolo."))
        .turn("sommelier", move |_| script::call("tu_2", "handoff_to_specialist", &astray))
        .turn("sommelier", |_| script::say("A Barolo, then."))
}

/// A run whose spans go to `collector`, told in `trace`.
fn run(collector: &Collector, trace: &str) {
    let otlp = Otlp::to(collector.url()).service("house").project("tests").start().unwrap();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(otlp.layer()), || {
        Runner::new(decisions()).conversation("c").trace(trace).run(&house(), "Wine, please.").unwrap();
    });
    otlp.finish().unwrap();
}

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// C133, C134, C136, S3-31: one trace, each span under the one that it belongs to, a hop linked to what follows from
/// it, an error where something was refused.
#[test]
fn a_run_arrives_as_one_tree() {
    let collector = Collector::start();
    run(&collector, &format!("00-{TRACE}-00f067aa0ba902b7-01"));
    let spans = collector.spans();
    assert!(spans.iter().all(|span| span.trace == TRACE));
    assert_eq!(
        collector.tree(),
        [
            line(0, "invoke_workflow waiter", "CHAIN", ""),
            line(1, "invoke_agent waiter", "AGENT", ""),
            line(2, "chat claude-sonnet-5", "LLM", ""),
            line(2, "execute_tool handoff_to_specialist sommelier", "TOOL", ""),
            line(1, "invoke_agent sommelier", "AGENT", "after execute_tool handoff_to_specialist sommelier"),
            line(2, "chat claude-sonnet-5", "LLM", ""),
            line(2, "execute_tool ask_cellar cellar", "TOOL", ""),
            line(3, "invoke_agent cellar", "AGENT", ""),
            line(4, "chat claude-sonnet-5", "LLM", ""),
            line(2, "chat claude-sonnet-5", "LLM", ""),
            line(2, "execute_tool handoff_to_specialist _other", "TOOL", "error unknown_specialist"),
            line(2, "chat claude-sonnet-5", "LLM", ""),
        ]
    );
    let resource = [("openinference.project.name", "tests"), ("service.name", "house")];
    assert_eq!(collector.resource(), resource.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let root = spans.iter().find(|span| span.parent == "00f067aa0ba902b7").unwrap();
    assert_eq!(root.name, "invoke_workflow waiter");
    let (remote, known) = (0x200, 0x100);
    assert_eq!(root.flags & (remote | known), remote | known);
    assert!(spans.iter().filter(|span| span.id != root.id).all(|span| span.flags & remote == 0));
}

/// Now, as OTLP tells it.
fn nanos() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos().try_into().unwrap()
}

/// S3-31: what viewers look for is on the spans: whose session, the graph of agents, kinds, a list of reasons.
#[test]
fn viewers_find_what_they_look_for() {
    let collector = Collector::start();
    // Spans are timed in microseconds.
    let began = nanos() / 1_000 * 1_000;
    run(&collector, TRACE);
    let spans = collector.spans();
    let named = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
    let graph = |agent: &str| {
        let span = named(&format!("invoke_agent {agent}"));
        ["session.id", "agent.name", "graph.node.id", "graph.node.parent_id"].map(|name| span.attribute(name))
    };
    assert_eq!(graph("waiter"), ["c", "waiter", "waiter", ""]);
    assert_eq!(graph("sommelier"), ["c", "sommelier", "sommelier", "waiter"]);
    assert_eq!(graph("cellar"), ["c", "cellar", "cellar", "sommelier"]);
    let chat = named("chat claude-sonnet-5");
    assert_eq!(chat.attribute("gen_ai.response.finish_reasons"), r#"["tool_use"]"#);
    assert_eq!(chat.attribute("otel.kind"), "");
    // INTERNAL: a script decides in this process.
    assert_eq!(chat.kind, 1);
    assert_eq!(named("invoke_workflow waiter").attribute("openinference.span.kind"), "CHAIN");
    assert!(spans.iter().all(|span| began <= span.start && span.start <= span.end && span.end <= nanos()));
    let root = named("invoke_workflow waiter");
    let is_within = |span: &&Arrived| root.start <= span.start && span.end <= root.end;
    assert!(spans.iter().filter(is_within).count() == spans.len() && root.start < root.end);
}

/// A service that tells what it has counted.
struct Service;

impl Model for Service {
    fn complete(&self, _: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        let mut response = script::say("There is none.");
        response.usage = Usage::new(60, 7);
        response.usage.cache_read_input_tokens = Some(40);
        response.usage.cache_creation_input_tokens = Some(20);
        Ok(response)
    }

    fn provider(&self) -> &str {
        "anthropic"
    }
}

/// S3-31: a call of a service is one, and what it used is told as numbers, the cache's share also under the name that it had
/// before.
#[test]
fn what_a_call_of_a_service_used_is_told() {
    let collector = Collector::start();
    let otlp = Otlp::to(collector.url()).start().unwrap();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(otlp.layer()), || {
        Runner::new(Service).run(&house(), "Wine, please.").unwrap();
    });
    otlp.finish().unwrap();
    let spans = collector.spans();
    let chat = spans.iter().find(|span| span.name.starts_with("chat ")).unwrap();
    // CLIENT.
    assert_eq!((chat.kind, chat.attribute("gen_ai.provider.name")), (3, "anthropic"));
    let usage = [
        "input_tokens",
        "cache_read.input_tokens",
        "cache_write.input_tokens",
        "cache_creation.input_tokens",
    ];
    let read = usage.map(|name| chat.attribute(&format!("gen_ai.usage.{name}")));
    assert_eq!((read, chat.attribute("gen_ai.usage.output_tokens")), (["120", "40", "20", "20"], "7"));
    assert!(chat.numbers.iter().any(|name| name == "gen_ai.usage.input_tokens"), "{:?}", chat.numbers);
}

/// What was said is sent where it was asked for, under the conventions' names and under those that viewers look for; without
/// that not a word of it is.
#[test]
fn words_are_sent_where_they_are_asked_for() {
    let sent = |shows: bool| {
        let collector = Collector::start();
        let otlp = Otlp::to(collector.url()).start().unwrap();
        let runner = Runner::new(decisions()).conversation("c");
        let runner = if shows { runner.show_contents() } else { runner };
        tracing::subscriber::with_default(tracing_subscriber::registry().with(otlp.layer()), || {
            runner.run(&house(), "Wine, please.").unwrap();
        });
        otlp.finish().unwrap();
        collector.spans()
    };
    let spans = sent(true);
    for (kind, input, output) in [
        ("chat", "gen_ai.input.messages", "gen_ai.output.messages"),
        ("execute_tool handoff_to_specialist sommelier", "gen_ai.tool.call.arguments", ""),
    ] {
        let span = spans.iter().find(|span| span.name.starts_with(kind)).unwrap();
        let values = ["input.value", input, "output.value", output].map(|name| span.attribute(name));
        assert_eq!((values[0], values[2]), (values[1], values[3]), "{kind}");
        assert!(
            values[0].contains("Wine, please.") || values[0].contains("A red wine."),
            "{kind}: {}",
            values[0]
        );
    }
    // What stands in a list of traces is read by people.
    let root = spans.iter().find(|span| span.name.starts_with("invoke_workflow")).unwrap();
    let words = ["input.value", "output.value"].map(|name| root.attribute(name));
    assert_eq!(words, ["Wine, please.", "A Barolo, then."]);
    let told = format!("{:?}", sent(false));
    for words in ["Wine", "wine", "Barolo", "bread", "input.value", "output.value", "gen_ai.input"] {
        assert!(!told.contains(words), "{words}: {told}");
    }
}

/// In a trace of our own the first root has the id that the trace's name tells; a second one has another, and none is under any.
#[test]
fn a_trace_of_our_own_has_roots_of_its_own() {
    let collector = Collector::start();
    let otlp = Otlp::to(collector.url()).start().unwrap();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(otlp.layer()), || {
        for _ in 0..2 {
            Runner::new(decisions()).conversation("c").trace(TRACE).run(&house(), "Wine, please.").unwrap();
        }
    });
    otlp.finish().unwrap();
    let spans = collector.spans();
    let roots: Vec<_> = spans.iter().filter(|span| span.parent.is_empty()).collect();
    let context: TraceContext = TRACE.parse().unwrap();
    assert_eq!(context.traceparent(), format!("00-{TRACE}-{}-01", roots[0].id));
    assert_ne!(roots[0].id, roots[1].id);
    let ids: std::collections::BTreeSet<_> = spans.iter().map(|span| &span.id).collect();
    assert_eq!(ids.len(), spans.len());
    assert!(spans.iter().all(|span| span.trace == TRACE));
}

/// C137: a turn that is gone on with in another trace is linked to the root of the one in which it began.
#[test]
fn what_is_gone_on_with_is_linked_to_where_it_began() {
    let collector = Collector::start();
    let otlp = Otlp::to(collector.url()).start().unwrap();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(otlp.layer()), || {
        tracing::info_span!(target: "sommelier", "invoke_workflow", resumed_trace = TRACE);
        tracing::info_span!(target: "sommelier", "invoke_workflow", resumed_trace = "what the caller calls it");
    });
    otlp.finish().unwrap();
    let began: TraceContext = TRACE.parse().unwrap();
    let [resumed, other] = &collector.spans()[..] else { panic!("two roots") };
    let [(trace, root)] = &resumed.links[..] else { panic!("one link") };
    assert_eq!((&**trace, began.traceparent()), (TRACE, format!("00-{TRACE}-{root}-01")));
    assert_ne!(resumed.trace, TRACE);
    assert_eq!(other.links, []);
}

/// What whoever began the trace does not want to see is not sent.
#[test]
fn a_trace_that_is_not_sampled_is_not_sent() {
    let collector = Collector::start();
    run(&collector, &format!("00-{TRACE}-00f067aa0ba902b7-00"));
    assert_eq!(collector.spans(), []);
}

/// A collector that is away, or takes nothing, costs no run; what was lost is told in the end: how much, where it was to be, why, and
/// what would help. What may be secret of an address is told nowhere.
#[test]
fn what_does_not_arrive_is_told() {
    let lost = |url: &str| {
        let otlp = Otlp::to(url).start().unwrap();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(otlp.layer()), || {
            Runner::new(decisions()).run(&house(), "Wine, please.").unwrap();
        });
        otlp.finish().unwrap_err().to_string()
    };
    let told = |url: &str, why: &str| format!("12 of 12 spans did not reach the collector at {url}: {why}");
    for (status, why) in [
        (
            "401 Unauthorized",
            "it answered 401 Unauthorized; its key belongs into the variable OTEL_EXPORTER_OTLP_HEADERS, as in `Authorization=Bearer KEY`",
        ),
        ("500 Internal Server Error", "it answered 500 Internal Server Error"),
        (
            "301 Moved Permanently",
            "it answered 301 Moved Permanently; it is at another address, which is to be given",
        ),
    ] {
        let collector = Collector::answering(status);
        assert_eq!(lost(collector.url()), told(collector.url(), why));
    }
    // Where nobody listens, and nobody begins to while a test runs: it is no port that anybody is given by chance.
    let address = "127.0.0.1:1";
    let why = lost(&format!("http://ada:secret@{address}/in"));
    assert!(why.starts_with(&told(&format!("http://...@{address}/in"), "")), "{why}");
    assert!(why.contains("refused") && !why.contains("secret"), "{why}");
    for bad in [
        "u5er:s3cret@127.0.0.1:1",
        "//u5er:s3cret@h",
        "http:/u5er:s3cret@h",
        "ftp://u5er:s3cret@h",
        "http://u5er:s3cret@",
        "http://u5er:s3cret@[::1",
        "http://[u5er:s3cret@x",
        "http://u5er:s3 cret@h",
        "http://h o?key=s3cret",
        "http://u5er:s3#cret@h",
        "http://u5er:s3?cret@h",
        "http://u5er:s3/cret@h?key=s3cret#cret",
        "http://u5er:s3@cret#@127.0.0.1:1",
        "http://h:1/?key=s3@cret",
        "http://h:1/#s3@cret",
        "u5er:s3//cret@h",
    ] {
        let builder = Otlp::to(bad);
        let told = format!("{builder:?} {} {0:?}", builder.clone().start().unwrap_err());
        assert!(!["u5er", "s3", "cret"].iter().any(|secret| told.contains(secret)), "{bad}: {told}");
    }
    Otlp::to("HTTP://127.0.0.1:1").start().unwrap().finish().unwrap();
    let bad = Otlp::to("127.0.0.1:4317").start().unwrap_err();
    assert_eq!(
        bad.to_string(),
        "spans cannot be sent to \"127.0.0.1:4317\": it begins with neither http:// nor https://"
    );
}
