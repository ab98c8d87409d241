//! A person is asked: by an agent, in its own words, or by a guard that has refused a handoff.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{
    Nothing, Session, agent, calls, hands, hands_to, looks, name, names, pair_with, payer, pays, question,
    relay, says, script, to, tool_name,
};
use sommelier_handoff::{
    ASK_HUMAN, Answer, Asks, BuildError, Decision, Delegate, Guard, Guards, HANDOFF_TO_SPECIALIST, LoadError,
    OnRefusal, Question, Refusal, Rejected, Relay, RelayBuilder, Route, RunEnd, Step,
};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Model, Tool};

fn clerk() -> Relay {
    Relay::builder().agent(payer("clerk")).entry("clerk").may_ask_human("clerk").build().unwrap()
}

fn say(text: &str) -> Answer {
    Answer::Say { text: text.into() }
}

/// A question of an agent's own.
fn asks(id: &str, at: u64, call_id: &str, question: &str, choices: &[&str]) -> Question {
    let choices = choices.iter().map(|choice| (*choice).into()).collect();
    let asks = Asks::Words { call_id: call_id.into(), question: question.into(), choices };
    Question { id: id.into(), from: name("clerk"), at, asks }
}

fn no_choice(id: &str, answer: &str, choices: &[&str]) -> Rejected {
    let choices = choices.iter().map(ToString::to_string).collect();
    Rejected::NoChoice { id: id.to_owned(), answer: answer.to_owned(), choices }
}

/// C47, S1-33: until a person has answered, no model is called and nothing runs. Then the answer is the call's result, in
/// the person's words.
#[test]
fn an_agent_asks_a_person_and_waits() {
    let relay = clerk();
    let model = script([
        ("clerk", calls([(ASK_HUMAN, r#"{"question":"Which \"room\"?"}"#)])),
        ("clerk", says("Focus, then.")),
    ]);
    let session = Session::new(&relay, &model).say("Book a room.");
    let asked = asks("conv/1/1/0", 1001, "tu_1_0", "Which \"room\"?", &[]);
    assert_eq!(session.questions(), [("conv".to_owned(), asked.clone())]);
    assert_eq!((session.order(), session.ran.len()), ("clerk".to_owned(), 0));
    let words = "the \"small\" one\nwith a window";
    let session = session.answer("conv/1/1/0", say(words)).ends(RunEnd::Answered);
    assert_eq!(session.order(), "clerk clerk");
    assert_eq!(session.results("clerk", 0), [r#"tu_1_0={"answer":"the \"small\" one\nwith a window"}"#]);
    assert_eq!(session.run().decisions(), [Decision { question: asked, answer: say(words), at: 1002 }]);
    assert_eq!(session.run().tool_calls(), 0);
}

/// Of an answer in words it is asked that there are any, and, where there are choices, that it is one of them.
#[test]
fn an_answer_in_words_is_one_of_the_choices() {
    let relay = clerk();
    let both = calls([
        (ASK_HUMAN, r#"{"question":"Red or white?","choices":["red","white"]}"#),
        (ASK_HUMAN, r#"{"question":"For whom?","choices":[]}"#),
    ]);
    let model = script([("clerk", both), ("clerk", says("Red, for Ada."))]);
    let session = Session::new(&relay, &model).say("Wine.");
    let (wine, guest) = ("conv/1/1/0", "conv/1/1/1");
    let asked = [
        asks(wine, 1001, "tu_1_0", "Red or white?", &["red", "white"]),
        asks(guest, 1001, "tu_1_1", "For whom?", &[]),
    ];
    assert_eq!(session.questions(), asked.map(|asked| ("conv".to_owned(), asked)));
    for wrong in ["rosé", "Red", " red", "", " "] {
        assert_eq!(session.rejected(wine, say(wrong)), no_choice(wine, wrong, &["red", "white"]));
    }
    assert_eq!(session.rejected(guest, say(" \n")), no_choice(guest, " \n", &[]));
    assert_eq!(session.rejected(guest, Answer::Approve), no_choice(guest, "approve", &["say"]));
    let told = session.rejected(wine, say("rosé")).to_string();
    assert_eq!(told, r#""rosé" is no answer to conv/1/1/0; possible: red, white"#);
    // In any order; the run goes on with the last of them.
    let session = session.answer(guest, say("Ada"));
    assert_eq!((session.open(), session.order()), (vec![wine.to_owned()], "clerk".to_owned()));
    let session = session.answer(wine, say("red")).ends(RunEnd::Answered);
    assert_eq!(session.results("clerk", 0), [r#"tu_1_0={"answer":"red"}"#, r#"tu_1_1={"answer":"Ada"}"#]);
}

/// A question that cannot be read is nobody's to answer: the model is told what is wrong with it, and goes on.
#[test]
fn a_question_that_is_wrong_is_told_and_not_asked() {
    let wrong = |detail: &str| {
        let detail = format!("the question is not valid: {detail}");
        format!(
            r#"tu_1_0!{{"error":"invalid_question","detail":{}}}"#,
            serde_json::to_string(&detail).unwrap()
        )
    };
    let cases = [
        ("{}", wrong("`question` is missing")),
        (r#"{"question":" "}"#, wrong("`question` is blank")),
        (r#"{"question":7}"#, wrong("`question` is a number, must be a string")),
        (r#"{"question":"Who?","choices":[1]}"#, wrong("`choices.0` is a number, must be a string")),
        (r#"{"question":"Who?","to":"Ann"}"#, wrong("`to` is no argument; legal: question, choices")),
        (r#"{"question":"Who?","question":"Whom?"}"#, wrong("`question` stands twice")),
        (r#"["Who?"]"#, wrong(r#"no JSON: the arguments must be one JSON object; it begins "[\"Who?\"]""#)),
    ];
    let relay = clerk();
    for (arguments, told) in cases {
        let model = script([("clerk", calls([(ASK_HUMAN, arguments)])), ("clerk", says("Never mind."))]);
        let session = Session::new(&relay, &model).say("Book.").ends(RunEnd::Answered);
        assert_eq!(session.results("clerk", 0), [told], "{arguments}");
        assert_eq!(session.run().decisions(), []);
    }
    // Beside a good one, which waits.
    let both = calls([(ASK_HUMAN, "{}"), (ASK_HUMAN, r#"{"question":"Who?"}"#)]);
    let model = script([("clerk", both), ("clerk", says("Ada."))]);
    let session = Session::new(&relay, &model).say("Book.");
    assert_eq!(session.open(), ["conv/1/1/1"]);
    let session = session.answer("conv/1/1/1", say("Ada")).ends(RunEnd::Answered);
    assert_eq!(
        session.results("clerk", 0),
        [wrong("`question` is missing"), r#"tu_1_1={"answer":"Ada"}"#.into()]
    );
}

/// The parts of one reply have an order, whichever they stand in: own tools, those that need approval after it; then what
/// a person is asked; then delegates; then one handoff.
#[test]
fn own_tools_then_people_then_delegates_then_one_handoff() {
    let relay = Relay::builder()
        .agent(payer("clerk"))
        .agent(agent("policy"))
        .delegate("clerk", Delegate::new("ask_billing", agent("billing")))
        .route("clerk", "policy")
        .may_ask_human("clerk")
        .entry("clerk")
        .build()
        .unwrap();
    let reply = calls([
        (HANDOFF_TO_SPECIALIST, to("policy", "Go on.")),
        ("ask_billing", question("Was INV-1 paid?")),
        (ASK_HUMAN, r#"{"question":"For whom?"}"#.to_owned()),
        pays("INV-1"),
        ("look", r#"{"word":"tea"}"#.to_owned()),
    ]);
    let model = script([("clerk", reply), ("billing", says("Once.")), ("policy", says("Well."))]);
    let session = Session::new(&relay, &model).say("All of it.");
    assert_eq!((session.open(), session.ran.len()), (vec!["conv/1/1/3".to_owned()], 0));
    let session = session.approve("conv/1/1/3");
    let ran: Vec<&str> = session.ran.iter().map(|(tool, _)| &**tool).collect();
    assert_eq!(
        (ran, session.open(), session.order()),
        (vec!["pay", "look"], vec!["conv/1/1/2".to_owned()], "clerk".to_owned())
    );
    let session = session.answer("conv/1/1/2", say("Ada")).ends(RunEnd::Answered);
    assert_eq!(session.order(), "clerk billing policy");
    assert_eq!(session.trail(), ["clerk -> policy: taken 1"]);
    assert_eq!(
        session.results("clerk", 0),
        [
            r#"tu_1_0={"status":"handed_over","to":"policy"}"#,
            r#"tu_1_1={"status":"done","finding":"Once.","steps_used":1}"#,
            r#"tu_1_2={"answer":"Ada"}"#,
            r#"tu_1_3="INV-1 is paid""#,
            r#"tu_1_4="tea""#,
        ]
    );
}

/// A delegate asks a person too, from its branch, while another branch comes to its end.
#[test]
fn a_delegate_asks_a_person_from_its_branch() {
    let team = Relay::builder().agent(agent("billing")).entry("billing").may_ask_human("billing");
    let relay = Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", Delegate::team("ask_billing", team.build().unwrap()))
        .delegate("supervisor", Delegate::new("ask_shipping", agent("shipping")))
        .entry("supervisor")
        .build()
        .unwrap();
    let model = script([
        ("supervisor", calls(harness::BOTH)),
        ("billing", calls([(ASK_HUMAN, r#"{"question":"Which year?"}"#)])),
        ("shipping", looks("A-7")),
        ("shipping", says("In transit.")),
        ("billing", says("In 2025, yes.")),
        ("supervisor", says("Both.")),
    ]);
    let session = Session::new(&relay, &model).say("INV-311 and A-7?");
    assert_eq!(
        (session.open(), session.order()),
        (vec!["conv/1/1/0/1/1/0".to_owned()], "supervisor billing shipping shipping".to_owned())
    );
    let session = session.answer("conv/1/1/0/1/1/0", say("2025")).ends(RunEnd::Answered);
    assert_eq!(session.order(), "supervisor billing shipping shipping billing supervisor");
}

/// Who may ask a person is an agent of the relay, and the tool's name is kept for it.
#[test]
fn the_name_of_the_tool_is_kept() {
    let stranger = Relay::builder().agent(agent("clerk")).entry("clerk").may_ask_human("cook").build();
    assert_eq!(stranger.unwrap_err().0, [BuildError::AskerNotThere { agent: "cook".into() }]);
    let named = Delegate::new(ASK_HUMAN, agent("cook"));
    let delegate = Relay::builder().agent(agent("clerk")).delegate("clerk", named).entry("clerk").build();
    assert_eq!(
        delegate.unwrap_err().0,
        [BuildError::ReservedTool { agent: "clerk".into(), tool: ASK_HUMAN.into() }]
    );
    let own = Tool::new(ASK_HUMAN, "Mine.", |_: Nothing, _: &CallContext<'_>| Ok::<_, Failure>(1));
    let own = Relay::builder().agent(agent("clerk").tools([own])).entry("clerk").build();
    assert_eq!(
        own.unwrap_err().0,
        [BuildError::ReservedTool { agent: "clerk".into(), tool: ASK_HUMAN.into() }]
    );
    // An agent that was not allowed to ask has no such tool.
    let relay = relay("a -> b");
    let model = script([("a", calls([(ASK_HUMAN, r#"{"question":"Who?"}"#)])), ("a", says("Nobody."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert!(session.results("a", 0)[0].starts_with(r#"tu_1_0!{"error":"unknown_tool""#));
    let a = relay.agent("a").unwrap();
    assert!(a.definitions().iter().all(|tool| tool.name.as_str() != ASK_HUMAN));
}

/// One hop at most; a further one is a person's to decide on.
fn escalating() -> RelayBuilder {
    let guards = Guards::default().max_handoffs(1).on_refusal(Guard::Cap, OnRefusal::Escalate);
    harness::team("a -> b, b -> c").guards(guards)
}

/// Up to the second handoff, which the cap refuses.
fn escalated<'a>(relay: &'a Relay, model: &'a sommelier_runtime::ScriptedModel) -> Session<'a> {
    let session = Session::new(relay, model).say("hello");
    assert_eq!(session.order(), "a a b");
    session
}

fn turns() -> [(&'static str, harness::Turn); 4] {
    [
        ("a", looks("tea")),
        ("a", hands_to("b")),
        ("b", hands(to("c", "Decide on INV-1."))),
        ("b", says("Then I say no.")),
    ]
}

/// C47, S1-36, T42: a guard that escalates asks a person and no other agent. The question holds the refusal; the run beside it
/// has the whole trail, the package that was not taken in it.
#[test]
fn an_escalation_holds_the_refusal_and_the_trail() {
    let relay = escalating().build().unwrap();
    let model = script(turns());
    let session = escalated(&relay, &model);
    let refusal = Refusal::HandoffLimitExceeded { max: 1, chain: names(&["a", "b", "c"]) };
    let asks = Asks::Escalation { refusal: Box::new(refusal.clone()) };
    let asked = Question { id: "conv/1/3/0/escalation".into(), from: name("b"), at: 1005, asks };
    assert_eq!(session.questions(), [("conv".to_owned(), asked)]);
    let step = session.waiting();
    let [(run, _)] = step.questions()[..] else { panic!("one question") };
    let hops: Vec<(&str, &str, bool)> = run
        .trail()
        .hops()
        .iter()
        .map(|hop| (hop.from.as_str(), hop.package.as_ref().unwrap().task(), hop.outcome.is_taken()))
        .collect();
    assert_eq!(hops, [("a", "Go on.", true), ("b", "Decide on INV-1.", false)]);
    assert_eq!(run.trail().refusals().collect::<Vec<_>>(), [&refusal]);
    assert_eq!(
        session.rejected("conv/1/3/0/escalation", Answer::Approve),
        no_choice("conv/1/3/0/escalation", "approve", &["reject", "take_over"])
    );
}

/// S1-36: who takes over ends the run. No agent is called any more, and every conversation is legal and may go on.
#[test]
fn a_person_takes_over_and_the_run_ends() {
    let relay = escalating().build().unwrap();
    let model = script(turns());
    let answer = Answer::TakeOver { note: "Ann, at the desk".into() };
    let session = escalated(&relay, &model).answer("conv/1/3/0/escalation", answer);
    let session = session.ends_leaving(RunEnd::TakenOver { by: "Ann, at the desk".into() }, &[("b", 2)]);
    assert_eq!((session.order(), session.done().answer()), ("a a b".to_owned(), None));
    assert_eq!(session.trail(), ["a -> b: taken 1", "b -> c: handoff_limit_exceeded"]);
    let told = r#"tu_1_0!{"error":"not_run","detail":"a person decides; this was not done"}"#;
    assert_eq!(session.results("b", 0), [told]);
    assert_eq!(session.done().end().to_string(), "taken_over: Ann, at the desk");
    let step = Step::Done(session.done().clone());
    assert_eq!(relay.load(&step.save().unwrap()), Ok(step));
    // The user speaks again, and the agent that had the turn hears it.
    let session = session.say("Well?").ends(RunEnd::Answered);
    assert_eq!(
        (session.order(), session.done().answer()),
        ("a a b b".to_owned(), Some("Then I say no.".into()))
    );
}

/// A run that was taken over has that person's answer on record.
#[test]
fn a_run_that_nobody_took_over_is_not_loaded() {
    let relay = relay("a -> b");
    let done = relay.start("conv", "hello").unwrap().cancel(&relay, "enough", 1);
    let saved = Step::Done(done).save().unwrap();
    let (from, to) = (r#"{"Cancelled":{"reason":"enough"}}"#, r#"{"TakenOver":{"by":"Ann, at the desk"}}"#);
    assert!(saved.contains(from), "{saved}");
    let told = "the run's end is not that of the turn".to_owned();
    assert_eq!(relay.load(&saved.replacen(from, to, 1)), Err(LoadError::NotAStep(told)));
}

/// C67, S1-36: where a person says no, the sender's model is told what the guard said and what the person said, and goes
/// on, in a process that knows nothing but the saved step. The refused receiver is not called.
#[test]
fn a_person_rejects_and_the_sender_goes_on() {
    let relay = escalating().build().unwrap();
    let model = script(turns());
    let saved = escalated(&relay, &model).waiting().save().unwrap();
    let rest = script(turns());
    let loaded = escalating().build().unwrap();
    let step = loaded.load(&saved).unwrap();
    let reason = "INV-1 is closed".into();
    let step = step.answer(&loaded, "conv/1/3/0/escalation", Answer::Reject { reason }, 2000).unwrap();
    let Step::CallModel(call) = &step else { panic!("{step:?}") };
    assert_eq!(call.run().active(), &name("b"));
    let request = call.request(&loaded);
    let told = request.messages.last().unwrap().tool_results().next().unwrap().words().to_string();
    assert_eq!(
        told,
        r#"{"error":"handoff_limit_exceeded","detail":"1 handoff(s) are the most, a further one is not taken: a → b → c","decision":"INV-1 is closed"}"#
    );
    let response = rest.complete(request);
    let Step::Done(done) = call.clone().resume(&loaded, response, 2001) else { panic!("not done") };
    assert_eq!((done.end(), done.answer().as_deref()), (&RunEnd::Answered, Some("Then I say no.")));
    assert_eq!(done.run().trail().refusals().count(), 1);
}

/// A guard that escalates is quiet where another handoff of the reply is taken.
#[test]
fn nobody_is_asked_where_another_handoff_is_taken() {
    let guards = Guards::default().on_refusal(Guard::Known, OnRefusal::Escalate);
    let relay = harness::team("a -> b").guards(guards).build().unwrap();
    let both = calls([(HANDOFF_TO_SPECIALIST, to("nobody", "t")), (HANDOFF_TO_SPECIALIST, to("b", "t"))]);
    let model = script([("a", both), ("b", says("Here."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.trail(), ["a -> nobody: unknown_specialist", "a -> b: taken 1"]);
}

/// The head of a saved step that waits, and its questions, which stand last.
fn split(saved: &str) -> (&str, &str) {
    saved.rsplit_once(r#""questions":"#).unwrap()
}

#[track_caller]
fn refused(relay: &Relay, saved: &str, expected: &str) {
    match relay.load(saved) {
        Err(LoadError::NotAStep(why)) => assert_eq!(why, expected),
        other => panic!("{other:?}"),
    }
}

const NOT_ASKED: &str = "the questions are not those that the reply asks";

/// R12: what a step asks follows from its reply: one whose questions were changed while it was saved is refused.
#[test]
fn tampered_questions_are_refused() {
    let relay = clerk();
    let pay = script([("clerk", calls([pays("INV-1"), pays("INV-2")]))]);
    let ask = script([("clerk", calls([(ASK_HUMAN, r#"{"question":"Who?","choices":["Ada","Bob"]}"#)]))]);
    let pay = Session::new(&relay, &pay).say("hello").waiting().save().unwrap();
    let ask = Session::new(&relay, &ask).say("hello").waiting().save().unwrap();
    let model = script(turns());
    let team = escalating().build().unwrap();
    let cap = escalated(&team, &model).waiting().save().unwrap();
    let cases = [
        (&relay, &pay, r#""id":"conv/1/1/0""#, r#""id":"conv/1/1/2""#),
        (&relay, &pay, r#""id":"conv/1/1/0""#, r#""id":"conv/1/1/1""#),
        (&relay, &pay, r#""from":"clerk""#, r#""from":"cook""#),
        (&relay, &pay, r#""tool":"pay""#, r#""tool":"look""#),
        (&relay, &pay, r#"{"invoice":"INV-1"}"#, r#"{"invoice":"INV-9"}"#),
        (&relay, &pay, r#""call_id":"tu_1_0""#, r#""call_id":"tu_1_1""#),
        (&relay, &ask, r#""id":"conv/1/1/0""#, r#""id":"conv/1/1/1""#),
        (&relay, &ask, r#""question":"Who?""#, r#""question":"Pay?""#),
        (&relay, &ask, r#"["Ada","Bob"]"#, r#"["Ada","Eve"]"#),
        (&relay, &ask, r#""from":"clerk""#, r#""from":"cook""#),
        (&team, &cap, "/escalation", ""),
        (&team, &cap, r#""from":"b""#, r#""from":"a""#),
        (&team, &cap, r#""max":1"#, r#""max":2"#),
    ];
    for (relay, saved, from, to) in cases {
        let (head, questions) = split(saved);
        assert!(questions.contains(from), "{from} is not in {questions}");
        let changed = format!(r#"{head}"questions":{}"#, questions.replacen(from, to, 1));
        refused(relay, &changed, NOT_ASKED);
    }
    for (relay, saved) in [(&relay, &pay), (&relay, &ask), (&team, &cap)] {
        let (head, _) = split(saved);
        refused(relay, &format!(r#"{head}"questions":[]}}}}"#), NOT_ASKED);
        relay.load(saved).unwrap();
    }
}

/// R12, C88: what was answered is not open again, and what nobody was asked has not been answered.
#[test]
fn tampered_decisions_are_refused() {
    let relay = clerk();
    let model = script([("clerk", calls([pays("INV-1"), pays("INV-2")])), ("clerk", says("Both."))]);
    let waiting = Session::new(&relay, &model).say("hello");
    let before = waiting.waiting().save().unwrap();
    let session = waiting.reject("conv/1/1/0", "no");
    let after = session.waiting().save().unwrap();
    // The question that was answered, open once more.
    let (head, _) = split(&after);
    let (_, both) = split(&before);
    refused(&relay, &format!(r#"{head}"questions":{both}"#), NOT_ASKED);
    // An answer, to a question that may yet come, or that cannot.
    let decisions = |step: &str| {
        let (_, rest) = step.split_once(r#""decisions":["#).unwrap();
        rest.split_once("}]").unwrap().0.to_owned() + "}"
    };
    let decision = decisions(&after);
    assert!(decision.contains(r#""id":"conv/1/1/0""#) && decision.contains("Reject"), "{decision}");
    let with = |other: &str| after.replacen(&decision, &format!("{decision},{other}"), 1);
    let made_up = "an answer is on record that nobody was asked for";
    for id in ["conv/1/2/0", "conv/2/1/0", "other/1/1/1", "conv/1/1", "conv/1/1/0"] {
        refused(&relay, &with(&decision.replace("conv/1/1/0", id)), made_up);
    }
    // An answer that the question does not have, and another call than the one that was asked about.
    let say = after.replacen(r#""Reject":{"reason":"no"}"#, r#""Say":{"text":"no"}"#, 1);
    refused(&relay, &say, made_up);
    for (from, to) in
        [("INV-1", "INV-9"), (r#""clerk""#, r#""cook""#), ("tu_1_0", "tu_1_1"), (r#""pay""#, r#""look""#)]
    {
        refused(&relay, &after.replacen(&decision, &decision.replace(from, to), 1), made_up);
    }
    // Nor does a call run under an approval that was given to another.
    let approved = session.waiting().clone().answer(&relay, "conv/1/1/1", Answer::Approve, 2000).unwrap();
    let approved = approved.save().unwrap();
    let other = approved.replace(r#""input":{"invoice":"INV-2"}"#, r#""input":{"invoice":"INV-3"}"#);
    let given = r#""tool":"pay","input":{"invoice":"INV-3"}"#;
    let forged = other.replacen(given, r#""tool":"pay","input":{"invoice":"INV-2"}"#, 1);
    assert_eq!((other.matches("INV-3").count(), forged.matches("INV-3").count()), (2, 1));
    refused(&relay, &forged, made_up);
    relay.load(&after).unwrap();
    relay.load(&approved).unwrap();
}

/// C77, R18: while a person is asked, tools may go off and on. What is asked stays the question of the reply, and what is
/// off when it is answered counts.
#[test]
fn tools_may_go_off_and_on_while_a_person_is_asked() {
    let look = |step: Step, is_on| match is_on {
        true => step.switch_on(&name("policy_agent"), &tool_name("look")),
        false => step.switch_off(name("policy_agent"), tool_name("look")),
    };
    let when_asked =
        |is_on| move |step: Step| if matches!(step, Step::AskHuman(_)) { look(step, is_on) } else { step };
    let turns = || [("booking_agent", hands_to("policy_agent")), ("booking_agent", says("Not now."))];
    let relay = pair_with(|route| route.requires(["look"]).needs_approval());
    let model = script(turns());
    let session = Session::new(&relay, &model).at_each_step(when_asked(false)).say("hello");
    let session = session.approve("conv/1/1/0").ends(RunEnd::Answered);
    assert_eq!(session.trail(), ["booking_agent -> policy_agent: target_not_ready"]);

    let guards = Guards::default().on_refusal(Guard::Ready, OnRefusal::Escalate);
    let route = Route::new("booking_agent", "policy_agent").requires(["look"]);
    let relay = Relay::builder().agent(agent("booking_agent")).agent(agent("policy_agent"));
    let relay = relay.entry("booking_agent").route_with(route).guards(guards).build().unwrap();
    let model = script([("booking_agent", hands_to("policy_agent")), ("policy_agent", says("Here."))]);
    let session = Session::new(&relay, &model).at_each_step(when_asked(true));
    let session = session.drive(look(relay.start("conv", "hello").unwrap(), false));
    let session = session.reject("conv/1/1/0/escalation", "it is there again").ends(RunEnd::Answered);
    assert_eq!(session.trail(), ["booking_agent -> policy_agent: taken 1"]);
}
