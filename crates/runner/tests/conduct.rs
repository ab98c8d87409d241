//! What is counted of constraints: where work has ended, once. The only test of this file, since the subscriber is the
//! process's.

mod harness;

use harness::ended;
use sommelier_handoff::{Agent, Conduct, Delegate, Relay, RelayBuilder};
use sommelier_metrics::{Constraints, Metrics};
use sommelier_runner::Runner;
use sommelier_runtime::{ScriptedModel, script};
use tracing_subscriber::layer::SubscriberExt;

const HANDS: &str =
    r#"{"specialist":"b","task":"Go on.","context":{},"constraints":["be short","be kind","be clear"]}"#;

/// a may hand over to b; whether an answer is short is checked, and no answer can be told to be clear.
fn pair() -> RelayBuilder {
    let builder = Relay::builder().agent(Agent::new("a", "")).agent(Agent::new("b", "")).entry("a");
    builder
        .route("a", "b")
        .constraint_check("be short", |work| {
            Ok(match work.answer() {
                Some("Fine.") => Conduct::Keep,
                _ => Conduct::Break { reason: "it is long".to_owned() },
            })
        })
        .constraint_check("be clear", |_| Err("who knows".into()))
}

/// S1-39, R19: kept, broken, unchecked and unknown are told apart; a later message counts no work again, and a branch counts
/// its own, on its own span.
#[test]
fn constraints_are_counted_where_work_has_ended() {
    let metrics = Metrics::new();
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(metrics.layer())).unwrap();
    let constraints = || metrics.report().handoffs.constraints;

    let relay = pair().build().unwrap();
    let model = ScriptedModel::new()
        .turn("a", |_| script::call("tu_1", "handoff_to_specialist", HANDS))
        .turn("b", |_| script::say("Fine."))
        .turn("b", |_| script::say("As I said, fine."));
    let runner = Runner::new(&model).conversation("c");
    let report = ended(runner.run(&relay, "Hello."));
    assert_eq!(constraints(), Constraints { kept: 1, broken: 0, unchecked: 1, unknown: 1 });
    ended(runner.go_on(&relay, report.into_done(), "Again, please."));
    assert_eq!(constraints(), Constraints { kept: 1, broken: 0, unchecked: 1, unknown: 1 });

    let boss = Relay::builder().agent(Agent::new("boss", "")).entry("boss");
    let boss = boss.delegate("boss", Delegate::team("ask_pair", pair().build().unwrap())).build().unwrap();
    let model = ScriptedModel::new()
        .turn("boss", |_| script::call("tu_1", "ask_pair", r#"{"question":"How is it?"}"#))
        .turn("a", |_| script::call("tu_1", "handoff_to_specialist", HANDS))
        .turn("b", |_| script::say("Quite fine."))
        .turn("boss", |_| script::say("Well."));
    ended(Runner::new(&model).conversation("d").run(&boss, "Hello."));
    assert_eq!(constraints(), Constraints { kept: 1, broken: 1, unchecked: 2, unknown: 2 });
    assert_eq!(metrics.report().quality().constraint_violation_rate, Some(0.5));
}
