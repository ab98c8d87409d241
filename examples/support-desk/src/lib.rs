//! A support desk of three agents: triage hears each query, and a technical or a billing specialist answers it.
//!
//! It stands on `sommelier-handoff` and `sommelier-runner` alone. What another program would write as a manager is two
//! values here: the definition ([`desk::relay`]: agents, routes, guards), which all conversations share, and the state
//! of one conversation ([`Run`](sommelier_handoff::Run): who is active, the hops with their packages, the counts).

pub mod desk;
pub mod failures;
pub mod intent;
pub mod records;
mod rules;
mod told;

pub use desk::{Desk, Role};
pub use rules::DeskRules;
pub use told::{Escalated, Told, Transfer, time_of_day};
