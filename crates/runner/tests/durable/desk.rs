//! A desk with two agents and tools of each kind of effect, a world in which effects happen, and journals cut short.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use sommelier_handoff::{Agent, Relay};
use sommelier_protocol::{ModelRequest, ModelResponse};
use sommelier_runner::journal::{Journal, LEASE_TAKEN, Record};
use sommelier_runner::{DurableRunner, Gate, Runner};
use sommelier_runtime::tool::{CallContext, Failure, Found};
use sommelier_runtime::{Model, ModelError, ScriptedModel, Tool, script, tool_args};
use sommelier_store::MemoryStore;
use tracing::Dispatch;

pub(crate) const CONVERSATION: &str = "guest-7";

tool_args! {
    /// A seat.
    pub(crate) struct Seat {
        /// Which.
        pub(crate) seat: u32,
    }
}

/// What has happened outside: effects by the key under which they happened, and how often they were tried.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) effects: Mutex<BTreeMap<String, u32>>,
    pub(crate) tries: AtomicUsize,
    pub(crate) looks: AtomicUsize,
}

impl World {
    pub(crate) fn count(&self) -> usize {
        self.effects.lock().unwrap().len()
    }

    /// A remote that does a key once.
    pub(crate) fn do_once(&self, key: &str, seat: u32) {
        self.tries.fetch_add(1, Ordering::Relaxed);
        self.effects.lock().unwrap().insert(key.to_owned(), seat);
    }

    /// A remote that does what it is told, as often as it is told.
    pub(crate) fn do_always(&self, key: &str, seat: u32) {
        let tries = self.tries.fetch_add(1, Ordering::Relaxed);
        self.effects.lock().unwrap().insert(format!("{key}#{tries}"), seat);
    }
}

/// What the tool `book` says of its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    ReadOnly,
    Transactional,
    Keyed,
    Queried,
    AtMostOnce,
}

pub(crate) fn book(kind: Kind, world: &Arc<World>) -> Tool {
    let (at_work, asked) = (Arc::clone(world), Arc::clone(world));
    let tool = Tool::new("book", "Books a seat.", move |seat: Seat, context: &CallContext<'_>| {
        match kind {
            Kind::ReadOnly => drop(at_work.looks.fetch_add(1, Ordering::Relaxed)),
            Kind::AtMostOnce => at_work.do_always(context.idempotency_key, seat.seat),
            _ => at_work.do_once(context.idempotency_key, seat.seat),
        }
        Ok::<_, Failure>(format!("seat {}", seat.seat))
    });
    match kind {
        Kind::ReadOnly => tool.read_only(),
        Kind::Transactional => tool.transactional(),
        Kind::Keyed => tool.keyed(60_000),
        Kind::Queried => tool.queried(0, move |context| {
            let effects = asked.effects.lock().unwrap();
            effects
                .get(context.idempotency_key)
                .map_or(Found::Absent, |seat| Found::done(&format!("seat {seat}")))
        }),
        Kind::AtMostOnce => tool,
    }
}

/// A clerk who books and hands over to the till, which answers.
pub(crate) fn relay(kind: Kind, world: &Arc<World>) -> Relay {
    Relay::builder()
        .agent(Agent::new("clerk", "You book seats.").tools([book(kind, world).business_key(["seat"])]))
        .agent(Agent::new("till", "You take the money."))
        .entry("clerk")
        .route("clerk", "till")
        .build()
        .unwrap()
}

const ORDER: &str = r#"{"specialist":"till","task":"Take the money for the seat.","context":{"cents":1200}}"#;

/// The clerk books, then hands over; the till answers.
pub(crate) fn model() -> ScriptedModel {
    ScriptedModel::new()
        .turn("clerk", |_| script::call("tu_1", "book", r#"{"seat":7}"#))
        .turn("clerk", |_| script::call("tu_2", "handoff_to_specialist", ORDER))
        .turn("till", |_| script::say("That is 12.00 for seat 7."))
}

/// A model that counts how often it was asked.
pub(crate) struct Counted<M>(pub(crate) M, pub(crate) Arc<AtomicUsize>);

impl<M: Model> Model for Counted<M> {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.complete(request)
    }
}

/// A clock that goes on by a millisecond at each look, and by as much as it is told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock(Arc<AtomicU64>);

impl Clock {
    pub(crate) fn at(millis: u64) -> Self {
        Self(Arc::new(AtomicU64::new(millis)))
    }

    pub(crate) fn now(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// Keeps a subscriber alive that wants every span: one that is met for the first time where nobody watches would be switched
/// off for those that do.
pub(crate) fn awake() {
    static WATCHER: OnceLock<Dispatch> = OnceLock::new();
    WATCHER.get_or_init(|| Dispatch::new(tracing_subscriber::registry()));
}

pub(crate) fn runner<'m>(model: impl Model + 'm, clock: &Clock) -> Runner<'m> {
    awake();
    let clock = clock.clone();
    Runner::new(model).gate(Gate::approve_all()).clock(move || clock.now())
}

/// The kinds of the records, without leases.
pub(crate) fn kinds(journal: &dyn Journal) -> Vec<String> {
    let records = journal.load(CONVERSATION, 1).unwrap().into_iter();
    records.map(|record| record.event.kind().to_owned()).filter(|kind| kind != LEASE_TAKEN).collect()
}

/// A journal in which just these records stand: what a process has left that was killed after the last of them.
pub(crate) fn journal_of(records: &[Record]) -> MemoryStore {
    let store = MemoryStore::new();
    let mut epoch = sommelier_runner::journal::Epoch::NONE;
    for record in records {
        let event = &record.event;
        if event.kind() == LEASE_TAKEN {
            epoch = store.take_lease(CONVERSATION, "dead", event.at(), 0).unwrap().epoch;
        } else {
            store.append(CONVERSATION, record.seq - 1, epoch, std::slice::from_ref(event)).unwrap();
        }
    }
    store
}

/// The records of a whole run.
pub(crate) fn whole(kind: Kind) -> Vec<Record> {
    let world = Arc::default();
    let (relay, store, clock) = (relay(kind, &world), MemoryStore::new(), Clock::at(1_000));
    let runner = runner(model(), &clock);
    let durable = DurableRunner::new(&runner, &relay, &store);
    let settled =
        durable.submit(CONVERSATION, sommelier_runner::Turn::new("Seat 7, please.").key("m-1")).unwrap();
    assert_eq!(settled.answer(), "That is 12.00 for seat 7.");
    store.load(CONVERSATION, 1).unwrap()
}
