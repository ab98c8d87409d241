//! HTTP/1.1, as much of it as the service's clients use.
//!
//! [`read`] takes one request off a connection, within limits of size and time; [`write`] sends one answer, whole or
//! in pieces, and hangs up in the middle where it is told to. `httparse` reads the head. It does no more than that,
//! which is why it was taken: a server crate decides by itself when to flush and when to close, and that is what this
//! server's faults are about.

mod line;
mod read;
mod write;

pub(crate) use line::{Line, Pair};
pub(crate) use read::{Incoming, Unreadable, Wire};
pub(crate) use write::{Answer, Body, Cut, send};
