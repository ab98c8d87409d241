//! What binds once binds whoever works later.
#![expect(clippy::unwrap_used, reason = "a test may stop at what cannot be")]

mod harness;

use harness::{Session, agent, calls, hands, question, says, script};
use sommelier_handoff::{
    BuildError, Delegate, HandoffPackage, LinkOutcome, LoadError, PackagePolicy, Relay, RelayBuilder, Route,
    RunEnd, Section, Step,
};

/// Three agents in a row, on each way the minimal policy.
fn row() -> RelayBuilder {
    let agents = [agent("a"), agent("b"), agent("c")];
    let builder = agents.into_iter().fold(Relay::builder().entry("a"), RelayBuilder::agent);
    builder.route("a", "b").route("b", "c")
}

/// A relay of two, with one constraint of the house.
fn pair(policy: PackagePolicy, constraint: &str) -> Relay {
    let builder = Relay::builder().agent(agent("a")).agent(agent("b")).entry("a");
    builder.route_with(Route::new("a", "b").policy(policy)).constraint(constraint).build().unwrap()
}

fn package(to: &str, constraints: &str) -> String {
    format!(r#"{{"specialist":"{to}","task":"Go on.","context":{{}},"constraints":[{constraints}]}}"#)
}

/// The constraints of each package as it crossed.
fn crossed(session: &Session<'_>) -> Vec<Vec<String>> {
    let packages = session.run().trail().taken().filter_map(|hop| hop.package.as_ref());
    packages.map(|package| package.constraints().iter().map(ToString::to_string).collect()).collect()
}

/// C98: a constraint of the first hop stands in the second package, though the second sender left it out; what that one
/// adds stands beside it.
#[test]
fn a_constraint_travels_on_every_later_hop() {
    let relay = row().build().unwrap();
    let model = script([
        ("a", hands(package("b", r#""EUR only""#))),
        ("b", hands(package("c", r#""no refund""#))),
        ("c", says("Fine.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(crossed(&session), [vec!["EUR only"], vec!["no refund", "EUR only"]]);
    assert!(session.request("c", 0).json.contains("EUR only"), "the receiver reads it");
    assert_eq!(session.run().constraints(), ["EUR only".into(), "no refund".into()]);
}

/// S1-29: the house's own constraints stand in every package, once, whatever the model writes; a route that demands
/// constraints is content with them.
#[test]
fn the_houses_own_constraints_stand_in_every_package() {
    let relay = pair(PackagePolicy::minimal().require(Section::Constraints), "the user is on a free trial");
    for written in ["", r#""the user is on a free trial""#] {
        let model = script([("a", hands(package("b", written))), ("b", says("Fine."))]);
        let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
        assert_eq!(crossed(&session), [["the user is on a free trial"]]);
    }
}

/// C98: a question to a delegate carries them too, and binds whoever works in the branch: those of the house and those that
/// the asker was handed, and on every hop inside.
#[test]
fn a_question_carries_what_binds_its_asker() {
    let team =
        Relay::builder().agent(agent("x")).agent(agent("y")).entry("x").route("x", "y").build().unwrap();
    let relay =
        row().constraint("on a trial").delegate("b", Delegate::team("ask_team", team)).build().unwrap();
    let model = script([
        ("a", hands(package("b", r#""EUR only""#))),
        ("b", calls([("ask_team", question("How much?"))])),
        ("x", hands(package("y", r#""in cents""#))),
        ("y", says("Six.")),
        ("b", says("Fine.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let link = &session.run().links()[0];
    let asked = HandoffPackage::new("How much?").constraint("on a trial").constraint("EUR only");
    assert_eq!(link.package, Some(asked.clone()));
    assert!(session.request("x", 0).json.contains("EUR only"), "the branch reads it");
    let LinkOutcome::Returned { run: inside, .. } = &link.outcome else { panic!("{link:?}") };
    let crossed = inside.run().trail().hops()[0].package.as_ref().unwrap().constraints().to_vec();
    assert_eq!(crossed, ["in cents".into(), "on a trial".into(), "EUR only".into()]);
    assert_eq!(session.run().constraints(), ["EUR only".into(), "on a trial".into()]);

    let saved = Step::Done(session.into_done()).save().unwrap();
    let forgot = saved.replacen(
        r#""constraints":["on a trial","EUR only","in cents"]"#,
        r#""constraints":["in cents"]"#,
        1,
    );
    assert_ne!(saved, forgot);
    let told = LoadError::NotAStep("the constraints are not those that were handed over".to_owned());
    assert_eq!(relay.load(&forgot), Err(told));
}

/// What is carried counts in the package's bytes: a sender that leaves no room is told the cap.
#[test]
fn what_is_carried_needs_its_room() {
    let relay = pair(PackagePolicy::minimal().package_bytes(120), &"x".repeat(60));
    let long = format!(r#"{{"specialist":"b","task":"{}","context":{{}}}}"#, "w".repeat(40));
    let model = script([("a", hands(long)), ("a", says("Then not."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let told = session.refusals()[0].to_string();
    assert!(told.starts_with("the package is not valid: bytes of the package: "), "{told}");
    assert!(told.ends_with(", at most 120"), "{told}");
}

/// A constraint that no package can hold is told when the relay is built.
#[test]
fn a_constraint_that_cannot_be_is_told_at_build() {
    let errors = row().constraint("a\u{202e}b").build().unwrap_err();
    let [BuildError::Constraint { text, .. }] = &errors.0[..] else { panic!("{errors}") };
    assert_eq!(text, "a\u{202e}b");
}

/// A saved run that has forgotten a constraint is not loaded.
#[test]
fn a_run_that_forgot_a_constraint_is_not_loaded() {
    let relay = row().build().unwrap();
    let model = script([("a", hands(package("b", r#""EUR only""#))), ("b", says("Fine."))]);
    let done = Session::new(&relay, &model).say("hello").into_done();
    let saved = Step::Done(done).save().unwrap();
    let forgot = saved.replace(r#""extra":{"constraints":["EUR only"]}"#, r#""extra":{}"#);
    assert_ne!(saved, forgot);
    let told = LoadError::NotAStep("the constraints are not those that were handed over".to_owned());
    assert_eq!(relay.load(&forgot), Err(told));
    assert!(relay.load(&saved).is_ok());
}
