//! A strict fake of Anthropic's Messages API.
//!
//! **What this crate knows:** what the service refuses and how it words it, what its replies look like whole and as a
//! stream, and how it fails. A client that works against it has sent headers, members and messages in the order that
//! the service asks for; one that does not is told by the service's own status and error.
//!
//! **What it does not know:** how to talk. It says what its [`Script`] says, or a short text. Nor does it know agents
//! or handoffs: it sees requests and nothing else, and other projects can use it as it is.
//!
//! ```text
//!            ┌─ http ──────────┐   ┌─ rules ───────────────────┐   ┌─ script ─┐   ┌─ reply, events ─┐
//!  client ──▶│ head, body,     ├──▶│ head, shape, model, tools │──▶│ which    │──▶│ whole or as     │──▶ client
//!            │ limits, time    │   │ thinking, sequence S1-S13 │   │ reply    │   │ a stream        │
//!            └─────────────────┘   └────────────┬──────────────┘   └──────────┘   └────────▲────────┘
//!                                               └─ 4xx in the service's words              faults
//! ```
//!
//! [`FakeServer`] runs it in a thread of a test; the program `sommelier-fake-server` runs it for clients in any
//! language. What it was asked is in its [`Log`]. `docs/live.md` tells how to use it, and has the form of its files.
//!
//! It refuses only what the service refuses, as documents and reports have it; nothing was tried against the live
//! service. Where this project's own rules are stricter, a request is served and the rule is *noted* in the log, unless
//! [`Settings::strict`] is set. The files under `fixtures/`, one for each [`Rule`], hold requests that keep a rule and
//! requests that break it, with what is answered, in a form that other programs can read.
//!
//! It is for tests: it listens on the loopback address alone, takes any key unless told otherwise, and keeps bodies in
//! memory and in its log.

mod answer;
mod breach;
mod cache;
mod events;
mod example;
mod fault;
mod file;
mod log;
mod memory;
mod reply;
mod rule;
mod rules;
mod script;
mod server;
mod service;
mod settings;

pub use fault::{Fault, Faults, Planned};
pub use file::UnreadableFile;
pub use log::{Entry, Log};
pub use rule::Rule;
pub use script::{Script, Scripted, ScriptedCall, When};
pub use server::{FakeServer, converse};
pub use settings::Settings;

/// The page about the server, so that its code is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/live.md")]
struct Live;
