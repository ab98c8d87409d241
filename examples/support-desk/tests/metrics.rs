//! What is measured of the desk's conversations. The only test of this file, since the subscriber is the process's.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may stop at what cannot be")]

mod harness;

use harness::{ended, waiting};
use serde_json::json;
use sommelier_metrics::{Constraints, Metrics};
use sommelier_runtime::script;
use support_desk::failures::{Slips, handoff, to_and_fro};
use support_desk::{Desk, DeskRules, Role};
use tracing_subscriber::layer::SubscriberExt;

/// S1-39.
#[test]
fn handoffs_first_responses_circles_and_broken_packages_are_counted() {
    let metrics = Metrics::new();
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(metrics.layer())).unwrap();

    ended(Desk::new("a", DeskRules).unwrap().ask(None, "I was charged twice, and the app crashes.").unwrap());
    let unbound = handoff(Role::Billing, "Look.", &json!({ "open_items": ["resolve it"] }));
    let slips = Slips::new([(Role::Triage, 0, Ok(unbound))]);
    ended(Desk::new("b", slips).unwrap().ask(None, "I was charged twice.").unwrap());
    waiting(Desk::new("c", to_and_fro()).unwrap().ask(None, "It crashes.").unwrap());
    let refund = script::call("tu_refund", "refund_charge", r#"{"charge":"CH-1042"}"#);
    let generous = Slips::new([(Role::Billing, 1, Ok(refund))]);
    ended(Desk::new("d", generous).unwrap().ask(None, "I'm on a trial and was charged twice.").unwrap());

    let report = metrics.report();
    let hops: Vec<(u64, &str, &str, bool)> = report
        .handoffs
        .hops
        .iter()
        .map(|hop| (hop.number, &*hop.from, &*hop.to, hop.first_chat_us.is_some()))
        .collect();
    assert_eq!(
        hops,
        [
            (1, "triage_agent", "billing_agent", true),
            (2, "billing_agent", "technical_agent", true),
            (1, "triage_agent", "billing_agent", true),
            (1, "triage_agent", "technical_agent", true),
            (2, "technical_agent", "billing_agent", true),
            (3, "billing_agent", "technical_agent", true),
            (1, "triage_agent", "billing_agent", true),
        ]
    );
    assert_eq!(
        report.handoffs.refusals,
        [("package".to_owned(), 1), ("pair".to_owned(), 1)].into(),
        "a package without its constraints, and a handoff that was made before"
    );
    assert_eq!(report.workflows.by_end["answered"], 3);
    // "be concise" was kept wherever work has ended, and the trial was broken. Nobody checks that nothing is asked again.
    assert_eq!(report.handoffs.constraints, Constraints { kept: 6, broken: 1, unchecked: 6, unknown: 0 });
    let quality = report.quality();
    assert_eq!(quality.handoffs_per_conversation, Some(1.75), "seven hops, four conversations");
    assert_eq!(
        quality.rehandoff_rate,
        Some(3.0 / 7.0),
        "the second of a, and two of three that c sent to and fro"
    );
    assert_eq!(quality.constraint_violation_rate, Some(1.0 / 7.0));
    assert_eq!(
        quality.refusal_rates,
        [("package".to_owned(), 1.0 / 9.0), ("pair".to_owned(), 1.0 / 9.0)].into()
    );
}
