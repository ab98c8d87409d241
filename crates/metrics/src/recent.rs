//! A short memory of closed spans, for links made to a span after it closed.

use std::collections::VecDeque;

/// How many closed spans are remembered; the oldest are forgotten first.
pub(crate) const REMEMBERED: usize = 1_024;

#[derive(Debug)]
pub(crate) struct Recent<K, T>(VecDeque<(K, T)>);

impl<K, T> Default for Recent<K, T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<K: PartialEq, T: Clone> Recent<K, T> {
    pub(crate) fn remember(&mut self, key: K, value: T) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((key, value));
    }

    /// The latest value remembered for `key`: the registry may give an id out again.
    pub(crate) fn recall(&self, key: &K) -> Option<T> {
        self.0.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_and_the_latest_wins() {
        let mut recent = Recent::default();
        for n in 1..=REMEMBERED + 1 {
            recent.remember(n, n);
        }
        recent.remember(5, 500);
        assert_eq!(
            [recent.recall(&1), recent.recall(&2), recent.recall(&3), recent.recall(&5)],
            [None, None, Some(3), Some(500)]
        );
        assert_eq!(recent.0.len(), REMEMBERED);
    }
}
