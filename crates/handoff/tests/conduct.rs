//! Whether a receiver has kept to what bound it, as far as code can tell.

mod harness;

use harness::{Session, Turn, agent, calls, hands, looks, says, script};
use serde_json::value::RawValue;
use sommelier_handoff::{
    Agent, Closing, Compliance, Conduct, HopEnd, LoadError, Relay, RelayBuilder, RunEnd, Step, Work,
};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Model, ScriptedModel, Tool, ToolOutput, script};

/// Three agents in a row; "look at most: N" is checked in code.
fn row() -> RelayBuilder {
    row_of(agent("b"))
}

/// The same with another agent in the middle.
fn row_of(b: Agent) -> RelayBuilder {
    let agents = [agent("a"), b, agent("c")];
    let builder = agents.into_iter().fold(Relay::builder().entry("a"), RelayBuilder::agent);
    builder.route("a", "b").route("b", "c").constraint_check_of("look at most: ", |work| {
        let most: usize = work.constraint().trim_start_matches("look at most: ").parse()?;
        let found = work.calls().filter(|(call, result)| call.name() == "look" && result.is_some()).count();
        Ok(if found <= most { Conduct::Keep } else { broken(&format!("{found} looks")) })
    })
}

fn broken(reason: &str) -> Conduct {
    Conduct::Break { reason: reason.to_owned() }
}

fn package(to: &str, constraints: &str) -> String {
    format!(r#"{{"specialist":"{to}","task":"Go on.","context":{{}},"constraints":[{constraints}]}}"#)
}

/// A check of the answer's length.
fn short(work: &Work<'_>) -> Conduct {
    match work.answer() {
        Some(answer) if answer.len() > 5 => broken("the answer is long"),
        _ => Conduct::Keep,
    }
}

/// What became of the constraints of each hop, each in a word.
fn found(session: &Session<'_>) -> Vec<Vec<(String, &'static str)>> {
    let of = |(text, found): (&str, &Compliance)| (text.to_owned(), found.as_str());
    session.run().trail().taken().map(|hop| hop.compliance().map(of).collect()).collect()
}

fn told(texts: &[(&str, &'static str)]) -> Vec<(String, &'static str)> {
    texts.iter().map(|(text, found)| ((*text).to_owned(), *found)).collect()
}

/// R19, S1-39: a constraint with a check in code is kept or broken, and why; one without is unchecked. A broken constraint
/// stops nobody.
#[test]
fn a_constraint_with_a_check_is_kept_or_broken() {
    let relay = row().constraint_check("be short", |work| Ok(short(work))).build().unwrap();
    let run = |answer: &'static str| {
        let written = package("b", r#""be short","look at most: 1","be kind""#);
        let model =
            script([("a", hands(written)), ("b", looks("x")), ("b", looks("y")), ("b", says(answer))]);
        let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
        let hop = session.run().trail().taken().next().unwrap().clone();
        hop.compliance().map(|(text, found)| (text.to_owned(), found.clone())).collect::<Vec<_>>()
    };
    let looked = || ("look at most: 1".to_owned(), Compliance::Broken { reason: "2 looks".into() });
    let unchecked = || ("be kind".to_owned(), Compliance::Unchecked);
    assert_eq!(run("Fine."), [("be short".to_owned(), Compliance::Kept), looked(), unchecked()]);
    let long = Compliance::Broken { reason: "the answer is long".into() };
    assert_eq!(run("Quite fine."), [("be short".to_owned(), long), looked(), unchecked()]);
}

/// C98: what is carried on to later hops is checked there too, each hop for its own receiver: one that keeps to it is not
/// charged with what another did.
#[test]
fn each_receiver_answers_for_its_own_work() {
    let relay = row().build().unwrap();
    let model = script([
        ("a", looks("x")),
        ("a", hands(package("b", r#""look at most: 0""#))),
        ("b", looks("y")),
        ("b", hands(package("c", ""))),
        ("c", says("Fine.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let text = "look at most: 0";
    assert_eq!(found(&session), [told(&[(text, "broken")]), told(&[(text, "kept")])]);
    let ends: Vec<_> = session.run().trail().taken().map(|hop| hop.end.unwrap().how).collect();
    assert_eq!(ends, [Closing::HandedOn, Closing::Done]);
}

/// A check that fails or panics has said nothing: nobody knows, and the run goes on. Of several checks the one that finds it
/// broken has the last word.
#[test]
fn a_check_that_fails_has_said_nothing() {
    let of = |checks: &[fn(&Work<'_>) -> sommelier_handoff::Checked]| {
        let add = |relay: RelayBuilder, check: &_| relay.constraint_check("be short", *check);
        let relay = checks.iter().fold(row(), add).build().unwrap();
        let model = script([("a", hands(package("b", r#""be short""#))), ("b", says("Quite fine."))]);
        let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
        let hop = session.run().trail().taken().next().unwrap().clone();
        hop.compliance().next().unwrap().1.clone()
    };
    let unknown = |cause: &str| Compliance::Unknown { causes: vec![cause.to_owned()] };
    assert_eq!(of(&[|_| Err("cannot tell".into())]), unknown("cannot tell"));
    assert_eq!(of(&[|_| panic!("no luck")]), unknown("it panicked"));
    assert_eq!(of(&[|_| Ok(Conduct::Keep), |_| Err("cannot tell".into())]), unknown("cannot tell"));
    assert_eq!(of(&[|_| Err("cannot tell".into()), |_| Ok(Conduct::Keep)]), unknown("cannot tell"));
    let long = Compliance::Broken { reason: "the answer is long".into() };
    assert_eq!(of(&[|_| Err("cannot tell".into()), |work| Ok(short(work)), |_| Ok(Conduct::Keep)]), long);
}

/// What a check is asked about: the agent, its package, how its work ended, the answer, and the calls since the package came,
/// that of a handoff among them and none of those before.
#[test]
fn a_check_sees_the_work_and_no_more() {
    let relay = Relay::builder().agent(agent("a")).agent(agent("b")).entry("a");
    let relay = relay.route("a", "b").route("b", "a").constraint_check("tell", |work| {
        let calls = work.calls().map(|(call, result)| {
            format!("{}={}", call.name(), result.map_or_else(String::new, |result| result.words()))
        });
        let task = work.package().task();
        Ok(broken(&format!(
            "{} {task} {:?} {:?} {:?}",
            work.agent(),
            work.how(),
            work.answer(),
            calls.collect::<Vec<_>>()
        )))
    });
    let relay = relay.build().unwrap();
    let model = script([
        ("a", looks("early")),
        ("a", hands(package("b", r#""tell""#))),
        ("b", looks("late")),
        ("b", hands(package("a", ""))),
        ("a", looks("last")),
        ("a", says("Fine.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let reasons: Vec<String> = session
        .run()
        .trail()
        .taken()
        .flat_map(|hop| hop.compliance().map(|(_, found)| found.clone()).collect::<Vec<_>>())
        .map(|found| match found {
            Compliance::Broken { reason } => reason.into(),
            other => other.as_str().to_owned(),
        })
        .collect();
    assert_eq!(
        reasons,
        [
            r#"b Go on. HandedOn None ["look=\"late\"", "handoff_to_specialist={\"status\":\"handed_over\",\"to\":\"a\"}"]"#,
            r#"a Go on. Done Some("Fine.") ["look=\"last\""]"#,
        ]
    );
}

/// A receiver that says its package once more, or has a tool that says it, hides nothing of what it did before: its work
/// begins where code has brought the package.
#[test]
fn a_receiver_hides_no_work() {
    let tell = r#"{"task":"Go on.","context":{},"constraints":["look at most: 0"]}"#;
    let note = Tool::new("note", "Notes.", |_: harness::Nothing, _: &CallContext<'_>| {
        Ok::<_, Failure>(serde_json::from_str::<Box<RawValue>>(tell).unwrap())
    });
    let relay = row_of(agent("b").tools([note])).build().unwrap();
    let echo = || -> Turn { Box::new(|request| script::say(request.messages[0].texts().next().unwrap())) };
    let notes = || calls([("note", "{}")]);
    for turns in [vec![echo()], vec![notes(), says("Fine.")]] {
        let turns = turns.into_iter().map(|turn| ("b", turn));
        let first = [("a", hands(package("b", r#""look at most: 0""#))), ("b", looks("x"))];
        let model = script(first.into_iter().chain(turns));
        let session = Session::new(&relay, &model).say("hello");
        assert_eq!(found(&session), [told(&[("look at most: 0", "broken")])]);
    }
}

/// A saved run in which a word on a constraint was taken out, or put in where no check is, is not loaded.
#[test]
fn a_word_that_no_check_has_said_is_not_loaded() {
    let relay = row().build().unwrap();
    let written = package("b", r#""look at most: 0","be kind""#);
    let model: ScriptedModel = script([("a", hands(written)), ("b", says("Fine."))]);
    let saved = Step::Done(Session::new(&relay, &model).say("hello").into_done()).save().unwrap();
    let account = r#""account":{"compliance":["Kept","Unchecked"]}"#;
    assert!(saved.contains(account), "{saved}");
    assert!(relay.load(&saved).is_ok());
    let told = || LoadError::NotAStep("the checks of a hop are not those of its constraints".to_owned());
    for other in [
        r#""account":{"compliance":["Kept","Kept"]}"#,
        r#""account":{"compliance":["Unchecked","Unchecked"]}"#,
        r#""account":{"compliance":["Kept"]}"#,
        r#""account":{}"#,
    ] {
        assert_eq!(relay.load(&saved.replacen(account, other, 1)), Err(told()), "{other}");
    }
}

/// A handoff that is released out of its relay ends the sender's work as one that is taken does: it is handed on, its
/// constraints are checked, and what the package says binds.
#[test]
fn a_released_handoff_ends_the_senders_work() {
    let relay = row().build().unwrap();
    let model = script([
        ("a", hands(package("b", r#""look at most: 0""#))),
        ("b", looks("x")),
        ("b", hands(package("c", r#""be kind""#))),
    ]);
    let mut step = relay.start("conv", "hello").unwrap();
    let handoff = loop {
        step = match step {
            Step::CallModel(call) => {
                let reply = Model::complete(&model, call.request(&relay));
                call.resume(&relay, reply, 1)
            }
            Step::CallTools(tools) => tools.resume(&relay, vec![ToolOutput::ok("x")], 1).unwrap(),
            Step::HandOff(handoff) if handoff.to().as_str() == "c" => break handoff,
            Step::HandOff(handoff) => handoff.take(&relay, 1),
            step => panic!("{step:?}"),
        };
    };
    let released = handoff.release(&relay, 2).unwrap();
    let hops = released.run.trail().hops();
    let of_b = hops[0].compliance().map(|(_, found)| found.as_str()).collect::<Vec<_>>();
    assert_eq!((hops[0].end, of_b), (Some(HopEnd { how: Closing::HandedOn, at: 2 }), vec!["broken"]));
    assert_eq!((hops[1].end, &released.hop), (None, &hops[1]));
    assert_eq!(released.run.constraints(), [Box::from("look at most: 0"), "be kind".into()]);
    assert!(released.run.at_rest().all(|(agent, _)| agent.as_str() == "a"));
}
