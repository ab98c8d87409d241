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
    first: [Option<Word>; 4],
    more: Vec<Word>,
}

/// One of them.
#[derive(Debug)]
pub(crate) enum Word {
    Text(Text, Box<str>),
    Number(Number, u64),
}

/// A text that is counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Text {
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
}

impl Text {
    /// As much of a value as is kept.
    fn kept(self, value: &str) -> Box<str> {
        match self {
            Self::ChildRun | Self::ParentRun => clip_id(value).into(),
            _ => clip(value).into(),
        }
    }
}

/// A number that is added up or listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    /// 1 for yes.
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

enum Place {
    Text(Text),
    Number(Number),
}

impl Place {
    fn of(field: &str) -> Option<Self> {
        Some(match field {
            names::AGENT_NAME => Self::Text(Text::Agent),
            names::CHILD_RUN => Self::Text(Text::ChildRun),
            names::END => Self::Text(Text::End),
            names::ERROR_TYPE => Self::Text(Text::Error),
            names::MEASURE => Self::Text(Text::Measure),
            names::OUTCOME => Self::Text(Text::Outcome),
            names::PARENT_RUN => Self::Text(Text::ParentRun),
            names::REFUSAL => Self::Text(Text::Refusal),
            names::STATUS => Self::Text(Text::Status),
            names::TRANSFER_TARGET => Self::Text(Text::Target),
            names::TOOL_NAME => Self::Text(Text::Tool),
            names::BEGINS => Self::Number(Number::Begins),
            names::CONSTRAINTS_BROKEN => Self::Number(Number::ConstraintsBroken),
            names::CONSTRAINTS_KEPT => Self::Number(Number::ConstraintsKept),
            names::CONSTRAINTS_UNCHECKED => Self::Number(Number::ConstraintsUnchecked),
            names::CONSTRAINTS_UNKNOWN => Self::Number(Number::ConstraintsUnknown),
            names::HISTORY_BYTES => Self::Number(Number::HistoryBytes),
            names::HOP => Self::Number(Number::Hop),
            names::HOP_OF_MESSAGE => Self::Number(Number::HopOfMessage),
            names::INPUT_TOKENS => Self::Number(Number::InputTokens),
            names::OUTPUT_TOKENS => Self::Number(Number::OutputTokens),
            names::PACKAGE_BYTES => Self::Number(Number::PackageBytes),
            names::REFERENCE_BYTES => Self::Number(Number::ReferenceBytes),
            names::STEPS_USED => Self::Number(Number::StepsUsed),
            _ => return None,
        })
    }
}

impl Told {
    /// Takes a word in; it wins over an earlier one.
    pub(crate) fn take(&mut self, word: Word) {
        for place in &mut self.first {
            if place.as_ref().is_none_or(|known| known.is_of(&word)) {
                *place = Some(word);
                return;
            }
        }
        match self.more.iter_mut().find(|known| known.is_of(&word)) {
            Some(known) => *known = word,
            None => self.more.push(word),
        }
    }

    /// The text, unless it is empty.
    pub(crate) fn text(&self, text: Text) -> Option<&str> {
        let told = self.words().find_map(|word| match word {
            Word::Text(of, told) if *of == text => Some(&**told),
            Word::Text(..) | Word::Number(..) => None,
        });
        told.filter(|told| !told.is_empty())
    }

    /// The number; 0 where nothing was told.
    pub(crate) fn number(&self, number: Number) -> u64 {
        let told = self.words().find_map(|word| match word {
            Word::Number(of, told) if *of == number => Some(*told),
            Word::Text(..) | Word::Number(..) => None,
        });
        told.unwrap_or_default()
    }

    fn words(&self) -> impl Iterator<Item = &Word> {
        self.first.iter().flatten().chain(&self.more)
    }
}

impl Word {
    /// Whether both tell of the same.
    fn is_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one, _), Self::Text(two, _)) => one == two,
            (Self::Number(one, _), Self::Number(two, _)) => one == two,
            (Self::Text(..), Self::Number(..)) | (Self::Number(..), Self::Text(..)) => false,
        }
    }
}

/// Hands each word of a span on that is counted, one by one.
///
/// A value's `Debug` is code of the caller: it may panic, or open a span itself. It has run when a word is handed on, so
/// that whoever takes the word may hold a lock meanwhile.
pub(crate) struct Listen<F> {
    kind: Kind,
    then: F,
}

impl<F: FnMut(Word)> Listen<F> {
    pub(crate) fn to(kind: Kind, then: F) -> Self {
        Self { kind, then }
    }

    /// Nobody asks which agent a workflow or a tool run was of, nor which tool a handoff.
    fn is_counted(&self, text: Text) -> bool {
        !matches!((self.kind, text), (Kind::Workflow | Kind::Tool, Text::Agent) | (Kind::Handoff, Text::Tool))
    }

    fn number(&mut self, field: &Field, value: impl TryInto<u64>) {
        if let Some(Place::Number(number)) = Place::of(field.name())
            && let Ok(value) = value.try_into()
        {
            (self.then)(Word::Number(number, value));
        }
    }
}

impl<F: FnMut(Word)> Visit for Listen<F> {
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
        match Place::of(field.name()) {
            Some(Place::Text(text)) if self.is_counted(text) => {
                (self.then)(Word::Text(text, text.kept(value)));
            }
            Some(Place::Number(_)) => {
                if let Ok(value) = value.parse::<u64>() {
                    self.number(field, value);
                }
            }
            Some(Place::Text(_)) | None => {}
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if Place::of(field.name()).is_some() {
            let mut text = String::new();
            // A `Debug` that gives up keeps what it wrote until then; `format!` would panic.
            let _ = write!(text, "{value:?}");
            self.record_str(field, &text);
        }
    }
}
