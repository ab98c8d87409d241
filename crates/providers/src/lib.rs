//! Live models.

pub mod anthropic;
mod error;
mod limits;
mod members;
mod observer;
pub mod openai;
mod setup;
pub mod sse;

pub use error::{Blame, Head, ProviderError, Retry, ServiceError};
pub use limits::ReplyLimits;
pub use observer::{Heard, Observer};
pub use setup::SetupError;
