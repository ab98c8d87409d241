//! One request and what came of it.

use std::sync::Arc;

use sommelier_protocol::{ContentBlock, ModelRequest, ModelResponse, StopReason, Usage};
use sommelier_runtime::ModelError;

use crate::Redactor;
use crate::names::Names;
use crate::node::Node;

/// The members of a request in their order, but for the messages. What else a request has comes behind them, by name.
pub(crate) const SETTINGS: [&str; 5] = ["model", "max_tokens", "system", "tools", "tool_choice"];

/// One request as the model saw it, and its reply or the reason why there was none.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    pub(crate) run: Box<str>,
    pub(crate) caller: Box<str>,
    pub(crate) turn: u32,
    pub(crate) asked: Asked,
    pub(crate) outcome: Result<Box<ModelResponse>, ModelError>,
}

impl Exchange {
    /// The run that asked: the number of its conversation in the cassette, from 1, and behind it the path of a branch, such as
    /// `1/1/3/0`: in conversation 1 the branch that was opened in message 1, by model call 3, for its call 0.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// The agent that asked.
    pub fn caller(&self) -> &str {
        &self.caller
    }

    /// Which reply of its conversation the agent asked for, from 1. One that it did not get it may have asked for again.
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// The whole request as compact JSON, redacted; in the form of the Messages API.
    pub fn request(&self) -> String {
        self.asked.whole().json()
    }

    /// What came of it.
    pub fn outcome(&self) -> Result<&ModelResponse, &ModelError> {
        self.outcome.as_deref()
    }
}

/// A request in the form in which it is kept and compared: redacted, and without what is by chance.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Asked {
    pub(crate) settings: Arc<Vec<(String, Node)>>,
    pub(crate) messages: Vec<Arc<Node>>,
}

impl Asked {
    /// The request, and the names in it for what came of it. `root` is the name of the conversation.
    pub(crate) fn of(request: &ModelRequest<'_>, root: &str, redactor: &Redactor) -> (Self, Names) {
        let json = serde_json::to_string(request).unwrap_or_default();
        let mut node = Node::of_json(&json).unwrap_or(Node::NULL);
        let names = Names::rename(root, &mut node);
        let Node::Object(members) = node else { return (Self::default(), names) };
        let mut asked = Self::default();
        let mut settings = Vec::new();
        for (mut name, mut value) in members {
            match (&*name, value) {
                ("messages", Node::List(messages)) => {
                    asked.messages = messages.into_iter().map(|message| kept(message, redactor)).collect();
                    continue;
                }
                // As the same request without the member.
                (_, Node::Word("null")) => continue,
                ("model" | "tool_choice", now) => {
                    value = now;
                    redactor.structure(&mut value);
                }
                ("max_tokens", now) => value = now,
                ("system" | "tools", now) => {
                    value = now;
                    redactor.node(&mut value);
                }
                (_, now) => {
                    value = now;
                    redactor.node(&mut value);
                    name = redactor.redact(&name);
                }
            }
            settings.push((name, value));
        }
        in_order(&mut settings);
        asked.settings = Arc::new(settings);
        (asked, names)
    }

    pub(crate) fn setting(&self, name: &str) -> Option<&Node> {
        self.settings.iter().find(|(of, _)| of == name).map(|(_, value)| value)
    }

    pub(crate) fn whole(&self) -> Node {
        let messages = Node::List(self.messages.iter().map(|message| (**message).clone()).collect());
        let mut members = (*self.settings).clone();
        members.push(("messages".to_owned(), messages));
        Node::Object(members)
    }

    /// Takes what is the same from the request before, so that it is there once.
    pub(crate) fn share(&mut self, before: &Self) {
        if self.settings == before.settings {
            self.settings = Arc::clone(&before.settings);
        }
        for (mine, theirs) in self.messages.iter_mut().zip(&before.messages) {
            if mine != theirs {
                break;
            }
            *mine = Arc::clone(theirs);
        }
    }
}

/// Puts settings in the one order that a cassette has.
pub(crate) fn in_order(settings: &mut [(String, Node)]) {
    let place = |name: &str| SETTINGS.iter().position(|known| *known == name).unwrap_or(SETTINGS.len());
    settings.sort_by(|(a, _), (b, _)| (place(a), a).cmp(&(place(b), b)));
}

fn kept(mut message: Node, redactor: &Redactor) -> Arc<Node> {
    if let Node::Object(members) = &mut message {
        for (name, value) in members {
            match &**name {
                "role" => redactor.structure(value),
                "content" => redactor.content(value),
                _ => redactor.node(value),
            }
            redactor.word(name);
        }
    }
    Arc::new(message)
}

/// What came of a request, in the form in which it is kept. `tools` are those that were on offer.
pub(crate) fn outcome_of(
    outcome: Result<&ModelResponse, &ModelError>,
    names: Names,
    tools: Option<&Node>,
    redactor: &Redactor,
) -> Result<Box<ModelResponse>, ModelError> {
    let reply = match outcome {
        Ok(reply) => reply,
        Err(error) => return Err(redactor.error(error)),
    };
    let mut node =
        serde_json::to_string(reply).ok().and_then(|json| Node::of_json(&json)).unwrap_or(Node::NULL);
    let Node::Object(members) = &mut node else { return Ok(Box::new(withheld(reply))) };
    in_form(members);
    let mut names = Some(names);
    for (name, value) in members.iter_mut() {
        match &**name {
            "content" => {
                redactor.calls(value, tools);
                names.take().into_iter().for_each(|names| names.rename_reply(value));
                redactor.content(value);
            }
            "type" | "role" | "model" | "stop_reason" | "usage" => redactor.structure(value),
            // It is by chance, and nothing goes by it.
            "id" => *value = Node::text(""),
            _ => redactor.node(value),
        }
        redactor.word(name);
    }
    Ok(Box::new(serde_json::from_str(&node.json()).unwrap_or_else(|_| withheld(reply))))
}

/// A recorded reply with the names that the run has which is answered.
pub(crate) fn restored(reply: &ModelResponse, names: &Names) -> ModelResponse {
    let node = serde_json::to_string(&reply.content).ok().and_then(|json| Node::of_json(&json));
    let content = node.and_then(|mut content| {
        names.restore(&mut content);
        serde_json::from_str(&content.json()).ok()
    });
    let mut restored = reply.clone();
    if let Some(content) = content {
        restored.content = content;
    }
    restored
}

/// The members of a reply in their order.
const REPLY: [&str; 8] = ["type", "id", "role", "model", "content", "stop_reason", "stop_sequence", "usage"];

/// Gives a reply's members their order, whoever wrote it, and those that each reply has where they are not there.
pub(crate) fn in_form(members: &mut Vec<(String, Node)>) {
    members.retain(|(_, value)| *value != Node::NULL);
    let usage = || serde_json::to_string(&Usage::default()).ok().and_then(|json| Node::of_json(&json));
    let each = [
        ("type", Some(Node::text("message"))),
        ("id", Some(Node::text(""))),
        ("role", Some(Node::text("assistant"))),
        ("usage", usage()),
    ];
    for (name, value) in each {
        if !members.iter().any(|(known, _)| known == name) {
            members.extend(value.map(|value| (name.to_owned(), value)));
        }
    }
    members.sort_by_key(|(name, _)| REPLY.iter().position(|known| known == name).unwrap_or(REPLY.len()));
}

/// A reply of which nothing is kept but that it was one, and what it counted: it could not be read without what was taken out.
fn withheld(reply: &ModelResponse) -> ModelResponse {
    let stopped = reply.stop_reason.clone().filter(|reason| !matches!(reason, StopReason::Other(_)));
    let mut kept = ModelResponse::new(
        "[withheld]",
        vec![ContentBlock::text("[withheld]")],
        stopped.unwrap_or_else(|| StopReason::Other("".into())),
    );
    let (read, written) = (reply.usage.input_tokens, reply.usage.output_tokens);
    (kept.usage.input_tokens, kept.usage.output_tokens) = (read, written);
    kept
}
