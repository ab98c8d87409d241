//! What the server was asked.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;

use crate::Rule;

/// How many requests are kept; the counts go on.
const MOST: usize = 1_000;
/// Bytes of a body that is kept.
const LONGEST_BODY: usize = 1024 * 1024;

/// What the server was asked, and what it made of it. `GET /_log` gives it as JSON; to ask for it is no request.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Log {
    /// Requests so far.
    pub requests: u64,
    /// Those that broke a rule of the service.
    pub refused: u64,
    /// By the code of a rule: requests that broke it. One request may break several.
    pub broken: BTreeMap<&'static str, u64>,
    /// By the code of a rule: requests that broke it as this project has it, which the service lets pass.
    pub noted: BTreeMap<&'static str, u64>,
    /// By the name of a fault: how often it struck.
    pub faults: BTreeMap<&'static str, u64>,
    /// The last requests, oldest first.
    pub entries: VecDeque<Entry>,
}

/// One request. Headers are not kept, since a key is among them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Entry {
    /// Which request it was, from 1 on.
    pub number: u64,
    /// The method.
    pub method: String,
    /// The path, and the query if any.
    pub target: String,
    /// The status of the answer.
    pub status: u16,
    /// The model that was asked for.
    pub model: String,
    /// Whether a stream was asked for.
    pub stream: bool,
    /// The codes of the rules that it broke.
    pub broken: Vec<&'static str>,
    /// The codes of the rules that it broke and that the service lets pass.
    pub noted: Vec<&'static str>,
    /// What the service's error says.
    pub error: Option<String>,
    /// The faults that struck.
    pub faults: Vec<&'static str>,
    /// The body as it came; empty when it is longer than 1 MiB or no text.
    pub body: String,
}

impl Log {
    /// How many requests broke `rule`.
    pub fn broken(&self, rule: Rule) -> u64 {
        self.broken.get(rule.code()).copied().unwrap_or_default()
    }

    /// A new request's number.
    pub(crate) fn begin(&mut self) -> u64 {
        self.requests += 1;
        self.requests
    }

    pub(crate) fn end(&mut self, entry: Entry) {
        self.refused += u64::from(!entry.broken.is_empty());
        count(&mut self.broken, &entry.broken);
        count(&mut self.noted, &entry.noted);
        count(&mut self.faults, &entry.faults);
        self.entries.push_back(entry);
        if self.entries.len() > MOST {
            self.entries.pop_front();
        }
    }
}

impl Entry {
    pub(crate) fn keep_body(&mut self, body: &[u8]) {
        if body.len() <= LONGEST_BODY {
            self.body = String::from_utf8(body.to_vec()).unwrap_or_default();
        }
    }
}

fn count(counts: &mut BTreeMap<&'static str, u64>, names: &[&'static str]) {
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
}
