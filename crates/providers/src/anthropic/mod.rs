//! Anthropic's Messages API on the wire.
//!
//! Pure functions: [`encode`] writes a request, [`decode`] reads a reply, [`decode_error`] an error, and
//! [`Stream`] reads a streamed reply into what `decode` would have made of the plain one. The rules are those of API
//! version [`VERSION`]; they come from the public documents, not from trials against the live service.

mod reply;
mod request;
mod settings;
mod stream;

pub use reply::{decode, decode_error};
pub use request::encode;
pub(crate) use request::has_results;
pub(crate) use settings::is_forced;
pub use settings::{Cache, Settings, Thinking};
pub use stream::Stream;

/// The version of the API, sent as `anthropic-version`.
pub const VERSION: &str = "2026-10-21";
/// Where the service is.
pub const BASE_URL: &str = "https://api.anthropic.com";
/// The variable of the environment that holds the key.
pub const KEY_VARIABLE: &str = "ANTHROPIC_API_KEY";
