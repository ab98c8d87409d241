//! The words on the wire.
//!
//! This crate knows the messages that a client and a model exchange: [`Message`], [`ContentBlock`],
//! [`ToolUse`], [`ToolResult`], [`ToolDefinition`], [`StopReason`], [`Usage`], [`ModelRequest`] and
//! [`ModelResponse`], in the form of Anthropic's Messages API, and the rules of their sequence: every
//! tool call is answered exactly once, in the next message. It does **not** know what an agent, a tool's
//! function or a handoff is, and it does no I/O.
//!
//! Two things make it safe to put a hostile or merely newer peer on the other side:
//!
//! - What is not understood is kept. Unknown members, blocks and stop reasons go out again as they came,
//!   in the order they came in, numbers with the text they had ([`RawJson`]).
//! - A conversation is built by moving through three states, [`Asking`], [`Owing`] and [`Resting`]
//!   (see [`transcript`]), so that a request that breaks a rule of the sequence cannot be made. The same
//!   rules as a checker, for what others made, are in [`sequence`].
//!
//! ```
//! use sommelier_protocol::{Asking, Reply, ToolResult, ToolUse};
//!
//! let asking = Asking::open("Quote Focus pro 3h")?;
//! let call = ToolUse::scripted("tu_1", "get_quote", r#"{"room":"Focus","plan":"pro","hours":3}"#);
//! let Reply::Called(called) = asking.replied(vec![call.into()]) else { panic!("there is a call") };
//! let asking = called.owing.answer(vec![ToolResult::text("tu_1", r#"{"total_cents":6000}"#)])?;
//! assert_eq!(asking.messages().len(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod block;
mod message;
mod name;
pub mod openai;
mod raw;
mod request;
mod response;
pub mod sequence;
pub mod sight;
mod stop;
mod tool;
pub mod transcript;
mod usage;
mod wire;

pub use block::{ContentBlock, RawBlock, ResultContent, Text, ToolResult, ToolUse};
pub use message::{Content, Message, Role};
pub use name::{IllegalName, ToolName, ToolUseId};
pub use raw::RawJson;
pub use request::{ModelRequest, System};
pub use response::{Declined, ModelResponse};
pub use stop::StopReason;
pub use tool::{ToolChoice, ToolDefinition};
pub use transcript::{Asking, BlankText, Called, Misanswered, Owing, Reply, Resting, Words};
pub use usage::Usage;
pub use wire::json_string_len;
