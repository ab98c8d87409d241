//! What an answer tells, read back from its words.

use reservo::policy::CancelPolicy;
use reservo::price::Comparison;
use reservo::{Cents, Hours, Plan, Reservo, Room, facts};

/// The prices of rooms and the rule on cancelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) prices: Vec<(Room, Cents)>,
    pub(crate) cancelling: Option<CancelPolicy>,
}

impl Facts {
    /// What the words say: a room, a number and "cents" are a price, and the rule stands in a line of its own.
    pub(crate) fn told(answer: &str) -> Self {
        let words: Vec<&str> = answer.split_whitespace().collect();
        let price = |three: &[&str]| {
            let cents = three[1].parse().ok().filter(|_| three[2].starts_with("cents"))?;
            Some((three[0].parse().ok()?, Cents(cents)))
        };
        Self {
            prices: words.windows(3).filter_map(price).collect(),
            cancelling: answer.lines().find_map(facts::cancellation),
        }
    }

    /// What the house itself says of so many hours on a plan.
    pub(crate) fn of(house: &Reservo, plan: Plan, hours: Hours) -> Self {
        let rows = house.compare_prices(&Comparison { plans: vec![plan], ..Comparison::of(hours) });
        Self {
            prices: rows.into_iter().map(|row| (row.room, row.total_cents)).collect(),
            cancelling: Some(house.library.cancel.clone()),
        }
    }
}
