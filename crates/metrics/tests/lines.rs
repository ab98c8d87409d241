//! The JSON lines, parsed back.
#![expect(clippy::unwrap_used, reason = "a test may; clippy excuses only the test functions themselves")]

mod emit;

use std::thread;

use emit::{Writes, agent, chat, delegating_case, handoff, running_case, take, tool, workflow};
use serde_json::{Value, json};
use sommelier_metrics::{ClosedSpan, LinesLayer};
use tracing::field::Empty;
use tracing::{Dispatch, Span, dispatcher, info_span};
use tracing_subscriber::prelude::*;

/// The lines of a run; each `write` must be one line.
fn lines(run: impl FnOnce()) -> Vec<Value> {
    let writes = Writes::default();
    let subscriber = tracing_subscriber::registry().with(LinesLayer::new(writes.clone()));
    tracing::subscriber::with_default(subscriber, run);
    parsed(&writes)
}

fn parsed(writes: &Writes) -> Vec<Value> {
    let parse = |line: String| {
        assert!(line.ends_with('\n') && line.matches('\n').count() == 1, "{line:?}");
        serde_json::from_str(&line).unwrap()
    };
    writes.take().into_iter().map(parse).collect()
}

/// Takes the times out, which differ from run to run.
fn timeless(mut lines: Vec<Value>) -> Vec<Value> {
    for line in &mut lines {
        let line = line.as_object_mut().unwrap();
        for time in ["start_us", "duration_us", "at_us"] {
            assert!(line.remove(time).unwrap().is_u64(), "{time}");
        }
        assert_eq!(line.remove("layer").unwrap().as_str().unwrap().len(), 16);
    }
    lines
}

#[test]
fn a_hop_is_five_lines() {
    let run = || {
        let workflow = workflow();
        let sender = agent(&workflow, "booking_agent");
        let hop = handoff(&sender, "policy_agent");
        let id = hop.id();
        take(&hop, 1);
        drop(hop);
        drop(sender);
        let receiver = agent(&workflow, "policy_agent");
        receiver.follows_from(id);
        drop(chat(&receiver, "policy_agent", (300, 70), "end_turn"));
        drop(receiver);
        workflow.record("end", "answered");
    };
    assert_eq!(
        timeless(lines(run)),
        [
            json!({
                "name": "handoff", "otel_name": "execute_tool handoff_to_specialist policy_agent",
                "trace": 1, "span": 3, "parent": 2, "follows_from": [],
                "fields": {
                    "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "handoff_to_specialist",
                    "gen_ai.tool.call.id": "toolu_2", "gen_ai.agent.name": "booking_agent",
                    "gen_ai.transfer.mode": "pass_control", "gen_ai.transfer.target.name": "policy_agent",
                    "hop": 1, "package_bytes": 105, "history_bytes": 433, "outcome": "taken"
                }
            }),
            json!({
                "name": "invoke_agent", "otel_name": "invoke_agent booking_agent",
                "trace": 1, "span": 2, "parent": 1, "follows_from": [],
                "fields": {
                    "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "booking_agent",
                    "gen_ai.conversation.id": "c-17"
                }
            }),
            json!({
                "name": "chat", "otel_name": "chat scripted",
                "trace": 1, "span": 5, "parent": 4, "follows_from": [],
                "fields": {
                    "gen_ai.operation.name": "chat", "gen_ai.provider.name": "scripted",
                    "gen_ai.request.model": "scripted", "gen_ai.agent.name": "policy_agent",
                    "gen_ai.response.finish_reasons": "end_turn",
                    "gen_ai.usage.input_tokens": 300, "gen_ai.usage.output_tokens": 70,
                    "decision": "concept (claude-sonnet-5)"
                }
            }),
            json!({
                "name": "invoke_agent", "otel_name": "invoke_agent policy_agent",
                "trace": 1, "span": 4, "parent": 1, "follows_from": [3],
                "fields": {
                    "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "policy_agent",
                    "gen_ai.conversation.id": "c-17"
                }
            }),
            json!({
                "name": "invoke_workflow", "otel_name": "invoke_workflow",
                "trace": 1, "span": 1, "parent": null, "follows_from": [],
                "fields": {
                    "gen_ai.operation.name": "invoke_workflow", "gen_ai.conversation.id": "c-17",
                    "end": "answered"
                }
            }),
        ]
    );
}

#[test]
fn members_stand_in_the_documented_order() {
    let writes = Writes::default();
    let subscriber = tracing_subscriber::registry().with(LinesLayer::new(writes.clone()));
    tracing::subscriber::with_default(subscriber, || {
        info_span!(target: "sommelier", "chat", otel.name = "chat m", decision = "d");
    });
    let line = writes.take().concat();
    let mut rest = line.as_str();
    for part in [
        r#"{"name":"chat","otel_name":"chat m","trace":1,"span":1,"parent":null,"follows_from":[],"start_us":"#,
        r#","duration_us":"#,
        r#","fields":{"decision":"d"},"at_us":"#,
        r#","layer":""#,
    ] {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(part).unwrap();
    }
    assert_eq!(rest.trim_start_matches(|c: char| c.is_ascii_hexdigit()), "\"}\n");
}

#[test]
fn any_value_makes_valid_json() {
    let [line] = &lines(|| {
        let span = info_span!(
            target: "sommelier",
            "execute_tool",
            otel.name = Empty,
            quoted = "\"\\\u{1b}[0m\r\n\u{0}\u{2028}🙂",
            nan = f64::NAN,
            inf = f64::NEG_INFINITY,
            float = 0.5,
            negative = i64::MIN,
            large = u64::MAX,
            huge = u128::MAX,
            flag = true,
            debug = ?["a\nb"],
            display = %"{}",
        );
        span.record("otel.name", 7);
    })[..] else {
        panic!("one line")
    };
    assert_eq!(
        (&line["otel_name"], &line["fields"]),
        (
            &Value::Null,
            &json!({
                "quoted": "\"\\\u{1b}[0m\r\n\u{0}\u{2028}🙂", "nan": "NaN", "inf": "-inf", "float": 0.5,
                "negative": i64::MIN, "large": u64::MAX, "huge": u128::MAX.to_string(), "flag": true,
                "debug": "[\"a\\nb\"]", "display": "{}", "otel.name": 7
            })
        )
    );
}

#[test]
fn a_turn_may_follow_from_one_that_has_closed() {
    let links: Vec<Value> = lines(|| {
        let first = workflow();
        let id = first.id();
        drop(first);
        let second = workflow();
        second.follows_from(id);
        // The registry never gave this one to the layer.
        second.follows_from(info_span!(target: "hyper", "request").id());
    })
    .iter()
    .map(|line| json!([line["trace"], line["span"], line["parent"], line["follows_from"]]))
    .collect();
    assert_eq!(links, [json!([1, 1, null, []]), json!([2, 2, null, [1]])]);
}

/// A line is read as the span that it was written of, whatever it has.
#[test]
fn a_line_is_read_back() {
    let writes = Writes::default();
    let subscriber = tracing_subscriber::registry().with(LinesLayer::new(writes.clone()));
    tracing::subscriber::with_default(subscriber, || {
        running_case();
        info_span!(target: "sommelier", "chat", text = "🍷\u{202e}", less = -1, half = 0.5, flag = false);
    });
    for line in writes.take() {
        let span: ClosedSpan = serde_json::from_str(&line).unwrap();
        assert_eq!(serde_json::to_string(&span).unwrap() + "\n", line.replace("\\u202e", "\u{202e}"));
    }
}

/// Two layers, as of two processes, have two names; lines of an older version have none.
#[test]
fn a_layer_has_a_name_of_its_own() {
    let name = || lines(|| drop(workflow()))[0]["layer"].clone();
    assert_ne!(name(), name());
    let old = r#"{"name":"chat","otel_name":null,"trace":1,"span":1,"parent":null,"follows_from":[],"start_us":0,
        "duration_us":0,"fields":{}}"#;
    let span: ClosedSpan = serde_json::from_str(old).unwrap();
    assert_eq!((&*span.layer, span.at_us), ("", 0));
}

#[test]
fn times_nest() {
    let lines = lines(|| {
        let workflow = workflow();
        thread::sleep(std::time::Duration::from_millis(2));
        tool(&workflow, "get_quote").in_scope(|| thread::sleep(std::time::Duration::from_millis(2)));
    });
    let number = |at: usize, member: &str| lines[at][member].as_u64().unwrap();
    let (tool, root) = (0, 1);
    assert!(number(tool, "duration_us") >= 2_000);
    assert!(number(tool, "start_us") >= number(root, "start_us") + 2_000);
    assert!(
        number(root, "start_us") + number(root, "duration_us")
            >= number(tool, "start_us") + number(tool, "duration_us")
    );
}

#[test]
fn eight_threads_write_whole_lines_of_their_own_traces() {
    let writes = Writes::default();
    let dispatch = Dispatch::new(tracing_subscriber::registry().with(LinesLayer::new(writes.clone())));
    thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| dispatcher::with_default(&dispatch, || (0..20).for_each(|_| running_case())));
        }
    });
    let lines = parsed(&writes);
    let count = |name: &str| lines.iter().filter(|line| line["name"] == name).count();
    assert_eq!(
        ["invoke_workflow", "invoke_agent", "chat", "execute_tool", "handoff"].map(count),
        [160, 320, 640, 320, 320]
    );
    let mut spans: Vec<u64> = lines.iter().map(|line| line["span"].as_u64().unwrap()).collect();
    spans.sort_unstable();
    assert_eq!(spans, (1..=lines.len() as u64).collect::<Vec<_>>());
    for trace in 1..=160_u64 {
        assert_eq!(lines.iter().filter(|line| line["trace"] == trace).count(), 11);
    }
}

#[test]
fn other_targets_are_passed_over() {
    let lines = timeless(lines(|| {
        let between = info_span!(target: "hyper", "request");
        let root = between.in_scope(|| info_span!(target: "sommelier", "invoke_workflow"));
        let inner: Span = info_span!(target: "hyper", parent: &root, "request");
        info_span!(target: "sommelier", parent: &inner, "chat");
    }));
    let line = |name, span, parent: Value| {
        json!({
            "name": name, "otel_name": null, "trace": 1, "span": span, "parent": parent,
            "follows_from": [], "fields": {}
        })
    };
    assert_eq!(lines, [line("chat", 2, json!(1)), line("invoke_workflow", 1, Value::Null)]);
}

/// From the lines alone one reads who asked whom, and what stood under each question, whichever closed first.
#[test]
fn the_lines_of_branches_tell_who_asked_whom() {
    let lines = lines(|| delegating_case("c-17"));
    let fields = |line: &Value| {
        let names = ["parent_run", "child_run", "gen_ai.agent.name", "gen_ai.transfer.target.name", "status"];
        names.map(|name| line["fields"][name].as_str().unwrap_or("-").to_owned()).join(" ")
    };
    let delegates: Vec<&Value> = lines.iter().filter(|line| line["name"] == "delegate").collect();
    assert_eq!(
        delegates.iter().map(|line| fields(line)).collect::<Vec<_>>(),
        [
            "c-17 c-17/1/1/2 supervisor - refused",
            "c-17 c-17/1/1/1 supervisor shipping partial",
            "c-17/1/1/0 c-17/1/1/0/1/1/0 billing archive done",
            "c-17 c-17/1/1/0 supervisor billing done",
        ]
    );
    let span = |number: &Value| lines.iter().find(|line| line["span"] == *number).unwrap();
    let under = |tool: &str| -> Vec<&str> {
        let delegate = delegates.iter().find(|line| line["fields"]["gen_ai.tool.name"] == tool).unwrap();
        let under = lines.iter().filter(|line| line["parent"] == delegate["span"]);
        under.map(|line| line["otel_name"].as_str().unwrap()).collect()
    };
    assert_eq!(
        ["ask_legal", "ask_shipping", "ask_archive", "ask_billing"].map(under),
        [
            vec![],
            vec!["invoke_agent shipping", "invoke_agent customs"],
            vec!["invoke_agent archive"],
            vec!["invoke_agent billing"]
        ]
    );
    let askers = delegates.iter().map(|line| span(&line["parent"])["otel_name"].as_str().unwrap());
    assert_eq!(
        askers.collect::<Vec<_>>(),
        [
            "invoke_agent supervisor",
            "invoke_agent supervisor",
            "invoke_agent billing",
            "invoke_agent supervisor"
        ]
    );
}

/// A line of anybody's is read only as far as a span of ours goes: each field is searched for by its name.
#[test]
fn a_line_with_endless_fields_is_no_span() {
    let line = |fields: usize| {
        let fields: Vec<String> = (0..fields).map(|n| format!("\"f{n}\":{n}")).collect();
        format!(
            r#"{{"name":"chat","otel_name":null,"trace":1,"span":1,"parent":null,"follows_from":[],"start_us":0,"duration_us":1,"fields":{{{}}}}}"#,
            fields.join(",")
        )
    };
    let read =
        |fields| serde_json::from_str::<ClosedSpan>(&line(fields)).map(|span| span.fields.iter().count());
    assert_eq!(read(256).unwrap(), 256);
    let refused = read(257).unwrap_err().to_string();
    assert!(refused.starts_with("a span has at most 256 fields"), "{refused}");
}
