//! What stays done, however the work ended: runs of tools that need approval, and calls of which a person was asked whether
//! they had happened.

use sommelier_protocol::{Message, ToolUse};
use sommelier_runtime::{AgentName, tool};

use crate::step::is_unsaid;
use crate::{Asks, Hop, Link, Relay, Run, work};

/// The tools that need approval and ran, and those of which a person has said so or was asked, in a run or its branches: by the agents at rest, by those that wait for a handoff
/// to come back, in their order, and in branches.
pub(crate) fn effects(run: &Run, relay: &Relay) -> Vec<Box<str>> {
    let at_rest = run.at_rest().flat_map(|(agent, turn)| in_messages(run, relay, agent, turn.messages()));
    let mut effects: Vec<_> = at_rest.collect();
    for waits in &run.extra().awaiting {
        effects.extend(in_messages(run, relay, &waits.agent, waits.inner.messages()));
        // What ran in the reply with the open handoff has its results, and they are no message yet.
        let newest = waits.inner.answered();
        let newest = newest.map(|(call, output)| (call, output.error.is_some(), &*output.content));
        effects.extend(gated(run, relay, &waits.agent, newest));
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
    in_messages(run, relay, agent, messages.get(begins..).unwrap_or_default())
}

fn in_messages(run: &Run, relay: &Relay, agent: &AgentName, messages: &[Message]) -> Vec<Box<str>> {
    let results: Vec<_> = messages.iter().flat_map(Message::tool_results).collect();
    let ran = messages.iter().flat_map(Message::tool_uses).filter_map(|call| {
        let result = results.iter().find(|result| result.tool_use_id() == call.id())?;
        Some((call, result.is_error(), result.words()))
    });
    gated(run, relay, agent, ran)
}

/// Of calls with their results, each with whether it failed and what it said, those that did something or may have: of
/// tools that need approval, and of any that a person was asked about since they were in doubt.
fn gated<'a, W: AsRef<str>>(
    run: &Run,
    relay: &Relay,
    agent: &AgentName,
    calls: impl Iterator<Item = (&'a ToolUse, bool, W)>,
) -> Vec<Box<str>> {
    let Some(definition) = relay.agent(agent.as_str()) else { return Vec::new() };
    let of = |(call, is_error, words): (&ToolUse, bool, W)| {
        let (name, words) = (call.name(), words.as_ref());
        let is_gated = definition.table().needs_approval(name);
        match is_error {
            false => (is_gated || was_in_doubt(run, agent, call)).then(|| name.into()),
            true => {
                let is_open = is_gated && tool::is_in_doubt(words) || is_unsaid(words);
                is_open.then(|| [name, " (not known)"].concat().into())
            }
        }
    };
    calls.filter_map(of).collect()
}

/// Whether a person was asked whether this call had happened.
fn was_in_doubt(run: &Run, agent: &AgentName, call: &ToolUse) -> bool {
    run.decisions().iter().map(|decision| &decision.question).any(|question| match &question.asks {
        Asks::InDoubt { call_id, tool, .. } => {
            (&question.from, &**call_id, tool.as_str()) == (agent, call.id(), call.name())
        }
        _ => false,
    })
}
