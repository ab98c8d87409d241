//! What is on record, and turns that are sent again.

use std::sync::Arc;

use sommelier_runner::journal::Journal;
use sommelier_runner::{DurableError, DurableRunner, Turn};
use sommelier_store::MemoryStore;

use crate::desk::{CONVERSATION, Clock, Kind, kinds, model, relay, runner};

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
