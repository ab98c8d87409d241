//! Agents of one name in different branches of a tree.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{Session, agent, calls, payer, pays, question, runs, says, script, story};
use sommelier_handoff::{BuildError, Delegate, Relay, RunEnd};

/// A desk that asks two agents, both named helper.
fn desk() -> Relay {
    Relay::builder()
        .agent(agent("desk"))
        .delegate("desk", Delegate::new("ask_left", payer("helper").label("The helper")))
        .delegate("desk", Delegate::new("ask_right", payer("helper").label("The helper")))
        .entry("desk")
        .build()
        .unwrap()
}

/// C56: of two agents of one name and one label the second waits, or both do. Which of them a saved run comes back at is
/// its place in the tree and no name: the answer goes to the call that it was asked about, and the other one's
/// conversation stays as it was.
#[test]
fn a_saved_run_comes_back_at_the_right_one_of_two_namesakes() {
    let relay = desk();
    let asks = calls([("ask_left", question("Left?")), ("ask_right", question("Right?"))]);
    let both_pay: harness::Turn = Box::new(|request| {
        let asked = sommelier_runtime::script::first_words(request).contains("Left?");
        calls([pays(if asked { "INV-LEFT" } else { "INV-RIGHT" })])(request)
    });
    let model = script([
        ("desk", asks),
        ("helper", both_pay),
        ("helper", says("I tried.")),
        ("desk", says("So it is.")),
    ]);
    let session = Session::new(&relay, &model).say("hello");
    let [left, right] = ["conv/1/1/0/1/1/0", "conv/1/1/1/1/1/0"];
    assert_eq!(session.open(), [left, right]);
    // The second goes on first; the first still waits, in its own place.
    let session = session.approve(right);
    assert_eq!(session.open(), [left]);
    assert_eq!(session.questions()[0].0, "conv/1/1/0");
    assert_eq!(session.ran, [("pay".to_owned(), right.to_owned())]);
    let session = session.reject(left, "no").ends(RunEnd::Answered);
    assert_eq!(session.ran.len(), 1);
    let stories: Vec<String> = runs(session.run())[1..]
        .iter()
        .map(|run| {
            let story = story(run.idle("helper").unwrap().messages());
            story.lines().rev().take(3).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("\n")
        })
        .collect();
    assert_eq!(
        stories,
        [
            r#"assistant: pay#tu_1_0{"invoice":"INV-LEFT"}
user: tu_1_0!{"error":"approval_denied","tool":"pay","reason":"no","effect":"none: the tool was not run"}
assistant: I tried."#,
            r#"assistant: pay#tu_1_0{"invoice":"INV-RIGHT"}
user: tu_1_0="INV-RIGHT is paid"
assistant: I tried."#,
        ]
    );
}

/// C56: within one relay a name is one agent's: two of them are told by name when it is built.
#[test]
fn two_agents_of_one_name_make_no_relay() {
    let twice = Relay::builder().agent(agent("helper")).agent(payer("helper")).entry("helper");
    let errors = twice.build().unwrap_err();
    assert_eq!(errors.0, [BuildError::DuplicateAgent { name: "helper".into() }]);
    assert_eq!(errors.to_string(), r#"two agents are named "helper"; names must differ"#);
}
