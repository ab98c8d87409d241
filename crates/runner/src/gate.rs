//! Who decides on effects that cannot be undone.

use sommelier_protocol::RawJson;
use sommelier_runtime::AgentName;
use std::fmt;
use std::sync::Arc;

/// A call of a tool that needs approval, as it would run.
#[derive(Clone, Copy, Debug)]
pub struct Approval<'a> {
    /// The agent that calls.
    pub agent: &'a AgentName,
    /// The tool.
    pub tool: &'a str,
    /// The arguments, as the model wrote them.
    pub input: &'a RawJson,
    /// The id of the call.
    pub call_id: &'a str,
    /// The run that calls: the conversation's name, or in a branch the branch's path. Two branches may have agents and
    /// calls of the same names.
    pub run: &'a str,
    /// The key under which the effect would happen once.
    pub idempotency_key: &'a str,
}

/// What the gate says of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The tool runs.
    Approve,
    /// A person is asked: the run waits, and nothing of the reply runs before the answer.
    Ask,
    /// The tool does not run; the model is told `approval_denied` and the reason.
    Deny {
        /// Why, in words for the model.
        reason: String,
    },
}

type Decide = dyn Fn(&Approval<'_>) -> Decision + Send + Sync;

/// The policy on tools that need approval: a pure function of the call. Tools that need none never pass it.
///
/// ```
/// use sommelier_runner::{Decision, Gate};
///
/// let gate = Gate::new(|approval| match approval.tool {
///     "cancel" => Decision::Approve,
///     _ => Decision::Deny { reason: "only cancelling is approved here".into() },
/// });
/// ```
#[derive(Clone)]
pub struct Gate(Arc<Decide>);

impl Gate {
    /// A gate that decides by `decide`.
    pub fn new(decide: impl Fn(&Approval<'_>) -> Decision + Send + Sync + 'static) -> Self {
        Self(Arc::new(decide))
    }

    /// A gate that approves every call.
    pub fn approve_all() -> Self {
        Self::new(|_| Decision::Approve)
    }

    /// A gate that has a person asked about every call.
    pub fn ask_all() -> Self {
        Self::new(|_| Decision::Ask)
    }

    /// A gate that denies every call, for this reason.
    pub fn deny_all(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::new(move |_| Decision::Deny { reason: reason.clone() })
    }

    /// Decides on one call.
    pub fn decide(&self, approval: &Approval<'_>) -> Decision {
        (self.0)(approval)
    }
}

impl Default for Gate {
    /// Denies every call: nobody has approved.
    fn default() -> Self {
        Self::deny_all("no one is here to approve it")
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gate")
    }
}
