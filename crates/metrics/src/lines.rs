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
//!
//! A later version may add members at the end, and spans of other names; it renames and removes none. A number
//! that JSON cannot write (`NaN`, `inf`) is a string. A link to a span that closed long before, more than 1,024
//! spans ago, is left out.
//!
//! A writer that fails loses lines and never disturbs the run.

use std::fmt;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::Serialize;
use tracing::{Subscriber, span};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::fields::Fields;
use crate::names;
use crate::recent::Recent;
use crate::slots::LayerId;
use crate::text::{lock, micros};

/// How many spans one span may follow from, as far as its line tells.
const MAX_LINKS: usize = 64;

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
/// //  "start_us":35,"duration_us":8,"fields":{"end":"answered"}}
/// ```
pub struct LinesLayer<W> {
    id: LayerId,
    created: Instant,
    traces: AtomicU64,
    spans: AtomicU64,
    /// The numbers of spans closed lately, which a link may still name.
    closed: Mutex<Recent<u64>>,
    out: Mutex<W>,
}

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
        Self {
            id: LayerId::next(),
            created: Instant::now(),
            traces: AtomicU64::new(1),
            spans: AtomicU64::new(1),
            closed: Mutex::new(Recent::new()),
            out: Mutex::new(out),
        }
    }
}

impl<W> fmt::Debug for LinesLayer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinesLayer")
            .field("id", &self.id)
            .field("created", &self.created)
            .finish_non_exhaustive()
    }
}

impl<S, W> Layer<S> for LinesLayer<W>
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
    W: Write + Send + 'static,
{
    fn on_new_span(&self, attributes: &span::Attributes<'_>, id: &span::Id, context: Context<'_, S>) {
        if attributes.metadata().target() != names::TARGET {
            return;
        }
        let Some(span) = context.span(id) else { return };
        let parent = self.id.ancestor(&span, |open: &Open| Some((open.trace, open.span)));
        let open = Open {
            trace: parent.map_or_else(|| self.traces.fetch_add(1, Ordering::Relaxed), |(trace, _)| trace),
            span: self.spans.fetch_add(1, Ordering::Relaxed),
            parent: parent.map(|(_, span)| span),
            follows_from: Vec::new(),
            opened: Instant::now(),
            fields: Fields::created(attributes),
        };
        self.id.put(&mut span.extensions_mut(), open);
    }

    fn on_record(&self, id: &span::Id, values: &span::Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id).filter(|span| span.metadata().target() == names::TARGET) else {
            return;
        };
        self.id.record(&span, values, |open: &mut Open| &mut open.fields);
    }

    fn on_follows_from(&self, id: &span::Id, follows: &span::Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let followed = context
            .span(follows)
            .and_then(|followed| self.id.get::<Open>(&followed.extensions()).map(|open| open.span))
            .or_else(|| lock(&self.closed).recall(follows));
        if let Some(followed) = followed
            && let Some(open) = self.id.get_mut::<Open>(&mut span.extensions_mut())
            && open.follows_from.len() < MAX_LINKS
        {
            open.follows_from.push(followed);
        }
    }

    fn on_close(&self, id: span::Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(open) = self.id.take::<Open>(&mut span.extensions_mut()) else { return };
        lock(&self.closed).remember(&id, open.span);
        let line = Line {
            name: span.name(),
            otel_name: open.fields.text(names::OTEL_NAME),
            trace: open.trace,
            span: open.span,
            parent: open.parent,
            follows_from: &open.follows_from,
            start_us: micros(open.opened.saturating_duration_since(self.created)),
            duration_us: micros(open.opened.elapsed()),
            fields: &open.fields,
        };
        let Ok(mut bytes) = serde_json::to_vec(&line) else { return };
        bytes.push(b'\n');
        let mut out = lock(&self.out);
        // Nobody is there to tell: a run does not depend on who watches it.
        let _ = out.write_all(&bytes);
        if open.parent.is_none() {
            let _ = out.flush();
        }
    }
}

/// What one open span holds in its extensions.
#[derive(Debug)]
struct Open {
    trace: u64,
    span: u64,
    parent: Option<u64>,
    follows_from: Vec<u64>,
    opened: Instant,
    fields: Fields,
}

#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    otel_name: Option<&'a str>,
    trace: u64,
    span: u64,
    parent: Option<u64>,
    follows_from: &'a [u64],
    start_us: u64,
    duration_us: u64,
    fields: &'a Fields,
}
