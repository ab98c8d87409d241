//! The spans that are open and will be counted.
//!
//! They stand in one table beside the counts and not in the extensions of the registry: a count touches a span about four
//! times, and each time a lookup here costs a fraction of one there (docs/performance.md has the figures).

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::iter;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use tracing::{Metadata, span};

use crate::names;
use crate::slots::LayerId;
use crate::text::micros;
use crate::told::{Text, Told};

/// A span: ids are given out anew by each registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key(Home, u64);

impl Key {
    pub(crate) fn new(home: Home, id: &span::Id) -> Self {
        Self(home, id.into_u64())
    }
}

/// Whose ids they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Home {
    /// A registry's, by its address: an open span keeps its registry alive, so no other gets the same one meanwhile.
    Registry(usize),
    /// A layer's own, where the subscriber is built on no registry that is known.
    Layer(LayerId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Workflow,
    Agent,
    Chat,
    Tool,
    Handoff,
    Delegate,
}

impl Kind {
    pub(crate) fn of(metadata: &Metadata<'_>) -> Option<Self> {
        if metadata.target() != names::TARGET {
            return None;
        }
        match metadata.name() {
            names::INVOKE_WORKFLOW => Some(Self::Workflow),
            names::INVOKE_AGENT => Some(Self::Agent),
            names::CHAT => Some(Self::Chat),
            names::EXECUTE_TOOL => Some(Self::Tool),
            names::HANDOFF => Some(Self::Handoff),
            names::DELEGATE => Some(Self::Delegate),
            _ => None,
        }
    }

    /// When a span of this kind was opened, if its count tells how long it was.
    pub(crate) fn timing(self) -> Option<Arc<Timing>> {
        match self {
            Self::Handoff | Self::Delegate => {
                Some(Arc::new(Timing { opened: Instant::now(), first_chat_us: OnceLock::new() }))
            }
            Self::Workflow | Self::Agent | Self::Chat | Self::Tool => None,
        }
    }
}

/// What is kept of one open span.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) kind: Kind,
    pub(crate) told: Told,
    /// The nearest span around it that is counted too.
    pub(crate) around: Option<Key>,
    /// A handoff's or a delegation's own; a receiver's, that of the handoff which it follows from.
    pub(crate) timing: Option<Arc<Timing>>,
    /// On a workflow, how many branches are open under it; on a delegation, 1 if it opened one.
    pub(crate) branches: u64,
}

impl Open {
    /// Microseconds since it was opened, if its kind is timed.
    pub(crate) fn elapsed_us(&self) -> u64 {
        self.timing.as_ref().map_or(0, |timing| micros(timing.opened.elapsed()))
    }
}

#[derive(Debug)]
pub(crate) struct Timing {
    pub(crate) opened: Instant,
    pub(crate) first_chat_us: OnceLock<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct OpenSpans(HashMap<Key, Open, BuildHasherDefault<Mixed>>);

impl OpenSpans {
    pub(crate) fn insert(&mut self, key: Key, open: Open) {
        self.0.insert(key, open);
    }

    pub(crate) fn get(&self, key: Key) -> Option<&Open> {
        self.0.get(&key)
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut Open> {
        self.0.get_mut(&key)
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<Open> {
        self.0.remove(&key)
    }

    /// The spans around `open`, nearest first.
    pub(crate) fn around(&self, open: &Open) -> impl Iterator<Item = &Open> {
        let at = |key: Option<Key>| key.and_then(|key| self.get(key));
        iter::successors(at(open.around), move |open| at(open.around))
    }

    /// The agent which a span names, or that of the `invoke_agent` around it.
    pub(crate) fn agent<'a>(&'a self, open: &'a Open) -> Option<&'a str> {
        let named = |open: &'a Open| open.told.text(Text::Agent);
        named(open).or_else(|| self.around(open).filter(|above| above.kind == Kind::Agent).find_map(named))
    }

    /// The workflow in which a span at `key` stands.
    pub(crate) fn workflow(&mut self, mut key: Option<Key>) -> Option<&mut Open> {
        while let Some(open) = self.get(key?) {
            if open.kind == Kind::Workflow {
                break;
            }
            key = open.around;
        }
        self.get_mut(key?)
    }
}

/// A hash of few instructions, for numbers that a registry chooses and nobody else.
#[derive(Debug, Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64((*byte).into());
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0.rotate_left(32)
    }
}
