//! What the tests share.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each file of tests uses its part; helpers fail as tests do"
)]

pub(crate) mod service;

use live_desk::{Bench, CASES, Case, Evidence, Rule, Sighting, Tally, Tap, Witness, inspect};
use sommelier_handoff::Budget;
use sommelier_runtime::Model;

/// The limits of the program.
pub(crate) fn budget() -> Budget {
    Budget::new(8).tool_calls(6).tokens(24_000).hops(5)
}

pub(crate) fn bench<M: Model>(model: M) -> Bench<M> {
    Bench::new(Witness::new(model, Tap::default()), budget()).unwrap()
}

pub(crate) fn case(name: &str) -> Case {
    CASES.into_iter().find(|case| case.name == name).unwrap()
}

/// What came of all cases: the evidence of each, the counts, and the handoffs.
pub(crate) fn all<M: Model>(bench: &Bench<M>) -> (Vec<Evidence>, Tally, Vec<Sighting>) {
    let mut tally = Tally::default();
    let evidence: Vec<Evidence> = CASES.into_iter().map(|case| bench.carry_out(case)).collect();
    evidence.iter().for_each(|evidence| inspect(bench.relay(), evidence, &mut tally));
    let sightings = evidence.iter().flat_map(Sighting::all).collect();
    (evidence, tally, sightings)
}

/// Where each rule was broken.
pub(crate) fn broken(tally: &Tally) -> Vec<String> {
    Rule::ALL.into_iter().flat_map(|rule| tally.of(rule).broken).collect()
}

/// The ends of all messages, in order.
pub(crate) fn ends(evidence: &[Evidence]) -> Vec<&str> {
    evidence.iter().flat_map(|evidence| &evidence.heard).map(|heard| heard.end.code()).collect()
}
