//! The patterns that a handoff is measured against.
//!
//! This crate knows how agents are put together: who decides, when, and who waits for whom. It does **not** know any
//! domain, and it drives nothing itself: everything here is a thin composition of relays, delegates and runs.
//!
//! | pattern | who decides | when | here |
//! |---|---|---|---|
//! | supervisor | somebody outside, by rule or by model | on the raw request, before any work | [`Supervisor`] |
//! | pipeline | nobody | the order stands before there is a request | [`Pipeline`] |
//! | fan-out | nobody | the parts are known to be independent beforehand | [`FanOut`] |
//! | handoff | the agent at work | when the need shows, in mid-work | a [`Relay`](sommelier_handoff::Relay) with routes |
//!
//! The first three are an agent with delegates, each in a branch of its own. Where code decides, a [`Rule`] stands in
//! the place of that agent's model. Each is built into a [`Team`], and a team can be put [behind](Team::behind) a tool of
//! another, so they nest. [`choose`] says which pattern a request calls for, and why. [`forced_return`] is what
//! a direct handoff saves: the way back to a supervisor at every limit.

/// The crates below this one, so that one dependency suffices.
pub use {
    sommelier_handoff as handoff, sommelier_protocol as protocol, sommelier_runner as runner,
    sommelier_runtime as runtime,
};

mod choose;
mod error;
mod fan_out;
mod forced_return;
mod member;
mod merge;
mod pipeline;
mod rule;
mod supervisor;
mod team;

pub use choose::{Choice, Dependence, Pattern, Reason, Shape, choose};
pub use error::TeamError;
pub use fan_out::FanOut;
pub use forced_return::forced_return;
pub use member::Member;
pub use merge::{Conflict, Merged, OnConflict, merge};
pub use pipeline::Pipeline;
pub use rule::{Finding, Move, Question, Rule, Sight};
pub use supervisor::Supervisor;
pub use team::{Team, critical_path};
