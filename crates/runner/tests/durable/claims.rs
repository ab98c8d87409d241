//! The same effect is not had twice, whichever conversation and whichever call it is asked for in.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sommelier_handoff::{Agent, Answer, Relay};
use sommelier_runner::journal::{Claim, Event, Journal};
use sommelier_runner::{ClaimFault, Decision, DurableRunner, Gate, Runner, Settled, Turn, check_claims};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{ScriptedModel, Tool, script, tool_args};
use sommelier_store::MemoryStore;

use crate::desk::{Clock, Kind, Seat, World, book, runner};

const SEAT: &str = r#"{"seat":7}"#;
const NAME: &str = r#"book {"seat":7}"#;

fn clerk(tools: impl IntoIterator<Item = Tool>) -> Relay {
    Relay::builder().agent(Agent::new("clerk", "").tools(tools)).entry("clerk").build().unwrap()
}

/// Calls for the seat once, then tells what came of it.
fn books() -> ScriptedModel {
    ScriptedModel::new()
        .turn("clerk", |_| script::call("tu_1", "book", SEAT))
        .turn("clerk", |request| script::say(script::last_result(request)))
}

fn asked(settled: &Settled) -> Vec<String> {
    let Settled::Waiting(parked) = settled else { return Vec::new() };
    parked.questions().iter().map(|(_, question)| question.id.to_string()).collect()
}

fn owners(store: &MemoryStore) -> Vec<(String, String)> {
    assert_eq!(check_claims(store).unwrap(), []);
    store.claims().unwrap()
}

/// One who has the seat by another conversation is asked about, and neither the model nor the customer is told whose it is.
/// On "no" nothing happens; on "yes" it does, and the name is the second one's.
#[test]
fn what_stands_in_another_conversation_is_not_repeated_unasked() {
    let world: Arc<World> = Arc::default();
    let relay = clerk([book(Kind::Keyed, &world).business_key(["seat"])]);
    let (store, clock) = (MemoryStore::new(), Clock::at(1_000));
    let submit = |conversation: &str| {
        let runner = runner(books(), &clock);
        let durable = DurableRunner::new(&runner, &relay, &store);
        durable.submit(conversation, Turn::new("Seat 7, please.")).unwrap()
    };
    let answer = |id: &str, answer: Answer| {
        let runner = runner(books(), &clock);
        let (conversation, _) = id.split_once('/').unwrap();
        DurableRunner::new(&runner, &relay, &store).answer(conversation, id, answer, None, None).unwrap()
    };
    assert_eq!(submit("ada").answer(), r#""seat 7""#);
    assert_eq!(owners(&store), [(NAME.to_owned(), "ada".to_owned())]);

    assert_eq!(asked(&submit("bob")), ["bob/1/1/0/repeat"]);
    let refused = answer("bob/1/1/0/repeat", Answer::Reject { reason: "it is taken".into() });
    assert!(refused.answer().contains("possible_repeat"), "{}", refused.answer());
    assert!(!refused.answer().contains("ada"), "{}", refused.answer());
    assert_eq!((world.count(), owners(&store)), (1, vec![(NAME.to_owned(), "ada".to_owned())]));

    assert_eq!(asked(&submit("eve")), ["eve/1/1/0/repeat"]);
    assert_eq!(answer("eve/1/1/0/repeat", Answer::Approve).answer(), r#""seat 7""#);
    assert_eq!((world.count(), owners(&store)), (2, vec![(NAME.to_owned(), "eve".to_owned())]));
}

/// Two conversations that begin the same effect at the same moment: the store refuses one of them, and that one is asked
/// about. Here the second one books between the look of the first and its record.
#[test]
fn of_two_that_begin_the_same_effect_one_is_asked_about() {
    let world: Arc<World> = Arc::default();
    let relay = Arc::new(clerk([book(Kind::Keyed, &world).business_key(["seat"]).needs_approval()]));
    let (store, clock) = (MemoryStore::new(), Clock::at(1_000));
    let (other, at, agents, faster) =
        (store.another(), clock.clone(), Arc::clone(&relay), AtomicBool::new(false));
    let gate = Gate::new(move |_| {
        if !faster.swap(true, Ordering::Relaxed) {
            let runner = runner(books(), &at);
            let durable = DurableRunner::new(&runner, &agents, &other);
            assert_eq!(durable.submit("bob", Turn::new("Seat 7!")).unwrap().answer(), r#""seat 7""#);
        }
        Decision::Approve
    });
    let now = clock.clone();
    let slower = Runner::new(books()).gate(gate).clock(move || now.now());
    let durable = DurableRunner::new(&slower, &relay, &store);
    let settled = durable.submit("ada", Turn::new("Seat 7, please.")).unwrap();
    assert_eq!(asked(&settled), ["ada/1/1/0/repeat"]);
    assert_eq!((world.count(), owners(&store)), (1, vec![(NAME.to_owned(), "bob".to_owned())]));
}

/// A model that calls for the same twice in one reply is asked about the second one. Neither runs before that is answered.
#[test]
fn the_same_effect_twice_in_a_reply_is_asked_about() {
    let world: Arc<World> = Arc::default();
    let relay = clerk([book(Kind::AtMostOnce, &world).business_key(["seat"])]);
    let model = ScriptedModel::new()
        .turn("clerk", |_| {
            script::calls([
                ("tu_1", "book", SEAT),
                ("tu_2", "book", r#"{ "seat": 7 }"#),
                ("tu_3", "book", r#"{"seat":8}"#),
            ])
        })
        .turn("clerk", |_| script::say("Seats 7 and 8."));
    let (store, clock) = (MemoryStore::new(), Clock::at(1_000));
    let runner = runner(model, &clock);
    let durable = DurableRunner::new(&runner, &relay, &store);
    let settled = durable.submit("ada", Turn::new("Seats 7 and 8.")).unwrap();
    assert_eq!((asked(&settled), world.count()), (vec!["ada/1/1/1/repeat".to_owned()], 0));
    let no = Answer::Reject { reason: "once is enough".into() };
    let settled = durable.answer("ada", "ada/1/1/1/repeat", no, None, None).unwrap();
    assert_eq!((settled.answer(), world.count()), ("Seats 7 and 8.", 2));
}

tool_args! {
    /// What is taken back.
    struct Back {
        /// Which seat.
        seat: u32,
    }
}

/// A name is given back with the record by which its effect stands no more: it failed, a person said that it did not happen
/// or was undone, or a tool has undone it. What nobody knows of stands.
#[test]
fn a_name_is_given_back_when_its_effect_stands_no_more() {
    let failing = |why: &'static str| {
        Tool::new("book", "Books.", move |_: Seat, _: &CallContext<'_>| match why {
            "panics" => panic!("the line broke"),
            "fails" => Err(Failure::new("full", "the house is full")),
            _ => Ok("seat 7".to_owned()),
        })
        .business_key(["seat"])
    };
    let cancel =
        Tool::new("cancel", "Cancels.", |_: Back, _: &CallContext<'_>| Ok::<_, Failure>("cancelled"))
            .undoes("book", "seat");
    let none: [(String, String); 0] = [];
    let taken = [(NAME.to_owned(), "ada".to_owned())];
    let submit = |relay: &Relay, model: ScriptedModel, answer: Option<Answer>| {
        let (store, clock) = (MemoryStore::new(), Clock::at(1_000));
        let runner = runner(model, &clock);
        let durable = DurableRunner::new(&runner, relay, &store);
        let settled = durable.submit("ada", Turn::new("Seat 7, please.")).unwrap();
        if let Some(answer) = answer {
            assert_eq!(
                (asked(&settled), owners(&store)),
                (vec!["ada/1/1/0/in_doubt".to_owned()], taken.to_vec())
            );
            durable.answer("ada", "ada/1/1/0/in_doubt", answer, None, None).unwrap();
        }
        owners(&store)
    };
    let happened = Answer::Happened { result: "sent".into() };
    assert_eq!(submit(&clerk([failing("works")]), books(), None), taken);
    assert_eq!(submit(&clerk([failing("fails")]), books(), None), none);
    assert_eq!(submit(&clerk([failing("panics")]), books(), Some(happened)), taken);
    assert_eq!(submit(&clerk([failing("panics")]), books(), Some(Answer::DidNotHappen)), none);
    assert_eq!(submit(&clerk([failing("panics")]), books(), Some(Answer::Undone)), none);

    for is_transactional in [false, true] {
        let cancel = if is_transactional { cancel.clone().transactional() } else { cancel.clone() };
        let book =
            Tool::new("book", "Books.", |_: Seat, _: &CallContext<'_>| Ok::<_, Failure>(Receipt { seat: 7 }))
                .business_key(["seat"]);
        let model = ScriptedModel::new()
            .turn("clerk", |_| script::call("tu_1", "book", SEAT))
            .turn("clerk", |_| script::call("tu_2", "cancel", SEAT))
            .turn("clerk", |_| script::say("Cancelled."));
        assert_eq!(submit(&clerk([book, cancel]), model, None), none, "{is_transactional}");
    }
}

#[derive(serde::Serialize)]
struct Receipt {
    seat: u32,
}

/// What a tool calls the same within a conversation alone is nobody else's concern, and what only reads is nobody's.
#[test]
fn what_is_of_one_conversation_is_not_claimed() {
    for (tool, kind) in [(Kind::Keyed, "per conversation"), (Kind::ReadOnly, "read-only")] {
        let world: Arc<World> = Arc::default();
        let book = book(tool, &world).business_key(["seat"]);
        let relay = clerk([if tool == Kind::Keyed { book.per_conversation() } else { book }]);
        let (store, clock) = (MemoryStore::new(), Clock::at(1_000));
        for conversation in ["ada", "bob"] {
            let runner = runner(books(), &clock);
            let durable = DurableRunner::new(&runner, &relay, &store);
            let settled = durable.submit(conversation, Turn::new("Seat 7, please.")).unwrap();
            assert_eq!(settled.answer(), r#""seat 7""#, "{kind}");
        }
        assert_eq!(owners(&store), [], "{kind}");
    }
}

/// Names that are another's by the store than by the records are found, either way.
#[test]
fn claims_that_do_not_follow_from_the_records_are_found() {
    let world: Arc<World> = Arc::default();
    let relay = clerk([book(Kind::Keyed, &world).business_key(["seat"])]);
    let (store, clock) = (MemoryStore::new(), Clock::at(1_000));
    let runner = runner(books(), &clock);
    DurableRunner::new(&runner, &relay, &store).submit("ada", Turn::new("Seat 7.")).unwrap();
    let (head, epoch) = (store.head("ada").unwrap(), store.lease("ada").unwrap().unwrap().epoch);
    let wrong = [Claim::GiveBack(NAME.to_owned()), Claim::Take("refund 17".to_owned())];
    let event = Event::new("noted", 1, 9_000, "{}").unwrap().claiming(wrong);
    store.append("ada", head.seq, epoch, &[event]).unwrap();
    let (missing, stray) = (NAME.to_owned(), "refund 17".to_owned());
    let ada = || "ada".to_owned();
    assert_eq!(
        check_claims(&store).unwrap(),
        [
            ClaimFault::Missing { name: missing, conversation: ada() },
            ClaimFault::Stray { name: stray, conversation: ada() }
        ]
    );
}
