//! Routes on which the turn comes back, and how work ends that was handed over.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at what cannot be")]

mod harness;

use harness::{Down, Session, agent, calls, hands_to, payer, pays, question, says, script};
use sommelier_handoff::{
    Budget, Closing, Delegate, Done, EntryPolicy, Guards, HopEnd, Relay, Route, RunEnd, Step,
};
use sommelier_runtime::{Model, ScriptedModel};

fn relay(returns: bool) -> Relay {
    let route = Route::new("a", "b");
    let route = if returns { route.returns() } else { route };
    Relay::builder()
        .agent(agent("a"))
        .agent(agent("b"))
        .agent(agent("c"))
        .entry("a")
        .route_with(route)
        .route("b", "a")
        .route("b", "c")
        .build()
        .unwrap()
}

fn ends(session: &Session<'_>) -> Vec<Option<Closing>> {
    session.run().trail().taken().map(|hop| hop.end.map(|end| end.how)).collect()
}

/// C172, R16: on a route that returns the receiver's answer is the result of the sender's call, and the sender has the
/// turn again; on one that does not the receiver keeps it.
#[test]
fn the_turn_comes_back_where_the_route_says_so() {
    let model = script([("a", hands_to("b")), ("b", says("Six.")), ("a", says("It is six."))]);
    let back = relay(true);
    let session = Session::new(&back, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!((session.order().as_str(), session.run().active().as_str()), ("a b a", "a"));
    assert_eq!(session.results("a", 0), [r#"tu_1_0={"status":"done","finding":"Six.","steps_used":1}"#]);
    assert_eq!(ends(&session), [Some(Closing::Done)]);

    let model = script([("a", hands_to("b")), ("b", says("Six."))]);
    let stay = relay(false);
    let session = Session::new(&stay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!((session.order().as_str(), session.run().active().as_str()), ("a b", "b"));
    assert_eq!(ends(&session), [Some(Closing::Done)]);
}

/// C173, C70: a receiver that hands the turn to the one that waits gives it back: its package is the result. One that
/// hands it on to somebody else leaves the sender waiting for that one's answer.
#[test]
fn a_receiver_may_hand_back_or_on() {
    let model = script([("a", hands_to("b")), ("b", hands_to("a")), ("a", says("Well then."))]);
    let back = relay(true);
    let session = Session::new(&back, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(
        session.results("a", 0),
        [r#"tu_1_0={"status":"handed_back","from":"b","package":{"task":"Go on.","context":{}}}"#]
    );
    assert_eq!(ends(&session), [Some(Closing::HandedOn), Some(Closing::Done)]);

    let model = script([
        ("a", hands_to("b")),
        ("b", hands_to("c")),
        ("c", says("Seven.")),
        ("a", says("It is seven.")),
    ]);
    let session = Session::new(&back, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.order(), "a b c a");
    assert_eq!(ends(&session), [Some(Closing::HandedOn), Some(Closing::Done)]);
}

/// S1-27: where each message of the user begins anew at the entry, work that had failed ends there: nobody has it any
/// more, and nobody waits for it. It ends no earlier than it began.
#[test]
fn a_turn_that_begins_anew_leaves_no_orphan() {
    let relay = Relay::builder()
        .agent(agent("a"))
        .agent(agent("b"))
        .entry("a")
        .entry_policy(EntryPolicy::Entry)
        .route_with(Route::new("a", "b").returns())
        .build()
        .unwrap();
    let model = script([("a", hands_to("b")), ("a", says("Alone, then."))]);
    let down = Down { model: &model, agents: &["b"] };
    let session = Session::with(&relay, &down).say("hello");
    assert_eq!((ends(&session), session.run().trail().open().count()), (vec![None], 1));
    let session = session.say("Well?").ends(RunEnd::Answered);
    let begun = session.run().trail().taken().next().unwrap().at;
    let ends: Vec<_> = session.run().trail().taken().map(|hop| hop.end).collect();
    assert_eq!(ends, [Some(HopEnd { how: Closing::Failed, at: begun })]);
    assert_eq!(
        session.results("a", 0),
        [r#"tu_1_0!{"error":"not_run","detail":"the user has spoken, and the turn has begun anew"}"#]
    );
}

/// What the one that waits is told of the way: the model calls of all that worked since, those of their delegates too, and
/// the tools that ran and cannot be undone. What was done before it handed over, or by the receiver at an earlier turn, is
/// none of it.
#[test]
fn what_was_done_since_is_told_to_the_one_that_waits() {
    let mut guards = Guards::default().max_handoffs(9);
    guards.refuse_repeated_pairs = false;
    let relay = Relay::builder()
        .agent(payer("a"))
        .agent(payer("b"))
        .agent(payer("c"))
        .entry("a")
        .route_with(Route::new("a", "b").returns())
        .route("b", "c")
        .route("c", "a")
        .delegate("b", Delegate::new("ask_v", agent("v")))
        .guards(guards)
        .build()
        .unwrap();
    let pay = |n: &str| calls([pays(n)]);
    let model = script([
        ("a", pay("1")),
        ("a", hands_to("b")),
        ("b", pay("2")),
        ("b", says("Paid.")),
        ("a", hands_to("b")),
        ("b", calls([("ask_v", question("What is it?"))])),
        ("v", says("An invoice.")),
        ("b", pay("3")),
        ("b", hands_to("c")),
        ("c", pay("4")),
        ("c", says("Paid too.")),
        ("a", hands_to("b")),
        ("b", hands_to("c")),
        ("c", pay("5")),
        ("c", hands_to("a")),
        ("a", says("All is paid.")),
    ]);
    let mut session = Session::new(&relay, &model).say("hello");
    while session.is_waiting() {
        let gate = session.open().remove(0);
        session = session.approve(&gate);
    }
    let session = session.ends(RunEnd::Answered);
    let told: Vec<String> = (1..4).flat_map(|n| session.results("a", n)).collect();
    assert_eq!(
        told,
        [
            r#"tu_2_0={"status":"done","finding":"Paid.","steps_used":2,"effects":["pay"]}"#,
            r#"tu_3_0={"status":"done","finding":"Paid too.","steps_used":6,"effects":["pay","pay"]}"#,
            r#"tu_4_0={"status":"handed_back","from":"c","package":{"task":"Go on.","context":{}},"effects":["pay"]}"#,
        ]
    );
}

/// Who hands the turn back on a route that returns itself has handed it over, and is told so: it does not wait for the one
/// that waits for it.
#[test]
fn who_hands_the_turn_back_is_told_that_it_did() {
    let relay = Relay::builder()
        .agent(agent("a"))
        .agent(agent("b"))
        .entry("a")
        .route_with(Route::new("a", "b").returns())
        .route_with(Route::new("b", "a").returns())
        .build()
        .unwrap();
    let model = script([("a", hands_to("b")), ("b", hands_to("a")), ("a", says("Well then."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.results("b", 0), [r#"tu_1_0={"status":"handed_over","to":"a"}"#]);
    assert_eq!(ends(&session), [Some(Closing::HandedOn), Some(Closing::Done)]);
}

/// Where b was stopped in a run whose a waits for it, b's model having been asked once or never.
fn stopped(by: &str, relay: &Relay, model: &ScriptedModel) -> Done {
    let step = relay.start("conv", "hello").unwrap();
    let Step::CallModel(call) = step else { panic!("a is asked first") };
    let reply = model.complete(call.request(relay));
    let Step::HandOff(handoff) = call.resume(relay, reply, 1) else { panic!("a hands over") };
    let step = handoff.take(relay, 2);
    let step = match (by, step) {
        ("person", Step::CallModel(call)) => {
            let reply = model.complete(call.request(relay));
            let step = call.resume(relay, reply, 3);
            assert_eq!(step.questions().len(), 1);
            step
        }
        (_, step) => step,
    };
    let done = match (by, step) {
        ("budget", Step::Done(done)) => done,
        ("time", step) => match step.now(relay, 1_000) {
            Step::Done(done) => done,
            step => panic!("its time is over: {step:?}"),
        },
        (_, step) => step.cancel(relay, "enough", 4),
    };
    // The log is legal, and the run can be put away.
    let saved = Step::Done(done.clone()).save().unwrap();
    assert_eq!(relay.load(&saved).unwrap(), Step::Done(done.clone()), "{by}");
    assert_eq!(done.run().trail().open().count(), 0, "no work is left open in a run that has ended");
    done
}

fn stops(budget: Budget) -> Relay {
    Relay::builder()
        .agent(agent("a"))
        .agent(agent("b"))
        .entry("a")
        .route_with(Route::new("a", "b").returns())
        .may_ask_human("b")
        .budget(budget)
        .build()
        .unwrap()
}

/// C172, C79, S1-27: a run that was stopped while somebody waits for the turn to come back goes on from there, by whatever it
/// was stopped: the one that waits gets the answer, and the work that was ended with the run is ended by it.
#[test]
fn the_turn_comes_back_after_the_run_was_stopped() {
    for (by, budget) in [
        ("budget", Budget::new(1)),
        ("time", Budget::new(9).millis(100)),
        ("cancel", Budget::new(9)),
        ("person", Budget::new(9)),
    ] {
        let relay = stops(budget);
        let asks = calls([("ask_human", r#"{"question":"May I?"}"#)]);
        let asks = (by == "person").then_some(("b", asks));
        let turns = [("a", hands_to("b"))].into_iter().chain(asks);
        let turns = turns.chain([("b", says("Six.")), ("a", says("It is six."))]);
        let model = script(turns);
        for more in [None, Some(Budget::new(9))] {
            // A script is read from its beginning by each conversation.
            let done = stopped(by, &relay, &model);
            let step = match more {
                Some(more) => done.with_more(&relay, more).unwrap(),
                None if by == "budget" => continue,
                None => done.retry(&relay).unwrap(),
            };
            let session = Session::new(&relay, &model).unchecked().drive(step).ends(RunEnd::Answered);
            assert_eq!(session.run().active().as_str(), "a", "{by}");
            assert_eq!(session.done().answer().as_deref(), Some("It is six."), "{by}");
            let told = session.results("a", 0);
            assert!(told[0].contains(r#"{"status":"done","finding":"Six.""#), "{by}: {told:?}");
            assert_eq!(ends(&session), [Some(Closing::Done)], "{by}");
        }
    }
}

/// C172: the user's words after a run was stopped go to the agent that has the turn, as those in the middle of a run do: its
/// answer is the one that is waited for. Where the entry hears each message the turn begins anew, and the entry is told so.
#[test]
fn the_user_speaks_while_somebody_waits() {
    let relay = stops(Budget::new(1));
    let model = script([("a", hands_to("b")), ("b", says("Six."))]);
    let session = Session::new(&relay, &model).say("hello");
    assert_eq!(session.order(), "a");
    let session = session.say("Go on.");
    // One model call a message.
    assert_eq!((session.order().as_str(), session.run().active().as_str()), ("a b", "a"));
    assert_eq!(ends(&session), [Some(Closing::Done)]);
    assert_eq!(session.results("a", 0), [r#"tu_1_0={"status":"done","finding":"Six.","steps_used":1}"#]);

    let anew =
        Relay::builder().agent(agent("a")).agent(agent("b")).entry("a").entry_policy(EntryPolicy::Entry);
    let anew = anew.route_with(Route::new("a", "b").returns()).budget(Budget::new(1)).build().unwrap();
    let model = script([("a", hands_to("b")), ("a", says("Alone, then."))]);
    let session = Session::new(&anew, &model).say("hello").say("Go on.").ends(RunEnd::Answered);
    assert_eq!(
        session.results("a", 0),
        [r#"tu_1_0!{"error":"not_run","detail":"the user has spoken, and the turn has begun anew"}"#]
    );
}
