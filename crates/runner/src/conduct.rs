//! What became of constraints while a run was driven.

use sommelier_handoff::{Compliance, Run};
use tracing::Span;

/// Which hops had ended before a run was driven on.
pub(crate) struct Ended(Vec<bool>);

impl Ended {
    pub(crate) fn of(run: &Run) -> Self {
        Self(run.trail().hops().iter().map(|hop| hop.end.is_some()).collect())
    }

    /// Counts on `span` what became of the constraints of the work that has ended since. Nothing is there where no
    /// package had any.
    pub(crate) fn record_since(&self, span: &Span, run: &Run) {
        let had_ended = self.0.iter().copied().chain(std::iter::repeat(false));
        let hops = run.trail().hops().iter().zip(had_ended);
        let ended = hops.filter(|(hop, had_ended)| hop.end.is_some() && !had_ended);
        let mut counts = Counts::default();
        for (_, found) in ended.flat_map(|(hop, _)| hop.compliance()) {
            match found {
                Compliance::Kept => counts.kept += 1,
                Compliance::Broken { .. } => counts.broken += 1,
                Compliance::Unchecked => counts.unchecked += 1,
                Compliance::Unknown { .. } => counts.unknown += 1,
            }
        }
        counts.record(span);
    }
}

#[derive(Default)]
struct Counts {
    kept: u64,
    broken: u64,
    unchecked: u64,
    unknown: u64,
}

impl Counts {
    fn record(&self, span: &Span) {
        for (name, count) in [
            ("constraints_kept", self.kept),
            ("constraints_broken", self.broken),
            ("constraints_unchecked", self.unchecked),
            ("constraints_unknown", self.unknown),
        ] {
            if count > 0 {
                span.record(name, count);
            }
        }
    }
}
