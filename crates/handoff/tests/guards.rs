//! When a handoff is refused: each guard with its exact value, their order, and what follows.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{
    Session, agent, calls, hands, hands_to, name, names, pair, relay, ruling, says, script, story, team, to,
    tool_name,
};
use sommelier_handoff::{EntryPolicy, Guard, Guards, OnRefusal, PackageError, Refusal, Relay, Route, RunEnd};
use sommelier_runtime::ScriptedModel;

const BACK_AND_FORTH: &str = "booking_agent -> policy_agent, policy_agent -> booking_agent";

/// Three agents; booking reaches policy alone, which needs `look` there; a cap of one hop.
fn guarded(guards: Guards) -> Relay {
    team("policy_agent -> pricing_agent, pricing_agent -> booking_agent")
        .entry("booking_agent")
        .agent(agent("unreached"))
        .entry("unreached")
        .route_with(Route::new("booking_agent", "policy_agent").requires(["look"]))
        .guards(guards)
        .build()
        .unwrap()
}

fn guarded_default() -> Relay {
    guarded(Guards::default())
}

/// What is said of one handoff of booking's, in a conversation that begins there.
#[track_caller]
fn refused(relay: &Relay, arguments: &str) -> Refusal {
    let model = script([("booking_agent", hands(arguments)), ("booking_agent", says("Never mind."))]);
    let session = Session::new(relay, &model);
    let step = relay.start_at("booking_agent", "conv", "hello").unwrap();
    let session = session.drive(step).ends(RunEnd::Answered);
    let [refusal] = &session.refusals()[..] else { panic!("{:?}", session.trail()) };
    assert_eq!(session.run().active(), &"booking_agent");
    assert_eq!((session.run().trail().count(), session.run().trail().hops().len()), (0, 1));
    refusal.clone()
}

fn unknown(name: &str, nearest: Option<&str>) -> Refusal {
    Refusal::UnknownSpecialist {
        name: name.to_owned(),
        known: names(&["policy_agent"]),
        nearest_name: nearest.map(harness::name),
    }
}

/// S0-L06, R17, durability T41: each guard by itself, and all that a model must know to mend it.
#[test]
fn each_guard_tells_what_it_refuses_and_what_is_legal() {
    let relay = guarded_default();
    assert_eq!(refused(&relay, &to("polcy_agent", "t")), unknown("polcy_agent", Some("policy_agent")));
    assert_eq!(
        refused(&relay, &to("booking_agent", "t")),
        Refusal::SelfHandoff { agent: name("booking_agent") }
    );
    assert_eq!(
        refused(&relay, &to("pricing_agent", "t")),
        Refusal::NoRoute {
            from: name("booking_agent"),
            to: name("pricing_agent"),
            legal: names(&["policy_agent"]),
        }
    );
    assert_eq!(
        refused(&relay, &to("policy_agent", " ")),
        Refusal::InvalidPackage { errors: vec![PackageError::Blank { field: "task".to_owned() }] }
    );
}

/// R18, S0-L06: a tool that is switched off while the run goes on.
#[test]
fn a_receiver_without_its_tool_is_not_ready() {
    let relay = guarded_default();
    let not_ready =
        Refusal::TargetNotReady { to: name("policy_agent"), missing_tools: vec![tool_name("look")] };
    let model = script([("booking_agent", hands_to("policy_agent")), ("booking_agent", says("Later."))]);
    let step = relay.start_at("booking_agent", "conv", "hello").unwrap();
    let off = step.switch_off(name("policy_agent"), tool_name("look"));
    let session = Session::new(&relay, &model).drive(off.clone()).ends(RunEnd::Answered);
    assert_eq!(session.refusals(), std::slice::from_ref(&not_ready));
    assert_eq!(
        session.results("booking_agent", 0),
        [
            r#"tu_1_0!{"error":"target_not_ready","detail":"policy_agent is not ready: it lacks look","legal":["policy_agent"]}"#
        ]
    );

    // Off between the ruling and the taking: the sender is told, the receiver is never asked.
    let step = relay.start_at("booking_agent", "conv", "hello").unwrap();
    let session = Session::new(&relay, &model)
        .before_take(|step| step.switch_off(name("policy_agent"), tool_name("look")))
        .drive(step)
        .ends(RunEnd::Answered);
    assert_eq!(
        (session.refusals(), session.order().as_str()),
        (vec![not_ready], "booking_agent booking_agent")
    );

    // On again: it is taken. Another tool's absence does not matter.
    let model = script([("booking_agent", hands_to("policy_agent")), ("policy_agent", says("Yes."))]);
    let on = off.switch_on(&name("policy_agent"), &tool_name("look"));
    let on = on
        .switch_off(name("policy_agent"), tool_name("fail"))
        .switch_off(name("booking_agent"), tool_name("look"));
    let session = Session::new(&relay, &model).drive(on).ends(RunEnd::Answered);
    assert_eq!(session.trail(), ["booking_agent -> policy_agent: taken 1"]);
}

/// R17: a call that breaks several guards is told the first, in the order known, self, route, package,
/// ready, cap, pair.
#[test]
fn the_first_guard_in_order_is_the_one_that_is_told() {
    let order = [
        "known",
        "self",
        "route",
        "package",
        "ready",
        "cap",
        "pair",
        "own",
        "approval",
        "one_per_turn",
        "duplicate",
    ];
    assert_eq!(Guard::ALL.map(Guard::as_str), order);
    let first = |cap: u32, is_off: bool, arguments: &str| {
        let relay = Relay::builder()
            .agent(agent("booking_agent"))
            .agent(agent("policy_agent"))
            .agent(agent("pricing_agent"))
            .entry("booking_agent")
            .route_with(Route::new("booking_agent", "policy_agent").requires(["look"]))
            .route("policy_agent", "booking_agent")
            .route("policy_agent", "pricing_agent")
            .guards(Guards::default().max_handoffs(cap).stop_on_any_refusal())
            .build()
            .unwrap();
        // There and back once, so that the pair is used up; then policy may lose its tool.
        let model = script([
            ("booking_agent", hands_to("policy_agent")),
            ("policy_agent", hands_to("booking_agent")),
            ("booking_agent", hands(arguments)),
        ]);
        let session = Session::new(&relay, &model).at_each_step(|step| {
            let is_back = step.run().trail().count() == 2;
            if is_off && is_back { step.switch_off(name("policy_agent"), tool_name("look")) } else { step }
        });
        let session = session.say("hello");
        assert_eq!(session.run().trail().count(), 2, "a refusal changes nothing");
        session.done().end().refusal().map(Refusal::guard)
    };
    // Everything that can be wrong is; what is told is mended, one after the other.
    let unlawful = |name: &str| format!(r#"{{"specialist":"{name}","context":{{"a":1,"a":"\u0000"}}}}"#);
    assert_eq!(first(2, true, &unlawful("nobody")), Some(Guard::Known));
    assert_eq!(first(2, true, &unlawful("booking_agent")), Some(Guard::Myself));
    assert_eq!(first(2, true, &unlawful("pricing_agent")), Some(Guard::Route));
    assert_eq!(first(2, true, &unlawful("policy_agent")), Some(Guard::Package));
    assert_eq!(first(2, true, &to("policy_agent", "t")), Some(Guard::Ready));
    assert_eq!(first(2, false, &to("policy_agent", "t")), Some(Guard::Cap));
    assert_eq!(first(3, false, &to("policy_agent", "t")), Some(Guard::Pair));
}

/// R3: what a model can mend is told to it, a loop ends the run; each can be set otherwise.
#[test]
fn a_refusal_is_told_or_ends_the_run() {
    let after = |guards: &Guards| Guard::ALL.map(|guard| guards.after(guard));
    let (tell, stop) = (OnRefusal::Tell, OnRefusal::Stop);
    let guards = Guards::default();
    assert_eq!(after(&guards), [tell, tell, tell, tell, tell, stop, stop, tell, tell, tell, tell]);
    let loud = Guards::default().on_refusal(Guard::Cap, tell).stop_on_any_refusal();
    assert_eq!(after(&loud), [stop, stop, stop, stop, stop, stop, stop, tell, tell, tell, tell]);

    let refusal = unknown("nobody", None);
    let model = script([("booking_agent", hands_to("nobody")), ("booking_agent", says("Never mind."))]);
    let relay = relay("booking_agent -> policy_agent");
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(
        session.results("booking_agent", 0),
        [
            r#"tu_1_0!{"error":"unknown_specialist","detail":"there is no specialist \"nobody\"; legal: policy_agent","legal":["policy_agent"]}"#
        ]
    );

    let loud = team("booking_agent -> policy_agent").guards(guards.stop_on_any_refusal()).build().unwrap();
    let model = script([("booking_agent", hands_to("nobody")), ("booking_agent", says("Never mind."))]);
    let session = Session::new(&loud, &model)
        .say("hello")
        .ends_leaving(RunEnd::HandoffRefused { refusal }, &[("booking_agent", 2)]);
    assert_eq!(session.done().answer(), None);
    // The sender's conversation is legal: tried again, it goes on from the refusal.
    let session = session.retry().ends(RunEnd::Answered);
    assert_eq!(session.done().answer().as_deref(), Some("Never mind."));
}

/// A told loop lets the model mend it.
#[test]
fn a_cap_and_a_pair_may_be_told_instead() {
    let guards = Guards::default().on_refusal(Guard::Pair, OnRefusal::Tell);
    let relay = team(BACK_AND_FORTH).guards(guards).build().unwrap();
    let model = script([
        ("booking_agent", hands_to("policy_agent")),
        ("policy_agent", hands_to("booking_agent")),
        ("booking_agent", hands_to("policy_agent")),
        ("booking_agent", says("Then I say it myself.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.done().answer().as_deref(), Some("Then I say it myself."));
    assert_eq!(session.trail()[2], "booking_agent -> policy_agent: repeated_pair");
}

/// Two agents that hand to each other without end.
fn endless() -> ScriptedModel {
    let turns = (0..20).flat_map(|_| {
        [("booking_agent", hands_to("policy_agent")), ("policy_agent", hands_to("booking_agent"))]
    });
    script(turns)
}

fn runs(session: &Session<'_>, who: &str) -> usize {
    session.run().trail().taken().filter(|hop| &*hop.to == who).count()
}

/// C35, S0-L06, S0-38, 5.4-L06: refused at the third transfer by the pair check.
#[test]
fn ping_pong_is_refused_at_the_third_transfer() {
    let relay = relay(BACK_AND_FORTH);
    let model = endless();
    let session = Session::new(&relay, &model).say("hello");
    let refusal = Refusal::RepeatedPair {
        from: name("booking_agent"),
        to: name("policy_agent"),
        chain: names(&["booking_agent", "policy_agent", "booking_agent", "policy_agent"]),
    };
    assert_eq!(session.done().end(), &RunEnd::HandoffRefused { refusal: refusal.clone() });
    assert_eq!(
        session.trail(),
        [
            "booking_agent -> policy_agent: taken 1",
            "policy_agent -> booking_agent: taken 2",
            "booking_agent -> policy_agent: repeated_pair",
        ]
    );
    assert_eq!((runs(&session, "policy_agent"), runs(&session, "booking_agent")), (1, 1));
    assert_eq!(
        refusal.to_string(),
        "booking_agent has already handed the turn to policy_agent, a second time is a loop: \
         booking_agent → policy_agent → booking_agent → policy_agent"
    );
    // The whole list of hops is there, with their packages.
    assert!(session.run().trail().hops().iter().all(|hop| hop.package.is_some()));
}

/// S0-L06, 5.4-L06: with the pair check off, refused at the sixth transfer by the cap of five.
#[test]
fn without_the_pair_check_the_cap_refuses_the_sixth() {
    let relay = team(BACK_AND_FORTH).guards(Guards::default().allow_repeated_pairs()).build().unwrap();
    let model = endless();
    let session = Session::new(&relay, &model).say("hello");
    let (a, b) = ("booking_agent", "policy_agent");
    let refusal = Refusal::HandoffLimitExceeded { max: 5, chain: names(&[a, b, a, b, a, b, a]) };
    assert_eq!(session.done().end(), &RunEnd::HopLimit { refusal });
    assert_eq!((session.run().trail().count(), session.run().trail().hops().len()), (5, 6));
    assert_eq!(runs(&session, a) + runs(&session, b), 5);
}

/// C43, R11, T42: a cap of N lets N receivers in, whatever N is, and changes nothing with its refusal.
#[test]
fn a_cap_lets_exactly_as_many_receivers_in() {
    for most in 0..=6 {
        let guards = Guards::default().allow_repeated_pairs().max_handoffs(most);
        let relay = team(BACK_AND_FORTH).guards(guards).build().unwrap();
        let model = endless();
        let session = Session::new(&relay, &model).say("hello");
        let run = session.run();
        assert_eq!((run.trail().count(), run.model_calls()), (most, most + 1));
        let order = ["booking_agent", "policy_agent"].into_iter().cycle().take(most as usize + 1);
        assert_eq!(session.order(), order.collect::<Vec<_>>().join(" "));
        let Some(Refusal::HandoffLimitExceeded { max, chain }) = session.done().end().refusal() else {
            panic!("{:?}", session.done().end())
        };
        assert_eq!((*max, chain.len()), (most, most as usize + 2));
        let active = if most % 2 == 0 { "booking_agent" } else { "policy_agent" };
        assert_eq!(run.active(), &active);
    }
}

/// C44: a circle of three ends at its first repeated pair, and the error names it.
#[test]
fn a_circle_of_three_ends_at_its_second_round() {
    let relay = relay("a -> b, b -> c, c -> a");
    let model =
        script((0..3).flat_map(|_| [("a", hands_to("b")), ("b", hands_to("c")), ("c", hands_to("a"))]));
    let session = Session::new(&relay, &model).say("hello");
    let refusal =
        Refusal::RepeatedPair { from: name("a"), to: name("b"), chain: names(&["a", "b", "c", "a", "b"]) };
    assert_eq!(session.done().end(), &RunEnd::HandoffRefused { refusal });
    assert_eq!(
        session.trail(),
        ["a -> b: taken 1", "b -> c: taken 2", "c -> a: taken 3", "a -> b: repeated_pair"]
    );
}

/// R4, R16, C05: there and back is legal, and who is back has its own closed conversation and the package.
#[test]
fn there_and_back_is_legal() {
    let relay = relay(BACK_AND_FORTH);
    let model = script([
        ("booking_agent", calls([("look", r#"{"word":"Focus"}"#)])),
        ("booking_agent", hands_to("policy_agent")),
        ("policy_agent", hands(to("booking_agent", "Say 6500."))),
        ("booking_agent", says("6500.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(
        session.trail(),
        ["booking_agent -> policy_agent: taken 1", "policy_agent -> booking_agent: taken 2"]
    );
    let package = harness::read(r#"{"task":"Say 6500.","context":{}}"#).to_prompt(&name("policy_agent"));
    let told = format!(
        "user: hello\n\
         assistant: look#tu_1_0{{\"word\":\"Focus\"}}\n\
         user: tu_1_0=\"Focus\"\n\
         assistant: handoff_to_specialist#tu_2_0{{\"specialist\":\"policy_agent\",\"task\":\"Go on.\",\"context\":{{}}}}\n\
         user: tu_2_0={{\"status\":\"handed_over\",\"to\":\"policy_agent\"}} | {package}"
    );
    assert_eq!(story(&session.request("booking_agent", 2).messages), told);
}

/// R13: pair and cap count anew when the user speaks; the conversation's own cap does not.
#[test]
fn counting_starts_anew_when_the_user_speaks() {
    let guards = Guards::default().max_handoffs(2).max_handoffs_per_conversation(3);
    let relay = team(BACK_AND_FORTH).guards(guards).build().unwrap();
    let turns = [
        ("booking_agent", hands_to("policy_agent")),
        ("policy_agent", hands_to("booking_agent")),
        ("booking_agent", says("One.")),
        ("booking_agent", hands_to("policy_agent")),
        ("policy_agent", says("Two.")),
        ("policy_agent", hands_to("booking_agent")),
    ];
    let model = script(turns);
    let session = Session::new(&relay, &model).say("one").say("two");
    assert_eq!(session.done().answer().as_deref(), Some("Two."));
    assert_eq!((session.run().trail().count(), session.run().trail().count_since_user()), (3, 1));
    let session = session.say("three");
    let chain = names(&["policy_agent", "booking_agent"]);
    let end = RunEnd::HopLimit { refusal: Refusal::HandoffLimitExceeded { max: 3, chain } };
    let session = session.ends(end);
    assert_eq!((session.run().trail().count(), session.run().messages()), (3, 3));
}

/// A run that a guard has stopped goes on when the user speaks: the conversation is legal, the count is new.
#[test]
fn a_stopped_run_goes_on_when_the_user_speaks() {
    let relay = relay(BACK_AND_FORTH);
    let model = endless();
    let session = Session::new(&relay, &model).say("one");
    assert!(matches!(session.done().end(), RunEnd::HandoffRefused { .. }));
    let session = session.say("two");
    let repeated = "booking_agent -> policy_agent: repeated_pair";
    assert_eq!(
        session.trail(),
        [
            "booking_agent -> policy_agent: taken 1",
            "policy_agent -> booking_agent: taken 2",
            repeated,
            "booking_agent -> policy_agent: taken 3",
            "policy_agent -> booking_agent: taken 4",
            repeated,
        ]
    );
    let story = session.story("booking_agent");
    assert!(story.contains("\nuser: tu_2_0!{\"error\":\"repeated_pair\""), "{story}");
    assert!(story.contains(" | two\nassistant: "), "{story}");
}

/// R16: an agent that has answered before gets the new package as the next message of its own conversation.
#[test]
fn an_agent_that_answered_before_gets_the_package_as_its_next_message() {
    let relay = team("booking_agent -> policy_agent").entry_policy(EntryPolicy::Entry).build().unwrap();
    let model = script([
        ("booking_agent", hands_to("policy_agent")),
        ("policy_agent", says("6500.")),
        ("booking_agent", hands(to("policy_agent", "And for two?"))),
        ("policy_agent", says("13000.")),
    ]);
    let session = Session::new(&relay, &model).say("one").say("two").ends(RunEnd::Answered);
    let prompt = |task: &str| {
        harness::read(&format!(r#"{{"task":"{task}","context":{{}}}}"#)).to_prompt(&name("booking_agent"))
    };
    let told = format!("user: {}\nassistant: 6500.\nuser: {}", prompt("Go on."), prompt("And for two?"));
    assert_eq!(story(&session.request("policy_agent", 1).messages), told);
    assert_eq!(session.order(), "booking_agent policy_agent booking_agent policy_agent");
}

/// R10: conversations of one relay share nothing.
#[test]
fn conversations_do_not_share_their_counts() {
    let relay = relay(BACK_AND_FORTH);
    let model = script([
        ("booking_agent", hands_to("policy_agent")),
        ("policy_agent", hands_to("booking_agent")),
        ("booking_agent", says("There and back.")),
    ]);
    let one = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered).into_done();
    let two = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered).into_done();
    assert_eq!(one.run(), two.run());
}

/// R15, C50: a model's spelling has one normal form, which must then match exactly.
#[test]
fn a_name_is_tidied_and_must_then_match() {
    let relay = pair();
    for written in [
        "policy_agent",
        " policy_agent ",
        r"policy_agent\n",
        r"\r\n\tpolicy_agent",
        r#"\"policy_agent\""#,
        "'Policy_Agent'",
        "`POLICY_AGENT`",
        "“policy_agent”",
        r#"\"'policy_agent'\" \n"#,
    ] {
        assert_eq!(ruling(&relay, &to(written, "t")), None, "{written}");
    }
}

/// R15, durability T58: the nearest name is told, and never chosen.
#[test]
fn another_name_is_refused_and_the_nearest_told() {
    let relay = pair();
    let long = "p".repeat(1_000);
    let told = format!("{}... (1000 bytes)", "p".repeat(64));
    for (written, name, nearest) in [
        ("policy_agents", "policy_agents", Some("policy_agent")),
        ("policy agent", "policy agent", Some("policy_agent")),
        ("policy-agent", "policy-agent", Some("policy_agent")),
        ("policy", "policy", Some("policy_agent")),
        ("p\u{43e}licy_agent", "p\u{43e}licy_agent", Some("policy_agent")),
        ("\u{ff50}olicy_agent", "\u{ff50}olicy_agent", Some("policy_agent")),
        ("policy_agent\u{200b}", "policy_agent\u{200b}", Some("policy_agent")),
        ("policy_agent.", "policy_agent.", Some("policy_agent")),
        ("", "", None),
        (" \\n ", "", None),
        ("Data Analyst", "data analyst", None),
        (&long, &told, None),
    ] {
        let refusal = Refusal::UnknownSpecialist {
            name: name.to_owned(),
            known: names(&["policy_agent"]),
            nearest_name: nearest.map(harness::name),
        };
        assert_eq!(ruling(&relay, &to(written, "t")), Some(refusal), "{written}");
    }
}

/// C49: agents stand in one table, so the look-up starts nowhere in particular.
#[test]
fn a_declared_receiver_is_found_from_any_agent() {
    let relay = relay("root -> a, root -> b, a -> a1, a1 -> b");
    let model =
        script([("root", hands_to("a")), ("a", hands_to("a1")), ("a1", hands_to("b")), ("b", says("Here."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.trail(), ["root -> a: taken 1", "a -> a1: taken 2", "a1 -> b: taken 3"]);
}

/// C104: the tenth hop carries no more than the first.
#[test]
fn a_package_does_not_grow_from_hop_to_hop() {
    let guards = Guards::default().allow_repeated_pairs().max_handoffs(10);
    let relay = team(BACK_AND_FORTH).guards(guards).build().unwrap();
    let model = endless();
    let session = Session::new(&relay, &model).say("hello");
    let sizes: Vec<usize> = session.run().trail().taken().map(|hop| hop.package_bytes).collect();
    assert_eq!(sizes, [30; 10]);
}

/// R13, S1-16, S1-22: to whom the user's next message goes.
#[test]
fn the_users_next_message_goes_where_the_policy_says() {
    let order = |policy| {
        let relay = team("booking_agent -> policy_agent").entry_policy(policy).build().unwrap();
        let model = script([
            ("booking_agent", hands_to("policy_agent")),
            ("policy_agent", says("One.")),
            ("policy_agent", says("Two.")),
            ("booking_agent", says("Two.")),
        ]);
        let session = Session::new(&relay, &model).say("one").say("two");
        assert_eq!(session.done().answer().as_deref(), Some("Two."));
        (session.order(), session.run().active().to_string())
    };
    let all = |order: &str, active: &str| (order.to_owned(), active.to_owned());
    assert_eq!(order(EntryPolicy::Active), all("booking_agent policy_agent policy_agent", "policy_agent"));
    assert_eq!(order(EntryPolicy::Entry), all("booking_agent policy_agent booking_agent", "booking_agent"));
}

/// A package with a thousand faults is told in a few words; the record has them all.
#[test]
fn many_faults_are_told_in_a_few_words() {
    let relay = pair();
    let numbers = vec!["1"; 900].join(",");
    let arguments =
        format!(r#"{{"specialist":"policy_agent","task":"t","context":{{}},"constraints":[{numbers}]}}"#);
    let Some(refusal @ Refusal::InvalidPackage { .. }) = ruling(&relay, &arguments) else {
        panic!("invalid")
    };
    let Refusal::InvalidPackage { errors } = &refusal else { panic!("invalid") };
    assert_eq!(errors.len(), 900);
    let text = refusal.to_string();
    assert!(text.ends_with("`constraints.7` is a number, must be a string, and 892 more"), "{text}");
    let unknown: Vec<String> = (0..9).map(|n| format!(r#""m{n}":1"#)).collect();
    let arguments =
        format!(r#"{{"specialist":"policy_agent","task":"t","context":{{}},{}}}"#, unknown.join(","));
    assert!(ruling(&relay, &arguments).is_some_and(|refusal| refusal.to_string().ends_with(", and 1 more")));
}

/// The words of every refusal, as a model reads them.
#[test]
fn every_refusal_says_what_and_why() {
    let two = names(&["policy_agent", "pricing_agent"]);
    let texts = [
        (
            unknown("x", Some("policy_agent")),
            "there is no specialist \"x\"; legal: policy_agent; the nearest is policy_agent",
        ),
        (Refusal::SelfHandoff { agent: name("a") }, "a cannot hand the turn to itself"),
        (
            Refusal::NoRoute { from: name("a"), to: name("b"), legal: two.clone() },
            "a has no route to b; legal: policy_agent, pricing_agent",
        ),
        (
            Refusal::HandoffLimitExceeded { max: 5, chain: two.clone() },
            "5 handoff(s) are the most, a further one is not taken: policy_agent → pricing_agent",
        ),
        (
            Refusal::OnePerTurn { taken: "tu_1".to_owned(), to: name("b"), differs: vec!["task".to_owned()] },
            "one handoff a turn: b has the turn by call tu_1; not taken, differs in task",
        ),
        (Refusal::Duplicate { of: "tu_1".to_owned() }, "duplicate of tu_1, which was taken"),
    ];
    for (refusal, text) in texts {
        assert_eq!(refusal.to_string(), text);
    }
}
