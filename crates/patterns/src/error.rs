//! What can be wrong with a pattern's description.

use sommelier_handoff::{AgentName, BuildErrors};

/// A pattern that cannot be built: its author's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TeamError {
    /// Its agents and delegates make no relay.
    #[error(transparent)]
    Relay(#[from] BuildErrors),
    /// A fan-out that has nobody to ask.
    #[error("the fan-out {name} has no parts; give it one at least with `part`")]
    NoParts {
        /// The fan-out.
        name: String,
    },
    /// A pipeline that has nobody to ask.
    #[error("the pipeline {name} has no stages; give it one at least with `stage`")]
    NoStages {
        /// The pipeline.
        name: String,
    },
    /// A delegate that waits for another, under a lead that asks all of them in one reply: it would never be asked.
    #[error(
        "{tool} is to be asked after {after}, but {lead} asks everybody at once; make them stages of a pipeline, or \
         leave `after` out"
    )]
    AfterAtOnce {
        /// The lead.
        lead: String,
        /// The delegate that waits.
        tool: String,
        /// The delegate that it waits for.
        after: String,
    },
    /// Two agents of the tree that rules decide for have one name, and a rule is found by its agent's name.
    #[error("rules decide for two agents named {name}; give each team of the tree a name of its own")]
    TwoRules {
        /// The name.
        name: AgentName,
    },
    /// An agent of the tree has the name of one that a rule decides for, so the rule would decide for it too.
    #[error("{name} is decided for by a rule, and another agent of the tree has that name; give it another")]
    NamedLikeRule {
        /// The name.
        name: AgentName,
    },
}
