//! An imitation of LangGraph's idea of a command: a node returns where to go next and what to change in a state that all
//! nodes share.

use serde::{Serialize, Serializer};
use serde_json::Value;
use sommelier_protocol::{Asking, RawJson, ToolDefinition, ToolName, ToolResult};
use sommelier_runtime::{Definition, Model, script};
use std::collections::BTreeMap;
use std::error::Error;

use crate::floor::{Spoken, speak};
use crate::job::{LEGAL, REQUEST, SUPPORT, call_id, decisions, legal, rent_found, support};
use crate::way::{Ran, Way};

const ROUTE: &str = "route";

/// What the nodes share: each reads all of it.
#[derive(Clone, Debug, Serialize)]
struct State {
    active_agent: &'static str,
    handoff_log: Vec<[&'static str; 2]>,
    #[serde(serialize_with = "messages")]
    messages: Asking,
    artifacts: BTreeMap<&'static str, Value>,
}

/// Where to go next, `None` at the end, and what to change.
struct Command {
    goto: Option<&'static str>,
    update: Update,
}

/// A change of the state. What is `None` stays.
#[derive(Default)]
struct Update {
    messages: Option<Asking>,
    artifact: Option<(&'static str, Value)>,
}

impl State {
    fn apply(&mut self, Command { goto, update }: Command) -> Option<&'static str> {
        let Update { messages, artifact } = update;
        if let Some(messages) = messages {
            self.messages = messages;
        }
        self.artifacts.extend(artifact);
        let goto = goto?;
        if goto != self.active_agent {
            self.handoff_log.push([self.active_agent, goto]);
        }
        self.active_agent = goto;
        Some(goto)
    }
}

/// Which node a topic goes to.
fn node_for(topic: &str) -> &'static str {
    if topic == "legal" { LEGAL } else { SUPPORT }
}

/// A node: it lets its agent speak over the state's messages.
fn node(agent: &Definition, state: &State, model: &dyn Model) -> Result<Command, Box<dyn Error>> {
    Ok(match speak(model, agent, state.messages.clone(), ROUTE)? {
        Spoken::Called(call, owing) => {
            let input: Value = call.input().read()?;
            let goto = node_for(input["topic"].as_str().unwrap_or_default());
            let told = owing.answer_each(|call| ToolResult::text(call.id(), format!("goes to {goto}")));
            let artifact = Some(("monthly_rent", input["monthly_rent"].clone()));
            Command { goto: Some(goto), update: Update { messages: Some(told), artifact } }
        }
        Spoken::Said(answer) => {
            let artifact = Some(("answer", Value::String(answer)));
            Command { goto: None, update: Update { artifact, ..Update::default() } }
        }
    })
}

pub(crate) fn run(steps: u32) -> Result<Ran, Box<dyn Error>> {
    let schema = r#"{"type":"object","properties":{"topic":{"type":"string"},"monthly_rent":{"type":"integer"}},"required":["topic"]}"#;
    let route = ToolDefinition::new(
        ToolName::new(ROUTE)?,
        "Says what the rest is about, legal or other, and the rent if it is known.",
        RawJson::parse(schema)?,
    );
    let nodes = [support(steps).reserve(route).build()?, legal().build()?];
    let model = decisions(steps, |request| {
        let input = format!(r#"{{"topic":"legal","monthly_rent":{}}}"#, rent_found(request));
        script::call(&call_id(request), ROUTE, &input)
    });
    let mut state = State {
        active_agent: SUPPORT,
        handoff_log: Vec::new(),
        messages: Asking::open(REQUEST)?,
        artifacts: BTreeMap::new(),
    };
    Way::Command.measure(model, |model| {
        let mut next = Some(SUPPORT);
        let mut given = String::new();
        while let Some(name) = next {
            let agent = nodes.iter().find(|node| node.name().as_str() == name).ok_or("no such node")?;
            given = serde_json::to_string(&state)?;
            let command = node(agent, &state, model)?;
            next = state.apply(command);
        }
        let answer = state.artifacts.get("answer").and_then(Value::as_str).unwrap_or_default();
        Ok((answer.to_owned(), state.handoff_log.len(), given))
    })
}

fn messages<S: Serializer>(talk: &Asking, serializer: S) -> Result<S::Ok, S::Error> {
    talk.messages().serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S1-23: "legal" goes to the legal node, anything else to support.
    #[test]
    fn the_topic_says_where_to_go() {
        assert_eq!(["legal", "billing", ""].map(node_for), [LEGAL, SUPPORT, SUPPORT]);
    }
}
