//! What a handoff is, and what it is not: shown on the desk.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may stop at what cannot be")]

mod harness;

use harness::{Heard, ended};
use sommelier_handoff::{Agent, Delegate, Guards, LoadError, Step};
use sommelier_protocol::Words;
use sommelier_runner::{Report, Runner};
use sommelier_runtime::{ScriptedModel, script};
use support_desk::desk::{OPENING, guards, relay};
use support_desk::failures::at_the_handoff;
use support_desk::{Desk, DeskRules};

/// Who had the turn last, how many handoffs were taken, how many questions were asked.
fn moved(report: &Report) -> (&str, u32, usize) {
    (report.last_agent(), report.done().run().trail().count(), report.links().len())
}

/// A message gives words and moves nothing; a delegation gives a question and keeps the turn; a handoff gives the turn.
#[test]
fn a_message_a_delegation_and_a_handoff_are_three_things() {
    let desk = Desk::new("c", DeskRules).unwrap();
    let step = desk.relay.start("c", "Hello").unwrap();
    let step = step.hear(&desk.relay, Words::new("And thanks.").unwrap());
    assert_eq!((step.run().active().as_str(), step.run().unread().len()), ("triage_agent", 1));
    let message = ended(desk.runner.drive(&desk.relay, step).unwrap());
    assert_eq!(moved(&message), ("triage_agent", 0, 0));

    let asking = relay(guards())
        .delegate(
            "triage_agent",
            Delegate::new("ask_archive", Agent::new("archive", "You know old queries.")),
        )
        .build()
        .unwrap();
    let model = ScriptedModel::new()
        .turn("triage_agent", |_| {
            script::call("tu_1", "ask_archive", r#"{"question":"Was this asked before?"}"#)
        })
        .turn("archive", |_| script::say("Once, in May."))
        .turn("triage_agent", |_| script::say("It was asked in May."));
    let delegation = ended(Runner::new(&model).run(&asking, "Is this new?").unwrap());
    assert_eq!(moved(&delegation), ("triage_agent", 0, 1));

    let handoff = ended(desk.ask(None, "I was charged twice.").unwrap());
    assert_eq!(moved(&handoff), ("billing_agent", 1, 0));
}

/// Until the handoff is taken all three are the sender's; then all three are the receiver's.
#[test]
fn control_context_and_accountability_move_together() {
    let relay = relay(guards()).build().unwrap();
    let Step::HandOff(handoff) = at_the_handoff(&relay).unwrap() else { panic!() };
    assert_eq!((handoff.run().active().as_str(), handoff.run().at_rest().count()), ("triage_agent", 0));

    let package = handoff.package().clone();
    let step = handoff.take(&relay, OPENING);
    let Step::CallModel(call) = &step else { panic!() };
    let request = call.request(&relay);
    let reads: Vec<&str> = request.messages.iter().flat_map(|message| message.texts()).collect();
    let from = relay.agent("triage_agent").unwrap().name();
    assert_eq!((&*request.caller, reads), ("billing_agent", vec![&*package.to_prompt(from)]));

    let desk = Desk::new("skipped", DeskRules).unwrap();
    let report = ended(desk.runner.drive(&relay, step).unwrap());
    assert_eq!(report.last_agent(), "billing_agent");
    assert!(report.answer().starts_with("You were charged 2900 cents twice"));
}

#[test]
fn the_sender_falls_idle_and_the_receiver_decides() {
    let model = Heard::new(DeskRules);
    let report = ended(Desk::new("c", &model).unwrap().ask(None, "I was charged twice.").unwrap());
    assert_eq!(model.asked(), ["triage_agent", "billing_agent", "billing_agent", "billing_agent"]);
    let at_rest: Vec<&str> = report.done().run().at_rest().map(|(agent, _)| agent.as_str()).collect();
    assert_eq!(at_rest, ["triage_agent", "billing_agent"]);
    let triage = report.done().run().idle("triage_agent").unwrap();
    assert_eq!((triage.replies(), triage.messages().len()), (1, 3));
}

/// The state can be written down at any step; under another definition it is not taken up.
#[test]
fn nobody_goes_on_with_a_state_of_another_definition() {
    let ours = relay(guards()).build().unwrap();
    let step = at_the_handoff(&ours).unwrap();
    let saved = step.save().unwrap();
    assert_eq!(ours.load(&saved).unwrap(), step);
    let other = relay(Guards::default().max_handoffs(4)).build().unwrap();
    let expected = LoadError::OtherDefinition { saved: ours.fingerprint(), ours: other.fingerprint() };
    assert_eq!(other.load(&saved).unwrap_err(), expected);
}
