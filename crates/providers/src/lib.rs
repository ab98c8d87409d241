//! Live models: Anthropic's Messages API and OpenAI's chat completions, plain and streamed.
//!
//! **What this crate knows:** how a request and a reply stand on the wire of two kinds of services, what is odd about the
//! servers that speak the second, and how to send one over HTTP: keys, retries, deadlines, caps.
//!
//! **What it does not know:** what an agent, a tool or a handoff is. To the core a [`Live`] model is a
//! [`Model`](sommelier_runtime::Model) like a script; nothing below depends on this crate.
//!
//! ```text
//!   ModelRequest ── encode ──▶ bytes ── Live: key, deadline ──▶ HTTP
//!                                              ▲                  │
//!                   asked again, where it helps│                  ▼
//!   ModelError ◀── ProviderError ◀─────────────┴── decode_error ◀─┤ a status
//!                                                                 │
//!   ModelResponse ◀───────────────────────────────── decode ◀─────┤ one piece
//!        ▲                                                        │
//!        └── finish ◀── Stream ◀── sse::EventReader ◀─────────────┘ many pieces
//!                          └─▶ Observer: the words as they come
//! ```
//!
//! A model behind a server of one's own, streamed:
//!
//! ```no_run
//! use sommelier_providers::protocol::{Message, ModelRequest};
//! use sommelier_providers::{Heard, Live, Observer, openai};
//!
//! struct Printer;
//!
//! impl Observer for Printer {
//!     fn hear(&self, _caller: &str, heard: Heard<'_>) {
//!         if let Heard::Text(words) = heard {
//!             print!("{words}");
//!         }
//!     }
//! }
//!
//! let settings = openai::Settings { model: Some("qwen3:4b".into()), ..openai::Settings::default() };
//! let model = Live::openai(settings).base_url("http://127.0.0.1:11434").without_key().stream_to(Printer).build()?;
//! let messages = [Message::user("Good morning.")];
//! let reply = model.ask(&ModelRequest::new("qwen3:4b", 256, &messages))?;
//! assert_eq!(reply.role, sommelier_providers::protocol::Role::Assistant);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Anthropic's own service needs a key, which comes from the environment and from nowhere else:
//!
//! ```
//! use sommelier_providers::{Live, anthropic};
//!
//! let model = Live::anthropic(anthropic::Settings::default()).key_variable("MY_KEY").build();
//! assert_eq!(model.unwrap_err().to_string(), "no key for anthropic: set the environment variable MY_KEY");
//! ```
//!
//! The codecs are functions without I/O, for servers, recorders and tests of one's own:
//!
//! ```
//! use sommelier_providers::anthropic::{Settings, encode};
//! use sommelier_providers::protocol::{Message, ModelRequest};
//!
//! let messages = [Message::user("Good morning.")];
//! let body = encode(&ModelRequest::new("claude-sonnet-5", 256, &messages), &Settings::default(), false)?;
//! assert!(body.starts_with(br#"{"model":"claude-sonnet-5","max_tokens":256,"#));
//! # Ok::<(), sommelier_providers::ProviderError>(())
//! ```
//!
//! # What always holds
//!
//! - Whatever comes, in whatever pieces, is a reply or an error. Nothing that a service sends makes a panic, a wait
//!   without end or a process without memory.
//! - A streamed reply is the plain one, and a streamed request differs from the plain one by the members that ask for
//!   the stream. So a run is the same either way.
//! - A reply that broke off is no shorter reply: it is [`ProviderError::Cut`].
//! - A key stands in the header of a request, and nowhere else: no `Debug`, no error, no span, and no reply, where the service
//!   sends it back. It is known there as it is, in letters of any case and with escapes of JSON; in another coding, such as
//!   base64, it is not. A key of fewer than 8 characters is no secret and is left where it stands: half of a text would go
//!   with it. What is told of a reply on its way has bounds of its own: see [`Observer`] and [`LiveBuilder::raw_to`].
//! - An error says whose fault it is ([`Blame`]) and whether to ask again ([`Retry`]).
//!
//! # What does not
//!
//! The rules of the services come from public documents, bug reports and local servers; nothing was sent to a hosted
//! model. Where a rule proves wrong, it stands in one file: requests in `request.rs` of each form, replies in `reply.rs`,
//! statuses in `error.rs`.

/// The crates below this one, so that one dependency suffices.
pub use {sommelier_protocol as protocol, sommelier_runtime as runtime};

mod address;
pub mod anthropic;
mod clock;
mod error;
mod exchange;
mod key;
mod limits;
mod live;
mod members;
mod model_name;
mod observer;
pub mod openai;
mod service;
mod setup;
pub mod sse;

pub use clock::{Clock, SystemClock};
pub use error::{Blame, Head, ProviderError, Retry, ServiceError};
pub use limits::ReplyLimits;
pub use live::{Live, LiveBuilder};
pub use model_name::{ModelName, ModelNameError};
pub use observer::{Heard, Observer};
pub use setup::SetupError;
