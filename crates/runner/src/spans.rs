//! The spans and all their names.
//!
//! The names follow OpenTelemetry's conventions for generative AI, which are still in development: they
//! stand in this file and nowhere else, so that a change of them is a change here.

use crate::journal::Head;
use crate::secrets::Vault;
use crate::{RunError, contents};
use sommelier_handoff::{
    Asks, Branch, DelegateRefusal, DelegateStatus, Done, HandoffPackage, Hop, HopOutcome, Link, Relay, Run,
    RunEnd, Step,
};
use sommelier_protocol::{ModelRequest, ModelResponse, RawJson, StopReason, ToolName, ToolUse};
use sommelier_runtime::{AgentName, Definition, Model, ModelError, ToolOutput};
use tracing::field::Empty;
use tracing::{Span, info_span, record_all};

/// The target of every span of this crate.
pub const TARGET: &str = "sommelier";

/// What went wrong, of few distinct words, and that something did.
fn fail(span: &Span, kind: &str) {
    span.record("error.type", kind);
    span.record("otel.status_code", "ERROR");
}

/// The caller's names for the traces of a root.
#[derive(Clone, Copy, Default)]
pub(crate) struct Told<'a> {
    /// The one in which it is told.
    pub(crate) trace: Option<&'a str>,
    /// The one in which the turn began that is gone on with, by this process or by another.
    pub(crate) resumed: Option<&'a str>,
}

/// One message of the user and all that follows from it: the root of a trace. The first one of a conversation says so.
pub(crate) fn workflow(run: &Run, told: Told<'_>) -> Span {
    let entry = run.active();
    let begins = run.messages() == 1 && run.model_calls() == 0;
    info_span!(
        target: TARGET,
        parent: None,
        "invoke_workflow",
        otel.name = format_args!("invoke_workflow {entry}"),
        otel.kind = "internal",
        gen_ai.operation.name = "invoke_workflow",
        gen_ai.workflow.name = entry.as_str(),
        gen_ai.agent.name = entry.as_str(),
        gen_ai.conversation.id = run.conversation(),
        begins = begins.then_some(true),
        end = Empty,
        trace = told.trace,
        resumed_trace = told.resumed,
        gen_ai.input.messages = Empty,
        gen_ai.output.messages = Empty,
        question = Empty,
        answered = Empty,
        words_wait = Empty,
        waits_for = Empty,
        journal_seq = Empty,
        journal_hash = Empty,
        measure = Empty,
        constraints_kept = Empty,
        constraints_broken = Empty,
        constraints_unchecked = Empty,
        constraints_unknown = Empty,
        error.r#type = Empty,
        otel.status_code = Empty,
    )
}

/// The end of the run, on the root.
pub(crate) fn record_end(workflow: &Span, end: &RunEnd) {
    workflow.record("end", end.as_str());
    record_measure(workflow, end);
    if *end != RunEnd::Answered {
        fail(workflow, end.as_str());
    }
}

/// Where the run's records end: kept outside of the journal, it tells later whether a tail was cut off.
pub(crate) fn record_head(workflow: &Span, head: Option<Head>) {
    if let Some(head) = head {
        record_all!(workflow, journal_seq = head.seq, journal_hash = head.hash.to_string());
    }
}

/// A run that was stopped in the middle, since the driver could not go on.
pub(crate) fn record_stopped(workflow: &Span, error: &RunError) {
    if let RunError::Unkept(_) = error {
        fail(workflow, UNKEPT);
    }
}

/// A run that could not be written down.
const UNKEPT: &str = "unkept";

/// What was used up, when that ended a run or a branch.
fn record_measure(span: &Span, end: &RunEnd) {
    // The end `hop_limit` says itself what it was, and it may be the cap of the guards, which is no budget.
    if let RunEnd::BudgetSpent { measure, .. } = end {
        span.record("measure", measure.as_str());
    }
}

/// One activation of an agent. After a handoff it follows from the handoff's span, beside the sender's.
pub(crate) fn agent(parent: &Span, relay: &Relay, run: &Run, after: Option<&Span>) -> Span {
    let name = run.active();
    let span = info_span!(
        target: TARGET,
        parent: parent,
        "invoke_agent",
        otel.name = format_args!("invoke_agent {name}"),
        otel.kind = "internal",
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = name.as_str(),
        gen_ai.agent.description = relay.agent(name.as_str()).and_then(|agent| described(agent.purpose())),
        gen_ai.conversation.id = run.conversation(),
        error.r#type = Empty,
        otel.status_code = Empty,
    );
    if let Some(handoff) = after {
        span.follows_from(handoff);
    }
    span
}

/// What an activation came to in which the run has ended.
pub(crate) fn record_last_agent(agent: &Span, end: &RunEnd) {
    if *end != RunEnd::Answered {
        fail(agent, end.as_str());
    }
}

/// One call of a model. Whatever has a label decides in this process, and is no service that is called.
pub(crate) fn chat(agent: &Span, conversation: &str, request: &ModelRequest<'_>, model: &dyn Model) -> Span {
    let name = model.name().unwrap_or(&request.model);
    info_span!(
        target: TARGET,
        parent: agent,
        "chat",
        // A field is looked for by its name, from the first on: those that each call records later stand first.
        gen_ai.response.id = Empty,
        gen_ai.response.model = Empty,
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.cache_write.input_tokens = Empty,
        otel.name = format_args!("chat {name}"),
        otel.kind = if model.label().is_some() { "internal" } else { "client" },
        gen_ai.operation.name = "chat",
        gen_ai.conversation.id = conversation,
        gen_ai.provider.name = model.provider(),
        gen_ai.request.model = name,
        gen_ai.request.max_tokens = request.max_tokens,
        gen_ai.request.stream = model.remote().and_then(|remote| remote.is_streamed.then_some(true)),
        server.address = model.remote().map(|remote| remote.address),
        server.port = model.remote().map(|remote| remote.port),
        gen_ai.agent.name = &*request.caller,
        gen_ai.system_instructions = Empty,
        gen_ai.input.messages = Empty,
        gen_ai.output.messages = Empty,
        messages_left_out = Empty,
        decision = model.label(),
        error.r#type = Empty,
        otel.status_code = Empty,
    )
}

/// What a model is asked, in words. What does not fit is left out from the beginning, and is counted.
pub(crate) fn show_request(chat: &Span, request: &ModelRequest<'_>, vault: &Vault<'_>) {
    if let Some(system) = &request.system {
        chat.record("gen_ai.system_instructions", contents::instructions(system, vault));
    }
    let (messages, left_out) = contents::messages(&request.messages, vault);
    chat.record("gen_ai.input.messages", messages);
    if left_out > 0 {
        chat.record("messages_left_out", left_out as u64);
    }
}

/// What a model replied, in words.
pub(crate) fn show_reply(chat: &Span, reply: &ModelResponse, vault: &Vault<'_>) {
    chat.record("gen_ai.output.messages", contents::reply(reply, vault));
}

/// The first 64 bytes or so of an id, a name or a code that came from outside: enough to find it again, and
/// nothing that fills a trace.
fn clipped(text: &str) -> &str {
    first_of(text, 64)
}

/// The first 256 bytes or so of what an author says of an agent or a tool; a blank text says nothing.
fn described(text: &str) -> Option<&str> {
    let text = text.trim();
    (!text.is_empty()).then(|| first_of(text, 256))
}

/// So many of the first characters.
fn first_of(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

/// What came of a call of a model.
pub(crate) fn record_response(chat: &Span, response: &Result<ModelResponse, ModelError>) {
    match response {
        Ok(response) => {
            let finish = response.stop_reason.as_ref().map(|stop| match stop {
                StopReason::Other(_) => "_other",
                known => known.as_str(),
            });
            record_all!(
                chat,
                gen_ai.response.id = (!response.id.is_empty()).then(|| clipped(&response.id)),
                gen_ai.response.model = clipped(&response.model),
                gen_ai.response.finish_reasons = finish,
                gen_ai.usage.input_tokens = response.usage.total_input_tokens(),
                gen_ai.usage.output_tokens = response.usage.output_tokens,
                gen_ai.usage.cache_read.input_tokens = response.usage.cache_read_input_tokens,
                gen_ai.usage.cache_write.input_tokens = response.usage.cache_creation_input_tokens,
            );
        }
        Err(error) => {
            match error.status() {
                Some(status) => fail(chat, &status.to_string()),
                None => fail(chat, error.kind()),
            }
            let (read, written) = error.tokens();
            if (read, written) != (0, 0) {
                record_all!(chat, gen_ai.usage.input_tokens = read, gen_ai.usage.output_tokens = written);
            }
        }
    }
}

/// One run of a tool.
pub(crate) fn tool(parent: &Span, agent: &Definition, call: &ToolUse, vault: &Vault<'_>) -> Span {
    info_span!(
        target: TARGET,
        parent: parent,
        "execute_tool",
        otel.name = format_args!("execute_tool {}", call.name()),
        otel.kind = "internal",
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = call.name(),
        gen_ai.tool.r#type = "function",
        gen_ai.tool.call.id = clipped(call.id()),
        gen_ai.tool.description = agent.definition(call.name()).and_then(|tool| described(tool.description.as_deref()?)),
        gen_ai.agent.name = agent.name().as_str(),
        gen_ai.tool.call.arguments = vault.is_shown().then(|| contents::arguments(call, vault)),
        gen_ai.tool.call.result = Empty,
        approval = Empty,
        key_ignored = Empty,
        error.r#type = Empty,
        otel.status_code = Empty,
    )
}

/// A call that a person has kept from being done.
pub(crate) fn rejected_tool(
    parent: &Span,
    agent: &Definition,
    (call_id, tool, input): (&str, &ToolName, &RawJson),
    vault: &Vault<'_>,
) {
    let call = ToolUse::scripted(call_id, tool.as_str(), input.get());
    let span = self::tool(parent, agent, &call, vault);
    record_approval(&span, Some(DENIED_BY_PERSON));
    fail(&span, "approval_denied");
}

/// A model has written a key where the tool gets one of ours, and it was not used.
pub(crate) fn record_key_ignored(tool: &Span) {
    tool.record("key_ignored", true);
}

/// A call that the gate approved.
pub(crate) const APPROVED: &str = "approved";
/// A call that a person approved.
pub(crate) const APPROVED_BY_PERSON: &str = "approved_by_person";
/// A call that a person denied.
pub(crate) const DENIED_BY_PERSON: &str = "denied_by_person";
/// A call that the gate denied.
pub(crate) const DENIED: &str = "denied";

/// Whether a call was approved, where its tool needs that.
pub(crate) fn record_approval(tool: &Span, approval: Option<&'static str>) {
    if let Some(approval) = approval {
        tool.record("approval", approval);
    }
}

/// What came of a run of a tool.
pub(crate) fn record_output(tool: &Span, output: &ToolOutput, vault: &Vault<'_>) {
    if vault.is_shown() {
        tool.record("gen_ai.tool.call.result", contents::result(output, vault));
    }
    if let Some(code) = &output.error {
        fail(tool, clipped(code));
    }
}

/// One handoff that was asked for, taken or refused. A receiver that the relay does not know is a word that the
/// model wrote, and no such word is in a span.
pub(crate) fn handoff(sender: &Span, relay: &Relay, hop: &Hop, vault: &Vault<'_>) -> Span {
    let to = relay.agent(&hop.to).map_or("_other", |agent| agent.name().as_str());
    let package = hop.package.as_ref().filter(|_| vault.is_shown());
    let reference_bytes = hop.package.as_ref().map_or(0, HandoffPackage::bytes_by_reference) as u64;
    info_span!(
        target: TARGET,
        parent: sender,
        "handoff",
        otel.name = format_args!("execute_tool handoff_to_specialist {to}"),
        otel.kind = "internal",
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = sommelier_handoff::HANDOFF_TO_SPECIALIST,
        gen_ai.tool.r#type = "function",
        gen_ai.tool.call.id = clipped(&hop.call_id),
        gen_ai.agent.name = hop.from.as_str(),
        gen_ai.transfer.mode = "pass_control",
        gen_ai.transfer.target.name = to,
        gen_ai.tool.call.arguments = package.map(|package| contents::package(package, vault)),
        hop = Empty,
        hop_of_message = Empty,
        package_bytes = hop.package_bytes as u64,
        history_bytes = hop.history_bytes as u64,
        reference_bytes = (reference_bytes > 0).then_some(reference_bytes),
        outcome = Empty,
        refusal = Empty,
        error.r#type = Empty,
        otel.status_code = Empty,
    )
}

/// A handoff that was taken out of its relay: the receiver runs elsewhere, or not at all.
pub(crate) fn record_taken_out(handoff: &Span) {
    handoff.record("outcome", "taken_out");
}

/// A handoff that could not be written down, and was not taken.
pub(crate) fn record_hop_unwritten(handoff: &Span) {
    handoff.record("outcome", "failed");
    fail(handoff, "unwritten");
}

/// A handoff that was allowed, and that the run ended or changed before.
pub(crate) fn record_hop_not_taken(handoff: &Span) {
    handoff.record("outcome", "failed");
    fail(handoff, "not_taken");
}

/// A run that stands before a handoff that could not be written down, on the root.
pub(crate) fn record_unwritten(workflow: &Span) {
    workflow.record("end", "unwritten");
    fail(workflow, "unwritten");
}

/// The end of a run whose handoff was taken out, on the root.
pub(crate) fn record_handed_off(workflow: &Span) {
    workflow.record("end", "handed_off");
}

/// A run that waits for a person, on the root, and what for.
pub(crate) fn record_waiting(workflow: &Span, step: &Step) {
    let questions = step.questions().into_iter().map(|(_, question)| &question.asks);
    let told: Vec<String> = questions
        .map(|asks| match asks {
            Asks::Tool { tool, .. } | Asks::InDoubt { tool, .. } | Asks::Repeat { tool, .. } => {
                format!("{} {tool}", asks.as_str())
            }
            Asks::Handoff { to, .. } => format!("{} {to}", asks.as_str()),
            Asks::Words { .. } | Asks::Escalation { .. } => asks.as_str().to_owned(),
        })
        .collect();
    record_all!(workflow, end = "waiting", waits_for = told.join(", "));
}

/// One question to a delegate. It holds the spans of the branch, and links the run that asked to the run that answers.
pub(crate) fn delegate(asker: &Span, branch: &Branch, vault: &Vault<'_>) -> Span {
    let asked = Question {
        from: branch.from(),
        tool: branch.tool(),
        call_id: branch.call_id(),
        target: Some(branch.step().run().active()),
        child: branch.path(),
        package_bytes: branch.package().bytes(),
        package: vault.is_shown().then(|| contents::package(branch.package(), vault)),
    };
    asked.span(asker)
}

/// A question that opened no branch, and so has no target.
pub(crate) fn unasked(asker: &Span, link: &Link) -> Span {
    let asked = Question {
        from: &link.from,
        tool: &link.tool,
        call_id: &link.call_id,
        target: None,
        child: &link.id,
        package_bytes: link.package_bytes,
        package: None,
    };
    asked.span(asker)
}

struct Question<'a> {
    from: &'a AgentName,
    tool: &'a ToolName,
    call_id: &'a str,
    target: Option<&'a AgentName>,
    child: &'a str,
    package_bytes: usize,
    package: Option<String>,
}

impl Question<'_> {
    fn span(self, asker: &Span) -> Span {
        // The branch's id is the asker's conversation, and the message, model call and call in it: three numbers,
        // whatever the conversation is called. Like the conversation's name, which is the caller's own, it stands
        // here whole.
        let parent = self.child.rsplitn(4, '/').last().unwrap_or_default();
        info_span!(
            target: TARGET,
            parent: asker,
            "delegate",
            otel.name = self.target.map_or_else(
                || format!("execute_tool {}", self.tool),
                |target| format!("execute_tool {} {target}", self.tool)
            ),
            otel.kind = "internal",
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = self.tool.as_str(),
            gen_ai.tool.r#type = "function",
            gen_ai.tool.call.id = clipped(self.call_id),
            gen_ai.agent.name = self.from.as_str(),
            gen_ai.transfer.mode = "return_to_caller",
            gen_ai.transfer.target.name = self.target.map(AgentName::as_str),
            gen_ai.tool.call.arguments = self.package,
            parent_run = parent,
            child_run = self.child,
            package_bytes = self.package_bytes as u64,
            status = Empty,
            steps_used = Empty,
            end = Empty,
            measure = Empty,
            constraints_kept = Empty,
            constraints_broken = Empty,
            constraints_unchecked = Empty,
            constraints_unknown = Empty,
            refusal = Empty,
            error.r#type = Empty,
            otel.status_code = Empty,
        )
    }
}

/// What came of a branch.
pub(crate) fn record_branch(delegate: &Span, done: &Done) {
    let status = done.status();
    record_all!(
        delegate,
        status = status.as_str(),
        steps_used = u64::from(done.run().cost().model_calls),
        end = done.end().as_str(),
    );
    record_measure(delegate, done.end());
    if status != DelegateStatus::Done {
        // Under a contract a branch may answer that it is not done; how it ended is no error then.
        let error = if *done.end() == RunEnd::Answered { status.as_str() } else { done.end().as_str() };
        fail(delegate, error);
    }
}

/// Why a question opened no branch.
pub(crate) fn record_unasked(delegate: &Span, refusal: &DelegateRefusal) {
    record_all!(delegate, status = "refused", refusal = refusal.code());
    if let DelegateRefusal::BudgetSpent { measure, .. } = refusal {
        delegate.record("measure", measure.as_str());
    }
    fail(delegate, refusal.code());
}

/// What became of a handoff. It is the next after so many hops `since_user` last spoke, if it was taken.
pub(crate) fn record_hop(handoff: &Span, outcome: &HopOutcome, since_user: u32) {
    match outcome {
        HopOutcome::Taken { number } => {
            record_all!(
                handoff,
                outcome = "taken",
                hop = u64::from(*number),
                hop_of_message = u64::from(since_user) + 1,
            );
        }
        HopOutcome::Refused { refusal } => {
            record_all!(handoff, outcome = "refused", refusal = refusal.guard().as_str());
            fail(handoff, refusal.code());
        }
    }
}
