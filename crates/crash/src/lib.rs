//! Runs whose processes are killed at every moment, and what has to be left of them.
//!
//! **What this crate knows:** how a run is killed, and how to tell afterwards whether anything was lost or happened twice.
//! The promise is the durable driver's and the store's; here it is held against real processes, `kill -9` and a real file.
//!
//! **What it does not know:** how either of them keeps it. It sees them through their public surface alone, and nothing in
//! them knows of it: the points at which a process kills itself are in a journal and in tools that wrap the real ones.
//!
//! ```text
//!   test ──starts──▶ victim: submit, resume, answer ...      one process for each command
//!    ▲                 │ a line for each thing that was acknowledged
//!    │                 ├──▶ journal.db   the journal, and the ledger in the same file
//!    │                 ├──▶ remote/      what has happened elsewhere: it survives the process, as another machine would
//!    │                 └──▶ models       how often a model was asked
//!    └──reads all of it, when the victim is dead: [`Scene::audit`]
//! ```
//!
//! It is not published. `cargo xtask crash` kills for as long as one likes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a harness fails as tests do")]

mod audit;
mod case;
mod golden;
mod ledger;
mod point;
mod process;
mod remote;
mod scenario;
mod scene;
mod seed;
mod watched;

pub use audit::{Audit, kinds_once, without_times};
pub use case::{Case, Next, Way};
pub use golden::{End, Golden, golden_folder};
pub use ledger::Row;
pub use point::{Moment, Point};
pub use process::{Ended, Running, Told, Victim};
pub use remote::{Remote, Traffic};
pub use scenario::{CONVERSATION, KEY, Scenario, answer_to};
pub use scene::{Desk, Scene, each};
pub use seed::Seed;
pub use watched::{Heard, Watched};

/// Makes the table of the ledger, where it is not there.
pub fn prepare_ledger(store: &sommelier_store::SqliteStore) {
    ledger::prepare(&store.connection().unwrap());
}
