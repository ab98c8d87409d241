//! The drivers: what makes a run happen.
//!
//! This crate knows threads, clocks and spans. [`Runner`] takes a [`Relay`](sommelier_handoff::Relay) and the
//! user's words, asks the models, runs the tools and the branches of delegates in parallel on scoped threads, takes the
//! handoffs, and leaves a span for each. It does **not** decide anything: what happens next is the core's to say, and the
//! loop here is under a page. It knows no domain and no model by name.
//!
//! ```
//! use sommelier_handoff::{Agent, Relay};
//! use sommelier_runner::{Outcome, Runner};
//! use sommelier_runtime::{ScriptedModel, script};
//!
//! let relay = Relay::builder()
//!     .agent(Agent::new("booking_agent", "You quote and book rooms."))
//!     .agent(Agent::new("policy_agent", "You answer from the policy documents."))
//!     .entry("booking_agent")
//!     .route("booking_agent", "policy_agent")
//!     .build()?;
//! let model = ScriptedModel::new()
//!     .turn("booking_agent", |_| {
//!         let package = r#"{"specialist":"policy_agent","task":"What does a no-show cost?","context":{"quoted_cents":6000}}"#;
//!         script::call("tu_1", "handoff_to_specialist", package)
//!     })
//!     .turn("policy_agent", |_| script::say("6500 cents."));
//!
//! match Runner::new(model).run(&relay, "Quote Focus pro 3h. And what happens if I don't show up?")? {
//!     Outcome::Ended(report) => {
//!         assert_eq!(report.last_agent(), "policy_agent");
//!         assert_eq!(report.answer(), "6500 cents.");
//!         for hop in report.hops() {
//!             println!("{} -> {} ({} B)", hop.from, hop.to, hop.package_bytes);
//!         }
//!     }
//!     other => println!("not ended: {other:?}"),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Spans
//!
//! One trace for each message of the user, all spans under the target `sommelier`, fields by the names of
//! OpenTelemetry's conventions for generative AI. No text of a conversation, no argument and no result
//! is in any span.
//!
//! ```text
//! invoke_workflow
//! ├─ invoke_agent booking_agent
//! │  ├─ chat claude-sonnet-5
//! │  ├─ execute_tool get_quote
//! │  ├─ delegate ask_pricing         parent_run, child_run, package_bytes, status, steps_used
//! │  │  └─ invoke_agent pricing_agent
//! │  │     └─ ...
//! │  ├─ chat claude-sonnet-5
//! │  └─ handoff to policy_agent      hop, package_bytes, history_bytes, outcome
//! └─ invoke_agent policy_agent       follows from the handoff
//!    └─ ...
//! ```

/// The crates below this one, so that one dependency suffices.
pub use {sommelier_handoff as handoff, sommelier_protocol as protocol, sommelier_runtime as runtime};

/// The README's example, kept running.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

/// The guide's pieces of code, kept running.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide.md")]
pub struct Guide;

mod answered;
mod branches;
mod conduct;
mod contents;
mod dispatch;
mod driven;
pub mod durable;
mod gate;
pub mod journal;
mod mailbox;
mod report;
mod root;
mod run_error;
mod runner;
mod secrets;
mod seen;
mod single;
mod spans;

pub use dispatch::dispatch_parallel;
pub use durable::{
    ClaimFault, DurableError, DurableRunner, Orphan, Orphans, Settled, Sweep, Swept, Turn, check_claims,
};
pub use gate::{Approval, Decision, Gate};
pub use mailbox::Mailbox;
pub use report::{Outcome, Parked, Report};
pub use run_error::RunError;
pub use runner::Runner;
pub use single::{AgentRun, HandoffRun, Stopped, run_agent, run_agent_with_handoff, run_until_handoff};
pub use spans::TARGET;
