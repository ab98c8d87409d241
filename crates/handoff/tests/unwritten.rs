//! A handoff whose record could not be made safe is not taken.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{Session, agent, calls, hands_to, name, question, relay, says, script, story};
use sommelier_handoff::{Delegate, HandOff, Hop, Relay, RunEnd, Step};
use sommelier_runtime::{Model, ScriptedModel};

/// The step before the first handoff of this run, as a driver has it that could not write the hop down.
fn before_handoff(relay: &Relay, model: &ScriptedModel) -> (HandOff, String) {
    let mut kept = None;
    let session = Session::new(relay, model).before_take(|step| {
        kept.get_or_insert_with(|| step.clone());
        step
    });
    let answer = session.say("hello").ends(RunEnd::Answered).done().answer().unwrap();
    match kept.unwrap() {
        Step::HandOff(handoff) => (handoff, answer),
        other => panic!("{other:?}"),
    }
}

/// C116: before it is taken nothing says that it was: no hop is on the trail, the sender has the turn, and no model has
/// been told of success. The step can be kept, saved, and taken later, as the same hop.
#[test]
fn a_handoff_that_was_not_written_down_has_not_been_taken() {
    let relay = relay("a -> b");
    let model = script([("a", hands_to("b")), ("b", says("Well."))]);
    let (handoff, answer) = before_handoff(&relay, &model);
    let hop = handoff.hop().clone();
    let run = handoff.run();
    assert_eq!((run.active(), run.trail().hops().len(), run.trail().count()), (&name("a"), 0, 0));
    assert!(run.idle("b").is_none());
    let open = r#"assistant: handoff_to_specialist#tu_1_0{"specialist":"b","task":"Go on.","context":{}}"#;
    assert_eq!(story(handoff.messages()), format!("user: hello\n{open}"));

    let kept = relay.load(&Step::HandOff(handoff).save().unwrap()).unwrap();
    let Step::HandOff(handoff) = kept else { panic!("{kept:?}") };
    let Step::CallModel(call) = handoff.take(&relay, 9) else { panic!("the receiver is asked") };
    let response = model.complete(call.request(&relay));
    let Step::Done(done) = call.resume(&relay, response, 9) else { panic!("it answers") };
    let end = done.run().trail().hops()[0].end;
    assert_eq!(done.run().trail().hops(), [Hop { at: 9, end, ..hop }]);
    assert_eq!(done.answer().unwrap(), answer);
}

/// C116: called off instead, the handoff has not been: the sender has the turn, no hop is on the trail, its call is
/// answered with what became of it, and the conversation goes on with it.
#[test]
fn a_handoff_that_was_not_written_down_can_be_called_off() {
    let relay = relay("a -> b");
    let model = script([("a", hands_to("b")), ("b", says("Well."))]);
    let (handoff, _) = before_handoff(&relay, &model);
    let done = Step::HandOff(handoff).cancel(&relay, "the disk is full", 7);
    assert_eq!(done.end(), &RunEnd::Cancelled { reason: "the disk is full".into() });
    let run = done.run();
    assert_eq!((run.active(), run.trail().hops().len()), (&name("a"), 0));
    let told = story(done.turn().unwrap().messages());
    let result = r#"user: tu_1_0!{"error":"not_run","detail":"called off before it was taken"}"#;
    assert!(told.ends_with(result) && !told.contains("handed_over"), "{told}");
    assert!(run.idle("b").is_none());
}

/// C116: a handoff within a branch is kept with the whole tree, and the tree goes on when it is taken.
#[test]
fn a_branch_before_its_handoff_is_kept_with_its_tree() {
    let inner = relay("b -> c");
    let relay = Relay::builder()
        .agent(agent("s"))
        .delegate("s", Delegate::team("ask_b", inner))
        .entry("s")
        .build()
        .unwrap();
    let model = script([
        ("s", calls([("ask_b", question("Well?"))])),
        ("b", hands_to("c")),
        ("c", says("Six.")),
        ("s", says("It is six.")),
    ]);
    let mut kept = None;
    let session = Session::new(&relay, &model).at_each_step(|step| {
        if let [Step::HandOff(_)] = step.open()[..] {
            kept = Some(step.save().unwrap());
        }
        step
    });
    drop(session.say("hello").ends(RunEnd::Answered));
    let tree = relay.load(&kept.unwrap()).unwrap();
    let open = tree.open()[0].run();
    assert_eq!((open.active(), open.trail().hops().len()), (&name("b"), 0));
    let done = tree.cancel(&relay, "the disk is full", 7);
    let branch = done.run().links()[0].run().unwrap();
    assert_eq!((branch.run().active(), branch.run().trail().hops().len()), (&name("b"), 0));
}
