//! What is on record, and turns that are sent again.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use sommelier_handoff::{Answer, InputKind};
use sommelier_runner::journal::Journal;
use sommelier_runner::{DurableError, DurableRunner, Settled, Turn};
use sommelier_store::MemoryStore;

use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::desk::{CONVERSATION, Clock, Kind, awake, journal_of, kinds, model, relay, runner, whole};

/// S1-34, C100: everything that happened is on record, in the order in which it did.
#[test]
fn a_run_is_written_down_as_it_goes() {
    let (world, store, clock) = (Arc::default(), MemoryStore::new(), Clock::at(1_000));
    let (relay, runner) = (relay(Kind::Keyed, &world), runner(model(), &clock));
    let durable = DurableRunner::new(&runner, &relay, &store);
    durable.submit(CONVERSATION, Turn::new("Seat 7, please.")).unwrap();
    assert_eq!(
        kinds(&store),
        [
            "opened",
            "turn_received",
            "model_requested",
            "model_responded",
            "planned",
            "tool_intended",
            "tool_completed",
            "model_requested",
            "model_responded",
            "planned",
            "handoff_committed",
            "model_requested",
            "model_responded",
            "receiver_accepted",
            "obligation_closed",
            "closed",
        ],
    );
}

/// T2, T25: a turn that is sent again under its key gets the answer on record; other words under that key are refused, and
/// both are told apart.
#[test]
fn a_key_names_one_turn() {
    let (world, store, clock) = (Arc::default(), MemoryStore::new(), Clock::at(1_000));
    let (relay, runner) = (relay(Kind::Keyed, &world), runner(model(), &clock));
    let durable = DurableRunner::new(&runner, &relay, &store);
    let first = durable.submit(CONVERSATION, Turn::new("Seat 7, please.").key("m-1")).unwrap();
    let head = store.head(CONVERSATION).unwrap();
    let again = durable.submit(CONVERSATION, Turn::new("Seat 7, please.").key("m-1")).unwrap();
    assert_eq!((again.answer(), again.answer_id()), (first.answer(), first.answer_id()));
    let other = durable.submit(CONVERSATION, Turn::new("Seat 8, please.").key("m-1"));
    let Err(DurableError::KeyReused { key, recorded, found, .. }) = other else { panic!("{other:?}") };
    assert_eq!(key, "m-1");
    assert_ne!(recorded, found);
    assert_eq!(store.head(CONVERSATION).unwrap(), head);
}

/// A conversation goes on with its next turn, in this process and in another.
#[test]
fn a_conversation_goes_on() {
    let (world, store, clock) = (Arc::default(), MemoryStore::new(), Clock::at(1_000));
    let model = || model().turn("till", |_| sommelier_runtime::script::say("You are welcome."));
    let (relay, runner) = (relay(Kind::Keyed, &world), runner(model(), &clock));
    for is_same_process in [true, false] {
        let store = if is_same_process { store.another() } else { MemoryStore::new() };
        let durable = DurableRunner::new(&runner, &relay, &store);
        durable.submit(CONVERSATION, Turn::new("Seat 7, please.")).unwrap();
        let durable = if is_same_process {
            durable
        } else {
            drop(durable);
            DurableRunner::new(&runner, &relay, &store)
        };
        let settled = durable.submit(CONVERSATION, Turn::new("Thank you.")).unwrap();
        assert_eq!(settled.answer(), "You are welcome.");
        assert_eq!(settled.answer_id().as_deref(), Some("guest-7/2/4"));
    }
}

/// What was recorded on spans under this name.
#[derive(Clone, Default)]
struct Resumed(Arc<Mutex<Vec<String>>>);

impl Visit for Resumed {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "resumed_trace" {
            self.0.lock().unwrap().push(format!("{value:?}"));
        }
    }
}

impl<S: Subscriber> Layer<S> for Resumed {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        attributes.record(&mut self.clone());
    }
}

/// C137: a run that is gone on with in another process tells the trace in which its turn began, as it stands on record.
#[test]
fn a_resumed_run_names_the_trace_that_it_began_in() {
    awake();
    let (world, store, clock) = (Arc::default(), MemoryStore::new(), Clock::at(1_000));
    let (relay, runner) = (relay(Kind::Keyed, &world), runner(model(), &clock));
    let whole = DurableRunner::new(&runner, &relay, &store);
    whole.submit(CONVERSATION, Turn::new("Seat 7, please.").trace("00-4bf9-01")).unwrap();
    let records = store.load(CONVERSATION, 1).unwrap();
    let cut = journal_of(&records[..5]);
    let seen = Resumed::default();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(seen.clone()), || {
        DurableRunner::new(&runner, &relay, &cut).resume(CONVERSATION).unwrap();
    });
    assert_eq!(*seen.0.lock().unwrap(), [r#""00-4bf9-01""#]);
}

/// T1, S1-37: where the last records of a turn were lost with the process, what follows from those that are left is written before
/// anybody is told the answer, or that what was wanted cannot be had: whoever comes first.
#[test]
fn what_closes_a_turn_is_on_record_whoever_comes_first() {
    type Comes = fn(&DurableRunner<'_>) -> Result<Settled, DurableError>;
    let all_come: [(Comes, bool); 6] = [
        (|durable| durable.cancel(CONVERSATION, "too late"), true),
        (|durable| durable.resume(CONVERSATION), true),
        (|durable| durable.submit(CONVERSATION, Turn::new("Seat 7, please.").key("m-1")), true),
        (|durable| durable.submit(CONVERSATION, Turn::new("Seat 8, please.").key("m-1")), false),
        (|durable| durable.give(CONVERSATION, InputKind::Joined), false),
        (|durable| durable.answer(CONVERSATION, "x", Answer::Approve, None, None), false),
    ];
    let (records, clock) = (whole(Kind::Keyed), Clock::at(10_000));
    let relay = relay(Kind::Keyed, &Arc::default());
    let all = kinds(&journal_of(&records));
    for owed in 1..=3 {
        let left = &records[..records.len() - owed];
        for (at, (comes, is_told)) in all_come.into_iter().enumerate() {
            let (store, runner) = (journal_of(left), runner(model(), &clock));
            let durable = DurableRunner::new(&runner, &relay, &store);
            assert_eq!(durable.look(CONVERSATION).unwrap().owed().count(), owed);
            let told = comes(&durable).map(|settled| settled.answer().to_owned());
            assert_eq!(told.ok().as_deref(), is_told.then_some("That is 12.00 for seat 7."), "{at}");
            assert_eq!(kinds(&store), all, "{at}, {owed}");
            assert_eq!(durable.look(CONVERSATION).unwrap().owed().count(), 0, "{at}, {owed}");
        }
        let thanks = model().turn("till", |_| sommelier_runtime::script::say("You are welcome."));
        let (store, runner) = (journal_of(left), runner(thanks, &clock));
        let durable = DurableRunner::new(&runner, &relay, &store);
        assert_eq!(durable.submit(CONVERSATION, Turn::new("Bye.")).unwrap().answer(), "You are welcome.");
        assert_eq!(kinds(&store)[..=all.len()], [&all[..], &["turn_received".to_owned()]].concat());
    }
}
