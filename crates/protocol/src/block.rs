//! The blocks a message is made of.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::wire::{always_there, json_string_len, wire_object, written_len};
use crate::{RawJson, ToolName, ToolUseId};

/// One block of a message's content.
///
/// Thinking blocks, images, server tools and whatever comes later are [`Other`](Self::Other): kept as text
/// and sent back byte for byte.
#[derive(Clone, Debug, PartialEq)]
pub enum ContentBlock {
    /// Words.
    Text(Text),
    /// A call that the model asks for.
    ToolUse(ToolUse),
    /// The answer to a call.
    ToolResult(ToolResult),
    /// Anything else, kept raw.
    Other(RawBlock),
}

impl ContentBlock {
    /// A block of plain words.
    pub fn text(text: impl Into<Box<str>>) -> Self {
        Self::Text(Text::new(text))
    }

    /// The words, if this is a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            _ => None,
        }
    }

    /// The call, if this is one.
    pub fn as_tool_use(&self) -> Option<&ToolUse> {
        match self {
            Self::ToolUse(call) => Some(call),
            _ => None,
        }
    }

    /// The result, if this is one.
    pub fn as_tool_result(&self) -> Option<&ToolResult> {
        match self {
            Self::ToolResult(result) => Some(result),
            _ => None,
        }
    }

    /// The block's `type` on the wire.
    pub fn kind(&self) -> &str {
        match self {
            Self::Text(_) => "text",
            Self::ToolUse(_) => "tool_use",
            Self::ToolResult(_) => "tool_result",
            Self::Other(block) => block.kind(),
        }
    }

    /// Bytes of the block as compact JSON.
    pub(crate) fn wire_len(&self) -> usize {
        match self {
            Self::Text(block) if block.layout.is_ours() => {
                r#"{"type":"text","text":}"#.len() + json_string_len(&block.text)
            }
            Self::ToolUse(block) if block.layout.is_ours() => {
                r#"{"type":"tool_use","id":,"name":,"input":}"#.len()
                    + json_string_len(&block.id)
                    + json_string_len(&block.name)
                    + block.input.0.get().len()
            }
            Self::ToolResult(block) if block.layout.is_ours() => {
                let content = match &block.content {
                    None => 0,
                    Some(ResultContent::Text(text)) => r#","content":"#.len() + json_string_len(text),
                    Some(ResultContent::Blocks(raw)) => r#","content":"#.len() + raw.get().len(),
                };
                let is_error = match block.is_error {
                    None => 0,
                    Some(true) => r#","is_error":true"#.len(),
                    Some(false) => r#","is_error":false"#.len(),
                };
                r#"{"type":"tool_result","tool_use_id":}"#.len()
                    + json_string_len(&block.tool_use_id)
                    + content
                    + is_error
            }
            Self::Other(block) => block.raw.get().len(),
            block => written_len(block),
        }
    }
}

impl From<ToolUse> for ContentBlock {
    fn from(call: ToolUse) -> Self {
        Self::ToolUse(call)
    }
}

impl From<ToolResult> for ContentBlock {
    fn from(result: ToolResult) -> Self {
        Self::ToolResult(result)
    }
}

impl Serialize for ContentBlock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(block) => block.serialize(serializer),
            Self::ToolUse(block) => block.serialize(serializer),
            Self::ToolResult(block) => block.serialize(serializer),
            Self::Other(block) => block.raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ContentBlock {
    /// Looks at `type` first, then reads the exact block. A derived, internally tagged enum would lose the
    /// raw text of tool inputs.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Tag {
            r#type: Box<str>,
        }

        fn block<T: for<'a> Deserialize<'a>, E: serde::de::Error>(raw: &RawJson) -> Result<T, E> {
            serde_json::from_str(raw.get()).map_err(|error| E::custom(without_place(&error)))
        }

        let raw = RawJson::deserialize(deserializer)?;
        let Tag { r#type: kind } = block(&raw)?;
        match &*kind {
            "text" => block(&raw).map(Self::Text),
            "tool_use" => block(&raw).map(Self::ToolUse),
            "tool_result" => block(&raw).map(Self::ToolResult),
            _ => Ok(Self::Other(RawBlock { kind, raw })),
        }
    }
}

/// The error without the line and column of a nested reader, which the outer one will add.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(place) => text[..place].to_owned(),
        None => text,
    }
}

wire_object! {
    /// A block of words.
    pub struct Text tagged "text" {
        /// The words; the service refuses a block of nothing but white space.
        pub(crate) text: Box<str> = "text",
    }
}

impl Text {
    /// A block of plain words.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self { text: text.into(), layout: Default::default() }
    }

    /// The words.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

wire_object! {
    /// A call that the model asks for.
    ///
    /// What a model writes is data: the id and the name may break the rules of [`ToolUseId`] and [`ToolName`],
    /// and the input may be no JSON at all. Such a call can be held, answered with an error, and sent back in
    /// a form that the service accepts; it cannot make a panic.
    pub struct ToolUse tagged "tool_use" {
        pub(crate) id: Box<str> = "id",
        pub(crate) name: Box<str> = "name",
        pub(crate) input: Input = "input",
    }
}

impl ToolUse {
    /// A well-formed call. `input` should be an object; anything else is kept as a broken input.
    pub fn new(id: ToolUseId, name: ToolName, input: RawJson) -> Self {
        Self { id: id.into(), name: name.into(), input: Input::of(input), layout: Default::default() }
    }

    /// A call as a model may write it: nothing is checked, and `arguments` may be no JSON at all. Blank
    /// arguments mean `{}`, as several servers send them for a tool without parameters.
    ///
    /// ```
    /// use sommelier_protocol::ToolUse;
    ///
    /// let call = ToolUse::scripted("tu_1", "cancel", r#"{"booking_id": "#);
    /// assert_eq!(call.broken_input().as_deref(), Some(r#"{"booking_id": "#));
    /// ```
    pub fn scripted(id: impl Into<Box<str>>, name: impl Into<Box<str>>, arguments: &str) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            input: Input::from_text(arguments),
            layout: Default::default(),
        }
    }

    /// The call's id, which its result must name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The tool that is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The arguments: always an object. A broken input stands as the one member [`ToolUse::BROKEN`].
    pub fn input(&self) -> &RawJson {
        &self.input.0
    }

    /// The member under which an input that is no JSON object is sent back, as text.
    pub const BROKEN: &'static str = "INVALID_JSON";

    /// What the model wrote in place of a JSON object, or `None` when it wrote one.
    pub fn broken_input(&self) -> Option<String> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Broken {
            #[serde(rename = "INVALID_JSON")]
            text: String,
        }

        if !self.input.0.get().starts_with(r#"{"INVALID_JSON":"#) {
            return None;
        }
        self.input.0.read::<Broken>().ok().map(|broken| broken.text)
    }

    /// The member under which the size of an input stands that was too large to be kept.
    pub const WITHHELD: &'static str = "WITHHELD_BYTES";

    /// Puts a note of its size in the place of the arguments: for an input too large to be kept and sent again
    /// with every request.
    pub fn withhold_input(&mut self) {
        let note = format!(r#"{{"{}":{}}}"#, Self::WITHHELD, self.input.0.get().len());
        self.input = Input::from_text(&note);
    }

    /// The bytes of an input that was withheld; `None` for one that stands here.
    pub fn withheld_bytes(&self) -> Option<usize> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Withheld {
            #[serde(rename = "WITHHELD_BYTES")]
            bytes: usize,
        }

        if !self.input.0.get().starts_with(r#"{"WITHHELD_BYTES":"#) {
            return None;
        }
        self.input.0.read::<Withheld>().ok().map(|withheld| withheld.bytes)
    }

    pub(crate) fn set_id(&mut self, id: Box<str>) {
        self.id = id;
    }

    /// Puts `name` in place of the call's name and gives the old one back.
    pub(crate) fn replace_name(&mut self, name: &str) -> Box<str> {
        std::mem::replace(&mut self.name, name.into())
    }
}

/// A call's arguments: an object, as text, whatever the model wrote.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Input(pub(crate) RawJson);

impl Input {
    fn of(raw: RawJson) -> Self {
        if raw.is_object() { Self(raw) } else { Self::broken(raw.get()) }
    }

    fn from_text(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self(RawJson::empty_object());
        }
        match RawJson::parse(text) {
            Ok(raw) if raw.is_object() => Self(raw),
            _ => Self::broken(text),
        }
    }

    fn broken(text: &str) -> Self {
        let mut object = String::with_capacity(text.len() + 24);
        object.push_str(r#"{"INVALID_JSON":"#);
        object.push_str(RawJson::string(text).get());
        object.push('}');
        Self(RawJson::parse(&object).unwrap_or_else(|_| RawJson::empty_object()))
    }
}

impl<'de> Deserialize<'de> for Input {
    /// Takes any JSON: what a model wrote cannot make its whole reply unreadable.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Ok(RawJson::checked(raw).map_or_else(|raw| Self::broken(raw.get()), Self::of))
    }
}

impl crate::wire::Member for Input {
    fn absent() -> Option<Self> {
        Some(Self(RawJson::empty_object()))
    }
}

wire_object! {
    /// The answer to a call, in the user message right after it.
    pub struct ToolResult tagged "tool_result" {
        pub(crate) tool_use_id: Box<str> = "tool_use_id",
        pub(crate) content: Option<ResultContent> = "content",
        pub(crate) is_error: Option<bool> = "is_error",
    }
}

/// What an error says for which the tool had no words.
const NO_REASON: &str = "the tool failed and gave no reason";

impl ToolResult {
    /// A result that worked.
    pub fn text(id: impl Into<Box<str>>, text: impl Into<Box<str>>) -> Self {
        let content = Some(ResultContent::Text(text.into()));
        Self { tool_use_id: id.into(), content, is_error: None, layout: Default::default() }
    }

    /// A result that tells the model what went wrong. An error without a word would be of no use to the
    /// model, so a blank `text` is replaced by one that says so.
    pub fn error(id: impl Into<Box<str>>, text: impl Into<Box<str>>) -> Self {
        let text = Some(text.into()).filter(|text| !text.trim().is_empty());
        let text = text.unwrap_or_else(|| NO_REASON.into());
        Self { is_error: Some(true), ..Self::text(id, text) }
    }

    /// Leaves out blank texts of a list, and gives an error words: so the service takes the result.
    pub(crate) fn settle(&mut self) {
        let mut blocks: Vec<ContentBlock> = match &self.content {
            Some(ResultContent::Blocks(raw)) => raw.read().unwrap_or_default(),
            _ => Vec::new(),
        };
        let found = blocks.len();
        blocks.retain(|block| block.as_text().is_none_or(|text| !text.trim().is_empty()));
        let is_mute = self.is_error() && self.words().trim().is_empty();
        if is_mute {
            blocks.insert(0, ContentBlock::text(NO_REASON));
        }
        if is_mute || blocks.len() != found {
            self.layout.add(Self::NAMES, "content");
            self.layout.review(self.is_error.is_none() && self.layout.has(Self::NAMES, "is_error"));
            self.content = match &*blocks {
                [ContentBlock::Text(only)] if is_mute => Some(ResultContent::Text(only.text.clone())),
                [] => Some(ResultContent::Text("".into())),
                blocks => RawJson::of(blocks).ok().map(ResultContent::Blocks),
            };
        }
    }

    pub(crate) fn set_id(&mut self, id: &str) {
        if &*self.tool_use_id != id {
            self.tool_use_id = id.into();
        }
    }

    /// The id of the call that is answered.
    pub fn tool_use_id(&self) -> &str {
        &self.tool_use_id
    }

    /// The content, which may be absent.
    pub fn content(&self) -> Option<&ResultContent> {
        self.content.as_ref()
    }

    /// The content's words: the text, or the text blocks of a list, joined by line ends.
    pub fn words(&self) -> String {
        match &self.content {
            None => String::new(),
            Some(ResultContent::Text(text)) => text.to_string(),
            Some(ResultContent::Blocks(raw)) => {
                let blocks: Vec<ContentBlock> = raw.read().unwrap_or_default();
                let words: Vec<&str> = blocks.iter().filter_map(ContentBlock::as_text).collect();
                words.join("\n")
            }
        }
    }

    /// Whether the call went wrong.
    pub fn is_error(&self) -> bool {
        self.is_error == Some(true)
    }
}

/// What a result holds: plain text, or a list of blocks kept raw (so that results inside results cannot
/// nest a reader without end).
#[derive(Clone, Debug, PartialEq)]
pub enum ResultContent {
    /// Plain text.
    Text(Box<str>),
    /// A JSON array of blocks.
    Blocks(RawJson),
}

impl Serialize for ResultContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Blocks(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ResultContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        match raw.get().as_bytes().first() {
            Some(b'"') => raw.read().map(Self::Text).map_err(D::Error::custom),
            Some(b'[') => Ok(Self::Blocks(raw)),
            _ => Err(D::Error::custom("a tool_result's content is a string or a list of blocks")),
        }
    }
}

/// A block of a kind that this crate has no words for, kept as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct RawBlock {
    pub(crate) kind: Box<str>,
    pub(crate) raw: RawJson,
}

impl RawBlock {
    /// The block's `type`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The block's text, byte for byte.
    pub fn raw(&self) -> &RawJson {
        &self.raw
    }

    /// Whether this is a `thinking` or `redacted_thinking` block.
    pub fn is_thinking(&self) -> bool {
        matches!(&*self.kind, "thinking" | "redacted_thinking")
    }

    /// What a thinking block lacks to be sent back; `None` also for blocks that are no thinking.
    pub(crate) fn thinking_fault(&self) -> Option<&'static str> {
        #[derive(Deserialize)]
        struct Members {
            thinking: Option<Box<str>>,
            signature: Option<Box<str>>,
            data: Option<Box<str>>,
        }

        if !self.is_thinking() {
            return None;
        }
        let Ok(members) = self.raw.read::<Members>() else {
            return Some("the members of the thinking block are not texts");
        };
        match (&*self.kind, members) {
            ("thinking", Members { thinking: None, .. }) => Some("the thinking block has no `thinking`"),
            ("thinking", Members { signature: None, .. }) => Some("the thinking block has no `signature`"),
            ("redacted_thinking", Members { data: None, .. }) => Some("the redacted thinking has no `data`"),
            _ => None,
        }
    }

    /// Whether the service runs this tool itself: a `server_tool_use` or `mcp_tool_use`, or the result of
    /// one.
    pub fn is_server_tool(&self) -> bool {
        matches!(&*self.kind, "server_tool_use" | "mcp_tool_use") || self.kind.ends_with("_tool_result")
    }
}

always_there!(ResultContent);
