//! An imitation of AutoGen's idea of a transfer: the active speaker changes, the conversation goes on as it is, and a
//! notice stands before the new speaker's turn.

use sommelier_protocol::{Asking, RawJson, ToolDefinition, ToolName, ToolResult, Words};
use sommelier_runtime::script;
use std::error::Error;

use crate::floor::{Spoken, speak};
use crate::job::{LEGAL, REQUEST, SUPPORT, call_id, decisions, legal, support};
use crate::way::{Ran, Way};

/// What the names of the tools begin with by which the speaker changes.
const TRANSFER: &str = "transfer_to_";

pub(crate) fn run(steps: u32) -> Result<Ran, Box<dyn Error>> {
    let transfer = format!("{TRANSFER}{LEGAL}");
    let definition = ToolDefinition::new(
        ToolName::new(&*transfer)?,
        "Lets legal speak.",
        RawJson::parse(r#"{"type":"object","properties":{}}"#)?,
    );
    let team = [support(steps).reserve(definition).build()?, legal().build()?];
    let ends_by = transfer.clone();
    let model = decisions(steps, move |request| script::call(&call_id(request), &ends_by, "{}"));
    Way::Speaker.measure(model, |model| {
        let mut speaker = SUPPORT.to_owned();
        let mut talk = Asking::open(REQUEST)?;
        let mut hops = 0;
        let mut given = String::new();
        loop {
            let agent =
                team.iter().find(|agent| agent.name().as_str() == speaker).ok_or("no such speaker")?;
            let (call, owing) = match speak(model, agent, talk, &transfer)? {
                Spoken::Said(answer) => return Ok((answer, hops, given)),
                Spoken::Called(call, owing) => (call, owing),
            };
            let next = call.name().trim_start_matches(TRANSFER).to_owned();
            let notice = Words::new(format!("{speaker} has given the floor to {next}."))?;
            talk = owing.answer_each(|call| ToolResult::text(call.id(), "transferred")).say(notice);
            given = serde_json::to_string(talk.messages())?;
            speaker = next;
            hops += 1;
        }
    })
}
