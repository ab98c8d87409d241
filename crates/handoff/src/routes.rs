//! The routes of a relay, to go through and to look at.

use sommelier_runtime::AgentName;
use std::collections::BTreeSet;
use std::fmt;

use crate::{Hop, Relay, Route};

/// The routes of a relay, by sender and in the order they were added. It is an iterator over them; shown, it is the
/// matrix of who may hand over to whom.
///
/// ```
/// use sommelier_handoff::{Agent, Relay, Route};
///
/// let relay = Relay::builder()
///     .agent(Agent::new("clerk", ""))
///     .agent(Agent::new("till", ""))
///     .entry("clerk")
///     .route_with(Route::new("clerk", "till").needs_approval())
///     .build()?;
/// let matrix = "\
/// from \\ to  clerk  till
/// clerk      .      a
/// till       .      .
/// > a route; r returns, a with approval, t required tools, f fields of the context, g guards of its own
/// ";
/// assert_eq!(relay.routes().to_string(), matrix);
/// # Ok::<(), sommelier_handoff::BuildErrors>(())
/// ```
#[derive(Clone, Debug)]
pub struct Routes<'a> {
    relay: &'a Relay,
    next: usize,
}

impl<'a> Routes<'a> {
    pub(crate) fn new(relay: &'a Relay) -> Self {
        Self { relay, next: 0 }
    }

    pub(crate) fn relay(&self) -> &'a Relay {
        self.relay
    }

    /// The routes as a Mermaid flow chart; delegates are dotted.
    pub fn mermaid(&self) -> String {
        let mut chart = String::from("flowchart LR\n");
        for agent in self.relay.agents() {
            let shape = if agent.name() == self.relay.entry() { ("([", "])") } else { ("[", "]") };
            chart.push_str(&format!("    {name}{}{name}{}\n", shape.0, shape.1, name = agent.name()));
        }
        for route in self.relay.routes() {
            let notes = route.notes().join(", ");
            let arrow = if notes.is_empty() { "-->".to_owned() } else { format!("-- \"{notes}\" -->") };
            chart.push_str(&format!("    {} {arrow} {}\n", route.from, route.to));
        }
        for (asker, tool) in self.relay.delegates() {
            chart.push_str(&format!("    {asker} -. {tool} .-> {asker}_{tool}[[{tool}]]\n"));
        }
        chart
    }

    /// The routes that none of these hops was taken on, as sender and receiver: what a set of tests has left out.
    pub fn untaken<'h>(&self, hops: impl IntoIterator<Item = &'h Hop>) -> Vec<(String, String)> {
        let taken: BTreeSet<(&str, &str)> = hops
            .into_iter()
            .filter(|hop| hop.outcome.is_taken())
            .map(|hop| (hop.from.as_str(), &*hop.to))
            .collect();
        let untaken = self.relay.routes().filter(|route| !taken.contains(&(route.from(), route.to())));
        untaken.map(|route| (route.from.clone(), route.to.clone())).collect()
    }
}

impl<'a> Iterator for Routes<'a> {
    type Item = &'a Route;

    fn next(&mut self) -> Option<&'a Route> {
        let route = self.relay.route_at(self.next)?;
        self.next += 1;
        Some(route)
    }
}

impl Route {
    /// What is special about the route, in a few words each; empty where nothing is.
    ///
    /// ```
    /// use sommelier_handoff::Route;
    ///
    /// assert_eq!(Route::new("clerk", "till").returns().needs_approval().notes(), ["returns", "approval"]);
    /// ```
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.returns {
            notes.push("returns".to_owned());
        }
        if self.needs_approval {
            notes.push("approval".to_owned());
        }
        if !self.requires.is_empty() {
            notes.push(format!("needs {}", self.requires.join(", ")));
        }
        let fields: Vec<&str> = self.policy.fields.iter().map(crate::Field::name).collect();
        if !fields.is_empty() {
            notes.push(format!("with {}", fields.join(", ")));
        }
        if !self.guards.is_empty() {
            notes.push(format!("{} guard(s)", self.guards.len()));
        }
        notes
    }
}

/// The cell of a route in the matrix: a letter for what is special, or an arrow's head.
fn cell(route: &Route) -> String {
    let letters = [
        ('r', route.returns),
        ('a', route.needs_approval),
        ('t', !route.requires.is_empty()),
        ('f', !route.policy.fields.is_empty()),
        ('g', !route.guards.is_empty()),
    ];
    let letters: String = letters.into_iter().filter(|(_, is)| *is).map(|(letter, _)| letter).collect();
    if letters.is_empty() { ">".to_owned() } else { letters }
}

impl fmt::Display for Routes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CORNER: &str = "from \\ to";
        let names: Vec<&AgentName> = self.relay.agents().map(|agent| agent.name()).collect();
        let first = names.iter().map(|name| name.as_str().len()).max().unwrap_or(0).max(CORNER.len());
        let line = |f: &mut fmt::Formatter<'_>, head: &str, cells: Vec<String>| {
            let cells =
                cells.iter().zip(&names).map(|(cell, name)| format!("{cell:<0$}", name.as_str().len()));
            let row = format!("{head:<first$}  {}", cells.collect::<Vec<_>>().join("  "));
            writeln!(f, "{}", row.trim_end())
        };
        line(f, CORNER, names.iter().map(ToString::to_string).collect())?;
        for from in &names {
            let to =
                |to: &&AgentName| self.relay.way(from, to).map_or(".".to_owned(), |way| cell(&way.route));
            line(f, from.as_str(), names.iter().map(to).collect())?;
        }
        writeln!(
            f,
            "> a route; r returns, a with approval, t required tools, f fields of the context, g guards of its own"
        )
    }
}
