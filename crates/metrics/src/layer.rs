//! The layer that counts.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tracing::{Subscriber, span};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use crate::open::{Branches, Kind, Open, Timing};
use crate::recent::Recent;
use crate::report::Report;
use crate::slots::LayerId;
use crate::tally::Tally;
use crate::text::{lock, micros};
use crate::told::{Key, Listen, Told};

/// A handle on one set of counts; clones share it.
///
/// Memory is bounded: an open span holds the fields that are counted and nothing else, a table at most
/// [`MAX_KEYS`](crate::MAX_KEYS) keys, the lists of hops and of delegations at most
/// [`MAX_LISTED_HOPS`](crate::MAX_LISTED_HOPS) and [`MAX_LISTED_LINKS`](crate::MAX_LISTED_LINKS).
///
/// ```
/// use sommelier_metrics::Metrics;
/// use tracing::info_span;
/// use tracing_subscriber::prelude::*;
///
/// let metrics = Metrics::new();
/// tracing::subscriber::with_default(tracing_subscriber::registry().with(metrics.layer()), || {
///     let span = info_span!(
///         target: "sommelier",
///         "execute_tool",
///         gen_ai.tool.name = "book",
///         error.type = tracing::field::Empty
///     );
///     span.record("error.type", "slot_taken");
/// });
/// assert_eq!(metrics.report().tools.errors["slot_taken"], 1);
/// ```
#[derive(Clone, Debug)]
pub struct Metrics {
    shared: Arc<Shared>,
}

impl Metrics {
    /// Counts that start at zero.
    #[must_use]
    pub fn new() -> Self {
        let shared = Shared { id: LayerId::next(), tally: Mutex::default(), awaited: AtomicU64::new(0) };
        Self { shared: Arc::new(shared) }
    }

    /// A layer that adds to these counts.
    ///
    /// Put it on as many subscribers as needed; on one subscriber it counts once, also if it was added twice.
    ///
    /// ```
    /// # use sommelier_metrics::Metrics;
    /// use tracing_subscriber::prelude::*;
    ///
    /// let metrics = Metrics::new();
    /// let subscriber = tracing_subscriber::registry().with(metrics.layer());
    /// # drop(subscriber);
    /// ```
    #[must_use]
    pub fn layer(&self) -> MetricsLayer {
        MetricsLayer { shared: Arc::clone(&self.shared), closed: Mutex::new(Recent::new()) }
    }

    /// The counts of the spans that have closed until now.
    ///
    /// ```
    /// # use sommelier_metrics::{Metrics, Report};
    /// assert_eq!(Metrics::new().report(), Report::default());
    /// ```
    #[must_use]
    pub fn report(&self) -> Report {
        lock(&self.shared.tally).report()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// The layer behind a [`Metrics`], made by [`Metrics::layer`].
///
/// Spans of other targets and events pass by unread.
#[derive(Debug)]
pub struct MetricsLayer {
    shared: Arc<Shared>,
    /// Handoffs closed lately: a receiver's span may be opened after the handoff's has closed. Another subscriber gives the
    /// same ids to other spans, so each layer remembers its own.
    closed: Mutex<Recent<Arc<Timing>>>,
}

#[derive(Debug)]
struct Shared {
    /// One for all layers of a handle: a span that two of them see is one span.
    id: LayerId,
    tally: Mutex<Tally>,
    /// How many open agents took over and have not had a chat yet. Mostly none: then no chat looks for its agent.
    awaited: AtomicU64,
}

impl<S> Layer<S> for MetricsLayer
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
{
    fn on_new_span(&self, attributes: &span::Attributes<'_>, id: &span::Id, context: Context<'_, S>) {
        let Some(kind) = Kind::of(attributes.metadata()) else { return };
        let Some(span) = context.span(id) else { return };
        let told = Listen::to(kind, |listen| attributes.record(listen));
        let branches = match kind {
            Kind::Workflow => Some(Branches::default()),
            // A second layer of the same handle has counted it.
            Kind::Delegate if self.shared.id.get::<Open>(&span.extensions()).is_some() => return,
            Kind::Delegate => self.shared.open_branch(&told, &span),
            Kind::Agent | Kind::Chat | Kind::Tool | Kind::Handoff => None,
        };
        let open = Open { kind, told, timing: kind.timing(), branches };
        self.shared.id.put(&mut span.extensions_mut(), open);
    }

    fn on_record(&self, id: &span::Id, values: &span::Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let Some(kind) = Kind::of(span.metadata()) else { return };
        let later = Listen::to(kind, |listen| values.record(listen));
        if let Some(open) = self.shared.id.get_mut::<Open>(&mut span.extensions_mut()) {
            open.told.merge(later);
        }
    }

    fn on_follows_from(&self, id: &span::Id, follows: &span::Id, context: Context<'_, S>) {
        let Some(span) = context.span(id).filter(|span| Kind::of(span.metadata()) == Some(Kind::Agent))
        else {
            return;
        };
        let Some(timing) = self.timing(follows, &context) else { return };
        if let Some(open) = self.shared.id.get_mut::<Open>(&mut span.extensions_mut())
            && open.timing.replace(timing).is_none()
        {
            self.shared.awaited.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn on_close(&self, id: span::Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(open) = self.shared.id.take::<Open>(&mut span.extensions_mut()) else { return };
        let Shared { tally, awaited, .. } = &*self.shared;
        match open.kind {
            Kind::Workflow => lock(tally).close_workflow(&open.told),
            Kind::Agent => {
                if open.timing.is_some() {
                    awaited.fetch_sub(1, Ordering::Relaxed);
                }
            }
            Kind::Chat => {
                self.shared.time_first_chat(&span);
                let agent = self.shared.agent(&open.told, &span);
                lock(tally).close_chat(&open.told, agent.as_deref());
            }
            Kind::Tool => lock(tally).close_tool(&open.told),
            Kind::Handoff => {
                let agent = self.shared.agent(&open.told, &span);
                lock(tally).close_handoff(&open, agent.as_deref());
                if let Some(timing) = open.timing {
                    lock(&self.closed).remember(&id, timing);
                }
            }
            Kind::Delegate => {
                let depth = match &open.branches {
                    Some(branches) => {
                        branches.open.fetch_sub(1, Ordering::Relaxed);
                        branches.depth
                    }
                    None => self.shared.branches_above(&span).unwrap_or_default().depth + 1,
                };
                let agent = self.shared.agent(&open.told, &span);
                lock(tally).close_delegate(&open, agent.as_deref(), depth);
            }
        }
    }
}

impl MetricsLayer {
    /// The timing of a handoff, whether it is open or not. An open span of another kind may have the id of one that is not.
    fn timing<S>(&self, handoff: &span::Id, context: &Context<'_, S>) -> Option<Arc<Timing>>
    where
        S: Subscriber + for<'lookup> LookupSpan<'lookup>,
    {
        let Some(span) = context.span(handoff) else { return lock(&self.closed).recall(handoff) };
        let extensions = span.extensions();
        let open = self.shared.id.get::<Open>(&extensions).filter(|open| open.kind == Kind::Handoff)?;
        open.timing.clone()
    }
}

impl Shared {
    /// A chat has closed: if it is the receiver's first, its hop is told how long that took.
    fn time_first_chat<S>(&self, chat: &SpanRef<'_, S>)
    where
        S: for<'lookup> LookupSpan<'lookup>,
    {
        if self.awaited.load(Ordering::Relaxed) == 0 {
            return;
        }
        let timing =
            self.id.ancestor(chat, |open: &mut Open| (open.kind == Kind::Agent).then(|| open.timing.take()));
        if let Some(timing) = timing.flatten() {
            self.awaited.fetch_sub(1, Ordering::Relaxed);
            timing.first_chat_us.get_or_init(|| micros(timing.opened.elapsed()));
        }
    }

    /// The agent which a span names, or that of the `invoke_agent` around it.
    fn agent<'t, S>(&self, told: &'t Told, span: &SpanRef<'_, S>) -> Option<Cow<'t, str>>
    where
        S: for<'lookup> LookupSpan<'lookup>,
    {
        told.text(Key::Agent).map(Cow::from).or_else(|| {
            self.id.ancestor(span, |open: &mut Open| {
                let name = open.told.text(Key::Agent).filter(|_| open.kind == Kind::Agent)?;
                Some(name.to_owned().into())
            })
        })
    }

    /// Counts a branch among those that are open under the same workflow. A question without a target opens none.
    fn open_branch<S>(&self, told: &Told, span: &SpanRef<'_, S>) -> Option<Branches>
    where
        S: for<'lookup> LookupSpan<'lookup>,
    {
        told.text(Key::Target)?;
        let mut branches = self.branches_above(span).unwrap_or_default();
        branches.depth += 1;
        let at_once = branches.open.fetch_add(1, Ordering::Relaxed) + 1;
        lock(&self.tally).most_at_once(at_once);
        Some(branches)
    }

    /// The branches of the nearest span that has some, a workflow or another branch.
    fn branches_above<S>(&self, span: &SpanRef<'_, S>) -> Option<Branches>
    where
        S: for<'lookup> LookupSpan<'lookup>,
    {
        self.id.ancestor(span, |open: &mut Open| open.branches.clone())
    }
}
