//! S3-03: an observer hears of each thing that happens, as `(event, data)`, and may be silent.

#![expect(clippy::unwrap_used, reason = "a test may stop at what cannot be")]

mod harness;

use harness::runner;
use sommelier_handoff::{Agent, Delegate, Relay};
use sommelier_metrics::OnEvent;
use sommelier_runtime::{ScriptedModel, Tool, script, tool, tool_args};
use std::sync::{Arc, Mutex};
use tracing_subscriber::layer::SubscriberExt;

tool_args! {
    /// Nothing is asked for.
    struct Nothing {}
}

fn relay() -> Relay {
    let quote =
        Tool::new("quote", "Quotes.", |_: Nothing, _: &tool::CallContext<'_>| Ok::<_, tool::Failure>(6000));
    Relay::builder()
        .agent(Agent::new("booking_agent", "").tools([quote]))
        .agent(Agent::new("policy_agent", ""))
        .entry("booking_agent")
        .route("booking_agent", "policy_agent")
        .build()
        .unwrap()
}

fn model() -> ScriptedModel {
    let hand_to = |to: &str| format!(r#"{{"specialist":"{to}","task":"Answer.","context":{{}}}}"#);
    let (nobody, policy) = (hand_to("nobody"), hand_to("policy_agent"));
    ScriptedModel::new()
        .turn("booking_agent", |_| script::calls([("a", "quote", "{}"), ("b", "gone", "{}")]))
        .turn("booking_agent", move |_| script::call("c", "handoff_to_specialist", &nobody))
        .turn("booking_agent", move |_| script::call("d", "handoff_to_specialist", &policy))
}

/// The journal's names of events, in the order in which things happened, with the span's fields as data.
#[test]
fn an_observer_hears_each_event() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = heard.clone();
    let observer = OnEvent::new(move |event, data| {
        let of = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
        let what = ["gen_ai.tool.name", "gen_ai.transfer.target.name", "end"].map(of).concat();
        log.lock().unwrap().push(format!("{event} {what}").trim_end().to_owned());
    });
    tracing::subscriber::with_default(tracing_subscriber::registry().with(observer), || {
        runner(model()).run(&relay(), "Quote, please.").unwrap();
    });
    assert_eq!(
        *heard.lock().unwrap(),
        [
            "turn_received",
            "model_requested",
            "model_responded",
            "tool_intended quote",
            "tool_completed quote",
            "model_requested",
            "model_responded",
            "handoff_refused handoff_to_specialist_other",
            "model_requested",
            "model_responded",
            "handoff_committed handoff_to_specialistpolicy_agent",
            "model_requested",
            "model_failed",
            "closed failed",
        ]
    );
}

/// A delegate's events name the run that asks and the branch; between them stand those of the branch.
#[test]
fn an_observer_hears_of_delegates() {
    let relay = Relay::builder()
        .agent(Agent::new("supervisor", ""))
        .delegate("supervisor", Delegate::new("ask_billing", Agent::new("billing", "")))
        .delegate("supervisor", Delegate::new("ask_shipping", Agent::new("shipping", "")))
        .entry("supervisor")
        .build()
        .unwrap();
    let question = r#"{"question":"Was it paid?"}"#;
    // shipping has no script, so its model cannot be asked.
    let model = ScriptedModel::new()
        .turn("supervisor", move |_| {
            script::calls([("a", "ask_billing", question), ("b", "ask_shipping", "{}")])
        })
        .turn("supervisor", move |_| script::call("c", "ask_shipping", question))
        .turn("supervisor", |_| script::say("It was paid."))
        .turn("billing", |_| script::say("Yes."));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = heard.clone();
    let observer = OnEvent::new(move |event, data| {
        let names = [
            "gen_ai.agent.name",
            "gen_ai.transfer.target.name",
            "parent_run",
            "child_run",
            "status",
            "error.type",
        ];
        let said = names.iter().filter_map(|name| data[*name].as_str());
        log.lock().unwrap().push([event].into_iter().chain(said).collect::<Vec<_>>().join(" "));
    });
    tracing::subscriber::with_default(tracing_subscriber::registry().with(observer), || {
        runner(model).conversation("k").run(&relay, "Was it paid?").unwrap();
    });
    assert_eq!(
        *heard.lock().unwrap(),
        [
            "turn_received supervisor",
            "model_requested supervisor",
            "model_responded supervisor",
            "delegate_asked supervisor k k/1/1/1",
            "delegate_refused supervisor k k/1/1/1 refused invalid_question",
            "delegate_asked supervisor billing k k/1/1/0",
            "model_requested billing",
            "model_responded billing",
            "delegate_returned supervisor billing k k/1/1/0 done",
            "model_requested supervisor",
            "model_responded supervisor",
            "delegate_asked supervisor shipping k k/1/2/0",
            "model_requested shipping",
            "model_failed shipping no_script",
            "delegate_failed supervisor shipping k k/1/2/0 failed failed",
            "model_requested supervisor",
            "model_responded supervisor",
            "closed supervisor",
        ]
    );
}

/// A function that does nothing silences it, and the run is the same.
#[test]
fn an_observer_may_be_silent() {
    let run = || runner(model()).conversation("c").run(&relay(), "Quote, please.").unwrap();
    let silent = tracing_subscriber::registry().with(OnEvent::new(|_, _| ()));
    assert_eq!(tracing::subscriber::with_default(silent, run), run());
}
