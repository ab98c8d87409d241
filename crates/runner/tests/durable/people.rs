//! People who answer, call off, or are left with what nobody does any more.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use sommelier_handoff::{Agent, Answer, Delegate, Guard, Guards, OnRefusal, Rejected, Relay, Step};
use sommelier_protocol::{ModelRequest, ModelResponse};
use sommelier_runner::journal::{Epoch, Event, Journal};
use sommelier_runner::{DurableError, DurableRunner, Gate, Runner, Settled, Turn};
use sommelier_runtime::{Model, ModelError, ScriptedModel, script};
use sommelier_store::MemoryStore;

use crate::desk::{CONVERSATION, Clock, Kind, World, journal_of, kinds, model, relay, runner, whole};

fn asking<'m>(model: impl Model + 'm, clock: &Clock) -> Runner<'m> {
    runner(model, clock).gate(Gate::ask_all())
}

fn gated(world: &Arc<World>) -> Relay {
    let book = crate::desk::book(Kind::AtMostOnce, world).needs_approval();
    Relay::builder()
        .agent(Agent::new("clerk", "").tools([book]))
        .agent(Agent::new("till", ""))
        .entry("clerk")
        .route("clerk", "till")
        .build()
        .unwrap()
}

/// A clerk who asks an usher, who has a cashier asked; both of these need approval for what they book.
fn asking_down(kind: Kind, world: &Arc<World>) -> Relay {
    let books = |name| Agent::new(name, "").tools([crate::desk::book(kind, world).needs_approval()]);
    let usher = Relay::builder()
        .agent(books("usher"))
        .delegate("usher", Delegate::new("ask_cashier", books("cashier")))
        .entry("usher")
        .build()
        .unwrap();
    Relay::builder()
        .agent(Agent::new("clerk", ""))
        .delegate("clerk", Delegate::team("ask_usher", usher))
        .entry("clerk")
        .build()
        .unwrap()
}

fn of_all_three() -> ScriptedModel {
    let asks = |tool: &'static str| {
        move |_: &ModelRequest<'_>| script::call("tu_1", tool, r#"{"question":"A seat?"}"#)
    };
    let books = |id: &'static str, seat: &'static str| {
        move |_: &ModelRequest<'_>| script::call(id, "book", &format!(r#"{{"seat":{seat}}}"#))
    };
    ScriptedModel::new()
        .turn("clerk", asks("ask_usher"))
        .turn("usher", books("tu_1", "7"))
        .turn("usher", asks("ask_cashier"))
        .turn("cashier", books("tu_1", "8"))
        .turn("cashier", |_| script::say("Eight."))
        .turn("usher", |_| script::say("Seven and eight."))
        .turn("clerk", |_| script::say("Seats 7 and 8."))
}

/// C89, S1-37: what a branch asks a person, however deep it lies, is answered by the question's id alone: by the process that drives the
/// run, and by others, each of which begins with what is on record.
#[test]
fn an_approval_is_given_to_a_branch_wherever_it_lies() {
    let world = Arc::default();
    let (relay, clock) = (asking_down(Kind::AtMostOnce, &world), Clock::at(1_000));
    let runner = asking(of_all_three(), &clock);
    let ids = ["guest-7/1/1/0/1/1/0", "guest-7/1/1/0/1/2/0/1/1/0"];
    // The next answer, and what it came to.
    let approve = |durable: &DurableRunner<'_>, settled: &Settled, id: &str| {
        let Settled::Waiting(parked) = settled else { panic!("it waits for {id}: {settled:?}") };
        let asked: Vec<_> = parked.questions().into_iter().map(|(_, question)| question).collect();
        assert_eq!(asked.iter().map(|question| &*question.id).collect::<Vec<_>>(), [id]);
        let digest = asked[0].digest();
        let other = durable.answer(CONVERSATION, id, Answer::Approve, Some("0000"), None);
        assert!(matches!(other, Err(DurableError::OtherQuestion { .. })), "{other:?}");
        durable.answer(CONVERSATION, id, Answer::Approve, Some(&digest), Some("ada")).unwrap()
    };
    let refused = |durable: &DurableRunner<'_>| {
        let again = durable.answer(CONVERSATION, ids[0], Answer::Approve, None, None);
        assert!(matches!(again, Err(DurableError::Rejected(Rejected::Decided { .. }))), "{again:?}");
    };

    let store = MemoryStore::new();
    let one = DurableRunner::new(&runner, &relay, &store);
    let mut settled = one.submit(CONVERSATION, Turn::new("Two seats.")).unwrap();
    for (id, booked) in ids.iter().zip(1..) {
        settled = approve(&one, &settled, id);
        assert_eq!(world.count(), booked);
    }
    assert_eq!(settled.answer(), "Seats 7 and 8.");
    refused(&one);

    let mut store = MemoryStore::new();
    let mut settled =
        DurableRunner::new(&runner, &relay, &store).submit(CONVERSATION, Turn::new("Two seats.")).unwrap();
    for (id, booked) in ids.iter().zip(3..) {
        let left = journal_of(&store.load(CONVERSATION, 1).unwrap());
        settled = approve(&DurableRunner::new(&runner, &relay, &left), &settled, id);
        assert_eq!(world.count(), booked);
        store = left;
    }
    assert_eq!(settled.answer(), "Seats 7 and 8.");
    refused(&DurableRunner::new(&runner, &relay, &store));
}

/// T1, T2, S1-37, S1-38: wherever the records of a run end whose branches have asked people, it goes on to the same answer when those
/// are answered that were not, and each effect happens once.
#[test]
fn every_prefix_with_questions_of_branches_comes_to_the_same_end() {
    let ends = |journal: &dyn Journal, world: &Arc<World>, at: u64| {
        let (relay, clock) = (asking_down(Kind::Keyed, world), Clock::at(at));
        let runner = asking(of_all_three(), &clock);
        let durable = DurableRunner::new(&runner, &relay, journal);
        let mut settled = match durable.resume(CONVERSATION) {
            Err(DurableError::Unknown(_)) => durable.submit(CONVERSATION, Turn::new("Two seats.").key("m-1")),
            settled => settled,
        };
        while let Ok(Settled::Waiting(parked)) = &settled {
            let id = parked.questions()[0].1.id.to_string();
            settled = durable.answer(CONVERSATION, &id, Answer::Approve, None, Some("ada"));
        }
        settled.unwrap().answer().to_owned()
    };
    let (store, world) = (MemoryStore::new(), Arc::default());
    assert_eq!((&*ends(&store, &world, 1_000), world.count()), ("Seats 7 and 8.", 2));
    let all = store.load(CONVERSATION, 1).unwrap();
    for cut in 0..=all.len() {
        let left = &all[..cut];
        let done = left.iter().filter(|record| record.event.kind() == "tool_completed").count();
        let (store, world) = (journal_of(left), Arc::default());
        assert_eq!((&*ends(&store, &world, 10_000), world.count()), ("Seats 7 and 8.", 2 - done), "{cut}");
        assert_eq!(kinds(&store).last().map(String::as_str), Some("closed"), "{cut}");
    }
}

/// C89, C157, T48: an approval is given in another process, with the question's id alone. It runs the tool once; a second
/// one, one for another question, and one to what was not shown are refused by reason, and leave no record.
#[test]
fn an_approval_is_taken_once_wherever_it_is_given() {
    let (world, store, clock) = (Arc::default(), MemoryStore::new(), Clock::at(1_000));
    let relay = gated(&world);
    let runner = asking(model(), &clock);
    let first = DurableRunner::new(&runner, &relay, &store);
    let Settled::Waiting(parked) = first.submit(CONVERSATION, Turn::new("Seat 7, please.")).unwrap() else {
        panic!("it waits")
    };
    let (id, digest) = (parked.questions()[0].1.id.to_string(), parked.questions()[0].1.digest());
    drop(first);
    let second = DurableRunner::new(&runner, &relay, &store);
    let head = store.head(CONVERSATION).unwrap();
    let unknown = second.answer(CONVERSATION, "guest-7/9/9/9", Answer::Approve, None, None);
    assert!(matches!(unknown, Err(DurableError::Rejected(Rejected::Unknown { .. }))), "{unknown:?}");
    assert_eq!(store.head(CONVERSATION).unwrap(), head);
    let other = second.answer(CONVERSATION, &id, Answer::Approve, Some("0000"), None);
    assert!(matches!(other, Err(DurableError::OtherQuestion { .. })), "{other:?}");
    let settled = second.answer(CONVERSATION, &id, Answer::Approve, Some(&digest), Some("ada")).unwrap();
    assert_eq!(settled.answer(), "That is 12.00 for seat 7.");
    let again = second.answer(CONVERSATION, &id, Answer::Approve, Some(&digest), Some("ada"));
    assert!(matches!(again, Err(DurableError::Rejected(Rejected::Decided { .. }))), "{again:?}");
    assert_eq!(world.tries.load(Ordering::Relaxed), 1);
}

/// T28: whoever calls a run off races with its end: one of them wins, and that is what everybody is told and what is on record.
#[test]
fn calling_off_races_with_the_answer() {
    for _ in 0..200 {
        let (world, store, clock) = (Arc::default(), MemoryStore::new(), Clock::at(1_000));
        let (relay, runner) = (relay(Kind::Keyed, &world), runner(model(), &clock));
        let durable = DurableRunner::new(&runner, &relay, &store);
        let (submitted, called_off) = thread::scope(|scope| {
            let submitted = scope.spawn(|| durable.submit(CONVERSATION, Turn::new("Seat 7.").key("m-1")));
            let called_off = scope.spawn(|| durable.cancel(CONVERSATION, "changed my mind"));
            (submitted.join().unwrap().unwrap(), called_off.join().unwrap())
        });
        if let Ok(called_off) = called_off {
            assert_eq!(called_off.end(), submitted.end());
        }
        assert_eq!(kinds(&store).iter().filter(|kind| *kind == "closed").count(), 1);
        assert!(world.count() <= 1);
    }
}

/// A model that ends the thread that asks it, as a process that dies would.
struct Dies;

impl Model for Dies {
    fn complete(&self, _: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        Err(ModelError::Unreachable { detail: "gone".to_owned() })
    }
}

/// C154: a run that failed as its receiver's model could not be asked is no run that passed: resumed, the receiver is asked
/// again, and the tool of the sender is not.
#[test]
fn a_failed_receiver_is_asked_again() {
    let (world, store, clock) = (Arc::default(), MemoryStore::new(), Clock::at(1_000));
    let relay = relay(Kind::AtMostOnce, &world);
    let broken = runner(model(), &clock).model_of("till", Dies);
    let settled =
        DurableRunner::new(&broken, &relay, &store).submit(CONVERSATION, Turn::new("Seat 7.")).unwrap();
    assert_eq!(settled.end(), Some("failed"));
    let runner = runner(model(), &clock);
    let settled = DurableRunner::new(&runner, &relay, &store).resume(CONVERSATION).unwrap();
    assert_eq!(settled.answer(), "That is 12.00 for seat 7.");
    assert_eq!(world.tries.load(Ordering::Relaxed), 1);
}

/// S1-27, T45: work that was handed over and that nobody does is found, with its package and all hops, after its time; it
/// is gone on with once, and then there is nothing to find.
#[test]
fn an_orphan_is_found_and_taken_up() {
    let all = whole(Kind::Keyed);
    let cut = all.iter().position(|record| record.event.kind() == "handoff_committed").unwrap() + 2;
    let (world, store, clock): (Arc<World>, _, _) =
        (Arc::default(), journal_of(&all[..cut]), Clock::at(10_000));
    world.do_once("guest-7/1/1/0", 7);
    let (relay, runner) = (relay(Kind::Keyed, &world), runner(model(), &clock));
    let durable = DurableRunner::new(&runner, &relay, &store);
    assert_eq!(durable.orphans(60_000).unwrap().found, []);
    let orphans = durable.orphans(5_000).unwrap().found;
    let [orphan] = &orphans[..] else { panic!("{orphans:?}") };
    let open: Vec<(&str, &str)> = orphan.open.iter().map(|hop| (hop.from.as_str(), &*hop.to)).collect();
    assert_eq!((&*orphan.conversation, open, orphan.attempts), (CONVERSATION, vec![("clerk", "till")], 1));
    let swept = durable.sweep(5_000).unwrap().swept;
    let [swept] = &swept[..] else { panic!("{swept:?}") };
    assert_eq!(swept.outcome.as_ref().unwrap().as_ref().unwrap().answer(), "That is 12.00 for seat 7.");
    assert_eq!(durable.sweep(0).unwrap().swept.len(), 0);
}

/// T45, T20: a conversation that cannot be read hides no orphan, and is not passed over in silence.
#[test]
fn what_cannot_be_read_is_told_beside_the_orphans() {
    let all = whole(Kind::Keyed);
    let cut = all.iter().position(|record| record.event.kind() == "model_responded").unwrap() + 1;
    let (world, store, clock): (Arc<World>, _, _) =
        (Arc::default(), journal_of(&all[..cut]), Clock::at(10_000));
    let event = Event::new("sang_a_song", 1, 7, "{}").unwrap();
    store.append("a", 0, Epoch::NONE, &[event]).unwrap();
    let (relay, runner) = (relay(Kind::Keyed, &world), runner(model(), &clock));
    let durable = DurableRunner::new(&runner, &relay, &store);
    let is_told = |unread: &[(String, DurableError)]| matches!(unread, [(name, DurableError::Diverged { seq: 1, .. })] if name == "a");
    let orphans = durable.orphans(0).unwrap();
    assert!(is_told(&orphans.unread) && orphans.found.len() == 1, "{orphans:?}");
    let sweep = durable.sweep(0).unwrap();
    assert!(is_told(&sweep.unread) && sweep.swept.len() == 1, "{sweep:?}");
    assert_eq!(world.count(), 1);
}

/// S1-36, T42: at the limit a person is asked, and the question outlives the process: another one finds it with all hops, no agent
/// is asked again, and who takes over ends the run.
#[test]
fn a_person_at_the_limit_has_all_hops_after_a_restart() {
    let order = |to: &'static str| {
        move |_: &ModelRequest<'_>| {
            let package = format!(r#"{{"specialist":"{to}","task":"Go on.","context":{{}}}}"#);
            script::call("tu_1", "handoff_to_specialist", &package)
        }
    };
    let relay = Relay::builder()
        .agent(Agent::new("clerk", ""))
        .agent(Agent::new("till", ""))
        .entry("clerk")
        .route("clerk", "till")
        .route("till", "clerk")
        .guards(Guards::default().max_handoffs(1).on_refusal(Guard::Cap, OnRefusal::Escalate))
        .build()
        .unwrap();
    let model = ScriptedModel::new().turn("clerk", order("till")).turn("till", order("clerk"));
    let (store, clock) = (MemoryStore::new(), Clock::at(1_000));
    let first = runner(model, &clock);
    DurableRunner::new(&first, &relay, &store).submit(CONVERSATION, Turn::new("Seat 7.")).unwrap();
    let silent = runner(Dies, &clock);
    let second = DurableRunner::new(&silent, &relay, &store);
    let Settled::Waiting(parked) = second.resume(CONVERSATION).unwrap() else { panic!("it waits") };
    let questions = parked.questions();
    let [(run, question)] = &questions[..] else { panic!("{questions:?}") };
    let hops: Vec<(&str, bool)> =
        run.trail().hops().iter().map(|hop| (&*hop.to, hop.outcome.is_taken())).collect();
    assert_eq!((question.asks.as_str(), hops), ("escalation", vec![("till", true), ("clerk", false)]));
    let over = Answer::TakeOver { note: "ada".into() };
    let settled = second.answer(CONVERSATION, &question.id, over, None, Some("ada")).unwrap();
    assert_eq!(settled.end(), Some("taken_over"));
}

/// What follows from the records and was cut off is written by whoever takes the conversation next, also where an answer is
/// refused then: otherwise what comes later would not follow from what is on record.
#[test]
fn a_refused_answer_leaves_records_that_can_be_read() {
    let (world, store, clock) = (Arc::default(), MemoryStore::new(), Clock::at(1_000));
    let (relay, runner) = (gated(&world), asking(model(), &clock));
    DurableRunner::new(&runner, &relay, &store).submit(CONVERSATION, Turn::new("Seat 7.")).unwrap();
    let all = store.load(CONVERSATION, 1).unwrap();
    let cut = all.iter().position(|record| record.event.kind() == "escalated").unwrap();
    let store = journal_of(&all[..cut]);
    let durable = DurableRunner::new(&runner, &relay, &store);
    let other = durable.answer(CONVERSATION, "guest-7/1/1/0", Answer::Approve, Some("0000"), None);
    assert!(matches!(other, Err(DurableError::OtherQuestion { .. })), "{other:?}");
    let settled = durable.answer(CONVERSATION, "guest-7/1/1/0", Answer::Approve, None, None).unwrap();
    assert_eq!(settled.answer(), "That is 12.00 for seat 7.");
    let read = durable.look(CONVERSATION).unwrap();
    assert!(read.owed().next().is_none() && read.step().is_some_and(|step| matches!(step, Step::Done(_))));
}
