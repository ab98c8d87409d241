//! One conversation in which several agents speak: what two of the imitations are made of.

use sommelier_protocol::transcript::{Asking, Called, Owing, Reply};
use sommelier_protocol::{ModelRequest, ToolUse};
use sommelier_runtime::{Definition, Model, tool};
use std::borrow::Cow;
use std::error::Error;

/// Replies that an agent may make before it has to end its part.
const MOST_REPLIES: u32 = 50;

/// How an agent's part ended.
pub(crate) enum Spoken {
    /// By this call, which is still open.
    Called(ToolUse, Owing),
    /// With an answer.
    Said(String),
}

/// Lets an agent speak, with its own prompt and tools, over the whole conversation: until it answers or calls `ends_by`.
pub(crate) fn speak(
    model: &dyn Model,
    agent: &Definition,
    mut talk: Asking,
    ends_by: &str,
) -> Result<Spoken, Box<dyn Error>> {
    for replies in 0..MOST_REPLIES {
        let request = ModelRequest {
            caller: Cow::Borrowed(agent.name().as_str()),
            replies,
            system: agent.system().map(Cow::Borrowed),
            tools: Cow::Borrowed(agent.definitions()),
            ..ModelRequest::new(agent.model(), agent.max_tokens(), talk.messages())
        };
        let response = model.complete(request)?;
        let owing = match talk.replied(response.content) {
            Reply::Said(resting) => return Ok(Spoken::Said(resting.last_words())),
            Reply::Called(Called { owing, .. }) => owing,
            Reply::Empty(_) => return Err(format!("{} said nothing", agent.name()).into()),
        };
        let end = owing.calls().find(|call| call.name() == ends_by).cloned();
        if let Some(end) = end {
            return Ok(Spoken::Called(end, owing));
        }
        let scope = format!("{}/{replies}", agent.name());
        talk = owing.answer_each(|call| tool::dispatch_one(agent, 0, call, &scope).into_result(call.id()));
    }
    Err(format!("{} did not come to an end in {MOST_REPLIES} replies", agent.name()).into())
}
