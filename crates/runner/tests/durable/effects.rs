//! Effects that are not repeated, and what is asked where nobody knows.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sommelier_handoff::{Agent, Answer, Relay};
use sommelier_runner::journal::{Epoch, Event, Journal};
use sommelier_runner::{DurableRunner, Settled, Turn};
use sommelier_runtime::tool::{CallContext, Failure, Found};
use sommelier_runtime::{ScriptedModel, Tool, script};
use sommelier_store::MemoryStore;

use crate::desk::{CONVERSATION, Clock, Kind, Seat, World, book, journal_of, model, relay, runner, whole};

fn asked(settled: &Settled) -> Vec<(String, &'static str)> {
    let Settled::Waiting(parked) = settled else { panic!("{settled:?}") };
    parked.questions().iter().map(|(_, question)| (question.id.to_string(), question.asks.as_str())).collect()
}

fn clerk(tools: impl IntoIterator<Item = Tool>) -> Relay {
    Relay::builder().agent(Agent::new("clerk", "").tools(tools)).entry("clerk").build().unwrap()
}

/// A model that plans anew calls for the same effect under another key: a person is asked, with what the first one gave, and
/// a "no" is told to the model.
#[test]
fn the_same_effect_is_not_had_twice_unasked() {
    let world: Arc<World> = Arc::default();
    let relay = clerk([book(Kind::Keyed, &world).business_key(["seat"])]);
    let again = r#"{"seat":7}"#;
    let model = ScriptedModel::new()
        .turn("clerk", |_| script::call("tu_1", "book", r#"{"seat":7}"#))
        .turn("clerk", move |_| script::call("tu_2", "book", again))
        .turn("clerk", |request| script::say(script::last_result(request)));
    let (store, clock) = (MemoryStore::new(), Clock::at(1_000));
    let runner = runner(model, &clock);
    let durable = DurableRunner::new(&runner, &relay, &store);
    let settled = durable.submit(CONVERSATION, Turn::new("Seat 7, please.")).unwrap();
    assert_eq!(asked(&settled), [("guest-7/1/2/0/repeat".to_owned(), "repeat")]);
    let no = Answer::Reject { reason: "once is enough".into() };
    let settled = durable.answer(CONVERSATION, "guest-7/1/2/0/repeat", no, None, None).unwrap();
    assert!(settled.answer().contains("possible_repeat"), "{}", settled.answer());
    assert_eq!(world.count(), 1);
}

/// T5: beyond the time for which the other side remembers keys a call is in doubt as any other.
#[test]
fn a_key_that_is_forgotten_is_no_protection() {
    let all = whole(Kind::Keyed);
    let cut = all.iter().position(|record| record.event.kind() == "tool_intended").unwrap() + 1;
    let (world, store, clock) = (Arc::default(), journal_of(&all[..cut]), Clock::at(100_000));
    let (relay, runner) = (relay(Kind::Keyed, &world), runner(model(), &clock));
    let durable = DurableRunner::new(&runner, &relay, &store);
    let settled = durable.resume(CONVERSATION).unwrap();
    assert_eq!(asked(&settled), [("guest-7/1/1/0/in_doubt".to_owned(), "in_doubt")]);
    assert_eq!(world.tries.load(Ordering::Relaxed), 0);
}

/// T5: that time is counted from when the key was used first, however often the call was begun since.
#[test]
fn a_key_is_as_old_as_its_first_use() {
    let all = whole(Kind::Keyed);
    let cut = all.iter().position(|record| record.event.kind() == "tool_intended").unwrap() + 1;
    for (now, is_begun_again) in [(61_000, true), (62_000, false)] {
        let (world, store) = (Arc::default(), journal_of(&all[..cut]));
        let event = &all[cut - 1].event;
        let later = Event::new(
            event.kind(),
            event.version(),
            50_000,
            event.body().replace(&event.at().to_string(), "50000"),
        );
        store.append(CONVERSATION, cut as u64, Epoch::new(1), &[later.unwrap()]).unwrap();
        let (relay, runner) = (relay(Kind::Keyed, &world), runner(model(), &Clock::at(now)));
        DurableRunner::new(&runner, &relay, &store).resume(CONVERSATION).unwrap();
        assert_eq!(world.tries.load(Ordering::Relaxed), usize::from(is_begun_again), "{now}");
    }
}

/// T38: what the other side says of another key is no answer: the call is in doubt, not done.
#[test]
fn an_answer_about_another_key_leaves_the_doubt() {
    let tool =
        Tool::new("book", "Books a seat.", |_: Seat, _: &CallContext<'_>| -> Result<String, Failure> {
            panic!("the connection broke")
        });
    let relay = clerk([tool.queried(0, |_| Found::Unknown)]);
    let model = ScriptedModel::new().turn("clerk", |_| script::call("tu_1", "book", r#"{"seat":7}"#));
    let (store, clock) = (MemoryStore::new(), Clock::at(1_000));
    let runner = runner(model, &clock);
    let settled =
        DurableRunner::new(&runner, &relay, &store).submit(CONVERSATION, Turn::new("Seat 7.")).unwrap();
    assert_eq!(asked(&settled), [("guest-7/1/1/0/in_doubt".to_owned(), "in_doubt")]);
}

/// T29: of tools that run at the same time one fails inside: what the others said is kept and not had again, and of that one
/// a person is asked.
#[test]
fn one_that_panics_takes_nothing_from_the_others() {
    let world: Arc<World> = Arc::default();
    let broken =
        Tool::new("mail", "Sends a mail.", |_: Seat, _: &CallContext<'_>| -> Result<String, Failure> {
            panic!("the mail server is gone")
        });
    let relay = clerk([book(Kind::AtMostOnce, &world), broken]);
    let model = ScriptedModel::new()
        .turn("clerk", |_| {
            script::calls([("tu_1", "book", r#"{"seat":7}"#), ("tu_2", "mail", r#"{"seat":7}"#)])
        })
        .turn("clerk", |_| script::say("Booked; the mail was not sent."));
    let (store, clock) = (MemoryStore::new(), Clock::at(1_000));
    let runner = runner(model, &clock);
    let durable = DurableRunner::new(&runner, &relay, &store);
    let settled = durable.submit(CONVERSATION, Turn::new("Seat 7.")).unwrap();
    assert_eq!(asked(&settled), [("guest-7/1/1/1/in_doubt".to_owned(), "in_doubt")]);
    let settled =
        durable.answer(CONVERSATION, "guest-7/1/1/1/in_doubt", Answer::DidNotHappen, None, None).unwrap();
    assert_eq!(settled.answer(), "Booked; the mail was not sent.");
    assert_eq!(world.tries.load(Ordering::Relaxed), 1);
}

/// T5, T6: what ends its process each time it is begun is not begun for ever: a call that can have had no effect counts as failed,
/// and of another one a person is asked.
#[test]
fn what_ends_its_process_each_time_is_not_begun_for_ever() {
    const FAILED: &str = r#"{"error":"failed_inside","detail":"book failed inside; it has had no effect"}"#;
    let most = DurableRunner::MOST_ATTEMPTS as usize;
    for (kind, expected) in [
        (Kind::ReadOnly, Ok(FAILED)),
        (Kind::Transactional, Ok(FAILED)),
        (Kind::Keyed, Err([("guest-7/1/1/0/in_doubt".to_owned(), "in_doubt")])),
        (Kind::Queried, Err([("guest-7/1/1/0/in_doubt".to_owned(), "in_doubt")])),
    ] {
        let all = whole(kind);
        let cut = all.iter().position(|record| record.event.kind() == "tool_intended").unwrap() + 1;
        for begun in [most - 1, most] {
            let store = journal_of(&all[..cut]);
            for n in 1..begun as u64 {
                let again = std::slice::from_ref(&all[cut - 1].event);
                let head = store.head(CONVERSATION).unwrap();
                store.append(CONVERSATION, head.seq, Epoch::new(1), again).unwrap();
                assert_eq!(head.seq, cut as u64 + n - 1);
            }
            let (world, clock) = (Arc::default(), Clock::at(10_000));
            let failing = ScriptedModel::new()
                .turn("clerk", |_| script::call("tu_1", "book", r#"{"seat":7}"#))
                .turn("clerk", |request| script::say(script::last_result(request)));
            let (relay, runner) = (relay(kind, &world), runner(failing, &clock));
            let settled = DurableRunner::new(&runner, &relay, &store).resume(CONVERSATION).unwrap();
            let tried = world.tries.load(Ordering::Relaxed) + world.looks.load(Ordering::Relaxed);
            assert_eq!(tried, usize::from(begun < most), "{kind:?}, {begun}");
            if begun == most {
                let came_to = match &settled {
                    Settled::Waiting(_) => Err(asked(&settled)),
                    settled => Ok(settled.answer().to_owned()),
                };
                assert_eq!(came_to, expected.clone().map(str::to_owned).map_err(Vec::from), "{kind:?}");
            }
        }
    }
}
