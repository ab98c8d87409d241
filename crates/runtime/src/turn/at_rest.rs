//! A turn that has come to rest, and why it has.

use serde::{Deserialize, Serialize};
use sommelier_protocol::{Asking, Message, Resting, Role, StopReason, Words};

use super::{Progress, TurnStep, Used, next};
use crate::{Definition, ModelError};

/// A turn at rest, with all that was said and done in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    pub(super) progress: Box<Progress>,
    pub(super) rest: Rest,
    pub(super) end: TurnEnd,
}

/// Who is to speak next in a conversation at rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Rest {
    /// The model, should it be asked again.
    Asking(Asking),
    /// The user.
    Resting(Resting),
}

impl Rest {
    /// The model is to go on where the service can, else the user is to speak.
    pub(super) fn paused(resting: Resting) -> Self {
        resting.go_on().map_or_else(Self::Resting, Self::Asking)
    }

    pub(super) fn say(self, words: Words) -> Asking {
        match self {
            Self::Asking(asking) => asking.say(words),
            Self::Resting(resting) => resting.say(words),
        }
    }
}

/// Why a turn came to rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TurnEnd {
    /// The model answered.
    Answered,
    /// The layer above closed the turn.
    Closed,
    /// The next model call would have been one too many.
    StepLimit {
        /// The limit.
        max_steps: u32,
    },
    /// Nothing new came.
    NoProgress {
        /// In which way.
        why: Standstill,
    },
    /// The reply was cut; no call of it was run.
    Truncated {
        /// `max_tokens` or `model_context_window_exceeded`.
        stop: StopReason,
    },
    /// The model declined.
    ModelRefused,
    /// The reply stopped for a reason that is not known here; no call of it was run.
    UnknownStop {
        /// The reason as it came.
        stop: StopReason,
    },
    /// The model could not be asked. The turn can be tried again from here.
    Failed {
        /// Why.
        error: ModelError,
    },
}

/// How a turn stood still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standstill {
    /// Reply after reply was empty.
    Empty,
    /// The service paused again and again.
    Paused,
    /// The same calls brought the same results again and again.
    Repeating,
}

impl Turn {
    /// The answer, when the model gave one.
    pub fn answer(&self) -> Option<String> {
        match (&self.end, &self.rest) {
            (TurnEnd::Answered, Rest::Resting(resting)) => Some(resting.last_words()),
            _ => None,
        }
    }

    /// The newest words of the model that are not blank: its answer, or what it said on the way to one.
    pub fn last_words(&self) -> Option<String> {
        let replies = self.messages().iter().rev().filter(|message| message.role == Role::Assistant);
        let words = replies.map(|reply| reply.texts().collect::<Vec<_>>().join("\n"));
        words.map(|words| words.trim().to_owned()).find(|words| !words.is_empty())
    }

    /// Why the turn came to rest.
    pub fn end(&self) -> &TurnEnd {
        &self.end
    }

    /// The messages.
    pub fn messages(&self) -> &[Message] {
        match &self.rest {
            Rest::Asking(asking) => asking.messages(),
            Rest::Resting(resting) => resting.messages(),
        }
    }

    /// Bytes of the conversation as compact JSON.
    pub fn history_bytes(&self) -> usize {
        match &self.rest {
            Rest::Asking(asking) => asking.bytes(),
            Rest::Resting(resting) => resting.bytes(),
        }
    }

    /// Model calls of the last activation that brought a reply.
    pub fn steps(&self) -> u32 {
        self.progress.steps
    }

    /// What the whole conversation has used.
    pub fn used(&self) -> Used {
        self.progress.used()
    }

    /// Goes on with new words, which follow open results in the same message; the limits count anew.
    pub fn wake(self, agent: &Definition, words: Words) -> TurnStep {
        next(self.progress.again(), self.rest.say(words), agent)
    }

    /// Goes on with new words in the same activation: the limits count on.
    pub fn go_on(self, agent: &Definition, words: Words) -> TurnStep {
        next(self.progress, self.rest.say(words), agent)
    }

    /// Tries again from where the model could not be asked or a limit was reached; the limits count anew.
    ///
    /// # Errors
    /// The turn is handed back when it is the user who is to speak.
    pub fn retry(self, agent: &Definition) -> Result<TurnStep, Self> {
        match self.rest {
            Rest::Asking(asking) => Ok(next(self.progress.again(), asking, agent)),
            rest @ Rest::Resting(_) => Err(Self { rest, ..self }),
        }
    }

    /// Gives back memory held for messages to come.
    pub fn shrink(&mut self) {
        match &mut self.rest {
            Rest::Asking(asking) => asking.shrink(),
            Rest::Resting(resting) => resting.shrink(),
        }
    }
}
