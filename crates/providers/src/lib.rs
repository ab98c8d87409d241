//! Live models.

pub mod anthropic;
mod clock;
mod error;
mod exchange;
mod key;
mod limits;
mod live;
mod members;
mod observer;
pub mod openai;
mod service;
mod setup;
pub mod sse;

pub use clock::{Clock, SystemClock};
pub use error::{Blame, Head, ProviderError, Retry, ServiceError};
pub use limits::ReplyLimits;
pub use live::{Live, LiveBuilder};
pub use observer::{Heard, Observer};
pub use setup::SetupError;
