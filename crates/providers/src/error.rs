//! Why there is no reply: whose fault it is, and whether asking again may help.

use std::fmt;
use std::time::{Duration, SystemTime};

use sommelier_runtime::ModelError;

/// Why there is no reply.
///
/// It becomes a [`ModelError`] where the core reads it; what the core has no words for stands in its detail.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The service answered with an error.
    #[error("{0}")]
    Service(ServiceError),
    /// The service said that all is well, and what it sent is no reply.
    #[error("{detail}")]
    Malformed {
        /// What is wrong with it, and where.
        detail: String,
    },
    /// A stream ended before its message did.
    #[error("the stream ended before its message did, after {after}")]
    Cut {
        /// What had come.
        after: String,
    },
    /// The reply is larger than it may be, and was not read on.
    #[error("{what} exceeds {most} {unit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The most of it.
        most: usize,
        /// What is counted.
        unit: &'static str,
    },
    /// The service could not be reached, or went away.
    #[error("{detail}")]
    Unreachable {
        /// What happened.
        detail: String,
    },
    /// The time for the whole call was over.
    #[error("no whole reply within {waited:?}")]
    TimedOut {
        /// The time that the call had.
        waited: Duration,
    },
    /// The request cannot be written in the form of this service.
    #[error("the request has no form on the wire: {detail}")]
    Unwritable {
        /// What cannot be written.
        detail: String,
    },
}

/// Who has to do something about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Blame {
    /// Who calls: the request, the key, the account, a name that does not exist.
    Caller,
    /// The service: it is overloaded, broken, or does not keep its own protocol.
    Service,
    /// Nobody: the network between.
    Network,
    /// Who set a limit: the time of a call, the size of a reply, the requests of an account in a minute.
    Budget,
}

impl fmt::Display for Blame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Caller => "caller",
            Self::Service => "service",
            Self::Network => "network",
            Self::Budget => "budget",
        })
    }
}

/// Whether the same request may be sent once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The same request would fail again, or be paid for twice.
    Never,
    /// It may, after a pause that the caller chooses.
    Backoff,
    /// It may, after the pause that the service asks for.
    After(Duration),
}

impl ProviderError {
    /// Who has to do something about it.
    pub fn blame(&self) -> Blame {
        match self {
            Self::Service(error) => error.blame(),
            Self::Malformed { .. } => Blame::Service,
            Self::Cut { .. } | Self::Unreachable { .. } => Blame::Network,
            Self::TooLarge { .. } | Self::TimedOut { .. } => Blame::Budget,
            Self::Unwritable { .. } => Blame::Caller,
        }
    }

    /// Whether the same request may be sent once more. A reply that came and was not understood is not asked for
    /// again: it would be paid for twice and be no better.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Service(error) => error.retry,
            Self::Cut { .. } | Self::Unreachable { .. } => Retry::Backoff,
            Self::Malformed { .. }
            | Self::TooLarge { .. }
            | Self::TimedOut { .. }
            | Self::Unwritable { .. } => Retry::Never,
        }
    }

    pub(crate) fn malformed(detail: impl fmt::Display) -> Self {
        Self::Malformed { detail: clip(&detail.to_string()) }
    }
}

impl From<ProviderError> for ModelError {
    fn from(error: ProviderError) -> Self {
        let detail = format!("{error} (fault: {})", error.blame());
        match error {
            ProviderError::Service(ServiceError { status, .. }) => Self::Service { status, detail },
            ProviderError::Malformed { .. }
            | ProviderError::TooLarge { .. }
            | ProviderError::Unwritable { .. } => Self::Malformed { detail },
            ProviderError::Cut { .. } | ProviderError::Unreachable { .. } => Self::Unreachable { detail },
            ProviderError::TimedOut { .. } => Self::TimedOut { detail },
        }
    }
}

/// What a service said was wrong. Branch on [`kind`](Self::kind) and [`code`](Self::code), never on the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceError {
    /// The HTTP status; for an error in the middle of a stream, the one that its kind would have had.
    pub status: u16,
    /// The error's `type`, such as `rate_limit_error`; `unknown` where none was told.
    pub kind: String,
    /// A finer word for what happened, where the service has one.
    pub code: Option<String>,
    /// What the service says to people, cut to 500 characters.
    pub message: String,
    /// The service's id of the request, for its support.
    pub request_id: Option<String>,
    /// Whether the same request may be sent once more.
    pub retry: Retry,
}

impl ServiceError {
    /// Who has to do something about it.
    pub fn blame(&self) -> Blame {
        match self.status {
            402 | 429 => Blame::Budget,
            408 | 409 | 500.. => Blame::Service,
            400..500 => Blame::Caller,
            _ => Blame::Service,
        }
    }

    /// Whether the conversation does not fit into the model's context, as far as the service has a word for it.
    pub fn is_context_overflow(&self) -> bool {
        let says = |word: &str| {
            matches!(
                word,
                "context_length_exceeded" | "exceed_context_size_error" | "context_window_exceeded"
            )
        };
        says(&self.kind) || self.code.as_deref().is_some_and(says)
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if let Some(code) = &self.code {
            write!(f, " ({code})")?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        match &self.request_id {
            Some(id) => write!(f, " [request {id}]"),
            None => Ok(()),
        }
    }
}

/// What of a reply's head matters here: its status and the headers that say how to go on.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use sommelier_providers::{Head, Retry};
///
/// let mut head = Head::new(429);
/// head.header("Retry-After", "7");
/// assert_eq!(head.retry(SystemTime::UNIX_EPOCH), Retry::After(Duration::from_secs(7)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The HTTP status.
    pub status: u16,
    content_type: Option<String>,
    retry_after_ms: Option<String>,
    retry_after: Option<String>,
    should_retry: Option<String>,
    request_id: Option<String>,
}

impl Head {
    /// A head without headers.
    pub fn new(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    /// Takes a header; one that does not matter here is dropped. Names are compared without regard to case.
    pub fn header(&mut self, name: &str, value: &str) {
        let place = match name.to_ascii_lowercase().as_str() {
            "content-type" => &mut self.content_type,
            "retry-after-ms" => &mut self.retry_after_ms,
            "retry-after" => &mut self.retry_after,
            "x-should-retry" => &mut self.should_retry,
            "request-id" | "x-request-id" => &mut self.request_id,
            _ => return,
        };
        *place = Some(value.trim().to_owned());
    }

    /// The service's id of the request.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// The media type of the body without its parameters, in lower case.
    pub fn media_type(&self) -> Option<String> {
        let media = self.content_type.as_deref()?.split(';').next()?;
        Some(media.trim().to_ascii_lowercase())
    }

    /// Whether the same request may be sent once more: `x-should-retry` decides, else the status does. The pause is
    /// that of `retry-after-ms`, else of `retry-after` in seconds or as a date; a date in the past means at once.
    pub fn retry(&self, now: SystemTime) -> Retry {
        let may = match self.should_retry.as_deref() {
            Some("true") => true,
            Some("false") => false,
            _ => matches!(self.status, 408 | 409 | 429 | 500..),
        };
        match (may, self.pause(now)) {
            (false, _) => Retry::Never,
            (true, Some(pause)) => Retry::After(pause),
            (true, None) => Retry::Backoff,
        }
    }

    fn pause(&self, now: SystemTime) -> Option<Duration> {
        let number = |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<f64>().ok());
        if let Some(pause) = number(&self.retry_after_ms).and_then(|ms| seconds(ms / 1000.0)) {
            return Some(pause);
        }
        if let Some(given) = number(&self.retry_after) {
            return seconds(given);
        }
        let date = httpdate::parse_http_date(self.retry_after.as_deref()?).ok()?;
        Some(date.duration_since(now).unwrap_or_default())
    }
}

/// A pause of so many seconds; `None` for what is no pause, such as a negative number. One that is longer than can be counted is
/// the longest: whoever asks for that is not asked again at once.
fn seconds(seconds: f64) -> Option<Duration> {
    let is_beyond = seconds > Duration::MAX.as_secs_f64() / 2.0;
    if is_beyond { Some(Duration::MAX) } else { Duration::try_from_secs_f64(seconds).ok() }
}

/// What stands at the end of a text that was cut.
pub(crate) const CUT: char = '…';

/// The text's first 500 characters, in one line that a terminal does not obey.
pub(crate) fn clip(text: &str) -> String {
    const MOST: usize = 500;
    let one_line = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut clipped: String = one_line.take(MOST).collect();
    if text.trim().chars().nth(MOST).is_some() {
        clipped.push(CUT);
    }
    clipped
}
