//! An object of JSON whose members keep their order and their text.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sommelier_protocol::RawJson;

/// The members of an object, as they came. `serde_json`'s own map would sort them and change numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Members(Vec<(Box<str>, RawJson)>);

impl Members {
    pub(crate) fn of<'a>(members: impl IntoIterator<Item = (&'a str, RawJson)>) -> Self {
        Self(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&RawJson> {
        self.0.iter().find(|(found, _)| **found == *name).map(|(_, value)| value)
    }

    /// The member as a text; `None` where it is another value.
    pub(crate) fn text(&self, name: &str) -> Option<Box<str>> {
        self.get(name)?.read().ok()
    }

    /// Puts `value` in the member's place, or at the end.
    pub(crate) fn set(&mut self, name: &str, value: RawJson) {
        match self.0.iter_mut().find(|(found, _)| **found == *name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.into(), value)),
        }
    }

    /// Puts each member of `other` in its place here, but those that say nothing.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (name, value) in other.0.iter().filter(|(_, value)| value.get() != "null") {
            self.set(name, value.clone());
        }
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}
