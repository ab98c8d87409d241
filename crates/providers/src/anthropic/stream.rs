//! A reply that comes in pieces.

use serde::Deserialize;
use sommelier_protocol::{ModelResponse, RawJson, ToolUse, Usage};

use super::reply::{decode, error_in_reply};
use crate::members::{Members, OnTheWire as _};
use crate::observer::Tell;
use crate::sse::{Event, EventReader};
use crate::{ProviderError, ReplyLimits};

/// Reads a streamed reply. What comes of it is what [`decode`] makes of the same message sent in one piece.
///
/// ```
/// use sommelier_providers::anthropic::Stream;
/// use sommelier_providers::ReplyLimits;
///
/// let wire = concat!(
///     "event: message_start\n",
///     r#"data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","#,
///     r#""model":"claude-sonnet-5","content":[],"stop_reason":null,"usage":{"input_tokens":9,"output_tokens":1}}}"#, "\n\n",
///     "event: content_block_start\n",
///     r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#, "\n\n",
///     "event: content_block_delta\n",
///     r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Good morning."}}"#, "\n\n",
///     "event: content_block_stop\n",
///     r#"data: {"type":"content_block_stop","index":0}"#, "\n\n",
///     "event: message_delta\n",
///     r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}}"#, "\n\n",
///     "event: message_stop\n",
///     r#"data: {"type":"message_stop"}"#, "\n\n",
/// );
/// let mut stream = Stream::new(ReplyLimits::default());
/// let mut heard = String::new();
/// for piece in wire.as_bytes().chunks(7) {
///     stream.push(piece, &mut |text| heard.push_str(text))?;
/// }
/// assert_eq!(stream.finish()?.words(), heard);
/// # Ok::<(), sommelier_providers::ProviderError>(())
/// ```
#[derive(Debug)]
pub struct Stream {
    events: EventReader,
    limits: ReplyLimits,
    request_id: Option<String>,
    message: Option<Members>,
    usage: Members,
    blocks: Vec<Block>,
    is_over: bool,
}

/// One event of the stream, by its `type`. Members of events are read as they are needed: what is not asked for may be
/// of any form.
#[derive(Deserialize)]
struct Tag {
    r#type: Option<Box<str>>,
}

impl Stream {
    /// A stream at its beginning.
    pub fn new(limits: ReplyLimits) -> Self {
        Self {
            events: EventReader::new(limits),
            limits,
            request_id: None,
            message: None,
            usage: Members::default(),
            blocks: Vec::new(),
            is_over: false,
        }
    }

    /// Notes the service's id of the request, for the error that the stream may tell of.
    #[must_use]
    pub fn request_id(mut self, id: Option<&str>) -> Self {
        self.request_id = id.map(str::to_owned);
        self
    }

    /// Whether the message is whole; what comes after its end is not looked at.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// What the service has counted so far: of a stream that breaks off it is paid for as well. Nothing where it has
    /// counted nothing, or in another form.
    pub fn used(&self) -> Usage {
        RawJson::of(&self.usage).and_then(|usage| usage.read()).unwrap_or_default()
    }

    /// Takes the next bytes; `tell` hears the words of the reply in them.
    ///
    /// # Errors
    /// [`Service`](ProviderError::Service) for an error that the service tells in mid-stream,
    /// [`Malformed`](ProviderError::Malformed) for events that make no message, and
    /// [`TooLarge`](ProviderError::TooLarge). After an error the stream is of no more use.
    pub fn push(&mut self, bytes: &[u8], tell: Tell<'_>) -> Result<(), ProviderError> {
        let mut rest = bytes;
        while !self.is_over {
            let Some(event) = self.events.read(&mut rest)? else { break };
            self.take(&event, tell)?;
        }
        Ok(())
    }

    fn take(&mut self, event: &Event, tell: Tell<'_>) -> Result<(), ProviderError> {
        // An event that is not known may hold anything; then its name says that it is not known.
        let tag = serde_json::from_str::<Tag>(&event.data).ok();
        let kind = tag.and_then(|tag| tag.r#type).unwrap_or_else(|| event.name.as_str().into());
        match &*kind {
            "message_start" => self.start(read(event)?),
            "content_block_start" => self.start_block(read(event)?),
            "content_block_delta" => self.grow(read(event)?, tell),
            "content_block_stop" => self.stop_block(read(event)?),
            "message_delta" => self.end(&read(event)?),
            "message_stop" => {
                self.is_over = true;
                Ok(())
            }
            "error" => {
                let error = error_in_reply(event.data.as_bytes(), self.request_id.take());
                Err(ProviderError::Service(error))
            }
            // `ping`, and what later versions bring.
            _ => Ok(()),
        }
    }

    fn start(&mut self, Start { message }: Start) -> Result<(), ProviderError> {
        if self.message.is_some() {
            return Err(ProviderError::malformed("the stream begins a second message"));
        }
        if let Some(usage) = message.get("usage") {
            self.usage = usage.read().map_err(|error| malformed("usage", &error))?;
        }
        // Blocks come one by one; what stands here would be lost, or stand before them unheard.
        let content = message.get("content").filter(|content| content.get() != "null");
        if content.is_some_and(|content| content.read::<Vec<RawJson>>().is_ok_and(|all| !all.is_empty())) {
            return Err(ProviderError::malformed("the stream begins a message that has content already"));
        }
        bear(&message)?;
        bear(&self.usage)?;
        self.message = Some(message);
        Ok(())
    }

    fn start_block(&mut self, start: BlockStart) -> Result<(), ProviderError> {
        if start.index != self.blocks.len() {
            let place = self.blocks.len();
            let detail = format!("the stream begins block {} in the place of {place}", start.index);
            return Err(ProviderError::malformed(detail));
        }
        if self.blocks.len() == self.limits.blocks {
            let most = self.limits.blocks;
            return Err(ProviderError::TooLarge { what: "the reply", most, unit: "blocks" });
        }
        self.blocks.push(Block::new(start.content_block));
        Ok(())
    }

    fn grow(&mut self, BlockDelta { index, delta }: BlockDelta, tell: Tell<'_>) -> Result<(), ProviderError> {
        let block = self.open_block(index)?;
        let text = |name: &str| {
            delta.text(name).ok_or_else(|| {
                ProviderError::malformed(format_args!("a delta of block {index} has no text `{name}`"))
            })
        };
        let kind = delta.text("type");
        if let Some(kind) = kind.as_deref().filter(|kind| !block.takes(kind)) {
            let detail = format!("block {index} is of the type {:?}, and a {kind} came for it", block.kind);
            return Err(ProviderError::malformed(detail));
        }
        match kind.as_deref() {
            Some("text_delta") => {
                let words = text("text")?;
                tell(&words);
                block.text.push_str(&words);
            }
            Some("thinking_delta") => block.thinking.push_str(&text("thinking")?),
            Some("signature_delta") => block.signature = Some(text("signature")?),
            Some("input_json_delta") => block.input.push_str(&text("partial_json")?),
            Some("citations_delta") => block.citations.extend(delta.get("citation").cloned()),
            _ => {}
        }
        Ok(())
    }

    fn stop_block(&mut self, BlockStop { index }: BlockStop) -> Result<(), ProviderError> {
        self.open_block(index)?.is_open = false;
        Ok(())
    }

    fn open_block(&mut self, index: usize) -> Result<&mut Block, ProviderError> {
        self.blocks.get_mut(index).filter(|block| block.is_open).ok_or_else(|| {
            ProviderError::malformed(format_args!("the stream goes on with block {index}, which is not open"))
        })
    }

    /// The counts of this event are those of the whole message so far.
    fn end(&mut self, event: &MessageDelta) -> Result<(), ProviderError> {
        for members in event.delta.iter().chain(&event.usage) {
            bear(members)?;
        }
        let Some(message) = &mut self.message else {
            return Err(ProviderError::malformed("the stream ends a message that it has not begun"));
        };
        if let Some(delta) = &event.delta {
            message.merge(delta);
        }
        if let Some(usage) = &event.usage {
            self.usage.merge(usage);
        }
        self.message.iter().chain([&self.usage]).try_for_each(bear)
    }

    /// The reply, once the bytes have ended.
    ///
    /// # Errors
    /// [`Cut`](ProviderError::Cut) when they have ended before the message, and
    /// [`Malformed`](ProviderError::Malformed) when what they hold is no reply.
    pub fn finish(self) -> Result<ModelResponse, ProviderError> {
        if !self.is_over {
            let after = match (&self.message, self.blocks.len()) {
                (None, _) => "nothing of it".to_owned(),
                (Some(_), 1) => "1 block".to_owned(),
                (Some(_), blocks) => format!("{blocks} blocks"),
            };
            return Err(ProviderError::Cut { after });
        }
        let Some(mut message) = self.message else {
            return Err(ProviderError::malformed("the stream ends a message that it has not begun"));
        };
        if let Some(open) = self.blocks.iter().position(|block| block.is_open) {
            return Err(ProviderError::malformed(format_args!("the stream leaves block {open} open")));
        }
        let blocks: Vec<RawJson> =
            self.blocks.into_iter().map(Block::into_json).collect::<Result<_, _>>().map_err(unfit)?;
        message.put("content", RawJson::of(&blocks).map_err(unfit)?);
        if message.get("usage").is_some() || !self.usage.0.is_empty() {
            message.put("usage", RawJson::of(&self.usage).map_err(unfit)?);
        }
        decode(&serde_json::to_vec(&message).map_err(unfit)?)
    }
}

/// The most members of a message and of its count. They are looked for one by one, so that very many would take very long.
const MEMBERS: usize = 1024;

fn bear(members: &Members) -> Result<(), ProviderError> {
    match members.0.len() > MEMBERS {
        true => Err(ProviderError::TooLarge { what: "the reply", most: MEMBERS, unit: "members" }),
        false => Ok(()),
    }
}

fn read<T: for<'a> Deserialize<'a>>(event: &Event) -> Result<T, ProviderError> {
    serde_json::from_str(&event.data).map_err(|error| malformed("an event", &error))
}

fn malformed(what: &str, error: &serde_json::Error) -> ProviderError {
    ProviderError::malformed(format_args!("{what} of the stream: {error}"))
}

fn unfit(error: serde_json::Error) -> ProviderError {
    malformed("the message", &error)
}

#[derive(Deserialize)]
struct Start {
    message: Members,
}

#[derive(Deserialize)]
struct BlockStart {
    index: usize,
    content_block: RawJson,
}

#[derive(Deserialize)]
struct BlockDelta {
    index: usize,
    delta: Members,
}

#[derive(Deserialize)]
struct BlockStop {
    index: usize,
}

#[derive(Deserialize)]
struct MessageDelta {
    delta: Option<Members>,
    usage: Option<Members>,
}

/// The pieces that are known.
const DELTAS: [&str; 5] =
    ["text_delta", "citations_delta", "thinking_delta", "signature_delta", "input_json_delta"];

/// A block as it began, and what has come for it since.
#[derive(Debug)]
struct Block {
    begun: RawJson,
    kind: Box<str>,
    is_open: bool,
    text: String,
    thinking: String,
    signature: Option<Box<str>>,
    input: String,
    citations: Vec<RawJson>,
}

impl Block {
    fn new(begun: RawJson) -> Self {
        let kind = begun.read::<Tag>().ok().and_then(|tag| tag.r#type).unwrap_or_default();
        Self {
            begun,
            kind,
            is_open: true,
            text: String::new(),
            thinking: String::new(),
            signature: None,
            input: String::new(),
            citations: Vec::new(),
        }
    }

    /// Whether a piece of this kind may come for it. What is not known, here or there, may belong together.
    fn takes(&self, delta: &str) -> bool {
        let known: &[&str] = match &*self.kind {
            "text" => &["text_delta", "citations_delta"],
            "thinking" => &["thinking_delta", "signature_delta"],
            "redacted_thinking" => &[],
            "tool_use" | "server_tool_use" => &["input_json_delta"],
            _ => return true,
        };
        !DELTAS.contains(&delta) || known.contains(&delta)
    }

    /// The block as it would have come in one piece. One for which nothing came stays what it was, byte for byte.
    fn into_json(self) -> serde_json::Result<RawJson> {
        let grew = !self.text.is_empty()
            || !self.thinking.is_empty()
            || self.signature.is_some()
            || !self.input.is_empty()
            || !self.citations.is_empty();
        if !grew {
            return Ok(self.begun);
        }
        let mut members: Members = self.begun.read()?;
        for (name, more) in [("thinking", &self.thinking), ("text", &self.text)] {
            if !more.is_empty() {
                let begun = members.text(name).unwrap_or_default();
                members.put(name, RawJson::string(&format!("{begun}{more}")));
            }
        }
        if let Some(signature) = &self.signature {
            members.put("signature", RawJson::string(signature));
        }
        if !self.input.trim().is_empty() {
            members.put("input", input(&self.input)?);
        }
        if !self.citations.is_empty() {
            let mut all: Vec<RawJson> =
                members.get("citations").and_then(|begun| begun.read().ok()).unwrap_or_default();
            all.extend(self.citations);
            members.put("citations", RawJson::of(&all)?);
        }
        RawJson::of(&members)
    }
}

/// The arguments that the pieces make; a text that is no JSON, as in a reply that was cut, is kept as such.
fn input(text: &str) -> serde_json::Result<RawJson> {
    RawJson::parse(text).or_else(|_| RawJson::of(&Members::of([(ToolUse::BROKEN, RawJson::string(text))])))
}
