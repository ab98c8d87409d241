//! A cassette as a tree: each request says what is new in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use sommelier_protocol::{ModelResponse, Usage};
use sommelier_runtime::ModelError;

use crate::exchange::{Exchange, Settings};
use crate::node::Node;
use crate::{Cassette, CassetteError, MAX_MESSAGES, Source, VERSION};

/// A run and who asks in it.
type Lane = (Box<str>, Box<str>);

/// What a request is told against: the request before, of the caller and of its conversation.
#[derive(Default)]
pub(crate) struct Before {
    /// The last settings of each caller, of whichever run: they are its definition.
    settings: BTreeMap<Box<str>, Settings>,
    /// What each conversation of a caller has come to.
    talks: BTreeMap<Lane, Vec<Arc<Node>>>,
    /// Messages of all requests so far, and settings of those that have others than the request before.
    size: usize,
}

impl Before {
    /// The settings of the caller's request before.
    pub(crate) fn settings(&self, caller: &str) -> Settings {
        self.settings.get(caller).cloned().unwrap_or_default()
    }

    /// The messages that a conversation has come to: those of the request before, and the reply as a message.
    pub(crate) fn talk(&self, run: &str, caller: &str) -> &[Arc<Node>] {
        self.talks.get(&(run.into(), caller.into())).map_or(&[], Vec::as_slice)
    }

    /// Notes an exchange.
    ///
    /// # Errors
    /// [`CassetteError::TooLong`].
    pub(crate) fn note(&mut self, exchange: &Exchange) -> Result<(), CassetteError> {
        let (run, caller, asked) = (&exchange.run, &exchange.caller, &exchange.asked);
        let known = self.settings(caller);
        let is_known = Arc::ptr_eq(&known, &asked.settings) || known == asked.settings;
        let settings = if is_known { 0 } else { asked.settings.len() };
        self.size = self.size.saturating_add(asked.messages.len()).saturating_add(settings);
        if self.size > MAX_MESSAGES {
            return Err(CassetteError::TooLong);
        }
        self.settings.insert(caller.clone(), Arc::clone(&asked.settings));
        let mut talk = exchange.asked.messages.clone();
        talk.extend(exchange.outcome().ok().and_then(said).map(Arc::new));
        self.talks.insert((run.clone(), caller.clone()), talk);
        Ok(())
    }
}

/// The reply as the message that it becomes in the request after it.
fn said(reply: &ModelResponse) -> Option<Node> {
    let content = Node::of_json(&serde_json::to_string(&reply.content).ok()?)?;
    let members = [("role", Node::text("assistant")), ("content", content)];
    Some(Node::Object(members.map(|(name, value)| (name.to_owned(), value)).into()))
}

/// The whole file.
pub(crate) fn cassette(cassette: &Cassette) -> Result<Node, CassetteError> {
    let mut before = Before::default();
    let mut exchanges = Vec::new();
    for one in &cassette.exchanges {
        exchanges.push(exchange(one, &before));
        before.note(one)?;
    }
    Ok(object([
        ("cassette", Some(Node::number(VERSION))),
        ("recorded_from", Some(source(&cassette.source))),
        ("exchanges", Some(Node::List(exchanges))),
    ]))
}

fn source(source: &Source) -> Node {
    let text = |text: &Option<Box<str>>| text.as_deref().map(Node::text);
    object([
        ("provider", Some(Node::text(&*source.provider))),
        ("name", text(&source.name)),
        ("label", text(&source.label)),
    ])
}

fn exchange(exchange: &Exchange, before: &Before) -> Node {
    let talk = before.talk(&exchange.run, &exchange.caller);
    let messages = &exchange.asked.messages;
    let keeps = talk.iter().zip(messages).take_while(|(known, now)| known == now).count();
    let outcome = match &exchange.outcome {
        Ok(reply) => ("reply", reply_of(reply)),
        Err(error) => ("error", error_of(error)),
    };
    object([
        ("run", Some(Node::text(&*exchange.run))),
        ("caller", Some(Node::text(&*exchange.caller))),
        ("turn", Some(Node::number(exchange.turn))),
        ("keeps", (keeps < talk.len()).then(|| Node::number(keeps))),
        ("request", Some(request(exchange, &before.settings(&exchange.caller), keeps))),
        (outcome.0, Some(outcome.1)),
    ])
}

/// What is new in a request.
fn request(exchange: &Exchange, before: &Settings, keeps: usize) -> Node {
    let settings = &exchange.asked.settings;
    let mut members = Vec::new();
    if !Arc::ptr_eq(before, settings) {
        let by_name =
            |settings: &Settings| -> BTreeMap<String, Arc<Node>> { settings.iter().cloned().collect() };
        let (known, now) = (by_name(before), by_name(settings));
        let new = settings.iter().filter(|(name, value)| known.get(name) != Some(value));
        members.extend(new.map(|(name, value)| (name.clone(), (**value).clone())));
        let gone = before.iter().filter(|(name, _)| !now.contains_key(name));
        members.extend(gone.map(|(name, _)| (name.clone(), Node::NULL)));
    }
    let new: Vec<Node> =
        exchange.asked.messages.iter().skip(keeps).map(|message| (**message).clone()).collect();
    if !new.is_empty() {
        members.push(("messages".to_owned(), Node::List(new)));
    }
    Node::Object(members)
}

fn reply_of(reply: &ModelResponse) -> Node {
    let node = serde_json::to_string(reply).ok().and_then(|json| Node::of_json(&json));
    let Some(Node::Object(mut members)) = node else { return Node::NULL };
    // What every reply has.
    let used_nothing = reply.usage == Usage::default();
    members.retain(|(name, value)| match &**name {
        "usage" => !used_nothing,
        "id" => value.as_text() != Some(""),
        "type" => value.as_text() != Some("message"),
        "role" => value.as_text() != Some("assistant"),
        _ => *value != Node::NULL,
    });
    Node::Object(members)
}

fn error_of(error: &ModelError) -> Node {
    serde_json::to_string(error).ok().and_then(|json| Node::of_json(&json)).unwrap_or(Node::NULL)
}

fn object<const N: usize>(members: [(&str, Option<Node>); N]) -> Node {
    let there = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Node::Object(there.collect())
}
