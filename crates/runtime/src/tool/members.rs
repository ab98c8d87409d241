//! The members of an object, each as the text that it came in.

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sommelier_protocol::RawJson;
use std::fmt;

/// The members of a JSON object in their order, each value as the text it came in. A name may be there twice.
///
/// ```
/// use sommelier_protocol::RawJson;
/// use sommelier_runtime::tool::Members;
///
/// let mut members: Members = RawJson::parse(r#"{"b":1.50,"a":true}"#)?.read()?;
/// members.set("b", RawJson::string("gone"));
/// assert_eq!(serde_json::to_string(&members)?, r#"{"b":"gone","a":true}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members(pub Vec<(Box<str>, RawJson)>);

impl Members {
    /// The first member of this name.
    pub fn get(&self, name: &str) -> Option<&RawJson> {
        self.0.iter().find(|(member, _)| &**member == name).map(|(_, value)| value)
    }

    /// Puts `value` in the place of the first member of this name, or at the end where there is none. Other members of the
    /// name are taken out.
    pub fn set(&mut self, name: &str, value: RawJson) {
        let place = self.0.iter().position(|(member, _)| &**member == name).unwrap_or(self.0.len());
        self.remove(name);
        self.0.insert(place, (name.into(), value));
    }

    /// Takes out all members of this name.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(member, _)| &**member != name);
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
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
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

        deserializer.deserialize_map(InOrder)
    }
}
