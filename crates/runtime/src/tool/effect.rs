//! What a tool's effect is like, and so what may be done when nobody knows whether it happened.

use serde::{Deserialize, Serialize};

use super::{ToolOutput, output};

/// What a tool's effect is like. Its author declares it; it decides what a driver may do with a call that was begun and
/// of which no result was kept, as after a crash.
///
/// ```
/// use sommelier_runtime::tool::Effect;
///
/// assert_eq!(Effect::default(), Effect::AtMostOnce);
/// assert_eq!(serde_json::to_string(&Effect::Keyed { retention: 86_400_000 })?, r#"{"keyed":{"retention":86400000}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// There is none: the tool only looks. It may be run again at any time.
    ReadOnly,
    /// The tool writes into the journal's own database, through [`CallContext::transaction`](super::CallContext), and its
    /// result is kept by the same commit: both are there, or neither. It happens exactly once, and a call that fails or
    /// panics leaves nothing behind.
    Transactional,
    /// The other side does the same key once, and remembers keys for `retention` milliseconds. So long the call may be made
    /// again with its key, and happens effectively once; later it is as [`AtMostOnce`](Self::AtMostOnce).
    Keyed {
        /// Milliseconds for which the other side remembers a key, from its first use.
        retention: u64,
    },
    /// The other side can be asked by the key what became of the call. What it did is taken as the result; what it did not
    /// do within `settle` milliseconds it will not do any more, and the call may be made again. It happens effectively once.
    Queried {
        /// Milliseconds after which a call that the other side does not know will not reach it any more.
        settle: u64,
    },
    /// Nothing of that. A call that was begun is never made again: a person says whether it happened. It happens at most
    /// once.
    #[default]
    AtMostOnce,
}

impl Effect {
    /// The effect as a word.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Transactional => "transactional",
            Self::Keyed { .. } => "keyed",
            Self::Queried { .. } => "queried",
            Self::AtMostOnce => "at_most_once",
        }
    }
}

/// What the other side of a tool says became of a call, asked by the call's idempotency key.
///
/// Whoever asks compares that the answer is about this key: an answer about another one is [`Unknown`](Self::Unknown).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It was done. The output is what the tool would have given.
    Done(ToolOutput),
    /// Nothing is known of the key there.
    Absent,
    /// It could not be found out.
    Unknown,
}

impl Found {
    /// A call that was done, with the result that the tool would have given.
    ///
    /// ```
    /// use sommelier_runtime::ToolOutput;
    /// use sommelier_runtime::tool::Found;
    ///
    /// assert_eq!(Found::done(&["RSV-0001"]), Found::Done(ToolOutput::ok(r#"["RSV-0001"]"#)));
    /// ```
    pub fn done(result: &impl Serialize) -> Self {
        Self::Done(output::of_value(result))
    }
}
