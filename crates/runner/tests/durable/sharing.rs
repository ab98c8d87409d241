//! Several threads and processes on one conversation.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use sommelier_runner::journal::{Epoch, Journal};
use sommelier_runner::{DurableError, DurableRunner, Turn};
use sommelier_store::MemoryStore;

use crate::desk::{CONVERSATION, Clock, Counted, Kind, model, relay, runner};

/// T24: the same turn fifty times at once is driven once, and gets fifty equal answers.
#[test]
fn fifty_equal_turns_are_one_run() {
    let (world, store, clock) = (Arc::default(), MemoryStore::new(), Clock::at(1_000));
    let asked = Arc::new(AtomicUsize::new(0));
    let (relay, runner) = (relay(Kind::Keyed, &world), runner(Counted(model(), Arc::clone(&asked)), &clock));
    let durable = DurableRunner::new(&runner, &relay, &store);
    let answers: Vec<(String, Option<String>)> = thread::scope(|scope| {
        let send = || {
            let settled = durable.submit(CONVERSATION, Turn::new("Seat 7, please.").key("m-1")).unwrap();
            (settled.answer().to_owned(), settled.answer_id())
        };
        let threads: Vec<_> = (0..50).map(|_| scope.spawn(send)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(answers, vec![("That is 12.00 for seat 7.".to_owned(), Some("guest-7/1/3".to_owned())); 50]);
    assert_eq!((asked.load(Ordering::Relaxed), world.count()), (3, 1));
}

/// T22: while one process drives a conversation, another is told who does and until when; when its lease is given back, the
/// other one goes on.
#[test]
fn one_process_at_a_time() {
    let (world, store, clock) = (Arc::default(), MemoryStore::new(), Clock::at(1_000));
    let (relay, runner) = (relay(Kind::Keyed, &world), runner(model(), &clock));
    let first = DurableRunner::new(&runner, &relay, &store).owner("host-1");
    first.submit(CONVERSATION, Turn::new("Seat 7, please.").key("m-1")).unwrap();
    let other = store.another();
    let second = DurableRunner::new(&runner, &relay, &other).owner("host-2");
    let refused = second.submit(CONVERSATION, Turn::new("Seat 7, please.").key("m-1"));
    let Err(DurableError::Held { owner, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(owner, "host-1");
    first.release(CONVERSATION);
    let settled = second.submit(CONVERSATION, Turn::new("Seat 7, please.").key("m-1")).unwrap();
    assert_eq!(settled.answer(), "That is 12.00 for seat 7.");
    assert_eq!(other.heads().unwrap().len(), 1);
}

/// T26: a process whose clock was years ahead and that died keeps nobody out for years: a person ends its lease. Where it
/// lives after all, it is fenced and writes nothing more.
#[test]
fn a_lease_that_would_run_for_years_is_ended_by_hand() {
    let (relay, store) = (relay(Kind::Keyed, &Arc::default()), MemoryStore::new());
    let (ahead, clock) = (Clock::at(1_000_000_000_000), Clock::at(1_000));
    let (first_runner, second_runner) = (runner(model(), &ahead), runner(model(), &clock));
    let first = DurableRunner::new(&first_runner, &relay, &store).owner("first");
    let second = DurableRunner::new(&second_runner, &relay, &store).owner("second");
    first.submit(CONVERSATION, Turn::new("Seat 7, please.").key("m-1")).unwrap();
    let again = || Turn::new("Seat 7, please.").key("m-1");
    let refused = second.submit(CONVERSATION, again());
    assert!(matches!(refused, Err(DurableError::Held { ref owner, .. }) if owner == "first"), "{refused:?}");

    let ended = second.evict(CONVERSATION).unwrap().unwrap();
    assert_eq!((&*ended.owner, ended.epoch), ("first", Epoch::new(1)));
    let settled = second.submit(CONVERSATION, again()).unwrap();
    assert_eq!(settled.answer(), "That is 12.00 for seat 7.");
    assert_eq!([second.evict(CONVERSATION).unwrap(), second.evict("nobody").unwrap()], [None, None]);

    let records = store.load(CONVERSATION, 1).unwrap();
    let fenced = first.submit(CONVERSATION, Turn::new("And seat 8?").key("m-2"));
    assert!(fenced.is_err(), "{fenced:?}");
    assert_eq!(store.load(CONVERSATION, 1).unwrap(), records);
}
