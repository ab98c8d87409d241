//! The prompt cache: what of a request was there before.

use std::collections::{BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value;

/// How many prefixes are remembered.
const MOST: usize = 10_000;

/// The prefixes of requests that had a breakpoint at their end, by their hashes.
///
/// The service hashes tools, then instructions, then messages. It keeps a prefix for five minutes or an hour and only
/// from about a thousand tokens on; this keeps each for as long as the server runs, so that a run is the same each time.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    prefixes: BTreeSet<u64>,
    order: VecDeque<u64>,
}

/// Bytes of a request by what the cache made of them. They add up to those of the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Behind the last breakpoint.
    pub(crate) fresh: usize,
    /// Up to the last breakpoint, and not there before.
    pub(crate) written: usize,
    /// Up to the last breakpoint at which the request was the same as an earlier one.
    pub(crate) read: usize,
}

impl Cache {
    /// Looks a request up and keeps its prefixes.
    pub(crate) fn take(&mut self, body: &Value) -> Counted {
        let mut hasher = DefaultHasher::new();
        let (mut bytes, mut last, mut read) = (0, 0, 0);
        let items = items(body);
        let count = items.len();
        for (at, (text, is_break)) in items.into_iter().enumerate() {
            text.hash(&mut hasher);
            bytes += text.len();
            // At the top level it stands for one at the end.
            if is_break || at + 1 == count && marks(body) {
                last = bytes;
                if !self.keep(hasher.finish()) {
                    read = bytes;
                }
            }
        }
        Counted { fresh: bytes - last, written: last - read, read }
    }

    /// Whether the prefix is new.
    fn keep(&mut self, prefix: u64) -> bool {
        let is_new = self.prefixes.insert(prefix);
        if is_new {
            self.order.push_back(prefix);
        }
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.prefixes.remove(&oldest);
        }
        is_new
    }
}

/// Tools, instructions and messages block by block, each with whether the prefix ends at it. A breakpoint is no part of
/// the text: where it is set at the next request is another place.
fn items(body: &Value) -> Vec<(String, bool)> {
    let mut items: Vec<(String, bool)> = list(body, "tools").iter().map(|tool| item("tool", tool)).collect();
    match body.get("system") {
        Some(Value::Array(blocks)) => items.extend(blocks.iter().map(|block| item("system", block))),
        Some(Value::String(text)) => items.push((format!("system{text}"), false)),
        _ => {}
    }
    for message in list(body, "messages") {
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        match message.get("content") {
            Some(Value::Array(blocks)) => items.extend(blocks.iter().map(|block| item(role, block))),
            Some(Value::String(text)) => items.push((format!("{role}{text}"), false)),
            _ => {}
        }
    }
    items
}

fn item(of: &str, value: &Value) -> (String, bool) {
    let mut bare = value.clone();
    if let Some(members) = bare.as_object_mut() {
        members.remove("cache_control");
    }
    (format!("{of}{bare}"), marks(value))
}

fn marks(value: &Value) -> bool {
    value.get("cache_control").is_some_and(|mark| !mark.is_null())
}

fn list<'a>(object: &'a Value, member: &str) -> &'a [Value] {
    object.get(member).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
