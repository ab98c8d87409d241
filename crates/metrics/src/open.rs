//! What is kept of a span while it is open, and will be counted.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use tracing::Metadata;

use crate::names;
use crate::text::micros;
use crate::told::Told;

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

/// What one open span holds in its extensions.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) kind: Kind,
    pub(crate) told: Told,
    /// A handoff's or a delegation's own; a receiver's, that of the handoff which it follows from, until its first chat has
    /// closed.
    pub(crate) timing: Option<Arc<Timing>>,
    /// A workflow's or a branch's.
    pub(crate) branches: Option<Branches>,
}

/// The branches under one user message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Branches {
    /// How many are open: one count for all of them.
    pub(crate) open: Arc<AtomicU64>,
    /// How many there are one within the other down to here; 0 at the workflow.
    pub(crate) depth: u64,
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
