//! S3-03: an observer hears of each thing that happens, as `(event, data)`, and may be silent.

#![expect(clippy::unwrap_used, reason = "a test may stop at what cannot be")]

mod harness;

use harness::runner;
use sommelier_handoff::{Agent, Delegate, HandoffPackage, Judged, Relay, Route, Trail, Transformed, Verdict};
use sommelier_metrics::OnEvent;
use sommelier_runner::TARGET;
use sommelier_runtime::{ScriptedModel, Tool, script, tool, tool_args};
use std::sync::{Arc, Mutex};
use tracing::{info, info_span};
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

/// What code of one's own may say in its place: that somebody else speaks, and that a handoff was taken.
fn speaks_as_another() {
    info!(target: TARGET, { gen_ai.agent.name = "booking_agent" }, "it is my turn");
    drop(info_span!(
        target: TARGET,
        "handoff",
        gen_ai.agent.name = "policy_agent",
        gen_ai.transfer.target.name = "booking_agent",
        outcome = "taken",
    ));
}

/// The relay with a guard and a transform that do nothing but say something.
fn relay_that_speaks(speak: fn()) -> Relay {
    let guard = move |_: &HandoffPackage, _: &Trail| -> Judged {
        speak();
        Ok(Verdict::Allow)
    };
    let transform = move |package: HandoffPackage| -> Transformed {
        speak();
        Ok(package)
    };
    let tool = move |_: Nothing, _: &tool::CallContext<'_>| {
        speak();
        Ok::<_, tool::Failure>(6000)
    };
    Relay::builder()
        .agent(Agent::new("booking_agent", "").tools([Tool::new("quote", "Quotes.", tool)]))
        .agent(Agent::new("policy_agent", "").tools([Tool::new("quote", "Quotes.", tool)]))
        .entry("booking_agent")
        .route_with(Route::new("booking_agent", "policy_agent").guard("speaks_here", guard))
        .route("policy_agent", "booking_agent")
        .guard_of("policy_agent", "speaks", guard)
        .transform("speaks", transform)
        .build()
        .unwrap()
}

/// C65: nothing listens for who says something: whatever guards, transforms, tools and observers say, under whichever
/// name, the run is the value that it is when they are silent. Only a handoff that was taken changes who is active.
#[test]
fn who_says_something_does_not_become_active() {
    let model = || {
        model()
            .turn("policy_agent", |_| script::call("e", "quote", "{}"))
            .turn("policy_agent", |_| script::say("6500 cents."))
    };
    let run = |speak: fn()| {
        runner(model()).conversation("c").run(&relay_that_speaks(speak), "Quote, please.").unwrap()
    };
    let silent = run(|| ());
    let heard = Arc::new(Mutex::new(0));
    let count = Arc::clone(&heard);
    let observer = OnEvent::new(move |_, _| {
        *count.lock().unwrap() += 1;
        info!(target: TARGET, { gen_ai.agent.name = "booking_agent" }, "and mine");
    });
    let subscriber = tracing_subscriber::registry().with(observer);
    let spoken = tracing::subscriber::with_default(subscriber, || run(speaks_as_another));
    assert_eq!(spoken, silent);
    let sommelier_runner::Outcome::Ended(report) = spoken else { unreachable!("nobody is asked") };
    assert_eq!((report.last_agent(), report.hops().count()), ("policy_agent", 1));
    assert!(*heard.lock().unwrap() > 20, "the observer did hear");
}

/// C116: a handoff that could not be written down is heard of as failed, and as committed when it was.
#[test]
fn an_observer_hears_that_a_handoff_failed() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = heard.clone();
    let observer = OnEvent::new(move |event, data| {
        if event.starts_with("handoff") || event == "closed" {
            let of = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
            let said = [event.to_owned(), of("outcome"), of("end"), of("error.type")];
            log.lock()
                .unwrap()
                .push(said.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "));
        }
    });
    tracing::subscriber::with_default(tracing_subscriber::registry().with(observer), || {
        let first = std::sync::atomic::AtomicBool::new(true);
        let model = ScriptedModel::new()
            .turn("booking_agent", |_| {
                script::call(
                    "d",
                    "handoff_to_specialist",
                    r#"{"specialist":"policy_agent","task":"t","context":{}}"#,
                )
            })
            .turn("policy_agent", |_| script::say("6500 cents."));
        let runner =
            runner(model).record_hops(|_| match first.swap(false, std::sync::atomic::Ordering::Relaxed) {
                true => Err("the disk is full".into()),
                false => Ok(()),
            });
        let Err(sommelier_runner::RunError::Unwritten { parked, .. }) =
            runner.run(&relay(), "Quote, please.")
        else {
            unreachable!("it cannot be written down")
        };
        runner.drive(&relay(), parked.into_step()).unwrap();
    });
    assert_eq!(
        *heard.lock().unwrap(),
        [
            "handoff_failed failed unwritten",
            "closed unwritten unwritten",
            "handoff_committed taken",
            "closed answered",
        ]
    );
}
