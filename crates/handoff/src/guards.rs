//! The settings of the guards.

use serde::Serialize;
use std::collections::BTreeMap;

use crate::Guard;

/// What follows a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum OnRefusal {
    /// The sender's model is told and goes on.
    Tell,
    /// The run ends with the refusal.
    Stop,
    /// A person is asked how to go on, and has the whole run to look at. No other agent is.
    Escalate,
}

/// How the guards are set. The first seven are pure checks in a fixed order (see [`Guard`]); these are the
/// numbers they use, and what follows when one refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Guards {
    /// Receivers that may be activated between two messages of the user. The next handoff is refused, and
    /// the state is what it was.
    pub max_handoffs: u32,
    /// Receivers that may be activated in the whole conversation; no cap when `None`.
    pub max_handoffs_per_conversation: Option<u32>,
    /// Whether the same pair of sender and receiver is refused the second time since the user last spoke.
    /// A→B→A is a return and legal; A→B→A→B is ping-pong.
    pub refuse_repeated_pairs: bool,
    on_refusal: BTreeMap<Guard, OnRefusal>,
}

impl Default for Guards {
    /// Five hops between two messages of the user, no cap over the conversation, repeated pairs refused.
    fn default() -> Self {
        Self {
            max_handoffs: 5,
            max_handoffs_per_conversation: None,
            refuse_repeated_pairs: true,
            on_refusal: BTreeMap::new(),
        }
    }
}

impl Guards {
    /// Sets the most hops between two messages of the user.
    pub fn max_handoffs(mut self, most: u32) -> Self {
        self.max_handoffs = most;
        self
    }

    /// Sets the most hops of the whole conversation.
    pub fn max_handoffs_per_conversation(mut self, most: u32) -> Self {
        self.max_handoffs_per_conversation = Some(most);
        self
    }

    /// Allows a pair to repeat; the cap still ends the run.
    pub fn allow_repeated_pairs(mut self) -> Self {
        self.refuse_repeated_pairs = false;
        self
    }

    /// Sets what follows when `guard` refuses.
    pub fn on_refusal(mut self, guard: Guard, then: OnRefusal) -> Self {
        self.on_refusal.insert(guard, then);
        self
    }

    /// Ends the run at the first refusal of any of the seven guards, loudly.
    pub fn stop_on_any_refusal(self) -> Self {
        let guards = Guard::ALL.into_iter().filter(|guard| *guard <= Guard::Pair);
        guards.fold(self, |guards, guard| guards.on_refusal(guard, OnRefusal::Stop))
    }

    /// What follows when `guard` refuses: what a model can mend is told to it, a loop ends the run.
    pub fn after(&self, guard: Guard) -> OnRefusal {
        let default = match guard {
            Guard::Cap | Guard::Pair => OnRefusal::Stop,
            _ => OnRefusal::Tell,
        };
        self.on_refusal.get(&guard).copied().unwrap_or(default)
    }
}
