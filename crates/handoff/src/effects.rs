//! What stays done, however the work ended: runs of tools that need approval.

use sommelier_protocol::Message;
use sommelier_runtime::{AgentName, tool};

use crate::{Hop, Link, Relay, Run, work};

/// The tools that need approval and ran in a run or its branches: by the agents at rest, by those that wait for a handoff
/// to come back, in their order, and in branches.
pub(crate) fn effects(run: &Run, relay: &Relay) -> Vec<Box<str>> {
    let at_rest = run.at_rest().flat_map(|(agent, turn)| in_messages(relay, agent, turn.messages()));
    let mut effects: Vec<_> = at_rest.collect();
    for waits in &run.extra().awaiting {
        effects.extend(in_messages(relay, &waits.agent, waits.inner.messages()));
        // What ran in the reply with the open handoff has its results, and they are no message yet.
        let newest = waits.inner.answered();
        let newest = newest.map(|(call, output)| (call.name(), output.error.is_some(), &*output.content));
        effects.extend(gated(relay, &waits.agent, newest));
    }
    effects.extend(run.links().iter().filter_map(Link::result).flat_map(|result| result.effects.clone()));
    effects
}

/// The same of what was done by those that got the turn since `hop` was taken, without the one that waits for it to come
/// back, and what it has spent in model calls.
pub(crate) fn since(run: &Run, relay: &Relay, hop: &Hop) -> (u32, Vec<Box<str>>) {
    let reply = run.place_of(&hop.id).map_or(0, |(_, reply)| reply);
    // A question of the same reply was answered before the handoff was taken.
    let links = run.links().iter().filter(|link| run.place_of(&link.id).is_some_and(|(_, of)| of > reply));
    let links: Vec<&Link> = links.collect();
    let mut effects: Vec<_> =
        run.at_rest().flat_map(|(agent, turn)| in_work(run, relay, agent, turn.messages(), hop)).collect();
    effects.extend(links.iter().filter_map(|link| link.result()).flat_map(|result| result.effects.clone()));
    let asked = links.iter().filter_map(|link| link.run()).map(|done| done.run().cost().model_calls);
    (asked.fold(run.model_calls.saturating_sub(reply), u32::saturating_add), effects)
}

/// What an agent at rest did since it first got the turn by `first` or by a later hop.
fn in_work(run: &Run, relay: &Relay, agent: &AgentName, messages: &[Message], first: &Hop) -> Vec<Box<str>> {
    let mut since = run.trail.taken().skip_while(|hop| hop.id != first.id);
    let Some(hop) = since.find(|hop| *hop.to == *agent.as_str()) else { return Vec::new() };
    let is_alike =
        |other: &&Hop| (&other.from, &other.to, &other.package) == (&hop.from, &hop.to, &hop.package);
    let later = since.filter(is_alike).count();
    let contract = run.extra().owed.map(|owed| owed.contract);
    let begins = work::begins(messages, hop, contract, later);
    in_messages(relay, agent, messages.get(begins..).unwrap_or_default())
}

fn in_messages(relay: &Relay, agent: &AgentName, messages: &[Message]) -> Vec<Box<str>> {
    let results: Vec<_> = messages.iter().flat_map(Message::tool_results).collect();
    let ran = messages.iter().flat_map(Message::tool_uses).filter_map(|call| {
        let result = results.iter().find(|result| result.tool_use_id() == call.id())?;
        Some((call.name(), result.is_error(), result.words()))
    });
    gated(relay, agent, ran)
}

/// Of calls with their results, each with its tool, whether it failed and what it said, those that did something or may
/// have, and that need approval.
fn gated<'a, W: AsRef<str>>(
    relay: &Relay,
    agent: &AgentName,
    calls: impl Iterator<Item = (&'a str, bool, W)>,
) -> Vec<Box<str>> {
    let Some(agent) = relay.agent(agent.as_str()) else { return Vec::new() };
    let of = |(name, is_error, words): (&str, bool, W)| match is_error {
        _ if !agent.table().needs_approval(name) => None,
        false => Some(name.into()),
        true => tool::is_in_doubt(words.as_ref()).then(|| [name, " (not known)"].concat().into()),
    };
    calls.filter_map(of).collect()
}
