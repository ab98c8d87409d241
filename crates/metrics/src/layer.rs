//! The layer that counts.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use tracing::{Subscriber, span};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use crate::fields::Fields;
use crate::names;
use crate::recent::Recent;
use crate::report::{
    DelegateUse, Hop, Link, MAX_KEYS, MAX_LISTED_HOPS, MAX_LISTED_LINKS, ModelUse, Report, ToolUse,
};
use crate::slots::LayerId;
use crate::text::{clip, clip_id, lock, micros};

/// Stands where a span did not say.
const UNSET: &str = "(unset)";
/// Stands for all keys past [`MAX_KEYS`].
const OTHERS: &str = "(others)";

/// A handle on one set of counts; clones share it.
///
/// Memory is bounded: an open span holds its own fields and nothing else, a table at most
/// [`MAX_KEYS`] keys, the lists of hops and of delegations at most [`MAX_LISTED_HOPS`] and [`MAX_LISTED_LINKS`].
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
        Self {
            shared: Arc::new(Shared {
                id: LayerId::next(),
                tally: Mutex::new(Tally::default()),
                closed: Mutex::new(Recent::new()),
            }),
        }
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
        MetricsLayer { shared: Arc::clone(&self.shared) }
    }

    /// The counts of the spans that have closed until now.
    ///
    /// ```
    /// # use sommelier_metrics::{Metrics, Report};
    /// assert_eq!(Metrics::new().report(), Report::default());
    /// ```
    #[must_use]
    pub fn report(&self) -> Report {
        let Tally { report, timings } = &*lock(&self.shared.tally);
        let mut report = report.clone();
        for (hop, timing) in report.handoffs.hops.iter_mut().zip(timings) {
            hop.first_chat_us = timing.first_chat_us.get().copied();
        }
        report
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
}

impl<S> Layer<S> for MetricsLayer
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
{
    fn on_new_span(&self, attributes: &span::Attributes<'_>, id: &span::Id, context: Context<'_, S>) {
        let Some(kind) = Kind::of(attributes.metadata()) else { return };
        let Some(span) = context.span(id) else { return };
        let opened = Instant::now();
        let timing = match kind {
            Kind::Handoff => Some(Arc::new(Timing { opened, first_chat_us: OnceLock::new() })),
            Kind::Workflow | Kind::Agent | Kind::Chat | Kind::Tool | Kind::Delegate => None,
        };
        let fields = Fields::created(attributes, is_counted);
        let branches = match kind {
            Kind::Workflow => Some(Arc::default()),
            Kind::Delegate => self.shared.open_branch(&fields, &span),
            Kind::Agent | Kind::Chat | Kind::Tool | Kind::Handoff => None,
        };
        let open = Open { kind, opened, fields, timing, branches };
        self.shared.id.put(&mut span.extensions_mut(), open);
    }

    fn on_record(&self, id: &span::Id, values: &span::Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id).filter(|span| Kind::of(span.metadata()).is_some()) else { return };
        let later = Fields::recorded(values, is_counted);
        if !later.is_empty() {
            self.shared.id.record(&span, later, |open: &mut Open| &mut open.fields);
        }
    }

    fn on_follows_from(&self, id: &span::Id, follows: &span::Id, context: Context<'_, S>) {
        let Some(span) = context.span(id).filter(|span| Kind::of(span.metadata()) == Some(Kind::Agent))
        else {
            return;
        };
        let Some(timing) = self.shared.timing(follows, &context) else { return };
        if let Some(open) = self.shared.id.get_mut::<Open>(&mut span.extensions_mut()) {
            open.timing = Some(timing);
        }
    }

    fn on_close(&self, id: span::Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id).filter(|span| Kind::of(span.metadata()).is_some()) else { return };
        let Some(open) = self.shared.id.take::<Open>(&mut span.extensions_mut()) else { return };
        match open.kind {
            Kind::Workflow => self.shared.close_workflow(&open.fields),
            Kind::Agent => {}
            Kind::Chat => self.shared.close_chat(&open.fields, &span),
            Kind::Tool => self.shared.close_tool(&open.fields),
            Kind::Handoff => self.shared.close_handoff(&open, &id, &span),
            Kind::Delegate => self.shared.close_delegate(&open, &span),
        }
    }
}

#[derive(Debug)]
struct Shared {
    id: LayerId,
    tally: Mutex<Tally>,
    /// Handoffs closed lately: a receiver's span may be opened after the handoff's has closed.
    closed: Mutex<Recent<Arc<Timing>>>,
}

#[derive(Debug, Default)]
struct Tally {
    report: Report,
    /// One for each listed hop, as the receiver's first chat ends later than the handoff.
    timings: Vec<Arc<Timing>>,
}

/// What one open span holds in its extensions.
#[derive(Debug)]
struct Open {
    kind: Kind,
    opened: Instant,
    fields: Fields,
    /// A handoff's own; a receiver's, that of the handoff which it follows from.
    timing: Option<Arc<Timing>>,
    /// How many branches are open under one user message: the workflow's own; a branch's, that of its workflow.
    branches: Option<Arc<AtomicU64>>,
}

#[derive(Debug)]
struct Timing {
    opened: Instant,
    first_chat_us: OnceLock<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Workflow,
    Agent,
    Chat,
    Tool,
    Handoff,
    Delegate,
}

impl Kind {
    fn of(metadata: &tracing::Metadata<'_>) -> Option<Self> {
        if metadata.target() != names::TARGET {
            return None;
        }
        match metadata.name() {
            names::INVOKE_WORKFLOW => Some(Self::Workflow),
            names::INVOKE_AGENT => Some(Self::Agent),
            names::CHAT => Some(Self::Chat),
            names::EXECUTE_TOOL => Some(Self::Tool),
            names::HANDOFF => Some(Self::Handoff),
            names::DELEGATE => Some(Self::Delegate),
            _ => None,
        }
    }
}

/// Whether a count is made of the field. Spans say much more, and a layer that only counts does not copy it.
fn is_counted(field: &str) -> bool {
    matches!(
        field,
        names::AGENT_NAME
            | names::BEGINS
            | names::CHILD_RUN
            | names::CONSTRAINTS_BROKEN
            | names::CONSTRAINTS_KEPT
            | names::CONSTRAINTS_UNCHECKED
            | names::CONSTRAINTS_UNKNOWN
            | names::END
            | names::ERROR_TYPE
            | names::HISTORY_BYTES
            | names::HOP
            | names::HOP_OF_MESSAGE
            | names::INPUT_TOKENS
            | names::MEASURE
            | names::OUTCOME
            | names::OUTPUT_TOKENS
            | names::PACKAGE_BYTES
            | names::PARENT_RUN
            | names::REFERENCE_BYTES
            | names::REFUSAL
            | names::STATUS
            | names::STEPS_USED
            | names::TOOL_NAME
            | names::TRANSFER_TARGET
    )
}

impl Shared {
    fn timing<S>(&self, handoff: &span::Id, context: &Context<'_, S>) -> Option<Arc<Timing>>
    where
        S: Subscriber + for<'lookup> LookupSpan<'lookup>,
    {
        if let Some(span) = context.span(handoff)
            && Kind::of(span.metadata()) == Some(Kind::Handoff)
            && let Some(open) = self.id.get::<Open>(&span.extensions())
        {
            return open.timing.clone();
        }
        lock(&self.closed).recall(handoff)
    }

    fn close_workflow(&self, fields: &Fields) {
        let mut tally = lock(&self.tally);
        tally.constraints(fields);
        let workflows = &mut tally.report.workflows;
        workflows.closed += 1;
        workflows.conversations += u64::from(fields.is_set(names::BEGINS));
        count(&mut workflows.by_end, fields.text(names::END), |ends| *ends += 1);
        tally.spent(fields);
    }

    fn close_chat<S>(&self, fields: &Fields, span: &SpanRef<'_, S>)
    where
        S: for<'lookup> LookupSpan<'lookup>,
    {
        let timing = self.id.ancestor(span, |open: &Open| match open.kind {
            Kind::Agent => Some(open.timing.clone()),
            Kind::Workflow | Kind::Chat | Kind::Tool | Kind::Handoff | Kind::Delegate => None,
        });
        if let Some(timing) = timing.flatten() {
            timing.first_chat_us.get_or_init(|| micros(timing.opened.elapsed()));
        }

        let agent = self.agent(fields, span);
        let add = |used: &mut ModelUse| {
            used.calls += 1;
            used.failed += u64::from(fields.text(names::ERROR_TYPE).is_some());
            add_to(&mut used.input_tokens, fields.number(names::INPUT_TOKENS));
            add_to(&mut used.output_tokens, fields.number(names::OUTPUT_TOKENS));
        };
        let model = &mut lock(&self.tally).report.model;
        add(&mut model.total);
        count(&mut model.by_agent, agent.as_deref(), add);
    }

    fn close_tool(&self, fields: &Fields) {
        let error = fields.text(names::ERROR_TYPE);
        let tools = &mut lock(&self.tally).report.tools;
        let add = |used: &mut ToolUse| {
            used.runs += 1;
            used.failed += u64::from(error.is_some());
        };
        add(&mut tools.total);
        count(&mut tools.by_tool, fields.text(names::TOOL_NAME), add);
        if error.is_some() {
            count(&mut tools.errors, error, |errors| *errors += 1);
        }
    }

    fn close_handoff<S>(&self, open: &Open, id: &span::Id, span: &SpanRef<'_, S>)
    where
        S: for<'lookup> LookupSpan<'lookup>,
    {
        let Open { fields, opened, timing, .. } = open;
        let transfer_us = micros(opened.elapsed());
        let name = |name: Option<&str>| clip(name.unwrap_or(UNSET)).into_owned();
        match fields.text(names::OUTCOME) {
            Some(names::TAKEN) => {
                let hop = Hop {
                    number: fields.number(names::HOP).unwrap_or_default(),
                    from: name(self.agent(fields, span).as_deref()),
                    to: name(fields.text(names::TRANSFER_TARGET)),
                    package_bytes: fields.number(names::PACKAGE_BYTES).unwrap_or_default(),
                    history_bytes: fields.number(names::HISTORY_BYTES).unwrap_or_default(),
                    transfer_us,
                    first_chat_us: None,
                };
                if let Some(timing) = timing {
                    lock(&self.closed).remember(id, Arc::clone(timing));
                }
                let is_again = fields.number(names::HOP_OF_MESSAGE).is_some_and(|number| number > 1);
                let mut tally = lock(&self.tally);
                add_to(&mut tally.report.handoffs.bytes_by_reference, fields.number(names::REFERENCE_BYTES));
                tally.take_hop(hop, is_again, timing.clone());
            }
            Some(names::REFUSED) => {
                let handoffs = &mut lock(&self.tally).report.handoffs;
                handoffs.asked += 1;
                handoffs.refused += 1;
                let guard = fields.text(names::REFUSAL).or_else(|| fields.text(names::ERROR_TYPE));
                count(&mut handoffs.refusals, guard, |refused| *refused += 1);
            }
            // It is asked for once, and tried again under the same id.
            Some(names::FAILED) if fields.text(names::ERROR_TYPE) == Some(names::UNWRITTEN) => {
                lock(&self.tally).report.handoffs.unwritten += 1;
            }
            _ => lock(&self.tally).report.handoffs.asked += 1,
        }
    }

    /// The agent which a span names, or that of the `invoke_agent` around it.
    fn agent<'f, S>(&self, fields: &'f Fields, span: &SpanRef<'_, S>) -> Option<Cow<'f, str>>
    where
        S: for<'lookup> LookupSpan<'lookup>,
    {
        fields.text(names::AGENT_NAME).map(Cow::from).or_else(|| {
            self.id.ancestor(span, |open: &Open| match open.kind {
                Kind::Agent => open.fields.text(names::AGENT_NAME).map(|name| name.to_owned().into()),
                Kind::Workflow | Kind::Chat | Kind::Tool | Kind::Handoff | Kind::Delegate => None,
            })
        })
    }

    /// Counts a branch among those that are open under the same workflow. A question without a target opens none.
    fn open_branch<S>(&self, fields: &Fields, span: &SpanRef<'_, S>) -> Option<Arc<AtomicU64>>
    where
        S: for<'lookup> LookupSpan<'lookup>,
    {
        fields.text(names::TRANSFER_TARGET)?;
        let workflow = self.id.ancestor(span, |open: &Open| match open.kind {
            Kind::Workflow => open.branches.clone(),
            Kind::Agent | Kind::Chat | Kind::Tool | Kind::Handoff | Kind::Delegate => None,
        });
        let branches = workflow.unwrap_or_default();
        let at_once = branches.fetch_add(1, Ordering::Relaxed) + 1;
        let most = &mut lock(&self.tally).report.delegations.most_at_once;
        *most = (*most).max(at_once);
        Some(branches)
    }

    fn close_delegate<S>(&self, open: &Open, span: &SpanRef<'_, S>)
    where
        S: for<'lookup> LookupSpan<'lookup>,
    {
        let Open { fields, opened, branches, .. } = open;
        if let Some(branches) = branches {
            branches.fetch_sub(1, Ordering::Relaxed);
        }
        let or_unset = |name: Option<&str>| clip(name.unwrap_or(UNSET)).into_owned();
        let id = |name| fields.text(name).map_or_else(|| UNSET.to_owned(), clip_id);
        let link = Link {
            parent_run: id(names::PARENT_RUN),
            child_run: id(names::CHILD_RUN),
            from: or_unset(self.agent(fields, span).as_deref()),
            tool: or_unset(fields.text(names::TOOL_NAME)),
            to: fields.text(names::TRANSFER_TARGET).map(|name| clip(name).into_owned()),
            status: or_unset(fields.text(names::STATUS)),
            error: fields.text(names::ERROR_TYPE).map(|error| clip(error).into_owned()),
            package_bytes: fields.number(names::PACKAGE_BYTES).unwrap_or_default(),
            steps_used: fields.number(names::STEPS_USED).unwrap_or_default(),
            took_us: micros(opened.elapsed()),
        };
        let around = span.scope().skip(1).filter(|above| Kind::of(above.metadata()) == Some(Kind::Delegate));
        let depth = 1 + around.count() as u64;
        let refusal = fields.text(names::REFUSAL).or_else(|| fields.text(names::ERROR_TYPE));
        let mut tally = lock(&self.tally);
        tally.constraints(fields);
        tally.link(link, refusal, depth);
        tally.spent(fields);
    }
}

impl Tally {
    /// Something was used up, if the span says so.
    fn spent(&mut self, fields: &Fields) {
        if let Some(measure) = fields.text(names::MEASURE) {
            count(&mut self.report.spent, Some(measure), |spent| *spent += 1);
        }
    }

    fn take_hop(&mut self, hop: Hop, is_again: bool, timing: Option<Arc<Timing>>) {
        let handoffs = &mut self.report.handoffs;
        handoffs.asked += 1;
        handoffs.taken += 1;
        handoffs.again += u64::from(is_again);
        add_to(&mut handoffs.bytes_crossing, Some(hop.package_bytes));
        add_to(&mut handoffs.bytes_left_behind, Some(hop.history_bytes));
        match timing {
            Some(timing) if handoffs.hops.len() < MAX_LISTED_HOPS => {
                handoffs.hops.push(hop);
                self.timings.push(timing);
            }
            _ => handoffs.hops_unlisted += 1,
        }
    }

    fn constraints(&mut self, fields: &Fields) {
        let constraints = &mut self.report.handoffs.constraints;
        add_to(&mut constraints.kept, fields.number(names::CONSTRAINTS_KEPT));
        add_to(&mut constraints.broken, fields.number(names::CONSTRAINTS_BROKEN));
        add_to(&mut constraints.unchecked, fields.number(names::CONSTRAINTS_UNCHECKED));
        add_to(&mut constraints.unknown, fields.number(names::CONSTRAINTS_UNKNOWN));
    }

    /// `depth` is 1 where the question was not asked within a branch.
    fn link(&mut self, link: Link, refusal: Option<&str>, depth: u64) {
        let delegations = &mut self.report.delegations;
        let is_refused = link.status == names::REFUSED;
        let crossing = if is_refused { 0 } else { link.package_bytes };
        delegations.asked += 1;
        count(&mut delegations.by_status, Some(&link.status), |asked| *asked += 1);
        if is_refused {
            count(&mut delegations.refusals, refusal, |refused| *refused += 1);
        } else {
            delegations.deepest = delegations.deepest.max(depth);
        }
        add_to(&mut delegations.bytes_crossing, Some(crossing));
        // What a branch within a branch used is told by the outer one too.
        add_to(&mut delegations.steps_used, (depth == 1).then_some(link.steps_used));
        count(&mut delegations.by_tool, Some(&link.tool), |by_tool: &mut DelegateUse| {
            by_tool.asked += 1;
            by_tool.failed += u64::from(link.error.is_some());
            add_to(&mut by_tool.bytes_crossing, Some(crossing));
            add_to(&mut by_tool.steps_used, Some(link.steps_used));
        });
        if delegations.links.len() < MAX_LISTED_LINKS {
            delegations.links.push(link);
        } else {
            delegations.links_unlisted += 1;
        }
    }
}

/// Adds to the counter of `key`, or to that of all others once the table is full.
fn count<T: Default>(table: &mut BTreeMap<String, T>, key: Option<&str>, add: impl FnOnce(&mut T)) {
    let key = clip(key.unwrap_or(UNSET));
    if let Some(known) = table.get_mut(&*key) {
        return add(known);
    }
    // One place is kept for the others themselves.
    let key = if table.len() + 1 < MAX_KEYS { key.into_owned() } else { OTHERS.to_owned() };
    add(table.entry(key).or_default());
}

/// Adds what a span claims; a nonsensical claim must not overflow.
fn add_to(sum: &mut u64, more: Option<u64>) {
    *sum = sum.saturating_add(more.unwrap_or_default());
}
