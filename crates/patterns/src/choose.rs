//! Which pattern a request calls for, and why.

use serde::Serialize;
use std::fmt;

/// What is known of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Shape {
    /// How many parts are known at arrival, before anyone has worked. What one trade does by itself is one part,
    /// however many steps it takes.
    pub parts: usize,
    /// What the parts need of each other. Where several parts need something, the strongest need counts. With fewer
    /// than two parts there is nothing to need, and this is not looked at.
    pub dependence: Dependence,
    /// Whether who works after whom was fixed before any request existed, the same for all of them.
    pub order_fixed: bool,
    /// Whether a need came up in the work: nothing in the request tells it, and only the agent at work saw it.
    pub found_in_work: bool,
}

/// What the parts of a request need of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dependence {
    /// Nothing: all can begin at once.
    Independent,
    /// A part needs a value that another brings. Whose part it is is plain; what it works on, only the agent that has
    /// the value can say.
    OnResult,
    /// Who works next, or whether anyone does, has to be decided from results, and no agent at work can tell: somebody
    /// outside, who has read the request as it came, must.
    OnDecision,
}

impl Dependence {
    /// Every answer.
    pub const ALL: [Self; 3] = [Self::Independent, Self::OnResult, Self::OnDecision];
}

/// How agents are put together for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// One agent does it all.
    SingleAgent,
    /// One who does none of the work decides who works next.
    Supervisor,
    /// Stages in an order that stands.
    Pipeline,
    /// All parts at once, and their results put together.
    FanOut,
    /// The agent at work gives its turn to the one whose need it found.
    Handoff,
}

impl Pattern {
    /// Every pattern.
    pub const ALL: [Self; 5] =
        [Self::SingleAgent, Self::Supervisor, Self::Pipeline, Self::FanOut, Self::Handoff];

    /// The name in snake case, as it is in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SingleAgent => "single_agent",
            Self::Supervisor => "supervisor",
            Self::Pipeline => "pipeline",
            Self::FanOut => "fan_out",
            Self::Handoff => "handoff",
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a pattern was chosen. Displayed, it is a clause that goes after "since".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A need came up in the work.
    FoundInWork,
    /// The order stood before the request.
    OrderFixed,
    /// Nothing is asked that one of the agents could do.
    NoPart,
    /// One trade does it all.
    OneTrade,
    /// All parts are known, and none waits for another.
    KnownAndIndependent,
    /// A part waits for a value that another brings.
    NeedsResult,
    /// Somebody outside decides from results who works next.
    DecidedFromResults,
}

impl Reason {
    /// Every reason, in the order in which they are looked for.
    pub const ALL: [Self; 7] = [
        Self::FoundInWork,
        Self::OrderFixed,
        Self::NoPart,
        Self::OneTrade,
        Self::KnownAndIndependent,
        Self::NeedsResult,
        Self::DecidedFromResults,
    ];

    /// The name in snake case, as it is in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FoundInWork => "found_in_work",
            Self::OrderFixed => "order_fixed",
            Self::NoPart => "no_part",
            Self::OneTrade => "one_trade",
            Self::KnownAndIndependent => "known_and_independent",
            Self::NeedsResult => "needs_result",
            Self::DecidedFromResults => "decided_from_results",
        }
    }

    /// The pattern that it speaks for: each reason speaks for one.
    pub const fn pattern(self) -> Pattern {
        match self {
            Self::FoundInWork | Self::NeedsResult => Pattern::Handoff,
            Self::OrderFixed => Pattern::Pipeline,
            Self::NoPart | Self::OneTrade => Pattern::SingleAgent,
            Self::KnownAndIndependent => Pattern::FanOut,
            Self::DecidedFromResults => Pattern::Supervisor,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FoundInWork => "a need came up in the work that nothing in the request tells",
            Self::OrderFixed => "who works after whom was fixed before any request existed",
            Self::NoPart => "nothing is asked that one of the agents could do",
            Self::OneTrade => "one trade does all that is asked",
            Self::KnownAndIndependent => {
                "every part was known at arrival and none needs the result of another"
            }
            Self::NeedsResult => "a part needs a result that only the agent at work on another part has",
            Self::DecidedFromResults => "who works next is decided from results, by somebody outside",
        })
    }
}

/// A pattern, and why it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Choice {
    /// The pattern.
    pub pattern: Pattern,
    /// Why.
    pub reason: Reason,
}

impl From<Reason> for Choice {
    fn from(reason: Reason) -> Self {
        Self { pattern: reason.pattern(), reason }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, since {}", self.pattern, self.reason)
    }
}

/// Chooses the pattern for a request: pure, and with an answer to every shape.
///
/// Two things decide, and the wording of the request is neither of them: *when* a need is found, and whether one part
/// needs what another brings. Four questions ask for them, and [`Shape`] holds the answers. They are asked in this
/// order, and the first that fits decides:
///
/// | found in the work | order fixed before | parts at arrival | dependence | pattern | reason |
/// |---|---|---|---|---|---|
/// | yes | any | any | any | handoff | [`FoundInWork`](Reason::FoundInWork) |
/// | no | yes | any | any | pipeline | [`OrderFixed`](Reason::OrderFixed) |
/// | no | no | 0 | any | single agent | [`NoPart`](Reason::NoPart) |
/// | no | no | 1 | any | single agent | [`OneTrade`](Reason::OneTrade) |
/// | no | no | 2 or more | independent | fan-out | [`KnownAndIndependent`](Reason::KnownAndIndependent) |
/// | no | no | 2 or more | on a result | handoff | [`NeedsResult`](Reason::NeedsResult) |
/// | no | no | 2 or more | on a decision | supervisor | [`DecidedFromResults`](Reason::DecidedFromResults) |
///
/// Why the first row stands first: a need that came up in the work has no place in an order that was fixed before it,
/// and nobody outside has seen it. Whatever the rest of the request is like, that need is handed over by the one who
/// found it. The rest keeps its own pattern; ask for it with `found_in_work: false`.
///
/// # To check yourself
///
/// On a case that you have not seen before, ask in this order.
///
/// 1. Could somebody who knows the request alone, and has done nothing, write down every part? If not, because a tool's
///    result brought a part to light: **handoff**.
/// 2. Would the same stages run in the same order for every request? **Pipeline**.
/// 3. Is one trade enough? **Single agent**, however many steps it takes.
/// 4. Can all parts begin at once? **Fan-out**. That somebody is called "supervisor", or that a turn is "handed over"
///    before anyone has worked, does not change it: what is known at arrival and independent is no handoff.
/// 5. Does a part wait for a value that the agent at work will have, and is it plain whose part that is? **Handoff**: it
///    passes the value on. Must somebody outside look at results to say who works next, or whether? **Supervisor**.
///
/// # Example
///
/// ```
/// use sommelier_patterns::{Dependence, Pattern, Reason, Shape, choose};
///
/// // "Quote Focus pro 3h and tell me the cancellation policy"
/// let shape =
///     Shape { parts: 2, dependence: Dependence::Independent, order_fixed: false, found_in_work: false };
/// assert_eq!(choose(&shape).pattern, Pattern::FanOut);
///
/// // "Quote Focus pro 3h. And what happens if I don't show up?": the charge is made of the quote.
/// let choice = choose(&Shape { dependence: Dependence::OnResult, ..shape });
/// assert_eq!((choice.pattern, choice.reason), (Pattern::Handoff, Reason::NeedsResult));
/// assert_eq!(
///     choice.to_string(),
///     "handoff, since a part needs a result that only the agent at work on another part has",
/// );
/// ```
pub fn choose(shape: &Shape) -> Choice {
    let reason = match *shape {
        Shape { found_in_work: true, .. } => Reason::FoundInWork,
        Shape { order_fixed: true, .. } => Reason::OrderFixed,
        Shape { parts: 0, .. } => Reason::NoPart,
        Shape { parts: 1, .. } => Reason::OneTrade,
        Shape { dependence: Dependence::Independent, .. } => Reason::KnownAndIndependent,
        Shape { dependence: Dependence::OnResult, .. } => Reason::NeedsResult,
        Shape { dependence: Dependence::OnDecision, .. } => Reason::DecidedFromResults,
    };
    Choice::from(reason)
}
