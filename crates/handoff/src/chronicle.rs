//! What a conversation's records say besides where its run stands.

use std::collections::BTreeMap;

use sommelier_protocol::ToolName;

use crate::{Announced, Announcement, Input, InputKind, Millis};

/// What is to be known of a conversation beside its step: the user's turns and their answers, how often a model was asked
/// for the same reply, which tools were begun, and what effects there are. It is a function of the records, as the step is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chronicle {
    turns: Vec<TurnOnRecord>,
    /// For each run the model call that was asked for last, and how often.
    attempts: BTreeMap<Box<str>, (u32, u32)>,
    /// Calls that were begun and have no outcome on record, by run and place.
    begun: BTreeMap<(Box<str>, usize), Effect>,
    effects: Vec<Effect>,
    newest: Millis,
}

/// A turn of the user, as it stands on record.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnOnRecord {
    /// The caller's name for it.
    pub key: Option<Box<str>>,
    /// The words.
    pub text: Box<str>,
    /// The caller's name for the trace in which it is told.
    pub trace: Option<Box<str>>,
    /// When it was received.
    pub at: Millis,
    /// What it came to; `None` while it is under way. Of turns that were heard in the middle of another the answer is that
    /// of the run that heard them.
    pub closed: Option<TurnClosed>,
}

/// What a turn came to.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnClosed {
    /// The id of the answer.
    pub answer_id: Box<str>,
    /// How it ended, in a word.
    pub end: Box<str>,
    /// The answer, where there is one.
    pub answer: Option<Box<str>>,
}

/// A run of a tool, as it was intended.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The idempotency key.
    pub key: Box<str>,
    /// The tool.
    pub tool: ToolName,
    /// What can be known of its effect after a crash, as the tool declares it.
    pub class: Box<str>,
    /// Which effect it is.
    pub business_key: Option<Box<str>>,
    /// The key of the effect that this one undoes.
    pub undoes: Option<Box<str>>,
    /// What the tool said; `None` while that is not on record.
    pub result: Option<Box<str>>,
    /// Whether a later one has undone it.
    pub is_undone: bool,
}

impl Chronicle {
    /// The user's turns, in order.
    pub fn turns(&self) -> &[TurnOnRecord] {
        &self.turns
    }

    /// The turn that a caller has sent under this key.
    pub fn turn(&self, key: &str) -> Option<&TurnOnRecord> {
        self.turns.iter().find(|turn| turn.key.as_deref() == Some(key))
    }

    /// The calls that were begun and have no outcome on record, each with its run and its place.
    pub fn begun(&self) -> impl Iterator<Item = (&str, usize, &Effect)> {
        self.begun.iter().map(|((run, place), effect)| (&**run, *place, effect))
    }

    /// Whether the call at this place of a run was begun and has no outcome on record.
    pub fn is_begun(&self, run: &str, place: usize) -> bool {
        !self.begun.is_empty() && self.begun.contains_key(&(run.into(), place))
    }

    /// The effects that tools have had, in order.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }

    /// An effect that stands: one of this tool, with this business key, that nothing has undone, under another key than
    /// `key`.
    pub fn live(&self, tool: &str, business_key: &str, key: &str) -> Option<&Effect> {
        self.effects.iter().rev().find(|effect| {
            effect.tool.as_str() == tool
                && effect.business_key.as_deref() == Some(business_key)
                && *effect.key != *key
                && !effect.is_undone
        })
    }

    /// How often the run's model call of this number has been asked for.
    pub fn attempts(&self, run: &str, call: u32) -> u32 {
        self.attempts.get(run).filter(|(of, _)| *of == call).map_or(0, |(_, attempts)| *attempts)
    }

    /// The newest time on record, in milliseconds.
    pub fn newest(&self) -> Millis {
        self.newest
    }

    /// Takes an input into account.
    pub fn note_input(&mut self, input: &Input) {
        let Input { run, at, what } = input;
        self.newest = self.newest.max(*at);
        match what {
            InputKind::TurnReceived { key, text, trace } => self.turns.push(TurnOnRecord {
                key: key.clone(),
                text: text.clone(),
                trace: trace.clone(),
                at: *at,
                closed: None,
            }),
            InputKind::ToolCompleted { place, output } => {
                self.had_effect(run, *place, Some(&output.content));
            }
            InputKind::ToolFailed { place, .. } => self.had_effect(run, *place, None),
            _ => {}
        }
    }

    fn had_effect(&mut self, run: &str, place: usize, result: Option<&str>) {
        if self.begun.is_empty() {
            return;
        }
        let Some(effect) = self.begun.remove(&(run.into(), place)) else { return };
        let Some(result) = result else { return };
        if let Some(undone) = &effect.undoes {
            let of = self.effects.iter_mut().filter(|other| other.key == *undone);
            of.for_each(|other| other.is_undone = true);
        }
        self.effects.push(Effect { result: Some(result.into()), ..effect });
    }

    /// Takes an announcement into account; `conversation` is the root's name.
    pub fn note_announced(&mut self, conversation: &str, told: &Announced) {
        let Announced { run, what } = told;
        match what {
            Announcement::ModelRequested { call, attempt, .. } => {
                self.attempts.insert(run.clone(), (*call, *attempt));
            }
            Announcement::ToolIntended { key, tool, place, effect, business_key, undoes, .. } => {
                let effect = Effect {
                    key: key.clone(),
                    tool: tool.clone(),
                    class: effect.clone(),
                    business_key: business_key.clone(),
                    undoes: undoes.clone(),
                    result: None,
                    is_undone: false,
                };
                self.begun.insert((run.clone(), *place), effect);
            }
            Announcement::Closed { answer_id, end, answer } if **run == *conversation => {
                let closed =
                    TurnClosed { answer_id: answer_id.clone(), end: end.clone(), answer: answer.clone() };
                let open = self.turns.iter_mut().filter(|turn| turn.closed.is_none());
                open.for_each(|turn| turn.closed = Some(closed.clone()));
            }
            _ => {}
        }
    }
}
