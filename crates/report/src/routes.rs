//! The ways that a definition has.

use sommelier_handoff::Relay;

use crate::story::{Matrix, Passes, Way};

/// The matrix of a relay, and of those that its delegates work in, as far as `is_wanted` says of their places.
pub(crate) fn all(relay: &Relay, is_wanted: impl Fn(&str) -> bool) -> Vec<Matrix> {
    let mut matrices = Vec::new();
    add(relay, String::new(), &is_wanted, &mut matrices);
    matrices
}

fn add(relay: &Relay, place: String, is_wanted: &impl Fn(&str) -> bool, matrices: &mut Vec<Matrix>) {
    let ways = relay.routes().map(|route| Way {
        from: route.from().to_owned(),
        to: route.to().to_owned(),
        passes: Passes::Turn,
        is_route: Some(true),
        notes: route.notes(),
        taken: 0,
        refused: 0,
    });
    let questions = relay.delegates().map(|(asker, tool)| Way {
        from: asker.to_string(),
        to: tool.to_string(),
        passes: Passes::Question,
        is_route: Some(true),
        notes: Vec::new(),
        taken: 0,
        refused: 0,
    });
    matrices.push(Matrix {
        place: place.clone(),
        agents: relay.agents().map(|agent| agent.name().to_string()).collect(),
        is_whole: true,
        ways: ways.chain(questions).collect(),
    });
    for (asker, tool) in relay.delegates() {
        let within = if place.is_empty() { tool.to_string() } else { format!("{place}/{tool}") };
        let inner = relay.delegate(asker.as_str(), tool.as_str());
        if let Some(inner) =
            inner.filter(|_| is_wanted(&within) && !matrices.iter().any(|it| it.place == within))
        {
            add(inner, within, is_wanted, matrices);
        }
    }
}
