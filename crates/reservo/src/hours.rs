//! The length of a booking.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::ReservoError;

/// How long a room is taken, in whole hours from 1 to 8.
///
/// ```
/// use reservo::Hours;
///
/// assert_eq!(Hours::new(3)?.get(), 3);
/// assert_eq!(Hours::new(99).unwrap_err().to_string(), "the request asks for 99 hours; 1 to 8 whole hours are possible");
/// # Ok::<(), reservo::ReservoError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "u8")]
pub struct Hours(pub(crate) u8);

impl Hours {
    /// The shortest booking.
    pub const MIN: Self = Self(1);
    /// The longest booking.
    pub const MAX: Self = Self(8);

    /// Checks that `hours` is in range.
    ///
    /// # Errors
    /// [`ReservoError::HoursOutOfRange`] with the value.
    pub fn new(hours: i64) -> Result<Self, ReservoError> {
        match u8::try_from(hours) {
            Ok(hours) if (Self::MIN.0..=Self::MAX.0).contains(&hours) => Ok(Self(hours)),
            _ => Err(ReservoError::HoursOutOfRange { value: hours }),
        }
    }

    /// The number of hours.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl TryFrom<i64> for Hours {
    type Error = ReservoError;

    fn try_from(hours: i64) -> Result<Self, ReservoError> {
        Self::new(hours)
    }
}

impl From<Hours> for u8 {
    fn from(hours: Hours) -> Self {
        hours.0
    }
}
