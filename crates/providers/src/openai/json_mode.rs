//! Tool calls for models that have none.

use serde_json::json;
use sommelier_protocol::openai::{ChatContent, ChatMessage, ChatRole, ChatTool, answer, to_chat};
use sommelier_protocol::{
    ContentBlock, ModelRequest, ModelResponse, RawJson, StopReason, ToolChoice, ToolUse,
};

use super::bounds::bounded;
use super::request::unwritable;
use crate::ProviderError;
use crate::members::{Members, OnTheWire as _};

/// Tool calls for models that have none: the server holds the model to a schema, under which its reply is one JSON object.
///
/// `{"tool": NAME, "input": {…}}` becomes a call, `{"text": "…"}` words. The tools stand in the instructions, calls of
/// the past as such objects, and results as words of the user. Any other reply is kept as the text that it is: an object
/// is read, never searched for.
///
/// A server that holds a model to a schema lets it fill a string or a list up to the reply's last token, so that the object
/// is never closed. So each has a bound here: its own where the tool's schema says one, else one of these. For the members of an
/// object there is no such bound that servers know, so it is [left open or closed](OpenObjects).
///
/// The members of the schema stand in the order in which they were written, the tool's name before its input: a server has
/// the model write them in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonMode {
    /// The most characters of an answer, told to the server as `maxLength`.
    pub text_chars: u32,
    /// The most characters of a text among the arguments of a call.
    pub argument_chars: u32,
    /// The most items of a list among them, told as `maxItems`.
    pub items: u32,
    /// What becomes of an object that may have members which its schema does not name.
    pub open_objects: OpenObjects,
}

/// What becomes of an object among the arguments that may have members which its schema does not name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OpenObjects {
    /// It is left as it is.
    #[default]
    Keep,
    /// It may have no members but those that are named. For very small models, which write members without an end.
    Close,
}

impl Default for JsonMode {
    /// 600 characters of an answer, 200 of an argument, 6 items; open objects are kept.
    fn default() -> Self {
        Self { text_chars: 600, argument_chars: 200, items: 6, open_objects: OpenObjects::Keep }
    }
}

impl JsonMode {
    /// The conversation as nothing but words: no tools, no calls, no results.
    pub(super) fn messages(self, request: &ModelRequest<'_>, tools: &[ChatTool]) -> Vec<ChatMessage> {
        let mut said: Vec<(ChatRole, String)> = Vec::new();
        for message in to_chat(request) {
            let (role, words) = match message.role {
                ChatRole::System => (ChatRole::System, message.words().into_owned()),
                ChatRole::User => (ChatRole::User, message.words().into_owned()),
                ChatRole::Tool => (ChatRole::User, format!("Result: {}", message.words())),
                ChatRole::Assistant => (ChatRole::Assistant, objects(&message)),
            };
            match said.last_mut() {
                // Many a template takes neither two neighbours of one role nor a result of its own.
                Some((last, before)) if *last == role => {
                    before.push('\n');
                    before.push_str(&words);
                }
                _ => said.push((role, words)),
            }
        }
        let with_rules = |(at, (role, words)): (usize, (ChatRole, String))| match role {
            ChatRole::System if at == 0 => ChatMessage::system(format!("{words}\n\n{}", rules(tools)).trim()),
            ChatRole::System => ChatMessage::system(words),
            ChatRole::Assistant => answer(words),
            ChatRole::User | ChatRole::Tool => ChatMessage::user(words),
        };
        said.into_iter().enumerate().map(with_rules).collect()
    }

    /// The schema of a reply: one alternative for each tool, and one for words where no call is forced.
    pub(super) fn response_format(
        self,
        tools: &[ChatTool],
        choice: Option<&ToolChoice>,
    ) -> Result<RawJson, ProviderError> {
        let calls = tools.iter().map(|tool| self.call_schema(tool));
        let mut alternatives = calls.collect::<serde_json::Result<Vec<_>>>().map_err(unwritable)?;
        if tools.is_empty() || !choice.is_some_and(crate::anthropic::is_forced) {
            let text = json!({"type": "string", "maxLength": self.text_chars});
            alternatives
                .push(RawJson::of(&text).and_then(|text| closed([("text", text)])).map_err(unwritable)?);
        }
        let of = |members| RawJson::of(&members);
        let schema = RawJson::of(&alternatives).and_then(|any| of(Members::of([("anyOf", any)])));
        let named = schema.and_then(|schema| {
            let (name, strict) = (RawJson::string("reply"), RawJson::of(&true)?);
            of(Members::of([("name", name), ("strict", strict), ("schema", schema)]))
        });
        named
            .and_then(|named| {
                of(Members::of([("type", RawJson::string("json_schema")), ("json_schema", named)]))
            })
            .map_err(unwritable)
    }

    /// The schema of the object that calls `tool`.
    fn call_schema(self, tool: &ChatTool) -> serde_json::Result<RawJson> {
        let name = RawJson::of(&json!({"const": tool.function.name.as_str()}))?;
        let input = match &tool.function.parameters {
            Some(parameters) => bounded(parameters, self),
            None => RawJson::of(&json!({"type": "object"}))?,
        };
        closed([("tool", name), ("input", input)])
    }

    /// The reply with the object that it is as a block.
    pub(super) fn read(self, mut reply: ModelResponse) -> ModelResponse {
        let words = reply.words();
        let Ok(object) = serde_json::from_str::<Members>(words.trim()) else { return reply };
        match block(&object, &reply.id) {
            Some(block @ ContentBlock::ToolUse(_)) => {
                reply.content = vec![block];
                if reply.stop_reason == Some(StopReason::EndTurn) {
                    reply.stop_reason = Some(StopReason::ToolUse);
                }
            }
            Some(block) => reply.content = vec![block],
            None => {}
        }
        reply
    }
}

/// The block that an object stands for; `None` for one of another form.
fn block(object: &Members, reply_id: &str) -> Option<ContentBlock> {
    match object.names().collect::<Vec<_>>()[..] {
        ["text"] => object.text("text").map(ContentBlock::text),
        ["tool", "input"] | ["input", "tool"] => {
            let input = object.get("input").map_or("{}", RawJson::get);
            // The id is made from that of the reply, so that two replies do not give the same one.
            let id: String =
                reply_id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(64).collect();
            Some(ToolUse::scripted(format!("call_{id}"), object.text("tool")?, input).into())
        }
        _ => None,
    }
}

/// What the model is told of its tools and of the form of a reply. The answer stands last: a very small model takes the first
/// form that it reads, and would never call.
fn rules(tools: &[ChatTool]) -> String {
    let mut rules = "Reply with one JSON object and nothing else.".to_owned();
    if !tools.is_empty() {
        rules.push_str("\nTo use a tool: {\"tool\": \"its name\", \"input\": {its arguments}}\nYour tools:");
    }
    for ChatTool { function, .. } in tools {
        let schema = function.parameters.as_ref().map_or("{}", RawJson::get);
        rules.push_str(&format!("\n- {}: ", function.name));
        rules.push_str(function.description.as_deref().unwrap_or_default().trim());
        rules.push_str(&format!(" Arguments: {schema}"));
    }
    rules.push_str("\nTo answer: {\"text\": \"your answer\"}");
    rules
}

/// The schema of an object of these members and no others, all required, in this order.
fn closed<const N: usize>(members: [(&str, RawJson); N]) -> serde_json::Result<RawJson> {
    let required = RawJson::of(members.each_ref().map(|(name, _)| *name).as_slice())?;
    RawJson::of(&Members::of([
        ("type", RawJson::string("object")),
        ("properties", RawJson::of(&Members::of(members))?),
        ("required", required),
        ("additionalProperties", RawJson::of(&false)?),
    ]))
}

/// What a model has said and called, as the objects that it would have written.
fn objects(message: &ChatMessage) -> String {
    let mut lines = Vec::new();
    let words = match &message.content {
        Some(ChatContent::Text(_) | ChatContent::Parts(_)) => message.words(),
        None => "".into(),
    };
    if !words.trim().is_empty() {
        lines.push(object([("text", RawJson::string(&words))]));
    }
    for call in message.tool_calls.iter().flatten() {
        let arguments = call.function.arguments.as_str();
        let input = RawJson::parse(arguments).unwrap_or_else(|_| RawJson::string(arguments));
        lines.push(object([("tool", RawJson::string(&call.function.name)), ("input", input)]));
    }
    lines.join("\n")
}

fn object<const N: usize>(members: [(&str, RawJson); N]) -> String {
    serde_json::to_string(&Members::of(members)).unwrap_or_default()
}
