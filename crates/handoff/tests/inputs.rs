//! What comes into a run, as data: each kind does what the step's own method does, and what does not fit is handed back.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at what cannot be")]

mod harness;

use harness::scribe::Scribe;
use harness::{BOTH, agent, calls, desk, hands_to, name, payer, pays, says, script, tool_name};
use sommelier_handoff::{
    Answer, AskedCall, Budget, ENTRY_VERSION, Entry, Hop, Input, InputKind, Inquiry, Misfit, Rejected, Relay,
    Route, Step,
};
use sommelier_protocol::{RawJson, Words};
use sommelier_runtime::tool::{Failure, denied};
use sommelier_runtime::{ModelError, ToolOutput, script as reply};

/// The time of every input here.
const AT: u64 = 5_000;

/// An entry that pays and hands over to b, which must be able to look up.
fn house() -> Relay {
    Relay::builder()
        .agent(payer("a"))
        .agent(agent("b"))
        .entry("a")
        .route_with(Route::new("a", "b").requires(["look"]))
        .budget(Budget::new(20).millis(10_000))
        .build()
        .unwrap()
}

/// The step of a [`house`] after these replies of its entry, with nothing done about the last.
fn after(relay: &Relay, replies: impl IntoIterator<Item = harness::Turn>) -> Step {
    let turns: Vec<_> = replies.into_iter().collect();
    let count = turns.len();
    let model = script(turns.into_iter().map(|turn| ("a", turn)));
    let scribe = Scribe::new(relay, &model).gets("c", spoken("hello"));
    (0..count).fold(scribe, |scribe, _| scribe.does().0).step().clone()
}

fn spoken(text: &str) -> InputKind {
    InputKind::TurnReceived {
        key: Some("k-1".into()),
        text: text.into(),
        trace: Some("t-1".into()),
        begun: false,
    }
}

fn at(run: &str, what: InputKind) -> Input {
    Input { run: run.into(), at: AT, what }
}

fn payments() -> harness::Turn {
    calls([pays("INV-1"), pays("INV-2")])
}

/// The step takes the input, as it was and as it is read again from its text, and comes to what its own method comes to.
#[track_caller]
fn takes(relay: &Relay, step: &Step, what: InputKind, expected: Step) {
    let input = at("c", what);
    let read = Entry::read(input.what.name(), ENTRY_VERSION, &input.body().unwrap()).unwrap();
    assert_eq!(read, Entry::Input(Box::new(input.clone())));
    assert_eq!(step.clone().feed(relay, &input).as_ref(), Ok(&expected), "{}", input.what.name());
    assert!(InputKind::NAMES.contains(&input.what.name()));
}

/// The step does not take the input, says why, and is handed back as it was.
#[track_caller]
fn misfits(relay: &Relay, step: &Step, input: &Input, why: &Misfit, words: &str) {
    let (kept, misfit) = step.clone().feed_or_keep(relay, input).unwrap_err();
    assert_eq!((&*kept, &misfit, misfit.to_string().as_str()), (step, why, words));
}

/// What a model says, or why it says nothing.
#[test]
fn replies_and_failures_of_a_model() {
    let relay = house();
    let step = after(&relay, []);
    let Step::CallModel(call) = &step else { panic!() };
    let response = reply::say("Six.");
    let expected = call.clone().resume(&relay, Ok(response.clone()), AT);
    takes(&relay, &step, InputKind::ModelResponded { response: Box::new(response) }, expected);
    let error = ModelError::Unreachable { detail: "no route".to_owned() };
    let expected = call.clone().resume(&relay, Err(error.clone()), AT);
    takes(&relay, &step, InputKind::ModelFailed { error }, expected);
}

/// The user, before a request has gone out, while it is out, and at rest.
#[test]
fn words_of_the_user() {
    let relay = house();
    let step = after(&relay, []);
    let words = || Words::new("in French").unwrap();
    let Step::CallModel(call) = &step else { panic!() };
    takes(&relay, &step, spoken("in French"), call.clone().hear(&relay, words()));
    let begun = InputKind::TurnReceived { key: None, text: "in French".into(), trace: None, begun: true };
    takes(&relay, &step, begun, step.clone().hear(&relay, words()));
    let step = after(&relay, [says("Six.")]);
    takes(&relay, &step, spoken("in French"), step.clone().hear(&relay, words()));
}

/// A person who is asked, and what is said.
#[test]
fn questions_and_answers() {
    let relay = house();
    let step = after(&relay, [payments()]);
    let Step::CallTools(calls) = &step else { panic!() };
    let asked = vec![
        AskedCall { place: 0, repeats: None },
        AskedCall { place: 1, repeats: Some("INV-2 is paid".into()) },
    ];
    let inquiries = [(0, Inquiry::Approval), (1, Inquiry::Repeat { earlier: "INV-2 is paid".into() })];
    let asking = calls.clone().ask_about(&inquiries, AT).unwrap();
    takes(&relay, &step, InputKind::ApprovalAsked { calls: asked }, asking.clone());
    let doubt = calls.clone().doubt(&[1], AT).unwrap();
    takes(&relay, &step, InputKind::ToolInDoubt { places: vec![1] }, doubt);
    let answered = asking.clone().answer(&relay, "c/1/1/0", Answer::Approve, AT).unwrap();
    let what =
        InputKind::HumanAnswered { id: "c/1/1/0".into(), answer: Answer::Approve, by: Some("Ada".into()) };
    takes(&relay, &asking, what, answered);
}

/// What tools say, and that none is left to say anything.
#[test]
fn outputs_of_tools() {
    let relay = house();
    let step = after(&relay, [payments()]);
    let Step::CallTools(calls) = &step else { panic!() };
    let output = ToolOutput::ok(r#""paid""#);
    let expected = calls.clone().complete(&relay, 1, output.clone(), AT).unwrap();
    takes(&relay, &step, InputKind::ToolCompleted { place: 1, output }, expected);
    let output = denied("pay", "not here");
    let expected = calls.clone().complete(&relay, 0, output.clone(), AT).unwrap();
    takes(&relay, &step, InputKind::ToolFailed { place: 0, output }, expected);

    let off = InputKind::ToolsSwitched { agent: name("a"), tool: tool_name("pay"), on: false };
    let switched = step.clone().switch_off(name("a"), tool_name("pay"));
    takes(&relay, &step, off, switched.clone());
    let on = InputKind::ToolsSwitched { agent: name("a"), tool: tool_name("pay"), on: true };
    takes(&relay, &switched, on, switched.clone().switch_on(&name("a"), &tool_name("pay")));
    let Step::CallTools(none) = &switched else { panic!() };
    let expected = none.clone().resume(&relay, Vec::new(), AT).unwrap();
    takes(&relay, &switched, InputKind::ToolsSkipped, expected);
}

/// A handoff that stands is committed, one that does not is ruled on again.
#[test]
fn handoffs() {
    let relay = house();
    let step = after(&relay, [hands_to("b")]);
    let Step::HandOff(handoff) = &step else { panic!() };
    let hop = Box::new(handoff.hop_at(AT));
    takes(&relay, &step, InputKind::HandoffCommitted { hop }, handoff.clone().take(&relay, AT));
    let off = step.clone().switch_off(name("b"), tool_name("look"));
    let Step::HandOff(handoff) = &off else { panic!() };
    takes(&relay, &off, InputKind::HandoffReconsidered, handoff.clone().take(&relay, AT));
}

/// What ends a run where it stands, begun or not, and what sets it going again.
#[test]
fn ends_and_beginnings() {
    let relay = house();
    let step = after(&relay, [payments()]);
    let cancelled = |begun| InputKind::Cancelled { reason: "changed my mind".into(), begun };
    let reason = "changed my mind";
    takes(&relay, &step, cancelled(true), Step::Done(step.clone().cancel(&relay, reason, AT)));
    takes(&relay, &step, cancelled(false), Step::Done(step.clone().cancel_unbegun(&relay, reason, AT)));
    assert_ne!(step.clone().cancel(&relay, reason, AT), step.clone().cancel_unbegun(&relay, reason, AT));

    takes(&relay, &step, InputKind::Deadline { begun: true }, step.clone().now(&relay, AT));
    let over = step.clone();
    assert_eq!(over.deadline(), Some(11_003));
    let late = |begun| Input { at: 11_003, ..at("c", InputKind::Deadline { begun }) };
    assert_eq!(over.clone().feed(&relay, &late(true)), Ok(over.clone().now(&relay, 11_003)));
    assert_eq!(over.clone().feed(&relay, &late(false)), Ok(over.clone().now_unbegun(&relay, 11_003)));

    let more = Budget::new(3).millis(7);
    takes(&relay, &step, InputKind::MoreGiven { budget: more }, step.clone().with_more(&relay, more, AT));
    let Step::Done(failed) = over.now(&relay, 11_003) else { panic!() };
    let expected = failed.clone().with_more(&relay, more).unwrap();
    takes(&relay, &Step::Done(failed.clone()), InputKind::MoreGiven { budget: more }, expected);
    let expected = failed.clone().retry(&relay).unwrap();
    takes(&relay, &Step::Done(failed), InputKind::Retried, expected);
}

/// What code puts into a run, and the joining of branches.
#[test]
fn artifacts_and_branches() {
    let relay = house();
    let step = after(&relay, []);
    let mut expected = step.clone();
    expected.put_artifact("prices", &[6000], AT).unwrap();
    let value = RawJson::parse("[6000]").unwrap();
    takes(&relay, &step, InputKind::ArtifactPut { name: "prices".into(), value }, expected);

    let relay = desk().build().unwrap();
    let model = script([("supervisor", calls(BOTH)), ("billing", says("Yes.")), ("shipping", says("Here."))]);
    let scribe = Scribe::new(&relay, &model).gets("c", spoken("hello"));
    let scribe = (0..3).fold(scribe, |scribe, _| scribe.does().0);
    let Step::Delegate(delegation) = scribe.step() else { panic!() };
    takes(&relay, scribe.step(), InputKind::Joined, delegation.clone().join(&relay, AT).unwrap());
}

/// What the step does not wait for is named with what it is there for, for each kind that only one kind of step takes.
#[test]
fn an_input_of_another_kind_does_not_fit() {
    let relay = house();
    let (asks, rests) = (after(&relay, []), after(&relay, [says("Six.")]));
    let output = ToolOutput::ok("1");
    let hop: Hop = match &after(&relay, [hands_to("b")]) {
        Step::HandOff(handoff) => handoff.hop().clone(),
        _ => panic!(),
    };
    let kinds = [
        InputKind::ApprovalAsked { calls: vec![AskedCall { place: 0, repeats: None }] },
        InputKind::ToolInDoubt { places: vec![0] },
        InputKind::ToolCompleted { place: 0, output },
        InputKind::ToolsSkipped,
        InputKind::Joined,
        InputKind::HandoffCommitted { hop: Box::new(hop) },
        InputKind::HandoffReconsidered,
        InputKind::Retried,
        InputKind::Opened { definition: relay.definition_id().into(), agent: name("a") },
    ];
    for what in kinds {
        let input = what.name();
        let why = Misfit::Kind { input, step: "ask a model" };
        misfits(
            &relay,
            &asks,
            &at("c", what),
            &why,
            &format!("{input} does not fit a step that is to ask a model"),
        );
    }
    let response = Box::new(reply::say("Six."));
    let why = Misfit::Kind { input: "model_responded", step: "rest" };
    let words = "model_responded does not fit a step that is to rest";
    misfits(&relay, &rests, &at("c", InputKind::ModelResponded { response }), &why, words);
    let why = Misfit::Kind { input: "retried", step: "rest" };
    misfits(
        &relay,
        &rests,
        &at("c", InputKind::Retried),
        &why,
        "retried does not fit a step that is to rest",
    );
}

/// What is of the right kind and does not fit all the same: another place, another handoff, another run, blank words, an
/// answer that cannot be taken, an artifact that cannot be put there, an output that is not what its record says.
#[test]
fn an_input_that_is_wrong_is_handed_back_with_the_reason() {
    let relay = house();
    let step = after(&relay, [payments()]);
    let output = || ToolOutput::ok("1");
    let place = |place| InputKind::ToolCompleted { place, output: output() };
    misfits(&relay, &step, &at("c", place(2)), &Misfit::Place(2), "no call waits at place 2");
    let asked = InputKind::ToolInDoubt { places: vec![7] };
    misfits(&relay, &step, &at("c", asked), &Misfit::Place(7), "no call waits at place 7");
    let kind = InputKind::ToolFailed { place: 0, output: output() };
    let why = Misfit::Outcome { input: "tool_failed", place: 0 };
    misfits(
        &relay,
        &step,
        &at("c", kind),
        &why,
        "the output at place 0 does not say of itself that it is tool_failed",
    );
    let output = ToolOutput::failed(&Failure::new("no_luck", "not today"));
    let kind = InputKind::ToolCompleted { place: 0, output };
    let why = Misfit::Outcome { input: "tool_completed", place: 0 };
    let words = "the output at place 0 does not say of itself that it is tool_completed";
    misfits(&relay, &step, &at("c", kind), &why, words);
    let why = Misfit::Kind { input: "tools_skipped", step: "run tools" };
    let words = "tools_skipped does not fit a step that is to run tools";
    misfits(&relay, &step, &at("c", InputKind::ToolsSkipped), &why, words);

    misfits(&relay, &step, &at("c", spoken(" \n")), &Misfit::Blank, "there are no words");
    misfits(&relay, &step, &at("d", place(0)), &Misfit::Path("d".into()), r#"no step is open at "d""#);

    let no = InputKind::HumanAnswered { id: "c/1/1/0".into(), answer: Answer::Approve, by: None };
    let rejected = Rejected::Unknown { id: "c/1/1/0".to_owned(), open: Vec::new() };
    let words = rejected.to_string();
    misfits(&relay, &step, &at("c", no), &Misfit::Rejected(rejected), &words);

    let value = RawJson::parse("1").unwrap();
    let put = InputKind::ArtifactPut { name: "user_words".into(), value };
    let (_, why) = step.clone().feed_or_keep(&relay, &at("c", put.clone())).unwrap_err();
    assert!(matches!(&why, Misfit::Artifact { name, .. } if **name == *"user_words"));
    misfits(&relay, &step, &at("c", put), &why, &why.to_string());

    let step = after(&relay, [hands_to("b")]);
    let words = "the handoff c/1/1/0 stands";
    misfits(
        &relay,
        &step,
        &at("c", InputKind::HandoffReconsidered),
        &Misfit::Standing("c/1/1/0".into()),
        words,
    );
    let Step::HandOff(handoff) = &step else { panic!() };
    let hop = Box::new(handoff.hop_at(AT));
    let off = step.clone().switch_off(name("b"), tool_name("look"));
    let why = Misfit::NotStanding("c/1/1/0".into());
    misfits(
        &relay,
        &off,
        &at("c", InputKind::HandoffCommitted { hop }),
        &why,
        "the handoff c/1/1/0 does not stand",
    );
}

/// What comes to a branch goes on there and nowhere else: nobody but its asker speaks in it or gives it more, its questions
/// are answered in it, and one that waits for branches of its own can be called off.
#[test]
fn an_input_comes_to_the_run_that_it_names() {
    let mid = Relay::builder()
        .agent(agent("mid"))
        .delegate("mid", sommelier_handoff::Delegate::new("ask_low", payer("low")))
        .entry("mid");
    let top = Relay::builder().agent(agent("top")).entry("top");
    let relay = top
        .delegate("top", sommelier_handoff::Delegate::team("ask_mid", mid.build().unwrap()))
        .delegate("top", sommelier_handoff::Delegate::new("ask_other", agent("other")))
        .build()
        .unwrap();
    let model = script([
        ("top", calls([("ask_mid", harness::question("?")), ("ask_other", harness::question("?"))])),
        ("mid", calls([("ask_low", harness::question("?"))])),
        ("low", calls([pays("INV-1")])),
    ]);
    let scribe = Scribe::new(&relay, &model).gets("c", spoken("hello"));
    let step = (0..4).fold(scribe, |scribe, _| scribe.does().0).step().clone();
    let (low, question) = ("c/1/1/0/1/1/0", "c/1/1/0/1/1/0/1/1/0");
    assert_eq!(&*step.questions()[0].1.id, question);
    let approved = || InputKind::HumanAnswered { id: question.into(), answer: Answer::Approve, by: None };
    for run in ["c", "c/1/1/0", "c/1/1/1"] {
        let why = match run {
            "c/1/1/1" => Misfit::Rejected(Rejected::Unknown { id: question.to_owned(), open: Vec::new() }),
            _ => Misfit::AskedIn { id: question.into(), run: low.into() },
        };
        misfits(&relay, &step, &at(run, approved()), &why, &why.to_string());
    }
    let answered = step.clone().feed(&relay, &at(low, approved())).unwrap();
    assert_eq!(answered, step.clone().answer(&relay, question, Answer::Approve, AT).unwrap());

    for what in [spoken("hello"), InputKind::MoreGiven { budget: Budget::new(1) }, InputKind::Retried] {
        let why = Misfit::OfBranch(what.name());
        misfits(&relay, &step, &at("c/1/1/1", what), &why, &why.to_string());
    }
    for path in ["c/1/1/2", "c/1/1", "c/1/1/0/1/1/1", "c/1/1/00"] {
        let reply = InputKind::ModelResponded { response: Box::new(reply::say("Six.")) };
        let words = format!("no step is open at {path:?}");
        misfits(&relay, &step, &at(path, reply), &Misfit::Path(path.into()), &words);
    }
    let reply = InputKind::ModelResponded { response: Box::new(reply::say("Six.")) };
    let other = step.clone().feed(&relay, &at("c/1/1/1", reply)).unwrap();
    let (Step::Delegate(before), Step::Delegate(after)) = (&step, &other) else { panic!() };
    assert_eq!(before.branches()[0], after.branches()[0]);
    assert_eq!(after.branches()[1].done().unwrap().answer().as_deref(), Some("Six."));

    let cancelled = InputKind::Cancelled { reason: "enough".into(), begun: true };
    let Step::Delegate(left) = step.feed(&relay, &at("c/1/1/0", cancelled)).unwrap() else { panic!() };
    let ends = left.branches().iter().map(|branch| branch.done().map(|done| done.end().to_string()));
    assert_eq!(ends.collect::<Vec<_>>(), [Some("cancelled: enough".to_owned()), None]);
}
