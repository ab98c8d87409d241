//! Code of one's own on the way of a package: guards of a receiver, guards of a delegate, and transforms.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{
    Session, agent, calls, hands, name, pair_with, read, ruling, says, script, team, to, tool_name,
};
use sommelier_handoff::{
    Asks, BuildError, Delegate, DelegateRefusal, Field, Guard, HANDOFF_TO_SPECIALIST, HandoffPackage, Judged,
    Link, LinkOutcome, LoadError, PackageError, PackagePolicy, Refusal, Relay, RelayBuilder, Route, RunEnd,
    Section, Step, Trail, Transformed, Verdict,
};
use std::fmt;

/// Refuses what holds the word `secret`, and says how many hops it was told of.
fn no_secrets(package: &HandoffPackage, trail: &Trail) -> Judged {
    Ok(match package.to_json().contains("secret") {
        true => Verdict::Refuse { reason: format!("a secret, after {} hop(s)", trail.count()) },
        false => Verdict::Allow,
    })
}

/// C127, C128: what a receiver will not take it is not given on any route, whoever sends it and wherever in the run: its
/// model is not asked, and the sender is told and keeps the turn.
#[test]
fn a_receivers_guard_is_asked_on_every_route() {
    let relay = team("a -> b, a -> c, c -> b").guard_of("b", "no_secrets", no_secrets).build().unwrap();
    let model = script([
        ("a", hands(to("b", "Keep the secret."))),
        ("a", hands(to("c", "Pass the secret on."))),
        ("c", hands(to("b", "Keep the secret."))),
        ("c", hands(to("b", "Keep quiet."))),
        ("b", says("I do.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.order(), "a a c c b");
    let refused = |reason: &str| Refusal::GuardRefused {
        guard: "no_secrets".into(),
        to: name("b"),
        reason: reason.into(),
    };
    let refusals = [refused("a secret, after 0 hop(s)"), refused("a secret, after 1 hop(s)")];
    assert_eq!(session.refusals(), refusals);
    assert_eq!(
        session.results("a", 0),
        [
            r#"tu_1_0!{"error":"guard_refused","detail":"no_secrets refuses the handoff to b: a secret, after 0 hop(s)"}"#
        ]
    );
}

/// The receiver's guards are asked after those of the route.
#[test]
fn the_guards_of_the_route_are_asked_first() {
    let relay = Relay::builder()
        .agent(agent("a"))
        .agent(agent("b"))
        .entry("a")
        .guard_of("b", "of_b", |_, _| panic!("never asked"))
        .route_with(
            Route::new("a", "b").guard("on_route", |_, _| Ok(Verdict::Refuse { reason: "no".into() })),
        )
        .build()
        .unwrap();
    let model = script([("a", hands(to("b", "Go on."))), ("a", says("Then not."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let (guard, reason) = ("on_route".into(), "no".into());
    assert_eq!(session.refusals(), [Refusal::GuardRefused { guard, to: name("b"), reason }]);
}

/// A supervisor that asks a team of two, at its entry and at its second agent, and one agent alone; each has its guard.
fn guarded_desk() -> Relay {
    let pair = || team("b -> c").guard_of("b", "of_b", no_secrets).guard_of("c", "of_c", no_secrets);
    let alone = Delegate::new("ask_d", agent("d")).guard("of_ask_d", no_secrets);
    Relay::builder()
        .agent(agent("s"))
        .delegate("s", Delegate::team("ask_b", pair().build().unwrap()))
        .delegate("s", Delegate::team("ask_c", pair().build().unwrap()).at("c"))
        .delegate("s", alone)
        .entry("s")
        .build()
        .unwrap()
}

fn ask(tool: &'static str, text: &str) -> (&'static str, String) {
    (tool, harness::question(text))
}

fn refusals(links: &[Link]) -> Vec<DelegateRefusal> {
    let refusals = links.iter().filter_map(|link| match &link.outcome {
        LinkOutcome::Refused { refusal } => Some(refusal.clone()),
        LinkOutcome::Returned { .. } => None,
    });
    refusals.collect()
}

/// C127: an agent that is asked has the guards that it has as a receiver, and a delegate may have its own: a question that
/// one refuses opens no branch. It is on record, and the asker is told by whom and why.
#[test]
fn a_question_is_guarded_as_a_handoff_is() {
    let relay = guarded_desk();
    let asks = |text: &str| calls([ask("ask_b", text), ask("ask_c", text), ask("ask_d", text)]);
    let model = script([
        ("s", asks("What is the secret?")),
        ("s", asks("What time is it?")),
        ("b", says("Six.")),
        ("c", hands(to("b", "t"))),
        ("c", says("Six.")),
        ("d", says("Six.")),
        ("s", says("Six.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.order(), "s s b c c d s");
    let refused = |guard: &str, tool: &str| DelegateRefusal::GuardRefused {
        guard: guard.into(),
        tool: tool_name(tool),
        reason: "a secret, after 0 hop(s)".into(),
    };
    let links = session.run().links();
    assert_eq!(
        refusals(links),
        [refused("of_b", "ask_b"), refused("of_c", "ask_c"), refused("of_ask_d", "ask_d")]
    );
    assert!(links[..3].iter().all(|link| link.package == Some(read(SECRET))), "the question is on record");
    assert_eq!(
        session.results("s", 0)[2],
        r#"tu_1_2!{"error":"guard_refused","detail":"of_ask_d refuses the question to ask_d: a secret, after 0 hop(s)"}"#
    );
}

const SECRET: &str = r#"{"task":"What is the secret?","context":{}}"#;

/// C127: the guards of a delegate see the hops of the run that asks. Those of the agent that is asked do not: its own run
/// has had none.
#[test]
fn a_delegates_guard_sees_the_askers_hops() {
    let inner = Relay::builder().agent(agent("d")).entry("d").guard_of("d", "of_d", no_secrets);
    let asked = Delegate::team("ask_d", inner.build().unwrap());
    let other = Delegate::new("ask_e", agent("e")).guard("of_ask_e", no_secrets);
    let relay = team("a -> b").delegate("b", asked).delegate("b", other).build().unwrap();
    let model = script([
        ("a", hands(to("b", "Go on."))),
        ("b", calls([ask("ask_d", "The secret?"), ask("ask_e", "The secret?")])),
        ("b", says("Nobody tells.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let told: Vec<String> = refusals(session.run().links()).iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "of_d refuses the question to ask_d: a secret, after 0 hop(s)",
            "of_ask_e refuses the question to ask_e: a secret, after 1 hop(s)"
        ]
    );
}

/// C22, C127: a guard that fails has allowed nothing, and what went wrong is kept as its own fault.
#[test]
fn a_guard_that_fails_lets_no_question_out() {
    let fails: fn(&HandoffPackage, &Trail) -> Judged = |_, _| Err(fmt::Error.into());
    let breaks: fn(&HandoffPackage, &Trail) -> Judged = |_, _| panic!("broken");
    for (check, cause) in [(fails, fmt::Error.to_string()), (breaks, "it panicked".to_owned())] {
        let asked = Delegate::new("ask_d", agent("d")).guard("debtors", check);
        let relay = Relay::builder().agent(agent("s")).delegate("s", asked).entry("s").build().unwrap();
        let model = script([("s", calls([ask("ask_d", "Well?")])), ("s", says("Nobody."))]);
        let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
        let (guard, tool) = ("debtors".into(), tool_name("ask_d"));
        let failed = DelegateRefusal::GuardFailed { guard, tool, causes: vec![cause] };
        assert_eq!(refusals(session.run().links()), std::slice::from_ref(&failed));
        assert_eq!(failed.code(), "guard_failed");
    }
}

/// What code of one's own says of its failure is for whoever runs the relay, and stands in the refusal: no model reads it,
/// neither that of an asker, which does not see the inside, nor that of a sender.
#[test]
fn no_model_reads_why_code_has_failed() {
    let secret = || Box::<dyn std::error::Error + Send + Sync>::from("postgres://root:hunter2@10.0.0.5");
    let told = |session: Session<'_>, inside: &str| {
        assert!(inside.contains("hunter2"), "the record has it: {inside}");
        session.results("s", 0).remove(0)
    };
    let asked = |inside: RelayBuilder, outside: RelayBuilder| {
        let inside = inside.agent(agent("x")).entry("x").build().unwrap();
        let relay = outside
            .agent(agent("s"))
            .delegate("s", Delegate::team("ask_x", inside))
            .entry("s")
            .build()
            .unwrap();
        let model = script([("s", calls([ask("ask_x", "Well?")])), ("s", says("Nobody."))]);
        let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
        let inside = refusals(session.run().links())[0].to_string();
        told(session, &inside)
    };
    let handed = |route: Route| {
        let relay = Relay::builder()
            .agent(agent("s"))
            .agent(agent("x"))
            .entry("s")
            .route_with(route)
            .build()
            .unwrap();
        let model = script([("s", hands(to("x", "Go on."))), ("s", says("Nobody."))]);
        let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
        let inside = session.refusals()[0].to_string();
        told(session, &inside)
    };
    assert_eq!(
        [
            asked(Relay::builder().guard_of("x", "ledger", move |_, _| Err(secret())), Relay::builder()),
            asked(Relay::builder(), Relay::builder().transform("masked", move |_| Err(secret()))),
            handed(Route::new("s", "x").guard("ledger", move |_, _| Err(secret()))),
            handed(Route::new("s", "x").transform("masked", move |_| Err(secret()))),
        ],
        [
            r#"tu_1_0!{"error":"guard_failed","detail":"ledger could not judge the question to ask_x"}"#,
            r#"tu_1_0!{"error":"transform_failed","detail":"masked could not change the question"}"#,
            r#"tu_1_0!{"error":"guard_failed","detail":"ledger could not judge the handoff to x"}"#,
            r#"tu_1_0!{"error":"transform_failed","detail":"masked could not change the package"}"#,
        ]
    );
}

/// An error that breaks down when it is told, and a panic that brings something which breaks down when it is dropped: the
/// guard has failed, and the run goes on.
#[test]
fn code_may_break_down_while_it_fails() {
    #[derive(Debug)]
    struct Untold;
    impl fmt::Display for Untold {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("told")
        }
    }
    impl std::error::Error for Untold {}
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "dropped");
        }
    }
    let untold: fn(&HandoffPackage, &Trail) -> Judged = |_, _| Err(Untold.into());
    let bomb: fn(&HandoffPackage, &Trail) -> Judged = |_, _| std::panic::panic_any(Bomb);
    for check in [untold, bomb] {
        let relay = team("a -> b").guard_of("b", "ours", check).build().unwrap();
        let model = script([("a", hands(to("b", "Go on."))), ("a", says("Then not."))]);
        let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
        let failed = Refusal::GuardFailed {
            guard: "ours".into(),
            to: name("b"),
            causes: vec!["it panicked".to_owned()],
        };
        assert_eq!(session.refusals(), [failed]);
    }
}

/// The words of the user are no package: whoever begins the run at an agent has them in hand.
#[test]
fn the_users_words_pass_by_the_guards() {
    let relay = team("a -> b").guard_of("a", "no_secrets", no_secrets).build().unwrap();
    let model = script([("a", says("I keep it."))]);
    drop(Session::new(&relay, &model).say("The secret is six.").ends(RunEnd::Answered));
}

/// A question that was changed while it was saved passes the guards when it is loaded, too.
#[test]
fn a_saved_question_is_held_against_the_guards() {
    let relay = guarded_desk();
    let model = script([
        ("s", calls([ask("ask_d", "What is the sister?")])),
        ("d", says("Six.")),
        ("s", says("Six.")),
    ]);
    let mut saved = Vec::new();
    let session = Session::new(&relay, &model).at_each_step(|step| {
        if let Step::Delegate(_) = step {
            saved.push(step.save().unwrap());
        }
        step
    });
    drop(session.say("hello").ends(RunEnd::Answered));
    let why = LoadError::NotAStep("a branch is not the one that its call asks for".to_owned());
    assert!(relay.load(&saved[0]).is_ok());
    assert_eq!(relay.load(&saved[0].replace("sister", "secret")), Err(why));
}

/// A guard of a receiver that is not there is told when the relay is built.
#[test]
fn a_guard_of_nobody_is_told_at_build() {
    let errors = team("a -> b").guard_of("c", "no_secrets", no_secrets).build().unwrap_err();
    assert_eq!(errors.0, [BuildError::GuardOfNobody { receiver: "c".into() }]);
    assert_eq!(errors.to_string(), "a guard is for c, which is not there");
}

const CARD: &str = "4111111111111111";

/// The package with the card's number masked.
fn masked(package: HandoffPackage) -> Transformed {
    let text = package.to_json().replace(CARD, "****");
    HandoffPackage::read(&text).map_err(|errors| errors[0].clone().into())
}

/// The arguments of a handoff with the card in the task, as a value, as an artifact and as a constraint.
fn with_card(specialist: &str) -> String {
    format!(
        r#"{{"specialist":"{specialist}","task":"Charge {CARD}.","context":{{"card":"{CARD}"}},"constraints":["only {CARD}"],"artifacts":{{"slip":{{"no":["{CARD}"]}}}}}}"#
    )
}

/// C130: what code changes in a package is changed before anybody sees it: the person who is asked, the guards, the
/// receiver, the record, its bytes. The user's words that go along are changed too. Only the sender's own conversation has
/// what its model wrote.
#[test]
fn a_transform_stands_before_all_that_is_done_with_a_package() {
    let relay = Relay::builder()
        .agent(agent("a"))
        .agent(agent("b"))
        .entry("a")
        .transform("masked", masked)
        .guard_of("b", "sees_no_card", |package, _| {
            assert!(!package.to_json().contains(CARD), "{package:?}");
            Ok(Verdict::Allow)
        })
        .route_with(Route::new("a", "b").with_user_words().needs_approval())
        .build()
        .unwrap();
    let model = script([("a", hands(with_card("b"))), ("b", says("Charged."))]);
    let session = Session::new(&relay, &model).say(&format!("My card is {CARD}."));
    let crosses = read(
        r#"{"task":"Charge ****.","context":{"card":"****"},"constraints":["only ****"],"artifacts":{"slip":{"no":["****"]},"user_words":"My card is ****."}}"#,
    );
    let asked = session.questions()[0].1.asks.clone();
    let package = Box::new(crosses.clone());
    assert_eq!(asked, Asks::Handoff { call_id: "tu_1_0".into(), to: name("b"), package });
    let session = session.approve("conv/1/1/0").ends(RunEnd::Answered);
    let hop = &session.run().trail().hops()[0];
    assert_eq!((hop.package.as_ref(), hop.package_bytes), (Some(&crosses), crosses.to_json().len()));
    assert_eq!(session.run().constraints(), ["only ****".into()]);
    assert_eq!(session.story("b"), format!("user: {}\nassistant: Charged.", crosses.to_prompt(&name("a"))));
    assert!(session.story("a").contains(CARD), "the sender's own words are its own");
}

/// C130: a package that is refused is on record as it would have crossed, whichever guard refuses it.
#[test]
fn what_was_refused_is_on_record_after_the_transforms() {
    let relay = team("a -> b, b -> c")
        .agent(agent("d"))
        .transform("masked", masked)
        .route_with(
            Route::new("a", "d")
                .field(Field::text("name", "who"))
                .transform("first", |package| Ok(package.completed_step("first"))),
        )
        .guard_of("b", "never", |_, _| Ok(Verdict::Refuse { reason: "never".into() }))
        .build()
        .unwrap();
    let turns = ["nobody", "a", "c", "d", "b"].map(|receiver| ("a", hands(with_card(receiver))));
    let model = script(turns.into_iter().chain([("a", says("Nobody takes it."))]));
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let guards: Vec<Guard> = session.refusals().iter().map(Refusal::guard).collect();
    assert_eq!(guards, [Guard::Known, Guard::Myself, Guard::Route, Guard::Package, Guard::Own]);
    let crosses = r#"{"task":"Charge ****.","context":{"card":"****"},"constraints":["only ****"],"artifacts":{"slip":{"no":["****"]}}}"#;
    let on_record: Vec<String> =
        session.run().trail().hops().iter().map(|hop| hop.package.as_ref().unwrap().to_json()).collect();
    let first = crosses.replace(r#","artifacts"#, r#","completed_steps":["first"],"artifacts"#);
    assert_eq!(on_record, [crosses, crosses, crosses, &first, crosses]);
}

/// C130, C22: a transform that fails, breaks down or makes what breaks the law lets nothing through. The refusal names it
/// as the one at fault, the package is not on record, and the sender goes on.
#[test]
fn a_transform_that_fails_lets_nothing_through() {
    let fails: fn(HandoffPackage) -> Transformed = |_| Err(fmt::Error.into());
    let breaks: fn(HandoffPackage) -> Transformed = |_| panic!("broken");
    let unlawful: fn(HandoffPackage) -> Transformed = |package| Ok(package.open_item("a\u{202e}b"));
    let cases = [
        (fails, fmt::Error.to_string()),
        (breaks, "it panicked".to_owned()),
        (unlawful, "`open_items.0` holds the character U+202E, which is not allowed".to_owned()),
    ];
    for (change, cause) in cases {
        for is_of_relay in [true, false] {
            let route = Route::new("a", "b");
            let builder = Relay::builder()
                .agent(agent("a"))
                .agent(agent("b"))
                .delegate("a", Delegate::new("ask_c", agent("c")))
                .entry("a");
            let relay = match is_of_relay {
                true => builder.route_with(route).transform("ours", change),
                false => builder.route_with(route.transform("ours", change)),
            };
            let relay = relay.build().unwrap();
            let model = script([("a", hands(with_card("b"))), ("a", says("Then not."))]);
            let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
            let failed = Refusal::TransformFailed { transform: "ours".into(), causes: vec![cause.clone()] };
            assert_eq!((failed.guard(), failed.code()), (Guard::Own, "transform_failed"));
            assert_eq!(session.refusals(), [failed]);
            let hop = &session.run().trail().hops()[0];
            assert_eq!((&hop.package, hop.package_bytes), (&None, 0));
            if !is_of_relay {
                continue;
            }
            let model = script([("a", calls([ask("ask_c", "Well?")])), ("a", says("Nobody."))]);
            let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
            let failed =
                DelegateRefusal::TransformFailed { transform: "ours".into(), causes: vec![cause.clone()] };
            assert_eq!(refusals(session.run().links()), [failed]);
            assert_eq!(session.run().links()[0].package, None);
        }
    }
}

/// C130: the policy is asked of what crosses: a package that a transform has made small enough passes, and one that lacks
/// what the route wants, or has become too large, is refused with the path.
#[test]
fn the_policy_is_asked_of_what_crosses() {
    let small = |most| PackagePolicy::minimal().package_bytes(most);
    let arguments = to("policy_agent", &format!("Charge {CARD}."));
    let bytes = read(r#"{"task":"Charge ****.","context":{}}"#).bytes();
    let masks = |most| pair_with(|route| route.policy(small(most)).transform("masked", masked));
    assert_eq!(ruling(&masks(bytes), &arguments), None);
    let over = |found, most| Refusal::InvalidPackage {
        errors: vec![PackageError::OverCap { cap: "bytes of the package".into(), found, most }],
    };
    assert_eq!(ruling(&masks(bytes - 1), &arguments), Some(over(bytes, bytes - 1)));

    let bare = pair_with(|route| {
        let route = route.policy(PackagePolicy::minimal().require(Section::Context));
        route.transform("bare", |package| Ok(HandoffPackage::new(package.task())))
    });
    let errors = vec![PackageError::Missing { field: "context".into() }];
    assert_eq!(ruling(&bare, &with_card("policy_agent")), Some(Refusal::InvalidPackage { errors }));
}

/// The transforms of a route come first and those of the relay last: nothing that one adds passes the other by.
#[test]
fn the_transforms_of_the_relay_come_last() {
    let route = Route::new("a", "b").transform("adds", |package| Ok(package.open_item(CARD)));
    let builder = Relay::builder().agent(agent("a")).agent(agent("b")).entry("a").route_with(route);
    let relay = builder.transform("masked", masked).build().unwrap();
    let model = script([("a", hands(to("b", "Go on."))), ("b", says("Well."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let crossed = read(r#"{"task":"Go on.","context":{},"open_items":["****"]}"#);
    assert_eq!(session.run().trail().hops()[0].package, Some(crossed));
}

/// C130, C98: a constraint that was masked binds as that and travels on once, though the next sender writes the number
/// again. A turn that is handed back brings the masked package as the result.
#[test]
fn what_is_carried_or_handed_back_is_masked() {
    let relay = Relay::builder()
        .agent(agent("a"))
        .agent(agent("b"))
        .entry("a")
        .route_with(Route::new("a", "b").returns())
        .route("b", "a")
        .transform("masked", masked)
        .build()
        .unwrap();
    let model = script([("a", hands(with_card("b"))), ("b", hands(with_card("a"))), ("a", says("Done."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.run().constraints(), ["only ****".into()]);
    let result = &session.results("a", 0)[0];
    assert!(result.contains("Charge ****.") && !result.contains(CARD), "{result}");
}

/// C130: a question to a delegate is a package too: the branch reads, and the record has, what the relay's transforms made
/// of it. A route's are for that route alone.
#[test]
fn a_question_passes_the_transforms_of_its_relay() {
    let relay = Relay::builder()
        .agent(agent("a"))
        .agent(agent("b"))
        .delegate("a", Delegate::new("ask_c", agent("c")))
        .entry("a")
        .route_with(Route::new("a", "b").transform("never", |_| panic!("no route is taken")))
        .transform("masked", masked)
        .build()
        .unwrap();
    let arguments = format!(r#"{{"question":"Whose is {CARD}?","context":{{"card":"{CARD}"}}}}"#);
    let model = script([("a", calls([("ask_c", arguments)])), ("c", says("Ada's.")), ("a", says("Ada's."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let asked = read(r#"{"task":"Whose is ****?","context":{"card":"****"}}"#);
    let link = &session.run().links()[0];
    assert_eq!((link.package.as_ref(), link.package_bytes), (Some(&asked), asked.bytes()));
    let heard = session.request("c", 0).messages[0].texts().collect::<String>();
    assert_eq!(heard, asked.to_question(&name("a")));
}

/// A saved handoff is held against the transforms, as against the guards: one that crosses unmasked is none of ours.
#[test]
fn a_saved_handoff_is_held_against_the_transforms() {
    let relay = team("a -> b").transform("masked", masked).build().unwrap();
    let model = script([("a", hands(to("b", &format!("Charge {CARD}.")))), ("b", says("Charged."))]);
    let mut saved = String::new();
    let session = Session::new(&relay, &model).before_take(|step| {
        saved = step.save().unwrap();
        step
    });
    drop(session.say("hello").ends(RunEnd::Answered));
    assert!(relay.load(&saved).is_ok());
    let why = LoadError::NotAStep("the handoff is not the one that its call asks for".to_owned());
    // Of one length, so that all the counts agree.
    assert_eq!(relay.load(&saved.replace("****", "4111")), Err(why));
}

/// Code of one's own is part of the definition, by its name and by where it stands.
#[test]
fn code_of_ones_own_is_part_of_the_definition() {
    let allow: fn(&HandoffPackage, &Trail) -> Judged = |_, _| Ok(Verdict::Allow);
    let keep: fn(HandoffPackage) -> Transformed = Ok;
    let with = |change: &dyn Fn(RelayBuilder) -> RelayBuilder| {
        let builder = Relay::builder().agent(agent("a")).agent(agent("b")).entry("a");
        change(builder).build().unwrap().fingerprint()
    };
    let route = || Route::new("a", "b");
    let asks = || Delegate::new("ask_c", agent("c"));
    let prints = [
        with(&|relay| relay.route_with(route())),
        with(&|relay| relay.route_with(route()).guard_of("b", "x", allow)),
        with(&|relay| relay.route_with(route()).guard_of("b", "y", allow)),
        with(&|relay| relay.route_with(route()).guard_of("a", "x", allow)),
        with(&|relay| relay.route_with(route().guard("x", allow))),
        with(&|relay| relay.route_with(route()).transform("x", keep)),
        with(&|relay| relay.route_with(route()).transform("y", keep)),
        with(&|relay| relay.route_with(route().transform("x", keep))),
        with(&|relay| relay.route_with(route()).delegate("a", asks())),
        with(&|relay| relay.route_with(route()).delegate("a", asks().guard("x", allow))),
    ];
    let distinct: std::collections::BTreeSet<u64> = prints.into_iter().collect();
    assert_eq!(distinct.len(), prints.len());
}

/// The first handoff of a reply that is fit is taken: one that a receiver's guard refuses leaves the next its chance.
#[test]
fn a_guarded_receiver_leaves_the_next_its_chance() {
    let relay = team("a -> b, a -> c").guard_of("b", "no_secrets", no_secrets).build().unwrap();
    let both = calls([
        (HANDOFF_TO_SPECIALIST, to("b", "The secret.")),
        (HANDOFF_TO_SPECIALIST, to("c", "The secret.")),
    ]);
    let model = script([("a", both), ("c", says("Kept."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.trail(), ["a -> b: guard_refused", "a -> c: taken 1"]);
}
