//! The two ways, their variants, and what a run of either costs.

use reservo::{Reservo, SPECIALISTS, entry, specialists};
use serde::Serialize;
use sommelier_handoff::{Agent, BuildErrors, Guard, HandOff, Hop, Refusal, Relay, RelayBuilder, RunEnd};
use sommelier_patterns::forced_return;
use sommelier_runner::{Gate, Outcome, Runner, Stopped, run_until_handoff};
use sommelier_runtime::ScriptedModel;
use std::error::Error;
use std::sync::Arc;

use crate::script::{REPORT, decisions};
use crate::sweep::Point;
use crate::work::{Work, answer, request};

/// Who decides, and works on nothing.
pub(crate) const SUPERVISOR: &str = "supervisor";

/// Who decides the entry of the direct way, where a model does.
pub(crate) const FRONT_DESK: &str = "front_desk";

/// How a turn goes on at a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Straight to the specialist for the need.
    Direct,
    /// Back to the supervisor, who decides.
    Return,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Return => "return",
        }
    }
}

/// Who closes a run in which the turn goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    /// The supervisor's model writes the answer.
    Supervisor,
    /// The last finding is taken out of the run, and code writes the answer.
    Code,
    /// The last specialist answers.
    Specialist,
}

/// One way to compare the two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variant {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
    /// Whether a model decides who hears the customer first.
    pub(crate) entry_by_model: bool,
    pub(crate) closing: Closing,
    /// Whether what is saved is one more than the limits: in calls, in hops.
    pub(crate) one_more: [bool; 2],
}

/// All variants, the base first.
pub(crate) const VARIANTS: [Variant; 4] = [
    Variant {
        name: "base",
        meaning: "entry by rule, the supervisor writes the answer",
        entry_by_model: false,
        closing: Closing::Supervisor,
        one_more: [true, true],
    },
    Variant {
        name: "entry",
        meaning: "a model decides the entry, in both",
        entry_by_model: true,
        closing: Closing::Supervisor,
        one_more: [true, true],
    },
    Variant {
        name: "code",
        meaning: "code writes the answer from what was found",
        entry_by_model: false,
        closing: Closing::Code,
        one_more: [false, true],
    },
    Variant {
        name: "none",
        meaning: "the last specialist answers itself",
        entry_by_model: false,
        closing: Closing::Specialist,
        one_more: [false, false],
    },
];

/// What a run cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Figures {
    /// Model invocations.
    pub(crate) model_calls: usize,
    /// Changes of actor.
    pub(crate) hops: usize,
    /// Bytes of all packages.
    pub(crate) package_bytes: usize,
    /// What had to be loosened before the usual settings let so many limits pass, in this order.
    pub(crate) loosened: Vec<&'static str>,
    /// The same in sentences.
    #[serde(skip)]
    pub(crate) refusals: Vec<String>,
    /// The actors in the order in which they had the turn.
    pub(crate) chain: String,
    pub(crate) answer: String,
    /// Scripted turns that nothing asked for.
    pub(crate) unasked_turns: usize,
}

/// One way in one variant, as it is set to meet some number of limits. It begins with the usual settings; where they
/// end a run, what did is loosened and written down, the point is run again, and the others after it are run so too.
pub(crate) struct Desk<'a> {
    house: &'a Arc<Reservo>,
    variant: Variant,
    way: Way,
    limits: usize,
    relay: Relay,
    loosened: Vec<&'static str>,
    refusals: Vec<String>,
}

/// A run that has ended: its answer, or why there is none, and what it took.
struct Ran {
    answer: Result<String, RunEnd>,
    model_calls: u32,
    /// The handoffs taken.
    hops: Vec<Hop>,
}

impl<'a> Desk<'a> {
    /// For work that meets so many limits, with the usual settings.
    pub(crate) fn new(
        house: &'a Arc<Reservo>,
        variant: Variant,
        way: Way,
        limits: usize,
    ) -> Result<Self, BuildErrors> {
        let relay = relay(house, variant, way, limits).build()?;
        Ok(Self { house, variant, way, limits, relay, loosened: Vec::new(), refusals: Vec::new() })
    }

    /// Runs a point of so many turns, and counts.
    pub(crate) fn measure(&mut self, sender: usize, receiver: usize) -> Result<Figures, Box<dyn Error>> {
        let point = Point { limits: self.limits, sender, receiver };
        loop {
            let model = decisions(point, self.variant, self.way);
            let ran = self.run(&model, point)?;
            match ran.answer {
                Ok(answer) => {
                    let entry = ran.hops.first().map(|hop| hop.from.to_string());
                    let receivers = ran.hops.iter().map(|hop| hop.to.to_string());
                    return Ok(Figures {
                        model_calls: usize::try_from(ran.model_calls)?,
                        hops: ran.hops.len(),
                        package_bytes: ran.hops.iter().map(|hop| hop.package_bytes).sum(),
                        loosened: self.loosened.clone(),
                        refusals: self.refusals.clone(),
                        chain: entry.into_iter().chain(receivers).collect::<Vec<_>>().join(" → "),
                        answer,
                        unasked_turns: model.unused().len(),
                    });
                }
                Err(end) => self.loosen(&end)?,
            }
        }
    }

    fn loosen(&mut self, end: &RunEnd) -> Result<(), Box<dyn Error>> {
        let (guards, calls) = (self.relay.guards().clone(), self.relay.max_model_calls());
        let most = u32::try_from(3 * self.limits + 3)?;
        let (what, guards, calls) = match (end, end.refusal().map(Refusal::guard)) {
            (_, Some(Guard::Cap)) => ("cap", guards.max_handoffs(most), calls),
            (_, Some(Guard::Pair)) => ("pair", guards.allow_repeated_pairs(), calls),
            (RunEnd::BudgetSpent { .. }, _) => ("max_model_calls", guards, 2 * calls),
            _ => ("nothing", guards, calls),
        };
        if what == "nothing" || self.loosened.contains(&what) {
            let (name, way) = (self.variant.name, self.way.name());
            return Err(format!("{name}, {way}, {} limits: the run ended as {end:?}", self.limits).into());
        }
        let relay = relay(self.house, self.variant, self.way, self.limits);
        self.relay = relay.guards(guards).max_model_calls(calls).build()?;
        self.loosened.push(what);
        self.refusals.extend(end.refusal().map(|refusal| format!("{}: {refusal}", refusal.code())));
        Ok(())
    }

    fn run(&self, model: &ScriptedModel, point: Point) -> Result<Ran, Box<dyn Error>> {
        let Self { variant, way, relay, .. } = self;
        let Point { limits, sender, receiver } = point;
        let words = request(limits);
        let name = format!("lesson-07-{}-{}-{limits}-{sender}-{receiver}", way.name(), variant.name);
        let gate = Gate::deny_all("this lesson books and cancels nothing");
        let runner = Runner::new(model).gate(gate).conversation(&*name);
        if *way == Way::Return && variant.closing == Closing::Code {
            let is_last = |handoff: &HandOff| handoff.package().task() == REPORT;
            let run = run_until_handoff(&runner, relay, &words, is_last)?;
            return Ok(Ran {
                answer: match run.stopped {
                    Stopped::HandedOff { package, .. } => {
                        Ok(answer(&Work::read(&package.to_json()).findings))
                    }
                    Stopped::Stopped { reason } => Err(reason),
                    other => {
                        return Err(format!("nothing was left for code to answer from: {other:?}").into());
                    }
                },
                model_calls: run.model_calls,
                hops: run.hops.into_iter().filter(|hop| hop.outcome.is_taken()).collect(),
            });
        }
        let entry = match way {
            Way::Direct if variant.entry_by_model => FRONT_DESK,
            _ => relay.entry().as_str(),
        };
        let Outcome::Ended(report) = runner.drive(relay, relay.start_at(entry, &*name, &*words)?)? else {
            return Err("a run did not end".into());
        };
        Ok(Ran {
            answer: match report.end() {
                RunEnd::Answered => Ok(report.answer().to_owned()),
                end => Err(end.clone()),
            },
            model_calls: report.model_calls(),
            hops: report.hops().cloned().collect(),
        })
    }
}

/// The agents and their routes. Where no model decides the entry, a rule of the house does.
fn relay(house: &Arc<Reservo>, variant: Variant, way: Way, limits: usize) -> RelayBuilder {
    let entry = entry(&request(limits));
    match way {
        Way::Direct if variant.entry_by_model => {
            let desk = Agent::new(FRONT_DESK, "You decide which specialist hears the customer first.");
            let relay = specialists::relay(house, entry).agent(desk).entry(FRONT_DESK);
            SPECIALISTS.iter().fold(relay, |relay, specialist| relay.route(FRONT_DESK, specialist.name))
        }
        Way::Direct => specialists::relay(house, entry),
        Way::Return => {
            let instructions = "You decide which specialist is next, and answer the customer.";
            let supervisor =
                Agent::new(SUPERVISOR, instructions).purpose("decides who is next, and answers the customer");
            let specialists = SPECIALISTS.iter().map(|specialist| specialist.agent(house));
            let entry = if variant.entry_by_model { SUPERVISOR } else { entry.name() };
            forced_return(supervisor, specialists, entry)
        }
    }
}
