//! Which trace a root belongs to.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::str::FromStr;

use opentelemetry::trace::{SpanId, TraceFlags, TraceId};

/// The variable by which a process tells those that it starts under which span they run.
const VARIABLE: &str = "TRACEPARENT";

/// Which trace a root belongs to, and under which span of another process it stands. As text it is what a
/// `Runner`'s `trace` takes, and what a journal keeps of a turn.
///
/// ```
/// use sommelier_otel::TraceContext;
///
/// let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let remote: TraceContext = header.parse()?;
/// assert_eq!(remote.to_string(), header);
///
/// let own: TraceContext = "4bf92f3577b34da6a3ce929d0e0e4736".parse()?;
/// assert_eq!(own.traceparent(), "00-4bf92f3577b34da6a3ce929d0e0e4736-a3ce929d0e0e4736-01");
/// assert!("00-0-0-00".parse::<TraceContext>().is_err());
/// # Ok::<(), sommelier_otel::ContextError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    pub(crate) trace: TraceId,
    /// The span of another process under which the roots stand; none where the trace is our own.
    pub(crate) parent: Option<SpanId>,
    pub(crate) flags: TraceFlags,
}

/// A text that names no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextError(());

impl fmt::Display for ContextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "neither a W3C traceparent, 00-TRACE-SPAN-FLAGS, nor the 32 hexadecimal digits of a trace's id",
        )
    }
}

impl std::error::Error for ContextError {}

impl TraceContext {
    /// A trace of our own, by an id that no other has.
    pub fn begin() -> Self {
        // The standard library seeds each of its hashers with a number by chance.
        let chance = || u128::from(RandomState::new().build_hasher().finish());
        let id = (chance() << 64) | chance();
        Self { trace: TraceId::from(id.max(1)), parent: None, flags: TraceFlags::SAMPLED }
    }

    /// The trace under which another process has started this one, by the variable `TRACEPARENT`; `None` where there is none,
    /// or what it has is none.
    pub fn from_environment() -> Option<Self> {
        std::env::var(VARIABLE).ok()?.trim().parse().ok()
    }

    /// Whether spans of the trace are sent: whoever began it may have decided that it is not recorded, by its flags.
    pub fn is_sampled(&self) -> bool {
        self.flags.is_sampled()
    }

    /// As a W3C `traceparent`: for a header, or for the variable `TRACEPARENT` of a process that is started. What it names in a
    /// trace of our own is the first root.
    pub fn traceparent(&self) -> String {
        let span = self.parent.unwrap_or_else(|| self.first_root());
        format!("00-{:032x}-{:016x}-{:02x}", self.trace, span, self.flags.to_u8())
    }

    /// The id of the first root in a trace of our own: known wherever the trace's is.
    pub(crate) fn first_root(&self) -> SpanId {
        let [.., a, b, c, d, e, f, g, h] = self.trace.to_bytes();
        let id = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
        SpanId::from(id.max(1))
    }
}

impl FromStr for TraceContext {
    type Err = ContextError;

    fn from_str(text: &str) -> Result<Self, ContextError> {
        read(text).ok_or(ContextError(()))
    }
}

/// A `traceparent` of version 00, or of a later one that begins alike; or the id of a trace alone.
fn read(text: &str) -> Option<TraceContext> {
    if let Some(trace) = hex(text, 32) {
        let trace = TraceId::from(trace);
        return Some(TraceContext { trace, parent: None, flags: TraceFlags::SAMPLED });
    }
    let mut parts = text.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_known = version == "00" && parts.next().is_none();
    let is_later = version.len() == 2 && digits(version) && version != "00" && version != "ff";
    if !is_known && !is_later {
        return None;
    }
    let flags = u8::from_str_radix(flags, 16).ok().filter(|_| flags.len() == 2 && digits(flags))?;
    let (trace, span) = (hex(trace, 32)?, u64::try_from(hex(span, 16)?).ok()?);
    Some(TraceContext {
        trace: TraceId::from(trace),
        parent: Some(SpanId::from(span)),
        // The other flags are not ours to pass on.
        flags: TraceFlags::new(flags) & TraceFlags::SAMPLED,
    })
}

/// The number that so many digits are; not 0, which is no id.
fn hex(text: &str, len: usize) -> Option<u128> {
    (text.len() == len && digits(text)).then(|| u128::from_str_radix(text, 16).ok())?.filter(|id| *id != 0)
}

/// The standard has small letters only.
fn digits(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parent {
            Some(_) => f.write_str(&self.traceparent()),
            None => write!(f, "{:032x}", self.trace),
        }
    }
}
