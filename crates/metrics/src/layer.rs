//! The layer that counts.

use std::ptr;
use std::sync::{Arc, Mutex, OnceLock};

use tracing::{Dispatch, Subscriber, span};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

use crate::open::{Home, Key, Kind, Open};
use crate::report::Report;
use crate::slots::LayerId;
use crate::tally::Tally;
use crate::text::lock;
use crate::told::{Listen, Told};

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
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    tally: Arc<Mutex<Tally>>,
}

impl Metrics {
    /// Counts that start at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
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
        MetricsLayer { tally: Arc::clone(&self.tally), id: LayerId::next(), registry: OnceLock::new() }
    }

    /// The counts of the spans that have closed until now.
    ///
    /// ```
    /// # use sommelier_metrics::{Metrics, Report};
    /// assert_eq!(Metrics::new().report(), Report::default());
    /// ```
    #[must_use]
    pub fn report(&self) -> Report {
        lock(&self.tally).report()
    }
}

/// The layer behind a [`Metrics`], made by [`Metrics::layer`].
///
/// Spans of other targets and events pass by unread.
#[derive(Debug)]
pub struct MetricsLayer {
    tally: Arc<Mutex<Tally>>,
    id: LayerId,
    /// The address of the registry under it.
    registry: OnceLock<usize>,
}

impl MetricsLayer {
    fn key(&self, id: &span::Id) -> Key {
        Key::new(self.registry.get().map_or(Home::Layer(self.id), |address| Home::Registry(*address)), id)
    }
}

impl<S> Layer<S> for MetricsLayer
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
{
    fn on_register_dispatch(&self, subscriber: &Dispatch) {
        if let Some(registry) = subscriber.downcast_ref::<Registry>() {
            self.registry.get_or_init(|| ptr::from_ref(registry).addr());
        }
    }

    fn on_new_span(&self, attributes: &span::Attributes<'_>, id: &span::Id, context: Context<'_, S>) {
        let Some(kind) = Kind::of(attributes.metadata()) else { return };
        let mut told = Told::default();
        attributes.record(&mut Listen::to(kind, |word| told.take(word)));
        let mut tally = lock(&self.tally);
        let is_open = |key: &Key| tally.open.get(*key).is_some();
        // Spans in between that are not counted, those of other targets, are passed over.
        let around = attributes.parent().map(|parent| self.key(parent)).filter(is_open).or_else(|| {
            let mut scope = context.span(id)?.scope().skip(1);
            scope.find_map(|above| Some(self.key(&above.id())).filter(is_open))
        });
        let open = Open { kind, told, around, timing: kind.timing(), branches: 0 };
        tally.open(self.key(id), open);
    }

    fn on_record(&self, id: &span::Id, values: &span::Record<'_>, context: Context<'_, S>) {
        let Some(kind) = context.metadata(id).and_then(Kind::of) else { return };
        let key = self.key(id);
        values.record(&mut Listen::to(kind, |word| {
            if let Some(open) = lock(&self.tally).open.get_mut(key) {
                open.told.take(word);
            }
        }));
    }

    fn on_follows_from(&self, id: &span::Id, follows: &span::Id, _: Context<'_, S>) {
        lock(&self.tally).follow(self.key(id), self.key(follows));
    }

    fn on_close(&self, id: span::Id, _: Context<'_, S>) {
        lock(&self.tally).close(self.key(&id));
    }
}
