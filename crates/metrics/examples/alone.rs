//! Only the metrics: spans that are made by hand are counted, so whoever emits them gets the report.
//!
//! Run it with `cargo run -p sommelier-metrics --example alone`.

use sommelier_metrics::{Metrics, names};
use tracing::field::Empty;
use tracing::info_span;
use tracing_subscriber::prelude::*;

#[cfg_attr(test, test)]
fn main() {
    let metrics = Metrics::new();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(metrics.layer()), || {
        let root = info_span!(target: names::TARGET, "invoke_workflow", end = Empty);
        root.in_scope(|| {
            let _agent =
                info_span!(target: names::TARGET, "invoke_agent", gen_ai.agent.name = "booking_agent").entered();
            info_span!(target: names::TARGET, "chat", gen_ai.usage.input_tokens = 812, gen_ai.usage.output_tokens = 40);
            info_span!(target: names::TARGET, "execute_tool", gen_ai.tool.name = "get_quote");
            info_span!(
                target: names::TARGET,
                "handoff",
                gen_ai.transfer.target.name = "policy_agent",
                package_bytes = 105_u64,
                history_bytes = 402_u64,
                outcome = names::TAKEN,
                hop = 1_u64
            );
        });
        root.record(names::END, "answered");
    });
    let report = metrics.report();
    println!("{report}");
    assert_eq!((report.model.total.input_tokens, report.handoffs.bytes_crossing), (812, 105));
    assert_eq!(report.handoffs.hops[0].to, "policy_agent");
}
