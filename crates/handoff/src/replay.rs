//! A run from its records: the inputs played again, what was announced compared.

use serde::Deserialize;
use sommelier_runtime::AgentName;
use std::collections::{BTreeMap, VecDeque};

use crate::law::shortened;
use crate::step::is_in;
use crate::{
    Announced, Announcement, Chronicle, ENTRY_VERSION, Glimpse, Input, InputKind, LoadError, Millis, Misfit,
    Relay, StartError, Step,
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
            return Err(Unread::Kind(shortened(kind).into()));
        }
        if version != ENTRY_VERSION {
            return Err(Unread::Version { kind: kind.into(), version });
        }
        let no_body = |why: serde_json::Error| Unread::Body {
            kind: kind.into(),
            why: without_middle(&why.to_string()),
        };
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

/// What an error says may quote all of a body: what is wrong stands at its beginning, and the place at its end.
fn without_middle(why: &str) -> Box<str> {
    let (head, tail) = (why.char_indices().nth(100), why.char_indices().nth_back(60));
    match (head, tail) {
        (Some((head, _)), Some((tail, _))) if head < tail => {
            format!("{} ... {}", &why[..head], &why[tail..]).into()
        }
        _ => why.into(),
    }
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
    /// A record says another time beside its body than in it.
    #[error("the time of {kind} is {beside} beside its body and {within} in it")]
    OtherTime {
        /// The record's kind.
        kind: Box<str>,
        /// The time that the record has.
        beside: Millis,
        /// The time in its body.
        within: Millis,
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
///     InputKind::TurnReceived { key: None, text: "hello".into(), trace: None, begun: false },
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

/// What a first input has led to.
enum Begun {
    Opened(AgentName),
    At(Box<Step>),
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
    /// [`Divergence`]. The run is where it was before.
    pub fn take(&mut self, input: Input) -> Result<(), Divergence> {
        self.owes_nothing(&input.run, input.what.name())?;
        if let InputKind::Joined = input.what {
            self.branches_owe_nothing(&input)?;
        }
        match std::mem::replace(&mut self.state, State::Nothing) {
            State::At(step) if !matches!(input.what, InputKind::Opened { .. }) => {
                match step.feed_and_tell(self.relay, &input) {
                    Ok((step, told)) => self.stands(step, told),
                    Err((step, misfit)) => {
                        self.state = State::At(step);
                        return Err(misfit.into());
                    }
                }
            }
            state => {
                let begun = self.begin(&state, &input);
                self.state = state;
                match begun? {
                    Begun::Opened(agent) => self.state = State::Opened(agent),
                    Begun::At(step) => {
                        let told = step.announced_since(&Glimpse::default(), &input);
                        self.stands(*step, told);
                    }
                }
            }
        }
        self.chronicle.note_input(&input);
        Ok(())
    }

    /// What the first inputs lead to.
    fn begin(&self, state: &State, input: &Input) -> Result<Begun, Divergence> {
        match (state, &input.what) {
            (State::Nothing | State::Opened(_), _) if input.run != self.conversation => {
                Err(Misfit::Path(shortened(&input.run).into()).into())
            }
            (State::Nothing, InputKind::Opened { definition, agent }) => {
                self.is_of(definition)?;
                Ok(Begun::Opened(agent.clone()))
            }
            (State::Opened(agent), InputKind::TurnReceived { text, .. }) => {
                let step = self.relay.start_at(agent.as_str(), self.conversation.clone(), text.clone())?;
                Ok(Begun::At(Box::new(step)))
            }
            (_, what) => Err(Divergence::OutOfPlace(what.name())),
        }
    }

    /// The run has come to this step by an input; what has followed from that is owed.
    fn stands(&mut self, step: Step, told: Vec<Announced>) {
        for Announced { run, what, .. } in told {
            self.owed.entry(run).or_default().push_back(what);
        }
        self.state = State::At(Box::new(step));
    }

    /// Nothing comes to a run, and nothing is begun in it, before what has followed there and in the runs above it is told.
    fn owes_nothing(&self, run: &str, found: &str) -> Result<(), Divergence> {
        match self.owed.iter().find(|(owing, _)| is_in(run, owing)) {
            Some((owing, told)) => Err(differs(owing, told.front(), found)),
            None => Ok(()),
        }
    }

    /// Branches are told of to their end before they are joined.
    fn branches_owe_nothing(&self, joined: &Input) -> Result<(), Divergence> {
        match self.owed.iter().find(|(owing, _)| is_in(owing, &joined.run)) {
            Some((owing, told)) => Err(differs(owing, told.front(), joined.what.name())),
            None => Ok(()),
        }
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
        if told.what.is_intent() {
            self.owes_nothing(&told.run, told.what.name())?;
        }
        let expected = match &told.what {
            Announcement::ModelRequested { .. } => self.request(&told.run),
            Announcement::ToolIntended { place, .. } => self.intention(&told.run, *place),
            _ => self.owed.get(&told.run).and_then(VecDeque::front).cloned(),
        };
        if expected.as_ref() != Some(&told.what) {
            return Err(differs(&told.run, expected.as_ref(), &text(&told.what)));
        }
        if let (false, Some(owed)) = (told.what.is_intent(), self.owed.get_mut(&told.run)) {
            owed.pop_front();
            if owed.is_empty() {
                self.owed.remove(&told.run);
            }
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

    /// The agent at which the conversation was opened, while nobody has spoken in it.
    pub fn opened_at(&self) -> Option<&AgentName> {
        match &self.state {
            State::Opened(agent) => Some(agent),
            State::Nothing | State::At(_) => None,
        }
    }

    /// What the records say besides.
    pub fn chronicle(&self) -> &Chronicle {
        &self.chronicle
    }

    /// What follows from the inputs and is not on record: whoever goes on writes it down first.
    pub fn owed(&self) -> impl Iterator<Item = Announced> {
        self.owed.iter().flat_map(|(run, told)| {
            let at = self.chronicle.newest();
            told.iter().map(move |what| Announced { run: run.clone(), at, what: what.clone() })
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
    let expected = expected.map_or_else(|| "nothing".to_owned(), text);
    let begin = parting(&expected, found);
    let shown = |text: &str| shown_from(text, begin).into();
    Divergence::Differs { run: shortened(run).into(), expected: shown(&expected), found: shown(found) }
}

/// The announcement as text: its kind comes first.
fn text(told: &Announcement) -> String {
    serde_json::to_string(told).unwrap_or_default()
}

/// The first character in which two texts differ.
fn parting(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
}

/// The beginning of a text, which says of what kind it is, and its characters around this one.
fn shown_from(text: &str, place: usize) -> String {
    const BEGIN: usize = 40;
    const AROUND: usize = 60;
    let begin = place.saturating_sub(AROUND / 2).max(BEGIN);
    let some = |from: usize, count| text.chars().skip(from).take(count).collect::<String>();
    let (head, tail) = (some(0, BEGIN), some(begin, AROUND));
    let gap = if begin > BEGIN { " ... " } else { "" };
    let rest = if text.chars().nth(begin + AROUND).is_some() { " ..." } else { "" };
    format!("{head}{gap}{tail}{rest}")
}
