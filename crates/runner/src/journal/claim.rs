//! What one conversation at a time may have.

/// What an event does to the names that one conversation of a journal has at a time.
///
/// A name says what must not be done twice, whichever conversation it is done in: a refund for an order, say. It is taken
/// with the record that announces the effect, in the same commit, so of two conversations that begin the same effect at the
/// same moment one is refused. Claims belong to no record's hash: they follow from what the records say, and can be
/// compared with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The conversation takes the name, unless another one has it.
    Take(String),
    /// The conversation takes the name, whoever has it: a person has said that it may.
    TakeOver(String),
    /// The conversation gives the name back, where it has it.
    GiveBack(String),
}
