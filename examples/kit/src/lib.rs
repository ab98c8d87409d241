//! What the example binaries share: flags, the subscriber, and how a run is printed.
//!
//! Nothing here is needed to use the crates; it keeps the examples to the lines that matter.

mod flags;
mod lesson;
mod run;
mod trace;

pub use flags::{Flags, Misuse};
pub use lesson::{Claim, Lesson, Shown};
pub use run::{HopRow, RefusalRow, RunRow, excerpt, narrate, print, printable};
pub use trace::{Trace, install};
