//! Running the tools of one reply, each under its span and past the gate.

use serde::Serialize;
use sommelier_protocol::ToolUse;
use sommelier_runtime::tool::{ToolFailure, dispatch_one, in_parallel};
use sommelier_runtime::{Definition, ToolOutput};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tracing::{Span, dispatcher};

use crate::{Approval, Decision, Gate, spans};

/// Runs `calls` of `agent` at the same time on scoped threads, and gives their outputs in the order of the
/// calls. Each call has its span under the current one; a call of a tool that needs approval passes the
/// gate first.
///
/// `scope` names the reply that made the calls; it begins the idempotency keys.
pub fn dispatch_parallel<'a>(
    agent: &Definition,
    calls: impl IntoIterator<Item = (usize, &'a ToolUse)>,
    scope: &str,
    gate: &Gate,
) -> Vec<ToolOutput> {
    run_all(agent, calls, scope, gate, &Span::current())
}

/// Like [`dispatch_parallel`], under `parent`.
pub(crate) fn run_all<'a>(
    agent: &Definition,
    calls: impl IntoIterator<Item = (usize, &'a ToolUse)>,
    scope: &str,
    gate: &Gate,
    parent: &Span,
) -> Vec<ToolOutput> {
    let calls: Vec<(usize, &ToolUse)> = calls.into_iter().collect();
    // A subscriber that was set for this thread alone is carried to the threads of the tools.
    let dispatch = dispatcher::get_default(Clone::clone);
    in_parallel(&calls, |(place, call)| {
        dispatcher::with_default(&dispatch, || {
            let span = spans::tool(parent, agent.name(), call);
            let output = span.in_scope(|| match approve(agent, call, gate) {
                Ok(()) => dispatch_one(agent, *place, call, scope),
                Err(output) => output,
            });
            spans::record_output(&span, &output);
            output
        })
    })
}

/// Asks the gate where the tool needs approval. Arguments that do not fit the tool are refused before: nobody
/// is to approve what could not run.
fn approve(agent: &Definition, call: &ToolUse, gate: &Gate) -> Result<(), ToolOutput> {
    if !agent.table().needs_approval(call.name()) {
        return Ok(());
    }
    agent.table().check(agent.name(), call)?;
    let approval =
        Approval { agent: agent.name(), tool: call.name(), input: call.input(), call_id: call.id() };
    let decision = catch_unwind(AssertUnwindSafe(|| gate.decide(&approval)));
    // A gate that fails has approved nothing.
    match decision.unwrap_or_else(|_| Decision::Deny { reason: "the gate failed".to_owned() }) {
        Decision::Approve => Ok(()),
        Decision::Deny { reason } => Err(ToolOutput::failed(&Denied {
            error: "approval_denied",
            tool: call.name(),
            reason: &reason,
            effect: "none: the tool was not run",
        })),
    }
}

#[derive(Serialize)]
struct Denied<'a> {
    error: &'static str,
    tool: &'a str,
    reason: &'a str,
    effect: &'static str,
}

impl ToolFailure for Denied<'_> {
    fn code(&self) -> &str {
        self.error
    }
}
