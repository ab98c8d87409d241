//! What the tools did, by name.

use std::collections::BTreeMap;

use crate::story::{Story, What, is_denied};

/// How a tool was used.
#[derive(Default)]
pub(crate) struct ToolUse {
    pub(crate) runs: u64,
    pub(crate) failed: u64,
    pub(crate) took_us: u64,
}

/// Each tool that ran.
pub(crate) fn tools(story: &Story) -> BTreeMap<&str, ToolUse> {
    let mut tools: BTreeMap<&str, ToolUse> = BTreeMap::new();
    for event in &story.events {
        if let What::Ran { tool, error, approval, .. } = &event.what
            && !approval.as_deref().is_some_and(is_denied)
        {
            let used = tools.entry(tool).or_default();
            used.runs += 1;
            used.failed += u64::from(error.is_some());
            used.took_us = used.took_us.saturating_add(event.took_us.unwrap_or_default());
        }
    }
    tools
}
