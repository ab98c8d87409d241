//! Wherever the records end, there is one way to go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sommelier_handoff::Answer;
use sommelier_runner::journal::Record;
use sommelier_runner::{DurableError, DurableRunner, Settled, Turn};
use sommelier_store::MemoryStore;

use crate::desk::{
    CONVERSATION, Clock, Counted, Kind, World, journal_of, kinds, model, relay, runner, whole,
};

/// What has come of a journal that was gone on with.
struct Gone {
    settled: Settled,
    world: Arc<World>,
    asked: usize,
    store: MemoryStore,
}

/// Goes on from a journal that was cut, in a world in which the effect has happened or not.
fn go_on(kind: Kind, records: &[Record], has_happened: bool) -> Gone {
    let world: Arc<World> = Arc::default();
    if has_happened {
        world.do_once("guest-7/1/1/0", 7);
        world.tries.store(0, Ordering::Relaxed);
    }
    let (relay, store, clock) = (relay(kind, &world), journal_of(records), Clock::at(10_000));
    let asked = Arc::new(AtomicUsize::new(0));
    let runner = runner(Counted(model(), Arc::clone(&asked)), &clock);
    let durable = DurableRunner::new(&runner, &relay, &store);
    let settled = match durable.resume(CONVERSATION) {
        // Nobody was told that it was accepted, so the caller sends it again.
        Err(DurableError::Unknown(_)) => {
            durable.submit(CONVERSATION, Turn::new("Seat 7, please.").key("m-1")).unwrap()
        }
        settled => settled.unwrap(),
    };
    drop(durable);
    Gone { settled, world, asked: asked.load(Ordering::Relaxed), store }
}

/// How many of the first records hold one of this kind.
fn holds(records: &[Record], kind: &str) -> bool {
    records.iter().any(|record| record.event.kind() == kind)
}

/// T1, T2, T4, T5, T6, T8, T9, T10, T12, C71, C155, C160, S1-38: for each kind of effect, after each record, whether or not
/// the effect had happened that was under way: the answer is the same, the effect has happened once, what was answered is
/// not asked again, and the records say the same as those of a run that was never interrupted.
#[test]
fn every_prefix_comes_to_the_same_end() {
    for kind in [Kind::ReadOnly, Kind::Transactional, Kind::Keyed, Kind::Queried] {
        let all = whole(kind);
        for cut in 0..=all.len() {
            let left = &all[..cut];
            let is_doubtful = holds(left, "tool_intended") && !holds(left, "tool_completed");
            // A transaction that is not on record has not happened.
            let worlds: &[bool] = match kind {
                Kind::Keyed | Kind::Queried if is_doubtful => &[false, true],
                _ => &[false],
            };
            for has_happened in worlds {
                let has_happened = *has_happened || holds(left, "tool_completed");
                let gone = go_on(kind, left, has_happened);
                let at = format!("{kind:?}, {cut} of {}, {has_happened}", all.len());
                assert_eq!(gone.settled.answer(), "That is 12.00 for seat 7.", "{at}");
                assert_eq!(gone.settled.answer_id().as_deref(), Some("guest-7/1/3"), "{at}");
                let expected = if kind == Kind::ReadOnly { usize::from(has_happened) } else { 1 };
                assert_eq!(gone.world.count(), expected, "{at}");
                let replied = left.iter().filter(|record| record.event.kind() == "model_responded").count();
                assert_eq!(gone.asked, 3 - replied, "{at}");
                let once = |kinds: Vec<String>| -> Vec<String> {
                    kinds
                        .into_iter()
                        .filter(|kind| !["model_requested", "tool_intended"].contains(&&**kind))
                        .collect()
                };
                assert_eq!(once(kinds(&gone.store)), once(kinds(&journal_of(&all))), "{at}");
            }
        }
    }
}

/// T2, T12: wherever the records end, a caller who sends the turn again gets its answer, and what followed from the last
/// record, as the closing, is on record before.
#[test]
fn a_turn_sent_again_closes_what_was_open() {
    let all = whole(Kind::Keyed);
    for cut in 0..=all.len() {
        let left = &all[..cut];
        let world: Arc<World> = Arc::default();
        let (relay, store, clock) = (relay(Kind::Keyed, &world), journal_of(left), Clock::at(10_000));
        let runner = runner(model(), &clock);
        let durable = DurableRunner::new(&runner, &relay, &store);
        let settled = durable.submit(CONVERSATION, Turn::new("Seat 7, please.").key("m-1")).unwrap();
        assert_eq!(settled.answer(), "That is 12.00 for seat 7.", "{cut}");
        assert_eq!(kinds(&store).last().map(String::as_str), Some("closed"), "{cut}");
        assert_eq!(durable.look(CONVERSATION).unwrap().owed().count(), 0, "{cut}");
    }
}

/// T5: a tool of which nothing can be asked and that may not be repeated is never begun again: a person says what came of
/// it, and the run goes on with that.
#[test]
fn a_person_is_asked_about_a_call_in_doubt() {
    let all = whole(Kind::AtMostOnce);
    let cut = all.iter().position(|record| record.event.kind() == "tool_intended").unwrap() + 1;
    let gone = go_on(Kind::AtMostOnce, &all[..cut], true);
    let Settled::Waiting(parked) = &gone.settled else { panic!("{:?}", gone.settled) };
    let questions = parked.questions();
    assert_eq!(questions.len(), 1);
    assert_eq!((&*questions[0].1.id, questions[0].1.asks.as_str()), ("guest-7/1/1/0/in_doubt", "in_doubt"));
    assert_eq!(gone.world.tries.load(Ordering::Relaxed), 0);
    let clock = Clock::at(200_000);
    let (relay, runner) = (relay(Kind::AtMostOnce, &gone.world), runner(model(), &clock));
    let durable = DurableRunner::new(&runner, &relay, &gone.store);
    let happened = Answer::Happened { result: r#""seat 7""#.into() };
    let settled =
        durable.answer(CONVERSATION, "guest-7/1/1/0/in_doubt", happened, None, Some("ada")).unwrap();
    assert_eq!(settled.answer(), "That is 12.00 for seat 7.");
    assert_eq!(gone.world.tries.load(Ordering::Relaxed), 0);
}
