//! How well the handing over goes: the few numbers that a house looks at every week.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::Report;
use crate::text::{duration, shown};

/// Ratios of a [`Report`]. Each is `None` where there was nothing to divide by.
///
/// Hops of branches count like any other, since a turn that is handed over in a branch costs as much.
///
/// ```
/// use sommelier_metrics::{Handoffs, Report, Workflows};
///
/// let report = Report {
///     workflows: Workflows { closed: 5, conversations: 4, ..Workflows::default() },
///     handoffs: Handoffs { asked: 7, taken: 6, again: 3, refused: 1, bytes_crossing: 900, ..Handoffs::default() },
///     ..Report::default()
/// };
/// let quality = report.quality();
/// assert_eq!(quality.handoffs_per_conversation, Some(1.5));
/// assert_eq!(quality.rehandoff_rate, Some(0.5));
/// assert_eq!(quality.bytes_per_hop, Some(150.0));
/// assert_eq!(quality.first_response_us, None, "no hop is listed");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Quality {
    /// Handoffs taken, over the conversations that began.
    pub handoffs_per_conversation: Option<f64>,
    /// The median time from a handoff to the end of the receiver's first model call, in microseconds, over the hops that
    /// are listed and had one. Of two in the middle, the later.
    pub first_response_us: Option<u64>,
    /// Hops after the first since the user last spoke, over all hops. A high one is a sign of turns that went to the
    /// wrong agent first.
    pub rehandoff_rate: Option<f64>,
    /// Bytes of the packages taken, over the hops.
    pub bytes_per_hop: Option<f64>,
    /// Constraints that were broken, over those that a check in code could tell of. See [`Report::handoffs`] for those
    /// that none could.
    pub constraint_violation_rate: Option<f64>,
    /// Refused handoffs by guard, each over all handoffs asked for.
    pub refusal_rates: BTreeMap<String, f64>,
}

impl Report {
    /// The ratios of these counts.
    pub fn quality(&self) -> Quality {
        let Self { workflows, handoffs, .. } = self;
        let mut first: Vec<u64> = handoffs.hops.iter().filter_map(|hop| hop.first_chat_us).collect();
        first.sort_unstable();
        let rates = handoffs.refusals.iter();
        let rates = rates.filter_map(|(guard, count)| Some((guard.clone(), ratio(*count, handoffs.asked)?)));
        Quality {
            handoffs_per_conversation: ratio(handoffs.taken, workflows.conversations),
            first_response_us: first.get(first.len() / 2).copied(),
            rehandoff_rate: ratio(handoffs.again, handoffs.taken),
            bytes_per_hop: ratio(handoffs.bytes_crossing, handoffs.taken),
            constraint_violation_rate: ratio(
                handoffs.constraints.broken,
                handoffs.constraints.kept.saturating_add(handoffs.constraints.broken),
            ),
            refusal_rates: rates.collect(),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of counts beyond 2^53 may be off in its last digit")]
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |rate: Option<f64>| rate.map_or_else(nothing, |rate| format!("{:.1} %", rate * 100.0));
        let mean = |mean: Option<f64>| mean.map_or_else(nothing, |mean| format!("{mean:.2}"));
        writeln!(f, "handoffs per conversation  {}", mean(self.handoffs_per_conversation))?;
        writeln!(f, "first response after a hop {}", self.first_response_us.map_or_else(nothing, duration))?;
        writeln!(f, "handed over again          {}", share(self.rehandoff_rate))?;
        writeln!(f, "bytes per hop              {}", mean(self.bytes_per_hop))?;
        write!(f, "constraints broken         {}", share(self.constraint_violation_rate))?;
        self.refusal_rates.iter().try_for_each(|(guard, rate)| {
            write!(f, "\nrefused by {:<15} {}", shown(guard), share(Some(*rate)))
        })
    }
}

fn nothing() -> String {
    "-".to_owned()
}
