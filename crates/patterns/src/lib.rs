//! The patterns that a handoff is measured against.
//!
//! This crate knows how agents are put together: who decides, when, and who waits for whom. It does **not** know any
//! domain, and it drives nothing itself: everything here is a thin composition of relays, delegates and runs.

/// The crates below this one, so that one dependency suffices.
pub use {
    sommelier_handoff as handoff, sommelier_protocol as protocol, sommelier_runner as runner,
    sommelier_runtime as runtime,
};

mod choose;
mod forced_return;

pub use choose::{Choice, Pattern, Shape, choose};
pub use forced_return::forced_return;
