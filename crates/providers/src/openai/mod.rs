//! OpenAI's chat completions on the wire, as llama.cpp, Ollama, vLLM and others speak them.
//!
//! Pure functions: [`encode`] writes a request, [`decode`] reads a reply, [`decode_error`] an error, and
//! [`Stream`] reads a streamed reply into what `decode` would have made of the plain one. The mapping between the two
//! forms of a conversation is that of [`sommelier_protocol::openai`].
//!
//! # What is done about odd servers
//!
//! - A tool that must be called is offered alone, with the choice `required`: servers ignore a named choice, or refuse
//!   it. Where no tool may be called, none is offered, since `none` is ignored too.
//! - Whether there are calls is read off the calls, never off `finish_reason`, which may be `stop` beside them.
//! - Arguments may be a text, an object, nothing; ids may be missing, empty or equal.
//! - Pieces of calls may lack their `index`, or have the same one: a new id begins a new call.
//! - A stream may end without `[DONE]` once it has said why the model stopped, and without a count of tokens.
//! - An error may be an object, a text, or a body of another form; in a stream it may stand in an event of its own or in
//!   a field `error`.
//! - Text that holds a call in a notation of the model's own, such as `<tool_call>`, stays text. Nothing is guessed.
//! - Reasoning that a server tells beside the content is dropped: the form has no way to send it back.
//!
//! # Models without tool calling
//!
//! In [JSON mode](Settings::json_mode) nothing but text goes over the wire. See [`JsonMode`].

mod bounds;
mod json_mode;
mod reply;
mod request;
mod settings;
mod stream;

pub use json_mode::{JsonMode, OpenObjects};
pub use reply::{decode, decode_error};
pub use request::encode;
pub use settings::{Settings, TokenLimit};
pub use stream::Stream;

/// Where the service is whose form this is.
pub const BASE_URL: &str = "https://api.openai.com/v1";
/// The variable of the environment that holds the key.
pub const KEY_VARIABLE: &str = "OPENAI_API_KEY";
