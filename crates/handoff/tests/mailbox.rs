//! The user speaks at any moment: words that come while a step is out are kept, and read once, by whoever has the turn at
//! the next model call.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{
    BOTH, Down, Session, Turn, agent, calls, desk, hands, hands_to, looks, payer, pays, question, relay,
    says, script, story, team, to,
};
use sommelier_handoff::{
    ASK_HUMAN, Answer, Delegate, EntryPolicy, Guard, Guards, HANDOFF_TO_SPECIALIST, Measure, OnRefusal,
    Relay, Route, RunEnd, Step,
};
use sommelier_protocol::{ContentBlock, StopReason, Words};
use sommelier_runtime::{ModelError, script as model};

fn words(text: &str) -> Words {
    Words::new(text).unwrap()
}

/// The user says something at the first step that `here` picks, and only there.
fn heard<'a>(
    relay: &'a Relay,
    mut here: impl FnMut(&Step) -> bool + 'a,
    said: &'a [&'a str],
) -> impl FnMut(Step) -> Step + 'a {
    let mut is_said = false;
    move |step| {
        if is_said || !here(&step) {
            return step;
        }
        is_said = true;
        let heard = said.iter().fold(step, |step, text| step.hear(relay, words(text)));
        let unread: Vec<&str> = heard.run().unread().iter().map(|text| &**text).collect();
        assert_eq!(unread, said);
        heard
    }
}

fn is_model(step: &Step) -> bool {
    matches!(step, Step::CallModel(_))
}

fn is_tools(step: &Step) -> bool {
    matches!(step, Step::CallTools(_))
}

/// The lines of a conversation, without those of a package's fence.
fn lines(session: &Session<'_>, agent: &str) -> Vec<String> {
    session.story(agent).lines().map(str::to_owned).collect()
}

/// C16: what the user says while two tools run stands after both of their results, in one message, and once.
#[test]
fn words_during_tools_stand_after_all_results() {
    let relay = relay("a -> b");
    let both = calls([("look", r#"{"word":"t1"}"#), ("look", r#"{"word":"t2"}"#)]);
    let model = script([("a", both), ("a", says("Both."))]);
    let session = Session::new(&relay, &model).at_each_step(heard(&relay, is_tools, &["Quick, please."]));
    let session = session.say("hello").ends(RunEnd::Answered);
    assert_eq!(
        lines(&session, "a"),
        [
            "user: hello",
            r#"assistant: look#tu_1_0{"word":"t1"} | look#tu_1_1{"word":"t2"}"#,
            r#"user: tu_1_0="t1" | tu_1_1="t2" | Quick, please."#,
            "assistant: Both.",
        ]
    );
    assert_eq!((session.run().messages(), session.run().unread()), (2, &[][..]));
}

/// Several messages are read in order, in the same request.
#[test]
fn several_messages_are_read_in_order() {
    let relay = relay("a -> b");
    let model = script([("a", looks("tea")), ("a", says("Yes."))]);
    let said = ["One.", "Two.", "Three."];
    let session = Session::new(&relay, &model).at_each_step(heard(&relay, is_tools, &said));
    let session = session.say("hello").ends(RunEnd::Answered);
    assert_eq!(lines(&session, "a")[2], r#"user: tu_1_0="tea" | One. | Two. | Three."#);
    assert_eq!((session.order(), session.run().messages()), ("a a".to_owned(), 4));
}

/// C97: words that come while a handoff is out are the receiver's: after the package, once. The sender has not read them.
#[test]
fn words_during_a_handoff_reach_the_receiver_after_the_package() {
    let relay = relay("a -> b");
    let model = script([("a", hands_to("b")), ("b", looks("tea")), ("b", says("Yes."))]);
    let is_handoff = |step: &Step| matches!(step, Step::HandOff(_));
    let session = Session::new(&relay, &model).at_each_step(heard(&relay, is_handoff, &["Quick, please."]));
    let session = session.say("hello").ends(RunEnd::Answered);
    let first = &session.request("b", 0).messages;
    assert_eq!(first.len(), 1);
    let texts: Vec<&str> = first[0].texts().collect();
    assert!(texts[0].ends_with("</handoff_package>"), "{texts:?}");
    assert_eq!(texts[1..], ["Quick, please."]);
    assert_eq!(session.story("b").matches("Quick").count(), 1);
    assert_eq!(session.story("a").matches("Quick").count(), 0);
}

/// Words that come while the model is asked: when its reply asks for tools, they stand after the results; when it is an
/// answer, the run goes on with them instead of ending.
#[test]
fn words_while_the_model_is_asked_are_read_after_its_reply() {
    let relay = relay("a -> b");
    let model = script([("a", looks("tea")), ("a", says("Tea."))]);
    let session = Session::new(&relay, &model).at_each_step(heard(&relay, is_model, &["Quick, please."]));
    let session = session.say("hello").ends(RunEnd::Answered);
    assert_eq!(session.request("a", 0).messages.len(), 1);
    assert_eq!(lines(&session, "a")[2], r#"user: tu_1_0="tea" | Quick, please."#);

    let model = script([("a", says("Tea.")), ("a", says("Coffee."))]);
    let session = Session::new(&relay, &model).at_each_step(heard(&relay, is_model, &["No, coffee."]));
    let session = session.say("Tea?").ends(RunEnd::Answered);
    let expected = ["user: Tea?", "assistant: Tea.", "user: No, coffee.", "assistant: Coffee."];
    assert_eq!(lines(&session, "a"), expected);
    // Of two that wait, both are read.
    let model = script([("a", says("Tea.")), ("a", says("Both."))]);
    let session =
        Session::new(&relay, &model).at_each_step(heard(&relay, is_model, &["Coffee.", "And tea."]));
    let session = session.say("Tea?").ends(RunEnd::Answered);
    assert_eq!(lines(&session, "a")[2..], ["user: Coffee. | And tea.", "assistant: Both."]);
}

/// Words that come where the service has paused in the middle of a reply leave a conversation that is legal.
#[test]
fn words_at_a_pause_of_the_service_are_read() {
    let relay = relay("a -> b");
    let pause: Turn = Box::new(|_| model::reply(vec![ContentBlock::text("Let me")], StopReason::PauseTurn));
    let model = script([("a", pause), ("a", says("Tea."))]);
    let session = Session::new(&relay, &model).at_each_step(heard(&relay, is_model, &["Quick, please."]));
    let session = session.say("Tea?").ends(RunEnd::Answered);
    let expected = ["user: Tea?", "assistant: Let me", "user: Go on. | Quick, please.", "assistant: Tea."];
    assert_eq!(lines(&session, "a"), expected);
}

/// While a person is asked, the user may speak: the words are read with the answer, and do not answer.
#[test]
fn words_while_a_person_is_asked_are_no_answer() {
    let relay = Relay::builder().agent(payer("a")).entry("a").may_ask_human("a").build().unwrap();
    let model = script([
        ("a", calls([pays("INV-1"), (ASK_HUMAN, r#"{"question":"For whom?"}"#.to_owned())])),
        ("a", says("Paid.")),
    ]);
    let session = Session::new(&relay, &model).say("Pay.").say("approve");
    assert_eq!(session.open(), ["conv/1/1/0"]);
    let session = session.reject("conv/1/1/0", "no").say("For Ada?");
    assert_eq!(session.open(), ["conv/1/1/1"]);
    let session = session.answer("conv/1/1/1", Answer::Say { text: "Bob".into() }).ends(RunEnd::Answered);
    let last = &lines(&session, "a")[2];
    assert!(last.ends_with(r#" | tu_1_1={"answer":"Bob"} | approve | For Ada?"#), "{last}");
    assert_eq!(session.ran.len(), 0);
}

/// Branches do not hear the user: the words wait for the agent that asked, and stand after the findings. Nor does a
/// branch of a branch.
#[test]
fn branches_do_not_hear_the_user() {
    let inner = team("clerk -> expert").delegate("clerk", Delegate::new("ask_leaf", agent("leaf")));
    let relay = desk()
        .delegate("supervisor", Delegate::team("ask_team", inner.build().unwrap()).max_model_calls(9))
        .build()
        .unwrap();
    let model = script([
        ("supervisor", calls([BOTH[0], ("ask_team", r#"{"question":"Well?"}"#)])),
        ("billing", looks("INV-311")),
        ("billing", says("Twice.")),
        ("clerk", calls([("ask_leaf", question("Leaf?"))])),
        ("leaf", says("Leaf.")),
        ("clerk", hands_to("expert")),
        ("expert", says("Well.")),
        ("supervisor", says("Both.")),
    ]);
    let is_deep =
        |step: &Step| step.open().iter().any(|open| open.run().conversation() == "conv/1/1/1/1/1/0");
    let session = Session::new(&relay, &model).at_each_step(heard(&relay, is_deep, &["Quick, please."]));
    let session = session.say("INV-311?").ends(RunEnd::Answered);
    let read: Vec<&str> = session
        .asked
        .iter()
        .filter(|asked| asked.json.contains("Quick"))
        .map(|asked| asked.agent.as_str())
        .collect();
    assert_eq!(read, ["supervisor"]);
    let told = &lines(&session, "supervisor")[2];
    assert!(told.ends_with(r#""finding":"Well.","steps_used":4} | Quick, please."#), "{told}");
}

/// A run that would end with a refusal and has words unread goes on with them, and the hops count anew: what the cap
/// refused before may be taken now.
#[test]
fn hops_count_anew_when_the_words_are_read() {
    let relay = team("a -> b, b -> c").guards(Guards::default().max_handoffs(1)).build().unwrap();
    let model = script([
        ("a", hands_to("b")),
        ("b", hands_to("c")),
        ("b", hands(to("c", "Go on, then."))),
        ("c", says("Here.")),
    ]);
    let is_b = |step: &Step| is_model(step) && step.run().active().as_str() == "b";
    let session = Session::new(&relay, &model).at_each_step(heard(&relay, is_b, &["Please do."]));
    let session = session.say("hello").ends(RunEnd::Answered);
    assert_eq!(session.trail(), ["a -> b: taken 1", "b -> c: handoff_limit_exceeded", "b -> c: taken 2"]);
    assert_eq!(session.run().trail().count_since_user(), 1);
    assert_eq!(session.done().answer().as_deref(), Some("Here."));
}

/// The budget begins anew with the words: a run whose calls were used up goes on when the user has spoken meanwhile.
#[test]
fn the_budget_begins_anew_when_the_words_are_read() {
    let relay = team("a -> b").max_model_calls(2).build().unwrap();
    let turns = || [("a", looks("1")), ("a", looks("2")), ("a", looks("3")), ("a", says("3."))];
    let model = script(turns());
    let session = Session::new(&relay, &model).say("hello");
    let spent = RunEnd::BudgetSpent { measure: Measure::ModelCalls, most: 2 };
    drop(session.ends_leaving(spent, &[("a", 3), ("a", 4)]));

    let model = script(turns());
    let is_second = |step: &Step| is_tools(step) && step.run().model_calls() == 2;
    let session = Session::new(&relay, &model).at_each_step(heard(&relay, is_second, &["Go on."]));
    let session = session.say("hello").ends(RunEnd::Answered);
    assert_eq!((session.run().model_calls(), session.run().model_calls_left()), (4, 0));
}

/// A run that failed keeps what it was told: it is read when it is tried again. So does one that was called off, or taken
/// over by a person, where the user speaks again: first come, first read.
#[test]
fn a_run_that_does_not_go_on_keeps_the_words() {
    let relay = team("a -> b").build().unwrap();
    let fresh = script([("a", says("Here."))]);
    let down = Down { model: &fresh, agents: &["a"] };
    let session = Session::with(&relay, &down).at_each_step(heard(&relay, is_model, &["Hello?"]));
    let session = session.say("hello");
    let error = ModelError::Unreachable { detail: "no route to host".to_owned() };
    assert_eq!(session.done().end(), &RunEnd::Failed { error });
    assert_eq!(session.run().unread(), [Box::from("Hello?")]);
    let failed = Step::Done(session.into_done());
    let Step::Done(failed) = relay.load(&failed.save().unwrap()).unwrap() else { panic!("done") };
    let session = Session::new(&relay, &fresh).drive(failed.retry(&relay).unwrap());
    assert_eq!(lines(&session, "a"), ["user: hello | Hello?", "assistant: Here."]);

    let model = script([("a", says("Here."))]);
    let step = relay.start("conv", "hello").unwrap().hear(&relay, words("One."));
    let done = step.cancel(&relay, "the line is gone", 7);
    assert_eq!(done.run().unread(), [Box::from("One.")]);
    let session = Session::new(&relay, &model).drive(done.hear(&relay, words("Two.")));
    assert_eq!(lines(&session, "a"), ["user: hello | One. | Two.", "assistant: Here."]);

    let guards = Guards::default().max_handoffs(0).on_refusal(Guard::Cap, OnRefusal::Escalate);
    let relay = team("a -> b").guards(guards).build().unwrap();
    let model = script([("a", hands_to("b")), ("a", says("Here."))]);
    let session = Session::new(&relay, &model).say("hello").say("One.");
    let over = Answer::TakeOver { note: "Ann".into() };
    let session = session.answer("conv/1/1/0/escalation", over);
    assert_eq!(session.run().unread(), [Box::from("One.")]);
    let session = session.say("Two.").ends(RunEnd::Answered);
    let [.., heard, said] = &lines(&session, "a")[..] else { panic!("two lines") };
    assert!(heard.ends_with("| One. | Two."), "{heard}");
    assert_eq!(said, "assistant: Here.");
}

/// C62: after a hop, what the user says goes to the specialist, at work or at rest. The first agent is not asked again.
#[test]
fn follow_up_words_go_to_the_specialist() {
    let relay = relay("a -> b");
    let model =
        script([("a", hands_to("b")), ("b", looks("tea")), ("b", says("Tea.")), ("b", says("Coffee."))]);
    let session = Session::new(&relay, &model).at_each_step(heard(&relay, is_tools, &["Quick, please."]));
    let session = session.say("hello").say("And coffee?").ends(RunEnd::Answered);
    assert_eq!(session.order(), "a b b b");
    let b = session.story("b");
    assert!(b.ends_with(
        "user: tu_1_0=\"tea\" | Quick, please.\nassistant: Tea.\nuser: And coffee?\nassistant: Coffee."
    ));
}

/// Where the entry hears every message, it hears those that come after the end. What comes while somebody is at work is
/// for whoever is.
#[test]
fn the_entry_hears_what_comes_after_the_end() {
    let relay = team("a -> b").entry_policy(EntryPolicy::Entry).build().unwrap();
    let model = script([
        ("a", hands_to("b")),
        ("b", looks("tea")),
        ("b", says("Tea.")),
        ("a", says("Coffee.")),
        ("a", says("Milk.")),
    ]);
    let mut said = ["At work.", "At the end."].into_iter();
    let session = Session::new(&relay, &model).at_each_step(|step| {
        let is_here = step.run().active().as_str() == "b"
            && (is_tools(&step) || is_model(&step) && step.run().model_calls() == 2);
        match is_here.then(|| said.next()).flatten() {
            Some(text) => step.hear(&relay, words(text)),
            None => step,
        }
    });
    let session = session.say("hello").say("Milk?").ends(RunEnd::Answered);
    assert_eq!(session.order(), "a b b a a");
    assert_eq!(session.story("b").matches("At work.").count(), 1);
    let result = r#"user: tu_1_0={"status":"handed_over","to":"b"} | At the end."#;
    assert_eq!(lines(&session, "a")[2..], [result, "assistant: Coffee.", "user: Milk?", "assistant: Milk."]);
}

/// Where a route takes the user's words along, they are the last ones that a model has read.
#[test]
fn a_route_takes_the_words_that_were_read_last() {
    let relay = Relay::builder()
        .agent(agent("a"))
        .agent(agent("b"))
        .entry("a")
        .route_with(Route::new("a", "b").with_user_words())
        .build()
        .unwrap();
    let model = script([
        ("a", looks("tea")),
        ("a", calls([(HANDOFF_TO_SPECIALIST, to("b", "Go on."))])),
        ("b", says("Yes.")),
    ]);
    let session = Session::new(&relay, &model).at_each_step(heard(&relay, is_tools, &["No, coffee."]));
    let session = session.say("Tea?").ends(RunEnd::Answered);
    let hop = session.run().trail().taken().next().unwrap();
    let package = hop.package.as_ref().unwrap().to_json();
    assert_eq!(package, r#"{"task":"Go on.","context":{},"artifacts":{"user_words":"No, coffee."}}"#);
}

/// Words that are unread are part of the saved step, and of one that gave its memory back.
#[test]
fn unread_words_are_saved() {
    let relay = relay("a -> b");
    let step = relay.start("conv", "hello").unwrap().hear(&relay, words("One.")).hear(&relay, words("Two."));
    let mut shrunk = relay.load(&step.save().unwrap()).unwrap();
    assert_eq!(shrunk, step);
    shrunk.shrink();
    assert_eq!((&shrunk, shrunk.run().unread()), (&step, &[Box::from("One."), Box::from("Two.")][..]));
    let Step::CallModel(call) = &shrunk else { panic!("the model is asked first") };
    assert_eq!(story(&call.request(&relay).messages), "user: hello");
    assert_eq!(shrunk.run().messages(), 1);
}

/// The next number of a simple generator, which gives the same ones for the same seed.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*state >> 40).unwrap_or_default()
}

/// C164: a thousand orders in which branches of branches end, while the user speaks at some moment: whichever ends last,
/// wakes its asker. The next request of each that asked has every finding once, in the order of the calls, and the user's
/// words are read once, by the agent that has the turn.
#[test]
fn no_finding_and_no_word_is_lost_in_any_order() {
    let mid = |name: &str| {
        Relay::builder()
            .agent(agent(name))
            .delegate(name, Delegate::new("ask_left", agent("left")))
            .delegate(name, Delegate::new("ask_right", agent("right")))
            .entry(name)
            .build()
            .unwrap()
    };
    let relay = Relay::builder()
        .agent(agent("top"))
        .delegate("top", Delegate::team("ask_one", mid("one")).max_model_calls(9))
        .delegate("top", Delegate::team("ask_two", mid("two")).max_model_calls(9))
        .entry("top")
        .build()
        .unwrap();
    let asks = |tools: [&'static str; 2]| calls(tools.map(|tool| (tool, question("Well?"))));
    let model = script([
        ("top", asks(["ask_one", "ask_two"])),
        ("one", asks(["ask_left", "ask_right"])),
        ("two", asks(["ask_right", "ask_left"])),
        ("left", looks("tea")),
        ("left", says("LEFT")),
        ("right", says("RIGHT")),
        ("one", says("ONE")),
        ("two", says("TWO")),
        ("top", says("TOP")),
    ]);
    let finding = |n: usize, words: &str, steps: u32| {
        format!(r#"tu_1_{n}={{"status":"done","finding":"{words}","steps_used":{steps}}}"#)
    };
    let mut orders = std::collections::BTreeSet::new();
    for seed in 0..1_000 {
        let (mut branch, mut moment) = (seed, seed ^ 0x5eed);
        let mut steps = next(&mut moment) % 14;
        let session = Session::new(&relay, &model).unsaved().pick(|open| next(&mut branch) % open);
        let session = session.at_each_step(|step| {
            let is_here = steps == 0;
            steps = steps.wrapping_sub(1);
            if is_here { step.hear(&relay, words("Quick, please.")) } else { step }
        });
        let session = session.say("hello").ends(RunEnd::Answered);
        let last = |agent: &str| {
            let asked = session.asked.iter().filter(|asked| asked.agent == agent).nth(1).unwrap();
            story(&asked.messages).lines().last().unwrap().to_owned()
        };
        let expected = format!("user: {} | {}", finding(0, "LEFT", 2), finding(1, "RIGHT", 1));
        assert_eq!(last("one"), expected, "seed {seed}");
        let expected = format!("user: {} | {}", finding(0, "RIGHT", 1), finding(1, "LEFT", 2));
        assert_eq!(last("two"), expected, "seed {seed}");
        let expected = format!("user: {} | {}", finding(0, "ONE", 5), finding(1, "TWO", 5));
        assert!(last("top").starts_with(&expected), "seed {seed}: {}", last("top"));
        let read = session.story("top").matches("Quick").count();
        assert_eq!((read, session.run().unread(), session.run().messages()), (1, &[][..], 2), "seed {seed}");
        orders.insert(session.order());
    }
    assert!(orders.len() > 300, "{} orders", orders.len());
}
