//! What came of a check that found nothing wrong.

use super::Effect;

/// What a check has looked at, and what it could not look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What the tool declares, and what was not found to be untrue.
    pub effect: Effect,
    /// What a transactional tool does without a transaction; `None` for others, and for one that undoes something.
    pub alone: Option<Alone>,
    /// What a tool that declares nothing could declare, by what was seen. Whether it is true for good its author knows: the
    /// snapshot may not show everything.
    pub could_be: Option<Better>,
    /// What nobody has looked at.
    pub unchecked: Vec<Unchecked>,
}

/// What a transactional tool does without a transaction, as under a driver that keeps no journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alone {
    /// It writes for itself.
    Writes,
    /// It fails, and writes nothing.
    Fails,
}

/// What a tool that declares nothing could declare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Two calls have changed nothing.
    ReadOnly,
    /// Of two calls under the same key the second has changed nothing and given the same.
    Keyed,
}

/// What nobody has looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unchecked {
    /// What a call leaves that fails: the test has no arguments for one.
    Failure,
    /// For how long the other side remembers a key.
    Retention,
    /// After which time a call does not arrive any more.
    Settle,
    /// The effect: nothing is declared of it, so nothing is promised that could be broken.
    Effect,
}

impl Report {
    pub(super) fn of(effect: Effect, has_failing: bool) -> Self {
        let failure = (!has_failing).then_some(Unchecked::Failure);
        let promise = match effect {
            Effect::ReadOnly | Effect::Transactional => None,
            Effect::Keyed { .. } => Some(Unchecked::Retention),
            Effect::Queried { .. } => Some(Unchecked::Settle),
            Effect::AtMostOnce => Some(Unchecked::Effect),
        };
        let unchecked = failure.into_iter().chain(promise).collect();
        Self { effect, alone: None, could_be: None, unchecked }
    }
}
