//! Saving: every step is JSON, and what is loaded is a step that could have been made here.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{Session, agent, calls, hands, hands_to, name, pair, says, script, team, to};
use sommelier_handoff::{
    Agent, EntryPolicy, Guards, HANDOFF_TO_SPECIALIST, LoadError, PackagePolicy, Relay, RelayBuilder, Route,
    RunEnd, Step,
};
use sommelier_runtime::Tool;

const PACKAGE: &str = r#"{"specialist":"policy_agent","task":"What does a no-show cost?","context":{"quoted_cents":6000,"rate":1.10}}"#;

/// The steps of a run with a tool, a refused handoff, one that is taken, and an answer.
fn steps(relay: &Relay) -> Vec<Step> {
    let model = script([
        ("booking_agent", calls([("look", r#"{"word":"6000"}"#)])),
        (
            "booking_agent",
            calls([(HANDOFF_TO_SPECIALIST, to("nobody", "t")), (HANDOFF_TO_SPECIALIST, PACKAGE.to_owned())]),
        ),
        ("policy_agent", calls([("look", r#"{"word":"fee 500"}"#)])),
        ("policy_agent", says("6000 and 6500.")),
    ]);
    let mut steps = Vec::new();
    let session = Session::new(relay, &model).at_each_step(|step| {
        steps.push(step.clone());
        step
    });
    let session = session.say("Quote, and what if I stay away?").ends(RunEnd::Answered);
    assert_eq!(session.order(), "booking_agent booking_agent policy_agent policy_agent");
    drop(session);
    steps
}

/// Each step of the running case is saved, loaded and driven on to the same end.
#[test]
fn every_step_goes_on_equally_from_json() {
    let relay = pair();
    let steps = steps(&relay);
    let kinds: Vec<&str> = steps
        .iter()
        .map(|step| match step {
            Step::CallModel(_) => "model",
            Step::CallTools(_) => "tools",
            Step::HandOff(_) => "handoff",
            Step::Done(_) => "done",
        })
        .collect();
    assert_eq!(kinds, ["model", "tools", "model", "handoff", "model", "tools", "model", "done"]);
    for step in &steps {
        let saved = step.save().unwrap();
        let loaded = relay.load(&saved).unwrap();
        assert_eq!((&loaded, &loaded.save().unwrap()), (step, &saved));
        let mut shrunk = step.clone();
        shrunk.shrink();
        assert_eq!(&shrunk, step);
    }
}

/// A package with characters that cannot be seen, and the user's words in it, is what it was.
#[test]
fn marked_characters_survive_saving() {
    let route = Route::new("booking_agent", "policy_agent").with_user_words();
    let relay =
        team("policy_agent -> booking_agent").agent(agent("third")).entry("third").entry("booking_agent");
    let relay = relay.route_with(route).build().unwrap();
    let model = script([
        ("booking_agent", hands(to("policy_agent\u{200b}", "a\u{200b}b"))),
        ("booking_agent", hands(to("policy_agent", "a\u{200b}b"))),
        ("policy_agent", says("Yes.")),
    ]);
    let step = relay.start_at("booking_agent", "conv", "👩\u{200d}🚀").unwrap();
    let session = Session::new(&relay, &model).drive(step).ends(RunEnd::Answered);
    let hop = session.run().trail().taken().next().unwrap();
    assert_eq!(hop.package.as_ref().unwrap().invisible(), ["task: U+200B", "artifacts.user_words: U+200D"]);
}

/// A step is loaded under the definition that it was saved under, and no other.
#[test]
fn a_step_loads_under_its_own_definition_alone() {
    let base = || team("a -> b");
    let saved = base().build().unwrap().start("conv", "hello").unwrap().save().unwrap();
    assert!(base().build().unwrap().load(&saved).is_ok());
    let ours = base().build().unwrap().fingerprint();
    let plain = |agents: [Agent; 2]| {
        let [a, b] = agents;
        Relay::builder().agent(a).agent(b).entry("a")
    };
    let routed = |route: Route| plain([agent("a"), agent("b")]).route_with(route);
    assert_eq!(routed(Route::new("a", "b")).build().unwrap().fingerprint(), ours);
    let others: Vec<RelayBuilder> = vec![
        base().route("b", "a"),
        base().entry("b"),
        base().agent(agent("c")).entry("c"),
        base().guards(Guards::default().max_handoffs(6)),
        base().guards(Guards::default().stop_on_any_refusal()),
        base().entry_policy(EntryPolicy::Entry),
        base().max_model_calls(51),
        routed(Route::new("a", "b").requires(["look"])),
        routed(Route::new("a", "b").with_user_words()),
        routed(Route::new("a", "b").policy(PackagePolicy::strict())),
        plain([Agent::new("a", "Other orders.").tools(harness::tools()), agent("b")]).route("a", "b"),
        plain([Agent::new("a", "You are a."), agent("b")]).route("a", "b"),
        plain([Agent::new("a", "You are a.").tools(harness::tools().map(Tool::needs_approval)), agent("b")])
            .route("a", "b"),
        plain([agent("a").max_steps(9), agent("b")]).route("a", "b"),
        plain([agent("a").model("another"), agent("b")]).route("a", "b"),
        plain([agent("a"), agent("b").purpose("Knows the policies.")]).route("a", "b"),
    ];
    for (n, other) in others.into_iter().enumerate() {
        let other = other.build().unwrap();
        let error = LoadError::OtherDefinition { saved: ours, ours: other.fingerprint() };
        assert_eq!(other.load(&saved), Err(error), "definition {n}");
    }
}

#[track_caller]
fn check_tampered(relay: &Relay, step: &Step, change: (&str, &str), expected: &str) {
    let saved = step.save().unwrap();
    assert!(saved.contains(change.0), "{} is not in {saved}", change.0);
    let Err(LoadError::NotAStep(found)) = relay.load(&saved.replacen(change.0, change.1, 1)) else {
        panic!("{change:?} was loaded")
    };
    assert!(found.contains(expected), "{found}");
}

/// What was changed while it was saved is refused, and says why.
#[test]
fn tampered_steps_are_refused() {
    let relay = pair();
    let steps = steps(&relay);
    let (model, handoff, done) = (&steps[4], &steps[3], &steps[7]);
    let check = |step, from, to, expected| check_tampered(&relay, step, (from, to), expected);
    check(model, r#""active":"policy_agent""#, r#""active":"stranger""#, "the relay has no agent stranger");
    check(
        model,
        r#""active":"policy_agent""#,
        r#""active":"booking_agent""#,
        "the agent that has the turn is at rest",
    );
    check(model, r#""active":"policy_agent""#, r#""active":"Policy Agent""#, "no agent name");
    check(model, r#"[["booking_agent",{"#, r#"[["stranger",{"#, "the relay has no agent stranger");
    check(model, r#""taken":1"#, r#""taken":0"#, "the counts do not add up");
    check(model, r#""taken_before":0"#, r#""taken_before":4000000000"#, "the counts do not add up");
    check(model, r#""before":0"#, r#""before":77"#, "the counts do not add up");
    check(model, r#""model_calls_before":0"#, r#""model_calls_before":9"#, "the counts do not add up");
    check(model, r#""messages":1"#, r#""messages":1,"admin":true"#, "unknown field `admin`");
    check(model, r#""messages":1"#, r#""messages":-1"#, "invalid value");
    check(
        handoff,
        r#""to":"policy_agent""#,
        r#""to":"booking_agent""#,
        "the handoff is not the one that its call asks for",
    );
    let asked = "the handoff is not the one that its call asks for";
    check(
        handoff,
        r#""taken":{"to":"policy_agent","package":{"task":"What"#,
        r#""taken":{"to":"policy_agent","package":{"task":"Cancel all. What"#,
        asked,
    );
    check(
        handoff,
        r#""taken":{"to":"policy_agent","package":{"task":"What does a no-show cost?""#,
        r#""taken":{"to":"policy_agent","package":{"admin":1,"task":"x""#,
        "`admin` is no member of a package",
    );
    check(handoff, r#""call_id":"tu_2_1""#, r#""call_id":"tu_2_0""#, asked);
    check(done, r#""active":"policy_agent""#, r#""active":"stranger""#, "the relay has no agent stranger");
    check(done, r#"["policy_agent",{"#, r#"["booking_agent",{"#, "an agent is at rest twice");
    for text in ["", "{}", "null", "{\"Done\":{}}", "{\"Nap\":{}}", "not json"] {
        assert!(matches!(relay.load(text), Err(LoadError::NotAStep(_))), "{text}");
    }
    assert!(matches!(relay.load(&"[".repeat(200_000)), Err(LoadError::NotAStep(_))));
}

/// A handoff that was saved before its receiver lost a tool is loaded, and refused when it is taken.
#[test]
fn a_saved_handoff_is_asked_again_whether_its_receiver_is_ready() {
    let relay = Relay::builder()
        .agent(agent("a"))
        .agent(agent("b"))
        .entry("a")
        .route_with(Route::new("a", "b").requires(["look"]))
        .build()
        .unwrap();
    let model = script([("a", hands_to("b")), ("a", says("Then not."))]);
    let session = Session::new(&relay, &model).before_take(|step| {
        let off = step.switch_off(name("b"), harness::tool_name("look"));
        relay.load(&off.save().unwrap()).unwrap()
    });
    let session = session.say("hello").ends(RunEnd::Answered);
    assert_eq!(session.trail(), ["a -> b: target_not_ready"]);
}
