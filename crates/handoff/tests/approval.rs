//! Tools that need approval: the run waits for a person as a value, in whichever branch it waits, and goes on from there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{
    Session, agent, calls, hands, hands_to, looks, name, payer, pays, question, says, script, story, to,
    tool_name,
};
use sommelier_handoff::{
    Agent, Answer, Asks, Decision, Delegate, HANDOFF_TO_SPECIALIST, LoadError, Question, Rejected, Relay,
    RelayBuilder, RunEnd, Step,
};
use sommelier_protocol::RawJson;

fn clerk() -> Relay {
    Relay::builder().agent(payer("clerk")).entry("clerk").build().unwrap()
}

/// What is asked about a payment.
fn may_pay(id: &str, from: &str, at: u64, call_id: &str, invoice: &str) -> Question {
    let input = RawJson::parse(&pays(invoice).1).unwrap();
    let asks = Asks::Tool { call_id: call_id.into(), tool: tool_name("pay"), input };
    Question { id: id.into(), from: name(from), at, asks }
}

fn no(reason: &str) -> Answer {
    Answer::Reject { reason: reason.into() }
}

/// C76, S1-35: a run that waits has asked nothing twice and done nothing. It says who wants to run which tool, with which
/// arguments, under which id, and it is no end.
#[test]
fn a_waiting_run_tells_agent_tool_arguments_and_id() {
    let relay = clerk();
    let model = script([("clerk", calls([pays("INV-311")])), ("clerk", says("Paid."))]);
    let session = Session::new(&relay, &model).say("Pay INV-311.");
    let asked = may_pay("conv/1/1/0", "clerk", 1002, "tu_1_0", "INV-311");
    assert_eq!(session.questions(), [("conv".to_owned(), asked)]);
    assert!(matches!(session.waiting(), Step::AskHuman(asking) if asking.run().decisions().is_empty()));
    assert_eq!((session.order(), session.ran.len()), ("clerk".to_owned(), 0));
    assert_eq!(model.unused(), [("clerk", 2)]);
}

/// C08, C77: what is approved runs once, with its own key, and the next request has the call and its result once.
#[test]
fn an_approved_tool_runs_once() {
    let relay = clerk();
    let model = script([("clerk", calls([pays("INV-311")])), ("clerk", says("Paid."))]);
    let session = Session::new(&relay, &model).say("Pay INV-311.").approve("conv/1/1/0");
    let session = session.ends(RunEnd::Answered);
    assert_eq!(session.ran, [("pay".to_owned(), "conv/1/1/0".to_owned())]);
    let request = "\
user: Pay INV-311.
assistant: pay#tu_1_0{\"invoice\":\"INV-311\"}
user: tu_1_0=\"INV-311 is paid\"";
    assert_eq!(story(&session.request("clerk", 1).messages), request);
    let question = may_pay("conv/1/1/0", "clerk", 1002, "tu_1_0", "INV-311");
    assert_eq!(session.run().decisions(), [Decision { question, answer: Answer::Approve, at: 1003 }]);
}

/// C77: one question a call. Each is answered once, by its id, in any order; an answer that cannot be taken changes
/// nothing, and says what would be right. What is rejected does not run, and the model is told why.
#[test]
fn each_call_is_asked_about_and_decided_once() {
    let relay = clerk();
    let both = || calls([pays("INV-1"), ("look", r#"{"word":"tea"}"#.to_owned()), pays("INV-2")]);
    let model = script([("clerk", both()), ("clerk", says("One of them."))]);
    let session = Session::new(&relay, &model).say("Pay both.");
    assert_eq!(session.open(), ["conv/1/1/0", "conv/1/1/2"]);
    let unknown = session.rejected("conv/1/1/1", Answer::Approve);
    assert_eq!(unknown.to_string(), r#"no question "conv/1/1/1" is open; open: conv/1/1/0, conv/1/1/2"#);
    let other = session.rejected("conv/1/1/0", Answer::Say { text: "yes".into() });
    assert_eq!(other.to_string(), r#""say" is no answer to conv/1/1/0; possible: approve, reject"#);
    let session = session.reject("conv/1/1/2", "paid last week");
    assert_eq!((session.open(), session.ran.len()), (vec!["conv/1/1/0".to_owned()], 0));
    let id = "conv/1/1/2".to_owned();
    let decided = Rejected::Decided { id, answer: no("paid last week") };
    assert_eq!(session.rejected("conv/1/1/2", Answer::Approve), decided);
    assert_eq!(decided.to_string(), "conv/1/1/2 has been answered before, with reject");

    let session = session.approve("conv/1/1/0").ends(RunEnd::Answered);
    let ran = [("pay", "conv/1/1/0"), ("look", "conv/1/1/1")].map(|(tool, key)| (tool.into(), key.into()));
    assert_eq!(session.ran, ran);
    assert_eq!(
        session.results("clerk", 0),
        [
            r#"tu_1_0="INV-1 is paid""#,
            r#"tu_1_1="tea""#,
            r#"tu_1_2!{"error":"approval_denied","tool":"pay","reason":"paid last week","effect":"none: the tool was not run"}"#,
        ]
    );
    let ended = Step::Done(session.into_done());
    let (ended, why) = ended.answer(&relay, "conv/1/1/0", Answer::Approve, 7).unwrap_err();
    assert_eq!(why, Rejected::Decided { id: "conv/1/1/0".into(), answer: Answer::Approve });
    assert!(matches!(*ended, Step::Done(_)));
}

/// A person can be asked about calls of the reply alone, each of them once.
#[test]
fn what_is_no_call_of_the_reply_cannot_be_asked_about() {
    let relay = clerk();
    let model = script([("clerk", calls([pays("INV-1"), pays("INV-2")])), ("clerk", says("Both."))]);
    let mut seen = Vec::new();
    let session = Session::new(&relay, &model).at_each_step(|step| {
        if let Step::CallTools(calls) = &step {
            for places in [&[][..], &[2], &[0, 7], &[0, 0]] {
                let refused = calls.clone().ask(places, 7).unwrap_err();
                assert_eq!((&*refused, places), (calls, places));
            }
            seen.push(calls.calls().filter(|(place, _)| calls.is_approved(*place)).count());
        }
        step
    });
    let session = session.say("Pay.").approve("conv/1/1/0").approve("conv/1/1/1").ends(RunEnd::Answered);
    drop(session);
    assert_eq!(seen, [0, 2]);
}

/// C83: a run that waits three times has as many results as calls: what waited is answered and never twice.
#[test]
fn three_pauses_leave_one_result_a_call() {
    let relay = clerk();
    let model = script([
        ("clerk", calls([pays("INV-1")])),
        ("clerk", calls([("look", r#"{"word":"tea"}"#.to_owned()), pays("INV-2")])),
        ("clerk", calls([pays("INV-3")])),
        ("clerk", says("All.")),
    ]);
    let session = Session::new(&relay, &model).say("Pay.");
    let session = session.approve("conv/1/1/0").approve("conv/1/2/1").reject("conv/1/3/0", "enough");
    let session = session.ends(RunEnd::Answered);
    let expected = r#"user: Pay.
assistant: pay#tu_1_0{"invoice":"INV-1"}
user: tu_1_0="INV-1 is paid"
assistant: look#tu_2_0{"word":"tea"} | pay#tu_2_1{"invoice":"INV-2"}
user: tu_2_0="tea" | tu_2_1="INV-2 is paid"
assistant: pay#tu_3_0{"invoice":"INV-3"}
user: tu_3_0!{"error":"approval_denied","tool":"pay","reason":"enough","effect":"none: the tool was not run"}
assistant: All."#;
    assert_eq!(session.story("clerk"), expected);
    assert_eq!(session.ran.len(), 3);
}

/// Booking pays, and may hand over to policy, which pays too.
fn desk() -> RelayBuilder {
    Relay::builder()
        .agent(payer("booking"))
        .agent(payer("policy"))
        .entry("booking")
        .route("booking", "policy")
        .route("policy", "booking")
}

/// C29, C31: beside a handoff, a tool that waits is the sender's: the hop comes after the answer, whichever it is, and
/// what is rejected has its result before.
#[test]
fn a_handoff_beside_a_tool_that_waits_comes_after_the_answer() {
    let relay = desk().build().unwrap();
    let paid = r#"tu_1_0="INV-1 is paid""#;
    let denied = r#"tu_1_0!{"error":"approval_denied","tool":"pay","reason":"no","effect":"none: the tool was not run"}"#;
    for (answer, result, ran) in [(Answer::Approve, paid, 1), (no("no"), denied, 0)] {
        let both = calls([pays("INV-1"), (HANDOFF_TO_SPECIALIST, to("policy", "Go on."))]);
        let model = script([("booking", both), ("policy", says("Well."))]);
        let session = Session::new(&relay, &model).say("Pay, and then?");
        assert_eq!(session.waiting().run().active(), &name("booking"));
        assert_eq!(
            (session.waiting().run().trail().hops().len(), session.order()),
            (0, "booking".to_owned())
        );
        assert_eq!(session.questions()[0].1.from, name("booking"));
        let session = session.answer("conv/1/1/0", answer).ends(RunEnd::Answered);
        assert_eq!((session.ran.len(), session.order()), (ran, "booking policy".to_owned()));
        assert_eq!(session.trail(), ["booking -> policy: taken 1"]);
        let handed_over = r#"tu_1_1={"status":"handed_over","to":"policy"}"#;
        assert_eq!(session.results("booking", 0), [result, handed_over]);
    }
}

/// C61, C68: after a hop the receiver waits, is loaded, and goes on as itself. An answer that comes late for the sender's
/// question has been taken before: it makes nobody active.
#[test]
fn the_receiver_waits_and_goes_on_as_itself() {
    let relay = desk().build().unwrap();
    let model = script([
        ("booking", calls([pays("INV-1")])),
        ("booking", hands_to("policy")),
        ("policy", calls([pays("INV-2")])),
        ("policy", says("Both are paid.")),
    ]);
    let session = Session::new(&relay, &model).say("Pay.").approve("conv/1/1/0");
    assert_eq!(
        (session.open(), session.waiting().run().active()),
        (vec!["conv/1/3/0".into()], &name("policy"))
    );
    let late = session.rejected("conv/1/1/0", Answer::Approve);
    assert_eq!(late, Rejected::Decided { id: "conv/1/1/0".into(), answer: Answer::Approve });
    assert_eq!(session.waiting().run().active(), &name("policy"));
    let session = session.approve("conv/1/3/0").ends(RunEnd::Answered);
    assert_eq!(session.order(), "booking booking policy policy");
    let paid: Vec<&str> = session.ran.iter().map(|(_, key)| key.as_str()).collect();
    assert_eq!(paid, ["conv/1/1/0", "conv/1/3/0"]);
    assert_eq!(session.done().answer().as_deref(), Some("Both are paid."));
}

/// C64, C67, C70: the turn goes there and back over two waits. The sender finds its own conversation, of which the other
/// has seen nothing, and the user gets the sender's words.
#[test]
fn the_sender_finds_its_conversation_when_the_turn_comes_back() {
    let relay = desk().build().unwrap();
    let model = script([
        ("booking", looks("secret")),
        ("booking", hands(to("policy", "What does a no-show cost?"))),
        ("policy", calls([pays("INV-2")])),
        ("policy", hands(to("booking", "It is 6500 cents."))),
        ("booking", calls([pays("INV-1")])),
        ("booking", says("6500 cents, and paid.")),
    ]);
    let session = Session::new(&relay, &model).say("Quote, and a no-show?");
    let session = session.approve("conv/1/3/0").approve("conv/1/5/0").ends(RunEnd::Answered);
    assert_eq!(session.trail(), ["booking -> policy: taken 1", "policy -> booking: taken 2"]);
    assert_eq!(session.done().answer().as_deref(), Some("6500 cents, and paid."));
    assert!(!session.story("policy").contains("secret") && !session.story("policy").contains("Quote"));
    let before = "\
user: Quote, and a no-show?
assistant: look#tu_1_0{\"word\":\"secret\"}
user: tu_1_0=\"secret\"
";
    let back = story(&session.request("booking", 2).messages);
    assert!(back.starts_with(before), "{back}");
    assert!(back.contains("It is 6500 cents."), "{back}");
}

/// A supervisor that asks billing, which looks and pays.
fn supervised() -> Relay {
    Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", Delegate::new("ask_billing", payer("billing")))
        .delegate("supervisor", Delegate::new("ask_shipping", payer("shipping")))
        .delegate("supervisor", Delegate::new("ask_storage", payer("storage")))
        .entry("supervisor")
        .build()
        .unwrap()
}

/// C73, C74, C82, C86, C91: a branch that waits, twice, goes on with its own turn. What it had done before is done once, no
/// model is asked again, and the asker is answered with the finding.
#[test]
fn a_branch_goes_on_where_it_waited() {
    let relay = supervised();
    let model = script([
        ("supervisor", calls([("ask_billing", question("Pay INV-1 and INV-2."))])),
        ("billing", looks("INV-1")),
        ("billing", calls([pays("INV-1")])),
        ("billing", calls([pays("INV-2")])),
        ("billing", says("Both are paid.")),
        ("supervisor", says("Done.")),
    ]);
    let session = Session::new(&relay, &model).say("Pay both.");
    let path = "conv/1/1/0";
    let first = may_pay("conv/1/1/0/1/2/0", "billing", 1005, "tu_2_0", "INV-1");
    assert_eq!(session.questions(), [(path.to_owned(), first)]);
    assert_eq!(session.waiting().run().active(), &name("supervisor"));
    let session = session.approve("conv/1/1/0/1/2/0");
    assert_eq!(session.open(), ["conv/1/1/0/1/3/0"]);
    let late = session.rejected("conv/1/1/0/1/2/0", no("too late"));
    assert_eq!(late, Rejected::Decided { id: "conv/1/1/0/1/2/0".into(), answer: Answer::Approve });
    let session = session.approve("conv/1/1/0/1/3/0").ends(RunEnd::Answered);
    assert_eq!(session.order(), "supervisor billing billing billing billing supervisor");
    let ran: Vec<(&str, &str)> = session.ran.iter().map(|(tool, key)| (&**tool, &**key)).collect();
    assert_eq!(ran, [("look", "conv/1/1/0/1/1/0"), ("pay", "conv/1/1/0/1/2/0"), ("pay", "conv/1/1/0/1/3/0")]);
    let told =
        r#"tu_1_0={"status":"done","finding":"Both are paid.","steps_used":4,"effects":["pay","pay"]}"#;
    assert_eq!(session.results("supervisor", 0), [told]);
    let billing = session.run().links()[0].run().unwrap();
    assert_eq!((billing.run().decisions().len(), session.run().decisions().len()), (2, 0));
    assert_eq!(
        story(billing.turn().unwrap().messages()).lines().skip(6).collect::<Vec<_>>(),
        [
            r#"assistant: pay#tu_2_0{"invoice":"INV-1"}"#,
            r#"user: tu_2_0="INV-1 is paid""#,
            r#"assistant: pay#tu_3_0{"invoice":"INV-2"}"#,
            r#"user: tu_3_0="INV-2 is paid""#,
            "assistant: Both are paid.",
        ]
    );
    // Of a branch that has ended it is still known what was answered.
    let ended = Step::Done(session.into_done());
    let (_, why) = ended.answer(&relay, "conv/1/1/0/1/2/0", Answer::Approve, 7).unwrap_err();
    assert!(matches!(why, Rejected::Decided { .. }), "{why}");
}

/// S1-37: three branches wait at once. They are answered in reverse order, each after a load; the findings stand in the
/// order of the calls, each payment was made once, and every order of the answers leads to the same tree.
#[test]
fn three_approvals_in_parallel_are_answered_in_any_order() {
    let relay = supervised();
    let ask = |tool, invoice: &str| (tool, question(&format!("Pay {invoice}.")));
    let asks =
        || calls([ask("ask_billing", "INV-1"), ask("ask_shipping", "INV-2"), ask("ask_storage", "INV-3")]);
    let turns = || {
        [
            ("supervisor", asks()),
            ("billing", calls([pays("INV-1")])),
            ("billing", says("1.")),
            ("shipping", calls([pays("INV-2")])),
            ("shipping", says("2.")),
            ("storage", calls([pays("INV-3")])),
            ("storage", says("3.")),
            ("supervisor", says("All.")),
        ]
    };
    let ids = [0, 1, 2].map(|place| format!("conv/1/1/{place}/1/1/0"));
    let run = |order: [usize; 3]| {
        let model = script(turns());
        let session = Session::new(&relay, &model).without_time().say("Pay all.");
        assert_eq!(session.open(), ids);
        let session = order.iter().fold(session, |session, n| session.approve(&ids[*n]));
        let session = session.ends(RunEnd::Answered);
        let mut ran: Vec<String> = session.ran.iter().map(|(_, key)| key.clone()).collect();
        ran.sort();
        assert_eq!(ran, ids);
        let told = ["1.", "2.", "3."].into_iter().enumerate();
        let told: Vec<String> = told
            .map(|(n, text)| {
                format!(r#"tu_1_{n}={{"status":"done","finding":"{text}","steps_used":2,"effects":["pay"]}}"#)
            })
            .collect();
        assert_eq!(session.results("supervisor", 0), told);
        session.into_done()
    };
    let reversed = run([2, 1, 0]);
    for order in [[0, 1, 2], [1, 2, 0], [2, 0, 1]] {
        assert_eq!(run(order), reversed, "{order:?}");
    }
}

/// C79, C82: a question two delegates deep is there after a load, with its path, and its answer goes to where it was asked.
#[test]
fn a_question_two_delegates_deep_survives_loading() {
    let inner = Relay::builder()
        .agent(agent("b"))
        .delegate("b", Delegate::new("ask_c", payer("c")))
        .entry("b")
        .build()
        .unwrap();
    let relay = Relay::builder()
        .agent(agent("s"))
        .delegate("s", Delegate::team("ask_b", inner).max_model_calls(9))
        .entry("s")
        .build()
        .unwrap();
    let model = script([
        ("s", calls([("look", r#"{"word":"tea"}"#.to_owned()), ("ask_b", question("Pay."))])),
        ("b", calls([("ask_c", question("Pay INV-1."))])),
        ("c", calls([pays("INV-1")])),
        ("c", says("Paid.")),
        ("b", says("C has paid.")),
        ("s", says("All is paid.")),
    ]);
    let session = Session::new(&relay, &model).say("Pay.");
    let saved = session.waiting().save().unwrap();
    let asked = may_pay("conv/1/1/1/1/1/0/1/1/0", "c", 1005, "tu_1_0", "INV-1");
    assert_eq!(session.questions(), [("conv/1/1/1/1/1/0".to_owned(), asked.clone())]);
    let loaded = relay.load(&saved).unwrap();
    let questions: Vec<(&str, &Question)> =
        loaded.questions().into_iter().map(|(run, one)| (run.conversation(), one)).collect();
    assert_eq!(questions, [("conv/1/1/1/1/1/0", &asked)]);
    let mut trail = Vec::new();
    let mut step = &loaded;
    while let Step::Delegate(delegation) = step {
        trail.push((delegation.run().active().to_string(), delegation.branches()[0].path()));
        step = delegation.branches()[0].step();
    }
    assert_eq!(trail, [("s".to_owned(), "conv/1/1/1"), ("b".to_owned(), "conv/1/1/1/1/1/0")]);
    let session = session.approve("conv/1/1/1/1/1/0/1/1/0").ends(RunEnd::Answered);
    assert_eq!(session.order(), "s b c c b s");
    let ran: Vec<&str> = session.ran.iter().map(|(_, key)| &**key).collect();
    assert_eq!(ran, ["conv/1/1/0", "conv/1/1/1/1/1/0/1/1/0"]);
}

/// C88: a run that waits for approval is not loaded under a definition in which the tool needs none.
#[test]
fn a_definition_that_has_lost_its_approval_does_not_load() {
    let relay = clerk();
    let model = script([("clerk", calls([pays("INV-1")]))]);
    let session = Session::new(&relay, &model).say("Pay.");
    let saved = session.waiting().save().unwrap();
    let with = |approval: bool| {
        let tools = harness::tools().map(|tool| if approval { tool.needs_approval() } else { tool });
        Relay::builder().agent(Agent::new("clerk", "").tools(tools)).entry("clerk").build().unwrap()
    };
    let (gated, open) = (with(true), with(false));
    let step = gated.start("conv", "hello").unwrap().save().unwrap();
    let error = LoadError::OtherDefinition { saved: gated.fingerprint(), ours: open.fingerprint() };
    assert_eq!(open.load(&step), Err(error));
    let error = LoadError::OtherDefinition { saved: relay.fingerprint(), ours: open.fingerprint() };
    assert_eq!(open.load(&saved), Err(error));
}

/// A tool that is switched off while a person is asked does not run, though it is approved. Calling a run off answers
/// each call that waits.
#[test]
fn what_is_switched_off_or_called_off_meanwhile_does_not_run() {
    let relay = clerk();
    let model = script([("clerk", calls([pays("INV-1")])), ("clerk", says("Not now."))]);
    let session = Session::new(&relay, &model).say("Pay.");
    let step = session.waiting().clone().switch_off(name("clerk"), tool_name("pay"));
    let off = step.answer(&relay, "conv/1/1/0", Answer::Approve, 7).unwrap();
    let Step::CallModel(call) = &off else { panic!("{off:?}") };
    assert!(
        story(&call.request(&relay).messages).ends_with(
            r#"user: tu_1_0!{"error":"tool_switched_off","detail":"pay is switched off for now"}"#
        )
    );
    assert_eq!(relay.load(&off.save().unwrap()).unwrap(), off);

    let done = session.waiting().clone().cancel(&relay, "the user has left", 7);
    assert_eq!(done.end(), &RunEnd::Cancelled { reason: "the user has left".into() });
    let told = r#"user: tu_1_0!{"error":"not_run","detail":"called off"}"#;
    assert!(story(done.turn().unwrap().messages()).ends_with(told));
    let (_, why) = Step::Done(done).answer(&relay, "conv/1/1/0", Answer::Approve, 8).unwrap_err();
    assert_eq!(why, Rejected::Unknown { id: "conv/1/1/0".into(), open: Vec::new() });
}
