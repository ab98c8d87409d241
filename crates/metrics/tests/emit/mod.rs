//! Emits by hand what a runner emits.
#![allow(dead_code, reason = "each test file uses its share")]

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use tracing::field::Empty;
use tracing::{Span, info_span};

/// A writer whose bytes the test keeps, one entry for each call of `write`.
#[derive(Clone, Default)]
pub(crate) struct Writes(Arc<Mutex<Vec<String>>>);

impl Writes {
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Write for Writes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().push(String::from_utf8(bytes.to_vec()).unwrap());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer whose other end is gone.
pub(crate) struct DeadWriter;

impl Write for DeadWriter {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::BrokenPipe.into())
    }
}

pub(crate) fn workflow() -> Span {
    info_span!(
        target: "sommelier",
        parent: None,
        "invoke_workflow",
        otel.name = "invoke_workflow",
        gen_ai.operation.name = "invoke_workflow",
        gen_ai.conversation.id = "c-17",
        begins = Empty,
        constraints_kept = Empty,
        constraints_broken = Empty,
        constraints_unchecked = Empty,
        constraints_unknown = Empty,
        end = Empty,
        error.type = Empty
    )
}

pub(crate) fn agent(workflow: &Span, name: &str) -> Span {
    info_span!(
        target: "sommelier",
        parent: workflow,
        "invoke_agent",
        otel.name = format!("invoke_agent {name}"),
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = name,
        gen_ai.conversation.id = "c-17"
    )
}

pub(crate) fn chat(agent: &Span, name: &str, tokens: (u64, u64), finish: &str) -> Span {
    let chat = info_span!(
        target: "sommelier",
        parent: agent,
        "chat",
        otel.name = "chat scripted",
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = "scripted",
        gen_ai.request.model = "scripted",
        gen_ai.agent.name = name,
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        decision = Empty,
        error.type = Empty
    );
    chat.record("gen_ai.response.finish_reasons", finish);
    chat.record("gen_ai.usage.input_tokens", tokens.0);
    chat.record("gen_ai.usage.output_tokens", tokens.1);
    chat.record("decision", "concept (claude-sonnet-5)");
    chat
}

pub(crate) fn tool(agent: &Span, name: &str) -> Span {
    info_span!(
        target: "sommelier",
        parent: agent,
        "execute_tool",
        otel.name = format!("execute_tool {name}"),
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = name,
        gen_ai.tool.type = "function",
        gen_ai.tool.call.id = "toolu_1",
        gen_ai.agent.name = "booking_agent",
        error.type = Empty
    )
}

pub(crate) fn handoff(agent: &Span, target: &str) -> Span {
    handoff_of("booking_agent", agent, target)
}

pub(crate) fn handoff_of(name: &str, agent: &Span, target: &str) -> Span {
    info_span!(
        target: "sommelier",
        parent: agent,
        "handoff",
        otel.name = format!("execute_tool handoff_to_specialist {target}"),
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = "handoff_to_specialist",
        gen_ai.tool.call.id = "toolu_2",
        gen_ai.agent.name = name,
        gen_ai.transfer.mode = "pass_control",
        gen_ai.transfer.target.name = target,
        hop = Empty,
        hop_of_message = Empty,
        package_bytes = Empty,
        history_bytes = Empty,
        outcome = Empty,
        refusal = Empty,
        error.type = Empty
    )
}

pub(crate) fn take(handoff: &Span, hop: u64) {
    handoff.record("hop", hop);
    handoff.record("package_bytes", 105_u64);
    handoff.record("history_bytes", 433_u64);
    handoff.record("outcome", "taken");
}

pub(crate) fn refuse(handoff: &Span, guard: &str) {
    handoff.record("package_bytes", 88_u64);
    handoff.record("history_bytes", 433_u64);
    handoff.record("outcome", "refused");
    handoff.record("refusal", guard);
    handoff.record("error.type", "handoff_refused");
}

/// The running case: two tools, one of which fails, a refused handoff, then one hop.
pub(crate) fn running_case() {
    let workflow = workflow();
    let sender = agent(&workflow, "booking_agent");
    chat(&sender, "booking_agent", (800, 40), "tool_use").in_scope(|| ());
    tool(&sender, "get_quote").in_scope(|| ());
    tool(&sender, "book").record("error.type", "slot_taken");
    chat(&sender, "booking_agent", (900, 50), "tool_use").in_scope(|| ());
    refuse(&handoff(&sender, "nobody"), "known");
    chat(&sender, "booking_agent", (950, 60), "tool_use").in_scope(|| ());
    let hop = handoff(&sender, "policy_agent");
    take(&hop, 1);
    let receiver = agent(&workflow, "policy_agent");
    receiver.follows_from(&hop);
    drop(hop);
    drop(sender);
    chat(&receiver, "policy_agent", (300, 70), "end_turn").in_scope(|| ());
    drop(receiver);
    workflow.record("end", "answered");
}

/// A question of the agent `name`: `target` is who answers it, none when no branch is opened.
pub(crate) fn delegate(name: &str, asker: &Span, tool: &str, target: Option<&str>, child: &str) -> Span {
    info_span!(
        target: "sommelier",
        parent: asker,
        "delegate",
        otel.name = target.map_or(format!("execute_tool {tool}"), |target| format!("execute_tool {tool} {target}")),
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = tool,
        gen_ai.agent.name = name,
        gen_ai.transfer.mode = "return_to_caller",
        gen_ai.transfer.target.name = target,
        parent_run = child.rsplitn(4, '/').last(),
        child_run = child,
        package_bytes = 40_u64,
        status = Empty,
        steps_used = Empty,
        end = Empty,
        refusal = Empty,
        error.type = Empty
    )
}

pub(crate) fn returned(delegate: &Span, status: &str, steps: u64, end: &str) {
    delegate.record("status", status);
    delegate.record("steps_used", steps);
    delegate.record("end", end);
    if status != "done" {
        delegate.record("error.type", end);
    }
}

pub(crate) fn unasked(delegate: &Span, code: &str) {
    delegate.record("status", "refused");
    delegate.record("refusal", code);
    delegate.record("error.type", code);
}

/// A supervisor that asks two at the same time, of which one hands over and the other asks a third within; and two
/// questions that are refused. The branches' spans open and close in turn, as those of two threads do.
pub(crate) fn delegating_case(conversation: &str) {
    let run = |end: &str| format!("{conversation}{end}");
    let workflow = workflow();
    let supervisor = agent(&workflow, "supervisor");
    drop(chat(&supervisor, "supervisor", (4, 1), "tool_use"));
    unasked(&delegate("supervisor", &supervisor, "ask_legal", None, &run("/1/1/2")), "not_yet");
    let billing = delegate("supervisor", &supervisor, "ask_billing", Some("billing"), &run("/1/1/0"));
    let shipping = delegate("supervisor", &supervisor, "ask_shipping", Some("shipping"), &run("/1/1/1"));
    let (clerk, porter) = (agent(&billing, "billing"), agent(&shipping, "shipping"));
    drop(chat(&clerk, "billing", (9, 2), "tool_use"));
    drop(chat(&porter, "shipping", (3, 1), "tool_use"));
    let archive = delegate("billing", &clerk, "ask_archive", Some("archive"), &run("/1/1/0/1/1/0"));
    let hop = handoff_of("shipping", &porter, "customs");
    take(&hop, 1);
    let customs = agent(&shipping, "customs");
    customs.follows_from(&hop);
    drop((hop, porter));
    let archivist = agent(&archive, "archive");
    drop(tool(&archivist, "find"));
    drop(chat(&customs, "customs", (2, 1), "max_tokens"));
    drop(chat(&archivist, "archive", (7, 1), "end_turn"));
    drop(customs);
    returned(&shipping, "partial", 2, "truncated");
    drop((shipping, archivist));
    returned(&archive, "done", 1, "answered");
    drop(archive);
    drop(chat(&clerk, "billing", (4, 1), "end_turn"));
    drop(clerk);
    returned(&billing, "done", 3, "answered");
    drop(billing);
    drop(chat(&supervisor, "supervisor", (6, 1), "end_turn"));
    drop(supervisor);
    workflow.record("end", "answered");
}
