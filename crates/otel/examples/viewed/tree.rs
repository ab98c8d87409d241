//! A trace as lines.

use crate::phoenix::Span;

/// The spans of a trace, each below its parent, and beside each other in the order in which they began; in the end those
/// whose parent is not there.
pub(crate) fn drawn(spans: &[&Span]) -> String {
    let mut spans = spans.to_vec();
    // What begins in the same microsecond was begun by two threads.
    spans.sort_by_key(|span| (&span.start, &span.name));
    let mut text = String::new();
    for root in spans.iter().filter(|span| span.parent.is_none()) {
        draw(root, &spans, 0, &mut text);
    }
    let is_there = |id: &str| spans.iter().any(|span| span.id == id);
    for span in spans.iter().filter(|span| span.parent.as_deref().is_some_and(|parent| !is_there(parent))) {
        text.push_str(&format!("without a parent: {}\n", line(span)));
    }
    text
}

fn draw(span: &Span, all: &[&Span], depth: usize, text: &mut String) {
    text.push_str(&format!("{}{}\n", "  ".repeat(depth), line(span)));
    for child in all.iter().filter(|child| child.parent.as_deref() == Some(&span.id)) {
        draw(child, all, depth + 1, text);
    }
}

/// The name, the kind, and what a reader wants to know of such a span.
fn line(span: &Span) -> String {
    let told = |name: &str| span.told(name);
    let mut more = Vec::new();
    let mut add = |text: Option<String>| more.extend(text);
    add(told("graph.node.parent_id").map(|agent| format!("after {agent}")));
    add(tokens(span));
    add(crossing(span));
    add(told("hop").map(|hop| format!("hop {hop}")));
    add(told("steps_used").map(|steps| format!("{steps} steps")));
    for word in ["outcome", "status", "approval", "end"] {
        add(told(word));
    }
    match &*span.status {
        "UNSET" => {}
        status => add(Some(format!("{status} {}", span.message))),
    }
    format!("{} [{}] {}", span.name, span.kind, more.join(" · ")).trim_end().to_owned()
}

/// What a call of a model read and wrote, in Phoenix's terms: by these it counts what a trace costs.
fn tokens(span: &Span) -> Option<String> {
    let count = |name: &str| span.told(&format!("llm.token_count.{name}"));
    let (read, written) = (count("prompt")?, count("completion")?);
    let mut text = format!("{read} in, {written} out");
    if let (Some(cached), Some(kept)) =
        (count("prompt_details.cache_read"), count("prompt_details.cache_write"))
    {
        text.push_str(&format!("; cache {cached} read, {kept} written"));
    }
    Some(text)
}

/// Who handed what to whom.
fn crossing(span: &Span) -> Option<String> {
    let told = |name: &str| span.told(name);
    let mode = told("gen_ai.transfer.mode")?;
    let (from, to) = (told("gen_ai.agent.name")?, told("gen_ai.transfer.target.name"));
    let to = to.unwrap_or_else(|| "nobody".to_owned());
    let mut text = format!("{mode} {from} → {to}, {} B crossed", told("package_bytes")?);
    if let Some(left) = told("history_bytes") {
        text.push_str(&format!(", {left} B left behind"));
    }
    Some(text)
}
