//! A message of the model.

use serde_json::{Map, Value, json};

use crate::cache::Counted;
use crate::example::example;
use crate::rules::{Legal, sign};
use crate::script::Scripted;

/// What a request without a script is answered with.
const SHORT: &str = "This is a fake server. Your request is legal.";
/// About so many bytes are a token.
const BYTES_PER_TOKEN: usize = 4;

/// A reply before it takes the form of the wire, whole or in events.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reply {
    pub(crate) number: u64,
    pub(crate) model: String,
    pub(crate) content: Vec<Block>,
    pub(crate) stop_reason: String,
    pub(crate) stop_sequence: Option<String>,
    pub(crate) stop_details: Option<Value>,
    input_tokens: usize,
    /// Bytes of the request that the cache had or took.
    pub(crate) cached: Counted,
    /// Members of `usage` that take the place of counted ones.
    usage: Map<String, Value>,
}

/// A block of a reply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Block {
    Thinking(String),
    Text(String),
    Call(Call),
    /// In the form of the wire.
    Other(Value),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: Value,
    /// Bytes of the input that were written before the reply was cut; all of them when absent.
    pub(crate) cut_at: Option<usize>,
}

impl Reply {
    /// What is said without a script: a short text, or the call that the request forces.
    pub(crate) fn improvised(number: u64, request: &Legal) -> Self {
        let choice = request.body.get("tool_choice");
        let word = |member| choice.and_then(|choice| choice.get(member)).and_then(Value::as_str);
        let tool = match word("type") {
            Some("any") => request.tools().first(),
            Some("tool") => {
                request.tools().iter().find(|tool| tool.get("name").and_then(Value::as_str) == word("name"))
            }
            _ => None,
        };
        let content = match tool {
            None => Block::Text(SHORT.to_owned()),
            Some(tool) => Block::Call(Call::example(tool, number, 0)),
        };
        Self::of(number, request, vec![content]).within(request)
    }

    pub(crate) fn scripted(number: u64, request: &Legal, scripted: Scripted) -> Self {
        if let Some(words) = scripted.refusal {
            return Self::declined(number, request, scripted.refusal_category, &words);
        }
        let calls = scripted.tool_use.into_iter().enumerate().map(|(at, call)| {
            let id = call.id.unwrap_or_else(|| call_id(number, at));
            Block::Call(Call { id, name: call.name, input: call.input, cut_at: None })
        });
        let content = scripted
            .blocks
            .into_iter()
            .map(Block::Other)
            .chain(scripted.thinking.map(Block::Thinking))
            .chain(scripted.text.map(Block::Text))
            .chain(calls)
            .collect();
        let mut reply = Self::of(number, request, content).within(request);
        reply.stop_reason = scripted.stop_reason.unwrap_or(reply.stop_reason);
        reply.stop_sequence = scripted.stop_sequence.or(reply.stop_sequence);
        reply.usage = scripted.usage;
        reply
    }

    pub(crate) fn declined(number: u64, request: &Legal, category: Option<String>, words: &str) -> Self {
        let mut reply = Self::of(number, request, Vec::new());
        reply.stop_reason = "refusal".to_owned();
        reply.stop_details = Some(json!({"type": "refusal", "category": category, "explanation": words}));
        reply
    }

    fn of(number: u64, request: &Legal, content: Vec<Block>) -> Self {
        let has_call = content.iter().any(|block| matches!(block, Block::Call(_)));
        Self {
            number,
            model: request.text("model").to_owned(),
            content,
            stop_reason: if has_call { "tool_use" } else { "end_turn" }.to_owned(),
            stop_sequence: None,
            stop_details: None,
            input_tokens: tokens_of(request),
            cached: Counted::default(),
            usage: Map::new(),
        }
    }

    /// The reply as far as the request's stop sequences and `max_tokens` let it go.
    fn within(mut self, request: &Legal) -> Self {
        for block in &mut self.content {
            let Block::Text(text) = block else { continue };
            let stops = request.body.get("stop_sequences").and_then(Value::as_array).into_iter().flatten();
            let first =
                stops.filter_map(Value::as_str).filter_map(|stop| Some((text.find(stop)?, stop))).min();
            if let Some((place, stop)) = first {
                text.truncate(place);
                self.stop_reason = "stop_sequence".to_owned();
                self.stop_sequence = Some(stop.to_owned());
            }
        }
        self.content.retain(|block| !matches!(block, Block::Text(text) if text.is_empty()));
        let most = request.body.get("max_tokens").and_then(Value::as_u64).unwrap_or_default();
        let most = usize::try_from(most).unwrap_or(usize::MAX).saturating_mul(BYTES_PER_TOKEN);
        self.cut(most);
        self
    }

    /// Cuts the reply at so many bytes.
    fn cut(&mut self, most: usize) {
        let mut left = most;
        for at in 0..self.content.len() {
            let Some(block) = self.content.get_mut(at) else { return };
            let len = block.len();
            if len <= left {
                left -= len;
                continue;
            }
            self.stop_reason = "max_tokens".to_owned();
            let is_kept = block.cut(left);
            self.content.truncate(at + usize::from(is_kept));
            return;
        }
    }

    /// Its calls, for faults that are about them; one is made where there is none.
    pub(crate) fn calls(&mut self, request: &Legal) -> Vec<&mut Call> {
        if !self.content.iter().any(|block| matches!(block, Block::Call(_))) {
            let tool = request.tools().first().cloned().unwrap_or_else(|| json!({"name": "fake_tool"}));
            self.content.push(Block::Call(Call::example(&tool, self.number, 0)));
        }
        let calls = self.content.iter_mut().filter_map(|block| match block {
            Block::Call(call) => Some(call),
            _ => None,
        });
        calls.collect()
    }

    /// The reply as one JSON object.
    pub(crate) fn whole(&self) -> Value {
        self.message(self.content.iter().map(Block::whole).collect(), true)
    }

    /// The reply's object; before it has `ended` it does not say why, nor how long it was.
    pub(crate) fn message(&self, content: Vec<Value>, ended: bool) -> Value {
        json!({
            "id": format!("msg_fake_{:06}", self.number),
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": ended.then_some(&self.stop_reason),
            "stop_sequence": self.stop_sequence.as_ref().filter(|_| ended),
            "stop_details": self.stop_details.as_ref().filter(|_| ended),
            "usage": self.usage(ended),
        })
    }

    pub(crate) fn usage(&self, ended: bool) -> Value {
        let written = tokens(self.content.iter().map(Block::len).sum());
        // Where there is no breakpoint all is fresh.
        let (written_to_cache, read) = (tokens(self.cached.written), tokens(self.cached.read));
        let mut usage = json!({
            "input_tokens": self.input_tokens.saturating_sub(written_to_cache + read),
            "cache_creation_input_tokens": written_to_cache,
            "cache_read_input_tokens": read,
            "output_tokens": if ended { written } else { written.min(1) },
            "service_tier": "standard",
        });
        if let Some(members) = usage.as_object_mut() {
            members
                .extend(self.usage.clone().into_iter().filter(|(name, _)| ended || name != "output_tokens"));
        }
        usage
    }
}

impl Block {
    /// Bytes that the model wrote.
    fn len(&self) -> usize {
        match self {
            Self::Thinking(text) | Self::Text(text) => text.len(),
            Self::Call(call) => call.name.len() + call.written().len(),
            Self::Other(value) => value.to_string().len(),
        }
    }

    /// Cuts the block at so many bytes; whether anything is left of it.
    fn cut(&mut self, most: usize) -> bool {
        match self {
            Self::Text(text) => {
                text.truncate(text.boundary_at(most));
                !text.trim().is_empty()
            }
            Self::Call(call) => {
                let len = most.checked_sub(call.name.len());
                call.cut_at = len;
                len.is_some()
            }
            Self::Thinking(_) | Self::Other(_) => false,
        }
    }

    pub(crate) fn whole(&self) -> Value {
        match self {
            Self::Thinking(text) => json!({"type": "thinking", "thinking": text, "signature": sign(text)}),
            Self::Text(text) => json!({"type": "text", "text": text}),
            Self::Call(call) => {
                let input = if call.cut_at.is_some() { json!({}) } else { call.input.clone() };
                json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
            }
            Self::Other(value) => value.clone(),
        }
    }
}

impl Call {
    /// A call of `tool` whose arguments its schema allows, as far as that can be told simply.
    fn example(tool: &Value, number: u64, at: usize) -> Self {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let input = example(tool.get("input_schema").unwrap_or(&Value::Null));
        Self {
            id: call_id(number, at),
            name,
            input: if input.is_object() { input } else { json!({}) },
            cut_at: None,
        }
    }

    /// The arguments as far as they were written.
    pub(crate) fn written(&self) -> String {
        let mut text = self.input.to_string();
        text.truncate(text.boundary_at(self.cut_at.unwrap_or(text.len())));
        text
    }
}

fn call_id(number: u64, at: usize) -> String {
    format!("toolu_fake_{number:06}_{at}")
}

/// Tokens of instructions, tools and messages.
pub(crate) fn tokens_of(request: &Legal) -> usize {
    let bytes =
        |member: &str| request.body.get(member).map(|value| value.to_string().len()).unwrap_or_default();
    tokens(bytes("system") + bytes("tools") + bytes("messages"))
}

fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// As `str::floor_char_boundary`, which is younger than the compiler that this crate asks for.
trait Boundary {
    fn boundary_at(&self, place: usize) -> usize;
}

impl Boundary for str {
    fn boundary_at(&self, place: usize) -> usize {
        (0..=place.min(self.len())).rev().find(|&at| self.is_char_boundary(at)).unwrap_or_default()
    }
}
