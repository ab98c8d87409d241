//! The counts.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::names;
use crate::open::{Open, Timing};
use crate::report::{
    DelegateUse, Hop, Link, MAX_KEYS, MAX_LISTED_HOPS, MAX_LISTED_LINKS, ModelUse, Report, ToolUse,
};
use crate::told::{Key, Told};

/// Stands where a span did not say.
const UNSET: &str = "(unset)";
/// Stands for all keys past [`MAX_KEYS`].
const OTHERS: &str = "(others)";

/// What was counted until now.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    report: Report,
    /// One for each listed hop, as the receiver's first chat ends later than the handoff.
    timings: Vec<Arc<Timing>>,
}

impl Tally {
    pub(crate) fn report(&self) -> Report {
        let mut report = self.report.clone();
        for (hop, timing) in report.handoffs.hops.iter_mut().zip(&self.timings) {
            hop.first_chat_us = timing.first_chat_us.get().copied();
        }
        report
    }

    /// So many branches are open under one workflow.
    pub(crate) fn most_at_once(&mut self, at_once: u64) {
        let most = &mut self.report.delegations.most_at_once;
        *most = (*most).max(at_once);
    }

    pub(crate) fn close_workflow(&mut self, told: &Told) {
        self.constraints(told);
        let workflows = &mut self.report.workflows;
        workflows.closed += 1;
        workflows.conversations += u64::from(told.number(Key::Begins) > 0);
        count(&mut workflows.by_end, told.text(Key::End), |ends| *ends += 1);
        self.spent(told);
    }

    pub(crate) fn close_chat(&mut self, told: &Told, agent: Option<&str>) {
        let failed = u64::from(told.text(Key::Error).is_some());
        let (read, written) = (told.number(Key::InputTokens), told.number(Key::OutputTokens));
        let add = |used: &mut ModelUse| {
            used.calls += 1;
            used.failed += failed;
            add_to(&mut used.input_tokens, read);
            add_to(&mut used.output_tokens, written);
        };
        let model = &mut self.report.model;
        add(&mut model.total);
        count(&mut model.by_agent, agent, add);
    }

    pub(crate) fn close_tool(&mut self, told: &Told) {
        let error = told.text(Key::Error);
        let tools = &mut self.report.tools;
        let add = |used: &mut ToolUse| {
            used.runs += 1;
            used.failed += u64::from(error.is_some());
        };
        add(&mut tools.total);
        count(&mut tools.by_tool, told.text(Key::Tool), add);
        if error.is_some() {
            count(&mut tools.errors, error, |errors| *errors += 1);
        }
    }

    pub(crate) fn close_handoff(&mut self, open: &Open, agent: Option<&str>) {
        let told = &open.told;
        let handoffs = &mut self.report.handoffs;
        match told.text(Key::Outcome) {
            Some(names::TAKEN) => {
                let hop = Hop {
                    number: told.number(Key::Hop),
                    from: or_unset(agent),
                    to: or_unset(told.text(Key::Target)),
                    package_bytes: told.number(Key::PackageBytes),
                    history_bytes: told.number(Key::HistoryBytes),
                    transfer_us: open.elapsed_us(),
                    first_chat_us: None,
                };
                let is_again = told.number(Key::HopOfMessage) > 1;
                add_to(&mut handoffs.bytes_by_reference, told.number(Key::ReferenceBytes));
                self.take_hop(hop, is_again, open.timing.clone());
            }
            Some(names::REFUSED) => {
                handoffs.asked += 1;
                handoffs.refused += 1;
                let guard = told.text(Key::Refusal).or_else(|| told.text(Key::Error));
                count(&mut handoffs.refusals, guard, |refused| *refused += 1);
            }
            // It is asked for once, and tried again under the same id.
            Some(names::FAILED) if told.text(Key::Error) == Some(names::UNWRITTEN) => {
                handoffs.unwritten += 1;
            }
            _ => handoffs.asked += 1,
        }
    }

    /// `depth` is 1 where the question was not asked within a branch.
    pub(crate) fn close_delegate(&mut self, open: &Open, agent: Option<&str>, depth: u64) {
        let told = &open.told;
        let link = Link {
            parent_run: or_unset(told.text(Key::ParentRun)),
            child_run: or_unset(told.text(Key::ChildRun)),
            from: or_unset(agent),
            tool: or_unset(told.text(Key::Tool)),
            to: told.text(Key::Target).map(str::to_owned),
            status: or_unset(told.text(Key::Status)),
            error: told.text(Key::Error).map(str::to_owned),
            package_bytes: told.number(Key::PackageBytes),
            steps_used: told.number(Key::StepsUsed),
            took_us: open.elapsed_us(),
        };
        let refusal = told.text(Key::Refusal).or_else(|| told.text(Key::Error));
        self.constraints(told);
        self.link(link, refusal, depth);
        self.spent(told);
    }

    /// Something was used up, if the span says so.
    fn spent(&mut self, told: &Told) {
        if let Some(measure) = told.text(Key::Measure) {
            count(&mut self.report.spent, Some(measure), |spent| *spent += 1);
        }
    }

    fn take_hop(&mut self, hop: Hop, is_again: bool, timing: Option<Arc<Timing>>) {
        let handoffs = &mut self.report.handoffs;
        handoffs.asked += 1;
        handoffs.taken += 1;
        handoffs.again += u64::from(is_again);
        add_to(&mut handoffs.bytes_crossing, hop.package_bytes);
        add_to(&mut handoffs.bytes_left_behind, hop.history_bytes);
        match timing {
            Some(timing) if handoffs.hops.len() < MAX_LISTED_HOPS => {
                handoffs.hops.push(hop);
                self.timings.push(timing);
            }
            _ => handoffs.hops_unlisted += 1,
        }
    }

    fn constraints(&mut self, told: &Told) {
        let constraints = &mut self.report.handoffs.constraints;
        add_to(&mut constraints.kept, told.number(Key::ConstraintsKept));
        add_to(&mut constraints.broken, told.number(Key::ConstraintsBroken));
        add_to(&mut constraints.unchecked, told.number(Key::ConstraintsUnchecked));
        add_to(&mut constraints.unknown, told.number(Key::ConstraintsUnknown));
    }

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
        add_to(&mut delegations.bytes_crossing, crossing);
        // What a branch within a branch used is told by the outer one too.
        add_to(&mut delegations.steps_used, if depth == 1 { link.steps_used } else { 0 });
        count(&mut delegations.by_tool, Some(&link.tool), |by_tool: &mut DelegateUse| {
            by_tool.asked += 1;
            by_tool.failed += u64::from(link.error.is_some());
            add_to(&mut by_tool.bytes_crossing, crossing);
            add_to(&mut by_tool.steps_used, link.steps_used);
        });
        if delegations.links.len() < MAX_LISTED_LINKS {
            delegations.links.push(link);
        } else {
            delegations.links_unlisted += 1;
        }
    }
}

fn or_unset(name: Option<&str>) -> String {
    name.unwrap_or(UNSET).to_owned()
}

/// Adds to the counter of `key`, or to that of all others once the table is full.
fn count<T: Default>(table: &mut BTreeMap<String, T>, key: Option<&str>, add: impl FnOnce(&mut T)) {
    let key = key.unwrap_or(UNSET);
    if let Some(known) = table.get_mut(key) {
        return add(known);
    }
    // One place is kept for the others themselves.
    let key = if table.len() + 1 < MAX_KEYS { key } else { OTHERS };
    add(table.entry(key.to_owned()).or_default());
}

/// Adds what a span claims; a nonsensical claim must not overflow.
fn add_to(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}
