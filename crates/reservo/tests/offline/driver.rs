//! Drives a run of the offline model, without a runner.

use std::sync::Arc;

use reservo::{Entry, OfflineRules, Reservo, entry, specialists};
use sommelier_handoff::{Done, Relay, Step};
use sommelier_protocol::ModelRequest;
use sommelier_runtime::tool::dispatch_one;
use sommelier_runtime::{Model, ToolOutput};

/// The relay of a house, entered where the text belongs.
pub(crate) fn relay(house: Reservo, text: &str) -> Relay {
    relay_at(house, entry(text))
}

pub(crate) fn relay_at(house: Reservo, at: Entry) -> Relay {
    specialists::relay(&Arc::new(house), at).build().unwrap()
}

/// Drives a text to its end; `between` is given every step and gives it back.
pub(crate) fn drive(relay: &Relay, text: &str, approve: bool, between: impl FnMut(Step) -> Step) -> Done {
    drive_with(relay, text, approve, |request| OfflineRules.complete(request).unwrap(), between)
}

pub(crate) fn drive_with(
    relay: &Relay,
    text: &str,
    approve: bool,
    model: impl Fn(ModelRequest<'_>) -> sommelier_protocol::ModelResponse,
    mut between: impl FnMut(Step) -> Step,
) -> Done {
    let mut step = relay.start("c-1", text).unwrap();
    loop {
        step = match between(step) {
            Step::CallModel(step) => {
                let reply = model(step.request(relay));
                step.resume(relay, Ok(reply), 0)
            }
            Step::CallTools(step) => {
                let agent = step.agent(relay).unwrap();
                let outputs = step
                    .calls()
                    .map(|(place, call)| {
                        if agent.table().needs_approval(call.name()) && !approve {
                            let denied = r#"{"error":"approval_denied","reason":"nobody is here"}"#;
                            return ToolOutput::error("approval_denied", denied);
                        }
                        dispatch_one(agent, place, call, &step.scope())
                    })
                    .collect();
                step.resume(relay, outputs, 0).unwrap()
            }
            Step::AskHuman(_) | Step::Delegate(_) => panic!("nobody is asked here"),
            Step::HandOff(step) => step.take(relay, 0),
            Step::Done(done) => return done,
        };
    }
}

/// The answer to a text at a house, with the end that it must have.
pub(crate) fn answer(house: Reservo, text: &str, approve: bool) -> String {
    let relay = relay(house, text);
    let done = drive(&relay, text, approve, |step| step);
    assert_eq!(done.end().as_str(), "answered", "{text}");
    done.answer().unwrap()
}

/// The handoffs taken.
pub(crate) fn hops(done: &Done) -> Vec<(String, String)> {
    done.run().trail().taken().map(|hop| (hop.from.to_string(), hop.to.to_string())).collect()
}
