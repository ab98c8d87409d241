//! The rooms.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{ReservoError, clip};
use crate::nearest::nearest;

/// A meeting room of the house.
///
/// Names are read without regard to case. A misspelt name is an error that tells the nearest one; it is never chosen.
///
/// ```
/// use reservo::{ReservoError, Room};
///
/// assert_eq!("focus".parse(), Ok(Room::Focus));
/// assert_eq!(
///     "Fokus".parse::<Room>(),
///     Err(ReservoError::UnknownRoom { value: "Fokus".into(), nearest: Some(Room::Focus) }),
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
#[non_exhaustive]
pub enum Room {
    /// Two seats.
    Focus,
    /// Six seats.
    Studio,
    /// Fourteen seats.
    Forum,
}

impl Room {
    /// Every room, smallest first.
    pub const ALL: [Self; 3] = [Self::Focus, Self::Studio, Self::Forum];

    /// The name as the house writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Focus => "Focus",
            Self::Studio => "Studio",
            Self::Forum => "Forum",
        }
    }

    /// How many people can sit in it.
    ///
    /// ```
    /// assert_eq!(reservo::Room::ALL.map(|room| room.seats()), [2, 6, 14]);
    /// ```
    pub const fn seats(self) -> u32 {
        match self {
            Self::Focus => 2,
            Self::Studio => 6,
            Self::Forum => 14,
        }
    }

    /// The room whose name is near to `word`, for a suggestion.
    pub fn nearest(word: &str) -> Option<Self> {
        nearest(word, Self::ALL.map(|room| (room, room.name())))
    }
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Room {
    type Err = ReservoError;

    fn from_str(text: &str) -> Result<Self, ReservoError> {
        Self::ALL
            .into_iter()
            .find(|room| room.name().eq_ignore_ascii_case(text.trim()))
            .ok_or_else(|| ReservoError::UnknownRoom { value: clip(text), nearest: Self::nearest(text) })
    }
}

impl TryFrom<String> for Room {
    type Error = ReservoError;

    fn try_from(text: String) -> Result<Self, ReservoError> {
        text.parse()
    }
}

impl From<Room> for &'static str {
    fn from(room: Room) -> Self {
        room.name()
    }
}
