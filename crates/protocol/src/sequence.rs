//! The rules of the sequence, as a checker for conversations that others made.
use crate::*;
/// A rule of the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// x
    FirstIsUser,
}
/// One rule broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// rule
    pub rule: Rule,
    /// path
    pub path: String,
    /// detail
    pub detail: String,
}
impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {} {}", self.rule, self.path, self.detail)
    }
}
/// Checks.
pub fn check(request: &ModelRequest<'_>) -> Vec<Violation> {
    check_messages(&request.messages)
}
/// Checks.
pub fn check_messages(_messages: &[Message]) -> Vec<Violation> {
    vec![]
}
