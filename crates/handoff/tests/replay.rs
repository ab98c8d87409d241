//! A run from its records: the same run, or the difference by name.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at what cannot be")]

mod harness;

use harness::scribe::{Record, Scribe, replay};
use harness::{BOTH, Down, agent, calls, desk, hands_to, looks, payer, pays, says, script, team, to};
use sommelier_handoff::{
    Announced, Announcement, Answer, Delegate, Divergence, ENTRY_VERSION, Entry, HANDOFF_TO_SPECIALIST,
    HandoffPackage, Input, InputKind, Misfit, Relay, RelayBuilder, Route, Step,
};
use sommelier_runtime::ScriptedModel;
use sommelier_runtime::tool::dispatch;

/// An entry that looks up, pays, asks billing and shipping, may ask a person, and hands over to policy.
fn house() -> RelayBuilder {
    team("a -> b")
        .agent(payer("till"))
        .route_with(Route::new("a", "till").returns())
        .delegate("a", Delegate::new("ask_billing", agent("billing")))
        .delegate("a", Delegate::new("ask_shipping", agent("shipping")))
        .may_ask_human("a")
}

/// What the models of a [`house`] write: a look beside a handoff that is refused, questions to delegates and to a person, two
/// payments on a route that returns, and a handoff in the end.
fn models() -> ScriptedModel {
    script([
        (
            "a",
            calls([("look", r#"{"word":"x"}"#.to_owned()), (HANDOFF_TO_SPECIALIST, to("nobody", "Go on."))]),
        ),
        ("a", calls(BOTH)),
        ("billing", looks("INV")),
        ("billing", says("Yes.")),
        ("shipping", says("Here.")),
        ("a", calls([("ask_human", r#"{"question":"For whom?"}"#)])),
        ("a", hands_to("till")),
        ("till", calls([pays("INV-1"), pays("INV-2")])),
        ("till", says("Paid.")),
        ("a", hands_to("b")),
        ("b", says("Six.")),
    ])
}

/// That conversation: people approve, and the last receiver fails at first.
fn driven<'a>(relay: &'a Relay, model: &'a ScriptedModel, down: &'a Down<'a>) -> Scribe<'a> {
    let mut scribe = Scribe::new(relay, down).says("hello");
    while let Some((_, question)) = scribe.step().questions().first() {
        let (id, choices) = (question.id.to_string(), question.asks.choices());
        let ada = Answer::Say { text: "Ada".into() };
        scribe = scribe.answers(&id, if choices == ["say"] { ada } else { Answer::Approve });
    }
    scribe.with(model).gets("c", InputKind::Retried).drives()
}

/// C160: each prefix of the records leads to where the run was when just these were there, and to one outcome: what they owe
/// is what comes next, and whoever writes that down and goes on comes to the same end.
#[test]
fn each_prefix_of_the_records_has_one_outcome() {
    let (relay, model) = (house().build().unwrap(), models());
    let down = Down { model: &model, agents: &["b"] };
    let scribe = driven(&relay, &model, &down);
    scribe.replayed();
    for cut in 0..=scribe.records.len() {
        let (there, lost) = scribe.records.split_at(cut);
        let one = replay(&relay, there).unwrap();
        assert_eq!(one.step(), cut.checked_sub(1).and_then(|last| scribe.stood[last].as_ref()), "{cut}");
        let told = |record: &Record| match record.read() {
            Entry::Announced(told) if !told.what.is_intent() => Some((told.run, told.what)),
            _ => None,
        };
        let owed: Vec<_> = one.owed().map(|told| (told.run, told.what)).collect();
        assert_eq!(owed, lost.iter().map_while(told).collect::<Vec<_>>(), "{cut}");
        let mut other = replay(&relay, there).unwrap();
        for record in lost {
            other.read(&record.kind, ENTRY_VERSION, &record.body).unwrap();
        }
        assert_eq!((other.step(), other.chronicle()), (Some(scribe.step()), scribe.chronicle()));
    }
}

/// T4: between a reply and its plan the process ends. The reply is used and the model not asked again: the same plan is owed.
#[test]
fn a_reply_on_record_is_not_asked_for_again() {
    let (relay, model) =
        (team("a -> b").build().unwrap(), script([("a", hands_to("b")), ("b", says("Six."))]));
    let scribe = Scribe::new(&relay, &model).says("hello");
    let cut = scribe.place("planned");
    assert_eq!(scribe.records[cut - 1].kind, "model_responded");
    let replay = replay(&relay, &scribe.records[..cut]).unwrap();
    let Some(Step::HandOff(handoff)) = replay.step() else { panic!("{:?}", replay.step()) };
    let plan = Announcement::Planned {
        tools: Vec::new(),
        branches: Vec::new(),
        handoff: Some(handoff.hop().id.clone()),
    };
    let owed: Vec<Announced> = replay.owed().collect();
    assert_eq!(owed.iter().map(|told| &told.what).collect::<Vec<_>>(), [&plan]);
    let Entry::Announced(told) = scribe.records[cut].read() else { panic!() };
    assert_eq!(told.what, plan);
}

/// T9, T10, C71: before the record of a handoff the sender has the turn and nothing has crossed; after it the receiver has it,
/// with the package byte by byte, and is asked once. The record is of no other package.
#[test]
fn the_record_of_a_handoff_is_the_transfer() {
    let (relay, model) =
        (team("a -> b").build().unwrap(), script([("a", hands_to("b")), ("b", says("Six."))]));
    let scribe = Scribe::new(&relay, &model).says("hello");
    let cut = scribe.place("handoff_committed");
    let before = replay(&relay, &scribe.records[..cut]).unwrap();
    let run = before.step().unwrap().run();
    assert_eq!((run.active().as_str(), run.trail().count()), ("a", 0));
    let after = replay(&relay, &scribe.records[..=cut]).unwrap();
    let Some(Step::CallModel(call)) = after.step() else { panic!("{:?}", after.step()) };
    let Entry::Input(input) = scribe.records[cut].read() else { panic!() };
    let InputKind::HandoffCommitted { hop } = input.what else { panic!() };
    assert_eq!((call.run().active().as_str(), call.run().trail().hops()), ("b", &[*hop.clone()][..]));
    let package = hop.package.as_ref().map(HandoffPackage::to_json).unwrap();
    assert!(scribe.records[cut].body.contains(&package), "{package}");
    assert_eq!(scribe.records.iter().filter(|record| record.kind == "handoff_committed").count(), 1);

    let other = [&scribe.records[..cut], &[scribe.records[cut].edited("Go on.", "Go in.")]].concat();
    let Err(Divergence::Misfit(Misfit::OtherHandoff { .. })) = replay(&relay, &other) else { panic!() };
    let hop = Box::new(sommelier_handoff::Hop { package_bytes: 9999, ..*hop });
    let what = InputKind::HandoffCommitted { hop };
    let misfit = before.step().unwrap().clone().feed(&relay, &Input { what, ..*input });
    let Err(Misfit::OtherHandoff { recorded, found }) = misfit else { panic!() };
    let words = |text: &str| text.rsplit_once(", ").map(|(words, _)| words.to_owned()).unwrap();
    assert_eq!(words(&recorded), "c/1/1/0 to b with 9999 byte(s)");
    assert_eq!(words(&found), "c/1/1/0 to b with 30 byte(s)");
}

/// C71: a run that has ended is loaded as ended, and nothing in it is begun again.
#[test]
fn a_finished_run_is_loaded_as_finished() {
    let (relay, model) =
        (team("a -> b").build().unwrap(), script([("a", hands_to("b")), ("b", says("Six."))]));
    let scribe = Scribe::new(&relay, &model).says("hello");
    let (step, chronicle) = scribe.replayed().into_parts();
    let Some(Step::Done(done)) = step else { panic!("{step:?}") };
    assert_eq!((done.answer().as_deref(), done.run().trail().open().count()), (Some("Six."), 0));
    let closed = chronicle.turns()[0].closed.as_ref().unwrap();
    assert_eq!(
        (&*closed.answer_id, &*closed.end, closed.answer.as_deref()),
        ("c/1/2", "answered", Some("Six."))
    );
}

/// C154: a step whose model failed is not taken for done: its work is open, and the retry asks for it again.
#[test]
fn a_failed_step_is_not_taken_for_done() {
    let (relay, model) =
        (team("a -> b").build().unwrap(), script([("a", hands_to("b")), ("b", says("Six."))]));
    let down = Down { model: &model, agents: &["b"] };
    let scribe = Scribe::new(&relay, &down).says("hello");
    let replay = scribe.replayed();
    let Some(Step::Done(done)) = replay.step() else { panic!() };
    assert_eq!((done.end().as_str(), done.answer(), done.run().trail().open().count()), ("failed", None, 1));
    let scribe = scribe.with(&model).gets("c", InputKind::Retried);
    let replay = scribe.replayed();
    let Some(Step::CallModel(call)) = replay.step() else { panic!() };
    assert_eq!(
        (call.run().active().as_str(), call.number(), replay.chronicle().attempts("c", 2)),
        ("b", 2, 1)
    );
}

/// C100: what the tools of a reply have said that hands over as well stands in the sender's conversation beside the hop.
#[test]
fn the_tools_of_a_transferring_turn_are_kept() {
    let relay = team("a -> b").build().unwrap();
    let both = calls([("look", r#"{"word":"x"}"#.to_owned()), (HANDOFF_TO_SPECIALIST, to("b", "Go on."))]);
    let model = script([("a", both), ("b", says("Six."))]);
    let scribe = Scribe::new(&relay, &model).says("hello");
    let replay = scribe.replayed();
    let run = replay.step().unwrap().run();
    assert_eq!(
        harness::story(run.idle("a").unwrap().messages()).lines().last(),
        Some(r#"user: tu_1_0="x" | tu_1_1={"status":"handed_over","to":"b"}"#)
    );
    assert_eq!((run.trail().count(), run.tool_calls()), (1, 1));
}

/// C92: a delegate that waits for a person is there with all that it was after everything in memory is gone, and goes on.
#[test]
fn a_delegate_that_waits_is_complete() {
    let relay = desk().delegate("supervisor", Delegate::new("ask_till", payer("till"))).build().unwrap();
    let model = script([
        ("supervisor", calls([("ask_till", harness::question("Pay INV-1."))])),
        ("till", looks("INV-1")),
        ("till", calls([pays("INV-1")])),
        ("till", says("Paid.")),
        ("supervisor", says("It is paid.")),
    ]);
    let scribe = Scribe::new(&relay, &model).says("hello");
    let (step, _) = scribe.replayed().into_parts();
    let step = step.unwrap();
    let [(run, question)] = &step.questions()[..] else { panic!() };
    assert_eq!((run.conversation(), &*question.id, run.model_calls()), ("c/1/1/0", "c/1/1/0/1/2/0", 2));
    let scribe = scribe.answers("c/1/1/0/1/2/0", Answer::Approve);
    let Step::Done(done) = scribe.step() else { panic!() };
    assert_eq!(done.answer().as_deref(), Some("It is paid."));
    scribe.replayed();
}

/// The outputs of a reply's tools may be on record in any order, and the process may end between any two of them: what is
/// there is not had again, and the run comes to the same.
#[test]
fn outputs_come_one_by_one_in_any_order() {
    let relay = team("a -> b").build().unwrap();
    let three = ["x", "y", "z"].map(|word| ("look", format!(r#"{{"word":"{word}"}}"#)));
    let model = script([("a", calls(three))]);
    let scribe = Scribe::new(&relay, &model).gets("c", spoken("hello")).does().0;
    let Step::CallTools(at_once) = scribe.step().clone() else { panic!() };
    let outputs = dispatch(at_once.agent(&relay).unwrap(), at_once.calls(), &at_once.scope());
    let expected = at_once.clone().resume(&relay, outputs.clone(), 2000).unwrap();
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut step = scribe.step().clone();
        for (n, place) in order.into_iter().enumerate() {
            let Step::CallTools(calls) = &step else { panic!() };
            assert_eq!((calls.calls().count(), calls.run().tool_calls()), (3 - n, u32::try_from(n).unwrap()));
            let what = InputKind::tool_output(place, outputs[place].clone());
            let input = Input { run: "c".into(), at: 2000, what };
            step = step.feed(&relay, &input).unwrap();
            let twice = step.clone().feed(&relay, &input);
            let why = twice.unwrap_err();
            assert!(
                matches!(why, Misfit::Place(of) if of == place) || matches!(why, Misfit::Kind { .. }),
                "{why}"
            );
        }
        assert_eq!(step, expected, "{order:?}");
    }
}

fn spoken(text: &str) -> InputKind {
    InputKind::TurnReceived { key: None, text: text.into(), trace: None, begun: false }
}
