//! The points that are run, and what is saved at each.

use examples_kit::{Flags, Misuse};
use reservo::{Reservo, SPECIALISTS};
use serde::Serialize;
use std::error::Error;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::ways::{Desk, Figures, VARIANTS, Variant, Way};
use crate::work::MOST_LIMITS;

/// How much work there is: the limits met, and the turns of whoever is at work. Neither depends on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    /// How often the work meets a need that is beyond the specialist at work.
    pub(crate) limits: usize,
    /// Turns of the first specialist.
    pub(crate) sender: usize,
    /// Turns of each one after it.
    pub(crate) receiver: usize,
}

impl Point {
    /// The running case: a quote and a no-show, two turns each.
    pub(crate) const RUNNING_CASE: Self = Self { limits: 1, sender: 2, receiver: 2 };

    /// The specialist at this place of the work: the three in their order, again and again.
    pub(crate) fn agent_at(place: usize) -> &'static str {
        SPECIALISTS[place % SPECIALISTS.len()].name
    }

    /// The turns of the specialist at this place.
    pub(crate) fn turns_at(self, place: usize) -> usize {
        if place == 0 { self.sender } else { self.receiver }
    }

    /// The turns of the specialists together.
    pub(crate) fn turns(self) -> usize {
        (0..=self.limits).map(|place| self.turns_at(place)).sum()
    }
}

/// The points that the flags ask for.
pub(crate) struct Ranges {
    limits: RangeInclusive<usize>,
    sender: RangeInclusive<usize>,
    receiver: RangeInclusive<usize>,
}

impl Ranges {
    /// Reads the flags. A turn at a tool and one to close it are the least; eight are the most that an agent has.
    pub(crate) fn read(flags: &Flags) -> Result<Self, Misuse> {
        let read = |name, least, most, usual| {
            let read = flags.range(name, least..=most)?.unwrap_or(usual);
            let [first, last] = [read.start(), read.end()].map(|number| usize::try_from(*number));
            Ok(first.unwrap_or_default()..=last.unwrap_or_default())
        };
        Ok(Self {
            limits: read("limits", 1, i64::try_from(MOST_LIMITS).unwrap_or(1), 1..=3)?,
            sender: read("sender", 2, 8, 2..=6)?,
            receiver: read("receiver", 2, 8, 2..=6)?,
        })
    }

    /// Runs every point both ways, in every variant. The variants differ on the way back; the direct way is run once
    /// with each entry.
    pub(crate) fn run(&self, house: &Arc<Reservo>) -> Result<Vec<Row>, Box<dyn Error>> {
        let [by_rule, by_model] = [VARIANTS[0], VARIANTS[1]];
        let by_rule = self.measure(house, by_rule, Way::Direct)?;
        let by_model = self.measure(house, by_model, Way::Direct)?;
        let mut rows = Vec::new();
        for variant in VARIANTS {
            let direct = if variant.entry_by_model { &by_model } else { &by_rule };
            let back = self.measure(house, variant, Way::Return)?;
            let both = direct.iter().cloned().zip(back);
            rows.extend(both.map(|((point, direct), (_, back))| Row::new(point, variant, direct, back)));
        }
        Ok(rows)
    }

    /// Runs every point one way.
    fn measure(
        &self,
        house: &Arc<Reservo>,
        variant: Variant,
        way: Way,
    ) -> Result<Vec<(Point, Figures)>, Box<dyn Error>> {
        let mut measured = Vec::new();
        for limits in self.limits.clone() {
            let mut desk = Desk::new(house, variant, way, limits)?;
            for sender in self.sender.clone() {
                for receiver in self.receiver.clone() {
                    let figures = desk.measure(sender, receiver)?;
                    measured.push((Point { limits, sender, receiver }, figures));
                }
            }
        }
        Ok(measured)
    }
}

/// A point, run both ways.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) variant: &'static str,
    pub(crate) limits: usize,
    pub(crate) sender_turns: usize,
    pub(crate) receiver_turns: usize,
    /// The turns of the specialists together.
    pub(crate) turns: usize,
    pub(crate) direct: Figures,
    #[serde(rename = "return")]
    pub(crate) back: Figures,
    pub(crate) saved_calls: i64,
    pub(crate) saved_hops: i64,
    pub(crate) saved_bytes: i64,
    pub(crate) same_answer: bool,
}

impl Row {
    /// Runs a point both ways.
    pub(crate) fn run(house: &Arc<Reservo>, point: Point, variant: Variant) -> Result<Self, Box<dyn Error>> {
        let Point { limits, sender, receiver } = point;
        let measure = |way| Desk::new(house, variant, way, limits)?.measure(sender, receiver);
        let (direct, back) = (measure(Way::Direct)?, measure(Way::Return)?);
        Ok(Self::new(point, variant, direct, back))
    }

    fn new(point: Point, variant: Variant, direct: Figures, back: Figures) -> Self {
        Self {
            variant: variant.name,
            limits: point.limits,
            sender_turns: point.sender,
            receiver_turns: point.receiver,
            turns: point.turns(),
            saved_calls: whole(back.model_calls) - whole(direct.model_calls),
            saved_hops: whole(back.hops) - whole(direct.hops),
            saved_bytes: whole(back.package_bytes) - whole(direct.package_bytes),
            same_answer: direct.answer == back.answer && !direct.answer.is_empty(),
            direct,
            back,
        }
    }

    /// What is saved beyond one for each limit: calls, hops.
    pub(crate) fn beyond_limits(&self) -> [i64; 2] {
        [self.saved_calls, self.saved_hops].map(|saved| saved - whole(self.limits))
    }

    /// The point as the flags name it.
    pub(crate) fn named(&self) -> String {
        let Self { limits, sender_turns, receiver_turns, variant, .. } = self;
        format!("{variant} --limits {limits} --sender {sender_turns} --receiver {receiver_turns}")
    }
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
