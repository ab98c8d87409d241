//! The ways that a definition has.

use std::collections::BTreeSet;

use sommelier_handoff::Relay;

use crate::places::Places;
use crate::story::{Matrix, Passes, Way};

/// The matrix of a relay, and of those that its delegates work in as far as any of them was asked, each with its place.
pub(crate) fn all(relay: &Relay, places: &Places) -> Vec<(usize, Matrix)> {
    let (mut matrices, mut told) = (Vec::new(), BTreeSet::new());
    add(relay, Places::OUTERMOST, places, &mut told, &mut matrices);
    matrices
}

fn add(
    relay: &Relay,
    place: usize,
    places: &Places,
    told: &mut BTreeSet<usize>,
    matrices: &mut Vec<(usize, Matrix)>,
) {
    let way = |from: &str, to: &str, passes, notes| Way {
        from: from.to_owned(),
        to: to.to_owned(),
        passes,
        is_route: Some(true),
        notes,
        taken: 0,
        refused: 0,
    };
    let turns = relay.routes().map(|route| way(route.from(), route.to(), Passes::Turn, route.notes()));
    let questions = relay
        .delegates()
        .map(|(asker, tool)| way(asker.as_str(), tool.as_str(), Passes::Question, Vec::new()));
    let matrix = Matrix {
        place: places.name(place),
        agents: relay.agents().map(|agent| agent.name().to_string()).collect(),
        is_whole: true,
        ways: turns.chain(questions).collect(),
    };
    matrices.push((place, matrix));
    for (asker, tool) in relay.delegates() {
        let Some(within) = places.find(place, tool.as_str()) else { continue };
        if let Some(inner) = relay.delegate(asker.as_str(), tool.as_str()).filter(|_| told.insert(within)) {
            add(inner, within, places, told, matrices);
        }
    }
}
