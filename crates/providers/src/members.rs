//! What the wire asks of an object whose members keep their order and their text.

use sommelier_protocol::RawJson;
pub(crate) use sommelier_runtime::tool::Members;

/// Making, reading and joining objects, beside what the runtime knows of [`Members`].
pub(crate) trait OnTheWire {
    fn of<'a>(members: impl IntoIterator<Item = (&'a str, RawJson)>) -> Self;

    fn names(&self) -> impl Iterator<Item = &str>;

    /// The member as a text; `None` where it is another value.
    fn text(&self, name: &str) -> Option<Box<str>>;

    /// Puts `value` in the member's place, or at the end. Unlike [`Members::set`] it leaves a second member of the name where
    /// it is: what a service sends twice is for the decoder to refuse.
    fn put(&mut self, name: &str, value: RawJson);

    /// Puts each member of `other` in its place here, but those that say nothing.
    fn merge(&mut self, other: &Self);
}

impl OnTheWire for Members {
    fn of<'a>(members: impl IntoIterator<Item = (&'a str, RawJson)>) -> Self {
        Self(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    fn text(&self, name: &str) -> Option<Box<str>> {
        self.get(name)?.read().ok()
    }

    fn put(&mut self, name: &str, value: RawJson) {
        match self.0.iter_mut().find(|(found, _)| **found == *name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.into(), value)),
        }
    }

    fn merge(&mut self, other: &Self) {
        for (name, value) in other.0.iter().filter(|(_, value)| value.get() != "null") {
            self.put(name, value.clone());
        }
    }
}
