//! A short memory of closed spans, for links made to a span after it closed.

use std::collections::VecDeque;

use tracing::span::Id;

/// How many closed spans are remembered; the oldest are forgotten first.
pub(crate) const REMEMBERED: usize = 1_024;

#[derive(Debug)]
pub(crate) struct Recent<T>(VecDeque<(u64, T)>);

impl<T: Clone> Recent<T> {
    pub(crate) const fn new() -> Self {
        Self(VecDeque::new())
    }

    pub(crate) fn remember(&mut self, id: &Id, value: T) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((id.into_u64(), value));
    }

    /// The latest value remembered for `id`: the registry may give an id out again.
    pub(crate) fn recall(&self, id: &Id) -> Option<T> {
        self.0.iter().rev().find(|(known, _)| *known == id.into_u64()).map(|(_, value)| value.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_and_the_latest_wins() {
        let id = |n: usize| Id::from_u64(n as u64);
        let mut recent = Recent::new();
        for n in 1..=REMEMBERED + 1 {
            recent.remember(&id(n), n);
        }
        recent.remember(&id(5), 500);
        assert_eq!(
            [recent.recall(&id(1)), recent.recall(&id(2)), recent.recall(&id(3)), recent.recall(&id(5))],
            [None, None, Some(3), Some(500)]
        );
        assert_eq!(recent.0.len(), REMEMBERED);
    }
}
