//! The spans as events, for an observer that wants a name and some data.

use std::fmt;

use serde_json::Value;
use tracing::{Subscriber, span};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::fields::Fields;
use crate::names;
use crate::slots::LayerId;

/// A layer that calls a function for each thing that happens, as `(event, data)`.
///
/// The events are, at the opening of a span, `turn_received`, `model_requested`, `tool_intended` and `delegate_asked`;
/// and at its close `model_responded` or `model_failed`, `tool_completed` or `tool_failed`, `handoff_committed`,
/// `handoff_refused` or `handoff_failed`, `delegate_returned`, `delegate_failed` or `delegate_refused`, and `closed`. A delegate's events
/// name the run that asks, `parent_run`, and the branch, `child_run`; between them stand those of the branch. The data are the span's fields under their own names, as a JSON object: no
/// text, argument or result is among them. A function that does nothing silences it; one that fails is its
/// author's to guard, and is called from whichever thread closes the span.
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use sommelier_metrics::OnEvent;
/// use tracing::info_span;
/// use tracing_subscriber::prelude::*;
///
/// let seen = Arc::new(Mutex::new(Vec::new()));
/// let log = seen.clone();
/// let layer = OnEvent::new(move |event, data| {
///     log.lock().unwrap().push(format!("{event} {}", data["gen_ai.tool.name"]));
/// });
/// tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
///     drop(info_span!(target: "sommelier", "execute_tool", gen_ai.tool.name = "get_quote"));
/// });
/// assert_eq!(*seen.lock().unwrap(), [r#"tool_intended "get_quote""#, r#"tool_completed "get_quote""#]);
/// ```
pub struct OnEvent<F> {
    id: LayerId,
    call: F,
}

impl<F: Fn(&str, &Value) + 'static> OnEvent<F> {
    /// A layer that calls `call`.
    #[must_use]
    pub fn new(call: F) -> Self {
        Self { id: LayerId::next(), call }
    }

    fn tell(&self, event: Option<&str>, fields: &Fields) {
        if let (Some(event), Ok(data)) = (event, serde_json::to_value(fields)) {
            (self.call)(event, &data);
        }
    }
}

impl<F> fmt::Debug for OnEvent<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnEvent").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<S, F> Layer<S> for OnEvent<F>
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
    F: Fn(&str, &Value) + 'static,
{
    fn on_new_span(&self, attributes: &span::Attributes<'_>, id: &span::Id, context: Context<'_, S>) {
        if attributes.metadata().target() != names::TARGET {
            return;
        }
        let Some(span) = context.span(id) else { return };
        let fields = Fields::created(attributes);
        self.tell(at_the_opening(span.name()), &fields);
        self.id.put(&mut span.extensions_mut(), fields);
    }

    fn on_record(&self, id: &span::Id, values: &span::Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id).filter(|span| span.metadata().target() == names::TARGET) else {
            return;
        };
        self.id.record(&span, values, |fields: &mut Fields| fields);
    }

    fn on_close(&self, id: span::Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let fields = self.id.take::<Fields>(&mut span.extensions_mut());
        if let Some(fields) = fields {
            self.tell(at_the_close(span.name(), &fields), &fields);
        }
    }
}

fn at_the_opening(span: &str) -> Option<&'static str> {
    match span {
        names::INVOKE_WORKFLOW => Some("turn_received"),
        names::CHAT => Some("model_requested"),
        names::EXECUTE_TOOL => Some("tool_intended"),
        names::DELEGATE => Some("delegate_asked"),
        _ => None,
    }
}

fn at_the_close(span: &str, fields: &Fields) -> Option<&'static str> {
    let is_error = fields.text(names::ERROR_TYPE).is_some();
    match (span, is_error) {
        (names::INVOKE_WORKFLOW, _) => Some("closed"),
        (names::CHAT, false) => Some("model_responded"),
        (names::CHAT, true) => Some("model_failed"),
        (names::EXECUTE_TOOL, false) => Some("tool_completed"),
        (names::EXECUTE_TOOL, true) => Some("tool_failed"),
        (names::HANDOFF, _) => match fields.text(names::OUTCOME) {
            Some(names::REFUSED) => Some("handoff_refused"),
            Some(names::TAKEN | names::TAKEN_OUT) => Some("handoff_committed"),
            // One that was cut off moved nothing either.
            _ => Some("handoff_failed"),
        },
        (names::DELEGATE, _) => match fields.text(names::STATUS) {
            Some(names::REFUSED) => Some("delegate_refused"),
            Some(names::DONE | names::PARTIAL) => Some("delegate_returned"),
            // One that was cut off came to nothing either.
            _ => Some("delegate_failed"),
        },
        _ => None,
    }
}
