//! Running the tools of one reply, each under its span and past the gate.

use sommelier_handoff::Millis;
use sommelier_protocol::ToolUse;
use sommelier_runtime::tool::{Within, denied, dispatch_whole, idempotency_key, in_parallel};
use sommelier_runtime::{Definition, ToolOutput};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tracing::{Span, dispatcher};

use crate::secrets::{Secrets, Vault};
use crate::{Approval, Decision, Gate, spans};

/// Runs `calls` of `agent` at the same time on scoped threads, and gives their outputs in the order of the
/// calls. Each call has its span under the current one; a call of a tool that needs approval passes the
/// gate first. Nobody can be asked here: where the gate wants a person, the call is denied.
///
/// `scope` names the reply that made the calls; it begins the idempotency keys.
pub fn dispatch_parallel<'a>(
    agent: &Definition,
    calls: impl IntoIterator<Item = (usize, &'a ToolUse)>,
    scope: &str,
    gate: &Gate,
) -> Vec<ToolOutput> {
    // No run goes on from here, so nothing was hidden.
    let vault = Vault::new(Secrets::default(), None);
    let passes = |(place, call)| (place, call, pass(agent, (place, call), scope, gate, &vault));
    let calls: Vec<(usize, &ToolUse, Pass)> = calls.into_iter().map(passes).collect();
    run_all(agent, &calls, scope, None, &Span::current(), &vault)
}

/// What the gate has made of a call.
pub(crate) enum Pass {
    /// It runs, and needs no approval.
    Runs,
    /// It runs, approved by the gate or by a person, as the word says.
    Approved(&'static str),
    /// A person is to be asked.
    Asks,
    /// It does not run, and is answered with this.
    Denied(ToolOutput),
    /// It could not run, so nobody was asked: it is answered with this.
    Answered(ToolOutput),
}

impl Pass {
    /// Whether it was approved, in a word, where it needed to be.
    pub(crate) fn approval(&self) -> Option<&'static str> {
        match self {
            Self::Approved(by) => Some(by),
            Self::Asks | Self::Denied(_) => Some(spans::DENIED),
            Self::Runs | Self::Answered(_) => None,
        }
    }
}

/// Runs the calls that passed, under `parent`. They are told how many milliseconds they may take.
pub(crate) fn run_all(
    agent: &Definition,
    calls: &[(usize, &ToolUse, Pass)],
    scope: &str,
    time_left: Option<Millis>,
    parent: &Span,
    vault: &Vault<'_>,
) -> Vec<ToolOutput> {
    // A subscriber that was set for this thread alone is carried to the threads of the tools.
    let dispatch = dispatcher::get_default(Clone::clone);
    in_parallel(calls, |(place, call, pass)| {
        dispatcher::with_default(&dispatch, || {
            let span = spans::tool(parent, agent, call, vault);
            spans::record_approval(&span, pass.approval());
            let output = span.in_scope(|| match pass {
                Pass::Runs | Pass::Approved(_) => {
                    let within = Within { time_left, ..Within::default() };
                    run_revealed(agent, *place, call, scope, within, vault)
                }
                Pass::Asks => denied(call.name(), "a person would have to be asked, and nobody can be here"),
                Pass::Denied(output) | Pass::Answered(output) => output.clone(),
            });
            spans::record_output(&span, &output, vault);
            output
        })
    })
}

/// Runs one call with its secrets in their places, and gives the output without.
pub(crate) fn run_revealed(
    agent: &Definition,
    place: usize,
    call: &ToolUse,
    scope: &str,
    within: Within<'_>,
    vault: &Vault<'_>,
) -> ToolOutput {
    if agent.table().ignores_key_of(call) {
        spans::record_key_ignored(&Span::current());
    }
    let ran = vault.reveal(agent, call).map(|call| dispatch_whole(agent, place, &call, scope, within));
    vault.told(agent, call.name(), ran.unwrap_or_else(|gone| gone))
}

/// Whether a call could run, as its tool takes it.
///
/// # Errors
/// The output that it would give.
pub(crate) fn check(agent: &Definition, call: &ToolUse, vault: &Vault<'_>) -> Result<(), ToolOutput> {
    let checked = vault.reveal(agent, call).and_then(|call| agent.table().check(agent.name(), &call));
    checked.map_err(|output| vault.mask(agent, call.name(), output))
}

/// Asks the gate where the tool needs approval. Arguments that do not fit the tool are refused before: nobody
/// is to approve what could not run.
pub(crate) fn pass(
    agent: &Definition,
    (place, call): (usize, &ToolUse),
    scope: &str,
    gate: &Gate,
    vault: &Vault<'_>,
) -> Pass {
    if !agent.table().needs_approval(call.name()) {
        return Pass::Runs;
    }
    if let Err(output) = check(agent, call, vault) {
        return Pass::Answered(output);
    }
    let approval = Approval {
        agent: agent.name(),
        tool: call.name(),
        input: call.input(),
        call_id: call.id(),
        // The scope is the run's name, and the message and the model call in it.
        run: scope.rsplitn(3, '/').last().unwrap_or_default(),
        idempotency_key: &idempotency_key(scope, place),
    };
    let decision = catch_unwind(AssertUnwindSafe(|| gate.decide(&approval)));
    // A gate that fails has approved nothing.
    match decision.unwrap_or_else(|_| Decision::Deny { reason: "the gate failed".to_owned() }) {
        Decision::Approve => Pass::Approved(spans::APPROVED),
        Decision::Ask => Pass::Asks,
        Decision::Deny { reason } => Pass::Denied(denied(call.name(), &vault.words(&reason))),
    }
}
