//! A run from its records: the inputs played again, what was announced compared.

use serde::Deserialize;
use sommelier_runtime::AgentName;
use std::collections::{BTreeMap, VecDeque};

use crate::{
    Announced, Announcement, Chronicle, ENTRY_VERSION, Input, InputKind, LoadError, Misfit, Relay,
    StartError, Step,
};

/// A record of a run, as it is read from a journal.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// What came in.
    Input(Box<Input>),
    /// What was told.
    Announced(Box<Announced>),
}

impl Entry {
    /// Reads a record by its kind and version.
    ///
    /// # Errors
    /// [`Unread`]: a kind or a version that this release does not know, or a body that is not of that kind. Nothing is
    /// skipped, as what follows from it would be missing.
    pub fn read(kind: &str, version: u32, body: &str) -> Result<Self, Unread> {
        let is_input = InputKind::NAMES.contains(&kind);
        if !is_input && !Announcement::NAMES.contains(&kind) {
            return Err(Unread::Kind(kind.into()));
        }
        if version != ENTRY_VERSION {
            return Err(Unread::Version { kind: kind.into(), version });
        }
        let no_body =
            |why: serde_json::Error| Unread::Body { kind: kind.into(), why: why.to_string().into() };
        let other = |found: &str| Unread::OtherBody { kind: kind.into(), found: found.into() };
        if is_input {
            let input: Input = read(body).map_err(no_body)?;
            let found = input.what.name();
            return if found == kind { Ok(Self::Input(Box::new(input))) } else { Err(other(found)) };
        }
        let told: Announced = read(body).map_err(no_body)?;
        let found = told.what.name();
        if found == kind { Ok(Self::Announced(Box::new(told))) } else { Err(other(found)) }
    }
}

/// A body is as deep as what a model wrote, which is held to bounds when it comes in.
fn read<'de, T: Deserialize<'de>>(body: &'de str) -> serde_json::Result<T> {
    serde_json::from_str(body)
}

/// A record that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// No kind that this release knows: the journal is of a newer one.
    #[error("the kind {0:?} is not known to this release")]
    Kind(Box<str>),
    /// A version of the kind that this release does not know.
    #[error("version {version} of {kind} is not known to this release")]
    Version {
        /// The kind.
        kind: Box<str>,
        /// The version.
        version: u32,
    },
    /// A body that is not one of the kind.
    #[error("the body of {kind} cannot be read: {why}")]
    Body {
        /// The kind.
        kind: Box<str>,
        /// Why.
        why: Box<str>,
    },
    /// A body that is one of another kind.
    #[error("the body of {kind} is one of {found}")]
    OtherBody {
        /// The kind that the record says.
        kind: Box<str>,
        /// The kind that the body says.
        found: Box<str>,
    },
}

/// Why records are not those of a run of this definition. The run stops there, and nothing of it is lost.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Divergence {
    /// A record that cannot be read.
    #[error(transparent)]
    Unread(#[from] Unread),
    /// The conversation began with another definition.
    #[error(transparent)]
    OtherDefinition(LoadError),
    /// Something stands before the record that opens the conversation, or a second such record.
    #[error("{0} is out of place: a conversation is opened once, before anything else")]
    OutOfPlace(&'static str),
    /// The conversation cannot begin like this.
    #[error(transparent)]
    Start(#[from] StartError),
    /// An input that does not fit where the run stands.
    #[error(transparent)]
    Misfit(#[from] Misfit),
    /// An announcement is not the one that follows from the inputs.
    #[error("{run}: {found} is on record, and {expected} follows from the inputs")]
    Differs {
        /// The run.
        run: Box<str>,
        /// What follows, or `nothing`.
        expected: Box<str>,
        /// What is on record.
        found: Box<str>,
    },
}

/// Plays the records of one conversation, and comes to where its run stands.
///
/// ```
/// use sommelier_handoff::{Agent, Input, InputKind, Relay, Replay, Step};
/// use sommelier_runtime::script;
///
/// let relay = Relay::builder().agent(Agent::new("clerk", "You greet.")).entry("clerk").build()?;
/// let mut replay = Replay::new(&relay, "c");
/// let inputs = [
///     InputKind::Opened { definition: relay.definition_id().into(), agent: relay.entry().clone() },
///     InputKind::TurnReceived { key: None, text: "hello".into(), trace: None },
///     InputKind::ModelResponded { response: Box::new(script::say("Good morning.")) },
/// ];
/// for what in inputs {
///     replay.take(Input { run: "c".into(), at: 1, what })?;
/// }
/// let Some(Step::Done(done)) = replay.step() else { panic!() };
/// assert_eq!(done.answer().as_deref(), Some("Good morning."));
/// // What follows from the inputs and is not on record yet is to be written down first.
/// assert_eq!(replay.owed().map(|told| told.what.name()).collect::<Vec<_>>(), ["closed"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Replay<'r> {
    relay: &'r Relay,
    conversation: Box<str>,
    state: State,
    /// What has followed from the inputs of each run and has not come up among the records yet.
    owed: BTreeMap<Box<str>, VecDeque<Announcement>>,
    chronicle: Chronicle,
}

#[derive(Clone, Debug)]
enum State {
    Nothing,
    Opened(AgentName),
    At(Box<Step>),
}

impl<'r> Replay<'r> {
    /// A conversation of this name without a record.
    pub fn new(relay: &'r Relay, conversation: impl Into<Box<str>>) -> Self {
        Self {
            relay,
            conversation: conversation.into(),
            state: State::Nothing,
            owed: BTreeMap::new(),
            chronicle: Chronicle::default(),
        }
    }

    /// Reads the next record and plays it.
    ///
    /// # Errors
    /// [`Divergence`].
    pub fn read(&mut self, kind: &str, version: u32, body: &str) -> Result<(), Divergence> {
        match Entry::read(kind, version, body)? {
            Entry::Input(input) => self.take(*input),
            Entry::Announced(told) => self.compare(*told),
        }
    }

    /// Plays the next input.
    ///
    /// # Errors
    /// [`Divergence`].
    pub fn take(&mut self, input: Input) -> Result<(), Divergence> {
        if let Some(owed) = self.owed.get(&input.run).and_then(VecDeque::front) {
            return Err(differs(&input.run, Some(owed), input.what.name()));
        }
        self.chronicle.note_input(&input);
        let state = std::mem::replace(&mut self.state, State::Nothing);
        self.state = match (state, &input.what) {
            (State::Nothing, InputKind::Opened { definition, agent }) => {
                self.is_of(definition)?;
                State::Opened(agent.clone())
            }
            (State::Opened(agent), InputKind::TurnReceived { text, .. }) => {
                let step = self.relay.start_at(agent.as_str(), self.conversation.clone(), text.clone())?;
                State::At(Box::new(step))
            }
            (State::At(step), what) if !matches!(what, InputKind::Opened { .. }) => {
                let before = step.at(self.relay, &input.run).map(|(_, step)| step.glimpse());
                let step = step.feed(self.relay, &input)?;
                let after = step.at(self.relay, &input.run);
                if let (Some(before), Some((_, after))) = (before, after) {
                    let told = after.announced_since(&before, what);
                    self.owed.entry(input.run).or_default().extend(told);
                }
                State::At(Box::new(step))
            }
            (_, what) => return Err(Divergence::OutOfPlace(what.name())),
        };
        Ok(())
    }

    fn is_of(&self, definition: &str) -> Result<(), Divergence> {
        let ours = self.relay.fingerprint();
        match u64::from_str_radix(definition, 16) {
            Ok(saved) if saved == ours => Ok(()),
            saved => {
                let saved = saved.unwrap_or_default();
                Err(Divergence::OtherDefinition(LoadError::OtherDefinition { saved, ours }))
            }
        }
    }

    /// Compares the next announcement on record with what follows from the inputs.
    ///
    /// # Errors
    /// [`Divergence::Differs`].
    pub fn compare(&mut self, told: Announced) -> Result<(), Divergence> {
        let expected = match &told.what {
            Announcement::ModelRequested { .. } => self.request(&told.run),
            Announcement::ToolIntended { place, .. } => self.intention(&told.run, *place),
            _ => self.owed.get_mut(&told.run).and_then(VecDeque::pop_front),
        };
        if expected.as_ref() != Some(&told.what) {
            return Err(differs(&told.run, expected.as_ref(), &shown(&told.what)));
        }
        self.chronicle.note_announced(&self.conversation, &told);
        Ok(())
    }

    fn request(&self, run: &str) -> Option<Announcement> {
        let (relay, step) = self.step()?.at(self.relay, run)?;
        let Step::CallModel(call) = step else { return None };
        let asked = self.chronicle.attempts(run, call.number());
        Some(call.intent(relay, asked.saturating_add(1)))
    }

    fn intention(&self, run: &str, place: usize) -> Option<Announcement> {
        let (relay, step) = self.step()?.at(self.relay, run)?;
        let Step::CallTools(calls) = step else { return None };
        calls.intent(relay, place, &self.chronicle)
    }

    /// Where the run stands; `None` before the user has spoken.
    pub fn step(&self) -> Option<&Step> {
        match &self.state {
            State::At(step) => Some(step),
            State::Nothing | State::Opened(_) => None,
        }
    }

    /// Whether there is a record that opens the conversation.
    pub fn is_opened(&self) -> bool {
        !matches!(self.state, State::Nothing)
    }

    /// What the records say besides.
    pub fn chronicle(&self) -> &Chronicle {
        &self.chronicle
    }

    /// What follows from the inputs and is not on record: whoever goes on writes it down first.
    pub fn owed(&self) -> impl Iterator<Item = Announced> {
        self.owed.iter().flat_map(|(run, told)| {
            told.iter().map(move |what| Announced { run: run.clone(), what: what.clone() })
        })
    }

    /// The step and the rest, for a driver that goes on; `None` before the user has spoken. What was [owed](Self::owed)
    /// counts as written down.
    pub fn into_parts(mut self) -> (Option<Step>, Chronicle) {
        for told in self.owed().collect::<Vec<_>>() {
            self.chronicle.note_announced(&self.conversation, &told);
        }
        let step = match self.state {
            State::At(step) => Some(*step),
            State::Nothing | State::Opened(_) => None,
        };
        (step, self.chronicle)
    }
}

fn differs(run: &str, expected: Option<&Announcement>, found: &str) -> Divergence {
    let expected = expected.map_or_else(|| "nothing".to_owned(), shown);
    Divergence::Differs { run: run.into(), expected: expected.into(), found: found.into() }
}

/// An announcement for an error.
fn shown(told: &Announcement) -> String {
    let text = serde_json::to_string(told).unwrap_or_default();
    crate::law::shortened(&text)
}
