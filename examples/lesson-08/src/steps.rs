//! Who did what in a run, in short.

use examples_kit::excerpt;
use serde::Serialize;
use sommelier_handoff::{HandoffPackage, Link, Run};
use sommelier_protocol::{Message, RawJson, ToolUse};

/// As many characters are shown of a result that is long.
const MOST: usize = 90;

/// A call that an agent made of a tool, of a delegate, or to hand over; in the order of the agents.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Step {
    pub(crate) agent: String,
    pub(crate) calls: String,
    pub(crate) arguments: RawJson,
    /// The error's code, or the beginning of the result.
    pub(crate) result: String,
}

/// A question to a delegate.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Asked {
    pub(crate) by: String,
    pub(crate) tool: String,
    pub(crate) package: Option<HandoffPackage>,
    pub(crate) package_bytes: usize,
    /// What the delegate did for it, and what it answered.
    pub(crate) steps: Vec<Step>,
    pub(crate) finding: String,
    pub(crate) model_calls: u32,
}

impl Step {
    /// The calls of a run's agents, each agent's in order, and not what happened in branches.
    pub(crate) fn all(run: &Run) -> Vec<Self> {
        let senders = run.trail().taken().map(|hop| hop.from.as_str());
        let mut agents: Vec<&str> = Vec::new();
        for agent in senders.chain([run.active().as_str()]) {
            if !agents.contains(&agent) {
                agents.push(agent);
            }
        }
        agents.into_iter().flat_map(|agent| Self::of_agent(run, agent)).collect()
    }

    fn of_agent(run: &Run, agent: &str) -> Vec<Self> {
        let messages = run.idle(agent).map(|turn| turn.messages()).unwrap_or_default();
        let step = |call: &ToolUse| Self {
            agent: agent.to_owned(),
            calls: call.name().to_owned(),
            arguments: call.input().clone(),
            result: result(messages, call.id()),
        };
        messages.iter().flat_map(Message::tool_uses).map(step).collect()
    }

    /// In a line.
    pub(crate) fn told(&self) -> String {
        let Self { agent, calls, arguments, result } = self;
        format!("{agent:<14} {calls} {arguments} → {result}")
    }
}

impl Asked {
    pub(crate) fn of(link: &Link) -> Self {
        let result = link.result();
        Self {
            by: link.from.to_string(),
            tool: link.tool.to_string(),
            package: link.package.clone(),
            package_bytes: link.package_bytes,
            steps: link.run().map(|done| Step::all(done.run())).unwrap_or_default(),
            finding: result.and_then(|result| result.finding.as_deref()).unwrap_or_default().to_owned(),
            model_calls: result.map_or(0, |result| result.steps_used),
        }
    }
}

/// What a call brought: the code of an error, or the beginning of the result.
fn result(messages: &[Message], call_id: &str) -> String {
    let results = messages.iter().flat_map(Message::tool_results);
    let words = results.filter(|result| result.tool_use_id() == call_id).map(|result| result.words()).next();
    let words = words.unwrap_or_default();
    let error: serde_json::Value = serde_json::from_str(&words).unwrap_or_default();
    match error["error"].as_str() {
        Some(code) => code.to_owned(),
        None => excerpt(&words, MOST),
    }
}
