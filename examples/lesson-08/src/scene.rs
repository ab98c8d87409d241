//! The requests, each run at its house, and what is measured of the run.

use examples_kit::{HopRow, Verdict};
use reservo::specialists::{relay, specialist};
use reservo::{Booking, DEMO_NOW, Entry, Reservo, demo, entry, facets};
use serde::Serialize;
use sommelier_patterns::{FanOut, Team, critical_path};
use sommelier_runner::{Gate, Outcome, Runner};
use sommelier_runtime::ScriptedModel;
use std::error::Error;
use std::sync::Arc;

use crate::script;
use crate::steps::{Asked, Step};

const TAKEN: &str = "Book Forum team 3h tomorrow at 9, for 6 people";
const TWO_KNOWN: &str = "Compare pro prices for 4h and tell me the cancellation policy";

/// A request that was run, and what was measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    pub(crate) request: String,
    /// Parts that the text asks, before anyone has worked.
    pub(crate) parts: usize,
    pub(crate) steps: Vec<Step>,
    pub(crate) answer: String,
    pub(crate) last_agent: String,
    pub(crate) end: &'static str,
    pub(crate) hops: Vec<HopRow>,
    /// Questions to delegates.
    pub(crate) asked: Vec<Asked>,
    /// Calls of models: a rule's moves are none.
    pub(crate) model_calls: u32,
    /// Those that had to wait for each other.
    pub(crate) critical_path: u32,
    /// What stands in the house after the run and did not before.
    pub(crate) booked: Vec<Booking>,
    /// Whether all that stood in the house before stands there as it did.
    pub(crate) kept: bool,
    pub(crate) verdict: Verdict,
    /// Scripted turns that nothing asked for: agent, number.
    pub(crate) unasked: Vec<(String, usize)>,
}

impl Scene {
    /// A booking that finds its room taken.
    pub(crate) fn taken() -> Result<Self, Box<dyn Error>> {
        Self::of_relay("room_taken", TAKEN.to_owned(), demo(), &script::book_or_ask_for_another())
    }

    /// A quote, and a booking on a condition, in a house that is not booked.
    pub(crate) fn conditional(under: i64) -> Result<Self, Box<dyn Error>> {
        let request = format!("Quote Forum basic 2h and, if under {under} cents, book it for tomorrow at 9");
        Self::of_relay("on_condition", request, Reservo::new(DEMO_NOW), &script::book_on_condition())
    }

    /// A comparison and a rule, handed from one to the other.
    pub(crate) fn handed() -> Result<Self, Box<dyn Error>> {
        Self::of_relay("handed_on", TWO_KNOWN.to_owned(), demo(), &script::compare_and_hand_over())
    }

    /// The same comparison and the same rule, side by side.
    pub(crate) fn side_by_side() -> Result<Self, Box<dyn Error>> {
        let (house, model) = (Arc::new(demo()), script::side_by_side());
        let part = |fan_out: FanOut, desk: Entry| match specialist(desk.name()) {
            Some(known) => fan_out.part(known.delegate(&house), move |words| script::part(words, desk)),
            None => fan_out,
        };
        let fan_out = [Entry::Pricing, Entry::Policy].into_iter().fold(FanOut::new("fan_out"), part);
        let team = fan_out
            .aggregate(|_, found| found.iter().map(|found| found.words()).collect::<Vec<_>>().join("\n"))
            .build()?;
        Self::run("side_by_side", TWO_KNOWN.to_owned(), &house, &model, Some(&team))
    }

    fn of_relay(
        name: &'static str,
        request: String,
        house: Reservo,
        model: &ScriptedModel,
    ) -> Result<Self, Box<dyn Error>> {
        Self::run(name, request, &Arc::new(house), model, None)
    }

    /// Runs a request: with a team, or else with the specialists, each of whom may hand over to each other.
    fn run(
        name: &'static str,
        request: String,
        house: &Arc<Reservo>,
        model: &ScriptedModel,
        team: Option<&Team>,
    ) -> Result<Self, Box<dyn Error>> {
        let conversation = format!("lesson-08-{name}");
        let runner = Runner::new(model).gate(Gate::approve_all()).conversation(&*conversation);
        let before = house.bookings.all()?;
        let outcome = match team {
            Some(team) => team.run(runner, &request)?,
            None => runner.run(&relay(house, entry(&request)).build()?, &request)?,
        };
        let Outcome::Ended(report) = outcome else { return Err("a run did not end".into()) };
        let after = house.bookings.all()?;
        let (calls, path) = match team {
            Some(team) => (team.model_calls(&report), team.critical_path(&report)),
            None => (report.model_calls(), critical_path(&report)),
        };
        Ok(Self {
            name,
            parts: facets(&request).parts.len(),
            steps: Step::all(report.done().run()),
            answer: report.answer().to_owned(),
            last_agent: report.last_agent().to_owned(),
            end: report.end().as_str(),
            hops: report.hops().map(HopRow::of).collect(),
            asked: report.links().iter().map(Asked::of).collect(),
            model_calls: calls,
            critical_path: path,
            kept: before.iter().all(|booking| after.contains(booking)),
            booked: after.into_iter().filter(|booking| !before.contains(booking)).collect(),
            verdict: Verdict::of(&request, &report),
            unasked: model.unused().into_iter().map(|(agent, turn)| (agent.to_owned(), turn)).collect(),
            request,
        })
    }
}
