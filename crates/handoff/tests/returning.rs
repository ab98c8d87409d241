//! Routes on which the turn comes back, and how work ends that was handed over.
#![expect(clippy::unwrap_used, reason = "a test may stop at what cannot be")]

mod harness;

use harness::{Down, Session, agent, hands_to, says, script};
use sommelier_handoff::{Closing, EntryPolicy, HopEnd, Relay, Route, RunEnd};

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
