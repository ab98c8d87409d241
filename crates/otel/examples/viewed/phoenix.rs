//! Phoenix, as it is asked.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::Agent;

use crate::Failed;

/// So few that there is more than one page.
const PAGE: &str = "25";

/// A Phoenix.
pub(crate) struct Phoenix {
    agent: Agent,
    url: String,
}

/// A span as Phoenix has it.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) trace: String,
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    pub(crate) name: String,
    /// What it is in Phoenix's own terms, such as `AGENT`.
    pub(crate) kind: String,
    pub(crate) start: String,
    pub(crate) end: String,
    /// `OK`, `ERROR` or `UNSET`.
    pub(crate) status: String,
    pub(crate) message: String,
    pub(crate) attributes: BTreeMap<String, Value>,
}

impl Phoenix {
    pub(crate) fn at(url: &str) -> Self {
        let config = Agent::config_builder().timeout_global(Some(Duration::from_secs(30)));
        Self { agent: config.build().new_agent(), url: url.trim_end_matches('/').to_owned() }
    }

    /// All spans of a project, once there are so many of them; what there is when patience is at its end.
    pub(crate) fn spans(
        &self,
        project: &str,
        wanted: usize,
        patience: Duration,
    ) -> Result<Vec<Span>, Failed> {
        let start = Instant::now();
        loop {
            // It does not know the project before it has written its first span.
            let found = self.pages(project);
            match found {
                Ok(spans) if spans.len() >= wanted => return Ok(spans),
                found if start.elapsed() > patience => return found,
                _ => thread::sleep(Duration::from_millis(500)),
            }
        }
    }

    fn pages(&self, project: &str) -> Result<Vec<Span>, Failed> {
        let mut spans = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let mut page =
                self.agent.get(format!("{}/v1/projects/{project}/spans", self.url)).query("limit", PAGE);
            if let Some(cursor) = &cursor {
                page = page.query("cursor", cursor);
            }
            let page: Value = serde_json::from_str(&page.call()?.body_mut().read_to_string()?)?;
            let all = page["data"].as_array().ok_or("Phoenix answers without `data`")?;
            spans.extend(all.iter().map(Span::read));
            match page["next_cursor"].as_str() {
                Some(next) if cursor.as_deref() != Some(next) => cursor = Some(next.to_owned()),
                _ => return Ok(spans),
            }
        }
    }
}

impl Span {
    fn read(span: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let attributes = span["attributes"].as_object().into_iter().flatten();
        Self {
            trace: text(&span["context"]["trace_id"]),
            id: text(&span["context"]["span_id"]),
            parent: span["parent_id"].as_str().map(str::to_owned),
            name: text(&span["name"]),
            kind: text(&span["span_kind"]),
            start: text(&span["start_time"]),
            end: text(&span["end_time"]),
            status: text(&span["status_code"]),
            message: text(&span["status_message"]),
            attributes: attributes.map(|(name, value)| (name.clone(), value.clone())).collect(),
        }
    }

    /// The attribute of this name, as text.
    pub(crate) fn told(&self, name: &str) -> Option<String> {
        Some(match self.attributes.get(name)? {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    }
}
