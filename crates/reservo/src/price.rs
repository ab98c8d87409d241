//! The price list.

use serde::{Deserialize, Serialize};

use crate::error::ReservoError;
use crate::hours::Hours;
use crate::money::Cents;
use crate::plan::Plan;
use crate::room::Room;

/// The rate of every room on every plan, in cents per hour.
///
/// ```
/// use reservo::{Cents, Hours, Plan, PriceList, Room};
///
/// let mut prices = PriceList::standard();
/// prices.set_rate(Room::Focus, Plan::Pro, Cents(2100))?;
/// assert_eq!(prices.quote(Room::Focus, Plan::Pro, Hours::new(3)?).total_cents, Cents(6300));
/// # Ok::<(), reservo::ReservoError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceList {
    /// One row per room, one column per plan, both in the order of `ALL`.
    rates: [[Cents; 3]; 3],
}

impl PriceList {
    /// The dearest rate a list can hold, so that a total always fits.
    pub const MAX_RATE: Cents = Cents(10_000_000);

    /// The list the house opened with.
    pub const fn standard() -> Self {
        Self {
            rates: [
                [Cents(2500), Cents(2000), Cents(1750)],
                [Cents(4000), Cents(3200), Cents(2800)],
                [Cents(6500), Cents(5200), Cents(4550)],
            ],
        }
    }

    /// Cents per hour.
    pub const fn rate(&self, room: Room, plan: Plan) -> Cents {
        self.rates[room as usize][plan as usize]
    }

    /// Changes one entry.
    ///
    /// # Errors
    /// [`ReservoError::RateOutOfRange`] below nothing or above [`PriceList::MAX_RATE`].
    pub fn set_rate(&mut self, room: Room, plan: Plan, rate: Cents) -> Result<(), ReservoError> {
        if !(Cents::ZERO..=Self::MAX_RATE).contains(&rate) {
            return Err(ReservoError::RateOutOfRange { value: rate });
        }
        self.rates[room as usize][plan as usize] = rate;
        Ok(())
    }

    /// What a room costs. There is nothing to round: the total is the rate times the hours.
    ///
    /// ```
    /// use reservo::{Hours, Plan, PriceList, Room};
    ///
    /// let quote = PriceList::standard().quote(Room::Focus, Plan::Pro, Hours::new(3)?);
    /// assert_eq!(
    ///     serde_json::to_string(&quote).unwrap(),
    ///     r#"{"room":"Focus","plan":"pro","hours":3,"rate_cents_per_hour":2000,"total_cents":6000}"#,
    /// );
    /// # Ok::<(), reservo::ReservoError>(())
    /// ```
    pub fn quote(&self, room: Room, plan: Plan, hours: Hours) -> Quote {
        let rate = self.rate(room, plan);
        Quote {
            room,
            plan,
            hours,
            rate_cents_per_hour: rate,
            total_cents: Cents(rate.0 * i64::from(hours.get())),
        }
    }

    /// Every room and plan that `wanted` allows, cheapest first; equal totals by name of room, then of plan.
    ///
    /// ```
    /// use reservo::price::Comparison;
    /// use reservo::{Hours, Plan, PriceList, Room};
    ///
    /// let rows = PriceList::standard().compare(&Comparison {
    ///     plans: vec![Plan::Team],
    ///     min_seats: Some(6),
    ///     exclude: vec![Room::Forum],
    ///     ..Comparison::of(Hours::new(3)?)
    /// });
    /// assert_eq!(rows.len(), 1);
    /// assert_eq!((rows[0].room, rows[0].total_cents.0), (Room::Studio, 8400));
    /// # Ok::<(), reservo::ReservoError>(())
    /// ```
    pub fn compare(&self, wanted: &Comparison) -> Vec<PriceRow> {
        let mut rows: Vec<PriceRow> = Room::ALL
            .into_iter()
            .filter(|room| wanted.rooms.is_empty() || wanted.rooms.contains(room))
            .filter(|room| !wanted.exclude.contains(room))
            .filter(|room| wanted.min_seats.is_none_or(|seats| room.seats() >= seats))
            .flat_map(|room| Plan::ALL.map(|plan| (room, plan)))
            .filter(|(_, plan)| wanted.plans.is_empty() || wanted.plans.contains(plan))
            .map(|(room, plan)| {
                let Quote { hours, rate_cents_per_hour, total_cents, .. } =
                    self.quote(room, plan, wanted.hours);
                PriceRow { room, seats: room.seats(), plan, hours, rate_cents_per_hour, total_cents }
            })
            .collect();
        rows.sort_by_key(|row| (row.total_cents, row.room.name(), row.plan.name()));
        rows
    }
}

impl Default for PriceList {
    fn default() -> Self {
        Self::standard()
    }
}

/// A price for one room on one plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    /// The room.
    pub room: Room,
    /// The plan.
    pub plan: Plan,
    /// How long.
    pub hours: Hours,
    /// The rate.
    pub rate_cents_per_hour: Cents,
    /// The rate times the hours.
    pub total_cents: Cents,
}

/// What is to be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// How long.
    pub hours: Hours,
    /// Only these rooms; empty means all.
    pub rooms: Vec<Room>,
    /// Only these plans; empty means all.
    pub plans: Vec<Plan>,
    /// Only rooms that seat so many people.
    pub min_seats: Option<u32>,
    /// Not these rooms.
    pub exclude: Vec<Room>,
}

impl Comparison {
    /// Every room on every plan.
    pub const fn of(hours: Hours) -> Self {
        Self { hours, rooms: Vec::new(), plans: Vec::new(), min_seats: None, exclude: Vec::new() }
    }
}

/// One line of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceRow {
    /// The room.
    pub room: Room,
    /// How many people it seats.
    pub seats: u32,
    /// The plan.
    pub plan: Plan,
    /// How long.
    pub hours: Hours,
    /// The rate.
    pub rate_cents_per_hour: Cents,
    /// The rate times the hours.
    pub total_cents: Cents,
}
