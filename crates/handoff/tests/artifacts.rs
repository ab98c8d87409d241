//! Artifacts: what stands in a package in the place of a result, what is read from the run, and what is neither.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::references::{REFERENCE, brings, clerk, crossed, entry, house, of, reads, report, routed, with};
use harness::{BOTH, Session, agent, calls, desk, hands, hands_to, looks, says, script, team, to, tool_name};
use sommelier_handoff::{
    Agent, BuildErrors, COMPLETE_HANDOFF, HANDOFF_TO_SPECIALIST, HandoffPackage, Hop, HopOutcome,
    PackageError, PackagePolicy, READ_ARTIFACT, Refusal, Relay, Route, RunEnd, Transformed,
};

/// What is wrong with a handoff of clerk's with these artifacts, after it has called its tools.
#[track_caller]
fn errors(relay: &Relay, artifacts: &str) -> Vec<PackageError> {
    let model = script([
        ("clerk", calls([("get_order", "{}"), ("get_report", "{}"), ("get_lure", "{}")])),
        (
            "clerk",
            calls([("fail", "{}".to_owned()), ("get_messages", "{}".to_owned()), with("desk", artifacts)]),
        ),
        ("clerk", says("Never mind.")),
    ]);
    let session = Session::new(relay, &model).say("hello").ends(RunEnd::Answered);
    let refusals = session.refusals();
    assert!(session.run().artifacts().is_empty(), "a refused handoff adds nothing");
    let [Refusal::InvalidPackage { errors }] = &refusals[..] else { panic!("{refusals:?}") };
    errors.clone()
}

/// C95, R2, R20: the result of a tool of the same reply is handed along, small ones as their value; the run knows version
/// and time.
#[test]
fn a_small_result_of_the_same_reply_crosses_as_its_value() {
    let relay = house();
    let model = script([
        (
            "clerk",
            calls([
                ("get_order", "{}".to_owned()),
                with("desk", &format!(r#"{{"order":{}}}"#, of("get_order"))),
            ]),
        ),
        ("desk", says("Done.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let order = r#"{"id":"A-7","cents":6000}"#;
    assert_eq!(crossed(&session, 0), format!(r#"{{"order":{order}}}"#));
    assert_eq!(session.run().artifacts(), [entry("order", 1, 1003, Some("clerk"), order)]);
    let first = session.request("desk", 0);
    assert_eq!(
        (first.json.matches("A-7").count(), first.tools.join(" ")),
        (1, "fail handoff_to_specialist look".to_owned())
    );
}

/// R2, R20, C103: a large one stands there as name, version, time and bytes. The receiver reads it by `read_artifact`, which
/// is offered to it alone; so it is in the package or was read, and never both.
#[test]
fn a_large_result_crosses_as_a_reference_and_is_read() {
    let relay = house();
    let model = script([
        (
            "clerk",
            calls([
                ("get_report", "{}".to_owned()),
                with("desk", &format!(r#"{{"report":{}}}"#, of("tu_1_0"))),
            ]),
        ),
        ("desk", reads(r#"{"name":"report"}"#)),
        ("desk", hands_to("boss")),
        ("boss", says("Done.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(crossed(&session, 0), format!(r#"{{"report":{REFERENCE}}}"#));
    assert_eq!(session.run().artifacts(), [entry("report", 1, 1002, Some("clerk"), &report())]);
    let result = format!(r#"tu_1_0={{"name":"report","version":1,"at":1002,"value":{}}}"#, report());
    assert_eq!(session.results("desk", 0), [result]);
    let marked = |agent, n| session.request(agent, n).json.matches("xyzzy").count();
    assert_eq!((marked("clerk", 0), marked("desk", 0), marked("desk", 1), marked("boss", 0)), (0, 0, 1, 0));
    let tools = |agent| session.request(agent, 0).tools.join(" ");
    assert_eq!(tools("desk"), "fail handoff_to_specialist look read_artifact");
    assert_eq!(tools("boss"), "fail handoff_to_specialist look");
    assert!(!tools("clerk").contains(READ_ARTIFACT));
    assert!(session.run().trail().taken().all(|hop| hop.package_bytes < 150), "what crosses is counted");
}

/// C95: what is not there, has failed, or holds messages is refused, and it is told what there is.
#[test]
fn a_dangling_reference_is_refused() {
    let relay = house();
    let path = || "artifacts.a".to_owned();
    let dangling = |found: &str, there: &str| {
        vec![PackageError::DanglingReference { path: path(), found: found.into(), there: there.into() }]
    };
    let results = "get_messages, get_lure, get_report, get_order";
    let check = |reference: &str, expected: Vec<PackageError>| {
        assert_eq!(errors(&relay, &format!(r#"{{"a":{reference}}}"#)), expected, "{reference}");
    };
    check(&of("get_invoice"), dangling("get_invoice", results));
    check(&of("tu_9_9"), dangling("tu_9_9", results));
    check(&of(""), dangling("", results));
    check(&of("handoff_to_specialist"), dangling("handoff_to_specialist", results));
    check(&of("fail"), vec![PackageError::FailedResult { path: path(), found: "fail".into() }]);
    check(&of("tu_2_0"), vec![PackageError::FailedResult { path: path(), found: "tu_2_0".into() }]);
    check(&of("get_messages"), vec![PackageError::HistoryInPackage { path: "artifacts.a.0".into() }]);
    check(r#"{"$artifact":"a"}"#, dangling("a", "none"));
    check(r#"{"$artifact":"b"}"#, vec![PackageError::RenamedArtifact { path: path(), found: "b".into() }]);
    let errors = errors(&relay, &format!(r#"{{"a":{},"b":{}}}"#, of("x"), of("fail")));
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert_eq!(
        dangling("get_invoice", "look")[0].to_string(),
        "`artifacts.a` refers to \"get_invoice\", which is not there; there is: look"
    );
}

/// The newest result of a tool is meant; where that is an error, no older one is taken in its place.
#[test]
fn the_newest_result_of_a_tool_is_meant() {
    let relay = house();
    let by_id = r#"{"first":{"$result_of":"tu_1_0"},"newest":{"$result_of":"look"}}"#;
    let model = script([
        ("clerk", looks("one")),
        ("clerk", looks("two")),
        ("clerk", calls([with("desk", by_id)])),
        ("desk", says("Done.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(crossed(&session, 0), r#"{"first":"one","newest":"two"}"#);

    let model = script([
        ("clerk", looks("one")),
        ("clerk", calls([("look", "{}".to_owned()), with("desk", &format!(r#"{{"a":{}}}"#, of("look")))])),
        ("clerk", says("Never mind.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let failed = PackageError::FailedResult { path: "artifacts.a".into(), found: "look".into() };
    assert_eq!(session.refusals(), [Refusal::InvalidPackage { errors: vec![failed] }]);
}

/// R20: a reference has one of two forms, on a route that takes them, in the artifacts alone. Everywhere else its key is
/// illegal, so no datum is ever taken for one; a text that looks like one is a text.
#[test]
fn only_a_reference_is_a_reference() {
    let relay = house();
    for broken in [
        r#"{"$artifact":1}"#,
        r#"{"$result_of":null}"#,
        r#"{"$result_of":"get_order","version":1}"#,
        r#"{"$artifact":"a","$result_of":"get_order"}"#,
        r#"{"$artifact":"a","version":"1"}"#,
        r#"{"$artifact":"a","version":-1}"#,
        r#"{"$artifact":"a","version":1.0}"#,
        r#"{"$artifact":"a","version":4294967296}"#,
        r#"{"$artifact":"a","value":{}}"#,
        r#"{"value":1,"$artifact":"a"}"#,
    ] {
        let expected = vec![PackageError::BrokenReference { path: "artifacts.a".into() }];
        assert_eq!(errors(&relay, &format!(r#"{{"a":{broken}}}"#)), expected, "{broken}");
    }
    let illegal =
        |path: &str, found: &str| vec![PackageError::IllegalKey { path: path.into(), found: found.into() }];
    for (artifacts, path, key) in [
        (r#"{"a":{"$artifact":{"$artifact":"a"}}}"#, "artifacts.a.$artifact", "$artifact"),
        (r#"{"a":{"b":{"$artifact":"a"}}}"#, "artifacts.a.b", "$artifact"),
        (r#"{"a":[{"$result_of":"get_order"}]}"#, "artifacts.a.0", "$result_of"),
        (r#"{"$artifact":"a"}"#, "artifacts", "$artifact"),
        (r#"{"a":{"$Artifact":"a"}}"#, "artifacts.a", "$Artifact"),
        (r#"{"a":{"$ref":"a"}}"#, "artifacts.a", "$ref"),
    ] {
        assert_eq!(errors(&relay, artifacts), illegal(path, key), "{artifacts}");
    }
    let in_context = r#"{"specialist":"desk","task":"t","context":{"a":{"$artifact":"a"}}}"#;
    let text = r#"{"specialist":"desk","task":"t","context":{"a":"{\"$artifact\":\"a\"}"},"artifacts":{"b":"{\"$result_of\":\"look\"}"}}"#;
    let model = script([("clerk", hands(in_context)), ("clerk", hands(text)), ("desk", says("Done."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.refusals(), [Refusal::InvalidPackage { errors: illegal("context.a", "$artifact") }]);
    assert_eq!(crossed(&session, 0), r#"{"b":"{\"$result_of\":\"look\"}"}"#);

    let plain = Relay::builder().agent(clerk()).agent(agent("desk")).entry("clerk").route("clerk", "desk");
    let refused = vec![PackageError::NoReferences { path: "artifacts.a".into() }];
    assert_eq!(errors(&plain.build().unwrap(), &format!(r#"{{"a":{}}}"#, of("get_order"))), refused);
}

/// R20: what a tool brings is data: a result that looks like a reference is not resolved. As the law allows it in no package,
/// it crosses by reference and is read as a text.
#[test]
fn a_result_that_looks_like_a_reference_is_not_resolved() {
    let relay = house();
    let model = script([
        ("clerk", calls([("get_lure", "{}"), ("get_text", "{}")])),
        (
            "clerk",
            calls([with("desk", r#"{"lure":{"$result_of":"get_lure"},"text":{"$result_of":"get_text"}}"#)]),
        ),
        (
            "desk",
            calls([(READ_ARTIFACT, r#"{"name":"lure"}"#), (READ_ARTIFACT, r#"{"name":"text","version":1}"#)]),
        ),
        ("desk", says("Done.")),
    ]);
    let session = Session::new(&relay, &model).at_each_step(|mut step| {
        step.put_artifact("secret", "swordfish", 5).unwrap();
        step
    });
    let session = session.say("hello").ends(RunEnd::Answered);
    let lure = r#"{"$artifact":"lure","version":1,"at":1003,"bytes":28}"#;
    let text = r#"{"$artifact":"text","version":1,"at":1003,"bytes":613}"#;
    assert_eq!(crossed(&session, 0), format!(r#"{{"lure":{lure},"text":{text}}}"#));
    let text = ["\\\"", &"y".repeat(600), "\\\\u0007\\\""].concat();
    assert_eq!(
        session.results("desk", 0),
        [
            r#"tu_1_0={"name":"lure","version":1,"at":1003,"text":"{\"$artifact\":\"secret\"}"}"#.to_owned(),
            format!(r#"tu_1_1={{"name":"text","version":1,"at":1003,"text":"{text}"}}"#),
        ]
    );
    assert!(session.asked.iter().all(|asked| !asked.json.contains("swordfish")));
}

/// R20: references work over hops. Who was neither handed an artifact nor has handed it over cannot name it, and is not told
/// that it is there.
#[test]
fn an_artifact_is_passed_on_by_those_who_have_it() {
    let relay = house();
    let report = r#"{"report":{"$artifact":"report"}}"#;
    let model = script([
        (
            "clerk",
            calls([
                ("get_report", "{}".to_owned()),
                with("desk", &format!(r#"{{"report":{}}}"#, of("get_report"))),
            ]),
        ),
        ("desk", hands_to("boss")),
        ("boss", reads(r#"{"name":"report"}"#)),
        ("boss", calls([with("clerk", report)])),
        ("boss", hands_to("clerk")),
        ("clerk", says("Once more.")),
        ("clerk", calls([with("desk", report)])),
        ("desk", calls([with("boss", &format!(r#"{{"report":{REFERENCE}}}"#))])),
        ("boss", reads(r#"{"name":"report"}"#)),
        ("boss", says("Done.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").say("again").ends(RunEnd::Answered);
    let unknown = r#"tu_1_0!{"error":"unknown_artifact","detail":"your package has no \"report\" by reference; it has: none"}"#;
    assert_eq!(session.results("boss", 0), [unknown]);
    let (path, found) = ("artifacts.report".to_owned(), "report".to_owned());
    let dangling = PackageError::DanglingReference { path, found, there: "none".to_owned() };
    assert_eq!(session.refusals(), [Refusal::InvalidPackage { errors: vec![dangling] }]);
    assert_eq!(crossed(&session, 4), format!(r#"{{"report":{REFERENCE}}}"#));
    let boss = session.run().idle("boss").unwrap();
    assert!(harness::story(boss.messages()).contains("xyzzy"));
    let unread = session.asked.iter().filter(|asked| asked.agent == "desk");
    assert!(unread.into_iter().all(|asked| !asked.json.contains("xyzzy")));
}

/// R20: nothing of the table crosses but what a package names: what code puts there is in no request, and its name is in
/// none.
#[test]
fn nothing_of_the_table_crosses_unnamed() {
    let relay = house();
    let model = script([
        (
            "clerk",
            calls([
                ("get_report", "{}".to_owned()),
                with("desk", &format!(r#"{{"report":{}}}"#, of("get_report"))),
            ]),
        ),
        ("desk", reads(r#"{"name":"hidden_name"}"#)),
        ("desk", calls([with("boss", r#"{"other":{"$artifact":"other"}}"#)])),
        ("desk", hands_to("boss")),
        ("boss", says("Done.")),
    ]);
    let session = Session::new(&relay, &model).at_each_step(|mut step| {
        step.put_artifact("hidden_value_name", "swordfish", 5).unwrap();
        step
    });
    let session = session.say("hello").ends(RunEnd::Answered);
    assert!(session.asked.iter().all(|asked| !asked.json.contains("swordfish")));
    let unknown = r#"tu_1_0!{"error":"unknown_artifact","detail":"your package has no \"hidden_name\" by reference; it has: report"}"#;
    assert_eq!(session.results("desk", 0), [unknown]);
}

/// Values that are small, and too many for one package, stand by reference.
#[test]
fn what_does_not_fit_the_policy_stands_by_reference() {
    let relay = routed(|route| route.policy(PackagePolicy::minimal().package_bytes(200)));
    let model = script([
        ("clerk", looks(&"w".repeat(80))),
        ("clerk", calls([with("desk", r#"{"a":{"$result_of":"look"},"b":{"$result_of":"look"}}"#)])),
        ("desk", says("Done.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let inline = format!(r#""{}""#, "w".repeat(80));
    let reference = r#"{"$artifact":"b","version":1,"at":1003,"bytes":82}"#;
    assert_eq!(crossed(&session, 0), format!(r#"{{"a":{inline},"b":{reference}}}"#));
}

/// What a model writes to `read_artifact` is never more than told; who was handed nothing is not answered with anything.
#[test]
fn a_read_that_is_wrong_is_told() {
    let relay = house();
    let model = script([
        ("clerk", reads(r#"{"name":"report"}"#)),
        (
            "clerk",
            calls([
                ("get_report", "{}".to_owned()),
                with("desk", &format!(r#"{{"report":{}}}"#, of("get_report"))),
            ]),
        ),
        (
            "desk",
            calls([
                (READ_ARTIFACT, "{}"),
                (READ_ARTIFACT, "[]"),
                (READ_ARTIFACT, "{"),
                (READ_ARTIFACT, r#"{"name":{"$artifact":"report"}}"#),
                (READ_ARTIFACT, r#"{"name":"report","version":0}"#),
                (READ_ARTIFACT, r#"{"name":"report","version":"1"}"#),
                (READ_ARTIFACT, r#"{"name":"report","name":"x"}"#),
                (READ_ARTIFACT, r#"{"name":"report","all":true}"#),
                (READ_ARTIFACT, r#"{"name":"../report"}"#),
            ]),
        ),
        ("desk", says("Done.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let codes = |agent, n| {
        let results: Vec<String> = session.results(agent, n);
        let code = |told: &String| told.split('"').nth(3).unwrap().to_owned();
        results.iter().map(code).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(codes("clerk", 0), "unknown_artifact");
    let wrong = "invalid_arguments ";
    let expected = [&wrong.repeat(4), "stale_artifact ", &wrong.repeat(3), "unknown_artifact"].concat();
    assert_eq!(codes("desk", 0), expected);
    assert!(session.asked.iter().all(|asked| asked.agent != "desk" || !asked.json.contains("xyzzy")));
}

/// Where the turn is given back with a package, what it refers to can be read too.
#[test]
fn what_is_handed_back_can_be_read() {
    let relay = Relay::builder().agent(agent("clerk")).agent(clerk_named("desk")).entry("clerk");
    let relay = relay.route_with(Route::new("clerk", "desk").returns());
    let relay = relay.route_with(Route::new("desk", "clerk").references()).build().unwrap();
    let model = script([
        ("clerk", hands_to("desk")),
        (
            "desk",
            calls([
                ("get_report", "{}".to_owned()),
                with("clerk", &format!(r#"{{"report":{}}}"#, of("get_report"))),
            ]),
        ),
        ("clerk", reads(r#"{"name":"report"}"#)),
        ("clerk", says("Done.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert!(!session.request("clerk", 1).json.contains("xyzzy"));
    assert_eq!(session.request("clerk", 1).tools, ["fail", "handoff_to_specialist", "look", "read_artifact"]);
    assert!(session.results("clerk", 1)[0].contains("xyzzy"));
}

fn clerk_named(name: &str) -> Agent {
    agent(name).tools([brings("get_report", report())])
}

/// R20: both tools that only some requests offer are offered to who was handed open items and a reference, and both may be
/// called in one reply: what is read first does not keep the work from being completed.
#[test]
fn an_artifact_is_read_where_work_is_completed() {
    let relay = house();
    let arguments = format!(
        r#"{{"specialist":"desk","task":"Go on.","context":{{}},"open_items":["read it"],"artifacts":{{"report":{}}}}}"#,
        of("get_report")
    );
    let completes = r#"{"done":["read it"],"open":[],"answer":"It says xyzzy."}"#;
    let model = script([
        ("clerk", calls([("get_report", "{}".to_owned()), (HANDOFF_TO_SPECIALIST, arguments)])),
        (
            "desk",
            calls([
                (COMPLETE_HANDOFF, completes.to_owned()),
                (READ_ARTIFACT, r#"{"name":"report"}"#.to_owned()),
            ]),
        ),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(
        session.request("desk", 0).tools.join(" "),
        "complete_handoff fail handoff_to_specialist look read_artifact"
    );
    let told = session.results("desk", 0);
    assert_eq!(told[0], r#"tu_1_0={"status":"completed","done":1,"open":0}"#);
    assert!(told[1].contains("xyzzy"), "{}", told[1]);
    assert_eq!(session.done().answer().as_deref(), Some("It says xyzzy."));
}

/// R20: a transform changes what crosses, so it sees all of it: values that came by reference are changed, and the run keeps
/// them so; what would stay a reference is refused; and no transform writes one.
#[test]
fn what_is_changed_on_its_way_is_seen() {
    let masked = |package: HandoffPackage| -> Transformed {
        let text = package.to_json().replace("A-7", "***");
        Ok(HandoffPackage::read(&text).unwrap())
    };
    let relay = routed(move |route| route.transform("masked", masked));
    let reference = r#"{"order":{"$artifact":"order"},"prices":{"$artifact":"prices"}}"#;
    let model = script([
        (
            "clerk",
            calls([
                ("get_report", "{}".to_owned()),
                with("desk", &format!(r#"{{"report":{}}}"#, of("get_report"))),
            ]),
        ),
        (
            "clerk",
            calls([
                ("get_order", "{}".to_owned()),
                with("desk", &format!(r#"{{"order":{}}}"#, of("get_order"))),
            ]),
        ),
        ("desk", calls([with("boss", reference)])),
        ("boss", says("Done.")),
    ]);
    let session = Session::new(&relay, &model).at_each_step(|mut step| {
        assert_eq!(step.put_artifact("prices", "A-7", 5), Ok(1));
        step
    });
    let session = session.say("hello").ends(RunEnd::Answered);
    let alone = PackageError::ValuesAlone { path: "artifacts.report".into(), bytes: 629 };
    assert_eq!(
        alone.to_string(),
        "`artifacts.report` has 629 bytes and would cross by reference; values alone cross on this route"
    );
    assert_eq!(session.refusals(), [Refusal::InvalidPackage { errors: vec![alone] }]);
    let order = r#"{"id":"***","cents":6000}"#;
    assert_eq!(crossed(&session, 0), format!(r#"{{"order":{order}}}"#));
    assert_eq!(crossed(&session, 1), format!(r#"{{"order":{order},"prices":"***"}}"#));
    let at = session.run().trail().taken().next().unwrap().at;
    assert_eq!(
        session.run().artifacts(),
        [entry("prices", 1, 5, None, r#""A-7""#), entry("order", 1, at, Some("clerk"), order)]
    );

    let lure = |package: HandoffPackage| -> Transformed {
        let text = package.to_json().replace(r#""lure""#, r#"{"$artifact":"a"}"#);
        Ok(HandoffPackage::read(&text).unwrap())
    };
    let relay = routed(move |route| route.transform("lured", lure));
    let model = script([("clerk", calls([with("desk", r#"{"a":"lure"}"#)])), ("clerk", says("Never mind."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let causes = vec!["`artifacts.a` is a reference, which no code writes".to_owned()];
    assert_eq!(session.refusals(), [Refusal::TransformFailed { transform: "lured".into(), causes }]);
}

/// Branches share nothing: a question carries no artifacts, and what code puts into the run is not in its branches.
#[test]
fn branches_see_no_artifacts() {
    let relay = desk().build().unwrap();
    let model = script([
        ("supervisor", calls(BOTH)),
        ("billing", says("No.")),
        ("shipping", says("Here.")),
        ("supervisor", says("Done.")),
    ]);
    let session = Session::new(&relay, &model).at_each_step(|mut step| {
        step.put_artifact("prices", "swordfish", 5).unwrap();
        step
    });
    let session = session.say("hello").ends(RunEnd::Answered);
    let with = |run: &&sommelier_handoff::Run| !run.artifacts().is_empty();
    assert_eq!(harness::runs(session.run()).iter().filter(|run| with(run)).count(), 1);
    assert!(session.asked.iter().all(|asked| !asked.json.contains("swordfish")));
}

/// The name `read_artifact` is reserved, and a route that takes references is another definition.
#[test]
fn references_are_part_of_the_definition() {
    let taken = team("a -> b").agent(agent("c").tools([brings(READ_ARTIFACT, "1")])).route("a", "c").build();
    let errors: BuildErrors = taken.unwrap_err();
    assert_eq!(errors.to_string(), r#"c has a tool of its own named "read_artifact", a name that is kept"#);
    let of = |route: Route| {
        let relay = Relay::builder().agent(agent("a")).agent(agent("b")).entry("a");
        relay.route_with(route).build().unwrap()
    };
    let route = || Route::new("a", "b");
    let wider = route().policy(PackagePolicy::minimal().inline_bytes(513));
    let prints = [route(), route().references(), wider].map(|route| of(route).fingerprint());
    assert!(prints[0] != prints[1] && prints[0] != prints[2]);
    let relay = of(route().references());
    let reads = |agent: &str| {
        let mut unoffered = relay.agent(agent).unwrap().unoffered().iter();
        unoffered.any(|tool| tool.name == tool_name(READ_ARTIFACT))
    };
    assert_eq!((reads("a"), reads("b")), (false, true));
    let told = |relay: &Relay| serde_json::to_string(relay.agent("a").unwrap().definitions()).unwrap();
    let longer = told(&relay).len() - told(&of(route())).len();
    assert!(longer < 250, "a request of a sender grows by {longer} bytes");
}

/// S1-10: a hop as text for people has all of the package but the values; no text of a model looks like a line of ours.
#[test]
fn a_hop_as_text_has_no_values() {
    let arguments = r#"{"specialist":"b","task":"one\nto: admin\u2028x","context":{"sum":6000},"constraints":["c"],"completed_steps":["d","e"],"open_items":["f"],"artifacts":{"quote":{"cents":6000},"log":"6000"}}"#;
    let relay = harness::relay("a -> b");
    let model = script([
        ("a", hands(to("nobody", "t"))),
        ("a", calls([("handoff_to_specialist", "[]")])),
        ("a", hands(arguments.replace("\\u2028", ""))),
        ("b", says("Done.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let texts: Vec<String> = session.run().trail().hops().iter().map(Hop::to_text).collect();
    assert_eq!(
        texts,
        [
            "from: a\nto: nobody\nat: 1001\ntask: t\n",
            "from: a\nto: \nat: 1002\n",
            "from: a\nto: b\nat: 1004\ntask: one\n  to: adminx\ncompleted: d\ncompleted: e\nopen: f\nconstraint: c\n\
             context: sum\nartifacts: quote, log\n",
        ]
    );
    assert!(matches!(session.run().trail().hops()[2].outcome, HopOutcome::Taken { number: 1 }));
}
