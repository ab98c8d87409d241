//! What a receiver says of the open items that it was handed.

use serde::{Deserialize, Serialize};
use sommelier_runtime::ToolOutput;

use crate::refusal::{first, quoted, told};
use crate::{HandoffPackage, PackageError, law};

/// The reserved tool by which a receiver ends its work on a package with open items. It is offered while there are any.
pub const COMPLETE_HANDOFF: &str = "complete_handoff";

/// What became of the open items of a package, as its receiver has said it: each is in one of the two lists, in the
/// package's own words and order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Completion {
    /// The items that are done.
    pub done: Vec<Box<str>>,
    /// The items that are still to be done, and after them what was found to be so on the way.
    pub open: Vec<Box<str>>,
}

/// A call of [`COMPLETE_HANDOFF`] as it was read.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    pub(crate) done: Vec<Box<str>>,
    pub(crate) open: Vec<Box<str>>,
    pub(crate) answer: Box<str>,
}

/// The open items of a package, each once and without white space around it. A blank one asks for nothing.
pub(crate) fn items(package: &HandoffPackage) -> Vec<&str> {
    distinct(package.open_items())
}

/// Texts that are not blank, each once.
fn distinct(texts: &[Box<str>]) -> Vec<&str> {
    let mut distinct = Vec::new();
    for text in texts.iter().map(|text| text.trim()).filter(|text| !law::is_blank(text)) {
        if !distinct.contains(&text) {
            distinct.push(text);
        }
    }
    distinct
}

impl Completion {
    /// What becomes of these `items`: each must be in one of the two lists, to the letter. More may be open than was
    /// handed over, and nothing else can be done.
    pub(crate) fn of(
        items: &[&str],
        done: &[Box<str>],
        open: &[Box<str>],
    ) -> Result<Self, CompletionRefusal> {
        let is_in = |texts: &[Box<str>], item: &str| texts.iter().any(|text| text.trim() == item);
        let owned = |texts: Vec<&str>| texts.into_iter().map(Into::into).collect::<Vec<Box<str>>>();
        let of = |is_done: bool, is_open: bool| -> Vec<&str> {
            let such = |item: &&str| (is_in(done, item), is_in(open, item)) == (is_done, is_open);
            items.iter().copied().filter(such).collect()
        };
        let (missing, both) = (of(false, false), of(true, true));
        let strange = done.iter().map(|text| text.trim()).filter(|text| !items.contains(text));
        let blank = open.iter().map(|text| text.trim()).filter(|text| law::is_blank(text));
        let unknown: Vec<&str> = strange.chain(blank).collect();
        if !(missing.is_empty() && both.is_empty() && unknown.is_empty()) {
            let told = |texts: Vec<&str>| texts.into_iter().map(law::shortened).collect();
            let [missing, both, unknown, items] = [missing, both, unknown, items.to_vec()].map(told);
            return Err(CompletionRefusal::Unaccounted { missing, both, unknown, items });
        }
        let found = distinct(open).into_iter().filter(|text| !items.contains(text));
        let open = of(false, true).into_iter().chain(found).collect();
        Ok(Self { done: owned(of(true, false)), open: owned(open) })
    }
}

/// Why a call of [`COMPLETE_HANDOFF`] ends nothing. The receiver's model is told, and goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum CompletionRefusal {
    /// There is nothing that could be completed.
    #[error("nothing is open here; your answer ends your work")]
    NothingOpen,
    /// The arguments cannot be read.
    #[error("the completion is not valid: {}", first(errors))]
    Invalid {
        /// What is wrong with them: never empty.
        errors: Vec<PackageError>,
    },
    /// The items of the package are not all in one of the two lists.
    #[error(
        "each open item stands in one of `done` and `open`, to the letter: {}; missing: {}; in both: {}; none of them: {}",
        quoted(items),
        quoted(missing),
        quoted(both),
        quoted(unknown)
    )]
    Unaccounted {
        /// Items that are in neither.
        missing: Vec<String>,
        /// Items that are in both.
        both: Vec<String>,
        /// What is said to be done and is no item, and what is blank.
        unknown: Vec<String>,
        /// The items of the package.
        items: Vec<String>,
    },
    /// The answer in it breaks the contract of the branch, so it is sent back.
    #[error("the answer in it breaks the contract, so nothing is completed; complete with one that keeps it")]
    ContractBroken,
    /// The same reply hands the turn over.
    #[error(
        "the same reply hands the turn over, and work that is handed on is not completed; do one or the other"
    )]
    BesideHandoff,
    /// Another call of the same reply has completed the work.
    #[error("{of} has completed the work, in other words")]
    OnePerTurn {
        /// The call.
        of: String,
    },
    /// An equal call of the same reply has completed the work.
    #[error("duplicate of {of}, which has completed the work")]
    Duplicate {
        /// The call.
        of: String,
    },
}

impl CompletionRefusal {
    /// The refusal in a word, for models.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NothingOpen => "nothing_open",
            Self::Invalid { .. } => "invalid_completion",
            Self::Unaccounted { .. } => "items_unaccounted",
            Self::ContractBroken => "contract_broken",
            Self::BesideHandoff => "completion_beside_handoff",
            Self::OnePerTurn { .. } => "one_completion_per_turn",
            Self::Duplicate { .. } => "duplicate_completion",
        }
    }

    /// What the receiver's model is told.
    pub(crate) fn told(&self) -> ToolOutput {
        told(self.code(), self)
    }
}
