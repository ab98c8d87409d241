//! What goes wrong, as a file.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::UnreadableFile;

/// Which requests something happens to.
///
/// ```
/// use sommelier_fake_server::{Fault, Faults};
///
/// let faults = Faults::read(r#"{"faults": [
///     {"at": 1, "fault": {"rate_limited": {"retry_after": 1}}},
///     {"at": 2, "until": 3, "fault": "overloaded"}
/// ]}"#)?;
/// assert_eq!(faults.at(3).collect::<Vec<_>>(), [&Fault::Overloaded]);
/// # Ok::<(), sommelier_fake_server::UnreadableFile>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Faults {
    /// The plan; several faults may be for one request.
    pub faults: Vec<Planned>,
}

/// A fault and when it strikes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Written")]
pub struct Planned {
    /// The number of the request, from 1 on, as the log counts them. One that breaks a rule is counted and refused
    /// as ever: no fault strikes it.
    pub at: u64,
    /// The last such request; the one of `at` alone when absent.
    pub until: Option<u64>,
    /// What happens.
    pub fault: Fault,
}

/// A fault as it stands in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    at: u64,
    #[serde(default)]
    until: Option<u64>,
    fault: Fault,
}

impl TryFrom<Written> for Planned {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written { at: 0, .. } => Err("`at` is 0, and requests are counted from 1".to_owned()),
            Written { at, until: Some(until), .. } if until < at => {
                Err(format!("`until` is {until}, before `at`, {at}; it is {at} or more"))
            }
            Written { at, until, fault } => Ok(Self { at, until, fault }),
        }
    }
}

impl Faults {
    /// Reads a plan from JSON.
    ///
    /// # Errors
    /// When `text` is no plan, or plans what would never strike; the error names line and column.
    pub fn read(text: &str) -> Result<Self, UnreadableFile> {
        serde_json::from_str(text).map_err(|error| UnreadableFile::new("plan of faults", &error))
    }

    /// What happens to the request of this number.
    pub fn at(&self, number: u64) -> impl Iterator<Item = &Fault> {
        let strikes =
            move |planned: &&Planned| (planned.at..=planned.until.unwrap_or(planned.at)).contains(&number);
        self.faults.iter().filter(strikes).map(|planned| &planned.fault)
    }
}

/// The most bytes of a text: a plan must not become a process without memory.
pub(crate) const LARGEST: usize = 256 << 20;

fn bearable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let bytes = usize::deserialize(deserializer)?;
    if bytes > LARGEST {
        return Err(D::Error::custom(format_args!("a body of {bytes} bytes; {LARGEST} are the most")));
    }
    Ok(bytes)
}

/// Something that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fault {
    /// A 429.
    RateLimited {
        /// Seconds to wait, as the header `retry-after`; no header when absent, as with a spend cap.
        #[serde(default)]
        retry_after: Option<u64>,
    },
    /// A 429 whose `retry-after` is a date: the moment so many seconds from now.
    RateLimitedUntil(u64),
    /// A 529.
    Overloaded,
    /// A 500.
    ApiError,
    /// A 504.
    Timeout,
    /// Nothing comes for so many milliseconds, not even the head.
    SlowHeaders(u64),
    /// So many milliseconds go by after each event of a stream.
    SlowEvents(u64),
    /// The connection is closed without an answer.
    HangUp,
    /// The connection is closed after so many bytes of the body.
    CutAfterBytes(usize),
    /// The connection is closed after so many events; a plain reply is cut in half.
    CutAfterEvents(usize),
    /// So many events, and then the event `error`, overloaded; to a plain request a 529.
    ErrorAfterEvents(usize),
    /// The body is half of its JSON; in a stream, the data of the third event.
    MalformedJson,
    /// A 200 with a page in HTML, as a proxy sends.
    WrongContentType,
    /// The model declines.
    Refusal,
    /// The reply is cut at `max_tokens` in the middle of a call's arguments. A plain reply has `{}` in their place.
    MaxTokensInCall,
    /// The reply has two calls, and both have one id.
    DuplicateIds,
    /// The text of the reply has no end.
    EndlessStream,
    /// The text of the reply has so many bytes, 256 MiB at most.
    OversizedBody(#[serde(deserialize_with = "bearable")] usize),
}

impl Fault {
    /// Whether no whole reply arrives: the model has not spoken, and whoever asks again gets what it says.
    pub(crate) fn spoils(&self) -> bool {
        !matches!(
            self,
            Self::SlowHeaders(_)
                | Self::SlowEvents(_)
                | Self::Refusal
                | Self::MaxTokensInCall
                | Self::DuplicateIds
                | Self::OversizedBody(_)
        )
    }

    /// One of each kind, so that who tries them all tries a new one too.
    ///
    /// ```
    /// use sommelier_fake_server::Fault;
    ///
    /// let mut names: Vec<&str> = Fault::of_each_kind().iter().map(Fault::name).collect();
    /// let count = names.len();
    /// names.sort_unstable();
    /// names.dedup();
    /// assert_eq!(names.len(), count);
    /// ```
    pub fn of_each_kind() -> Vec<Self> {
        let first = Self::RateLimited { retry_after: Some(1) };
        std::iter::successors(Some(first), Self::next_kind).collect()
    }

    /// One of the next kind, in the order in which they are declared. A match, so that none is left out.
    fn next_kind(&self) -> Option<Self> {
        Some(match self {
            Self::RateLimited { .. } => Self::RateLimitedUntil(1),
            Self::RateLimitedUntil(_) => Self::Overloaded,
            Self::Overloaded => Self::ApiError,
            Self::ApiError => Self::Timeout,
            Self::Timeout => Self::SlowHeaders(2000),
            Self::SlowHeaders(_) => Self::SlowEvents(50),
            Self::SlowEvents(_) => Self::HangUp,
            Self::HangUp => Self::CutAfterBytes(100),
            Self::CutAfterBytes(_) => Self::CutAfterEvents(4),
            Self::CutAfterEvents(_) => Self::ErrorAfterEvents(3),
            Self::ErrorAfterEvents(_) => Self::MalformedJson,
            Self::MalformedJson => Self::WrongContentType,
            Self::WrongContentType => Self::Refusal,
            Self::Refusal => Self::MaxTokensInCall,
            Self::MaxTokensInCall => Self::DuplicateIds,
            Self::DuplicateIds => Self::EndlessStream,
            Self::EndlessStream => Self::OversizedBody(1_000_000),
            Self::OversizedBody(_) => return None,
        })
    }

    /// The fault's name in a plan and in the log.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RateLimited { .. } => "rate_limited",
            Self::RateLimitedUntil(_) => "rate_limited_until",
            Self::Overloaded => "overloaded",
            Self::ApiError => "api_error",
            Self::Timeout => "timeout",
            Self::SlowHeaders(_) => "slow_headers",
            Self::SlowEvents(_) => "slow_events",
            Self::HangUp => "hang_up",
            Self::CutAfterBytes(_) => "cut_after_bytes",
            Self::CutAfterEvents(_) => "cut_after_events",
            Self::ErrorAfterEvents(_) => "error_after_events",
            Self::MalformedJson => "malformed_json",
            Self::WrongContentType => "wrong_content_type",
            Self::Refusal => "refusal",
            Self::MaxTokensInCall => "max_tokens_in_call",
            Self::DuplicateIds => "duplicate_ids",
            Self::EndlessStream => "endless_stream",
            Self::OversizedBody(_) => "oversized_body",
        }
    }
}
