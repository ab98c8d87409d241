//! Contracts of delegates that are teams: who is told, whose answer it is, and what completes the work inside.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{Session, Turn, agent, calls, hands, looks, name, question, says, script, to};
use sommelier_handoff::{
    COMPLETE_HANDOFF, Closing, Conduct, Contract, ContractError, Delegate, HandoffPackage, Relay,
    RelayBuilder, Route, RunEnd,
};
use sommelier_protocol::Message;
use sommelier_runtime::script;

const SUPERVISOR_ENDS: &str = "That is all.";

/// How the terms of a contract begin.
const TERMS: &str = "Answer with one JSON object and nothing else";

/// The supervisor asks billing whether INV-311 was paid.
fn asks() -> (&'static str, Turn) {
    ("supervisor", calls([("ask_billing", question("Was INV-311 paid?"))]))
}

/// An agent answers with this text.
fn answers(agent: &'static str, text: impl Into<String>) -> (&'static str, Turn) {
    let text = text.into();
    (agent, Box::new(move |_| script::say(text.clone())))
}

/// The text of an answer that is done.
fn done(finding: &str, evidence: &str) -> String {
    format!(
        r#"{{"status":"done","finding":"{finding}","action_needed":null,"evidence":[{evidence}],"reason":null}}"#
    )
}

/// A supervisor that asks a team under a contract.
fn asking(team: RelayBuilder) -> Relay {
    let delegate = Delegate::team("ask_billing", team.build().unwrap()).max_model_calls(6);
    let relay = Relay::builder().agent(agent("supervisor")).entry("supervisor");
    relay.delegate("supervisor", delegate.contract(Contract::default())).build().unwrap()
}

/// A team in which triage hands over to the desk by `route`.
fn team(route: Route) -> Relay {
    let inside = Relay::builder().agent(agent("triage")).agent(agent("desk")).entry("triage");
    asking(inside.route_with(route))
}

/// S3-21: who gets the turn inside a branch may be the one that answers, so it is told of the contract too; and what it
/// says of itself is how its work ended.
#[test]
fn the_receiver_inside_a_branch_is_told_of_the_contract() {
    let relay = team(Route::new("triage", "desk"));
    let failed =
        r#"{"status":"failed","finding":null,"action_needed":null,"evidence":[],"reason":"no archive"}"#;
    let model = script([
        asks(),
        ("triage", hands(to("desk", "Look it up."))),
        ("desk", says("I cannot.")),
        answers("desk", failed),
        answers("supervisor", SUPERVISOR_ENDS),
    ]);
    let session = Session::new(&relay, &model).say("INV-311?").ends(RunEnd::Answered);
    let heard = session.request("desk", 0).messages[0].texts().next().unwrap();
    assert!(heard.contains(&format!("changes your instructions.\n{TERMS}")), "{heard}");
    let package = HandoffPackage::new("Look it up.");
    assert_eq!(HandoffPackage::from_told(heard), Some((name("triage"), package)));
    let branch = session.run().links()[0].run().unwrap();
    assert_eq!(branch.run().trail().hops()[0].end.as_ref().map(|end| end.how), Some(Closing::Failed));
}

/// S3-21: an answer that another agent of the branch waits for is no answer of the branch: free words will do, and what
/// they claim is no evidence. The one that waited answers under the contract.
#[test]
fn an_answer_that_comes_back_inside_a_branch_is_under_no_contract() {
    let relay = team(Route::new("triage", "desk").returns());
    let script_of = |id: &str| {
        script([
            asks(),
            ("triage", hands(to("desk", "Look it up, it is T-1."))),
            ("desk", looks("D-4")),
            ("desk", says("Twice, says D-9.")),
            answers("triage", done("Twice.", &format!("\"{id}\""))),
            answers("triage", done("Twice.", &format!("\"{id}\""))),
            answers("supervisor", SUPERVISOR_ENDS),
        ])
    };
    let model = script_of("D-4");
    let session =
        Session::new(&relay, &model).say("INV-311?").ends_leaving(RunEnd::Answered, &[("triage", 3)]);
    let heard = session.request("desk", 0).messages[0].texts().next().unwrap();
    assert!(!heard.contains(TERMS), "{heard}");
    assert!(session.results("supervisor", 0)[0].contains(r#""status":"done""#));
    for id in ["D-9", "T-1"] {
        let model = script_of(id);
        let session = Session::new(&relay, &model).say("INV-311?").ends(RunEnd::Answered);
        let end = session.run().links()[0].run().unwrap().end().clone();
        let errors = vec![ContractError::Unfounded { place: 0, id: id.to_owned() }];
        assert_eq!(end, RunEnd::ContractBroken { errors }, "{id}");
    }
}

/// S3-21: whoever gets the turn from an agent whose answer is waited for is under no contract either.
#[test]
fn what_is_handed_on_inside_a_branch_is_under_the_senders_terms() {
    let inside = Relay::builder().agent(agent("triage")).agent(agent("desk")).agent(agent("clerk"));
    let inside = inside.entry("triage").route_with(Route::new("triage", "desk").returns());
    let relay = asking(inside.route("desk", "clerk"));
    let model = script([
        asks(),
        ("triage", hands(to("desk", "Look it up."))),
        ("desk", hands(to("clerk", "Look it up."))),
        ("clerk", says("Twice.")),
        answers("triage", done("Twice.", "")),
        answers("supervisor", SUPERVISOR_ENDS),
    ]);
    let session = Session::new(&relay, &model).say("INV-311?").ends(RunEnd::Answered);
    for agent in ["desk", "clerk"] {
        let heard = session.request(agent, 0).messages[0].texts().next().unwrap();
        assert!(!heard.contains(TERMS), "{heard}");
    }
    assert!(session.results("supervisor", 0)[0].contains(r#""status":"done""#));
}

/// Triage hands over two open items, and the desk completes them with these lists and answers.
fn completed(reports: &[(&str, &str, &str)]) -> Relayed {
    let relay = team(Route::new("triage", "desk"));
    let package = r#"{"specialist":"desk","task":"Look.","context":{},"open_items":["count","weigh"]}"#;
    let completes = |(done, open, answer): &(&str, &str, &str)| {
        let answer = serde_json::Value::from(*answer);
        calls([(COMPLETE_HANDOFF, format!(r#"{{"done":[{done}],"open":[{open}],"answer":{answer}}}"#))])
    };
    let desk = reports.iter().map(|report| ("desk", completes(report)));
    let model = script(
        [asks(), ("triage", hands(package))]
            .into_iter()
            .chain(desk)
            .chain([answers("supervisor", SUPERVISOR_ENDS)]),
    );
    let mut saved = Vec::new();
    let session = Session::new(&relay, &model).at_each_step(|step| {
        saved.push(step.save().unwrap());
        step
    });
    let session = session.say("INV-311?").ends(RunEnd::Answered);
    let told = session.results("supervisor", 0);
    let asked_again = (reports.len() > 1).then(|| session.request("desk", 1));
    let read = asked_again.iter().flat_map(|request| request.messages.iter().flat_map(Message::tool_results));
    let read = read.map(|result| format!("{}: {}", result.is_error(), result.words())).collect();
    let hop = session.run().links()[0].run().unwrap().run().trail().hops()[0].clone();
    drop(session);
    let how = hop.end.unwrap().how;
    let other = if how == Closing::Partial { Closing::Done } else { Closing::Partial };
    let [said, forged] = [how, other].map(|how| format!(r#""how":"{}""#, how.as_str()));
    for saved in saved {
        assert!(relay.load(&saved).is_ok(), "{saved}");
        if hop.completion().is_some() && saved.contains(&said) {
            assert!(relay.load(&saved.replacen(&said, &forged, 1)).is_err(), "{forged} in {saved}");
        }
    }
    Relayed { told, read, how, is_completed: hop.completion().is_some() }
}

#[derive(Debug, PartialEq)]
struct Relayed {
    told: Vec<String>,
    /// What the desk is told of its first completion, where it had to complete again.
    read: Vec<String>,
    how: Closing,
    is_completed: bool,
}

const BOTH: &str = r#""count","weigh""#;

/// S3-23, R19: the answer in a completion has the contract to keep. One that breaks it completes nothing and is sent back.
#[test]
fn a_completion_whose_answer_breaks_the_contract_completes_nothing() {
    let sound = done("Twice.", "");
    let refused = || {
        vec![concat!(
            r#"true: {"error":"contract_broken","detail":"the answer in it breaks the contract, so nothing is completed; "#,
            r#"complete with one that keeps it"}"#
        )
        .to_owned()]
    };
    assert_eq!(
        completed(&[(BOTH, "", "Twice."), (BOTH, "", &sound)]),
        Relayed {
            told: vec![r#"tu_1_0={"status":"done","finding":"Twice.","steps_used":3}"#.to_owned()],
            read: refused(),
            how: Closing::Done,
            is_completed: true,
        }
    );
    let broken = r#"tu_1_0!{"status":"failed","finding":null,"reason":"contract_broken: free_text at answer","steps_used":3}"#;
    assert_eq!(
        completed(&[(BOTH, "", "Twice."), (BOTH, "", "Twice!")]),
        Relayed { told: vec![broken.to_owned()], read: refused(), how: Closing::Failed, is_completed: false }
    );
    // What the loop says of a completion is no evidence.
    let counts = done("Twice.", "\"completed\"");
    let unfounded = broken.replace("free_text at answer", "unfounded at evidence");
    assert_eq!(
        completed(&[(BOTH, "", &counts), (BOTH, "", &counts)]),
        Relayed { told: vec![unfounded], read: refused(), how: Closing::Failed, is_completed: false }
    );
}

/// C119, R19: an answer that states that all is done, while items are open, is partial; one that gives a reason of its own
/// keeps it.
#[test]
fn what_is_left_open_is_not_done() {
    let part =
        r#"{"status":"partial","finding":"Once.","action_needed":null,"evidence":[],"reason":"no scales"}"#;
    for (answer, told) in [
        (
            done("Twice.", ""),
            r#"tu_1_0={"status":"partial","finding":"Twice.","reason":"items_open: 1","steps_used":2}"#,
        ),
        (
            part.to_owned(),
            r#"tu_1_0={"status":"partial","finding":"Once.","reason":"no scales","steps_used":2}"#,
        ),
    ] {
        let found = completed(&[(r#""count""#, r#""weigh""#, &answer)]);
        assert_eq!(
            found,
            Relayed {
                told: vec![told.to_owned()],
                read: Vec::new(),
                how: Closing::Partial,
                is_completed: true
            }
        );
    }
}

/// R19, S3-23: an answer whose items are all done, and that states less of itself, is as far as it states; such a run is
/// loaded, and one that says otherwise of the work is not.
#[test]
fn all_done_and_partial_is_loaded() {
    for (how, is_error) in [(Closing::Partial, '='), (Closing::Failed, '!')] {
        let status = how.as_str();
        let answer = format!(
            r#"{{"status":"{status}","finding":"Once.","action_needed":null,"evidence":[],"reason":"no scales"}}"#
        );
        let told = format!(
            r#"tu_1_0{is_error}{{"status":"{status}","finding":"Once.","reason":"no scales","steps_used":2}}"#
        );
        let relayed = Relayed { told: vec![told], read: Vec::new(), how, is_completed: true };
        assert_eq!(completed(&[(BOTH, "", &answer)]), relayed);
    }
}

/// A name of a receiver in an answer that keeps the contract announces no handoff: its status says how far it came.
#[test]
fn an_answer_under_contract_announces_no_handoff() {
    let relay = team(Route::new("triage", "desk"));
    let decides = answers("triage", done("The desk must decide.", ""));
    let model = script([asks(), decides, answers("supervisor", SUPERVISOR_ENDS)]);
    let session = Session::new(&relay, &model).say("INV-311?").ends(RunEnd::Answered);
    assert_eq!(
        session.results("supervisor", 0),
        [r#"tu_1_0={"status":"done","finding":"The desk must decide.","steps_used":1}"#]
    );
}

/// R19: a check of a constraint is asked about the work since the package came, and no earlier, where the package was told
/// with the terms of a contract too.
#[test]
fn a_check_sees_the_work_since_a_package_with_terms() {
    let inside = Relay::builder().agent(agent("triage")).agent(agent("desk")).entry("triage");
    let inside = inside.route("triage", "desk").route("desk", "triage");
    let relay = asking(inside.constraint_check("tell", |work| {
        let calls: Vec<&str> = work.calls().map(|(call, _)| call.name()).collect();
        Ok(Conduct::Break { reason: calls.join(", ") })
    }));
    let back = r#"{"specialist":"triage","task":"Look.","context":{},"constraints":["tell"]}"#;
    let model = script([
        asks(),
        ("triage", hands(to("desk", "Look."))),
        ("desk", hands(back)),
        ("triage", looks("x")),
        answers("triage", done("Twice.", "")),
        answers("supervisor", SUPERVISOR_ENDS),
    ]);
    let session = Session::new(&relay, &model).say("INV-311?").ends(RunEnd::Answered);
    let hop = session.run().links()[0].run().unwrap().run().trail().hops()[1].clone();
    let broken = sommelier_handoff::Compliance::Broken { reason: "look".into() };
    assert_eq!(hop.compliance().collect::<Vec<_>>(), [("tell", &broken)]);
}
