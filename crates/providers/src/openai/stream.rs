//! A reply that comes in pieces.

use serde::Deserialize;
use sommelier_protocol::{ModelResponse, RawJson, Usage};

use super::JsonMode;
use super::reply::{Answer, Call, CallPiece, Said, error_in_reply, is_first, reason_of, text};
use crate::observer::Tell;
use crate::sse::{Event, EventReader};
use crate::{ProviderError, ReplyLimits};

/// Reads a streamed reply. What comes of it is what [`decode`](super::decode) makes of the same message sent in one
/// piece.
///
/// In JSON mode nothing is told of the words: they are an object that is not whole yet.
#[derive(Debug)]
pub struct Stream {
    events: EventReader,
    limits: ReplyLimits,
    json_mode: Option<JsonMode>,
    answer: Answer,
    /// The calls begun so far by the index that the server gave them, with their places.
    places: Vec<(Box<str>, usize)>,
    has_begun: bool,
    is_over: bool,
}

#[derive(Deserialize)]
struct Chunk {
    id: Option<RawJson>,
    model: Option<RawJson>,
    choices: Option<Vec<Choice>>,
    usage: Option<RawJson>,
    error: Option<RawJson>,
}

#[derive(Deserialize)]
struct Choice {
    index: Option<RawJson>,
    delta: Option<Said>,
    finish_reason: Option<RawJson>,
}

impl Stream {
    /// A stream at its beginning.
    pub fn new(limits: ReplyLimits, json_mode: Option<JsonMode>) -> Self {
        Self {
            events: EventReader::new(limits),
            limits,
            json_mode,
            answer: Answer::default(),
            places: Vec::new(),
            has_begun: false,
            is_over: false,
        }
    }

    /// Whether the stream has said that it is over; what comes after is not looked at.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// What the server has counted so far, as in Anthropic's form: most count at the end alone.
    pub fn used(&self) -> Usage {
        self.answer.usage()
    }

    /// Takes the next bytes; `tell` hears the words of the reply in them.
    ///
    /// # Errors
    /// [`Service`](ProviderError::Service) for an error that the server tells in mid-stream,
    /// [`Malformed`](ProviderError::Malformed) for an event that is no piece of a reply, and
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
        if event.data.trim() == "[DONE]" {
            self.is_over = true;
            return Ok(());
        }
        if event.name == "error" {
            return Err(ProviderError::Service(error_in_reply(event.data.as_bytes())));
        }
        let chunk: Chunk = serde_json::from_str(&event.data)
            .map_err(|error| ProviderError::malformed(format_args!("an event of the stream: {error}")))?;
        if chunk.error.is_some() {
            return Err(ProviderError::Service(error_in_reply(event.data.as_bytes())));
        }
        let answer = &mut self.answer;
        for (place, value) in [(&mut answer.id, &chunk.id), (&mut answer.model, &chunk.model)] {
            if place.is_empty() {
                *place = text(value.as_ref());
            }
        }
        if let Some(usage) = chunk.usage.and_then(|usage| usage.read().ok()) {
            answer.usage = Some(usage);
        }
        let of_it = |choice: &Choice| is_first(choice.index.as_ref());
        let Some(choice) = chunk.choices.into_iter().flatten().find(of_it) else { return Ok(()) };
        self.has_begun = true;
        if let Some(reason) = reason_of(choice.finish_reason.as_ref()) {
            answer.finish_reason = Some(reason);
        }
        let Some(said) = choice.delta else { return Ok(()) };
        let words = answer.hear(&said);
        if !words.is_empty() && self.json_mode.is_none() {
            tell(&words);
        }
        said.tool_calls.into_iter().flatten().try_for_each(|piece| self.join(piece))
    }

    /// Leads a piece to its call: by the index, unless a new id says that it begins another one. A piece without an index
    /// begins a call when it has a name or a new id, and belongs to the last one otherwise.
    fn join(&mut self, piece: CallPiece) -> Result<(), ProviderError> {
        let id = text(piece.id.as_ref());
        let index: Option<Box<str>> =
            piece.index.as_ref().filter(|index| index.get() != "null").map(|i| i.get().into());
        let known = match &index {
            Some(index) => {
                self.places.iter().rev().find(|(found, _)| found == index).map(|(_, place)| *place)
            }
            None if has_name(&piece) => None,
            None => self.answer.calls.len().checked_sub(1),
        };
        let same = known.and_then(|place| self.answer.calls.get_mut(place)).filter(|call| is_same(call, &id));
        if let Some(call) = same {
            call.join(piece);
            return Ok(());
        }
        let place = self.answer.calls.len();
        if place == self.limits.blocks {
            return Err(ProviderError::TooLarge { what: "the reply", most: place, unit: "calls" });
        }
        self.places.extend(index.map(|index| (index, place)));
        self.answer.calls.push(Call::default().joined(piece));
        Ok(())
    }

    /// The reply, once the bytes have ended. Not every server says `[DONE]`; one that has said why the model stopped has
    /// said all.
    ///
    /// # Errors
    /// [`Cut`](ProviderError::Cut) when they have ended before the message.
    pub fn finish(self) -> Result<ModelResponse, ProviderError> {
        let is_whole = self.has_begun && (self.is_over || self.answer.finish_reason.is_some());
        if !is_whole {
            let words = self.answer.words.chars().count();
            let after = format!("{words} characters and {} calls", self.answer.calls.len());
            return Err(ProviderError::Cut { after });
        }
        Ok(self.answer.into_reply(self.json_mode))
    }
}

fn has_name(piece: &CallPiece) -> bool {
    piece.function.as_ref().is_some_and(|function| !text(function.name.as_ref()).is_empty())
}

fn is_same(call: &Call, id: &str) -> bool {
    id.is_empty() || call.id.is_empty() || *call.id == *id
}
