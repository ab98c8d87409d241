//! The decisions that models would make, each a function of what the agent has before it.

use serde_json::json;
use sommelier_handoff::HANDOFF_TO_SPECIALIST;
use sommelier_protocol::{ModelRequest, ModelResponse};
use sommelier_runtime::{ScriptedModel, script};

use crate::sweep::Point;
use crate::ways::{Closing, FRONT_DESK, SUPERVISOR, Variant, Way};
use crate::work::{Work, answer, whose};

/// The task of a package that brings the last finding back.
pub(crate) const REPORT: &str = "Answer the customer from what was found.";

/// The script of a point: as many turns for each agent as its place in the work has internal steps.
pub(crate) fn decisions(point: Point, variant: Variant, way: Way) -> ScriptedModel {
    let model = (0..=point.limits).fold(ScriptedModel::new(), |model, place| {
        specialist(model, place, point.turns_at(place), variant, way)
    });
    let (deciding, times) = match way {
        Way::Direct => (FRONT_DESK, 0),
        Way::Return => (SUPERVISOR, point.limits + usize::from(variant.closing == Closing::Supervisor)),
    };
    (0..times + usize::from(variant.entry_by_model)).fold(model, |model, _| model.turn(deciding, decide))
}

/// The turns of the specialist at one place of the work: it looks things up, then hands on or closes.
fn specialist(model: ScriptedModel, place: usize, turns: usize, variant: Variant, way: Way) -> ScriptedModel {
    let agent = Point::agent_at(place);
    let looking = 0..turns.saturating_sub(1);
    let last = looking.end.saturating_sub(1);
    looking
        .fold(model, |model, step| {
            model.turn(agent, move |request| look_up(request, agent, step, step == last))
        })
        .turn(agent, move |request| hand_on(request, variant, way))
}

/// One internal step: a tool call that differs from the one before. The last one is what the task asks for.
fn look_up(request: &ModelRequest<'_>, agent: &str, step: usize, is_last: bool) -> ModelResponse {
    let work = Work::read(script::last_words(request));
    let hours = step % 8 + 1;
    let (tool, arguments) = match (agent, is_last) {
        ("booking_agent", true) => ("get_quote", work.to_quote()),
        ("booking_agent", false) => {
            let room = ["Studio", "Forum", "Focus"][step % 3];
            ("get_quote", json!({ "room": room, "plan": "basic", "hours": hours }))
        }
        ("policy_agent", true) => ("search_docs", json!({ "query": "customer does not show up" })),
        ("policy_agent", false) => {
            let words = ["no-show", "charge", "fee", "released", "late", "cancelling", "refund"];
            ("search_docs", json!({ "query": words[step % words.len()] }))
        }
        (_, true) => ("compare_prices", json!({ "hours": work.hours() })),
        (_, false) => ("compare_prices", json!({ "hours": hours, "rooms": ["Studio"] })),
    };
    script::call(&id(request), tool, &arguments.to_string())
}

/// The end of a specialist's activation. What is open is beyond it: it goes straight to whose it is, or back.
fn hand_on(request: &ModelRequest<'_>, variant: Variant, way: Way) -> ModelResponse {
    let mut work = Work::read(script::last_words(request));
    work.find(&script::last_result(request));
    if work.open.is_empty() {
        if way == Way::Direct || variant.closing == Closing::Specialist {
            return script::say(answer(&work.findings));
        }
        work.task = REPORT.to_owned();
        return hand(request, SUPERVISOR, &work);
    }
    work.task = work.open.remove(0);
    hand(request, if way == Way::Direct { whose(&work.task) } else { SUPERVISOR }, &work)
}

/// A decision of one who does no work: who is next, or the answer when nothing is open.
fn decide(request: &ModelRequest<'_>) -> ModelResponse {
    let work = Work::read(script::last_words(request));
    if work.task == REPORT {
        script::say(answer(&work.findings))
    } else {
        hand(request, whose(&work.task), &work)
    }
}

fn hand(request: &ModelRequest<'_>, to: &str, work: &Work) -> ModelResponse {
    script::call(&id(request), HANDOFF_TO_SPECIALIST, &work.handed_to(to))
}

fn id(request: &ModelRequest<'_>) -> String {
    format!("tu_{}", request.replies + 1)
}
