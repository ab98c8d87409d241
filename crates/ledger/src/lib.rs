//! Reservo's ledger of bookings, in the file of SQLite in which the journal is.
//!
//! **What this crate knows:** how bookings and the keys under which they were made are kept in tables, and how to write
//! them in the transaction of somebody else.
//!
//! **What it does not know:** when a room may be booked and what follows from that. The rules of a ledger are
//! [`reservo`]'s, and the same for the one in memory; the journal is [`sommelier_store`]'s, of which it sees a connection.
//!
//! A tool that books writes through the transaction that its call is given. So the booking and the event that tells of
//! it are one commit: after a crash both are there, or neither.
//!
//! ```
//! use reservo::booking::{BookingRequest, BookingStatus, Customer};
//! use reservo::{Bookings, DEMO_NOW, Hours, Plan, Reservo, Room};
//! use reservo_ledger::SqliteBookings;
//! use sommelier_store::{Epoch, Event, Journal, SqliteStore, Undone};
//! use std::sync::Arc;
//!
//! # let folder = std::env::temp_dir().join(format!("reservo-ledger-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let store = SqliteStore::open(folder.join("journal.db"))?;
//! let ledger = Arc::new(SqliteBookings::beside(&store)?);
//! let house = Reservo { bookings: ledger.clone(), ..Reservo::new(DEMO_NOW) };
//! let request = BookingRequest {
//!     room: Room::Focus,
//!     plan: Plan::Pro,
//!     date: "2026-12-01".parse()?,
//!     start_hour: 9,
//!     hours: Hours::new(3)?,
//!     customer: Customer::new("Ada")?,
//! };
//!
//! // Outside of a transaction, a booking is a commit by itself.
//! house.book(request.clone(), &"first".into())?;
//!
//! // Within one, it is there when that is committed.
//! let head = store.append_with("guest-7", 0, Epoch::NONE, &mut |transaction| {
//!     let within = ledger.within(transaction).ok_or(Undone)?;
//!     let receipt = within.cancel("RSV-0001".parse().map_err(|_| Undone)?, reservo::Cents(6000), &"second".into());
//!     let body = format!(r#"{{"refund_cents":{}}}"#, receipt.map_err(|_| Undone)?.refund_cents.0);
//!     Ok(vec![Event::new("tool_completed", 1, 1_000, body).map_err(|_| Undone)?])
//! })?;
//! assert_eq!((head.head().seq, ledger.all()?[0].receipt().status), (1, BookingStatus::Cancelled));
//! # drop((house, ledger, store));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ledger;
mod pages;
mod within;

pub use ledger::{LedgerError, SqliteBookings};
pub use pages::{BadRow, Contents, UsedKey};
