//! Work that is done in a store's own transaction, and what of it can go wrong.

use std::any::Any;

use thiserror::Error;

use super::event::Event;

/// Work that writes to the database in which the journal is, in the transaction of the events that tell of it.
///
/// It is handed that transaction, as what the store says (`sommelier-store`: a `&rusqlite::Connection` from its file, `&()`
/// from its store in memory), and tells the events. What it writes through it and the events are both there or both
/// absent, whatever happens. What it does elsewhere is not undone.
///
/// A work that is handed something it does not know is of another store: it had better be [`Undone`].
pub type Work<'a> = dyn FnMut(&dyn Any) -> Result<Vec<Event>, Undone> + 'a;

/// Said by a [`Work`] that wants nothing of itself to be there. Why is its own to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the work undid itself")]
pub struct Undone;
