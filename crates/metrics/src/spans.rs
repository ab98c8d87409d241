//! The layer that gives each span away as it closes.

use std::borrow::Cow;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tracing::{Subscriber, span};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::fields::Fields;
use crate::recent::Recent;
use crate::slots::LayerId;
use crate::text::{lock, micros};
use crate::{ClosedSpan, names};

/// How many spans one span may follow from, as far as is told.
const MAX_LINKS: usize = 64;

/// What takes the spans of a [`SpansLayer`]. It is called by the thread that closes the span, so what takes long belongs
/// elsewhere.
pub trait SpanSink: Send + Sync + 'static {
    /// A span has opened, with these fields so far.
    fn opened(&self, span: &OpenedSpan<'_>) {
        let _ = span;
    }

    /// A span has closed.
    fn closed(&self, span: ClosedSpan);
}

/// A span that has opened, under the numbers that it will [close](ClosedSpan) with.
#[derive(Clone, Copy, Debug)]
pub struct OpenedSpan<'a> {
    /// Its name.
    pub name: &'static str,
    /// The number of the root on its layer.
    pub trace: u64,
    /// Its own number on its layer.
    pub span: u64,
    /// The number of the span around it; `None` on a root.
    pub parent: Option<u64>,
    /// The fields that it was opened with.
    pub fields: &'a Fields,
}

impl<F: Fn(ClosedSpan) + Send + Sync + 'static> SpanSink for F {
    fn closed(&self, span: ClosedSpan) {
        self(span);
    }
}

/// Gives each span to a [sink](SpanSink) as it closes: children before their parents, a root last of its trace.
///
/// ```
/// use sommelier_metrics::{ClosedSpan, SpansLayer};
/// use std::sync::mpsc;
/// use tracing::info_span;
/// use tracing_subscriber::prelude::*;
///
/// let (sender, spans) = mpsc::channel();
/// let layer = SpansLayer::to(move |span: ClosedSpan| drop(sender.send(span)));
/// tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
///     info_span!(target: "sommelier", "invoke_workflow", end = "answered");
/// });
/// let span = spans.recv()?;
/// assert_eq!((&*span.name, span.fields.text("end"), span.is_root()), ("invoke_workflow", Some("answered"), true));
/// # Ok::<(), mpsc::RecvError>(())
/// ```
pub struct SpansLayer<K> {
    id: LayerId,
    /// By a name that no other process has.
    name: Cow<'static, str>,
    created: Instant,
    created_us: u64,
    traces: AtomicU64,
    spans: AtomicU64,
    /// The numbers of spans closed lately, which a link may still name.
    closed: Mutex<Recent<u64>>,
    sink: K,
}

impl<K: SpanSink> SpansLayer<K> {
    /// A layer that gives its spans to `sink`; its clock starts now.
    #[must_use]
    pub fn to(sink: K) -> Self {
        Self {
            id: LayerId::next(),
            // The standard library seeds each of its hashers with a number by chance.
            name: format!("{:016x}", RandomState::new().build_hasher().finish()).into(),
            created: Instant::now(),
            created_us: micros(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()),
            traces: AtomicU64::new(1),
            spans: AtomicU64::new(1),
            closed: Mutex::new(Recent::new()),
            sink,
        }
    }
}

impl<K> fmt::Debug for SpansLayer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpansLayer").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<S, K> Layer<S> for SpansLayer<K>
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
    K: SpanSink,
{
    fn on_new_span(&self, attributes: &span::Attributes<'_>, id: &span::Id, context: Context<'_, S>) {
        if attributes.metadata().target() != names::TARGET {
            return;
        }
        let Some(span) = context.span(id) else { return };
        let parent = self.id.ancestor(&span, |open: &mut Open| Some((open.trace, open.span)));
        let open = Open {
            trace: parent.map_or_else(|| self.traces.fetch_add(1, Ordering::Relaxed), |(trace, _)| trace),
            span: self.spans.fetch_add(1, Ordering::Relaxed),
            parent: parent.map(|(_, span)| span),
            follows_from: Vec::new(),
            opened: Instant::now(),
            fields: Fields::created(attributes),
        };
        let Open { trace, span: number, parent, fields, .. } = &open;
        let opened = OpenedSpan { name: span.name(), trace: *trace, span: *number, parent: *parent, fields };
        self.sink.opened(&opened);
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
        let Open { trace, span: number, parent, follows_from, opened, mut fields } = open;
        let start_us = micros(opened.saturating_duration_since(self.created));
        self.sink.closed(ClosedSpan {
            name: span.name().into(),
            otel_name: fields.take_text(names::OTEL_NAME),
            trace,
            span: number,
            parent,
            follows_from,
            start_us,
            duration_us: micros(opened.elapsed()),
            fields,
            at_us: self.created_us.saturating_add(start_us),
            layer: self.name.clone(),
        });
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
