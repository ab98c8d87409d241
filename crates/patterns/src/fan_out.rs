//! Parts that are known to be independent before anybody works.

use sommelier_handoff::{DelegateStatus, OnFailedBranch, RelayBuilder};
use std::fmt;
use std::sync::Arc;

use crate::member::all_at_once;
use crate::team::Lead;
use crate::{Finding, Member, Move, Question, Rule, Team, TeamError};

type Ask = dyn Fn(&str) -> String + Send + Sync;
type Aggregate = dyn Fn(&str, &[Finding]) -> String + Send + Sync;

/// Parts that are distributed at once and put together at the end. Which parts there are stands before there is a
/// request, so nobody decides anything.
///
/// ```
/// use sommelier_handoff::{Agent, Delegate};
/// use sommelier_patterns::FanOut;
/// use sommelier_runner::{Outcome, Runner};
/// use sommelier_runtime::{ScriptedModel, script};
///
/// let team = FanOut::new("fan_out")
///     .part(Delegate::new("ask_prices", Agent::new("pricing", "")), |words| format!("Prices: {words}"))
///     .part(Delegate::new("ask_rules", Agent::new("rules", "")), |words| format!("Rules: {words}"))
///     .aggregate(|_, findings| findings.iter().map(|found| found.words()).collect::<Vec<_>>().join(" "))
///     .build()?;
/// let model = ScriptedModel::new()
///     .turn("pricing", |_| script::say("8000 cents."))
///     .turn("rules", |_| script::say("Free until the day before."));
/// let Outcome::Ended(report) = team.run(Runner::new(model), "A room for 4 hours.")? else { panic!() };
/// assert_eq!(report.answer(), "8000 cents. Free until the day before.");
/// assert_eq!((team.model_calls(&report), team.critical_path(&report)), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct FanOut {
    name: String,
    members: Vec<Member>,
    parts: Vec<(String, Arc<Ask>)>,
    aggregate: Arc<Aggregate>,
    all_or_nothing: bool,
}

impl FanOut {
    /// A fan-out without parts, of this name in records and spans. Its findings are put one below the other, each after
    /// the name of its tool; of a part that is not done it is said that it is not, in plain words. Why it is not stands
    /// in the report's [links](sommelier_runner::Report::links) and in [`Finding::reason`], for an aggregate of one's
    /// own.
    pub fn new(name: impl Into<String>) -> Self {
        let one_below_the_other =
            |_: &str, findings: &[Finding]| findings.iter().map(told).collect::<Vec<_>>().join("\n");
        Self {
            name: name.into(),
            members: Vec::new(),
            parts: Vec::new(),
            aggregate: Arc::new(one_below_the_other),
            all_or_nothing: false,
        }
    }

    /// Adds a part: whom to ask, and the question, made of the user's words. Any number of parts can be added.
    pub fn part(
        mut self,
        member: impl Into<Member>,
        question: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Self {
        let member = member.into();
        self.parts.push((member.tool().to_owned(), Arc::new(question)));
        self.members.push(member);
        self
    }

    /// Sets how the answer is made of the user's words and the findings, which stand in the order of the parts, the
    /// failed ones among them.
    pub fn aggregate(
        mut self,
        aggregate: impl Fn(&str, &[Finding]) -> String + Send + Sync + 'static,
    ) -> Self {
        self.aggregate = Arc::new(aggregate);
        self
    }

    /// Calls the other parts off as soon as one fails, and answers with what became of each. Without this every part
    /// goes on, and the findings that there are go into the answer.
    pub fn all_or_nothing(mut self) -> Self {
        self.all_or_nothing = true;
        self
    }

    /// Checks everything before anything runs.
    ///
    /// # Errors
    /// [`TeamError`] when there are no parts, when one waits for another, when an agent has a rule's name, or when it
    /// all makes no relay.
    pub fn build(self) -> Result<Team, TeamError> {
        self.build_with(|relay| relay)
    }

    /// Like [`build`](Self::build), after `change` has set what else the relay is to have, such as another budget or a
    /// greater depth.
    ///
    /// # Errors
    /// [`TeamError`], as [`build`](Self::build).
    pub fn build_with(self, change: impl FnOnce(RelayBuilder) -> RelayBuilder) -> Result<Team, TeamError> {
        let Self { name, members, parts, aggregate, all_or_nothing } = self;
        if parts.is_empty() {
            return Err(TeamError::NoParts { name });
        }
        all_at_once(&name, &members)?;
        let rule = Rule::new(move |sight| {
            if sight.findings.is_empty() {
                let ask = |(tool, ask): &(String, Arc<Ask>)| {
                    Question::new(tool.clone(), ask(&sight.words)).with_context(sight.context.clone())
                };
                return Move::Ask(parts.iter().map(ask).collect());
            }
            if all_or_nothing && sight.findings.iter().any(|found| !found.is_done()) {
                let each: Vec<String> = sight.findings.iter().map(told).collect();
                return Move::Say(format!("Not all parts could be done.\n{}", each.join("\n")));
            }
            Move::Say(aggregate(&sight.words, &sight.findings))
        });
        let then = if all_or_nothing { OnFailedBranch::CallOff } else { OnFailedBranch::Keep };
        let lead = Lead { name, rule, moves: 2 };
        Team::by_rule(lead, members, |relay| change(relay.on_failed_branch(then)))
    }
}

impl fmt::Debug for FanOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<&str> = self.parts.iter().map(|(tool, _)| tool.as_str()).collect();
        let mut shown = f.debug_struct("FanOut");
        shown.field("name", &self.name).field("parts", &parts).field("all_or_nothing", &self.all_or_nothing);
        shown.finish_non_exhaustive()
    }
}

/// A finding in a line, for whoever reads the answer: what was found, or in plain words that it was not. Why it was not
/// is told in the core's words, and is not for them.
pub(crate) fn told(found: &Finding) -> String {
    let Finding { tool, status, finding, .. } = found;
    match (status, finding) {
        (DelegateStatus::Done, _) => format!("{tool}: {}", found.words()),
        (_, Some(words)) => format!("{tool} did not finish; what it said so far: {words}"),
        (_, None) => format!("{tool} did not answer."),
    }
}
