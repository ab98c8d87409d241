//! Calling a run off: wherever it stands, it ends, its conversations stay legal, and it may go on.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{
    BOTH, Session, Turn, agent, calls, desk, hands_to, looks, question, says, says_and_looks, script, story,
};
use sommelier_handoff::{Delegate, DelegateResult, DelegateStatus, Relay, RunEnd, Step};
use sommelier_runtime::ScriptedModel;

/// A supervisor that asks billing and shipping, and may hand over to policy.
fn relay() -> Relay {
    desk().agent(agent("policy")).route("supervisor", "policy").build().unwrap()
}

/// Calls a run off at the first step that `here` picks.
fn calls_off<'a>(
    relay: &'a Relay,
    mut here: impl FnMut(&Step) -> bool + 'a,
) -> impl FnMut(Step) -> Step + 'a {
    let mut is_off = false;
    move |step| {
        if is_off || !here(&step) {
            return step;
        }
        is_off = true;
        Step::Done(step.cancel(relay, "the user has left", 2000))
    }
}

fn cancelled() -> RunEnd {
    RunEnd::Cancelled { reason: "the user has left".into() }
}

const CALLED_OFF: &str = r#"{"error":"not_run","detail":"#;

/// One kind of step at which a run is called off.
struct Case {
    kind: &'static str,
    turns: Vec<(&'static str, Turn)>,
    here: fn(&Step) -> bool,
    /// What the supervisor's conversation ends with.
    last: String,
}

fn cases() -> Vec<Case> {
    let not_run = |why: &str| format!("tu_1_0!{CALLED_OFF}{why:?}}}");
    let given = |n: usize, rest: &str| format!("tu_1_{n}={rest}");
    vec![
        Case {
            kind: "model",
            turns: vec![],
            here: |step| matches!(step, Step::CallModel(_)),
            last: "user: hello".to_owned(),
        },
        Case {
            kind: "tools",
            turns: vec![("supervisor", looks("tea"))],
            here: |step| matches!(step, Step::CallTools(_)),
            last: format!(
                r#"user: tu_1_0!{{"error":"in_doubt","detail":"{}"}}"#,
                "called off; whether the call had an effect is not known"
            ),
        },
        Case {
            kind: "delegate",
            turns: vec![
                ("supervisor", calls(BOTH)),
                ("billing", says("Twice.")),
                ("shipping", says_and_looks("On the road.", "A-7")),
            ],
            // Billing has answered, and shipping has said something and is about to look.
            here: |step| match step {
                Step::Delegate(delegation) => {
                    matches!(delegation.branches()[1].step(), Step::CallTools(_))
                }
                _ => false,
            },
            last: format!(
                "user: {} | {}",
                given(0, r#"{"status":"done","finding":"Twice.","steps_used":1}"#),
                given(
                    1,
                    r#"{"status":"partial","finding":"On the road.","reason":"cancelled: the user has left","steps_used":1}"#
                )
            ),
        },
        Case {
            kind: "handoff",
            turns: vec![("supervisor", hands_to("policy"))],
            here: |step| matches!(step, Step::HandOff(_)),
            last: format!("user: {}", not_run("called off before it was taken")),
        },
    ]
}

fn model_of(case: Case) -> (ScriptedModel, fn(&Step) -> bool, String, &'static str) {
    let Case { kind, turns, here, last } = case;
    let model = script(turns.into_iter().chain([("supervisor", says("Welcome back."))]));
    (model, here, last, kind)
}

/// A run is called off in whichever kind of step it is: it ends as such, each open call has its answer, and what was done
/// is kept. Nothing more is asked.
#[test]
fn a_run_is_called_off_wherever_it_stands() {
    let relay = relay();
    for case in cases() {
        let (model, here, last, kind) = model_of(case);
        let session = Session::new(&relay, &model).at_each_step(calls_off(&relay, here)).say("hello");
        assert_eq!((session.done().end(), kind), (&cancelled(), kind));
        let told = session.story("supervisor");
        assert_eq!(told.lines().last(), Some(last.as_str()), "{kind}");
        assert_eq!(session.run().trail().count(), 0, "{kind}");
        assert_eq!(session.done().answer(), None);
    }
}

/// The user speaks on after a run was called off: the words follow the results in one message, the request is legal, and
/// the run ends well.
#[test]
fn a_run_that_was_called_off_hears_the_user() {
    let relay = relay();
    for case in cases() {
        let (model, here, last, kind) = model_of(case);
        let session = Session::new(&relay, &model).at_each_step(calls_off(&relay, here));
        let session = session.say("hello").say("Are you there?").ends(RunEnd::Answered);
        let asked = story(&session.asked.last().unwrap().messages);
        let expected = match kind {
            // Two messages of the user in a row are one, of two texts.
            "model" => "user: hello | Are you there?".to_owned(),
            _ => format!("{last} | Are you there?"),
        };
        assert_eq!(asked.lines().last(), Some(expected.as_str()), "{kind}");
        assert_eq!(session.done().answer().as_deref(), Some("Welcome back."));
    }
}

/// A run that was called off can be tried again from there: the model is asked with what stands there.
#[test]
fn a_run_that_was_called_off_can_be_tried_again() {
    let relay = relay();
    for case in cases() {
        let (model, here, last, kind) = model_of(case);
        let session = Session::new(&relay, &model).at_each_step(calls_off(&relay, here));
        let session = session.say("hello").retry().ends(RunEnd::Answered);
        let asked = story(&session.asked.last().unwrap().messages);
        assert_eq!(asked.lines().last(), Some(last.as_str()), "{kind}");
        assert_eq!(session.done().answer().as_deref(), Some("Welcome back."));
    }
}

/// What the branches of a run that is called off have found so far is kept in its links, and what they have left of their
/// model calls comes back.
#[test]
fn what_called_off_branches_have_found_is_kept() {
    let relay = relay();
    let case = cases().swap_remove(2);
    let (model, here, ..) = model_of(case);
    let session = Session::new(&relay, &model).at_each_step(calls_off(&relay, here)).say("hello");
    let result = |status, finding: &str, reason: Option<&str>| DelegateResult {
        status,
        finding: Some(finding.into()),
        reason: reason.map(Into::into),
        steps_used: 1,
        effects: Vec::new(),
        action_needed: None,
        evidence: Vec::new(),
    };
    let results: Vec<&DelegateResult> =
        session.run().links().iter().filter_map(|link| link.result()).collect();
    assert_eq!(
        results,
        [
            &result(DelegateStatus::Done, "Twice.", None),
            &result(DelegateStatus::Partial, "On the road.", Some("cancelled: the user has left")),
        ]
    );
    let ends: Vec<&RunEnd> =
        session.run().links().iter().filter_map(|link| Some(link.run()?.end())).collect();
    assert_eq!(ends, [&RunEnd::Answered, &cancelled()]);
    let shipping = session.run().links()[1].run().unwrap().run().idle("shipping").unwrap();
    assert_eq!(
        story(shipping.messages()).lines().last(),
        Some(
            r#"user: tu_1_0!{"error":"in_doubt","detail":"called off; whether the call had an effect is not known"}"#
        )
    );
    // Three model calls were made of fifty.
    assert_eq!((session.run().cost().model_calls, session.run().model_calls_left()), (3, 47));
}

/// A branch of a branch is called off too, at any of the steps of the tree, and the run goes on from there.
#[test]
fn a_tree_can_be_called_off_at_any_step() {
    let mid = Relay::builder()
        .agent(agent("mid"))
        .delegate("mid", Delegate::new("ask_leaf", agent("leaf")))
        .entry("mid")
        .build()
        .unwrap();
    let relay = desk().delegate("supervisor", Delegate::team("ask_mid", mid)).build().unwrap();
    let mut ends = Vec::new();
    for stop in 0.. {
        let asks = ["ask_mid", "ask_billing"].map(|tool| (tool, question("Well?")));
        let model = script([
            ("supervisor", calls(asks)),
            ("mid", calls([("ask_leaf", question("Well?"))])),
            ("leaf", says_and_looks("LEAF-1", "tea")),
            ("leaf", says("LEAF-2")),
            ("mid", says("MID")),
            ("billing", says("BILLING")),
            ("supervisor", says("ALL")),
        ]);
        let mut steps = 0;
        let session = Session::new(&relay, &model).at_each_step(calls_off(&relay, move |_| {
            steps += 1;
            steps > stop
        }));
        let session = session.say("hello");
        if *session.done().end() == RunEnd::Answered {
            break;
        }
        assert_eq!(session.done().end(), &cancelled());
        let left = session.run().model_calls_left() + session.run().cost().model_calls;
        assert_eq!(left, 50, "step {stop}");
        let found: Vec<String> = harness::runs(session.run())
            .iter()
            .flat_map(|run| run.links())
            .map(|link| {
                let result = link.result().unwrap();
                format!("{} {}", link.tool, result.finding.as_deref().unwrap_or(result.status.as_str()))
            })
            .collect();
        ends.push(found.join(", "));
        // Each request on the way to the end is legal: the session looks.
        assert_eq!(session.say("And?").done().end(), &RunEnd::Answered);
    }
    assert_eq!(
        ends,
        [
            "",
            "ask_mid failed, ask_billing failed",
            "ask_mid failed, ask_billing failed, ask_leaf failed",
            "ask_mid failed, ask_billing failed, ask_leaf LEAF-1",
            "ask_mid failed, ask_billing failed, ask_leaf LEAF-1",
            "ask_mid failed, ask_billing failed, ask_leaf LEAF-2",
            "ask_mid failed, ask_billing failed, ask_leaf LEAF-2",
            "ask_mid MID, ask_billing failed, ask_leaf LEAF-2",
            "ask_mid MID, ask_billing BILLING, ask_leaf LEAF-2",
            "ask_mid MID, ask_billing BILLING, ask_leaf LEAF-2",
        ]
    );
}

/// A run that has ended is left as it is.
#[test]
fn a_run_that_has_ended_is_not_called_off() {
    let relay = relay();
    let model = script([("supervisor", says("Good day."))]);
    let done = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered).into_done();
    assert_eq!(Step::Done(done.clone()).cancel(&relay, "too late", 9), done);
}
