//! The support desk on a live model, held to what must be so whatever the model writes.
//!
//! A hosted model routes well and a tiny one by chance; neither is asserted here. What is asserted are [rules](Rule) that no
//! reply of any model may break: what ran was valid, every conversation is legal, every limit held, what crossed was asked for
//! by the model's own call, and whatever went wrong ended at a guard or with a person.
//!
//! ```text
//!   Case ──▶ Desk on a Witness ──▶ Evidence ──▶ inspect ──▶ Tally: how often each rule was looked at, and broken
//!                 │                    └──────▶ Sighting: a handoff, the bytes that asked for it, what crossed
//!                 └─ keeps each request and reply
//! ```
//!
//! The evidence is taken where it arises, and not from what the desk says of itself: requests and replies by a
//! [`Witness`] between the desk and its model, results from the conversations as they ended. [`inspect`] is a function over
//! plain data, so a test can bend a piece of evidence and see the rule break that it belongs to.

mod bench;
mod case;
mod evidence;
mod inspect;
pub mod schema;
mod sighting;
mod stand_in;
mod tally;
mod witness;

pub use bench::Bench;
pub use case::{CASES, Case, Freedom};
pub use evidence::{End, Evidence, Heard};
pub use inspect::inspect;
pub use sighting::Sighting;
pub use stand_in::StandIn;
pub use tally::{Count, Rule, Tally};
pub use witness::{Exchange, Tap, Witness};
