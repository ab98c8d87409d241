//! A handoff that an agent's model has asked for: what it said, and what crossed.

use serde::Serialize;
use sommelier_handoff::HandoffPackage;
use std::fmt;

use crate::inspect::call_for;
use crate::{Evidence, Exchange};

/// A handoff that was taken by a model's own call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sighting {
    /// The case.
    pub case: &'static str,
    /// What the customer said.
    pub says: &'static str,
    /// The sender.
    pub from: String,
    /// The receiver.
    pub to: String,
    /// Whether the model could have done something else.
    pub is_free: bool,
    /// The bytes of the service's reply; `None` where no service was asked.
    pub raw: Option<String>,
    /// The arguments of the call, as the model wrote them.
    pub arguments: String,
    /// The package that crossed, as the receiver has it.
    pub package: String,
}

impl Sighting {
    /// The handoffs of a case.
    pub fn all(evidence: &Evidence) -> Vec<Self> {
        let mut found = Vec::new();
        for heard in &evidence.heard {
            for hop in heard.hops.iter().filter(|hop| hop.outcome.is_taken()) {
                let Some((Exchange { is_forced, raw, .. }, call)) = call_for(heard, hop) else { continue };
                found.push(Self {
                    case: evidence.case.name,
                    says: heard.says,
                    from: hop.from.to_string(),
                    to: hop.to.to_string(),
                    is_free: !is_forced,
                    raw: raw.clone(),
                    arguments: call.input().get().to_owned(),
                    package: hop.package.as_ref().map(HandoffPackage::to_json).unwrap_or_default(),
                });
            }
        }
        found
    }

    /// The one to be shown: by a model that was free to do something else, if there is one.
    pub fn best(all: &[Self]) -> Option<&Self> {
        all.iter().find(|sighting| sighting.is_free).or(all.first())
    }
}

impl fmt::Display for Sighting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { says, from, to, is_free, raw, arguments, package, .. } = self;
        let choice = if *is_free { "could have done something else" } else { "could do nothing else" };
        writeln!(
            f,
            "A handoff by a call of {from}'s own, which {choice}:\n\ncustomer   {says}\nto         {to}"
        )?;
        match raw {
            Some(raw) => writeln!(f, "raw reply  {raw}")?,
            None => writeln!(f, "arguments  {arguments}")?,
        }
        writeln!(f, "package    {package}")
    }
}
