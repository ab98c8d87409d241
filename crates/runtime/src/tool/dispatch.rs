//! Running the calls of one reply.

use sommelier_protocol::ToolUse;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::{CallContext, Found, ToolOutput};
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
    dispatch_within(agent, place, call, scope, Within::default())
}

/// What a driver knows of the circumstances in which a call is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Within<'a> {
    /// How many milliseconds it may take, when that is limited.
    pub time_left: Option<u64>,
    /// The transaction by which its result will be kept, when there is one.
    pub transaction: Option<&'a dyn Any>,
    /// The number of the lease under which the run is driven, when there is one.
    pub epoch: Option<u64>,
}

/// Runs the call at `place` of its reply, and tells its tool of the circumstances.
pub fn dispatch_within(
    agent: &Definition,
    place: usize,
    call: &ToolUse,
    scope: &str,
    within: Within<'_>,
) -> ToolOutput {
    dispatch_whole(agent, place, call, scope, within).at_most(agent.limits().result_bytes)
}

/// As [`dispatch_within`], with an output of any size: for a driver that has to look at all of it, as for what must not be
/// kept, before it is [bounded](ToolOutput::at_most).
pub fn dispatch_whole(
    agent: &Definition,
    place: usize,
    call: &ToolUse,
    scope: &str,
    within: Within<'_>,
) -> ToolOutput {
    let key = idempotency_key(scope, place);
    agent.table().run(call, &context(agent, call, &key, within))
}

/// Asks what became of the call at `place` of its reply, by the key under which [`dispatch_within`] makes it. `None` where
/// its tool has [nobody to ask](crate::Tool::queried).
pub fn query_within(
    agent: &Definition,
    place: usize,
    call: &ToolUse,
    scope: &str,
    within: Within<'_>,
) -> Option<Found> {
    Some(match query_whole(agent, place, call, scope, within)? {
        Found::Done(output) => Found::Done(output.at_most(agent.limits().result_bytes)),
        found => found,
    })
}

/// As [`query_within`], with an output of any size, as of [`dispatch_whole`].
pub fn query_whole(
    agent: &Definition,
    place: usize,
    call: &ToolUse,
    scope: &str,
    within: Within<'_>,
) -> Option<Found> {
    let key = idempotency_key(scope, place);
    agent.table().query(call.name(), &context(agent, call, &key, within))
}

fn context<'a>(
    agent: &'a Definition,
    call: &'a ToolUse,
    key: &'a str,
    within: Within<'a>,
) -> CallContext<'a> {
    let Within { time_left, transaction, epoch } = within;
    CallContext {
        agent: agent.name(),
        call_id: call.id(),
        idempotency_key: key,
        time_left,
        transaction,
        epoch,
    }
}

/// The key under which the effect of the call at `place` of its reply happens once, however often it is made.
pub fn idempotency_key(scope: &str, place: usize) -> String {
    derived_id(scope, &[u32::try_from(place).unwrap_or(u32::MAX)])
}

/// Does `work` on each of `items` at the same time, and gives the outputs in the order of the items. Work that panics
/// gives an error output.
pub fn in_parallel<T: Sync>(items: &[T], work: impl Fn(&T) -> ToolOutput + Sync) -> Vec<ToolOutput> {
    let outputs = at_once(items, MOST_AT_ONCE, work).into_iter();
    outputs.map(|output| output.unwrap_or_else(|| super::output::panicked("dispatch"))).collect()
}

/// Tools of one reply that run at the same time.
pub const MOST_AT_ONCE: usize = 32;

/// Does `work` on each of `items` at the same time, on scoped threads, `most` at once, and gives what came of each in the
/// order of the items, whichever ends first; `None` where the work panicked. One item needs no thread, and where no
/// thread can be had the work is done here.
pub fn at_once<T: Sync, R: Send>(items: &[T], most: usize, work: impl Fn(&T) -> R + Sync) -> Vec<Option<R>> {
    // What the work shares is its own to guard after a panic, as on any other thread.
    let work = |item| catch_unwind(AssertUnwindSafe(|| work(item))).ok();
    if let [item] = items {
        return vec![work(item)];
    }
    let next = AtomicUsize::new(0);
    // Each thread takes the next item that nobody has taken, until none is left.
    let take = || {
        let places = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
        let taken = places.map_while(|place| Some((place, items.get(place)?)));
        taken.map(|(place, item)| (place, work(item))).collect::<Vec<_>>()
    };
    let take = &take;
    let mut done: Vec<(usize, Option<R>)> = thread::scope(|scope| {
        let start = |_| thread::Builder::new().spawn_scoped(scope, take);
        let started: Vec<_> = (0..items.len().min(most.max(1))).map(start).collect();
        // Whatever the threads have left, should there be too few of them, is done here.
        let here = if started.iter().any(Result::is_err) { take() } else { Vec::new() };
        let there = started.into_iter().flatten().filter_map(|thread| thread.join().ok()).flatten();
        there.chain(here).collect()
    });
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, output)| output).collect()
}
