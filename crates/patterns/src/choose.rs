//! Which pattern a request calls for, and why.

/// A placeholder that its author fills next.
#[derive(Clone, Copy, Debug)]
pub struct Shape;
/// A placeholder that its author fills next.
#[derive(Clone, Copy, Debug)]
pub struct Choice;
/// A placeholder that its author fills next.
#[derive(Clone, Copy, Debug)]
pub struct Pattern;
/// A placeholder that its author fills next.
pub fn choose(_: Shape) -> Choice {
    Choice
}
