//! A journal of events that survives a crash, in a file of SQLite or in memory.
//!
//! **What this crate knows:** conversations, each a list of events with numbers from 1, a time and a body of
//! JSON; who may append to one; and whether what is on disk is still what was written.
//!
//! **What it does not know:** what the events mean. It must not see an agent, a model or a handoff: of the
//! driver's crate it uses the module of the trait and nothing else. It has no clock: the time of an event and
//! of a lease comes from the caller. It only hands that crate, those below it and [`rusqlite`] on, so that one
//! dependency suffices and none of them is there in two versions.
//!
//! Who has agents and wants nothing of them lost reads on at [A runner on a store](#a-runner-on-a-store). What comes
//! before is the journal by itself.
//!
//! ```text
//!   append(conversation, expected number, epoch, events)
//!        │ one at a time for each caller, any number of callers
//!        ▼
//!   ┌─ one thread that writes ───────────────────────────────────────────────┐
//!   │ BEGIN IMMEDIATE                                                         │
//!   │   each that waits: fenced? written before? as expected? ── its rows,    │
//!   │                    behind a savepoint                      its tail     │
//!   │ COMMIT: one sync of the disk for all of them                            │
//!   └────────────────────────────────────────────────────────────────────────┘
//!        │ Head, Duplicate, or why not
//!        ▼
//!   load, heads, verify: on connections of their own, each at one moment
//! ```
//!
//! ```
//! use sommelier_store::{Appended, Event, Heads, Journal, JournalError, MemoryStore};
//!
//! # fn event(kind: &str, at: u64, body: &str) -> Event { Event::new(kind, 1, at, body).unwrap() }
//! let store = MemoryStore::new();
//! let lease = store.take_lease("guest-7", "host-1", 1_000, 30_000)?;
//!
//! // An append says what it expects to stand before it, and in whose name it writes.
//! let heard = [event("turn_received", 1_100, r#"{"text":"Is Focus free on Friday?"}"#)];
//! let Appended::Head(head) = store.append("guest-7", lease.head.seq, lease.epoch, &heard)? else { panic!() };
//!
//! // The answer was lost: the same batch again is known, and not written twice.
//! let again = store.append("guest-7", lease.head.seq, lease.epoch, &heard)?;
//! assert_eq!(again, Appended::Duplicate(head));
//!
//! // Another host takes over when the lease is over. From that moment the first one is fenced, whatever its
//! // clock says.
//! let other = store.take_lease("guest-7", "host-2", 40_000, 30_000)?;
//! let late = store.append("guest-7", head.seq, lease.epoch, &[event("model_requested", 40_001, "{}")]);
//! assert_eq!(late, Err(JournalError::Fenced(other.epoch)));
//!
//! // Heads that are kept elsewhere tell later whether anything is missing.
//! let exported: Heads = store.heads()?;
//! assert!(store.verify(None, &exported)?.is_sound());
//! # Ok::<(), JournalError>(())
//! ```
//!
//! # Effects in the same file
//!
//! What happens in the journal's own database can be exactly once, since it is in one transaction with the event
//! that tells of it. [`append_with`](Journal::append_with) does a caller's work there; [`SqliteStore`] hands it the
//! transaction as a `&rusqlite::Connection`, and [`SqliteStore::connection`] is for what is done beside the journal.
//!
//! ```
//! use sommelier_store::rusqlite::Connection;
//! use sommelier_store::{Epoch, Event, Journal, JournalError, SqliteStore, Undone};
//!
//! # let folder = std::env::temp_dir().join(format!("sommelier-store-work-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let store = SqliteStore::open(folder.join("journal.db"))?;
//! let beside = store.connection()?;
//! beside.execute_batch("CREATE TABLE seats (seat INTEGER PRIMARY KEY) STRICT")?;
//! let mut take_seat_7 = |transaction: &dyn std::any::Any| {
//!     let connection: &Connection = transaction.downcast_ref().ok_or(Undone)?;
//!     connection.execute("INSERT INTO seats VALUES (7)", ()).map_err(|_| Undone)?;
//!     Ok(vec![Event::new("seat_taken", 1, 1_000, "7").map_err(|_| Undone)?])
//! };
//! assert_eq!(store.append_with("guest-7", 0, Epoch::NONE, &mut take_seat_7)?.head().seq, 1);
//!
//! // Somebody else wants the same seat: neither a second one nor an event of it.
//! assert_eq!(store.append_with("guest-8", 0, Epoch::NONE, &mut take_seat_7), Err(JournalError::Undone));
//! let seats: i64 = beside.query_row("SELECT count(*) FROM seats", (), |row| row.get(0))?;
//! assert_eq!((seats, store.heads()?.len()), (1, 1));
//! # drop((beside, store));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! While a work or a transactional tool is under way it has the lock for writing. Whoever writes by another connection
//! then waits until it is over, or until [`Options::busy_timeout`] (five seconds unless set) and fails as busy. So the
//! work itself must not write through [`SqliteStore::connection`]: it would wait for itself, and then fail. To read there
//! is allowed, and shows what stood before.
//!
//! # A runner on a store
//!
//! A `DurableRunner` writes a conversation to a [`Journal`] as it goes, and goes on with it after a crash. Here one tool
//! writes into the journal's own file, and one has its effect elsewhere, under a key, and when a person has approved it.
//!
//! ```
//! use sommelier_store::handoff::{Agent, Answer, Asks, Relay};
//! use sommelier_store::runner::{DurableRunner, Gate, Runner, Settled, Turn};
//! use sommelier_store::runtime::tool::{CallContext, Failure};
//! use sommelier_store::runtime::{ScriptedModel, Tool, script, tool_args};
//! use sommelier_store::rusqlite::Connection;
//! use sommelier_store::{Heads, Journal, SqliteStore};
//! use std::collections::BTreeMap;
//! use std::sync::{Arc, Mutex};
//!
//! tool_args! {
//!     /// A seat.
//!     pub struct Seat {
//!         /// Its number.
//!         pub seat: i64,
//!     }
//! }
//!
//! // Transactional: the row and the record of the call are one commit. An error takes the row back.
//! let take = Tool::new("take_seat", "Takes a seat.", |wanted: Seat, call: &CallContext<'_>| {
//!     let Some(transaction) = call.transaction.and_then(|it| it.downcast_ref::<Connection>()) else {
//!         return Err(Failure::new("no_transaction", "a seat is taken together with a record of it"));
//!     };
//!     match transaction.execute("INSERT OR IGNORE INTO seats VALUES (?1)", [wanted.seat]) {
//!         Ok(1) => Ok(format!("seat {} is taken", wanted.seat)),
//!         Ok(_) => Err(Failure::new("seat_taken", "somebody has it; offer another one")),
//!         Err(error) => Err(Failure::new("database", error.to_string())),
//!     }
//! });
//!
//! // Keyed: the bank does each key once and remembers it for a day. A second payment for a seat is asked about.
//! let bank = Arc::new(Mutex::new(BTreeMap::new()));
//! let payments = bank.clone();
//! let pay = Tool::new("pay", "Pays for a seat.", move |paid: Seat, call: &CallContext<'_>| {
//!     payments.lock().unwrap().insert(call.idempotency_key.to_owned(), paid.seat);
//!     Ok::<_, Failure>("paid")
//! });
//! let pay = pay.keyed(23 * 3_600_000).business_key(["seat"]).needs_approval();
//!
//! let clerk = Agent::new("clerk", "You sell seats.").tools([take.transactional(), pay]);
//! let relay = Relay::builder().agent(clerk).entry("clerk").build()?;
//! let model = ScriptedModel::new()
//!     .turn("clerk", |_| script::call("tu_1", "take_seat", r#"{"seat":7}"#))
//!     .turn("clerk", |_| script::call("tu_2", "pay", r#"{"seat":7}"#))
//!     .turn("clerk", |request| script::say(format!("Seat 7: {}.", script::last_result(request))));
//! let runner = Runner::new(&model).gate(Gate::ask_all());
//!
//! # let folder = std::env::temp_dir().join(format!("sommelier-store-runner-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let path = folder.join("journal.db");
//! let store = SqliteStore::open(&path)?;
//! store.connection()?.execute_batch("CREATE TABLE seats (seat INTEGER PRIMARY KEY) STRICT")?;
//! let durable = DurableRunner::new(&runner, &relay, &store);
//! let turn = Turn::new("Seat 7, please, and pay for it.").key("message-1");
//! let Settled::Waiting(parked) = durable.submit("guest-7", turn.clone())? else { panic!() };
//! let (_, question) = parked.questions()[0];
//! assert!(matches!(&question.asks, Asks::Tool { tool, .. } if tool.as_str() == "pay"));
//! // What a person needs to answer: the conversation, the question's id, and the digest of what was shown.
//! let (id, shown) = (question.id.to_string(), question.digest());
//! drop(durable); // gives the lease back
//! drop(store);
//!
//! // Tomorrow, in another process. The seat is taken, nothing was paid.
//! let store = SqliteStore::open(&path)?;
//! let seats = |store: &SqliteStore| {
//!     store.connection()?.query_row("SELECT count(*) FROM seats", (), |row| row.get::<_, i64>(0))
//! };
//! assert_eq!((seats(&store)?, bank.lock().unwrap().len()), (1, 0));
//! let durable = DurableRunner::new(&runner, &relay, &store);
//! let settled = durable.answer("guest-7", &id, Answer::Approve, Some(&shown), Some("ann"))?;
//! assert_eq!(settled.answer(), "Seat 7: \"paid\".");
//! assert_eq!((seats(&store)?, bank.lock().unwrap().values().copied().collect::<Vec<_>>()), (1, vec![7]));
//!
//! // The customer's message comes once more: it is not driven again, and has the same answer.
//! assert_eq!(durable.submit("guest-7", turn)?.answer_id(), settled.answer_id());
//! assert!(store.verify(None, &Heads::new())?.is_sound());
//! # drop(durable);
//! # drop(store);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `Tool::transactional`, `keyed` and `queried` say what a tool promises by each of these words, and what becomes of its
//! calls. Which of them to choose stands in the guide (`docs/guide.md`, under "Nothing lost").
//!
//! # People outside
//!
//! A question that a conversation has asked may be answered by somebody who has no access to the journal:
//! [`SqliteStore::invitations`] issues a token for it and knows it again. See [`Invitations`].
//!
//! # What is promised
//!
//! - **A batch is whole or absent,** and what was answered with `Ok` is there after a crash.
//! - **Nobody writes past what they have not read:** the number that an append expects is compared where it is
//!   written.
//! - **One owner:** the epoch is compared in the same transaction. Clocks only say when another may try.
//! - **A name has one conversation at a time.** What an event [claims](Event::claiming) is claimed in its own commit,
//!   so of two conversations that begin the same effect one is refused.
//! - **Once:** a batch has an id made of conversation, expected number and events.
//! - **A work and its events are one:** what it wrote to the file is there with them, and without them it is not.
//!   It is not begun for who is fenced or behind.
//! - **Nothing is changed unseen.** Each record holds the hash of the one before. What breaks the chain is
//!   found at the first record that does not fit, and the conversation is read-only. A tail that was cut off,
//!   or a whole history that was written anew, is found by a [`Head`] that was kept where the store is not.
//! - **A token is nowhere.** Of an invitation's secret there is a hash in the file, and nothing in errors or traces.
//! - **No wait without an end.** A lock is waited for as long as [`Options`] say; a thread that died is told.
//! - **After an error of the system the store is broken** ([`JournalError::Broken`]) until it is opened
//!   again. A sync that failed is never tried a second time and called a success. [`load`](Journal::load)
//!   then reads what there is, checks it, and so tells whether the last batch is there.
//!
//! It promises nothing against one who can write to the file and to the heads: a chain of hashes has no
//! secret in it. It redacts nothing either, and a body that was written cannot be taken out again.
//!
//! # Where the trait belongs
//!
//! [`Journal`] and the plain types that it speaks of belong to the driver, in
//! [`sommelier_runner::journal`], and are exported here under the same names. A driver that writes a journal
//! needs the trait and must need neither SQLite nor a hash function; a store needs only what the trait says.
//! So the arrow goes from the store to the driver, and a house with a database of its own writes a store
//! without a line of this crate, but for its rules.

/// The driver's crate and those below it, so that one dependency suffices.
pub use sommelier_runner::{self as runner, handoff, protocol, runtime};

/// The SQLite that the store writes by: a transaction is a [`rusqlite::Connection`] of this crate and of no other version.
pub use rusqlite;

mod audit;
mod chain;
#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg_attr(not(feature = "conformance"), expect(unreachable_pub, reason = "exported with the feature alone"))]
mod faults;
mod hash;
mod health;
mod invitation;
mod memory;
mod record;
mod rules;
mod sqlite;
mod turnstile;
mod work;

pub use audit::{Audit, Lag, Trouble};
#[cfg(feature = "conformance")]
pub use faults::{Fault, Faults};
pub use invitation::{
    CheckError, Invitation, InvitedTo, IssueError, RefusedTokens, Standing, Token, TokenRefused,
};
pub use memory::MemoryStore;
pub use record::computed_hash;
/// The trait and the types that it speaks of, which are the driver's.
pub use sommelier_runner::journal::{
    Appended, Claim, Damage, Epoch, Event, Finding, Hash, Head, Heads, Journal, JournalError, LEASE_TAKEN,
    LateResult, Lease, MAX_BODY, MAX_NAME, NotAHash, Record, Undone, Unfit, Verified, Work,
};
pub use sqlite::{Invitations, OpenError, Options, SqliteStore};
