//! A span that has closed, as a value.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::Fields;

/// A span that has closed. As JSON it is a line of [`lines`](crate::lines), where its members are described.
///
/// ```
/// use sommelier_metrics::ClosedSpan;
///
/// let line = r#"{"name":"chat","otel_name":"chat m","trace":1,"span":2,"parent":1,"follows_from":[],"start_us":35,
///   "duration_us":8,"fields":{"gen_ai.usage.input_tokens":12},"at_us":1796032800000035,"layer":"00f067aa0ba902b7"}"#;
/// let span: ClosedSpan = serde_json::from_str(line)?;
/// assert_eq!((span.parent, span.fields.number("gen_ai.usage.input_tokens")), (Some(1), Some(12)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClosedSpan {
    /// The span's name.
    pub name: Cow<'static, str>,
    /// Its full name by the conventions.
    pub otel_name: Option<String>,
    /// The number of the root on its layer.
    pub trace: u64,
    /// Its own number on its layer.
    pub span: u64,
    /// The number of the span around it; `None` on a root.
    pub parent: Option<u64>,
    /// The numbers of the spans that it follows from.
    pub follows_from: Vec<u64>,
    /// Microseconds from the layer's creation to its opening.
    pub start_us: u64,
    /// Microseconds from its opening to its closing.
    pub duration_us: u64,
    /// All other fields.
    pub fields: Fields,
    /// Microseconds from 1970-01-01 UTC to its opening; 0 in lines of a version that did not write it.
    #[serde(default)]
    pub at_us: u64,
    /// Its layer, by a name that no other has; empty in lines of a version that did not write it.
    #[serde(default)]
    pub layer: Cow<'static, str>,
}

impl ClosedSpan {
    /// Whether it is a root.
    pub fn is_root(&self) -> bool {
        self.parent.is_none()
    }
}
