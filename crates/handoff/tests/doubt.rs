//! Calls of tools that nobody knows the outcome of, and calls that would do again what was done: a person is asked.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::doubts::{
    FIRST, MAIL, SECOND, at_tools, clerk, happened, in_branch, looks_at, mails_and_looks, no, once, sender,
    supervised, tools,
};
use harness::{Session, agent, calls, name, pays, question, says, script, story, to, tool_name};
use sommelier_handoff::{
    Answer, Asks, Budget, CallTools, Decision, HANDOFF_TO_SPECIALIST, Inquiry, Question, Rejected, Relay,
    Route, RunEnd, Step,
};
use sommelier_protocol::RawJson;
use sommelier_runtime::ToolOutput;

/// What is asked about the letter of the first reply.
fn has_mailed(id: &str, from: &str, at: u64) -> Question {
    let input = RawJson::parse("{}").unwrap();
    let asks = Asks::InDoubt { call_id: "tu_1_0".into(), tool: tool_name("mail"), input };
    Question { id: id.into(), from: name(from), at, asks }
}

fn take_over() -> Answer {
    Answer::TakeOver { note: "Ada".into() }
}

/// What each answer about a letter makes of its call.
fn outcomes() -> [(Answer, &'static str); 3] {
    [
        (happened("sent at noon"), "=sent at noon"),
        (
            Answer::DidNotHappen,
            r#"!{"error":"did_not_happen","detail":"mail was begun and had no effect, a person says; it may be called again"}"#,
        ),
        (Answer::Undone, r#"!{"error":"undone","detail":"mail had its effect, and a person has undone it"}"#),
    ]
}

const NOBODY_SAID: &str = r#"{"error":"in_doubt","detail":"nobody has said whether the call had an effect"}"#;

/// A call that was begun and of which nothing is known is a person's to tell, with the agent, the tool and the arguments.
/// Meanwhile nothing runs. Then it has what the person said as its output, counts as made, and never runs; the other call of
/// the reply runs.
#[test]
fn a_call_in_doubt_has_its_output_from_a_person() {
    let relay = clerk();
    for (answer, told) in outcomes() {
        let model = script([("clerk", mails_and_looks()), ("clerk", says("Well."))]);
        let session = Session::new(&relay, &model).unchecked();
        let session = session.at_each_step(once(|calls| calls.doubt(&[0], 7).unwrap())).say("Send it.");
        let asked = has_mailed(FIRST, "clerk", 7);
        assert_eq!(session.questions(), [("conv".to_owned(), asked.clone())]);
        assert_eq!((session.order(), session.ran.len()), ("clerk".to_owned(), 0));
        let session = session.answer(FIRST, answer.clone()).ends(RunEnd::Answered);
        assert_eq!(session.ran, [("look".to_owned(), "conv/1/1/1".to_owned())]);
        assert_eq!(session.results("clerk", 0), [format!("tu_1_0{told}"), r#"tu_1_1="tea""#.to_owned()]);
        assert_eq!(session.run().decisions(), [Decision { question: asked, answer, at: 1002 }]);
        assert_eq!(session.run().tool_calls(), 2);
    }
}

/// A call that a person has approved may be in doubt later. The approval stays on record under its own id, and is no word
/// about what came of it.
#[test]
fn an_approval_stays_on_record() {
    let relay = clerk();
    let model = script([("clerk", calls([pays("INV-1")])), ("clerk", says("Paid."))]);
    let doubts = |step| match step {
        Step::CallTools(calls) if calls.is_approved(0) => calls.doubt(&[0], 7).unwrap(),
        other => other,
    };
    let session = Session::new(&relay, &model).unchecked().at_each_step(doubts).say("Pay INV-1.");
    let session = session.approve("conv/1/1/0");
    assert_eq!((session.open(), session.ran.len()), (vec![FIRST.to_owned()], 0));
    let again = session.rejected("conv/1/1/0", Answer::Approve);
    assert_eq!(again, Rejected::Decided { id: "conv/1/1/0".into(), answer: Answer::Approve });
    let session = session.answer(FIRST, happened("INV-1 is paid")).ends(RunEnd::Answered);
    assert_eq!((session.ran.len(), session.run().tool_calls()), (0, 1));
    assert_eq!(session.results("clerk", 0), ["tu_1_0=INV-1 is paid"]);
    let answers: Vec<(&str, &str)> =
        session.run().decisions().iter().map(|one| (&*one.question.id, one.answer.as_str())).collect();
    assert_eq!(answers, [("conv/1/1/0", "approve"), (FIRST, "happened")]);
}

/// Two are answered in either order, and the run is the same.
#[test]
fn two_in_doubt_are_answered_in_either_order() {
    let relay = clerk();
    let run = |order: [usize; 2]| {
        let model = script([("clerk", calls([MAIL, MAIL])), ("clerk", says("Well."))]);
        let session = Session::new(&relay, &model).without_time().unchecked();
        let session = session.at_each_step(once(|calls| calls.doubt(&[1, 0], 7).unwrap())).say("Send both.");
        assert_eq!(session.open(), [FIRST, SECOND]);
        let answers = [(FIRST, happened("sent")), (SECOND, Answer::Undone)];
        let session =
            order.iter().fold(session, |session, n| session.answer(answers[*n].0, answers[*n].1.clone()));
        let session = session.ends(RunEnd::Answered);
        let undone =
            r#"tu_1_1!{"error":"undone","detail":"mail had its effect, and a person has undone it"}"#;
        assert_eq!(session.results("clerk", 0), ["tu_1_0=sent", undone]);
        assert_eq!((session.ran.len(), session.run().tool_calls()), (0, 2));
        let (mut decisions, done) = (session.run().decisions().to_vec(), session.into_done());
        decisions.sort_by(|a, b| a.question.id.cmp(&b.question.id));
        (decisions, story(done.turn().unwrap().messages()))
    };
    assert_eq!(run([0, 1]), run([1, 0]));
}

/// Beside a call that has its output and one that is still to run: each is done once, and all are counted.
#[test]
fn one_is_in_doubt_beside_one_completed_and_one_to_run() {
    let relay = Relay::builder().agent(sender("clerk")).entry("clerk").budget(Budget::new(9).tool_calls(3));
    let relay = relay.build().unwrap();
    let reply = calls([looks_at("a"), ("mail", "{}".to_owned()), looks_at("b"), looks_at("c")]);
    let step = at_tools(&relay, reply, |calls| {
        let output = ToolOutput::ok(r#""a""#);
        let step = calls.complete(&relay, 0, output, 5).unwrap();
        assert_eq!(relay.load(&step.save().unwrap()).unwrap(), step);
        tools(step).doubt(&[1], 7).unwrap()
    });
    let step = step.answer(&relay, SECOND, happened("sent"), 8).unwrap();
    assert_eq!(relay.load(&step.save().unwrap()).unwrap(), step);
    let to_run = tools(step);
    assert_eq!(to_run.calls().map(|(place, _)| place).collect::<Vec<_>>(), [2]);
    assert_eq!(to_run.run().tool_calls(), 1);
    let step = to_run.complete(&relay, 2, ToolOutput::ok(r#""b""#), 9).unwrap();
    assert_eq!(relay.load(&step.save().unwrap()).unwrap(), step);
    assert_eq!(
        (step.run().tool_calls(), step.run().left(sommelier_handoff::Measure::ToolCalls)),
        (3, Some(0))
    );
    let Step::CallModel(call) = step else { panic!("the model is asked") };
    let told = r#"user: tu_1_0="a" | tu_1_1=sent | tu_1_2="b" | tu_1_3!{"error":"tool_calls_spent","detail":"look was not run: no tool calls are left of 3"}"#;
    assert!(story(&call.request(&relay).messages).ends_with(told));
}

/// A call in doubt was made, whatever is switched on or off meanwhile: it is told what the person said, and has its part
/// of the budget before those that are still to run.
#[test]
fn what_was_made_is_counted_first() {
    let relay = Relay::builder().agent(sender("clerk")).entry("clerk").budget(Budget::new(9).tool_calls(1));
    let relay = relay.build().unwrap();
    let (agent, look, mail) = (name("clerk"), tool_name("look"), tool_name("mail"));
    let step = at_tools(&relay, calls([looks_at("tea"), ("mail", "{}".to_owned())]), |calls| {
        let off = Step::CallTools(calls).switch_off(agent.clone(), look.clone());
        tools(off).doubt(&[1], 7).unwrap()
    });
    let step = step.switch_on(&agent, &look).switch_off(agent, mail);
    let step = step.answer(&relay, SECOND, happened("sent"), 8).unwrap();
    assert_eq!(relay.load(&step.save().unwrap()).unwrap(), step);
    let Step::CallModel(call) = step else { panic!("nothing is left to run: {step:?}") };
    let told = r#"user: tu_1_0!{"error":"tool_calls_spent","detail":"look was not run: no tool calls are left of 1"} | tu_1_1=sent"#;
    let found = story(&call.request(&relay).messages);
    assert!(found.ends_with(told), "{found}");
    assert_eq!(call.run().tool_calls(), 1);
}

/// What was begun can be asked about though its tool was switched off since, or another was switched on that would now have
/// the last call of the budget; but no more than were left to make.
#[test]
fn what_was_begun_is_in_doubt_whatever_was_switched_since() {
    let relay = Relay::builder().agent(sender("clerk")).entry("clerk").budget(Budget::new(9).tool_calls(1));
    let relay = relay.build().unwrap();
    let reply = calls([looks_at("tea"), ("mail", "{}".to_owned())]);
    let step = at_tools(&relay, reply, |calls| {
        assert_eq!(calls.calls().map(|(place, _)| place).collect::<Vec<_>>(), [0]);
        let off = tools(Step::CallTools(calls).switch_off(name("clerk"), tool_name("mail")));
        assert!(
            off.clone().doubt(&[0, 1], 7).is_err() && off.clone().ask_repeat(&[(1, "x".into())], 7).is_err()
        );
        off.doubt(&[1], 7).unwrap()
    });
    let step = step.answer(&relay, SECOND, Answer::Undone, 8).unwrap();
    assert_eq!(relay.load(&step.save().unwrap()).unwrap(), step);
    assert_eq!((step.run().tool_calls(), matches!(step, Step::CallModel(_))), (1, true));
}

/// T48: an answer is taken once, in time, and only one of those that there are. Any other changes nothing, however often it
/// comes.
#[test]
fn an_answer_is_taken_once_and_must_be_one() {
    let relay = Relay::builder().agent(sender("clerk")).entry("clerk").budget(Budget::new(9).millis(500));
    let relay = relay.build().unwrap();
    let model = script([("clerk", calls([MAIL, MAIL]))]);
    let session = Session::new(&relay, &model).telling_time(1).unchecked();
    let session = session.at_each_step(once(|calls| calls.doubt(&[0, 1], 1001).unwrap())).say("Send both.");
    let choices = ["happened", "did_not_happen", "undone", "take_over"].map(str::to_owned).to_vec();
    let no_choice = |answer: &str| Rejected::NoChoice {
        id: FIRST.to_owned(),
        answer: answer.to_owned(),
        choices: choices.clone(),
    };
    for _ in 0..2 {
        assert_eq!(session.rejected(FIRST, Answer::Approve), no_choice("approve"));
        assert_eq!(session.rejected(FIRST, no("no")), no_choice("reject"));
        assert_eq!(session.rejected(FIRST, happened(" \n")), no_choice(" \n"));
    }
    let open = vec![FIRST.to_owned(), SECOND.to_owned()];
    let unknown = Rejected::Unknown { id: "conv/1/1/0".to_owned(), open };
    assert_eq!(session.rejected("conv/1/1/0", Answer::DidNotHappen), unknown);
    let session = session.answer(FIRST, Answer::DidNotHappen);
    let decided = Rejected::Decided { id: FIRST.to_owned(), answer: Answer::DidNotHappen };
    assert_eq!(session.rejected(FIRST, Answer::DidNotHappen), decided);
    assert_eq!(decided.to_string(), "conv/1/1/0/in_doubt has been answered before, with did_not_happen");
    let late = session.waiting().clone().answer(&relay, SECOND, Answer::Undone, 9_000).unwrap_err();
    assert_eq!(
        (&*late.0, late.1),
        (session.waiting(), Rejected::TooLate { id: SECOND.to_owned(), until: 1_500, at: 9_000 })
    );
}

/// What ends a run while it is asked about calls in doubt: called off, out of time, taken over.
fn ends_of(relay: &Relay, open: &Step) -> [(Step, RunEnd); 3] {
    let cancelled = Step::Done(open.clone().cancel(relay, "the user has left", 8));
    let over = open.clone().now(relay, 90_000);
    let taken = open.clone().answer(relay, SECOND, take_over(), 8).unwrap();
    [
        (cancelled, RunEnd::Cancelled { reason: "the user has left".into() }),
        (over, RunEnd::BudgetSpent { measure: sommelier_handoff::Measure::Millis, most: 500 }),
        (taken, RunEnd::TakenOver { by: "Ada".into() }),
    ]
}

/// Where a run ends while a call is in doubt the call is told as that. What a person has told of another is told as it
/// was said, and counted; and what was not begun is told as not run.
#[test]
fn what_nobody_has_said_stays_in_doubt() {
    let relay = Relay::builder().agent(sender("clerk")).entry("clerk").budget(Budget::new(9).millis(500));
    let relay = relay.build().unwrap();
    let reply = calls([MAIL, MAIL, ("look", r#"{"word":"tea"}"#)]);
    let model = script([("clerk", reply)]);
    let session = Session::new(&relay, &model).telling_time(1);
    let session = session.at_each_step(once(|calls| calls.doubt(&[0, 1], 1001).unwrap())).say("Send both.");
    let session = session.answer(FIRST, happened("sent"));
    for (ended, end) in ends_of(&relay, session.waiting()) {
        assert_eq!(relay.load(&ended.save().unwrap()).unwrap(), ended);
        let Step::Done(done) = ended else { panic!("it has ended: {ended:?}") };
        let why = match done.end() {
            RunEnd::Cancelled { .. } => "called off",
            RunEnd::BudgetSpent { .. } => "the time is over",
            _ => "a person decides; this was not done",
        };
        let not_run = format!(r#"{{"error":"not_run","detail":"{why}"}}"#);
        let told = format!("user: tu_1_0=sent | tu_1_1!{NOBODY_SAID} | tu_1_2!{not_run}");
        let found = story(done.turn().unwrap().messages());
        assert!(found.ends_with(&told), "{found}");
        assert_eq!((done.end(), done.run().tool_calls()), (&end, 1));
    }
}

/// After the answers, before the other calls have run, the run may end as well: begun or not, what was said is told.
#[test]
fn what_was_said_is_told_wherever_the_run_ends() {
    let relay = clerk();
    let step = at_tools(&relay, mails_and_looks(), |calls| calls.doubt(&[0], 7).unwrap());
    let step = step.answer(&relay, FIRST, happened("sent"), 8).unwrap();
    let in_doubt =
        r#"{"error":"in_doubt","detail":"called off; whether the call had an effect is not known"}"#;
    let not_run = r#"{"error":"not_run","detail":"called off"}"#;
    let begun = step.clone().cancel(&relay, "enough", 9);
    let unbegun = step.cancel_unbegun(&relay, "enough", 9);
    for (done, told) in [(begun, in_doubt), (unbegun, not_run)] {
        let found = story(done.turn().unwrap().messages());
        assert!(found.ends_with(&format!("user: tu_1_0=sent | tu_1_1!{told}")), "{found}");
        assert_eq!(done.run().tool_calls(), 1);
        let ended = Step::Done(done);
        assert_eq!(relay.load(&ended.save().unwrap()).unwrap(), ended);
    }
}

/// In a branch a call in doubt waits just so. Whoever asked is told what stays done: what a person says has happened, of
/// whichever tool, and not what was undone or never was.
#[test]
fn a_branch_waits_for_what_is_in_doubt() {
    let relay = supervised();
    let id = "conv/1/1/0/1/1/0/in_doubt";
    for (n, (answer, _)) in outcomes().into_iter().enumerate() {
        let model = script([
            ("supervisor", calls([("ask_sender", question("Send it."))])),
            ("sender", mails_and_looks()),
            ("sender", says("Well.")),
            ("supervisor", says("So.")),
        ]);
        let session =
            Session::new(&relay, &model).unchecked().at_each_step(in_branch(&relay)).say("Send it.");
        assert_eq!(session.questions(), [("conv/1/1/0".to_owned(), has_mailed(id, "sender", 7))]);
        let session = session.answer(id, answer).ends(RunEnd::Answered);
        let effects = [r#","effects":["mail"]"#, "", ""][n];
        let told = format!(r#"tu_1_0={{"status":"done","finding":"Well.","steps_used":2{effects}}}"#);
        assert_eq!(session.results("supervisor", 0), [told]);
        assert_eq!(session.run().tool_calls_over_tree(), 2);
    }
}

/// A branch that is called off, or taken over, while a person is asked whether its call has happened: that is not known.
#[test]
fn an_asker_is_told_what_nobody_knows() {
    let relay = supervised();
    let id = "conv/1/1/0/1/1/0/in_doubt";
    let turns = [("supervisor", calls([("ask_sender", question("Send it."))])), ("sender", calls([MAIL]))];
    let model = script(turns.into_iter().chain([("supervisor", says("So."))]));
    let session = Session::new(&relay, &model).unchecked().at_each_step(in_branch(&relay)).say("Send it.");
    let done = session.waiting().clone().cancel(&relay, "enough", 8);
    let effects = done.run().links()[0].result().unwrap().effects.clone();
    assert_eq!(effects, ["mail (not known)".into()]);
    let session = session.answer(id, take_over()).ends(RunEnd::Answered);
    let told = concat!(
        r#"tu_1_0!{"status":"failed","finding":null,"reason":"taken_over","#,
        r#""steps_used":1,"effects":["mail (not known)"]}"#
    );
    assert_eq!(session.results("supervisor", 0), [told]);
}

/// A handoff beside a call in doubt comes after the answer. Where the turn comes back, the one that waits has the answer in
/// its reply meanwhile, whose results no message has yet.
#[test]
fn a_handoff_comes_after_the_answer() {
    for returns in [false, true] {
        let route = Route::new("clerk", "desk");
        let route = if returns { route.returns() } else { route };
        let relay = Relay::builder().agent(sender("clerk")).agent(agent("desk")).entry("clerk");
        let relay = relay.route_with(route).build().unwrap();
        let both = calls([("mail", "{}".to_owned()), (HANDOFF_TO_SPECIALIST, to("desk", "Go on."))]);
        let back = if returns { vec![("clerk", says("Well."))] } else { Vec::new() };
        let model = script(
            [("clerk", both), ("desk", harness::looks("x")), ("desk", says("So."))].into_iter().chain(back),
        );
        let session = Session::new(&relay, &model).unchecked();
        let session = session.at_each_step(once(|calls| calls.doubt(&[0], 7).unwrap())).say("Send, and on.");
        assert_eq!(session.waiting().run().trail().hops().len(), 0);
        let session = session.answer(FIRST, happened("sent")).ends(RunEnd::Answered);
        assert_eq!(session.trail(), ["clerk -> desk: taken 1"]);
        assert_eq!(session.results("clerk", 0)[0], "tu_1_0=sent");
        assert_eq!(session.run().tool_calls(), 2);
    }
}

/// What is asked of a possible repeat.
fn may_repeat(id: &str, at: u64, call_id: &str, invoice: &str, earlier: &str) -> Question {
    let (call_id, tool, input) =
        (call_id.into(), tool_name("pay"), RawJson::parse(&pays(invoice).1).unwrap());
    let asks = Asks::Repeat { call_id, tool, input, earlier: earlier.into() };
    Question { id: id.into(), from: name("clerk"), at, asks }
}

/// One call asks for everything: approvals and possible repeats of one reply. What is approved runs, and needs no other
/// approval; what is rejected does not, and its model is told what was done before.
#[test]
fn approvals_and_repeats_are_asked_at_once() {
    let relay = clerk();
    let reply = calls([pays("INV-1"), pays("INV-2"), pays("INV-3"), looks_at("tea")]);
    let model = script([("clerk", reply), ("clerk", says("Well."))]);
    let earlier = |text: &str| Inquiry::Repeat { earlier: text.into() };
    let asks = |calls: CallTools| {
        let all = [(2, earlier("INV-3 is paid")), (0, Inquiry::Approval), (1, earlier("conv/0/1/0"))];
        calls.ask_about(&all, 7).unwrap()
    };
    let session = Session::new(&relay, &model).at_each_step(once(asks)).say("Pay them.");
    let (first, second, third) = ("conv/1/1/0", "conv/1/1/1/repeat", "conv/1/1/2/repeat");
    assert_eq!(session.open(), [first, second, third]);
    let asked = may_repeat(third, 7, "tu_1_2", "INV-3", "INV-3 is paid");
    assert_eq!(session.questions()[2], ("conv".to_owned(), asked));
    let wrong = session.rejected(third, happened("x"));
    assert_eq!(
        wrong.to_string(),
        r#""happened" is no answer to conv/1/1/2/repeat; possible: approve, reject, take_over"#
    );
    let session =
        session.reject(third, "one is enough").approve(second).approve(first).ends(RunEnd::Answered);
    let ran = [("pay", first), ("pay", "conv/1/1/1"), ("look", "conv/1/1/3")];
    assert_eq!(session.ran, ran.map(|(tool, key)| (tool.to_owned(), key.to_owned())));
    let repeat = concat!(
        r#"tu_1_2!{"error":"possible_repeat","tool":"pay","reason":"one is enough","#,
        r#""earlier":"INV-3 is paid","effect":"none: the tool was not run"}"#
    );
    let paid = [r#"tu_1_0="INV-1 is paid""#, r#"tu_1_1="INV-2 is paid""#, repeat, r#"tu_1_3="tea""#];
    assert_eq!(session.results("clerk", 0), paid);
}

/// Both of a reply are rejected: nothing runs, nothing is counted, and each is told of its own.
#[test]
fn two_repeats_are_rejected() {
    let relay = clerk();
    let model = script([("clerk", calls([pays("INV-1"), pays("INV-2")])), ("clerk", says("Well."))]);
    let asks = |calls: CallTools| calls.ask_repeat(&[(0, "one".into()), (1, "two".into())], 7).unwrap();
    let session = Session::new(&relay, &model).at_each_step(once(asks)).say("Pay them.");
    let session = session.reject("conv/1/1/1/repeat", "b").reject("conv/1/1/0/repeat", "a");
    let session = session.ends(RunEnd::Answered);
    let told = |n: usize, reason: &str, earlier: &str| {
        format!(
            r#"tu_1_{n}!{{"error":"possible_repeat","tool":"pay","reason":"{reason}","earlier":"{earlier}","effect":"none: the tool was not run"}}"#
        )
    };
    assert_eq!(session.results("clerk", 0), [told(0, "a", "one"), told(1, "b", "two")]);
    assert_eq!(session.run().tool_calls(), 0);
}

/// While a possible repeat is asked about, a run that ends has not run it; also where the person takes over.
#[test]
fn a_repeat_that_is_left_open_has_not_run() {
    let relay = clerk();
    let step =
        at_tools(&relay, calls([pays("INV-1")]), |calls| calls.ask_repeat(&[(0, "x".into())], 7).unwrap());
    let cancelled = step.clone().cancel(&relay, "enough", 8);
    let Ok(Step::Done(taken)) = step.answer(&relay, "conv/1/1/0/repeat", take_over(), 8) else { panic!() };
    for (done, why) in [(cancelled, "called off"), (taken, "a person decides; this was not done")] {
        let told = format!(r#"user: tu_1_0!{{"error":"not_run","detail":"{why}"}}"#);
        let found = story(done.turn().unwrap().messages());
        assert!(found.ends_with(&told), "{found}");
        let ended = Step::Done(done);
        assert_eq!(relay.load(&ended.save().unwrap()).unwrap(), ended);
    }
}

/// A call may be approved, then found to be a repeat and approved as that, then be in doubt: three questions with three ids,
/// each asked once. An approved repeat is approved.
#[test]
fn one_call_may_be_asked_about_in_three_ways() {
    let relay = clerk();
    let step = at_tools(&relay, calls([pays("INV-1")]), |calls| calls.ask(&[0], 7).unwrap());
    let calls = tools(step.answer(&relay, "conv/1/1/0", Answer::Approve, 8).unwrap());
    assert_eq!((calls.is_approved(0), calls.may_repeat(0)), (true, false));
    let step = calls.ask_repeat(&[(0, "x".into())], 9).unwrap();
    let calls = tools(step.answer(&relay, "conv/1/1/0/repeat", Answer::Approve, 10).unwrap());
    assert_eq!((calls.is_approved(0), calls.may_repeat(0)), (true, true));
    let calls = *calls.ask_repeat(&[(0, "y".into())], 11).unwrap_err();
    let step = calls.doubt(&[0], 11).unwrap();
    let step = step.answer(&relay, FIRST, happened("paid"), 12).unwrap();
    assert_eq!(relay.load(&step.save().unwrap()).unwrap(), step);
    assert_eq!((step.run().decisions().len(), step.run().tool_calls()), (3, 1));

    let step = at_tools(&relay, harness::calls([pays("INV-1")]), |calls| {
        calls.ask_repeat(&[(0, "x".into())], 7).unwrap()
    });
    let calls = tools(step.answer(&relay, "conv/1/1/0/repeat", Answer::Approve, 8).unwrap());
    assert!(calls.is_approved(0) && calls.may_repeat(0));
    assert!(calls.ask(&[0], 9).is_err());
}

/// People can be asked about calls that wait alone, about each in one way at a time.
#[test]
fn what_does_not_wait_cannot_be_asked_about() {
    let relay = clerk();
    let step = at_tools(&relay, calls([MAIL, MAIL]), |calls| {
        let repeat = || Inquiry::Repeat { earlier: "x".into() };
        for inquiries in [
            vec![],
            vec![(2, Inquiry::InDoubt)],
            vec![(0, Inquiry::InDoubt), (0, Inquiry::InDoubt)],
            vec![(0, Inquiry::InDoubt), (0, repeat())],
            vec![(0, Inquiry::Approval), (7, repeat())],
        ] {
            assert_eq!(*calls.clone().ask_about(&inquiries, 7).unwrap_err(), calls, "{inquiries:?}");
        }
        calls.doubt(&[0], 7).unwrap()
    });
    let calls = tools(step.answer(&relay, FIRST, Answer::Undone, 8).unwrap());
    for places in [&[0][..], &[0, 1]] {
        assert_eq!(*calls.clone().doubt(places, 9).unwrap_err(), calls);
    }
    assert!(calls.doubt(&[1], 9).is_ok());
}
