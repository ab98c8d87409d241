//! Money.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An amount of money in whole euro cents; negative amounts are possible and mean a debt.
///
/// There is no floating point and no rounding but in [`Cents::checked_percent`], and no operation wraps: what does not
/// fit is `None`.
///
/// ```
/// use reservo::Cents;
///
/// assert_eq!(Cents(2000).checked_mul(3), Some(Cents(6000)));
/// assert_eq!(Cents(6000).to_string(), "6000 cents");
/// assert_eq!(serde_json::to_string(&Cents(6000)).unwrap(), "6000");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cents(pub i64);

impl Cents {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// The sum, or `None` if it does not fit.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// The difference, or `None` if it does not fit.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }

    /// The amount `factor` times, or `None` if it does not fit.
    pub fn checked_mul(self, factor: i64) -> Option<Self> {
        self.0.checked_mul(factor).map(Self)
    }

    /// `percent` hundredths of the amount; a part of a cent is dropped.
    ///
    /// ```
    /// use reservo::Cents;
    ///
    /// assert_eq!(Cents(13650).checked_percent(50), Some(Cents(6825)));
    /// assert_eq!(Cents(101).checked_percent(50), Some(Cents(50)));
    /// assert_eq!(Cents(i64::MAX).checked_percent(200), None);
    /// ```
    pub fn checked_percent(self, percent: u32) -> Option<Self> {
        i64::try_from(i128::from(self.0) * i128::from(percent) / 100).ok().map(Self)
    }
}

impl fmt::Display for Cents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cents", self.0)
    }
}
