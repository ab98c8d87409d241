//! What is not as it was declared.

use std::error::Error;
use std::fmt;

use super::{Effect, Found};
use crate::ToolOutput;

/// One thing that is not as it was declared: what was declared, when it was seen, and what. Its words say besides what would
/// be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is not true.
    pub claim: Claim,
    /// In which call it was seen.
    pub at: Moment,
    /// What was seen.
    pub seen: Seen,
}

/// What is said of a tool: by its declaration, by the law for all tools, or by the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Claim {
    /// What its effect is declared to be like.
    Effect(Effect),
    /// That it undoes the effect of another tool.
    Undoes,
    /// That a member of the result is a secret.
    SecretResult,
    /// Of every tool: who fails has changed nothing, or says that it is in doubt.
    Failure,
    /// Of every tool: it answers, and does not panic.
    Answer,
    /// That the arguments work, or fail; or that there is a transaction. It is the test's to say, not the tool's.
    Test,
}

/// Which call of the kit's it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Moment {
    /// That of the other tool, before all.
    Before,
    /// The one that is to fail.
    Failing,
    /// The first that is to work.
    First,
    /// The same again, under the same key, as after a crash.
    Again,
    /// One under another key.
    Another,
    /// The first, in a transaction that is rolled back.
    RolledBack,
    /// The same again, in a transaction that is committed.
    Committed,
    /// One without a transaction.
    Alone,
    /// The query by the first call's key, before that was made.
    AskedBefore,
    /// The query by the first call's key, after that was made.
    AskedAfter,
    /// The query by a key under which nothing was called.
    AskedOfAnother,
}

/// What was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Seen {
    /// The world changed, and must not.
    Changed {
        /// What it was, as `Debug` writes it.
        before: Box<str>,
        /// What it became.
        after: Box<str>,
    },
    /// The world did not change, and must.
    Unchanged,
    /// An error where it must work, or a result where it must fail.
    Output(ToolOutput),
    /// Two outputs that must be the same.
    Outputs {
        /// That of the first call.
        first: ToolOutput,
        /// That of the same call when it was made again.
        again: ToolOutput,
    },
    /// The tool panicked.
    Panicked,
    /// The query gave another answer.
    Found {
        /// What it must be.
        expected: Found,
        /// What it was.
        found: Found,
    },
    /// A member that is declared is not in the result.
    Missing {
        /// The member, or the path to it.
        member: Box<str>,
        /// The result.
        output: ToolOutput,
    },
    /// The tool is transactional, and the test has no transaction for it, or has not handed it on.
    NoTransaction,
}

impl Seen {
    pub(super) fn changed(before: &impl fmt::Debug, after: &impl fmt::Debug) -> Self {
        Self::Changed { before: format!("{before:?}").into(), after: format!("{after:?}").into() }
    }
}

impl Finding {
    /// What would be right.
    pub fn right(&self) -> &'static str {
        match (&self.claim, self.at, &self.seen) {
            (Claim::Test, Moment::Failing, Seen::Output(ToolOutput { error: None, .. })) => {
                "arguments that it fails on"
            }
            (Claim::Test, Moment::Failing, _) => {
                "arguments that fit its schema, and that it fails on by itself"
            }
            (Claim::Test, _, Seen::NoTransaction) => "a transaction that is begun, handed on and ended",
            (Claim::Test, ..) => "arguments that it works with, and a double that lets it",
            (Claim::Answer, ..) => "an error that a model can read",
            (Claim::Failure, ..) => "an error before anything is done, or one that says `in_doubt`",
            (Claim::SecretResult, ..) => "the path of a member that is there",
            (Claim::Undoes, Moment::Before, _) => "a member of the other tool's result that names its effect",
            (Claim::Undoes, ..) => "a success that changes nothing, as what is wanted is so already",
            (Claim::Effect(effect), at, seen) => right_effect(effect, at, seen),
        }
    }
}

fn right_effect(effect: &Effect, at: Moment, seen: &Seen) -> &'static str {
    match (effect, at, seen) {
        (Effect::ReadOnly, ..) => "a tool that only looks, or a declaration of what it does besides",
        (_, Moment::First | Moment::Committed | Moment::Alone, Seen::Unchanged) => {
            "a snapshot that shows its effect, or `read_only` where there is none"
        }
        (Effect::Transactional, _, Seen::Changed { .. }) => {
            "all that it writes goes through the transaction of its call; else it is not `transactional`"
        }
        (Effect::Transactional, ..) => {
            "nothing is left of an attempt that was rolled back, so that the next one works"
        }
        (Effect::Keyed { .. }, Moment::Again, _) => {
            "the key goes to the other side, which does it once and says the same again; else it is not `keyed`"
        }
        (_, Moment::Another, _) => {
            "the call's own key decides what is the same; arguments of `another` effect where the first stands in its way"
        }
        (Effect::Queried { .. }, _, Seen::Changed { .. }) => "a query that only looks",
        (Effect::Queried { .. }, ..) => {
            "absent for a key under which nothing was done, done with the call's own output for one under which it was"
        }
        (Effect::Keyed { .. } | Effect::AtMostOnce, ..) => "no such declaration",
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {}; right would be: {}", self.claim, self.at, self.seen, self.right())
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Effect(effect) => write!(f, "declared {}", effect.as_str()),
            Self::Undoes => f.write_str("declared to undo"),
            Self::SecretResult => f.write_str("declared a secret result"),
            Self::Failure => f.write_str("who fails has changed nothing"),
            Self::Answer => f.write_str("a tool answers"),
            Self::Test => f.write_str("the test says otherwise"),
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Before => "the call before it",
            Self::Failing => "the call that is to fail",
            Self::First => "the first call",
            Self::Again => "the same call under the same key",
            Self::Another => "a call under another key",
            Self::RolledBack => "the call that is rolled back",
            Self::Committed => "the call that is committed",
            Self::Alone => "the call without a transaction",
            Self::AskedBefore => "the query before the call",
            Self::AskedAfter => "the query after the call",
            Self::AskedOfAnother => "the query by another key",
        })
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed { before, after } => write!(f, "changed {before} to {after}"),
            Self::Unchanged => f.write_str("changed nothing"),
            Self::Output(output) => write!(f, "gave {}", output.content),
            Self::Outputs { first, again } => {
                write!(f, "gave {}, and at first {}", again.content, first.content)
            }
            Self::Panicked => f.write_str("panicked"),
            Self::Found { expected, found } => write!(f, "said {found:?}, not {expected:?}"),
            Self::Missing { member, output } => write!(f, "gave no {member:?} in {}", output.content),
            Self::NoTransaction => f.write_str("had no transaction"),
        }
    }
}

/// All that a check has found of one tool; never nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings {
    tool: Box<str>,
    all: Vec<Finding>,
}

impl Findings {
    pub(super) fn of(tool: &str, all: Vec<Finding>) -> Option<Self> {
        (!all.is_empty()).then(|| Self { tool: tool.into(), all })
    }

    /// The tool.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Each of them, in the order in which they were seen.
    pub fn all(&self) -> &[Finding] {
        &self.all
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.tool)?;
        self.all.iter().try_for_each(|finding| write!(f, "\n- {finding}"))
    }
}

impl Error for Findings {}
