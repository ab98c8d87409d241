//! What a conversation's records say besides where its run stands.

use std::collections::{BTreeMap, BTreeSet};

use sommelier_protocol::ToolName;

use sommelier_runtime::tool::Effect as Class;

use crate::question::suffix;
use crate::step::is_in;
use crate::{Announced, Announcement, Answer, Input, InputKind, Millis};

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
    /// Whether other conversations may have an effect of the same business key.
    pub per_conversation: bool,
    /// The key of the effect that this one undoes.
    pub undoes: Option<Box<str>>,
    /// When it was intended last, in milliseconds since 1970.
    pub at: Millis,
    /// When it was intended first: from then on the other side may know its key.
    pub since: Millis,
    /// How often it was intended.
    pub attempts: u32,
    /// What the tool said; `None` while that is not on record, and where nobody knows whether it was had at all.
    pub result: Option<Box<str>>,
    /// Whether a later one has undone it.
    pub is_undone: bool,
}

impl Effect {
    /// The name of what this effect is, among all conversations: the tool and its business key. `None` where other
    /// conversations may have the same.
    ///
    /// ```
    /// use sommelier_handoff::Effect;
    ///
    /// assert_eq!(Effect::claim_of("refund", r#"{"order":17}"#), r#"refund {"order":17}"#);
    /// ```
    pub fn claim(&self) -> Option<String> {
        let business_key = self.business_key.as_deref().filter(|_| !self.per_conversation)?;
        (*self.class != *Class::ReadOnly.as_str()).then(|| Self::claim_of(self.tool.as_str(), business_key))
    }

    /// The name of an effect of this tool with this business key.
    pub fn claim_of(tool: &str, business_key: &str) -> String {
        format!("{tool} {business_key}")
    }
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

    /// The call at this place of a run, where it was begun and has no outcome on record.
    pub fn begun_at(&self, run: &str, place: usize) -> Option<&Effect> {
        if self.begun.is_empty() { None } else { self.begun.get(&(run.into(), place)) }
    }

    /// Whether any call of a run was begun and has no outcome on record.
    pub fn is_any_begun(&self, run: &str) -> bool {
        self.begun.keys().any(|(of, _)| **of == *run)
    }

    /// Of the calls that were begun and have no outcome on record, those whose effect may be there all the same: what only reads has
    /// none, and what is written with its record has come with it or not at all.
    pub fn in_doubt(&self) -> impl Iterator<Item = &Effect> {
        let classes = [Class::ReadOnly, Class::Transactional];
        self.begun.values().filter(move |effect| classes.iter().all(|class| *effect.class != *class.as_str()))
    }

    /// The effects that tools have had or may have had, in order. What only reads has none.
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

    /// The effects that no other conversation is to have: each that stands or may come to, by its
    /// [claim](Effect::claim). Each stands here once.
    pub fn claims(&self) -> BTreeSet<String> {
        let standing = self.effects.iter().filter(|effect| !effect.is_undone);
        standing.chain(self.begun.values()).filter_map(Effect::claim).collect()
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
            InputKind::TurnReceived { key, text, trace, begun: _ } => self.turns.push(TurnOnRecord {
                key: key.clone(),
                text: text.clone(),
                trace: trace.clone(),
                at: *at,
                closed: None,
            }),
            InputKind::ToolCompleted { place, output } => {
                self.came_to(|of, at| *of == **run && at == *place, Outcome::Had(&output.content));
            }
            InputKind::ToolFailed { place, output } => {
                let outcome = if output.is_in_doubt() { Outcome::Unknown } else { Outcome::Absent };
                self.came_to(|of, at| *of == **run && at == *place, outcome);
            }
            InputKind::HumanAnswered { id, answer, .. } => self.attested(id, answer),
            InputKind::Retried | InputKind::MoreGiven { .. } => self.reopen(),
            _ => {}
        }
    }

    /// A person has said what came of a call that was in doubt.
    fn attested(&mut self, question: &str, answer: &Answer) {
        let Some(key) = question.strip_suffix(suffix::IN_DOUBT) else { return };
        let outcome = match answer {
            Answer::Happened { result } => Outcome::Had(result),
            Answer::DidNotHappen | Answer::Undone => Outcome::Absent,
            Answer::Approve | Answer::Reject { .. } | Answer::Say { .. } | Answer::TakeOver { .. } => return,
        };
        let call = self.begun.iter().find(|(_, effect)| *effect.key == *key);
        let Some((run, place)) = call.map(|(call, _)| call.clone()) else { return };
        self.came_to(|of, at| *of == *run && at == place, outcome);
    }

    /// The run goes on from its end: what it had come to is not what the turn comes to.
    fn reopen(&mut self) {
        let Some(closed) = self.turns.last().and_then(|turn| turn.closed.clone()) else { return };
        let ended = self.turns.iter_mut().rev().take_while(|turn| turn.closed.as_ref() == Some(&closed));
        ended.for_each(|turn| turn.closed = None);
    }

    /// Calls that were begun, by run and place, have come to this.
    fn came_to(&mut self, is_meant: impl Fn(&str, usize) -> bool, outcome: Outcome<'_>) {
        if self.begun.is_empty() {
            return;
        }
        let meant: Vec<(Box<str>, usize)> =
            self.begun.keys().filter(|(run, place)| is_meant(run, *place)).cloned().collect();
        for call in meant {
            if let Some(effect) = self.begun.remove(&call) {
                self.keep(effect, outcome);
            }
        }
    }

    fn keep(&mut self, effect: Effect, outcome: Outcome<'_>) {
        let is_of = |class: Class| *effect.class == *class.as_str();
        let result = match outcome {
            _ if is_of(Class::ReadOnly) => return,
            Outcome::Absent => return,
            // What it wrote is there with its record, or not at all.
            Outcome::Unknown if is_of(Class::Transactional) => return,
            Outcome::Unknown => None,
            Outcome::Had(result) => Some(result.into()),
        };
        if let (Some(undone), Some(_)) = (&effect.undoes, &result) {
            let of = self.effects.iter_mut().filter(|other| other.key == *undone);
            of.for_each(|other| other.is_undone = true);
        }
        self.effects.push(Effect { result, ..effect });
    }

    /// Takes an announcement into account; `conversation` is the root's name.
    pub fn note_announced(&mut self, conversation: &str, told: &Announced) {
        let Announced { run, at, what } = told;
        self.newest = self.newest.max(*at);
        match what {
            Announcement::ModelRequested { call, attempt, .. } => {
                self.attempts.insert(run.clone(), (*call, *attempt));
                // The reply before is answered, so nobody waits for what was begun for it.
                self.came_to(|of, _| *of == **run, Outcome::Unknown);
            }
            Announcement::ToolIntended {
                key,
                tool,
                place,
                effect,
                business_key,
                per_conversation,
                undoes,
                ..
            } => {
                let before = self.begun.get(&(run.clone(), *place)).filter(|effect| effect.key == *key);
                let attempts = before.map_or(0, |effect| effect.attempts).saturating_add(1);
                let since = before.map_or(*at, |effect| effect.since);
                let effect = Effect {
                    key: key.clone(),
                    at: *at,
                    since,
                    attempts,
                    tool: tool.clone(),
                    class: effect.clone(),
                    business_key: business_key.clone(),
                    per_conversation: *per_conversation,
                    undoes: undoes.clone(),
                    result: None,
                    is_undone: false,
                };
                self.begun.insert((run.clone(), *place), effect);
            }
            Announcement::Closed { answer_id, end, answer } => {
                self.came_to(|of, _| is_in(of, run), Outcome::Unknown);
                if **run != *conversation {
                    return;
                }
                let closed =
                    TurnClosed { answer_id: answer_id.clone(), end: end.clone(), answer: answer.clone() };
                let open = self.turns.iter_mut().filter(|turn| turn.closed.is_none());
                open.for_each(|turn| turn.closed = Some(closed.clone()));
            }
            _ => {}
        }
    }
}

/// What is known of a call that was begun.
#[derive(Clone, Copy)]
enum Outcome<'a> {
    /// It has had its effect, and this is what it gave.
    Had(&'a str),
    /// It has had none, or none that is left.
    Absent,
    /// Nobody knows.
    Unknown,
}
