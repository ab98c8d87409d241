//! What of a run has had its span.

use sommelier_handoff::{LinkOutcome, Relay, Run, Step};
use tracing::Span;

use crate::secrets::Vault;
use crate::spans;

/// How many hops and links a run had before a step.
pub(crate) struct Seen {
    hops: usize,
    links: usize,
}

impl Seen {
    pub(crate) fn of(run: &Run) -> Self {
        Self { hops: run.trail().hops().len(), links: run.links().len() }
    }

    /// The step, after a span for each handoff and each question that was refused on the way to it.
    pub(crate) fn traced(self, relay: &Relay, step: Step, agent: &Span, vault: &Vault<'_>) -> Step {
        for link in step.run().links().iter().skip(self.links) {
            if let LinkOutcome::Refused { refusal } = &link.outcome {
                spans::record_unasked(&spans::unasked(agent, link), refusal);
            }
        }
        let new = step.run().trail().hops().iter().skip(self.hops);
        for hop in new.filter(|hop| !hop.outcome.is_taken()) {
            spans::record_hop(&spans::handoff(agent, relay, hop, vault), &hop.outcome, 0);
        }
        step
    }
}
