//! The layer that writes one JSON object for each closed span.
//!
//! # Schema
//!
//! One object on one line, written with one call of `write`; lines stand in the order in which spans close, so a
//! span comes after its children and a root last of its trace. The members, always all present and in this
//! order:
//!
//! | member | type | meaning |
//! | --- | --- | --- |
//! | `name` | string | the span's name: `invoke_workflow`, `invoke_agent`, `chat`, `execute_tool`, `handoff`, `delegate` |
//! | `otel_name` | string or null | its field `otel.name`, which `fields` then leaves out |
//! | `trace` | integer | the number of the root, from 1, in the order in which roots opened on this layer |
//! | `span` | integer | the span's own number, from 1, unique on this layer |
//! | `parent` | integer or null | the number of the nearest span around it; null on a root |
//! | `follows_from` | array of integers | the numbers of the spans it follows from, at most 64 |
//! | `start_us` | integer | microseconds from the layer's creation to the span's opening |
//! | `duration_us` | integer | microseconds from the span's opening to its closing |
//! | `fields` | object | every other field by its own name: a string, a number or a boolean |
//! | `at_us` | integer | microseconds from 1970-01-01 UTC to the span's opening, by the clock as it stood when the layer was made |
//! | `layer` | string | 16 hexadecimal digits by chance, the same on all lines of one layer: with `span` it names a span among those of all processes |
//!
//! A later version may add members at the end, and spans of other names; it renames and removes none. A number
//! that JSON cannot write (`NaN`, `inf`) is a string. Control characters and those that turn the writing direction are escaped, so a line is
//! safe for a terminal, and one line however lines are told apart. A link to a span that closed long before, more than 1,024
//! spans ago, is left out.
//!
//! A writer that fails loses lines and never disturbs the run.

use std::fmt;
use std::io::Write;
use std::sync::Mutex;

use crate::ClosedSpan;
use crate::spans::{SpanSink, SpansLayer};
use crate::text::{lock, tame};

/// Writes the lines which the [module](self) describes.
///
/// ```
/// use sommelier_metrics::LinesLayer;
/// use tracing::info_span;
/// use tracing_subscriber::prelude::*;
///
/// let subscriber = tracing_subscriber::registry().with(LinesLayer::new(std::io::stderr()));
/// tracing::subscriber::with_default(subscriber, || {
///     info_span!(target: "sommelier", "invoke_workflow", end = "answered");
/// });
/// // {"name":"invoke_workflow","otel_name":null,"trace":1,"span":1,"parent":null,"follows_from":[],
/// //  "start_us":35,"duration_us":8,"fields":{"end":"answered"},"at_us":1796032800000035,
/// //  "layer":"00f067aa0ba902b7"}
/// ```
pub type LinesLayer<W> = SpansLayer<Lines<W>>;

impl<W: Write + Send + 'static> LinesLayer<W> {
    /// A layer that writes to `out`; its clock starts now.
    ///
    /// `out` is flushed whenever a root closes. Wrap a slow one in [`std::io::BufWriter`].
    ///
    /// ```
    /// # use sommelier_metrics::LinesLayer;
    /// let file: Box<dyn std::io::Write + Send> = Box::new(std::io::sink());
    /// let layer = LinesLayer::new(file);
    /// # drop(layer);
    /// ```
    #[must_use]
    pub fn new(out: W) -> Self {
        Self::to(Lines(Mutex::new(out)))
    }
}

/// The sink of a [`LinesLayer`].
pub struct Lines<W>(Mutex<W>);

impl<W: Write + Send + 'static> SpanSink for Lines<W> {
    fn closed(&self, span: ClosedSpan) {
        let Ok(json) = serde_json::to_string(&span) else { return };
        let mut line = tame(json);
        line.push('\n');
        let mut out = lock(&self.0);
        // Nobody is there to tell: a run does not depend on who watches it.
        let _ = out.write_all(line.as_bytes());
        if span.is_root() {
            let _ = out.flush();
        }
    }
}

impl<W> fmt::Debug for Lines<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").finish_non_exhaustive()
    }
}
