//! What an asker is told of a branch, beside its words: what stays done, and nothing of the inside.
#![expect(clippy::unwrap_used, reason = "a test may stop at what cannot be")]

mod harness;

use harness::{Down, Session, agent, calls, hands_to, payer, pays, relay, says, script, to};
use sommelier_handoff::{
    Agent, BuildError, DEPTH, Delegate, Done, HANDOFF_TO_SPECIALIST, PackagePolicy, Relay, Route, RunEnd,
    Step,
};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{ScriptedModel, Tool, script};

/// A booker whose one tool cannot be undone; it is approved by whoever drives.
fn booker() -> Agent {
    let book = |_: harness::Nothing, _: &CallContext<'_>| Ok::<_, Failure>("RSV-0001");
    Agent::new("booker", "You book.").tools([Tool::new("book", "Books.", book).needs_approval()])
}

fn desk(delegate: Delegate) -> Relay {
    Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", delegate)
        .entry("supervisor")
        .build()
        .unwrap()
}

const ASK: (&str, &str) = ("ask_booker", r#"{"question":"Book it."}"#);

fn books() -> ScriptedModel {
    script([
        ("supervisor", calls([ASK])),
        ("booker", calls([("book", "{}")])),
        ("supervisor", says("It is booked, and nobody said so.")),
    ])
}

/// A branch that ends without a word, and in which a tool ran that cannot be undone: the asker is told which, so that it
/// does not have it done a second time.
#[test]
fn what_stays_done_is_told_with_a_branch_that_failed() {
    let relay = desk(Delegate::new("ask_booker", booker()).max_model_calls(1));
    let model = books();
    let session =
        Session::new(&relay, &model).say("Book it.").approve("conv/1/1/0/1/1/0").ends(RunEnd::Answered);
    let told = concat!(
        r#"tu_1_0!{"status":"failed","finding":null,"reason":"budget_spent: 1 model call(s)","#,
        r#""steps_used":1,"effects":["book"]}"#
    );
    assert_eq!(session.results("supervisor", 0), [told]);
}

/// A branch that is called off while its tool runs: nobody knows whether the tool did anything, and that is told.
#[test]
fn what_may_have_been_done_is_told_as_not_known() {
    let book = |_: harness::Nothing, _: &CallContext<'_>| Ok::<_, Failure>("RSV-0001");
    let booker = Agent::new("booker", "").tools([Tool::new("book", "Books.", book).needs_approval()]);
    let relay = desk(Delegate::new("ask_booker", booker));
    let model = books();
    let mut step = relay.start("conv", "Book it.").unwrap();
    while !matches!(step.open()[..], [Step::CallTools(_)]) {
        let path = step.open()[0].run().conversation().to_owned();
        step = step
            .go_on_at(&relay, &path, |relay, step| match step {
                Step::CallModel(call) => {
                    let response = sommelier_runtime::Model::complete(&model, call.request(relay));
                    call.resume(relay, response, 0)
                }
                step => panic!("no model is asked: {step:?}"),
            })
            .unwrap();
    }
    let done: Done = step.cancel(&relay, "the house is on fire", 1);
    let result = done.run().links()[0].result().unwrap();
    assert_eq!(
        (result.reason.as_deref(), &*result.effects[0]),
        (Some("cancelled: the house is on fire"), "book (not known)")
    );
}

/// An agent that waits for a handoff to come back when its branch fails: what ran before is told, also what ran in the reply
/// that hands over, whose results are no message yet.
#[test]
fn what_an_agent_did_that_waits_is_told() {
    let team = || {
        let relay = Relay::builder().agent(payer("x")).agent(agent("y")).entry("x");
        Delegate::team("ask_booker", relay.route_with(Route::new("x", "y").returns()).build().unwrap())
    };
    let relay = desk(team().max_model_calls(10));
    let hands = (HANDOFF_TO_SPECIALIST, to("y", "Go on."));
    for turns in [vec![calls([pays("INV-1")]), hands_to("y")], vec![calls([pays("INV-1"), hands])]] {
        let steps = turns.len();
        let turns = turns.into_iter().map(|turn| ("x", turn));
        let asker = [("supervisor", calls([ASK])), ("supervisor", says("It is paid, and nobody said so."))];
        let model = script(turns.chain(asker));
        let model = Down { model: &model, agents: &["y"] };
        let session = Session::with(&relay, &model).say("Pay it.");
        let gate = session.open().remove(0);
        let session = session.approve(&gate).ends(RunEnd::Answered);
        let told = format!(
            r#"tu_1_0!{{"status":"failed","finding":null,"reason":"failed: unreachable","steps_used":{steps},"effects":["pay"]}}"#
        );
        assert_eq!(session.results("supervisor", 0), [told]);
    }
}

/// Why a branch failed is told by its kind: no name of an agent that the asker does not know, no word of a service.
#[test]
fn nothing_of_the_inside_is_told() {
    let team = relay("alpha -> beta, beta -> alpha");
    let loops = desk(Delegate::team("ask_booker", team).max_model_calls(9));
    let model = script([
        ("supervisor", calls([ASK])),
        ("alpha", hands_to("beta")),
        ("beta", hands_to("alpha")),
        ("alpha", hands_to("beta")),
        ("supervisor", says("So.")),
    ]);
    let session = Session::new(&loops, &model).say("hello").ends(RunEnd::Answered);
    let told = r#"tu_1_0!{"status":"failed","finding":null,"reason":"handoff_refused: pair","steps_used":3}"#;
    assert_eq!(session.results("supervisor", 0), [told]);
    let inside = session.run().links()[0].run().unwrap().end().to_string();
    assert!(inside.contains("alpha has already handed the turn to beta"), "the record has it: {inside}");
}

/// A finding is a model's text: characters that turn or hide the text around them stand as their codes.
#[test]
fn a_finding_shows_what_a_reader_would_not_see() {
    let relay = desk(Delegate::new("ask_booker", booker()));
    let model = script([
        ("supervisor", calls([ASK])),
        ("booker", Box::new(|_| script::say("Paid\u{202e}on\u{e0041}"))),
        ("supervisor", says("So.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let finding = session.run().links()[0].result().unwrap().finding.clone();
    assert_eq!(finding.as_deref(), Some("Paid<U+202E>on<U+E0041>"));
}

/// A driver that tries a failed branch again would give it model calls that the tree does not have: it does not come back
/// in. Neither does a run of another definition under the branch's name.
#[test]
fn a_branch_comes_back_as_it_went_out() {
    let relay = desk(Delegate::new("ask_booker", booker()));
    let model = books();
    let Ok(Step::CallModel(call)) = relay.start("conv", "Book it.") else { panic!("the model is asked") };
    let response = sommelier_runtime::Model::complete(&model, call.request(&relay));
    let Step::Delegate(delegation) = call.resume(&relay, response, 0) else { panic!("a delegate is asked") };
    let (joint, mut branches) = delegation.split();
    let branch = branches.pop().unwrap();
    let inside = branch.relay(&relay).unwrap();
    let heard = branch
        .clone()
        .try_map(|step| {
            let done = step.cancel(inside, "no", 0);
            Ok::<_, ()>(done.hear(inside, sommelier_protocol::Words::new("And now?").unwrap()))
        })
        .unwrap();
    assert!(joint.clone().put_back(vec![heard]).is_err(), "a branch hears nobody else");
    let foreign = harness::pair().start("conv/1/1/0", "hello").unwrap();
    let other = branch.clone().try_map(|_| Ok::<_, ()>(foreign)).unwrap();
    assert!(joint.clone().put_back(vec![other]).is_err(), "another run is no branch");
    assert!(joint.put_back(vec![branch]).is_ok());
}

/// However deep a relay would allow it: a deeper tree could be saved and not be loaded.
#[test]
fn there_is_a_depth_that_nobody_can_go_beyond() {
    let level = |inner: Relay| {
        Relay::builder()
            .agent(agent("a"))
            .delegate("a", Delegate::team("ask", inner))
            .entry("a")
            .max_depth(u32::MAX)
            .build()
    };
    let flat = Relay::builder().agent(agent("a")).entry("a").build().unwrap();
    let deepest = (0..DEPTH).fold(flat, |inner, _| level(inner).unwrap());
    assert_eq!(level(deepest).unwrap_err().0, [BuildError::TooDeep { depth: DEPTH + 1, most: DEPTH }]);
}

/// A question may be longer than a task: it may be somebody's own words, or what another has found.
#[test]
fn a_question_may_be_longer_than_a_task() {
    let (task, question) = (PackagePolicy::minimal(), PackagePolicy::question());
    assert_eq!((task.task_bytes, question.task_bytes), (500, 4096));
    let relay = desk(Delegate::new("ask_booker", booker()));
    let long = format!(r#"{{"question":"{}"}}"#, "word ".repeat(800));
    let model = script([
        ("supervisor", calls([("ask_booker", long)])),
        ("booker", says("Read.")),
        ("supervisor", says("So.")),
    ]);
    Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
}
