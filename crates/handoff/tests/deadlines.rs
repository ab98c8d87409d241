//! Time: a driver says what time it is, and a run or a branch whose time is over ends where it stands, with all that it has.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{
    BOTH, Session, Turn, agent, calls, desk, hands_to, looks, name, payer, pays, says, says_and_looks,
    script, story,
};
use sommelier_handoff::{
    Answer, Budget, Closing, Delegate, Measure, Rejected, Relay, RelayBuilder, RunEnd, Step,
};
use sommelier_runtime::{ModelError, script as reply};

/// The most milliseconds of a run.
const MOST: u64 = 500;
/// When its clock begins.
const BEGIN: u64 = 1_000;

fn spent(most: u64) -> RunEnd {
    RunEnd::BudgetSpent { measure: Measure::Millis, most }
}

/// A supervisor that pays, asks billing and shipping, and may hand over to policy.
fn house(budget: Budget) -> RelayBuilder {
    harness::team("supervisor -> policy")
        .agent(payer("till"))
        .route("supervisor", "till")
        .delegate("supervisor", Delegate::new("ask_billing", agent("billing")))
        .delegate("supervisor", Delegate::new("ask_shipping", payer("shipping")))
        .may_ask_human("supervisor")
        .budget(budget)
}

/// Lets the time pass at the first step that `here` picks: it is said to be over.
fn too_late<'a>(relay: &'a Relay, mut here: impl FnMut(&Step) -> bool + 'a) -> impl FnMut(Step) -> Step + 'a {
    let mut is_over = false;
    move |step| {
        if is_over || !here(&step) {
            return step;
        }
        is_over = true;
        step.now(relay, BEGIN + MOST)
    }
}

/// One kind of wait.
struct Case {
    kind: &'static str,
    turns: Vec<(&'static str, Turn)>,
    here: fn(&Step) -> bool,
    /// What the supervisor's conversation ends with.
    last: &'static str,
}

fn cases() -> [Case; 5] {
    [
        Case {
            kind: "model",
            turns: vec![("supervisor", looks("tea"))],
            here: |step| matches!(step, Step::CallModel(call) if call.run().model_calls() == 1),
            last: r#"user: tu_1_0="tea""#,
        },
        Case {
            kind: "tools",
            turns: vec![("supervisor", looks("tea"))],
            here: |step| matches!(step, Step::CallTools(_)),
            last: r#"user: tu_1_0!{"error":"in_doubt","detail":"the time is over; whether the call had an effect is not known"}"#,
        },
        Case {
            kind: "delegate",
            turns: vec![
                ("supervisor", calls(BOTH)),
                ("billing", says("Twice.")),
                ("shipping", says_and_looks("On the road.", "A-7")),
            ],
            here: |step| match step {
                Step::Delegate(delegation) => matches!(delegation.branches()[1].step(), Step::CallTools(_)),
                _ => false,
            },
            last: concat!(
                r#"user: tu_1_0={"status":"done","finding":"Twice.","steps_used":1} | "#,
                r#"tu_1_1={"status":"partial","finding":"On the road.","reason":"budget_spent: 499 millisecond(s)","steps_used":1}"#
            ),
        },
        Case {
            kind: "handoff",
            turns: vec![("supervisor", hands_to("policy"))],
            here: |step| matches!(step, Step::HandOff(_)),
            last: r#"user: tu_1_0!{"error":"not_run","detail":"the time is over before it was taken"}"#,
        },
        Case {
            kind: "human",
            turns: vec![("supervisor", calls([("ask_human", r#"{"question":"For whom?"}"#)]))],
            here: |step| matches!(step, Step::AskHuman(_)),
            last: r#"user: tu_1_0!{"error":"not_run","detail":"the time is over"}"#,
        },
    ]
}

/// S3-29, C122, C163: whatever a run waits for, its time may end it there: each open call is answered, nothing more is
/// begun, the sender of a handoff that was not taken keeps the turn with the call in its conversation, and what was
/// found is kept. It goes on from there with more, and the requests are legal.
#[test]
fn time_ends_a_run_wherever_it_waits() {
    let relay = house(Budget::new(50).millis(MOST)).build().unwrap();
    for Case { kind, turns, here, last } in cases() {
        let model = script(turns.into_iter().chain([("supervisor", says("At last."))]));
        let begin = relay.start("conv", "hello").unwrap().now(&relay, BEGIN);
        let session = Session::new(&relay, &model).at_each_step(too_late(&relay, here)).drive(begin);
        assert_eq!((session.done().end(), kind), (&spent(MOST), kind));
        assert_eq!(session.story("supervisor").lines().last(), Some(last), "{kind}");
        let run = session.run();
        assert_eq!((run.active(), run.trail().count()), (&name("supervisor"), 0), "{kind}");
        let session = session.with_more(Budget::new(0).millis(10_000)).ends(RunEnd::Answered);
        assert_eq!(story(&session.asked.last().unwrap().messages).lines().last(), Some(last), "{kind}");
    }
}

/// The step that a run stands at after some steps, each told that it is the begin of its time.
fn stands(relay: &Relay, turns: Vec<(&'static str, Turn)>, here: fn(&Step) -> bool) -> Step {
    let model = script(turns);
    let mut found = None;
    let begin = relay.start("conv", "hello").unwrap().now(relay, BEGIN);
    let session = Session::new(relay, &model).without_time().at_each_step(|step| {
        if found.is_none() && here(&step) {
            found = Some(step.clone());
            return Step::Done(step.cancel(relay, "seen", BEGIN));
        }
        step
    });
    drop(session.drive(begin));
    found.unwrap()
}

/// What came of a step that was answered too late.
fn late(relay: &Relay, case: usize) -> Step {
    let at = BEGIN + MOST;
    let Case { turns, here, .. } = cases().into_iter().nth(case).unwrap();
    match stands(relay, turns, here) {
        Step::CallModel(call) => call.resume(relay, Ok(reply::say("Tea.")), at),
        Step::CallTools(calls) => {
            let outputs = calls.calls().map(|_| sommelier_runtime::ToolOutput::ok("\"tea\"")).collect();
            calls.resume(relay, outputs, at).unwrap()
        }
        Step::HandOff(handoff) => handoff.take(relay, at),
        other => panic!("{other:?}"),
    }
}

/// What a step came to, and the last message of the supervisor.
fn ending(step: &Step) -> (String, String) {
    let Step::Done(done) = step else { panic!("not over: {step:?}") };
    let told = story(done.run().idle("supervisor").unwrap().messages());
    (done.end().to_string(), told.lines().last().unwrap().to_owned())
}

/// What comes too late is kept, and nothing more is begun: a tool's output stands in the conversation, a handoff is not
/// taken. An answer that ends the run is its answer, however late.
#[test]
fn what_comes_too_late_is_kept() {
    let relay = house(Budget::new(50).millis(MOST)).build().unwrap();
    let over = "budget_spent: 500 millisecond(s)".to_owned();
    assert_eq!(ending(&late(&relay, 0)), ("answered".to_owned(), "assistant: Tea.".to_owned()));
    assert_eq!(ending(&late(&relay, 1)), (over.clone(), r#"user: tu_1_0="tea""#.to_owned()));
    let not_taken = r#"user: tu_1_0!{"error":"not_run","detail":"the time is over before it was taken"}"#;
    assert_eq!(ending(&late(&relay, 3)), (over, not_taken.to_owned()));
}

/// S3-29, C122: what a person says when the time is over is not taken: the run waits on with the answer unused, and ends when it
/// is told the time, or counts the answer once it was given more. Who takes over comes never too late.
#[test]
fn an_answer_that_comes_too_late_is_left_unused() {
    let relay =
        Relay::builder().agent(payer("a")).entry("a").budget(Budget::new(9).millis(MOST)).build().unwrap();
    let model = script([("a", calls([pays("INV-1"), pays("INV-2")])), ("a", says("Paid."))]);
    let session = Session::new(&relay, &model).drive(relay.start("conv", "Pay.").unwrap().now(&relay, BEGIN));
    assert_eq!(session.open(), ["conv/1/1/0", "conv/1/1/1"]);
    let waiting = session.waiting().clone();
    let until = BEGIN + MOST;
    for answer in [Answer::Approve, Answer::Reject { reason: "no".into() }] {
        let (step, why) = waiting.clone().answer(&relay, "conv/1/1/0", answer, until).unwrap_err();
        assert_eq!(why, Rejected::TooLate { id: "conv/1/1/0".to_owned(), until, at: until });
        assert_eq!(*step, waiting);
    }
    // What is wrong with the answer itself is said first.
    let (_, why) = waiting.clone().answer(&relay, "conv/9", Answer::Approve, until).unwrap_err();
    assert!(matches!(why, Rejected::Unknown { .. }), "{why}");

    let over = |id: &str| format!(r#"{id}!{{"error":"not_run","detail":"the time is over"}}"#);
    let Step::Done(done) = waiting.clone().now(&relay, until) else { panic!("it waits") };
    let told = story(done.turn().unwrap().messages());
    assert_eq!(told.lines().last(), Some(format!("user: {} | {}", over("tu_1_0"), over("tu_1_1")).as_str()));
    assert_eq!((done.end(), done.run().tool_calls(), done.run().decisions().len()), (&spent(MOST), 0, 0));

    let day = 86_400_000;
    for (millis, given) in [(None, MOST), (Some(7), 7)] {
        let more = Budget { millis, ..Budget::new(0) };
        let step = waiting.clone().with_more(&relay, more, day);
        assert_eq!((step.deadline(), step.run().given(Measure::Millis)), (Some(day + given), Some(given)));
        assert_eq!(relay.load(&step.save().unwrap()).unwrap(), step);
        let step = step.answer(&relay, "conv/1/1/0", Answer::Approve, day + given - 1).unwrap();
        let step = step.answer(&relay, "conv/1/1/1", Answer::Approve, day + given - 1).unwrap();
        let Step::CallTools(calls) = step else { panic!("allowed: {step:?}") };
        assert_eq!(calls.calls().count(), 2);
    }
}

/// A tree whose branch waits for a person is given more time at its root: the branch has some again, no more than its delegate
/// may have nor than its asker has. One that has ended is left as it is.
#[test]
fn a_tree_that_waits_is_given_more_time() {
    for (own, most) in [(None, 400), (Some(50), 50)] {
        let asked = Delegate::new("ask_shipping", payer("shipping"));
        let asked = own.map_or(asked.clone(), |most| asked.budget(Budget::new(4).millis(most)));
        let relay = Relay::builder()
            .agent(agent("supervisor"))
            .delegate("supervisor", asked)
            .entry("supervisor")
            .budget(Budget::new(50).millis(MOST))
            .build()
            .unwrap();
        let turns = [
            ("supervisor", calls([("ask_shipping", r#"{"question":"Pay the toll?"}"#)])),
            ("shipping", calls([pays("TOLL-1")])),
            ("shipping", says("Paid.")),
            ("supervisor", says("The toll is paid.")),
        ];
        let model = script(turns);
        let session = Session::new(&relay, &model).telling_time(1).say("hello");
        let (waiting, id) = (session.waiting().clone(), session.open()[0].clone());
        let until = waiting.deadline().unwrap();
        let (waiting, why) = waiting.answer(&relay, &id, Answer::Approve, 90_000).unwrap_err();
        assert_eq!(why, Rejected::TooLate { id: id.clone(), until, at: 90_000 });
        let step = waiting.with_more(&relay, Budget::new(0).millis(400), 90_000);
        assert_eq!(step.deadline(), Some(90_000 + most), "{own:?}");
        let step = relay.load(&step.save().unwrap()).unwrap();
        let step = step.answer(&relay, &id, Answer::Approve, 90_001).unwrap();
        let session = Session::new(&relay, &model).unchecked().drive(step).ends(RunEnd::Answered);
        assert_eq!(session.done().answer().as_deref(), Some("The toll is paid."));
        let done = Step::Done(session.into_done());
        assert_eq!(done.clone().with_more(&relay, Budget::new(9), 90_000), done);
    }
}

/// A reply that comes too late and asks for something is kept, and what it asks for is not begun: no tool, no delegate, no
/// handoff. When the model has not answered at all, the time is the reason.
#[test]
fn a_late_reply_begins_nothing() {
    let relay = house(Budget::new(50).millis(MOST)).build().unwrap();
    let over = r#"{"error":"not_run","detail":"the time is over"}"#;
    let replies: [Turn; 3] = [looks("tea"), calls([BOTH[0]]), hands_to("policy")];
    for turn in replies {
        let Step::CallModel(call) = relay.start("conv", "hello").unwrap().now(&relay, BEGIN) else {
            panic!()
        };
        let response = turn(&call.request(&relay));
        let step = call.resume(&relay, Ok(response), BEGIN + MOST);
        let expected = ("budget_spent: 500 millisecond(s)".to_owned(), format!("user: tu_1_0!{over}"));
        assert_eq!(ending(&step), expected);
        assert_eq!((step.run().links().len(), step.run().model_calls()), (0, 1));
    }
    for error in [
        ModelError::TimedOut { detail: "500 ms".to_owned() },
        ModelError::Unreachable { detail: "no route to host".to_owned() },
    ] {
        let begun = || match relay.start("conv", "hello").unwrap().now(&relay, BEGIN) {
            Step::CallModel(call) => call,
            other => panic!("{other:?}"),
        };
        let (in_time, late) = (BEGIN + MOST - 1, BEGIN + MOST);
        assert_eq!(ending(&begun().resume(&relay, Err(error.clone()), late)).0, spent(MOST).to_string());
        let failed = RunEnd::Failed { error: error.clone() }.to_string();
        assert_eq!(ending(&begun().resume(&relay, Err(error), in_time)).0, failed);
    }
}

/// A desk whose billing has its own budget.
fn hurried(own: Budget, of_the_desk: Budget) -> Relay {
    Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", Delegate::new("ask_billing", agent("billing")).budget(own))
        .delegate("supervisor", Delegate::new("ask_shipping", agent("shipping")).budget(own))
        .entry("supervisor")
        .budget(of_the_desk)
        .build()
        .unwrap()
}

/// C125: each delegate has limits of its own, which are enforced for it alone and told by its name: one is stopped by its
/// model calls and one by its time, and the one that asked goes on.
#[test]
fn limits_of_a_delegate_are_its_own() {
    let relay = hurried(Budget::new(2).millis(50), Budget::new(50));
    let model = script([
        ("supervisor", calls(BOTH)),
        ("billing", says_and_looks("First.", "a")),
        ("billing", looks("b")),
        ("shipping", says_and_looks("Slow.", "c")),
        ("supervisor", says("So far.")),
    ]);
    let is_second = |step: &Step| match step {
        Step::Delegate(delegation) => matches!(delegation.branches()[1].step(), Step::CallTools(_)),
        _ => false,
    };
    let mut is_over = false;
    let session = Session::new(&relay, &model).at_each_step(|step| {
        let is_here = !is_over && is_second(&step);
        is_over |= is_here;
        // Billing has ended by then, and the supervisor has no limit of time.
        if is_here { step.now(&relay, 2_000) } else { step }
    });
    let session = session.say("hello").ends(RunEnd::Answered);
    assert_eq!(
        session.results("supervisor", 0),
        [
            r#"tu_1_0={"status":"partial","finding":"First.","reason":"budget_spent: 2 model call(s)","steps_used":2}"#,
            r#"tu_1_1={"status":"partial","finding":"Slow.","reason":"budget_spent: 50 millisecond(s)","steps_used":1}"#,
        ]
    );
    let ends: Vec<(&str, Option<Measure>)> = session
        .run()
        .links()
        .iter()
        .map(|link| (link.tool.as_str(), link.run().unwrap().end().measure()))
        .collect();
    assert_eq!(ends, [("ask_billing", Some(Measure::ModelCalls)), ("ask_shipping", Some(Measure::Millis))]);
}

/// C163: a delegate whose first reply never comes is given up at its deadline. The asker keeps the turn and is told, and
/// the id of the attempt is on record.
#[test]
fn a_delegate_that_never_answers_is_given_up() {
    let relay = hurried(Budget::new(4).millis(50), Budget::new(50));
    let model = script([("supervisor", calls([BOTH[0]])), ("supervisor", says("Nobody is there."))]);
    let mut deadlines = Vec::new();
    let session = Session::new(&relay, &model).at_each_step(|step| {
        deadlines.push(step.deadline());
        match step {
            Step::Delegate(_) => step.now(&relay, 1_051),
            step => step,
        }
    });
    let session = session.say("hello").ends(RunEnd::Answered);
    let told = r#"tu_1_0!{"status":"failed","finding":null,"reason":"budget_spent: 50 millisecond(s)","steps_used":0}"#;
    assert_eq!(session.results("supervisor", 0), [told]);
    let link = &session.run().links()[0];
    assert_eq!((&*link.id, link.run().unwrap().end()), ("conv/1/1/0", &spent(50)));
    assert_eq!(session.run().active(), &name("supervisor"));
    drop(session);
    // The delegation was opened at 1001.
    assert_eq!(deadlines, [None, Some(1_051), None, None]);
}

/// S3-25: a branch never has more time than its asker has left, and at the end of that both end.
#[test]
fn a_branch_has_no_more_time_than_its_asker() {
    for (own, deadline) in [(None, 1_500), (Some(50), 1_051), (Some(9_000), 1_500)] {
        let budget = own.map_or(Budget::new(4), |most| Budget::new(4).millis(most));
        let relay = hurried(budget, Budget::new(50).millis(MOST));
        let begin = relay.start("conv", "hello").unwrap().now(&relay, BEGIN);
        let Step::CallModel(call) = begin else { panic!() };
        let response = calls(BOTH)(&call.request(&relay));
        let step = call.resume(&relay, Ok(response), BEGIN + 1);
        assert_eq!(step.deadline(), Some(deadline), "{own:?}");
        let Step::Delegate(delegation) = &step else { panic!() };
        let each = delegation.branches().iter().map(|branch| branch.step().run().deadline());
        assert_eq!(each.collect::<Vec<_>>(), [Some(deadline); 2]);
        let over = step.now(&relay, BEGIN + MOST);
        assert_eq!(ending(&over).0, spent(MOST).to_string());
        let ends: Vec<Option<Measure>> =
            over.run().links().iter().map(|link| link.run().unwrap().end().measure()).collect();
        assert_eq!(ends, [Some(Measure::Millis); 2]);
    }
}

/// Findings that are joined too late are kept, and the asker's model is not asked.
#[test]
fn findings_that_come_too_late_are_kept() {
    let relay = desk().budget(Budget::new(50).millis(MOST)).build().unwrap();
    let turns = vec![("supervisor", calls([BOTH[0]])), ("billing", says("Twice."))];
    let joins = |step: &Step| matches!(step, Step::Delegate(delegation) if delegation.is_over());
    let Step::Delegate(delegation) = stands(&relay, turns, joins) else { panic!() };
    let step = delegation.join(&relay, BEGIN + MOST).unwrap();
    let told = r#"user: tu_1_0={"status":"done","finding":"Twice.","steps_used":1}"#;
    assert_eq!(ending(&step), (spent(MOST).to_string(), told.to_owned()));
    assert_eq!(step.run().links().len(), 1);
}

/// The clock begins anew with each message of the user, with a retry and with more, at the first time that is told then;
/// nobody knows how long the run has waited.
#[test]
fn the_clock_begins_anew() {
    let relay = house(Budget::new(50).millis(MOST)).build().unwrap();
    let begin = relay.start("conv", "hello").unwrap();
    assert_eq!((begin.deadline(), begin.run().is_timed()), (None, true));
    let step = begin.now(&relay, BEGIN).now(&relay, BEGIN + 100);
    assert_eq!(step.deadline(), Some(BEGIN + MOST));
    let Step::Done(done) = step.now(&relay, BEGIN + MOST) else { panic!("over") };
    let again = [
        done.clone().retry(&relay).unwrap(),
        done.clone().with_more(&relay, Budget::new(0)).unwrap(),
        done.clone().hear(&relay, sommelier_protocol::Words::new("And?").unwrap()),
    ];
    for step in again {
        assert_eq!(step.deadline(), None);
        let step = relay.load(&step.save().unwrap()).unwrap().now(&relay, 90_000);
        assert_eq!(step.deadline(), Some(90_000 + MOST));
    }
    let more = done.with_more(&relay, Budget::new(0).millis(20)).unwrap().now(&relay, 90_000);
    assert_eq!((more.deadline(), more.run().given(Measure::Millis)), (Some(90_020), Some(20)));
}

/// The work that was handed to the agent that had the turn is on record as stopped, and is open again once it goes on.
#[test]
fn work_that_time_has_stopped_is_open_again() {
    let relay = house(Budget::new(50).millis(MOST)).build().unwrap();
    let model =
        script([("supervisor", hands_to("policy")), ("policy", looks("tea")), ("policy", says("Tea."))]);
    let is_policy =
        |step: &Step| matches!(step, Step::CallTools(_)) && step.run().active().as_str() == "policy";
    let begin = relay.start("conv", "hello").unwrap().now(&relay, BEGIN);
    let session = Session::new(&relay, &model).at_each_step(too_late(&relay, is_policy)).drive(begin);
    let how = |session: &Session<'_>| session.run().trail().taken().next().unwrap().end.map(|end| end.how);
    assert_eq!((session.done().end(), how(&session)), (&spent(MOST), Some(Closing::Failed)));
    let session = session.with_more(Budget::new(0)).ends(RunEnd::Answered);
    assert_eq!(how(&session), Some(Closing::Done));
}

/// A run without a limit of time hears what time it is and stays what it is; so does one that has ended.
#[test]
fn time_is_nothing_to_a_run_without_a_limit() {
    let relay = desk().build().unwrap();
    let step = relay.start("conv", "hello").unwrap();
    assert_eq!(step.clone().now(&relay, u64::MAX), step);
    let timed = house(Budget::new(50).millis(MOST)).build().unwrap();
    let model = script([("supervisor", says("Good day."))]);
    let done = Step::Done(Session::new(&timed, &model).telling_time(1).say("hello").into_done());
    assert_eq!(done.clone().now(&timed, u64::MAX), done);
    assert_eq!(done.deadline(), None);
}

/// A tree that waits for a person in a branch ends when its time is over, and that branch with it; what another branch
/// found is kept.
#[test]
fn time_ends_a_tree_that_waits_for_a_person() {
    let relay = house(Budget::new(50).millis(MOST)).build().unwrap();
    let both = [BOTH[0], ("ask_shipping", r#"{"question":"Pay the toll?"}"#)];
    let model = script([
        ("supervisor", calls(both)),
        ("billing", says("Twice.")),
        ("shipping", calls([pays("TOLL-1")])),
    ]);
    let session = Session::new(&relay, &model).telling_time(1).say("hello");
    assert_eq!(session.open(), ["conv/1/1/1/1/1/0"]);
    let waiting = session.waiting().clone();
    let deadline = waiting.deadline().unwrap();
    assert_eq!(waiting.clone().now(&relay, deadline - 1), waiting);
    let over = waiting.now(&relay, deadline);
    let (end, told) = ending(&over);
    assert_eq!(end, spent(MOST).to_string());
    assert!(
        told.contains(r#""finding":"Twice.""#) && told.contains(r#"tu_1_1!{"status":"failed""#),
        "{told}"
    );
    assert!(over.questions().is_empty());
}

/// How much time is left only a clock can tell: a run says how much there is, and when it is over.
#[test]
fn how_much_time_is_left_only_a_clock_tells() {
    let relay = house(Budget::new(50).millis(MOST)).build().unwrap();
    let run = relay.start("conv", "hello").unwrap();
    assert_eq!((run.run().given(Measure::Millis), run.run().left(Measure::Millis)), (Some(MOST), None));
}
