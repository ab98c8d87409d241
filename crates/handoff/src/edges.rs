//! Every route gone over once, as a test of a relay.

use sommelier_protocol::ModelResponse;
use sommelier_runtime::{AgentName, script};

use crate::{
    Answer, HANDOFF_TO_SPECIALIST, HandoffPackage, Hop, HopOutcome, Refusal, Relay, Route, Routes, Step,
};

/// A route that was gone over in a run of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The sender.
    pub from: AgentName,
    /// The receiver.
    pub to: AgentName,
    /// The record of the handoff; `None` when the run ended before there was one.
    pub hop: Option<Hop>,
}

impl Edge {
    /// Whether the receiver got the turn.
    pub fn is_taken(&self) -> bool {
        self.hop.as_ref().is_some_and(|hop| hop.outcome.is_taken())
    }

    /// Why the receiver did not get it.
    pub fn refusal(&self) -> Option<&Refusal> {
        match &self.hop.as_ref()?.outcome {
            HopOutcome::Refused { refusal } => Some(refusal),
            HopOutcome::Taken { .. } => None,
        }
    }
}

impl Routes<'_> {
    /// Goes over each route in a run of its own: the sender hands over what `package` makes for the route, every approval
    /// is given, the receiver answers. No model and no tool is asked. A test that compares the result with what the house
    /// wants has an eye on every route, and not on the happy path alone; [`PackagePolicy::sample`] makes packages where
    /// no guard of one's own wants more.
    ///
    /// ```
    /// use sommelier_handoff::{Agent, Field, HandoffPackage, Relay, Route};
    ///
    /// let relay = Relay::builder()
    ///     .agent(Agent::new("clerk", ""))
    ///     .agent(Agent::new("till", ""))
    ///     .entry("clerk")
    ///     .route_with(Route::new("clerk", "till").field(Field::integer("cents", "the sum")).needs_approval())
    ///     .build()?;
    /// assert!(relay.routes().go_over(|route| route.package_policy().sample()).iter().all(|edge| edge.is_taken()));
    ///
    /// let edges = relay.routes().go_over(|_| HandoffPackage::new("Take the money."));
    /// let refusal = edges[0].refusal().unwrap();
    /// assert_eq!(refusal.to_string(), "the package is not valid: `context.cents` is missing");
    /// # Ok::<(), sommelier_handoff::BuildErrors>(())
    /// ```
    ///
    /// [`PackagePolicy::sample`]: crate::PackagePolicy::sample
    pub fn go_over(&self, package: impl Fn(&Route) -> HandoffPackage) -> Vec<Edge> {
        let relay = self.relay();
        let edge = |route: &Route| {
            let from = relay.agent(route.from())?.name().clone();
            let to = relay.agent(route.to())?.name().clone();
            let hop = go_over(relay, &from, &to, &package(route));
            Some(Edge { from, to, hop })
        };
        relay.routes().filter_map(edge).collect()
    }
}

/// One run over one route. Every model call but the first is answered with words, so it ends.
fn go_over(relay: &Relay, from: &AgentName, to: &AgentName, package: &HandoffPackage) -> Option<Hop> {
    let mut step = relay.start_at(from.as_str(), "edge", "Go over this route.").ok()?;
    loop {
        step = match step {
            Step::CallModel(call) if call.run().model_calls() == 0 => {
                call.resume(relay, Ok(hands_over(to, package)), 0)
            }
            Step::CallModel(call) => call.resume(relay, Ok(script::say("Done.")), 0),
            Step::HandOff(handoff) => handoff.take(relay, 0),
            Step::AskHuman(asking) => {
                let id = asking.questions().first()?.id.clone();
                match Step::AskHuman(asking).answer(relay, &id, Answer::Approve, 0) {
                    Ok(step) => step,
                    // What a guard has passed on to a person cannot be approved.
                    Err((step, _)) => return first_hop(&step),
                }
            }
            step => return first_hop(&step),
        };
    }
}

fn first_hop(step: &Step) -> Option<Hop> {
    step.run().trail().hops().first().cloned()
}

fn hands_over(to: &AgentName, package: &HandoffPackage) -> ModelResponse {
    let json = package.to_json();
    let members = json.strip_prefix('{').unwrap_or_default();
    script::call("edge_1", HANDOFF_TO_SPECIALIST, &format!(r#"{{"specialist":"{to}",{members}"#))
}
