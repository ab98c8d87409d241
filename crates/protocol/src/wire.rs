//! Objects of the wire: known members as fields, everything else kept where it stood.

use serde::de::{Deserializer, Visitor};
use serde::ser::Serialize;
use std::fmt;

use crate::RawJson;

/// One member of an object as it came: a known one, by its place in the type's list of names, or another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    Known(u8),
    Extra(Box<str>, RawJson),
}

/// How an object that came differs from how we write it: `None` when it does not.
///
/// It costs a pointer in the common case and keeps order and unknown members in the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::box_collection,
    reason = "every block of every transcript holds one: a pointer, not three words"
)]
pub(crate) struct Layout(Option<Box<Vec<Slot>>>);

impl Layout {
    /// `has_null` tells of a member written as `null` that we would leave out, or left out that we would write.
    pub(crate) fn from_slots(slots: Vec<Slot>, has_null: bool) -> Self {
        let ours = !has_null
            && slots.iter().all(|slot| matches!(slot, Slot::Known(_)))
            && slots.is_sorted_by(|a, b| matches!((a, b), (Slot::Known(a), Slot::Known(b)) if a < b));
        Self((!ours).then(|| Box::new(slots)))
    }

    pub(crate) fn slots(&self) -> Option<&[Slot]> {
        self.0.as_ref().map(|slots| slots.as_slice())
    }

    /// Gives a member that has a value now, though it did not come, a place after those that came; the tag
    /// stands before them.
    pub(crate) fn add(&mut self, names: &'static [&'static str], name: &str) {
        let Some(slots) = &mut self.0 else { return };
        let Some(place) = names.iter().position(|known| *known == name) else { return };
        let slot = Slot::Known(place as u8);
        if slots.contains(&slot) {
            return;
        }
        if name == "type" { slots.insert(0, slot) } else { slots.push(slot) }
    }

    /// Looks again whether the object is in our own form, after a member that was `null` got a value.
    pub(crate) fn review(&mut self, has_null: bool) {
        if let Some(slots) = self.0.take() {
            *self = Self::from_slots(*slots, has_null);
        }
    }

    /// Whether the member has a place.
    pub(crate) fn has(&self, names: &'static [&'static str], name: &str) -> bool {
        let place = names.iter().position(|known| *known == name);
        let is_it = |slot: &Slot| matches!(slot, Slot::Known(known) if Some(usize::from(*known)) == place);
        self.0.as_ref().is_none_or(|slots| slots.iter().any(is_it))
    }

    /// A member that is not known, as it came.
    pub(crate) fn extra(&self, name: &str) -> Option<&RawJson> {
        self.slots()?.iter().find_map(|slot| match slot {
            Slot::Extra(found, value) if **found == *name => Some(value),
            _ => None,
        })
    }

    /// Whether the object is written in our own order with known members only.
    pub(crate) fn is_ours(&self) -> bool {
        self.0.is_none()
    }
}

/// A member's name, looked up in the type's list.
pub(crate) enum Key {
    Known(u8),
    Extra(Box<str>),
}

pub(crate) struct KeyOf(pub(crate) &'static [&'static str]);

impl<'de> serde::de::DeserializeSeed<'de> for KeyOf {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyOf {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Key, E> {
        Ok(match self.0.iter().position(|known| *known == name) {
            Some(place) => Key::Known(place as u8),
            None => Key::Extra(name.into()),
        })
    }
}

/// What a field's type says of a member that is not there.
pub(crate) trait Member: Sized {
    /// The value of an absent member, or `None` when the member must be there.
    fn absent() -> Option<Self> {
        None
    }

    /// Whether the member is left out when written.
    fn is_left_out(&self) -> bool {
        false
    }
}

impl<T> Member for Option<T> {
    fn absent() -> Option<Self> {
        Some(None)
    }

    fn is_left_out(&self) -> bool {
        self.is_none()
    }
}

macro_rules! always_there {
    ($($ty:ty),* $(,)?) => { $(impl $crate::wire::Member for $ty {})* };
}
pub(crate) use always_there;

always_there!(Box<str>, u32, u64, RawJson);

/// The tag member of a block, `"type"`, with the one value it may have.
pub(crate) fn check_tag<E: serde::de::Error>(found: &str, expected: &'static str) -> Result<(), E> {
    if found == expected {
        Ok(())
    } else {
        Err(E::invalid_value(serde::de::Unexpected::Str(found), &expected))
    }
}

/// Declares a struct of the wire with its reader and writer.
///
/// Fields are written in the order declared, absent options left out. On reading, members that are not
/// declared, and an order other than ours, are remembered in `layout` and written again. A member with a value after `or` has
/// that value when it did not come, and is not written then. What a method that `checked by` names finds wrong is
/// refused with its words.
macro_rules! wire_object {
    (
        $(#[$meta:meta])*
        pub struct $name:ident $(tagged $tag:literal)? $(checked by $check:ident)? {
            $($(#[$field_meta:meta])* $vis:vis $field:ident: $ty:ty = $wire:literal $(or $default:expr)?,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$field_meta])* $vis $field: $ty,)*
            pub(crate) layout: $crate::wire::Layout,
        }

        impl $name {
            const NAMES: &'static [&'static str] = &[$(wire_object!(@type $tag),)? $($wire),*];
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                #[allow(unused_imports, reason = "not every wire object has optional members")]
                use $crate::wire::{Member, Slot};

                let mut map = serializer.serialize_map(None)?;
                let Some(slots) = self.layout.slots() else {
                    $(map.serialize_entry("type", $tag)?;)?
                    $(if !self.$field.is_left_out() {
                        map.serialize_entry($wire, &self.$field)?;
                    })*
                    return map.end();
                };
                for slot in slots {
                    match slot {
                        Slot::Extra(name, value) => map.serialize_entry(name, value)?,
                        Slot::Known(place) => match Self::NAMES[usize::from(*place)] {
                            $("type" => map.serialize_entry("type", $tag)?,)?
                            $($wire => map.serialize_entry($wire, &self.$field)?,)*
                            _ => {}
                        },
                    }
                }
                // A member that was set since.
                $(if !self.$field.is_left_out()
                    && !wire_object!(@has $($default)?)
                    && !self.layout.has(Self::NAMES, $wire)
                {
                    map.serialize_entry($wire, &self.$field)?;
                })*
                map.end()
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Reader;

                impl<'de> serde::de::Visitor<'de> for Reader {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("a ", stringify!($name), " object"))
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        use serde::de::Error;
                        use $crate::wire::{Key, KeyOf, Layout, Member, Slot};

                        $(let mut $field: Option<$ty> = None;)*
                        let mut slots = Vec::with_capacity($name::NAMES.len());
                        while let Some(key) = map.next_key_seed(KeyOf($name::NAMES))? {
                            let place = match key {
                                Key::Extra(name) => {
                                    slots.push(Slot::Extra(name, map.next_value()?));
                                    continue;
                                }
                                Key::Known(place) => place,
                            };
                            if slots.contains(&Slot::Known(place)) {
                                return Err(A::Error::custom(format_args!(
                                    "duplicate member `{}`", $name::NAMES[usize::from(place)]
                                )));
                            }
                            slots.push(Slot::Known(place));
                            match $name::NAMES[usize::from(place)] {
                                $("type" => {
                                    let found: Box<str> = map.next_value()?;
                                    $crate::wire::check_tag(&found, $tag)?;
                                })?
                                $($wire => $field = Some(map.next_value()?),)*
                                _ => {}
                            }
                        }
                        let has_null = false $(|| match &$field {
                            Some(value) => value.is_left_out(),
                            None => $crate::wire::wire_object!(@has $($default)?),
                        })*;
                        let mut object = $name {
                            $($field: match $field.or_else(<$ty as Member>::absent)$(.or_else(|| Some($default)))? {
                                Some(value) => value,
                                None => return Err(A::Error::missing_field($wire)),
                            },)*
                            layout: Layout::from_slots(slots, has_null),
                        };
                        $(object.layout.add($name::NAMES, $crate::wire::wire_object!(@type $tag));)?
                        $(if !object.$field.is_left_out() && !$crate::wire::wire_object!(@has $($default)?) {
                            object.layout.add($name::NAMES, $wire);
                        })*
                        $(object.$check().map_err(A::Error::custom)?;)?
                        Ok(object)
                    }
                }

                deserializer.deserialize_map(Reader)
            }
        }
    };
    (@type $tag:literal) => { "type" };
    (@has $default:expr) => { true };
    (@has) => { false };
}
pub(crate) use wire_object;

/// How many bytes `text` takes as a JSON string, quotes included, as serde_json writes it. It is counted, not
/// written.
///
/// ```
/// assert_eq!(sommelier_protocol::json_string_len("a \"b\"\n"), r#""a \"b\"\n""#.len());
/// ```
pub fn json_string_len(text: &str) -> usize {
    // A short escape costs one byte more, any other control character five. The counts of a part fit a byte, so
    // that a machine looks at many bytes at a time.
    let longer = text.as_bytes().chunks(48).map(|part| {
        let more = part.iter().fold(0_u8, |more, &byte| {
            let is_short = matches!(byte, b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c);
            let is_control = byte < 0x20;
            more + u8::from(is_short) + 5 * u8::from(is_control & !is_short)
        });
        usize::from(more)
    });
    2 + text.len() + longer.sum::<usize>()
}

/// How many bytes `value` takes as compact JSON, counted by writing it nowhere.
pub(crate) fn written_len(value: &impl Serialize) -> usize {
    struct Count(usize);

    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => 0,
    }
}
