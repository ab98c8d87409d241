//! What answers.

use serde::{Deserialize, Serialize};
use sommelier_protocol::{ModelRequest, ModelResponse};
use std::sync::Arc;

/// Something that replies to a request: a live model, a script, a set of rules.
///
/// It sees the request and nothing else. It is called from any thread, so what it remembers it guards
/// itself.
pub trait Model: Send + Sync {
    /// Replies to `request`. Nobody stops it: where the request says how long it may take
    /// ([`time_left`](ModelRequest::time_left)), it is the model that looks, and gives up with
    /// [`ModelError::TimedOut`].
    ///
    /// # Errors
    /// [`ModelError`] when there is no reply. A reply that is foolish is not an error: it is data, which the
    /// turn deals with.
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError>;

    /// Who runs the model, for spans: `anthropic`, `openai`, or `_other`.
    fn provider(&self) -> &str {
        "_other"
    }

    /// The model's own name, for spans, when it is not the one that a request names: a set of rules replies to
    /// every request, whichever model it asks for.
    fn name(&self) -> Option<&str> {
        None
    }

    /// A label for replies that no live model made, such as `concept (claude-sonnet-5)`; shown wherever
    /// such a reply is shown or traced.
    fn label(&self) -> Option<&str> {
        None
    }

    /// Where the model is asked, for spans; `None` for one in this process.
    fn remote(&self) -> Option<Remote<'_>> {
        None
    }
}

/// Where a model is asked over a network, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote<'a> {
    /// The host that is asked: a name or an address, without a port.
    pub address: &'a str,
    /// The port.
    pub port: u16,
    /// Whether replies are asked for piece by piece.
    pub is_streamed: bool,
}

/// A pointer to a model is that model, in everything it tells of itself.
macro_rules! forwards {
    ($($pointer:ty),*) => { $(
        impl<M: Model + ?Sized> Model for $pointer {
            fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
                (**self).complete(request)
            }

            fn provider(&self) -> &str {
                (**self).provider()
            }

            fn name(&self) -> Option<&str> {
                (**self).name()
            }

            fn label(&self) -> Option<&str> {
                (**self).label()
            }

            fn remote(&self) -> Option<Remote<'_>> {
                (**self).remote()
            }
        }
    )* };
}

forwards!(&M, Box<M>, Arc<M>);

/// Why there is no reply. It is plain data, so that a run which ended with it can be saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The model could not be reached: nobody's fault in the run; the call may be made again.
    #[error("the model could not be reached: {detail}")]
    Unreachable {
        /// What happened.
        detail: String,
    },
    /// The service refused the request or failed at it.
    #[error("the service answered {status}: {detail}")]
    Service {
        /// The HTTP status.
        status: u16,
        /// What the service said.
        detail: String,
    },
    /// What came is no reply.
    #[error("the service sent no legal reply: {detail}")]
    Malformed {
        /// What is wrong with it, and where.
        detail: String,
    },
    /// The model did not answer in [the time that it had](ModelRequest::time_left), and its adapter gave up: nothing is
    /// known of its reply. The call may be made again.
    #[error("the model did not answer in time: {detail}")]
    TimedOut {
        /// What was waited for, and for how long.
        detail: String,
    },
    /// The model's adapter panicked: its author's fault. The call may be made again.
    #[error("the model's adapter panicked; nothing is known of its reply")]
    Panicked,
    /// The call failed after the service had counted tokens for it, as where a stream broke off: they are paid for, and
    /// count as those of a reply do.
    #[error("{error}")]
    Charged {
        /// Why there is no reply.
        error: Box<Self>,
        /// Tokens read, cached ones included.
        input_tokens: u64,
        /// Tokens written.
        output_tokens: u64,
    },
    /// What was recorded has no reply to this request: it is another than the recorded one, or nothing is left. Nobody
    /// answers it however often it is made.
    #[error("nothing on record answers this request: {detail}")]
    OffRecord {
        /// What is different, and where.
        detail: String,
    },
    /// The script has no turn for this request: the script's fault.
    #[error("the script has no turn {turn} for {agent} (it has {known})")]
    NoScript {
        /// The agent that asked.
        agent: String,
        /// The turn asked for, counted from 1.
        turn: u32,
        /// How many turns the script has for this agent.
        known: usize,
    },
}

impl ModelError {
    /// The error with the tokens that the call had used; itself where there are none.
    ///
    /// ```
    /// use sommelier_runtime::ModelError;
    ///
    /// let cut = ModelError::Unreachable { detail: "the stream broke off".to_owned() };
    /// assert_eq!(cut.clone().charged(0, 0), cut);
    /// let charged = cut.clone().charged(812, 3);
    /// assert_eq!((charged.tokens(), charged.kind(), charged.to_string()), ((812, 3), "unreachable", cut.to_string()));
    /// ```
    #[must_use]
    pub fn charged(self, input_tokens: u64, output_tokens: u64) -> Self {
        match (input_tokens, output_tokens) {
            (0, 0) => self,
            (input_tokens, output_tokens) => {
                Self::Charged { error: Box::new(self), input_tokens, output_tokens }
            }
        }
    }

    /// The status by which the service has answered, as HTTP counts them; `None` where it has not.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Service { status, .. } => Some(*status),
            Self::Charged { error, .. } => error.status(),
            _ => None,
        }
    }

    /// Tokens read and written before the call failed, as far as the service has told.
    pub fn tokens(&self) -> (u64, u64) {
        match self {
            Self::Charged { error, input_tokens, output_tokens } => {
                let (read, written) = error.tokens();
                (input_tokens.saturating_add(read), output_tokens.saturating_add(written))
            }
            _ => (0, 0),
        }
    }

    /// A word of few kinds, for spans: `unreachable`, `service`, `malformed`, `timed_out`, `panicked`,
    /// `off_record`, `no_script`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "unreachable",
            Self::Service { .. } => "service",
            Self::Malformed { .. } => "malformed",
            Self::TimedOut { .. } => "timed_out",
            Self::Panicked => "panicked",
            Self::Charged { error, .. } => error.kind(),
            Self::OffRecord { .. } => "off_record",
            Self::NoScript { .. } => "no_script",
        }
    }
}
