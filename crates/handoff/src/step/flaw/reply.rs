//! What the calls of a reply cannot have been answered with.

use sommelier_protocol::ToolUse;
use sommelier_runtime::turn::Reserved;
use sommelier_runtime::{AgentName, ToolOutput};

use crate::arbiter;
use crate::run::Awaiting;
use crate::step::{completing, human, reading};
use crate::{ASK_HUMAN, COMPLETE_HANDOFF, READ_ARTIFACT, Relay, Run};

/// A reply whose calls of reserved tools are answered.
pub(super) struct ReplyOf<'a> {
    /// Whose it is.
    agent: &'a AgentName,
    /// What the ids of its calls begin with.
    id: String,
    /// Whether its agent has the turn.
    is_newest: bool,
}

impl<'a> ReplyOf<'a> {
    /// The reply that is seen to.
    pub(super) fn newest(run: &'a Run) -> Self {
        Self { agent: &run.active, id: run.reply_id(), is_newest: true }
    }

    fn call_id(&self, place: usize) -> String {
        format!("{}/{place}", self.id)
    }

    /// Whether each call that was answered beforehand has the answer that is on record: a delegate's, or a person's. What one
    /// has read that waits may have got newer since.
    pub(super) fn is_settled(&self, relay: &Relay, run: &Run, inner: &Reserved) -> bool {
        let Some(agent) = relay.agent(self.agent.as_str()) else { return false };
        inner.settled(agent).all(|(place, call, output)| match call.name() {
            COMPLETE_HANDOFF => completing::settled(inner).as_ref() == Some(output),
            ASK_HUMAN => {
                let answer = run.decision(&self.call_id(place));
                human::settled(answer, call, agent.limits().input_bytes).as_ref() == Some(output)
            }
            READ_ARTIFACT => !self.is_newest || reading::is_settled(run, agent, call, output),
            _ => self.is_found(run, place, call, output),
        })
    }

    /// Whether this is what a delegate has found.
    fn is_found(&self, run: &Run, place: usize, call: &ToolUse, output: &ToolOutput) -> bool {
        let id = self.call_id(place);
        let link = run.links().iter().find(|link| *link.id == *id);
        link.is_some_and(|link| {
            link.tool.as_str() == call.name() && *link.call_id == *call.id() && *output == link.told()
        })
    }
}

/// Whether a call of a delegate waits for an answer.
pub(super) fn asks_delegates(relay: &Relay, run: &Run, inner: &Reserved) -> bool {
    let is_of_deputy = |name: &str| relay.delegate(run.active.as_str(), name).is_some();
    inner.calls().any(|(_, call)| is_of_deputy(call.name()))
}

impl Awaiting {
    /// What is wrong with an agent that waits: its reply is the one of its newest handoff, and the calls beside that were
    /// answered before it was taken.
    pub(super) fn flaw(&self, relay: &Relay, run: &Run) -> Option<&'static str> {
        const NO_CALL: &str = "a handoff that is to come back has no call";
        let agent = relay.agent(self.agent.as_str())?;
        let hop = run.trail.newest_from(&self.agent);
        let reply = hop.and_then(|hop| Some((hop, hop.id.rsplit_once('/')?.0)));
        let Some((hop, id)) = reply else { return Some(NO_CALL) };
        let reply = ReplyOf { agent: &self.agent, id: id.to_owned(), is_newest: false };
        let call = self.inner.calls().nth(self.place);
        let has_call = call.is_some_and(|(place, call)| {
            call.id() == &*hop.call_id
                && *reply.call_id(place) == *hop.id
                && arbiter::were_told(relay, run, hop, &self.inner, &self.outputs)
        });
        let flaw = self.inner.flaw(agent).or((!has_call).then_some(NO_CALL));
        flaw.or_else(|| {
            (!reply.is_settled(relay, run, &self.inner)).then_some("a plan does not fit its call")
        })
    }
}
