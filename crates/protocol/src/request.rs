//! What is sent to a model.

use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

use crate::wire::{Key, KeyOf};
use crate::{Message, RawJson, ToolChoice, ToolDefinition};

/// One request to a model. It borrows the conversation: nothing is copied for a call.
///
/// Serialised it is the body of a Messages API request. It carries no sampling parameters, since the newest
/// API version refuses them. Read, it keeps every member that it does not know in [`rest`](Self::rest), such as
/// parameters of sampling that somebody else sent; it is written with its own members in the order of the fields
/// and those after them. A member of its own that is `null` is the same as none, and one that stands twice is
/// refused.
///
/// ```
/// use sommelier_protocol::{Message, ModelRequest};
///
/// let messages = [Message::user("hello")];
/// let request = ModelRequest::new("claude-sonnet-5", 1024, &messages);
/// assert_eq!(
///     serde_json::to_string(&request)?,
///     r#"{"model":"claude-sonnet-5","max_tokens":1024,"messages":[{"role":"user","content":"hello"}]}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest<'a> {
    /// Who asks: a label for scripts, logs and spans. It never goes out on the wire.
    pub caller: Cow<'a, str>,
    /// Which run asks: a conversation's name, or the path of a branch of it. It tells two conversations of one caller apart,
    /// for whoever keeps requests; empty when nobody says. It never goes out on the wire.
    pub run: Cow<'a, str>,
    /// How many replies the caller's conversation has had, empty ones included: with the caller it names
    /// the turn that is asked for. It never goes out on the wire.
    pub replies: u32,
    /// How many milliseconds the reply may take from now on, when that is limited: whoever has a clock sets it just
    /// before it asks. It never goes out on the wire.
    pub time_left: Option<u64>,
    /// The model's name.
    pub model: Cow<'a, str>,
    /// The most tokens that the reply may have.
    pub max_tokens: u32,
    /// The instructions.
    pub system: Option<Cow<'a, System>>,
    /// The tools on offer.
    pub tools: Cow<'a, [ToolDefinition]>,
    /// Whether a tool must be called; the service decides when absent.
    pub tool_choice: Option<ToolChoice>,
    /// The conversation.
    pub messages: Cow<'a, [Message]>,
    /// Members that are not known here, as they came.
    pub rest: Vec<(Box<str>, RawJson)>,
}

/// The members of a request, in the order in which they are written.
const MEMBERS: &[&str] = &["model", "max_tokens", "system", "tools", "tool_choice", "messages"];

impl Serialize for ModelRequest<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", &self.model)?;
        map.serialize_entry("max_tokens", &self.max_tokens)?;
        if let Some(system) = &self.system {
            map.serialize_entry("system", system)?;
        }
        if !self.tools.is_empty() {
            map.serialize_entry("tools", &self.tools)?;
        }
        if let Some(choice) = &self.tool_choice {
            map.serialize_entry("tool_choice", choice)?;
        }
        map.serialize_entry("messages", &self.messages)?;
        // A name of ours has its own member.
        for (name, value) in self.rest.iter().filter(|(name, _)| !MEMBERS.contains(&&**name)) {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for ModelRequest<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = ModelRequest<'static>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a ModelRequest object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ModelRequest<'static>, A::Error> {
        let (mut model, mut max_tokens, mut messages) = (None::<String>, None, None::<Vec<Message>>);
        let (mut system, mut tools, mut tool_choice) =
            (None::<Option<System>>, None::<Option<Vec<ToolDefinition>>>, None::<Option<ToolChoice>>);
        let mut rest = Vec::new();
        while let Some(key) = map.next_key_seed(KeyOf(MEMBERS))? {
            let place = match key {
                Key::Extra(name) => {
                    rest.push((name, map.next_value()?));
                    continue;
                }
                Key::Known(place) => usize::from(place),
            };
            let is_new = match place {
                0 => model.replace(map.next_value()?).is_none(),
                1 => max_tokens.replace(map.next_value()?).is_none(),
                2 => system.replace(map.next_value()?).is_none(),
                3 => tools.replace(map.next_value()?).is_none(),
                4 => tool_choice.replace(map.next_value()?).is_none(),
                _ => messages.replace(map.next_value()?).is_none(),
            };
            if !is_new {
                return Err(A::Error::custom(format_args!("duplicate member `{}`", MEMBERS[place])));
            }
        }
        let missing = |name| move || A::Error::missing_field(name);
        Ok(ModelRequest {
            caller: Cow::Borrowed(""),
            run: Cow::Borrowed(""),
            replies: 0,
            time_left: None,
            model: Cow::Owned(model.ok_or_else(missing("model"))?),
            max_tokens: max_tokens.ok_or_else(missing("max_tokens"))?,
            system: system.flatten().map(Cow::Owned),
            tools: tools.flatten().map_or_else(no_tools, Cow::Owned),
            tool_choice: tool_choice.flatten(),
            messages: Cow::Owned(messages.ok_or_else(missing("messages"))?),
            rest,
        })
    }
}

fn no_tools<'a>() -> Cow<'a, [ToolDefinition]> {
    Cow::Borrowed(&[])
}

impl<'a> ModelRequest<'a> {
    /// A request without instructions and tools.
    pub fn new(model: &'a str, max_tokens: u32, messages: &'a [Message]) -> Self {
        Self {
            caller: Cow::Borrowed(""),
            run: Cow::Borrowed(""),
            replies: 0,
            time_left: None,
            model: Cow::Borrowed(model),
            max_tokens,
            system: None,
            tools: no_tools(),
            tool_choice: None,
            messages: Cow::Borrowed(messages),
            rest: Vec::new(),
        }
    }
}

/// The instructions: plain text, or a list of text blocks kept raw.
#[derive(Clone, Debug, PartialEq)]
pub enum System {
    /// Plain text.
    Text(Box<str>),
    /// A JSON array of text blocks.
    Blocks(RawJson),
}

impl Serialize for System {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Blocks(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for System {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        if raw.get().starts_with('[') {
            return Ok(Self::Blocks(raw));
        }
        raw.read().map(Self::Text).map_err(serde::de::Error::custom)
    }
}
