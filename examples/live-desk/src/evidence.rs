//! What is known of a case once it is over, as plain data.

use sommelier_handoff::{Hop, Run};
use sommelier_protocol::Message;

use crate::{Case, Exchange};

/// All that is known of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// The case.
    pub case: Case,
    /// The customer's messages, and what followed each.
    pub heard: Vec<Heard>,
}

/// What followed a message of the customer.
#[derive(Clone, Debug, PartialEq)]
pub struct Heard {
    /// The message.
    pub says: &'static str,
    /// What the agents asked the model, and its replies.
    pub exchanges: Vec<Exchange>,
    /// The handoffs that were asked for, taken and refused, in order.
    pub hops: Vec<Hop>,
    /// How it ended.
    pub end: End,
    /// The conversations of all agents, as they were then; none where there was no end.
    pub transcripts: Vec<(String, Vec<Message>)>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself: the end in a word, and in words.
    Run {
        /// In a word, such as `answered`.
        code: &'static str,
        /// In words, with what led to it.
        told: String,
    },
    /// A person was asked, since `guard` refused a handoff, and has taken over.
    Person {
        /// The guard.
        guard: &'static str,
        /// How often the model was asked after that.
        asked_after: usize,
        /// The end after that, in a word.
        code: &'static str,
    },
    /// There is no end: the driver gave up, something panicked, or the run waits for what nobody was to ask.
    Broken {
        /// What happened.
        why: String,
    },
}

impl End {
    /// The end in a word.
    pub fn code(&self) -> &str {
        match self {
            Self::Run { code, .. } | Self::Person { code, .. } => code,
            Self::Broken { .. } => "broken",
        }
    }
}

impl Evidence {
    /// The conversations as they ended.
    pub fn transcripts(&self) -> &[(String, Vec<Message>)] {
        let known = self.heard.iter().rev().map(|heard| &heard.transcripts);
        known.into_iter().find(|transcripts| !transcripts.is_empty()).map_or(&[], Vec::as_slice)
    }
}

/// The conversations as they are in `run`.
pub(crate) fn transcripts(run: &Run) -> Vec<(String, Vec<Message>)> {
    run.at_rest().map(|(agent, turn)| (agent.to_string(), turn.messages().to_vec())).collect()
}
