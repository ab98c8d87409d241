//! What the server says, as a file.

use serde::Deserialize;
use serde_json::Value;
use sommelier_protocol::{Message, Role};

use crate::UnreadableFile;
use crate::rules::Legal;

/// What the server says to legal requests, in order and on conditions.
///
/// Each request takes the first reply that is not used up and whose condition holds. Where there is a script and no
/// reply of it fits, the answer is a 500 that says so: an end that nobody wrote would make a test pass by chance.
///
/// ```
/// use sommelier_fake_server::Script;
///
/// let script = Script::read(r#"{"replies": [
///     {"tool_use": [{"name": "get_quote", "input": {"room": "Focus"}}]},
///     {"when": {"tool_result": true}, "text": "It is 60 euros."}
/// ]}"#)?;
/// assert_eq!(script.replies.len(), 2);
/// # Ok::<(), sommelier_fake_server::UnreadableFile>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The replies; none means that every request is answered with a short text.
    pub replies: Vec<Scripted>,
}

impl Script {
    /// Reads a script from JSON.
    ///
    /// # Errors
    /// When `text` is no script; the error names line and column.
    pub fn read(text: &str) -> Result<Self, UnreadableFile> {
        serde_json::from_str(text).map_err(|error| UnreadableFile::new("script", &error))
    }
}

/// One reply: thinking, then text, then calls, then whatever else.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scripted {
    /// To which requests; to every one when absent.
    pub when: When,
    /// It is not used up.
    pub repeat: bool,
    /// A thinking block; the server signs it.
    pub thinking: Option<String>,
    /// A text block.
    pub text: Option<String>,
    /// Calls, all of one reply.
    pub tool_use: Vec<ScriptedCall>,
    /// Blocks in the form of the wire, such as `redacted_thinking`, sent before everything else.
    pub blocks: Vec<Value>,
    /// Why the model stopped; when absent `tool_use` where there is a call and `end_turn` elsewhere.
    pub stop_reason: Option<String>,
    /// The stop sequence that came up.
    pub stop_sequence: Option<String>,
    /// The model declines, for this reason.
    pub refusal: Option<String>,
    /// The service's word for the kind of refusal, such as `cyber`.
    pub refusal_category: Option<String>,
    /// Members of `usage` that take the place of counted ones.
    pub usage: serde_json::Map<String, Value>,
}

/// A call of a scripted reply.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    /// The call's id; made by the server when absent.
    #[serde(default)]
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// The arguments; an empty object when absent.
    #[serde(default = "empty")]
    pub input: Value,
}

fn empty() -> Value {
    Value::Object(serde_json::Map::new())
}

/// A condition on a request: all of its members have to hold. Texts are compared without case.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct When {
    /// The user's last words hold this text.
    pub user_says: Option<String>,
    /// The instructions hold this text.
    pub system_says: Option<String>,
    /// Whether there are results of tools in the last message.
    pub tool_result: Option<bool>,
    /// A result of a tool in the last message holds this text.
    pub result_says: Option<String>,
    /// The model is this one.
    pub model: Option<String>,
    /// This tool is on offer.
    pub offers: Option<String>,
}

impl When {
    pub(crate) fn holds(&self, request: &Legal) -> bool {
        let last = request.messages.last();
        let results: Vec<String> =
            last.into_iter().flat_map(Message::tool_results).map(|result| result.words()).collect();
        let says = |wanted: &Option<String>, said: &str| {
            wanted.as_ref().is_none_or(|wanted| said.to_lowercase().contains(&wanted.to_lowercase()))
        };
        says(&self.user_says, &users_words(&request.messages))
            && says(&self.system_says, &request.body.get("system").map(Value::to_string).unwrap_or_default())
            && self.tool_result.is_none_or(|wanted| wanted != results.is_empty())
            && says(&self.result_says, &results.join("\n"))
            && self.model.as_ref().is_none_or(|model| model == request.text("model"))
            && self.offers.as_ref().is_none_or(|name| offers(request, name))
    }
}

/// The words of the last message of the user that has any.
fn users_words(messages: &[Message]) -> String {
    let said = messages.iter().rev().filter(|message| message.role == Role::User);
    said.map(|message| message.texts().collect::<Vec<_>>().join("\n"))
        .find(|words| !words.is_empty())
        .unwrap_or_default()
}

fn offers(request: &Legal, name: &str) -> bool {
    request.tools().iter().any(|tool| tool.get("name").and_then(Value::as_str) == Some(name))
}

/// A script, and which of its replies are used up.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    script: Script,
    used: Vec<bool>,
}

/// What a script says to a request.
#[derive(Debug)]
pub(crate) enum Next {
    Say(Box<Scripted>),
    /// There is no script.
    Improvise,
    /// There is a script, and nothing in it fits.
    BeLost,
}

impl Reading {
    pub(crate) fn new(script: Script) -> Self {
        Self { used: vec![false; script.replies.len()], script }
    }

    /// What is said next; it is not used up when it `is_lost` on its way.
    pub(crate) fn next(&mut self, request: &Legal, is_lost: bool) -> Next {
        if self.script.replies.is_empty() {
            return Next::Improvise;
        }
        for (reply, used) in self.script.replies.iter().zip(&mut self.used) {
            if !*used && reply.when.holds(request) {
                *used = !reply.repeat && !is_lost;
                return Next::Say(Box::new(reply.clone()));
            }
        }
        Next::BeLost
    }
}
