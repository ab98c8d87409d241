//! One request and what came of it.

use std::borrow::Cow;
use std::sync::Arc;

use sommelier_handoff::law::INPUT_BYTES;
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

/// What a request has but for its messages. It is shared, and so is each of it: each request of a run has all of them.
pub(crate) type Settings = Arc<Vec<(String, Arc<Node>)>>;

/// A request in the form in which it is kept and compared: redacted, and without what is by chance.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Asked {
    pub(crate) settings: Settings,
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
            settings.push((name, Arc::new(value)));
        }
        in_order(&mut settings);
        asked.settings = Arc::new(settings);
        (asked, names)
    }

    pub(crate) fn setting(&self, name: &str) -> Option<&Node> {
        self.settings.iter().find(|(of, _)| of == name).map(|(_, value)| &**value)
    }

    pub(crate) fn whole(&self) -> Node {
        let messages = Node::List(self.messages.iter().map(|message| (**message).clone()).collect());
        let settings = self.settings.iter();
        let mut members: Vec<_> = settings.map(|(name, value)| (name.clone(), (**value).clone())).collect();
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
pub(crate) fn in_order(settings: &mut [(String, Arc<Node>)]) {
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
    without_places(&mut message);
    Arc::new(message)
}

/// Takes out of what a call has brought on itself where in the text of its arguments a fault stands, and how long the text was: the
/// reply is kept without white space, so the same arguments have another place for it when they are played.
pub(crate) fn without_places(message: &mut Node) {
    let Node::Object(members) = message else { return };
    let contents = members.iter_mut().filter(|(name, _)| name == "content");
    for block in contents.flat_map(|(_, content)| content.items_mut()) {
        if block.get("type").and_then(Node::as_text) == Some("tool_result")
            && block.get("is_error") == Some(&Node::Word("true"))
            && let Node::Object(members) = block
        {
            members.iter_mut().filter(|(name, _)| name == "content").for_each(|(_, told)| unplaced(told));
        }
    }
}

fn unplaced(told: &mut Node) {
    match told {
        Node::Text(text) => {
            if let Some(unplaced) = without_line_and_column(text) {
                *text = unplaced;
            }
        }
        Node::List(blocks) => {
            for block in blocks {
                let Node::Object(members) = block else { continue };
                members.iter_mut().filter(|(name, _)| name == "text").for_each(|(_, text)| unplaced(text));
            }
        }
        Node::Object(_) | Node::Number(_) | Node::Word(_) => {}
    }
}

/// `None` where there is nothing to take out.
fn without_line_and_column(text: &str) -> Option<String> {
    let number = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (mut out, mut rest, mut is_same) = (String::with_capacity(text.len()), text, true);
    while let Some(place) = rest.find(LINE) {
        let behind = &rest[place + LINE.len()..];
        let column = behind.get(number(behind)..).and_then(|after| after.strip_prefix(COLUMN));
        out.push_str(&rest[..place]);
        match column.filter(|after| number(behind) > 0 && number(after) > 0) {
            Some(after) => {
                is_same = false;
                rest = &after[number(after)..];
            }
            None => {
                out.push_str(LINE);
                rest = behind;
            }
        }
    }
    (!is_same).then(|| out + rest)
}

/// How a reader of JSON says where a fault stands.
const LINE: &str = " at line ";
const COLUMN: &str = " column ";

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
    let reply = &without_the_oversized(reply);
    let mut node =
        serde_json::to_string(&**reply).ok().and_then(|json| Node::of_json(&json)).unwrap_or(Node::NULL);
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

/// A reply with a note of its size in the place of each input that a run keeps no more of either. In a replay the note says what it
/// said in the run, which the text without its white space would not.
fn without_the_oversized(reply: &ModelResponse) -> Cow<'_, ModelResponse> {
    let is_oversized =
        |block: &ContentBlock| block.as_tool_use().is_some_and(|call| call.input().get().len() > INPUT_BYTES);
    if !reply.content.iter().any(is_oversized) {
        return Cow::Borrowed(reply);
    }
    let mut kept = reply.clone();
    for block in kept.content.iter_mut().filter(|block| is_oversized(block)) {
        if let ContentBlock::ToolUse(call) = block {
            call.withhold_input();
        }
    }
    Cow::Owned(kept)
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
