//! The floor: what a careful person writes by hand for just these conversations, with derived types, and with
//! nothing checked, guarded, counted or written down. It keeps its transcript, as any loop must.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::hint::black_box;

/// Whether requests are written and replies are read as JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    None,
    Json,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text { text: String },
    ToolUse { id: String, name: String, input: Value },
    ToolResult { tool_use_id: String, content: String },
}

#[derive(Serialize, Deserialize)]
struct Message {
    role: &'static str,
    content: Vec<Block>,
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'static str,
    max_tokens: u32,
    system: &'static str,
    tools: &'a Value,
    messages: &'a [Message],
}

#[derive(Clone, Serialize, Deserialize)]
struct Reply {
    id: String,
    role: String,
    model: String,
    content: Vec<Block>,
    stop_reason: String,
}

#[derive(Deserialize)]
struct Quote {
    room: String,
    plan: String,
    hours: i64,
}

#[derive(Deserialize)]
struct Search {
    query: String,
}

#[derive(Deserialize)]
struct Handoff {
    #[allow(dead_code, reason = "the floor hands over to the one other agent")]
    specialist: String,
    task: String,
    context: Value,
}

#[derive(Serialize)]
struct Package<'a> {
    task: &'a str,
    context: &'a Value,
}

/// One reply of the script: as the floor's type, or as the text that a service would send.
fn reply(blocks: &[Block], stop: &str, wire: Wire, request: &Request<'_>) -> Reply {
    let made = || Reply {
        id: "msg_1".into(),
        role: "assistant".into(),
        model: "claude-sonnet-5".into(),
        content: blocks.to_vec(),
        stop_reason: stop.into(),
    };
    if wire == Wire::None {
        black_box(request.messages.len());
        return made();
    }
    black_box(serde_json::to_vec(request).unwrap());
    serde_json::from_str(&super::ours::reply_text(blocks_text(blocks).as_str(), stop)).unwrap()
}

fn blocks_text(blocks: &[Block]) -> String {
    match &blocks[0] {
        Block::Text { text } => super::ours::text_block(text),
        Block::ToolUse { id, name, .. } => super::ours::call_block(id, name, super::ours::arguments(name)),
        Block::ToolResult { .. } => String::new(),
    }
}

fn call(id: &str, name: &str) -> Vec<Block> {
    vec![Block::ToolUse {
        id: id.into(),
        name: name.into(),
        input: serde_json::from_str(super::ours::arguments(name)).unwrap(),
    }]
}

fn run_tool(name: &str, input: &Value) -> String {
    match name {
        "get_quote" => {
            let quote = Quote::deserialize(input).unwrap();
            serde_json::to_string(&super::ours::quoted(&quote.room, &quote.plan, quote.hours)).unwrap()
        }
        _ => {
            let search = Search::deserialize(input).unwrap();
            serde_json::to_string(&super::ours::found(&search.query)).unwrap()
        }
    }
}

/// What a request tells of an agent besides its conversation: the same instructions and tools as ours.
pub(super) struct Desk {
    system: &'static str,
    tools: Value,
}

impl Desk {
    pub(super) fn new(system: &'static str, tools: &impl Serialize) -> Self {
        Self { system, tools: serde_json::to_value(tools).unwrap() }
    }
}

struct Agent<'a> {
    system: &'static str,
    tools: &'a Value,
    messages: Vec<Message>,
}

impl<'a> Agent<'a> {
    fn new(desk: &'a Desk, first: String) -> Self {
        let Desk { system, tools } = desk;
        Self {
            system,
            tools,
            messages: vec![Message { role: "user", content: vec![Block::Text { text: first }] }],
        }
    }

    fn ask(&mut self, blocks: &[Block], stop: &str, wire: Wire) -> Reply {
        let request = Request {
            model: "claude-sonnet-5",
            max_tokens: 1024,
            system: self.system,
            tools: self.tools,
            messages: &self.messages,
        };
        reply(blocks, stop, wire, &request)
    }

    /// Asks, runs the one tool of the reply, and keeps both.
    fn step(&mut self, blocks: &[Block], wire: Wire) {
        let reply = self.ask(blocks, "tool_use", wire);
        let mut results = Vec::new();
        for block in &reply.content {
            if let Block::ToolUse { id, name, input } = block {
                results.push(Block::ToolResult { tool_use_id: id.clone(), content: run_tool(name, input) });
            }
        }
        self.messages.push(Message { role: "assistant", content: reply.content });
        self.messages.push(Message { role: "user", content: results });
    }

    /// Asks, and makes of the handoff call of the reply the first words of the receiver.
    fn hand_over(&mut self, wire: Wire) -> String {
        let reply = self.ask(&call("tu_2", "handoff_to_specialist"), "tool_use", wire);
        let mut prompt = String::new();
        let mut results = Vec::new();
        for block in &reply.content {
            if let Block::ToolUse { id, input, .. } = block {
                let handoff = Handoff::deserialize(input).unwrap();
                let package = Package { task: &handoff.task, context: &handoff.context };
                prompt = format!("You have the turn.\n{}", serde_json::to_string(&package).unwrap());
                results.push(Block::ToolResult { tool_use_id: id.clone(), content: "handed over".into() });
            }
        }
        self.messages.push(Message { role: "assistant", content: reply.content });
        self.messages.push(Message { role: "user", content: results });
        prompt
    }
}

/// The running case; gives both transcripts.
pub(super) fn running_case(desks: &[Desk; 2], wire: Wire) -> (usize, usize) {
    let mut booking = Agent::new(&desks[0], super::ours::REQUEST.to_owned());
    booking.step(&call("tu_1", "get_quote"), wire);
    let prompt = booking.hand_over(wire);
    let mut policy = Agent::new(&desks[1], prompt);
    policy.step(&call("tu_1", "search_docs"), wire);
    let answer = policy.ask(&[Block::Text { text: super::ours::ANSWER.to_owned() }], "end_turn", wire);
    policy.messages.push(Message { role: "assistant", content: answer.content });
    black_box((booking.messages.len(), policy.messages.len()))
}

/// N tool steps, then a handoff, then an answer.
pub(super) fn steps(desks: &[Desk; 2], n: u32) -> usize {
    let mut booking = Agent::new(&desks[0], super::ours::REQUEST.to_owned());
    for step in 0..n {
        booking.step(&call(&format!("tu_{step}"), "get_quote"), Wire::None);
    }
    let prompt = booking.hand_over(Wire::None);
    let mut policy = Agent::new(&desks[1], prompt);
    let answer = policy.ask(&[Block::Text { text: super::ours::ANSWER.to_owned() }], "end_turn", Wire::None);
    policy.messages.push(Message { role: "assistant", content: answer.content });
    black_box(booking.messages.len() + policy.messages.len())
}
