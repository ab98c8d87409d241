//! Running the calls of one reply.

use sommelier_protocol::ToolUse;
use std::thread;

use super::{CallContext, ToolOutput};
use crate::{Definition, derived_id};

/// Runs `calls` one after the other and gives their outputs in the order of the calls.
///
/// `scope` names the reply that made the calls, such as `conversation/call number`; with the place of a call
/// it makes the idempotency key.
pub fn dispatch<'a>(
    agent: &Definition,
    calls: impl IntoIterator<Item = (usize, &'a ToolUse)>,
    scope: &str,
) -> Vec<ToolOutput> {
    calls.into_iter().map(|(place, call)| dispatch_one(agent, place, call, scope)).collect()
}

/// Runs `calls` at the same time on scoped threads and gives their outputs in the order of the calls,
/// whichever ends first.
///
/// ```
/// use sommelier_protocol::ToolUse;
/// use sommelier_runtime::{tool, tool_args, Agent, Tool};
///
/// tool_args! {
///     /// Nothing is asked for.
///     pub struct Nothing {}
/// }
/// let fine = Tool::new("fine", "Works.", |_: Nothing, _: &tool::CallContext<'_>| Ok::<_, tool::Failure>(1));
/// let agent = Agent::new("clerk", "").tools([fine]).build()?;
/// let calls = [ToolUse::scripted("a", "fine", "{}"), ToolUse::scripted("b", "gone", "{}")];
/// let outputs = tool::dispatch_parallel(&agent, calls.iter().enumerate(), "demo/1");
/// assert_eq!(&*outputs[0].content, "1");
/// assert_eq!(outputs[1].error.as_deref(), Some("unknown_tool"));
/// # Ok::<(), sommelier_runtime::DefinitionError>(())
/// ```
pub fn dispatch_parallel<'a>(
    agent: &Definition,
    calls: impl IntoIterator<Item = (usize, &'a ToolUse)>,
    scope: &str,
) -> Vec<ToolOutput> {
    let calls: Vec<(usize, &ToolUse)> = calls.into_iter().collect();
    in_parallel(&calls, |(place, call)| dispatch_one(agent, *place, call, scope))
}

/// Runs the call at `place` of its reply.
pub fn dispatch_one(agent: &Definition, place: usize, call: &ToolUse, scope: &str) -> ToolOutput {
    let idempotency_key = derived_id(scope, &[u32::try_from(place).unwrap_or(u32::MAX)]);
    let context = CallContext { agent: agent.name(), call_id: call.id(), idempotency_key: &idempotency_key };
    agent.table().run(call, &context).at_most(agent.limits().result_bytes)
}

/// Does `work` on each of `items` at the same time, on scoped threads, and gives the outputs in the order
/// of the items. One item needs no thread. Where no thread can be had the work is done here. Work that
/// panics gives an error output, whichever thread it is on.
pub fn in_parallel<T: Sync>(items: &[T], work: impl Fn(&T) -> ToolOutput + Sync) -> Vec<ToolOutput> {
    // What the work shares is its own to guard after a panic, as on any other thread.
    let work = |item| {
        let run = std::panic::AssertUnwindSafe(|| work(item));
        std::panic::catch_unwind(run).unwrap_or_else(|_| super::output::panicked("dispatch"))
    };
    if let [item] = items {
        return vec![work(item)];
    }
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = items
            .iter()
            .map(|item| (item, thread::Builder::new().spawn_scoped(scope, move || work(item))))
            .collect();
        threads
            .into_iter()
            .map(|(item, started)| match started.map(thread::ScopedJoinHandle::join) {
                Ok(Ok(output)) => output,
                Ok(Err(_)) => super::output::panicked("dispatch"),
                Err(_) => work(item),
            })
            .collect()
    })
}
