//! One agent in the reference: what it has been told, and how far its activation is.

use super::scenario::Block;
use super::told::Words;

/// One agent in a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Seat {
    /// All that it has heard in words: from the user, as packages, as questions, from the turn itself.
    pub(super) heard: Vec<String>,
    /// What its calls have been answered with, call after call.
    pub(super) told: Vec<Words>,
    /// The calls of its newest reply, while they are open.
    pub(super) calls: Vec<Call>,
    /// Tools that need approval and ran.
    pub(super) effects: Vec<String>,
    pub(super) steps: u32,
    empty: u32,
    pauses: u32,
    repeats: u32,
    last: Option<Vec<[String; 3]>>,
}

/// A call of the newest reply, at its place there.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) block: Block,
    /// What it is answered with, once that is known.
    pub(super) words: Option<Words>,
}

impl Seat {
    /// It gets the turn, or tries again: the limits count anew.
    pub(super) fn begin(&mut self) {
        (self.steps, self.empty, self.pauses, self.repeats, self.last) = (0, 0, 0, 0, None);
    }

    /// A reply that held nothing; whether it was one too many.
    pub(super) fn was_silent(&mut self, most: u32) -> bool {
        self.empty += 1;
        self.empty >= most
    }

    /// A reply that the service paused; how many in a row there were.
    pub(super) fn was_paused(&mut self) -> u32 {
        (self.pauses, self.empty) = (self.pauses + 1, 0);
        self.pauses
    }

    pub(super) fn has_called(&mut self, calls: Vec<Call>) {
        (self.pauses, self.empty) = (0, 0);
        self.calls = calls;
    }

    /// The places of the calls that are open.
    pub(super) fn open(&self) -> impl Iterator<Item = (usize, Block)> + '_ {
        let open = self.calls.iter().enumerate().filter(|(_, call)| call.words.is_none());
        open.map(|(place, call)| (place, call.block))
    }

    /// All calls are answered; those that are open with what `rest` says.
    pub(super) fn is_told(&mut self, mut rest: impl FnMut(usize, Block) -> Words) {
        for (place, call) in std::mem::take(&mut self.calls).into_iter().enumerate() {
            self.told.push(call.words.unwrap_or_else(|| rest(place, call.block)));
        }
    }

    /// The same calls with the same results, one after the other; whether once too often.
    pub(super) fn repeats(&mut self, newest: Vec<[String; 3]>, most: u32) -> bool {
        self.repeats = if self.last.as_ref() == Some(&newest) { self.repeats + 1 } else { 1 };
        self.last = Some(newest);
        self.repeats >= most
    }
}
