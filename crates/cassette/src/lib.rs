//! Exchanges with models as a file: recorded, read and changed by people, and strictly replayed.
//!
//! **What this crate knows:** what a model was asked and what came of it, and how two requests differ. A [`Recorder`] stands in
//! front of a model and makes a [`Cassette`]; a [`Player`] answers from one. A run on record becomes one by
//! [`Cassette::of_run`].
//!
//! **What it does not know:** which model it is, or what a run is for. It asks nobody and drives nothing.
//!
//! ```
//! use sommelier_cassette::{Cassette, Player, Recorder, Redactor};
//! use sommelier_handoff::{Agent, Relay};
//! use sommelier_runner::{Outcome, Runner};
//! use sommelier_runtime::{ScriptedModel, script};
//!
//! let relay = Relay::builder()
//!     .agent(Agent::new("booking_agent", "You quote and book rooms."))
//!     .agent(Agent::new("policy_agent", "You answer from the policy documents."))
//!     .entry("booking_agent")
//!     .route("booking_agent", "policy_agent")
//!     .build()?;
//! // A live model in its place is recorded in the same way.
//! let model = ScriptedModel::new()
//!     .turn("booking_agent", |_| {
//!         let package = r#"{"specialist":"policy_agent","task":"What does a no-show cost?","context":{}}"#;
//!         script::call("tu_1", "handoff_to_specialist", package)
//!     })
//!     .turn("policy_agent", |_| script::say("6500 cents."));
//!
//! let recorder = Recorder::new(model, Redactor::new().secrets_of(&relay));
//! let Outcome::Ended(recorded) = Runner::new(&recorder).run(&relay, "What if I do not show up?")? else { panic!() };
//! let file = recorder.cassette().to_json()?;
//!
//! // No model from here on.
//! let player = Player::new(Cassette::from_json(&file)?, Redactor::new().secrets_of(&relay));
//! let Outcome::Ended(replayed) = Runner::new(&player).run(&relay, "What if I do not show up?")? else { panic!() };
//! assert_eq!(replayed.answer(), recorded.answer());
//! player.finish()?;
//!
//! // Another question is another run, and is told as that.
//! let player = Player::new(Cassette::from_json(&file)?, Redactor::new());
//! let Outcome::Ended(other) = Runner::new(&player).run(&relay, "What if I am late?")? else { panic!() };
//! assert_eq!(
//!     other.end().to_string(),
//!     "failed: nothing on record answers this request: exchange 1 (booking_agent, turn 1 of run 1) differs: at \
//!      `messages[0].content` \"What if I do not show up?\" was recorded, and \"What if I am late?\" came",
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The file
//!
//! JSON with a line for each member, written in one order, with one LF at its end. Nothing in it is by chance or by the clock, so
//! what a diff of two recordings shows is what was said otherwise: ids that a service made are numbered in the order in which
//! they come up (`call_1`), and so are the handles of secrets.
//!
//! ```json
//! {
//!   "cassette": 1,
//!   "recorded_from": {"provider": "anthropic"},
//!   "exchanges": [
//!     {
//!       "run": "1",
//!       "caller": "booking_agent",
//!       "turn": 1,
//!       "request": {
//!         "model": "claude-sonnet-5",
//!         "max_tokens": 1024,
//!         "system": "You quote and book rooms.",
//!         "messages": [{"role": "user", "content": "Quote Focus."}]
//!       },
//!       "reply": {
//!         "model": "claude-sonnet-5",
//!         "content": [{"type": "tool_use", "id": "call_1", "name": "get_quote", "input": {"room": "Focus"}}],
//!         "stop_reason": "tool_use"
//!       }
//!     },
//!     {
//!       "run": "1",
//!       "caller": "booking_agent",
//!       "turn": 2,
//!       "request": {
//!         "messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "6000"}]}]
//!       },
//!       "error": {"Service": {"status": 529, "detail": "overloaded"}}
//!     }
//!   ]
//! }
//! ```
//!
//! - `run` is the number of the conversation, with the path of a branch behind it ([`Exchange::run`]).
//! - A request says what is new in it. Settings stay those of the request before of the same `caller`, in whichever run; `null`
//!   takes one away. `messages` come behind those of the request before of the same run and caller and its reply. Where that is
//!   not so, `keeps` says how many of them stay.
//! - What stands there is the Messages API's own words, so a person who changes a tool's result or a reply changes it in one place
//!   and plays the run that follows.
//! - Of a result that tells a fault in a call's arguments, the line and column of it are left out: the arguments stand without their
//!   white space here, where the place is another one. Arguments of more than is read are a note of their size.
//! - There is a `reply` or an `error`. A reply has at least a `model`, `content` and a `stop_reason`.
//!
//! # What always holds
//!
//! - Recording changes nothing in a run, and a file that is written is a whole one at any moment.
//! - What is read is a cassette or an error that names the place. What is written can be read, and is the same again.
//! - A request that differs is never answered.
//! - What a [`Redactor`] finds is in no cassette. What it cannot find stands in its docs.

mod cassette;
mod difference;
mod error;
mod exchange;
mod journal;
mod names;
mod node;
mod player;
mod reading;
mod recorder;
mod redactor;
mod tape;
mod whole;
mod writing;

pub use cassette::{Cassette, MAX_BYTES, Source};
pub use error::CassetteError;
pub use exchange::Exchange;
pub use player::Player;
pub use recorder::Recorder;
pub use redactor::Redactor;
pub use whole::{BESIDE, can_be_replaced, must_be_no_database, write_whole};

/// The version of the file that this release writes and reads.
pub const VERSION: u32 = 1;

/// The most messages of all requests of a cassette together, each request counted with all of its conversation, and settings of
/// those whose settings are not those of the request before: 4 194 304.
pub const MAX_MESSAGES: usize = 4 << 20;
