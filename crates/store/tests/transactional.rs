//! What becomes of what a transactional tool writes, in a conversation that a runner drives on a file.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use std::sync::Mutex;
use std::time::Duration;

use harness::Folder;
use rusqlite::Connection;
use sommelier_store::handoff::{Agent, Relay};
use sommelier_store::runner::{DurableRunner, Runner, Turn};
use sommelier_store::runtime::tool::{CallContext, Failure};
use sommelier_store::runtime::{ScriptedModel, Tool, script, tool_args};
use sommelier_store::{Heads, Journal, Options, SqliteStore};

tool_args! {
    /// A seat.
    pub struct Seat {
        /// Its number.
        pub seat: i64,
    }
}

/// What the tool does when its row is written.
type Then = fn(&Connection) -> Result<&'static str, Failure>;

/// What the clerk says of a call whose tool writes a row by the transaction and then does `then`, `beside` at hand; and the
/// seats that are taken after it.
fn told(store: &SqliteStore, then: Then, beside: Connection) -> (String, i64) {
    let beside = Mutex::new(beside);
    let take = Tool::new("take_seat", "Takes a seat.", move |wanted: Seat, call: &CallContext<'_>| {
        let transaction: &Connection = call.transaction.unwrap().downcast_ref().unwrap();
        transaction.execute("INSERT INTO seats VALUES (?1)", [wanted.seat]).unwrap();
        then(&beside.lock().unwrap())
    });
    let clerk = Agent::new("clerk", "").tools([take.transactional()]);
    let relay = Relay::builder().agent(clerk).entry("clerk").build().unwrap();
    let model = ScriptedModel::new()
        .turn("clerk", |_| script::call("tu_1", "take_seat", r#"{"seat":7}"#))
        .turn("clerk", |request| script::say(script::last_result(request)));
    let runner = Runner::new(model);
    let settled = DurableRunner::new(&runner, &relay, store).submit("guest-7", Turn::new("Seat 7.")).unwrap();
    assert!(store.verify(None, &Heads::new()).unwrap().is_sound());
    (settled.answer().to_owned(), seats(store))
}

fn seats(store: &SqliteStore) -> i64 {
    store.connection().unwrap().query_row("SELECT count(*) FROM seats", (), |row| row.get(0)).unwrap()
}

fn with_seats(folder: &Folder, busy: Duration) -> SqliteStore {
    let store = folder.open_with(Options::new().busy_timeout(busy));
    store.connection().unwrap().execute_batch("CREATE TABLE seats (seat INTEGER) STRICT").unwrap();
    store
}

/// T8: what a transactional tool wrote stays with its result. Where it fails or panics nothing of it stays, its model is
/// told, and the run goes on.
#[test]
fn what_a_tool_wrote_stays_with_its_result_alone() {
    let outcomes: [(Then, &str, i64); 3] = [
        (|_| Ok("taken"), r#""taken""#, 1),
        (|_| Err(Failure::new("too_late", "it is gone")), r#"{"error":"too_late","detail":"it is gone"}"#, 0),
        (
            |_| panic!("in the middle"),
            r#"{"error":"failed_inside","detail":"take_seat failed inside; it has had no effect"}"#,
            0,
        ),
    ];
    for (then, says, taken) in outcomes {
        let folder = Folder::new();
        let store = with_seats(&folder, Duration::from_secs(5));
        let beside = store.connection().unwrap();
        assert_eq!(told(&store, then, beside), (says.to_owned(), taken));
    }
}

/// T21: who writes beside the transaction that he has in his hands waits for himself, and no longer than the store does.
#[test]
fn a_tool_that_writes_beside_its_transaction_is_told_that_it_is_busy() {
    let folder = Folder::new();
    let store = with_seats(&folder, Duration::from_millis(50));
    let beside = store.connection().unwrap();
    let then: Then = |beside| {
        let seen = beside.query_row("SELECT count(*) FROM seats", (), |row| row.get::<_, i64>(0)).unwrap();
        let error = beside.execute("INSERT INTO seats VALUES (8)", ()).unwrap_err();
        Err(Failure::new(format!("{:?}", error.sqlite_error_code().unwrap()), format!("saw {seen}")))
    };
    assert_eq!(told(&store, then, beside), (r#"{"error":"DatabaseBusy","detail":"saw 0"}"#.to_owned(), 0));
}
