//! Saving: every step is JSON, and what is loaded is a step that could have been made here.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{Session, agent, calls, hands, hands_to, name, pair, says, script, team, to};
use sommelier_handoff::{
    Agent, Budget, EntryPolicy, Guards, HANDOFF_TO_SPECIALIST, LoadError, PackagePolicy, Relay, RelayBuilder,
    Route, RunEnd, Step,
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
            Step::AskHuman(_) => "human",
            Step::Delegate(_) => "delegate",
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
        base().budget(Budget::new(50).tool_calls(50)),
        base().budget(Budget::new(50).tokens(50)),
        base().budget(Budget::new(50).hops(50)),
        base().budget(Budget::new(50).millis(50)),
        base().max_branches(50),
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
        "the agent that has the turn is not the one that got it",
    );
    check(model, r#""active":"policy_agent""#, r#""active":"Policy Agent""#, "no agent name");
    check(model, r#"[["booking_agent",{"#, r#"[["stranger",{"#, "the relay has no agent stranger");
    check(model, r#""taken":1"#, r#""taken":0"#, "the counts do not add up");
    check(model, r#""taken_before":0"#, r#""taken_before":4000000000"#, "the counts do not add up");
    check(model, r#""before":0"#, r#""before":77"#, "the counts do not add up");
    check(model, r#""left":48"#, r#""left":51"#, "the counts do not add up");
    check(model, r#""left":48"#, r#""left":0"#, "the counts do not add up");
    check(model, r#""left":48"#, r#""left":40"#, "the counts do not add up");
    check(model, r#""allowance":50"#, r#""allowance":90"#, "the counts do not add up");
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

/// Counts at their end are refused, and no count overflows.
#[test]
fn counts_that_no_run_reaches_are_not_loaded() {
    let relay = pair();
    for step in steps(&relay) {
        let saved = step.save().unwrap();
        let mut tried = 0;
        for name in ["messages", "model_calls", "tool_calls", "taken", "replies", "steps", "number"] {
            let key = format!("\"{name}\":");
            for (at, _) in saved.match_indices(&key) {
                let rest = &saved[at + key.len()..];
                let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap();
                if end == 0 {
                    continue;
                }
                let tampered = format!("{}{}{}", &saved[..at + key.len()], u32::MAX, &rest[end..]);
                assert!(relay.load(&tampered).is_err(), "{name} at {at} of {saved}");
                tried += 1;
            }
        }
        assert!(tried >= 6, "{saved}");
    }
}

/// Who has the turn and who is at rest follow from the hops.
#[test]
fn who_has_the_turn_follows_from_the_hops() {
    let relay = pair();
    let steps = steps(&relay);
    let (asked, handoff, received) = (&steps[0], &steps[3], &steps[4]);
    let check = |step, from, to, expected| check_tampered(&relay, step, (from, to), expected);
    // Where the run began nobody can tell before the first hop; after it, no other agent has the turn.
    let elsewhere =
        asked.save().unwrap().replace(r#""active":"booking_agent""#, r#""active":"policy_agent""#);
    assert!(relay.load(&elsewhere).is_ok());
    let got = "the agent that has the turn is not the one that got it";
    check(handoff, r#""active":"booking_agent""#, r#""active":"policy_agent""#, got);
    // An agent that never gave the turn away is not at rest, and one that did is.
    let saved = received.save().unwrap();
    let (begin, end) = (saved.find(r#""idle":["#).unwrap(), saved.find(r#","trail""#).unwrap());
    let idle = &saved[begin..end];
    let at_rest = "the agents at rest are not those that gave the turn away";
    check(received, idle, r#""idle":[]"#, at_rest);
    let strange = idle.replace("booking_agent\",{", "policy_agent\",{");
    check(received, idle, &strange, at_rest);
    // A hop begins where the one before it ended, and goes along a route.
    let taken = r#""from":"booking_agent","to":"policy_agent""#;
    check(received, taken, r#""from":"policy_agent","to":"booking_agent""#, "a hop begins at an agent");
    check(received, taken, r#""from":"booking_agent","to":"booking_agent""#, "where there is no route");
    check(
        received,
        r#""from":"booking_agent","to":"nobody""#,
        r#""from":"policy_agent","to":"nobody""#,
        "a hop begins",
    );
}

/// A hop belongs to its message and its model call, and says the sizes and the number that it had.
#[test]
fn hops_are_those_of_their_place() {
    let relay = pair();
    let steps = steps(&relay);
    let check = |from, to, expected| check_tampered(&relay, &steps[4], (from, to), expected);
    let counts = "the counts do not add up";
    check(r#""id":"conv/1/2/0""#, r#""id":"conv/1/2""#, "a hop has an id that is not its own");
    check(r#""id":"conv/1/2/0""#, r#""id":"other/1/2/0""#, "a hop has an id that is not its own");
    check(r#""id":"conv/1/2/0""#, r#""id":"conv/1/2/1""#, "in the order in which they were made");
    check(r#""id":"conv/1/2/0""#, r#""id":"conv/1/3/0""#, "in the order in which they were made");
    check(r#""id":"conv/1/2/1""#, r#""id":"conv/1/1/1""#, "in the order in which they were made");
    check(r#""id":"conv/1/2/1""#, r#""id":"conv/1/7/1""#, "in the order in which they were made");
    check(r#""id":"conv/1/2/1""#, r#""id":"conv/2/2/1""#, "in the order in which they were made");
    check(r#""before":0"#, r#""before":1"#, "in the order in which they were made");
    check(r#""before":0"#, r#""before":2"#, counts);
    check(r#""number":1"#, r#""number":2"#, counts);
    check(r#""package_bytes":25"#, r#""package_bytes":7"#, counts);
    check(r#""messages":1"#, r#""messages":0"#, counts);
    check(r#""model_calls":2"#, r#""model_calls":3"#, counts);
    check(r#""replies":2"#, r#""replies":1"#, "the turn's counts do not add up");
}

/// A handoff that waits says of itself what follows from the call, and has an answer for each.
#[test]
fn a_handoff_that_waits_is_the_one_that_was_ruled() {
    let relay = pair();
    let steps = steps(&relay);
    let saved = steps[3].save().unwrap();
    let asked = "the handoff is not the one that its call asks for";
    let check = |from, to| check_tampered(&relay, &steps[3], (from, to), asked);
    check(r#""outcome":{"Taken":{"number":1}}"#, r#""outcome":{"Taken":{"number":2}}"#);
    check(
        r#""outcome":{"Taken":{"number":1}}"#,
        r#""outcome":{"Refused":{"refusal":{"Duplicate":{"of":"x"}}}}"#,
    );
    check(r#""id":"conv/1/2/1""#, r#""id":"conv/1/2/9""#);
    let size = |name: &str| {
        let taken = &saved[saved.find(r#""taken":{"#).unwrap()..];
        let number = &taken[taken.find(name).unwrap() + name.len() + 2..];
        format!("\"{name}\":{}", &number[..number.find(|c: char| !c.is_ascii_digit()).unwrap()])
    };
    for name in ["package_bytes", "history_bytes"] {
        let at = saved.rfind(&size(name)).unwrap();
        let tampered = format!("{}\"{name}\":1{}", &saved[..at], &saved[at + size(name).len()..]);
        assert_eq!(relay.load(&tampered), Err(LoadError::NotAStep(asked.to_owned())), "{name}");
    }
    check(r#"{\"status\":\"handed_over\",\"to\":\"policy_agent\"}"#, "{}");
    check(r#"{\"error\":\"unknown_specialist\""#, r#"{\"error\":\"other\""#);
    let outputs = &saved[saved.find(r#""outputs":["#).unwrap()..saved.find(r#","taken":{"to""#).unwrap()];
    check(outputs, r#""outputs":[]"#);
}

/// A cap is not passed by a handoff that was saved before, and no pair repeats.
#[test]
fn a_handoff_that_a_guard_would_refuse_is_not_loaded() {
    let of = |most: u32| {
        let guards = Guards::default().max_handoffs(most);
        team("a -> b, b -> a").guards(guards).build().unwrap()
    };
    let model = script([("a", hands_to("b")), ("b", hands_to("a")), ("a", says("Done."))]);
    let mut second = None;
    let (wide, narrow) = (of(2), of(1));
    let session = Session::new(&wide, &model).before_take(|step| {
        second = Some(step.clone());
        step
    });
    drop(session.say("hello").ends(RunEnd::Answered));
    let saved = second.unwrap().save().unwrap();
    assert!(wide.load(&saved).is_ok());
    let forged = saved.replace(&wide.fingerprint().to_string(), &narrow.fingerprint().to_string());
    let asked = "the handoff is not the one that its call asks for".to_owned();
    assert_eq!(narrow.load(&forged), Err(LoadError::NotAStep(asked)));
}

/// The calls of a reply are planned as the definition says: each once, and what is not the agent's is not run.
#[test]
fn plans_are_those_of_their_calls() {
    let relay = pair();
    let steps = steps(&relay);
    let check = |step: usize, from, to, expected| check_tampered(&relay, &steps[step], (from, to), expected);
    let each = "the plans are not one for each call";
    let fits = "a plan does not fit its call";
    check(1, r#""plans":["Run"]"#, r#""plans":[]"#, each);
    check(1, r#""plans":["Run"]"#, r#""plans":["Run","Run"]"#, each);
    check(1, r#""plans":["Run"]"#, r#""plans":["Reserve"]"#, fits);
    check(1, r#""plans":["Run"]"#, r#""plans":[{"Answered":{"content":"6000"}}]"#, fits);
    check(1, r#""name":"look""#, r#""name":"handoff_to_specialist""#, fits);
    check(1, r#""name":"look""#, r#""name":"gone""#, fits);
    check(3, r#""plans":["Reserve","Reserve"]"#, r#""plans":["Reserve"]"#, each);
    check(3, r#""plans":["Reserve","Reserve"]"#, r#""plans":["Reserve","Run"]"#, fits);
    check(3, r#""plans":["Reserve","Reserve"]"#, r#""plans":[{"Answered":{"content":"x"}},"Reserve"]"#, fits);
}

/// A run that is done says of its end what its turn says.
#[test]
fn an_end_is_that_of_its_turn() {
    let relay = pair();
    let steps = steps(&relay);
    let check = |from, to, expected| check_tampered(&relay, &steps[7], (from, to), expected);
    let end = "the run's end is not that of the turn";
    check(r#""end":"Answered"}}"#, r#""end":"Unresolved"}}"#, end);
    check(r#""end":"Answered"}}"#, r#""end":{"BudgetSpent":{"measure":"model_calls","most":50}}}}"#, end);
    check(r#""end":"Answered"}]"#, r#""end":"Closed"}]"#, "the turn's end does not fit its messages");
    check(r#""end":"Closed"}]"#, r#""end":"Answered"}]"#, "the turn's end does not fit its messages");
}

/// Where the entry hears every message, and a run began elsewhere, its steps are loaded all the same.
#[test]
fn the_first_agent_may_be_any() {
    let build = |policy| team("a -> b, b -> c, c -> a").entry_policy(policy).build().unwrap();
    for policy in [EntryPolicy::Active, EntryPolicy::Entry] {
        let relay = build(policy);
        let entry = policy == EntryPolicy::Entry;
        let model = script(if entry {
            [("c", says("1.")), ("a", hands_to("b")), ("b", says("2.")), ("a", says("3."))]
        } else {
            [("c", says("1.")), ("c", hands_to("a")), ("a", says("2.")), ("a", says("3."))]
        });
        let step = relay.start_at("c", "conv", "one").unwrap();
        let session = Session::new(&relay, &model)
            .at_each_step(|step| relay.load(&step.save().unwrap()).unwrap())
            .drive(step)
            .say("two")
            .say("three")
            .ends(RunEnd::Answered);
        assert_eq!(session.order(), if entry { "c a b a" } else { "c c a a" });
    }
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
