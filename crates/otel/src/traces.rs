//! The traces that are open, and what a span of one is as it closes.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use opentelemetry::InstrumentationScope;
use opentelemetry::trace::{Link, SpanContext, SpanId, TraceFlags, TraceId, TraceState};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use sommelier_metrics::{ClosedSpan, OpenedSpan, names};

use crate::TraceContext;
use crate::attributes::{self, Seen};

/// How many traces of our own are remembered, so that a second root in one gets an id of its own.
const REMEMBERED: usize = 1024;

/// The traces that are open on one layer. It holds as much as there are spans in them.
#[derive(Debug)]
pub struct Traces {
    /// By their numbers on the layer.
    open: BTreeMap<u64, Trace>,
    /// Traces of our own that have a root, the oldest first.
    rooted: Vec<TraceId>,
    scope: InstrumentationScope,
}

/// A trace that is open.
#[derive(Debug)]
struct Trace {
    id: TraceId,
    flags: TraceFlags,
    /// The span of another process under which the root stands.
    parent: Option<SpanId>,
    root: u64,
    /// The root's id, where it is not that of its number.
    root_id: Option<SpanId>,
    conversation: Option<String>,
    /// Who handed over or asked, by the numbers of those spans.
    askers: BTreeMap<u64, String>,
}

impl Default for Traces {
    fn default() -> Self {
        let scope =
            InstrumentationScope::builder("sommelier").with_version(env!("CARGO_PKG_VERSION")).build();
        Self { open: BTreeMap::new(), rooted: Vec::new(), scope }
    }
}

impl Traces {
    /// A span has opened. What is needed of it is remembered until its root closes.
    pub fn opened(&mut self, span: &OpenedSpan<'_>) {
        if span.parent.is_none() {
            let trace = self.begun(span);
            self.open.insert(span.trace, trace);
        }
        let asks = matches!(span.name, names::HANDOFF | names::DELEGATE);
        if asks
            && let Some(trace) = self.open.get_mut(&span.trace)
            && let Some(asker) = span.fields.text(names::AGENT_NAME)
        {
            trace.askers.insert(span.span, asker.to_owned());
        }
    }

    fn begun(&mut self, root: &OpenedSpan<'_>) -> Trace {
        let named: Option<TraceContext> = root.fields.text(names::TRACE).and_then(|name| name.parse().ok());
        let context = named.unwrap_or_else(TraceContext::begin);
        let is_first = context.parent.is_none() && !self.rooted.contains(&context.trace);
        if is_first {
            if self.rooted.len() == REMEMBERED {
                self.rooted.remove(0);
            }
            self.rooted.push(context.trace);
        }
        Trace {
            id: context.trace,
            flags: context.flags,
            parent: context.parent,
            root: root.span,
            root_id: is_first.then(|| context.first_root()),
            conversation: root.fields.text(names::CONVERSATION_ID).map(str::to_owned),
            askers: BTreeMap::new(),
        }
    }

    /// The span in OpenTelemetry's terms; `None` where its root was not seen to open.
    pub fn closed(&mut self, span: &ClosedSpan) -> Option<SpanData> {
        let trace = self.open.get(&span.trace)?;
        let before = span.follows_from.iter().chain(&span.parent).find_map(|from| trace.askers.get(from));
        let seen = Seen { session: trace.conversation.as_deref(), before: before.map(String::as_str) };
        let start_time = UNIX_EPOCH + Duration::from_micros(span.at_us);
        let links = span.follows_from.iter().map(|from| trace.context(trace.span_id(span, *from)));
        let mut told = SpanLinks::default();
        told.links = links.chain(resumed(span)).map(|context| Link::new(context, Vec::new(), 0)).collect();
        let data = SpanData {
            span_context: trace.context(trace.span_id(span, span.span)),
            parent_span_id: match span.parent {
                Some(parent) => trace.span_id(span, parent),
                None => trace.parent.unwrap_or(SpanId::INVALID),
            },
            parent_span_is_remote: span.parent.is_none() && trace.parent.is_some(),
            span_kind: attributes::kind(span),
            name: span.otel_name.clone().map_or_else(|| span.name.clone(), Into::into),
            start_time,
            end_time: start_time.checked_add(Duration::from_micros(span.duration_us)).unwrap_or(start_time),
            attributes: attributes::attributes(span, &seen),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: told,
            status: attributes::status(span),
            instrumentation_scope: self.scope.clone(),
        };
        if span.is_root() {
            self.open.remove(&span.trace);
        }
        Some(data)
    }
}

/// The root of the trace in which a turn began that is gone on with.
fn resumed(span: &ClosedSpan) -> Option<SpanContext> {
    let began: TraceContext = span.fields.text(names::RESUMED_TRACE)?.parse().ok()?;
    let root = began.parent.unwrap_or_else(|| began.first_root());
    Some(SpanContext::new(began.trace, root, began.flags, true, TraceState::default()))
}

impl Trace {
    fn context(&self, span: SpanId) -> SpanContext {
        SpanContext::new(self.id, span, self.flags, false, TraceState::default())
    }

    /// The id of a span of this trace by its number on the layer of `span`.
    fn span_id(&self, span: &ClosedSpan, number: u64) -> SpanId {
        match self.root_id {
            Some(id) if number == self.root => id,
            _ => SpanId::from(mixed(layer(span).wrapping_add(number.wrapping_mul(STRIDE))).max(1)),
        }
    }
}

/// The layer's name as the number that it is.
fn layer(span: &ClosedSpan) -> u64 {
    u64::from_str_radix(&span.layer, 16).unwrap_or_default()
}

/// An odd number, by which successive numbers lie far apart: 2^64 over the golden ratio.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's last steps: each number has one image and no other has the same, so the ids of a layer's spans differ.
fn mixed(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
