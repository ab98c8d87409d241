//! Doing a caller's work, whatever it does.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use sommelier_runner::journal::{Event, JournalError, Work};

/// Calls the work. Its panic is an error like others: what it left half done in the transaction is undone with
/// the transaction, and what it left elsewhere is the caller's to judge.
pub(crate) fn done(work: &mut Work<'_>, transaction: &dyn Any) -> Result<Vec<Event>, JournalError> {
    match catch_unwind(AssertUnwindSafe(|| work(transaction))) {
        Ok(told) => Ok(told?),
        Err(panic) => Err(JournalError::Panicked(words(&*panic))),
    }
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no words").to_owned()
}
