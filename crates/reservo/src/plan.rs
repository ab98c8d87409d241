//! The plans.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{ReservoError, clip};
use crate::nearest::nearest;

/// The plan a customer is on; it decides the rate of every room.
///
/// Names are read without regard to case; a misspelt one is an error that tells the nearest.
///
/// ```
/// use reservo::Plan;
///
/// assert_eq!("PRO".parse(), Ok(Plan::Pro));
/// assert_eq!("gold".parse::<Plan>().unwrap_err().code(), "unknown_plan");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
#[non_exhaustive]
pub enum Plan {
    /// The full rate.
    Basic,
    /// In the standard price list 20 % off.
    Pro,
    /// In the standard price list 30 % off.
    Team,
}

impl Plan {
    /// Every plan, dearest first.
    pub const ALL: [Self; 3] = [Self::Basic, Self::Pro, Self::Team];

    /// The name as the house writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Pro => "pro",
            Self::Team => "team",
        }
    }

    /// The plan whose name is near to `word`, for a suggestion.
    pub fn nearest(word: &str) -> Option<Self> {
        nearest(word, Self::ALL.map(|plan| (plan, plan.name())))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Plan {
    type Err = ReservoError;

    fn from_str(text: &str) -> Result<Self, ReservoError> {
        Self::ALL
            .into_iter()
            .find(|plan| plan.name().eq_ignore_ascii_case(text.trim()))
            .ok_or_else(|| ReservoError::UnknownPlan { value: clip(text), nearest: Self::nearest(text) })
    }
}

impl TryFrom<String> for Plan {
    type Error = ReservoError;

    fn try_from(text: String) -> Result<Self, ReservoError> {
        text.parse()
    }
}

impl From<Plan> for &'static str {
    fn from(plan: Plan) -> Self {
        plan.name()
    }
}
