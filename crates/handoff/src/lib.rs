//! The handoff: one agent hands its turn to another, and a small validated package is all that crosses.
//!
//! This crate knows agents that may hand over to each other ([`Relay`]), what crosses
//! ([`HandoffPackage`]), when it may not ([`Refusal`]), and the run as a value that moves through its steps
//! ([`Step`]). It does **not** know how a model is reached, how a step is driven, or what any agent is for;
//! it does no I/O, reads no clock and starts no thread.
//!
//! A run, driven by hand:
//!
//! ```
//! use sommelier_handoff::{Agent, Relay, RunEnd, Step};
//! use sommelier_runtime::{script, Model, ScriptedModel};
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
//! let mut step = relay.start("conversation-1", "Quote Focus, and what if I do not show up?")?;
//! let done = loop {
//!     step = match step {
//!         Step::CallModel(call) => {
//!             let response = model.complete(call.request(&relay));
//!             call.resume(&relay, response, 0)
//!         }
//!         Step::CallTools(calls) => calls.resume(&relay, Vec::new(), 0)?,
//!         Step::HandOff(handoff) => handoff.take(&relay, 0),
//!         Step::Done(done) => break done,
//!     };
//! };
//! assert_eq!(done.end(), &RunEnd::Answered);
//! assert_eq!(done.answer().as_deref(), Some("6500 cents."));
//! let hops: Vec<String> = done.run().trail().taken().map(|hop| format!("{} -> {}", hop.from, hop.to)).collect();
//! assert_eq!(hops, ["booking_agent -> policy_agent"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

/// The crates below this one, so that one dependency suffices.
pub use {sommelier_protocol as protocol, sommelier_runtime as runtime};

mod arbiter;
mod guards;
mod history;
mod json;
pub mod law;
mod package;
#[cfg(test)]
mod planted;
mod policy;
mod pseudo_tool;
mod refusal;
mod relay;
mod route;
mod run;
pub mod step;
#[cfg(test)]
mod tests;
mod trail;

pub use guards::{Guards, OnRefusal};
pub use json::{Fields, Json};
pub use package::HandoffPackage;
pub use policy::{PackagePolicy, Section};
pub use pseudo_tool::HANDOFF_TO_SPECIALIST;
pub use refusal::{Guard, PackageError, Refusal};
pub use relay::{BuildError, BuildErrors, EntryPolicy, LoadError, Relay, RelayBuilder, StartError};
pub use route::Route;
pub use run::{Run, RunEnd};
pub use step::{CallModel, CallTools, Done, HandOff, Released, Step};
pub use trail::{Hop, HopOutcome, Millis, Trail};

pub use sommelier_runtime::{Agent, AgentName};
