//! A store whose n-th call to what lies beneath it fails, for every n of a run.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]
#![cfg(unix)]

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use rusqlite::Connection;
use sommelier_crash::{Audit, CONVERSATION, Desk, Heard, KEY, Scenario, Scene, Watched, prepare_ledger};
use sommelier_handoff::{Agent, Answer, Relay};
use sommelier_runner::journal::{Head, Heads, Journal};
use sommelier_runner::{DurableError, DurableRunner, Runner, Settled, Turn};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{ScriptedModel, Tool, script, tool_args};
use sommelier_store::{Fault, Faults, Options, SqliteStore};

const SCENARIO: Scenario = Scenario::Whole;

/// What a store was asked for last, and what it has acknowledged last.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    tried: Option<(u64, u64)>,
    acknowledged: Option<Head>,
}

struct World {
    scene: Scene,
    clock: Arc<AtomicU64>,
}

impl World {
    fn new() -> Self {
        let scene = Scene::new(env!("CARGO_TARGET_TMPDIR"));
        prepare_ledger(&scene.store());
        Self { scene, clock: Arc::new(AtomicU64::new(1_800_000_000_000)) }
    }

    /// Drives the run as far as it goes, on a store with this plan; and once more on the same store where it fails and
    /// `again` says so.
    fn drive(&self, faults: Faults, again: bool) -> (Result<String, DurableError>, Seen) {
        self.clock.fetch_add(100_000, Ordering::Relaxed);
        let seen = Arc::new(Mutex::new(Seen::default()));
        let noted = Arc::clone(&seen);
        let hear = move |heard| {
            let mut noted = noted.lock().unwrap();
            match heard {
                Heard::Trying { seq, events } => noted.tried = Some((seq, events)),
                Heard::Head(head) => noted.acknowledged = Some(head),
                Heard::Accepted => {}
            }
        };
        let store = self.scene.store_with(&Options::new().faults(faults));
        let journal = Watched::new(store, hear);
        let (desk, clock) = (Desk::default(), Arc::clone(&self.clock));
        let relay = desk.relay(self.scene.path());
        let runner = desk.runner(self.scene.path(), SCENARIO, move || clock.fetch_add(1, Ordering::Relaxed));
        let durable = DurableRunner::new(&runner, &relay, &journal);
        let mut answer = to_the_end(&durable);
        if again && answer.is_err() {
            answer = to_the_end(&durable);
        }
        drop(durable);
        let seen = *seen.lock().unwrap();
        (answer, seen)
    }

    fn audit(&self) -> Audit {
        // When a lease is over that could not be given back, since that was the call that failed.
        self.scene.audit(SCENARIO, self.clock.load(Ordering::Relaxed) + 31_000)
    }
}

/// Sends the turn, and approves what is asked.
fn to_the_end(durable: &DurableRunner<'_>) -> Result<String, DurableError> {
    let mut settled = durable.submit(CONVERSATION, Turn::new(SCENARIO.words()).key(KEY))?;
    while let Settled::Waiting(parked) = &settled {
        let id = parked.questions()[0].1.id.clone();
        settled = durable.answer(CONVERSATION, &id, Answer::Approve, None, Some("ada"))?;
    }
    Ok(settled.answer().to_owned())
}

/// Does `check` with 1, 2, 3 ... until it says that there was nothing more to fail; how many there were.
fn every_n(check: impl Fn(u64) -> bool + Sync) -> u64 {
    let (next, is_over) = (AtomicU64::new(1), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    if !check(next.fetch_add(1, Ordering::Relaxed)) {
                        is_over.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    next.load(Ordering::Relaxed)
}

fn never_failed() -> Audit {
    let world = World::new();
    world.drive(Faults::NONE, false).0.unwrap();
    world.audit()
}

/// The records end where they ended before the last write or where it was to bring them, and nowhere else; and all that was
/// acknowledged is there.
fn is_old_or_new(store: &SqliteStore, seen: Seen) {
    let exported: Heads = seen.acknowledged.iter().map(|head| (CONVERSATION.to_owned(), *head)).collect();
    let verified = store.verify(None, &exported).unwrap();
    assert!(verified.is_sound(), "{verified}");
    let (seq, events) = seen.tried.unwrap_or_default();
    let found = store.head(CONVERSATION).unwrap().seq;
    assert!(found == seq || found == seq + events, "{found} after {seen:?}");
}

/// T15, C71: the n-th call fails by an error of the system, for every n of a run: what is on disk is the old state or the
/// new one, and when the store is opened again the run goes on to the end of one in which nothing failed.
#[test]
fn an_error_at_any_call_leaves_the_old_state_or_the_new() {
    let whole = never_failed();
    let calls = every_n(|n| {
        let (world, faults) = (World::new(), Faults::nth(n, Fault::Io));
        let (answer, seen) = world.drive(faults.clone(), false);
        if !faults.is_spent() {
            assert!(answer.is_ok(), "{n}: {answer:?}");
            return false;
        }
        is_old_or_new(&world.scene.store(), seen);
        world.drive(Faults::NONE, false).0.unwrap();
        assert_eq!(world.audit(), whole, "{n}");
        true
    });
    assert!(calls > 100, "the run has become short: {calls} calls");
}

/// T14: there is no room at the n-th call, for every n of a run: nothing of that write is there, the driver says so, and
/// when there is room again the same driver goes on to the same end.
#[test]
fn no_room_at_any_call_is_told_and_gone_on_from() {
    let whole = never_failed();
    every_n(|n| {
        let (world, faults) = (World::new(), Faults::nth(n, Fault::Full));
        let (answer, _) = world.drive(faults.clone(), true);
        assert!(answer.is_ok(), "{n}: {answer:?}");
        assert_eq!(world.audit(), whole, "{n}");
        faults.is_spent()
    });
}

tool_args! {
    /// Whom to send to school.
    struct Child {
        /// The number of its parent.
        parent: u32,
    }
}

/// T8, T15: a transactional tool that writes what the tables do not take has failed, and nothing of it is there. Its model is
/// told, the run goes on, and so do all others on the same store.
#[test]
fn what_the_tables_do_not_take_is_a_failure_of_its_call_alone() {
    let scene = Scene::new(env!("CARGO_TARGET_TMPDIR"));
    let store = scene.store();
    let beside = store.connection().unwrap();
    beside
        .execute_batch(
            "CREATE TABLE parents (id INTEGER PRIMARY KEY) STRICT;
             CREATE TABLE children (of INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED) STRICT;
             INSERT INTO parents VALUES (1)",
        )
        .unwrap();
    let enrol = Tool::new("enrol", "Enrols a child.", |child: Child, context: &CallContext<'_>| {
        let connection: &Connection = context.transaction.unwrap().downcast_ref().unwrap();
        connection.execute("INSERT INTO children VALUES (?1)", [child.parent]).unwrap();
        Ok::<_, Failure>("enrolled")
    });
    let agent = Agent::new("school", "").tools([enrol.transactional()]);
    let relay = Relay::builder().agent(agent).entry("school").build().unwrap();
    let settled = |conversation: &str, parent: u32| {
        let model = ScriptedModel::new()
            .turn("school", move |_| script::call("tu_1", "enrol", &format!(r#"{{"parent":{parent}}}"#)))
            .turn("school", |request| script::say(script::last_result(request)));
        let runner = Runner::new(model);
        let durable = DurableRunner::new(&runner, &relay, &store);
        durable.submit(conversation, Turn::new("Enrol my child.")).unwrap().answer().to_owned()
    };
    let failed = r#"{"error":"failed_inside","detail":"enrol failed inside; it has had no effect"}"#;
    assert_eq!([settled("a", 99), settled("b", 1)], [failed, r#""enrolled""#]);
    let children: Vec<u32> = beside
        .prepare("SELECT of FROM children")
        .unwrap()
        .query_map((), |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(children, [1]);
    assert!(store.verify(None, &Heads::new()).unwrap().is_sound());
}
