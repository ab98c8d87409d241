//! Guards of the user's own.

use serde::{Serialize, Serializer};
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::{HandoffPackage, Trail};

/// What a guard says of a handoff, or of a question to a delegate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may be taken, as far as this guard goes.
    Allow,
    /// It is refused.
    Refuse {
        /// Why, in words for the sender's model.
        reason: String,
    },
}

/// What came of asking a guard.
pub type Judged = Result<Verdict, Box<dyn Error + Send + Sync>>;

type Check = dyn Fn(&HandoffPackage, &Trail) -> Judged + Send + Sync;

/// A guard of the user's own, on a route, of a receiver or of a delegate: a pure function of the package and the hops so
/// far. It is known by its name, in refusals and in the fingerprint of the definition: what it does is code, and no
/// fingerprint sees it.
#[derive(Clone)]
pub(crate) struct OwnGuard {
    name: Box<str>,
    check: Arc<Check>,
}

/// What a guard has against a package.
#[derive(Debug)]
pub(crate) enum Objection {
    /// It refuses it.
    Refused { guard: String, reason: String },
    /// It failed, or broke down.
    Failed { guard: String, causes: Vec<String> },
}

impl OwnGuard {
    pub(crate) fn new(
        name: impl Into<Box<str>>,
        check: impl Fn(&HandoffPackage, &Trail) -> Judged + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), check: Arc::new(check) }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Asks the guard. One that fails, or breaks down, has allowed nothing: it objects with what went wrong.
    pub(crate) fn judge(&self, package: &HandoffPackage, trail: &Trail) -> Result<(), Objection> {
        let guard = self.name.to_string();
        match asked(|| (self.check)(package, trail)) {
            Ok(Verdict::Allow) => Ok(()),
            Ok(Verdict::Refuse { reason }) => Err(Objection::Refused { guard, reason }),
            Err(causes) => Err(Objection::Failed { guard, causes }),
        }
    }
}

/// Asks code of the user's own; why it gave no answer, when it failed or broke down. To tell its error is to run code of
/// its author too, and so is to drop it.
pub(crate) fn asked<T>(
    ask: impl FnOnce() -> Result<T, Box<dyn Error + Send + Sync>>,
) -> Result<T, Vec<String>> {
    let answer = catch_unwind(AssertUnwindSafe(|| ask().map_err(|error| causes(&*error))));
    answer.unwrap_or_else(|payload| {
        drop_quietly(payload);
        Err(vec!["it panicked".to_owned()])
    })
}

/// Drops what came with a panic. What breaks down at that too is left where it is.
fn drop_quietly(payload: Box<dyn Any + Send>) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(another);
    }
}

/// What an error says, and each error behind it.
fn causes(error: &(dyn Error + 'static)) -> Vec<String> {
    std::iter::successors(Some(error), |error| (*error).source()).map(ToString::to_string).take(16).collect()
}

impl fmt::Debug for OwnGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnGuard").field(&self.name).finish()
    }
}

impl PartialEq for OwnGuard {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for OwnGuard {}

impl Serialize for OwnGuard {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.name.serialize(serializer)
    }
}
