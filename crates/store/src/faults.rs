//! Faults on demand: the n-th call to what lies beneath a store fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sommelier_runner::journal::JournalError;

/// A plan in which one call to what lies beneath a store fails, once.
///
/// A store calls what is beneath it several times for one append: to begin, to read, for each row, to commit,
/// and a last time when the commit is done and its answer may still be lost. Going through every `n` until a
/// plan is no longer [spent](Self::is_spent) meets all of them.
#[derive(Clone, Debug, Default)]
pub struct Faults(Option<Arc<Plan>>);

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "conformance"), expect(dead_code, reason = "only tests plan faults"))]
pub enum Fault {
    /// There is no room. It does not come after a commit.
    Full,
    /// An error of the system.
    Io,
    /// The thread that works for the store panics.
    Panic,
}

#[derive(Debug)]
struct Plan {
    fault: Fault,
    left: AtomicU64,
}

impl Faults {
    /// No fault.
    pub const NONE: Self = Self(None);

    /// The `n`-th call from now fails, counted from 1.
    #[cfg(feature = "conformance")]
    pub fn nth(n: u64, fault: Fault) -> Self {
        Self(Some(Arc::new(Plan { fault, left: AtomicU64::new(n) })))
    }

    /// Has the call that was to fail come?
    #[cfg(feature = "conformance")]
    pub fn is_spent(&self) -> bool {
        self.0.as_ref().is_some_and(|plan| plan.left.load(Ordering::SeqCst) == 0)
    }

    /// For stores: a call to what lies beneath is about to be made. Where the plan says so it fails, by an error or a panic.
    ///
    /// # Errors
    /// The planned fault: [`JournalError::Full`] or [`JournalError::Broken`].
    pub fn before(&self) -> Result<(), JournalError> {
        self.0.as_ref().map_or(Ok(()), |plan| plan.pass())
    }

    /// For stores: a commit was made, and the answer is on its way. What fails here is on disk all the same.
    ///
    /// # Errors
    /// The planned fault, which is never [`JournalError::Full`] here.
    pub fn after_commit(&self) -> Result<(), JournalError> {
        self.0.as_ref().filter(|plan| plan.fault != Fault::Full).map_or(Ok(()), |plan| plan.pass())
    }
}

impl Plan {
    fn pass(&self) -> Result<(), JournalError> {
        let one_less = |left: u64| left.checked_sub(1);
        if self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less) != Ok(1) {
            return Ok(());
        }
        match self.fault {
            Fault::Full => Err(JournalError::Full),
            Fault::Io => Err(JournalError::Broken("a planned fault".to_owned())),
            Fault::Panic => std::panic::resume_unwind(Box::new("a planned fault")),
        }
    }
}
