//! What the example binaries share: flags, the subscriber, how a run is printed, and which pattern it
//! called for.
//!
//! Nothing here is needed to use the crates; it keeps the examples to the lines that matter.

mod flags;
mod lesson;
mod measured;
mod run;
mod trace;
mod verdict;
mod wrap;

pub use flags::{Flags, Misuse};
pub use lesson::{Claim, Example, Flag, Lesson, Shown};
pub use measured::{Asked, Measured, json_bytes};
pub use run::{HopRow, LinkRow, RefusalRow, RunRow, narrate, narrate_agent, print};
pub use sommelier_protocol::sight::printable;
pub use trace::{Trace, install};
pub use verdict::{Need, Verdict, shape_of};
pub use wrap::{WIDTH, excerpt, wrapped};
