//! How often each rule was looked at, and where it was broken.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// What must be so whatever a model writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// A call that was executed fits the schema of its tool.
    ValidCall,
    /// A conversation, as it was sent and as it ended, breaks no rule of the sequence.
    LegalSequence,
    /// The model was asked while there were calls of it left in the budget.
    ModelCalls,
    /// The model was asked while there were tokens left in the budget.
    Tokens,
    /// No more tools ran than the budget has.
    ToolCalls,
    /// No more handoffs were taken than the cap allows, and none between the same two a second time.
    Handoffs,
    /// A handoff that was taken goes by a route, with a package that the route takes.
    ValidPackage,
    /// A handoff that was taken was asked for by the model's own call, and nothing crossed that neither the model nor a rule of
    /// the route put there.
    OwnCall,
    /// The receiver was asked with the package as the user's last message.
    PackageIsRead,
    /// A handoff that was refused was refused by a guard: its model was told, or a person was asked, or the run ended.
    RefusedByGuard,
    /// Where a person has taken over no model is asked any more.
    PersonHasIt,
    /// A run ended in a way that is known.
    KnownEnd,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 12] = [
        Self::ValidCall,
        Self::LegalSequence,
        Self::ModelCalls,
        Self::Tokens,
        Self::ToolCalls,
        Self::Handoffs,
        Self::ValidPackage,
        Self::OwnCall,
        Self::PackageIsRead,
        Self::RefusedByGuard,
        Self::PersonHasIt,
        Self::KnownEnd,
    ];

    /// The rule in a line.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::ValidCall => "a call that was executed fits its tool's schema",
            Self::LegalSequence => "a conversation keeps the rules S1 to S13",
            Self::ModelCalls => "the model is asked within the budget's calls",
            Self::Tokens => "the model is asked within the budget's tokens",
            Self::ToolCalls => "tools run within the budget",
            Self::Handoffs => "handoffs stay under the cap, no pair repeats",
            Self::ValidPackage => "a package that crossed is valid on its route",
            Self::OwnCall => "what crossed is what the model's own call said",
            Self::PackageIsRead => "the receiver reads the package",
            Self::RefusedByGuard => "a refusal is a guard's, and somebody is told",
            Self::PersonHasIt => "after a person takes over no model is asked",
            Self::KnownEnd => "a run ends in a way that is known",
        }
    }
}

/// How often each rule was looked at, and where it was broken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<Rule, Count>);

/// One rule's count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// How often it was looked at.
    pub checked: u32,
    /// Where it did not hold, and why.
    pub broken: Vec<String>,
}

impl Count {
    /// How often it held.
    pub fn held(&self) -> u32 {
        self.checked.saturating_sub(u32::try_from(self.broken.len()).unwrap_or(u32::MAX))
    }
}

impl Tally {
    /// Counts one look at `rule`, at a place, and what is wrong there, if anything is.
    pub fn look(&mut self, rule: Rule, at: &str, wrong: Option<String>) {
        let count = self.0.entry(rule).or_default();
        count.checked += 1;
        count.broken.extend(wrong.map(|why| format!("{at}: {why}")));
    }

    /// The count of `rule`.
    pub fn of(&self, rule: Rule) -> Count {
        self.0.get(&rule).cloned().unwrap_or_default()
    }

    /// The rules that were broken.
    pub fn broken(&self) -> Vec<Rule> {
        self.0.iter().filter(|(_, count)| !count.broken.is_empty()).map(|(rule, _)| *rule).collect()
    }
}

impl fmt::Display for Tally {
    /// A table, and what was broken below it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = Rule::ALL.map(|rule| rule.meaning().len()).into_iter().max().unwrap_or(0);
        writeln!(f, "{:<width$}  checked  held", "rule")?;
        for rule in Rule::ALL {
            let count = self.of(rule);
            writeln!(f, "{:<width$}  {:>7}  {:>4}", rule.meaning(), count.checked, count.held())?;
        }
        for (rule, count) in &self.0 {
            count.broken.iter().try_for_each(|why| writeln!(f, "BROKEN {}: {why}", rule.meaning()))?;
        }
        Ok(())
    }
}
