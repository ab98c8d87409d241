//! Versions of artifacts: what is stale, what code keeps, what waits meanwhile, and what is saved of them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::references::{REFERENCE, clerk, crossed, entry, house, of, reads, report, routed, with};
use harness::{Session, agent, calls, name, says, script};
use sommelier_handoff::{
    ARTIFACTS, ArtifactValue, Guard, Guards, HandoffPackage, LoadError, OnRefusal, PackageError,
    PackagePolicy, READ_ARTIFACT, Refusal, Relay, Route, RunEnd, Step, TABLE_BYTES,
};
use sommelier_runtime::Limits;

/// S1-07, S1-30: a version that is not the newest is refused, to the one who passes it on and to the one who reads it.
#[test]
fn a_stale_artifact_is_refused() {
    let relay = routed(|route| route.policy(PackagePolicy::minimal().inline_bytes(0)));
    let model = script([
        ("clerk", calls([with("desk", r#"{"prices":{"$artifact":"prices"}}"#)])),
        ("desk", reads(r#"{"name":"prices"}"#)),
        ("desk", reads(r#"{"name":"prices"}"#)),
        (
            "desk",
            calls([
                (READ_ARTIFACT, r#"{"name":"prices","version":2}"#),
                (READ_ARTIFACT, r#"{"name":"prices","version":3}"#),
            ]),
        ),
        ("desk", calls([with("boss", r#"{"prices":{"$artifact":"prices","version":1,"at":5,"bytes":6}}"#)])),
        ("desk", calls([with("boss", r#"{"prices":{"$artifact":"prices","version":3}}"#)])),
        ("desk", calls([with("boss", r#"{"prices":{"$artifact":"prices","version":2}}"#)])),
        ("boss", says("Done.")),
    ]);
    let mut step = 0;
    let session = Session::new(&relay, &model).at_each_step(|mut at| {
        step += 1;
        let price = if step < 4 { 6000 } else { 6500 };
        at.put_artifact("prices", &[price], 4 + step).unwrap();
        at
    });
    let session = session.say("hello").ends(RunEnd::Answered);
    let told = |n| session.results("desk", n);
    assert_eq!(told(0), [r#"tu_1_0={"name":"prices","version":1,"at":5,"value":[6000]}"#]);
    let stale =
        r#"tu_2_0!{"error":"stale_artifact","detail":"version 1 of prices is stale, the newest is 2"}"#;
    assert_eq!(told(1), [stale]);
    assert_eq!(
        told(2),
        [
            r#"tu_3_0={"name":"prices","version":2,"at":8,"value":[6500]}"#,
            r#"tu_3_1!{"error":"unknown_version","detail":"there is no version 3 of prices, the newest is 2"}"#,
        ]
    );
    let path = || "artifacts.prices".to_owned();
    let stale = PackageError::StaleArtifact { path: path(), version: 1, newest: 2 };
    assert_eq!(stale.to_string(), "`artifacts.prices` is stale: it is version 1, the newest is 2");
    let (found, there) = ("prices, version 3".to_owned(), "version 2".to_owned());
    let dangling = PackageError::DanglingReference { path: path(), found, there };
    let refused = |error| Refusal::InvalidPackage { errors: vec![error] };
    assert_eq!(session.refusals(), [refused(stale), refused(dangling)]);
    assert_eq!(crossed(&session, 1), r#"{"prices":{"$artifact":"prices","version":2,"at":8,"bytes":6}}"#);
}

/// R2, S1-30: each artifact has a version, plain values too: it counts when the value changes, and the time is that of the
/// change.
#[test]
fn versions_count_changes() {
    let relay = house();
    let hands = |to: &'static str, artifacts: &str| calls([with(to, artifacts)]);
    let model = script([
        ("clerk", hands("desk", r#"{"a":1,"b":"x"}"#)),
        ("desk", hands("boss", r#"{"a":1,"b":"y"}"#)),
        ("boss", hands("clerk", r#"{"b":"x","c":[]}"#)),
        ("clerk", says("Done.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let at: Vec<u64> = session.run().trail().taken().map(|hop| hop.at).collect();
    assert_eq!(
        session.run().artifacts(),
        [
            entry("a", 1, at[0], Some("clerk"), "1"),
            entry("b", 3, at[2], Some("boss"), r#""x""#),
            entry("c", 1, at[2], Some("boss"), "[]"),
        ]
    );
}

/// What code keeps no package gives another value; the same value may stand there.
#[test]
fn what_code_keeps_no_model_changes() {
    let relay = house();
    let model = script([
        ("clerk", calls([("get_order", "{}".to_owned()), with("desk", r#"{"prices":[1]}"#)])),
        ("clerk", calls([with("desk", &format!(r#"{{"prices":{}}}"#, of("get_order")))])),
        ("clerk", calls([with("desk", r#"{"prices":[6000]}"#)])),
        ("desk", calls([with("boss", r#"{"prices":{"$artifact":"prices"}}"#)])),
        ("boss", says("Done.")),
    ]);
    let session = Session::new(&relay, &model).at_each_step(|mut step| {
        assert_eq!(step.put_artifact("prices", &[6000], 5), Ok(1));
        step
    });
    let session = session.say("hello").ends(RunEnd::Answered);
    let kept = PackageError::KeptByCode { path: "artifacts.prices".into(), version: 1 };
    let kept = Refusal::InvalidPackage { errors: vec![kept] };
    assert_eq!(session.refusals(), [kept.clone(), kept]);
    assert_eq!(
        (crossed(&session, 0), crossed(&session, 1)),
        (r#"{"prices":[6000]}"#.into(), r#"{"prices":[6000]}"#.into())
    );
    assert_eq!(session.run().artifacts(), [entry("prices", 1, 5, None, "[6000]")]);
}

/// S1-30: a handoff that waits to be taken is ruled on again when an artifact of it got newer meanwhile: without a version
/// the newest crosses, with one it is refused.
#[test]
fn a_handoff_that_waits_is_ruled_on_again() {
    let relay = house();
    for (reference, trail, crossing) in [
        (r#"{"$artifact":"prices"}"#, vec!["clerk -> desk: taken 1"], Some(r#"{"prices":[6500]}"#)),
        (r#"{"$artifact":"prices","version":1}"#, vec!["clerk -> desk: invalid_package"], None),
    ] {
        let last = if crossing.is_some() { "desk" } else { "clerk" };
        let model = script([
            ("clerk", calls([with("desk", &format!(r#"{{"prices":{reference}}}"#))])),
            (last, says("Done.")),
        ]);
        let mut times = 0;
        let session = Session::new(&relay, &model).at_each_step(|mut step| {
            times += 1;
            let price = if matches!(step, Step::HandOff(_)) || times > 3 { 6500 } else { 6000 };
            step.put_artifact("prices", &[price], times).unwrap();
            step
        });
        let session = session.say("hello").ends(RunEnd::Answered);
        assert_eq!(session.trail(), trail, "{reference}");
        assert_eq!(crossing.map(|_| crossed(&session, 0)).as_deref(), crossing);
    }
}

/// S1-30: a yes counts for the package that was shown. Where an artifact got newer meanwhile nobody has approved what would
/// cross; the sender is told, and hands over anew.
#[test]
fn a_yes_does_not_count_for_a_newer_artifact() {
    let relay = routed(Route::needs_approval);
    let hands = || calls([with("desk", r#"{"prices":{"$artifact":"prices"}}"#)]);
    let model = script([("clerk", hands()), ("clerk", hands()), ("desk", says("Done."))]);
    let put = |mut step: Step, price| {
        step.put_artifact("prices", &[price], 5).unwrap();
        step
    };
    let mut price = 6000;
    let session = Session::new(&relay, &model).at_each_step(|step| {
        let waits = matches!(step, Step::AskHuman(_));
        let step = put(step, price);
        price = if waits { 6500 } else { price };
        put(step, price)
    });
    let session = session.say("hello");
    assert_eq!(session.open(), ["conv/1/1/0"]);
    let session = session.approve("conv/1/1/0");
    assert_eq!(session.open(), ["conv/1/2/0"]);
    let session = session.approve("conv/1/2/0").ends(RunEnd::Answered);
    assert_eq!(session.refusals(), [Refusal::Overtaken { to: name("desk") }]);
    assert_eq!(session.trail(), ["clerk -> desk: overtaken", "clerk -> desk: taken 1"]);
    let told = concat!(
        r#"tu_1_0!{"error":"overtaken","detail":"a person allowed the handoff to desk with another package: an artifact has "#,
        r#"changed since it was shown; hand over again, so that it can be asked anew"}"#
    );
    assert_eq!(session.results("clerk", 0)[0], told);
    assert_eq!(crossed(&session, 0), r#"{"prices":[6500]}"#);
}

/// C95: a result by reference waits for a person as it was when it was shown, and crosses so.
#[test]
fn a_result_by_reference_can_be_approved() {
    let relay = routed(Route::needs_approval);
    let model = script([
        (
            "clerk",
            calls([
                ("get_report", "{}".to_owned()),
                with("desk", &format!(r#"{{"report":{}}}"#, of("get_report"))),
            ]),
        ),
        ("desk", says("Done.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").approve("conv/1/1/1").ends(RunEnd::Answered);
    assert_eq!(crossed(&session, 0), format!(r#"{{"report":{REFERENCE}}}"#));
    assert_eq!(session.run().artifacts(), [entry("report", 1, 1002, Some("clerk"), &report())]);
}

/// R20: the table is bounded, and nothing of an artifact is cut: neither to get in, nor to be read.
#[test]
fn the_table_is_bounded() {
    let relay = house();
    let step = || relay.start("conv", "hello").unwrap();
    let over = |cap: &str, found, most| PackageError::OverCap { cap: cap.into(), found, most };
    let mut full = step();
    for n in 0..ARTIFACTS {
        full.put_artifact(&format!("a{n}"), &n, 1).unwrap();
    }
    let before = full.clone();
    assert_eq!(
        full.put_artifact("one_more", &1, 1),
        Err(over("artifacts of the run", ARTIFACTS + 1, ARTIFACTS))
    );
    assert_eq!(full, before);
    assert_eq!(full.put_artifact("a0", "another", 2), Ok(2));

    let mut large = step();
    let text = "x".repeat(TABLE_BYTES - 6);
    assert_eq!(large.put_artifact("text", &text, 1), Ok(1));
    assert_eq!(
        large.put_artifact("b", &1, 1),
        Err(over("bytes of the run's artifacts", TABLE_BYTES + 1, TABLE_BYTES))
    );
    assert!(matches!(large.run().artifact("text").unwrap().value, ArtifactValue::Text(_)));

    let wrong = |name: &str, value: &serde_json::Value| step().put_artifact(name, value, 1).unwrap_err();
    let illegal = |found: &str| PackageError::IllegalKey { path: "artifacts".into(), found: found.into() };
    for name in ["", "a b", "$artifact", "../x", "é"] {
        assert_eq!(wrong(name, &1.into()), illegal(name));
    }
    let message = serde_json::json!({ "role": "user", "content": "hello" });
    assert_eq!(wrong("a", &message), PackageError::HistoryInPackage { path: "artifacts.a".into() });
    assert_eq!(
        wrong("user_words", &1.into()),
        PackageError::WrittenByCode { path: "artifacts.user_words".into() }
    );

    // Five results of 250 KiB are more than the table holds.
    let names = ["a", "b", "c", "d", "e"].map(|name| format!(r#""{name}":{}"#, of("get_huge")));
    let model = script([
        ("clerk", calls([("get_huge", "{}".to_owned()), with("desk", &format!("{{{}}}", names.join(",")))])),
        ("clerk", calls([with("desk", &format!("{{{}}}", names[..4].join(",")))])),
        ("desk", reads(r#"{"name":"a"}"#)),
        ("desk", says("Done.")),
    ]);
    let narrow = Limits { result_bytes: 1000, ..Limits::default() };
    let relay = Relay::builder().agent(clerk()).agent(agent("desk").limits(narrow)).entry("clerk");
    let relay = relay.route_with(Route::new("clerk", "desk").references()).build().unwrap();
    let session = Session::new(&relay, &model).unsaved().say("hello").ends(RunEnd::Answered);
    let bytes = 5 * (250 * 1024 + 6);
    let errors = vec![over("bytes of the run's artifacts", bytes, TABLE_BYTES)];
    assert_eq!(session.refusals(), [Refusal::InvalidPackage { errors }]);
    let told = session.results("desk", 0);
    assert!(told[0].starts_with(r#"tu_1_0={"note":"result_too_large","detail":"the call worked; its result is too large to be told","bytes":256"#), "{}", told[0]);
}

/// The steps of a run in which artifacts cross as values and by reference, and one is read beside a handoff.
fn steps(relay: &Relay) -> Vec<Step> {
    let model = script([
        (
            "clerk",
            calls([
                ("get_report", "{}".to_owned()),
                with("desk", &format!(r#"{{"a":1,"report":{}}}"#, of("get_report"))),
            ]),
        ),
        (
            "desk",
            calls([
                (READ_ARTIFACT, r#"{"name":"report"}"#.to_owned()),
                with("boss", &format!(r#"{{"a":2,"report":{REFERENCE}}}"#)),
            ]),
        ),
        ("boss", says("Done.")),
    ]);
    let mut steps = Vec::new();
    let session = Session::new(relay, &model).at_each_step(|step| {
        steps.push(step.clone());
        step
    });
    drop(session.say("hello").ends(RunEnd::Answered));
    steps
}

/// R20: a table that contradicts the hops is not loaded, nor a handoff or a read that is not what its call asks for.
#[test]
fn tampered_artifacts_are_not_loaded() {
    let relay = house();
    let steps = steps(&relay);
    let handoffs: Vec<&Step> = steps.iter().filter(|step| matches!(step, Step::HandOff(_))).collect();
    let ([first, second], Some(done)) = (&handoffs[..], steps.last()) else { panic!("two handoffs") };
    let check = |step: &Step, from: &str, to: &str, why: &str| {
        let saved = step.save().unwrap();
        assert!(relay.load(&saved).is_ok() && saved.contains(from), "{from} in {saved}");
        let places = saved.matches(from).count();
        assert_eq!(places, 1, "{from} in {saved}");
        assert_eq!(
            relay.load(&saved.replace(from, to)),
            Err(LoadError::NotAStep(why.into())),
            "{from} -> {to}"
        );
    };
    let handed = "the artifacts are not those that were handed over";
    let table = r#""artifacts":[{"name":"a","version":2,"at":1005,"by":"desk","value":{"Json":2}},{"name":"report","version":1,"at":1002,"by":"clerk","value":{"Json":"#;
    let entry = |text: &str| format!(r#"{{"name":"a",{text}"#);
    for (from, to) in [
        (entry(r#""version":2"#), entry(r#""version":3"#)),
        (entry(r#""version":2"#), entry(r#""version":0"#)),
        (r#""value":{"Json":2}"#.to_owned(), r#""value":{"Json":3}"#.to_owned()),
        (r#""at":1005,"by":"desk""#.to_owned(), r#""at":1001,"by":"desk""#.to_owned()),
        (r#""by":"desk""#.to_owned(), r#""by":"boss""#.to_owned()),
        (r#"{"name":"a""#.to_owned(), r#"{"name":"b""#.to_owned()),
        (r#"{"name":"a""#.to_owned(), r#"{"name":"report""#.to_owned()),
        (r#"{"name":"a""#.to_owned(), r#"{"name":"a b""#.to_owned()),
        (r#"{"name":"report","version":1"#.to_owned(), r#"{"name":"report","version":2"#.to_owned()),
        (
            r#"{"name":"report","version":1,"at":1002"#.to_owned(),
            r#"{"name":"report","version":1,"at":1"#.to_owned(),
        ),
        (
            r#""at":1002,"by":"clerk","value":{"Json":{"marker":"xyzzy""#.to_owned(),
            r#""at":1002,"by":"clerk","value":{"Json":{"marker":"xyzzyx""#.to_owned(),
        ),
    ] {
        check(done, &from, &to, handed);
    }
    let saved = done.save().unwrap();
    let (begin, end) = (saved.find(r#""artifacts":[{"#).unwrap(), saved.rfind("}]}},\"end\"").unwrap());
    assert!(saved[begin..].starts_with(table), "{}", &saved[begin..]);
    let without = [&saved[..begin], &saved[end + 2..]].concat();
    assert_eq!(relay.load(&without), Err(LoadError::NotAStep(handed.into())));
    let asked = "the handoff is not the one that its call asks for";
    for step in [first, second] {
        let saved = step.save().unwrap();
        for (from, to) in
            [(REFERENCE, REFERENCE.replace("1002", "1001")), (REFERENCE, REFERENCE.replace(":1,", ":2,"))]
        {
            let places: Vec<usize> = saved.match_indices(from).map(|(place, _)| place).collect();
            // In `taken` the package stands twice, at the end.
            let cut = places[places.len() - 2];
            let tampered = format!("{}{}", &saved[..cut], saved[cut..].replace(from, &to));
            assert_eq!(relay.load(&tampered), Err(LoadError::NotAStep(asked.into())), "{to}");
        }
    }
    let read = r#"{"Answered":{"content":"{\"name\":\"report\",\"version\":1,"#;
    check(
        second,
        read,
        r#"{"Answered":{"content":"{\"name\":\"report\",\"version\":7,"#,
        "a plan does not fit its call",
    );
}

/// What code keeps may have got newer since a step was saved, and the step is loaded all the same; what is held then is ruled
/// on again when it is taken, whatever somebody wrote there.
#[test]
fn what_is_overtaken_is_loaded_and_not_taken() {
    let relay = house();
    let model = script([
        ("clerk", calls([with("desk", r#"{"prices":{"$artifact":"prices"}}"#)])),
        ("desk", says("Done.")),
    ]);
    let session = Session::new(&relay, &model).at_each_step(|mut step| {
        step.put_artifact("prices", &[6000], 5).unwrap();
        step
    });
    let mut times = 0;
    let session = session.before_take(|step| {
        times += 1;
        if times > 1 {
            return step;
        }
        let forged = step
            .save()
            .unwrap()
            .replace(r#""artifacts":{"prices":[6000]}"#, r#""artifacts":{"prices":[1000]}"#);
        relay.load(&forged).unwrap()
    });
    let session = session.unsaved().say("hello").ends(RunEnd::Answered);
    assert_eq!(session.trail(), ["clerk -> desk: taken 1"]);
    assert_eq!(crossed(&session, 0), r#"{"prices":[6000]}"#);
}

/// S1-30, C67: what a refused handoff lacked may be put there while a person is asked about the refusal, or about the
/// handoff beside it: the step is loaded, and what it says of the refusal is what is on record.
#[test]
fn an_artifact_is_put_there_while_a_person_is_asked_about_a_refusal() {
    let route = Route::new("clerk", "desk").references().needs_approval();
    let relay = Relay::builder().agent(clerk()).agent(agent("desk")).entry("clerk").route_with(route);
    let guards = Guards::default().on_refusal(Guard::Package, OnRefusal::Escalate);
    let relay = relay.guards(guards).build().unwrap();
    let lacking = || with("desk", r#"{"prices":{"$artifact":"prices"}}"#);
    let mut forged = 0;
    for (reply, asked) in [
        (calls([lacking()]), "conv/1/1/0/escalation"),
        (calls([lacking(), with("desk", "{}")]), "conv/1/1/1"),
    ] {
        let model = script([("clerk", reply)]);
        let session = Session::new(&relay, &model).say("hello");
        assert_eq!(session.open(), [asked]);
        let mut step = session.waiting().clone();
        assert_eq!(relay.load(&step.save().unwrap()), Ok(step.clone()));
        step.put_artifact("prices", &[6000], 5).unwrap();
        let saved = step.save().unwrap();
        assert_eq!(relay.load(&saved), Ok(step), "{asked}");
        for (from, to) in [
            (r#""from":"clerk","at":"#, r#""from":"desk","at":"#),
            (&format!(r#""questions":[{{"id":"{asked}""#), r#""questions":[{"id":"conv/1/1/7""#),
            (
                r#"Escalation":{"refusal":{"InvalidPackage":{"errors":[{"DanglingReference":{"path":"artifacts.prices""#,
                r#"Escalation":{"refusal":{"InvalidPackage":{"errors":[{"DanglingReference":{"path":"artifacts.secret""#,
            ),
            (r#""asks":{"Handoff":{"call_id":"tu_1_1""#, r#""asks":{"Handoff":{"call_id":"tu_1_0""#),
        ] {
            let is_loaded = relay.load(&saved.replacen(from, to, 1)).is_ok();
            assert_eq!(is_loaded, !saved.contains(from), "{saved}: {to}");
            forged += usize::from(!is_loaded);
        }
    }
    assert_eq!(forged, 6);
}

/// A handoff that is released out of its relay leaves the run with the artifacts that its package refers to.
#[test]
fn a_released_handoff_keeps_its_artifacts() {
    let relay = house();
    let steps = steps(&relay);
    let Some(Step::HandOff(handoff)) = steps.into_iter().find(|step| matches!(step, Step::HandOff(_))) else {
        panic!("a handoff")
    };
    let at = handoff.hop().at;
    let released = handoff.release(&relay, at).unwrap();
    let expected =
        [entry("a", 1, at, Some("clerk"), "1"), entry("report", 1, 1002, Some("clerk"), &report())];
    assert_eq!(released.run.artifacts(), expected);
}

/// A handoff whose artifacts have a newer version is not released: it is handed back, and to take it is to have it ruled on
/// again, with the newest.
#[test]
fn what_is_not_the_newest_is_not_released() {
    let relay = house();
    let mut step = relay.start("conv", "hello").unwrap();
    step.put_artifact("price", &60, 1).unwrap();
    let Step::CallModel(call) = step else { panic!("the clerk is asked") };
    let (tool, arguments) = with("desk", r#"{"price":{"$artifact":"price"}}"#);
    let mut step = call.resume(&relay, Ok(sommelier_runtime::script::call("tu_1", tool, &arguments)), 2);
    step.put_artifact("price", &65, 3).unwrap();
    let Step::HandOff(handoff) = step else { panic!("a handoff") };
    let crossing = |package: &HandoffPackage| package.to_json();
    assert_eq!(crossing(handoff.package()), r#"{"task":"Go on.","context":{},"artifacts":{"price":60}}"#);
    let handoff = handoff.release(&relay, 4).unwrap_err();
    let Step::HandOff(handoff) = handoff.take(&relay, 5) else { panic!("it is ruled on again") };
    let released = handoff.release(&relay, 6).unwrap();
    assert_eq!(crossing(&released.package), r#"{"task":"Go on.","context":{},"artifacts":{"price":65}}"#);
    assert_eq!(released.hop.at, 6);
}
