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
//! use sommelier_handoff::{Agent, Done, Relay, RunEnd, Step};
//! use sommelier_runtime::{script, tool, Model, ScriptedModel};
//! use std::error::Error;
//!
//! fn drive(relay: &Relay, mut step: Step, model: &dyn Model) -> Result<Done, Box<dyn Error>> {
//!     loop {
//!         step = match step {
//!             Step::CallModel(call) => {
//!                 let response = model.complete(call.request(relay));
//!                 call.resume(relay, response, 0)
//!             }
//!             Step::CallTools(calls) => {
//!                 let agent = calls.agent(relay).ok_or("another relay")?;
//!                 let outputs = tool::dispatch(agent, calls.calls(), &calls.scope());
//!                 calls.resume(relay, outputs, 0)?
//!             }
//!             Step::AskHuman(asking) => return Err(format!("{:?}", asking.questions()).into()),
//!             Step::Delegate(delegation) => {
//!                 let (joint, mut branches) = delegation.split();
//!                 for branch in std::mem::take(&mut branches) {
//!                     let inside = branch.relay(relay).ok_or("another relay")?;
//!                     branches.push(branch.try_map(|step| drive(inside, step, model).map(Step::Done))?);
//!                 }
//!                 joint.put_back(branches)?.join(relay, 0).map_err(|_| "a branch is open")?
//!             }
//!             Step::HandOff(handoff) => handoff.take(relay, 0),
//!             Step::Done(done) => return Ok(done),
//!         };
//!     }
//! }
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
//! let step = relay.start("conversation-1", "Quote Focus, and what if I do not show up?")?;
//! let done = drive(&relay, step, &model)?;
//! assert_eq!(done.end(), &RunEnd::Answered);
//! assert_eq!(done.answer().as_deref(), Some("6500 cents."));
//! let hops: Vec<String> = done.run().trail().taken().map(|hop| format!("{} -> {}", hop.from, hop.to)).collect();
//! assert_eq!(hops, ["booking_agent -> policy_agent"]);
//! # Ok::<(), Box<dyn Error>>(())
//! ```

/// The crates below this one, so that one dependency suffices.
pub use {sommelier_protocol as protocol, sommelier_runtime as runtime};

mod announcement;
mod arbiter;
mod artifact;
mod budget;
mod build_error;
mod chronicle;
mod completion;
mod contract;
mod delegate;
mod edges;
mod effects;
mod evidence;
mod failure;
mod field;
mod guards;
mod history;
mod input;
mod json;
pub mod law;
mod link;
mod own_guard;
mod package;
#[cfg(test)]
mod planted;
mod policy;
mod pseudo_tool;
mod question;
mod reference;
mod refusal;
mod relay;
mod replay;
mod route;
mod routes;
mod run;
mod source;
pub mod step;
#[cfg(test)]
mod tests;
mod trail;
mod transform;
mod work;

pub use announcement::{Announced, Announcement, Asked, PlannedCall};
pub use artifact::{ARTIFACTS, Artifact, ArtifactValue, READ_ARTIFACT, TABLE_BYTES};
pub use budget::{Budget, Measure};
pub use build_error::{BuildError, BuildErrors, FieldFault, NameFault, Place};
pub use chronicle::{Chronicle, Effect, TurnClosed, TurnOnRecord};
pub use completion::{COMPLETE_HANDOFF, Completion, CompletionRefusal};
pub use contract::{Contract, ContractError};
pub use delegate::{DELEGATE_MODEL_CALLS, DEPTH, Delegate, DelegateRefusal};
pub use edges::Edge;
pub use failure::{FailedBy, Failure};
pub use field::Field;
pub use guards::{Guards, OnRefusal};
pub use input::{AskedCall, ENTRY_VERSION, Input, InputKind};
pub use json::{Fields, Json};
pub use link::{Cost, DelegateResult, DelegateStatus, Link, LinkOutcome};
pub use own_guard::{Judged, Verdict};
pub use package::HandoffPackage;
pub use policy::{PackagePolicy, Section};
pub use pseudo_tool::HANDOFF_TO_SPECIALIST;
pub use question::{ASK_HUMAN, Answer, Asks, Decision, Inquiry, Question, Rejected};
pub use refusal::{Guard, PackageError, Refusal};
pub use relay::{EntryPolicy, LoadError, OnFailedBranch, Relay, RelayBuilder, StartError};
pub use replay::{Divergence, Entry, Replay, Unread};
pub use route::Route;
pub use routes::Routes;
pub use run::{Run, RunEnd};
pub use step::{
    AskHuman, Branch, CallModel, CallTools, Delegation, Done, Glimpse, HandOff, Joint, Misfit, Released,
    Step, Unfed, Unfit,
};
pub use trail::{Account, Closing, Hop, HopEnd, HopOutcome, Millis, Trail};
pub use transform::Transformed;
pub use work::{Checked, Compliance, Conduct, Work};

pub use sommelier_runtime::{Agent, AgentName};
