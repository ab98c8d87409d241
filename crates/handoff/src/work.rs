//! Whether a receiver has kept to what bound it.

use serde::{Deserialize, Serialize};
use sommelier_protocol::{Message, Role, ToolResult, ToolUse};
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::own_guard::asked;
use crate::{Closing, Contract, HANDOFF_TO_SPECIALIST, HandoffPackage, Hop};

/// What became of one constraint of a package, as far as code can tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compliance {
    /// Its check says that it was kept.
    Kept,
    /// Its check says that it was broken.
    Broken {
        /// In what.
        reason: Box<str>,
    },
    /// No check in code is there for it, so nobody has looked.
    Unchecked,
    /// Its check failed or broke down: its author's fault. Nobody knows whether the constraint was kept.
    Unknown {
        /// What its error says, and each error behind it.
        causes: Vec<String>,
    },
}

impl Compliance {
    /// What became of it in a word, for spans and reports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Broken { .. } => "broken",
            Self::Unchecked => "unchecked",
            Self::Unknown { .. } => "unknown",
        }
    }
}

/// What a check says of the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conduct {
    /// The constraint was kept.
    Keep,
    /// It was broken.
    Break {
        /// In what, for the record.
        reason: String,
    },
}

/// What came of asking a check. One that cannot tell says so by an error.
pub type Checked = Result<Conduct, Box<dyn Error + Send + Sync>>;

/// What a receiver did between getting the turn and giving it up: all that a check of a constraint sees.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    pub(crate) constraint: &'a str,
    pub(crate) agent: &'a str,
    pub(crate) package: &'a HandoffPackage,
    pub(crate) how: Closing,
    pub(crate) answer: Option<&'a str>,
    pub(crate) messages: &'a [Message],
}

impl<'a> Work<'a> {
    /// The constraint that is asked about, as it stands in the package.
    pub fn constraint(&self) -> &'a str {
        self.constraint
    }

    /// The receiver.
    pub fn agent(&self) -> &'a str {
        self.agent
    }

    /// What it was handed.
    pub fn package(&self) -> &'a HandoffPackage {
        self.package
    }

    /// How its work has ended.
    pub fn how(&self) -> Closing {
        self.how
    }

    /// Its answer; `None` when it was stopped or handed on.
    pub fn answer(&self) -> Option<&'a str> {
        self.answer
    }

    /// Its conversation from the package on.
    pub fn messages(&self) -> &'a [Message] {
        self.messages
    }

    /// Its calls since, each with its result once there is one.
    pub fn calls(&self) -> impl Iterator<Item = (&'a ToolUse, Option<&'a ToolResult>)> {
        let messages = self.messages;
        messages.iter().zip(messages.iter().skip(1).map(Some).chain([None])).flat_map(|(message, next)| {
            let result =
                move |call: &ToolUse| next?.tool_results().find(|result| result.tool_use_id() == call.id());
            message.tool_uses().map(move |call| (call, result(call)))
        })
    }
}

/// Where in its receiver's conversation the work of a hop begins: with the message that brought the package, or with the
/// result of a handoff that came back. It is 0 where neither is found. `later` hops have brought the same since.
///
/// Only what code has put there counts. Words of the model, and results of tools that it can make say the same, would hide
/// the work before them.
pub(crate) fn begins(messages: &[Message], hop: &Hop, contract: Option<Contract>, later: usize) -> usize {
    let Some(package) = &hop.package else { return 0 };
    let told = [None, contract].map(|contract| package.to_prompt_under(&hop.from, contract));
    let json = package.to_json();
    let brings = |(place, message): &(usize, &Message)| {
        let calls = place.checked_sub(1).and_then(|before| messages.get(before));
        let handed = calls.into_iter().flat_map(Message::tool_uses).filter(|call| is_handoff(call));
        let handed: Vec<&str> = handed.map(ToolUse::id).collect();
        let is_back = |result: &ToolResult| {
            !result.is_error() && handed.contains(&result.tool_use_id()) && result.words().contains(&json)
        };
        message.role == Role::User
            && (message.texts().any(|text| told.iter().any(|told| told == text))
                || message.tool_results().any(is_back))
    };
    let places = messages.iter().enumerate().rev().filter(brings).map(|(place, _)| place);
    places.take(later.saturating_add(1)).last().unwrap_or_default()
}

fn is_handoff(call: &ToolUse) -> bool {
    call.name() == HANDOFF_TO_SPECIALIST
}

type Check = dyn Fn(&Work<'_>) -> Checked + Send + Sync;

/// A check in code of one constraint, or of all that begin alike: a pure function of the work. It is known by the text
/// that it is for, in the fingerprint of the definition too: what it does is code, and no fingerprint sees it.
#[derive(Clone)]
pub(crate) struct ConstraintCheck {
    about: About,
    check: Arc<Check>,
}

/// Which constraints a check is for.
#[derive(Clone, Debug, Serialize)]
pub(crate) enum About {
    Text(Box<str>),
    Beginning(Box<str>),
}

impl ConstraintCheck {
    pub(crate) fn new(about: About, check: impl Fn(&Work<'_>) -> Checked + Send + Sync + 'static) -> Self {
        Self { about, check: Arc::new(check) }
    }

    /// Whether it is for this constraint.
    fn is_for(&self, constraint: &str) -> bool {
        match &self.about {
            About::Text(text) => **text == *constraint,
            About::Beginning(beginning) => constraint.starts_with(&**beginning),
        }
    }

    pub(crate) fn about(&self) -> &About {
        &self.about
    }
}

impl fmt::Debug for ConstraintCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ConstraintCheck").field(&self.about).finish()
    }
}

/// Whether any of the checks is for a constraint of the package.
pub(crate) fn are_for(checks: &[ConstraintCheck], package: &HandoffPackage) -> bool {
    package.constraints().iter().any(|constraint| has_check(checks, constraint))
}

pub(crate) fn has_check(checks: &[ConstraintCheck], constraint: &str) -> bool {
    checks.iter().any(|check| check.is_for(constraint))
}

/// Asks every check that is for the constraint of this work. One that says that it was broken has the last word, and one
/// that fails has the word before those that say it was kept.
pub(crate) fn compliance(checks: &[ConstraintCheck], work: &Work<'_>) -> Compliance {
    let mut found = Compliance::Unchecked;
    for check in checks.iter().filter(|check| check.is_for(work.constraint)) {
        match (asked(|| (check.check)(work)), &found) {
            (Ok(Conduct::Break { reason }), _) => return Compliance::Broken { reason: reason.into() },
            (Err(causes), _) => found = Compliance::Unknown { causes },
            (Ok(Conduct::Keep), Compliance::Unchecked) => found = Compliance::Kept,
            (Ok(Conduct::Keep), _) => {}
        }
    }
    found
}

static UNCHECKED: Compliance = Compliance::Unchecked;

impl Hop {
    /// What became of each constraint of the package, in order. While the work goes on, and where no check is for it,
    /// a constraint is [unchecked](Compliance::Unchecked).
    pub fn compliance(&self) -> impl Iterator<Item = (&str, &Compliance)> {
        let texts = self.package.iter().flat_map(HandoffPackage::constraints);
        let found = self.account.iter().flat_map(|account| &account.compliance);
        texts.map(|text| &**text).zip(found.chain(std::iter::repeat(&UNCHECKED)))
    }
}
