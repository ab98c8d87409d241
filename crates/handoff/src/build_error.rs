//! What can be wrong with a relay's description.

use sommelier_runtime::DefinitionError;
use std::fmt;

use crate::{Measure, PackageError};

/// What is wrong with a relay's description: its author's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// An agent is not well formed.
    #[error(transparent)]
    Agent(DefinitionError),
    /// An agent has a tool, or a delegate, under a name that is kept: that of the handoff, of asking a person, or of
    /// completing what was handed over.
    #[error("{agent} has a tool of its own named {tool:?}, a name that is kept")]
    ReservedTool {
        /// The agent.
        agent: String,
        /// The name.
        tool: String,
    },
    /// Two agents have one name.
    #[error("two agents are named {name:?}; names must differ")]
    DuplicateAgent {
        /// The name.
        name: String,
    },
    /// No agent hears the user first.
    #[error("the relay has no entry")]
    NoEntry,
    /// The entry is not there.
    #[error("the entry {name:?} is no agent of the relay")]
    UnknownEntry {
        /// The name.
        name: String,
    },
    /// A route from an agent to itself.
    #[error("the route {agent} -> {agent} leads back to its own agent")]
    SelfRoute {
        /// The agent.
        agent: String,
    },
    /// A route that is there twice.
    #[error("the route {from} -> {to} is there twice")]
    DuplicateRoute {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
    },
    /// A route whose one end is not there.
    #[error("the route {from} -> {to} {} at an agent that is not there", if missing == from { "begins" } else { "ends" })]
    RouteToNowhere {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
        /// The one that is not there.
        missing: String,
    },
    /// An agent that no route reaches from an entry.
    #[error("no route from an entry reaches {agent}")]
    Unreachable {
        /// The agent.
        agent: String,
    },
    /// A receiver that lacks a tool which a route requires.
    #[error("the route {from} -> {to} requires the tool {tool:?}, which {to} does not have")]
    MissingTool {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
        /// The tool.
        tool: String,
    },
    /// A constraint that no package could hold.
    #[error("the constraint {text:?} cannot stand in a package: {error}")]
    Constraint {
        /// How it begins.
        text: String,
        /// Why.
        error: PackageError,
    },
    /// An agent that may ask a person and is not there.
    #[error("{agent} may ask a person, and is not there")]
    AskerNotThere {
        /// The agent.
        agent: String,
    },
    /// A guard of a receiver that is not there.
    #[error("a guard is for {receiver}, which is not there")]
    GuardOfNobody {
        /// The agent.
        receiver: String,
    },
    /// A delegate of an agent that is not there.
    #[error("the delegate {tool} is for {asker}, which is not there")]
    DelegateOfNobody {
        /// The agent that was to ask.
        asker: String,
        /// The delegate's tool.
        tool: String,
    },
    /// The agent behind a delegate is not well formed.
    #[error("the delegate {tool} of {asker}: {errors}")]
    Delegate {
        /// The agent that asks.
        asker: String,
        /// The delegate's tool.
        tool: String,
        /// What is wrong.
        #[source]
        errors: BuildErrors,
    },
    /// A team that has no agent of the name by which it is to be entered.
    #[error("the delegate {tool} of {asker} is to begin at {entry}, which its team does not have")]
    DelegateEntry {
        /// The agent that asks.
        asker: String,
        /// The delegate's tool.
        tool: String,
        /// The name.
        entry: String,
    },
    /// A delegate that waits for one that is not there.
    #[error("the delegate {tool} of {asker} waits for {after}, which {asker} does not have")]
    AfterNothing {
        /// The agent that asks.
        asker: String,
        /// The delegate's tool.
        tool: String,
        /// The tool that it waits for.
        after: String,
    },
    /// A delegate that waits for itself, or for one that waits for it.
    #[error("the delegate {tool} of {asker} waits for itself")]
    AfterItself {
        /// The agent that asks.
        asker: String,
        /// The delegate's tool.
        tool: String,
    },
    /// A relay or a delegate that could not begin to answer.
    #[error("{place} is given 0 {measure}; it needs 1 at least")]
    NoAllowance {
        /// The relay or the delegate.
        place: Place,
        /// Of what it is given nothing.
        measure: Measure,
    },
    /// Agents have delegates, and no reply may ask one.
    #[error("a reply may open 0 branches, and there are delegates; `max_branches` sets it")]
    NoBranches,
    /// Delegates of delegates, deeper than was allowed.
    #[error("delegates are nested {depth} deep, at most {most}; `max_depth` sets it")]
    TooDeep {
        /// The depth found.
        depth: u32,
        /// The most.
        most: u32,
    },
    /// A cap that is higher than the package law.
    #[error("the policy of {place} is beyond the package law: {cap}")]
    BeyondLaw {
        /// The route or the delegate.
        place: Place,
        /// The cap, its value, and the law.
        cap: String,
    },
    /// A field that no context could have.
    #[error("the field {field:?} of {place} {fault}")]
    Field {
        /// The route or the delegate.
        place: Place,
        /// The field.
        field: String,
        /// Why.
        fault: FieldFault,
    },
    /// Even the least package that fills all that a policy demands breaks the policy.
    #[error("no package can meet the policy of {place}: {error}")]
    Unmeetable {
        /// The route or the delegate.
        place: Place,
        /// In what.
        error: PackageError,
    },
    /// A guard of the user's own whose name does not tell it from others.
    #[error("a guard of {place} is named {name:?}, which {fault}")]
    Guard {
        /// What it guards.
        place: Place,
        /// The name.
        name: String,
        /// What is wrong with it.
        fault: NameFault,
    },
    /// A transform whose name does not tell it from others.
    #[error("a transform of {place} is named {name:?}, which {fault}")]
    Transform {
        /// Where it is.
        place: Place,
        /// The name.
        name: String,
        /// What is wrong with it.
        fault: NameFault,
    },
}

/// Where in a description something is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// For the whole relay.
    Relay,
    /// On a route.
    Route {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
    },
    /// For a receiver, on each route to it.
    Receiver {
        /// The agent.
        agent: String,
    },
    /// For a delegate.
    Delegate {
        /// The agent that asks.
        asker: String,
        /// The delegate's tool.
        tool: String,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relay => f.write_str("the relay"),
            Self::Route { from, to } => write!(f, "the route {from} -> {to}"),
            Self::Receiver { agent } => write!(f, "the receiver {agent}"),
            Self::Delegate { asker, tool } => write!(f, "the delegate {tool} of {asker}"),
        }
    }
}

/// Why no context could have a field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldFault {
    /// Its name is no key of a package.
    #[error("has no legal name: an ASCII letter or `_`, then up to 127 of letters, digits, `_` and `-`")]
    Name,
    /// Another field has the name.
    #[error("is there twice")]
    Twice,
    /// It is one of no texts.
    #[error("may be one of no texts")]
    NoValues,
    /// One of its legal texts could not be in a package.
    #[error("may be {value:?}, which it cannot be: {error}")]
    Value {
        /// The text.
        value: String,
        /// Why.
        error: PackageError,
    },
}

/// What is wrong with the name of a guard or of a transform, by which refusals and the fingerprint know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    /// There is nothing in it.
    #[error("is blank")]
    Blank,
    /// Another one that is asked at the same place has it.
    #[error("another one there has too")]
    Twice,
}

impl BuildError {
    /// The error in the words of a delegate's call, in which the task is the `question`.
    pub(crate) fn of_question(self) -> Self {
        match self {
            Self::Unmeetable { place, error } => Self::Unmeetable { place, error: error.of_question() },
            other => other,
        }
    }

    pub(crate) fn rank(&self) -> u8 {
        match self {
            Self::Agent(_) | Self::ReservedTool { .. } => 0,
            Self::DuplicateAgent { .. } => 1,
            Self::NoEntry | Self::UnknownEntry { .. } => 2,
            Self::SelfRoute { .. } | Self::DuplicateRoute { .. } | Self::RouteToNowhere { .. } => 3,
            Self::Unreachable { .. } => 4,
            Self::MissingTool { .. } => 5,
            Self::BeyondLaw { .. }
            | Self::Field { .. }
            | Self::Unmeetable { .. }
            | Self::Guard { .. }
            | Self::Transform { .. } => 6,
            Self::Constraint { .. }
            | Self::AskerNotThere { .. }
            | Self::GuardOfNobody { .. }
            | Self::DelegateOfNobody { .. }
            | Self::Delegate { .. }
            | Self::DelegateEntry { .. }
            | Self::AfterNothing { .. }
            | Self::AfterItself { .. }
            | Self::NoAllowance { .. }
            | Self::NoBranches
            | Self::TooDeep { .. } => 7,
        }
    }
}

/// All that is wrong with a relay's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildErrors(pub Vec<BuildError>);

impl fmt::Display for BuildErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&texts.join("; "))
    }
}

impl std::error::Error for BuildErrors {
    /// What is behind the first of them: one error alone is told as itself.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.first().and_then(std::error::Error::source)
    }
}
