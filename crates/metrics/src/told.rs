//! What spans tell of the things that are counted.

use std::fmt;
use std::fmt::Write as _;

use tracing::field::{Field, Visit};

use crate::names;
use crate::open::Kind;
use crate::text::{clip, clip_id};

/// The texts and numbers of one span that a count is made of, as last recorded.
///
/// A span tells much more. That is passed by: it is neither copied nor formatted, which is most of what it costs to
/// count (docs/performance.md).
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// All that most spans tell: no memory is asked for it.
    first: [Option<Word>; 3],
    more: Vec<Word>,
}

#[derive(Debug)]
struct Word {
    key: Key,
    value: Value,
}

#[derive(Debug)]
enum Value {
    Text(Box<str>),
    Number(u64),
}

/// What a count is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Agent,
    ChildRun,
    End,
    Error,
    Measure,
    Outcome,
    ParentRun,
    Refusal,
    Status,
    Target,
    Tool,
    /// A number, as all that follow: 1 for yes.
    Begins,
    ConstraintsBroken,
    ConstraintsKept,
    ConstraintsUnchecked,
    ConstraintsUnknown,
    HistoryBytes,
    Hop,
    HopOfMessage,
    InputTokens,
    OutputTokens,
    PackageBytes,
    ReferenceBytes,
    StepsUsed,
}

impl Key {
    fn is_number(self) -> bool {
        self as u8 >= Self::Begins as u8
    }

    /// What is kept of a value that came as text: a name is clipped, and a number may be written out. Nothing, where the field
    /// should have a number and has none.
    fn kept(self, value: &str) -> Option<Value> {
        match self {
            _ if self.is_number() => value.parse().ok().map(Value::Number),
            Self::ChildRun | Self::ParentRun => Some(Value::Text(clip_id(value).into())),
            _ => Some(Value::Text(clip(value).into())),
        }
    }
}

/// The fields of one kind of span that are counted by.
struct Counted {
    fields: &'static [(&'static str, Key)],
    /// How long their names are. Most fields of a span have a name of another length, and that is told fastest.
    lengths: u64,
}

impl Counted {
    const fn of(fields: &'static [(&'static str, Key)]) -> Self {
        let (mut lengths, mut at) = (0, 0);
        while at < fields.len() {
            lengths |= length(fields[at].0);
            at += 1;
        }
        Self { fields, lengths }
    }

    fn key(&self, field: &Field) -> Option<Key> {
        let name = field.name();
        if self.lengths & length(name) == 0 {
            return None;
        }
        self.fields.iter().find(|(counted, _)| *counted == name).map(|(_, key)| *key)
    }
}

/// A bit for each length; one for all from 63 on.
const fn length(name: &str) -> u64 {
    1 << if name.len() < 63 { name.len() } else { 63 }
}

/// The fields of an activation of an agent that are counted by.
static OF_AGENT: Counted = Counted::of(&[(names::AGENT_NAME, Key::Agent)]);
/// Those of a model call.
static OF_CHAT: Counted = Counted::of(&[
    (names::INPUT_TOKENS, Key::InputTokens),
    (names::OUTPUT_TOKENS, Key::OutputTokens),
    (names::AGENT_NAME, Key::Agent),
    (names::ERROR_TYPE, Key::Error),
]);
/// Those of a run of a tool.
static OF_TOOL: Counted = Counted::of(&[(names::TOOL_NAME, Key::Tool), (names::ERROR_TYPE, Key::Error)]);
/// Those of a handoff.
static OF_HANDOFF: Counted = Counted::of(&[
    (names::AGENT_NAME, Key::Agent),
    (names::TRANSFER_TARGET, Key::Target),
    (names::PACKAGE_BYTES, Key::PackageBytes),
    (names::HISTORY_BYTES, Key::HistoryBytes),
    (names::REFERENCE_BYTES, Key::ReferenceBytes),
    (names::OUTCOME, Key::Outcome),
    (names::HOP, Key::Hop),
    (names::HOP_OF_MESSAGE, Key::HopOfMessage),
    (names::REFUSAL, Key::Refusal),
    (names::ERROR_TYPE, Key::Error),
]);
/// Those of the answer to a user message.
static OF_WORKFLOW: Counted = Counted::of(&[
    (names::BEGINS, Key::Begins),
    (names::END, Key::End),
    (names::MEASURE, Key::Measure),
    (names::CONSTRAINTS_KEPT, Key::ConstraintsKept),
    (names::CONSTRAINTS_BROKEN, Key::ConstraintsBroken),
    (names::CONSTRAINTS_UNCHECKED, Key::ConstraintsUnchecked),
    (names::CONSTRAINTS_UNKNOWN, Key::ConstraintsUnknown),
]);
/// Those of a question to a delegate.
static OF_DELEGATE: Counted = Counted::of(&[
    (names::AGENT_NAME, Key::Agent),
    (names::TRANSFER_TARGET, Key::Target),
    (names::TOOL_NAME, Key::Tool),
    (names::PARENT_RUN, Key::ParentRun),
    (names::CHILD_RUN, Key::ChildRun),
    (names::PACKAGE_BYTES, Key::PackageBytes),
    (names::STATUS, Key::Status),
    (names::STEPS_USED, Key::StepsUsed),
    (names::REFUSAL, Key::Refusal),
    (names::ERROR_TYPE, Key::Error),
    (names::MEASURE, Key::Measure),
    (names::CONSTRAINTS_KEPT, Key::ConstraintsKept),
    (names::CONSTRAINTS_BROKEN, Key::ConstraintsBroken),
    (names::CONSTRAINTS_UNCHECKED, Key::ConstraintsUnchecked),
    (names::CONSTRAINTS_UNKNOWN, Key::ConstraintsUnknown),
]);

/// Nobody asks which agent a tool run was of, nor which tool a handoff: a field is counted by on the spans where it says
/// something that no other field does.
fn counted(kind: Kind) -> &'static Counted {
    match kind {
        Kind::Workflow => &OF_WORKFLOW,
        Kind::Agent => &OF_AGENT,
        Kind::Chat => &OF_CHAT,
        Kind::Tool => &OF_TOOL,
        Kind::Handoff => &OF_HANDOFF,
        Kind::Delegate => &OF_DELEGATE,
    }
}

impl Told {
    /// Takes a value in; it wins over an earlier one.
    fn take(&mut self, word: Word) {
        for place in &mut self.first {
            if place.as_ref().is_none_or(|known| known.key == word.key) {
                *place = Some(word);
                return;
            }
        }
        match self.more.iter_mut().find(|known| known.key == word.key) {
            Some(known) => *known = word,
            None => self.more.push(word),
        }
    }

    /// Takes in what was told later.
    pub(crate) fn merge(&mut self, later: Self) {
        for word in later.first.into_iter().flatten() {
            self.take(word);
        }
        for word in later.more {
            self.take(word);
        }
    }

    /// The text, unless it is empty.
    pub(crate) fn text(&self, key: Key) -> Option<&str> {
        match self.get(key)? {
            Value::Text(text) if !text.is_empty() => Some(text),
            Value::Text(_) | Value::Number(_) => None,
        }
    }

    /// The number; 0 where nothing was told.
    pub(crate) fn number(&self, key: Key) -> u64 {
        match self.get(key) {
            Some(Value::Number(number)) => *number,
            Some(Value::Text(_)) | None => 0,
        }
    }

    fn get(&self, key: Key) -> Option<&Value> {
        let first = self.first.iter().flatten().find(|word| word.key == key);
        first.or_else(|| self.more.iter().find(|word| word.key == key)).map(|word| &word.value)
    }
}

/// Reads the words of a span that are counted.
///
/// A value's `Debug` is code of the caller: it may panic, or open a span itself. So nothing is locked while it runs.
pub(crate) struct Listen {
    counted: &'static Counted,
    told: Told,
}

impl Listen {
    pub(crate) fn to(kind: Kind, tell: impl FnOnce(&mut dyn Visit)) -> Told {
        let mut listen = Self { counted: counted(kind), told: Told::default() };
        tell(&mut listen);
        listen.told
    }

    fn number(&mut self, field: &Field, value: impl TryInto<u64>) {
        if let Some(key) = self.counted.key(field).filter(|key| key.is_number())
            && let Ok(value) = value.try_into()
        {
            self.told.take(Word { key, value: Value::Number(value) });
        }
    }
}

impl Visit for Listen {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.number(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.number(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.number(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if let Some(key) = self.counted.key(field)
            && let Some(value) = key.kept(value)
        {
            self.told.take(Word { key, value });
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if self.counted.key(field).is_some() {
            let mut text = String::new();
            // A `Debug` that gives up keeps what it wrote until then; `format!` would panic.
            let _ = write!(text, "{value:?}");
            self.record_str(field, &text);
        }
    }
}
