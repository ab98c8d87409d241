//! What comes when its time is past: it is refused, and nothing of it is on record.

use std::panic;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sommelier_handoff::{Agent, Answer, InputKind, Relay};
use sommelier_runner::journal::{Journal, Record};
use sommelier_runner::{DurableError, DurableRunner, Settled, Turn};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{ScriptedModel, Tool, script, tool_args};
use sommelier_store::MemoryStore;

use crate::desk::{CONVERSATION, Clock, Kind, Seat, World, journal_of, kinds, model, relay, runner, whole};

/// The inputs of this kind on record.
fn inputs(records: &[Record], kind: &str) -> Vec<InputKind> {
    let of_kind = records.iter().filter(|record| record.event.kind() == kind);
    of_kind
        .map(|record| serde_json::from_str::<sommelier_handoff::Input>(record.event.body()).unwrap().what)
        .collect()
}

/// T44, T47: when the receiver has the turn, the package that gave it to it is no second hop, and what a tool of the sender
/// says is not taken any more; neither is when the run has ended. No record tells of either, not even of a lease.
#[test]
fn nothing_of_the_sender_is_taken_after_the_hop() {
    let all = whole(Kind::Keyed);
    let taken = all.iter().position(|record| record.event.kind() == "handoff_committed").unwrap() + 1;
    let late = [inputs(&all, "handoff_committed"), inputs(&all, "tool_completed")].concat();
    assert_eq!(late.len(), 2);
    for cut in [taken, all.len()] {
        let (world, store, clock) = (Arc::default(), journal_of(&all[..cut]), Clock::at(200_000));
        let (relay, runner) = (relay(Kind::Keyed, &world), runner(model(), &clock));
        let durable = DurableRunner::new(&runner, &relay, &store);
        let head = store.head(CONVERSATION).unwrap();
        for what in &late {
            let refused = durable.give(CONVERSATION, what.clone());
            assert!(matches!(refused, Err(DurableError::Misfit(_))), "{cut}, {what:?}: {refused:?}");
        }
        assert_eq!(store.head(CONVERSATION).unwrap(), head);
        let settled = durable.resume(CONVERSATION).unwrap();
        assert_eq!(settled.answer(), "That is 12.00 for seat 7.");
        assert_eq!(kinds(&store), kinds(&journal_of(&all)));
        assert_eq!(world.count(), 0);
    }
}

tool_args! {
    /// What was booked.
    struct Booking {
        /// Its id.
        booking: String,
    }
}

/// T35: a booking of which nobody knows whether it happened is not cancelled before a person has said what came of it: until
/// then no model is asked, so nobody can call for it.
#[test]
fn a_doubt_is_resolved_before_it_can_be_cancelled() {
    let world: Arc<World> = Arc::default();
    let (booked, cancelled) = (Arc::clone(&world), Arc::clone(&world));
    let book = move |seat: Seat, context: &CallContext<'_>| -> Result<(), Failure> {
        booked.do_always(context.idempotency_key, seat.seat);
        // The process goes on, but what was said is lost.
        panic::resume_unwind(Box::new("lost"))
    };
    let cancel = move |of: Booking, _: &CallContext<'_>| {
        cancelled.looks.fetch_add(1, Ordering::Relaxed);
        Ok::<_, Failure>(format!("{} is cancelled", of.booking))
    };
    let tools = [
        Tool::new("book", "Books a seat.", book).business_key(["seat"]),
        Tool::new("cancel", "Cancels a booking.", cancel).keyed(60_000).undoes("book", "booking"),
    ];
    let relay = Relay::builder().agent(Agent::new("clerk", "").tools(tools)).entry("clerk").build().unwrap();
    let model = ScriptedModel::new()
        .turn("clerk", |_| script::call("tu_1", "book", r#"{"seat":7}"#))
        .turn("clerk", |_| script::call("tu_2", "cancel", r#"{"booking":"B-7"}"#))
        .turn("clerk", |request| script::say(script::last_result(request)));
    let (store, clock) = (MemoryStore::new(), Clock::at(1_000));
    let runner = runner(model, &clock);
    let durable = DurableRunner::new(&runner, &relay, &store);
    let settled = durable.submit(CONVERSATION, Turn::new("Seat 7, or rather not.")).unwrap();
    assert!(matches!(settled, Settled::Waiting(_)), "{settled:?}");
    assert_eq!((world.count(), world.looks.load(Ordering::Relaxed)), (1, 0));
    let happened = Answer::Happened { result: r#"{"booking":"B-7"}"#.into() };
    let settled = durable.answer(CONVERSATION, "guest-7/1/1/0/in_doubt", happened, None, None).unwrap();
    assert_eq!(settled.answer(), r#""B-7 is cancelled""#);
    assert_eq!((world.count(), world.looks.load(Ordering::Relaxed)), (1, 1));
    let replay = durable.look(CONVERSATION).unwrap();
    let effects: Vec<(&str, bool)> =
        replay.chronicle().effects().iter().map(|of| (of.tool.as_str(), of.is_undone)).collect();
    assert_eq!(effects, [("book", true), ("cancel", false)]);
}
