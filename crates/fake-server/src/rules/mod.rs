//! Whether the service would take a request.
//!
//! What is refused here comes from the service's documents and from reports of users; nothing was tried against the live
//! service. A rule stands in one place, so that one that proves wrong is mended there.
//!
//! The service tells the first thing that it finds. So does this: headers, then the JSON, then the shape of the whole
//! body, then what its members mean together.

mod head;
mod model;
mod sequence;
mod shape;
mod thinking;
mod tools;

use serde_json::Value;
use sommelier_http::Request;
use sommelier_protocol::Message;

use crate::breach::Breach;
use crate::memory::Memory;
use crate::{Rule, Settings};

pub(crate) use thinking::sign;

/// A request that the service would take.
#[derive(Debug)]
pub(crate) struct Legal {
    pub(crate) body: Value,
    pub(crate) messages: Vec<Message>,
    /// Its tokens are to be counted, and nothing else.
    pub(crate) is_count: bool,
    /// Rules that this project keeps and the service lets pass.
    pub(crate) noted: Vec<Rule>,
}

impl Legal {
    pub(crate) fn text(&self, member: &str) -> &str {
        self.body.get(member).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn is_streamed(&self) -> bool {
        self.body.get("stream").and_then(Value::as_bool).unwrap_or_default()
    }

    pub(crate) fn tools(&self) -> &[Value] {
        list(&self.body, "tools")
    }
}

/// A request that the service would refuse.
#[derive(Debug)]
pub(crate) struct Illegal {
    /// What the service would tell.
    pub(crate) first: Breach,
    /// Every rule that was seen to be broken, that of `first` included.
    pub(crate) broken: Vec<Rule>,
    pub(crate) noted: Vec<Rule>,
}

impl From<Breach> for Illegal {
    fn from(first: Breach) -> Self {
        Self { broken: vec![first.rule], first, noted: Vec::new() }
    }
}

pub(crate) fn judge(incoming: &Request, settings: &Settings, memory: &Memory) -> Result<Legal, Box<Illegal>> {
    let body = read(incoming, settings).map_err(|breach| Box::new(Illegal::from(breach)))?;
    let messages: Vec<Message> = body
        .get("messages")
        .map(Value::to_string)
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let sequence::Judged { mut broken, noted } = sequence::judge(&body, &messages);
    broken.extend(thinking::echoed(&messages, memory).err());
    let (allowed, refused) = if settings.strict {
        (Vec::new(), noted)
    } else {
        (noted.iter().map(|breach| breach.rule).collect(), Vec::new())
    };
    broken.extend(refused);
    let mut rules: Vec<Rule> = broken.iter().map(|breach| breach.rule).collect();
    rules.sort();
    rules.dedup();
    match broken.into_iter().next() {
        None => Ok(Legal { body, messages, is_count: head::is_count(incoming), noted: allowed }),
        Some(first) => Err(Box::new(Illegal { first, broken: rules, noted: allowed })),
    }
}

/// The body, when nothing but the order of its messages can be wrong.
fn read(incoming: &Request, settings: &Settings) -> Result<Value, Breach> {
    let version = head::check(incoming, settings)?;
    let mut body: Value = serde_json::from_slice(&incoming.body)
        .map_err(|error| Breach::at(Rule::Json, "The request body is not valid JSON", error.to_string()))?;
    if head::is_count(incoming) {
        shape::count(&mut body)?;
    }
    shape::check(&body, &version, incoming.header("anthropic-beta").is_some())?;
    model::check(&body, settings)?;
    thinking::check(&body)?;
    tools::check(&body)?;
    Ok(body)
}

fn list<'a>(object: &'a Value, member: &str) -> &'a [Value] {
    object.get(member).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn word<'a>(object: &'a Value, member: &str) -> &'a str {
    object.get(member).and_then(Value::as_str).unwrap_or_default()
}
