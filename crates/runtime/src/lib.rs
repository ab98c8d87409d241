//! One agent's turn.
//!
//! This crate knows how one agent works: it asks a model, runs the tools that the model calls for, and goes
//! on until the model answers or a limit is reached. It does **not** know what a handoff is, where a model
//! lives or what a network is.
//!
//! - [`turn`] is the turn as a pure state machine: each step says what is to be done next and is consumed
//!   by the answer. It does no I/O and reads no clock.
//! - [`tool`] is the table of typed tools and its dispatch, one by one or in parallel on scoped threads.
//!   It stands beside the turn, not inside it.
//! - [`Model`] is what answers; [`ScriptedModel`] answers from a script, and needs no network.
//!
//! A whole agent without any other crate:
//!
//! ```
//! use sommelier_runtime::{script, tool, Agent, Model, ScriptedModel, Tool, TurnStep, tool_args};
//!
//! tool_args! {
//!     /// What is to be added.
//!     pub struct Sum {
//!         /// The first number.
//!         pub a: i64,
//!         /// The second number.
//!         pub b: i64,
//!     }
//! }
//!
//! let add = Tool::new("add", "Adds two numbers.", |sum: Sum, _: &tool::CallContext<'_>| {
//!     sum.a.checked_add(sum.b).ok_or(tool::Failure::new("overflow", "the sum is too large"))
//! });
//! let agent = Agent::new("clerk", "You add numbers.").tools([add]).build()?;
//! let model = ScriptedModel::new()
//!     .turn("clerk", |_| script::call("tu_1", "add", r#"{"a":2,"b":3}"#))
//!     .turn("clerk", |request| script::say(format!("It is {}.", script::last_result(request))));
//!
//! let mut step = TurnStep::start(&agent, "What is 2 + 3?")?;
//! let turn = loop {
//!     step = match step {
//!         TurnStep::CallModel(call) => {
//!             let response = model.complete(call.request(&agent));
//!             call.resume(&agent, response)
//!         }
//!         TurnStep::CallTools(calls) => {
//!             let outputs = tool::dispatch(&agent, calls.calls(), "demo/1");
//!             calls.resume(&agent, outputs)?
//!         }
//!         TurnStep::Reserved(_) => unreachable!("this agent has no reserved tool"),
//!         TurnStep::Done(turn) => break turn,
//!     };
//! };
//! assert_eq!(turn.answer().as_deref(), Some("It is 5."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

/// The words on the wire, so that one dependency suffices.
pub use sommelier_protocol as protocol;

mod agent;
mod id;
mod limits;
mod model;
mod name;
pub mod script;
pub mod tool;
pub mod turn;

#[doc(hidden)]
pub use tool::tool_args_support;

pub use agent::{Agent, Definition, DefinitionError};
pub use id::derived_id;
pub use limits::Limits;
pub use model::{Model, ModelError, Remote};
pub use name::AgentName;
pub use script::ScriptedModel;
pub use tool::{Tool, ToolArgs, ToolOutput, ToolTable};
pub use turn::{Misuse, Turn, TurnEnd, TurnStep};
