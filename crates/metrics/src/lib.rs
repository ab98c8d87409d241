//! [`tracing_subscriber`] layers over the spans of a Sommelier run: one counts, one draws, one writes lines, one gives them away.
//!
//! **What this crate knows:** the names of the spans and fields which a runner emits ([`names`]), and how to
//! add them up ([`Report`]), draw them ([`TreeLayer`]) and write them as JSON ([`LinesLayer`]).
//!
//! **What it does not know:** any other crate of the project. It never sees an agent, a package or a message,
//! only tracing spans of target [`names::TARGET`]; it reads no text that passes between agents, since no span
//! holds any. Whoever emits the same spans gets the same report, and removing a layer changes no run.
//!
//! ```text
//!   runner ── spans ──▶ tracing ──▶ Registry ─┬─▶ MetricsLayer ──▶ Metrics::report() ──▶ Report
//!                                             ├─▶ TreeLayer    ──▶ one tree for each root span
//!                                             ├─▶ LinesLayer   ──▶ one JSON line for each span
//!                                             └─▶ SpansLayer   ──▶ each span to a sink of one's own
//! ```
//!
//! A span counts, is drawn and is written when it *closes*, for only then are its fields final. A field
//! recorded later replaces the earlier value. Durations are the life of a span, from opening to closing, read
//! from the monotonic clock.
//!
//! ```
//! use sommelier_metrics::Metrics;
//! use tracing::info_span;
//! use tracing_subscriber::prelude::*;
//!
//! let metrics = Metrics::new();
//! let subscriber = tracing_subscriber::registry().with(metrics.layer());
//! tracing::subscriber::with_default(subscriber, || {
//!     let _workflow = info_span!(target: "sommelier", "invoke_workflow", end = "answered").entered();
//!     let _agent =
//!         info_span!(target: "sommelier", "invoke_agent", gen_ai.agent.name = "booking_agent").entered();
//!     info_span!(
//!         target: "sommelier",
//!         "chat",
//!         gen_ai.usage.input_tokens = 812_u64,
//!         gen_ai.usage.output_tokens = 40_u64
//!     );
//! });
//!
//! let report = metrics.report();
//! assert_eq!(report.model.total.calls, 1);
//! assert_eq!(report.model.by_agent["booking_agent"].input_tokens, 812);
//! assert_eq!(
//!     report.to_string(),
//!     "workflows          1  answered 1\n\
//!      model calls        1  812 tokens in, 40 out\n\
//!      \x20 booking_agent    1  812 tokens in, 40 out\n\
//!      tool runs          0\n\
//!      handoffs           0\n\
//!      bytes crossing     0\n\
//!      bytes left behind  0"
//! );
//! ```
//!
//! # Threads
//!
//! The layers may be called from any thread. But a thread that enters a span, or drops its last handle, must do so
//! under the same default dispatcher as the thread that opened it, for the registry gives back its references
//! through the current dispatcher: otherwise that span or its parents never close, and are not counted. With
//! [`set_global_default`](tracing::subscriber::set_global_default) this holds by itself; under
//! [`with_default`](tracing::subscriber::with_default) hand the dispatcher on, and lend the span rather than give
//! it away:
//!
//! ```
//! use sommelier_metrics::Metrics;
//! use tracing::{dispatcher, info_span};
//! use tracing_subscriber::prelude::*;
//!
//! let metrics = Metrics::new();
//! tracing::subscriber::with_default(tracing_subscriber::registry().with(metrics.layer()), || {
//!     let tool = info_span!(target: "sommelier", "execute_tool", gen_ai.tool.name = "get_quote");
//!     let dispatch = dispatcher::get_default(Clone::clone);
//!     std::thread::scope(|threads| {
//!         threads.spawn(|| dispatcher::with_default(&dispatch, || tool.in_scope(|| "the tool runs")));
//!     });
//! });
//! assert_eq!(metrics.report().tools.total.runs, 1);
//! ```

mod closed;
mod events;
mod fields;
mod layer;
pub mod lines;
pub mod names;
mod open;
mod quality;
mod recent;
mod report;
mod slots;
mod spans;
mod tally;
mod text;
mod told;
pub mod tree;

pub use closed::ClosedSpan;
pub use events::OnEvent;
pub use fields::{FieldValue, Fields};
pub use layer::{Metrics, MetricsLayer};
pub use lines::{Lines, LinesLayer};
pub use quality::Quality;
pub use report::{
    Constraints, DelegateUse, Delegations, Handoffs, Hop, Link, MAX_KEYS, MAX_LISTED_HOPS, MAX_LISTED_LINKS,
    ModelCalls, ModelUse, Report, ToolRuns, ToolUse, Workflows,
};
pub use spans::{OpenedSpan, SpanSink, SpansLayer};
pub use text::duration;
pub use tree::TreeLayer;
