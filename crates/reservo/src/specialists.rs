//! The three specialists of the house.

use sommelier_handoff::{Agent, Delegate, Relay, RelayBuilder, Route};
use sommelier_runner::{AgentRun, RunError, Runner, run_agent};
use sommelier_runtime::Tool;
use std::sync::Arc;

use crate::error::clip;
use crate::tools::{booking_tools, policy_tools, pricing_tools};
use crate::{Entry, Reservo};

/// One who knows one trade.
#[derive(Clone, Copy, Debug)]
pub struct Specialist {
    /// The agent's name.
    pub name: &'static str,
    /// What it is for, told to those who may hand over to it.
    pub purpose: &'static str,
    /// Its trade, as instructions.
    pub trade: &'static str,
    /// The tool without which nobody hands over to it.
    pub required_tool: &'static str,
    /// Its tools, over a house.
    pub tools: fn(&Arc<Reservo>) -> Vec<Tool>,
}

/// All specialists: exactly these three.
pub const SPECIALISTS: [Specialist; 3] = [
    Specialist {
        name: "booking_agent",
        purpose: "quotes, books and cancels rooms",
        trade: "You quote, book and cancel rooms with your tools.",
        required_tool: "get_quote",
        tools: booking_tools,
    },
    Specialist {
        name: "policy_agent",
        purpose: "answers questions about the rules from the policy documents",
        trade: "You answer questions about the rules from the policy documents alone; cite their ids.",
        required_tool: "search_docs",
        tools: policy_tools,
    },
    Specialist {
        name: "pricing_agent",
        purpose: "compares prices of rooms and plans and finds the cheapest",
        trade: "You compare prices; you recommend, and book nothing.",
        required_tool: "compare_prices",
        tools: pricing_tools,
    },
];

impl Specialist {
    /// The specialist as an agent of a house. The instructions tell the house's clock, since no model knows the
    /// day by itself.
    pub fn agent(&self, house: &Arc<Reservo>) -> Agent {
        let instructions = format!(
            "You are {name} of Reservo, which lets meeting rooms by the hour. {trade} Amounts are in cents. \
             Never state a number that is not in a tool's result, in the user's words or in your package. \
             When a need comes up that none of your tools meets, hand the turn to the specialist for it, with one \
             specific task and just the values it needs; do not answer it yourself.\nNow: {now}",
            name = self.name,
            trade = self.trade,
            now = house.now,
        );
        Agent::new(self.name, instructions).purpose(self.purpose).tools((self.tools)(house))
    }

    /// The specialist as a delegate of somebody who keeps the turn, asked by the tool `ask_booking`, `ask_policy` or
    /// `ask_pricing`.
    ///
    /// ```
    /// use reservo::{demo, specialists::specialist};
    /// use std::sync::Arc;
    ///
    /// let policy = specialist("policy_agent").unwrap().delegate(&Arc::new(demo()));
    /// assert_eq!(policy.tool(), "ask_policy");
    /// ```
    pub fn delegate(&self, house: &Arc<Reservo>) -> Delegate {
        let trade = self.name.strip_suffix("_agent").unwrap_or(self.name);
        Delegate::new(format!("ask_{trade}"), self.agent(house))
            .purpose(format!("Asks {}, who {}.", self.name, self.purpose))
    }
}

/// The specialist of this name.
pub fn specialist(name: &str) -> Option<&'static Specialist> {
    SPECIALISTS.iter().find(|specialist| specialist.name == name)
}

/// Runs one specialist of a house on a task, by itself: there is nobody to hand over to, so what is not its trade it
/// leaves, and says so.
///
/// # Errors
/// [`SpecialistError::Unknown`] when no specialist has this name, and what [`run_agent`] cannot run: a blank task.
/// What the model or a tool does wrong is no error: it is in the run.
///
/// ```
/// use reservo::{OfflineRules, demo, run_specialist};
/// use sommelier_runner::Runner;
/// use std::sync::Arc;
///
/// let house = Arc::new(demo());
/// let runner = Runner::new(OfflineRules);
/// let run = run_specialist(&runner, &house, "booking_agent", "Quote Focus pro 3h")?;
/// assert_eq!(run.answer.as_deref(), Some("Focus pro for 3 hours costs 6000 cents."));
/// assert_eq!(run.steps, 2);
///
/// let error = run_specialist(&runner, &house, "billing", "Quote Focus pro 3h").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "no specialist is named \"billing\"; there are booking_agent, policy_agent, pricing_agent",
/// );
/// # Ok::<(), reservo::SpecialistError>(())
/// ```
pub fn run_specialist(
    runner: &Runner<'_>,
    house: &Arc<Reservo>,
    name: &str,
    task: &str,
) -> Result<AgentRun, SpecialistError> {
    let specialist = specialist(name).ok_or_else(|| SpecialistError::Unknown { name: clip(name) })?;
    Ok(run_agent(runner, specialist.agent(house), task)?)
}

/// A specialist that could not be run: the caller's fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpecialistError {
    /// No specialist has this name.
    #[error("no specialist is named {name:?}; there are {}", SPECIALISTS.map(|known| known.name).join(", "))]
    Unknown {
        /// The name, at most 80 characters of it.
        name: String,
    },
    /// The run could not begin.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// A relay of the three specialists, each with a route to each other, that hears the user first at `entry`.
///
/// ```
/// use reservo::{Entry, demo, specialists};
/// use std::sync::Arc;
///
/// let relay = specialists::relay(&Arc::new(demo()), Entry::Booking).build()?;
/// assert_eq!(relay.entry().as_str(), "booking_agent");
/// assert_eq!(relay.routes().count(), 6);
/// # Ok::<(), sommelier_handoff::BuildErrors>(())
/// ```
pub fn relay(house: &Arc<Reservo>, entry: Entry) -> RelayBuilder {
    let mut relay = Relay::builder().entry(entry.name());
    for specialist in &SPECIALISTS {
        relay = relay.agent(specialist.agent(house));
    }
    for from in &SPECIALISTS {
        for to in SPECIALISTS.iter().filter(|to| to.name != from.name) {
            relay = relay.route_with(Route::new(from.name, to.name).requires([to.required_tool]));
        }
    }
    relay
}
